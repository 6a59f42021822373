package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"sync"

	"grense/internal/apikey"
	"grense/internal/cache"
	"grense/internal/config"
	"grense/internal/demo"
	"grense/internal/history"
	"grense/internal/server"
	"grense/internal/server/surface"
	"grense/internal/source"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/tile"
)

// assembly answers for the data with one configuration. A reload of changed settings builds another one beside it,
// which takes its place.
type assembly struct {
	log     *slog.Logger
	store   store.Store
	server  *surface.Server
	tiles   *tile.Maker
	archive *tile.Archive // nil: none
	caches  *cache.Group

	handler http.Handler
	serving sync.RWMutex  // read by each request
	ready   chan struct{} // closed when all parts are there
	stop    func()        // ends the work in the background, and waits for it
}

// assemble builds an assembly. It starts nothing in the background but the work of the stores; see begin.
func (s *service) assemble(ctx context.Context, cfg config.Config) (_ *assembly, err error) {
	a := &assembly{log: s.log, caches: &cache.Group{}, ready: make(chan struct{}), stop: func() {}}
	defer func() {
		if err != nil {
			a.close()
		}
	}()
	src := cfg.Source
	if a.store, err = source.Open(ctx, src, source.Options{DataDir: s.dir, Config: cfg, Logger: s.log,
		Version: programVersion(), Wait: true, Caches: a.caches, Surveyed: a.surveyed}); err != nil {
		return nil, err
	}
	if src == "" && cfg.Service.Licence == (config.Licence{}) {
		cfg.Service.Licence = config.Licence{Name: demo.LicenceName, URL: demo.LicenceURL}
	}
	if src == "" && cfg.Service.TimeZone == "" {
		cfg.Service.TimeZone = demo.TimeZone
	}
	if err := s.openKeys(ctx, src); err != nil {
		return nil, err
	}
	for _, name := range source.Unmatched(cfg, a.store.Catalog()) {
		s.log.Warn("configured for a collection that the source does not have", "collection", name)
	}
	if a.archive, err = openTiles(cfg.Tiles, a.store.Catalog()); err != nil {
		return nil, err
	}
	a.tiles = tile.NewMaker(
		tile.Options{
			Dir:     filepath.Join(s.dir, "tiles"),
			Cache:   a.caches,
			Memory:  cfg.Limits.ForLevels(),
			Log:     s.log,
			Archive: a.archive,
		},
	)
	var past *history.History
	if cfg.History != "" {
		if past, err = history.Norway(); err != nil {
			return nil, err
		}
	}
	shore, err := demo.Shore()
	if err != nil {
		return nil, err
	}
	a.tiles.Prepare(a.store)
	var before *server.Kit
	if b := s.now.Load(); b != nil {
		before = b.server.Kit
	}
	a.server, err = surface.New(
		server.Options{
			Shore:         shore,
			Config:        cfg,
			Past:          past,
			NewGeoPackage: gpkg.CreateBare,
			Store:         a.store,
			Keys:          s.keys,
			Codes:         s.codes,
			Logger:        s.log,
			Version:       programVersion(),
			Caches:        a.caches,
			Tiles:         a.tiles,
			Jobs:          s.jobs(ctx),
			Changes:       s.changes(ctx, src),
			CursorKey:     s.cursorKey(ctx, src),
			Before:        before,
			Operator:      s.operator(),
			Traces:        s.traces,
		},
	)
	if err != nil {
		return nil, err
	}
	a.handler = a.server.Handler()
	close(a.ready)
	return a, nil
}

// openKeys opens the state and begins to check keys, unless that is done.
func (s *service) openKeys(ctx context.Context, src string) (err error) {
	if s.keys != nil {
		return nil
	}
	if s.state, err = s.openState(ctx, src, s.dir); err != nil {
		return err
	}
	if s.keys, err = apikey.NewChecker(ctx, s.state, s.log); err != nil {
		return fmt.Errorf("cannot read the keys in %s: %w", s.dir, err)
	}
	kctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // keys are checked until the last answer is out
	var done sync.WaitGroup
	done.Go(func() { s.keys.Run(kctx) })
	s.stopKeys = func() { cancel(); done.Wait() }
	return nil
}

// begin lets a do the work in the background. The assembly before it has stopped.
func (s *service) begin(ctx context.Context, a *assembly) {
	work, cancel := context.WithCancel(ctx) // jobs go back as soon as the server is to end
	var done sync.WaitGroup
	done.Go(func() { a.server.RunJobs(work) })
	done.Go(func() { a.server.RunChanges(work) })
	done.Go(func() { a.server.RunFragments(work) })
	a.stop = func() { cancel(); done.Wait() }
	s.now.Store(a)
}

// replace lets next answer from now on. The assembly before it finishes its requests, and is closed then.
func (s *service) replace(ctx context.Context, next *assembly) {
	before := s.now.Load()
	before.stop() // unfinished jobs go back, and begin again
	s.begin(ctx, next)
	s.front.open(next)
	before.caches.SetBudget(1) // 0 would be no bound
	s.retired.Go(func() {
		before.serving.Lock() // for good: a late request goes to the next one
		before.close()
	})
}

// enter lets a request in, unless the assembly was replaced. The caller then calls leave.
func (a *assembly) enter() bool { return a.serving.TryRLock() }

func (a *assembly) leave() { a.serving.RUnlock() }

// surveyed serves what the store has learnt of a large file after it began to serve it.
func (a *assembly) surveyed(ctx context.Context) {
	select {
	case <-a.ready:
	case <-ctx.Done():
		return
	}
	if err := a.server.Reload(ctx); err != nil {
		a.log.Error("the source has been read, but cannot be opened again; reload to try again", "err", err)
		return
	}
	a.log.Info("the source has been read; its data are served", "version", a.store.Catalog().Version)
	a.tiles.Prepare(a.store)
}

// close releases all parts, in the order of use. No request is in flight.
func (a *assembly) close() {
	if a.server != nil {
		a.server.Close()
	}
	if a.tiles != nil {
		if err := a.tiles.Close(); err != nil {
			a.log.Warn("tiles are not closed", "err", err)
		}
	}
	if a.archive != nil {
		if err := a.archive.Close(); err != nil {
			a.log.Warn("the archive of tiles is not closed", "err", err)
		}
	}
	if a.store != nil {
		if err := a.store.Close(); err != nil {
			a.log.Warn("the source was not closed cleanly", "err", err)
		}
	}
}
