package server_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/config"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// found is a feature in the response of a look-up.
type found struct {
	ID, Collection, Title string
	Distance              float64
	Properties            map[string]any
	Parents               []struct{ Collection, ID string }
}

type lookedUp struct {
	Features       []found
	NumberReturned int
	Nearest        *found
}

func (a *api) lookup(t testing.TB, query string, header ...string) (out lookedUp) {
	t.Helper()
	decode(t, a.get("/lookup?"+query, header...).wants(200).Body, &out)
	return out
}

func TestLookupNamesEveryDivisionAtAPoint(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	got := a.lookup(t, "lon=10.75&lat=59.91")
	if len(got.Features) != 2 || got.NumberReturned != 2 || got.Nearest != nil {
		t.Fatalf("%+v", got)
	}
	county, town := got.Features[0], got.Features[1]
	if county.Collection != "fylker" || county.ID != "03" || town.Collection != "kommuner" || town.ID != "0301" ||
		town.Title != "Oslo" || town.Properties["fylke_nr"] != "03" {
		t.Errorf("%+v", got.Features)
	}
	if len(town.Parents) != 1 || town.Parents[0].Collection != "fylker" || town.Parents[0].ID != "03" {
		t.Errorf("parents %+v", town.Parents)
	}
	if got := a.lookup(t, "lon=10.75&lat=59.91&collections=kommuner"); len(got.Features) != 1 ||
		got.Features[0].ID != "0301" {
		t.Errorf("of one collection: %+v", got)
	}
	if got := a.lookup(t, "lon=261000&lat=6650000&crs="+url.QueryEscape(crs.UTM33.URI())); len(got.Features) != 2 ||
		got.Features[1].ID != "0301" {
		t.Errorf("in UTM zone 33: %+v", got)
	}
	sea := a.lookup(t, "lon=2&lat=61")
	if len(sea.Features) != 0 || sea.Nearest == nil || sea.Nearest.Collection != "kommuner" ||
		sea.Nearest.Distance < 100e3 || sea.Nearest.Distance > 200e3 {
		t.Errorf("at sea: %+v", sea)
	}
	if pole := a.lookup(t, "lon=180&lat=-90"); pole.Nearest == nil || pole.Nearest.Distance < 15e6 {
		t.Errorf("at the south pole: %+v", pole)
	}
}

// TestTheNearestOfEachKindIsReturned where no division covers a point. The border of a county may be drawn a little
// apart from that of its municipality; the nearest municipality is found nevertheless.
func TestTheNearestOfEachKindIsReturned(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	storetest.Write(t, func(w store.Writer) {
		for _, x := range [][2]string{{"fylker", "POLYGON((10 59,11 59,11 60,10 60,10 59))"},
			{"kommuner", "POLYGON((10.002 59,11 59,11 60,10.002 60,10.002 59))"},
			{"land", "POLYGON((10.1 59,11 59,11 60,10.1 60,10.1 59))"}} {
			id, wkt := x[0], x[1]
			c := &store.Collection{ID: id, Table: id, Public: true,
				Title: store.Text{"nb": strings.ToUpper(id[:1]) + id[1:]},
				Key:   store.FeatureKey{Column: "nr", Property: "nr", Type: cql2.TypeText}, TitleProperty: "navn",
				Properties: []store.Property{{Name: "nr", Column: "nr", Type: cql2.TypeText},
					{Name: "navn", Column: "navn", Type: cql2.TypeText}},
				Geometry: &store.Geom{Name: "geometry", Column: "geometry", Type: "Polygon", CRS: crs.CRS84}}
			g, err := geom.UnmarshalWKT(wkt)
			if err == nil {
				err = w.Define(t.Context(), c, false)
			}
			if err != nil {
				t.Fatal(err)
			}
			add, err := w.Insert(t.Context(), id, []string{"nr", "navn", "geometry"})
			if err == nil {
				err = add("0"+strconv.Itoa(len(id)), "Navn", store.Geometry{WKB: g.AsBinary()})
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	})(gpkg.Create(t.Context(), path))
	a := serve(t, path, nil)
	for range 2 { // without an index of points and with it
		page := string(a.get("/lookup?f=html&lang=nb&lat=59.5&lon=9.999").wants(200).Body)
		near := page[strings.Index(page, "Nærmest ligger"):]
		near = near[:strings.Index(near, "</p>")]
		if !strings.Contains(near, `>Fylker</a>, <code>06</code>), 57 m`) ||
			!strings.Contains(near, `>Kommuner</a>, <code>08</code>), 170 m`) || strings.Contains(near, "Land") {
			t.Errorf("near is %s", near)
		}
		if got := a.lookup(t, "lon=9.999&lat=59.5"); got.Nearest == nil || got.Nearest.Collection != "fylker" {
			t.Errorf("the nearest is %+v", got.Nearest)
		}
		a.settled("/lookup?lon=10.5&lat=59.5")
	}
}

func TestLookupNamesTheFaultsOfAPoint(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for query, names := range map[string]string{
		"": "lat lon", "lon=1": "lat", "lon=x&lat=1": "lon", "lon=1&lat=NaN": "lat", "lon=1_0&lat=0x1p3": "lat lon",
		"lon=500&lat=99": "lat lon", "lon=1&lat=2&collections=zz": "collections",
		"lon=1&lat=2&collections=kommuner,kommuner": "collections",
		"lon=1&lat=2&crs=EPSG:1":                    "crs", "lon=1e9&lat=2&crs=" +
			url.QueryEscape(crs.UTM33.URI()): "lon",
		"lon=1&lat=2&datetime=yesterday": "datetime", "lon=1&lat=2&level=1": "level", "lon=1&lon=2&lat=2": "lon",
	} {
		var doc struct {
			Faults []struct{ In, Name, Cure string }
		}
		decode(t, a.get("/lookup?"+query).wants(400).Body, &doc)
		var got []string
		for _, f := range doc.Faults {
			got = append(got, f.Name)
			if f.In != "query" || f.Cure == "" {
				t.Errorf("%s: %+v", query, f)
			}
		}
		if strings.Join(got, " ") != names {
			t.Errorf("%s: faults of %v, want %s", query, got, names)
		}
	}
}

func TestLookupNeedsAKey(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	a.get("/lookup?lon=10.75&lat=59.91").wants(401)
	a.get("/v1/lookup").wants(401)
	if got := a.lookup(t, "lon=10.75&lat=59.91", "X-API-Key", a.key); len(got.Features) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestLookupIsAskedAgainOnlyWhenItChanged(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	r := a.get("/v1/lookup?lon=10.75&lat=59.91").wants(200)
	a.get("/v1/lookup?lon=10.75&lat=59.91", "If-None-Match", r.Header.Get("ETag")).wants(304)
	a.get("/v1/lookup?lon=10.76&lat=59.91", "If-None-Match", r.Header.Get("ETag")).wants(200)
}

func TestCoordinatesAsWordsLeadToThePoint(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for words, want := range map[string]string{
		"59.91, 10.75": "lon=10.75&lat=59.91", "59.91 10.75": "lon=10.75&lat=59.91",
		"10.75,59.91": "lon=10.75&lat=59.91", " 59.91° N, 10.75° E ": "lon=10.75&lat=59.91",
		"59.91N 10.75Ø":  "lon=10.75&lat=59.91",
		"12.5 S, 3.25 W": "lon=-3.25&lat=-12.5", "59 10": "", "0301": "", "Oslo": "", "59.91": "",
	} {
		r := a.do("GET", "/v1/collections/kommuner/items?f=html&q="+queryEscape(words))
		if to := r.Header.Get("Location"); want == "" && r.StatusCode != 200 ||
			want != "" && (r.StatusCode != 303 || to != "/v1/lookup?f=html&"+want) {
			t.Errorf("%q: %d %q, want %q", words, r.StatusCode, to, want)
		}
	}
	a.get("/collections/kommuner/items?f=json&q=59.91,10.75").wants(200)
}

// TestLookupAgreesWithANaiveLoop compares random points with every municipality one by one.
func TestLookupAgreesWithANaiveLoop(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	a := serve(t, shared(t, "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg"), nil)
	const coll = "kommune"
	all := map[string]geom.Geometry{}
	for _, f := range a.get("/collections/" + coll + "/items?limit=1000&crs=" + url.QueryEscape(crs.UTM33.URI())).wants(
		200).page().Features {
		b, err := json.Marshal(map[string]any{"type": f.Geometry.Type, "coordinates": f.Geometry.Coordinates})
		if err != nil {
			t.Fatal(err)
		}
		if all[f.ID], err = geom.UnmarshalGeoJSON(b, geom.NoValidate{}); err != nil {
			t.Fatal(err)
		}
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 8))
	const n = 120
	inside := 0
	for range n {
		at := orb.Point{-100e3 + 1.2e6*r.Float64(), 6.4e6 + 1.5e6*r.Float64()}
		got := a.lookup(t, fmt.Sprintf("lon=%.3f&lat=%.3f&collections=%s&crs=%s", at[0], at[1], coll,
			url.QueryEscape(crs.UTM33.URI())))
		p := geom.XY{X: at[0], Y: at[1]}.AsPoint().AsGeometry()
		var want []string
		nearest := math.Inf(1)
		for id, g := range all {
			d, _ := geom.Distance(g, p)
			if nearest = min(nearest, d); d == 0 {
				want = append(want, id)
			}
		}
		slices.Sort(want)
		var ids []string
		for _, f := range got.Features {
			ids = append(ids, f.ID)
		}
		slices.Sort(ids)
		if !slices.Equal(ids, want) {
			t.Fatalf("%v: %v, want %v", at, ids, want)
		}
		if inside += min(1, len(want)); len(want) == 0 {
			// The distance on the UTM plane differs from that on the ellipsoid by the scale: 0.04 % on the central
			// meridian, more away from it.
			if got.Nearest == nil || math.Abs(got.Nearest.Distance-nearest) > 0.02*nearest+1 {
				t.Fatalf("%v: nearest %+v, want %.1f m", at, got.Nearest, nearest)
			}
		}
	}
	if inside < n/10 {
		t.Errorf("%d points lie in a municipality: no test", inside)
	}
}

// TestCodesAreNoNumbersOfRows: if features have no codes of their own, the page of a point shows none.
func TestCodesAreNoNumbersOfRows(t *testing.T) {
	t.Parallel()
	a := serve(t, shared(t, "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg"), nil)
	demo := serve(t, "", nil)
	for _, lang := range []string{"nb", "en"} {
		for query, of := range map[string]*api{"lon=10.75&lat=59.91": a, "lon=2&lat=61": a,
			"lon=10.75&lat=59.91&": demo} {
			page := string(of.get("/lookup?f=html&lang=" + lang + "&" + query).wants(200).Body)
			main := page[strings.Index(page, "<main"):strings.Index(page, "</main>")]
			if has := strings.Contains(main, "<code>"); has != (of == demo) ||
				strings.Contains(main, `<th scope="col">`) &&
					strings.Count(main, `<th scope="col">`) != map[bool]int{true: 3, false: 2}[of == demo] {
				t.Errorf("%s in %s: %s", query, lang, main)
			}
			for _, f := range htmlFaults([]byte(page)) {
				t.Errorf("%s: %s", query, f)
			}
		}
	}
}
