package server_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"grense/internal/config"
)

// TestClientsThatResetTooManyRequestsWait: after thousands of cancelled requests the address and the key get 429, and
// no other client does. A download in flight goes on.
func TestClientsThatResetTooManyRequestsWait(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	h := a.srv.Handler()
	const items = "/collections/kommuner/items?limit=60"
	ask := func(ctx context.Context, path, addr string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil)
		r.RemoteAddr = addr + ":99"
		r.Header.Set("X-API-Key", a.key)
		w := httptest.NewRecorder()
		defer func() {
			if p := recover(); p != nil && p != http.ErrAbortHandler {
				panic(p)
			}
		}()
		h.ServeHTTP(w, r)
		return w
	}
	next := ""
	for _, l := range a.get(items, "X-API-Key", a.key).links() {
		if l.Rel == "next" {
			next = strings.TrimPrefix(l.Href, a.URL)
		}
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 6000 {
		ask(gone, items, "192.0.2.1")
	}
	w := ask(t.Context(), items, "192.0.2.1")
	if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" ||
		!strings.Contains(w.Body.String(), "broken off") {
		t.Errorf("%d, %v, %s", w.Code, w.Header(), w.Body)
	}
	for path, addr := range map[string]string{next: "192.0.2.1", items: "192.0.2.2", "/collections": "192.0.2.1"} {
		if w := ask(t.Context(), path, addr); w.Code != http.StatusOK {
			t.Errorf("%s of %s: %d, %s", path, addr, w.Code, w.Body)
		}
	}
}
