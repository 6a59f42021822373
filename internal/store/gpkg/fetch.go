package gpkg

import (
	"context"
	"fmt"

	"grense/internal/store"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
)

// Fetch calls fn for each row in the order of rows.
func (s *Store) Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	ctx = s.queries(ctx)
	r, err := s.acquire()
	if err != nil {
		return err
	}
	defer r.release()
	l, err := r.layer(collection)
	if err != nil {
		return err
	}
	f, err := layer.NewFetcher(l, want)
	if err != nil {
		return err
	}
	b := layer.NewBatch()
	defer b.Free()
	var feature store.Feature
	from := rowsReader{r: r, l: l, f: f, b: b}
	from.records, from.asked = r.recordsOf(l, f, len(rows))
	for len(rows) > 0 {
		rev, n, missing, err := from.read(ctx, rows)
		if err != nil {
			return err
		}
		feature.Rev = rev
		for i := range n {
			feature.ID = rows[i].ID
			if f.Versions() {
				feature.Of = b.Of(i)
			}
			feature.Geometry, feature.Values = b.Feature(i, f.Width())
			if err := fn(&feature); err != nil {
				return err
			}
			if i%sqlite.RowsPerSlice == sqlite.RowsPerSlice-1 {
				f.Yield()
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

// rowsReader reads rows into a batch, from records if they are loaded.
type rowsReader struct {
	r       *revision
	l       *layer.Layer
	f       *layer.Fetcher
	b       *layer.Batch
	records *layer.Records // nil: not loaded
	asked   []int          // indexes of the requested properties in records
}

// read reads the first n of rows in the revision rev. missing means that the next row does not exist, or not in that
// revision.
func (x *rowsReader) read(ctx context.Context, rows []store.Row) (rev uint64, n int, missing bool, err error) {
	if x.records != nil {
		if n, missing, ok, err := x.packed(ctx, rows); ok || err != nil {
			return x.r.rev, n, missing, err
		}
		x.records = nil
	}
	err = x.r.use(ctx, func(c *sqlite.Conn) (err error) {
		if rev, err = x.r.revOf(ctx, c); err == nil {
			n, missing, err = x.f.Read(c, x.b, rev, rows)
		}
		return err
	})
	return rev, n, missing, err
}
