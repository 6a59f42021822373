package server_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"grense/internal/config"
	"grense/internal/store"
)

// waiting gives the number of features in left and then waits, until the test releases it.
type waiting struct {
	store.Store
	left  atomic.Int64
	gone  chan struct{}
	stand chan struct{} // receives a value when the store waits; may be nil
}

func (s *waiting) Fetch(ctx context.Context, coll string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	return s.Store.Fetch(ctx, coll, rows, want, s.waits(ctx, fn))
}

// waits calls fn with features, and waits before those that exceed the number.
func (s *waiting) waits(ctx context.Context, fn func(*store.Feature) error) func(*store.Feature) error {
	return func(f *store.Feature) error {
		if s.left.Add(-1) < 0 {
			if s.stand != nil {
				s.stand <- struct{}{}
			}
			select {
			case <-s.gone:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return fn(f)
	}
}

// manyOf is a page of all events of the history. It has far more features than the server needs to estimate its
// length.
const manyOf = "/collections/divisions_events/items?limit=10000"

// TestManyFeaturesBeginBeforeTheyAreMade: the first byte of a long response arrives before the store has given half
// of its features, even if all of it would fit into the buffer.
func TestManyFeaturesBeginBeforeTheyAreMade(t *testing.T) {
	t.Parallel()
	for _, f := range []string{"json", "geojsonseq", "csv", "jsonld"} {
		for _, coding := range []string{"identity", "gzip"} {
			t.Run(f+", "+coding, func(t *testing.T) {
				t.Parallel()
				plain := serveHistory(t, func(c *config.Config) { c.Limits.Buffer = 4 << 20 })
				want := plain.get(manyOf+"&f="+f, "Accept-Encoding", "identity").wants(200)
				n := len(want.Body)
				rows, err := strconv.Atoi(want.Header.Get("OGC-NumberReturned"))
				if err != nil || n < 300<<10 || n > 4<<20 {
					t.Fatalf("%d bytes of %d features: %v", n, rows, err)
				}
				st := &waiting{Store: plain.store, gone: make(chan struct{})}
				a := serveStore(t, st, func(c *config.Config) {
					c.Limits.Buffer, c.Limits.Query = config.Size(n+1),
						5*time.Second
				})
				st.left.Store(int64((24<<10)*rows/n + 300)) // 24 KB of features, and two queries to the store
				res := a.begun(t, manyOf+"&f="+f, coding)
				if res.StatusCode != 200 || res.ContentLength >= 0 {
					t.Fatalf("status %d, length %d", res.StatusCode, res.ContentLength)
				}
				close(st.gone)
				if got := rest(t, res, a.URL, plain.URL); got != stamped(want.Body) {
					t.Errorf("%d bytes, want %d", len(got), n)
				}
			})
		}
	}
}

// waitingFiles is a waiting store whose snapshots wait as well, each counting for itself.
type waitingFiles struct {
	*waiting
	most int64
}

func (s *waitingFiles) Snapshot(ctx context.Context) (store.Snapshot, error) {
	snap, err := s.Store.Snapshot(ctx)
	x := &waitingSnapshot{snap, &waiting{gone: s.gone}}
	x.of.left.Store(s.most)
	return x, err
}

type waitingSnapshot struct {
	store.Snapshot
	of *waiting
}

func (s *waitingSnapshot) Fetch(ctx context.Context, coll string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	return s.Snapshot.Fetch(ctx, coll, rows, want, s.of.waits(ctx, fn))
}

// TestFilesBeginWithTheirFirstKilobytes: a file of a whole collection that is written while it is read begins before
// the store has given 24 KB of features, compressed or not.
func TestFilesBeginWithTheirFirstKilobytes(t *testing.T) {
	if onPostGIS() {
		t.Skip("files from a database are read as they grow on disk")
	}
	t.Parallel()
	plain := serveHistory(t, nil)
	for _, f := range []string{"json", "geojsonseq", "csv"} {
		for _, coding := range []string{"identity", "gzip"} {
			t.Run(f+", "+coding, func(t *testing.T) {
				t.Parallel()
				path := "/collections/divisions_events/download?f=" + f
				rows := plain.get("/collections/divisions_events/items?limit=10000&f=csv").wants(200).Header.Get(
					"OGC-NumberReturned")
				all, err := strconv.Atoi(rows)
				if err != nil {
					t.Fatal(err)
				}
				want := plain.get(path, "Accept-Encoding", "identity").wants(200).Body
				st := &waitingFiles{&waiting{Store: plain.store, gone: make(chan struct{})},
					int64((24<<10)*all/len(want) + 1)}
				st.left.Store(math.MaxInt64)
				a := serveStore(t, st, nil)
				res := a.begun(t, path, coding)
				close(st.gone)
				if got := rest(t, res, a.URL, plain.URL); res.StatusCode != 200 || got != stamped(want) {
					t.Errorf("status %d, %d bytes, want %d", res.StatusCode, len(got), len(want))
				}
			})
		}
	}
}

// TestAnswersThatBeganEarlyAreKept sends three requests: the third response comes from the cache and states its
// length. On a database it may be a later one, since other tests write to the same cluster.
func TestAnswersThatBeganEarlyAreKept(t *testing.T) {
	t.Parallel()
	a := serveHistory(t, func(c *config.Config) { c.Limits.Buffer = 256 << 10 })
	for _, f := range []string{"json", "csv"} {
		for _, coding := range []string{"identity", "gzip"} {
			ask := func() (body string, streamed bool) {
				r := a.get(manyOf+"&f="+f, "Accept-Encoding", coding).wants(200)
				b := r.Body
				if coding == "gzip" {
					b = gunzip(t, b)
				}
				return stamped(b), r.ContentLength < 0
			}
			first, streamed := ask()
			if _, again := ask(); !streamed || !again {
				t.Errorf("%s, %s: the first answers are not streamed", f, coding)
			}
			kept, streamed := ask()
			for until := time.Now().Add(time.Minute); onPostGIS() && streamed && time.Now().Before(until); kept,
				streamed = ask() {
			}
			if streamed || kept != first {
				t.Errorf("%s, %s: not kept, or other bytes when it is", f, coding)
			}
		}
	}
}

// written is a store whose rows may change at any moment. During the first pages, as many as times says, a row
// changes while the second thousand is read.
type written struct {
	store.Store
	read, times atomic.Int64
}

// Hold refuses, so that rows may change in each try.
func (s *written) Hold(context.Context) (store.Snapshot, error) { return nil, errors.ErrUnsupported }

func (s *written) Version(context.Context, ...string) (store.Version, error) { return "", nil }

func (s *written) Fetch(ctx context.Context, coll string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	if s.read.Add(int64(len(rows))) > 1000 && s.times.Add(-1) >= 0 {
		return store.ErrChanged
	}
	return s.Store.Fetch(ctx, coll, rows, want, fn)
}

// TestLongAnswersFromTablesThatAreWrittenToAreWhole changes a row while the server builds a page. The page would
// begin early if its rows could not change.
func TestLongAnswersFromTablesThatAreWrittenToAreWhole(t *testing.T) {
	t.Parallel()
	plain := serveHistory(t, nil)
	for _, f := range []string{"json", "csv"} {
		want := plain.get(manyOf+"&f="+f, "Accept-Encoding", "identity").wants(200)
		a := serveStore(t, &written{Store: plain.store}, func(
			c *config.Config) {
			c.Limits.Buffer = config.Size(len(want.Body) + 1)
		})
		st := a.store.(*written)
		st.times.Store(2)
		got := a.get(manyOf+"&f="+f, "Accept-Encoding", "identity").wants(200)
		if st.times.Load() >= 0 || got.ContentLength < 0 || stamped(
			bytes.ReplaceAll(got.Body, []byte(a.URL), []byte(plain.URL))) != stamped(want.Body) {
			t.Errorf("%s: length %d, %d bytes, want %d", f, got.ContentLength, len(got.Body), len(want.Body))
		}
	}
}

// reopened is a store that is reopened while the second thousand of a page is read, as at SIGHUP, with the same data
// or with others.
type reopened struct {
	store.Store
	read atomic.Int64
	then *store.Catalog
}

func (s *reopened) Catalog() *store.Catalog {
	if s.read.Load() > 1000 {
		return s.then
	}
	return s.Store.Catalog()
}

// Hold refuses: a held snapshot outlives the catalog.
func (s *reopened) Hold(context.Context) (store.Snapshot, error) { return nil, errors.ErrUnsupported }

func (s *reopened) Fetch(ctx context.Context, coll string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	s.read.Add(int64(len(rows)))
	return s.Store.Fetch(ctx, coll, rows, want, fn)
}

// TestLongAnswersOutliveTheirCatalog reopens the data during a long response. With the same data the response
// continues. With other data it is broken off, and never ends as if it were complete.
func TestLongAnswersOutliveTheirCatalog(t *testing.T) {
	t.Parallel()
	if onPostGIS() {
		t.Skip("long answers of a database come from a snapshot, which opening anew does not change")
	}
	plain := serveHistory(t, nil)
	for _, f := range []string{"json", "csv"} {
		for _, coding := range []string{"identity", "gzip"} {
			want := plain.get(manyOf+"&f="+f, "Accept-Encoding", "identity").wants(200)
			for _, version := range []string{plain.store.Catalog().Version, "another"} {
				then := *plain.store.Catalog()
				then.Version = version
				a := serveStore(t, &reopened{Store: plain.store, then: &then},
					func(c *config.Config) { c.Limits.Buffer = config.Size(len(want.Body) + 1) })
				req, err := http.NewRequestWithContext(t.Context(), "GET", a.URL+manyOf+"&f="+f, nil)
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Accept-Encoding", coding)
				res, err := http.DefaultTransport.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				body, err := io.ReadAll(res.Body)
				res.Body.Close()
				if broken := err != nil; res.StatusCode != 200 || broken != (version == "another") {
					t.Errorf("%s, %s, version %q: status %d, %d bytes, %v", f, coding, version, res.StatusCode,
						len(body), err)
				}
			}
		}
	}
}

// TestSlowReadersKeepNoAnswerFromBeingKept stops reading a long response that will be cached. Identical requests
// still get it, and it is cached.
func TestSlowReadersKeepNoAnswerFromBeingKept(t *testing.T) {
	t.Parallel()
	if onPostGIS() {
		t.Skip("the store that waits tells its state as a file does")
	}
	plain := serveHistory(t, nil)
	st := &waiting{Store: plain.store, gone: make(chan struct{}), stand: make(chan struct{}, 100)}
	a := serveStore(t, st, func(c *config.Config) { c.Limits.Buffer, c.Limits.Query = 256<<10, time.Minute })
	st.left.Store(1000)
	for range 2 { // the second response is cached
		res, err := http.Get(a.URL + manyOf)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		<-st.stand
	}
	defer close(st.gone)
	st.left.Store(1 << 40)
	a.get(manyOf).wants(200)
	if r := a.get(manyOf, "Accept-Encoding", "gzip").wants(200); r.ContentLength < 0 {
		t.Error("not kept while another reads it")
	}
}
