package writer

import (
	"context"
	"fmt"
	"math"
	"time"
	"unicode/utf8"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/gpb"
	"grense/internal/store/gpkg/moment"
)

// inserter appends rows to a table.
type inserter struct {
	w      *Writer
	ctx    context.Context // from Insert
	table  string
	sql    string
	types  []cql2.Type // declared types of the columns
	srs    int64
	values []any
	blob   []byte
	rows   int
}

func (in *inserter) insert(values ...any) error {
	in.rows++
	if in.w.done {
		return fmt.Errorf("gpkg: the writer is closed")
	}
	if err := in.ctx.Err(); err != nil {
		return fmt.Errorf("gpkg: table %q, row %d: %w", in.table, in.rows, err)
	}
	if len(values) != len(in.values) {
		return fmt.Errorf("gpkg: table %q, row %d: %d values for %d columns", in.table, in.rows, len(values),
			len(in.values))
	}
	for i, v := range values {
		var err error
		if in.values[i], err = in.stored(v, in.types[i]); err != nil {
			return fmt.Errorf("gpkg: table %q, row %d, value %d: %w", in.table, in.rows, i+1, err)
		}
	}
	if err := in.w.c.Exec(in.sql, in.values...); err != nil {
		return fmt.Errorf("gpkg: table %q, row %d: %w", in.table, in.rows, err)
	}
	return nil
}

// stored converts a value to the form in which a column of a declared type stores it.
func (in *inserter) stored(v any, t cql2.Type) (any, error) {
	switch v := v.(type) {
	case nil, int64, bool, []byte:
		return v, nil
	case int:
		return int64(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v is not a number that can be stored", v)
		}
		return v, nil
	case store.JSON:
		return string(v), nil
	case string:
		return storedText(v, t)
	case time.Time:
		return storedTime(v, t), nil
	case store.Geometry:
		return in.geometry(v)
	}
	return nil, fmt.Errorf("%T cannot be stored", v)
}

func storedText(s string, t cql2.Type) (any, error) {
	if !utf8.ValidString(s) {
		return nil, fmt.Errorf("the text %q is not UTF-8", s)
	}
	if t == cql2.TypeDate || t == cql2.TypeTimestamp {
		m, _, ok := moment.Plain([]byte(s))
		if !ok {
			m, ok = moment.Parse(s)
		}
		if !ok {
			return nil, fmt.Errorf("%q is not a day or a moment", s)
		}
		return storedTime(m, t), nil
	}
	return s, nil
}

// storedTime formats a date, or a timestamp with milliseconds (OGC 12-128r18, table 1). It writes more digits only if
// needed.
func storedTime(t time.Time, as cql2.Type) string {
	if as == cql2.TypeDate {
		return t.Format(time.DateOnly)
	}
	t = t.UTC()
	if t.Nanosecond()%int(time.Millisecond) != 0 {
		return t.Format("2006-01-02T15:04:05.000000000Z")
	}
	return t.Format("2006-01-02T15:04:05.000Z")
}

// geometry returns a GeoPackage geometry in memory that the next call reuses.
func (in *inserter) geometry(g store.Geometry) (any, error) {
	if g.IsNull() {
		return nil, nil
	}
	if in.srs == 0 {
		return nil, fmt.Errorf("the table has no geometry column that was defined")
	}
	b, ok, err := g.Bound()
	if err != nil {
		return nil, err
	}
	in.blob = gpb.Append(in.blob[:0], int32(in.srs), g.WKB, b, !ok)
	return in.blob, nil
}
