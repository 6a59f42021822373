package postgis_test

import (
	"context"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"

	"grense/internal/register"
	"grense/internal/store"
	"grense/internal/store/postgis"
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

// TestRegisterTablesKeepTheirDefinition: the tables of an import are what the migrations make, with the user's additions, and are ready for answers
// from indexes alone.
func TestRegisterTablesKeepTheirDefinition(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	w, err := postgis.Create(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, err := w.Insert("sted", []string{"id"}); err != nil { // the migrations, and not a row
		t.Fatal(err)
	}
	if err := w.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	run(t, url, "CREATE INDEX brukerens ON grense.sted (lower(visningsnavn)) WHERE land = 'NO'; COMMENT ON COLUMN grense.sted.rang IS 'rekkefølge'")
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
				t.Fatalf("import of %d: definition %d of %d is %q; before, of %d, %q", places, i, len(after), after[min(i, len(after)-1)], len(before), before[min(i, len(before)-1)])
			}
		}
		if hidden := lines(t, url, "SELECT relname::text FROM pg_class WHERE relnamespace = 'grense'::regnamespace AND relkind = 'r' AND relallvisible < relpages AND relname LIKE 's%'"); len(hidden) > 0 {
			t.Errorf("import of %d: not all rows of %v are known to be visible", places, hidden)
		}
		if rows := lines(t, url, "SELECT reltuples::text FROM pg_class WHERE oid = 'grense.sted'::regclass"); rows[0] != strconv.Itoa(places) {
			t.Errorf("import of %d: statistics of %v places", places, rows)
		}
	}
}

// TestRegisterTablesThatViewsNeed are filled as they are: the view stays, and shows the new rows.
func TestRegisterTablesThatViewsNeed(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	create(t, url, smallRegister(t, 60))
	run(t, url, "CREATE VIEW brukerens AS SELECT visningsnavn FROM grense.sted")
	create(t, url, smallRegister(t, 80))
	if n := lines(t, url, "SELECT count(*)::text FROM brukerens"); n[0] != "80" {
		t.Errorf("the view shows %s places", n[0])
	}
}

// TestCommitGivesWayToReaders: a reader that holds one of the tables and asks for another gets it, and the import goes through after it.
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
		return len(lines(t, url, "SELECT 'x' FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock' AND database = (SELECT oid FROM pg_database WHERE datname = current_database())")) > 0
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
