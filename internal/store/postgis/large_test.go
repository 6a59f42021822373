package postgis_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestSoakAMillionRows: a box over the whole country brings its page from a table of a million rows, counting alone
// gives what the database counts, and the second start reads no table. Times are logged, for measurements.
func TestSoakAMillionRows(t *testing.T) {
	if sharedtest.Soak(t) == 0 {
		t.Skip("part of make soak")
	}
	url := base(t, `CREATE TABLE adresse (id INT PRIMARY KEY, gate TEXT, kommune TEXT, geom GEOMETRY(Point, 25833));
		INSERT INTO adresse SELECT i, 'gate ' || i % 9973, lpad((i % 357)::text, 4, '0'), ST_SetSRID(ST_MakePoint(-70000 + i::bigint * 7919 % 1170000, 6450000 + i::bigint * 104729 % 1500000), 25833)
			FROM generate_series(1, 1000000) i;
		CREATE INDEX ON adresse USING gist (geom); ANALYZE adresse`)
	run(t, url, "VACUUM adresse")
	options := postgis.Options{Dir: t.TempDir(), Poll: time.Hour}
	start := func() *postgis.Store {
		began := time.Now()
		s, err := postgis.Open(context.Background(), url, options)
		if err != nil {
			t.Fatal(err)
		}
		c, ok := s.Catalog().Collection("adresse")
		if !ok || c.Count != 1_000_000 {
			t.Fatalf("%+v", c)
		}
		t.Logf("start: %v", time.Since(began))
		return s
	}
	start().Close()
	s := start()
	defer s.Close()
	for name, filter := range map[string]cql2.Expr{
		"country, in degrees": cql2.BBox{Prop: "geometry", CRS: crs.CRS84,
			Box: orb.Bound{Min: orb.Point{-2, 56}, Max: orb.Point{40, 73}}},
		"country, in its own system": cql2.BBox{Prop: "geometry", CRS: 25833,
			Box: orb.Bound{Min: orb.Point{-80000, 6440000}, Max: orb.Point{1200000, 8000000}}},
		"half of it, in degrees": cql2.BBox{Prop: "geometry", CRS: crs.CRS84,
			Box: orb.Bound{Min: orb.Point{2, 57}, Max: orb.Point{15, 72}}},
		"no index": cql2.Compare{Op: cql2.Lt, L: cql2.Prop{Name: "gate"}, R: cql2.Text("gate 5")},
		"all":      nil,
	} {
		c, _ := s.Catalog().Collection("adresse")
		if filter != nil {
			var err error
			if filter, err = cql2.Check(filter, c); err != nil {
				t.Fatal(err)
			}
		}
		ask := func(limit int, count store.Count) int {
			began := time.Now()
			p := page(t, s, store.Query{Collection: "adresse", Filter: filter, Limit: limit, Count: count})
			t.Logf("%s, limit %d: %v, matched %d", name, limit, time.Since(began), p.Matched)
			if len(p.Rows) != limit {
				t.Errorf("%s: %d rows", name, len(p.Rows))
			}
			return p.Matched
		}
		cheap, again, exact := ask(100, store.CountCheap), ask(100, store.CountCheap), ask(0, store.CountExact)
		for _, n := range []int{cheap, again} {
			if n != -1 && n != exact {
				t.Errorf("%s: a page says %d, alone it is %d", name, n, exact)
			}
		}
		if name == "all" && exact != 1_000_000 || strings.HasPrefix(name, "country") &&
			exact != 1_000_000 || exact < 100 {
			t.Errorf("%s: %d", name, exact)
		}
	}
}
