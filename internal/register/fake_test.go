package register_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"sync"
	"testing"
	"time"

	"grense/internal/register"
	"grense/internal/store"
)

// recording is a store.Writer that keeps all rows.
type recording struct {
	collections []*store.Collection
	columns     map[string][]string
	rows        map[string][][]any
	keep        bool // false: checksums only
	sums        map[string]uint32
}

func newRecording(keep bool) *recording {
	return &recording{columns: map[string][]string{}, rows: map[string][][]any{}, keep: keep, sums: map[string]uint32{}}
}

func (r *recording) Define(_ context.Context, c *store.Collection, replace bool) error {
	if !replace {
		return fmt.Errorf("fake: %s without replacement", c.ID)
	}
	r.collections = append(r.collections, c)
	return nil
}

func (r *recording) Insert(table string, columns []string) (func(...any) error, error) {
	if _, ok := r.columns[table]; ok {
		return nil, fmt.Errorf("fake: %s opened twice", table)
	}
	r.columns[table] = columns
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
		r.sums[table] = crc32.Update(r.sums[table], crc32.IEEETable, b.Bytes())
		if r.keep {
			r.rows[table] = append(r.rows[table], append([]any(nil), values...))
		}
		return nil
	}, nil
}

// encode writes a value of the kinds that a Writer takes, others are an error.
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

func (r *recording) Commit(context.Context) error { return nil }
func (r *recording) Close() error                 { return nil }

// each calls fn with a getter of the columns for each row.
func (r *recording) each(t testing.TB, table string, fn func(get func(column string) any)) {
	t.Helper()
	if len(r.rows[table]) == 0 {
		t.Errorf("table %s is empty", table)
	}
	at := map[string]int{}
	for i, c := range r.columns[table] {
		at[c] = i
	}
	for _, row := range r.rows[table] {
		fn(func(column string) any {
			i, ok := at[column]
			if !ok {
				t.Fatalf("no column %s.%s", table, column)
			}
			return row[i]
		})
	}
}

func generated(t testing.TB, places int, seed uint64, keep bool) *recording {
	t.Helper()
	r := newRecording(keep)
	if err := register.Generate(t.Context(), r, register.Options{Places: places, Seed: seed}); err != nil {
		t.Fatal(err)
	}
	return r
}

// shared holds the registers of the seed that several tests read.
var shared = struct {
	sync.Mutex
	bySize map[int]*recording
}{bySize: map[int]*recording{}}

// read returns a register that other tests read too: nobody changes it.
func read(t testing.TB, places int) *recording {
	t.Helper()
	shared.Lock()
	defer shared.Unlock()
	if shared.bySize[places] == nil {
		shared.bySize[places] = generated(t, places, seed, true)
	}
	return shared.bySize[places]
}
