// Package rtree reads and writes the R-trees of SQLite node by node, which is faster than its statements.
package rtree

import (
	"cmp"
	"encoding/binary"
	"errors"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/store/gpkg/sqlite"
	"grense/internal/tempfile"
)

// Cell is an entry in a node of an R-tree to be written: a row or a child node with its envelope.
type Cell struct {
	ID                     int64
	MinX, MaxX, MinY, MaxY float32
}

// NewCell rounds the envelope outward to float32, as SQLite does.
func NewCell(id int64, b orb.Bound) Cell {
	down := func(v float64) float32 {
		f := float32(v)
		if float64(f) > v {
			f = math.Nextafter32(f, float32(math.Inf(-1)))
		}
		return f
	}
	up := func(v float64) float32 { return -down(-v) }
	return Cell{id, down(b.Min[0]), up(b.Max[0]), down(b.Min[1]), up(b.Max[1])}
}

const (
	headSize   = 4  // size of the header of a node: depth of the tree (only in the root) and number of cells
	cellSize   = 24 // size of a cell in two dimensions
	rootNumber = 1  // number of the root node
)

// sortedInMemory is the number of cells that are sorted in memory; more are sorted on disk.
const sortedInMemory = 1 << 18

// NewSorter returns an empty sorter of cells in the order that Write expects. It sorts large trees in dir.
func NewSorter(dir string) *tempfile.Sorter[Cell] {
	return tempfile.NewSorter(dir, sortedInMemory, byColumn)
}

// NewSorterByID returns an empty sorter of cells by id. It sorts large trees in dir.
func NewSorterByID(dir string) *tempfile.Sorter[Cell] {
	return tempfile.NewSorter(dir, sortedInMemory, func(a, b Cell) int { return cmp.Compare(a.ID, b.ID) })
}

// byColumn compares cells from west to east.
func byColumn(a, b Cell) int {
	return cmp.Or(cmp.Compare(a.MinX+a.MaxX, b.MinX+b.MaxX), cmp.Compare(a.ID, b.ID))
}

// Write writes cells into an empty R-tree by filling its three tables directly (sqlite.org/rtree.html, section 6).
// Neighbouring cells share nodes, and all nodes are full. In memory are only one strip of the lowest level and the
// levels above; the rest is sorted in dir.
func Write(c *sqlite.Conn, dir, name string, cells *tempfile.Sorter[Cell]) error {
	size, err := c.One("SELECT length(data) FROM "+sqlite.Quote(name+"_node")+" WHERE nodeno = ?", int64(rootNumber))
	if err != nil {
		return err
	}
	f := &packer{c: c, node: make([]byte, size), fanout: (int(size) - headSize) / cellSize, last: rootNumber,
		insertNode:   "INSERT OR REPLACE INTO " + sqlite.Quote(name+"_node") + " (nodeno, data) VALUES (?, ?)",
		insertParent: "INSERT INTO " + sqlite.Quote(name+"_parent") + " (nodeno, parentnode) VALUES (?, ?)"}
	owners := tempfile.NewSorter(dir, sortedInMemory,
		func(a, b [2]int64) int { return cmp.Compare(a[0], b[0]) })
	defer owners.Close()
	f.owns = func(row, node int64) { owners.Add([2]int64{row, node}) }
	up, depth := []Cell(nil), 0
	if cells.Len() > f.fanout {
		if up, err = f.level(cells.Len(), cells.Sorted); err != nil {
			return err
		}
		depth++
	} else {
		err = cells.Sorted(func(x Cell) error { up = append(up, x); f.owns(x.ID, rootNumber); return nil })
		if err != nil {
			return err
		}
	}
	f.owns = nil
	for ; len(up) > f.fanout; depth++ {
		slices.SortFunc(up, byColumn)
		up, err = f.level(len(up), func(fn func(Cell) error) error {
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
	if err := f.write(rootNumber, depth, up, depth == 0); err != nil {
		return err
	}
	insert := "INSERT INTO " + sqlite.Quote(name+"_rowid") + " (rowid, nodeno) VALUES (?, ?)"
	return owners.Sorted(func(o [2]int64) error { return c.Exec(insert, o[0], o[1]) })
}

// packer writes nodes of an R-tree.
type packer struct {
	c                        *sqlite.Conn
	node                     []byte                // buffer for a node
	owns                     func(row, node int64) // called with the node of each row; nil: cells are nodes
	fanout                   int                   // cells in a node
	last                     int64                 // number of the last node
	insertNode, insertParent string
}

// level packs n cells, sorted from west to east, into nodes: it cuts them into strips, and each strip from south to
// north. It returns the cells of the next level.
func (f *packer) level(n int, each func(func(Cell) error) error) (up []Cell, err error) {
	nodes := (n + f.fanout - 1) / f.fanout
	strip := make([]Cell, 0, f.fanout*int(math.Ceil(math.Sqrt(float64(nodes)))))
	cut := func() error {
		slices.SortFunc(strip, func(a, b Cell) int {
			return cmp.Or(cmp.Compare(a.MinY+a.MaxY, b.MinY+b.MaxY), cmp.Compare(a.ID, b.ID))
		})
		for part := range slices.Chunk(strip, f.fanout) {
			f.last++
			if err := f.write(f.last, 0, part, f.owns != nil); err != nil {
				return err
			}
			all := part[0]
			all.ID = f.last
			for _, c := range part {
				all.MinX, all.MaxX = min(all.MinX, c.MinX), max(all.MaxX, c.MaxX)
				all.MinY, all.MaxY = min(all.MinY, c.MinY), max(all.MaxY, c.MaxY)
				if f.owns != nil {
					f.owns(c.ID, f.last)
				}
			}
			up = append(up, all)
		}
		strip = strip[:0]
		return nil
	}
	err = each(func(c Cell) error {
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
func (f *packer) write(number int64, depth int, cells []Cell, lowest bool) error {
	b := binary.BigEndian.AppendUint16(f.node[:0], uint16(depth))
	b = binary.BigEndian.AppendUint16(b, uint16(len(cells)))
	for _, c := range cells {
		b = binary.BigEndian.AppendUint64(b, uint64(c.ID))
		for _, v := range [...]float32{c.MinX, c.MaxX, c.MinY, c.MaxY} {
			b = binary.BigEndian.AppendUint32(b, math.Float32bits(v))
		}
		if !lowest {
			if err := f.c.Exec(f.insertParent, c.ID, number); err != nil {
				return err
			}
		}
	}
	b = b[:len(f.node)]
	clear(b[headSize+cellSize*len(cells):])
	return f.c.Exec(f.insertNode, number, b)
}

// Bound returns the envelope.
func (x Cell) Bound() orb.Bound {
	return orb.Bound{Min: orb.Point{float64(x.MinX), float64(x.MinY)}, Max: orb.Point{float64(x.MaxX), float64(x.MaxY)}}
}

// ErrDamaged reports a damaged R-tree.
var ErrDamaged = errors.New("gpkg: the R-tree is damaged")

// Walk calls fn with the rows of an R-tree of the source, node by node.
func Walk(c *sqlite.Conn, name string, fn func(Cell) error) error {
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
		if len(data) < headSize {
			return ErrDamaged
		}
		if number == rootNumber {
			height = int(binary.BigEndian.Uint16(data))
		}
		n := int(binary.BigEndian.Uint16(data[2:]))
		if headSize+n*cellSize > len(data) || height > 40 {
			return ErrDamaged
		}
		for i := range n {
			b := data[headSize+i*cellSize:]
			side := func(k int) float32 { return math.Float32frombits(binary.BigEndian.Uint32(b[8+4*k:])) }
			x := Cell{int64(binary.BigEndian.Uint64(b)), side(0), side(1), side(2), side(3)}
			err := error(nil)
			if height > 0 {
				err = node(x.ID, height-1)
			} else {
				err = fn(x)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	return node(rootNumber, 0)
}
