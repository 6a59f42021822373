package format_test

import (
	"bytes"
	"math"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/format"
	"grense/internal/format/output"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// places is a collection with a property of every type, and features with everything that is awkward.
func places() (*store.Collection, []store.Feature) {
	c := &store.Collection{ID: "places", Table: "places", TitleProperty: "navn", IntervalStart: "fra",
		Geometry: &store.Geom{Name: "geom", CRS: crs.UTM33},
		Properties: []store.Property{{Name: "navn"}, {Name: "kode"}, {Name: "antall", Type: cql2.TypeInteger},
			{Name: "areal i km²", Type: cql2.TypeNumber},
			{Name: "kyst", Type: cql2.TypeBool}, {Name: "fra", Type: cql2.TypeDate},
			{Name: "endret", Type: cql2.TypeTimestamp}, {Name: "mer", Type: cql2.TypeJSON},
			{Name: "navn_som_er_langt_1"}, {Name: "navn_som_er_langt_2"}, {Name: "skjult", Hidden: true}}}
	square := func(x, y, side float64) orb.Ring {
		return orb.Ring{{x, y}, {x, y + side}, {x + side, y + side}, {x + side, y}, {x, y}} // clockwise
	}
	g := func(g orb.Geometry) store.Geometry { return store.Geometry{WKB: wkb.Append(nil, g)} }
	point := wkb.AppendXYZ(wkb.AppendHeader(nil, wkb.Point, true), 262000.126, 6650000.5, 12.345)
	return c, []store.Feature{
		{ID: "0301", Rev: 1, Geometry: g(orb.Polygon{square(262000, 6650000, 1000), square(262100, 6650100, 100)}),
			Values: []any{"Oslo - Oslove", "0301", int64(717710), 454.12, true, "2020-01-01", "2024-02-29T12:30:00.5Z",
				store.JSON(`{"a":[1,"b"]}`), "en", "to"}},
		{ID: "=1+1", Rev: 1, Geometry: g(orb.MultiPolygon{{square(0, 6500000, 10)}, {square(100, 6500000, 10)}}),
			Values: []any{"<&>\"'; ,\n\"x\"", "007", int64(math.MinInt64), -1e-9, false, "1838-01-01", nil,
				store.JSON(`[]`), "=cmd", "-1"}},
		{ID: "æ ø/å", Rev: 1, Values: make([]any, 10)},
		{ID: "pt", Rev: 1, Geometry: store.Geometry{WKB: point},
			Values: []any{"", "", int64(0), 0.0, nil, nil, "1814-05-17T00:00:00Z", nil, nil, nil}},
		{ID: "linje", Rev: 1, Geometry: g(orb.LineString{{1, 6500000}, {2, 6500001}}),
			Values: []any{"ß\u0001", "x", int64(1 << 53), 1e300, true, nil, nil, nil, nil, nil}},
		{ID: "mangt", Rev: 1, Geometry: g(orb.Collection{orb.Point{3, 6500000},
			orb.LineString{{1, 6500000}, {2, 6500001}}, orb.Polygon{square(0, 6500000, 10)}}),
			Values: []any{"n", "y", int64(-1), 0.1, true, nil, nil, nil, nil, nil}},
	}
}

// write writes features in a format.
func write(t testing.TB, f *format.Format, o output.Options, features []store.Feature) []byte {
	t.Helper()
	var b bytes.Buffer
	o.GeoPackage = gpkg.CreateBare
	w, err := f.Open(&b, o)
	if err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	for i := range features {
		if err := w.Write(&features[i]); err != nil {
			w.Close(true)
			t.Fatalf("%s: %v", f.Name, err)
		}
	}
	if err := w.Close(false); err != nil {
		t.Fatalf("%s: %v", f.Name, err)
	}
	return b.Bytes()
}

// A kept file that was removed is made again under the same address: what a client has of the first must go with the
// rest of the second.
func TestTheSameFeaturesAreTheSameBytes(t *testing.T) {
	t.Parallel()
	c, fs := places()
	for _, f := range format.All() {
		o := output.Options{Collection: c, CRS: crs.UTM33, Title: "Places",
			Address: "http://localhost/collections/places", Temp: t.TempDir()}
		first := write(t, f, o, fs)
		if second := write(t, f, o, fs); !bytes.Equal(first, second) {
			t.Errorf("%s: two files of the same features differ", f.Name)
		}
	}
}
