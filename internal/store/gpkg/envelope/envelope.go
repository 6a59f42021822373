// Package envelope holds the envelopes and ids of all rows of a layer in memory, and finds rows by them: all at once,
// or in the order of ids.
package envelope

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/rtree"
	"grense/internal/store/gpkg/sqlite"
)

// Table contains the envelopes of all rows of a layer in a packed R-tree, and the ids of all rows in order. The
// index of an id is the place of its row. It is immutable.
type Table struct {
	IDs    *IDs
	rowids []int64      // by place; nil: equal to ids
	none   []uint32     // places of rows without geometry, if those may match; ascending
	boxes  [][4]float32 // west, south, east, north: of rows, then each around fanout of these, and so on
	spans  [][2]uint32  // the least and the greatest place in each box of the upper tiers
	places []uint32     // of the boxes of rows
	tiers  []int        // first box of each tier, and the number of boxes
	slack  float64      // each side of a row's box has a vertex within this distance; +Inf: unknown
}

// Entry is a row with the value of the filter as far as its envelope decides it.
type Entry struct {
	Place int64 // place
	Truth cql2.Truth
}

// fanout is the number of boxes within a box of the next tier.
const fanout = 16

// Size returns the memory of the table in bytes.
func (t *Table) Size() int {
	return t.IDs.Size() + 8*cap(t.rowids) + 4*cap(t.none) + 16*cap(t.boxes) + 8*cap(t.spans) + 4*cap(t.places)
}

// Rowid returns the row id at a place.
func (t *Table) Rowid(place int64) int64 {
	if t.rowids == nil {
		return t.IDs.number(place)
	}
	return t.rowids[place]
}

// Find returns the rows whose envelopes may match test, in any order; false if they are more than most. All matches
// touch reach.
func (t *Table) Find(reach orb.Bound, most int, test *cql2.Bounds) ([]Entry, bool) {
	top := len(t.tiers) - 2
	w := search{Table: t, test: test, reach: reach, most: most}
	ok := top < 0 || w.boxes(top, t.tiers[top], t.tiers[top+1], cql2.Null)
	return w.rows, ok
}

// Count counts the rows whose envelopes match test for sure, and returns those that may match; false if these are more
// than most.
func (t *Table) Count(reach orb.Bound, most int, test *cql2.Bounds) (sure int, rest []Entry, ok bool) {
	top := len(t.tiers) - 2
	w := search{Table: t, test: test, reach: reach, most: most, counts: true}
	ok = top < 0 || w.boxes(top, t.tiers[top], t.tiers[top+1], cql2.Null)
	return w.sure, w.rows, ok
}

// Missing returns the number of rows without geometry.
func (t *Table) Missing() int { return len(t.none) }

// search is a search of the tree.
type search struct {
	*Table
	test  *cql2.Bounds
	reach orb.Bound
	most  int
	rows  []Entry

	counts bool // count the rows that are sure to match instead of listing them
	sure   int
}

// look returns what is known about the rows in a box; known is what is known about its whole tier.
func (w *search) look(tier, i int, known cql2.Truth) cql2.Truth {
	if known != cql2.Null {
		return known
	}
	b := &w.Table.boxes[i]
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
func (w *search) boxes(tier, from, to int, known cql2.Truth) bool {
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
			w.rows = append(w.rows, Entry{int64(w.places[i]), t})
			continue
		}
		first := w.tiers[tier-1] + (i-w.tiers[tier])*fanout
		if !w.boxes(tier-1, first, min(first+fanout, w.tiers[tier]), t) {
			return false
		}
	}
	return true
}

// leaves returns the number of rows in a box of a tier.
func (t *Table) leaves(tier, i int) int {
	size := 1
	for range tier {
		size *= fanout
	}
	first := (i - t.tiers[tier]) * size
	return min(first+size, len(t.places)) - first
}

// span returns the least and the greatest place in a box of a tier.
func (t *Table) span(tier, i int) (low, high int64) {
	if tier == 0 {
		return int64(t.places[i]), int64(t.places[i])
	}
	s := t.spans[i-t.tiers[1]]
	return int64(s[0]), int64(s[1])
}

// pack sorts the boxes of rows and builds the tiers above: strips from west to east, each cut from south to north.
func (t *Table) pack(leaves []leaf) {
	sortBy := func(s []leaf, side int) {
		slices.SortFunc(s, func(a, b leaf) int {
			return cmp.Or(cmp.Compare(a.box[side]+a.box[side+2], b.box[side]+b.box[side+2]),
				cmp.Compare(a.place, b.place))
		})
	}
	sortBy(leaves, 0)
	groups := (len(leaves) + fanout - 1) / fanout
	strip := fanout * max(int(math.Ceil(math.Sqrt(float64(groups)))), 1)
	for s := range slices.Chunk(leaves, strip) {
		sortBy(s, 1)
	}
	t.boxes = make([][4]float32, 0, len(leaves)+len(leaves)/(fanout-1)+fanout)
	t.places = make([]uint32, 0, len(leaves))
	for _, x := range leaves {
		t.boxes, t.places = append(t.boxes, x.box), append(t.places, x.place)
	}
	for from := 0; len(t.boxes) > from; {
		to := len(t.boxes)
		t.tiers = append(t.tiers, from)
		tier := len(t.tiers) - 1
		for i := from; i < to && to-from > fanout; i += fanout {
			all := t.boxes[i]
			low, high := t.span(tier, i)
			for j := i + 1; j < min(i+fanout, to); j++ {
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

type leaf struct {
	box   [4]float32
	place uint32
}

// RowBound is the bound of a row's geometry in float64.
type RowBound struct {
	ID int64
	orb.Bound
}

// Tightened returns a copy of the table whose boxes are not larger than rounding makes them; nil if bounds, by row id,
// are incomplete.
func (t *Table) Tightened(bounds []RowBound) *Table {
	if len(bounds) == 0 {
		return nil
	}
	leaves := make([]leaf, len(t.places))
	slack := 0.0
	for i, place := range t.places {
		at, ok := slices.BinarySearchFunc(bounds, t.Rowid(int64(place)), func(b RowBound, id int64) int {
			return cmp.Compare(b.ID, id)
		})
		if !ok {
			return nil
		}
		own, x := bounds[at], rtree.NewCell(0, bounds[at].Bound)
		leaves[i] = leaf{[4]float32{x.MinX, x.MinY, x.MaxX, x.MaxY}, place}
		slack = max(slack, own.Min[0]-float64(x.MinX), own.Min[1]-float64(x.MinY), float64(x.MaxX)-own.Max[0],
			float64(x.MaxY)-own.Max[1])
	}
	// factor for the rounding of differences
	tight := &Table{IDs: t.IDs, rowids: t.rowids, none: t.none, slack: slack * 1.0001}
	tight.pack(leaves)
	return tight
}

// Read reads the envelopes and ids of a layer. It fails if the ids are not unique and in order.
func Read(c *sqlite.Conn, l *layer.Layer) (*Table, error) {
	t := &Table{IDs: &IDs{}, slack: math.Inf(1)}
	at, err := t.readIDs(c, l)
	if err != nil {
		return nil, err
	}
	leaves := make([]leaf, 0, l.Count)
	lost := false
	err = c.Query("SELECT id, minx, miny, maxx, maxy FROM "+l.Boxes, nil, func(row sqlite.Row) error {
		place, ok := at(row.Int(0))
		lost = lost || !ok
		b := orb.Bound{Min: orb.Point{row.Float(1), row.Float(2)}, Max: orb.Point{row.Float(3), row.Float(4)}}
		x := rtree.NewCell(0, b)
		leaves = append(leaves, leaf{[4]float32{x.MinX, x.MinY, x.MaxX, x.MaxY}, place})
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
		return nil, errors.Join(err, errNoRoom)
	}
	slices.Sort(t.none)
	t.pack(leaves)
	return t, nil
}

// errNoRoom reports that rows have no place.
var errNoRoom = errors.New("gpkg: no room")

// readIDs reads the ids of all rows. at returns the place of a row id in the R-tree.
func (t *Table) readIDs(c *sqlite.Conn, l *layer.Layer) (at func(int64) (uint32, bool), err error) {
	id, number := l.IDExpr(layer.Alias), layer.Alias+"."+l.SQL.Geometry.RowID
	table := l.SQL.Table
	var places map[int64]uint32
	if !l.Keyed {
		places = make(map[int64]uint32, l.Count)
	}
	err = c.Query("SELECT "+id+", "+number+" FROM "+table+" AS "+layer.Alias+" ORDER BY "+id, nil,
		func(row sqlite.Row) error {
			if !l.Keyed {
				places[row.Int(1)] = uint32(t.IDs.Len())
				t.rowids = append(t.rowids, row.Int(1))
			}
			return t.IDs.add(row, l.TextID)
		})
	return func(number int64) (uint32, bool) {
		if l.Keyed {
			place, ok := t.IDs.Place(number)
			return uint32(place), ok
		}
		place, ok := places[number]
		return place, ok
	}, err
}
