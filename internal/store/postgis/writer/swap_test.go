package writer_test

import (
	"context"
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
	"grense/internal/store/postgis/writer"
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
	})(writer.Create(context.Background(), url))
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
		w, err := writer.Create(ctx, url)
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
	w, err := writer.Create(context.Background(), url)
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
	w, err := writer.Create(t.Context(), url)
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
