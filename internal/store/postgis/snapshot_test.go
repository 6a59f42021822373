package postgis_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/storetest"
)

// TestSnapshotsWaitForAConnectionAsQuestionsDo: where all are in use, one is refused as busy after its patience,
// and has the connection that is given back before that.
func TestSnapshotsWaitForAConnectionAsQuestionsDo(t *testing.T) {
	t.Parallel()
	s := openStore(t, base(t, "CREATE TABLE punkt (id INT PRIMARY KEY)")+"&pool_max_conns=1",
		postgis.Options{Poll: time.Hour})
	first, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithTimeout(t.Context(), 10*time.Second)
	defer end()
	start := time.Now()
	if snap, err := s.Snapshot(store.WithPatience(ctx, 100*time.Millisecond)); !errors.Is(err, store.ErrBusy) ||
		time.Since(start) > 5*time.Second {
		t.Errorf("%v, %v after %v", snap, err, time.Since(start))
	}
	time.AfterFunc(50*time.Millisecond, func() { first.Close() })
	snap, err := s.Snapshot(store.WithPatience(t.Context(), time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if err := snap.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestASnapshotIsNotEmptyOfATableThatIsTruncated after the transaction began and before it has read:
// TRUNCATE takes the rows from older snapshots, too.
func TestASnapshotIsNotEmptyOfATableThatIsTruncated(t *testing.T) {
	t.Parallel()
	url := base(t,
		`CREATE TABLE ting (id INT PRIMARY KEY, a TEXT); INSERT INTO ting SELECT i, 'a' FROM generate_series(1, 10) i; CREATE VIEW syn AS SELECT * FROM ting;
		CREATE MATERIALIZED VIEW mat AS SELECT * FROM ting; CREATE UNIQUE INDEX ON mat (id);
		CREATE TABLE delt (id INT PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE delt_1 PARTITION OF delt FOR VALUES FROM (0) TO (100); INSERT INTO delt SELECT generate_series(1, 10)`)
	s := openStore(t, url, postgis.Options{Poll: time.Hour})
	for coll, change := range map[string]string{
		"ting": "TRUNCATE ting; INSERT INTO ting SELECT i, 'b' FROM generate_series(1, 10) i",
		"syn":  "TRUNCATE ting; INSERT INTO ting SELECT i, 'c' FROM generate_series(1, 10) i",
		"mat":  "REFRESH MATERIALIZED VIEW mat",
		"delt": "TRUNCATE delt; INSERT INTO delt SELECT generate_series(1, 10)"} {
		snap, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		run(t, url, "BEGIN; "+change+"; COMMIT")
		p, err := snap.Page(t.Context(), store.Query{Collection: coll, Limit: 100})
		if err == nil && len(p.Rows) != 10 || err != nil && !errors.Is(err, store.ErrChanged) {
			t.Errorf("%s: %+v, %v", coll, p, err)
		}
		snap.Close()
		if snap, err = s.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		if p, err := snap.Page(t.Context(), store.Query{Collection: coll, Limit: 100}); err != nil ||
			len(p.Rows) != 10 {
			t.Errorf("%s, anew: %+v, %v", coll, p, err)
		}
		snap.Close()
	}
}

// TestASnapshotGivesNoFeatureUnderNamesOfLater: columns exchange their names after the transaction began and before it
// has read. Nothing is called with a feature, since it might keep what it makes of it.
func TestASnapshotGivesNoFeatureUnderNamesOfLater(t *testing.T) {
	t.Parallel()
	url := base(t, "CREATE TABLE ting (id INT PRIMARY KEY, a TEXT, b TEXT); INSERT INTO ting VALUES (1, 'a', 'b')")
	s := openStore(t, url, postgis.Options{Poll: time.Hour})
	snap, err := s.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer snap.Close()
	run(t, url, "BEGIN; ALTER TABLE ting RENAME a TO c; ALTER TABLE ting RENAME b TO a; "+
		"ALTER TABLE ting RENAME c TO b; COMMIT")
	err = snap.Fetch(t.Context(), "ting", []store.Row{{ID: "1"}}, store.Want{}, func(f *store.Feature) error {
		t.Errorf("a feature with %v", f.Values)
		return nil
	})
	if !errors.Is(err, store.ErrChanged) {
		t.Errorf("%v instead of %v", err, store.ErrChanged)
	}
}

// TestASnapshotShowsNoRowsThatItsRowSecurityHides: row security or its policy changes after the transaction began and
// before it has read. A change that is taken back is none.
func TestASnapshotShowsNoRowsThatItsRowSecurityHides(t *testing.T) {
	t.Parallel()
	url := base(t, "CREATE TABLE ting (id INT PRIMARY KEY); INSERT INTO ting SELECT generate_series(1, 10)")
	role, as := storetest.Role(t, url, "")
	run(t, url, "GRANT SELECT ON ting TO "+role)
	const enable = "ALTER TABLE ting ENABLE ROW LEVEL SECURITY; DROP POLICY IF EXISTS p ON ting; " +
		"CREATE POLICY p ON ting FOR SELECT USING (id % 2 = 0)"
	for name, c := range map[string]struct {
		change string
		want   error
	}{
		"disabled":       {"ALTER TABLE ting DISABLE ROW LEVEL SECURITY", store.ErrChanged},
		"other policy":   {"DROP POLICY p ON ting; CREATE POLICY p ON ting USING (id % 3 = 0)", store.ErrChanged},
		"altered policy": {"ALTER POLICY p ON ting USING (id % 3 = 0)", store.ErrChanged},
		"taken back":     {"ALTER TABLE ting DISABLE ROW LEVEL SECURITY; ROLLBACK; BEGIN", nil},
	} {
		run(t, url, enable)
		s := openStore(t, as+"&sslmode=disable", postgis.Options{Poll: time.Hour})
		snap, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		run(t, url, "BEGIN; "+c.change+"; COMMIT")
		p, err := snap.Page(t.Context(), store.Query{Collection: "ting", Limit: 100})
		if !errors.Is(err, c.want) || err == nil && len(p.Rows) != 5 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
		snap.Close()
	}
}

// TestNamesThatChangeWhileDefinitionsAreReadDoNotShareRevisions: columns exchange their names in the middle of each
// reading of the definitions, as often as it is repeated. Values under other names have other revisions, since what is
// made of them is cached.
func TestNamesThatChangeWhileDefinitionsAreReadDoNotShareRevisions(t *testing.T) {
	t.Parallel()
	url := base(t, "CREATE TABLE ting (id INT PRIMARY KEY, a TEXT, b TEXT, geom geometry(Point, 4326)); "+
		"INSERT INTO ting VALUES (1, 'a', 'b', 'SRID=4326;POINT(10 60)'); CREATE TABLE gate AS SELECT 1 AS n")
	s := openStore(t, url, postgis.Options{Poll: time.Hour})
	// A reading stops within the statement that reads the columns, at the lock that the table gate has then.
	run(t, url, "ALTER FUNCTION postgis_typmod_type(int) RENAME TO typmod_type; "+
		"CREATE FUNCTION postgis_typmod_type(x int) RETURNS text LANGUAGE plpgsql AS $$ "+
		"BEGIN PERFORM pg_advisory_xact_lock(n) FROM gate; RETURN typmod_type(x); END $$")
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	exec := func(sql string, args ...any) {
		t.Helper()
		if _, err := c.Exec(t.Context(), sql, args...); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	const swap = "ALTER TABLE ting RENAME a TO c; ALTER TABLE ting RENAME b TO a; " +
		"ALTER TABLE ting RENAME c TO b; "
	exec("SELECT pg_advisory_lock(1)")
	reloaded := make(chan error, 1)
	go func() { reloaded <- s.Reload(context.Background()) }()
	swaps := 0
	for over := false; ; swaps++ {
		eventually(t, "the definitions are being read", func() bool {
			select {
			case err := <-reloaded:
				reloaded <- err
				over = true
			default:
			}
			return over || len(storetest.Lines(t, url, "SELECT 'x' FROM pg_locks WHERE locktype = 'advisory' AND "+
				"NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())")) > 0
		})
		if over {
			break
		}
		run(t, url, "BEGIN; "+swap+"COMMIT")
		exec("SELECT pg_advisory_lock($1)", swaps+2)
		exec("UPDATE gate SET n = $1", swaps+2)
		exec("SELECT pg_advisory_unlock($1)", swaps+1)
	}
	if err := <-reloaded; err != nil {
		t.Fatal(err)
	}
	exec("SELECT pg_advisory_unlock_all()")
	values, revisions := map[any]uint64{}, map[uint64]any{}
	for range 2 {
		p, err := s.Page(t.Context(), store.Query{Collection: "ting", Limit: 1})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Fetch(t.Context(), "ting", p.Rows, store.Want{}, func(f *store.Feature) error {
			values[f.Values[1]], revisions[p.Rows[0].Rev] = p.Rows[0].Rev, f.Values[1]
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		run(t, url, "BEGIN; "+swap+"COMMIT")
		if err := s.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if len(values) != 2 || len(revisions) != 2 {
		t.Errorf("after %d swaps: %v under the revisions %v", swaps, values, revisions)
	}
}
