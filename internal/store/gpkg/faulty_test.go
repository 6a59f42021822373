package gpkg_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestOneFaultyLayerLeavesTheOthers: a fault in a view or table is reported for that layer, with the cure,
// and the others are served.
func TestOneFaultyLayerLeavesTheOthers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ script, want, cure string }{
		"function": {"CREATE VIEW x AS SELECT a, ST_Area(a) AS area FROM good;", "no such function: ST_Area",
			"store the rows of the view as a table"},
		"dropped": {"CREATE TABLE gone (a); CREATE VIEW x AS SELECT a FROM gone; DROP TABLE gone;",
			"no such table: main.gone", "create the view again"},
		"column": {"CREATE TABLE kept (a, b); CREATE VIEW x AS SELECT b FROM kept; PRAGMA legacy_alter_table=ON; " +
			"PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE kept (a, c)' WHERE name = 'kept';",
			"no such column", "create the view again"},
		"module": {"PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 0, " +
			"'CREATE VIRTUAL TABLE x USING VirtualShape(''a'', ''b'', 1)');", "no such module: VirtualShape",
			"ordinary table"},
		"a row": {"CREATE VIEW x AS SELECT a, abs(-9223372036854775807 - a) AS n FROM good;",
			"integer overflow", "hidden"},
		"no end": {"CREATE VIEW x AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) " +
			"SELECT n FROM c;", "did not end within 100ms", "limits.view_timeout"},
		"huge text": {"CREATE VIEW x AS SELECT 1 AS id, hex(zeroblob(150000000)) AS t;",
			"the view reads or computes a value",
			"more than 128 MiB, the most for a view; shorten it by substr, store the rows as a table, " +
				"or raise limits.memory"},
		"product": {"CREATE VIEW x AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < " +
			"100000) SELECT a.n FROM c AS a, c AS b, c AS d;", "did not end", "store its rows as a table"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := build(t, "CREATE TABLE good (a INTEGER PRIMARY KEY); INSERT INTO good VALUES (1); "+
				"INSERT INTO gpkg_contents (table_name, data_type) VALUES ('good', 'attributes');"+tt.script+attributes)
			dir := t.TempDir()
			for _, opening := range []string{"first", "second, from the side file"} {
				s, err := gpkg.Open(context.Background(), path,
					gpkg.Options{DataDir: dir, ViewTimeout: 100 * time.Millisecond})
				if err != nil {
					t.Fatalf("%s: %v", opening, err)
				}
				defer s.Close()
				cat := s.Catalog()
				if len(cat.Collections) != 1 || cat.Collections[0].ID != "good" {
					t.Fatalf("%s: %d collections", opening, len(cat.Collections))
				}
				if len(cat.Notes) != 1 || cat.Notes[0].Layer != "x" || !cat.Notes[0].Refused ||
					!strings.Contains(cat.Notes[0].Reason, tt.want) || !strings.Contains(cat.Notes[0].Reason, tt.cure) {
					t.Errorf("%s: %+v", opening, cat.Notes)
				} else {
					t.Log(cat.Notes[0].Reason)
				}
				if p, err := s.Page(context.Background(), store.Query{Collection: "good", Limit: 1}); err != nil ||
					len(p.Rows) != 1 {
					t.Errorf("%s: %v", opening, err)
				}
			}
		})
	}
}

// TestValuesOfViewsAreBounded: a view may read and compute less than a table may hold.
func TestValuesOfViewsAreBounded(t *testing.T) {
	t.Parallel()
	path := build(t,
		`CREATE TABLE big (a INTEGER PRIMARY KEY, t TEXT); INSERT INTO big VALUES (1, hex(zeroblob(1500000)));
CREATE VIEW small AS SELECT a, a + 1 AS n FROM big; CREATE VIEW x AS SELECT a, t || 'x' AS t FROM big;
INSERT INTO gpkg_contents (table_name, data_type) VALUES ('big', 'attributes'), ('small', 'attributes');`+attributes)
	dir := t.TempDir()
	open := func(most int) *store.Catalog {
		s, err := gpkg.Open(t.Context(), path, gpkg.Options{DataDir: dir, ViewRow: most})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		n := 0
		err = s.Fetch(t.Context(), "big", store.Current("1"), store.Want{Properties: []string{"t"}},
			func(f *store.Feature) error {
				n = len(f.Values[0].(string))
				return nil
			})
		if err != nil || n != 3_000_000 {
			t.Errorf("the text of the table: %d, %v", n, err)
		}
		return s.Catalog()
	}
	cat := open(2 << 20)
	if _, ok := cat.Collection("small"); !ok || len(cat.Collections) != 2 {
		t.Errorf("%d collections", len(cat.Collections))
	}
	if len(cat.Notes) != 1 || cat.Notes[0].Layer != "x" || !cat.Notes[0].Refused ||
		!strings.Contains(cat.Notes[0].Reason, "more than 2 MiB") ||
		!strings.Contains(cat.Notes[0].Reason, "raise limits.memory") {
		t.Errorf("%+v", cat.Notes)
	}
	if cat := open(4 << 20); len(cat.Collections) != 3 { // what was found for another bound does not count
		t.Errorf("%d collections of a larger bound: %+v", len(cat.Collections), cat.Notes)
	}
}
