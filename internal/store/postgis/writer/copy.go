package writer

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/postgis/catalog"
	"grense/internal/store/postgis/conn"
)

// Rows are sent in portions of this many rows, or about this many bytes.
const (
	copyRows  = 5000
	copyBytes = 4 << 20
)

// copier collects rows of a table for COPY.
type copier struct {
	w       *writer
	ctx     context.Context // from Insert
	table   string          // name for the caller
	stored  string          // name until Commit
	columns []string
	types   []string // type names of the columns
	srid    uint32
	rows    [][]any
	bytes   int
	total   int
}

// Insert returns a function that appends rows to a table.
func (w *writer) Insert(ctx context.Context, name string, columns []string) (func(values ...any) error, error) {
	id := name + "\x00" + strings.Join(columns, "\x00")
	if c := w.copies[id]; c != nil {
		c.ctx = ctx
		return c.insert, nil
	}
	c := &copier{w: w, ctx: ctx, table: name, stored: w.staged[name], columns: columns,
		types: make([]string, len(columns))}
	if w.emptied[name] {
		c.stored = name
	}
	if c.stored == "" {
		if ours, err := w.migrated(ctx, name); err != nil {
			return nil, conn.Explain(ctx, w.pool, err)
		} else if !ours {
			return nil, fmt.Errorf("postgis: there is no table %q", name)
		}
		if c.stored = w.staged[name]; c.stored == "" {
			c.stored = name
		}
	}
	found := map[string]string{}
	rows, err := w.tx.Query(ctx,
		`SELECT a.attname::text, t.typname::text FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
		WHERE a.attrelid = $1::text::regclass AND a.attnum > 0 AND NOT a.attisdropped`, "grense."+quote(c.stored))
	if err == nil {
		var column, typ string
		_, err = pgx.ForEachRow(rows, []any{&column, &typ}, func() error { found[column] = typ; return nil })
	}
	if err != nil {
		return nil, conn.Explain(ctx, w.pool, err)
	}
	for i, n := range columns {
		if c.types[i] = found[n]; c.types[i] == "" {
			return nil, fmt.Errorf("postgis: table %q has no column %q", name, n)
		}
	}
	for _, t := range w.targets {
		if t.Table == name && t.Geometry != nil {
			c.srid = catalog.SRID(t.Geometry.CRS)
		}
	}
	w.copies[id] = c
	return c.insert, nil
}

func (c *copier) insert(values ...any) error {
	if err := c.ctx.Err(); err != nil {
		return fmt.Errorf("postgis: table %q, after row %d: %w", c.table, c.total, err)
	}
	c.total++
	if c.w.done {
		return fmt.Errorf("postgis: the writer is closed")
	}
	if len(values) != len(c.columns) {
		return fmt.Errorf("postgis: table %q, row %d: %d values for %d columns", c.table, c.total, len(values),
			len(c.columns))
	}
	row := make([]any, len(values))
	for i, v := range values {
		var err error
		if row[i], err = c.value(v, c.types[i]); err != nil {
			return fmt.Errorf("postgis: table %q, row %d, column %q: %w", c.table, c.total, c.columns[i], err)
		}
	}
	if c.rows = append(c.rows, row); len(c.rows) >= copyRows || c.bytes >= copyBytes {
		return c.flush(c.ctx)
	}
	return nil
}

// flush sends the collected rows.
func (c *copier) flush(ctx context.Context) error {
	if len(c.rows) == 0 {
		return nil
	}
	_, err := c.w.tx.CopyFrom(ctx, pgx.Identifier{catalog.OwnSchema, c.stored}, c.columns, pgx.CopyFromRows(c.rows))
	c.rows, c.bytes = c.rows[:0], 0
	if err != nil {
		return fmt.Errorf("postgis: table %q, up to row %d: %w", c.table, c.total,
			conn.Explain(ctx, c.w.pool, err))
	}
	return nil
}

func (w *writer) flushAll(ctx context.Context) error {
	for _, c := range w.copies {
		if err := c.flush(ctx); err != nil {
			return conn.Own(err)
		}
	}
	return nil
}

// value converts v to the type that pgx expects for a column type.
func (c *copier) value(v any, typ string) (any, error) {
	c.bytes += 16
	switch v := v.(type) {
	case nil:
		return nil, nil
	case bool:
		if typ != "bool" {
			return nil, fmt.Errorf("a truth value for a column of type %s", typ)
		}
		return v, nil
	case int:
		return c.value(int64(v), typ)
	case int64:
		switch typ {
		case "float8":
			return float64(v), nil
		case "bool":
			return v != 0, nil
		case "text":
			return fmt.Sprint(v), nil
		}
		return v, nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is not a number that can be stored", v)
		}
		return v, nil
	case []byte:
		c.bytes += len(v)
		return append([]byte(nil), v...), nil
	case time.Time:
		return storedTime(v, typ), nil
	case store.JSON:
		return c.value(string(v), typ)
	case string:
		c.bytes += len(v)
		return storedText(v, typ)
	case store.Geometry:
		return c.geometry(v)
	}
	return nil, fmt.Errorf("%T cannot be stored", v)
}

// storedTime converts a date to midnight UTC, as pgx expects.
func storedTime(t time.Time, typ string) any {
	if typ == "date" {
		return time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, time.UTC)
	}
	return t
}

func storedText(s, typ string) (any, error) {
	if !conn.Storable(s) {
		return nil, fmt.Errorf("the text %q is not UTF-8, or holds the character 0", s)
	}
	if typ != "date" && typ != "timestamptz" {
		return s, nil
	}
	for _, layout := range [...]string{time.RFC3339Nano, time.DateOnly, "2006-01-02T15:04:05.999999999",
		"2006-01-02 15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00"} {
		if t, err := time.Parse(layout, s); err == nil {
			return storedTime(t, typ), nil
		}
	}
	return nil, fmt.Errorf("%q is not a day or a moment", s)
}

// geometry returns extended well-known binary with the SRID.
func (c *copier) geometry(g store.Geometry) (any, error) {
	if g.IsNull() {
		return nil, nil
	}
	if c.srid == 0 {
		return nil, fmt.Errorf("the table has no geometry column that was defined")
	}
	if _, err := wkb.Check(g.WKB); err != nil {
		return nil, err
	}
	b := wkb.AppendExtended(make([]byte, 0, 4+len(g.WKB)), g.WKB, c.srid)
	c.bytes += len(b)
	return b, nil
}
