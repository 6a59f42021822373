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

// Options configure a Maker.
type Options struct {
	Dir   string       // directory for side files with levels, in a subdirectory; "": levels are in memory only
	Bytes int64        // size of the cache of levels, without those being built. Defaults to 128 MB
	Cache *cache.Group // group that counts the cache; nil: none
	// Memory is about how many bytes building levels may use; 0: no limit. If a layer needs more, its finest levels are
	// not built, and their tiles are drawn from the features on request. If the first level alone needs more, or there
	// are too many points or lines, no levels are built.
	Memory int64
	// Most is the largest number of points of a layer in a tile; the least important ones beyond it are left out and
	// counted. While levels are being built, a tile with more features is refused. Defaults to 20,000.
	Most    int
	Largest int64 // largest layer of a tile in bytes; a larger one is refused. Defaults to 16 MB
	// interval at which a live source (store.Catalog.Live) is checked for changed rows. Defaults to 5 minutes
	Check time.Duration
	// Coarse is the largest number of edges of a layer whose levels are built directly. A larger layer first gets
	// coarse levels with about this number, for use until the others are complete. Defaults to 500,000, which takes
	// seconds.
	Coarse int
	// Queue is the largest number of levels (of a collection in a set) that are being built or wait for it. Further
	// ones start with a later request. Defaults to 32.
	Queue int
	Log   *slog.Logger // nil: none
	// archive with tiles of the same data (Archive.Fits), to be closed after the Maker; nil: none
	Archive *Archive
}

// Maker builds vector tiles (Mapbox Vector Tile 2.1) of the collections of a store. It is safe for concurrent use.
type Maker struct {
	o     Options
	cache *cache.Cache[sectionKey, any]

	ctx   context.Context // of work in the background
	stop  context.CancelFunc
	group sync.WaitGroup
	turn  chan struct{} // held by the job that runs: one at a time, to bound memory

	mu     sync.Mutex
	closed bool
	works  map[workKey]*work
	fits   map[string]*fit // by collection
	groups map[mateKey][]string
	count  int64
	queued int
}

// NewMaker returns a Maker. The caller must close it.
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
	Tile   Tile    // address in Set
	Window *Window // of Set, drawn in place of Tile; nil: none
	Layers []Query

	frozen bool // use the levels as they are, even if rows have changed since
}

// frame is what is drawn.
func (a *Ask) frame() frame {
	if a.Window != nil {
		return a.Window.frame
	}
	return a.Tile.frame()
}

// Query selects the features of a layer. The layer has the name of the collection.
type Query struct {
	Collection string
	Filter     cql2.Expr // checked against the collection (cql2.Check); nil selects all
	AsOf       time.Time // as in store.Query
	Properties []string  // as in store.Want; each feature also has its id as IDKey
	// Titled means that of the properties only the title is needed, as for pictures. Others may be there as well
	Titled bool
}

// chooses reports whether the query may exclude features of the collection.
func (q *Query) chooses() bool { return q.Filter != nil || !q.AsOf.IsZero() }

// IDKey is the property of each feature in a tile that contains its id as text. A property of the collection with the
// same name repeats the id and is omitted.
const IDKey = "id"

// Made is a finished tile. It is immutable.
type Made struct {
	Data []byte // encoded tile without compression; nil if Empty
	// Empty means that no layer has a feature in the tile (OGC 20-057, /per/core/empty-tile: status 204).
	Empty bool
	// Hint is the value of the header OATiles-hint for the tile and all finer tiles within it (OGC 20-057,
	// /rec/core/tc-hint): "empty", "full" if one feature covers them, or "" if unknown.
	Hint string
	// Rev is the version of the levels that the tile was built from: equal queries with equal Rev have equal Data. ""
	// if Keep is false.
	Rev string
	// Keep means that the tile may be cached as long as Maker.Rev returns Rev. It is false for tiles that were drawn
	// from features because levels are still being built.
	Keep bool
	// LeftOut counts the features in the tile's area that it omits: there are too many, or they are not important
	// enough at its scale.
	LeftOut int

	read bool // some features were read from the store instead of the levels
}

// Range describes which tiles of a set a layer has.
type Range struct {
	First, Last int       // range of levels
	Bound       orb.Bound // in the CRS of the set; contains the extent of the collection
	// for each level of the range, the tiles that touch Bound; nil if the collection has no geometries there
	Limits  []Limits
	Settled bool // First and Last are those of built levels; otherwise they are estimates
}

// Limits are the first and the last row and column with features at level Z.
type Limits struct{ Z, MinRow, MaxRow, MinCol, MaxCol int }

// Contains reports whether a tile lies within the limits of its level.
func (r Range) Contains(t Tile) bool {
	return slices.ContainsFunc(r.Limits, func(l Limits) bool {
		return l.Z == t.Z && t.Row >= l.MinRow && t.Row <= l.MaxRow && t.Col >= l.MinCol && t.Col <= l.MaxCol
	})
}

// Range returns which tiles a collection has, from its levels if they are built. It does not start building levels. It
// returns store.ErrNotFound for a collection that is not in the catalog, and an error of kind problem.NotFound if its
// coordinates cannot be transformed to the CRS of the set.
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

// Side returns the side of a square with the median area of the features of a collection, in units of the CRS of the
// set; 0 if levels are not built yet.
func (m *Maker) Side(set *Set, collection string) float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	w := m.works[workKey{collection, set.ID}]
	switch {
	case w == nil:
	case w.levels != nil:
		return w.levels.side.sum.Side
	case w.rough.levels != nil:
		return w.rough.levels.side.sum.Side
	}
	if a := m.o.Archive; a != nil && set.ID == archivedSet && a.layers[collection] != nil {
		return a.layers[collection].Side
	}
	return 0
}

// zoomed restricts a range to the levels that show a collection.
func zoomed(r Range, c *store.Collection) Range {
	if z := c.Zooms; z != nil {
		r.Last = min(r.Last, max(z.Max, r.First))
		r.First = min(max(r.First, z.Min), r.Last)
		r.Limits = slices.DeleteFunc(slices.Clone(r.Limits), func(l Limits) bool { return !c.ShownAt(l.Z) })
	}
	return r
}

// Estimate returns what Range returns before levels are built. Later results of Range lie within it. Its errors are
// those of Range.
func (m *Maker) Estimate(st store.Store, set *Set, collection string) (Range, error) {
	c, _, err := layerOf(st.Catalog(), set, collection)
	if err != nil {
		return Range{}, err
	}
	r, err := set.estimate(c)
	return zoomed(r, c), err
}

// layerOf returns a collection and the transformation of its coordinates to the CRS of a set. The transformation is nil
// if the collection has no geometry.
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
	if set.CRS == crs.WebMercator && c.Geometry.CRS.Geographic() { // the projection is infinite at the poles
		whole := move
		move = func(x, y float64) (float64, float64) { return whole(x, min(max(y, -beyond), beyond)) }
	}
	return c, set.within(move), nil
}

// beyond is the largest absolute latitude that is projected to Web Mercator. It lies outside of all tiles.
const beyond = 89

// Takes reports whether a set can show a collection: it has the same CRS, or all geometries lie in the area of use of
// its CRS. WebMercatorQuad also shows collections in degrees that reach beyond its latitudes, without what lies there.
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

// Holds reports whether a set can show all geometries of a collection.
func (s *Set) Holds(c *store.Collection) bool {
	if c.Geometry == nil {
		return false
	}
	area := s.CRS.Area()
	return s.CRS == c.Geometry.CRS || c.Extent == nil || area.Contains(c.Extent.Min) && area.Contains(c.Extent.Max)
}

// within returns move with its result clamped to the set's box, extended by its own width and height on each side.
// Beyond, projections go to infinity.
func (s *Set) within(move crs.Func) crs.Func {
	b := s.World()
	w, h := b.Max[0]-b.Min[0], b.Max[1]-b.Min[1]
	return func(x, y float64) (float64, float64) {
		x, y = move(x, y)
		return min(max(x, b.Min[0]-w), b.Max[0]+w), min(max(y, b.Min[1]-h), b.Max[1]+h)
	}
}

// World returns the box of all tiles of the set, in its CRS, x before y.
func (s *Set) World() orb.Bound {
	w, h := s.size(s.first)
	return s.Bound(Tile{Z: s.first}).Union(s.Bound(Tile{Z: s.first, Row: h - 1, Col: w - 1}))
}

// finest returns the last level that is built: the first level whose cells (4096 for each tile) are at most 60 cm wide.
// Map clients enlarge its tiles to show finer levels.
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

// unit returns the width of a cell on level z (Extent cells for each tile), in units of the CRS.
func (s *Set) unit(z int) float64 { return s.cell * Cells / Extent / s.pow(z) }

// estimate returns the range by the extent in the catalog. It adds a margin, since the extent is rounded, and its
// transformed edges are not straight.
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

// limit sets Bound and Limits of a range.
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

// Tile builds a tile; all of its layers are of one version of the data. It returns store.ErrNotFound for a collection
// that is not in the catalog, and store.ErrChanged if the data change during the call: a retry helps. A tile outside of
// Range is empty.
func (m *Maker) Tile(ctx context.Context, st store.Store, a Ask) (*Made, error) {
	cat := st.Catalog()
	a.Layers = slices.DeleteFunc(slices.Clone(a.Layers), func(l Query) bool {
		c, ok := cat.Collection(l.Collection)
		return ok && !c.ShownAt(a.frame().z)
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
