package postgis

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
)

// ownSchema is the schema with the tables that Grense creates.
const ownSchema = "grense"

// table is a table or view as described by the system catalogs.
type table struct {
	oid, file    uint32 // file: relfilenode, which changes when all rows are rewritten; 0: none
	schema, name string
	kind         byte // relkind: r, p, v, m, f
	comment      string
	columns      []column
	// first columns of indexes over all rows: B-trees or, for geometries, spatial indexes
	indexed []string
	ordered map[string]bool // those of indexed whose index has the order of the column itself
	whole   bool            // the role may read all columns, and so system columns
	// columns that identify rows, from unique indexes; those of a single column and the primary key first
	keys       [][]string
	nullable   bool   // columns of keys may be null, as in materialised views
	columnsSum string // result of columnsSumSQL when the columns were read
}

// column is a column of a table.
type column struct {
	name, typ, base string // typ: as printed; base: type name without schema, for a domain that of its base type
	category        string // typcategory of base
	declared        string // base for use in statements
	number          int16
	notNull         bool
	collation       byte         // one of the collation constants; 0: none
	indexes         sqlq.Indexes // indexes in other orders than that of the column
	comment         string
	geometryType    string // declared type of a geometry or geography
	srid, dims      int
	stored          string // of a geometry or geography: type and modifier, which contains the SRID
}

// What is known about the collation of a column.
const (
	collationCodePoint = 'c' // by code point, and the server knows it
	collationUTF8      = 'u' // C.UTF-8 of the C library: by code point, but the server does not know it
	collationEqual     = 'd' // deterministic: only identical texts are equal
	collationRoughly   = 'n' // nondeterministic
)

// layer returns the name of a table for people: with its schema unless that is public.
func (t *table) layer() string {
	if t.schema == "public" || t.schema == ownSchema {
		return t.name
	}
	return t.schema + "." + t.name
}

func quote(name string) string { return sqlq.PostgreSQL{}.Quote(name) }

func (t *table) quoted() string { return quote(t.schema) + "." + quote(t.name) }

func (t *table) column(name string) (column, bool) {
	i := slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
	if i < 0 {
		return column{}, false
	}
	return t.columns[i], true
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

// fingerprintSQL returns a hash that changes with the definition of any table.
const fingerprintSQL = `WITH t(oid, schema, name, kind, comment, whole, populated) AS (` + tablesSQL + `)
SELECT md5(string_agg(x, '|' ORDER BY x)) FROM (
  SELECT concat_ws('/', t.oid, t.schema, t.name, t.kind, t.comment, t.whole, t.populated) AS x FROM t
  UNION ALL SELECT concat_ws('/', t.oid, a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attcollation, col_description(t.oid, a.attnum))
    FROM t JOIN pg_attribute a ON a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped AND (t.whole OR has_column_privilege(t.oid, a.attnum, 'SELECT'))
  UNION ALL SELECT concat_ws('/', i.indrelid, i.indexrelid, i.indkey::text, i.indisunique, i.indisvalid) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_index i ON i.indrelid = c.oid WHERE n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'
  UNION ALL SELECT concat_ws('/', 'v', r.oid, r.xmin) FROM t JOIN pg_rewrite r ON r.ev_class = t.oid
  UNION ALL SELECT concat_ws('/', 'h', h.inhrelid, h.inhparent) FROM pg_inherits h
  UNION ALL SELECT concat_ws('/', 'e', e.enumtypid, e.enumlabel, e.enumsortorder) FROM pg_enum e
) all_of_it`

// fingerprint returns a hash of all definitions, including those of our collections.
func fingerprint(ctx context.Context, c *pgxpool.Conn) (string, error) {
	var found *string
	if err := c.QueryRow(ctx, fingerprintSQL).Scan(&found); err != nil {
		return "", err
	}
	modified, err := ownModified(ctx, c)
	if err != nil || found == nil {
		return modified, err
	}
	return *found + modified, nil
}

// ownModified returns when one of Grense's own collections was last written; "" if the role can see none.
func ownModified(ctx context.Context, c *pgxpool.Conn) (string, error) {
	there, err := hasOwn(ctx, c)
	if err != nil || !there {
		return "", err
	}
	var at string
	err = c.QueryRow(ctx, "SELECT coalesce(max(modified)::text, '') || '/' || count(*)::text FROM grense.collection").
		Scan(&at)
	return at, err
}

func hasOwn(ctx context.Context, c *pgxpool.Conn) (there bool, err error) {
	err = c.QueryRow(ctx,
		`SELECT EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'grense'
		AND c.relname = 'collection' AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'))`).Scan(&there)
	return there, err
}

// requirePostGIS returns an error with the cure if PostGIS is missing or not accessible.
func requirePostGIS(ctx context.Context, c *pgxpool.Conn) error {
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

// readTables returns the tables in a stable order, those of the schema public first.
func readTables(ctx context.Context, c *pgxpool.Conn) ([]*table, error) {
	var list []*table
	byOID := map[uint32]*table{}
	const order = " ORDER BY n.nspname <> 'public', n.nspname, c.relname"
	err := conn.Each(ctx, c, tablesSQL+order, func(rows pgx.Rows) error {
		t := &table{}
		var kind string
		var populated bool
		if err := rows.Scan(&t.oid, &t.schema, &t.name, &kind, &t.comment, &t.whole, &populated); err != nil {
			return err
		}
		t.kind = kind[0]
		list, byOID[t.oid] = append(list, t), t
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
				t.file = file
			}
			return err
		})
	if err != nil {
		return nil, err
	}
	err = conn.Each(ctx, c, columnsSQL, func(rows pgx.Rows) error {
		var x column
		var oid uint32
		var collation string
		err := rows.Scan(&oid, &x.name, &x.typ, &x.base, &x.category, &x.declared, &x.number, &x.notNull,
			&collation, &x.comment, &x.geometryType, &x.srid, &x.dims, &x.stored)
		if collation != "" {
			x.collation = collation[0]
		}
		if t := byOID[oid]; t != nil {
			t.columns = append(t.columns, x)
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

// columnsSumSQL returns an expression for columnsSum of the table that has the name now, up to the last column that was
// read, since columns may be added. It is null if that is another table.
func (t *table) columnsSumSQL() string {
	return fmt.Sprintf("SELECT %s FROM pg_attribute WHERE attrelid = %d AND attnum BETWEEN 1 AND %d AND "+
		"to_regclass(%s) = %[2]d::oid",
		columnsSum, t.oid, t.lastColumn(), conn.Literal(t.quoted()))
}

func (t *table) lastColumn() (n int16) {
	for _, c := range t.columns {
		n = max(n, c.number)
	}
	return n
}

// readColumnsSums sets columnsSum of tables.
func readColumnsSums(ctx context.Context, c *pgxpool.Conn, list []*table, byOID map[uint32]*table) error {
	var oids []uint32
	var last []int16
	for _, t := range list {
		oids, last = append(oids, t.oid), append(last, t.lastColumn())
	}
	return conn.Each(ctx, c, "SELECT t.oid, "+columnsSum+`::text FROM unnest($1::oid[], $2::int2[]) AS t(oid, last)
		JOIN pg_attribute ON attrelid = t.oid AND attnum BETWEEN 1 AND t.last GROUP BY t.oid`,
		func(rows pgx.Rows) error {
			var oid uint32
			var sum string
			err := rows.Scan(&oid, &sum)
			if t := byOID[oid]; t != nil {
				t.columnsSum = sum
			}
			return err
		}, oids, last)
}

// addIndex adds a row of indexedSQL.
func (t *table) addIndex(name string, pattern, own, code bool) {
	if !slices.Contains(t.indexed, name) {
		t.indexed = append(t.indexed, name)
	}
	i := slices.IndexFunc(t.columns, func(c column) bool { return c.name == name })
	switch {
	case pattern && i >= 0:
		t.columns[i].indexes |= sqlq.IndexPattern
	case pattern:
	case own:
		if t.ordered == nil {
			t.ordered = map[string]bool{}
		}
		t.ordered[name] = true
	case code && i >= 0:
		t.columns[i].indexes |= sqlq.IndexCodePoint
	}
}

// definition is one of our collections, and the time when it was written.
type definition struct {
	*store.Collection
	modified time.Time
}

// definitions returns our collections by table name.
func definitions(ctx context.Context, c *pgxpool.Conn) (map[string]definition, error) {
	defs := map[string]definition{}
	there, err := hasOwn(ctx, c)
	if err != nil || !there {
		return defs, err
	}
	err = conn.Each(ctx, c, "SELECT id, definition::text, modified FROM grense.collection", func(rows pgx.Rows) error {
		var id, text string
		var at time.Time
		if err := rows.Scan(&id, &text, &at); err != nil {
			return err
		}
		d := &store.Collection{}
		if err := json.Unmarshal([]byte(text), d); err != nil {
			return conn.Own(fmt.Errorf("postgis: definition of collection %q: %w", id, err))
		}
		d.Invented = d.Description.MarkedInvented()
		defs[d.Table] = definition{d, at.UTC()}
		return nil
	})
	return defs, err
}

// systemOf returns the authority, the code and the well-known text of a reference system.
func systemOf(ctx context.Context, c *pgxpool.Conn, srid int) (authority string, code int, text string, err error) {
	err = c.QueryRow(ctx, "SELECT coalesce(auth_name, ''), coalesce(auth_srid, 0), coalesce(srtext, "+
		"'') FROM spatial_ref_sys WHERE srid = $1", srid).Scan(&authority, &code, &text)
	if err == pgx.ErrNoRows {
		return "", 0, "", nil
	}
	return strings.ToUpper(authority), code, text, err
}
