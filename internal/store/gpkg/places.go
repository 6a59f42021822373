package gpkg

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/gpb"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/rtree"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// placeTable contains the envelopes of all rows of a layer in a packed R-tree, and the ids of all rows in order. The
// index of an id is the place of its row. It is immutable.
type placeTable struct {
	ids    *rowIDs
	rowids []int64      // by place; nil: equal to ids
	none   []uint32     // places of rows without geometry, if those may match; ascending
	boxes  [][4]float32 // west, south, east, north: of rows, then each around placeFan of these, and so on
	spans  [][2]uint32  // the least and the greatest place in each box of the upper tiers
	places []uint32     // of the boxes of rows
	tiers  []int        // first box of each tier, and the number of boxes
	slack  float64      // each side of a row's box has a vertex within this distance; +Inf: unknown
}

// mostPlaces is the number of features up to which envelopes are held in memory; for more, the R-tree is used.
const mostPlaces = 4_000_000

// entry is a row with the value of the filter as far as its envelope decides it.
type entry struct {
	id int64 // place
	t  cql2.Truth
}

// placeFan is the number of boxes within a box of the next tier.
const placeFan = 16

func (t *placeTable) size() int {
	return t.ids.size() + 8*cap(t.rowids) + 4*cap(t.none) + 16*cap(t.boxes) + 8*cap(t.spans) + 4*cap(t.places)
}

func (t *placeTable) rowid(place int64) int64 {
	if t.rowids == nil {
		return t.ids.number(place)
	}
	return t.rowids[place]
}

// find returns the rows whose envelopes may match test, in any order; false if they are more than most. All matches
// touch reach.
func (t *placeTable) find(reach orb.Bound, most int, test *cql2.Bounds) ([]entry, bool) {
	top := len(t.tiers) - 2
	w := placeSearch{placeTable: t, test: test, reach: reach, most: most}
	ok := top < 0 || w.boxes(top, t.tiers[top], t.tiers[top+1], cql2.Null)
	return w.rows, ok
}

type placeSearch struct {
	*placeTable
	test  *cql2.Bounds
	reach orb.Bound
	most  int
	rows  []entry

	counts bool // count the rows that are sure to match instead of listing them
	sure   int
}

// look returns what is known about the rows in a box; known is what is known about its whole tier.
func (w *placeSearch) look(tier, i int, known cql2.Truth) cql2.Truth {
	if known != cql2.Null {
		return known
	}
	b := &w.placeTable.boxes[i]
	if float64(b[0]) > w.reach.Max[0] || float64(b[2]) < w.reach.Min[0] || float64(b[1]) > w.reach.Max[1] ||
		float64(b[3]) < w.reach.Min[1] {
		return cql2.False
	}
	slack := math.Inf(1)
	if tier == 0 {
		slack = w.slack
	}
	return w.test.Test(orb.Bound{Min: orb.Point{float64(b[0]), float64(b[1])},
		Max: orb.Point{float64(b[2]), float64(b[3])}}, slack)
}

// boxes searches boxes of a tier; known is what is known about all of them.
func (w *placeSearch) boxes(tier, from, to int, known cql2.Truth) bool {
	for i := from; i < to; i++ {
		t := w.look(tier, i, known)
		if t == cql2.False {
			continue
		}
		if w.counts && t == cql2.True {
			w.sure += w.leaves(tier, i)
			continue
		}
		if tier == 0 {
			if len(w.rows) == w.most {
				return false
			}
			w.rows = append(w.rows, entry{int64(w.places[i]), t})
			continue
		}
		first := w.tiers[tier-1] + (i-w.tiers[tier])*placeFan
		if !w.boxes(tier-1, first, min(first+placeFan, w.tiers[tier]), t) {
			return false
		}
	}
	return true
}

// leaves returns the number of rows in a box of a tier.
func (t *placeTable) leaves(tier, i int) int {
	size := 1
	for range tier {
		size *= placeFan
	}
	first := (i - t.tiers[tier]) * size
	return min(first+size, len(t.places)) - first
}

// span returns the least and the greatest place in a box of a tier.
func (t *placeTable) span(tier, i int) (low, high int64) {
	if tier == 0 {
		return int64(t.places[i]), int64(t.places[i])
	}
	s := t.spans[i-t.tiers[1]]
	return int64(s[0]), int64(s[1])
}

// pack sorts the boxes of rows and builds the tiers above: strips from west to east, each cut from south to north.
func (t *placeTable) pack(leaves []placeLeaf) {
	sortBy := func(s []placeLeaf, side int) {
		slices.SortFunc(s, func(a, b placeLeaf) int {
			return cmp.Or(cmp.Compare(a.box[side]+a.box[side+2], b.box[side]+b.box[side+2]),
				cmp.Compare(a.place, b.place))
		})
	}
	sortBy(leaves, 0)
	groups := (len(leaves) + placeFan - 1) / placeFan
	strip := placeFan * max(int(math.Ceil(math.Sqrt(float64(groups)))), 1)
	for s := range slices.Chunk(leaves, strip) {
		sortBy(s, 1)
	}
	t.boxes = make([][4]float32, 0, len(leaves)+len(leaves)/(placeFan-1)+placeFan)
	t.places = make([]uint32, 0, len(leaves))
	for _, x := range leaves {
		t.boxes, t.places = append(t.boxes, x.box), append(t.places, x.place)
	}
	for from := 0; len(t.boxes) > from; {
		to := len(t.boxes)
		t.tiers = append(t.tiers, from)
		tier := len(t.tiers) - 1
		for i := from; i < to && to-from > placeFan; i += placeFan {
			all := t.boxes[i]
			low, high := t.span(tier, i)
			for j := i + 1; j < min(i+placeFan, to); j++ {
				b := t.boxes[j]
				all = [4]float32{min(all[0], b[0]), min(all[1], b[1]), max(all[2], b[2]), max(all[3], b[3])}
				first, last := t.span(tier, j)
				low, high = min(low, first), max(high, last)
			}
			t.boxes, t.spans = append(t.boxes, all), append(t.spans, [2]uint32{uint32(low), uint32(high)})
		}
		from = to
	}
	t.tiers = append(t.tiers, len(t.boxes))
	t.boxes, t.places = slices.Clip(t.boxes), slices.Clip(t.places)
}

type placeLeaf struct {
	box   [4]float32
	place uint32
}

func placesName(l *layer.Layer) string { return l.ID + "\x00\x00places" }

// places returns the envelopes and ids of a layer; nil if they are not loaded. If that is worthwhile, it then starts
// loading them.
func (r *revision) places(l *layer.Layer) *placeTable {
	return tableOf[*placeTable](r, r.memory.columns, placesName(l), func() error { return r.makePlaces(l) })
}

// makePlaces reads the envelopes and ids of a layer and caches them, then its geometries. It fails if they do not fit.
func (r *revision) makePlaces(l *layer.Layer) error {
	t := &placeTable{ids: &rowIDs{}, slack: math.Inf(1)}
	err := r.use(context.Background(), func(c *sqlite.Conn) error {
		if same, err := c.Unchanged(); err != nil || !same || c.Encoding != sqlite.UTF8 {
			return errors.Join(err, errNoRoom)
		}
		at, err := t.readIDs(c, l)
		if err != nil {
			return err
		}
		leaves := make([]placeLeaf, 0, l.Count)
		lost := false
		err = c.Query("SELECT id, minx, miny, maxx, maxy FROM "+l.Boxes, nil, func(row sqlite.Row) error {
			place, ok := at(row.Int(0))
			lost = lost || !ok
			b := orb.Bound{Min: orb.Point{row.Float(1), row.Float(2)}, Max: orb.Point{row.Float(3), row.Float(4)}}
			x := rtree.NewCell(0, b)
			leaves = append(leaves, placeLeaf{[4]float32{x.MinX, x.MinY, x.MaxX, x.MaxY}, place})
			return nil
		})
		if err == nil && l.SQL.Geometry.HasNull {
			err = c.Query("SELECT id FROM "+l.SQL.Geometry.NoGeom, nil, func(row sqlite.Row) error {
				place, ok := at(row.Int(0))
				lost = lost || !ok
				t.none = append(t.none, place)
				return nil
			})
		}
		if err != nil || lost {
			return errors.Join(err, errNoRoom)
		}
		slices.Sort(t.none)
		t.pack(leaves)
		return nil
	})
	if err != nil {
		return err
	}
	if err := r.put(r.memory.columns, placesName(l), t, t.size()); err != nil {
		return err
	}
	bounds, err := r.makeShapes(l)
	if tight := t.tightened(bounds); tight != nil && err == nil {
		return r.put(r.memory.columns, placesName(l), tight, tight.size())
	}
	return err
}

// rowBound is the bound of a row's geometry in float64.
type rowBound struct {
	id int64
	orb.Bound
}

// tightened returns a copy of the table whose boxes are not larger than rounding makes them; nil if bounds, by row id,
// are incomplete.
func (t *placeTable) tightened(bounds []rowBound) *placeTable {
	if len(bounds) == 0 {
		return nil
	}
	leaves := make([]placeLeaf, len(t.places))
	slack := 0.0
	for i, place := range t.places {
		at, ok := slices.BinarySearchFunc(bounds, t.rowid(int64(place)), func(b rowBound, id int64) int {
			return cmp.Compare(b.id, id)
		})
		if !ok {
			return nil
		}
		own, x := bounds[at], rtree.NewCell(0, bounds[at].Bound)
		leaves[i] = placeLeaf{[4]float32{x.MinX, x.MinY, x.MaxX, x.MaxY}, place}
		slack = max(slack, own.Min[0]-float64(x.MinX), own.Min[1]-float64(x.MinY), float64(x.MaxX)-own.Max[0],
			float64(x.MaxY)-own.Max[1])
	}
	// factor for the rounding of differences
	tight := &placeTable{ids: t.ids, rowids: t.rowids, none: t.none, slack: slack * 1.0001}
	tight.pack(leaves)
	return tight
}

// makeShapes prepares and caches the geometries of a layer in advance, as long as none must be evicted for them, and
// returns their bounds. Points need none, since their envelopes decide.
func (r *revision) makeShapes(l *layer.Layer) (bounds []rowBound, err error) {
	x := r.shapes.Stats()
	if l.Geometry.Type == "Point" || l.GeometryBytes > x.Limit-x.Bytes {
		return nil, nil
	}
	defer r.shapes.Make()()
	last := int64(math.MinInt64)
	for more := true; more && err == nil && r.shapes.Room() > x.Limit/shapeRest && r.refs.Load() > 1; {
		last, more, err = r.readShapes(l, last, &bounds)
	}
	return bounds, err
}

// shapeRest: one part in this many of the cache is left for other layers. shapeHead is the overhead of a geometry in
// bytes.
const (
	shapeRest = 16
	shapeHead = 256
)

// readShapes prepares geometries of rows after last and appends their bounds. more means that others follow. It
// occupies a connection only for a few milliseconds.
func (r *revision) readShapes(l *layer.Layer, last int64, bounds *[]rowBound) (_ int64, more bool, err error) {
	g := l.SQL.Geometry
	number, size := layer.Alias+"."+g.RowID, 0
	sql := "SELECT " + number + ", " + layer.Alias + "." + sqlite.Quote(g.Column) + " FROM " + l.SQL.Table + " AS " +
		layer.Alias +
		" WHERE " + number + " > ? ORDER BY " + number
	err = r.use(context.Background(), func(c *sqlite.Conn) error {
		if same, err := c.Unchanged(); err != nil || !same {
			return err
		}
		s := sessionOf(c)
		return c.Query(sql, []any{last}, func(x sqlite.Row) error {
			last, s.blob = x.Int(0), s.blob[:0]
			if x.Kind(1) == sqlite.KindBlob {
				s.blob = x.Bytes(1, s.blob)
				if kept := keepShape(r.shapes, l, last, gpb.WKB(s.blob)); kept != nil && kept.edges != nil {
					*bounds = append(*bounds, rowBound{last, kept.edges.Bound()})
				}
			}
			if size += len(s.blob) + shapeHead; size < layer.BatchBytes {
				return nil
			}
			more = true
			return sqlite.ErrEnough
		})
	})
	return last, more, sqlite.Enough(err)
}

// readIDs reads the ids of all rows. at returns the place of a row id in the R-tree.
func (t *placeTable) readIDs(c *sqlite.Conn, l *layer.Layer) (at func(int64) (uint32, bool), err error) {
	id, number := l.IDExpr(layer.Alias), layer.Alias+"."+l.SQL.Geometry.RowID
	table := l.SQL.Table
	var places map[int64]uint32
	if !l.Keyed {
		places = make(map[int64]uint32, l.Count)
	}
	err = c.Query("SELECT "+id+", "+number+" FROM "+table+" AS "+layer.Alias+" ORDER BY "+id, nil,
		func(row sqlite.Row) error {
			if !l.Keyed {
				places[row.Int(1)] = uint32(t.ids.len())
				t.rowids = append(t.rowids, row.Int(1))
			}
			return t.ids.add(row, l.TextID)
		})
	return func(number int64) (uint32, bool) {
		if l.Keyed {
			place, ok := t.ids.place(number)
			return uint32(place), ok
		}
		place, ok := places[number]
		return place, ok
	}, err
}

// isByPlaces reports whether a query depends on geometries alone, in the order by id, for a layer whose envelopes may
// be in memory.
func (qu *query) isByPlaces() bool {
	l := qu.l
	if l.Boxes == "" || l.View || l.Count > mostPlaces || len(qu.keys) > 1 || qu.all != nil ||
		qu.rev.memory.columns.Limit() == 0 || !isSpatial(l, qu.q.Filter) {
		return false
	}
	extent, ok := cql2.Extent(qu.q.Filter, l.SQL.Geometry.Name, l.SQL.Geometry.CRS)
	qu.reach = reachOf(extent, l.SQL.Geometry.Pad)
	return ok
}

// reachOf returns a box around bounds, each extended by a pad, which may be infinite.
func reachOf(bounds []orb.Bound, pad float64) orb.Bound {
	if len(bounds) == 0 || math.IsInf(pad, 0) || math.IsNaN(pad) {
		return orb.Bound{Min: orb.Point{math.Inf(-1), math.Inf(-1)}, Max: orb.Point{math.Inf(1), math.Inf(1)}}
	}
	all := bounds[0]
	for _, b := range bounds[1:] {
		all = all.Union(b)
	}
	return all.Pad(pad)
}

// byPlaces answers the query with the envelopes in memory. It returns false if the file has changed, or if envelopes
// decide nothing.
func (qu *query) byPlaces(ctx context.Context, c *sqlite.Conn, p *store.Page) (bool, error) {
	t := qu.rev.places(qu.l)
	if t == nil && !qu.cheap && qu.q.Count != store.CountNone {
		return false, nil
	}
	if same, err := c.Unchanged(); err != nil || !same {
		return false, err
	}
	if t == nil {
		return qu.byBoxes(ctx, c, p)
	}
	return qu.byFirst(ctx, c, t, p)
}

// byBoxes fills a page in the order by id if the file's own spatial index finds many matches. It tests rows in that
// order; if the first page does not end soon, it takes the matches with the lowest ids from the index. It is used until
// the envelopes have been read into memory.
func (qu *query) byBoxes(ctx context.Context, c *sqlite.Conn, p *store.Page) (bool, error) {
	n := max(qu.q.Offset, 0) + qu.q.Limit
	if !qu.l.Keyed || qu.q.Limit <= 0 || n > fewPlaces || math.IsInf(qu.reach.Min[0], 0) {
		return false, nil
	}
	r := qu.reach
	found := sqlq.SQL("SELECT id FROM "+qu.l.Boxes+" WHERE maxx >= ? AND minx <= ? AND maxy >= ? AND miny <= ?",
		r.Min[0], r.Max[0], r.Min[1], r.Max[1])
	sql, args := sqlq.New(sqlq.SQLite{}).Text("SELECT count(*) FROM (").Add(found).Text(" LIMIT ").
		Arg(int64(fewMatches + 1)).Text(")").SQL()
	count, err := c.One(sql, args...)
	if err != nil || count <= fewMatches {
		return false, err
	}
	if qu.countable() {
		qu.cacheCount(expensive)
	}
	near := *qu
	near.near = fewMatches
	done, err := near.walk(ctx, c, p)
	if done || err != nil || qu.place != nil || qu.l.SQL.Geometry.HasNull {
		return done, err
	}
	first := *qu
	first.among = []sqlq.Fragment{sqlq.Cat(sqlq.Ident("SELECT id FROM ("), found,
		sqlq.SQL(" ORDER BY id LIMIT ?)", int64(4*n+fewPlaces/16)))}
	return first.walk(ctx, c, p)
}
