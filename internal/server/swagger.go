package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/swaggest/swgui/v5/static"

	"grense/web"
)

// asset is a static file as it goes out. Its body is made when it is first asked for.
type asset struct {
	body  func() *Body
	media string
}

// newAsset is a file of the program.
func newAsset(data []byte, media string) asset {
	return asset{sync.OnceValue(func() *Body { return NewBody(data) }), media}
}

// swaggerMedia are the files of Swagger UI that the page of the API definition loads.
var swaggerMedia = map[string]string{
	"swagger-ui.css":       "text/css; charset=utf-8",
	"swagger-ui-bundle.js": "text/javascript; charset=utf-8",
}

// swagger is Swagger UI: its files by their hashed names, and those names by the plain ones.
type swagger struct {
	files  map[string]asset
	hashed map[string]string
}

// unpacked unpacks Swagger UI from the library that embeds it, once, when it is first asked for: that takes a tenth of a start. The compressed form is kept as it came.
var unpacked = sync.OnceValues(func() (swagger, error) {
	u := swagger{files: map[string]asset{}, hashed: map[string]string{}}
	for name, media := range swaggerMedia {
		packed, err := static.FS.ReadFile(name + ".gz")
		if err != nil {
			return u, fmt.Errorf("server: Swagger UI: %w", err)
		}
		z, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			return u, fmt.Errorf("server: Swagger UI: %s: %w", name, err)
		}
		plain, err := io.ReadAll(z)
		if err != nil {
			return u, fmt.Errorf("server: Swagger UI: %s: %w", name, err)
		}
		sum := sha256.Sum256(plain)
		u.hashed[name] = web.HashedName(name, plain)
		b := &Body{Plain: plain, Gz: packed, Etag: base64.RawURLEncoding.EncodeToString(sum[:12])}
		u.files[u.hashed[name]] = asset{func() *Body { return b }, media}
	}
	return u, nil
})

// assets are the static files as they go out.
type assets struct {
	own       func() map[string]asset // the files of ours by hashed name, made when first asked for
	shore     asset                   // the outline of the country, under the name shoreName
	shoreName string                  // "": there is none
}

func newAssets() *assets {
	return &assets{own: sync.OnceValue(func() map[string]asset {
		files := map[string]asset{}
		for _, f := range web.Files() {
			files[f.Name] = newAsset(f.Data, f.Media)
		}
		return files
	})}
}

// file is an embedded file by its hashed name.
func (as *assets) file(name string) (f asset, ok bool) {
	if as.shoreName != "" && name == as.shoreName {
		return as.shore, true
	}
	if strings.HasPrefix(name, "swagger-ui") {
		u, err := unpacked()
		if err != nil {
			return f, false
		}
		f, ok = u.files[name]
		return f, ok
	}
	f, ok = as.own()[name]
	return f, ok
}

// hashedName is the name that an embedded file is served under.
func hashedName(name string) string {
	if _, ok := swaggerMedia[name]; ok {
		if u, err := unpacked(); err == nil {
			return u.hashed[name]
		}
	}
	return web.Hashed(name)
}
