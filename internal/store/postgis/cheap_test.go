package postgis_test

import (
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestTotalsHaveABudget: the page of a large table comes without a total that costs much; who asks for the total alone gets it.
func TestTotalsHaveABudget(t *testing.T) {
	t.Parallel()
	url := base(t, `CREATE TABLE stor (id INT PRIMARY KEY, navn TEXT); INSERT INTO stor SELECT i, 'n' || i FROM generate_series(1, 100100) i;
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
