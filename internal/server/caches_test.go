package server_test

import (
	"regexp"
	"testing"
)

// Each cache of the process tells its bytes under its name.
func TestEachCacheIsInTheMetrics(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	a.do("GET", "/collections/kommuner/items?limit=10")
	a.do("GET", "/conformance")
	a.do("GET", "/preview.png")
	a.do("GET", "/collections/kommuner/items?limit=2&f=html") // whose form offers fylker
	m := httpGetMetrics(t, a)
	for _, name := range []string{"fragments", "documents", "previews", "form_options"} {
		for _, metric := range []string{"bytes", "limit_bytes", "entries"} {
			if !regexp.MustCompile(`(?m)^grense_cache_` + metric + `\{cache="` + name + `"\} [1-9]`).MatchString(m) {
				t.Errorf("no %s of %s in\n%s", metric, name, m)
			}
		}
	}
}
