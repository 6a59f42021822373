package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestLongFiltersReachTheServer: what answers a filter that is too long is its own limit, not that of the header.
func TestLongFiltersReachTheServer(t *testing.T) {
	t.Parallel()
	r := serve(t, t.TempDir())
	key := keyPrinted.FindString(r.stdout.String())
	ask := func(text string) (int, string) {
		return r.get(t, "/collections/fylker/items?limit=1&filter="+url.QueryEscape("'a' <> '"+text+"'"), key)
	}
	for name, long := range map[string]string{"plain": strings.Repeat("x", 60_000),
		"escaped": strings.Repeat("å", 30_000)} {
		if code, body := ask(long); code != http.StatusOK || !strings.Contains(body, `"numberMatched"`) {
			t.Errorf("%s: %d %.200s", name, code, body)
		}
	}
	if code, body := ask(strings.Repeat("x", 66_000)); code == http.StatusOK ||
		code == http.StatusRequestHeaderFieldsTooLarge || !strings.Contains(body, "65536") {
		t.Errorf("too long: %d %.200s", code, body)
	}
}
