package tile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/geo/coverage"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// maker builds the tile levels of one collection in one set.
type maker struct {
	st     store.Reader
	c      *store.Collection
	set    *Set
	move   crs.Func
	out    *sideWriter
	report func(done int) // called with the progress in percent

	whole   bool  // build only one level, with unsimplified borders and without properties; see wholeID
	memory  int64 // Options.Memory
	options coverage.Options
	grid    coverage.Grid
	tags    *tagger
	offsets []byte
	sum     uint64 // hash of ids and revisions (addRow)
	build   *coverage.Builder
	lines   *coverage.Lines
	points  points
	poles   *poles  // nil: no labels
	colors  []uint8 // of areas; nil: none yet
	divided bool    // most areas share borders with other areas
	first   int

	from, to   int // range of its features in build
	firstLevel int // first level with areas
	widths     []float64
}

// Names of sections in a side file.
const (
	secRecords = "records"
	secOffsets = "offsets"
	secPoints  = "points"
	secLabels  = "labels"
	secColors  = "colors"

	coarsePrefix = "coarse " // prefix of sections with coarse levels, used while the other levels are built
)

func secArea(z int) string { return fmt.Sprint("area ", z) }
func secLine(z int) string { return fmt.Sprint("line ", z) }

// grid returns the grid of the finest level. Its origin is the upper left corner of the set.
func (s *Set) grid() coverage.Grid { return coverage.Grid{Origin: s.origin, Unit: s.unit(s.finest())} }

// corner returns the upper left corner of a tile, in cells of the grid of its level.
func corner(t Tile) coverage.Point {
	return coverage.Point{X: int32(t.Col * Extent), Y: int32(-t.Row * Extent)}
}

// makeLevels builds the levels of all makers, which have the same set, and writes them to their side files, except the
// data version. The areas of all makers form one coverage. If it has more than coarse edges, coarse levels are built
// first, and publish is called when they are complete.
func makeLevels(ctx context.Context, makers []*maker, coarse int, publish func() error) error {
	var build *coverage.Builder
	for i, m := range makers {
		m.prepare()
		if i == 0 {
			build = coverage.NewBuilder(m.grid, m.options)
		} else {
			build.NextLayer()
		}
		m.build, m.from = build, build.Features()
		if err := m.read(ctx); err != nil {
			return err
		}
		m.to, m.build = build.Features(), nil
		sum := &m.out.sum
		sum.Names, sum.Last, sum.Coverage = m.tags.kept(), m.set.finest(), true
		if err := m.out.put(secOffsets, m.offsets); err != nil {
			return err
		}
		m.offsets = nil
	}
	if build.Edges() > coarse &&
		!slices.ContainsFunc(makers, func(m *maker) bool {
			return m.whole || m.lines.Count() > 0 || m.points.features > 0
		}) {
		if err := coarseLevels(ctx, makers, build.Coarse(coarseSkip(makers, build, coarse))); err == nil {
			if err := publish(); err != nil {
				return err
			}
		} else if !errors.Is(err, coverage.ErrApart) && !errors.Is(err, coverage.ErrPlanar) {
			return err
		}
	}
	err := areaLevels(ctx, makers, build)
	alone := len(makers) == 1 && (errors.Is(err, coverage.ErrApart) || errors.Is(err, coverage.ErrPlanar))
	if err != nil && !alone {
		return err
	}
	for _, m := range makers {
		if alone {
			m.out.sum.Coverage, m.out.sum.Live = false, build.Skipped()
			if err := m.alone(ctx); err != nil {
				return err
			}
		}
		if err := m.finish(ctx); err != nil {
			return err
		}
	}
	return nil
}

// coarseWidth is the least width, in cells, of half of a layer's areas on the finest coarse level, unless that level
// would have too many edges.
const coarseWidth = 16

// coarseSkip returns how many of the finest levels the coarse ones leave out, such that about as many edges remain
// as the parameter most states. It assumes one edge per two cells of border, counted on both sides.
func coarseSkip(makers []*maker, build *coverage.Builder, most int) int {
	skip := math.Log2(float64(build.Length()) / 2 / float64(most))
	for _, m := range makers {
		if n := len(m.widths); n > 0 {
			slices.Sort(m.widths)
			skip = min(skip, math.Log2(m.widths[n/2]/m.grid.Unit/coarseWidth))
		}
	}
	return max(1, int(skip)-build.Skipped())
}

// prepare sets up the builders before features are read.
func (m *maker) prepare() {
	m.grid, m.tags = m.set.grid(), newTagger(m.c, nil)
	if m.whole = m.set.ID == wholeID; m.whole {
		m.options, m.tags = coverage.Whole, newTagger(m.c, []string{})
	}
	m.options.Memory, m.options.Skip = m.memory, m.set.finest()-m.set.first
	m.lines = coverage.NewLines(m.grid)
	m.points = points{c: m.c, first: m.set.first, last: m.set.finest(), thin: m.set.thin(), bits: cellBits}
	if !m.whole {
		m.poles = m.newPoles()
	}
	m.first = m.set.finest() + 1
}

// finish builds the levels of lines and points, after the areas.
func (m *maker) finish(ctx context.Context) error {
	err := m.coarserLines(ctx)
	if err == nil && len(m.points.at) > 0 {
		m.points.mix(m.divided)
		m.first = m.set.first
		err = m.out.put(secPoints, m.points.thinned())
	}
	if err == nil && m.poles != nil {
		err = m.putLabels("", m.poles, m.colors)
	}
	m.out.sum.First = min(m.first, m.out.sum.Last)
	return err
}

// scan calls fn with all features in the order by id.
func (m *maker) scan(ctx context.Context, want store.Want, fn func(i int, f *store.Feature) error) error {
	q := store.Query{Collection: m.c.ID, Limit: 2000, Count: store.CountNone}
	n := 0
	for {
		page, err := m.st.Page(ctx, q)
		if err != nil {
			return err
		}
		err = m.st.Fetch(ctx, m.c.ID, page.Rows, want, func(f *store.Feature) error {
			n++
			return fn(n-1, f)
		})
		if err != nil {
			return err
		}
		if page.Next == "" {
			return nil
		}
		q.Cursor = page.Next
	}
}

// read reads all features once. It writes their records to the side file and adds their geometries to the builders.
func (m *maker) read(ctx context.Context) error {
	m.out.begin(secRecords)
	defer m.out.end()
	var record []byte
	bound := wkb.EmptyBound()
	if !m.whole {
		m.points.property()
	}
	want := store.Want{Properties: slices.Clone(m.tags.want)}
	if m.points.by != "" {
		want.Properties = append(want.Properties, m.points.by)
	}
	start := m.out.at
	err := m.scan(ctx, want, func(i int, f *store.Feature) error {
		m.sum = addRow(m.sum, f.ID, f.Rev)
		var err error
		if record, err = m.tags.record(binary.LittleEndian.AppendUint64(record[:0], f.Rev), f); err != nil {
			return err
		}
		m.offsets = binary.LittleEndian.AppendUint64(m.offsets, uint64(m.out.at-start))
		if _, err = m.out.Write(record); err != nil {
			return err
		}
		m.out.sum.Features++
		if i%1000 == 0 {
			m.report(50 * i / max(m.c.Count, i+1))
		}
		return m.add(i, f, &bound)
	})
	m.offsets = binary.LittleEndian.AppendUint64(m.offsets, uint64(m.out.at-start))
	if !bound.IsEmpty() {
		m.out.sum.Bound = &orb.Bound{Min: bound.Min, Max: bound.Max}
	}
	return err
}

// add adds a geometry to the builders of areas, lines and points. If it does not fit on the grid, it is counted in
// Unplaced and left out.
func (m *maker) add(i int, f *store.Feature, bound *orb.Bound) error {
	geometry := f.Geometry.WKB
	own, placed := wkb.EmptyBound(), true
	if len(geometry) > 0 {
		var value any
		if m.points.by != "" {
			value = f.Values[len(f.Values)-1]
		}
		mark := len(m.points.at)
		var outline middle
		err := wkb.Walk(geometry, func(r wkb.Run) bool {
			for k := range r.Len() {
				x, y := m.move(r.XY(k))
				wkb.Extend(&own, x, y)
				p, ok := m.grid.Snap(&r, k, m.move)
				if placed = placed && ok && wkb.Finite(x) && wkb.Finite(y); !placed {
					return false
				}
				if m.whole {
					continue
				}
				if r.Kind == wkb.Point {
					m.points.at = append(m.points.at, m.points.place(p, int32(i), f.ID, value))
				}
				outline.add(&r, k, p)
			}
			return true
		})
		if err != nil || !placed {
			m.out.sum.Unplaced++
			m.points.at = m.points.at[:mark]
			geometry = nil
		} else {
			*bound = bound.Union(own)
			m.widths = append(m.widths, max(own.Max[0]-own.Min[0], own.Max[1]-own.Min[1]))
			if len(m.points.at) > mark {
				m.points.features++
			}
			if !m.whole {
				m.points.outline(&outline, i, f.ID, value)
			}
		}
	}
	if err := m.build.Add(geometry, m.move); err != nil || m.whole {
		return err
	}
	if err := m.lines.Add(m.grid, geometry, m.move); err != nil {
		return err
	}
	if m.memory > 0 && m.points.bytes()+m.lines.Bytes() > m.memory {
		return coverage.ErrTooLarge
	}
	return nil
}

// enough is the area in cells that half of a layer's features must have on its first level.
const enough = 8

// firstOf returns the first level on which half of the sizes are at least enough cells. sizes are in cells of level z;
// each coarser level divides them by by.
func (m *maker) firstOf(sizes []float64, z int, by float64) int {
	if len(sizes) == 0 {
		return m.set.finest() + 1
	}
	slices.Sort(sizes)
	v := sizes[len(sizes)/2]
	for z > m.set.first && v/by >= enough {
		v /= by
		z--
	}
	return z
}

// firstArea returns the first level with areas, and sets their Side. l is the finest level that is built, and z its
// number.
func (m *maker) firstArea(l *coverage.Level, z int) int {
	var sizes []float64
	for f := range l.Features() {
		if a := l.Area(f); a > 0 {
			sizes = append(sizes, a)
		}
	}
	first := m.firstOf(sizes, z, 4)
	if n := len(sizes); n > 0 { // sorted now
		m.out.sum.Side = math.Sqrt(sizes[n/2]) * l.Unit
	}
	return first
}

// areaLevels builds the levels of the polygons of all makers as one coverage.
func areaLevels(ctx context.Context, makers []*maker, build *coverage.Builder) error {
	if build.Empty() {
		return nil
	}
	for _, m := range makers {
		m.out.sum.Live = build.Skipped()
	}
	first := true
	return build.Each(ctx, func(i int, l *coverage.Level) (more bool, err error) {
		for _, m := range makers {
			goesOn, err := m.level(i, m.of(l, len(makers)), first)
			if err != nil {
				return false, err
			}
			more = more || goesOn
		}
		first = false
		return more, nil
	})
}

// of returns the features of this maker in a level that all makers share.
func (m *maker) of(l *coverage.Level, layers int) *coverage.Level {
	if layers == 1 {
		return l
	}
	return l.Layer(m.from, m.to)
}

// level writes one level, unless it is too coarse for the layer. more is true if coarser levels are needed.
func (m *maker) level(i int, l *coverage.Level, first bool) (more bool, err error) {
	z := m.set.finest() - i
	if first {
		m.firstLevel = m.firstArea(l, z)
		m.divided = l.Shared() > len(m.points.areas)/2
		m.first = min(m.first, m.firstLevel)
	}
	if z < m.firstLevel && !first {
		return false, nil
	}
	if m.poles != nil {
		if first {
			m.colors = l.Colors()
		}
		m.poles.add(l, uint(i), z <= m.firstLevel)
	}
	b, err := l.AppendBinary(nil)
	if err != nil {
		return false, err
	}
	// firstLevel is beyond the finest level if all areas are smaller than a cell
	m.report(50 + 50*(i+1)/max(1, m.set.finest()-m.firstLevel+1))
	return z > m.firstLevel, m.out.put(secArea(z), b)
}

// coarseLevels writes the coarse levels of areas; build starts with the finest of them.
func coarseLevels(ctx context.Context, makers []*maker, build *coverage.Builder) error {
	labels := make([]*poles, len(makers))
	for i, m := range makers {
		m.out.rough.Live, m.out.rough.First = build.Skipped(), -1
		labels[i] = m.newPoles()
	}
	return build.Each(ctx, func(i int, l *coverage.Level) (more bool, err error) {
		for n, m := range makers {
			z, l := m.set.finest()-i, m.of(l, len(makers))
			var colors []uint8
			if m.out.rough.First < 0 {
				m.out.rough.First = min(m.firstArea(l, z), z)
				colors = l.Colors()
			}
			if z < m.out.rough.First {
				continue
			}
			b, err := l.AppendBinary(nil)
			if err == nil {
				err = m.out.put(coarsePrefix+secArea(z), b)
			}
			labels[n].add(l, uint(i), z == m.out.rough.First)
			if err == nil && colors != nil {
				err = m.putLabels(coarsePrefix, &poles{}, colors)
			}
			if err == nil && z == m.out.rough.First {
				err = m.putLabels(coarsePrefix, labels[n], nil)
			}
			if err != nil {
				return false, err
			}
			more = more || z > m.out.rough.First
		}
		return more, nil
	})
}

// alone builds levels of polygons without shared borders: it simplifies each feature independently.
func (m *maker) alone(ctx context.Context) error {
	live := m.out.sum.Live
	last := m.set.finest() - live
	all := make([]coverage.Level, last-m.set.first+1)
	options := m.options
	options.Memory = 0 // all levels of one feature fit into memory
	err := m.scan(ctx, store.Want{Properties: []string{}}, func(i int, f *store.Feature) error {
		b := coverage.NewBuilder(m.grid, options)
		if err := b.Add(f.Geometry.WKB, m.move); err != nil {
			b = coverage.NewBuilder(m.grid, options)
			if err := b.Add(nil, nil); err != nil {
				return err
			}
		}
		levels, err := b.Levels(ctx, live+len(all))
		if errors.Is(err, coverage.ErrPlanar) {
			m.out.sum.Unplaced++
			b = coverage.NewBuilder(m.grid, options)
			err = b.Add(nil, nil)
			if err == nil {
				levels, err = b.Levels(ctx, live+len(all))
			}
		}
		if err != nil {
			return err
		}
		for i, l := range levels[live:] {
			all[i].Join(l)
		}
		if m.memory > 0 && 2*all[0].Bytes() > m.memory { // the coarser levels together take at most as much again
			return coverage.ErrTooLarge
		}
		return nil
	})
	if err != nil {
		return err
	}
	first := m.firstArea(&all[0], last)
	m.first = min(m.first, first)
	m.colors = all[0].Colors()
	for i := range last - first + 1 {
		if m.poles != nil {
			m.poles.add(&all[i], uint(live+i), i == last-first)
		}
		b, err := all[i].AppendBinary(nil)
		if err == nil {
			err = m.out.put(secArea(last-i), b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// coarserLines builds the levels of lines.
func (m *maker) coarserLines(ctx context.Context) error {
	if m.lines.Count() == 0 {
		return nil
	}
	var sizes []float64
	for f := range m.lines.Features() {
		if low, high, ok := m.lines.Around(f); ok {
			sizes = append(sizes, float64(max(high.X-low.X, high.Y-low.Y)))
		}
	}
	first := m.firstOf(sizes, m.set.finest(), 2)
	m.first = min(m.first, first)
	l := m.lines
	m.lines = nil
	for z := m.set.finest(); z >= first; z-- {
		if err := ctx.Err(); err != nil {
			return err
		}
		shift := uint(1)
		if z == m.set.finest() {
			shift = 0
		}
		l = l.Coarser(shift, coverage.Options{})
		b, err := l.AppendBinary(nil)
		if err == nil {
			err = m.out.put(secLine(z), b)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addRow adds the id and the revision of a feature to a hash.
func addRow(sum uint64, id string, rev uint64) uint64 {
	const prime = 1099511628211
	for i := range len(id) {
		sum = (sum ^ uint64(id[i])) * prime
	}
	sum = (sum ^ 0xff) * prime
	return (sum ^ rev ^ rev>>29) * prime
}

// kept returns the names of the properties in records.
func (t *tagger) kept() []string {
	var names []string
	for i, name := range t.want {
		if t.keep[i] {
			names = append(names, name)
		}
	}
	return names
}

// betweenIDs separates the id of a row from the id of its feature in a collection with versions.
const betweenIDs = "\x00"

// record appends the record of a feature: the id and the values, each encoded by appendValue after its length. A null
// has length 0.
func (t *tagger) record(dst []byte, f *store.Feature) ([]byte, error) {
	var value []byte
	put := func(v any) (err error) {
		if value, err = appendValue(value[:0], v); err != nil {
			return fmt.Errorf("tile: feature %s: %w", f.ID, err)
		}
		dst = append(binary.AppendUvarint(dst, uint64(len(value))), value...)
		return nil
	}
	id := f.ID
	if f.Of != "" { // find looks up the row id; tiles contain the feature id
		id += betweenIDs + f.Of
	}
	if err := put(id); err != nil {
		return nil, err
	}
	for i, keep := range t.keep {
		if !keep {
			continue
		}
		v := f.Values[i]
		if j, ok := v.(store.JSON); ok {
			v = t.plain(i, j)
		}
		if err := put(v); err != nil {
			return nil, err
		}
	}
	return dst, nil
}
