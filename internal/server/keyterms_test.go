package server_test

import (
	"strings"
	"testing"
	"time"

	"grense/internal/apikey"
	"grense/internal/config"
	"grense/internal/state"
)

// keyWith stores another key of a server, with terms, and returns it.
func (a *api) keyWith(terms state.Terms) string {
	a.t.Helper()
	key, rec, err := apikey.New("other", time.Time{}, time.Now())
	if err != nil {
		a.t.Fatal(err)
	}
	rec.Terms = terms
	if err := a.state.PutKey(a.t.Context(), rec); err != nil {
		a.t.Fatal(err)
	}
	if err := a.keys.Refresh(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
	return key
}

// TestAKeyServesItsScopesAndOriginsOnly: everything else is 403, with the cure.
func TestAKeyServesItsScopesAndOriginsOnly(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth, c.Compat.WMS, c.Compat.WMTS = "required", true, true })
	one := a.keyWith(state.Terms{Scopes: "collections/kommuner processes"})
	tiles := a.keyWith(state.Terms{Scopes: "tiles"})
	drawn := a.keyWith(state.Terms{Scopes: "tiles/kommuner"})
	bound := a.keyWith(state.Terms{Origins: "https://a.example https://b.example:8443"})
	const wms = "/wms?version=1.3.0&styles=&crs=CRS:84&bbox=9,59,11,60&width=9&height=9"
	const items, tile = "/collections/kommuner/items?limit=1", "/tiles/WebMercatorQuad/0/0/0"
	for _, x := range []struct {
		what, key, path string
		status          int
		header          []string
	}{
		{"its collection", one, items, 200, nil},
		{"at the other mount", one, "/v1" + items, 200, nil},
		{"another collection", one, "/collections/fylker/items", 403, nil},
		{"all collections", one, "/lookup?lon=10&lat=60", 403, nil},
		{"tiles of its collection", one, "/collections/kommuner/tiles/WebMercatorQuad/0/0/0", 403, nil},
		{"processes", one, "/jobs", 200, nil},
		{"metadata", one, "/collections/fylker", 200, nil},
		{"a wrong parameter of another collection", one, "/collections/fylker/items?limit=x", 403, nil},
		{"tiles", tiles, tile, 200, nil},
		{"a map", tiles, "/collections/kommuner/map?width=9", 200, nil},
		{"a map of all data", tiles, "/map?width=9", 200, nil},
		{"a tile of a map", tiles, "/map/tiles/WebMercatorQuad/0/0/0", 200, nil},
		{"a map with a key for features", one, "/collections/kommuner/map?width=9", 403, nil},
		{"the map of its collection", drawn, "/collections/kommuner/map?width=9", 200, nil},
		{"the map of another collection", drawn, "/collections/fylker/map?width=9", 403, nil},
		{"a tile of another collection", drawn, "/collections/fylker/map/tiles/WebMercatorQuad/0/0/0", 403, nil},
		{"a map of all data with a key for one", drawn, "/map?width=9", 403, nil},
		{"its layer by WMTS", drawn, "/wmts/1.0.0/kommuner/default/WebMercatorQuad/0/0/0.png", 200, nil},
		{"another layer by WMTS", drawn, "/wmts/1.0.0/fylker/default/WebMercatorQuad/0/0/0.png", 403, nil},
		{"its layer by WMS", drawn, wms + "&request=GetMap&layers=kommuner", 200, nil},
		{"two layers by WMS", drawn, wms + "&request=GetMap&layers=kommuner,fylker", 403, nil},
		{"features of another layer by WMS", drawn,
			wms + "&request=GetFeatureInfo&layers=kommuner&query_layers=fylker&i=1&j=1", 403, nil},
		{"jobs", tiles, "/jobs", 403, nil},
		{"features", tiles, items, 403, nil},
		{"an origin of the key", bound, items, 200, []string{"Origin", "https://a.example"}},
		{"its page", bound, items, 200, []string{"Referer", "https://b.example:8443/map?x=1"}},
		{"another origin", bound, items, 403, []string{"Origin", "https://a.example.org"}},
		{"another port", bound, items, 403, []string{"Origin", "https://b.example"}},
		{"no origin", bound, items, 403, nil},
	} {
		r := a.get(x.path, append([]string{"X-API-Key", x.key}, x.header...)...)
		if r.StatusCode != x.status {
			t.Errorf("%s: %d, want %d: %s", x.what, r.StatusCode, x.status, r.Body)
		}
		if r.StatusCode == 403 {
			if p := r.json(); p["code"] != "Forbidden" || !strings.Contains(p["detail"].(string), "another key") {
				t.Errorf("%s: %v", x.what, p)
			}
		}
	}
	if r := a.get("/collections/fylker/items", "X-API-Key", one); !strings.Contains(
		string(r.Body), "collections/kommuner, processes") {
		t.Errorf("the scopes are not told: %s", r.Body)
	}
	if page := a.get("/collections/fylker/items?f=html&lang=en", "X-API-Key", one).wants(403); !strings.Contains(
		string(page.Body), "No access with this key") {
		t.Errorf("%s", page.Body)
	}
	a.get("/collections/fylker/items", "X-API-Key", a.key).wants(200)
}
