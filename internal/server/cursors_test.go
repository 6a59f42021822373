package server_test

import (
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"grense/internal/config"
	"grense/internal/server"
	"grense/internal/state"
	"grense/internal/store"
)

// cursorOf is the cursor in the link next of a page.
func (a *api) cursorOf(path string) string {
	a.t.Helper()
	l, ok := find(a.get(path).wants(200).page().Links, "next", "")
	u, err := url.Parse(l.Href)
	if !ok || err != nil || u.Query().Get("cursor") == "" {
		a.t.Fatalf("%s: next is %v, %v", path, l, err)
	}
	return u.Query().Get("cursor")
}

// TestCursorsAreOfTheirQueryOnly: a cursor is refused if the selection or the order of features changes between
// pages. The representation may change.
func TestCursorsAreOfTheirQueryOnly(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const items = "/collections/kommuner/items?"
	cur := a.cursorOf(items + "limit=3&fylke_nr=46&sortby=-navn")
	with := func(query string) string { return items + query + "&cursor=" + cur }
	want := a.get(with("limit=3&fylke_nr=46&sortby=-navn")).wants(200).page().ids()
	for _, query := range []string{"sortby=-navn&fylke_nr=46&limit=2",
		"limit=3&fylke_nr=46&sortby=-navn&skipGeometry=true&lang=nn",
		"f=json&limit=3&fylke_nr=46&sortby=-navn&properties=navn",
		"limit=3&fylke_nr=46&sortby=-navn&crs=http://www.opengis.net/def/crs/EPSG/0/25833"} {
		if got := a.get(with(query)).wants(200).page().ids(); len(got) == 0 || got[0] != want[0] {
			t.Errorf("%s: %v, want %v", query, got, want)
		}
	}
	for _, query := range []string{"limit=3&fylke_nr=11&sortby=-navn", "limit=3&sortby=-navn",
		"limit=3&fylke_nr=46&sortby=navn", "limit=3&fylke_nr=46", "limit=3&fylke_nr=46&sortby=-navn&q=b",
		"limit=3&fylke_nr=46&sortby=-navn&bbox=0,50,40,80", "limit=3&fylke_nr=46&sortby=-navn&filter=nr%3E'1'"} {
		if r := a.get(with(query)).wants(400); !strings.Contains(string(r.Body), "together with all other parameters "+
			"of that link") {
			t.Errorf("%s: %s", query, r.Body)
		}
	}
	a.get(strings.Replace(with("limit=3&fylke_nr=46&sortby=-navn"), "kommuner", "fylker", 1)).wants(400)
	v1 := a.get("/v1" + with("limit=3&fylke_nr=46&sortby=-navn")).wants(200).page().ids()
	if strings.Join(v1, " ") != strings.Join(want, " ") {
		t.Errorf("at the other mount: %v, want %v", v1, want)
	}
}

// TestForgedCursorsAreRefusedAndCharged, and do not lift the rate limit; a page that follows another is answered.
func TestForgedCursorsAreRefusedAndCharged(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const items = "/collections/kommuner/items?limit=2"
	cur := a.cursorOf(items)
	flipped := []byte(cur)
	flipped[3] ^= 1
	charged := a.srv.Meter()
	for _, forged := range []string{string(store.NewCursor(store.Place{ID: "0301"})),
		"AAAAAAAAAAAAAAAA" + string(store.NewCursor(store.Place{ID: "0301"})), string(flipped), cur[:len(cur)-4],
		cur + "AAAA", "x",
		cur[:16] + base64.RawURLEncoding.EncodeToString([]byte(`[false,"",null,"0302"]`))} {
		charged()
		a.get(items + "&cursor=" + forged).wants(400)
		if got := charged(); got < 1 || got > 1.01 {
			t.Errorf("%s: charged %v", forged, got)
		}
	}
	charged()
	a.get(items + "&cursor=" + cur).wants(200)
	if got := charged(); got < 1 {
		t.Errorf("a page that follows another is charged %v", got)
	}

	b := serve(t, "", func(c *config.Config) { c.Limits.Rate = 1 })
	next := b.cursorOf(items)
	b.get("/collections/kommuner/items?limit=1&" +
		"filter=S_TOUCHES(geometry,POLYGON((5%2060,6%2060,6%2061,5.5%2061.5,5%2060)))").wants(http.StatusOK)
	b.get(items).wants(http.StatusTooManyRequests)
	for range 60 {
		b.get(items + "&cursor=" + string(store.NewCursor(store.Place{ID: "0301"}))).wants(400)
		b.get("/collections/kommuner/items?limit=3&sortby=navn&cursor=" + next).wants(400)
	}
	b.get(items + "&cursor=" + next).wants(200)
}

// TestCursorsAreValidAtAllProcessesWithTheKey, and at no other.
func TestCursorsAreValidAtAllProcessesWithTheKey(t *testing.T) {
	t.Parallel()
	key := state.NewSecret()
	with := func(key []byte) *api {
		return serveOptions(t, demoStore(t), nil, func(o *server.Options) { o.CursorKey = key })
	}
	const items = "/collections/kommuner/items?limit=2"
	cur := with(key).cursorOf(items)
	with(key).get(items + "&cursor=" + cur).wants(200)
	with(state.NewSecret()).get(items + "&cursor=" + cur).wants(400)
	with(nil).get(items + "&cursor=" + cur).wants(400)
}
