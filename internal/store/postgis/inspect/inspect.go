// Package inspect reports what a PostGIS database and the role lack: tables of Grense, rights, indexes, values
// that can be served. It changes nothing.
package inspect

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/migrate"
	"grense/internal/store/postgis/conn"
)

// Advice is something that a database or the role lacks, with the cure.
type Advice struct {
	Wrong bool // a fault; otherwise only an improvement
	Text  string
}

// Database returns what the database at url and the role in it lack.
func Database(ctx context.Context, url string) (list []Advice, err error) {
	pool, err := conn.Open(ctx, url, conn.ForQueries)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	i := &inspector{}
	err = conn.Use(ctx, pool, func(c *pgxpool.Conn) error {
		i.c = c
		return i.inspect(ctx)
	})
	if err == nil {
		err = i.columnsServed(ctx, pool)
	}
	return i.list, conn.Explain(ctx, pool, err)
}

type inspector struct {
	c    *pgxpool.Conn
	role string // quoted
	list []Advice
}

func (i *inspector) advise(wrong bool, format string, a ...any) {
	i.list = append(i.list, Advice{wrong, fmt.Sprintf(format, a...)})
}

func (i *inspector) inspect(ctx context.Context) error {
	var there, use, create, replica bool
	err := i.c.QueryRow(ctx,
		`SELECT quote_ident(current_user), pg_is_in_recovery(), n.oid IS NOT NULL, coalesce(has_schema_privilege(n.oid, 'USAGE'), FALSE),
		CASE WHEN n.oid IS NULL THEN has_database_privilege(current_database(), 'CREATE') ELSE has_schema_privilege(n.oid, 'CREATE') END
		FROM (SELECT 1) one LEFT JOIN pg_namespace n ON n.nspname = 'grense'`).Scan(&i.role, &replica, &there,
		&use, &create)
	if err != nil {
		return err
	}
	switch {
	case !there && create:
		i.advise(false,
			"there is no schema grense; creating a key with --source, or an import, creates it")
	case !there:
		i.advise(false, "there is no schema grense, and the role %s may not create it: keys are stored in the data "+
			"directory of each machine, and nothing can be imported; "+
			"let a role that may create schemas run: grense key list --source postgres://...", i.role)
	case !use:
		i.advise(true, "the role %s may not use the schema grense, so what was imported is not served, and keys are "+
			"not shared; let its owner run: GRANT USAGE ON SCHEMA grense TO %[1]s", i.role)
	default:
		if err := i.migrations(ctx); err != nil {
			return err
		}
		if err := i.rights(ctx); err != nil {
			return err
		}
		if !create && !replica {
			i.advise(false, "the role %s may not import; to allow it: GRANT CREATE ON SCHEMA grense TO %[1]s", i.role)
		}
	}
	if replica {
		i.advise(false, "this server is a replica: it accepts no keys and no imports; name the primary too, "+
			"as in postgres://user@primary,replica/database")
	}
	return i.tables(ctx)
}

// migrations compares the applied migrations with those of this program. Those after the first belong to the register.
func (i *inspector) migrations(ctx context.Context) error {
	known, err := migrate.PostGIS()
	if err != nil {
		return conn.Own(err)
	}
	var table, read bool
	err = i.c.QueryRow(ctx,
		`SELECT count(c.oid) > 0, coalesce(bool_and(has_table_privilege(c.oid, 'SELECT')), FALSE) FROM pg_class c
		WHERE c.relnamespace = 'grense'::regnamespace AND c.relname = 'migration'`).Scan(&table, &read)
	switch {
	case err != nil:
		return err
	case table && !read:
		i.advise(false, "the role %s may not see which migrations were applied; let the owner run: "+
			"GRANT SELECT ON grense.migration TO %[1]s", i.role)
		return nil
	}
	var applied []int
	if table {
		rows, err := i.c.Query(ctx, "SELECT number FROM grense.migration")
		if err != nil {
			return err
		}
		if applied, err = pgx.CollectRows(rows, pgx.RowTo[int]); err != nil {
			return err
		}
	}
	var missing []string
	for _, m := range known {
		if !slices.Contains(applied, m.Number) && (m.Number == 1 || len(applied) > 1) {
			missing = append(missing, fmt.Sprintf("%04d_%s", m.Number, m.Name))
		}
	}
	if len(missing) > 0 {
		i.advise(true, "migrations are missing in the schema grense: %s; let its owner run: "+
			"grense check --migrate postgres://...", strings.Join(missing, ", "))
	}
	for _, n := range applied {
		if n > len(known) {
			i.advise(true, "migration %d in the schema grense is of a newer version of this program; use that one", n)
		}
	}
	return nil
}

// rights reports missing rights of the role on Grense's own tables.
func (i *inspector) rights(ctx context.Context) error {
	for _, x := range []struct{ Table, rights, lost string }{
		{"collection", "SELECT", "what was imported is not served"},
		{"api_key", "SELECT,INSERT,UPDATE", "keys are stored in the data directory of each machine"},
	} {
		var lacking *string
		err := i.c.QueryRow(ctx, `SELECT string_agg(r, ', ') FROM pg_class c, unnest(string_to_array($2::text, ',')) r
			WHERE c.relnamespace = 'grense'::regnamespace AND c.relname = $1::text AND NOT has_table_privilege(c.oid, r)`, x.Table, x.rights).Scan(&lacking)
		if err != nil {
			return err
		}
		if lacking != nil {
			i.advise(x.Table == "collection", "%s; to change that for the role %s: GRANT %s ON grense.%s TO %[2]s",
				x.lost, i.role, *lacking, x.Table)
		}
	}
	return nil
}

// tables reports tables with geometries that the role may not read, and large ones without a spatial index.
func (i *inspector) tables(ctx context.Context) error {
	const list = ` FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
		JOIN pg_type y ON y.oid = a.atttypid AND y.typname IN ('geometry', 'geography')
		WHERE NOT c.relispartition AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'`
	err := conn.Each(ctx, i.c, `SELECT DISTINCT quote_ident(n.nspname), quote_ident(n.nspname) || '.' || `+
		`quote_ident(c.relname), has_schema_privilege(n.oid, 'USAGE')`+list+`
		AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT (has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')) ORDER BY 2`, func(rows pgx.Rows) error {
		var schema, table string
		var use bool
		err := rows.Scan(&schema, &table, &use)
		grant := "GRANT SELECT ON " + table + " TO " + i.role
		if !use {
			grant = "GRANT USAGE ON SCHEMA " + schema + " TO " + i.role + "; " + grant
		}
		i.advise(false, "%s is not served: the role may not read it; to serve it: %s", table, grant)
		return err
	})
	if err != nil {
		return err
	}
	return conn.Each(ctx, i.c, `SELECT quote_ident(n.nspname) || '.' || quote_ident(c.relname), `+
		`quote_ident(a.attname), c.reltuples::bigint`+list+`
		AND c.relkind IN ('r', 'm') AND c.reltuples >= 1000 AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
		AND NOT EXISTS (SELECT 1 FROM pg_index x JOIN pg_class ic ON ic.oid = x.indexrelid JOIN pg_am m ON m.oid = ic.relam
			WHERE x.indrelid = c.oid AND x.indisvalid AND m.amname IN ('gist', 'spgist', 'brin') AND a.attnum = ANY (x.indkey::int2[])) ORDER BY 1, 2`, func(rows pgx.Rows) error {
		var table, column string
		var n int64
		err := rows.Scan(&table, &column, &n)
		i.advise(false, "%s has about %d rows and no spatial index, so every box reads them all; let its owner run: "+
			"CREATE INDEX ON %[1]s USING gist (%[3]s)", table, n, column)
		return err
	})
}
