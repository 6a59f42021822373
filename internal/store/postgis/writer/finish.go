package writer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"grense/internal/store"
	"grense/internal/store/postgis/conn"
)

// finish sends the last rows, builds indexes and statistics, and renames the tables.
func (w *writer) finish(ctx context.Context) error {
	if err := w.flushAll(ctx); err != nil {
		return err
	}
	if _, err := w.tx.Exec(ctx, "SELECT set_config('maintenance_work_mem', greatest(setting::bigint, "+
		"262144) || 'kB', TRUE) FROM pg_settings WHERE name = 'maintenance_work_mem'"); err != nil {
		return err
	}
	for _, c := range w.targets {
		if err := w.index(ctx, c); err != nil {
			return conn.Own(fmt.Errorf("postgis: collection %q: %w", c.ID, err))
		}
	}
	var indexes []index
	for _, name := range slices.Sorted(maps.Keys(w.staged)) {
		copied := w.copyIndexes
		if !w.ours[name] {
			copied = w.keepIndexes
		}
		list, err := copied(ctx, name)
		if err != nil {
			return conn.Own(fmt.Errorf("postgis: table %q: %w", name, err))
		}
		indexes = append(indexes, list...)
	}
	if err := w.verify(ctx); err != nil {
		return err
	}
	for _, stored := range slices.Concat(slices.Sorted(maps.Values(w.staged)), slices.Sorted(maps.Keys(w.emptied))) {
		if _, err := w.tx.Exec(ctx, "ANALYZE grense."+quote(stored)); err != nil {
			return err
		}
	}
	return w.exchange(ctx, indexes)
}

// index is an index of a staged table.
type index struct {
	staged, name           string
	unique                 bool
	constraint, definition string // constraint type, or ""; and the part of CREATE INDEX after the table
}

// statement returns the statement that creates the index on a table.
func (x index) statement(table string) string {
	switch {
	case x.constraint != "":
		return "ALTER TABLE " + table + " ADD CONSTRAINT " + quote(x.staged) + " " + x.constraint
	case x.unique:
		return "CREATE UNIQUE INDEX " + quote(x.staged) + " ON " + table + x.definition
	}
	return "CREATE INDEX " + quote(x.staged) + " ON " + table + x.definition
}

// indexesOf returns the indexes of a table, the primary key first.
func (w *writer) indexesOf(ctx context.Context, table string) (list []index, err error) {
	rows, err := w.tx.Query(ctx,
		`SELECT c.relname::text, i.indisunique, coalesce(pg_get_constraintdef(k.oid), ''), substring(pg_get_indexdef(c.oid) FROM ' USING .*')
		FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid LEFT JOIN pg_constraint k ON k.conindid = c.oid AND k.conrelid = i.indrelid AND k.contype IN ('p', 'u', 'x')
		WHERE i.indrelid = $1::text::regclass AND i.indisvalid ORDER BY i.indisprimary DESC, c.relname`,
		"grense."+quote(table))
	if err != nil {
		return nil, err
	}
	var x index
	_, err = pgx.ForEachRow(rows, []any{&x.name, &x.unique, &x.constraint, &x.definition}, func() error {
		list = append(list, x)
		return nil
	})
	return list, err
}

// copyIndexes creates the indexes of the replaced table on the staged one. It runs after all rows are inserted, which
// is faster.
func (w *writer) copyIndexes(ctx context.Context, name string) ([]index, error) {
	list, err := w.indexesOf(ctx, name)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].staged = fmt.Sprintf("%s_%d", w.staged[name], i)
		if _, err := w.tx.Exec(ctx, list[i].statement("grense."+quote(w.staged[name]))); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// keepIndexes names the indexes of a staged table without migration after the table that it replaces, and adds the
// indexes that users have created there. It omits indexes on columns that no longer exist.
func (w *writer) keepIndexes(ctx context.Context, name string) ([]index, error) {
	staging := w.staged[name]
	list, err := w.indexesOf(ctx, staging)
	if err != nil {
		return nil, err
	}
	same := map[string]bool{}
	for i, x := range list {
		list[i].staged = x.name
		if list[i].name, err = w.freeName(ctx, name, strings.TrimPrefix(x.name, staging)); err != nil {
			return nil, err
		}
		same[x.constraint+x.definition] = true
	}
	var there bool
	if err := w.tx.QueryRow(ctx, "SELECT to_regclass($1::text) IS NOT NULL", "grense."+quote(name)).
		Scan(&there); err != nil || !there {
		return list, err
	}
	theirs, err := w.indexesOf(ctx, name)
	if err != nil {
		return nil, err
	}
	for i, x := range theirs {
		if same[x.constraint+x.definition] || w.named[x.name] || strings.HasPrefix(x.constraint, "PRIMARY KEY") {
			continue
		}
		x.staged = fmt.Sprintf("%s_kept_%d", staging, i)
		part, err := w.tx.Begin(ctx)
		if err != nil {
			return nil, err
		}
		_, err = part.Exec(ctx, x.statement("grense."+quote(staging)))
		if pe, ok := errors.AsType[*pgconn.PgError](err); ok && pe.Code == "42703" { // undefined_column
			if err := part.Rollback(ctx); err != nil {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("index %q, which is not ours: %w", x.name, err)
		}
		if err := part.Commit(ctx); err != nil {
			return nil, err
		}
		list = append(list, x)
	}
	return list, nil
}

// freeName returns an unused name for an index of a table.
func (w *writer) freeName(ctx context.Context, table, rest string) (string, error) {
	var failed error
	name := store.Unique(strings.ToValidUTF8(table[:min(len(table), max(63-len(rest)-4, 0))], "")+rest,
		func(s string) bool {
			var taken bool
			if err := w.tx.QueryRow(ctx,
				`SELECT EXISTS (SELECT 1 FROM pg_class c WHERE relnamespace = 'grense'::regnamespace AND relname = $1
			AND NOT EXISTS (SELECT 1 FROM pg_index i WHERE i.indexrelid = c.oid AND i.indrelid = to_regclass($2)))`, s,
				"grense."+quote(table)).Scan(&taken); err != nil {
				failed = err
			}
			return failed == nil && (taken || w.named[s])
		})
	w.named[name] = true
	return name, failed
}

// exchange replaces the old tables by the new ones. From here on readers wait until the transaction ends.
func (w *writer) exchange(ctx context.Context, indexes []index) error {
	names := slices.Sorted(maps.Keys(w.staged))
	var dropped []string
	for _, name := range w.drop {
		if w.staged[name] == "" && !w.emptied[name] {
			dropped = append(dropped, name)
		}
	}
	if err := w.lock(ctx, slices.Concat(names, dropped)); err != nil {
		return err
	}
	for _, name := range names {
		if err := w.rename(ctx, name); err != nil {
			return err
		}
	}
	for _, x := range indexes {
		if _, err := w.tx.Exec(ctx, "ALTER INDEX grense."+quote(x.staged)+" RENAME TO "+quote(x.name)); err != nil {
			return err
		}
	}
	for _, name := range names {
		if err := w.renameConstraints(ctx, name); err != nil {
			return err
		}
	}
	for _, name := range dropped {
		if _, err := w.tx.Exec(ctx, "DROP TABLE IF EXISTS grense."+quote(name)); err != nil {
			return err
		}
	}
	return nil
}

// renameConstraints renames constraints that are named after the staged table.
func (w *writer) renameConstraints(ctx context.Context, name string) error {
	table, staging := "grense."+quote(name), w.staged[name]
	rows, err := w.tx.Query(ctx, "SELECT conname::text FROM pg_constraint WHERE conrelid = $1::text::regclass AND "+
		"starts_with(conname, $2)", table, staging)
	if err != nil {
		return err
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	for _, old := range list {
		rest := strings.TrimPrefix(old, staging)
		named := strings.ToValidUTF8(name[:min(len(name), max(63-len(rest), 0))], "") + rest
		if _, err := w.tx.Exec(ctx, "ALTER TABLE "+table+" RENAME CONSTRAINT "+quote(old)+" TO "+
			quote(named)); err != nil {
			return err
		}
	}
	return nil
}

// How long an import waits for a lock, at first and at most, before it lets readers pass and tries again.
const firstLockWait, lastLockWait = 300 * time.Millisecond, 15 * time.Second

// lock locks the existing tables exclusively, all at once or none: a reader of several tables may hold one and wait for
// another. The server would resolve such a deadlock after a second, perhaps by aborting the import. Each attempt waits
// longer, since slow readers may never leave a gap. A reader that the server aborts gets an error that suggests a
// retry.
func (w *writer) lock(ctx context.Context, names []string) error {
	var list []string
	for _, name := range names {
		var there bool
		if err := w.tx.QueryRow(ctx, "SELECT to_regclass($1::text) IS NOT NULL", "grense."+quote(name)).
			Scan(&there); err != nil {
			return err
		}
		if there {
			list = append(list, "grense."+quote(name))
		}
	}
	if len(list) == 0 {
		return nil
	}
	for wait := firstLockWait; ; wait = min(2*wait, lastLockWait) {
		part, err := w.tx.Begin(ctx)
		if err != nil {
			return err
		}
		if _, err = part.Exec(ctx, fmt.Sprintf("SET LOCAL lock_timeout = %d", wait.Milliseconds())); err == nil {
			_, err = part.Exec(ctx, "LOCK TABLE "+strings.Join(list, ", ")+" IN ACCESS EXCLUSIVE MODE")
		}
		if err == nil {
			if _, err = part.Exec(ctx, "SET LOCAL lock_timeout = 0"); err != nil {
				return err
			}
			return part.Commit(ctx)
		}
		if pe, ok := errors.AsType[*pgconn.PgError](err); !ok || pe.Code != "55P03" && pe.Code != "40P01" {
			// lock_timeout or deadlock
			return err
		}
		if err := part.Rollback(ctx); err != nil {
			return err
		}
	}
}

// vacuum sets the visibility map of the new tables, without which index-only scans are not possible. Errors are
// ignored, since autovacuum does the same later.
func (w *writer) vacuum(ctx context.Context) {
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(w.staged)), slices.Sorted(maps.Keys(w.emptied))) {
		if _, err := w.conn.Exec(ctx, "VACUUM grense."+quote(name)); err != nil {
			return
		}
	}
}

// index creates the indexes of tables without migration.
func (w *writer) index(ctx context.Context, c *store.Collection) error {
	if g := c.Geometry; g != nil {
		if err := w.createIndex(ctx, c.Table, "USING gist ("+quote(g.Column)+")"); err != nil {
			return err
		}
	}
	if v := c.Versions; v != nil {
		id, _ := c.Find(v.ID)
		start, _ := c.Find(v.Start)
		if err := w.createIndex(ctx, c.Table, "("+quote(id.Column)+", "+quote(start.Column)+")"); err != nil {
			return err
		}
	}
	for _, p := range []string{c.Instant, c.IntervalStart, c.IntervalEnd} {
		if x, ok := c.Find(p); ok {
			if err := w.createIndex(ctx, c.Table, "("+quote(x.Column)+")"); err != nil {
				return err
			}
		}
	}
	if err := w.searchIndexes(ctx, c.Table, c.Properties); err != nil {
		return err
	}
	return w.relationIndexes(ctx, c.Relations)
}

func (w *writer) relationIndexes(ctx context.Context, rs []store.Relation) error {
	for _, r := range rs {
		if err := w.createIndex(ctx, r.Table, "("+quote(r.Owner)+")"); err != nil {
			return err
		}
		if err := w.searchIndexes(ctx, r.Table, r.Columns); err != nil {
			return err
		}
		if err := w.relationIndexes(ctx, r.Relations); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) searchIndexes(ctx context.Context, table string, ps []store.Property) error {
	for _, p := range ps {
		for _, col := range [...]string{p.Search.Exact, p.Search.Norm, p.Search.Rev} {
			if col == "" {
				continue
			}
			if err := w.createIndex(ctx, table, "("+quote(col)+")"); err != nil {
				return err
			}
		}
	}
	return nil
}

// createIndex creates an index on a table of this writer; tables of migrations have theirs already.
func (w *writer) createIndex(ctx context.Context, table, on string) error {
	staging := w.staged[table]
	if staging == "" || w.ours[table] {
		return nil
	}
	_, err := w.tx.Exec(ctx, "CREATE INDEX ON grense."+quote(staging)+" "+on)
	return err
}

// verify compares the numbers of rows.
func (w *writer) verify(ctx context.Context) error {
	want := map[string]int{}
	for _, c := range w.copies {
		want[c.stored] += c.total
	}
	for name, n := range want {
		var got int
		if err := w.tx.QueryRow(ctx, "SELECT count(*) FROM grense."+quote(name)).Scan(&got); err != nil {
			return err
		}
		if got != n {
			return conn.Own(fmt.Errorf("postgis: table %q holds %d rows after %d were written", name, got, n))
		}
	}
	return nil
}

// rename replaces an old table by the new one. The new one gets its privileges and, if the role may change that, its
// owner.
func (w *writer) rename(ctx context.Context, name string) error {
	rows, err := w.tx.Query(ctx,
		`SELECT a.privilege_type, CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END,
		CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END, CASE WHEN c.relowner <> current_user::regrole THEN c.relowner::regrole::text ELSE '' END
		FROM pg_class c CROSS JOIN aclexplode(coalesce(c.relacl, acldefault('r', c.relowner))) a WHERE c.relnamespace = 'grense'::regnamespace AND c.relname = $1`, name)
	if err != nil {
		return err
	}
	table := "grense." + quote(name)
	var grants []string
	var right, to, option, owner string // owner is "" for the role itself
	_, err = pgx.ForEachRow(rows, []any{&right, &to, &option, &owner}, func() error {
		grants = append(grants, "GRANT "+right+" ON "+table+" TO "+to+option)
		return nil
	})
	if err != nil {
		return err
	}
	if _, err := w.tx.Exec(ctx, "DROP TABLE IF EXISTS "+table); err != nil {
		return err
	}
	if _, err := w.tx.Exec(ctx, "ALTER TABLE grense."+quote(w.staged[name])+" RENAME TO "+quote(name)); err != nil {
		return err
	}
	for _, sql := range grants {
		if _, err := w.tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	if owner == "" {
		return nil
	}
	part, err := w.tx.Begin(ctx)
	if err != nil {
		return err
	}
	if _, err = part.Exec(ctx, "ALTER TABLE "+table+" OWNER TO "+owner); err == nil {
		return part.Commit(ctx)
	}
	if pe, ok := errors.AsType[*pgconn.PgError](err); !ok || pe.Code != "42501" {
		return err
	}
	return part.Rollback(ctx)
}
