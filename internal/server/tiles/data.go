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
	"grense/internal/store"
	"grense/internal/tile"
)

// tileBytes bounds the tiles that are cached.
const tileBytes = 128 << 20

// tileKey names a tile in one state of the data.
type tileKey struct {
	set   *tile.Set
	at    tile.Tile
	asked string // layers, filters and properties
	rev   string
}

// madeTile is a tile as it goes out. It is immutable.
type madeTile struct {
	body *server.Body // nil: an empty one
	hint string
	keep bool

	readers limit.Lent
}

func (t *madeTile) size() int64 {
	if t.body == nil {
		return 64
	}
	return int64(len(t.body.Plain) + len(t.body.Gz) + 128)
}

// tileCache holds tiles, and lets one request make what several ask for at once. It is safe for concurrent use.
type tileCache struct {
	*cache.Cache[tileKey, *madeTile]
	mu   sync.Mutex
	made map[tileKey]*tileMaking
}

// tileMaking is a tile that is being built, or will be after another. made and err are set before done is closed.
type tileMaking struct {
	done chan struct{}
	made *madeTile
	err  error
	next *tileMaking // the one after it, guarded by tileCache.mu; nil: nobody waits for that
}

// newTileCache makes a cache of so many bytes; of 0 it keeps nothing, and what several ask for at once is made once
// all the same.
func newTileCache(g *cache.Group, bytes int64) *tileCache {
	return &tileCache{Cache: cache.New[tileKey,
		*madeTile](cache.Options{Name: "tiles", Bytes: bytes, Shards: 4, Group: g}), made: map[tileKey]*tileMaking{}}
}

// get returns a tile: a cached one, that of a request that is building it, or a new one. Without a rev a request
// never gets what was begun before it, which may be of older data: all who come while a tile is built share the one
// that is built after it. Where the other request fails, which may have reasons of its own, fresh is called.
func (tc *tileCache) get(ctx context.Context, k tileKey, fresh func() (*madeTile, error)) (*madeTile, error) {
	if t, ok := tc.Get(k); ok {
		return t, nil
	}
	m, before, leads := tc.join(k)
	if !leads {
		select {
		case <-m.done:
			if m.err == nil {
				return m.made, nil
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
	m.made, m.err = fresh()
	if m.err == nil && m.made.keep && k.rev != "" {
		tc.Put(k, m.made, m.made.size()+int64(len(k.asked)+len(k.rev)))
	}
	return m.made, m.err
}

// join returns what a request waits for, or leads. A leader first waits for before, if that is not nil.
func (tc *tileCache) join(k tileKey) (m, before *tileMaking, leads bool) {
	tc.mu.Lock()
	defer tc.mu.Unlock()
	fresh := &tileMaking{done: make(chan struct{}), err: context.Canceled} // a panic leaves the others to build it
	switch m = tc.made[k]; {
	case m == nil:
		tc.made[k] = fresh
		return fresh, nil, true
	case k.rev != "":
		return m, nil, false
	case m.next == nil:
		m.next = fresh
		return fresh, m, true
	}
	return m.next, nil, false
}

// end lets others have what m became, and the next one begin.
func (tc *tileCache) end(k tileKey, m, before *tileMaking) {
	tc.mu.Lock()
	if before != nil && before.next == m {
		before.next = nil
	}
	if tc.made[k] == m {
		if delete(tc.made, k); m.next != nil {
			tc.made[k] = m.next
		}
	}
	tc.mu.Unlock()
	close(m.done)
}

// tile gives a tile of a collection or of the dataset (OGC 20-057, 7).
func (s *surface) tile(c *call, w http.ResponseWriter) error {
	set, err := c.grid()
	if err != nil {
		return err
	}
	at, err := set.Parse(c.PathParam("tileMatrix"), c.PathParam("tileRow"), c.PathParam("tileCol"))
	if err != nil {
		return err
	}
	if err := s.Turns.Rates.Admit(c.Owner()); err != nil { // a tile that is there already asks the store for nothing
		return err
	}
	key := tileKey{set: set, at: at, asked: c.tileAsked(), rev: s.Tiles.Rev(s.Store, set, c.layerIDs()...)}
	t, err := s.tiles.get(c.Request.Context(), key, func() (*madeTile, error) { return c.makeTile(set, at) })
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

// templatesKey names the header Link-Template of tiles that are asked for without parameters.
type templatesKey struct{ base, path, set string }

func newTemplates(g *cache.Group) *cache.Cache[templatesKey, string] {
	return cache.New[templatesKey, string](cache.Options{Name: "link templates", Bytes: 256 << 10, Group: g})
}

// tileTemplates is the header Link-Template of a tile (RFC 9652; OGC 20-057, /rec/core/tc-link-template).
func (c *call) tileTemplates(set *tile.Set) string {
	rest := c.Others()
	if rest != "" {
		return server.LinkTemplates(c.tilesetLinks(set, rest))
	}
	key := templatesKey{c.Base(), c.TilesPath(), set.ID}
	if v, ok := c.s.templates.Get(key); ok {
		return v
	}
	v := server.LinkTemplates(c.tilesetLinks(set, ""))
	c.s.templates.Put(key, v, int64(len(v)+len(key.base)+len(key.path)+64))
	return v
}

// layerIDs are the collections of the layers.
func (c *call) layerIDs() []string {
	ids := make([]string, len(c.tiles().layers))
	for i, at := range c.tiles().layers {
		ids[i] = at.Collection.ID
	}
	return ids
}

// tileAsked is what is asked besides set and address: two requests with the same text have the same tile.
func (c *call) tileAsked() string {
	ids := strings.Join(c.layerIDs(), ",")
	for _, l := range c.tiles().layers {
		if at := l.Collection.Moment(l.Items().Query.AsOf); !at.IsZero() { // of now, too
			ids += "@" + strconv.FormatInt(at.Unix(), 36)
		}
	}
	rest := c.Replay("f", "lang", "collections")
	if len(rest) == 0 {
		return ids
	}
	return ids + "?" + strings.Join(rest, "&")
}

// makeTile makes a tile of a set. Where there are no data it is empty, and so it is on levels before the first one.
func (c *call) makeTile(set *tile.Set, at tile.Tile) (*madeTile, error) {
	ask := tile.Ask{Set: set, Tile: at}
	for _, l := range c.tiles().layers {
		ask.Layers = append(ask.Layers, tile.Query{Collection: l.Collection.ID, Filter: l.Items().Query.Filter,
			AsOf: l.Collection.Moment(l.Items().Query.AsOf), Properties: l.Items().Properties})
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
	if !ok { // not cached, so that tiles beside the data leave the others their room
		c.s.Turns.Charge(c.Asking(c.Request.Context()), store.CostPage)
		return &madeTile{hint: "empty"}, nil
	}
	made, err := c.drawTile(ask)
	if errors.Is(err, tile.ErrPreparing) && c.awaitLevels(set) {
		made, err = c.drawTile(ask)
	}
	if err != nil {
		return nil, err
	}
	t := &madeTile{hint: made.Hint, keep: made.Keep}
	if !made.Empty {
		t.body = tileBody(made.Data)
	}
	return t, nil
}

// drawTile makes a tile when it is its turn.
func (c *call) drawTile(ask tile.Ask) (made *tile.Made, err error) {
	turn := c.Ticket(false)
	if err := c.s.Turns.Enter(c.Request.Context(), limit.CostTile, turn); err != nil {
		return nil, err
	}
	defer c.s.Turns.Leave(limit.CostTile, turn)
	err = c.Ask(func(ctx context.Context) (err error) {
		made, err = c.s.Tiles.Tile(ctx, c.s.Store, ask)
		return err
	})
	return made, err
}

// levelsWait is how long a tile waits for coarse levels before it is refused: map libraries leave a hole where one is.
const levelsWait = 20 * time.Second

// awaitLevels waits, without a turn, until the layers have levels, coarse ones at least; false when that takes too
// long.
func (c *call) awaitLevels(set *tile.Set) bool {
	ctx, cancel := context.WithTimeout(c.Request.Context(), levelsWait)
	defer cancel()
	return c.s.Tiles.Await(ctx, c.s.Store, set, c.layerIDs()...)
}

// tileBody is a tile as a body. It is compressed quickly: what it costs is part of the time of a tile that nobody has
// asked for before. Where that finds next to nothing, as among short numbers it may, it is compressed again with more
// care.
func tileBody(plain []byte) *server.Body {
	sum := sha256.Sum256(plain)
	b := &server.Body{Plain: plain, Etag: base64.RawURLEncoding.EncodeToString(sum[:12])}
	gz := server.Compress(nil, plain, gzip.BestSpeed)
	if len(gz) > len(plain)/8*7 {
		gz = server.Compress(gz[:0], plain, gzip.DefaultCompression)
	}
	if len(gz) < len(plain) {
		b.Gz = gz
	}
	return b
}
