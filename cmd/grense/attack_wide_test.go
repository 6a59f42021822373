//go:build unix

package main_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// wideLayer writes a GeoPackage with a table of so many columns and 400 rows into path.
func wideLayer(t *testing.T, path string, columns int) {
	t.Helper()
	manyLayers(t, path, 0)
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	names, values := make([]string, columns), make([]string, columns)
	for i := range columns {
		names[i], values[i] = fmt.Sprintf("column_%04d TEXT", i), fmt.Sprintf("'value %d of ' || i", i)
	}
	sql := fmt.Sprintf(`CREATE TABLE wide (fid INTEGER PRIMARY KEY, %s);
INSERT INTO gpkg_contents (table_name, data_type, identifier) VALUES ('wide', 'attributes', 'wide');
INSERT INTO wide WITH r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < 400) SELECT i, %s FROM r`,
		strings.Join(names, ", "), strings.Join(values, ", "))
	if err := sqlitex.ExecuteScript(c, sql, nil); err != nil {
		t.Fatal(err)
	}
}

// TestAttackWideTables: a table of ten times the columns costs at most ten times as much; as CSV, which reads each row
// of the file again, 13 times: SQLite keeps such a row on nine pages, and finds the page for each value.
func TestAttackWideTables(t *testing.T) {
	attack(t)
	forms := []string{"/items?limit=10&offset=%d", "/items?limit=10&offset=%d&f=html",
		"/items?limit=10&offset=%d&f=csv", "/items/%d", "/items/%d?f=html", "/items?limit=10&column_0000=value+0+of+%d"}
	took := map[int][]time.Duration{}
	for _, columns := range []int{199, 1990} {
		file := filepath.Join(t.TempDir(), "wide.gpkg")
		wideLayer(t, file, columns)
		s := serve(t, []string{"GRENSE_AUTH=open", "GRENSE_LIMITS_RATE=0"}, file)
		for _, form := range forms {
			path := "/collections/wide" + form
			ask := func(n int) {
				if code, body, err := s.get(t.Context(), fmt.Sprintf(path, n)); err != nil || code != 200 {
					t.Fatalf("%s: %d, %v, %.300s", path, code, err, body)
				}
			}
			ask(1)
			before := s.cpu(t)
			for n := range 150 {
				ask(2 + n)
			}
			took[columns] = append(took[columns], (s.cpu(t)-before)/150)
		}
	}
	for i, form := range forms {
		wide, narrow := took[1990][i], took[199][i]
		t.Logf("%s: %v, %v", form, wide, narrow)
		bound := 10.0
		if strings.Contains(form, "f=csv") {
			bound = 13
		}
		what := fmt.Sprintf("`%s` of 1,990 columns: times the CPU of 199", strings.ReplaceAll(form, "%d", "N"))
		figure(t, what, float64(wide*10/max(narrow, 1))/10, bound)
	}
}
