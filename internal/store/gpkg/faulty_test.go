package gpkg_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestOneFaultyLayerLeavesTheOthers: what is wrong with a view or table is told of that layer, with the cure, and the others are served.
func TestOneFaultyLayerLeavesTheOthers(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ script, want, cure string }{
		"function":  {"CREATE VIEW x AS SELECT a, ST_Area(a) AS area FROM good;", "no such function: ST_Area", "store the rows of the view as a table"},
		"dropped":   {"CREATE TABLE gone (a); CREATE VIEW x AS SELECT a FROM gone; DROP TABLE gone;", "no such table: main.gone", "make the view anew"},
		"column":    {"CREATE TABLE kept (a, b); CREATE VIEW x AS SELECT b FROM kept; PRAGMA legacy_alter_table=ON; PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql = 'CREATE TABLE kept (a, c)' WHERE name = 'kept';", "no such column", "make the view anew"},
		"module":    {"PRAGMA writable_schema=ON; INSERT INTO sqlite_schema VALUES ('table', 'x', 'x', 0, 'CREATE VIRTUAL TABLE x USING VirtualShape(''a'', ''b'', 1)');", "no such module: VirtualShape", "ordinary table"},
		"a row":     {"CREATE VIEW x AS SELECT a, abs(-9223372036854775807 - a) AS n FROM good;", "integer overflow", "hidden"},
		"no end":    {"CREATE VIEW x AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c;", "did not end within 100ms", "limits.view_timeout"},
		"huge text": {"CREATE VIEW x AS SELECT 1 AS id, hex(zeroblob(150000000)) AS t;", "a row of the view", "more than 128 MiB, the most that a view may compute; shorten it by substr, store the rows as a table, or raise limits.memory"},
		"product":   {"CREATE VIEW x AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 100000) SELECT a.n FROM c AS a, c AS b, c AS d;", "did not end", "store its rows as a table"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := build(t, "CREATE TABLE good (a INTEGER PRIMARY KEY); INSERT INTO good VALUES (1); INSERT INTO gpkg_contents (table_name, data_type) VALUES ('good', 'attributes');"+tt.script+attributes)
			dir := t.TempDir()
			for _, opening := range []string{"first", "second, from the side file"} {
				s, err := gpkg.Open(context.Background(), path, gpkg.Options{DataDir: dir, ViewTimeout: 100 * time.Millisecond})
				if err != nil {
					t.Fatalf("%s: %v", opening, err)
				}
				defer s.Close()
				cat := s.Catalog()
				if len(cat.Collections) != 1 || cat.Collections[0].ID != "good" {
					t.Fatalf("%s: %d collections", opening, len(cat.Collections))
				}
				if len(cat.Notes) != 1 || cat.Notes[0].Layer != "x" || !cat.Notes[0].Refused || !strings.Contains(cat.Notes[0].Reason, tt.want) || !strings.Contains(cat.Notes[0].Reason, tt.cure) {
					t.Errorf("%s: %+v", opening, cat.Notes)
				} else {
					t.Log(cat.Notes[0].Reason)
				}
				if p, err := s.Page(context.Background(), store.Query{Collection: "good", Limit: 1}); err != nil || len(p.Rows) != 1 {
					t.Errorf("%s: %v", opening, err)
				}
			}
		})
	}
}
