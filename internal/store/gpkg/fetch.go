package gpkg

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// A batch ends when it holds this much: bytes of geometry, or features.
const (
	batchBytes    = 1 << 20
	batchFeatures = 1000
)

// batch is what one use of a connection reads. Its memory is used again.
type batch struct {
	wkb    []byte
	ends   []int    // of each feature in wkb
	values []any    // of all features, one after the other
	ids    []string // of features whose rows are versions
	blob   []byte
}

var batches = sync.Pool{New: func() any { return new(batch) }}

// Fetch calls fn for each row in the order asked.
func (s *Store) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want, fn func(*store.Feature) error) error {
	r, err := s.acquire()
	if err != nil {
		return err
	}
	defer r.release()
	l, err := r.layer(collection)
	if err != nil {
		return err
	}
	f, err := newFetcher(l, want)
	if err != nil {
		return err
	}
	b := batches.Get().(*batch)
	defer b.giveBack()
	var feature store.Feature
	for len(rows) > 0 {
		var n int
		missing := false
		err := r.use(ctx, func(c *conn) error {
			if feature.Rev, err = r.revOf(c); err == nil {
				n, missing, err = f.read(c, b, feature.Rev, rows)
			}
			return err
		})
		if err != nil {
			return err
		}
		for i := range n {
			feature.ID = rows[i].ID
			if f.version != nil {
				feature.Of = b.ids[i]
			}
			feature.Geometry, feature.Values = b.feature(i, len(f.fields))
			if err := fn(&feature); err != nil {
				return err
			}
		}
		switch {
		case missing && rows[n].Rev != 0:
			return fmt.Errorf("gpkg: feature %q of collection %q: %w", rows[n].ID, collection, store.ErrChanged)
		case missing && want.SkipMissing:
			n++
		case missing:
			return fmt.Errorf("gpkg: feature %q of collection %q: %w", rows[n].ID, collection, store.ErrNotFound)
		}
		rows = rows[n:]
	}
	return ctx.Err()
}

func (b *batch) reset() {
	clear(b.values)
	clear(b.ids)
	b.wkb, b.ends, b.values, b.ids = b.wkb[:0], b.ends[:0], b.values[:0], b.ids[:0]
}

func (b *batch) giveBack() {
	b.reset()
	if cap(b.wkb) <= 8*batchBytes {
		batches.Put(b)
	}
}

// feature returns the i-th feature of a batch, with n values.
func (b *batch) feature(i, n int) (store.Geometry, []any) {
	start := 0
	if i > 0 {
		start = b.ends[i-1]
	}
	var g store.Geometry
	if end := b.ends[i]; end > start {
		g.WKB = b.wkb[start:end:end]
	}
	return g, b.values[i*n : (i+1)*n : (i+1)*n]
}

// fetcher reads features of one layer.
type fetcher struct {
	l        *layer
	fields   []*sqlq.Field
	geometry bool // in the first column
	sql      string
	version  []*sqlq.Field // of versions: behind the others those that make the id of the feature, or of the version
}

func newFetcher(l *layer, want store.Want) (*fetcher, error) {
	f := &fetcher{l: l, geometry: l.Geometry != nil && !want.NoGeometry}
	if want.Properties == nil {
		for _, i := range l.visible {
			f.fields = append(f.fields, l.fields[i])
		}
	}
	for _, n := range want.Properties {
		x := l.source.Fields[n]
		if x == nil {
			return nil, fmt.Errorf("gpkg: collection %q has no property %q: %w", l.ID, n, store.ErrNotFound)
		}
		f.fields = append(f.fields, x)
	}
	cols := []string{"NULL"}
	if f.geometry {
		cols[0] = alias + "." + quote(l.Geometry.Column)
	}
	if v := l.Versions; v != nil {
		f.version = []*sqlq.Field{l.source.Fields[v.ID]}
		if want.VersionIDs {
			f.version = append(f.version, l.source.Fields[v.Start])
		}
	}
	for _, x := range append(slices.Clip(f.fields), f.version...) {
		cols = append(cols, selectExpr(alias, x))
	}
	f.sql = "SELECT " + strings.Join(cols, ", ") + " FROM " + l.source.Table + " AS " + alias + " WHERE " + l.idExpr(alias) + " = ?"
	return f, nil
}

// read fills b with the first n of rows, which are in the revision rev; missing tells that the next one does not exist, or not in the revision asked for.
func (f *fetcher) read(c *conn, b *batch, rev uint64, rows []store.Row) (n int, missing bool, err error) {
	b.reset()
	for _, x := range rows {
		key, ok := f.l.id(x.ID)
		there := false
		if ok && (x.Rev == 0 || x.Rev == rev) {
			err := c.query(f.sql, []any{key}, func(r row) error {
				there = true
				f.append(b, r)
				return nil
			})
			if err != nil {
				return 0, false, err
			}
		}
		if !there {
			return n, true, nil
		}
		if n++; n == batchFeatures || len(b.wkb) >= batchBytes {
			break
		}
	}
	return n, false, nil
}

func (f *fetcher) append(b *batch, r row) {
	if f.geometry && r.Kind(0) == kindBlob {
		b.blob = r.Bytes(0, b.blob)
		wkb, _, _ := readBlob(b.blob)
		b.wkb = append(b.wkb, wkb...)
	}
	b.ends = append(b.ends, len(b.wkb))
	for i, x := range f.fields {
		v := readValue(r, i+1, x.Type)
		if s, ok := v.(string); ok && x.Type == cql2.TypeJSON {
			v = store.JSON(s)
		}
		b.values = append(b.values, v)
	}
	if f.version == nil {
		return
	}
	n := len(f.fields) + 1
	id := store.FeatureID(readValue(r, n, f.version[0].Type))
	if len(f.version) > 1 {
		start, _ := readValue(r, n+1, f.version[1].Type).(string)
		id = store.VersionID(id, start)
	}
	b.ids = append(b.ids, id)
}
