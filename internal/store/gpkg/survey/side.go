package survey

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"

	"github.com/paulmach/orb"

	"grense/internal/store/gpkg/file"
	"grense/internal/store/gpkg/rtree"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/tempfile"
)

// SideVersion must be increased if the meaning of side files changes; older files are then rebuilt.
const SideVersion = 5

// A side file contains expensive results about a source: a survey of each layer, an R-tree if the source has none, the
// rows without geometry, and an index of the words of texts. It belongs to one version of the source, is never
// modified, and can be deleted at any time.
type SideFile struct {
	path    string
	surveys map[string]*layerSurvey // by table
}

// readSide opens a side file; nil if there is no usable one.
func readSide(path string) *SideFile {
	if _, err := os.Stat(path); err != nil {
		return nil
	}
	c, err := sqlite.Open(path, sqlite.ReadOnly)
	if err != nil {
		return nil
	}
	defer c.Close()
	f := &SideFile{path: path}
	if v, err := c.One("PRAGMA user_version"); err != nil || v != SideVersion {
		return nil
	}
	if f.surveys, err = readSurveys(c, "survey"); err != nil {
		return nil
	}
	return f
}

// sidePath returns the path of the side file for a source, with extra for settings that affect surveys, and the common
// prefix of files for its other versions.
func sidePath(dir string, s file.File, extra string) (path, prefix, stem string) {
	prefix, stem = s.SideName("side" + strconv.Itoa(SideVersion) + extra)
	return filepath.Join(dir, stem+".side"), prefix, stem
}

// sideWriter writes a new side file, or the equivalent tables in a register.
type sideWriter struct {
	c       *sqlite.Conn
	dir     string // directory for sorting; "": the system's
	at      string // qualifier of the table names for readers: the schema, or a prefix within a register
	prefix  string // prefix of table names
	surveys map[string]*layerSurvey
}

// newSideWriter creates a side file. SQLite requires that it has the text encoding of the source.
func newSideWriter(path, encoding string) (*sideWriter, error) {
	c, err := sqlite.Open(path, sqlite.ReadWrite)
	if err != nil {
		return nil, err
	}
	w := &sideWriter{c: c, dir: filepath.Dir(path), at: inSide, surveys: map[string]*layerSurvey{}}
	for _, sql := range [...]string{
		"PRAGMA encoding='" + encoding + "'", "PRAGMA journal_mode=OFF", "PRAGMA synchronous=OFF",
		"PRAGMA locking_mode=EXCLUSIVE", "BEGIN",
		"PRAGMA user_version=" + strconv.Itoa(SideVersion), surveyTable(""),
	} {
		if err := c.Exec(sql); err != nil {
			return nil, errors.Join(err, c.Close())
		}
	}
	return w, nil
}

func (w *sideWriter) put(layer string, sv *layerSurvey) error {
	body, err := sv.encode()
	if err != nil {
		return err
	}
	w.surveys[layer] = sv
	return w.c.Exec("INSERT INTO "+w.prefix+"survey VALUES (?, ?)", layer, body)
}

func (w *sideWriter) finish() error {
	return errors.Join(w.c.Exec("COMMIT"), w.c.Close())
}

// sideIndex collects the envelopes of a layer. A nil sideIndex does nothing.
type sideIndex struct {
	w      *sideWriter
	name   string                       // R-tree to use, quoted and qualified
	insert string                       // "" if the source has an R-tree
	rows   string                       // table of the source's R-tree with a row for each entry, quoted
	miss   string                       // table of rows without geometry, created for the first one
	missed bool                         // miss was created
	trust  bool                         // our writer wrote the source's R-tree; only its size is verified
	c      *sqlite.Conn                 // to the source
	cells  *tempfile.Sorter[rtree.Cell] // entries of the source's R-tree, by row id; nil: not verified
	next   func() (rtree.Cell, bool)    // remaining entries
	close  func()
}

// index prepares an R-tree for a layer, or verifies that of the source.
func (w *sideWriter) index(c *sqlite.Conn, d *Draft) (*sideIndex, error) {
	n := strconv.Itoa(d.n)
	x := &sideIndex{w: w, miss: w.prefix + "nogeom_" + n, close: func() {}}
	if err := w.c.Exec("DROP TABLE IF EXISTS " + x.miss); err != nil {
		return nil, err
	}
	own, err := sourceIndex(c, d)
	if err != nil {
		return nil, err
	}
	if own != "" {
		x.name, x.c, x.trust = own, c, d.own != nil
		x.rows = "main." + sqlite.Quote(d.treeName()+"_rowid")
		return x, nil
	}
	if err := w.c.Exec("CREATE VIRTUAL TABLE " + w.prefix + "rtree_" + n +
		" USING rtree(id, minx, maxx, miny, maxy)"); err != nil {
		return nil, err
	}
	x.name = w.at + "rtree_" + n
	x.insert = "INSERT INTO " + w.prefix + "rtree_" + n + " VALUES (?, ?, ?, ?, ?)"
	return x, nil
}

// errIndex reports that the R-tree of the source does not cover a geometry.
var errIndex = errors.New("gpkg: the R-tree is not complete")

// sourceIndex returns the R-tree of the source (OGC 12-128r18, F.3); "" if there is none.
func sourceIndex(c *sqlite.Conn, d *Draft) (string, error) {
	if d.table.Rowid == "" || d.ownIndex {
		return "", nil
	}
	schema, err := c.Schema()
	if err != nil {
		return "", err
	}
	if _, ok := schema.Tables[sqlite.Lower(d.treeName())]; !ok {
		return "", nil
	}
	return "main." + sqlite.Quote(d.treeName()), nil
}

// treeName returns the name of the R-tree in the source.
func (d *Draft) treeName() string { return "rtree_" + d.table.Name + "_" + d.Geometry }

// verify makes add compare rows, which come in the order of their ids, with the source's R-tree.
func (x *sideIndex) verify(dir, tree string) error {
	if x == nil || x.trust || x.insert != "" {
		return nil
	}
	x.cells = rtree.NewSorterByID(dir)
	err := rtree.Walk(x.c, tree, func(cell rtree.Cell) error { x.cells.Add(cell); return nil })
	if errors.Is(err, rtree.ErrDamaged) || sqlite.IsFaulty(err) {
		err = errIndex
	}
	stop := func() {}
	x.next, stop = iter.Pull(func(yield func(rtree.Cell) bool) {
		x.cells.Sorted(func(c rtree.Cell) error { // on error entries are missing, which complete detects
			if !yield(c) {
				return sqlite.ErrEnough
			}
			return nil
		})
	})
	x.close = func() { stop(); x.cells.Close() }
	return err
}

// add records the envelope of a row, or verifies that the source's R-tree has it.
func (x *sideIndex) add(id int64, b orb.Bound) error {
	if x == nil {
		return nil
	}
	if x.trust {
		return nil
	}
	if x.insert != "" {
		return x.w.c.Exec(x.insert, id, b.Min[0], b.Max[0], b.Min[1], b.Max[1])
	}
	cell, ok := x.next()
	if in := cell.Bound(); !ok || cell.ID != id || !in.Contains(b.Min) || !in.Contains(b.Max) {
		return errIndex
	}
	return nil
}

// complete verifies that the source's R-tree has exactly want entries, so that none belongs to a deleted row.
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
	n, err := x.c.One("SELECT count(*) FROM " + x.rows)
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
		if err := x.w.c.Exec("CREATE TABLE " + x.miss + " (id INTEGER PRIMARY KEY)"); err != nil {
			return err
		}
	}
	return x.w.c.Exec("INSERT INTO "+x.miss+" VALUES (?)", id)
}

// Attach attaches the side file to a connection as schema side. f may be nil.
func (f *SideFile) Attach(c *sqlite.Conn) error {
	if f == nil {
		return nil
	}
	if err := c.Attach(f.path, "side"); err != nil {
		return fmt.Errorf("gpkg: side file: %w", err)
	}
	return nil
}

// noGeom returns the table of rows without geometry. It does not exist if every row has one.
func (d *Draft) noGeom() string { return d.at + "nogeom_" + strconv.Itoa(d.n) }

func surveyTable(prefix string) string {
	return "CREATE TABLE " + prefix + "survey (layer TEXT PRIMARY KEY, body TEXT NOT NULL)"
}

// readSurveys returns surveys by layer, except those that must be repeated.
func readSurveys(c *sqlite.Conn, table string) (map[string]*layerSurvey, error) {
	m := map[string]*layerSurvey{}
	err := c.Query("SELECT layer, body FROM "+table, nil, func(r sqlite.Row) error {
		sv := &layerSurvey{}
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
