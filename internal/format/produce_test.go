package format_test

import (
	"context"
	"strconv"
	"testing"

	"grense/internal/format"
	"grense/internal/format/output"
	"grense/internal/store"
)

// numbered is a snapshot of n features without geometries. It counts what it is asked.
type numbered struct {
	store.Snapshot
	c              *store.Collection
	n, pages, read int
}

func (s *numbered) Page(_ context.Context, q store.Query) (*store.Page, error) {
	s.pages++
	at, _ := strconv.Atoi(string(q.Cursor))
	p := &store.Page{Matched: s.n}
	for ; at < s.n && len(p.Rows) < q.Limit; at++ {
		p.Rows = append(p.Rows, store.Row{ID: strconv.Itoa(at)})
	}
	if at < s.n {
		p.Next = store.Cursor(strconv.Itoa(at))
	}
	return p, nil
}

func (s *numbered) Fetch(_ context.Context, _ string, rows []store.Row, _ store.Want,
	fn func(*store.Feature) error) error {
	for _, r := range rows {
		s.read++
		if err := fn(&store.Feature{ID: r.ID, Values: make([]any, len(s.c.Properties)-1)}); err != nil {
			return err
		}
	}
	return nil
}

// firstWrite notes how many features were read when the first bytes came, and how many bytes these were.
type firstWrite struct {
	s           *numbered
	read, bytes int
}

func (w *firstWrite) Write(b []byte) (int, error) {
	if w.read == 0 {
		w.read, w.bytes = w.s.read, len(b)
	}
	return len(b), nil
}

// TestAFileBeginsWithItsFirstFeatures: no page is queried twice, each feature is read once,
// and the first byte waits for few of them.
func TestAFileBeginsWithItsFirstFeatures(t *testing.T) {
	t.Parallel()
	c, _ := places()
	for _, name := range []string{"json", "geojsonseq", "csv"} {
		s := &numbered{c: c, n: 12_000}
		out := &firstWrite{s: s}
		o := output.Options{Collection: c, Count: -1, SkipGeometry: true,
			Address: "http://localhost/collections/places"}
		if err := format.Find(name).Produce(t.Context(), out, o,
			output.Source{Snapshot: s, Query: store.Query{Collection: c.ID}}); err != nil {
			t.Fatal(err)
		}
		if s.pages != 3 || s.read != s.n {
			t.Errorf("%s: %d pages asked for, %d features read", name, s.pages, s.read)
		}
		if out.read == 0 || out.read > 2500 || out.bytes > 20<<10 {
			t.Errorf("%s: the first %d bytes came after %d features", name, out.bytes, out.read)
		}
	}
}
