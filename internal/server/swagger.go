package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"sync"

	"github.com/swaggest/swgui/v5/static"

	"grense/web"
)

// asset is a static file as it goes out.
type asset struct {
	body  *body
	media string
}

// swaggerMedia are the files of Swagger UI that the page of the API definition loads.
var swaggerMedia = map[string]string{
	"swagger-ui.css":       "text/css; charset=utf-8",
	"swagger-ui-bundle.js": "text/javascript; charset=utf-8",
}

// swaggerAssets gives the files of Swagger UI by their hashed names, and those names by the plain ones. The files map is the
// caller's.
func swaggerAssets() (files map[string]asset, hashed map[string]string, err error) {
	u, err := unpacked()
	return maps.Clone(u.files), u.hashed, err
}

type swagger struct {
	files  map[string]asset
	hashed map[string]string
}

// unpacked unpacks Swagger UI from the library that embeds it, once; the compressed form is kept as it came.
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
		u.files[u.hashed[name]] = asset{&body{plain: plain, gz: packed, etag: base64.RawURLEncoding.EncodeToString(sum[:12])}, media}
	}
	return u, nil
})
