package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// swapped serves a file that another one replaces on request.
type swapped struct {
	store.Store
	path  string
	mu    sync.Mutex
	state int
	left  atomic.Int64 // swaps left, one before each Fetch
}

// stateMark is a text in every feature and title of a version: "tilstand3". It has the same length in all versions.
func stateMark(n int) string { return "tilstand" + strconv.Itoa(n%10) }

func writeState(t testing.TB, path string, n int) {
	t.Helper()
	w, err := gpkg.Create(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	groups := &store.Collection{ID: "flater", Table: "flater", Public: true,
		Key: store.FeatureKey{Column: "kode", Type: cql2.TypeText}, TitleProperty: "navn",
		Properties: []store.Property{{Name: "navn", Column: "navn", Type: cql2.TypeText}},
		Geometry:   &store.Geom{Name: "geometry", Column: "geom", Type: "MultiPolygon", CRS: crs.CRS84}}
	points := &store.Collection{ID: "punkt", Table: "punkt", Public: true,
		Key: store.FeatureKey{Column: "fid", Type: cql2.TypeInteger}, TitleProperty: "navn",
		Properties: []store.Property{{Name: "navn", Column: "navn", Type: cql2.TypeText},
			{Name: "flate", Column: "flate", Type: cql2.TypeText, Ref: "flater"}},
		Geometry: &store.Geom{Name: "geometry", Column: "geom", Type: "Point", CRS: crs.CRS84}}
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	check(w.Define(context.Background(), groups, false))
	check(w.Define(context.Background(), points, false))
	put, err := w.Insert(context.Background(), "flater", []string{"kode", "navn", "geom"})
	check(err)
	for i := range 4 {
		x := 10 + float64(i)
		g := orb.MultiPolygon{{{{x, 60}, {x + 1, 60}, {x + 1, 61}, {x, 61}, {x, 60}}}}
		check(put("f"+strconv.Itoa(i), stateMark(n)+" flate", store.Geometry{WKB: wkb.MustMarshal(g)}))
	}
	put, err = w.Insert(context.Background(), "punkt", []string{"navn", "flate", "geom"})
	check(err)
	for i := range 450 {
		g := orb.Point{10 + float64(i%40)/10, 60 + float64(i%10)/10}
		check(put(stateMark(n)+" punkt", "f"+strconv.Itoa(i%4), store.Geometry{WKB: wkb.MustMarshal(g)}))
	}
	check(w.Commit(context.Background()))
}

// marked returns the path of a file with a mark, which is created on first use.
func (s *swapped) marked(t testing.TB, mark int) string {
	path := filepath.Join(filepath.Dir(s.path), "state"+strconv.Itoa(mark)+".gpkg")
	if _, err := os.Stat(path); err != nil {
		writeState(t, path, mark)
	}
	return path
}

func openSwapped(t testing.TB) *swapped {
	t.Helper()
	s := &swapped{path: filepath.Join(t.TempDir(), "data.gpkg")}
	writeState(t, s.path, 0)
	st := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), s.path, gpkg.Options{DataDir: t.TempDir()}))
	s.Store = st
	return s
}

func (s *swapped) swap(t testing.TB) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state++
	b, err := os.ReadFile(s.marked(t, s.state%10))
	if err == nil {
		err = os.WriteFile(s.path+".new", b, 0o600)
	}
	if err != nil {
		t.Error(err)
	}
	if err := os.Rename(s.path+".new", s.path); err != nil {
		t.Error(err)
	}
	if err := s.Reload(context.Background()); err != nil {
		t.Error(err)
	}
}

// between swaps the data after some queries, as long as swaps are left.
type between struct {
	*swapped
	t     testing.TB
	after int64 // queries before the first swap
	asked atomic.Int64
}

func (b *between) swapIfDue() {
	if b.asked.Add(1) > b.after && b.left.Add(-1) >= 0 {
		b.swap(b.t)
	}
}

func (b *between) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	p, err := b.Store.Page(ctx, q)
	if !background(ctx) {
		b.swapIfDue()
	}
	return p, err
}

// Hold refuses, so that the data change within each try.
func (b *between) Hold(context.Context) (store.Snapshot, error) { return nil, errors.ErrUnsupported }

func (b *between) Fetch(ctx context.Context, coll string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	err := b.Store.Fetch(ctx, coll, rows, want, fn)
	if !background(ctx) {
		b.swapIfDue()
	}
	return err
}

// states lists the marks that a response contains.
func states(body []byte) (found []string) {
	for n := range 10 {
		if strings.Contains(string(body), stateMark(n)) {
			found = append(found, stateMark(n))
		}
	}
	return found
}

// changing are requests whose responses contain features.
var changing = []string{
	"/collections/punkt/items?limit=450", "/collections/punkt/items?limit=450&f=csv",
	"/collections/punkt/items?limit=450&f=jsonld", "/collections/punkt/items?limit=250&f=html",
	"/collections/punkt/items/7", "/collections/punkt/items/7?f=jsonld", "/collections/punkt/items/7?f=html",
	"/collections/flater/items/f1?f=html", "/collections/flater?f=html",
	"/collections/punkt?f=html",
}

// TestAnswersAreOfOneState changes the data after the first, second and third query of a response. The response and
// its cache entry have one data version.
func TestAnswersAreOfOneState(t *testing.T) {
	t.Parallel()
	s := openSwapped(t)
	for _, path := range changing {
		for after := range int64(5) {
			t.Run(fmt.Sprintf("%s, changed after %d questions", path, after+1), func(t *testing.T) {
				b := &between{swapped: s, t: t, after: after}
				b.left.Store(2)
				a := serveStore(t, b, nil)
				r := a.get(path).wants(http.StatusOK)
				if got := states(r.Body); len(got) != 1 {
					t.Errorf("the answer holds %v", got)
				}
				b.left.Store(0)
				r = a.get(path).wants(http.StatusOK)
				if got := states(r.Body); len(got) != 1 || got[0] != stateMark(s.state) {
					t.Errorf("asked again, the answer holds %v, want %s", got, stateMark(s.state))
				}
			})
		}
	}
}

// TestAnswersOfDataThatNeverRest: if the data change during every query, the response is 503.
func TestAnswersOfDataThatNeverRest(t *testing.T) {
	t.Parallel()
	s := openSwapped(t)
	for _, path := range []string{"/collections/punkt/items?f=csv", "/collections/punkt/items",
		"/collections/punkt/items/7"} {
		b := &between{swapped: s, t: t}
		b.left.Store(1000)
		r := serveStore(t, b, nil).get(path).wants(http.StatusServiceUnavailable)
		var p struct{ Detail string }
		if err := json.Unmarshal(r.Body, &p); err != nil || !strings.Contains(p.Detail, "changed") ||
			r.Header.Get("Retry-After") == "" {
			t.Errorf("%s: %s, %v", path, r.Body, r.Header)
		}
	}
}
