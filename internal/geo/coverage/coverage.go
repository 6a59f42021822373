// Package coverage simplifies polygons that share borders. It cuts the polygons of a layer on an integer grid into arcs
// that neighbours share, simplifies the arcs once for each level, and builds rings from them. So on every level
// neighbours have the same vertices along their border, there are no new gaps, overlaps or crossings, and rings are
// valid.
//
// A Builder accepts several layers (NextLayer). Borders that coincide in the source coincide on every level. Decisions
// by neighbours, such as who gets a small face, are made within each layer, the one with the fewest features first;
// other layers follow its borders.
//
// The grid of a level is twice as coarse as that of the level before, from which it is built. Moving vertices to a grid
// may make edges touch and cross: they are split until no two have more than an end in common (planar). The features on
// both sides of edges that now lie on each other are summed up. So a face that has become a line vanishes, and the
// features on its sides become neighbours.
//
// Borders that do not match have arcs of their own: gaps and overlaps remain. Rings that cross themselves become valid
// rings, which may lack a part of the area; package ingest mends such rings on import. Features are numbered in the
// order of Add. A Builder is for one goroutine; levels are immutable.
package coverage

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// Grid defines the positions of the finest level: x = Origin[0] + X·Unit, y = Origin[1] + Y·Unit.
type Grid struct {
	Origin orb.Point
	Unit   float64
}

// Point is a position on a grid, with X to the right and Y up.
type Point struct{ X, Y int32 }

// MaxPosition bounds the positions of the finest level, so that products of differences fit into 64 bits.
const MaxPosition = 1<<28 - 1

// Options control the simplification. Areas and lengths are in units of the level's grid.
type Options struct {
	// area of triangles up to which vertices are removed; weighted, so that sharp bends, and vertices whose removal
	// restores the area of a feature, go first. Defaults to 16
	Tolerance float64
	// area below which a ring without junctions is omitted, unless it is the largest of its feature. Defaults to 16
	Island float64
	Span   int32 // features narrower and lower than this are omitted. Defaults to 4
	// Memory is about how many bytes edges and labels may use while levels are built; 0: no limit. If they need more,
	// up to Skip of the finest levels are omitted. If that is not enough, Add and Each return ErrTooLarge.
	Memory int64
	Skip   int
}

// Whole omits nothing that the grid can represent.
var Whole = Options{Tolerance: -1, Island: -1, Span: 1}

// Builder collects the polygons of a layer.
type Builder struct {
	grid   Grid
	o      Options
	labels *labels
	segs   []seg
	skip   int // number of omitted finest levels
	// twice the area of each feature before simplification, including features that it has absorbed (drop), in cells of
	// the finest level
	whole  []int64
	n      int32
	ringed int // number of features with edges
}

// NewBuilder returns a Builder.
func NewBuilder(g Grid, o Options) *Builder {
	return &Builder{grid: g, o: o.orDefault(), labels: newLabels()}
}

func (o Options) orDefault() Options {
	if o.Tolerance == 0 {
		o.Tolerance = 16
	}
	if o.Island == 0 {
		o.Island = 16
	}
	if o.Span == 0 {
		o.Span = 4
	}
	return o
}

// ErrOutside reports a position outside of the grid.
var ErrOutside = errors.New("arc: a position outside of the grid")

// Add adds a feature: the polygons of a geometry with rings in any orientation. move transforms coordinates to those of
// the grid; nil: no transformation. A geometry without polygons, or nil, is a feature without rings. After an error the
// Builder is unchanged, except for ErrTooLarge, after which it must not be used.
func (b *Builder) Add(geometry []byte, move crs.Func) error {
	start := len(b.segs)
	outside := false
	var err error
	if geometry != nil {
		err = wkb.Walk(geometry, func(r wkb.Run) bool {
			if r.Kind == wkb.Polygon {
				outside = !b.ring(&r, move)
			}
			return !outside
		})
	}
	if err == nil && outside {
		err = ErrOutside
	}
	if err != nil {
		b.segs = b.segs[:start]
		return err
	}
	b.labels.features = b.n + 1
	if b.n++; len(b.segs) > start {
		b.ringed++
	}
	if b.o.Memory > 0 && b.bytes() > b.o.Memory {
		return b.shrink()
	}
	return nil
}

// NextLayer begins another layer, of at most mostLayers, for the features added from now on.
func (b *Builder) NextLayer() { b.labels.layers = append(b.labels.layers, b.n) }

// Features returns the number of features that were added, of all layers.
func (b *Builder) Features() int { return int(b.n) }

// Edges returns the number of edges so far, before equal ones are joined.
func (b *Builder) Edges() int { return len(b.segs) }

// Length returns the total length of all edges in cells, where each counts as the larger of its width and height.
func (b *Builder) Length() (sum int64) {
	for i := range b.segs {
		s := &b.segs[i]
		sum += int64(max(s.b.X-s.a.X, abs(s.b.Y-s.a.Y)))
	}
	return sum
}

// Coarse returns a Builder of the same features without skip more of the finest levels, as far as Options.Skip allows.
// It shares memory with b: finish using it before using b again.
func (b *Builder) Coarse(skip int) *Builder {
	const chunk = 1 << 20
	c := &Builder{grid: b.grid, o: b.o, labels: b.labels, skip: min(b.skip+skip, b.o.Skip), n: b.n, ringed: b.ringed}
	for from := 0; from < len(b.segs); from += chunk {
		at := len(c.segs)
		c.segs = append(c.segs, b.segs[from:min(from+chunk, len(b.segs))]...)
		for range c.skip - b.skip {
			c.halve(c.segs[at:])
		}
		c.segs = slices.DeleteFunc(c.segs, func(s seg) bool { return s.a == s.b })
	}
	c.segs = c.join(c.segs)
	return c
}

// ErrTooLarge reports polygons that need more than Options.Memory even on the coarsest level.
var ErrTooLarge = errors.New("arc: the polygons take more memory than they may")

// edgeBytes is the memory for an edge while a level is built.
const edgeBytes = 72

// bytes returns the approximate memory for building a level.
func (b *Builder) bytes() int64 { return int64(len(b.segs))*edgeBytes + b.labels.bytes() }

// shrink joins edges that lie on each other, and moves all edges to coarser grids until a quarter of the memory is
// free. The resulting levels differ little from those built from finer levels, by less than a few cells.
func (b *Builder) shrink() error {
	for {
		b.segs = b.join(b.segs)
		b.relabel()
		if b.bytes() <= b.o.Memory/4*3 {
			return nil
		}
		if b.skip == b.o.Skip {
			return ErrTooLarge
		}
		b.skip++
		b.halve(b.segs)
	}
}

// relabel removes unused labels.
func (b *Builder) relabel() {
	l, to := newLabels(), make([]int32, len(b.labels.reverse))
	l.layers, l.features = b.labels.layers, b.labels.features
	for i := range b.segs {
		s := &b.segs[i]
		if to[s.label] == 0 {
			to[s.label] = l.intern(b.labels.set(s.label))
		}
		s.label = to[s.label]
	}
	b.labels = l
}

// Skipped returns the number of finest levels that are omitted for lack of memory.
func (b *Builder) Skipped() int { return b.skip }

// ring adds the edges of a ring; false if it leaves the grid.
func (b *Builder) ring(r *wkb.Run, move crs.Func) bool {
	label := b.labels.side(b.n, (r.Area() > 0) == (r.Ring == 0))
	var last Point
	for i := range r.Len() {
		p, ok := b.grid.Snap(r, i, move)
		if !ok {
			return false
		}
		for range b.skip { // as for the edges before
			p = p.half()
		}
		if i > 0 && p != last {
			b.segs = append(b.segs, b.labels.segment(last, p, label))
		}
		last = p
	}
	return true
}

// ErrApart reports polygons whose edges cross too often for a coverage. Simplify each feature on its own instead.
var ErrApart = errors.New("arc: the edges of the polygons cross too often for a coverage")

// Number of crossings that a coverage may have on its finest level: a fixed number, and one for this many edges.
const (
	mostCrossings = 500
	oftenCrossing = 20
	// more are allowed if finest levels are omitted, since edges then cross because they were moved by half a cell
	oftenMoved = 4
)

// Each builds levels, the finest first, and then removes what was added. It calls fn with each level and its number,
// which begins with Skipped, until fn returns false. fn may keep the levels. ErrApart comes before the first call.
func (b *Builder) Each(ctx context.Context, fn func(i int, l *Level) (more bool, err error)) error {
	segs := b.segs
	b.segs = nil
	for i := 0; ; i++ {
		if i > 0 {
			b.halve(segs)
		}
		l, left, err := b.next(ctx, segs, i)
		if err != nil {
			return fmt.Errorf("arc: level %d: %w", i, err)
		}
		segs = left
		if more, err := fn(b.skip+i, l); err != nil || !more {
			return err
		}
	}
}

// next builds a level from the edges of the finer one. It also returns the edges of the new level.
func (b *Builder) next(ctx context.Context, segs []seg, i int) (*Level, []seg, error) {
	segs, err := b.planar(ctx, segs, i == 0)
	if err != nil {
		return nil, nil, err
	}
	if i == 0 {
		b.whole = b.sizes(segs)
	}
	segs = b.drop(segs)
	g, segs := b.settled(newGraph(segs, b.labels), segs)
	g.islands(b.o.Island)
	segs = g.segments(segs[:0])
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	g.simplify(b.o.Tolerance, b.drift(segs, i))
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	g, segs = b.settled(g, segs) // faces have become smaller
	segs = g.segments(segs[:0])
	l := g.level(b.n)
	l.Unit, l.LeftOut = b.grid.Unit*float64(int64(1)<<(b.skip+i)), l.LeftOut+b.ringed
	return l, segs, nil
}

// settlings is the number of rounds for settling small faces, since a change may create another one.
const settlings = 4

// settled settles small faces, and rebuilds the graph after changes. It may reuse the memory of segs.
func (b *Builder) settled(g *graph, segs []seg) (*graph, []seg) {
	passes := 0
	for passes < settlings {
		changed := false
		for _, layer := range b.labels.order() {
			changed = g.settle(layer) || changed
		}
		if !changed {
			break
		}
		passes++
	}
	if passes > 0 {
		segs = slices.DeleteFunc(g.segments(segs[:0]), func(s seg) bool { return s.label == 0 })
		g = newGraph(segs, b.labels)
	}
	return g, segs
}

// Empty reports whether no feature has edges.
func (b *Builder) Empty() bool { return len(b.segs) == 0 }

// Levels builds n levels, the finest first; see Each.
func (b *Builder) Levels(ctx context.Context, n int) ([]*Level, error) {
	out := make([]*Level, 0, n)
	err := b.Each(ctx, func(_ int, l *Level) (bool, error) {
		out = append(out, l)
		return len(out) < n, nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// halve moves all ends to the grid of the next level.
func (b *Builder) halve(segs []seg) {
	for i := range segs {
		s := &segs[i]
		*s = b.labels.segment(s.a.half(), s.b.half(), s.label)
	}
}

// half returns the nearest position on a grid that is half as fine; of two equally near ones, the even one, so that
// positions do not drift to one side from level to level.
func (p Point) half() Point { return Point{(p.X + p.X>>1&1) >> 1, (p.Y + p.Y>>1&1) >> 1} }

// seg is an edge from a to b, where a.less(b). The label represents the features on its sides, seen from a to b.
type seg struct {
	a, b  Point
	label int32
	fresh bool // may touch other edges
}

func (p Point) less(q Point) bool { return p.X < q.X || p.X == q.X && p.Y < q.Y }

// segment returns the edge of two ends, which may be equal.
func (l *labels) segment(a, b Point, label int32) seg {
	if b.less(a) {
		return seg{b, a, l.reverse[label], true}
	}
	return seg{a, b, label, true}
}

// labels numbers the sets of features on the sides of edges: features on the left as number+1, those on the right
// negated, as often as they occur. Label 0 is the empty set.
type labels struct {
	all     []int32 // of each label, sorted by feature, concatenated
	starts  []int32 // start of each label in all, and the end
	reverse []int32
	few     map[[2]int32]int32 // labels of up to two entries; a missing one is 0
	many    map[string]int32
	sums    map[[2]int32]int32
	key     []byte
	list    []int32

	layers   []int32  // first feature of each layer except the first
	features int32    // in all layers
	masks    []uint64 // bit set of each label: layers of its features
}

// layer returns the layer of a feature, given as number+1 or its negation.
func (l *labels) layer(f int32) int {
	n := 0
	for n < len(l.layers) && abs(f) > l.layers[n] {
		n++
	}
	return n
}

// order returns the layers, those with the fewest features first.
func (l *labels) order() []int {
	list, size := make([]int, len(l.layers)+1), make([]int32, len(l.layers)+1)
	bounds := append(append([]int32{0}, l.layers...), l.features)
	for i := range list {
		list[i], size[i] = i, bounds[i+1]-bounds[i]
	}
	slices.SortStableFunc(list, func(i, k int) int { return int(size[i] - size[k]) })
	return list
}

// on reports whether an edge with a label is part of a border of a layer. With a single layer every edge is.
func (l *labels) on(label int32, layer int) bool {
	return len(l.layers) == 0 || l.masks[label]>>layer&1 != 0
}

// elsewhere is the factor for the length of an edge that is also on a border of another layer, so that borders prefer
// to follow existing ones.
const elsewhere = 1e-6

// weight returns the factor for the length of an edge with a label, in decisions of a layer.
func (l *labels) weight(label int32, layer int) float64 {
	if l.masks[label]&^(1<<layer) != 0 {
		return elsewhere
	}
	return 1
}

func newLabels() *labels {
	l := &labels{starts: []int32{0}, few: map[[2]int32]int32{}, many: map[string]int32{}, sums: map[[2]int32]int32{}}
	l.intern(nil)
	return l
}

// set returns the features on the sides of an edge with a label. The caller must not change it.
func (l *labels) set(label int32) []int32 {
	from, to := l.starts[label], l.starts[label+1]
	return l.all[from:to:to]
}

// bytes returns the approximate memory; entries of maps need twice their content.
func (l *labels) bytes() int64 {
	return int64(4*(len(l.all)+len(l.starts)+len(l.reverse)) + 24*(len(l.few)+len(l.sums)) + 100*len(l.many))
}

func (l *labels) side(feature int32, left bool) int32 {
	f := feature + 1
	if !left {
		f = -f
	}
	return l.intern([]int32{f})
}

// intern returns the label of a list, which it copies, and creates the label of the opposite direction, too.
func (l *labels) intern(list []int32) int32 {
	if n, ok := l.find(list); ok {
		return n
	}
	n := l.put(list)
	if len(list) == 0 {
		l.reverse = append(l.reverse, n)
		return n
	}
	other := make([]int32, len(list))
	for i, f := range list {
		other[i] = -f
	}
	l.reverse = append(l.reverse, l.put(other), n)
	return n
}

// put creates a label for a list.
func (l *labels) put(list []int32) int32 {
	n := int32(len(l.starts) - 1)
	if len(list) <= 2 {
		l.few[fewOf(list)] = n
	} else {
		l.many[string(l.keyOf(list))] = n
	}
	mask := uint64(0)
	for _, f := range list {
		mask |= 1 << l.layer(f)
	}
	l.masks = append(l.masks, mask)
	l.all = append(l.all, list...)
	l.starts = append(l.starts, int32(len(l.all)))
	return n
}

func (l *labels) find(list []int32) (n int32, ok bool) {
	if len(list) <= 2 {
		n, ok = l.few[fewOf(list)]
	} else {
		n, ok = l.many[string(l.keyOf(list))]
	}
	return n, ok
}

func fewOf(list []int32) (key [2]int32) {
	copy(key[:], list)
	return key
}

func (l *labels) keyOf(list []int32) []byte {
	l.key = l.key[:0]
	for _, f := range list {
		l.key = append(l.key, byte(f), byte(f>>8), byte(f>>16), byte(f>>24))
	}
	return l.key
}

// sum returns the label of two edges that lie on each other, if there is no third. A feature on both sides vanishes.
func (l *labels) sum(a, b int32) int32 { return l.once(l.add(a, b)) }

// once returns the label in which each feature occurs at most once.
func (l *labels) once(label int32) int32 {
	set := l.set(label)
	for i := 1; i < len(set); i++ {
		if set[i] == set[i-1] {
			return l.intern(slices.Compact(slices.Clone(set)))
		}
	}
	return label
}

// add returns the label of two edges that lie on each other, if there may be more. A feature that is twice on one side
// and once on the other remains once on the first.
func (l *labels) add(a, b int32) int32 {
	if a == 0 || b == 0 {
		return a + b
	}
	if a > b {
		a, b = b, a
	}
	k := [2]int32{a, b}
	if n, ok := l.sums[k]; ok {
		return n
	}
	n := l.merge(append(slices.Clone(l.set(a)), l.set(b)...))
	l.sums[k] = n
	return n
}

// merge returns the label of an unsorted list with repeated features. It changes the list.
func (l *labels) merge(list []int32) int32 {
	slices.SortFunc(list, func(f, g int32) int { return int(abs(f) - abs(g)) })
	out := l.list[:0]
	for i := 0; i < len(list); {
		net, f := int32(0), abs(list[i])
		for ; i < len(list) && abs(list[i]) == f; i++ {
			net += list[i] / f
		}
		if net < 0 {
			net, f = -net, -f
		}
		for range net {
			out = append(out, f)
		}
	}
	l.list = out
	return l.intern(out)
}

func abs(v int32) int32 { return max(v, -v) }
