package server_test

import (
	"encoding/csv"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"grense/internal/config"
	"grense/internal/format"
)

func httpGetMetrics(t *testing.T, a *api) string {
	t.Helper()
	w := httptest.NewRecorder()
	a.srv.MetricsHandler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	return w.Body.String()
}

// crawl sources: every one of them must arrive whole.
var sources = map[string]string{
	"demo": "", "kartverket": "norway/kartverket-fylker-25833.gpkg",
	"n1000": "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg", "ne110m": "cql2/ne110m4cql2.gpkg",
	"gdal_sample": "awkward/gpkg-ets/gdal_sample.gpkg", "view": "awkward/gpkg-ets/gdal_sample_view.gpkg",
	"zero": "awkward/gpkg-ets/features-0_1.gpkg", "states": "awkward/gpkg-ets/states10.gpkg",
	"5208": "awkward/gpkg-ets/gpkg-test-5208.gpkg", "null": "awkward/gpkg-ets/null_geometry.gpkg",
	"counties": "awkward/gpkg-ets/sample1_2F10.gpkg", "bad": "awkward/gpkg-ets/v12_bad_attributes.gpkg",
	"empty": "awkward/gpkg-ets/empty.gpkg", "spatial": "awkward/gpkg-ets/gdal_sample_v1.2_spatial_index_extension.gpkg",
	"sewer": "awkward/gpkg-ets/simple_sewer_features.gpkg", "raster": "awkward/gpkg-ets/uint16.gpkg",
}

func (a *api) collectionIDs() []string {
	var out []string
	for _, c := range a.get("/collections").wants(200).json()["collections"].([]any) {
		out = append(out, c.(map[string]any)["id"].(string))
	}
	return out
}

func (a *api) crawl(t *testing.T, coll string, limits []int) {
	items := "/collections/" + coll + "/items"
	whole := a.get(items + "?limit=10000").wants(200).page()
	if whole.NumberMatched != len(whole.Features) {
		t.Fatalf("%s: %d features of %d in one page", coll, len(whole.Features), whole.NumberMatched)
	}
	if _, more := find(whole.Links, "next", ""); more {
		t.Errorf("%s: the whole has a next page", coll)
	}
	byID := map[string]featureDoc{}
	for _, f := range whole.Features {
		if _, twice := byID[f.ID]; twice {
			t.Fatalf("%s: id %q stands twice", coll, f.ID)
		}
		byID[f.ID] = f
	}
	few := len(whole.Features) <= 400
	if !few {
		limits = []int{40}
	}
	for _, limit := range limits {
		var ids []string
		next := a.URL + items + "?limit=" + strconv.Itoa(limit)
		for next != "" {
			p := a.get(next).wants(200).page()
			if len(p.Features) == 0 && whole.NumberMatched > 0 {
				t.Fatalf("%s: an empty page", next)
			}
			for _, f := range p.Features {
				if want := byID[f.ID]; !reflect.DeepEqual(f, want) {
					t.Fatalf("%s: feature %s differs from that of the whole", next, f.ID)
				}
			}
			ids = append(ids, p.ids()...)
			l, _ := find(p.Links, "next", "")
			next = l.Href
		}
		if !slices.Equal(ids, whole.ids()) {
			t.Fatalf("%s by next, limit %d: %d ids, want %d", coll, limit, len(ids), len(whole.Features))
		}
	}
	step := 7
	if !few {
		step = 1000
	}
	var ids []string
	for off := 0; off < len(whole.Features); off += step {
		ids = append(ids, a.get(fmt.Sprintf("%s?limit=%d&offset=%d", items, step, off)).wants(200).page().ids()...)
	}
	if !slices.Equal(ids, whole.ids()) {
		t.Fatalf("%s by offset: %d ids, want %d", coll, len(ids), len(whole.Features))
	}
	for i, f := range whole.Features {
		if !few && i%100 != 0 {
			continue
		}
		r := a.get(items + "/" + escape(f.ID)).wants(200)
		var one featureDoc
		decode(t, r.Body, &one)
		prev, next := whole.Features[max(i-1, 0)].ID, whole.Features[min(i+1, len(whole.Features)-1)].ID
		if one.Prev != prev || one.Next != next {
			t.Fatalf("%s/%s: prev %q next %q, want %q %q", coll, f.ID, one.Prev, one.Next, prev, next)
		}
		if _, has := find(one.Links, "next", ""); has != (next != f.ID) {
			t.Errorf("%s/%s: link next %v", coll, f.ID, has)
		}
		one.Prev, one.Next, one.Links = "", "", nil
		if !reflect.DeepEqual(one, f) {
			t.Fatalf("%s/%s differs from the feature in the page", coll, f.ID)
		}
	}
}

func TestPrevGoesBackThroughTheSamePages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	a := serve(t, "", nil)
	for _, query := range []string{"", "&sortby=-areal_km2", "&sortby=fylke_nr,-navn", "&bbox=5,58,12,63"} {
		var pages [][]string
		p := a.get("/collections/kommuner/items?limit=13" + query).wants(200).page()
		for {
			pages = append(pages, p.ids())
			next, ok := find(p.Links, "next", "")
			if !ok {
				break
			}
			p = a.get(next.Href).wants(200).page()
		}
		for i := len(pages) - 1; i > 0; i-- {
			prev, ok := find(p.Links, "prev", "")
			if !ok {
				t.Fatalf("%q: page %d has no prev", query, i)
			}
			p = a.get(prev.Href).wants(200).page()
			if !slices.Equal(p.ids(), pages[i-1]) {
				t.Fatalf("%q: back to page %d: %v, want %v", query, i-1, p.ids(), pages[i-1])
			}
		}
		if _, ok := find(p.Links, "prev", ""); ok {
			t.Errorf("%q: the first page has prev", query)
		}
	}
}

// TestALargerLimitIsReadAsPageMax: OGC 17-069r4, 7.15.2; a limit that is not given is page_default.
func TestALargerLimitIsReadAsPageMax(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Limits.PageDefault, c.Limits.PageMax = 3, 7 })
	for query, want := range map[string]int{"": 3, "?limit=7": 7, "?limit=8": 7, "?limit=99999999999999999999": 7} {
		if p := a.get("/collections/kommuner/items" + query).wants(200).page(); p.NumberReturned != want {
			t.Errorf("%q: %d features, want %d", query, p.NumberReturned, want)
		}
	}
}

func TestItemsParameters(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const items = "/collections/kommuner/items"
	for _, tt := range []struct {
		query             string
		matched, returned int
	}{
		{"", 357, 100}, {"?limit=5", 357, 5}, {"?limit=20000", 357, 357}, {"?limit=99999999999999999999", 357, 357},
		{"?offset=350", 357, 7}, {"?offset=400", 357, 0}, {"?offset=99999999999999999999", 357, 0},
		{"?nr=0301", 1, 1}, {"?nr=301", 0, 0}, {"?navn=Oslo", 1, 1}, {"?navn=oslo", 0, 0}, {"?navn=B%C3%B8", 1, 1},
		{"?fylke_nr=03", 1, 1}, {"?fylke_nr=11&limit=1", 23, 1}, {"?areal_km2=453&nr=0301", 1, 1},
		{"?datetime=2020-01-01", 357, 100}, {"?datetime=1900-01-01T00:00:00Z/..", 357, 100},
		{"?datetime_=2020-01-01T00:00:00Z/..", 357, 100}, {"?datetime=0000-01-01T00:00:00Z/9999-12-31T00:00:00Z", 357,
			100},
		{"?bbox=-180,-90,180,90", 357, 100}, {"?bbox=0,0,1,1", 0, 0}, {"?bbox=170,-90,-170,90", 0, 0},
		{"?bbox=10.74,59.98,10.74,59.98", 1, 1}, {"?bbox=10.74,59.98,0,10.74,59.98,100", 1, 1},
		{"?bbox=10,59,-170,61&limit=500", 0, 0},
		{"?bbox=59.98,10.74,59.98,10.74&bbox-crs=http://www.opengis.net/def/crs/EPSG/0/4326", 1, 1},
		{"?navn='%3BDROP%20TABLE%20kommuner%3B--", 0, 0}, {"?navn=%25", 0, 0},
		{"?sortby=navn&sortby=desc&limit=1", 357, 1},
	} {
		p := a.get(items + tt.query).wants(200).page()
		if tt.query == "?bbox=10,59,-170,61&limit=500" {
			if p.NumberMatched == 0 {
				t.Errorf("%s: nothing east of 10 degrees", tt.query)
			}
			continue
		}
		if p.NumberMatched != tt.matched || p.NumberReturned != tt.returned {
			t.Errorf("%s: matched %d returned %d, want %d %d", tt.query, p.NumberMatched, p.NumberReturned, tt.matched,
				tt.returned)
		}
	}
	if p := a.get(items + "?sortby=navn&sortby=desc&limit=1").wants(
		200).page(); p.Features[0].Properties["navn"] != "Øystre Slidre" {
		t.Errorf("the last name by code point is %v", p.Features[0].Properties["navn"])
	}
	smallest := a.get(items + "?sortby=+areal_km2&limit=2").wants(200).page().Features
	if smallest[0].Properties["areal_km2"].(float64) > smallest[1].Properties["areal_km2"].(float64) {
		t.Error("sorted the wrong way")
	}
}

func TestNorwegianCollation(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for query, want := range map[string]string{"sortby=-navn": "Øystre Slidre",
		"sortby=-navn&collation=codepoint": "Øystre Slidre", "sortby=-navn&collation=nb": "Åsnes",
		"sortby=fylke_nr,-navn&collation=nb": "Oslo"} {
		next := a.URL + "/collections/kommuner/items?limit=50&properties=navn&" + query
		seen := map[string]bool{}
		for i := 0; next != ""; i++ {
			p := a.get(next).wants(200).page()
			if got := p.Features[0].Properties["navn"]; i == 0 && got != want {
				t.Errorf("%s: the first is %v, want %s", query, got, want)
			}
			for _, id := range p.ids() {
				seen[id] = true
			}
			l, _ := find(p.Links, "next", "")
			next = l.Href
		}
		if len(seen) != 357 {
			t.Errorf("%s: %d features by next", query, len(seen))
		}
	}
	a.get("/collections/kommuner/items?sortby=navn&collation=sv").wants(400)
}

func TestItemsDocument(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	r := a.get("/collections/kommuner/items?limit=2&nr=0301").wants(200)
	body := string(r.Body)
	last := -1
	for _, member := range []string{`"type":"FeatureCollection"`, `"features":[`, `"numberReturned":1`,
		`"numberMatched":1`, `"links":[`, `"timeStamp":"`} {
		i := strings.Index(body, member)
		if i <= last {
			t.Errorf("member %s at %d, after %d", member, i, last)
		}
		last = i
	}
	if want := `{"type":"Feature","properties":{"nr":"0301","navn":"Oslo","fylke_nr":"03","areal_km2":453},` +
		`"id":"0301","geometry":{"type":"MultiPolygon"`; !strings.Contains(body, want) {
		t.Errorf("feature: %.300s", body)
	}
	for h, want := range map[string]string{"Content-Crs": "<" + crs84 + ">", "OGC-NumberMatched": "1",
		"OGC-NumberReturned": "1", "Content-Language": "nb-NO", "Cache-Control": "no-cache"} {
		if got := r.Header.Get(h); got != want {
			t.Errorf("%s: %q, want %q", h, got, want)
		}
	}
	var links []string
	for _, l := range a.get("/collections/kommuner/items?limit=2&offset=4").wants(200).links() {
		links = append(links, l.Rel+" "+l.Type)
	}
	want := []string{"self application/geo+json", "alternate application/ld+json", "alternate text/html",
		"alternate text/csv"}
	for _, f := range format.All() {
		if f.Name != "json" && f.Name != "csv" { // which are representations of pages
			want = append(want, "alternate "+f.Media)
		}
	}
	want = append(want, "prev application/geo+json", "next application/geo+json", "collection application/json")
	if !slices.Equal(links, want) {
		t.Errorf("links %q, want %q", links, want)
	}
	if l := r.Header.Get("Link"); !strings.Contains(l, `rel="collection"`) ||
		!strings.Contains(l, `rel="self"; type="application/geo+json"`) {
		t.Errorf("Link: %s", l)
	}
	if e := r.Header.Get("ETag"); !strings.HasPrefix(e, `W/"`) {
		t.Errorf("ETag: %s", e)
	}
}

func TestCSVHasEveryFeature(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	r := a.get("/collections/kommuner/items?f=csv&limit=1000").wants(200)
	rows, err := csv.NewReader(strings.NewReader(string(r.Body))).ReadAll()
	if err != nil || len(rows) != 358 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	if !slices.Contains(rows[0], "navn") || rows[1][0] != "0301" ||
		!strings.Contains(r.Header.Get("Content-Disposition"), "kommuner.csv") {
		t.Errorf("header %v, first row %v, %s", rows[0], rows[1], r.Header.Get("Content-Disposition"))
	}
}

func TestGzipHoldsTheSameBytes(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Limits.Buffer = 200 << 10 }) // the whole page is streamed
	plain := a.get("/collections/kommuner/items?limit=1000", "Accept-Encoding", "identity").wants(200)
	if plain.Header.Get("Content-Encoding") != "" {
		t.Fatal("compressed without being asked")
	}
	z := a.get("/collections/kommuner/items?limit=1000", "Accept-Encoding", "gzip").wants(200)
	if z.Header.Get("Content-Encoding") != "gzip" || len(z.Body) >= len(plain.Body)/2 {
		t.Fatalf("%q, %d bytes of %d", z.Header.Get("Content-Encoding"), len(z.Body), len(plain.Body))
	}
	got, want := stamped(gunzip(t, z.Body)), stamped(plain.Body)
	if got != want {
		t.Errorf("%d bytes, want %d", len(got), len(want))
	}
	if off := a.get("/collections/kommuner/items?limit=100", "Accept-Encoding", "gzip;q=0").wants(200); off.Header.Get(
		"Content-Encoding") != "" {
		t.Error("gzip;q=0 was compressed")
	}
	// A weak validator is the same for both codings.
	if plain.Header.Get("ETag") != z.Header.Get("ETag") {
		t.Error("weak validators differ")
	}
}

// TestBoxesAgreeWithANaiveLoop compares random boxes with the delivered geometries.
func TestBoxesAgreeWithANaiveLoop(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	a := serve(t, "", nil)
	whole := a.get("/collections/kommuner/items?limit=1000").wants(200).page()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		w, s := 4+rng.Float64()*26, 57+rng.Float64()*14
		box := [4]float64{w, s, w + rng.Float64()*rng.Float64()*8, s + rng.Float64()*rng.Float64()*4}
		var want []string
		for _, f := range whole.Features {
			if touches(t, f, box) {
				want = append(want, f.ID)
			}
		}
		got := a.get("/collections/kommuner/items?limit=1000&bbox=" + floats(box[:])).wants(200).page()
		if !slices.Equal(got.ids(), want) {
			t.Errorf("bbox %v: %v, want %v", box, got.ids(), want)
		}
	}
}
