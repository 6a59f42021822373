package catalog

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
	"grense/internal/store/postgis/conn"
)

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

// Fingerprint returns a hash of all definitions, including those of our collections.
func Fingerprint(ctx context.Context, c *pgxpool.Conn) (string, error) {
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

// Definition is one of our collections. Modified is the time when it was written.
type Definition struct {
	*store.Collection
	Modified time.Time
}

// ownDefinitions returns our collections by table name.
func ownDefinitions(ctx context.Context, c *pgxpool.Conn) (map[string]Definition, error) {
	defs := map[string]Definition{}
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
		defs[d.Table] = Definition{d, at.UTC()}
		return nil
	})
	return defs, err
}

// Definitions are those of all tables that the role may read, and of our collections.
type Definitions struct {
	Fingerprint string
	Tables      []*Table
	Ours        map[string]*Table     // tables in the schema grense, by name
	Own         map[string]Definition // by table
}

// mostReadings is the largest number of attempts to read definitions while they change.
const mostReadings = 5

// Read returns definitions that did not change during reading. Each statement sees another version of the system
// catalogs, so that a table replaced in between would be missing. Without PostGIS, the error contains the cure.
func Read(ctx context.Context, c *pgxpool.Conn) (*Definitions, error) {
	for n := 1; ; n++ {
		in, err := readOnce(ctx, c)
		if err != nil || n == mostReadings {
			return in, err
		}
		now, err := Fingerprint(ctx, c)
		if err != nil || now == in.Fingerprint {
			return in, err
		}
	}
}

func readOnce(ctx context.Context, c *pgxpool.Conn) (*Definitions, error) {
	if err := RequirePostGIS(ctx, c); err != nil {
		return nil, err
	}
	in := &Definitions{Ours: map[string]*Table{}}
	var err error
	if in.Fingerprint, err = Fingerprint(ctx, c); err != nil { // first, so that the next poll notices later changes
		return nil, err
	}
	if in.Tables, err = ReadTables(ctx, c); err != nil {
		return nil, err
	}
	for _, t := range in.Tables {
		if t.Schema == OwnSchema {
			in.Ours[t.Name] = t
		}
	}
	in.Own, err = ownDefinitions(ctx, c)
	return in, err
}
