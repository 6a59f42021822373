package gpkg

import (
	"context"
	"math"
	"slices"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/envelope"
	"grense/internal/store/gpkg/sqlite"
)

const (
	// fewPlaces is the largest number of rows up to the end of a page (offset and limit) that byBoxes reads.
	fewPlaces = 4096
	// mostTested is the largest number of geometries that are read for a count that the page can do without.
	mostTested = 400
)

// nextMatch returns the place of the next row that matches; false if there is none.
func (s *candidates) nextMatch(ctx context.Context, f *envelope.Walk) (int64, bool, error) {
	for {
		x, ok := f.Next()
		if !ok {
			return 0, false, nil
		}
		if is, err := s.holds(ctx, x); is || err != nil {
			return x.Place, is, err
		}
	}
}

// byFirst fills a page from the envelopes; false if they decide nothing of the filter.
func (qu *query) byFirst(ctx context.Context, c *sqlite.Conn, t *envelope.Table, p *store.Page) (bool, error) {
	g, q := qu.l.SQL.Geometry, &qu.q
	test := cql2.NewBounds(q.Filter, g.Name, g.CRS, g.Pad)
	if test == nil {
		return false, nil
	}
	s := &candidates{l: qu.l, matcher: cql2.NewMatcher(q.Filter), places: t, rec: newPlaceRecord(ctx, c, qu)}
	none := false
	if t.Missing() > 0 {
		var err error
		if none, err = s.takesMissing(); err != nil {
			return false, err
		}
	}
	start, back := int64(0), qu.place != nil && qu.place.Back
	if qu.place != nil {
		at, on := t.IDs.Place(qu.values[len(qu.values)-1])
		if start = int64(at); on && !back {
			start++
		}
		if back {
			start--
		}
	}
	walk := func(from int64, back bool) *envelope.Walk {
		return t.Walk(test, qu.reach, from, back, none)
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
		p.Rows = append(p.Rows, store.Row{ID: t.IDs.Text(uint32(place)), Rev: qu.now})
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
	n, rest, few := t.Count(qu.reach, most, test)
	if !few {
		return -1, nil
	}
	if none {
		n += t.Missing()
	}
	for i := range rest {
		ok, err := s.holds(ctx, rest[i])
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
