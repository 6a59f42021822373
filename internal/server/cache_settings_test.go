package server_test

import (
	"testing"
	"time"

	"grense/internal/config"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// TestSharedCachesMayUseOpenDataAgain as long as the settings say, by kind of resource and by collection; nothing that
// needs a key, that failed, or that describes the service.
func TestSharedCachesMayUseOpenDataAgain(t *testing.T) {
	t.Parallel()
	const (
		asks    = "no-cache"
		hour    = "public, max-age=3600"
		day     = "public, max-age=86400"
		stale   = ", stale-while-revalidate=600"
		mine    = "private, no-cache"
		never   = "no-store"
		items   = "/collections/kommuner/items?limit=1"
		item    = "/collections/kommuner/items/0301"
		page    = "/collections/kommuner/items?limit=1&f=html"
		counted = "/collections/kommuner/items?resulttype=hits"
		other   = "/collections/fylker/items?limit=1" // has a max_age of its own where the test gives one
		lookup  = "/lookup?lon=10.75&lat=59.91"
		tile    = "/tiles/WebMercatorQuad/5/9/16?f=mvt"
		layer   = "/collections/fylker/tiles/WebMercatorQuad/5/9/16?f=mvt"
		about   = "/collections/kommuner?f=json"
		broken  = "/collections/kommuner/items?limit=x"
		missing = "/collections/kommuner/items/none"
		jobs    = "/jobs?f=json"
	)
	for name, c := range map[string]struct {
		cache config.Cache
		own   time.Duration // max_age of fylker
		auth  string
		want  map[string]string
	}{
		"nothing is set": {config.Cache{}, 0, "open",
			map[string]string{items: asks, item: asks, page: asks, other: asks, tile: asks, about: asks}},
		"data": {config.Cache{MaxAge: time.Hour}, 0, "open",
			map[string]string{items: hour, item: hour, page: hour, counted: hour, other: hour, lookup: hour,
				tile: asks, layer: asks, about: asks, broken: never, missing: never, jobs: mine}},
		"stale": {config.Cache{MaxAge: time.Hour, StaleWhileRevalidate: 10 * time.Minute}, 0, "open",
			map[string]string{items: hour + stale, tile: asks, broken: never}},
		"stale alone": {config.Cache{StaleWhileRevalidate: 10 * time.Minute}, 0, "open",
			map[string]string{items: asks, tile: asks}},
		"tiles": {config.Cache{TilesMaxAge: 24 * time.Hour}, 0, "open",
			map[string]string{items: asks, tile: day, layer: day, about: asks}},
		"a collection": {config.Cache{MaxAge: time.Hour}, 24 * time.Hour, "open",
			map[string]string{items: hour, other: day, lookup: hour, layer: asks, tile: asks}},
		"a collection alone": {config.Cache{}, 24 * time.Hour, "open",
			map[string]string{items: asks, other: day, lookup: asks}},
		"less than a second": {config.Cache{MaxAge: 999 * time.Millisecond}, 0, "open",
			map[string]string{items: asks}},
		"with keys": {config.Cache{MaxAge: time.Hour, TilesMaxAge: 24 * time.Hour, StaleWhileRevalidate: time.Hour},
			24 * time.Hour, "required",
			map[string]string{items: mine, item: mine, other: mine, tile: mine, layer: mine, lookup: mine,
				about: asks}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), demoPath(t),
				gpkg.Options{DataDir: t.TempDir(),
					Settings: map[string]store.Settings{"fylker": {MaxAge: c.own}}}))
			a := serveStore(t, st, func(cfg *config.Config) { cfg.Cache, cfg.Auth = c.cache, c.auth })
			for path, want := range c.want {
				a.get(path, "X-API-Key", a.key)
				tilesReady(t, a.srv) // a tile made before has another ETag
				var etag string
				for range 3 { // the third answer is a cached one
					r := a.get(path, "X-API-Key", a.key)
					if got := r.Header.Get("Cache-Control"); got != want {
						t.Errorf("%s: Cache-Control %q, want %q", path, got, want)
					}
					etag = r.Header.Get("Etag")
				}
				if etag == "" {
					continue
				}
				r := a.get(path, "X-API-Key", a.key, "If-None-Match", etag)
				if got := r.Header.Get("Cache-Control"); r.StatusCode != 304 || got != want {
					t.Errorf("%s: %d with Cache-Control %q to If-None-Match, want %q", path, r.StatusCode, got, want)
				}
			}
		})
	}
}
