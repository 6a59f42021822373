// Package index builds and attaches index files: tables with the values of columns in order, for filters and sort
// orders that no index of a GeoPackage serves.
package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"grense/internal/store"
	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/sqlite"
)

// An index file contains column indexes: a table (v, id) in the order of values for each column that filters or sorts
// need and no index of the source serves. Tables are built in the background. A file belongs to one version of the
// source and is never modified: a file with more tables replaces it. It can be deleted at any time.

// Version must be increased if the meaning of index files changes; older files are then rebuilt.
const Version = "1"

// File is an index file. The name of a table describes its content. It is immutable.
type File struct {
	path   string
	number int // increases with each file for a version of the source
	tables map[string]int
}

// table returns the table with a name, qualified by the schema; "" if there is none. f may be nil.
func (f *File) table(name string) string {
	if f == nil || f.tables[name] == 0 {
		return ""
	}
	return "idx." + tableName(f.tables[name])
}

// Table returns the table that t describes; "" if there is none. f may be nil.
func (f *File) Table(t Table) string { return f.table(t.name()) }

func tableName(n int) string { return "i" + strconv.Itoa(n) }

// readFile opens and verifies an index file.
func readFile(path string, number int) (*File, error) {
	c, err := sqlite.Open(path, sqlite.Immutable)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, number: number, tables: map[string]int{}}
	err = c.Query("SELECT n, name FROM tables", nil, func(r sqlite.Row) error {
		f.tables[r.Text(1)] = int(r.Int(0))
		return nil
	})
	return f, errors.Join(err, c.Close())
}

// Source is the data that tables are built from.
type Source struct {
	Use    func(context.Context, func(*sqlite.Conn) error) error
	Keep   func() (done func(), ok bool) // keeps the data open until done; false if they are closed
	Wanted func() bool                   // reports whether queries may still use the data
}

// Files manages the index files for a version of the source.
type Files struct {
	dir, prefix, stem string
	limit             int64 // largest size of a file in bytes; 0 or less: none is built
	file              atomic.Pointer[File]
	of                Source

	mu       sync.Mutex
	wanted   map[string]Table
	never    map[string]bool // tables that do not fit or cannot be built
	building chan struct{}   // closed when no more tables are wanted; nil: nothing is being built
}

// Open opens the latest index file for a version of the source, and removes the files for other versions.
func Open(dir string, src file.File, version string, limit int64, of Source) *Files {
	x := &Files{dir: dir, limit: limit, of: of}
	x.prefix, x.stem = src.SideName("index" + Version + version)
	paths, _ := filepath.Glob(filepath.Join(dir, x.stem+"-*.index")) // sorted; stem has no wildcards
	keep := x.stem
	if n := len(paths); n > 0 {
		keep = strings.TrimSuffix(filepath.Base(paths[n-1]), ".index")
		number, _, _ := strings.Cut(strings.TrimPrefix(keep, x.stem+"-"), "-")
		if i, err := strconv.Atoi(number); err == nil {
			if f, err := readFile(paths[n-1], i); err == nil {
				x.file.Store(f)
			}
		}
	}
	file.RemoveOthers(dir, x.prefix, keep, ".index")
	file.RemoveOthers(dir, x.prefix, "\x00", ".spellings") // files that older programs wrote
	return x
}

// Attach attaches the current index file to an idle connection that has the file now; nil: none. It returns the file
// that is attached. A file that has disappeared is no longer used.
func (x *Files) Attach(c *sqlite.Conn, now *File) (*File, error) {
	f := x.file.Load()
	if now == f {
		return now, nil
	}
	if now != nil {
		if err := c.Exec("DETACH idx"); err != nil {
			return now, err
		}
	}
	if f == nil {
		return nil, nil
	}
	if err := c.Attach(f.path, "idx"); err != nil {
		x.file.CompareAndSwap(f, nil)
		return nil, nil
	}
	return f, nil
}

// Enabled reports whether tables may be built.
func (x *Files) Enabled() bool { return x.limit > 0 }

// Has reports whether the current file has a table.
func (x *Files) Has(t Table) bool { return x.file.Load().table(t.name()) != "" }

// Want requests that a table is built in the background. It keeps the data open until then. The returned channel is
// closed when nothing is being built any more; it is nil if nothing is.
func (x *Files) Want(t Table) <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if name := t.name(); x.limit > 0 && !x.never[name] && x.file.Load().table(name) == "" {
		if x.wanted == nil {
			x.wanted, x.never = map[string]Table{}, map[string]bool{}
		}
		x.wanted[name] = t
	}
	if len(x.wanted) == 0 || x.building != nil {
		return x.building
	}
	done, ok := x.of.Keep()
	if !ok {
		return nil
	}
	x.building = make(chan struct{})
	go func() {
		defer done()
		for work := x.next(); work != nil; work = x.next() {
			x.build(work)
		}
	}()
	return x.building
}

// IsComing reports whether a table is being built, or will be.
func (x *Files) IsComing(t Table) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.building != nil && !x.never[t.name()] && x.file.Load().table(t.name()) == ""
}

// next returns the tables that are requested and not built yet. If there are none, it returns nil, and the next want
// starts again.
func (x *Files) next() map[string]Table {
	x.mu.Lock()
	defer x.mu.Unlock()
	work := map[string]Table{}
	for name, t := range x.wanted {
		if !x.never[name] && x.file.Load().table(name) == "" {
			work[name] = t
		}
	}
	x.wanted = map[string]Table{}
	if len(work) == 0 {
		close(x.building)
		x.building = nil
		return nil
	}
	return work
}

// build writes a file with additional tables, and replaces the current file.
func (x *Files) build(work map[string]Table) {
	old, number := x.file.Load(), 1
	if old != nil {
		number = old.number + 1
	}
	// The random part keeps other processes from giving the same name to a file with other tables.
	stem := fmt.Sprintf("%s-%06d-%016x", x.stem, number, rand.Uint64())
	path := filepath.Join(x.dir, stem+".index")
	never := map[string]bool{}
	err := file.Atomically(path, func(tmp string) error {
		if old != nil {
			if err := copyFile(tmp, old.path); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err // a deleted file is not copied
			}
		}
		for name, t := range work {
			if err := x.add(tmp, name, t); errors.Is(err, errNoRoom) {
				never[name] = true
			} else if err != nil {
				return err
			}
		}
		if len(never) == len(work) {
			return errNoRoom
		}
		return nil
	})
	var f *File
	if err == nil {
		f, err = readFile(path, number)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	maps.Copy(x.never, never)
	if err != nil {
		for name := range work { // until the next reload, unless the source was unavailable
			x.never[name] = !errors.Is(err, store.ErrUnavailable)
		}
		return
	}
	x.file.Store(f)
	file.RemoveOthers(x.dir, x.prefix, stem, ".index")
}

func copyFile(dst, src string) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(dst, os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// add adds a table to a file. It returns errNoRoom if the table does not fit or its values cannot be indexed.
func (x *Files) add(path, name string, t Table) error {
	w, err := sqlite.Open(path, sqlite.ReadWrite)
	if err != nil {
		return err
	}
	for _, sql := range [...]string{
		"PRAGMA encoding='" + sqlite.UTF8 + "'", "PRAGMA journal_mode=MEMORY", "PRAGMA synchronous=OFF",
		"PRAGMA cache_size=-4096", "BEGIN", // rows are written in order
		"CREATE TABLE IF NOT EXISTS tables (n INTEGER PRIMARY KEY, name TEXT NOT NULL)",
	} {
		if err := w.Exec(sql); err != nil {
			return errors.Join(err, w.Close())
		}
	}
	err = x.of.Use(context.Background(), func(c *sqlite.Conn) error {
		if same, err := c.Unchanged(); err != nil || !same || c.Encoding != sqlite.UTF8 {
			return errors.Join(err, errNoRoom)
		}
		return x.fill(c, w, name, t)
	})
	if err == nil {
		err = w.Exec("COMMIT")
	}
	return errors.Join(err, w.Close())
}

// fill writes a table with the rows that c reads.
func (x *Files) fill(c, w *sqlite.Conn, name string, t Table) error {
	if err := w.Exec("INSERT INTO tables (name) VALUES (?)", name); err != nil {
		return err
	}
	n, err := w.One("SELECT last_insert_rowid()")
	if err != nil {
		return err
	}
	create, insert, query := t.statements(tableName(int(n)))
	if err := w.Exec(create); err != nil {
		return err
	}
	rows := 0
	err = c.Query(query, nil, func(row sqlite.Row) error {
		if rows++; rows&4095 == 0 {
			if err := x.fits(w); err != nil {
				return err
			}
		}
		v := row.Any(0)
		text, ok := v.(string)
		if ok && (t.grams || t.folds != "") && (!utf8.ValidString(text) || strings.IndexByte(text, 0) >= 0) {
			return errNoRoom // SQLite and our functions read such texts differently
		}
		return w.Exec(insert, v, row.Int(1))
	})
	if err == nil {
		err = x.fits(w)
	}
	return err
}

// fits returns errNoRoom if the file exceeds the limit, or no query wants it any more.
func (x *Files) fits(w *sqlite.Conn) error {
	pages, err := w.One("PRAGMA page_count")
	size, err2 := w.One("PRAGMA page_size")
	if err = errors.Join(err, err2); err == nil && (!x.of.Wanted() || pages*size > x.limit) {
		err = errNoRoom
	}
	return err
}

// errNoRoom reports that a table does not fit, or cannot be built.
var errNoRoom = errors.New("gpkg: no room")
