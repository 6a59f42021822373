// Package writer writes GeoPackages (OGC 12-128r18), with the metadata of collections for which the standard has no
// place.
package writer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"grense/internal/migrate"
	"grense/internal/store"
	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/schema"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/gpkg/survey"
)

// Writer writes a GeoPackage. It works on a temporary file next to the target, which Commit renames, so that a crash
// leaves the target unchanged. Two writers of a target do not see each other; the last Commit wins.
type Writer struct {
	c       *sqlite.Conn
	path    string // of the target
	tmp     string
	release func() // releases the name tmp
	targets []*target
	srs     map[string]int64 // srs_id of geometry columns, by table in lower case
	list    []migrate.Migration
	filled  map[string]bool // full-text tables that are up to date
	indexes []string        // dropped indexes, created again after all rows are inserted
	dated   time.Time       // last_change of the contents; zero: now
	// create tables as defined, even if a migration has a table of the same name
	bare bool
	done bool
}

// Create returns a writer for the GeoPackage at path. If the file exists, collections that are not defined again are
// kept. The caller must call Close.
func Create(ctx context.Context, path string) (store.Writer, error) {
	return create(ctx, &Writer{path: path})
}

// CreateDated returns a writer for a new GeoPackage that replaces an existing one. Its contents get the date at, so
// that equal rows give equal bytes. The caller must call Close.
func CreateDated(ctx context.Context, path string, at time.Time) (store.Writer, error) {
	return create(ctx, &Writer{path: path, dated: at})
}

// CreateBare is CreateDated for files for other programs: a table named like one of a register has only what is
// defined.
func CreateBare(ctx context.Context, path string, at time.Time) (store.Writer, error) {
	return create(ctx, &Writer{path: path, dated: at, bare: true})
}

func create(ctx context.Context, w *Writer) (store.Writer, error) {
	path := w.path
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("gpkg: %w", err)
	}
	file.RemoveAbandoned(path)
	tmp, release, err := file.Temporary(path)
	if err != nil {
		return nil, fmt.Errorf("gpkg: %w", err)
	}
	w.release = release
	w.tmp, w.srs, w.filled = tmp, map[string]int64{}, map[string]bool{}
	if err := w.begin(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *Writer) begin(ctx context.Context) (err error) {
	_, err = os.Stat(w.path)
	exists := err == nil && w.dated.IsZero()
	if exists {
		if err := w.copyTarget(); err != nil {
			return err
		}
	}
	unsealed := false // the order of relations may no longer hold
	if exists {
		if unsealed, err = wasChanged(w.tmp); err != nil {
			return err
		}
	}
	if w.c, err = sqlite.Open(w.tmp, sqlite.ReadWrite); err != nil {
		return err
	}
	const pages = "cache_size=-24576" // KiB, also for each sorter
	for _, p := range [...]string{"journal_mode=MEMORY", "synchronous=OFF", "locking_mode=EXCLUSIVE", pages,
		"foreign_keys=OFF"} {
		if err := w.c.Exec("PRAGMA " + p); err != nil {
			return err
		}
	}
	if !exists {
		if err := w.c.ExecAll(geopackageTables); err != nil {
			return err
		}
	} else if t, err := sqlite.ReadTable(w.c, "gpkg_contents"); err != nil || t == nil {
		return errors.Join(fmt.Errorf("gpkg: %s is not a GeoPackage; name another file", w.path), err)
	}
	if w.list, err = migrate.GeoPackage(); err != nil {
		return err
	}
	applied, err := w.Applied(ctx)
	if err != nil {
		return err
	}
	// Tables of later migrations are created or changed on first use. Other files then do not contain them, and a
	// register is not changed by a migration that may empty derived tables.
	have := min(max(1, len(applied)), len(w.list))
	if _, err := migrate.Up(ctx, w, w.list[:have]); err != nil {
		return err
	}
	if w.bare {
		w.list = w.list[:have]
	}
	if unsealed {
		if err := w.forgetOrders(); err != nil {
			return err
		}
	}
	return w.c.Exec("BEGIN")
}

// wasChanged reports whether a file was changed since it was sealed, or was never sealed.
func wasChanged(path string) (bool, error) {
	src, err := file.Inspect(path)
	if err != nil {
		return false, err
	}
	defer src.Close()
	c, err := sqlite.Open(path, sqlite.ReadOnly)
	if err != nil {
		return false, err
	}
	version, err := survey.Sealed(c, src)
	return version == 0, errors.Join(err, c.Close())
}

// forgetOrders removes Order from all relations, since rows written by another program may not have that order.
func (w *Writer) forgetOrders() error {
	defs, err := schema.ReadDefinitions(w.c)
	if err != nil {
		return err
	}
	for table, d := range defs {
		if !forgetOrder(d.Relations) {
			continue
		}
		body, err := json.Marshal(d)
		if err == nil {
			err = w.c.Exec("UPDATE "+schema.DefinitionTable+" SET definition = ? WHERE lower(table_name) = ?",
				string(body), table)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func forgetOrder(rs []schema.RelationDefinition) (had bool) {
	for i := range rs {
		had = had || rs[i].Order != ""
		rs[i].Order = ""
		had = forgetOrder(rs[i].Relations) || had
	}
	return had
}

// copyTarget starts with a copy of the target.
func (w *Writer) copyTarget() error {
	src, err := file.Inspect(w.path)
	if err != nil {
		return err
	}
	defer src.Close()
	if src.WAL {
		return src.CopyBeside(w.tmp)
	}
	c, err := sqlite.Open(src.Path, sqlite.ReadOnly) // its lock prevents writes during the copy
	if err != nil {
		return src.Explain(err)
	}
	err = c.Exec("BEGIN")
	if err == nil {
		err = c.Exec("SELECT 1 FROM sqlite_schema")
	}
	if err == nil {
		err = file.Copy(w.tmp, src)
	}
	return src.Explain(errors.Join(err, c.Close()))
}

// Applied returns the migrations that the file has; see migrate.DB.
func (w *Writer) Applied(context.Context) (list []int, err error) {
	if err := w.c.Exec("CREATE TABLE IF NOT EXISTS grense_migration (number INTEGER PRIMARY KEY NOT NULL, " +
		"name TEXT NOT NULL)"); err != nil {
		return nil, err
	}
	err = w.c.Query("SELECT number FROM grense_migration", nil, func(r sqlite.Row) error {
		list = append(list, int(r.Int(0)))
		return nil
	})
	return list, err
}

// Apply runs one migration; see migrate.DB.
func (w *Writer) Apply(_ context.Context, m migrate.Migration) error {
	return w.c.Transaction(func() error {
		if err := w.c.Script(m.SQL); err != nil {
			return err
		}
		return w.c.Exec("INSERT INTO grense_migration (number, name) VALUES (?, ?)", int64(m.Number), m.Name)
	})
}

// migrated reports whether a migration creates the table. If so, it runs all migrations.
func (w *Writer) migrated(ctx context.Context, name string) (bool, error) {
	ours := slices.ContainsFunc(w.list, func(m migrate.Migration) bool {
		return strings.Contains(strings.ToLower(m.SQL), "create table "+strings.ToLower(name)+" (")
	})
	if !ours {
		return false, nil
	}
	if err := w.c.Exec("COMMIT"); err != nil {
		return false, err
	}
	_, err := migrate.Up(ctx, w, w.list)
	return true, errors.Join(err, w.c.Exec("BEGIN"))
}

// Insert returns a function that appends rows to a table. Indexes of an empty table are created by Commit, which then
// detects violations of unique indexes.
func (w *Writer) Insert(ctx context.Context, name string, columns []string) (func(values ...any) error, error) {
	t, err := sqlite.ReadTable(w.c, name)
	if err != nil {
		return nil, err
	}
	if t == nil {
		if _, err := w.migrated(ctx, name); err != nil {
			return nil, err
		}
		if t, err = sqlite.ReadTable(w.c, name); err != nil {
			return nil, err
		}
	}
	if t == nil {
		return nil, fmt.Errorf("gpkg: there is no table %q", name)
	}
	if err := w.dropIndexes(t.Name); err != nil {
		return nil, err
	}
	in := &inserter{w: w, ctx: ctx, table: t.Name, values: make([]any, len(columns)), srs: w.srs[strings.ToLower(name)]}
	names := make([]string, len(columns))
	for i, n := range columns {
		col, ok := t.Column(n)
		if !ok {
			return nil, fmt.Errorf("gpkg: table %q has no column %q", name, n)
		}
		names[i] = sqlite.Quote(col.Name)
		typ, _ := schema.DeclaredType(col.Declared)
		in.types = append(in.types, typ)
	}
	in.sql = "INSERT INTO " + sqlite.Quote(t.Name) + " (" + strings.Join(names, ", ") + ") VALUES (?" +
		strings.Repeat(", ?", len(names)-1) + ")"
	return in.insert, nil
}

// dropIndexes drops the indexes of an empty table until Commit: building an index over all rows sorts them, which takes
// a fraction of the time and space.
func (w *Writer) dropIndexes(table string) error {
	rows, err := w.c.One("SELECT EXISTS (SELECT 1 FROM " + sqlite.Quote(table) + ")")
	if err != nil || rows != 0 {
		return err
	}
	var drop []string
	err = w.c.Query("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL AND "+
		"lower(tbl_name) = lower(?) ORDER BY rowid", []any{table}, func(r sqlite.Row) error {
		drop = append(drop, "DROP INDEX "+sqlite.Quote(r.Text(0)))
		w.indexes = append(w.indexes, r.Text(1))
		return nil
	})
	if err != nil {
		return err
	}
	return w.c.ExecAll(drop)
}

// Close removes the temporary file unless it was committed.
func (w *Writer) Close() error {
	if w.done {
		return nil
	}
	w.done = true
	defer w.release()
	var err error
	if w.c != nil {
		err = w.c.Close()
	}
	return errors.Join(err, file.RemoveDatabase(w.tmp))
}

// Commit builds what is derived from the data, verifies the file and renames it to its path.
func (w *Writer) Commit(ctx context.Context) error {
	if w.done {
		return errors.New("gpkg: the writer is closed")
	}
	w.c.Interrupt(ctx)
	if err := w.c.ExecAll(w.indexes); err != nil {
		return errors.Join(err, ctx.Err(), w.Close())
	}
	for _, t := range w.targets {
		if err := w.finish(t); err != nil {
			return errors.Join(fmt.Errorf("gpkg: collection %q: %w", t.c.ID, err), ctx.Err(), w.Close())
		}
	}
	ready, err := survey.Embed(ctx, w.c, w.path)
	if err == nil {
		err = w.settle()
	}
	if err != nil {
		return errors.Join(err, ctx.Err(), w.Close())
	}
	w.done = true
	defer w.release()
	err = w.c.Close()
	if err == nil && ready {
		err = survey.Seal(w.tmp)
	}
	if err != nil {
		return errors.Join(err, file.RemoveDatabase(w.tmp))
	}
	if err := os.Chmod(w.tmp, w.fileMode()); err != nil {
		return errors.Join(err, file.RemoveDatabase(w.tmp))
	}
	if err := file.Publish(w.tmp, w.path); err != nil {
		return fmt.Errorf("gpkg: %w", err)
	}
	return nil
}

// fileMode returns the mode of the old file. A new file is readable for those who can read its directory.
func (w *Writer) fileMode() os.FileMode {
	if info, err := os.Stat(w.path); err == nil {
		return info.Mode().Perm()
	}
	if info, err := os.Stat(filepath.Dir(w.path)); err == nil {
		return 0o600 | info.Mode().Perm()&0o044
	}
	return 0o600
}

// settle ends the transaction, collects statistics for the query planner and checks the file.
func (w *Writer) settle() error {
	if err := w.c.ExecAll([]string{"PRAGMA analysis_limit=1000", "ANALYZE", "COMMIT"}); err != nil {
		return err
	}
	verdict := ""
	err := w.c.Query("PRAGMA quick_check(1)", nil, func(r sqlite.Row) error {
		verdict = r.Text(0)
		return nil
	})
	if err == nil && verdict != "ok" {
		err = fmt.Errorf("gpkg: the new file is damaged: %s", verdict)
	}
	return err
}

var _ store.Writer = (*Writer)(nil)
