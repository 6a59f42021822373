package gpkg

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"

	"github.com/paulmach/orb"

	"grense/internal/tempfile"
)

// sideVersion is increased when the meaning of side files changes; older ones are rebuilt.
const sideVersion = 5

// A side file holds what is expensive to learn of a source: a survey of each layer, an R-tree where the source has
// none, the rows without geometry, and an index of the words of texts. It belongs to one state of the source,
// is never changed after it was made, and can be deleted at any time.
type sideFile struct {
	path    string
	surveys map[string]*survey // by table
}

// readSide returns nil when there is no side file that can be used.
func readSide(path string) *sideFile {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	c, err := openConn(path, readOnly)
	if err != nil {
		return nil
	}
	defer c.close()
	f := &sideFile{path: path}
	if v, err := c.one("PRAGMA user_version"); err != nil || v != sideVersion {
		return nil
	}
	if f.surveys, err = readSurveys(c, "survey"); err != nil {
		return nil
	}
	return f
}

// sidePath returns the file for a source and the settings on which surveys depend, and the prefix of
// files of its former states.
func sidePath(dir string, s source, extra string) (path, prefix, stem string) {
	prefix, stem = s.sideName("side" + strconv.Itoa(sideVersion) + extra)
	return filepath.Join(dir, stem+".side"), prefix, stem
}

// sideWriter fills a new side file.
type sideWriter struct {
	c       *conn
	dir     string // where there is room to sort; "": that of the system
	at      string // how a reader names what begins the names of tables: the schema, and in a file of ours a prefix
	prefix  string // of the names of tables
	surveys map[string]*survey
}

// newSideWriter begins the side file of a source whose texts have an encoding, which SQLite wants to be that of both.
func newSideWriter(path, encoding string) (*sideWriter, error) {
	c, err := openConn(path, readWrite)
	if err != nil {
		return nil, err
	}
	w := &sideWriter{c: c, dir: filepath.Dir(path), at: inSide, surveys: map[string]*survey{}}
	for _, sql := range [...]string{
		"PRAGMA encoding='" + encoding + "'", "PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF",
		"PRAGMA locking_mode=EXCLUSIVE", "BEGIN",
		"PRAGMA user_version=" + strconv.Itoa(sideVersion), surveyTable(""),
	} {
		if err := c.exec(sql); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return w, nil
}

func (w *sideWriter) put(layer string, sv *survey) error {
	body, err := sv.encode()
	if err != nil {
		return err
	}
	w.surveys[layer] = sv
	return w.c.exec("INSERT INTO "+w.prefix+"survey VALUES (?, ?)", layer, body)
}

func (w *sideWriter) finish() error {
	return errors.Join(w.c.exec("COMMIT"), w.c.close())
}

// sideIndex takes the envelopes of one layer. A nil index takes nothing.
type sideIndex struct {
	w      *sideWriter
	name   string                     // of the R-tree that is to be used, quoted, with schema
	insert string                     // "" when the source has an R-tree already
	miss   string                     // table of rows without geometry, which the first of them makes
	missed bool                       // it is made
	trust  bool                       // our Writer made the source's R-tree; only its size is verified
	c      *conn                      // to the source
	cells  *tempfile.Sorter[packCell] // of the source's R-tree, by row id; nil: it is not verified
	next   func() (packCell, bool)    // the rest of them
	close  func()
}

// index prepares an R-tree of a layer, unless the source's own is complete.
func (w *sideWriter) index(c *conn, d *draft) (*sideIndex, error) {
	n := strconv.Itoa(d.n)
	x := &sideIndex{w: w, miss: w.prefix + "nogeom_" + n, close: func() {}}
	if err := w.c.exec("DROP TABLE IF EXISTS " + x.miss); err != nil {
		return nil, err
	}
	own, err := sourceIndex(c, d)
	if err != nil {
		return nil, err
	}
	if own != "" {
		x.name, x.c, x.trust = own, c, d.own != nil
		return x, nil
	}
	if err := w.c.exec("CREATE VIRTUAL TABLE " + w.prefix + "rtree_" + n +
		" USING rtree(id, minx, maxx, miny, maxy)"); err != nil {
		return nil, err
	}
	x.name = w.at + "rtree_" + n
	x.insert = "INSERT INTO " + w.prefix + "rtree_" + n + " VALUES (?, ?, ?, ?, ?)"
	return x, nil
}

// errIndex reports that the R-tree of the source does not cover a geometry.
var errIndex = errors.New("gpkg: the R-tree is not complete")

// sourceIndex returns the R-tree of the source (OGC 12-128r18, F.3); "" when there is none.
func sourceIndex(c *conn, d *draft) (string, error) {
	if d.table.rowid == "" || d.ownIndex {
		return "", nil
	}
	t, err := readTable(c, d.treeName())
	if err != nil || t == nil {
		return "", err
	}
	return "main." + quote(t.name), nil
}

// treeName is that of the R-tree of the source.
func (d *draft) treeName() string { return "rtree_" + d.table.name + "_" + d.geometry }

// verify has add verify that the source's R-tree has the rows, which come in the order of their ids.
func (x *sideIndex) verify(dir, tree string) error {
	if x == nil || x.trust || x.insert != "" {
		return nil
	}
	x.cells = tempfile.NewSorter(dir, packMost, func(a, b packCell) int { return cmp.Compare(a.id, b.id) })
	err := walkTree(x.c, tree, func(cell packCell) error { x.cells.Add(cell); return nil })
	if errors.Is(err, errTree) || faulty(err) {
		err = errIndex
	}
	stop := func() {}
	x.next, stop = iter.Pull(func(yield func(packCell) bool) {
		x.cells.Sorted(func(c packCell) error { // an error leaves entries out, which complete finds
			if !yield(c) {
				return errEnough
			}
			return nil
		})
	})
	x.close = func() { stop(); x.cells.Close() }
	return err
}

// add notes the envelope of a row, or verifies that the source's R-tree has it.
func (x *sideIndex) add(id int64, b orb.Bound) error {
	if x == nil {
		return nil
	}
	if x.trust {
		return nil
	}
	if x.insert != "" {
		return x.w.c.exec(x.insert, id, b.Min[0], b.Max[0], b.Min[1], b.Max[1])
	}
	cell, ok := x.next()
	if in := cell.bound(); !ok || cell.id != id || !in.Contains(b.Min) || !in.Contains(b.Max) {
		return errIndex
	}
	return nil
}

// complete verifies that the source's R-tree has as many entries as there are geometries,
// and so none of rows that are gone.
func (x *sideIndex) complete(want int) error {
	if x.insert != "" {
		return nil
	}
	if x.cells != nil {
		if x.cells.Len() != want {
			return errIndex
		}
		return nil
	}
	n, err := x.c.one("SELECT count(*) FROM " + x.name)
	if err == nil && int(n) != want {
		err = errIndex
	}
	return err
}

func (x *sideIndex) missing(id int64) error {
	if x == nil {
		return nil
	}
	if !x.missed {
		x.missed = true
		if err := x.w.c.exec("CREATE TABLE " + x.miss + " (id INTEGER PRIMARY KEY)"); err != nil {
			return err
		}
	}
	return x.w.c.exec("INSERT INTO "+x.miss+" VALUES (?)", id)
}

// attach makes a side file readable from a connection as schema side, without locks, since nobody writes to it.
// A nil file is none.
func (f *sideFile) attach(c *conn) error {
	if f == nil {
		return nil
	}
	if err := c.exec("ATTACH ? AS side", fileURI(f.path, "mode=ro&immutable=1")); err != nil {
		return fmt.Errorf("gpkg: side file: %w", err)
	}
	return nil
}

// noGeom returns the table of rows without geometry; there is none where every row has one.
func (d *draft) noGeom() string { return d.at + "nogeom_" + strconv.Itoa(d.n) }

func surveyTable(prefix string) string {
	return "CREATE TABLE " + prefix + "survey (layer TEXT PRIMARY KEY, body TEXT NOT NULL)"
}

// readSurveys returns the surveys of a table by layer, except for those that must be repeated.
func readSurveys(c *conn, table string) (map[string]*survey, error) {
	m := map[string]*survey{}
	err := c.query("SELECT layer, body FROM "+table, nil, func(r row) error {
		sv := &survey{}
		if err := json.Unmarshal([]byte(r.Text(1)), sv); err != nil {
			return err
		}
		if !sv.stale() {
			m[r.Text(0)] = sv
		}
		return nil
	})
	return m, err
}
