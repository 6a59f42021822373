package tile

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cache"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/store"
)

// Options say how a Maker works.
type Options struct {
	Dir   string       // takes side files with levels, in a folder of its own; "": levels are held in memory only
	Bytes int64        // of levels in memory, besides those that are being made. Defaults to 128 MB
	Cache *cache.Group // counts the levels in memory; nil: none
	// Memory is how many bytes the making of levels may take, about; 0: no bound. Where a layer takes more, tiles of
	// its finest levels are made of the features themselves, as they are requested; where it takes more on the first
	// level already, or has too many points or lines, all are.
	Memory int64
	// Most is how many points of a layer a tile shows; beyond, the least important are left out and counted. While
	// levels are being made, a tile with more features than that is refused. Defaults to 20,000.
	Most    int
	Largest int64 // bytes of a layer in a tile, beyond which it is refused. Defaults to 16 MB
	// how often a store whose rows may change at any moment (store.Catalog.Live) is looked through for changes.
	// Defaults to 5 minutes
	Check time.Duration
	// Coarse is how many edges a layer may have without coarse levels, of about so many, which stand in for the
	// others until these are made. Defaults to 500,000, of which levels are made within seconds.
	Coarse int
	// Queue bounds how many levels, each of a collection in a set, are made or wait for that at once; those beyond
	// are begun by later requests. Defaults to 32.
	Queue int
	Log   *slog.Logger // nil: none
	// has tiles of data that it fits (Archive.Fits), which the caller closes after the Maker; nil: none
	Archive *Archive
}

// Maker makes vector tiles (Mapbox Vector Tile 2.1) of the collections of a store. It is safe for concurrent use.
type Maker struct {
	o     Options
	cache *cache.Cache[sectionKey, any]

	ctx   context.Context // of what is made in the background
	stop  context.CancelFunc
	group sync.WaitGroup
	turn  chan struct{} // one at a time, so that memory keeps its bound

	mu     sync.Mutex
	closed bool
	works  map[workKey]*work
	fits   map[string]*fit // of the archive, by collection
	groups map[mateKey][]string
	count  int64
	queued int
}

// NewMaker returns a Maker, which the caller closes.
func NewMaker(o Options) *Maker {
	if o.Bytes == 0 {
		o.Bytes = 128 << 20
	}
	if o.Most == 0 {
		o.Most = 20_000
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Largest == 0 {
		o.Largest = 16 << 20
	}
	if o.Queue == 0 {
		o.Queue = 32
	}
	if o.Coarse == 0 {
		o.Coarse = 500_000
	}
	if o.Check == 0 {
		o.Check = 5 * time.Minute
	}
	m := &Maker{
		o:      o,
		turn:   make(chan struct{}, 1),
		works:  map[workKey]*work{},
		fits:   map[string]*fit{},
		groups: map[mateKey][]string{},
	}
	m.cache = cache.New[sectionKey, any](cache.Options{Name: "tile levels", Bytes: o.Bytes, Group: o.Cache})
	m.ctx, m.stop = context.WithCancel(context.Background())
	return m
}

// Ask is a request for a tile.
type Ask struct {
	Set    *Set
	Tile   Tile // of the set
	Layers []Query

	frozen bool // the levels are taken as they are, though rows may have changed since
}

// Query chooses the features of one layer, which is named as their collection.
type Query struct {
	Collection string
	Filter     cql2.Expr // checked against the collection (cql2.Check); nil chooses all
	AsOf       time.Time // as store.Query
	Properties []string  // as store.Want; besides, each feature has its id as IDKey
}

// chooses reports whether the tile has not all features of the collection.
func (q *Query) chooses() bool { return q.Filter != nil || !q.AsOf.IsZero() }

// IDKey, "id", is the property of each feature of a tile (MVT) that holds its id as text. A property of the
// collection that bears that name repeats the id, and is not written.
const IDKey = "id"

// Made is a tile. It is immutable.
type Made struct {
	Data []byte // without compression; none when Empty
	// Empty says that no layer has a feature in the tile (OGC 20-057, /per/core/empty-tile: 204).
	Empty bool
	// Hint is what the header OATiles-hint says about the tile and all finer ones within (OGC 20-057,
	// /rec/core/tc-hint): "empty", "full" where they lie within one feature, or "" where that is not known.
	Hint string
	// Rev names the state of the levels that the tile was made from: the same query with the same Rev has the same
	// Data. "" without Keep.
	Rev string
	// Keep says that the tile was made from levels, so that it may be kept for as long as Maker.Rev gives its Rev.
	// Tiles that were made while levels are being built may not.
	Keep bool
	// LeftOut counts the features that lie in the tile and are not in it, since they are too many, or lack importance
	// at its scale.
	LeftOut int

	read bool // features were read in the state of levels
}

// Range is where a layer has tiles in a set.
type Range struct {
	First, Last int       // levels
	Bound       orb.Bound // in the CRS of the set; what holds the extent of the collection
	// of each level from First on, of Bound; nil when the collection has no features with geometries there
	Limits  []Limits
	Settled bool // First and Last follow from the features; else they are those of the set, until levels are made
}

// Limits are the first and the last row and column of a level that have features.
type Limits struct{ Z, MinRow, MaxRow, MinCol, MaxCol int }

// Contains reports whether a tile lies within the limits.
func (r Range) Contains(t Tile) bool {
	return slices.ContainsFunc(r.Limits, func(l Limits) bool {
		return l.Z == t.Z && t.Row >= l.MinRow && t.Row <= l.MaxRow && t.Col >= l.MinCol && t.Col <= l.MaxCol
	})
}

// Range returns where a collection has tiles, by its levels if there are some: only a request for a tile begins to
// make them. A collection that is not in the catalog gives store.ErrNotFound, one whose coordinates have no way to
// the CRS of the set an error of kind problem.NotFound.
func (m *Maker) Range(ctx context.Context, st store.Store, set *Set, collection string) (Range, error) {
	c, _, err := layerOf(st.Catalog(), set, collection)
	if err != nil {
		return Range{}, err
	}
	r, err := set.estimate(c)
	if err != nil {
		return Range{}, err
	}
	l, err := m.levels(ctx, st, set, c)
	if err != nil {
		return r, err
	}
	if l != nil {
		return zoomed(l.span(r), c), nil
	}
	if a := m.archived(ctx, st, set, c); a != nil {
		return zoomed(a.span(r), c), nil
	}
	return zoomed(r, c), nil
}

// zoomed leaves of a range the levels that show a collection.
func zoomed(r Range, c *store.Collection) Range {
	if z := c.Zooms; z != nil {
		r.Last = min(r.Last, max(z.Max, r.First))
		r.First = min(max(r.First, z.Min), r.Last)
		r.Limits = slices.DeleteFunc(slices.Clone(r.Limits), func(l Limits) bool { return !c.ShownAt(l.Z) })
	}
	return r
}

// Estimate returns where a collection has tiles as Range does before there are levels: all that Range returns later
// lie within. For errors see Range.
func (m *Maker) Estimate(st store.Store, set *Set, collection string) (Range, error) {
	c, _, err := layerOf(st.Catalog(), set, collection)
	if err != nil {
		return Range{}, err
	}
	r, err := set.estimate(c)
	return zoomed(r, c), err
}

// layerOf finds a collection, and the way from its coordinates to those of a set; no way, and no error, where it has
// no geometry.
func layerOf(cat *store.Catalog, set *Set, id string) (*store.Collection, crs.Func, error) {
	c, ok := cat.Collection(id)
	if !ok {
		return nil, nil, fmt.Errorf("%w: collection %s", store.ErrNotFound, id)
	}
	if c.Geometry == nil {
		return c, nil, nil
	}
	move, err := crs.Between(c.Geometry.CRS, set.CRS)
	if err != nil {
		return nil, nil, problem.New(problem.NotFound, err, "The collection %s has no tiles in %s.", id, set.ID)
	}
	if set.CRS == crs.WebMercator && c.Geometry.CRS.Geographic() { // which takes the poles to infinity
		whole := move
		move = func(x, y float64) (float64, float64) { return whole(x, min(max(y, -beyond), beyond)) }
	}
	return c, set.within(move), nil
}

// beyond is the latitude that stands for those further from the equator in Web Mercator. It lies outside of all tiles.
const beyond = 89

// Takes reports whether a set shows a collection: its CRS is that of the geometries, or sound over all of them.
// WebMercatorQuad ends before the poles, as maps of the world do; of what is stored in degrees it shows the rest.
func (s *Set) Takes(c *store.Collection) bool {
	if s.Holds(c) {
		return true
	}
	if c.Geometry == nil || s.CRS != crs.WebMercator || !c.Geometry.CRS.Geographic() {
		return false
	}
	area := s.CRS.Area()
	return c.Extent.Max[1] >= area.Min[1] && c.Extent.Min[1] <= area.Max[1]
}

// Holds is Takes for all of a collection.
func (s *Set) Holds(c *store.Collection) bool {
	if c.Geometry == nil {
		return false
	}
	area := s.CRS.Area()
	return s.CRS == c.Geometry.CRS || c.Extent == nil || area.Contains(c.Extent.Min) && area.Contains(c.Extent.Max)
}

// within keeps what move gives within the reach of the set's first level and as much around it, where the projection
// goes to infinity.
func (s *Set) within(move crs.Func) crs.Func {
	b := s.World()
	w, h := b.Max[0]-b.Min[0], b.Max[1]-b.Min[1]
	return func(x, y float64) (float64, float64) {
		x, y = move(x, y)
		return min(max(x, b.Min[0]-w), b.Max[0]+w), min(max(y, b.Min[1]-h), b.Max[1]+h)
	}
}

// World returns the box of all tiles of the set's first level, in its CRS, x before y.
func (s *Set) World() orb.Bound {
	w, h := s.size(s.first)
	return s.Bound(Tile{Z: s.first}).Union(s.Bound(Tile{Z: s.first, Row: h - 1, Col: w - 1}))
}

// finest is the last level that tiles are made for: the first whose cells, 4096 to a tile, are at most 60 cm wide.
// Readers enlarge its tiles.
func (s *Set) finest() int {
	metre := 1.0
	if s.CRS.Geographic() {
		metre = 1 / 111319.49
	}
	for z := s.first; z < s.last; z++ {
		if s.unit(z) <= 0.6*metre {
			return z
		}
	}
	return s.last
}

// unit is the width of a cell of Extent to a tile, in units of the CRS.
func (s *Set) unit(z int) float64 { return s.cell * Cells / Extent / s.pow(z) }

// estimate returns the range from the catalog alone. It reaches a little further than the extent, which is rounded and
// of other edges than its image.
func (s *Set) estimate(c *store.Collection) (Range, error) {
	r := Range{First: s.first, Last: s.finest()}
	if c.Geometry == nil || c.Extent == nil || c.Count == 0 {
		return r, nil
	}
	b, err := crs.EnvelopeOf(*c.Extent, crs.CRS84, s.CRS)
	if err != nil {
		return r, problem.New(problem.NotFound, err, "The collection %s has no tiles in %s.", c.ID, s.ID)
	}
	s.limit(&r, b.Pad(max(b.Max[0]-b.Min[0], b.Max[1]-b.Min[1])/1000+s.unit(r.Last)))
	return r, nil
}

// limit fills bound and limits.
func (s *Set) limit(r *Range, b orb.Bound) {
	world := s.World()
	r.Bound = orb.Bound{
		Min: orb.Point{max(b.Min[0], world.Min[0]), max(b.Min[1], world.Min[1])},
		Max: orb.Point{min(b.Max[0], world.Max[0]), min(b.Max[1], world.Max[1])},
	}
	r.Limits = nil
	if r.Bound.IsEmpty() {
		return
	}
	for z := r.First; z <= r.Last; z++ {
		side := s.cell * Cells / s.pow(z)
		w, h := s.size(z)
		at := func(v float64, most int) int { return min(max(int(math.Floor(v/side)), 0), most-1) }
		r.Limits = append(r.Limits, Limits{Z: z,
			MinRow: at(s.origin[1]-r.Bound.Max[1], h), MaxRow: at(s.origin[1]-r.Bound.Min[1], h),
			MinCol: at(r.Bound.Min[0]-s.origin[0], w), MaxCol: at(r.Bound.Max[0]-s.origin[0], w)})
	}
}

// Tile makes a tile, all of whose layers are of one state of the data. A collection that is not in the catalog gives
// store.ErrNotFound. Data that change during the call give store.ErrChanged: a retry helps. The tile may lie outside
// of Range, and is empty then.
func (m *Maker) Tile(ctx context.Context, st store.Store, a Ask) (*Made, error) {
	cat := st.Catalog()
	a.Layers = slices.DeleteFunc(slices.Clone(a.Layers), func(l Query) bool {
		c, ok := cat.Collection(l.Collection)
		return ok && !c.ShownAt(a.Tile.Z)
	})
	if len(a.Layers) == 0 {
		return &Made{Empty: true}, nil
	}
	made, err := m.tile(ctx, st, a, m.o.Archive)
	if errors.Is(err, errOldArchive) {
		made, err = m.tile(ctx, st, a, nil)
	}
	if errors.Is(err, errArchive) {
		m.o.Log.Warn("a tile of the archive cannot be read and is rebuilt", "archive", m.o.Archive.path, "tile",
			a.Tile, "error", err)
		made, err = m.tile(ctx, st, a, nil)
	}
	return made, err
}
