package gpkg

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"

	"github.com/paulmach/orb"
)

// packCell is an entry of a node of an R-tree that is written: a row or a node with its envelope.
type packCell struct {
	id                     int64
	minX, maxX, minY, maxY float32
}

// newPackCell rounds outward, as SQLite does.
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
	packHead = 4  // bytes before the cells of a node: depth of the tree (root only), number of cells
	packSize = 24 // bytes of a cell in two dimensions
	packRoot = 1  // number of the root
)

// packTree writes cells, which it sorts, into the empty R-tree of that name, as the three tables that hold it
// (sqlite.org/rtree.html, section 6): tiles of neighbours, every node full, none ever split.
func (w *Writer) packTree(name string, cells []packCell) error {
	size, err := w.c.one("SELECT length(data) FROM "+quote(name+"_node")+" WHERE nodeno = ?", int64(packRoot))
	if err != nil {
		return err
	}
	f := &packer{w: w, node: make([]byte, size), fanout: (int(size) - packHead) / packSize, last: packRoot,
		insertNode:   "INSERT OR REPLACE INTO " + quote(name+"_node") + " (nodeno, data) VALUES (?, ?)",
		insertParent: "INSERT INTO " + quote(name+"_parent") + " (nodeno, parentnode) VALUES (?, ?)"}
	var owner []int64 // nodes of the cells of the lowest level, as they are sorted
	rows := cells
	depth := 0
	for ; len(cells) > f.fanout; depth++ {
		up, of, err := f.level(cells, depth == 0)
		if err != nil {
			return err
		}
		if depth == 0 {
			owner = of
		}
		cells = up
	}
	if err := f.write(packRoot, depth, cells, depth == 0); err != nil {
		return err
	}
	order := make([]int32, len(rows))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(rows[a].id, rows[b].id) })
	insert := "INSERT INTO " + quote(name+"_rowid") + " (rowid, nodeno) VALUES (?, ?)"
	for _, i := range order {
		node := int64(packRoot)
		if owner != nil {
			node = owner[i]
		}
		if err := w.c.exec(insert, rows[i].id, node); err != nil {
			return err
		}
	}
	return nil
}

// packer writes nodes.
type packer struct {
	w                        *Writer
	node                     []byte // of one node, used again
	fanout                   int    // cells that a node holds
	last                     int64  // number of the last node
	insertNode, insertParent string
}

// level puts cells into nodes: strips from west to east, each cut from south to north.
// It returns the cells of the next level and the node of each cell.
func (f *packer) level(cells []packCell, lowest bool) (up []packCell, of []int64, err error) {
	nodes := (len(cells) + f.fanout - 1) / f.fanout
	strip := f.fanout * int(math.Ceil(math.Sqrt(float64(nodes))))
	slices.SortFunc(cells, func(a, b packCell) int {
		return cmp.Or(cmp.Compare(a.minX+a.maxX, b.minX+b.maxX), cmp.Compare(a.id, b.id))
	})
	of = make([]int64, 0, len(cells))
	for s := range slices.Chunk(cells, strip) {
		slices.SortFunc(s, func(a, b packCell) int {
			return cmp.Or(cmp.Compare(a.minY+a.maxY, b.minY+b.maxY), cmp.Compare(a.id, b.id))
		})
		for part := range slices.Chunk(s, f.fanout) {
			f.last++
			if err := f.write(f.last, 0, part, lowest); err != nil {
				return nil, nil, err
			}
			all := part[0]
			all.id = f.last
			for _, c := range part {
				all.minX, all.maxX = min(all.minX, c.minX), max(all.maxX, c.maxX)
				all.minY, all.maxY = min(all.minY, c.minY), max(all.maxY, c.maxY)
				of = append(of, f.last)
			}
			up = append(up, all)
		}
	}
	return up, of, nil
}

// write writes a node; its cells are rows on the lowest level, else nodes.
func (f *packer) write(number int64, depth int, cells []packCell, lowest bool) error {
	b := binary.BigEndian.AppendUint16(f.node[:0], uint16(depth))
	b = binary.BigEndian.AppendUint16(b, uint16(len(cells)))
	for _, c := range cells {
		b = binary.BigEndian.AppendUint64(b, uint64(c.id))
		for _, v := range [...]float32{c.minX, c.maxX, c.minY, c.maxY} {
			b = binary.BigEndian.AppendUint32(b, math.Float32bits(v))
		}
		if !lowest {
			if err := f.w.c.exec(f.insertParent, c.id, number); err != nil {
				return err
			}
		}
	}
	b = b[:len(f.node)]
	clear(b[packHead+packSize*len(cells):])
	return f.w.c.exec(f.insertNode, number, b)
}
