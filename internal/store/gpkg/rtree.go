package gpkg

import (
	"encoding/binary"
	"errors"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/cache"
	"grense/internal/cql2"
)

// plainTree is the statement of an R-tree as a GeoPackage has it (OGC 12-128r18, F.3), whose nodes are read here.
var plainTree = regexp.MustCompile(`(?i)^\s*CREATE VIRTUAL TABLE\b.*\bUSING\s+"?rtree"?\s*\(\s*"?id"?\s*,\s*"?minx"?\s*,\s*"?maxx"?\s*,\s*"?miny"?\s*,\s*"?maxy"?\s*\)\s*$`)

// nodeTable returns the table with the nodes of an R-tree, both quoted, with schema; "" when they are not read.
func nodeTable(c *conn, index string) (string, error) {
	name, ours := strings.CutPrefix(index, "side.")
	if ours {
		return "side." + name + "_node", nil
	}
	name, ok := strings.CutPrefix(index, "main.")
	if name = strings.TrimSuffix(name, `"`); !ok || !strings.HasPrefix(name, `"`) {
		return "", nil
	}
	s, err := c.schema()
	if err != nil || !plainTree.MatchString(s.tables[lowered(strings.ReplaceAll(name[1:], `""`, `"`))]) {
		return "", err
	}
	return "main." + name + `_node"`, nil
}

var errTree = errors.New("gpkg: the R-tree cannot be read")

// entry is a row that an R-tree holds, with what its envelope tells of a predicate.
type entry struct {
	id int64 // row id
	t  cql2.Truth
}

// treeReader walks an R-tree of SQLite, node by node (SQLite, rtree.c, "Database Format of R-Tree Tables"). That takes a tenth of the time
// that the virtual table needs, and a test of envelopes that knows more than boxes.
type treeReader struct {
	c    *conn
	l    *layer
	sql  string
	test *cql2.Bounds
	most int
	rows []entry
	each func(id int64, box [4]float32) // told of rows in place of rows; nil: rows has them
	bufs [][]byte                       // by level; of c
}

// nodeKey names a node of an R-tree. The layer is that of one revision, whose nodes are those of the file as long as nobody has changed it.
type nodeKey struct {
	l *layer
	n int64
}

// nodeCache holds nodes, immutable. nodeBytes is how much of them; the envelopes of 300,000 features take 8 MB.
type nodeCache = cache.Cache[nodeKey, []byte]

const nodeBytes = 64 << 20

// maxTreeDepth is that of SQLite.
const maxTreeDepth = 40

// A node starts with its depth, which only that of the root is set, and its number of cells.
const (
	nodeHead = 4
	nodeCell = 24
)

// entries returns the rows of a layer for whose envelope test is not False, in no order; false when there are more than most of them, or the tree
// cannot be read, so that SQLite has to answer. The caller has seen that c is unchanged.
func (c *conn) entries(l *layer, most int, test *cql2.Bounds) ([]entry, bool, error) {
	w := &treeReader{c: c, l: l, sql: "SELECT data FROM " + l.nodes + " WHERE nodeno = ?", test: test, most: most, bufs: c.nodes}
	err := w.root()
	c.nodes = w.bufs
	if err == errEnough || err == errTree {
		return nil, false, nil
	}
	return w.rows, true, err
}

// envelopes tells each of the envelopes of a layer, in no order; errTree when the tree cannot be read. The caller has seen that c is unchanged.
func (c *conn) envelopes(l *layer, each func(id int64, box [4]float32)) error {
	w := &treeReader{c: c, l: l, sql: "SELECT data FROM " + l.nodes + " WHERE nodeno = ?", each: each, bufs: c.nodes}
	err := w.root()
	c.nodes = w.bufs
	return err
}

func (w *treeReader) root() error {
	b, err := w.read(1, 0)
	if err != nil {
		return err
	}
	height := int(binary.BigEndian.Uint16(b))
	if height > maxTreeDepth {
		return errTree
	}
	for len(w.bufs) <= height {
		w.bufs = append(w.bufs, nil)
	}
	return w.cells(b, height, 0, cql2.Null)
}

// read returns a node. It is valid until another of its level is read.
func (w *treeReader) read(n int64, level int) ([]byte, error) {
	if b, ok := w.l.cache.Get(nodeKey{w.l, n}); ok {
		return b, nil
	}
	found := false
	if level == len(w.bufs) {
		w.bufs = append(w.bufs, nil)
	}
	err := w.c.query(w.sql, []any{n}, func(r row) error {
		w.bufs[level], found = r.Bytes(0, w.bufs[level]), true
		return nil
	})
	if b := w.bufs[level]; err == nil && (!found || len(b) < nodeHead || len(b) < nodeHead+nodeCell*int(binary.BigEndian.Uint16(b[2:]))) {
		err = errTree
	}
	if err == nil {
		b := slices.Clone(w.bufs[level])
		w.l.cache.Put(nodeKey{w.l, n}, b, int64(cap(b)))
	}
	return w.bufs[level], err
}

// cells goes through a node at a height above the leaves. known is what is known of all below.
func (w *treeReader) cells(b []byte, height, level int, known cql2.Truth) error {
	for n := range int(binary.BigEndian.Uint16(b[2:])) {
		cell := b[nodeHead+n*nodeCell:]
		t := known
		if w.each == nil && t == cql2.Null {
			t = w.test.Test(orb.Bound{Min: orb.Point{side(cell[8:]), side(cell[16:])}, Max: orb.Point{side(cell[12:]), side(cell[20:])}}, math.Inf(1))
		}
		if t == cql2.False {
			continue
		}
		id := int64(binary.BigEndian.Uint64(cell))
		if height == 0 && w.each != nil {
			w.each(id, [4]float32{narrowSide(cell[8:]), narrowSide(cell[16:]), narrowSide(cell[12:]), narrowSide(cell[20:])})
			continue
		}
		if height == 0 {
			if len(w.rows) == w.most {
				return errEnough
			}
			w.rows = append(w.rows, entry{id, t})
			continue
		}
		below, err := w.read(id, level+1)
		if err == nil {
			err = w.cells(below, height-1, level+1, t)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// side reads a coordinate of an envelope; those below are rounded down, those above up.
func side(b []byte) float64 { return float64(narrowSide(b)) }

func narrowSide(b []byte) float32 { return math.Float32frombits(binary.BigEndian.Uint32(b)) }
