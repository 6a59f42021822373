package gpkg

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"path/filepath"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/store/gpkg/sqlite"
	"grense/internal/tempfile"
)

// packCell is an entry in a node of an R-tree to be written: a row or a child node with its envelope.
type packCell struct {
	id                     int64
	minX, maxX, minY, maxY float32
}

// newPackCell rounds the envelope outward to float32, as SQLite does.
func newPackCell(id int64, b orb.Bound) packCell {
	down := func(v float64) float32 {
		f := float32(v)
		if float64(f) > v {
			f = math.Nextafter32(f, float32(math.Inf(-1)))
		}
		return f
	}
	up := func(v float64) float32 { return -down(-v) }
	return packCell{id, down(b.Min[0]), up(b.Max[0]), down(b.Min[1]), up(b.Max[1])}
}

const (
	packHead = 4  // size of the header of a node: depth of the tree (only in the root) and number of cells
	packSize = 24 // size of a cell in two dimensions
	packRoot = 1  // number of the root node
)

// packMost is the number of cells that are sorted in memory; more are sorted on disk.
const packMost = 1 << 18

// byColumn compares cells from west to east.
func byColumn(a, b packCell) int {
	return cmp.Or(cmp.Compare(a.minX+a.maxX, b.minX+b.maxX), cmp.Compare(a.id, b.id))
}

// packTree writes cells into an empty R-tree by filling its three tables directly (sqlite.org/rtree.html, section 6).
// Neighbouring cells share nodes, and all nodes are full. In memory are only one strip of the lowest level and the
// levels above.
func (w *Writer) packTree(name string, cells *tempfile.Sorter[packCell]) error {
	size, err := w.c.One("SELECT length(data) FROM "+sqlite.Quote(name+"_node")+" WHERE nodeno = ?", int64(packRoot))
	if err != nil {
		return err
	}
	f := &packer{w: w, node: make([]byte, size), fanout: (int(size) - packHead) / packSize, last: packRoot,
		insertNode:   "INSERT OR REPLACE INTO " + sqlite.Quote(name+"_node") + " (nodeno, data) VALUES (?, ?)",
		insertParent: "INSERT INTO " + sqlite.Quote(name+"_parent") + " (nodeno, parentnode) VALUES (?, ?)"}
	owners := tempfile.NewSorter(filepath.Dir(w.path), packMost,
		func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	defer owners.Close()
	f.owns = func(row, node int64) { owners.Add([2]int64{row, node}) }
	up, depth := []packCell(nil), 0
	if cells.Len() > f.fanout {
		if up, err = f.level(cells.Len(), cells.Sorted); err != nil {
			return err
		}
		depth++
	} else {
		err = cells.Sorted(func(c packCell) error { up = append(up, c); f.owns(c.id, packRoot); return nil })
		if err != nil {
			return err
		}
	}
	f.owns = nil
	for ; len(up) > f.fanout; depth++ {
		slices.SortFunc(up, byColumn)
		up, err = f.level(len(up), func(fn func(packCell) error) error {
			for _, c := range up {
				if err := fn(c); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if err := f.write(packRoot, depth, up, depth == 0); err != nil {
		return err
	}
	insert := "INSERT INTO " + sqlite.Quote(name+"_rowid") + " (rowid, nodeno) VALUES (?, ?)"
	return owners.Sorted(func(o [2]int64) error { return w.c.Exec(insert, o[0], o[1]) })
}

// packer writes nodes of an R-tree.
type packer struct {
	w                        *Writer
	node                     []byte                // buffer for a node
	owns                     func(row, node int64) // called with the node of each row; nil: cells are nodes
	fanout                   int                   // cells in a node
	last                     int64                 // number of the last node
	insertNode, insertParent string
}

// level packs n cells, sorted from west to east, into nodes: it cuts them into strips, and each strip from south to
// north. It returns the cells of the next level.
func (f *packer) level(n int, each func(func(packCell) error) error) (up []packCell, err error) {
	nodes := (n + f.fanout - 1) / f.fanout
	strip := make([]packCell, 0, f.fanout*int(math.Ceil(math.Sqrt(float64(nodes)))))
	cut := func() error {
		slices.SortFunc(strip, func(a, b packCell) int {
			return cmp.Or(cmp.Compare(a.minY+a.maxY, b.minY+b.maxY), cmp.Compare(a.id, b.id))
		})
		for part := range slices.Chunk(strip, f.fanout) {
			f.last++
			if err := f.write(f.last, 0, part, f.owns != nil); err != nil {
				return err
			}
			all := part[0]
			all.id = f.last
			for _, c := range part {
				all.minX, all.maxX = min(all.minX, c.minX), max(all.maxX, c.maxX)
				all.minY, all.maxY = min(all.minY, c.minY), max(all.maxY, c.maxY)
				if f.owns != nil {
					f.owns(c.id, f.last)
				}
			}
			up = append(up, all)
		}
		strip = strip[:0]
		return nil
	}
	err = each(func(c packCell) error {
		if strip = append(strip, c); len(strip) < cap(strip) {
			return nil
		}
		return cut()
	})
	if err == nil {
		err = cut()
	}
	return up, err
}

// write writes a node; on the lowest level its cells are rows, else nodes.
func (f *packer) write(number int64, depth int, cells []packCell, lowest bool) error {
	b := binary.BigEndian.AppendUint16(f.node[:0], uint16(depth))
	b = binary.BigEndian.AppendUint16(b, uint16(len(cells)))
	for _, c := range cells {
		b = binary.BigEndian.AppendUint64(b, uint64(c.id))
		for _, v := range [...]float32{c.minX, c.maxX, c.minY, c.maxY} {
			b = binary.BigEndian.AppendUint32(b, math.Float32bits(v))
		}
		if !lowest {
			if err := f.w.c.Exec(f.insertParent, c.id, number); err != nil {
				return err
			}
		}
	}
	b = b[:len(f.node)]
	clear(b[packHead+packSize*len(cells):])
	return f.w.c.Exec(f.insertNode, number, b)
}

// bound returns the envelope.
func (x packCell) bound() orb.Bound {
	return orb.Bound{Min: orb.Point{float64(x.minX), float64(x.minY)}, Max: orb.Point{float64(x.maxX), float64(x.maxY)}}
}

// errTree reports a damaged R-tree.
var errTree = errors.New("gpkg: the R-tree is damaged")

// walkTree calls fn with the rows of an R-tree of the source, node by node.
func walkTree(c *sqlite.Conn, name string, fn func(packCell) error) error {
	sql := "SELECT data FROM main." + sqlite.Quote(name+"_node") + " WHERE nodeno = ?"
	var node func(number int64, height int) error
	node = func(number int64, height int) error {
		var data []byte
		if err := c.Query(sql, []any{number}, func(r sqlite.Row) error {
			data = r.Bytes(0,
				nil)
			return nil
		}); err != nil {
			return err
		}
		if len(data) < packHead {
			return errTree
		}
		if number == packRoot {
			height = int(binary.BigEndian.Uint16(data))
		}
		n := int(binary.BigEndian.Uint16(data[2:]))
		if packHead+n*packSize > len(data) || height > 40 {
			return errTree
		}
		for i := range n {
			b := data[packHead+i*packSize:]
			side := func(k int) float32 { return math.Float32frombits(binary.BigEndian.Uint32(b[8+4*k:])) }
			x := packCell{int64(binary.BigEndian.Uint64(b)), side(0), side(1), side(2), side(3)}
			err := error(nil)
			if height > 0 {
				err = node(x.id, height-1)
			} else {
				err = fn(x)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return node(packRoot, 0)
}
