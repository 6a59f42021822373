package gpkg

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"grense/internal/cache"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/relate"
	"grense/internal/store/gpkg/envelope"
	"grense/internal/store/gpkg/gpb"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
)

// candidates tests rows that may match a query. Only geometries that their envelopes do not decide are read.
type candidates struct {
	l       *layer.Layer
	matcher *cql2.Matcher
	rec     placeRecord
	places  *envelope.Table
	tested  int
	turn    time.Time
}

// takesMissing reports whether rows without geometry match.
func (s *candidates) takesMissing() (bool, error) {
	t, err := s.matcher.Eval(&placeRecord{ctx: context.Background(), l: s.l, read: true})
	return t == cql2.True, err
}

// isSpatial reports whether a filter depends on the geometry alone.
func isSpatial(l *layer.Layer, e cql2.Expr) bool {
	is := func(e cql2.Expr) bool { return isSpatial(l, e) }
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
		return isPlace(l, e.L) && isPlace(l, e.R)
	}
	return false
}

func isPlace(l *layer.Layer, e cql2.Expr) bool {
	if p, ok := e.(cql2.Prop); ok {
		return p.Name == l.Geometry.Name
	}
	_, ok := e.(cql2.Geom)
	return ok
}

// holds reports whether a row matches.
func (s *candidates) holds(ctx context.Context, x envelope.Entry) (bool, error) {
	if x.Truth != cql2.Null {
		return x.Truth == cql2.True, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	if s.tested++; s.tested%sqlite.RowsPerSlice == 0 {
		s.turn = sqlite.YieldAfter(s.turn)
	}
	s.rec.id, s.rec.read = s.places.Rowid(x.Place), false
	t, err := s.matcher.Eval(&s.rec)
	return t == cql2.True, err
}

// shape is the geometry of a row, prepared for comparisons.
type shape struct {
	wkb   []byte // nil: no geometry
	edges *relate.Edges
}

// shapeKey identifies a row of a layer; layers differ between revisions.
type shapeKey struct {
	l  *layer.Layer
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
	ctx    context.Context // of the query
	c      *sqlite.Conn
	l      *layer.Layer
	shapes *shapeCache
	sql    string
	id     int64
	read   bool
	at     shape // wkb may point into the buffer of the connection
}

func newPlaceRecord(ctx context.Context, c *sqlite.Conn, qu *query) placeRecord {
	return placeRecord{ctx: ctx, c: c, l: qu.l, shapes: qu.rev.shapes}
}

// Context returns the context of the query.
func (r *placeRecord) Context() context.Context { return r.ctx }

// Geometry returns the stored geometry. It is valid until the next call for another row.
func (r *placeRecord) Geometry(string) (wkb []byte, in crs.ID, err error) {
	g := r.l.SQL.Geometry
	if r.read {
		return r.at.wkb, g.CRS, nil
	}
	kept, ok := r.shapes.Get(shapeKey{r.l, r.id})
	if ok {
		r.at, r.read = *kept, true
		return r.at.wkb, g.CRS, nil
	}
	if r.sql == "" {
		r.sql = "SELECT " + layer.Alias + "." + sqlite.Quote(g.Column) + " FROM " + r.l.SQL.Table + " AS " +
			layer.Alias +
			" WHERE " +
			layer.Alias + "." + g.RowID + " = ?"
	}
	r.at = shape{}
	err = r.c.Query(r.sql, []any{r.id}, func(x sqlite.Row) error {
		if x.Kind(0) == sqlite.KindBlob {
			s := sessionOf(r.c)
			s.blob = x.Bytes(0, s.blob)
			r.at.wkb = gpb.WKB(s.blob)
		}
		return nil
	})
	if r.read = err == nil; r.read {
		if kept := keepShape(r.shapes, r.l, r.id, r.at.wkb); kept != nil {
			r.at = *kept
		}
	}
	return r.at.wkb, g.CRS, err
}

// keepShape prepares and caches a copy of the geometry of a row; nil if it is too large.
func keepShape(in *shapeCache, l *layer.Layer, id int64, wkb []byte) *shape {
	if len(wkb) > shapeMost {
		return nil
	}
	x := &shape{wkb: bytes.Clone(wkb)}
	x.edges = relate.NewEdges(x.wkb)
	in.Put(shapeKey{l, id}, x, x.size())
	return x
}

// size returns the memory of x in bytes.
func (x *shape) size() int64 { return int64(unsafe.Sizeof(*x)) + int64(cap(x.wkb)+x.edges.Bytes()) }

// Edges returns the prepared geometry.
func (r *placeRecord) Edges() *relate.Edges { return r.at.edges }

// Pad returns the pad of the layer.
func (r *placeRecord) Pad() float64 { return r.l.SQL.Geometry.Pad }

func (r *placeRecord) Value(name string) (any, error) {
	return nil, fmt.Errorf("gpkg: %q of a row that has a place only", name)
}

func (r *placeRecord) Rows(relation string) ([]cql2.Record, error) {
	return nil, fmt.Errorf("gpkg: %q of a row that has a place only", relation)
}

// hints provide what envelopes in memory decide about the rows of a statement.
type hints struct {
	rev    *revision
	l      *layer.Layer
	bounds *cql2.Bounds // nil: no hints
	asked  int
	sure   map[int64]cql2.Truth // rows that may match, by row id
}

// maxHints is the largest number of rows with an envelope that may match for which hints are kept.
const maxHints = 1 << 20

// hintsFrom is the number of rows after which envelopes are searched.
const hintsFrom = 16

func newHints(rev *revision, l *layer.Layer, residue cql2.Expr) *hints {
	h := &hints{rev: rev, l: l}
	if g := l.SQL.Geometry; l.Boxes != "" && !l.View && l.Count <= mostPlaces && rev.memory.columns.Limit() > 0 {
		h.bounds = cql2.NewBounds(residue, g.Name, g.CRS, g.Pad)
	}
	return h
}

// of returns the hint for the row whose row id is in column i; Null: unknown.
func (h *hints) of(c *sqlite.Conn, r sqlite.Row, i int) (cql2.Truth, error) {
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
	if t, ok := h.sure[r.Int(i)]; ok || h.l.SQL.Geometry.HasNull {
		return t, nil
	}
	return cql2.False, nil
}

func (h *hints) read(c *sqlite.Conn) (bool, error) {
	if same, err := c.Unchanged(); err != nil || !same {
		return false, err
	}
	t := h.rev.places(h.l)
	if t == nil {
		return false, nil
	}
	rows, ok := t.Find(reachOf(nil, 0), maxHints, h.bounds)
	h.sure = make(map[int64]cql2.Truth, len(rows))
	for _, x := range rows {
		h.sure[t.Rowid(x.Place)] = x.Truth
	}
	return ok, nil
}
