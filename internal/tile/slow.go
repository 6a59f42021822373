package tile

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/coverage"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/problem"
	"grense/internal/store"
)

// ErrPreparing reports a tile with too many features to be drawn without levels, which are still being built. Await
// waits for coarse levels.
var ErrPreparing = errors.New("tile: levels are being made")

// slow draws a layer of a tile from the features themselves. Only borders between features that it finds in the box of
// the tile are simplified together, so they may not match across tiles.
type slow struct {
	m     *Maker
	st    store.Reader
	set   *Set
	frame frame
	c     *store.Collection
	move  crs.Func
	layer *Layer
	names *Layer // of labels; nil: none
	made  *Made
	never bool // levels will not be built
}

// record holds the parts of a feature that tiles need.
type record struct {
	id   string
	tags []Tag
	geom []byte
}

func (s *slow) features(ctx context.Context, q Query) error {
	rows, err := s.rows(ctx, q, s.m.o.Most)
	if err != nil || len(rows) == 0 {
		return err
	}
	return s.some(ctx, q, rows)
}

// some draws the features of rows.
func (s *slow) some(ctx context.Context, q Query, rows []store.Row) error {
	if len(rows) > s.m.o.Most {
		return s.refused(q, fmt.Sprintf("%d features", s.m.o.Most))
	}
	tags := newTagger(s.c, q.Properties)
	list := make([]record, 0, len(rows))
	bytes, most := int64(0), s.m.mostBytes()
	err := s.st.Fetch(ctx, s.c.ID, rows, store.Want{Properties: tags.want}, func(f *store.Feature) error {
		if bytes += int64(len(f.Geometry.WKB)); bytes > most {
			return s.refused(q, fmt.Sprintf("%d MB of geometries", most>>20))
		}
		if !f.Geometry.IsNull() {
			list = append(list, record{f.Public(), tags.of(f), append([]byte(nil), f.Geometry.WKB...)})
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.draw(ctx, list)
}

// Holds reports whether layers of a tile have features now. The extent in the catalog may lag behind the data.
func (m *Maker) Holds(ctx context.Context, st store.Store, a Ask) (bool, error) {
	cat := st.Catalog()
	for _, q := range a.Layers {
		c, move, err := layerOf(cat, a.Set, q.Collection)
		if err != nil || move == nil || !c.ShownAt(a.frame().z) {
			if err != nil {
				return false, err
			}
			continue
		}
		s := slow{m: m, st: st, set: a.Set, frame: a.frame(), c: c}
		if rows, err := s.find(ctx, q, 1); err != nil || len(rows) > 0 {
			return err == nil, err
		}
	}
	return false, nil
}

// rows returns the features that touch the tile with its buffer. More than most of them are an error.
func (s *slow) rows(ctx context.Context, q Query, most int) ([]store.Row, error) {
	rows, err := s.find(ctx, q, most+1)
	if err == nil && len(rows) > most {
		return nil, s.refused(q, fmt.Sprintf("%d features", most))
	}
	return rows, err
}

// find returns up to limit features that touch the tile with its buffer.
func (s *slow) find(ctx context.Context, q Query, limit int) ([]store.Row, error) {
	filter := q.Filter
	b := s.frame.bound(s.set).Pad(Buffer * s.set.unit(s.frame.z))
	d := s.set.CRS.Domain()
	b = orb.Bound{
		Min: orb.Point{max(b.Min[0], d.Min[0]), max(b.Min[1], d.Min[1])},
		Max: orb.Point{min(b.Max[0], d.Max[0]), min(b.Max[1], d.Max[1])},
	}
	if b.IsEmpty() {
		return nil, nil
	}
	box, err := cql2.Check(cql2.BBox{Prop: s.c.Geometry.Name, CRS: s.set.CRS, Box: b}, s.c)
	if err != nil {
		return nil, err
	}
	if filter != nil {
		box = cql2.And{filter, box}
	}
	page, err := s.st.Page(ctx,
		store.Query{Collection: s.c.ID, Filter: box, Limit: limit, Count: store.CountNone, AsOf: q.AsOf})
	if err != nil {
		return nil, err
	}
	return page.Rows, nil
}

// mostBytes returns the largest size of the geometries that a tile is drawn from, in bytes.
func (m *Maker) mostBytes() int64 {
	most := 4 * m.o.Largest
	if m.o.Memory > 0 {
		most = min(most, max(4<<20, m.o.Memory/8))
	}
	return most
}

// refused returns the error for a tile with more than much, such as "20 MB".
func (s *slow) refused(q Query, much string) error {
	switch {
	case q.Filter != nil:
		return problem.New(problem.TooLarge, nil,
			"The filter chooses more than %s of %s in this tile. Choose fewer, or zoom in.", much, s.c.ID)
	case s.never:
		return problem.New(
			problem.TooLarge,
			nil,
			"This tile has more than %s of %s, which take more memory than this server may use to simplify them. "+
				"Zoom in, or choose fewer with filter=.",
			much,
			s.c.ID,
		)
	}
	return problem.New(problem.Busy, ErrPreparing,
		"The tiles of %s are being prepared, and this one has more than %s. Try again after the seconds in "+
			"Retry-After, or zoom in.",
		s.c.ID, much)
}

// draw adds features to the layer. Positions are relative to the upper left corner of the tile.
func (s *slow) draw(ctx context.Context, list []record) error {
	b, unit := s.frame.bound(s.set), s.set.unit(s.frame.z)
	grid := coverage.Grid{Origin: orb.Point{b.Min[0], b.Max[1]}, Unit: unit}
	build := coverage.NewBuilder(grid, coverage.Options{})
	for _, r := range list {
		if err := build.Add(r.geom, s.move); err != nil {
			s.made.LeftOut++
			if err := build.Add(nil, nil); err != nil {
				return err
			}
		}
	}
	levels, err := build.Levels(ctx, 1)
	if errors.Is(err, coverage.ErrApart) || errors.Is(err, coverage.ErrPlanar) {
		levels, err = s.apart(ctx, grid, list)
	}
	if err != nil {
		return err
	}
	var clip coverage.Clipper
	for i, r := range list {
		if i%256 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		id := NumericID(r.id)
		if _, err := s.layer.Polygons(&clip, levels[0], i, coverage.Point{}, id, r.tags); err != nil {
			return err
		}
		if err := s.other(r, id, grid); err != nil {
			return err
		}
	}
	return s.slowLabels(levels[0], list)
}

// apart builds one level without shared borders: it simplifies each feature independently.
func (s *slow) apart(ctx context.Context, grid coverage.Grid, list []record) ([]*coverage.Level, error) {
	all := &coverage.Level{}
	for _, r := range list {
		b := coverage.NewBuilder(grid, coverage.Options{})
		err := b.Add(r.geom, s.move)
		if err == nil {
			var one []*coverage.Level
			if one, err = b.Levels(ctx, 1); err == nil {
				all.Join(one[0])
				continue
			}
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		s.made.LeftOut++
		b = coverage.NewBuilder(grid, coverage.Options{})
		if err := b.Add(nil, nil); err != nil {
			return nil, err
		}
		none, err := b.Levels(ctx, 1)
		if err != nil {
			return nil, err
		}
		all.Join(none[0])
	}
	return []*coverage.Level{all}, nil
}

// other adds the points and lines of a feature to the layer.
func (s *slow) other(r record, id uint64, grid coverage.Grid) error {
	var points []coverage.Point
	var lines [][]coverage.Point
	low, high := frame{width: s.frame.width, height: s.frame.height}.box()
	err := wkb.Walk(r.geom, func(run wkb.Run) bool {
		if run.Kind == wkb.Polygon || run.Len() == 0 {
			return true
		}
		line := make([]coverage.Point, 0, run.Len())
		for i := range run.Len() {
			p, ok := grid.Snap(&run, i, s.move)
			if !ok {
				return true
			}
			if len(line) == 0 || line[len(line)-1] != p {
				line = append(line, p)
			}
		}
		if run.Kind == wkb.Point {
			if p := line[0]; p.X >= low.X && p.X <= high.X && p.Y >= low.Y && p.Y <= high.Y {
				points = append(points, p)
			}
			return true
		}
		lines = coverage.ClipLine(lines, line, low, high)
		return true
	})
	if err != nil {
		return err
	}
	if len(lines) > 0 {
		if err := s.layer.Lines(lines, coverage.Point{}, id, r.tags); err != nil {
			return err
		}
	}
	if len(points) > 0 {
		return s.layer.Points(points, coverage.Point{}, id, r.tags)
	}
	return nil
}

// tagger converts the values of features to tags.
type tagger struct {
	want   []string
	keep   []bool // by index in want: false for the property that repeats the id
	number []bool // by index in want: the property is numeric
}

func newTagger(c *store.Collection, properties []string) *tagger {
	t := &tagger{want: properties}
	if properties == nil {
		for i := range c.Properties {
			if !c.Properties[i].Hidden {
				t.want = append(t.want, c.Properties[i].Name)
			}
		}
	}
	if t.want == nil {
		t.want = []string{}
	}
	for _, name := range t.want {
		p, ok := c.Find(name)
		t.keep, t.number = append(t.keep, name != IDKey), append(t.number, ok && p.Type == cql2.TypeNumber)
	}
	return t
}

// plain converts a JSON value of property i in want. A number of many digits becomes a float64, so that all values of
// the property have one type; anything else becomes its text.
func (t *tagger) plain(i int, j store.JSON) any {
	if t.number[i] {
		if f, err := strconv.ParseFloat(string(j), 64); err == nil {
			return f
		}
	}
	return string(j)
}

// of returns the tags of a feature: its id and its values. It copies them.
func (t *tagger) of(f *store.Feature) []Tag {
	tags := make([]Tag, 1, len(t.want)+1)
	tags[0] = Tag{Key: IDKey, Value: strings.Clone(f.Public())}
	for i, v := range f.Values {
		if !t.keep[i] || v == nil {
			continue
		}
		switch x := v.(type) {
		case string:
			v = strings.Clone(x)
		case store.JSON:
			v = t.plain(i, store.JSON(strings.Clone(string(x))))
		}
		tags = append(tags, Tag{Key: t.want[i], Value: v})
	}
	return tags
}
