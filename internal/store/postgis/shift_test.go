package postgis_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestDatumsAreShiftedByPostGIS: systems on a datum of their own are served in ETRS89, where the database puts them.
func TestDatumsAreShiftedByPostGIS(t *testing.T) {
	t.Parallel()
	systems := map[int][4]float64{ // in the system, and in ETRS89 by PROJ with or without grids, to some metres
		27700: {530000, 180000, -0.12835, 51.50399}, 28992: {121687, 487484, 4.89801, 52.37422},
		31370: {148919, 170887, 4.35340, 50.84838}, 2056: {2600000, 1200000, 7.43863, 46.95108},
		21781: {600000, 200000, 7.43863, 46.95108}, 4277: {-0.127, 51.5, -0.12859, 51.50051},
	}
	var sql strings.Builder
	for srid, p := range systems {
		fmt.Fprintf(&sql,
			`CREATE TABLE t%[1]d (id INT PRIMARY KEY, geom GEOMETRY(Point, %[1]d)); INSERT INTO t%[1]d VALUES (1, ST_Point(%[2]v, %[3]v, %[1]d)), (2, NULL);
			CREATE TABLE fri%[1]d (id INT PRIMARY KEY, geom GEOMETRY); INSERT INTO fri%[1]d VALUES (1, ST_Point(%[2]v, %[3]v, %[1]d)), (2, 'SRID=%[1]d;POINT EMPTY');`, srid, p[0], p[1])
	}
	sql.WriteString(`CREATE TABLE bue (id INT PRIMARY KEY, geom GEOMETRY(CurvePolygon, 27700)); ` +
		`INSERT INTO bue VALUES (1, 'SRID=27700;CURVEPOLYGON(CIRCULARSTRING(530000 180000, 532000 180000, ` +
		`530000 180000))');`)
	url := base(t, sql.String())
	s := openStore(t, url, postgis.Options{})
	for srid, p := range systems {
		for _, id := range []string{fmt.Sprint("t", srid), fmt.Sprint("fri", srid)} {
			c, ok := s.Catalog().Collection(id)
			if !ok || c.StorageCRS() != crs.ETRS89 || c.Extent == nil {
				t.Fatalf("%s: %+v, %+v", id, c, s.Catalog().Notes)
			}
			g, _ := values(t, s, id, "1")["(geometry)"].(orb.Point)
			if math.Abs(g[0]-p[2]) > 3e-4 || math.Abs(g[1]-p[3]) > 3e-4 {
				t.Errorf("%s: %v, want %v", id, g, p[2:])
			}
			for w, want := range map[float64]int{1e-9: 2, -1e-9: 1} { // the row without a geometry is in every box
				box := orb.Bound{Min: orb.Point{g[0] - w, g[1] - math.Abs(w)}, Max: orb.Point{g[0] + 1, g[1] + 1}}
				if w < 0 {
					box.Min[0] = g[0] - w
				}
				for _, f := range []cql2.Expr{cql2.BBox{Prop: "geometry", CRS: crs.ETRS89, Box: box}} {
					if got := page(t, s, store.Query{Collection: id, Filter: f, Limit: 10}); got.Matched != want {
						t.Errorf("%s: a box %v has %d, want %d", id, w, got.Matched, want)
					}
				}
			}
			at := cql2.Spatial{Op: cql2.SIntersects, L: cql2.Prop{Name: "geometry"},
				R: cql2.Geom{G: g, CRS: crs.ETRS89}}
			if got := ids(page(t, s, store.Query{Collection: id, Filter: at, Limit: 10})); got != "1" {
				t.Errorf("%s: at its point are %q", id, got)
			}
		}
	}
	// A disc of a kilometre is round on the ground: the mean of its border is its centre.
	disc, _ := values(t, s, "bue", "1")["(geometry)"].(orb.Polygon)
	if len(disc) != 1 || len(disc[0]) < 1000 {
		t.Fatalf("a disc is %d rings", len(disc))
	}
	told := 0
	for _, n := range s.Catalog().Notes {
		if strings.Contains(n.Reason, "is transformed by PostGIS to EPSG:4258") {
			_, index, _ := strings.Cut(n.Reason, "let its owner run: ")
			run(t, url, index)
			told++
		}
	}
	if told != 2*len(systems)+1 {
		t.Errorf("%d notes: %+v", told, s.Catalog().Notes)
	}
	run(t, url, "INSERT INTO t27700 SELECT i + 10, ST_Point(300000 + i, 300000, 27700) FROM generate_series(1, "+
		"5000) i; ANALYZE t27700")
	box := cql2.BBox{Prop: "geometry", CRS: crs.ETRS89, Box: orb.Bound{Min: orb.Point{-0.2, 51}, Max: orb.Point{0, 52}}}
	plan, err := s.Explain(context.Background(), store.Query{Collection: "t27700", Filter: box, Limit: 10})
	if err != nil || !strings.Contains(strings.Join(plan.Steps, "\n"), "t27700_st_transform_idx") {
		t.Errorf("%v\n%+v", err, plan)
	}
	run(t, url, "UPDATE t27700 SET geom = NULL; SELECT UpdateGeometrySRID('t27700', 'geom', 28992); "+
		"UPDATE t27700 SET geom = ST_Point(121687, 487484, 28992)")
	if _, err := s.Page(context.Background(), store.Query{Collection: "t27700", Filter: box, Limit: 10}); err == nil {
		if c, _ := s.Catalog().Collection("t27700"); c != nil && c.Extent.Max[0] < 1 {
			t.Error("a question of another system is answered")
		}
	}
}

// TestPointsOfNoNumbersAreNoGeometry: what is served without a geometry is found as such.
func TestPointsOfNoNumbersAreNoGeometry(t *testing.T) {
	t.Parallel()
	s := openStore(t,
		base(t,
			`CREATE TABLE x (id INT PRIMARY KEY, geom GEOMETRY(Geometry, 4258)); INSERT INTO x VALUES (1, 'SRID=4258;POINT(10 60)'), (2, 'SRID=4258;POINT EMPTY'),
		(3, 'SRID=4258;POINT(NaN NaN)'), (4, 'SRID=4258;MULTIPOINT(NaN NaN, 10 60)'), (5, 'SRID=4258;MULTIPOINT(NaN NaN)'), (6, 'SRID=4258;MULTIPOINT(10 60, NaN NaN)'), (7, NULL)`), postgis.Options{})
	c, _ := s.Catalog().Collection("x")
	for filter, want := range map[string]string{"geom IS NULL": "2 3 5 7", "geom IS NOT NULL": "1 4 6"} {
		if got := strings.Join(walk(t, s, store.Query{Collection: "x", Limit: 10, Filter: parsed(t, c, filter)}),
			" "); got != want {
			t.Errorf("%s: %s, want %s", filter, got, want)
		}
	}
}
