package server_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// findsFaults opens a page that has every fault, so that a check that finds none is known to look.
func findsFaults(t *testing.T, ctx context.Context, checks string, haveAxe bool) {
	bad := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.Header().Set("Content-Security-Policy", "default-src 'none'; img-src *; style-src 'unsafe-inline'; "+
			"script-src 'self'")
		if r.URL.Path != "/" {
			w.Header().Set("Content-Type", "text/javascript")
			io.WriteString(w, "console.error('said')")
			return
		}
		io.WriteString(w, `<!DOCTYPE html><html lang="en"><title>x</title><script>1</script><script src="/x.js"></script>
<main><h1>Bad</h1><p style="color:#ddd">pale</p><p style="width:900px">wide</p><p style="transition:all 1s">moves</p><form><input></form><img src="http://elsewhere.example/x.png"></main>`)
	}))
	defer bad.Close()
	f := &findings{faults: map[string][]string{}, links: map[string]visit{}, most: map[string]float64{}}
	v := visit{pageKind{name: "bad", path: "/?f=html"}, reader{who: "open", lang: "en"}, &api{Server: bad, t: t}}
	if err := f.look(newTab(t, ctx, true, checks), v, haveAxe); err != nil {
		t.Fatal(err)
	}
	all := ""
	for k := range f.faults {
		all += k + "\n"
	}
	want := []string{"Content Security Policy", "console.error", "asks elsewhere", "ERR_NAME_NOT_RESOLVED",
		"scrolls sideways", "moves with reduced motion", "is printed: ", "is printed too light"}
	if haveAxe {
		want = append(want, "axe color-contrast", "axe image-alt", "axe label")
	}
	for _, w := range want {
		if !strings.Contains(all, w) {
			t.Errorf("not found: %s, in\n%s", w, all)
		}
	}
}
