package gpkg

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"grense/internal/cache"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/relate"
	"grense/internal/store"
)

// maxCandidates is the largest number of rows that are held at a time; for more, another strategy is used.
const maxCandidates = 1 << 20

// candidates are the rows that may match a query, in the order by id. A geometry is read only if the envelope of its
// row does not decide.
type candidates struct {
	l       *layer
	matcher *cql2.Matcher
	rec     placeRecord
	places  *placeTable
	rows    []entry // by place; t is Null before the geometry is tested
	tested  int
	turn    time.Time
}

// takesMissing reports whether rows without geometry match.
func (s *candidates) takesMissing() (bool, error) {
	t, err := s.matcher.Eval(&placeRecord{ctx: context.Background(), l: s.l, read: true})
	return t == cql2.True, err
}

// isSpatial reports whether a filter depends on the geometry alone.
func (l *layer) isSpatial(e cql2.Expr) bool {
	is := func(e cql2.Expr) bool { return l.isSpatial(e) }
	switch e := e.(type) {
	case cql2.And:
		return len(e) > 0 && !slices.ContainsFunc(e, func(x cql2.Expr) bool { return !is(x) })
	case cql2.Or:
		return len(e) > 0 && !slices.ContainsFunc(e, func(x cql2.Expr) bool { return !is(x) })
	case cql2.Not:
		return is(e.X)
	case cql2.BBox:
		return e.Prop == l.Geometry.Name
	case cql2.Spatial:
		return l.isPlace(e.L) && l.isPlace(e.R)
	}
	return false
}

func (l *layer) isPlace(e cql2.Expr) bool {
	if p, ok := e.(cql2.Prop); ok {
		return p.Name == l.Geometry.Name
	}
	_, ok := e.(cql2.Geom)
	return ok
}

// matches reports whether the i-th row matches. It stores the result in the row.
func (s *candidates) matches(ctx context.Context, i int) (bool, error) {
	return s.holds(ctx, &s.rows[i])
}

// holds reports whether a row matches. It stores the result in the row.
func (s *candidates) holds(ctx context.Context, x *entry) (bool, error) {
	if x.t == cql2.Null {
		if err := ctx.Err(); err != nil {
			return false, err
		}
		if s.tested++; s.tested%rowsPerSlice == 0 {
			s.turn = yieldAfter(s.turn)
		}
		s.rec.id, s.rec.read = s.places.rowid(x.id), false
		t, err := s.matcher.Eval(&s.rec)
		if err != nil {
			return false, err
		}
		if x.t = t; t == cql2.Null { // null, as in a filter, is not a match
			x.t = cql2.False
		}
	}
	return x.t == cql2.True, nil
}

// page fills a page and its count.
func (s *candidates) page(ctx context.Context, qu *query, p *store.Page) error {
	q := qu.q
	if q.Count == store.CountExact {
		n := 0
		for i := range s.rows {
			ok, err := s.matches(ctx, i)
			if err != nil {
				return err
			}
			if ok {
				s.rows[n] = s.rows[i]
				n++
			}
		}
		s.rows, p.Matched = s.rows[:n], n
	}
	if q.Limit <= 0 {
		return nil
	}
	at, step := 0, 1
	if qu.place != nil {
		place, is := s.places.ids.place(qu.values[len(qu.values)-1])
		var on bool
		if at, on = slices.BinarySearchFunc(s.rows, int64(place), func(x entry, n int64) int {
			return cmp.Compare(x.id, n)
		}); qu.place.Back {
			at, step = at-1, -1
		} else if on && is {
			at++
		}
	}
	return s.fill(ctx, qu, cursor{at, step}, p)
}

// cursor is the index of a candidate, and the direction of reading: 1 or -1.
type cursor struct{ at, step int }

// fill reads the page from a row on.
func (s *candidates) fill(ctx context.Context, qu *query, from cursor, p *store.Page) error {
	q, start, step := qu.q, from.at, from.step
	at, skip, more := start, max(q.Offset, 0), false
	for ; at >= 0 && at < len(s.rows); at += step {
		ok, err := s.matches(ctx, at)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if skip > 0 {
			skip--
			continue
		}
		if more = len(p.Rows) == q.Limit; more {
			break
		}
		p.Rows = append(p.Rows, store.Row{ID: s.places.ids.text(uint32(s.rows[at].id)), Rev: qu.now})
	}
	if len(p.Rows) == 0 {
		return nil
	}
	before := q.Offset > 0
	for i := start - step; !before && i >= 0 && i < len(s.rows); i -= step {
		// Is there a match on the side that the client came from?
		var err error
		if before, err = s.matches(ctx, i); err != nil {
			return err
		}
	}
	if step < 0 {
		slices.Reverse(p.Rows)
		before, more = more, before
	}
	if more {
		p.Next = qu.cursor(found{id: p.Rows[len(p.Rows)-1].ID}, false)
	}
	if before {
		p.Prev = qu.cursor(found{id: p.Rows[0].ID}, true)
	}
	return nil
}

// shape is the geometry of a row, prepared for comparisons.
type shape struct {
	wkb   []byte // nil: no geometry
	edges *relate.Edges
}

// shapeKey identifies a row of a layer; layers differ between revisions.
type shapeKey struct {
	l  *layer
	id int64 // row id
}

// shapeCache caches geometries of rows whose envelopes do not decide, by row id. They are valid while the file is
// unchanged. shapeBytes is its size, enough for 35,357 communes; larger geometries than shapeMost are not cached.
type shapeCache = cache.Cache[shapeKey, *shape]

const (
	shapeBytes = 64 << 20
	shapeMost  = 256 << 10
)

// placeRecord is a cql2.Record that has only a geometry.
type placeRecord struct {
	ctx  context.Context // of the query
	c    *conn
	l    *layer
	sql  string
	id   int64
	read bool
	at   shape // wkb may point into c.blob
}

func newPlaceRecord(ctx context.Context, c *conn, l *layer) placeRecord {
	return placeRecord{ctx: ctx, c: c, l: l}
}

// Context returns the context of the query.
func (r *placeRecord) Context() context.Context { return r.ctx }

// Geometry returns the stored geometry. It is valid until the next call for another row.
func (r *placeRecord) Geometry(string) (wkb []byte, in crs.ID, err error) {
	g := r.l.source.Geometry
	if r.read {
		return r.at.wkb, g.CRS, nil
	}
	kept, ok := r.l.shapes.Get(shapeKey{r.l, r.id})
	if ok {
		r.at, r.read = *kept, true
		return r.at.wkb, g.CRS, nil
	}
	if r.sql == "" {
		r.sql = "SELECT " + alias + "." + quote(g.Column) + " FROM " + r.l.source.Table + " AS " + alias + " WHERE " +
			alias + "." + g.RowID + " = ?"
	}
	r.at = shape{}
	err = r.c.query(r.sql, []any{r.id}, func(x row) error {
		if x.Kind(0) == kindBlob {
			r.c.blob = x.Bytes(0, r.c.blob)
			r.at.wkb = wkbOf(r.c.blob)
		}
		return nil
	})
	if r.read = err == nil; r.read {
		if kept := r.l.keepShape(r.id, r.at.wkb); kept != nil {
			r.at = *kept
		}
	}
	return r.at.wkb, g.CRS, err
}

// keepShape prepares and caches a copy of the geometry of a row; nil if it is too large.
func (l *layer) keepShape(id int64, wkb []byte) *shape {
	if len(wkb) > shapeMost {
		return nil
	}
	x := &shape{wkb: bytes.Clone(wkb)}
	x.edges = relate.NewEdges(x.wkb)
	l.shapes.Put(shapeKey{l, id}, x, x.size())
	return x
}

// size returns the memory of x in bytes.
func (x *shape) size() int64 { return int64(unsafe.Sizeof(*x)) + int64(cap(x.wkb)+x.edges.Bytes()) }

// Edges returns the prepared geometry.
func (r *placeRecord) Edges() *relate.Edges { return r.at.edges }

// Pad returns the pad of the layer.
func (r *placeRecord) Pad() float64 { return r.l.source.Geometry.Pad }

func (r *placeRecord) Value(name string) (any, error) {
	return nil, fmt.Errorf("gpkg: %q of a row that has a place only", name)
}

func (r *placeRecord) Rows(relation string) ([]cql2.Record, error) {
	return nil, fmt.Errorf("gpkg: %q of a row that has a place only", relation)
}

// hints provide what envelopes in memory decide about the rows of a statement.
type hints struct {
	rev    *revision
	l      *layer
	bounds *cql2.Bounds // nil: no hints
	asked  int
	sure   map[int64]cql2.Truth // rows that may match, by row id
}

// hintsFrom is the number of rows after which envelopes are searched.
const hintsFrom = 16

func newHints(rev *revision, l *layer, residue cql2.Expr) *hints {
	h := &hints{rev: rev, l: l}
	if g := l.source.Geometry; l.boxes != "" && !l.view && l.Count <= mostPlaces && rev.memory.columns.Limit() > 0 {
		h.bounds = cql2.NewBounds(residue, g.Name, g.CRS, g.Pad)
	}
	return h
}

// of returns the hint for the row whose row id is in column i; Null: unknown.
func (h *hints) of(c *conn, r row, i int) (cql2.Truth, error) {
	if h.bounds == nil {
		return cql2.Null, nil
	}
	if h.asked++; h.asked < hintsFrom {
		return cql2.Null, nil
	}
	if h.sure == nil {
		if ok, err := h.read(c); err != nil || !ok {
			h.bounds = nil
			return cql2.Null, err
		}
	}
	if t, ok := h.sure[r.Int(i)]; ok || h.l.source.Geometry.HasNull {
		return t, nil
	}
	return cql2.False, nil
}

func (h *hints) read(c *conn) (bool, error) {
	if same, err := c.unchanged(); err != nil || !same {
		return false, err
	}
	t := h.rev.places(h.l)
	if t == nil {
		return false, nil
	}
	rows, ok := t.find(reachOf(nil, 0), maxCandidates, h.bounds)
	h.sure = make(map[int64]cql2.Truth, len(rows))
	for _, x := range rows {
		h.sure[t.rowid(x.id)] = x.t
	}
	return ok, nil
}
