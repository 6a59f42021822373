package gpkg

import (
	"container/heap"
	"context"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
)

const (
	// fewPlaces is the largest number of rows up to the end of a page (offset and limit) that byBoxes reads.
	fewPlaces = 4096
	// mostTested is the largest number of geometries that are read for a count that the page can do without.
	mostTested = 400
)

// firstPlaces returns the rows that may match in ascending or descending order of ids. It visits only boxes that may
// contain the next row.
type firstPlaces struct {
	*placeTable
	test  *cql2.Bounds
	reach orb.Bound
	from  int64 // first place to return
	back  bool
	none  []uint32 // remaining rows without geometry, if these match, in the direction
	nodes []placeNode
}

// placeNode is an entry of the heap: a box of a tier, a row (tier -1), or a row without geometry (tier -2).
type placeNode struct {
	next int64 // first place in it, in the direction
	tier int
	at   int
	t    cql2.Truth
}

func (f *firstPlaces) Len() int { return len(f.nodes) }
func (f *firstPlaces) Less(i, j int) bool {
	if f.back {
		i, j = j, i
	}
	return f.nodes[i].next < f.nodes[j].next
}
func (f *firstPlaces) Swap(i, j int) { f.nodes[i], f.nodes[j] = f.nodes[j], f.nodes[i] }
func (f *firstPlaces) Push(x any)    { f.nodes = append(f.nodes, x.(placeNode)) }
func (f *firstPlaces) Pop() any {
	last := f.nodes[len(f.nodes)-1]
	f.nodes = f.nodes[:len(f.nodes)-1]
	return last
}

// begin adds the top tier to the heap. matchesNone means that rows without geometry match.
func (f *firstPlaces) begin(matchesNone bool) {
	if matchesNone {
		at, on := slices.BinarySearch(f.placeTable.none, uint32(max(f.from, 0)))
		if f.none = f.placeTable.none[at:]; f.back {
			if on {
				at++
			}
			f.none = slices.Clone(f.placeTable.none[:at])
			slices.Reverse(f.none)
		}
		f.nextNone()
	}
	if top := len(f.tiers) - 2; top >= 0 {
		f.open(top, f.tiers[top], f.tiers[top+1], cql2.Null)
	}
}

func (f *firstPlaces) nextNone() {
	if len(f.none) > 0 && f.from >= 0 {
		heap.Push(f, placeNode{next: int64(f.none[0]), tier: -2, t: cql2.True})
		f.none = f.none[1:]
	}
}

// open adds boxes of a tier to the heap; known is what is known about all of them.
func (f *firstPlaces) open(tier, from, to int, known cql2.Truth) {
	w := placeSearch{placeTable: f.placeTable, test: f.test, reach: f.reach}
	for i := from; i < to; i++ {
		low, high := f.span(tier, i)
		if f.back && low > f.from || !f.back && high < f.from {
			continue
		}
		if t := w.look(tier, i, known); t != cql2.False {
			n := placeNode{next: max(low, f.from), tier: tier, at: i, t: t}
			if f.back {
				n.next = min(high, f.from)
			}
			if tier == 0 {
				n.tier = -1
			}
			heap.Push(f, n)
		}
	}
}

// next returns the next row; false if there is none.
func (f *firstPlaces) next() (entry, bool) {
	for len(f.nodes) > 0 {
		n := heap.Pop(f).(placeNode)
		switch {
		case n.tier == -2:
			f.nextNone()
			return entry{n.next, n.t}, true
		case n.tier < 0:
			return entry{n.next, n.t}, true
		}
		first := f.tiers[n.tier-1] + (n.at-f.tiers[n.tier])*placeFan
		f.open(n.tier-1, first, min(first+placeFan, f.tiers[n.tier]), n.t)
	}
	return entry{}, false
}

// nextMatch returns the place of the next row that matches; false if there is none.
func (s *candidates) nextMatch(ctx context.Context, f *firstPlaces) (int64, bool, error) {
	for {
		x, ok := f.next()
		if !ok {
			return 0, false, nil
		}
		if is, err := s.holds(ctx, x); is || err != nil {
			return x.id, is, err
		}
	}
}

// byFirst fills a page from the envelopes; false if they decide nothing of the filter.
func (qu *query) byFirst(ctx context.Context, c *sqlite.Conn, t *placeTable, p *store.Page) (bool, error) {
	g, q := qu.l.SQL.Geometry, &qu.q
	test := cql2.NewBounds(q.Filter, g.Name, g.CRS, g.Pad)
	if test == nil {
		return false, nil
	}
	s := &candidates{l: qu.l, matcher: cql2.NewMatcher(q.Filter), places: t, rec: newPlaceRecord(ctx, c, qu)}
	none := false
	if len(t.none) > 0 {
		var err error
		if none, err = s.takesMissing(); err != nil {
			return false, err
		}
	}
	start, back := int64(0), qu.place != nil && qu.place.Back
	if qu.place != nil {
		at, on := t.ids.place(qu.values[len(qu.values)-1])
		if start = int64(at); on && !back {
			start++
		}
		if back {
			start--
		}
	}
	walk := func(from int64, back bool) *firstPlaces {
		f := &firstPlaces{placeTable: t, test: test, reach: qu.reach, from: from, back: back}
		f.begin(none)
		return f
	}
	skip, more := max(q.Offset, 0), false
	for f := walk(start, back); q.Limit > 0; {
		place, ok, err := s.nextMatch(ctx, f)
		if err != nil {
			return false, err
		}
		if !ok {
			break
		}
		if skip > 0 {
			skip--
			continue
		}
		if more = len(p.Rows) == q.Limit; more {
			break
		}
		p.Rows = append(p.Rows, store.Row{ID: t.ids.text(uint32(place)), Rev: qu.now})
	}
	if len(p.Rows) > 0 {
		before := q.Offset > 0
		if !before && qu.place != nil {
			other := start - 1
			if back {
				other = start + 1
			}
			var err error
			if _, before, err = s.nextMatch(ctx, walk(other, !back)); err != nil {
				return false, err
			}
		}
		if back {
			slices.Reverse(p.Rows)
			before, more = more, before
		}
		if more {
			p.Next = qu.cursor(found{id: p.Rows[len(p.Rows)-1].ID}, false)
		}
		if before {
			p.Prev = qu.cursor(found{id: p.Rows[0].ID}, true)
		}
	}
	if q.Count != store.CountExact {
		return true, nil
	}
	if q.Limit > 0 && qu.place == nil && !more { // the last page implies the count
		p.Matched = max(q.Offset, 0) - skip + len(p.Rows)
		return true, nil
	}
	var err error
	p.Matched, err = s.count(ctx, qu, test, none)
	return err == nil, err
}

// count counts the matches; -1 if a page can do without and more than a few geometries have to be read for that.
func (s *candidates) count(ctx context.Context, qu *query, test *cql2.Bounds, none bool) (int, error) {
	if n := qu.counted(); n >= 0 {
		return n, nil
	}
	t, most := s.places, math.MaxInt
	if qu.cheap {
		most = mostTested
	}
	w := placeSearch{placeTable: t, test: test, reach: qu.reach, most: most, counts: true}
	if top := len(t.tiers) - 2; top >= 0 && !w.boxes(top, t.tiers[top], t.tiers[top+1], cql2.Null) {
		return -1, nil
	}
	n := w.sure
	if none {
		n += len(t.none)
	}
	for i := range w.rows {
		ok, err := s.holds(ctx, w.rows[i])
		if err != nil {
			return 0, err
		}
		if ok {
			n++
		}
	}
	qu.cacheCount(n)
	return n, nil
}
