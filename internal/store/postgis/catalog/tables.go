// Package catalog reads the definitions of tables from the system catalogs of a PostgreSQL database with PostGIS, and
// those of the collections in the schema that Grense writes. It reads no rows of users' tables.
package catalog

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/geo/crs"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
)

// OwnSchema is the schema with the tables that Grense creates.
const OwnSchema = "grense"

// Table is a table or view as described by the system catalogs.
type Table struct {
	OID, FileNode uint32 // FileNode: relfilenode, which changes when all rows are rewritten; 0: none
	Schema, Name  string
	Kind          byte // relkind: r, p, v, m, f
	Comment       string
	Columns       []Column
	// first columns of indexes over all rows: B-trees or, for geometries, spatial indexes
	Indexed []string
	Ordered map[string]bool // those of Indexed whose index has the order of the column itself
	Whole   bool            // the role may read all columns, and so system columns
	// columns that identify rows, from unique indexes; those of a single column and the primary key first
	Keys       [][]string
	Nullable   bool   // columns of Keys may be null, as in materialised views
	ColumnsSum string // result of ColumnsSumSQL when the columns were read
}

// Layer returns the name of a table for people: with its schema unless that is public or OwnSchema.
func (t *Table) Layer() string {
	if t.Schema == "public" || t.Schema == OwnSchema {
		return t.Name
	}
	return t.Schema + "." + t.Name
}

// Quoted returns the name of a table with its schema for statements.
func (t *Table) Quoted() string {
	d := sqlq.PostgreSQL{}
	return d.Quote(t.Schema) + "." + d.Quote(t.Name)
}

// Column returns the column with a name; false if the role may not read one.
func (t *Table) Column(name string) (Column, bool) {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
	if i < 0 {
		return Column{}, false
	}
	return t.Columns[i], true
}

// tablesSQL selects the tables that the role may read at least in part, without system tables, partitions and tables of
// extensions.
const tablesSQL = `SELECT c.oid, n.nspname::text, c.relname::text, c.relkind::text, coalesce(obj_description(c.oid, 'pg_class'), ''),
  has_table_privilege(c.oid, 'SELECT'), c.relispopulated
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
  AND has_schema_privilege(n.oid, 'USAGE') AND has_any_column_privilege(c.oid, 'SELECT')
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')`

// columnsSQL selects the readable columns of these tables.
const columnsSQL = `WITH t(oid, schema, name, kind, comment, whole, populated) AS (` + tablesSQL + `)
SELECT t.oid, a.attname::text, format_type(a.atttypid, a.atttypmod), b.typname::text, b.typcategory::text, format_type(b.oid, NULL), a.attnum, a.attnotnull,
  CASE WHEN co.oid IS NULL THEN '' WHEN NOT co.collisdeterministic THEN 'n' WHEN co.provider = 'b' OR co.provider = 'c' AND co.locale IN ('C', 'POSIX') THEN 'c'
    WHEN co.provider = 'c' AND co.locale IN ('C.UTF-8', 'C.utf8') THEN 'u' ELSE 'd' END,
  coalesce(col_description(t.oid, a.attnum), ''),
  CASE WHEN b.typname IN ('geometry', 'geography') AND a.atttypmod >= 0 THEN postgis_typmod_type(a.atttypmod) ELSE '' END,
  CASE WHEN b.typname IN ('geometry', 'geography') AND a.atttypmod >= 0 THEN postgis_typmod_srid(a.atttypmod) ELSE 0 END,
  CASE WHEN b.typname IN ('geometry', 'geography') AND a.atttypmod >= 0 THEN postgis_typmod_dims(a.atttypmod) ELSE 0 END, a.atttypid || ' ' || a.atttypmod
FROM t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped AND (t.whole OR has_column_privilege(t.oid, a.attnum, 'SELECT'))
  JOIN pg_type y ON y.oid = a.atttypid
  JOIN pg_type b ON b.oid = CASE WHEN y.typtype = 'd' THEN y.typbasetype ELSE y.oid END
  LEFT JOIN (SELECT c.oid, c.collisdeterministic, CASE c.collprovider WHEN 'd' THEN d.datlocprovider ELSE c.collprovider END AS provider,
    CASE c.collprovider WHEN 'd' THEN d.datcollate ELSE c.collcollate END AS locale
    FROM pg_collation c CROSS JOIN pg_database d WHERE d.datname = current_database()) co ON co.oid = a.attcollation
ORDER BY t.oid, a.attnum`

// uniqueSQL selects keys of tables: the column numbers of unique indexes over all rows, without nullable columns.
// Columns of materialised views are never declared NOT NULL. Tables with children are excluded, since an index does not
// cover the children's rows.
const uniqueSQL = `SELECT i.indrelid, array_agg(a.attnum ORDER BY k.ord)::int2[] FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace CROSS JOIN unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, ord)
  LEFT JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum AND a.attnum > 0
WHERE i.indisunique AND i.indisvalid AND i.indimmediate AND i.indpred IS NULL AND i.indexprs IS NULL AND k.ord <= i.indnkeyatts AND c.relkind IN ('r', 'p', 'm')
  AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
  AND (c.relkind = 'p' OR NOT EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid))
GROUP BY i.indrelid, i.indexrelid, i.indnkeyatts, i.indisprimary HAVING bool_and(a.attnotnull OR c.relkind = 'm') IS TRUE
ORDER BY i.indrelid, i.indnkeyatts > 1, NOT i.indisprimary, i.indexrelid`

// viewsSQL selects the rules of simple views, which have a row for each row of their table. PostgreSQL treats those
// views as updatable.
const viewsSQL = `SELECT c.oid, r.ev_action::text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  JOIN pg_rewrite r ON r.ev_class = c.oid AND r.ev_type = '1'
WHERE c.relkind = 'v' AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema' AND pg_relation_is_updatable(c.oid, FALSE) & 28 = 28
  AND NOT EXISTS (SELECT FROM pg_rewrite o WHERE o.ev_class = c.oid AND o.ev_type <> '1')
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')`

// indexedSQL selects the first columns of indexes over all rows, and whether an index is for patterns, has the order of
// the column, or the order of the collation "C".
const indexedSQL = `WITH t(oid, schema, name, kind, comment, whole, populated) AS (` + tablesSQL + `)
SELECT DISTINCT t.oid, a.attname::text, NOT o.opcdefault AND o.opcname LIKE '%pattern_ops', i.indcollation[0] = a.attcollation, coalesce(co.collname = 'C', FALSE)
FROM t JOIN pg_index i ON i.indrelid = t.oid AND i.indisvalid AND i.indpred IS NULL
  JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum = i.indkey[0] JOIN pg_type y ON y.oid = a.atttypid
  JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam JOIN pg_opclass o ON o.oid = i.indclass[0]
  LEFT JOIN pg_collation co ON co.oid = i.indcollation[0]
WHERE CASE WHEN y.typname IN ('geometry', 'geography') THEN m.amname IN ('gist', 'spgist', 'brin') ELSE m.amname = 'btree' END`

// RequirePostGIS returns an error with the cure if PostGIS is missing or not accessible.
func RequirePostGIS(ctx context.Context, c *pgxpool.Conn) error {
	var schema *string
	err := c.QueryRow(ctx, "SELECT (SELECT n.nspname::text FROM pg_extension e JOIN pg_namespace n ON n.oid = "+
		"e.extnamespace WHERE e.extname = 'postgis')").Scan(&schema)
	switch {
	case err != nil:
		return err
	case schema == nil:
		return conn.Own(fmt.Errorf("postgis: the database %q has no PostGIS; let its owner run: "+
			"CREATE EXTENSION postgis", c.Conn().Config().Database))
	case !slices.Contains([]string{"public", "postgis", "extensions"}, *schema):
		return conn.Own(fmt.Errorf(
			"postgis: the extension is in the schema %q; it is looked for in public, postgis and extensions", *schema))
	}
	return nil
}

// ReadTables returns the tables in a stable order, those of the schema public first.
func ReadTables(ctx context.Context, c *pgxpool.Conn) ([]*Table, error) {
	var list []*Table
	byOID := map[uint32]*Table{}
	const order = " ORDER BY n.nspname <> 'public', n.nspname, c.relname"
	err := conn.Each(ctx, c, tablesSQL+order, func(rows pgx.Rows) error {
		t := &Table{}
		var kind string
		var populated bool
		if err := rows.Scan(&t.OID, &t.Schema, &t.Name, &kind, &t.Comment, &t.Whole, &populated); err != nil {
			return err
		}
		t.Kind = kind[0]
		list, byOID[t.OID] = append(list, t), t
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = conn.Each(ctx, c, "WITH t(oid, schema, name, kind, comment, whole, populated) AS ("+tablesSQL+
		") SELECT oid, pg_relation_filenode(oid) FROM t WHERE pg_relation_filenode(oid) IS NOT NULL",
		func(rows pgx.Rows) error {
			var oid, file uint32
			err := rows.Scan(&oid, &file)
			if t := byOID[oid]; t != nil {
				t.FileNode = file
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	err = conn.Each(ctx, c, columnsSQL, func(rows pgx.Rows) error {
		var x Column
		var oid uint32
		var collation string
		err := rows.Scan(&oid, &x.Name, &x.Printed, &x.Base, &x.Category, &x.declared, &x.number, &x.NotNull,
			&collation, &x.Comment, &x.GeometryType, &x.SRID, &x.Dims, &x.TypeModifier)
		if collation != "" {
			x.collation = collation[0]
		}
		if t := byOID[oid]; t != nil {
			t.Columns = append(t.Columns, x)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	err = conn.Each(ctx, c, indexedSQL, func(rows pgx.Rows) error {
		var oid uint32
		var name string
		var pattern, own, code bool
		err := rows.Scan(&oid, &name, &pattern, &own, &code)
		if t := byOID[oid]; t != nil {
			t.addIndex(name, pattern, own, code)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := readColumnsSums(ctx, c, list, byOID); err != nil {
		return nil, err
	}
	return list, readKeys(ctx, c, list)
}

// columnsSum is an SQL expression for a hash of column numbers and names in pg_attribute.
const columnsSum = "sum((attnum + 7) * hashtext(attname::text)::bigint)"

// ColumnsSumSQL returns an expression for columnsSum of the table that has the name now, up to the last column that was
// read, since columns may be added. It is null if that is another table.
func (t *Table) ColumnsSumSQL() string {
	return fmt.Sprintf("SELECT %s FROM pg_attribute WHERE attrelid = %d AND attnum BETWEEN 1 AND %d AND "+
		"to_regclass(%s) = %[2]d::oid",
		columnsSum, t.OID, t.lastColumn(), conn.Literal(t.Quoted()))
}

func (t *Table) lastColumn() (n int16) {
	for _, c := range t.Columns {
		n = max(n, c.number)
	}
	return n
}

// readColumnsSums sets ColumnsSum of tables.
func readColumnsSums(ctx context.Context, c *pgxpool.Conn, list []*Table, byOID map[uint32]*Table) error {
	var oids []uint32
	var last []int16
	for _, t := range list {
		oids, last = append(oids, t.OID), append(last, t.lastColumn())
	}
	return conn.Each(ctx, c, "SELECT t.oid, "+columnsSum+`::text FROM unnest($1::oid[], $2::int2[]) AS t(oid, last)
		JOIN pg_attribute ON attrelid = t.oid AND attnum BETWEEN 1 AND t.last GROUP BY t.oid`,
		func(rows pgx.Rows) error {
			var oid uint32
			var sum string
			err := rows.Scan(&oid, &sum)
			if t := byOID[oid]; t != nil {
				t.ColumnsSum = sum
			}
			return err
		}, oids, last)
}

// addIndex adds a row of indexedSQL.
func (t *Table) addIndex(name string, pattern, own, code bool) {
	if !slices.Contains(t.Indexed, name) {
		t.Indexed = append(t.Indexed, name)
	}
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Name == name })
	switch {
	case pattern && i >= 0:
		t.Columns[i].indexes |= sqlq.IndexPattern
	case pattern:
	case own:
		if t.Ordered == nil {
			t.Ordered = map[string]bool{}
		}
		t.Ordered[name] = true
	case code && i >= 0:
		t.Columns[i].indexes |= sqlq.IndexCodePoint
	}
}

// SystemOf returns the authority, the code and the well-known text of a reference system.
func SystemOf(ctx context.Context, c *pgxpool.Conn, srid int) (authority string, code int, text string, err error) {
	err = c.QueryRow(ctx, "SELECT coalesce(auth_name, ''), coalesce(auth_srid, 0), coalesce(srtext, "+
		"'') FROM spatial_ref_sys WHERE srid = $1", srid).Scan(&authority, &code, &text)
	if err == pgx.ErrNoRows {
		return "", 0, "", nil
	}
	return strings.ToUpper(authority), code, text, err
}

// SRID returns the SRID of a reference system. In PostGIS longitude always comes first.
func SRID(id crs.ID) uint32 {
	if id == crs.CRS84 {
		return uint32(crs.WGS84)
	}
	return uint32(id)
}

// Channel is the notification channel on which imports announce commits.
const Channel = "grense_catalog"
