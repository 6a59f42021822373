package postgis_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"grense/internal/await"
	"grense/internal/migrate"
	"grense/internal/register"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/storetest"
)

// smallRegister writes a register.
func smallRegister(t *testing.T, places int) func(store.Writer) {
	return func(w store.Writer) {
		if err := register.Generate(context.Background(), w, register.Options{Places: places, Seed: 1}); err != nil {
			t.Fatal(err)
		}
	}
}

// lines returns the first column of a result.
func lines(t *testing.T, url, sql string) []string {
	t.Helper()
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	rows, err := c.Query(context.Background(), sql)
	if err != nil {
		t.Fatal(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return list
}

// TestRegisterTablesKeepTheirDefinition: the tables of an import are what the migrations make, with the user's
// additions, and are ready for answers from indexes alone.
func TestRegisterTablesKeepTheirDefinition(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	url := cluster.Database(t)
	storetest.Write(t, func(w store.Writer) {
		if _, err := w.Insert(context.Background(), "sted", []string{"id"}); err != nil {
			// the migrations, and not a row
			t.Fatal(err)
		}
	})(postgis.Create(context.Background(), url))
	run(t, url, "CREATE INDEX brukerens ON grense.sted (lower(visningsnavn)) WHERE land = 'NO'; "+
		"COMMENT ON COLUMN grense.sted.rang IS 'rekkefølge'")
	const definition = `SELECT indexdef FROM pg_indexes WHERE schemaname = 'grense'
		UNION ALL SELECT conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = 'grense'::regnamespace
		UNION ALL SELECT attrelid::regclass || ' ' || attnum || ' ' || attname || ' ' || format_type(atttypid, atttypmod) || attnotnull || attcollation || coalesce(col_description(attrelid, attnum), '')
			FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE relnamespace = 'grense'::regnamespace AND relkind = 'r' AND attnum > 0 ORDER BY 1`
	before := lines(t, url, definition)
	if len(before) < 150 {
		t.Fatalf("%d definitions", len(before))
	}
	for _, places := range []int{60, 80} {
		create(t, url, smallRegister(t, places))
		after := lines(t, url, definition)
		for i := range max(len(before), len(after)) {
			if i >= len(before) || i >= len(after) || before[i] != after[i] {
				t.Fatalf("import of %d: definition %d of %d is %q; before, of %d, %q", places, i, len(after),
					after[min(i, len(after)-1)], len(before), before[min(i, len(before)-1)])
			}
		}
		if hidden := lines(t, url, "SELECT relname::text FROM pg_class WHERE relnamespace = 'grense'::regnamespace "+
			"AND relkind = 'r' AND relallvisible < relpages AND relname LIKE 's%'"); len(hidden) > 0 {
			t.Errorf("import of %d: not all rows of %v are known to be visible", places, hidden)
		}
		if rows := lines(t, url, "SELECT reltuples::text FROM pg_class WHERE oid = 'grense.sted'::regclass"); rows[0] !=
			strconv.Itoa(places) {
			t.Errorf("import of %d: statistics of %v places", places, rows)
		}
	}
}

// TestRegisterTablesThatViewsNeed are filled as they are: the view stays, and shows the new rows.
// Triggers, foreign keys, policies and publications stay, too.
func TestRegisterTablesThatViewsNeed(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	create(t, url, smallRegister(t, 60))
	run(t, url, `CREATE VIEW brukerens AS SELECT visningsnavn FROM grense.sted;
		CREATE FUNCTION uendret() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'; CREATE TRIGGER brukerens BEFORE UPDATE ON grense.vedtak FOR EACH ROW EXECUTE FUNCTION uendret();
		CREATE TABLE land (kode TEXT COLLATE "C" PRIMARY KEY); INSERT INTO land SELECT DISTINCT land FROM grense.sted; ALTER TABLE grense.stedsnavn ADD ekstra TEXT COLLATE "C" REFERENCES land;
		ALTER TABLE grense.bok ENABLE ROW LEVEL SECURITY; CREATE PUBLICATION brukerens FOR TABLE grense.navnesak`)
	const tied = `SELECT tgrelid::regclass || ' ' || tgname FROM pg_trigger WHERE NOT tgisinternal UNION ALL SELECT conrelid::regclass || ' ' || conname FROM pg_constraint WHERE contype = 'f'
		UNION ALL SELECT oid::regclass::text FROM pg_class WHERE relrowsecurity UNION ALL SELECT prrelid::regclass::text FROM pg_publication_rel ORDER BY 1`
	before := lines(t, url, tied)
	s := openStore(t, url, postgis.Options{Poll: 100 * time.Millisecond})
	create(t, url, smallRegister(t, 80))
	if n := lines(t, url, "SELECT count(*)::text FROM brukerens"); n[0] != "80" {
		t.Errorf("the view shows %s places", n[0])
	}
	if after := lines(t, url, tied); len(before) != 4 || !slices.Equal(before, after) {
		t.Errorf("tied to the tables: %q, before %q", after, before)
	}
	eventually(t, "the number of places in the catalog", func() bool {
		c, ok := s.Catalog().Collection("sted")
		return ok && c.Count == 80
	})
}

// TestTablesKeepTheirOwnerAndRights when another role imports.
func TestTablesKeepTheirOwnerAndRights(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	url := cluster.Database(t)
	owner, asOwner := storetest.Role(t, url, "")
	other, _ := storetest.Role(t, url, "")
	run(t, url, "GRANT CREATE ON DATABASE "+lines(t, url, "SELECT current_database()::text")[0]+" TO "+owner)
	imports := func(as string) {
		create(t, as, smallRegister(t, 20))
		create(t, as, func(w store.Writer) { fill(t, w, collection("a", "tabell"), true, "x") })
	}
	imports(asOwner)
	run(t, url, "GRANT SELECT ON grense.sted TO PUBLIC; GRANT SELECT, UPDATE ON grense.tabell TO "+other+
		" WITH GRANT OPTION")
	const rights = `SELECT c.relname || ' ' || relowner::regrole || ' ' || coalesce((SELECT string_agg(a::text, ' ' ORDER BY a::text) FROM unnest(coalesce(relacl, acldefault('r', relowner))) a), '')
		FROM pg_class c WHERE relnamespace = 'grense'::regnamespace AND relkind = 'r' ORDER BY 1`
	before := lines(t, url, rights)
	imports(url)
	if after := lines(t, url, rights); !slices.Equal(before, after) {
		t.Errorf("owners and rights: %q, before %q", after, before)
	}
	imports(asOwner)
}

// TestCommitGivesWayToReaders: a reader that holds one of the tables and asks for another gets it,
// and the import goes through after it.
func TestCommitGivesWayToReaders(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := cluster.Database(t)
	create(t, url, smallRegister(t, 60))
	reader, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close(ctx)
	tx, err := reader.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	read := func(table string) {
		t.Helper()
		if _, err := tx.Exec(ctx, "SELECT 1 FROM grense."+table+" LIMIT 1"); err != nil {
			t.Fatalf("reading %s: %v", table, err)
		}
	}
	read("stedsnavn")
	done := make(chan error, 1)
	go func() {
		w, err := postgis.Create(ctx, url)
		if err == nil {
			defer w.Close()
			err = register.Generate(ctx, w, register.Options{Places: 60, Seed: 2})
		}
		if err == nil {
			err = w.Commit(ctx)
		}
		done <- err
	}()
	waits := func() bool {
		return len(lines(t, url, "SELECT 'x' FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' AND "+
			"database = (SELECT oid FROM pg_database WHERE datname = current_database())")) > 0
	}
	for !waits() {
		select {
		case err := <-done:
			t.Fatalf("the import did not wait for the reader: %v", err)
		default:
		}
	}
	for _, table := range []string{"kode", "skrivemaate", "sted", "vedtak"} {
		read(table)
	}
	if err := tx.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Errorf("the import: %v", err)
	}
}

// TestReadersDoNotWaitForRowsAfterAMigration: an import that finds tables of an older version changes them,
// and then lets their readers go on.
func TestReadersDoNotWaitForRowsAfterAMigration(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	list, err := migrate.PostGIS()
	if err != nil {
		t.Fatal(err)
	}
	run(t, url, "CREATE SCHEMA grense; CREATE TABLE grense.migration (number INTEGER PRIMARY KEY, name TEXT NOT "+
		"NULL); INSERT INTO grense.migration VALUES (1, 'a'), (2, 'b')")
	run(t, url, "SET search_path = grense, public; "+list[0].SQL+list[1].SQL)
	w, err := postgis.Create(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	run(t, url, "SET lock_timeout = '2s'; SELECT 1 FROM grense.sted")
	smallRegister(t, 10)(w)
	run(t, url, "SET lock_timeout = '2s'; SELECT 1 FROM grense.sted")
	if err := w.Commit(context.Background()); err != nil {
		t.Error(err)
	}
}

// Readers that follow each other without a gap do not keep an import out.
func TestCommitComesThroughAmongSlowReaders(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	create(t, url, smallRegister(t, 10))
	w, err := postgis.Create(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	smallRegister(t, 10)(w)
	control, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close(context.Background())
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var readers sync.WaitGroup
	for i := range 3 {
		c, err := pgx.Connect(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		readers.Go(func() {
			defer c.Close(context.Background())
			_, err := c.Exec(ctx, "SELECT pg_sleep($1)", 0.3*float64(i))
			for err == nil {
				_, err = c.Exec(ctx, "SELECT pg_sleep(1) FROM (SELECT FROM grense.sted LIMIT 1) x")
			}
		})
	}
	await.True(t, "all readers read", func() bool {
		var n int
		err := control.QueryRow(ctx, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND
			state = 'active' AND query LIKE 'SELECT pg_sleep(1) FROM%'`).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		return n == 3
	})
	if err := w.Commit(ctx); err != nil {
		t.Error(err)
	}
	cancel()
	readers.Wait()
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
			return over || len(lines(t, url, "SELECT 'x' FROM pg_locks WHERE locktype = 'advisory' AND "+
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
