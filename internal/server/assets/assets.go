// Package assets holds the static files of pages: styles, scripts, Swagger UI, and the outline of the country.
package assets

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

	"grense/internal/server/wire"
	"grense/web"
)

// File is a static file as it is sent. Its body is built when it is first needed.
type File struct {
	Body  func() *wire.Body
	Media string
}

// NewFile returns a file of the program.
func NewFile(data []byte, media string) File {
	return File{sync.OnceValue(func() *wire.Body { return wire.NewBody(data) }), media}
}

// swaggerMedia maps the files of Swagger UI that we serve to their media types.
var swaggerMedia = map[string]string{
	"swagger-ui.css":       "text/css; charset=utf-8",
	"swagger-ui-bundle.js": "text/javascript; charset=utf-8",
}

// swagger holds the files of Swagger UI by their hashed names, and those names by the plain ones.
type swagger struct {
	files  map[string]File
	hashed map[string]string
}

// unpacked unpacks Swagger UI from the library that embeds it, once, when it is first needed: that takes a tenth of a
// start. The compressed form stays as it is in the library.
var unpacked = sync.OnceValues(func() (swagger, error) {
	u := swagger{files: map[string]File{}, hashed: map[string]string{}}
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
		b := &wire.Body{Plain: plain, Gz: packed, Etag: base64.RawURLEncoding.EncodeToString(sum[:12])}
		u.files[u.hashed[name]] = File{func() *wire.Body { return b }, media}
	}
	return u, nil
})

// Assets are the static files.
type Assets struct {
	own       func() map[string]File // our files by hashed name, built when they are first needed
	Shore     File                   // outline of the country, with the name ShoreName
	ShoreName string                 // "" if there is none
}

func New() *Assets {
	return &Assets{own: sync.OnceValue(func() map[string]File {
		files := map[string]File{}
		for _, f := range web.Files() {
			files[f.Name] = NewFile(f.Data, f.Media)
		}
		return files
	})}
}

// File returns a file by its hashed name.
func (as *Assets) File(name string) (f File, ok bool) {
	if as.ShoreName != "" && name == as.ShoreName {
		return as.Shore, true
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

// HashedName returns the name under which an embedded file is served.
func HashedName(name string) string {
	if _, ok := swaggerMedia[name]; ok {
		if u, err := unpacked(); err == nil {
			return u.hashed[name]
		}
	}
	return web.Hashed(name)
}
