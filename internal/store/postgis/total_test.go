package postgis_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"grense/internal/cache"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/storetest"
)

// TestTotalsFollowEveryTransaction: the total is cached only until a transaction ends, whatever else is in flight.
func TestTotalsFollowEveryTransaction(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := base(t,
		`CREATE TABLE punkt (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO punkt SELECT n, ST_Point(10, 60, 4258) FROM generate_series(1, 20) AS n;
		CREATE TABLE annet (id INT)`)
	caches := &cache.Group{}
	s := openStore(t, url, postgis.Options{Caches: caches})
	matched := func(want int) {
		t.Helper()
		for range 3 { // counted, cached, and known by the text of the statement
			if p := page(t, s, store.Query{Collection: "punkt", Limit: 5}); p.Matched != want {
				t.Fatalf("%d match, want %d", p.Matched, want)
			}
		}
	}
	begin := func() pgx.Tx {
		t.Helper()
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(ctx) })
		tx, err := c.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return tx
	}
	do := func(tx pgx.Tx, sql string) {
		t.Helper()
		if _, err := tx.Exec(ctx, sql); err != nil {
			t.Fatal(err)
		}
	}
	end := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	matched(20)
	if !slices.ContainsFunc(caches.Stats(), func(x cache.Stats) bool {
		return x.Name == "totals" && x.Entries == 1 && x.Bytes > 0
	}) {
		t.Errorf("caches %+v: no total", caches.Stats())
	}
	oldest, second, third := begin(), begin(), begin()
	do(oldest, "INSERT INTO annet VALUES (1)")
	do(second, "DELETE FROM punkt WHERE id = 20")
	do(third, "INSERT INTO punkt VALUES (21), (22), (23)")
	matched(20)
	end(third.Commit(ctx))
	matched(23)
	end(second.Commit(ctx))
	matched(22)
	end(oldest.Commit(ctx))
	matched(22)
	fourth := begin()
	do(fourth, "DELETE FROM punkt WHERE id > 10; SAVEPOINT a; DELETE FROM punkt WHERE id > 9; ROLLBACK TO a; "+
		"SAVEPOINT b; DELETE FROM punkt WHERE id > 8")
	matched(22)
	end(fourth.Commit(ctx))
	matched(8)
	fifth := begin()
	do(fifth, "DELETE FROM punkt")
	end(fifth.Rollback(ctx))
	matched(8)
	run(t, url, "TRUNCATE punkt; INSERT INTO punkt VALUES (1), (2), (3), (4), (5), (6)")
	matched(6)
}

// TestTheVersionOfManyTablesIsAskedInFewBytes: the statement before each cached response is prepared, and still notices
// a change, also of a table that takes another's name.
func TestTheVersionOfManyTablesIsAskedInFewBytes(t *testing.T) {
	t.Parallel()
	var create, drop strings.Builder
	var names []string
	for i := range 20 {
		fmt.Fprintf(&create, "CREATE TABLE punkt%d (id INT PRIMARY KEY); ", i)
		fmt.Fprintf(&drop, "DROP TABLE punkt%d; ", i)
		names = append(names, fmt.Sprintf("punkt%d", i))
	}
	url := base(t, create.String())
	w := storetest.NewWire(t, url)
	s := openStore(t, w.Address, postgis.Options{Poll: time.Hour})
	version := func() store.Version {
		t.Helper()
		v, err := s.Version(t.Context(), names...)
		if err != nil || v == "" {
			t.Fatalf("%q, %v", v, err)
		}
		return v
	}
	version()
	first := version()
	bytes, trips := 1<<30, 1<<30
	for range 5 { // another query may pass in between
		asked, made := w.Asked(), w.Trips()
		version()
		bytes, trips = min(bytes, w.Asked()-asked), min(trips, w.Trips()-made)
	}
	if bytes > 200 || trips != 1 {
		t.Errorf("%d bytes in %d round trips ask for the state of 20 tables", bytes, trips)
	}
	run(t, url, "INSERT INTO punkt7 VALUES (1)")
	second := version()
	run(t, url, drop.String()+create.String()+"CREATE TABLE arving () INHERITS (punkt3)")
	if first == second {
		t.Error("a row more is the same state")
	}
	if v, err := s.Version(t.Context(), names...); err != nil || v != "" {
		t.Errorf("%q, %v of a new table whose rows may be in others", v, err)
	}
}

// TestTotalsUnderPoliciesAreCounted: what a policy hides depends on more than the rows.
func TestTotalsUnderPoliciesAreCounted(t *testing.T) {
	t.Parallel()
	url := base(t,
		`CREATE TABLE punkt (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO punkt SELECT n FROM generate_series(1, 20) AS n;
		ALTER TABLE punkt ENABLE ROW LEVEL SECURITY; CREATE POLICY synlig ON punkt USING (id <= 10 OR extract(microseconds FROM statement_timestamp())::bigint % 2 = 0)`)
	role, asRole := storetest.Role(t, url, "")
	run(t, url, "GRANT SELECT ON punkt TO "+role)
	s := openStore(t, asRole, postgis.Options{})
	seen := map[int]bool{}
	for range 200 {
		seen[page(t, s, store.Query{Collection: "punkt", Limit: 5}).Matched] = true
	}
	if !seen[10] || !seen[20] {
		t.Errorf("numbers: %v, want 10 now and 20 then", seen)
	}
}

// TestASnapshotGoesOnAfterACountThatTookTooLong: the transaction of a snapshot is not lost with the
// count beside its first page.
func TestASnapshotGoesOnAfterACountThatTookTooLong(t *testing.T) {
	t.Parallel()
	url := base(t,
		`CREATE FUNCTION treg(i INT) RETURNS BOOLEAN LANGUAGE plpgsql VOLATILE AS 'BEGIN IF i > 100 AND i % 5000 = 0 THEN PERFORM pg_sleep(0.05); END IF; RETURN TRUE; END';
		CREATE TABLE punkt (id INT PRIMARY KEY, navn TEXT); INSERT INTO punkt SELECT n, 'p' || n FROM generate_series(1, 110000) AS n; ANALYZE punkt;
		CREATE VIEW tung AS SELECT id, navn FROM punkt WHERE treg(id)`)
	s := openStore(t, url, postgis.Options{})
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	p, err := snap.Page(t.Context(), store.Query{Collection: "tung", Limit: 10, Count: store.CountCheap})
	if err != nil || len(p.Rows) != 10 || p.Matched != -1 {
		t.Fatalf("%+v %v, want 10 rows and no number of all", p, err)
	}
	n := 0
	err = snap.Fetch(t.Context(), "tung", p.Rows, store.Want{}, func(*store.Feature) error {
		n++
		return nil
	})
	if err != nil || n != 10 {
		t.Errorf("%d features, %v", n, err)
	}
	if p, err = snap.Page(t.Context(), store.Query{Collection: "tung", Limit: 10, Cursor: p.Next}); err != nil ||
		len(p.Rows) != 10 {
		t.Errorf("the next page: %+v %v", p, err)
	}
}
