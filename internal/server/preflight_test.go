package server_test

import (
	"strings"
	"testing"

	"grense/internal/config"
)

// TestPreflightAllowsEveryHeaderThatIsAskedFor: Fetch standard, 4.8.
func TestPreflightAllowsEveryHeaderThatIsAskedFor(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	for _, headers := range []string{"cache-control", "x-requested-with", "traceparent,sentry-trace,baggage",
		"x-api-key, if-match", "X-Never-Seen"} {
		for _, path := range []string{"/collections/kommuner/items", "/v1/collections", "/processes/echo/execution"} {
			h := a.do("OPTIONS", path, "Origin", "https://example.org", "Access-Control-Request-Method", "GET",
				"Access-Control-Request-Headers", headers).wants(204).Header
			if h.Get("Access-Control-Allow-Headers") != headers ||
				!strings.Contains(h.Get("Vary"), "Access-Control-Request-Headers") {
				t.Errorf("%s, %s: %v", path, headers, h)
			}
		}
	}
	for _, headers := range []string{"", "a b\"", "x:y"} {
		if got := a.do("OPTIONS", "/collections", "Access-Control-Request-Headers", headers).wants(204).Header.Get(
			"Access-Control-Allow-Headers"); !strings.HasPrefix(got, "X-API-Key, ") {
			t.Errorf("%q: %q", headers, got)
		}
	}
}
