package gpkg

import (
	"context"
	"errors"
	"math"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/envelope"
	"grense/internal/store/gpkg/gpb"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// mostPlaces is the number of features up to which envelopes are held in memory; for more, the R-tree is used.
const mostPlaces = 4_000_000

func placesName(l *layer.Layer) string { return l.ID + "\x00\x00places" }

// places returns the envelopes and ids of a layer; nil if they are not loaded. If that is worthwhile, it then starts
// loading them.
func (r *revision) places(l *layer.Layer) *envelope.Table {
	return tableOf[*envelope.Table](r, r.memory.columns, placesName(l), func() error { return r.makePlaces(l) })
}

// makePlaces reads the envelopes and ids of a layer and caches them, then its geometries. It fails if they do not fit.
func (r *revision) makePlaces(l *layer.Layer) error {
	var t *envelope.Table
	err := r.use(context.Background(), func(c *sqlite.Conn) error {
		same, err := c.Unchanged()
		if err != nil || !same || c.Encoding != sqlite.UTF8 {
			return errors.Join(err, errNoRoom)
		}
		t, err = envelope.Read(c, l)
		return err
	})
	if err != nil {
		return err
	}
	if err := r.put(r.memory.columns, placesName(l), t, t.Size()); err != nil {
		return err
	}
	bounds, err := r.makeShapes(l)
	if tight := t.Tightened(bounds); tight != nil && err == nil {
		return r.put(r.memory.columns, placesName(l), tight, tight.Size())
	}
	return err
}

// makeShapes prepares and caches the geometries of a layer in advance, as long as none must be evicted for them, and
// returns their bounds. Points need none, since their envelopes decide.
func (r *revision) makeShapes(l *layer.Layer) (bounds []envelope.RowBound, err error) {
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
func (r *revision) readShapes(l *layer.Layer, last int64, bounds *[]envelope.RowBound) (_ int64, more bool, err error) {
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
					*bounds = append(*bounds, envelope.RowBound{ID: last, Bound: kept.edges.Bound()})
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
