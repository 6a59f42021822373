// Package server is the HTTP side of Grense: what all surfaces share, from routes and middleware to caches and error
// pages. A surface is a package below it and returns its routes.
//
// The package does not listen: New returns a handler. Each request passes through one chain: address and mount,
// collection, key, parameters, representation, handler. Handlers return errors, which one place writes. After the first
// byte of a response, an error aborts the connection, so that no client takes an incomplete response for a complete
// one.
package server

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/paulmach/orb"

	"grense/internal/apikey"
	"grense/internal/cache"
	"grense/internal/config"
	"grense/internal/draw"
	"grense/internal/feature"
	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/server/assets"
	"grense/internal/server/cursor"
	"grense/internal/server/files"
	"grense/internal/server/forwarded"
	"grense/internal/server/limit"
	"grense/internal/server/metrics"
	"grense/internal/server/page"
	"grense/internal/server/styles"
	"grense/internal/state"
	"grense/internal/store"
	"grense/internal/tile"
	"grense/internal/trace"
)

// Options are the parts of a server.
type Options struct {
	Config config.Config // valid, with BaseURL
	Store  store.Store

	// Keys checks API keys. It may be nil only if Config.Auth is "open".
	Keys *apikey.Checker
	// Codes redeems one-time codes of browser links. Nil: there are none.
	Codes *apikey.Codes

	// Logger gets one record per request. Nil: slog.Default.
	Logger *slog.Logger
	// NewGeoPackage creates a GeoPackage at a path, with a date of its contents, for downloads. Nil: the format is not
	// offered.
	NewGeoPackage func(ctx context.Context, path string, at time.Time) (store.Writer, error)
	// Tiles builds vector tiles; the caller closes it. Nil: the server builds them without files.
	Tiles *tile.Maker
	// Past is the history of divisions for data without one. Nil: there is none.
	Past *history.History
	// Jobs stores asynchronous executions; see RunJobs. Nil: all executions are synchronous.
	Jobs state.Jobs
	// Changes stores the change log; it is prepared. Nil: changes are not recorded.
	Changes *state.DB
	// Shore is an outline of the country as closed rings in UTM 33, the background for data without areas. Nil: there
	// is none.
	Shore []orb.Ring
	// CursorKey signs cursors. All processes behind one address need the same key. Nil: a random key.
	CursorKey []byte
	// Version of the program, for the API definition and the pages.
	Version string
	// Caches is the group of all caches, including those of the store. Nil: a new group.
	Caches *cache.Group
	// Traces takes the spans of requests and jobs. Nil: nothing does.
	Traces *trace.Exporter
	// Operator holds the parts of the program around the server that metrics describe.
	Operator metrics.Operator
	// Before is the Kit whose place this one takes; its counters go on. Nil: there was none.
	Before *Kit
}

// Kit is what the surfaces share, and the handler of all their routes. New makes one. It is safe for concurrent use.
type Kit struct {
	limit.Limits

	zone *time.Location // of dates and of times without a zone; nil: that of the data, see Zone
	Oslo *time.Location // Europe/Oslo, the zone of Norway's registers

	Config  config.Config
	Store   store.Store
	Jobs    state.Jobs  // nil: none are stored
	Changes *state.DB   // nil: none are recorded
	Direct  store.Store // without queues, for background work
	Fair    limit.Store // with queues; the base of Store
	access  config.AccessLog
	Traces  *trace.Exporter // nil: none

	Keys    *apikey.Checker
	OneTime *apikey.Codes
	Log     *slog.Logger
	Version string

	Styles    styles.List
	Root      string // configured base URL
	proxies   *forwarded.Proxies
	Cursors   cursor.Key
	surfaces  []Surface
	routes    []*Route // of the kit and all surfaces, in the order of the API definition
	handler   http.Handler
	docs      *docCache
	endless   requestedDocuments
	pages     *page.Renderer
	assets    *assets.Assets
	Shore     *draw.Outline // background of data without areas; nil if there is none
	ShoreFile string        // address of its rings, below the root
	Caches    *cache.Group
	Fragments *feature.Cache
	Files     *files.Cache
	Tiles     *tile.Maker
	answers   *answers // nil if responses are not cached

	Past          *history.History // for data without a history; nil if there is none
	NewGeoPackage func(ctx context.Context, path string, at time.Time) (store.Writer, error)

	Metrics   *metrics.Metrics
	wrongKeys *limit.Buckets // of addresses

	onReload  []func()
	ready     atomic.Bool
	reloadErr atomic.Pointer[error] // of the last reload; nil if it succeeded
	opened    atomic.Int64          // when the data were opened, in seconds since 1970
}

// Surface returns the routes of a standard or protocol, in the order of the API definition.
type Surface func(*Kit) []Route

// New returns a Kit with the routes of surfaces. It panics if a required option is missing.
func New(o Options, surfaces ...Surface) (*Kit, error) {
	if o.Store == nil || o.Config.BaseURL == "" || o.Keys == nil && o.Config.Auth != "open" {
		panic("server: New needs a Store, a BaseURL, and Keys unless auth is open")
	}
	proxies, err := forwarded.New(o.Config.BaseURL, o.Config.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Caches == nil {
		o.Caches = &cache.Group{}
	}
	if o.CursorKey == nil {
		o.CursorKey = cursor.New()
	}
	o.Config.Limits = o.Config.Limits.WithMemory()
	s := &Kit{Cursors: o.CursorKey, Config: o.Config, Store: o.Store, Direct: o.Store, Keys: o.Keys, OneTime: o.Codes,
		Log: o.Logger, Version: o.Version,
		Root: strings.TrimSuffix(o.Config.BaseURL, "/"), proxies: proxies,
		Caches: o.Caches, Fragments: feature.NewCache(fragmentBytes, o.Caches),
		docs: cache.New[docKey, *doc](cache.Options{Name: "documents", Bytes: KeptOf(o.Config.Limits, docBytes),
			Group: o.Caches}), endless: requestedDocuments{seed: maphash.MakeSeed()},
		wrongKeys: limit.NewBuckets(limit.WrongKeysRate, limit.WrongKeysAtOnce),
		Limits:    limit.Limits{Turns: limit.NewTurns(o.Config.Limits, o.Store.Room())}}
	if o.Keys != nil {
		s.Turns.SetAccounts(o.Keys)
	}
	s.access, s.Traces = o.Config.Access(), o.Traces
	if err := s.setZone(); err != nil {
		return nil, err
	}
	if s.Styles, err = styles.Read(o.Config.Styles); err != nil {
		return nil, err
	}
	parts := limit.SharesOf(int64(s.Config.Limits.Memory))
	s.Caches.SetBudget(parts.Caches)
	s.Flight.Most = parts.Answers
	s.Fair = limit.NewStore(o.Store, s.Turns)
	s.Store = s.Fair
	if o.Config.SOAP.Collections == "public" {
		s.Store = &withRecords{Store: s.Fair}
	}
	s.Past, s.NewGeoPackage = o.Past, o.NewGeoPackage
	dir := ""
	if o.Config.DataDir != "" {
		dir = filepath.Join(o.Config.DataDir, "downloads")
	}
	s.Files = files.New(dir, o.Config.Limits)
	s.Tiles, s.answers = o.Tiles, newAnswers(int64(o.Config.Limits.Answers), s.Caches)
	if s.Tiles == nil {
		s.Tiles = tile.NewMaker(tile.Options{Log: o.Logger})
	}
	s.Makers = limit.NewMakers(limit.SpoolDir(o.Config.DataDir), int64(o.Config.Limits.Downloads), s.Turns)
	s.setPages(o.Shore)
	s.Jobs, s.Changes = o.Jobs, o.Changes
	s.opened.Store(time.Now().Unix())
	s.setMetrics(o)
	s.surfaces = surfaces
	s.routes = s.join()
	s.handler = s.chain(s.router())
	s.ready.Store(true)
	return s, nil
}

// join returns the routes of the surfaces and the kit, in the order of the API definition. The order of surfaces does
// not matter.
func (s *Kit) join() []*Route {
	var all, rest []*Route
	for _, surface := range s.surfaces {
		for _, rt := range surface(s) {
			if rt.After == "" {
				all = append(all, &rt)
			} else {
				rest = append(rest, &rt)
			}
		}
	}
	all = append(all, s.table()...)
	for n := -1; n != len(rest); {
		n = len(rest)
		rest = slices.DeleteFunc(rest, func(rt *Route) bool {
			i := slices.IndexFunc(all, func(x *Route) bool { return x.Op == rt.After })
			if i >= 0 {
				all = slices.Insert(all, i+1, rt)
			}
			return i >= 0
		})
	}
	return append(all, rest...)
}

// KeptOf returns the size of a cache of responses: bytes, or 0 if limits.answers is 0.
func KeptOf(l config.Limits, bytes int64) int64 {
	if l.Answers == 0 {
		return 0
	}
	return bytes
}

// setZone loads the time zones.
func (s *Kit) setZone() (err error) {
	if s.Oslo, err = time.LoadLocation("Europe/Oslo"); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	if z := s.Config.Service.TimeZone; z != "" {
		if s.zone, err = time.LoadLocation(z); err != nil {
			return fmt.Errorf("server: service.time_zone: %w", err)
		}
	}
	return nil
}

// fragmentBytes bounds the cache of encoded features, in bytes.
const fragmentBytes = 256 << 20

// Mounts are the paths of the API below the base URL.
var Mounts = []string{"", "/v1"}

// Handler returns the handler of the whole service, including health checks.
func (s *Kit) Handler() http.Handler { return s.handler }

// MetricsHandler returns the Prometheus metrics. It belongs on a listener of its own.
func (s *Kit) MetricsHandler() http.Handler { return s.Metrics.Handler() }

// setMetrics creates the metrics.
func (s *Kit) setMetrics(o Options) {
	var before *metrics.Metrics
	if o.Before != nil {
		before = o.Before.Metrics
	}
	s.Metrics = metrics.New(metrics.Server{Version: s.Version, Config: &s.Config, Store: s.Store, Turns: s.Turns,
		Jobs: s.Jobs, Keys: s.Keys, Caches: s.Caches, Fragments: s.Fragments, Operator: o.Operator,
		Draining: func() bool { return !s.ready.Load() }, Answers: s.storeAnswers,
		Opened: func() time.Time { return time.Unix(s.opened.Load(), 0) }}, before)
}

// TempDir returns the folder for temporary files; "" for that of the system.
func (s *Kit) TempDir() string { return s.Files.Temp() }

// SetReady sets the result of /readyz: false while the server drains.
func (s *Kit) SetReady(ready bool) { s.ready.Store(ready) }

// OnReload registers fn to be called after each successful reload. Surfaces call it before the first request.
func (s *Kit) OnReload(fn func()) { s.onReload = append(s.onReload, fn) }

// Reload opens the data again. After an error the server keeps the old data, and /readyz mentions it.
func (s *Kit) Reload(ctx context.Context) error {
	before := s.Store.Catalog()
	err := s.Store.Reload(ctx)
	if err != nil {
		s.ReloadFailed(err)
		return err
	}
	s.opened.Store(time.Now().Unix())
	s.warnOfLost(before, s.Store.Catalog())
	for _, fn := range s.onReload {
		fn()
	}
	s.ReloadSucceeded()
	return nil
}

// ReloadFailed counts a reload that failed; /readyz reports it.
func (s *Kit) ReloadFailed(err error) {
	s.reloadErr.Store(&err)
	s.Metrics.Reloaded(err)
}

// ReloadSucceeded counts a reload that went well.
func (s *Kit) ReloadSucceeded() {
	s.reloadErr.Store(nil)
	s.Metrics.Reloaded(nil)
}

// warnOfLost logs each collection that a reload has removed, with the reason if its layer was refused.
func (s *Kit) warnOfLost(before, now *store.Catalog) {
	for _, c := range before.Collections {
		if _, ok := now.Collection(c.ID); ok {
			continue
		}
		reason := "the source does not have it any more"
		if n, ok := now.Refusal(c.ID); ok {
			reason = n.Reason
		}
		// the logger counts repeated messages
		s.Log.With("collection", c.ID).Warn("a collection is no longer served", "reason", reason)
	}
}

// router maps paths to routes. It ignores the method, since routes handle 405 and OPTIONS.
type router struct {
	tree     *chi.Mux // of patterns; its own handler is not used, since it would copy each request
	handlers map[string]http.Handler
}

// find returns the handler of a path and sets the path variables in x. A path with an empty variable is not found.
func (m *router) find(x *chi.Context) http.Handler {
	pattern := m.tree.Find(x, http.MethodGet, x.RoutePath)
	for i, v := range x.URLParams.Values {
		if v == "" && x.URLParams.Keys[i] != "*" {
			return m.handlers[""]
		}
	}
	return m.handlers[pattern]
}

// router returns the router of all routes.
func (s *Kit) router() *router {
	m := &router{chi.NewRouter(), map[string]http.Handler{"": http.HandlerFunc(s.notFound)}}
	handle := func(pattern string, h http.Handler) {
		m.tree.Handle(pattern, h)
		m.handlers[pattern] = h
	}
	for _, mount := range Mounts {
		for _, rt := range s.routes {
			if rt.Root && mount != "" {
				continue
			}
			h := s.handlerOf(mount, rt)
			handle(orRoot(mount+rt.Path), h)
			if rt.Alias != "" {
				handle(mount+rt.Alias, h)
			}
		}
	}
	return m
}

func orRoot(path string) string {
	if path == "" {
		return "/"
	}
	return path
}

func (s *Kit) handlerOf(mount string, rt *Route) http.Handler {
	h := s.serve(mount, rt)
	if rt.Serve != nil {
		h = rt.Serve(rt, mount)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		CallOf(r).op = rt.Op
		h.ServeHTTP(w, r)
	})
}

// serve returns the handler of a route.
func (s *Kit) serve(mount string, rt *Route) http.Handler {
	allow := rt.allow()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := CallOf(r)
		c.Enter(r, rt, mount)
		h := w.Header()
		var err error
		switch {
		case r.Method == http.MethodOptions:
			h.Set("Allow", allow)
			h.Set("Access-Control-Allow-Methods", allow)
			w.WriteHeader(http.StatusNoContent)
			return
		case r.Method == http.MethodPost && rt.Post != nil:
			err = rt.Post(c, w)
		case r.Method == http.MethodDelete && rt.Delete != nil:
			err = rt.Delete(c, w)
		case r.Method == http.MethodPost && rt.Asks:
			err = s.get(c, w)
		case r.Method != http.MethodGet && r.Method != http.MethodHead || !rt.Gets():
			h.Set("Allow", allow)
			err = problem.New(problem.Method, nil, "%s is not possible here; use %s", problem.Clip(r.Method), allow)
		default:
			err = s.get(c, w)
		}
		if err != nil {
			s.End(c, w, err)
		}
	})
}

// Gets reports whether the route serves GET and HEAD.
func (rt *Route) Gets() bool { return rt.Get != nil || rt.Stream != nil }

// allow lists the methods of the route (RFC 9110, 10.2.1).
func (rt *Route) allow() string {
	var methods []string
	if rt.Gets() {
		methods = append(methods, http.MethodGet, http.MethodHead)
	}
	if rt.Post != nil || rt.Asks {
		methods = append(methods, http.MethodPost)
	}
	if rt.Delete != nil {
		methods = append(methods, http.MethodDelete)
	}
	return strings.Join(append(methods, http.MethodOptions), ", ")
}

// tries bounds the restarts of a response because the data change.
const tries = 5

// get serves GET and HEAD, and POST with a filter. A response is of one data version: if the data change before the
// first byte, get starts again.
func (s *Kit) get(c *Call, w http.ResponseWriter) error {
	asked := *c
	for n := 1; ; n++ {
		err := s.getOnce(c, w)
		if rw, ok := w.(*limit.Response); !errors.Is(err, store.ErrChanged) || n == tries || ok && rw.Status != 0 {
			return err
		}
		admission, body := c.Admission, c.body
		*c = asked
		c.Admission, c.body, c.Catalog, c.Retries = admission, body, s.Store.Catalog(), n
	}
}

func (s *Kit) getOnce(c *Call, w http.ResponseWriter) error {
	if err := c.Resolve(); err != nil {
		return err
	}
	if c.Route.Get != nil {
		return s.document(c, w)
	}
	return s.stream(c, w)
}

// End ends a failed request: with a problem before the first byte, else by aborting the connection. If the client has
// disconnected, it neither writes nor logs.
func (s *Kit) End(c *Call, w http.ResponseWriter, err error) {
	rw, ok := w.(*limit.Response)
	if begun := ok && rw.Status != 0; begun || c.Request.Context().Err() != nil {
		if begun && !rw.Gone && c.Request.Context().Err() == nil {
			s.Log.ErrorContext(c.Request.Context(), "answer broken off", "request", c.ID, "path",
				apikey.Redact(c.Request.URL.Path), "err", apikey.Redact(err.Error()))
		}
		panic(http.ErrAbortHandler)
	}
	c.Fail(w, err)
}

// Names of operations in the log and the metrics.
const (
	opReady    = "ready"
	opNotFound = "notFound"
)

// notFound serves paths without a route.
func (s *Kit) notFound(w http.ResponseWriter, r *http.Request) {
	c := CallOf(r)
	c.op = opNotFound
	c.Request, c.Catalog = r, s.Store.Catalog()
	if strings.HasPrefix(s.proxies.Path(r.URL)+"/", "/v1/") {
		c.Mount = "/v1"
	}
	c.Fail(w, problem.NotFoundf("there is no resource at this path; start at %s", c.Base()))
}
