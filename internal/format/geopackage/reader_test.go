package geopackage_test

import (
	"path/filepath"
	"reflect"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// TestLayerOfAStoreKeepsWhatItsRowsDoNotTell: types of properties without a value, titles, roles, code lists, the names
// of id and geometry.
func TestLayerOfAStoreKeepsWhatItsRowsDoNotTell(t *testing.T) {
	t.Parallel()
	const n = 700
	c := &store.Collection{
		ID: "enheter", Table: "enheter", Public: true, Title: store.Text{"nb": "Enheter"},
		Description: store.Text{"en": "Units"}, TitleProperty: "navn",
		Key:           store.FeatureKey{Column: "nr", Type: cql2.TypeText, Property: "nr"},
		Geometry:      &store.Geom{Name: "flate", Column: "flate", CRS: crs.UTM33},
		IntervalStart: "fra", IntervalEnd: "til", DefaultSort: []store.Sort{{Property: "navn", Desc: true}},
		Properties: []store.Property{
			{Name: "nr", Column: "nr", Type: cql2.TypeText},
			{Name: "navn", Column: "navn", Type: cql2.TypeText, Title: store.Text{"nb": "Navn"}},
			{Name: "folk", Column: "folk", Type: cql2.TypeInteger}, {Name: "areal", Column: "areal",
				Type: cql2.TypeNumber, Unit: "km2"}, {Name: "aktiv", Column: "aktiv", Type: cql2.TypeBool},
			{Name: "fra", Column: "fra", Type: cql2.TypeDate}, {Name: "til", Column: "til", Type: cql2.TypeDate},
			{Name: "sett", Column: "sett", Type: cql2.TypeTimestamp},
			{Name: "slag", Column: "slag", Type: cql2.TypeText, Enum: []string{"a", "b"},
				CodeList: "https://example.org/slag"}, {Name: "mer", Column: "mer", Type: cql2.TypeJSON},
		},
	}
	path := filepath.Join(t.TempDir(), "in.gpkg")
	storetest.Write(t, func(w store.Writer) {
		if err := w.Define(t.Context(), c, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(t.Context(), "enheter", []string{"nr", "navn", "fra", "slag", "flate"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			nr := string([]byte{'0', byte('0' + i/100), byte('0' + i/10%10), byte('0' + i%10)})
			if err := insert(nr, "2024-01-01", "2024-01-01", "a",
				store.Geometry{WKB: wkb.MustMarshal(orb.Point{250000 + float64(i), 6700000})}); err != nil {
				t.Fatal(err)
			}
		}
	})(gpkg.Create(t.Context(), path))
	st := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir()}))
	var done []int64
	plan, err := ingest.Survey(t.Context(), ingest.StoreLayers("in", st), ingest.Target{Collection: "kopi"},
		ingest.Watch{Progress: func(d, total int64) {
			if total != 2*n || d > total || len(done) > 0 && d <= done[len(done)-1] {
				t.Errorf("%d of %d after %v", d, total, done)
			}
			done = append(done, d)
		}})
	if err != nil {
		t.Fatal(err)
	}
	out := ingesttest.Write(t, plan)
	if len(done) != 4 {
		t.Errorf("progress %v", done)
	}
	from, _ := st.Catalog().Collection("enheter")
	got, ok := out.Catalog().Collection("kopi")
	if !ok {
		t.Fatal("no collection")
	}
	for i := range got.Properties { // the rows show which columns have a value
		got.Properties[i].NotNull, from.Properties[i].NotNull = false, false
	}
	for what, v := range map[string][2]any{
		"properties": {got.Properties, from.Properties}, "title": {got.Title, from.Title},
		"description": {got.Description, from.Description}, "key": {got.Key, from.Key},
		"roles": {[]string{got.IntervalStart, got.IntervalEnd, got.TitleProperty},
			[]string{from.IntervalStart, from.IntervalEnd, from.TitleProperty}},
		"order":    {got.DefaultSort, from.DefaultSort},
		"geometry": {[]any{got.Geometry.Name, got.Geometry.CRS}, []any{from.Geometry.Name, from.Geometry.CRS}},
		"features": {ingesttest.Features(t, out, "kopi"), ingesttest.Features(t, st, "enheter")},
	} {
		if !reflect.DeepEqual(v[0], v[1]) {
			t.Errorf("%s: %+v, want %+v", what, v[0], v[1])
		}
	}
}
