package tiles

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/klauspost/compress/gzip"

	"grense/internal/cache"
	"grense/internal/server"
	"grense/internal/server/limit"
	"grense/internal/server/selection"
	"grense/internal/server/wire"
	"grense/internal/store"
	"grense/internal/tile"
)

// tileBytes bounds the cache of tiles, in bytes.
const tileBytes = 128 << 20

// tileKey identifies a tile in one version of the data.
type tileKey struct {
	set     *tile.Set
	at      tile.Tile
	content string // layers, filters and properties
	rev     string // "": the version is not known without a query
}

// encodedTile is a tile with its headers. It is immutable.
type encodedTile struct {
	body *wire.Body // nil if the tile is empty
	hint string
	keep bool

	readers limit.Lent
}

func (t *encodedTile) size() int64 {
	if t.body == nil {
		return 64
	}
	return int64(len(t.body.Plain) + len(t.body.Gz) + 128)
}

// tileCache caches tiles, and builds a tile once for all requests that wait for it. It is safe for concurrent use.
type tileCache struct {
	*cache.Cache[tileKey, *encodedTile]
	mu      sync.Mutex
	flights map[tileKey]*tileFlight
}

// tileFlight is a tile that is being built, or queued behind another build. tile and err are set before done is closed.
type tileFlight struct {
	done chan struct{}
	tile *encodedTile
	err  error
	next *tileFlight // the build queued behind this one, guarded by tileCache.mu; nil if there is none
}

// newTileCache returns a cache of so many bytes. With 0 bytes it stores nothing, but still builds a tile once for all
// requests that wait for it.
func newTileCache(g *cache.Group, bytes int64) *tileCache {
	tiles := cache.New[tileKey, *encodedTile](cache.Options{Name: "tiles", Bytes: bytes, Shards: 4, Group: g})
	return &tileCache{Cache: tiles, flights: map[tileKey]*tileFlight{}}
}

// get returns a tile from the cache, from the build of another request, or from fresh. If k has no rev, a build that
// began before the request may use older data: all requests that come during a build then share one that begins after
// it. If the build of another request fails, get calls fresh, since the reason may lie in that request.
func (tc *tileCache) get(ctx context.Context, k tileKey, fresh func() (*encodedTile, error)) (*encodedTile, error) {
	if t, ok := tc.Get(k); ok {
		return t, nil
	}
	m, before, leads := tc.join(k)
	if !leads {
		select {
		case <-m.done:
			if m.err == nil {
				return m.tile, nil
			}
			return fresh()
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	defer tc.end(k, m, before)
	if before != nil {
		select {
		case <-before.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	m.tile, m.err = fresh()
	if m.err == nil && m.tile.keep && k.rev != "" {
		tc.Put(k, m.tile, m.tile.size()+int64(len(k.content)+len(k.rev)))
	}
	return m.tile, m.err
}

// join returns the build that a request waits for, or leads if it has to build. A leader first waits for before, unless
// that is nil.
func (tc *tileCache) join(k tileKey) (m, before *tileFlight, leads bool) {
	tc.mu.Lock()
	defer tc.mu.Unlock()
	fresh := &tileFlight{done: make(chan struct{}), err: context.Canceled} // if it panics, each waiter builds
	switch m = tc.flights[k]; {
	case m == nil:
		tc.flights[k] = fresh
		return fresh, nil, true
	case k.rev != "":
		return m, nil, false
	case m.next == nil:
		m.next = fresh
		return fresh, m, true
	}
	return m.next, nil, false
}

// end removes a build that ended, wakes its waiters and starts the next one.
func (tc *tileCache) end(k tileKey, m, before *tileFlight) {
	tc.mu.Lock()
	if before != nil && before.next == m {
		before.next = nil
	}
	if tc.flights[k] == m {
		if delete(tc.flights, k); m.next != nil {
			tc.flights[k] = m.next
		}
	}
	tc.mu.Unlock()
	close(m.done)
}

// tile writes a tile of a collection or of the dataset (OGC 20-057, 7).
func (s *surface) tile(c *call, w http.ResponseWriter) error {
	set, err := c.grid()
	if err != nil {
		return err
	}
	at, err := set.Parse(c.PathParam("tileMatrix"), c.PathParam("tileRow"), c.PathParam("tileCol"))
	if err != nil {
		return err
	}
	if err := s.Turns.AdmitOwner(c.Owner()); err != nil { // cached tiles need no slot, where the rate is checked
		return err
	}
	key := tileKey{set: set, at: at, content: c.contentKey(), rev: s.Tiles.Rev(s.Store, set, c.layerIDs()...)}
	t, err := s.tiles.get(c.Request.Context(), key, func() (*encodedTile, error) { return c.buildTile(set, at) })
	if err != nil {
		return err
	}
	if s.Store.Catalog() != c.Catalog {
		return store.ErrChanged
	}
	if t.keep {
		s.Turns.Charge(c.Asking(c.Request.Context()), store.CostPage)
	}
	h := w.Header()
	c.DataHeaders(w)
	h.Set("Link-Template", c.tileTemplates(set))
	if t.hint != "" {
		h.Set("OATiles-hint", t.hint)
	}
	if t.body == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	done, err := t.readers.Begin(&s.Flight, len(t.body.Plain)+len(t.body.Gz))
	if err != nil {
		return err
	}
	defer done()
	h.Set("Content-Type", c.Format.ContentType())
	c.WriteBody(w, http.StatusOK, t.body)
	return nil
}

// templatesKey identifies the header Link-Template of tiles that are requested without parameters.
type templatesKey struct{ base, path, set string }

func newTemplates(g *cache.Group) *cache.Cache[templatesKey, string] {
	return cache.New[templatesKey, string](cache.Options{Name: "link templates", Bytes: 256 << 10, Group: g})
}

// tileTemplates returns the header Link-Template of a tile (RFC 9652; OGC 20-057, /rec/core/tc-link-template).
func (c *call) tileTemplates(set *tile.Set) string {
	rest := c.Others()
	if rest != "" {
		return wire.LinkTemplates(c.tilesetLinks(set, rest))
	}
	key := templatesKey{c.Base(), c.tilesPath(), set.ID}
	if v, ok := c.s.templates.Get(key); ok {
		return v
	}
	v := wire.LinkTemplates(c.tilesetLinks(set, ""))
	c.s.templates.Put(key, v, int64(len(v)+len(key.base)+len(key.path)+64))
	return v
}

// layerIDs returns the ids of the layers' collections.
func (c *call) layerIDs() []string {
	ids := make([]string, len(c.tiles().layers))
	for i, at := range c.tiles().layers {
		ids[i] = at.Collection.ID
	}
	return ids
}

// contentKey returns layers, versions and filters as text: requests with equal set, address and contentKey get the same
// tile.
func (c *call) contentKey() string {
	ids := strings.Join(c.layerIDs(), ",")
	for _, l := range c.tiles().layers {
		if at := l.Collection.Moment(selection.Of(l).Query.AsOf); !at.IsZero() { // set also if no datetime is requested
			ids += "@" + strconv.FormatInt(at.Unix(), 36)
		}
	}
	rest := c.Replay("f", "lang", "collections")
	if len(rest) == 0 {
		return ids
	}
	return ids + "?" + strings.Join(rest, "&")
}

// buildTile builds a tile. It is empty outside the data and on levels before the first one.
func (c *call) buildTile(set *tile.Set, at tile.Tile) (*encodedTile, error) {
	ask := tile.Ask{Set: set, Tile: at}
	for _, l := range c.tiles().layers {
		ask.Layers = append(ask.Layers, tile.Query{Collection: l.Collection.ID, Filter: selection.Of(l).Query.Filter,
			AsOf: l.Collection.Moment(selection.Of(l).Query.AsOf), Properties: selection.Of(l).Properties})
	}
	ok, err := c.mayHold(set, at)
	if err != nil {
		return nil, err
	}
	if !ok {
		err := c.Ask(func(ctx context.Context) (err error) {
			ok, err = c.s.Tiles.Holds(ctx, c.s.Store, ask)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if !ok { // not cached, so that empty tiles do not displace others
		c.s.Turns.Charge(c.Asking(c.Request.Context()), store.CostPage)
		return &encodedTile{hint: "empty"}, nil
	}
	made, err := Draw(c.Call, c.s.Kit, ask)
	if err != nil {
		return nil, err
	}
	t := &encodedTile{hint: made.Hint, keep: made.Keep}
	if !made.Empty {
		t.body = tileBody(made.Data)
	}
	return t, nil
}

// Draw builds a tile or a window in a slot of CostTile. It waits for levels that are being built.
func Draw(c *server.Call, k *server.Kit, ask tile.Ask) (*tile.Made, error) {
	made, err := drawTile(c, k, ask)
	if errors.Is(err, tile.ErrPreparing) && awaitLevels(c, k, ask) {
		made, err = drawTile(c, k, ask)
	}
	return made, err
}

func drawTile(c *server.Call, k *server.Kit, ask tile.Ask) (made *tile.Made, err error) {
	turn := c.Ticket(false)
	if err := k.Turns.Enter(c.Request.Context(), limit.CostTile, turn); err != nil {
		return nil, err
	}
	defer k.Turns.Leave(limit.CostTile, turn)
	err = c.Ask(func(ctx context.Context) (err error) {
		made, err = k.Tiles.Tile(ctx, k.Store, ask)
		return err
	})
	return made, err
}

// levelsWait is the time that a tile waits for generalized levels before it fails: map libraries leave a hole for a
// tile that fails.
const levelsWait = 20 * time.Second

// awaitLevels waits without a slot until the layers have levels, if only coarse ones. It returns false after
// levelsWait.
func awaitLevels(c *server.Call, k *server.Kit, ask tile.Ask) bool {
	ctx, cancel := context.WithTimeout(c.Request.Context(), levelsWait)
	defer cancel()
	ids := make([]string, len(ask.Layers))
	for i, l := range ask.Layers {
		ids[i] = l.Collection
	}
	return k.Tiles.Await(ctx, k.Store, ask.Set, ids...)
}

// tileBody compresses a tile. Speed matters, since the client is waiting; the slower level is for tiles that the fast
// one hardly compresses.
func tileBody(plain []byte) *wire.Body {
	sum := sha256.Sum256(plain)
	b := &wire.Body{Plain: plain, Etag: base64.RawURLEncoding.EncodeToString(sum[:12])}
	gz := wire.Compress(nil, plain, gzip.BestSpeed)
	if len(gz) > len(plain)/8*7 {
		gz = wire.Compress(gz[:0], plain, gzip.DefaultCompression)
	}
	if len(gz) < len(plain) {
		b.Gz = gz
	}
	return b
}
