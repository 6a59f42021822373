package server_test

import (
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"grense/internal/config"
	"grense/internal/sharedtest"
	"grense/internal/store"
)

// TestTilesCountAgainstTheRate requests one tile, which is cached after the first time, until the rate is used up.
func TestTilesCountAgainstTheRate(t *testing.T) {
	t.Parallel()
	const tile = "/collections/kommuner/tiles/WebMercatorQuad/3/2/4"
	a := serve(t, "", func(c *config.Config) { c.Limits.Rate = 1 })
	a.settled(tile)
	status := 0
	for range 200 {
		r := a.get(tile)
		if status = r.StatusCode; status != 200 {
			if r.Header.Get("Retry-After") == "" || r.Header.Get("Content-Type") != "application/problem+json" {
				t.Errorf("%d with %v", status, r.Header)
			}
			break
		}
		if r.Header.Get("RateLimit-Policy") == "" {
			t.Fatal("a tile tells no rate")
		}
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("200 tiles in a row: %d", status)
	}
}

// heldStore answers queries when the test lets it, and reports those of requests.
type heldStore struct {
	store.Store
	asked  chan struct{} // one for each query
	answer chan struct{}
}

func (s heldStore) wait(ctx context.Context) {
	if _, ofRequest := ctx.Deadline(); ofRequest {
		s.asked <- struct{}{}
	}
	<-s.answer
}

func (s heldStore) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	s.wait(ctx)
	return s.Store.Page(ctx, q)
}

func (s heldStore) Snapshot(ctx context.Context) (store.Snapshot, error) {
	x, err := s.Store.Snapshot(ctx)
	return heldSnapshot{x, s}, err
}

// heldSnapshot is a snapshot of a heldStore.
type heldSnapshot struct {
	store.Snapshot
	s heldStore
}

func (x heldSnapshot) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	x.s.wait(ctx)
	return x.Snapshot.Page(ctx, q)
}

// TestTilesWaitForTheirTurn lets one tile occupy the only place for queries. Other tiles are refused with a cure, and
// are served when the place is free.
func TestTilesWaitForTheirTurn(t *testing.T) {
	t.Parallel()
	st := heldStore{demoStore(t), make(chan struct{}, 100), make(chan struct{})}
	free := sync.OnceFunc(func() { close(st.answer) })
	defer free()
	a := serveStore(t, st, func(c *config.Config) { c.Limits.Concurrent, c.Limits.Queue = 1, time.Millisecond })
	const tiles = "/tiles/WebMercatorQuad"
	var wg sync.WaitGroup
	wg.Go(func() { a.get("/collections/kommuner" + tiles + "/3/2/4").wants(200) })
	<-st.asked
	for range 5 {
		if r := a.get("/collections/kommuner" + tiles + "/4/4/8").wants(503); r.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	free()
	wg.Wait()
	a.settled("/collections/kommuner" + tiles + "/4/4/8").get("/collections/kommuner" + tiles + "/4/4/8").wants(200)
}

// nonsense is a random address of a tile, made of valid and invalid parts.
func nonsense(rnd *rand.Rand) (path, query string) {
	pick := func(list ...string) string { return list[rnd.IntN(len(list))] }
	part := func() string {
		return pick("0", "1", "3", "-1", "1.5", "1e3", "99", "2147483647", "2147483648", "9223372036854775808", "x",
			"%00", "%2F", "%ff", "NaN", "+1", "0x1", "٣", "{z}", "", ".", "..", strconv.Itoa(rnd.IntN(100000)))
	}
	path = pick("", "/v1", "/v2") + pick("", "/collections/kommuner", "/collections/nothing", "/collections/%ff") +
		"/tiles/" +
		pick("WebMercatorQuad", "webmercatorquad", "utm33n", "EPSG3575Quad", "nothing", "%20", "UTM32WGS84Quad") + "/" +
		part() + "/" + part() + "/" + part() + pick("", "", "/x", ".pbf")
	return path, pick("", "", "f=mvt", "f=x", "collections=,", "filter=%ff", "filter=", "properties=%00", "datetime=/",
		strings.Repeat("a", 300)+"=1")
}

// asked passes a path and a query to the handler, however broken; it returns false if no client could send them.
func asked(h http.Handler, path, query string) (w *httptest.ResponseRecorder, ok bool) {
	u, err := url.ParseRequestURI(path)
	if err != nil || !strings.HasPrefix(path, "/") {
		return nil, false
	}
	r := httptest.NewRequest("GET", "/", nil)
	r.URL = u
	r.URL.RawQuery = query
	w = httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w, true
}

// TestNonsenseAddressesOfTiles are never answered 5xx, and those that name no tile are 4xx.
func TestNonsenseAddressesOfTiles(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	h := a.srv.Handler()
	counts := map[int]int{}
	rnd := rand.New(rand.NewPCG(17, 3))
	for range sharedtest.Rounds(t, 10_000) {
		path, query := nonsense(rnd)
		w, ok := asked(h, path, query)
		if !ok {
			continue
		}
		if counts[w.Code]++; w.Code >= 500 || w.Code < 400 && w.Code != 200 && w.Code != 204 {
			t.Fatalf("%s?%s: %d %s", path, query, w.Code, w.Body)
		}
	}
	t.Logf("%v", counts)
}

// FuzzTileAddress sends any path below /tiles/ with any query: the response has a documented status, never a 5xx.
func FuzzTileAddress(f *testing.F) {
	rnd := rand.New(rand.NewPCG(5, 6))
	for range 30 {
		path, query := nonsense(rnd)
		f.Add(path, query)
	}
	a := serve(f, "", nil)
	a.settled("/tiles/WebMercatorQuad/3/2/4")
	h := a.srv.Handler()
	f.Fuzz(func(t *testing.T, path, query string) {
		for _, p := range []string{path, "/tiles/" + path, "/collections/kommuner/tiles/WebMercatorQuad/" + path} {
			w, ok := asked(h, p, query)
			if ok && !slices.Contains([]int{200, 204, 303, 400, 401, 404, 405, 406, 414}, w.Code) {
				t.Fatalf("%q?%q: %d %s", p, query, w.Code, w.Body)
			}
		}
	})
}
