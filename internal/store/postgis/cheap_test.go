package postgis_test

import (
	"testing"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestTotalsHaveABudget: the page of a large table comes without a total that is expensive;
// a request for the total alone gets it.
func TestTotalsHaveABudget(t *testing.T) {
	t.Parallel()
	url := base(t,
		`CREATE TABLE stor (id INT PRIMARY KEY, navn TEXT); INSERT INTO stor SELECT i, 'n' || i FROM generate_series(1, 100100) i;
		CREATE FUNCTION sen(n INT) RETURNS TEXT LANGUAGE plpgsql VOLATILE AS $$ BEGIN IF n > 100 AND n <= 110 THEN PERFORM pg_sleep(0.2); END IF; RETURN 'n' || n; END $$;
		CREATE VIEW treg AS SELECT id, sen(id) AS navn FROM stor;`)
	s := openStore(t, url, postgis.Options{})
	filter := cql2.Compare{Op: cql2.Gt, L: cql2.Prop{Name: "navn", Type: cql2.TypeText}, R: cql2.Text("a")}
	ask := func(coll string, limit int, count store.Count) int {
		t.Helper()
		p := page(t, s, store.Query{Collection: coll, Filter: filter, Limit: limit, Count: count})
		if len(p.Rows) != limit {
			t.Errorf("%d rows", len(p.Rows))
		}
		return p.Matched
	}
	for range 2 { // the second time it is known
		if n := ask("treg", 5, store.CountCheap); n != -1 {
			t.Errorf("a count of two seconds gives %d", n)
		}
	}
	if n := ask("treg", 0, store.CountExact); n != 100100 {
		t.Errorf("the total alone is %d", n)
	}
	if n := ask("stor", 5, store.CountCheap); n != 100100 && n != -1 {
		t.Errorf("a quick count gives %d", n)
	}
}

// TestADearCountIsNotTriedOnEachPage, also where rows are tested outside of the database: a box in another system.
func TestADearCountIsNotTriedOnEachPage(t *testing.T) {
	t.Parallel()
	url := base(t,
		`CREATE TABLE stor (id INT PRIMARY KEY); INSERT INTO stor SELECT generate_series(1, 100100); ANALYZE stor;
		CREATE FUNCTION sted(n INT) RETURNS GEOMETRY LANGUAGE plpgsql STABLE AS $$ BEGIN IF n > 100 AND n <= 110 THEN PERFORM pg_sleep(0.2); END IF;
			RETURN ST_SetSRID(ST_MakePoint(200000 + n, 6600000), 25833); END $$;
		CREATE VIEW treg AS SELECT id, sted(id)::GEOMETRY(Point, 25833) AS geom FROM stor;`)
	s := openStore(t, url, postgis.Options{Poll: time.Hour})
	c, _ := s.Catalog().Collection("treg")
	filter, err := cql2.Check(cql2.BBox{Prop: c.Geometry.Name, CRS: crs.CRS84,
		Box: orb.Bound{Min: orb.Point{2, 57}, Max: orb.Point{33, 72}}}, c)
	if err != nil {
		t.Fatal(err)
	}
	q := store.Query{Collection: "treg", Filter: filter, Limit: 5, Count: store.CountCheap}
	first := page(t, s, q)
	if len(first.Rows) != 5 || first.Matched != -1 {
		t.Fatalf("%+v", first)
	}
	run(t, url,
		`CREATE OR REPLACE FUNCTION sted(n INT) RETURNS GEOMETRY LANGUAGE plpgsql STABLE AS $$ BEGIN IF n > 100 THEN RAISE 'the count is tried again'; END IF;
		RETURN ST_SetSRID(ST_MakePoint(200000 + n, 6600000), 25833); END $$`)
	for _, cursor := range []store.Cursor{"", first.Next} {
		q.Cursor = cursor
		if p := page(t, s, q); len(p.Rows) != 5 || p.Matched != -1 {
			t.Errorf("%+v", p)
		}
	}
}
