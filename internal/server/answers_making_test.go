package server_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"grense/internal/config"
	"grense/internal/store"
)

// gate is a store whose pages of filtered features wait until the test releases them.
type gate struct {
	store.Store
	come chan struct{} // one value for each such page that is read
	free chan struct{} // closed when they may go on
}

func (g *gate) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	if q.Filter != nil {
		g.come <- struct{}{}
		select {
		case <-g.free:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return g.Store.Page(ctx, q)
}

// gated serves the demo from a file and waits until a response is cached. On PostgreSQL, writes of other tests would
// change the data version.
func gated(t *testing.T, change func(*config.Config)) (*api, *gate) {
	t.Helper()
	g := &gate{openGeoPackage(t, demoPath(t)), make(chan struct{}, 100), make(chan struct{})}
	a := serveStore(t, g, change)
	a.cachedBefore("/collections/kommuner/items/0301")
	return a, g
}

// together sends n identical requests, the first before the others.
func (g *gate) together(t *testing.T, n int, ask func(i int)) (wait func()) {
	t.Helper()
	var all sync.WaitGroup
	all.Go(func() { ask(0) })
	select {
	case <-g.come:
	case <-time.After(time.Minute):
		t.Fatal("the first does not ask the store")
	}
	for i := range n - 1 {
		all.Go(func() { ask(i + 1) })
	}
	return all.Wait
}

// quiet fails the test if another query arrives within a short time.
func (g *gate) quiet(t *testing.T) {
	t.Helper()
	select {
	case <-g.come:
		t.Error("the same is asked of the store while it is made")
	case <-time.After(300 * time.Millisecond):
	}
}

const namesLike = "/collections/kommuner/items?limit=3&filter=navn+LIKE+'B%25'"

// TestIdenticalRequestsShareOneBuild: identical requests that arrive while a response is built wait for it. The
// response is not cached for that alone.
func TestIdenticalRequestsShareOneBuild(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"", "&f=csv", "&f=html", "&f=jsonld", "&f=gml"} {
		for _, coding := range []string{"gzip", "identity"} {
			t.Run(format+coding, func(t *testing.T) {
				t.Parallel()
				a, g := gated(t, nil)
				kept := metricOf(t, a, "grense_cache_entries", "answers")
				got := make([]answer, 10)
				wait := g.together(t, len(got), func(i int) {
					got[i] = a.get(namesLike+format, "Accept-Encoding", coding)
				})
				g.quiet(t)
				close(g.free)
				wait()
				if n := len(g.come); n > 0 && format != "&f=html" { // a page reads its neighbours some at a time
					t.Errorf("%d more questions to the store", n)
				}
				plain := func(r answer) string {
					if r.Header.Get("Content-Encoding") == "gzip" {
						return stamped(gunzip(t, r.Body))
					}
					return stamped(r.Body)
				}
				for i, r := range got {
					r.wants(http.StatusOK)
					if plain(r) != plain(got[0]) || r.Header.Get("Content-Length") != strconv.Itoa(len(r.Body)) {
						t.Errorf("answer %d is another, of %s bytes:\n%.300s", i, r.Header.Get("Content-Length"),
							plain(r))
					}
					for _, name := range sameHeaders {
						if x, y := r.Header.Values(name), got[0].Header.Values(name); fmt.Sprint(x) != fmt.Sprint(y) {
							t.Errorf("answer %d: %s is %q, want %q", i, name, x, y)
						}
					}
					if i > 0 && !a.wasCached(r) {
						t.Errorf("the log does not say that answer %d was not made for it", i)
					}
				}
				if n := metricOf(t, a, "grense_cache_entries", "answers"); n != kept {
					t.Errorf("%d answers are kept, were %d", n, kept)
				}
			})
		}
	}
}

// TestACancelledBuildPassesToAWaitingRequest: then one of those who wait makes it.
func TestACancelledBuildPassesToAWaitingRequest(t *testing.T) {
	t.Parallel()
	a, g := gated(t, nil)
	ctx, leave := context.WithCancel(t.Context())
	wait := g.together(t, 6, func(i int) {
		if i > 0 {
			a.get(namesLike).wants(http.StatusOK)
			return
		}
		r, err := http.NewRequestWithContext(ctx, "GET", a.URL+namesLike, nil)
		if err != nil {
			t.Error(err)
			return
		}
		if res, err := http.DefaultClient.Do(r); err == nil {
			res.Body.Close()
			t.Error("the first was answered")
		}
	})
	g.quiet(t)
	leave()
	<-g.come
	g.quiet(t)
	close(g.free)
	wait()
}

// TestWhatIsTooLargeIsMadeByEachForItself: a response that would take too much memory is not shared between requests.
func TestWhatIsTooLargeIsMadeByEachForItself(t *testing.T) {
	t.Parallel()
	a, g := gated(t, func(c *config.Config) { c.Limits.Answers = 32 << 10 })
	const path = "/collections/kommuner/items?limit=300&filter=navn+LIKE+'%25'"
	wait := g.together(t, 5, func(int) { a.get(path, "Accept-Encoding", "identity").wants(http.StatusOK) })
	g.quiet(t)
	close(g.free)
	wait()
	if n := len(g.come); n != 4 {
		t.Errorf("%d of those who waited made their own, want 4", n)
	}
}

// TestCacheHitsAreThoseOfTheLog: what is kept of another state of the data is not found.
func TestCacheHitsAreThoseOfTheLog(t *testing.T) {
	t.Parallel()
	x := newCounters(t)
	a := serveStore(t, x.st, nil)
	set := x.writer()
	const path = "/collections/tellere/items"
	for n := range 5 {
		a.cachedBefore(path)
		if err := set(1, n+1); err != nil {
			t.Fatal(err)
		}
		a.wasCached(a.get(path))
	}
	logged := int64(strings.Count(a.logs.String(), `"cached":true`))
	if n := metricOf(t, a, "grense_cache_hits_total", "answers"); n != logged {
		t.Errorf("%d answers were found, the log tells %d", n, logged)
	}
	if n, want := metricOf(t, a, "grense_cache_misses_total", "answers"),
		int64(strings.Count(a.logs.String(), `"msg":"request"`))-logged; n != want {
		t.Errorf("%d answers were not found, the log tells %d", n, want)
	}
}

// metricOf is the present value of a metric of a cache.
func metricOf(t *testing.T, a *api, name, of string) int64 {
	t.Helper()
	m := regexp.MustCompile(`(?m)^` + name + `\{cache="` + of + `"\} (\S+)$`).FindStringSubmatch(httpGetMetrics(t, a))
	if m == nil {
		t.Fatalf("no %s of %s", name, of)
	}
	f, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		t.Fatal(err)
	}
	return int64(f)
}
