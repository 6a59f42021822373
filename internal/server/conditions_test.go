package server_test

import (
	"strings"
	"testing"
)

// TestIfMatchIsEvaluated: RFC 9110, 13.1.1 and 13.2.2.
func TestIfMatchIsEvaluated(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, path := range []string{"/", "/openapi", "/conformance", "/collections", "/collections/kommuner",
		"/collections/kommuner/schema?f=html", "/collections/kommuner/items?limit=2",
		"/collections/kommuner/items?f=csv&limit=2",
		"/collections/kommuner/items/0301", "/collections/kommuner/items/0301?f=jsonld", "/lookup?lon=10.75&lat=59.91",
		"/TileMatrixSets/WebMercatorQuad",
		"/processes/echo", "/collections/fylker/download?f=gpkg", "/collections/fylker/style", "/static/site.css",
		"/search?q=oslo"} {
		for range 3 { // new, and cached
			r := a.get(path, "Accept-Encoding", "identity").wants(200)
			etag := r.Header.Get("ETag")
			if etag == "" && !strings.HasPrefix(path, "/search") {
				t.Errorf("%s has no ETag", path)
			}
			strong := etag != "" && !strings.HasPrefix(etag, "W/")
			if got := a.get(path, "Accept-Encoding", "identity", "If-Match", `"a", "b"`); got.StatusCode != 412 ||
				strings.Contains(path, "f=html") == (got.Header.Get("Content-Type") == "application/problem+json") {
				t.Errorf("%s with another version: %d %.100s", path, got.StatusCode, got.Body)
			}
			if got := a.do("HEAD", path, "Accept-Encoding", "identity", "If-Match", `"a"`); got.StatusCode != 412 {
				t.Errorf("HEAD %s with another version: %d", path, got.StatusCode)
			}
			a.get(path, "If-Match", "*").wants(200)
			if etag == "" {
				continue
			}
			want := map[bool]int{true: 200, false: 412}[strong] // a weak validator matches nothing
			if got := a.get(path, "Accept-Encoding", "identity", "If-Match", `"x", `+etag); got.StatusCode != want {
				t.Errorf("%s with its version %s: %d, want %d", path, etag, got.StatusCode, want)
			}
			if got := a.get(path, "Accept-Encoding", "identity", "If-Match", `"a"`, "If-None-Match",
				etag); got.StatusCode != 412 {
				t.Errorf("%s: If-None-Match goes first: %d", path, got.StatusCode)
			}
		}
	}
	if r := a.get("/collections/kommuner/items?limit=x", "If-Match", `"a"`); r.StatusCode != 400 {
		t.Errorf("a condition on an answer that is none: %d", r.StatusCode)
	}
}
