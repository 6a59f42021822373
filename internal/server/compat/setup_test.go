package compat_test

import (
	"context"
	"encoding/json"
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
	"grense/internal/history"
	"grense/internal/register"
	"grense/internal/server"
	"grense/internal/server/surface"
	"grense/internal/state"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/writer"
	"grense/internal/store/storetest"
)

var cluster storetest.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// fill writes what the program serves without a source: divisions, register and history.
func fill(ctx context.Context, w store.Writer) error {
	if err := demo.Write(ctx, w); err != nil {
		return err
	}
	if err := register.Generate(ctx, w, register.Options{Places: 1000, Seed: 1}); err != nil {
		return err
	}
	h, err := history.Norway()
	if err != nil {
		return err
	}
	return history.Write(ctx, w, h)
}

// demoFile is a GeoPackage that all tests share.
var demoFile = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "grense-compat")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "demo.gpkg")
	w, err := gpkg.Create(context.Background(), path)
	if err != nil {
		return "", err
	}
	defer w.Close()
	if err := fill(context.Background(), w); err != nil {
		return "", err
	}
	return path, w.Commit(context.Background())
})

// openFile opens a GeoPackage.
func openFile(t testing.TB, path string) store.Store {
	t.Helper()
	return storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path,
		gpkg.Options{DataDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}))
}

func openDemo(t testing.TB) store.Store {
	t.Helper()
	path, err := demoFile()
	if err != nil {
		t.Fatal(err)
	}
	return openFile(t, path)
}

var database struct {
	sync.Mutex
	url string
}

// openDatabase opens a PostGIS database with the same content.
func openDatabase(t testing.TB) store.Store {
	t.Helper()
	database.Lock()
	defer database.Unlock()
	if database.url == "" {
		url := cluster.Lasting(t)
		storetest.Write(t, func(w store.Writer) {
			if err := fill(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		})(writer.Create(t.Context(), url))
		database.url = url
	}
	return storetest.Opened[*postgis.Store](t)(postgis.Open(t.Context(), database.url, postgis.Options{}))
}

// inBothStores runs a test over a GeoPackage and over PostGIS.
func inBothStores(t *testing.T, test func(*testing.T, *client)) {
	for name, open := range map[string]func(testing.TB) store.Store{"GeoPackage": openDemo, "PostGIS": openDatabase} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, serve(t, open(t), nil))
		})
	}
}

// client asks a running server.
type client struct {
	t   testing.TB
	url string
	h   http.Handler
}

// serve starts a server with both services; change may alter the configuration first.
func serve(t testing.TB, st store.Store, change func(*config.Config, *server.Options)) *client {
	t.Helper()
	var h http.Handler
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { h.ServeHTTP(w, r) }))
	t.Cleanup(s.Close)
	o := server.Options{Store: st, Logger: slog.New(slog.DiscardHandler), Version: "test"}
	cfg := config.Default()
	cfg.BaseURL, cfg.Auth, cfg.DataDir = s.URL, "open", t.TempDir()
	cfg.Limits.Query, cfg.Limits.Queue = time.Minute, time.Minute
	cfg.Compat.Kommuneinfo, cfg.Compat.Stedsnavn = true, true
	if change != nil {
		change(&cfg, &o)
	}
	o.Config = cfg
	srv, err := surface.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(srv.Close)
	h = srv.Handler()
	return &client{t: t, url: s.URL, h: h}
}

// get asks for a path and wants a status; header holds names and values in turn.
func (c *client) get(path string, status int, header ...string) []byte {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet, c.url+path, nil)
	if err != nil {
		c.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if res.StatusCode != status {
		c.t.Fatalf("%s: %d %.300s, want %d", path, res.StatusCode, b, status)
	}
	return b
}

// read asks for a path and decodes the answer.
func read[T any](c *client, path string) (v T) {
	c.t.Helper()
	b := c.get(path, http.StatusOK)
	if err := json.Unmarshal(b, &v); err != nil {
		c.t.Fatalf("%s: %v in %.300s", path, err, b)
	}
	return v
}

// refused wants a refusal with a text.
func (c *client) refused(path string, status int, text string) {
	c.t.Helper()
	if b := string(c.get(path, status)); !strings.Contains(b, text) {
		c.t.Errorf("%s: %.300s lacks %q", path, b, text)
	}
}

// withKeys makes a server need API keys.
func withKeys(t testing.TB, change func(*config.Config, *server.Options)) func(*config.Config, *server.Options) {
	return func(cfg *config.Config, o *server.Options) {
		t.Helper()
		cfg.Auth = "required"
		kept, err := state.Open(t.Context(), filepath.Join(t.TempDir(), "state.db"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { kept.Close() })
		if o.Keys, err = apikey.NewChecker(t.Context(), kept, o.Logger); err != nil {
			t.Fatal(err)
		}
		change(cfg, o)
	}
}
