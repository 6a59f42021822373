package postgis_test

import (
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestStorageCRSOfGeometriesWithoutOne: the settings name the reference system of geometries with SRID 0;
// boxes and comparisons are of it.
func TestStorageCRSOfGeometriesWithoutOne(t *testing.T) {
	t.Parallel()
	url := base(t,
		`CREATE TABLE x (id INT PRIMARY KEY, g GEOMETRY); INSERT INTO x VALUES (1, 'POINT(500000 6650000)'), (2, 'POINT(500000 7650000)'), (3, NULL);
		CREATE TABLE told (id INT PRIMARY KEY, g GEOMETRY(Point, 25833)); INSERT INTO told VALUES (1, 'SRID=25833;POINT(500000 6650000)')`)
	if said := refusal(openStore(t, url, postgis.Options{}), "x"); !strings.Contains(said,
		"storage_crs, as EPSG:25833") {
		t.Errorf("refused: %q", said)
	}
	s := openStore(t, url,
		postgis.Options{Settings: map[string]store.Settings{"x": {StorageCRS: 25833}, "told": {StorageCRS: 25832}}})
	for _, id := range []string{"x", "told"} {
		if c, ok := s.Catalog().Collection(id); !ok || c.Geometry.CRS != 25833 || c.Extent == nil ||
			c.Extent.Min[0] < 14 || c.Extent.Max[0] > 16 {
			t.Fatalf("%s: %+v", id, c)
		}
	}
	box := cql2.BBox{Prop: "geometry", Box: orb.Bound{Min: orb.Point{14, 59}, Max: orb.Point{16, 61}}, CRS: crs.CRS84}
	near := cql2.Spatial{Op: cql2.SIntersects, L: cql2.Prop{Name: "geometry"},
		R: cql2.Geom{G: orb.Polygon{{{0, 6e6}, {1e6, 6e6}, {1e6, 8e6}, {0, 6e6}}}, CRS: 25833}}
	for _, e := range []cql2.Expr{box, near} {
		want := "1"
		if _, ok := e.(cql2.BBox); ok {
			want = "1 3" // what has no geometry matches a box
		}
		if got := ids(page(t, s, store.Query{Collection: "x", Limit: 10, Filter: e})); got != want {
			t.Errorf("%v: %q, want %q", e, got, want)
		}
	}
	if v := values(t, s, "x", "1"); v["(geometry)"] != (orb.Point{500000, 6650000}) {
		t.Errorf("%v", v)
	}
	warned := false
	for _, n := range s.Catalog().Notes {
		warned = warned || n.Layer == "told" && n.Setting && strings.Contains(n.Reason, "storage_crs is not used")
	}
	if !warned {
		t.Errorf("%+v", s.Catalog().Notes)
	}
}
