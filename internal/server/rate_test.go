package server_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"grense/api/placename"
	"grense/internal/config"
)

// TestRatesAreByCost: who has used up the rate is told so with the wait, cheap requests cost little, and a download that was begun goes on.
func TestRatesAreByCost(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Limits.Rate = 1 })
	const items = "/collections/kommuner/items?limit=1"
	r := a.get(items).wants(http.StatusOK)
	if got := r.Header.Get("RateLimit-Policy"); got != `"default";q=10;w=10` {
		t.Errorf("RateLimit-Policy %q", got)
	}
	if got := r.Header.Get("RateLimit"); got != `"default";r=9` && got != `"default";r=8` {
		t.Errorf("RateLimit %q", got)
	}
	next := ""
	for _, l := range r.links() {
		if l.Rel == "next" {
			next = l.Href
		}
	}
	// a search through the collection costs more than there is: it is answered, and then the caller waits
	a.get(items + "&filter=S_TOUCHES(geometry,POLYGON((5%2060,6%2060,6%2061,5.5%2061.5,5%2060)))").wants(http.StatusOK)
	r = a.get(items).wants(http.StatusTooManyRequests)
	wait, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil || wait < 1 || wait > 60 {
		t.Errorf("Retry-After %q", r.Header.Get("Retry-After"))
	}
	if p := r.json(); p["code"] != "TooManyRequests" || !strings.Contains(p["detail"].(string), "Retry-After") {
		t.Errorf("%v", p)
	}
	if got := r.Header.Get("RateLimit"); !strings.HasPrefix(got, `"default";r=0;t=`) {
		t.Errorf("RateLimit %q", got)
	}
	a.get(next).wants(http.StatusOK)
	a.get("/collections").wants(http.StatusOK)
	a.get("/readyz").wants(http.StatusOK)
}

func TestRatesAreOffByDefault(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	r := a.get("/collections/kommuner/items?limit=1").wants(http.StatusOK)
	if r.Header.Get("RateLimit") != "" || r.Header.Get("RateLimit-Policy") != "" {
		t.Errorf("%v", r.Header)
	}
}

func TestRateOverSOAPIsAFault(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, func(c *config.Config) { c.Limits.Rate = 1; c.TrustedProxies = nil })
	ask := func() answer {
		return a.post(endpoint, "text/xml; charset=utf-8", string(placename.ExampleRequest("findSteder", false, placename.DefaultBase)), "X-API-Key", a.key)
	}
	r := ask()
	for range 30 {
		if r.StatusCode != http.StatusTooManyRequests {
			r = ask()
		}
	}
	r.wants(http.StatusTooManyRequests)
	if !strings.Contains(string(r.Body), "LIMIT_EXCEEDED") || r.Header.Get("Retry-After") == "" {
		t.Errorf("%s", r.Body)
	}
}

// TestWrongKeysAreSlowed: after some, an address waits; a right key from there is answered all the same.
func TestWrongKeysAreSlowed(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	const items = "/collections/kommuner/items?limit=1"
	counts := map[int]int{}
	for range 100 {
		counts[a.get(items, "X-API-Key", "grense_unknown").StatusCode]++
	}
	if counts[http.StatusUnauthorized] < 20 || counts[http.StatusTooManyRequests] < 50 {
		t.Errorf("%v", counts)
	}
	r := a.get(items, "X-API-Key", "grense_unknown").wants(http.StatusTooManyRequests)
	if r.Header.Get("Retry-After") == "" || r.Header.Get("WWW-Authenticate") != "" {
		t.Errorf("%v", r.Header)
	}
	a.get(items, "X-API-Key", a.key).wants(http.StatusOK)
	a.get(items).wants(http.StatusUnauthorized) // without a key nothing is guessed
}
