// Package server is the HTTP face of Grense: what all surfaces share, from routes and middleware to maps. A surface is a
// package below it and returns its routes.
//
// It starts nothing by itself and listens nowhere: New returns a handler. Every request runs through one chain: address and
// mount, collection, key, parameters, representation, handler. Handlers return errors; one place writes them. After the first
// byte of an answer an error aborts the connection, so that no client takes half an answer for a whole one.
package server

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"log/slog"
	"net/http"
	"net/url"
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
	"grense/internal/server/files"
	"grense/internal/server/limit"
	"grense/internal/server/page"
	"grense/internal/state"
	"grense/internal/store"
	"grense/internal/tile"
)

// Options are the parts that a Server is made of.
type Options struct {
	Config config.Config // valid, with the BaseURL filled in
	Store  store.Store

	// Keys checks API keys. It may be nil only when Config.Auth is "open".
	Keys *apikey.Checker
	// Codes turns the one-time codes of browser links into keys. Nil: there are none.
	Codes *apikey.Codes

	// Logger gets one record a request. Nil means slog.Default.
	Logger *slog.Logger
	// NewGeoPackage begins a new GeoPackage at a path, with a date of its contents, for downloads. Nil: that format is not offered.
	NewGeoPackage func(ctx context.Context, path string, at time.Time) (store.Writer, error)
	// Tiles makes vector tiles; the caller closes it. Nil: the Server makes them without side files.
	Tiles *tile.Maker
	// Past is the history of divisions where the data bring none. Nil: there is none then.
	Past *history.History
	// Jobs keeps executions that nobody waits for; see RunJobs. Nil: every execution is waited for.
	Jobs state.Jobs
	// Changes keeps what has changed in the data; prepared. Nil: that is not recorded.
	Changes *state.DB
	// Shore are the closed rings of an outline of the country in UTM 33, which lies under the points and lines of data that bring no areas. Nil: nothing does.
	Shore []orb.Ring
	// CursorKey authenticates the cursors of pages. All processes behind one address need the same, also after a restart. Nil: one of the process.
	CursorKey []byte
	// Version of the program, for the API definition and the pages.
	Version string
	// Caches is what the caches of the process belong to, those of the store among them. Nil: the Server makes a group of its own.
	Caches *cache.Group
	// Operator tells the metrics about the program around the Server.
	Operator Operator
	// Before is the Kit whose place this one takes; its counters go on. Nil: there was none.
	Before *Kit
}

// Kit is what the surfaces share, and the handler of all their routes. Make one with New. It is safe for concurrent use.
type Kit struct {
	zone *time.Location // of days and of date-times without one; nil: that of the data, see call.zone
	Oslo *time.Location // the zone of Norway's registers

	Config  config.Config
	Store   store.Store
	Jobs    state.Jobs  // nil: none are stored
	Changes *state.DB   // nil: none are recorded
	Direct  store.Store // without turns, for work in the background
	Fair    limit.Store // of which store is made
	access  config.AccessLog

	cursorKey []byte

	Keys    *apikey.Checker
	OneTime *apikey.Codes
	Log     *slog.Logger
	Version string

	styles    []*MapStyle
	Root      string // configured base URL
	prefix    string // its path, "" or "/geo"
	surfaces  []Surface
	routes    []*Route // of the kit and all surfaces, in the order of the API definition
	handler   http.Handler
	docs      *docCache
	endless   documentsAsked
	pages     *page.Renderer
	assets    *assets.Assets
	Shore     *draw.Outline // lies under data without areas; nil for none
	ShoreFile string        // address of its rings below the root
	Caches    *cache.Group
	Fragments *feature.Cache
	Files     *files.Cache
	Tiles     *tile.Maker
	answers   *answers // nil: none are kept

	Past          *history.History // where the data bring none; nil: none
	NewGeoPackage func(ctx context.Context, path string, at time.Time) (store.Writer, error)

	metrics   *metrics
	Turns     *limit.Turns
	Flight    limit.Memory
	Makers    *limit.Makers  // of large answers
	wrongKeys *limit.Buckets // of addresses

	onReload  []func()
	ready     atomic.Bool
	reloadErr atomic.Pointer[error] // of the last reload; nil when it went well
	opened    atomic.Int64          // when the data were opened, in seconds since 1970
}

// A Surface returns the routes of a standard or a protocol, in the order of the API definition.
type Surface func(*Kit) []Route

// New returns a Kit that answers the routes of surfaces. It panics if Options lack what they must have.
func New(o Options, surfaces ...Surface) (*Kit, error) {
	if o.Store == nil || o.Config.BaseURL == "" || o.Keys == nil && o.Config.Auth != "open" {
		panic("server: New needs a Store, a BaseURL, and Keys unless auth is open")
	}
	base, err := url.Parse(o.Config.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("server: base URL: %w", err)
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.Caches == nil {
		o.Caches = &cache.Group{}
	}
	if o.CursorKey == nil {
		o.CursorKey = newCursorKey()
	}
	o.Config.Limits = o.Config.Limits.WithMemory()
	s := &Kit{cursorKey: o.CursorKey, Config: o.Config, Store: o.Store, Direct: o.Store, Keys: o.Keys, OneTime: o.Codes, Log: o.Logger, Version: o.Version,
		Root: strings.TrimSuffix(o.Config.BaseURL, "/"), prefix: strings.TrimSuffix(base.EscapedPath(), "/"),
		Caches: o.Caches, Fragments: feature.NewCache(fragmentBytes, o.Caches),
		docs: cache.New[docKey, *doc](cache.Options{Name: "documents", Bytes: KeptOf(o.Config.Limits, docBytes), Group: o.Caches}), endless: documentsAsked{seed: maphash.MakeSeed()},
		wrongKeys: limit.NewBuckets(limit.WrongKeysRate, limit.WrongKeysAtOnce), Turns: limit.NewTurns(o.Config.Limits, o.Store.Room())}
	if o.Keys != nil {
		s.Turns.SetAccounts(o.Keys)
	}
	s.access = o.Config.Access()
	if err := s.setZone(); err != nil {
		return nil, err
	}
	if s.styles, err = ReadStyles(o.Config.Styles); err != nil {
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
	s.metrics = newMetrics(s, o.Before, o.Operator)
	s.opened.Store(time.Now().Unix())
	s.surfaces = surfaces
	s.routes = s.join()
	s.handler = s.chain(s.router())
	s.ready.Store(true)
	return s, nil
}

// join returns the routes of the surfaces and the kit, in the order of the API definition. Surfaces may follow each other
// in any order.
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

// KeptOf is how many bytes of finished answers of a kind are kept to be sent again, where there is room for so many: none when limits.answers is 0.
func KeptOf(l config.Limits, bytes int64) int64 {
	if l.Answers == 0 {
		return 0
	}
	return bytes
}

// setZone finds the time zones.
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

// fragmentBytes bounds the encoded features that are cached.
const fragmentBytes = 256 << 20

// Mounts are the places of the whole API below the base URL.
var Mounts = []string{"", "/v1"}

// Handler returns the handler of the whole service, health checks included.
func (s *Kit) Handler() http.Handler { return s.handler }

// MetricsHandler returns the Prometheus metrics; it belongs on a listener of its own.
func (s *Kit) MetricsHandler() http.Handler { return s.metrics.handler() }

// TempDir is the folder for temporary files; "": that of the system.
func (s *Kit) TempDir() string { return s.Files.Temp() }

// SetReady says what /readyz shall answer: false while the server drains.
func (s *Kit) SetReady(ready bool) { s.ready.Store(ready) }

// OnReload has fn called after each reload that succeeds. It is for surfaces, before the first request.
func (s *Kit) OnReload(fn func()) { s.onReload = append(s.onReload, fn) }

// Reload opens the data anew. On an error the server goes on with what it has; /readyz tells the error in its detail.
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
	s.metrics.reloads.WithLabelValues("failed").Inc()
}

// ReloadSucceeded counts a reload that went well.
func (s *Kit) ReloadSucceeded() {
	s.reloadErr.Store(nil)
	s.metrics.reloads.WithLabelValues("ok").Inc()
}

// warnOfLost logs each collection that a reload has lost, with the reason if its layer was refused.
func (s *Kit) warnOfLost(before, now *store.Catalog) {
	for _, c := range before.Collections {
		if _, ok := now.Collection(c.ID); ok {
			continue
		}
		reason := "the source does not have it any more"
		if n, ok := now.Refusal(c.ID); ok {
			reason = n.Reason
		}
		s.Log.With("collection", c.ID).Warn("a collection is no longer served", "reason", reason) // equal messages of one logger are counted
	}
}

// router maps paths to routes. A path is found whatever the method, so that 405 and OPTIONS are answered by the route's own list.
type router struct {
	tree     *chi.Mux // of patterns; it answers nothing by itself, since it would write each request anew
	handlers map[string]http.Handler
}

// find returns the handler for the path of x and writes the variables of the path into x. An empty variable names no resource.
func (m *router) find(x *chi.Context) http.Handler {
	pattern := m.tree.Find(x, http.MethodGet, x.RoutePath)
	for i, v := range x.URLParams.Values {
		if v == "" && x.URLParams.Keys[i] != "*" {
			return m.handlers[""]
		}
	}
	return m.handlers[pattern]
}

// router makes the router of the routes.
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

// serve runs one route.
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
			err = problem.New(problem.Method, nil, "%s is not possible here; use %s", Clip(r.Method), allow)
		default:
			err = s.get(c, w)
		}
		if err != nil {
			s.End(c, w, err)
		}
	})
}

// Gets reports whether the route answers GET and HEAD.
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

// tries is how often an answer is begun when the data change while it is read.
const tries = 5

// get answers GET and HEAD, and POST where that only asks. An answer is of one state of the data: when they change before the first byte, it is begun anew.
func (s *Kit) get(c *Call, w http.ResponseWriter) error {
	asked := *c
	for n := 1; ; n++ {
		err := s.getOnce(c, w)
		if rw, ok := w.(*response); !errors.Is(err, store.ErrChanged) || n == tries || ok && rw.Status != 0 {
			return err
		}
		keyID, right, paid, held, body := c.KeyID, c.Right, c.paid, c.held, c.body
		*c = asked
		c.KeyID, c.Right, c.paid, c.held, c.body, c.Catalog = keyID, right, paid, held, body, s.Store.Catalog()
		c.Retries = n
	}
}

func (s *Kit) getOnce(c *Call, w http.ResponseWriter) error {
	if err := c.Resolve(); err != nil {
		return err
	}
	if c.Route.Get != nil {
		return c.document(w)
	}
	return s.stream(c, w)
}

// End finishes a request that failed: with a problem before the first byte, else by aborting the connection. When the client has
// left, nothing is written, and the failure that this caused is none to report.
func (s *Kit) End(c *Call, w http.ResponseWriter, err error) {
	rw, ok := w.(*response)
	if begun := ok && rw.Status != 0; begun || c.Request.Context().Err() != nil {
		if begun && !rw.gone && c.Request.Context().Err() == nil {
			s.Log.ErrorContext(c.Request.Context(), "answer broken off", "request", c.ID, "path", Redacted(c.Request.URL.Path), "err", Redacted(err.Error()))
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

// notFound answers paths that no route has.
func (s *Kit) notFound(w http.ResponseWriter, r *http.Request) {
	c := CallOf(r)
	c.op = opNotFound
	c.Request, c.Catalog = r, s.Store.Catalog()
	if strings.HasPrefix(s.routePath(r.URL)+"/", "/v1/") {
		c.Mount = "/v1"
	}
	c.Fail(w, problem.NotFoundf("there is no resource at this path; start at %s", c.Base()))
}
