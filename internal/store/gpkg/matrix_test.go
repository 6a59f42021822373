package gpkg_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// TestVersionsChangeWithAnswers: whoever changes whatever in a file that is served, and however.
func TestVersionsChangeWithAnswers(t *testing.T) {
	t.Parallel()
	const rows = `CREATE TABLE x (fid INTEGER PRIMARY KEY, a TEXT, b TEXT); INSERT INTO x VALUES (1, 'a1', 'b1'), (2, 'a2', 'b2'), (3, 'a3', 'b3');
		CREATE VIEW v AS SELECT fid, a, b FROM x WHERE b < 'b9';` + attributes +
		`INSERT INTO gpkg_contents (table_name, data_type) VALUES ('v', 'attributes');`
	const exchange = `BEGIN; ALTER TABLE x RENAME COLUMN a TO c; ALTER TABLE x RENAME COLUMN b TO a; ` +
		`ALTER TABLE x RENAME COLUMN c TO b; COMMIT`
	sql := func(statements string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			write, end := other(t, path)
			for _, statement := range strings.Split(statements, "; ") {
				write(statement)
			}
			end()
		}
	}
	for name, change := range map[string]func(t *testing.T, path string){
		"update":            sql(`UPDATE x SET a = 'other' WHERE fid = 1`),
		"insert":            sql(`INSERT INTO x VALUES (4, 'a4', 'b4')`),
		"delete of a row":   sql(`DELETE FROM x WHERE fid = 1`),
		"delete of all":     sql(`DELETE FROM x`),
		"exchanged columns": sql(exchange),
		"another view":      sql(`DROP VIEW v; CREATE VIEW v AS SELECT fid, b AS a, a AS b FROM x`),
		"a column more":     sql(`ALTER TABLE x ADD COLUMN d TEXT DEFAULT 'd'`),
		"another table": sql(`DROP TABLE x; CREATE TABLE x (fid INTEGER PRIMARY KEY, a TEXT, b TEXT); ` +
			`INSERT INTO x VALUES (1, 'c1', 'd1')`),
		"journal off":            sql(`PRAGMA journal_mode=OFF; UPDATE x SET a = 'other' WHERE fid = 1`),
		"WAL":                    sql(`PRAGMA journal_mode=WAL; UPDATE x SET a = 'other' WHERE fid = 1`),
		"exchanged columns, WAL": sql(`PRAGMA journal_mode=WAL; ` + exchange),
		"WAL without a checkpoint": func(t *testing.T, path string) {
			write, _ := other(t, path) // which stays open
			for _, statement := range []string{"PRAGMA journal_mode=WAL", "PRAGMA wal_autocheckpoint=0",
				"UPDATE x SET a = 'other' WHERE fid = 1"} {
				write(statement)
			}
		},
		"vacuum": sql(`UPDATE x SET a = 'other'; VACUUM`),
		"written in place": func(t *testing.T, path string) {
			content, err := os.ReadFile(
				build(t, rows+`UPDATE x SET a = 'other'; UPDATE x SET b = 'other' WHERE fid = 2;`))
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"another file": func(t *testing.T, path string) {
			if err := os.Rename(build(t, rows+`UPDATE x SET a = 'other'`), path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		for kind, settles := range map[string]time.Duration{"": time.Hour, " by stamps": stampSteps} {
			t.Run(name+kind, func(t *testing.T) {
				t.Parallel()
				path := build(t, rows)
				s := openStore(t, path, gpkg.Options{})
				s.SettleAfter(settles)
				if settles == stampSteps {
					settled(t, s)
				}
				storetest.ExerciseVersion(t, s, []string{"x", "v"}, func() { change(t, path) })
			})
		}
	}
}
