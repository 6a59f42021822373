// Package coverage keeps shared borders shared. The polygons of a layer are cut on an integer grid into arcs that
// neighbours have in common; arcs are simplified, once for each level, and rings are made of them. On every level,
// therefore, neighbours have the same vertices along their border, nothing gaps, overlaps or crosses, and rings are
// valid.
//
// A Builder takes several layers (NextLayer). Borders that coincide in the source then coincide on every level. What
// is decided by neighbours, as the owner of a small face, is decided within each layer, the one with the fewest
// features first; the others follow its borders.
//
// The grid of a level is twice as coarse as that of the one before; a level is made from the finer one. Moving
// vertices to a grid may make edges touch and cross: they are cut there until no two have more than an end in common
// (planar). What lies on both sides of edges that come to lie on each other is summed up, so that a face that has
// become a line is gone and what was on its sides are neighbours.
//
// Borders that do not match are arcs of their own: what gaps or overlaps before does so after. Rings that cross
// themselves become valid ones, which may lack a part of them; an import mends such rings (package ingest). Features
// are known by their number, in the order of Add. A Builder is for one goroutine; levels are immutable.
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

// Grid says where the positions of the finest level lie: x = Origin[0] + X·Unit, y = Origin[1] + Y·Unit.
type Grid struct {
	Origin orb.Point
	Unit   float64
}

// Point is a position on a grid, X to the right and Y up.
type Point struct{ X, Y int32 }

// MaxPosition bounds the positions of the finest level, so that products of differences fit into 64 bits.
const MaxPosition = 1<<28 - 1

// Options say how levels are made. Areas and lengths are in units of the grid of the level.
type Options struct {
	// area of the triangles by which vertices are removed; weighted: sharp bends go first, and so do those that give
	// areas their size back. Defaults to 16
	Tolerance float64
	// area below which a ring without junctions is left out, but for the largest of its feature. Defaults to 16
	Island float64
	Span   int32 // features less wide and high are left out. Defaults to 4
	// Memory is how many bytes edges and what is on their sides may take while levels are made, about; 0: no bound.
	// Where they take more, the finest levels are left out, at most Skip of them, and with more than that Add and
	// Each end with ErrTooLarge.
	Memory int64
	Skip   int
}

// Whole leaves out nothing that the grid can show.
var Whole = Options{Tolerance: -1, Island: -1, Span: 1}

// Builder collects the polygons of a layer.
type Builder struct {
	grid   Grid
	o      Options
	labels *labels
	segs   []seg
	skip   int // finest levels that are left out
	// twice the area of each feature before anything is simplified, in cells of the finest level, with what it is
	// heir of (drop)
	whole  []int64
	n      int32
	ringed int // features with edges
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

// ErrOutside reports a position that has no place on the grid.
var ErrOutside = errors.New("arc: a position outside of the grid")

// Add adds a feature: the polygons of a geometry, its rings oriented in any way, in a coordinate system that move
// brings to that of the grid; nil leaves it. A geometry without polygons, nil too, is a feature without rings. After
// an error the Builder is as it was, but for ErrTooLarge, which ends it.
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

// NextLayer begins another layer, of at most mostLayers: features that are added from now on belong to it.
func (b *Builder) NextLayer() { b.labels.layers = append(b.labels.layers, b.n) }

// Features returns the number of features that were added, of all layers.
func (b *Builder) Features() int { return int(b.n) }

// Edges returns the number of edges that were added and not yet joined.
func (b *Builder) Edges() int { return len(b.segs) }

// Length returns the length of all edges in cells, each as the larger of its width and height.
func (b *Builder) Length() (sum int64) {
	for i := range b.segs {
		s := &b.segs[i]
		sum += int64(max(s.b.X-s.a.X, abs(s.b.Y-s.a.Y)))
	}
	return sum
}

// Coarse returns a Builder of the same features without so many of the finest levels, beside those that b leaves out;
// as many as Options.Skip allows. It shares memory with b: it is to be used before b is used again, and not
// afterwards.
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

// ErrTooLarge reports polygons that take more than Options.Memory on the coarsest level that there is to be.
var ErrTooLarge = errors.New("arc: the polygons take more memory than they may")

// edgeBytes is what an edge takes while a level is made, beside others and in a graph.
const edgeBytes = 72

// bytes is what making a level of the edges takes, about.
func (b *Builder) bytes() int64 { return int64(len(b.segs))*edgeBytes + b.labels.bytes() }

// shrink joins edges that lie on each other, and takes all to coarser grids until a quarter of the memory is free.
// Levels of edges that are taken there as they are differ little from those of simplified ones: what was removed from
// these is less than a few cells.
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

// relabel forgets labels that no edge has.
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

// Skipped returns how many of the finest levels are left out for lack of memory.
func (b *Builder) Skipped() int { return b.skip }

// ring adds the edges of a ring; false when it leaves the grid.
func (b *Builder) ring(r *wkb.Run, move crs.Func) bool {
	label := b.labels.side(b.n, (r.Area() > 0) == (r.Ring == 0))
	var last Point
	for i := range r.Len() {
		p, ok := b.grid.Snap(r, i, move)
		if !ok {
			return false
		}
		for range b.skip { // as those before have been
			p = p.half()
		}
		if i > 0 && p != last {
			b.segs = append(b.segs, b.labels.segment(last, p, label))
		}
		last = p
	}
	return true
}

// ErrApart reports polygons whose edges cross so often that they are no coverage: they are to be simplified each alone.
var ErrApart = errors.New("arc: the edges of the polygons cross too often for a coverage")

// Crossings between edges that a coverage may have on its finest level: so many, and one in so many edges.
const (
	mostCrossings = 500
	oftenCrossing = 20
	// Where the finest levels are left out, edges cross because they have been moved by half a cell.
	oftenMoved = 4
)

// Each makes levels, the finest first, and drops what was added. It calls fn with each and its number, which begins
// with Skipped, until fn returns false; levels are fn's to keep. ErrApart comes before the first one.
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

// next makes a level of the edges of the finer one, and returns its own.
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

// settlings bounds how often small faces are settled: what is changed may make another one.
const settlings = 4

// settled settles small faces, and rebuilds the graph where that changes it. Segs is memory for edges.
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

// Empty reports whether no feature that was added has edges.
func (b *Builder) Empty() bool { return len(b.segs) == 0 }

// Levels makes n levels, the finest first; see Each.
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

// half is the position on a grid that is half as fine; of two that are as near the even one, so that nothing drifts
// to one side from level to level.
func (p Point) half() Point { return Point{(p.X + p.X>>1&1) >> 1, (p.Y + p.Y>>1&1) >> 1} }

// seg is an edge from a to b, which is greater by less. The label says what is on its sides, as seen from a to b.
type seg struct {
	a, b  Point
	label int32
	fresh bool // not known to be apart from the others
}

func (p Point) less(q Point) bool { return p.X < q.X || p.X == q.X && p.Y < q.Y }

// segment returns the edge of two ends, which may be equal.
func (l *labels) segment(a, b Point, label int32) seg {
	if b.less(a) {
		return seg{b, a, l.reverse[label], true}
	}
	return seg{a, b, label, true}
}

// labels numbers what can be on the sides of edges: features on the left as their number plus 1, those on the right
// negative; as many times as they are there. Label 0 is nothing.
type labels struct {
	all     []int32 // of each label, sorted by feature, one behind the other
	starts  []int32 // of each label in all, and the end
	reverse []int32
	few     map[[2]int32]int32 // labels of two at most, 0 in the place of none
	many    map[string]int32
	sums    map[[2]int32]int32
	key     []byte
	list    []int32

	layers   []int32  // the first feature of each layer but the first
	features int32    // of all layers
	masks    []uint64 // of each label, the layers that it has features of
}

// layer returns the number of the layer that a feature belongs to, which is given as its number plus 1, negative or
// not.
func (l *labels) layer(f int32) int {
	n := 0
	for n < len(l.layers) && abs(f) > l.layers[n] {
		n++
	}
	return n
}

// order lists the layers, those with the fewest features first.
func (l *labels) order() []int {
	list, size := make([]int, len(l.layers)+1), make([]int32, len(l.layers)+1)
	bounds := append(append([]int32{0}, l.layers...), l.features)
	for i := range list {
		list[i], size[i] = i, bounds[i+1]-bounds[i]
	}
	slices.SortStableFunc(list, func(i, k int) int { return int(size[i] - size[k]) })
	return list
}

// on reports whether an edge with a label is on a border of a layer. Where there is one layer all edges are.
func (l *labels) on(label int32, layer int) bool {
	return len(l.layers) == 0 || l.masks[label]>>layer&1 != 0
}

// elsewhere is by how much an edge counts less for a layer if it is on a border of another one too: borders go where
// others are.
const elsewhere = 1e-6

// weight is by how much the length of an edge with a label counts for a layer.
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

// set returns what is on the sides of an edge with a label. It is not to be changed.
func (l *labels) set(label int32) []int32 {
	from, to := l.starts[label], l.starts[label+1]
	return l.all[from:to:to]
}

// bytes is the memory of all, about: entries of maps take twice what is in them.
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

// intern numbers a list, which it copies, and its reverse.
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

// put numbers a list that has no number.
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

// sum returns the label of two edges that lie on each other, and on which no third one lies. A feature on both sides
// is on none.
func (l *labels) sum(a, b int32) int32 { return l.once(l.add(a, b)) }

// once returns the label with each feature one time.
func (l *labels) once(label int32) int32 {
	set := l.set(label)
	for i := 1; i < len(set); i++ {
		if set[i] == set[i-1] {
			return l.intern(slices.Compact(slices.Clone(set)))
		}
	}
	return label
}

// add returns the label of two edges that lie on each other, where more may: what is on one side twice and on the
// other once is on the first.
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

// merge numbers a list in any order, in which features may occur more than once. The list is changed.
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
