package server_test

import (
	"strings"
	"testing"

	"grense/internal/config"
)

// pathSamples holds a value that exists for each variable of a path; others are "x".
var pathSamples = map[string]string{"collectionId": "kommuner", "featureId": "1", "tileMatrixSetId": "WebMercatorQuad",
	"tileMatrix": "5", "tileRow": "9", "tileCol": "17",
	"processId": "echo", "schemeId": "kommune", "code": "0301", "codeListId": "kommuner", "file": "wsdl"}

// TestEmptySegmentsAreNotFound puts an empty and a one-character segment into each path variable of each route, with
// each method, with and without a key.
func TestEmptySegmentsAreNotFound(t *testing.T) {
	t.Parallel()
	for _, auth := range []string{"open", "required"} {
		a := serve(t, "", func(c *config.Config) { c.Auth = auth })
		for _, rt := range a.srv.KeyedRoutes() {
			spans := pathVariable.FindAllStringIndex(rt.Path, -1)
			for i := range spans {
				for _, segment := range []string{"", "x", "%2f", "%20"} {
					n := -1
					path := pathVariable.ReplaceAllStringFunc(rt.Path, func(v string) string {
						n++
						if n == i {
							return segment
						}
						if s, ok := pathSamples[strings.Trim(v, "{}")]; ok {
							return s
						}
						return "x"
					})
					for _, mount := range []string{"", "/v1"} {
						if rt.Root && mount != "" {
							continue
						}
						for _, method := range []string{"GET", "HEAD", "POST", "DELETE"} {
							r := a.do(method, mount+path, "X-API-Key", a.key)
							// at the end, it is the parent with a slash
							inside := segment == "" && !strings.HasSuffix(path, "/")
							if inside && r.StatusCode != 404 {
								t.Errorf("%s: %s %s: %d, want 404", auth, method, mount+path, r.StatusCode)
							}
							if r.StatusCode >= 500 || r.StatusCode < 200 {
								t.Errorf("%s: %s %s: %d: %s", auth, method, mount+path, r.StatusCode, r.Body)
							}
						}
					}
				}
			}
		}
		if strings.Contains(a.logs.String(), "panic") {
			t.Errorf("%s: a handler panicked", auth)
		}
	}
}
