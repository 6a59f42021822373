package postgis_test

import (
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestChoiceOfGeometry: of several geometry columns the first in the table is served,
// or the one that the settings name.
func TestChoiceOfGeometry(t *testing.T) {
	t.Parallel()
	url := base(t,
		`CREATE TABLE x (id INT PRIMARY KEY, navn TEXT, senter GEOMETRY(Point, 4326), omraade GEOMETRY(Polygon, 4326));
		INSERT INTO x VALUES (1, 'a', 'SRID=4326;POINT(10 60)', NULL)`)
	for name, c := range map[string]struct {
		settings     store.Settings
		column, note string // of the geometry, "": none; part of the notes, "": there are none
		refused      bool
	}{
		"the first": {store.Settings{}, "senter",
			`"omraade" is left out: "senter" is the geometry; geometry_column chooses`, false},
		"chosen":     {store.Settings{GeometryColumn: "omraade"}, "omraade", "", false},
		"hidden":     {store.Settings{HiddenColumns: []string{"senter"}}, "omraade", "", false},
		"all hidden": {store.Settings{HiddenColumns: []string{"senter", "omraade"}}, "", "", false},
		"unknown":    {store.Settings{GeometryColumn: "navn"}, "", `no column "navn" with a geometry`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, url, postgis.Options{Settings: map[string]store.Settings{"x": c.settings},
				AllowEmpty: true})
			got, ok := s.Catalog().Collection("x")
			said := ""
			for _, n := range s.Catalog().Notes {
				said += n.Reason
			}
			if ok == c.refused || !strings.Contains(said, c.note) || c.note == "" && said != "" {
				t.Fatalf("served %v, %q", ok, said)
			}
			if c.refused {
				return
			}
			column := ""
			if got.Geometry != nil {
				column = got.Geometry.Column
			}
			if len(got.Names()) != map[bool]int{true: 2, false: 3}[column == ""] || column != c.column {
				t.Errorf("geometry %q, %q", column, got.Names())
			}
		})
	}
}

// TestHiddenColumnsOfImports: a column of a collection that an import wrote is hidden as well.
func TestHiddenColumnsOfImports(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	create(t, url, func(w store.Writer) {
		c := &store.Collection{ID: "x", Table: "x", Public: true,
			Key:      store.FeatureKey{Column: "id", Type: cql2.TypeInteger},
			Geometry: &store.Geom{Name: "geometry", Column: "geom", Type: "Point", CRS: 4258},
			Properties: []store.Property{{Name: "navn", Column: "navn", Type: cql2.TypeText},
				{Name: "nr", Column: "nr", Type: cql2.TypeText}}}
		if err := w.Define(t.Context(), c, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(t.Context(), "x", []string{"id", "navn", "nr", "geom"})
		if err == nil {
			err = insert(int64(1), "a", "1", nil)
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	for _, hidden := range []string{"", "navn", "geom"} {
		s := openStore(t, url,
			postgis.Options{Settings: map[string]store.Settings{"x": {HiddenColumns: []string{hidden}}}})
		c, ok := s.Catalog().Collection("x")
		if _, named := c.Find("navn"); !ok || named != (hidden != "navn") || (c.Geometry != nil) != (hidden != "geom") {
			t.Errorf("without %q: %+v", hidden, c)
		}
		page(t, s, store.Query{Collection: "x", Limit: 10})
		values(t, s, "x", "1")
	}
}
