package gpkg

import (
	"bufio"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"grense/internal/store"
	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
)

// packed reads the first n of rows from the record file. ok is false if the source may have changed; then rows must be
// read from the source.
func (x *rowsReader) packed(ctx context.Context, rows []store.Row) (n int, missing, ok bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, false, err
	}
	rev, known := x.r.stamped()
	if !known {
		if err := x.r.use(ctx, func(c *sqlite.Conn) (err error) {
			rev,
				err = x.r.revOf(ctx, c)
			return err
		}); err != nil {
			return 0, false, false, err
		}
	}
	if rev != x.r.rev {
		return 0, false, false, nil
	}
	if n, missing, ok = x.records.Read(x.b, x.asked, rev, rows); !ok {
		x.r.dropRecords(recordsName(x.l), x.records)
	}
	return n, missing, ok, nil
}

// dropRecords drops unreadable records, and prevents that they are built again while the source is unchanged.
func (r *revision) dropRecords(name string, t *layer.Records) {
	r.memory.mu.Lock()
	r.memory.never[name] = true
	r.memory.mu.Unlock()
	r.memory.columns.Delete(tableKey{r.rev, name})
	os.Remove(t.Path())
}

func recordsName(l *layer.Layer) string { return l.ID + "\x00records" }

// recordsFrom is the number of rows that are read from the source before the records of a layer are built.
const recordsFrom = 500

// recordsHome is the directory and the name prefix of record files for a version of the source.
type recordsHome struct{ dir, stem string }

// newRecordsHome returns the home for a source and the version of its catalog. It removes files for other versions.
func newRecordsHome(dir string, src file.File, version string) recordsHome {
	prefix, stem := src.SideName(layer.RecordsVersion + version)
	file.RemoveOthers(dir, prefix, stem, ".records")
	return recordsHome{dir, stem}
}

// path returns the path of the file for a layer.
func (h recordsHome) path(layer string) string {
	return filepath.Join(h.dir, h.stem+"-"+layer+".records")
}

// recordsWanted counts requested rows of a layer without records.
type recordsWanted struct {
	rows   int
	looked bool // an existing file was looked for
}

// recordsOf returns the records of a layer, and the indexes of the fetcher's properties in them. It returns nil if they
// lack a property or are not loaded. It then loads them, or builds them after enough rows were requested.
func (r *revision) recordsOf(l *layer.Layer, f *layer.Fetcher, rows int) (*layer.Records, []int) {
	if l.TextID || l.View || l.SQL.Leads == nil || l.Count < r.memory.limits.records {
		return nil, nil
	}
	asked, ok := f.Columns()
	if !ok {
		return nil, nil
	}
	name := recordsName(l)
	if t, ok := r.memory.columns.Get(tableKey{r.rev, name}); ok {
		return t.(*layer.Records), asked
	}
	if work := r.recordsWork(l, name, rows); work != nil {
		return tableOf[*layer.Records](r, r.memory.columns, name, work), asked
	}
	return nil, nil
}

// recordsWork returns a function that loads or builds the records; nil if it is too early.
func (r *revision) recordsWork(l *layer.Layer, name string, rows int) func() error {
	m := r.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.wanted[name]
	if w == nil {
		w = &recordsWanted{}
		m.wanted[name] = w
	}
	w.rows += rows
	switch {
	case w.rows >= recordsFrom || m.limits.wait:
		return func() error { return r.putRecords(l, name, true) }
	case !w.looked && !m.building:
		w.looked = true
		return func() error { return r.putRecords(l, name, false) }
	}
	return nil
}

// putRecords opens the records of a layer and caches them. With write it builds a missing file.
func (r *revision) putRecords(l *layer.Layer, name string, write bool) error {
	path := r.records.path(l.ID)
	t, err := layer.OpenRecords(path, l)
	if errors.Is(err, fs.ErrNotExist) && !write {
		r.memory.mu.Lock()
		defer r.memory.mu.Unlock()
		delete(r.memory.asked, name) // they may be requested again soon
		return nil
	}
	if err != nil {
		file.RemoveAbandoned(path)
		if err = file.Atomically(path, func(tmp string) error { return r.writeRecords(l, tmp) }); err == nil {
			t, err = layer.OpenRecords(path, l)
		}
	}
	if err != nil {
		return err
	}
	if err := r.put(r.memory.columns, name, t, t.Size()); err != nil {
		return errors.Join(err, t.Close())
	}
	return nil
}

// recordsChunk is the number of rows that are read in one transaction, so that programs that write to the file need not
// wait long.
const recordsChunk = 4096

// writeRecords writes the record file of a layer. It fails if the source has changed, or if the file would be larger
// than half of it.
func (r *revision) writeRecords(l *layer.Layer, path string) (err error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	source, err := os.Stat(r.path)
	if err != nil {
		return err
	}
	w, err := layer.NewRecordsWriter(bufio.NewWriterSize(file, 1<<18), l, source.Size()/2)
	if err != nil {
		return err
	}
	for more := true; more; {
		err := r.use(context.Background(), func(c *sqlite.Conn) error {
			if same, err := c.Unchanged(); err != nil || !same || c.Encoding != sqlite.UTF8 || r.refs.Load() <= 1 {
				return errors.Join(err, errNoRoom)
			}
			more, err = w.Read(c, recordsChunk)
			return err
		})
		if err != nil {
			return err
		}
	}
	return w.Finish()
}
