package tile

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/paulmach/orb"

	"grense/internal/cache"
	"grense/internal/geo/coverage"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/store"
)

// levels are the tile levels of one collection in one set: simplified geometries for each zoom level, and the records
// of the features. They are immutable and safe for concurrent use. A replaced side file stays open for its readers
// until the garbage collector closes it.
type levels struct {
	n       int64 // unique number within a Maker
	set     *Set
	c       string
	side    *side
	cache   *cache.Cache[sectionKey, any]
	offsets []byte
	rev     string // version of the levels; see revOf
	live    bool   // rows may have changed since the levels were built; see same
	rough   bool   // coarse levels in use while the others are built; finer levels repeat the last one

	once sync.Once
	byID []int32 // feature numbers in the order of their numeric ids
	nums []uint64
	err  error
}

type sectionKey struct {
	levels int64
	name   string
}

// wholeRecords is the largest size, in bytes, of a section of records that is loaded as a whole.
const wholeRecords = 32 << 20

func (m *Maker) newLevels(set *Set, c string, s *side, live bool) (*levels, error) {
	m.mu.Lock()
	m.count++
	l := &levels{n: m.count, set: set, c: c, side: s, cache: m.cache, live: live}
	m.mu.Unlock()
	l.rev = revOf(l)
	var err error
	if l.offsets, err = s.section(secOffsets); err == nil && len(l.offsets) != 8*(s.sum.Features+1) {
		err = errSide
	}
	return l, err
}

// load returns a section as decoded by read, cached; nil if there is no such section.
func (l *levels) load(name string, read func(b []byte) (value any, size int64, err error)) (any, error) {
	if _, ok := l.side.sum.Sections[name]; !ok {
		return nil, nil
	}
	key := sectionKey{l.n, name}
	if v, ok := l.cache.Get(key); ok {
		return v, nil
	}
	b, err := l.side.section(name)
	if err != nil {
		return nil, err
	}
	v, size, err := read(b)
	if err != nil {
		return nil, err
	}
	l.cache.Put(key, v, size+int64(len(name)))
	return v, nil
}

func (l *levels) area(z int) (*coverage.Level, error) {
	if last := l.side.sum.drawn(); l.rough && z > last {
		return l.finer(z, last)
	}
	v, err := l.load(secArea(z), func(b []byte) (any, int64, error) {
		level := &coverage.Level{}
		err := level.UnmarshalBinary(b)
		return level, level.Bytes(), err
	})
	level, _ := v.(*coverage.Level)
	return level, err
}

// finer returns the last coarse level, scaled to the grid of a finer level.
func (l *levels) finer(z, last int) (*coverage.Level, error) {
	key := sectionKey{l.n, secArea(z)}
	if v, ok := l.cache.Get(key); ok {
		return v.(*coverage.Level), nil
	}
	coarse, err := l.area(last)
	if coarse == nil || err != nil {
		return nil, err
	}
	level := coarse.Finer(uint(z - last))
	l.cache.Put(key, level, level.Bytes())
	return level, nil
}

func (l *levels) line(z int) (*coverage.Lines, error) {
	v, err := l.load(secLine(z), func(b []byte) (any, int64, error) {
		lines := &coverage.Lines{}
		err := lines.UnmarshalBinary(b)
		return lines, lines.Bytes(), err
	})
	lines, _ := v.(*coverage.Lines)
	return lines, err
}

func (l *levels) points() (*shown, error) {
	v, err := l.load(secPoints, func(b []byte) (any, int64, error) {
		p, err := readPoints(b, l.set.first, l.set.finest(), l.side.sum.Features)
		return p, int64(len(b) + l.side.sum.Features), err
	})
	p, _ := v.(*shown)
	return p, err
}

// records reads the records of features. It is for one goroutine.
type records struct {
	l      *levels
	whole  []byte
	buf    []byte
	tags   []Tag
	row    string // id of the row that was read last
	rev    uint64 // revision of that row
	wanted []int  // index in tags for each value of a record; -1: not requested
}

// records returns a reader of records with some properties; nil means all properties.
func (l *levels) records(properties []string) (*records, error) {
	r := &records{l: l, tags: []Tag{{Key: IDKey}}}
	for _, name := range l.side.sum.Names {
		at := -1
		if properties == nil || slices.Contains(properties, name) {
			at = len(r.tags)
			r.tags = append(r.tags, Tag{Key: name})
		}
		r.wanted = append(r.wanted, at)
	}
	if l.side.sum.Sections[secRecords].Size > wholeRecords {
		return r, nil
	}
	v, err := l.load(secRecords, func(b []byte) (any, int64, error) { return b, int64(len(b)), nil })
	r.whole, _ = v.([]byte)
	return r, err
}

// of returns the numeric id and the tags of a feature. The tags are valid until the next call.
func (r *records) of(feature int) (id uint64, tags []Tag, err error) {
	b, err := r.read(feature)
	if err == nil && len(b) < 8 {
		err = errSide
	}
	if err != nil {
		return 0, nil, err
	}
	r.rev, b = binary.LittleEndian.Uint64(b), b[8:]
	next := func() []byte {
		n, k := binary.Uvarint(b)
		if k <= 0 || n > uint64(len(b)-k) {
			err, b = errSide, nil
			return nil
		}
		v := b[k : k+int(n) : k+int(n)]
		b = b[k+int(n):]
		return v
	}
	r.tags[0].raw = next()
	for _, at := range r.wanted {
		if v := next(); at >= 0 {
			r.tags[at].raw = v
		}
	}
	id = 0
	if r.row = textOf(r.tags[0].raw); err == nil {
		public := r.row
		if row, of, ok := strings.Cut(public, betweenIDs); ok {
			r.row, public = row, of
			r.tags[0].raw, err = appendValue(nil, of)
		}
		id = NumericID(public)
	}
	return id, r.tags, err
}

// rowID returns the id of the row that was read last.
func (r *records) rowID() string { return r.row }

func (r *records) read(feature int) ([]byte, error) {
	from, to := binary.LittleEndian.Uint64(r.l.offsets[8*feature:]),
		binary.LittleEndian.Uint64(r.l.offsets[8*feature+8:])
	x := r.l.side.sum.Sections[secRecords]
	if from > to || to > uint64(x.Size) {
		return nil, errSide
	}
	if r.whole != nil {
		return r.whole[from:to], nil
	}
	r.buf = slices.Grow(r.buf[:0], int(to-from))[:to-from]
	if _, err := r.l.side.r.ReadAt(r.buf, x.At+int64(from)); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return r.buf, nil
}

// textOf decodes a string encoded by appendValue; "" for other types.
func textOf(raw []byte) string {
	if len(raw) == 0 {
		return ""
	}
	if n, k := binary.Uvarint(raw[1:]); k > 0 && int(n) == len(raw)-1-k {
		return string(raw[1+k:])
	}
	return ""
}

// find returns the number of the feature with a row id; false if there is none.
func (l *levels) find(r *records, id string) (int, bool, error) {
	l.once.Do(func() {
		l.byID, l.nums = make([]int32, l.side.sum.Features), make([]uint64, l.side.sum.Features)
		for i := range l.byID {
			l.byID[i] = int32(i)
			if _, _, l.err = r.of(i); l.err != nil {
				return
			}
			l.nums[i] = NumericID(r.rowID())
		}
		slices.SortFunc(l.byID, func(a, b int32) int { return cmp.Compare(l.nums[a], l.nums[b]) })
	})
	if l.err != nil {
		return 0, false, l.err
	}
	n := NumericID(id)
	at, _ := slices.BinarySearchFunc(l.byID, n, func(f int32, n uint64) int { return cmp.Compare(l.nums[f], n) })
	for ; at < len(l.byID) && l.nums[l.byID[at]] == n; at++ {
		_, _, err := r.of(int(l.byID[at]))
		if err != nil || r.rowID() == id {
			return int(l.byID[at]), err == nil, err
		}
	}
	return 0, false, nil
}

// drawing is a layer of a tile in progress, drawn from levels.
type drawing struct {
	m       *Maker
	c       *store.Collection
	set     *Set
	l       *levels
	tile    Tile    // of a window only its level
	window  *Window // drawn in place of the tile; nil: none
	frame   frame
	exact   bool // see layered
	q       Query
	layer   *Layer
	names   *Layer // of labels; nil: none
	made    *Made
	records *records
	colors  []byte // of areas; nil: none
	tags    []Tag
	chosen  map[int32]bool // features that the filter selects; nil: all
	others  []store.Row    // selected rows of another revision than in the levels
	move    crs.Func
	shown   *shown // nil: there are no points
	low     coverage.Point
	high    coverage.Point // corners of the tile with its buffer, on the grid of its level
}

// draw adds all features in the tile to the layer.
func (d *drawing) draw(ctx context.Context, in store.Reader) (err error) {
	if d.tile.Z > d.l.side.sum.Last {
		return nil
	}
	if err := d.begin(ctx, in); err != nil {
		return err
	}
	if err := d.areas(ctx); err != nil {
		return err
	}
	if err := d.lines(ctx); err != nil {
		return err
	}
	if err := d.points(ctx); err != nil {
		return err
	}
	if err := d.labels(ctx); err != nil || len(d.others) == 0 {
		return err
	}
	s := slow{m: d.m, st: in, set: d.set, frame: d.frame, c: d.c, move: d.move, layer: d.layer, names: d.names,
		made: d.made}
	return s.some(ctx, d.q, d.others)
}

// begin loads what draw needs, and selects features by the filter.
func (d *drawing) begin(ctx context.Context, in store.Reader) (err error) {
	d.low, d.high = d.frame.box()
	properties := d.q.Properties
	if properties == nil && d.q.Titled {
		properties = []string{d.c.TitleProperty}
	}
	if d.records, err = d.l.records(properties); err != nil {
		return err
	}
	if d.shown, err = d.l.points(); err != nil {
		return err
	}
	if err := d.readColors(); err != nil {
		return err
	}
	if d.q.chooses() || d.exact {
		return d.choose(ctx, in)
	}
	return nil
}

// mostChosen is the largest number of features that a filter may select in one tile.
const mostChosen = 200_000

// errOtherRows reports that a row is not in the levels in its current revision.
var errOtherRows = errors.New("tile: rows have changed since the levels were made")

// same returns the number of the feature of a row. If the levels do not have the row in that revision, it returns
// errOtherRows for a live source and store.ErrChanged otherwise.
func (l *levels) same(r *records, row store.Row) (int, error) {
	f, ok, err := l.find(r, row.ID)
	switch {
	case err != nil:
		return 0, err
	case l.live && (!ok || r.rev != row.Rev):
		return 0, errOtherRows
	case !ok:
		return 0, store.ErrChanged
	}
	return f, nil
}

// choose runs the filter and splits the rows in the tile into chosen, which the levels have in their revision, and
// others.
func (d *drawing) choose(ctx context.Context, in store.Reader) error {
	s := slow{m: d.m, st: in, set: d.set, frame: d.frame, c: d.c}
	rows, err := s.rows(ctx, d.q, mostChosen)
	if err != nil {
		return err
	}
	d.chosen = make(map[int32]bool, len(rows))
	for _, r := range rows {
		f, err := d.l.same(d.records, r)
		if errors.Is(err, errOtherRows) {
			d.others = append(d.others, r)
			continue
		}
		if err != nil {
			return err
		}
		d.chosen[int32(f)] = true
	}
	return nil
}

// hidden reports whether the outline of a feature is not drawn: the filter excludes it or, without a filter, more
// important features nearby hide it at this level.
func (d *drawing) hidden(f int32) bool {
	if d.chosen != nil {
		return !d.chosen[f]
	}
	return d.shown.hides(f, d.tile.Z)
}

// through calls fn with the level of the tile; for a window also with finer ones, until fn reports that there is one.
func (d *drawing) through(fn func(z int) (found bool, err error)) (at frame, err error) {
	for by := 0; ; by++ {
		found, err := fn(d.frame.z + by)
		if found || err != nil || d.window == nil || d.frame.z+by >= d.l.side.sum.drawn() {
			d.layer.shift = uint(by)
			return d.frame.finer(by), err
		}
	}
}

func (d *drawing) areas(ctx context.Context) error {
	var level *coverage.Level
	at, err := d.through(func(z int) (_ bool, err error) {
		level, err = d.l.area(z)
		return level != nil, err
	})
	defer func() { d.layer.shift = 0 }()
	if level == nil || err != nil {
		return err
	}
	if d.mayJoin() {
		if joined := d.l.joined(at.z, level); joined != nil {
			return d.join(level, joined, at)
		}
	}
	var clip coverage.Clipper
	low, high := at.within(d.layer.margin << d.layer.shift).box()
	for i, f := range level.Search(nil, low, high) {
		if i%256 == 255 && ctx.Err() != nil {
			return ctx.Err()
		}
		if d.hidden(f) {
			continue
		}
		id, tags, err := d.records.of(int(f))
		if err != nil {
			return err
		}
		if _, err := d.layer.Polygons(&clip, level, int(f), at.corner, id, d.colored(f, tags)); err != nil {
			return err
		}
		if err := d.m.bound(d.layer); err != nil {
			return err
		}
	}
	return nil
}

func (d *drawing) lines(ctx context.Context) error {
	var lines *coverage.Lines
	at, err := d.through(func(z int) (_ bool, err error) {
		lines, err = d.l.line(z)
		return lines != nil, err
	})
	defer func() { d.layer.shift = 0 }()
	if lines == nil || err != nil {
		return err
	}
	low, high := at.box()
	var parts [][]coverage.Point
	for i, f := range lines.Search(nil, low, high) {
		if i%256 == 255 && ctx.Err() != nil {
			return ctx.Err()
		}
		if d.hidden(f) {
			continue
		}
		if parts = lines.Clip(parts[:0], int(f), low, high); len(parts) == 0 {
			continue
		}
		id, tags, err := d.records.of(int(f))
		if err == nil {
			err = d.layer.Lines(parts, at.corner, id, tags)
		}
		if err == nil {
			err = d.m.bound(d.layer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unlined removes the points of features whose outline the level contains. Features too small for an outline at this
// level keep their point.
func (d *drawing) unlined(list []shownPoint) ([]shownPoint, error) {
	if d.shown.outlines == nil {
		return list, nil
	}
	area, err := d.l.area(d.tile.Z)
	if err != nil {
		return nil, err
	}
	line, err := d.l.line(d.tile.Z)
	if err != nil {
		return nil, err
	}
	left := list[:0]
	for _, s := range list {
		if s.feature < 0 {
			s.feature = ^s.feature
			if f := int(s.feature); area != nil && area.Polygons(f) > 0 || line != nil && line.Parts(f) > 0 {
				continue
			}
		}
		left = append(left, s)
	}
	return left, nil
}

// points adds points, the most important first. With a filter, only the selected points compete for a cell.
func (d *drawing) points(ctx context.Context) error {
	p := d.shown
	if p == nil {
		return nil
	}
	shift := uint(p.last - d.tile.Z)
	low := coverage.Point{X: d.low.X << shift, Y: d.low.Y << shift}
	high := coverage.Point{X: d.high.X << shift, Y: d.high.Y << shift}
	z := d.tile.Z
	if d.chosen != nil {
		z = p.last
	}
	list, err := d.unlined(p.search(nil, [2]int{z, d.tile.Z}, low, high))
	if err != nil {
		return err
	}
	slices.SortFunc(list, func(a, b shownPoint) int { return cmp.Compare(a.order, b.order) })
	if d.chosen != nil {
		list = slices.DeleteFunc(list, func(s shownPoint) bool { return !d.chosen[s.feature] })
		if d.tile.Z <= d.l.set.thin() {
			all := len(list)
			list = bestOfCells(list, shift+cellBits)
			d.made.LeftOut += all - len(list)
		}
	}
	if len(list) > d.m.o.Most {
		d.made.LeftOut += len(list) - d.m.o.Most
		list = list[:d.m.o.Most]
	}
	return d.put(ctx, list, shift)
}

// bestOfCells keeps the first point in each cell of 2^bits units.
func bestOfCells(list []shownPoint, bits uint) []shownPoint {
	taken := map[coverage.Point]bool{}
	return slices.DeleteFunc(list, func(s shownPoint) bool {
		cell := coverage.Point{X: s.at.X >> bits, Y: s.at.Y >> bits}
		was := taken[cell]
		taken[cell] = true
		return was
	})
}

// put adds points in their order. The points of one feature become one multipoint.
func (d *drawing) put(ctx context.Context, list []shownPoint, shift uint) error {
	of := make(map[int32][]coverage.Point, len(list))
	half := int32(1) << shift >> 1
	for _, s := range list {
		of[s.feature] = append(of[s.feature], coverage.Point{X: (s.at.X + half) >> shift, Y: (s.at.Y + half) >> shift})
	}
	for i, s := range list {
		if i%256 == 255 && ctx.Err() != nil {
			return ctx.Err()
		}
		at := of[s.feature]
		if at == nil {
			continue
		}
		delete(of, s.feature)
		id, tags, err := d.records.of(int(s.feature))
		if err == nil {
			err = d.layer.Points(at, d.frame.corner, id, tags)
		}
		if err == nil {
			err = d.m.bound(d.layer)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bound returns an error if a layer has grown beyond the limit.
func (m *Maker) bound(l *Layer) error {
	if int64(len(l.features)) <= m.o.Largest {
		return nil
	}
	return problem.New(problem.TooLarge, nil,
		"The layer %s has more than %s MB in this tile. Zoom in, choose fewer properties with properties=, "+
			"or features with filter=.",
		l.name, strconv.FormatInt(m.o.Largest>>20, 10))
}

// within returns the hint for the tile and all finer tiles within it, considering only this layer: "empty", "full", or
// "" if unknown (Made.Hint).
func (l *levels) within(t Tile) (string, error) {
	last := l.side.sum.Last
	if t.Z > last {
		return "empty", nil
	}
	if l.side.sum.Live > 0 { // finer tiles may contain features that are too small for these levels
		return "", nil
	}
	low, high := t.frame().box()
	shift := uint(last - t.Z)
	low, high = coverage.Point{
		X: low.X << shift,
		Y: low.Y << shift,
	}, coverage.Point{
		X: high.X << shift,
		Y: high.Y << shift,
	}
	p, err := l.points()
	if err != nil || p != nil && p.any(last, t.Z, low, high) {
		return "", err
	}
	if lines, err := l.line(last); err != nil || lines != nil && len(lines.Search(nil, low, high)) > 0 {
		return "", err
	}
	level, err := l.area(last)
	if err != nil {
		return "", err
	}
	if level == nil {
		return "empty", nil
	}
	list := level.Search(nil, low, high)
	covered, touched, hidden := 0, 0, false
	var clip coverage.Clipper
	for _, f := range list {
		clip.Feature(level, int(f), low, high, func(rings [][]coverage.Point) {
			touched++
			hidden = hidden || p.hides(f, t.Z)
			if isBox(rings, low, high) {
				covered++
			}
		})
	}
	switch {
	case touched == 0:
		return "empty", nil
	case touched == 1 && covered == 1 && !hidden:
		return "full", nil
	}
	return "", nil
}

// isBox reports whether a polygon fills a box.
func isBox(rings [][]coverage.Point, low, high coverage.Point) bool {
	if len(rings) != 1 {
		return false
	}
	for _, p := range rings[0] {
		if p.X != low.X && p.X != high.X || p.Y != low.Y && p.Y != high.Y {
			return false
		}
	}
	return len(rings[0]) == 4
}

// span restricts an estimate to the levels and the extent that have features.
func (l *levels) span(r Range) Range {
	sum := &l.side.sum
	return narrowed(r, sum.First, sum.Last, sum.Bound)
}

// narrowed restricts an estimate to the levels from first to last. Without a bound no tiles remain.
func narrowed(r Range, first, last int, bound *orb.Bound) Range {
	r.First, r.Last, r.Settled = first, last, true
	if bound == nil {
		r.Limits = nil
	}
	r.Limits = slices.DeleteFunc(r.Limits, func(x Limits) bool { return x.Z < first || x.Z > last })
	return r
}
