// Package registertest contains what tests of the register and of its imports share: a store.Writer that keeps the rows
// written to it.
package registertest

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"testing"
	"time"

	"grense/internal/store"
)

// Recording is a store.Writer that keeps all rows.
type Recording struct {
	Collections []*store.Collection
	Columns     map[string][]string // by table, as passed to Insert
	Rows        map[string][][]any  // by table
	Sums        map[string]uint32   // checksum of the rows of a table in order
	keep        bool                // keep the rows; otherwise only checksums
}

// New returns an empty Recording. If keep is not set, it keeps checksums only.
func New(keep bool) *Recording {
	return &Recording{Columns: map[string][]string{}, Rows: map[string][][]any{}, keep: keep, Sums: map[string]uint32{}}
}

// Define records the collection. It fails unless replace is set.
func (r *Recording) Define(_ context.Context, c *store.Collection, replace bool) error {
	if !replace {
		return fmt.Errorf("fake: %s without replacement", c.ID)
	}
	r.Collections = append(r.Collections, c)
	return nil
}

// Insert records the columns of a table, which must be new, and returns a function that records a row.
func (r *Recording) Insert(_ context.Context, table string, columns []string) (func(...any) error, error) {
	if _, ok := r.Columns[table]; ok {
		return nil, fmt.Errorf("fake: %s opened twice", table)
	}
	r.Columns[table] = columns
	var b bytes.Buffer
	return func(values ...any) error {
		if len(values) != len(columns) {
			return fmt.Errorf("fake: %s: %d values for %d columns", table, len(values), len(columns))
		}
		b.Reset()
		for i, v := range values {
			if err := encode(&b, v); err != nil {
				return fmt.Errorf("fake: %s.%s: %w", table, columns[i], err)
			}
		}
		r.Sums[table] = crc32.Update(r.Sums[table], crc32.IEEETable, b.Bytes())
		if r.keep {
			r.Rows[table] = append(r.Rows[table], append([]any(nil), values...))
		}
		return nil
	}, nil
}

// encode encodes a value; it fails for a type that a Writer does not accept.
func encode(b *bytes.Buffer, v any) error {
	switch v := v.(type) {
	case nil:
		b.WriteByte(0)
	case int64:
		b.WriteByte(1)
		return binary.Write(b, binary.LittleEndian, v)
	case float64:
		b.WriteByte(2)
		return binary.Write(b, binary.LittleEndian, math.Float64bits(v))
	case string:
		fmt.Fprintf(b, "s%d:%s", len(v), v)
	case bool:
		fmt.Fprintf(b, "b%t", v)
	case time.Time:
		if v.Location() != time.UTC || v.Nanosecond() != 0 {
			return fmt.Errorf("time %v is not a whole second of UTC", v)
		}
		fmt.Fprintf(b, "t%d", v.Unix())
	case store.Geometry:
		fmt.Fprintf(b, "g%d:%s", len(v.WKB), v.WKB)
	default:
		return fmt.Errorf("unknown type %T", v)
	}
	return nil
}

// Commit does nothing.
func (r *Recording) Commit(context.Context) error { return nil }

// Close does nothing.
func (r *Recording) Close() error { return nil }

// Each calls fn for each row of a table; get returns the value of a column.
func (r *Recording) Each(t testing.TB, table string, fn func(get func(column string) any)) {
	t.Helper()
	if len(r.Rows[table]) == 0 {
		t.Errorf("table %s is empty", table)
	}
	at := map[string]int{}
	for i, c := range r.Columns[table] {
		at[c] = i
	}
	for _, row := range r.Rows[table] {
		fn(func(column string) any {
			i, ok := at[column]
			if !ok {
				t.Fatalf("no column %s.%s", table, column)
			}
			return row[i]
		})
	}
}

// Large returns the path of the large register named by GRENSE_ACCEPT_REGISTER, and a directory for its side files,
// which the next run reuses. If the variable is not set, it skips the test.
func Large(tb testing.TB) (path, dir string) {
	tb.Helper()
	path = os.Getenv("GRENSE_ACCEPT_REGISTER")
	if path == "" {
		tb.Skip("GRENSE_ACCEPT_REGISTER names no register")
	}
	dir = path + ".bench"
	if err := os.MkdirAll(dir, 0o755); err != nil {
		tb.Fatal(err)
	}
	return path, dir
}
