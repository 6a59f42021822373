package locate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// Builder collects the areas of a layer. Use NewBuilder. It is not safe for concurrent use.
type Builder struct {
	x       Index
	limit   int64
	feature int32
	ring    []uint32 // first vertex of each edge of the current part
}

// NewBuilder returns a Builder for an index of at most limit bytes. back transforms coordinates of the layer to CRS84.
// Building needs a fraction of limit in addition.
func NewBuilder(limit int64, back crs.Func) *Builder {
	return &Builder{x: Index{bound: wkb.EmptyBound(), back: back}, limit: limit}
}

// Add adds the next area as valid WKB from a store. nil, or a geometry without positions, contains nothing. Building
// must stop at the errors ErrTooLarge and ErrNoArea.
func (b *Builder) Add(geometry []byte) error {
	defer func() { b.feature++ }()
	if len(geometry) == 0 {
		return nil
	}
	var wrong error
	err := wkb.Walk(geometry, func(r wkb.Run) bool {
		if r.Kind != wkb.Polygon {
			if r.Len() > 0 {
				wrong = ErrNoArea
			}
			return wrong == nil
		}
		if wrong = b.addRing(&r); wrong == nil && r.Last && len(b.ring) > 0 {
			wrong = b.endPart()
		}
		return wrong == nil
	})
	b.ring = b.ring[:0]
	if wrong != nil {
		return fmt.Errorf("area %d: %w", b.feature, wrong)
	}
	return err
}

func (b *Builder) addRing(r *wkb.Run) error {
	n := r.Len()
	if n == 0 {
		return nil
	}
	first := len(b.x.vertices)
	if int64(first+n)*vertexBytes > b.limit || first+n >= certain {
		return ErrTooLarge
	}
	for i := range n {
		x, y := r.XY(i)
		if !wkb.Finite(x) || !wkb.Finite(y) {
			return ErrNoArea
		}
		b.x.vertices = append(b.x.vertices, orb.Point{x, y})
	}
	last := len(b.x.vertices) - 1
	if b.x.vertices[first] != b.x.vertices[last] {
		return ErrNoArea
	}
	if n == 1 { // a ring of one position consists of that point
		b.x.vertices = append(b.x.vertices, b.x.vertices[first])
		last++
	}
	for i := first; i < last; i++ {
		b.ring = append(b.ring, uint32(i))
	}
	for i := first; i < last; i += runLength {
		b.x.runs = append(b.x.runs, run{first: uint32(i), edges: uint32(min(runLength, last-i)), feature: b.feature})
	}
	return nil
}

// manyTimes is the largest average number of columns per edge.
const manyTimes = 4

// endPart sorts the edges of a polygon into columns.
func (b *Builder) endPart() error {
	v := b.x.vertices
	p := part{bound: wkb.EmptyBound(), feature: b.feature, start: uint32(len(b.x.starts))}
	for _, i := range b.ring {
		wkb.Extend(&p.bound, v[i][0], v[i][1])
	}
	n := max(len(b.ring)/2, 1)
	var counts []uint32
	for sum := math.MaxInt; ; n = max(n/2, 1) {
		p.scale = finite(float64(n) / (p.bound.Max[0] - p.bound.Min[0]))
		if p.last = float64(n - 1); p.scale == 0 {
			n, p.last = 1, 0
		}
		sum, counts = 0, make([]uint32, n+1)
		for _, i := range b.ring {
			lo, hi := p.span(v[i], v[i+1])
			for k := lo; k <= hi; k++ {
				counts[k]++
			}
			sum += hi - lo + 1
		}
		if n == 1 || sum <= manyTimes*len(b.ring) {
			break
		}
	}
	at := uint32(len(b.x.edges))
	for k := range counts {
		at, counts[k] = at+counts[k], at
	}
	if int64(at) >= certain {
		return ErrTooLarge
	}
	b.x.edges = slices.Grow(b.x.edges, int(at)-len(b.x.edges))[:at]
	b.x.starts = append(b.x.starts, counts...)
	for _, i := range b.ring {
		lo, hi := p.span(v[i], v[i+1])
		for k := lo; k <= hi; k++ {
			b.x.edges[counts[k]] = i
			counts[k]++
		}
	}
	b.x.parts = append(b.x.parts, p)
	b.x.bound = b.x.bound.Union(p.bound)
	b.ring = b.ring[:0]
	if b.x.Bytes() > b.limit {
		return ErrTooLarge
	}
	return nil
}

// span returns the first and the last column of an edge.
func (p *part) span(a, b orb.Point) (lo, hi int) {
	return p.column(min(a[0], b[0])), p.column(max(a[0], b[0]))
}

const (
	cellsPerEdge = 12
	leastCells   = 1 << 8
	mostCells    = 1 << 22
)

// Index builds the grid and returns the index. The Builder must not be used afterwards.
func (b *Builder) Index(ctx context.Context) (*Index, error) {
	x := &b.x
	if len(x.parts) == 0 {
		return x, nil
	}
	width, height := x.bound.Max[0]-x.bound.Min[0], x.bound.Max[1]-x.bound.Min[1]
	n := float64(min(max(cellsPerEdge*len(x.vertices), leastCells), mostCells,
		max(int(b.limit-x.Bytes())/8, leastCells)))
	x.columns, x.rows = 1, 1
	if width > 0 && height > 0 {
		x.columns = int(min(max(math.Sqrt(n*width/height), 1), n))
		x.rows = max(int(n)/x.columns, 1)
	}
	x.sx, x.sy = finite(float64(x.columns)/width), finite(float64(x.rows)/height)
	x.cells = make([]uint32, x.columns*x.rows)
	g := grid{x: x, nodes: []node{{}}, at: map[node]uint32{}, limit: b.limit}
	g.wide, g.high = width/float64(x.columns), height/float64(x.rows)
	for i := range x.parts {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := g.add(i); err != nil {
			return nil, err
		}
	}
	g.finish()
	if err := x.tiers(ctx); err != nil {
		return nil, err
	}
	x.vertices, x.edges, x.starts, x.parts, x.runs = slices.Clip(x.vertices), slices.Clip(x.edges),
		slices.Clip(x.starts), slices.Clip(x.parts), slices.Clip(x.runs)
	if x.Bytes() > b.limit {
		return nil, ErrTooLarge
	}
	return x, nil
}

// grid fills the cells. Until finish, a cell contains the number of a node; the list of a node is the list of its
// parent and one more entry. Node 0 is the empty list.
type grid struct {
	x          *Index
	nodes      []node
	at         map[node]uint32
	limit      int64
	wide, high float64 // size of a cell
	spans      []span
}

type node struct{ parent, entry uint32 }

// span is a range of cells in a row that edges touch; it may include a few others.
type span struct{ row, from, to int32 }

// add adds a part to the cells that it touches.
func (g *grid) add(i int) error {
	x, p := g.x, &g.x.parts[i]
	g.spans = g.spans[:0]
	begin, end := x.starts[p.start], x.starts[p.start+uint32(p.last)+1]
	for _, e := range x.edges[begin:end] {
		g.edge(x.vertices[e], x.vertices[e+1])
	}
	slices.SortFunc(g.spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.from, b.from))
	})
	for k := 0; k < len(g.spans); {
		s := g.spans[k]
		for k++; k < len(g.spans) && g.spans[k].row == s.row && g.spans[k].from <= s.to+1; k++ {
			s.to = max(s.to, g.spans[k].to)
		}
		g.put(s, uint32(i))
		if k == len(g.spans) || g.spans[k].row != s.row {
			continue
		}
		// No edge touches the cells up to the next span, so that the part contains all of them or none.
		gap := span{s.row, s.to + 1, g.spans[k].from - 1}
		middle := orb.Point{x.bound.Min[0] + (float64(gap.from)+0.5)*g.wide,
			x.bound.Min[1] + (float64(gap.row)+0.5)*g.high}
		if x.holds(p, middle) {
			g.put(gap, certain|uint32(p.feature))
		}
	}
	if int64(len(g.nodes))*8 > g.limit {
		return ErrTooLarge
	}
	return nil
}

// edge adds the cells of an edge, column by column. It includes cells that the edge may touch because of rounding.
func (g *grid) edge(a, b orb.Point) {
	if a[0] > b[0] {
		a, b = b, a
	}
	x := g.x
	const part, digits = 1e-6, 1e-14 // tolerance as part of a cell, and relative to the coordinates
	size := math.Abs(a[0]) + math.Abs(b[0]) + math.Abs(a[1]) + math.Abs(b[1]) + math.Abs(x.bound.Min[0]) +
		math.Abs(x.bound.Min[1])
	nearX, nearY := g.wide*part+size*digits, g.high*part+size*digits
	row := func(y float64) int32 { return int32(cellOf(y-x.bound.Min[1], x.sy, x.rows)) }
	first, last := cellOf(a[0]-nearX-x.bound.Min[0], x.sx, x.columns),
		cellOf(b[0]+nearX-x.bound.Min[0], x.sx, x.columns)
	steep := b[0]-a[0] <= 4*nearX
	slope := (b[1] - a[1]) / (b[0] - a[0])
	for c := first; c <= last; c++ {
		lo, hi := min(a[1], b[1]), max(a[1], b[1])
		if first != last && !steep {
			west, east := x.bound.Min[0]+float64(c)*g.wide-nearX, x.bound.Min[0]+float64(c+1)*g.wide+nearX
			y1, y2 := a[1]+(max(west, a[0])-a[0])*slope, a[1]+(min(east, b[0])-a[0])*slope
			lo, hi = max(lo, min(y1, y2)-math.Abs(slope)*nearX), min(hi, max(y1, y2)+math.Abs(slope)*nearX)
		}
		for r, end := row(lo-nearY), row(hi+nearY); r <= end; r++ {
			g.spans = append(g.spans, span{r, int32(c), int32(c)})
		}
	}
}

// put adds an entry to the lists of a span of cells.
func (g *grid) put(s span, entry uint32) {
	cells := g.x.cells[int(s.row)*g.x.columns:]
	var last, made uint32
	known := false
	for c := s.from; c <= s.to; c++ {
		v := &cells[c]
		if !known || *v != last {
			last, made, known = *v, g.child(*v, entry), true
		}
		*v = made
	}
}

// child returns the node of a list with one more entry. If an area certainly covers a cell, its list has no other
// entries of that area.
func (g *grid) child(parent, entry uint32) uint32 {
	f := g.featureOf(entry)
	if e := g.nodes[parent].entry; parent != 0 && g.featureOf(e) == f {
		if e&certain != 0 {
			return parent
		}
		if entry&certain != 0 {
			for parent != 0 && g.featureOf(g.nodes[parent].entry) == f {
				parent = g.nodes[parent].parent
			}
		}
	}
	n := node{parent, entry}
	i, ok := g.at[n]
	if !ok {
		i = uint32(len(g.nodes))
		g.nodes = append(g.nodes, n)
		g.at[n] = i
	}
	return i
}

func (g *grid) featureOf(entry uint32) int32 {
	if entry&certain != 0 {
		return int32(entry &^ certain)
	}
	return g.x.parts[entry].feature
}

// finish writes the lists of the nodes that are in use.
func (g *grid) finish() {
	x := g.x
	x.lists = append(x.lists, 0) // so that no list has the index 0
	lists := make([]uint32, len(g.nodes))
	for i, n := range x.cells {
		if n == 0 {
			continue
		}
		if lists[n] == 0 {
			lists[n] = g.list(n)
		}
		x.cells[i] = lists[n]
	}
}

func (g *grid) list(n uint32) uint32 {
	x := g.x
	if at := g.nodes[n]; at.parent == 0 && at.entry&certain != 0 {
		return at.entry
	}
	start := len(x.lists)
	x.lists = append(x.lists, 0)
	for ; n != 0; n = g.nodes[n].parent {
		x.lists = append(x.lists, g.nodes[n].entry)
	}
	slices.Reverse(x.lists[start+1:])
	x.lists[start] = uint32(len(x.lists) - start - 1)
	return uint32(start)
}
