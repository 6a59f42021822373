package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
)

// opened returns a connection to a new file with some tables.
func opened(t *testing.T, sql ...string) (*sqlite.Conn, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	c, err := sqlite.Open(path, sqlite.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := c.ExecAll(sql); err != nil {
		t.Fatal(err)
	}
	return c, path
}

// endless is a query that ends only if it is interrupted.
const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"

// TestMoreStatementsThanAreCachedGiveTheirRows: also one that runs within itself.
func TestMoreStatementsThanAreCachedGiveTheirRows(t *testing.T) {
	t.Parallel()
	c, _ := opened(t)
	for range 2 {
		for i := range int64(200) {
			if n, err := c.One(fmt.Sprintf("SELECT ? + %d", i), i); n != 2*i || err != nil {
				t.Fatal(i, n, err)
			}
		}
	}
	const sql = "SELECT ? + 1"
	err := c.Query(sql, []any{1}, func(r sqlite.Row) error {
		n, err := c.One(sql, 5)
		if n != 6 || r.Int(0) != 2 {
			t.Errorf("%d within %d", n, r.Int(0))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestATransactionIsUndoneIfItFails(t *testing.T) {
	t.Parallel()
	c, _ := opened(t, "CREATE TABLE x (a)")
	failure := errors.New("no")
	for _, want := range []error{failure, nil} {
		err := c.Transaction(func() error {
			return errors.Join(c.Exec("INSERT INTO x VALUES (1)"), want)
		})
		n, err2 := c.One("SELECT count(*) FROM x")
		if !errors.Is(err, want) || err2 != nil || (n == 1) != (want == nil) || c.InTransaction() {
			t.Errorf("%d rows, %v, %v", n, err, err2)
		}
	}
}

// TestAQueryEndsWithItsContext: and the connection serves the next one.
func TestAQueryEndsWithItsContext(t *testing.T) {
	t.Parallel()
	_, path := opened(t, "CREATE TABLE x (a)")
	pool, err := sqlite.NewPool(1, func() (*sqlite.Conn, error) { return sqlite.Open(path, sqlite.ReadOnly) })
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		err := pool.Use(ctx, func(c *sqlite.Conn) error { return c.Exec(endless) })
		if cancel(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	}
	err = pool.Use(t.Context(), func(c *sqlite.Conn) error {
		short, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		if err := c.Within(short, func() error { return c.Exec(endless) }); !sqlite.IsInterrupted(err) {
			t.Errorf("%v", err)
		}
		n, err := c.One("SELECT 7")
		if n != 7 {
			t.Errorf("%d after an interrupted part", n)
		}
		return err
	})
	if err := errors.Join(err, pool.Close()); err != nil {
		t.Error(err)
	}
}

func TestAPoolIsBusyIfPatienceEnds(t *testing.T) {
	t.Parallel()
	_, path := opened(t, "CREATE TABLE x (a)")
	pool, err := sqlite.NewPool(1, func() (*sqlite.Conn, error) { return sqlite.Open(path, sqlite.ReadOnly) })
	if err != nil {
		t.Fatal(err)
	}
	c, err := pool.Get(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if all, idle := pool.Size(); all != 1 || idle != 0 {
		t.Errorf("%d of %d are idle", idle, all)
	}
	if _, err := pool.Get(store.WithPatience(t.Context(), time.Millisecond)); !errors.Is(err, store.ErrBusy) {
		t.Errorf("%v", err)
	}
	pool.Put(c)
	if all, idle := pool.Size(); all != 1 || idle != 1 {
		t.Errorf("%d of %d are idle", idle, all)
	}
	if err := pool.Close(); err != nil {
		t.Error(err)
	}
}

// TestTablesAreDescribed: with the schema read once, and table by table.
func TestTablesAreDescribed(t *testing.T) {
	t.Parallel()
	c, _ := opened(t, "CREATE TABLE Numbered (a INTEGER PRIMARY KEY, b TEXT NOT NULL UNIQUE)",
		"CREATE TABLE free (rowid TEXT, b)", "CREATE TABLE keyed (a TEXT PRIMARY KEY, b) WITHOUT ROWID",
		"CREATE VIEW seen AS SELECT a FROM Numbered", "CREATE INDEX by_b ON free (b)")
	for _, frozen := range []bool{false, true} {
		if frozen {
			if _, err := c.FreezeSchema(); err != nil {
				t.Fatal(err)
			}
		}
		for name, want := range map[string]sqlite.Table{
			"NUMBERED": {Name: "Numbered", Rowid: "rowid", Numbered: true},
			"free":     {Name: "free", Rowid: "_rowid_"},
			"keyed":    {Name: "keyed"},
			"Seen":     {Name: "seen", View: true},
		} {
			got, err := sqlite.ReadTable(c, name)
			if err != nil || got == nil || got.Name != want.Name || got.Rowid != want.Rowid || got.View != want.View ||
				got.Numbered != want.Numbered {
				t.Errorf("%s: %+v, %v, want %+v", name, got, err, want)
			}
		}
		if none, err := sqlite.ReadTable(c, "none"); none != nil || err != nil {
			t.Errorf("%+v, %v", none, err)
		}
	}
	tab, err := sqlite.ReadTable(c, "numbered")
	if err != nil {
		t.Fatal(err)
	}
	keys, err := tab.UniqueKeys(c)
	if err != nil || len(keys) != 1 || !slices.Equal(keys[0], []string{"b"}) {
		t.Errorf("unique keys %v, %v", keys, err)
	}
	if lead, err := sqlite.Leads(c, "free"); err != nil || lead["b"] != "by_b" {
		t.Errorf("%v, %v", lead, err)
	}
}

func TestQuotedNamesAreUnquoted(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a", `a"b`, "rød grense", ""} {
		if got := sqlite.Unquote(sqlite.Quote(name)); got != name {
			t.Errorf("%q becomes %q", name, got)
		}
	}
	if got := sqlite.Unquote("rowid"); got != "rowid" {
		t.Errorf("%q", got)
	}
}
