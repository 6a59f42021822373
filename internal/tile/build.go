package tile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/arc"
	"grense/internal/crs"
	"grense/internal/store"
	"grense/internal/wkb"
)

// reading is what of a store is needed to read a collection whole; a store.Snapshot is one, too.
type reading interface {
	Catalog() *store.Catalog
	Page(ctx context.Context, q store.Query) (*store.Page, error)
	Fetch(ctx context.Context, collection string, rows []store.Row, want store.Want, fn func(*store.Feature) error) error
}

// maker makes the levels of a collection in a set.
type maker struct {
	st   reading
	c    *store.Collection
	set  *Set
	move crs.Func
	out  *sideWriter
	told func(done int) // in hundredths

	whole   bool  // arcs of areas are wanted in full, and nothing else
	memory  int64 // see Options
	options arc.Options
	grid    arc.Grid
	tags    *tagger
	offsets []byte
	sum     uint64 // of ids and revisions
	build   *arc.Builder
	lines   *arc.Lines
	points  points
	divided bool // most areas share borders with others
	first   int
}

// Names of sections.
const (
	secRecords = "records"
	secOffsets = "offsets"
	secPoints  = "points"
)

func secArea(z int) string { return fmt.Sprint("area ", z) }
func secLine(z int) string { return fmt.Sprint("line ", z) }

// grid is that of the finest level; its origin is the upper left corner of all tiles.
func (s *Set) grid() arc.Grid { return arc.Grid{Origin: s.origin, Unit: s.unit(s.finest())} }

// corner is the upper left corner of a tile on the grid of its level.
func corner(t Tile) arc.Point { return arc.Point{X: int32(t.Col * Extent), Y: int32(-t.Row * Extent)} }

// run fills the side file but for its revision.
func (m *maker) run(ctx context.Context) error {
	m.grid, m.tags = m.set.grid(), newTagger(m.c, nil)
	if m.whole = m.set.ID == wholeID; m.whole {
		m.options, m.tags = arc.Whole, newTagger(m.c, []string{})
	}
	m.options.Memory, m.options.Skip = m.memory, m.set.finest()-m.set.first
	m.build, m.lines = arc.NewBuilder(m.grid, m.options), arc.NewLines(m.grid)
	m.points = points{c: m.c, first: m.set.first, last: m.set.finest(), thin: m.set.thin()}
	m.first = m.set.finest() + 1
	if err := m.read(ctx); err != nil {
		return err
	}
	sum := &m.out.sum
	sum.Names, sum.Last, sum.Coverage = m.tags.kept(), m.set.finest(), true
	if err := m.out.put(secOffsets, m.offsets); err != nil {
		return err
	}
	m.offsets = nil
	err := m.levels(ctx)
	if errors.Is(err, arc.ErrApart) || errors.Is(err, arc.ErrPlanar) {
		sum.Coverage = false
		err = m.alone(ctx)
	}
	if err == nil {
		err = m.coarserLines(ctx)
	}
	if err == nil && len(m.points.at) > 0 {
		m.points.mix(m.divided)
		m.first = m.set.first
		err = m.out.put(secPoints, m.points.thinned())
	}
	sum.First = min(m.first, sum.Last)
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

// read reads all features once: records go into the file, geometries into builders.
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
			m.told(50 * i / max(m.c.Count, i+1))
		}
		return m.add(i, f, &bound)
	})
	m.offsets = binary.LittleEndian.AppendUint64(m.offsets, uint64(m.out.at-start))
	if !bound.IsEmpty() {
		m.out.sum.Bound = &orb.Bound{Min: bound.Min, Max: bound.Max}
	}
	return err
}

// add gives the parts of a geometry to their builders. One that has no place on the grid is left out, and counted.
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
		return arc.ErrTooLarge
	}
	return nil
}

// enough is the area in cells that half of the features have from the first level on.
const enough = 8

// firstOf is the first level on which half of some sizes, in cells of level z, are enough; by is how many times larger they are on it than on the one before.
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

// firstArea is the first level of a layer by the finest that is made, z.
func (m *maker) firstArea(l *arc.Level, z int) int {
	var sizes []float64
	for f := range l.Features() {
		if a := l.Area(f); a > 0 {
			sizes = append(sizes, a)
		}
	}
	return m.firstOf(sizes, z, 4)
}

// levels makes those of polygons as one coverage.
func (m *maker) levels(ctx context.Context) error {
	if m.build.Empty() {
		return nil
	}
	build, first, last := m.build, 0, m.set.finest()
	m.build, m.out.sum.Live = nil, build.Skipped()
	return build.Each(ctx, func(i int, l *arc.Level) (bool, error) {
		z := last - i
		if i == m.out.sum.Live {
			first = m.firstArea(l, z)
			m.divided = l.Shared() > len(m.points.areas)/2
			m.first = min(m.first, first)
		}
		b, err := l.AppendBinary(nil)
		if err != nil {
			return false, err
		}
		m.told(50 + 50*(i+1)/max(1, last-first+1)) // first is beyond last where all areas are smaller than a cell
		return z > first, m.out.put(secArea(z), b)
	})
}

// alone makes levels of polygons, each feature by itself.
func (m *maker) alone(ctx context.Context) error {
	live := m.out.sum.Live
	last := m.set.finest() - live
	all := make([]arc.Level, last-m.set.first+1)
	options := m.options
	options.Memory = 0 // each feature has all levels
	err := m.scan(ctx, store.Want{Properties: []string{}}, func(i int, f *store.Feature) error {
		b := arc.NewBuilder(m.grid, options)
		if err := b.Add(f.Geometry.WKB, m.move); err != nil {
			b = arc.NewBuilder(m.grid, options)
			if err := b.Add(nil, nil); err != nil {
				return err
			}
		}
		levels, err := b.Levels(ctx, live+len(all))
		if errors.Is(err, arc.ErrPlanar) {
			m.out.sum.Unplaced++
			b = arc.NewBuilder(m.grid, options)
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
		if m.memory > 0 && 2*all[0].Bytes() > m.memory { // all coarser ones together take as much at most
			return arc.ErrTooLarge
		}
		return nil
	})
	if err != nil {
		return err
	}
	first := m.firstArea(&all[0], last)
	m.first = min(m.first, first)
	for i := range last - first + 1 {
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

// coarserLines makes the levels of lines.
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
		l = l.Coarser(shift, arc.Options{})
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

// addRow adds a feature in a revision to a sum.
func addRow(sum uint64, id string, rev uint64) uint64 {
	const prime = 1099511628211
	for i := range len(id) {
		sum = (sum ^ uint64(id[i])) * prime
	}
	sum = (sum ^ 0xff) * prime
	return (sum ^ rev ^ rev>>29) * prime
}

// kept lists the properties of records.
func (t *tagger) kept() []string {
	var names []string
	for i, name := range t.want {
		if t.keep[i] {
			names = append(names, name)
		}
	}
	return names
}

// betweenIDs stands between the id of a row and that of the feature that it is a version of.
const betweenIDs = "\x00"

// record appends the record of a feature: messages of its id and of its values, each after its length, which is 0 for null.
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
	if f.Of != "" { // rows are found by theirs, and bear that of their feature
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
			v = string(j)
		}
		if err := put(v); err != nil {
			return nil, err
		}
	}
	return dst, nil
}
