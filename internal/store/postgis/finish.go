package postgis

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"grense/internal/store"
)

// finish sends the last rows, makes what follows from them, and renames the tables.
func (w *Writer) finish(ctx context.Context) error {
	if err := w.flushAll(ctx); err != nil {
		return err
	}
	for _, c := range w.targets {
		if err := w.index(ctx, c); err != nil {
			return own(fmt.Errorf("postgis: collection %q: %w", c.ID, err))
		}
	}
	if err := w.verify(ctx); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(w.staged)) {
		if err := w.rename(ctx, name); err != nil {
			return err
		}
	}
	for _, name := range slices.Concat(slices.Sorted(maps.Keys(w.staged)), slices.Sorted(maps.Keys(w.emptied))) {
		if _, err := w.tx.Exec(ctx, "ANALYZE grense."+quote(name)); err != nil {
			return err
		}
	}
	for _, name := range w.drop {
		if w.staged[name] == "" && !w.emptied[name] {
			if _, err := w.tx.Exec(ctx, "DROP TABLE IF EXISTS grense."+quote(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// index makes the indexes of tables that are not of a migration.
func (w *Writer) index(ctx context.Context, c *store.Collection) error {
	if g := c.Geometry; g != nil {
		if err := w.createIndex(ctx, c.Table, "USING gist ("+quote(g.Column)+")"); err != nil {
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

func (w *Writer) relationIndexes(ctx context.Context, rs []store.Relation) error {
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

func (w *Writer) searchIndexes(ctx context.Context, table string, ps []store.Property) error {
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

// createIndex makes an index on a table that this Writer made; those of migrations have theirs.
func (w *Writer) createIndex(ctx context.Context, table, on string) error {
	staging := w.staged[table]
	if staging == "" {
		return nil
	}
	_, err := w.tx.Exec(ctx, "CREATE INDEX ON grense."+quote(staging)+" "+on)
	return err
}

// verify counts the rows.
func (w *Writer) verify(ctx context.Context) error {
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
			return own(fmt.Errorf("postgis: table %q holds %d rows after %d were written", name, got, n))
		}
	}
	return nil
}

// rename puts a new table in the place of the old one; who could read that can read this.
func (w *Writer) rename(ctx context.Context, name string) error {
	rows, err := w.tx.Query(ctx, `SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(a.grantee)) END FROM pg_class c
		CROSS JOIN aclexplode(c.relacl) a WHERE c.relnamespace = 'grense'::regnamespace AND c.relname = $1 AND a.privilege_type = 'SELECT'`, name)
	if err != nil {
		return err
	}
	readers, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return err
	}
	if _, err := w.tx.Exec(ctx, "DROP TABLE IF EXISTS grense."+quote(name)); err != nil {
		return err
	}
	if _, err := w.tx.Exec(ctx, "ALTER TABLE grense."+quote(w.staged[name])+" RENAME TO "+quote(name)); err != nil {
		return err
	}
	for _, r := range readers {
		if _, err := w.tx.Exec(ctx, "GRANT SELECT ON grense."+quote(name)+" TO "+r); err != nil {
			return err
		}
	}
	return nil
}
