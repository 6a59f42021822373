package server_test

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// load writes the features of a gzipped GeoJSON file into a GeoPackage, with the given property as id. A name with
// .geojsonl means one feature a line.
func load(t testing.TB, name, id string) string {
	t.Helper()
	z := sharedtest.Open(t, "data", name)
	path := filepath.Join(t.TempDir(), "data.gpkg")
	storetest.Write(t, func(w store.Writer) {
		coll := &store.Collection{ID: "units", Table: "units", Public: true,
			Key:        store.FeatureKey{Column: "code", Type: cql2.TypeText, Property: "code"},
			Geometry:   &store.Geom{Name: "geometry", Column: "geom", CRS: crs.CRS84},
			Properties: []store.Property{{Name: "code", Column: "code"}}}
		if err := w.Define(t.Context(), coll, false); err != nil {
			t.Fatal(err)
		}
		add, err := w.Insert(t.Context(), "units", []string{"code", "geom"})
		if err != nil {
			t.Fatal(err)
		}
		one := func(raw json.RawMessage) {
			var doc struct {
				Properties map[string]any
				Geometry   json.RawMessage
			}
			decode(t, raw, &doc)
			g, err := geom.UnmarshalGeoJSON(doc.Geometry, geom.NoValidate{})
			if err != nil {
				t.Fatal(err)
			}
			if err := add(doc.Properties[id], store.Geometry{WKB: g.AsBinary()}); err != nil {
				t.Fatal(err)
			}
		}
		if strings.Contains(name, ".geojsonl") {
			lines := bufio.NewScanner(z)
			lines.Buffer(nil, 16<<20)
			for lines.Scan() {
				one(lines.Bytes())
			}
		} else {
			var doc struct{ Features []json.RawMessage }
			if err := json.NewDecoder(z).Decode(&doc); err != nil {
				t.Fatal(err)
			}
			for _, f := range doc.Features {
				one(f)
			}
		}
	})(gpkg.Create(t.Context(), path))
	return path
}

// TestBoxesInEachCRSAgreeWithANaiveLoop compares random boxes with the geometries as delivered in the CRS of the box.
func TestBoxesInEachCRSAgreeWithANaiveLoop(t *testing.T) {
	t.Parallel()
	n, m := sharedtest.Rounds(t, 100), sharedtest.Rounds(t, 10)
	for name, tt := range map[string]struct {
		file, id string
		boxes    int
		extent   [4]float64
		systems  []crs.ID
	}{
		"norway": {"norway/robhop-2024/Kommuner-M.geojson.gz", "kommunenummer", n, [4]float64{4, 57.5, 32, 71.5},
			[]crs.ID{crs.CRS84, crs.WGS84, crs.UTM33, crs.WebMercator}},
		"france": {"france/france-communes-2018.geojsonl.gz", "code", m, [4]float64{-5.5, 41, 10, 51.5},
			[]crs.ID{crs.CRS84, crs.ETRS89, crs.WebMercator}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "france" && sharedtest.Soak(t) == 0 {
				t.Skip("35,357 communes are part of make soak")
			}
			a := serve(t, load(t, tt.file, tt.id), nil)
			for _, id := range tt.systems {
				a.boxes(t, id, tt.boxes, tt.extent)
			}
		})
	}
}

// boxes sends n random boxes in one CRS; extent is in degrees.
func (a *api) boxes(t *testing.T, id crs.ID, n int, extent [4]float64) {
	type shape struct {
		id  string
		g   geom.Geometry
		box geom.Envelope
	}
	var whole []shape
	next := a.URL + "/collections/units/items?limit=10000&crs=" + queryEscape(id.URI())
	for next != "" {
		p := a.get(next).wants(200).page()
		for _, f := range p.Features {
			b, _ := json.Marshal(map[string]any{"type": f.Geometry.Type, "coordinates": f.Geometry.Coordinates})
			g, err := geom.UnmarshalGeoJSON(b, geom.NoValidate{})
			if err != nil {
				t.Fatal(err)
			}
			if id.NorthFirst() {
				g = g.TransformXY(func(p geom.XY) geom.XY { return geom.XY{X: p.Y, Y: p.X} })
			}
			whole = append(whole, shape{f.ID, g, g.Envelope()})
		}
		l, _ := find(p.Links, "next", "")
		next = l.Href
	}
	to, err := crs.Between(crs.CRS84, id)
	if err != nil {
		t.Fatal(err)
	}
	x0, y0 := to(extent[0], extent[1])
	x1, y1 := to(extent[2], extent[3])
	rng := rand.New(rand.NewPCG(3, uint64(id)))
	for range n {
		w, s := x0+rng.Float64()*(x1-x0), y0+rng.Float64()*(y1-y0)
		e, north := w+rng.Float64()*rng.Float64()*(x1-x0)/4, s+rng.Float64()*rng.Float64()*(y1-y0)/4
		env := geom.NewEnvelope(geom.XY{X: w, Y: s}, geom.XY{X: e, Y: north})
		var want []string
		for _, f := range whole {
			if env.Intersects(f.box) && geom.Intersects(env.AsGeometry(), f.g) {
				want = append(want, f.id)
			}
		}
		slices.Sort(want)
		box := []float64{w, s, e, north}
		if id.NorthFirst() {
			box = []float64{s, w, north, e}
		}
		var got []string
		next := a.URL + "/collections/units/items?limit=10000&skipGeometry=true&bbox=" + floats(box) + "&bbox-crs=" +
			queryEscape(id.URI())
		for next != "" {
			p := a.get(next).wants(200).page()
			got = append(got, p.ids()...)
			l, _ := find(p.Links, "next", "")
			next = l.Href
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s bbox %v: %d ids, want %d: %v", id, box, len(got), len(want), difference(got, want))
		}
	}
}

// difference lists the elements that only one of two sorted lists has.
func difference(a, b []string) (out []string) {
	for _, x := range a {
		if _, ok := slices.BinarySearch(b, x); !ok {
			out = append(out, "+"+x)
		}
	}
	for _, x := range b {
		if _, ok := slices.BinarySearch(a, x); !ok {
			out = append(out, "-"+x)
		}
	}
	return out
}

// TestGeometriesOfFiltersAgreeWithBoxes sends the same boxes as bbox and as filter. Some have long edges, or contain
// points that the projection of the data cannot represent.
func TestGeometriesOfFiltersAgreeWithBoxes(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for box, text := range map[string]string{
		"-180,-90,180,90": "", "0,50,180,90": "", "-100,40,100,89": "", "170,-90,-170,90": "", "4,57,32,72": "",
		"4,66.5,32,66.6": "", "4,69.9,32,70": "", "-80,60,100,60.001": "", "20,-90,-170,90": "",
		"-180,-90,180,66":  "POLYGON((-180 -90,180 -90,180 66,-180 66,-180 -90))",
		"-179,60.5,179,61": "POLYGON((-179 60.5,179 60.5,179 61,-179 61,-179 60.5))",
	} {
		if text == "" {
			text = "BBOX(" + box + ")"
		}
		want := a.get("/collections/kommuner/items?limit=1000&skipGeometry=true&bbox=" + box).wants(200).page().ids()
		for _, f := range []struct {
			filter string
			inside bool
		}{{"S_INTERSECTS(geometry," + text + ")", true}, {"S_DISJOINT(geometry," + text + ")", false}} {
			got := a.get("/collections/kommuner/items?limit=1000&skipGeometry=true&filter=" +
				url.QueryEscape(f.filter)).wants(200).page().ids()
			n := len(want)
			if !f.inside {
				n = 357 - n
			}
			if len(got) != n || f.inside && !slices.Equal(got, want) {
				t.Errorf("%s: %d features, want %d", f.filter, len(got), n)
			}
		}
	}
}
