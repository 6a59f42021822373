package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/await"
	"grense/internal/config"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// moveTiles opens the tile map in each kind of grid, and moves it by keys, buttons and mouse.
func moveTiles(t *testing.T, ctx context.Context, s site, checks string) {
	k := keyboard{newTab(t, ctx, true, checks), t}
	for _, grid := range []string{"WebMercatorQuad", "WorldCRS84Quad", "EPSG3575Quad", "EuropeanETRS89_LAEAQuad",
		"UTM33WGS84Quad", "utm33n"} {
		k.visit(desk, s.open.URL+"/collections/kommuner/tiles/"+grid+"?f=html&lang=en", 200)
		k.mapShown()
		if n := 0; k.ask("mapColours()", &n) != nil || n < 16 {
			t.Errorf("%s: the map has %d colours", grid, n)
		}
	}
	w := desk
	w.reduced = true
	k.visit(w, s.open.URL+"/collections/kommuner/tiles/utm33n?f=html&lang=en", 200)
	k.mapShown()
	k.skip()
	k.tabTo("the map", func(f focus) bool { return strings.Contains(f.Name, "tilemap") })
	scale := func() (s string) {
		k.mapShown()
		if err := k.ask(`document.querySelector(".scalebar").textContent + `+
			`document.querySelector(".scalebar").style.width`, &s); err != nil {
			t.Fatal(err)
		}
		wide := 0.0 // «2 000 km» takes 60 pixels
		if err := k.ask(`parseFloat(document.querySelector(".scalebar").style.width)`, &wide); err != nil || wide < 63 {
			t.Errorf("the bar of the scale %s is shorter than its label may be: %v", s, err)
		}
		return s
	}
	whole := scale()
	k.press("+")
	near := scale()
	if near == whole {
		t.Errorf("+ leaves the scale at %s", whole)
	}
	for range 5 {
		k.press("+")
		scale()
	}
	k.press(kb.ArrowDown)
	k.press("0")
	if now := scale(); now != whole {
		t.Errorf("0 gives the scale %s, not %s", now, whole)
	}
	if err := chromedp.Do(k.ctx, chromedp.Click(".tilemap .tools button")); err != nil {
		t.Fatal(err)
	}
	if now := scale(); now != near {
		t.Errorf("the button gives the scale %s, not %s", now, near)
	}
	if err := k.ask(`(() => { const c = document.querySelector(".tilemap canvas"); `+
		`c.dispatchEvent(new WheelEvent("wheel", { deltaY: -300, bubbles: true, cancelable: true })); `+
		`return true; })()`, nil); err != nil {
		t.Fatal(err)
	}
	if err := k.ask(`new Promise((done) => { const look = () => document.querySelector(".scalebar").textContent + `+
		`document.querySelector(".scalebar").style.width !== "`+near+`" ? done(true) : `+
		`setTimeout(look, 20); look(); })`, nil); err != nil {
		t.Errorf("the wheel does not zoom: %v", err)
	}
	k.press("0")
	k.mapShown()
	k.chooses(s)
}

// beginsAtMost opens a map whose features lie in one place, except for three on the other side of the earth. The map
// begins at that place, and the key 0 shows all. A tile that was not ready is requested again.
func beginsAtMost(t *testing.T, ctx context.Context, checks string) {
	path := filepath.Join(t.TempDir(), "x.gpkg")
	storetest.Write(t, func(w store.Writer) {
		c := &store.Collection{ID: "felt", Table: "felt", Public: true,
			Key:        store.FeatureKey{Column: "nr", Property: "nr", Type: cql2.TypeInteger},
			Properties: []store.Property{{Name: "nr", Column: "nr", Type: cql2.TypeInteger}},
			Geometry:   &store.Geom{Name: "geometry", Column: "geometry", Type: "Polygon", CRS: crs.CRS84}}
		if err := w.Define(t.Context(), c, false); err != nil {
			t.Fatal(err)
		}
		add, err := w.Insert(t.Context(), "felt", []string{"nr", "geometry"})
		for i := 0; i < 603 && err == nil; i++ {
			x, y := float64(i%20)*.4-2, float64(i/20)*.4+43
			if i >= 600 {
				x, y = float64([]int{-61, 55, -53}[i-600]), float64([]int{16, -21, 4}[i-600])
			}
			var b []byte
			if b, err = wkb.Marshal(orb.Bound{Min: orb.Point{x, y},
				Max: orb.Point{x + .4, y + .4}}.ToPolygon()); err == nil {
				err = add(int64(i+1), store.Geometry{WKB: b})
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})(gpkg.Create(t.Context(), path))
	a := serve(t, path, func(c *config.Config) { c.Auth = "open" })
	if page := string(a.get("/collections/felt?f=html&lang=en").wants(200).Body); !strings.Contains(
		page, ">The extent of the data.</span>") {
		t.Error("an extent is not called one")
	}
	k := keyboard{newTab(t, ctx, true, checks), t}
	w := desk
	w.reduced = true
	k.visit(w, lateLevels(t, a.URL)+"/collections/felt?f=html&lang=en", 200)
	wide := func() (km float64) { // the width of the map
		t.Helper()
		k.mapShown()
		if err := k.ask(`parseFloat(document.querySelector(".scalebar").textContent.replace(",", "")) / `+
			`parseFloat(document.querySelector(".scalebar").style.width) * `+
			`document.querySelector(".tilemap").clientWidth`, &km); err != nil {
			t.Fatal(err)
		}
		return km
	}
	if km := wide(); km > 2500 {
		t.Errorf("the map begins %.0f km wide", km)
	}
	var shown string
	if err := k.ask(`document.querySelector("figcaption").textContent + " " + `+
		`document.querySelector("canvas").getContext("2d").getImageData(2, 200, 1, 1).data.join()`,
		&shown); err != nil || shown != "Simplified outlines, drawn from the data. 243,246,245,255" {
		t.Errorf("the caption, and the ground where land is not known, are %s: %v", shown, err)
	}
	k.skip()
	k.tabTo("the map", func(f focus) bool { return strings.Contains(f.Name, "tilemap") })
	k.press("0")
	if km := wide(); km < 8000 {
		t.Errorf("0 shows %.0f km", km)
	}
	if n := 0; k.ask("mapColours()", &n) != nil || n < 3 {
		t.Errorf("a map whose first level has no tiles, as is known once they are asked for, has %d colours", n)
	}
}

// lateLevels is a proxy that acts like a server whose tiles of levels 0 to 3 turn out to be too large: those tiles
// are empty, and only the first tileset document lists the levels.
func lateLevels(t *testing.T, address string) string {
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	known := atomic.Bool{}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(u)
		r.Out.Host = r.In.Host
		r.Out.Header.Set("Accept-Encoding", "identity")
	}}
	proxy.ModifyResponse = func(r *http.Response) error {
		_, at, _ := strings.Cut(r.Request.URL.Path, "/tiles/")
		switch parts := strings.Split(at, "/"); {
		case len(parts) > 1 && parts[1] < "4" && len(parts[1]) == 1:
			known.Store(true)
			r.Body.Close()
			r.StatusCode, r.Body, r.ContentLength = http.StatusNoContent, http.NoBody, 0
			r.Header = http.Header{}
		case len(parts) == 1 && at != "":
			r.Header.Set("Cache-Control", "no-store")
			r.Header.Del("Etag")
			if !known.Load() {
				return nil
			}
			var doc map[string]any
			if err := json.NewDecoder(r.Body).Decode(&doc); err != nil {
				return err
			}
			doc["tileMatrixSetLimits"] = doc["tileMatrixSetLimits"].([]any)[4:]
			b, err := json.Marshal(doc)
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(b)), int64(len(b))
			r.Header.Set("Content-Length", strconv.Itoa(len(b)))
			return err
		}
		return nil
	}
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	return s.URL
}

// asksLess opens a map whose tiles are never ready, with a fast clock. The map requests them less and less often,
// never before the time in the headers, and in the end waits for most milliseconds.
func asksLess(k keyboard, s site, headers string, most float64) {
	t := k.t
	refuse := `{ const ask = fetch, later = setTimeout, longest = () => +(document.documentElement.dataset.longest ?? 0);
		window.fetch = (u, o) => /\/tiles\//.test(u) ? Promise.resolve(new Response("", { status: 503, headers: ` + headers + ` })) : ask(u, o);
		window.setTimeout = (f, ms, ...a) => { document.documentElement.dataset.longest = Math.max(longest(), ms ?? 0); return later(f, (ms ?? 0) / 100, ...a); }; }`
	w := desk
	w.reduced = true
	k.visit(w, s.open.URL+"/collections/kommuner/tiles/utm33n?f=html&lang=en", 200)
	k.mapShown()
	if _, err := chromedp.Call(k.ctx, runtime.Evaluate, runtime.EvaluateParams{Expression: refuse}); err != nil {
		t.Fatal(err)
	}
	k.skip()
	k.tabTo("the map", func(f focus) bool { return strings.Contains(f.Name, "tilemap") })
	k.press("+++")
	var longest float64
	await.Within(t, time.Minute, "the longest wait", func() error {
		if err := k.ask(`+(document.documentElement.dataset.longest ?? 0)`, &longest); err != nil {
			t.Fatal(err)
		}
		if longest < most {
			return fmt.Errorf("%v ms", longest)
		}
		return nil
	})
	if longest != most {
		t.Errorf("waits for %v ms at most", longest)
	}
}

// chooses selects a feature by the keyboard and follows its link.
func (k keyboard) chooses(s site) {
	k.t.Helper()
	for i := range 12 { // the middle of the box is not in the country
		k.press(kb.Enter)
		var href string
		if err := k.ask(`document.querySelector(".found a")?.getAttribute("href") ?? ""`, &href); err != nil {
			k.t.Fatal(err)
		}
		if href != "" {
			if !strings.HasPrefix(href, "/collections/kommuner/items/") {
				k.t.Errorf("the name leads to %s", href)
			}
			s.open.get(href).wants(200)
			k.tabTo("the name", func(f focus) bool { return f.Tag == "a" && strings.Contains(f.Href, "/items/") })
			return
		}
		k.press([]string{kb.ArrowLeft, kb.ArrowDown}[i%2])
		k.mapShown()
	}
	k.t.Error("Enter finds no feature")
}

func (k keyboard) mapShown() {
	k.t.Helper()
	if err := k.ask("mapShown()", nil); err != nil {
		k.t.Fatal(err)
	}
	if err := k.ask(`new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))`,
		nil); err != nil {
		k.t.Fatal(err)
	}
	if err := k.ask("mapShown()", nil); err != nil {
		k.t.Fatal(err)
	}
}
