package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"grense/internal/apikey"
	"grense/internal/config"
	"grense/internal/demo"
	"grense/internal/server"
	"grense/internal/server/surface"
	"grense/internal/sharedtest"
	"grense/internal/state"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/tile"
)

// demoFile builds the demo once for all tests and returns its path.
var demoFile = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "grense-demo")
	if err != nil {
		return "", err
	}
	return fillFile(filepath.Join(dir, "demo.gpkg"), demo.Write)
})

// besideDemo writes a file into the folder of the demo, once for all tests.
func besideDemo(name string, fill ...func(context.Context, store.Writer) error) func() (string, error) {
	return sync.OnceValues(func() (string, error) {
		p, err := demoFile()
		if err != nil {
			return "", err
		}
		return fillFile(filepath.Join(filepath.Dir(p), name), fill...)
	})
}

// fillFile writes a GeoPackage and returns its path.
func fillFile(path string, fill ...func(context.Context, store.Writer) error) (string, error) {
	ctx := context.Background()
	w, err := gpkg.Create(ctx, path)
	if err != nil {
		return "", err
	}
	defer w.Close()
	for _, f := range fill {
		if err := f(ctx, w); err != nil {
			return "", err
		}
	}
	return path, w.Commit(ctx)
}

func TestMain(m *testing.M) {
	if err := leaveOut(); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := missed(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	cluster.Stop()
	if p, err := demoFile(); err == nil {
		os.RemoveAll(filepath.Dir(p))
	}
	if franceMade.Load() {
		if p, err := france(); err == nil {
			os.RemoveAll(filepath.Dir(p))
		}
	}
	os.Exit(code)
}

// shared returns the path of a file of the shared test data; without them the test is skipped.
func shared(t testing.TB, name string) string { return sharedtest.Path(t, "data", name) }

// api is a running server for tests.
type api struct {
	*httptest.Server
	t     testing.TB
	key   string // "" when open
	store store.Store
	srv   *surface.Server
	state *state.DB // of keys, where they are required
	keys  *apikey.Checker
	logs  *lockedBuffer
	stop  func() // ends its work on jobs, as the end of the process does
}

// lockedBuffer collects logs from all goroutines.
type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// serve starts a server over a source; change may alter the configuration first. An empty source is the demo.
func serve(t testing.TB, source string, change func(*config.Config)) *api {
	t.Helper()
	if source == "" {
		return serveStore(t, demoStore(t), change)
	}
	return serveStore(t, openTest(t, source), change)
}

// demoStore opens the demo.
func demoStore(t testing.TB) store.Store {
	t.Helper()
	p, err := demoFile()
	if err != nil {
		t.Fatal(err)
	}
	return openTest(t, p)
}

// serveStore starts a server over a store.
func serveStore(t testing.TB, st store.Store, change func(*config.Config)) *api {
	t.Helper()
	return serveOptions(t, st, change, nil)
}

// serveWithout starts a server that stores neither jobs nor changes.
func serveWithout(t testing.TB) *api {
	t.Helper()
	return serveOptions(t, demoStore(t), nil, func(o *server.Options) { o.Jobs, o.Changes = nil, nil })
}

// serveOptions starts a server; before is called with it before it works on jobs.
func serveOptions(t testing.TB, st store.Store, change func(*config.Config), more func(*server.Options),
	before ...func(*surface.Server)) *api {
	t.Helper()
	a := &api{t: t, store: st, logs: &lockedBuffer{}}
	var h http.Handler
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }))
	t.Cleanup(a.Server.Close)
	cfg := config.Default()
	cfg.BaseURL = a.URL
	cfg.Auth = "open"
	cfg.DataDir = t.TempDir()
	cfg.Limits.Query, cfg.Limits.Queue = time.Minute, time.Minute // tests must not fail because the machine is slow
	cfg.Service.Licence = config.Licence{Name: demo.LicenceName, URL: demo.LicenceURL}
	if change != nil {
		change(&cfg)
	}
	o := server.Options{Config: cfg, Store: st, Logger: slog.New(slog.NewJSONHandler(a.logs, nil)), Version: "test",
		NewGeoPackage: gpkg.CreateBare}
	o.CursorKey = []byte("the same for all servers of a test")
	o.Tiles = tile.NewMaker(tile.Options{Log: o.Logger})
	t.Cleanup(func() { o.Tiles.Close() })
	kept, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { kept.Close() })
	o.Jobs, o.Changes = kept, kept
	if err := o.Jobs.PrepareJobs(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := o.Changes.PrepareChanges(t.Context()); err != nil {
		t.Fatal(err)
	}
	if cfg.Auth == "required" {
		a.state = kept
		key, rec, err := apikey.New("test", time.Time{}, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		if err := kept.PutKey(t.Context(), rec); err != nil {
			t.Fatal(err)
		}
		if o.Keys, err = apikey.NewChecker(t.Context(), kept, o.Logger); err != nil {
			t.Fatal(err)
		}
		o.Codes, a.key, a.keys = &apikey.Codes{}, key, o.Keys
	}
	if more != nil {
		more(&o)
	}
	srv, err := surface.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	a.srv, h = srv, srv.Handler()
	for _, do := range before {
		do(srv)
	}
	work, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { srv.RunJobs(work) })
	a.stop = func() { stop(); done.Wait() }
	t.Cleanup(a.stop)
	return a
}

// answer is a whole response.
type answer struct {
	*http.Response
	Body []byte
	t    testing.TB
}

// do sends a request; header holds names and values in turn. It sends the path unchanged and does not follow
// redirects.
func (a *api) do(method, path string, header ...string) answer {
	a.t.Helper()
	u := path
	if !strings.HasPrefix(path, "http") {
		u = a.URL + path
	}
	req, err := http.NewRequestWithContext(a.t.Context(), method, u, nil)
	if err != nil {
		a.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		if header[i+1] == "" {
			req.Header.Del(header[i])
			continue
		}
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{res, b, a.t}
}

func (a *api) get(path string, header ...string) answer {
	a.t.Helper()
	return a.do("GET", path, header...)
}

// wants fails the test unless the status is the one given.
func (r answer) wants(status int) answer {
	r.t.Helper()
	if r.StatusCode != status {
		r.t.Fatalf("%s: status %d, want %d: %.300s", r.Request.URL, r.StatusCode, status, r.Body)
	}
	return r
}

// json decodes a response.
func (r answer) json() map[string]any {
	r.t.Helper()
	var v map[string]any
	if err := json.Unmarshal(r.Body, &v); err != nil {
		r.t.Fatalf("%s: %v: %.300s", r.Request.URL, err, r.Body)
	}
	return v
}

type link struct{ Rel, Type, Href, Title, Hreflang string }

// links decodes the member links.
func (r answer) links() []link {
	r.t.Helper()
	var v struct{ Links []link }
	if err := json.Unmarshal(r.Body, &v); err != nil {
		r.t.Fatalf("%s: %v", r.Request.URL, err)
	}
	return v.Links
}

// find returns the first link of a relation, and of a type when one is given.
func find(links []link, rel, media string) (link, bool) {
	for _, l := range links {
		if l.Rel == rel && (media == "" || l.Type == media) {
			return l, true
		}
	}
	return link{}, false
}

// collectionPage decodes a page of features.
type collectionPage struct {
	Type           string
	Features       []featureDoc
	NumberReturned int
	NumberMatched  int
	Links          []link
	TimeStamp      string
}

type featureDoc struct {
	Type       string
	ID         string
	Properties map[string]any
	Geometry   *struct {
		Type        string
		Coordinates json.RawMessage
		Geometries  json.RawMessage
	}
	Prev, Next string
	Links      []link
}

func (r answer) page() collectionPage {
	r.t.Helper()
	var p collectionPage
	if err := json.Unmarshal(r.Body, &p); err != nil {
		r.t.Fatalf("%s: %v: %.300s", r.Request.URL, err, r.Body)
	}
	return p
}

// ids are the ids of a page in order.
func (p collectionPage) ids() []string {
	out := make([]string, len(p.Features))
	for i, f := range p.Features {
		out[i] = f.ID
	}
	return out
}
