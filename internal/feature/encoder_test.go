package feature_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/feature"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// places is a collection with every type of value and a hidden property.
func places(geometry string) *store.Collection {
	return &store.Collection{
		ID: "places", TitleProperty: "navn",
		Key:      store.FeatureKey{Column: "nr", Property: "nr"},
		Geometry: &store.Geom{Name: "geometry", Column: "geom", Type: geometry, CRS: crs.CRS84},
		Properties: []store.Property{
			{Name: "nr", Type: cql2.TypeText}, {Name: "navn", Type: cql2.TypeText},
			{Name: "areal", Type: cql2.TypeNumber},
			{
				Name: "innbyggere",
				Type: cql2.TypeInteger,
			}, {Name: "navn_norm", Type: cql2.TypeText, Hidden: true}, {Name: "by", Type: cql2.TypeBool},
			{Name: `år "x"`, Type: cql2.TypeDate}, {Name: "koder", Type: cql2.TypeJSON},
		},
	}
}

func oslo() *store.Feature {
	return &store.Feature{ID: "0301", Rev: 1,
		Geometry: store.Geometry{WKB: little.wkb(tree{kind: 1, pts: [][4]float64{{10.75, 59.91}}})},
		Values: []any{
			"0301",
			"Oslo \"by\", fylke",
			454.12,
			int64(9007199254740993),
			true,
			nil,
			store.JSON(`[1,{"a":"b"}]`),
		}}
}

func encoder(t testing.TB, c *store.Collection, o feature.Options) *feature.Encoder {
	t.Helper()
	e, err := feature.NewEncoder(c, o)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestFeatureMembersAndTheirOrder(t *testing.T) {
	t.Parallel()
	const all = `"nr":"0301","navn":"Oslo \"by\", fylke","areal":454.12,"innbyggere":9007199254740993,"by":true,"år ` +
		`\"x\"":null,"koder":[1,{"a":"b"}]`
	subset := func(f *store.Feature) { f.Values = []any{"Oslo", "0301"} }
	for _, c := range []struct {
		name   string
		o      feature.Options
		change func(*store.Feature)
		want   string
	}{
		{"all", feature.Options{}, nil, `{"type":"Feature","properties":{` + all +
			`},"id":"0301","geometry":{"type":"Point","coordinates":[10.75,59.91]}}`},
		{"north first", feature.Options{CRS: crs.ETRS89}, nil, `{"type":"Feature","properties":{` + all +
			`},"id":"0301","geometry":{"type":"Point","coordinates":[59.91,10.75]}}`},
		{"some properties in another order", feature.Options{Properties: []string{"navn", "nr"}}, subset,
			`{"type":"Feature","properties":{"navn":"Oslo","nr":"0301"},"id":"0301","geometry":{"type":"Point",` +
				`"coordinates":[10.75,59.91]}}`},
		{"no property", feature.Options{Properties: []string{}}, func(f *store.Feature) { f.Values = nil },
			`{"type":"Feature","properties":{},"id":"0301","geometry":{"type":"Point","coordinates":[10.75,59.91]}}`},
		{"geometry skipped", feature.Options{SkipGeometry: true}, nil,
			`{"type":"Feature","properties":{` + all + `},"id":"0301","geometry":null}`},
		{"no geometry", feature.Options{}, func(f *store.Feature) {
			f.Geometry = store.Geometry{}
		}, `{"type":"Feature","properties":{` + all + `},"id":"0301","geometry":null}`},
		{"empty geometry", feature.Options{}, func(f *store.Feature) { f.Geometry.WKB = little.wkb(tree{kind: 6}) },
			`{"type":"Feature","properties":{` + all + `},"id":"0301","geometry":null}`},
		{"an id to escape", feature.Options{Properties: []string{}}, func(f *store.Feature) {
			f.ID, f.Values = "a\"\n", nil
		},
			`{"type":"Feature","properties":{},"id":"a\"\n","geometry":{"type":"Point","coordinates":[10.75,59.91]}}`},
	} {
		f := oslo()
		if c.change != nil {
			c.change(f)
		}
		e := encoder(t, places("Point"), c.o)
		got, err := e.AppendGeoJSON([]byte("x"), f)
		if err != nil || string(got) != "x"+c.want || !json.Valid(got[1:]) {
			t.Errorf("%s:\ngot  %s, %v\nwant %s", c.name, got, err, c.want)
		}
		if got, err := e.AppendMembers(nil, f); err != nil || "{"+string(got)+"}" != c.want {
			t.Errorf("%s, members: %s, %v", c.name, got, err)
		}
	}
}

func TestWantFitsTheOptions(t *testing.T) {
	t.Parallel()
	table := places("Point")
	table.Geometry = nil
	for _, c := range []struct {
		coll *store.Collection
		o    feature.Options
		want store.Want
	}{
		{places("Point"), feature.Options{}, store.Want{}},
		{places("Point"), feature.Options{SkipGeometry: true, Properties: []string{"nr"}},
			store.Want{NoGeometry: true, Properties: []string{"nr"}}},
		{table, feature.Options{Properties: []string{}}, store.Want{NoGeometry: true, Properties: []string{}}},
	} {
		if got := encoder(t, c.coll, c.o).Want(); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: %+v, want %+v", c.o, got, c.want)
		}
	}
}

func TestErrorsNameTheFeatureAndLeaveTheBuffer(t *testing.T) {
	t.Parallel()
	few := oslo()
	few.Values = few.Values[:2]
	strange := oslo()
	strange.Values[2] = struct{}{}
	e := encoder(t, places("Point"), feature.Options{})
	csv, err := feature.NewCSV(places("Point"), feature.CSVOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ld := func(dst []byte, f *store.Feature) ([]byte, error) { return e.AppendJSONLD(dst, f, "u") }
	for name, f := range map[string]*store.Feature{"2 values": few, "type struct": strange} {
		for i, fn := range []func([]byte, *store.Feature) ([]byte, error){e.AppendGeoJSON, e.AppendMembers,
			ld, csv.Append} {
			got, err := fn([]byte("x"), f)
			if err == nil || !strings.Contains(err.Error(), `places "0301"`) || !strings.Contains(err.Error(), name) ||
				string(got) != "x" {
				t.Errorf("%d, %s: %q, %v", i, name, got, err)
			}
		}
	}
	for _, o := range []feature.Options{{CRS: 3395}, {Properties: []string{"nr", "xyz"}}} {
		if _, err := feature.NewEncoder(places("Point"), o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
}

func TestWhatIsNoGeometryIsNull(t *testing.T) {
	t.Parallel()
	cut, outside := oslo(), oslo()
	cut.Geometry.WKB = cut.Geometry.WKB[:7]
	outside.Geometry.WKB = little.wkb(tree{kind: 1, pts: [][4]float64{{1, 91}}})
	none := oslo()
	none.Geometry.WKB = nil
	e := encoder(t, places("Point"), feature.Options{CRS: crs.UTM33})
	csv, err := feature.NewCSV(places("Point"), feature.CSVOptions{})
	if err != nil {
		t.Fatal(err)
	}
	item := func(dst []byte, f *store.Feature) ([]byte, error) { return e.AppendJSONLDItem(dst, f, "u") }
	ld := func(dst []byte, f *store.Feature) ([]byte, error) { return e.AppendJSONLD(dst, f, "u") }
	for i, fn := range []func([]byte, *store.Feature) ([]byte, error){e.AppendGeoJSON, item, ld, csv.Append} {
		want, err := fn(nil, none)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := fn(nil, cut); err != nil || string(got) != string(want) {
			t.Errorf("%d, cut off: %s, %v; want %s", i, got, err, want)
		}
		if got, err := fn(nil, outside); i == 0 && (err != nil || string(got) != string(want)) {
			t.Errorf("%d, outside of UTM 33: %s, %v; want %s", i, got, err, want)
		}
	}
}

// TestFeaturesAgreeWithEncodingJSON compares random values with the obvious encoder.
func TestFeaturesAgreeWithEncodingJSON(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	runes := []rune("aæøåŠ \"\\\n\t\u0001\u2028😀/<&")
	e := encoder(t, places("Point"), feature.Options{SkipGeometry: true})
	for range 500 {
		text := func() string {
			s := make([]rune, r.IntN(12))
			for i := range s {
				s[i] = runes[r.IntN(len(runes))]
			}
			return string(s)
		}
		f := &store.Feature{
			ID: text(),
			Values: []any{
				text(),
				text(),
				r.NormFloat64() * 1e3,
				r.Int64() - r.Int64(),
				r.IntN(2) == 0,
				nil,
				store.JSON(`{"a":[1]}`),
			},
		}
		got, err := e.AppendGeoJSON(nil, f)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]any{"type": "Feature", "id": f.ID, "geometry": nil, "properties": map[string]any{
			"nr": f.Values[0], "navn": f.Values[1], "areal": f.Values[2], "innbyggere": f.Values[3], "by": f.Values[4],
			`år "x"`: nil,
			"koder":  json.RawMessage(`{"a":[1]}`)}}
		if !sameJSON(t, got, want) {
			t.Fatalf("got %s, want %v", got, want)
		}
	}
}

// sameJSON compares a text with the JSON of a value; numbers as they are written.
func sameJSON(t *testing.T, got []byte, want any) bool {
	t.Helper()
	b, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	parse := func(b []byte) (v any) {
		d := json.NewDecoder(strings.NewReader(string(b)))
		d.UseNumber()
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		return v
	}
	return reflect.DeepEqual(parse(got), parse(b))
}

// polygon is a round polygon of n positions somewhere in Norway, in CRS84.
func polygon(n int) tree {
	ring := tree{}
	for i := range n - 1 {
		s, c := math.Sincos(2 * math.Pi * float64(i) / float64(n-1))
		ring.pts = append(ring.pts, [4]float64{10 + c/3.1, 60 + s/3.3})
	}
	ring.pts = append(ring.pts, ring.pts[0])
	return tree{kind: 3, parts: []tree{ring}}
}

// withPolygon is a feature with a polygon of n positions.
func withPolygon(n int) *store.Feature {
	f := oslo()
	f.Geometry.WKB = little.wkb(polygon(n))
	return f
}

func TestEncodersDoNotAllocate(t *testing.T) {
	plain, utm := encoder(
		t,
		places("Polygon"),
		feature.Options{},
	), encoder(t, places("Polygon"), feature.Options{CRS: crs.UTM33})
	csv, err := feature.NewCSV(places("Point"), feature.CSVOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wkt := geometry(t, crs.CRS84, crs.ETRS89)
	area, point := withPolygon(500), oslo()
	mixed := oslo()
	mixed.Geometry.WKB = coding{
		order: binary.BigEndian,
		ewkb:  true,
		z:     true,
	}.wkb(tree{kind: 7, parts: []tree{polygon(9), {kind: 4, parts: []tree{{kind: 1}}}}})
	buf := make([]byte, 0, 1<<20)
	for name, fn := range map[string]func() ([]byte, error){
		"GeoJSON":     func() ([]byte, error) { return plain.AppendGeoJSON(buf, area) },
		"reprojected": func() ([]byte, error) { return utm.AppendGeoJSON(buf, area) },
		"collection":  func() ([]byte, error) { return plain.AppendMembers(buf, mixed) },
		"JSON-LD":     func() ([]byte, error) { return plain.AppendJSONLD(buf, area, "https://example.com/1") },
		"JSON-LD, in a list": func() ([]byte, error) {
			return plain.AppendJSONLDItem(buf, point, "https://example.com/1")
		},
		"CSV": func() ([]byte, error) { return csv.Append(buf, point) },
		"WKT": func() ([]byte, error) { return wkt.AppendWKT(buf, area.Geometry.WKB) },
	} {
		if n := testing.AllocsPerRun(100, func() {
			if _, err := fn(); err != nil {
				t.Error(err)
			}
		}); n != 0 {
			t.Errorf("%s: %v allocations, want 0", name, n)
		}
	}
}

// BenchmarkAppendGeoJSON: 60 ns a position without and 300 ns with reprojection to UTM, on two shared cores; no
// allocation.
func BenchmarkAppendGeoJSON(b *testing.B) {
	for _, to := range []crs.ID{crs.CRS84, crs.UTM33} {
		e := encoder(b, places("Polygon"), feature.Options{CRS: to})
		for _, n := range []int{10, 100, 1000, 10000} {
			f := withPolygon(n)
			b.Run(fmt.Sprintf("%v/n=%d", to, n), func(b *testing.B) {
				var buf []byte
				b.ReportAllocs()
				for b.Loop() {
					var err error
					if buf, err = e.AppendGeoJSON(buf[:0], f); err != nil {
						b.Fatal(err)
					}
				}
				b.SetBytes(int64(len(buf)))
			})
		}
	}
}
