package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/await"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// ready requests a page until its geometries are simplified.
func (a *api) ready(path string) answer {
	a.t.Helper()
	var r answer
	await.True(a.t, path, func() bool {
		r = a.get(path)
		if r.StatusCode == 503 &&
			(r.Header.Get("Retry-After") == "" || !strings.Contains(string(r.Body), "leave zoom-level out")) {
			a.t.Fatalf("%s: 503 without a cure: %s", path, r.Body)
		}
		return r.StatusCode != 503
	})
	return r
}

// edges counts the directed edges of areas, by feature. A border that two features share occurs in both directions.
func edges(t testing.TB, p collectionPage) (all map[[2]orb.Point]string, positions int) {
	all = map[[2]orb.Point]string{}
	for _, f := range p.Features {
		if f.Geometry == nil {
			continue
		}
		var areas orb.MultiPolygon
		if f.Geometry.Type == "Polygon" {
			areas = make(orb.MultiPolygon, 1)
			decode(t, f.Geometry.Coordinates, &areas[0])
		} else {
			decode(t, f.Geometry.Coordinates, &areas)
		}
		for _, area := range areas {
			for _, ring := range area {
				positions += len(ring)
				for i := 1; i < len(ring); i++ {
					all[[2]orb.Point{ring[i-1], ring[i]}] = f.ID
				}
			}
		}
	}
	return all, positions
}

// landlocked are the features whose edges are all shared.
func landlocked(all map[[2]orb.Point]string) map[string]bool {
	in := map[string]bool{}
	for _, id := range all {
		in[id] = true
	}
	for e, id := range all {
		if _, ok := all[[2]orb.Point{e[1], e[0]}]; !ok {
			in[id] = false
		}
	}
	return in
}

func TestZoomLevelSimplifiesGeometriesWithSharedBorders(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, id := range []string{"OGC/1.3/CRS84", "EPSG/0/25833", "EPSG/0/3857", "EPSG/0/4258"} {
		const path = "/collections/kommuner/items?limit=1000"
		in := "&crs=http://www.opengis.net/def/crs/" + id
		if id == "EPSG/0/4258" && testing.Short() {
			continue
		}
		whole := a.get(path + in).wants(200).page()
		stored, most := edges(t, whole)
		inland := landlocked(stored)
		for _, zoom := range []string{"0", "4", "6.5", "24"} {
			r := a.ready(path + in + "&zoom-level=" + zoom).wants(200)
			p := r.page()
			if r.Header.Get("Content-Crs") != "<http://www.opengis.net/def/crs/"+id+">" ||
				!slices.Equal(p.ids(), whole.ids()) {
				t.Fatalf("%s at %s: Content-Crs %s, %d features", id, zoom, r.Header.Get("Content-Crs"),
					len(p.Features))
			}
			for i, f := range p.Features {
				if g, was := f.Geometry, whole.Features[i].Geometry; (g == nil) != (was == nil) ||
					g != nil && g.Type != was.Type {
					t.Errorf("%s at %s: the geometry of %s changes its kind", id, zoom, f.ID)
				}
			}
			all, n := edges(t, p)
			if zoom == "24" && n != most || zoom == "4" && n > most*9/10 {
				t.Errorf("%s at %s: %d positions of %d", id, zoom, n, most)
			}
			for feature, ok := range landlocked(all) {
				if !ok && inland[feature] && zoom != "0" { // where some features are too small
					t.Errorf("%s at %s: %s shares not all of its border", id, zoom, feature)
				}
			}
			for _, f := range []string{"jsonld", "csv", "html", "flatgeobuf", "json&profile=jsonfg"} {
				a.get(path + in + "&zoom-level=" + zoom + "&f=" + f).wants(200)
			}
		}
	}
}

func TestZoomLevelOfOneFeatureIsThatOfThePage(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, mount := range []string{"", "/v1"} {
		p := a.ready(mount + "/collections/kommuner/items?limit=2&zoom-level=5").wants(200).page()
		r := a.get(mount + "/collections/kommuner/items/" + p.Features[0].ID + "?zoom-level=5").wants(200)
		var f featureDoc
		decode(t, r.Body, &f)
		if string(f.Geometry.Coordinates) != string(p.Features[0].Geometry.Coordinates) {
			t.Errorf("the feature has other coordinates than the page")
		}
		next, _ := find(p.Links, "next", "")
		if !strings.Contains(next.Href, "zoom-level=5") {
			t.Errorf("next forgets zoom-level: %s", next.Href)
		}
		tag := r.Header.Get("ETag")
		if same := a.get(mount+"/collections/kommuner/items/"+f.ID+"?zoom-level=5", "If-None-Match",
			tag); same.StatusCode != 304 {
			t.Errorf("status %d for a known ETag", same.StatusCode)
		}
		if other := a.get(mount+"/collections/kommuner/items/"+f.ID, "If-None-Match", tag); other.StatusCode != 200 {
			t.Errorf("the ETag is also that of the stored geometry")
		}
	}
}

func TestZoomLevelIsRefusedWithACure(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, bad := range []string{"", "-1", "x", "NaN", "Inf", "1e999", "0x5", "1_0", "7&zoom-level=8"} {
		for _, path := range []string{"/collections/kommuner/items", "/collections/kommuner/items/0301"} {
			r := a.get(path + "?zoom-level=" + bad).wants(400)
			if !strings.Contains(string(r.Body), "zoom-level") {
				t.Errorf("%q: %s", bad, r.Body)
			}
		}
	}
	for _, path := range []string{"/collections", "/collections/kommuner/tiles/utm33n",
		"/collections/kommuner/schema"} {
		a.get(path + "?zoom-level=5").wants(400)
	}
}

// allKinds writes a collection of every kind of geometry, stored in a system in which there are no tiles.
func allKinds(t testing.TB) string {
	t.Helper()
	id, ok := crs.Parse("http://www.opengis.net/def/crs/EPSG/0/32631")
	if !ok {
		t.Fatal("EPSG:32631 is not known")
	}
	path := filepath.Join(t.TempDir(), "mixed.gpkg")
	ctx := context.Background()
	w, err := gpkg.Create(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	c := &store.Collection{ID: "mixed", Table: "mixed", Public: true,
		Key:      store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
		Geometry: &store.Geom{Name: "geom", Column: "geom", Type: "Geometry", CRS: id}}
	if err := w.Define(ctx, c, false); err != nil {
		t.Fatal(err)
	}
	insert, err := w.Insert(ctx, "mixed", []string{"geom"})
	if err != nil {
		t.Fatal(err)
	}
	wave := make(orb.LineString, 400)
	for i := range wave {
		wave[i] = orb.Point{400000 + 250*float64(i), 6500000 + float64(i%2)}
	}
	ring := append(orb.Ring{{400000, 6600000}}, orb.Ring(wave)...)
	ring = append(ring, orb.Point{499750, 6600000}, ring[0])
	for _, g := range []orb.Geometry{orb.Point{450000, 6550000}, wave, orb.MultiLineString{wave}, orb.Polygon{ring},
		orb.MultiPolygon{{ring}}, orb.Collection{orb.Point{450000, 6550000}, wave},
		orb.Polygon{{{450000, 6550000}, {450001, 6550000}, {450001, 6550001}, {450000, 6550000}}}} {
		if err := insert(store.Geometry{WKB: wkb.Append(nil, g)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := insert(nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestZoomLevelKeepsEveryKindOfGeometry(t *testing.T) {
	t.Parallel()
	a := serve(t, allKinds(t), nil)
	whole := a.get("/collections/mixed/items").wants(200).page()
	p := a.ready("/collections/mixed/items?zoom-level=3").wants(200).page()
	if len(p.Features) != 8 {
		t.Fatalf("%d features", len(p.Features))
	}
	for i, f := range p.Features {
		was := whole.Features[i].Geometry
		if f.Geometry == nil || was == nil {
			if f.Geometry != nil || was != nil {
				t.Errorf("feature %s: %v, was %v", f.ID, f.Geometry, was)
			}
			continue
		}
		before, after := len(was.Coordinates)+len(was.Geometries),
			len(f.Geometry.Coordinates)+len(f.Geometry.Geometries)
		if f.Geometry.Type != was.Type || after == 0 || i > 0 && i < 5 && after > before/10 ||
			(i == 0 || i == 5) && after != before {
			text, _ := json.Marshal(f.Geometry)
			t.Errorf("%s: %d bytes were %d: %.200s", was.Type, after, before, text)
		}
	}
	r := a.get("/collections/mixed/items?zoom-level=3&crs=http://www.opengis.net/def/crs/EPSG/0/32631").wants(400)
	if !strings.Contains(string(r.Body), "crs=http://www.opengis.net/def/crs/OGC/1.3/CRS84") {
		t.Errorf("no cure: %s", r.Body)
	}
}

// TestMapsOfPagesHaveSharedBorders requests maps until tile levels are built, and compares the edges that two
// municipalities draw.
func TestMapsOfPagesHaveSharedBorders(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, path := range []string{"/collections/kommuner?f=html", "/lookup?f=html&lon=10.75&lat=59.91",
		"/collections/kommuner/items/0301?f=html", "/collections/kommuner/items?f=html&limit=250",
		"/collections/kommuner/items?f=html&fylke_nr=11"} {
		a.get(path, "Accept", "text/html").wants(200) // begins the levels
		tilesReady(t, a.srv)
		drawn := map[[4]int]int{}
		for _, d := range outlinesOf.FindAllStringSubmatch(string(a.get(path, "Accept", "text/html").wants(200).Body),
			-1) {
			var x, y int
			numbers := wholeNumbers.FindAllStringSubmatch(d[1], -1)
			for i := 0; i+1 < len(numbers); i += 2 {
				dx, _ := strconv.Atoi(numbers[i][2])
				dy, _ := strconv.Atoi(numbers[i+1][2])
				if numbers[i][1] == "M" {
					x, y = dx, dy
					continue
				}
				drawn[[4]int{min(x, x+dx), min(y, y+dy), max(x, x+dx), max(y, y+dy)}]++
				x, y = x+dx, y+dy
			}
		}
		twice := 0
		for _, n := range drawn {
			if n > 1 {
				twice++
			}
		}
		if len(drawn) < 12 || twice < len(drawn)/10 {
			t.Errorf("%s: %d of %d edges are drawn by two areas", path, twice, len(drawn))
		}
	}
}

// TestPreviewHasSharedBorders: the preview is drawn from tile levels as soon as there are any, and is then the same
// for every request.
func TestPreviewHasSharedBorders(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	rough := a.get("/preview.png").wants(200) // begins the levels
	tilesReady(t, a.srv)
	fine := a.get("/preview.png").wants(200)
	if bytes.Equal(rough.Body, fine.Body) || rough.Header.Get("ETag") == fine.Header.Get("ETag") {
		t.Error("levels change nothing")
	}
	if again := a.get("/v1/preview.png").wants(200); !bytes.Equal(again.Body, fine.Body) {
		t.Error("the picture is another one each time")
	}
}

var (
	outlinesOf   = regexp.MustCompile(`<path d="([^"]*)"`)
	wholeNumbers = regexp.MustCompile(`([Ml]?) ?(-?\d+)`)
)
