package server_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"grense/api/placename"
	"grense/internal/await"
	"grense/internal/config"
	"grense/internal/state"
)

// TestRatesAreByCost: a client that has used up the rate gets a message with the time to wait. Cheap requests cost
// little, and a started download goes on.
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

// TestRequestsAreChargedByTheirCost checks the charge for each kind of request. Refused requests cost nothing.
func TestRequestsAreChargedByTheirCost(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	a.settled("/collections/kommuner/tiles/WebMercatorQuad/3/2/4")
	a.lookup(t, "lon=10.75&lat=59.91")
	a.waitIndexed(t, 10.75, 59.91, "fylker", "kommuner")
	charged := a.srv.Meter()
	const kommuner = "/collections/kommuner"
	const touches = "filter=S_OVERLAPS(geometry,POLYGON((5%2058,12%2058,12%2064,5%2064,5%2058)))"
	get := func(path string, header ...string) func() answer {
		return func() answer { return a.get(path, header...) }
	}
	whole := func() string {
		defer charged()
		return a.get(kommuner + "/download?f=gpkg").wants(200).Header.Get("Content-Location")
	}
	whole()
	for _, x := range []struct {
		what        string
		ask         func() answer
		status      int
		least, most float64
	}{
		{"the landing page", get("/"), 200, 0, 0},
		{"a feature", get(kommuner + "/items/0301"), 200, 1, 2},
		{"a page of one feature", get(kommuner + "/items?limit=1"), 200, 1, 1.5},
		{"a page of 300 features that nobody has asked for", get(kommuner + "/items?limit=300"), 200, 3.5, 5},
		{"a wrong parameter", get(kommuner + "/items?limit=x"), 400, 0, 0},
		{"a search through a collection",
			get(kommuner + "/items?limit=1&filter=CASEI(navn)%20LIKE%20CASEI('%25dal%25')"), 200, 2, 21},
		{"a comparison of geometries", get(kommuner + "/items?limit=1&" + touches), 200, 50, 51},
		{"the file of a collection that is there", get(kommuner + "/download?f=gpkg"), 200, 1, 1},
		{"the rest of one", func() answer { return a.get(whole(), "Range", "bytes=100-") }, 206, 1, 1},
		{"a file of all features that is made", get(kommuner + "/download?f=kml"), 200, 4.5, 12},
		{"a file of a box", get(kommuner + "/download?f=geojsonseq&bbox=10,59,11,60"), 200, 2, 12},
		{"a file of a comparison", get(kommuner + "/download?f=geojsonseq&" + touches), 200, 50, 110},
		{"a tile that is there", get(kommuner + "/tiles/WebMercatorQuad/3/2/4"), 200, 1, 1},
		{"a tile of a comparison", get(kommuner + "/tiles/WebMercatorQuad/3/2/4?" + touches), 200, 50, 60},
		{"a tile of a map", get(kommuner + "/map/tiles/WebMercatorQuad/3/2/4"), 200, 1, 6},
		{"a map of more than a tile", get(kommuner + "/map?width=512&height=512&bbox=9,59,11,61"), 200, 2, 8},
		{"a map of the largest size",
			get(kommuner + "/map?width=4096&height=4096&bbox=9,59,11,61&f=jpeg"), 200, 20, 30},
		{"a map in a comparison", get(kommuner + "/map?width=100&bbox=9,59,11,61&" + touches), 200, 50, 60},
		{"a map that is too large", get(kommuner + "/map?width=4097"), 400, 0, 0},
		{"a map of a tiny scale", get(kommuner + "/map?bbox=9,59,11,61&scale-denominator=1"), 400, 0, 0},
		{"a map of a box beyond the world", get(kommuner + "/map?width=99&bbox=-1e308,-1e308,1e308,1e308"), 200, 1, 10},
		{"a map of a box without area", get(kommuner + "/map?bbox=9,59,9,59"), 400, 0, 0},
		{"a map in a style that there is not", get("/styles/nothing/map"), 404, 0, 0},
		{"a map in a colour of many letters", get(kommuner + "/map?bgcolor=" + strings.Repeat("f", 5000)), 400, 0, 0},
		{"a tile that no grid has", get(kommuner + "/map/tiles/WebMercatorQuad/3/999/4"), 404, 0, 0},
		{"a tile larger than a map",
			get(kommuner + "/map/tiles/WebMercatorQuad/3/2/4?scale-denominator=1"), 400, 0, 0},
		{"the divisions at a point", get("/lookup?lon=10.76&lat=59.92"), 200, 2, 6}, // one that is kept is a page,
		{"a table of points", func() answer {
			return a.post("/enrich", "text/csv", "lon,lat\n10.75,59.91\n")
		}, 200, 3, 12},
		{"an execution", func() answer { return a.send("/processes/echo/execution", `{"inputs":{"string":"x"}}`) }, 200,
			1, 1},
		{"a job", func() answer {
			return a.send("/processes/echo/execution", `{"inputs":{"string":"x"}}`, "Prefer", "respond-async")
		}, 201, 1, 1},
	} {
		within := func() error {
			x.ask().wants(x.status)
			if got := charged(); got <= x.least-0.001 || got >= x.most+0.001 {
				return fmt.Errorf("%s: %v units, want %v to %v", x.what, got, x.least, x.most)
			}
			return nil
		}
		err := within()
		// writes of other tests to the same cluster force the server to rebuild files and indexes
		if err != nil && onPostGIS() {
			await.Success(t, x.what, within)
		} else if err != nil {
			t.Error(err)
		}
	}
}

// TestAUsedUpRateBeginsNothing: a client without any rate left can start no file, execution, table or tile, but can
// resume a file.
func TestAUsedUpRateBeginsNothing(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Limits.Rate = 1 })
	whole := a.get("/collections/fylker/download?f=gpkg").wants(200).Header.Get("Content-Location")
	a.get("/collections/kommuner/items?limit=1&" +
		"filter=S_TOUCHES(geometry,POLYGON((5%2060,6%2060,6%2061,5.5%2061.5,5%2060)))").wants(200)
	for _, ask := range []func() answer{
		func() answer { return a.get("/collections/fylker/download?f=csv") },
		func() answer { return a.get("/collections/fylker/download?f=kml") },
		func() answer { return a.get("/collections/fylker/download?f=csv&bbox=10,59,11,60") },
		func() answer { return a.get(whole) },
		func() answer { return a.get("/lookup?lon=10.75&lat=59.91") },
		func() answer { return a.get("/tiles/WebMercatorQuad/0/0/0") },
		func() answer { return a.post("/enrich", "text/csv", "lon,lat\n10.75,59.91\n") },
		func() answer { return a.send("/processes/echo/execution", `{"inputs":{"string":"x"}}`) },
		func() answer {
			return a.send("/processes/echo/execution", `{"inputs":{"string":"x"}}`, "Prefer", "respond-async")
		},
	} {
		r := ask().wants(http.StatusTooManyRequests)
		if r.Header.Get("Retry-After") == "" || !strings.HasPrefix(r.Header.Get("RateLimit"), `"default";r=0;t=`) {
			t.Errorf("%s: %v", r.Body, r.Header)
		}
	}
	a.get(whole, "Range", "bytes=10-").wants(http.StatusPartialContent)
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
		return a.post(endpoint, "text/xml; charset=utf-8", string(
			placename.ExampleRequest("findSteder", false, placename.DefaultBase)), "X-API-Key", a.key)
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
	for range 30 { // others behind the same address
		a.get(items, "X-API-Key", a.key).wants(http.StatusOK)
		a.get(items, "X-API-Key", "grense_unknown").wants(http.StatusTooManyRequests)
		a.get(items, "Authorization", basic("any", a.key)).wants(http.StatusOK)
	}
	a.get(items).wants(http.StatusUnauthorized) // without a key nothing is guessed
	form := func(key string) answer {
		return a.post("/key", "application/x-www-form-urlencoded", "key="+key)
	}
	form("grense_unknown").wants(http.StatusTooManyRequests)
	form(a.key).wants(http.StatusSeeOther)
}

// TestAKeyHasItsOwnRateAndQuota, whatever the others have.
func TestAKeyHasItsOwnRateAndQuota(t *testing.T) {
	t.Parallel()
	a := keyed(t)
	slow, few := a.keyWith(state.Terms{Rate: 1}), a.keyWith(state.Terms{Quota: 5, Rate: 1000})
	const items = "/collections/kommuner/items?limit=1"
	get := func(key string) answer { return a.get(items, "X-API-Key", key) }
	if got := get(slow).wants(200).Header.Get("RateLimit-Policy"); got != `"default";q=10;w=10` {
		t.Errorf("RateLimit-Policy %q", got)
	}
	if got := get(a.key).wants(200).Header.Get("RateLimit-Policy"); got != "" {
		t.Errorf("RateLimit-Policy %q", got)
	}
	r := get(few).wants(200)
	if got := r.Header.Get("RateLimit-Policy"); got != `"default";q=10000;w=10, "day";q=5;w=86400` {
		t.Errorf("RateLimit-Policy %q", got)
	}
	if got := r.Header.Get("RateLimit"); !strings.Contains(got, `"day";r=`) {
		t.Errorf("RateLimit %q", got)
	}
	for range 5 {
		r = get(few)
	}
	if p := r.wants(http.StatusTooManyRequests).json(); !strings.Contains(p["detail"].(string), "5 units of today") {
		t.Errorf("%v", p)
	}
	get(a.key).wants(200)
	other := a.keyWith(state.Terms{}) // reads the keys again
	get(other).wants(200)
	get(few).wants(http.StatusTooManyRequests)
	for range 20 {
		r = get(slow)
	}
	r.wants(http.StatusTooManyRequests)
}
