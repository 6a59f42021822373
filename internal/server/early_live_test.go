package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"grense/internal/config"
	"grense/internal/store"
)

// liveRows is a store whose rows may change at any moment, as in a database, with snapshots that hold a connection.
// Before each feature a snapshot calls before with the number of features given so far.
type liveRows struct {
	store.Store
	before func(ctx context.Context, given int64) error
	page   func()       // called before a snapshot gives a page, if not nil
	open   atomic.Int64 // snapshots
	direct atomic.Int64 // features that were read without one

	catalog atomic.Pointer[store.Catalog]
}

func (s *liveRows) Catalog() *store.Catalog {
	of := s.Store.Catalog()
	if c := s.catalog.Load(); c != nil && c.Version == of.Version {
		return c
	}
	live := *of
	live.Live = true
	s.catalog.Store(&live)
	return &live
}

func (s *liveRows) Version(context.Context, ...string) (store.Version, error) { return "", nil }

func (s *liveRows) Hold(ctx context.Context) (store.Snapshot, error) { return s.Snapshot(ctx) }

func (s *liveRows) Fetch(ctx context.Context, coll string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	s.direct.Add(int64(len(rows)))
	return s.Store.Fetch(ctx, coll, rows, want, fn)
}

func (s *liveRows) Snapshot(ctx context.Context) (store.Snapshot, error) {
	snap, err := s.Store.Snapshot(ctx)
	if err != nil {
		return nil, err
	}
	s.open.Add(1)
	return &liveSnapshot{Snapshot: snap, s: s}, nil
}

type liveSnapshot struct {
	store.Snapshot
	s      *liveRows
	given  int64
	closed bool
}

func (x *liveSnapshot) Holds() bool { return true }

func (x *liveSnapshot) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	if x.s.page != nil {
		x.s.page()
	}
	return x.Snapshot.Page(ctx, q)
}

func (x *liveSnapshot) Fetch(ctx context.Context, coll string, rows []store.Row, want store.Want,
	fn func(*store.Feature) error) error {
	return x.Snapshot.Fetch(ctx, coll, rows, want, func(f *store.Feature) error {
		if err := x.s.before(ctx, x.given); err != nil {
			return err
		}
		x.given++
		return fn(f)
	})
}

func (x *liveSnapshot) Close() error {
	if !x.closed {
		x.closed = true
		x.s.open.Add(-1)
	}
	return x.Snapshot.Close()
}

// standsAt waits before the feature behind n others until it is let go.
func standsAt(n int64, gone <-chan struct{}) func(context.Context, int64) error {
	return func(ctx context.Context, given int64) error {
		if given < n {
			return nil
		}
		select {
		case <-gone:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// begun sends a request, and returns the response when its first bytes have arrived.
func (a *api) begun(t *testing.T, path, coding string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", a.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept-Encoding", coding)
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

// rest is the body of a response that has begun, as if the server at url had given it.
func rest(t *testing.T, res *http.Response, from, url string) string {
	t.Helper()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.Header.Get("Content-Encoding") == "gzip" {
		body = gunzip(t, body)
	}
	return stamped(bytes.ReplaceAll(body, []byte(from), []byte(url)))
}

// TestLargePagesOfLiveRowsBeginWithTheirFirstFeatures: the first byte arrives when the snapshot has given the
// features of the first piece, and at most two batches more. Another page of the same client is completed at the same
// time.
func TestLargePagesOfLiveRowsBeginWithTheirFirstFeatures(t *testing.T) {
	t.Parallel()
	plain := serveHistory(t, func(c *config.Config) { c.Limits.Buffer = 4 << 20 })
	for _, f := range []string{"json", "geojsonseq", "csv", "jsonld"} {
		for _, coding := range []string{"identity", "gzip"} {
			want := plain.get(manyOf+"&f="+f, "Accept-Encoding", "identity").wants(200)
			var count int64
			fmt.Sscan(want.Header.Get("Ogc-Numberreturned"), &count)
			first := count*(64<<10)/int64(len(want.Body)) + 400
			if first >= count {
				t.Fatalf("%s: %d features of %d are all", f, first, count)
			}
			gone := make(chan struct{})
			st := &liveRows{Store: plain.store, before: standsAt(first, gone)}
			a := serveStore(t, st, func(c *config.Config) {
				c.Limits.Buffer,
					c.Limits.Query = config.Size(len(want.Body)+1), 5*time.Second
			})
			res := a.begun(t, manyOf+"&f="+f, coding)
			if res.StatusCode != 200 || res.ContentLength >= 0 || st.open.Load() != 1 || st.direct.Load() != 0 {
				t.Fatalf("%s, %s: status %d, length %d, %d snapshots, %d features read without", f, coding,
					res.StatusCode, res.ContentLength, st.open.Load(), st.direct.Load())
			}
			if other := a.get(manyOf+"&f="+f, "Accept-Encoding", coding).wants(200); other.ContentLength < 0 ||
				st.direct.Load() == 0 {
				t.Errorf("%s, %s: another page beside it has length %d", f, coding, other.ContentLength)
			}
			close(gone)
			if got := rest(t, res, a.URL, plain.URL); got != stamped(want.Body) {
				t.Errorf("%s, %s: %d bytes, want %d", f, coding, len(got), len(want.Body))
			}
			a.eventually("the snapshot is closed", func() bool { return st.open.Load() == 0 })
		}
	}
}

var errRead = errors.New("the disk of the database is gone")

// TestFailuresOfLiveRowsBeforeTheFirstByteAreNoHalfAnswers: before the first byte the server replaces a lost
// connection, and reports any other failure as a problem. A later failure breaks the response off.
func TestFailuresOfLiveRowsBeforeTheFirstByteAreNoHalfAnswers(t *testing.T) {
	t.Parallel()
	plain := serveHistory(t, nil)
	for _, path := range []string{manyOf + "&f=json", manyOf + "&f=csv",
		"/collections/divisions_events/download?f=geojsonseq",
		"/collections/divisions_events/download?f=geojsonseq&filter=seq%3E0"} {
		isPage := strings.Contains(path, "/items")
		want := plain.get(path, "Accept-Encoding", "identity").wants(200)
		for _, x := range []struct {
			err    error
			after  int64
			status int
			broken bool
		}{{errRead, 10, 500, false}, {errRead, 1000, 200, true}, {store.ErrUnavailable, 10, 200, false},
			{store.ErrUnavailable, 1000, 200, true}} {
			if x.err == store.ErrUnavailable && !isPage && !x.broken {
				x.status = 503
			}
			begun := make(chan struct{})
			st := &liveRows{Store: plain.store, before: func(_ context.Context, given int64) error {
				if given < x.after {
					return nil
				}
				if x.broken {
					<-begun
				}
				return x.err
			}}
			a := serveStore(t, st, func(c *config.Config) { c.Limits.Buffer = config.Size(len(want.Body) + 1) })
			res := a.begun(t, path, "identity")
			close(begun)
			body, err := io.ReadAll(res.Body)
			switch {
			case res.StatusCode != x.status || (err != nil) != x.broken:
				t.Errorf("%s, %v after %d: status %d, %v", path, x.err, x.after, res.StatusCode, err)
			case x.status != 200 && !strings.HasPrefix(res.Header.Get("Content-Type"), "application/problem+json"):
				t.Errorf("%s, %v after %d: %s", path, x.err, x.after, res.Header.Get("Content-Type"))
			case x.status == 200 && !x.broken && (res.ContentLength < 0 ||
				stamped(bytes.ReplaceAll(body, []byte(a.URL), []byte(plain.URL))) != stamped(want.Body)):
				t.Errorf("%s, %v after %d: length %d, %d bytes, want %d", path, x.err, x.after, res.ContentLength,
					len(body), len(want.Body))
			}
			a.eventually("the snapshot is closed", func() bool { return st.open.Load() == 0 })
		}
	}
}

// TestAPageThatPanicsGivesItsPlaceAndItsConnectionBack: the next one begins early again.
func TestAPageThatPanicsGivesItsPlaceAndItsConnectionBack(t *testing.T) {
	t.Parallel()
	plain, key := serveHistory(t, nil), "grense_ABCDEFGH_"+strings.Repeat("x", 38)
	var sound atomic.Bool
	st := &liveRows{Store: plain.store, before: func(context.Context, int64) error { return nil }, page: func() {
		if !sound.Load() {
			panic("a fault of the store, with " + key)
		}
	}}
	a := serveStore(t, st, func(c *config.Config) { c.Limits.Buffer = 64 << 10 })
	a.get(manyOf + "&f=json").wants(500)
	if n := st.open.Load(); n != 0 {
		t.Errorf("%d snapshots are left", n)
	}
	text := a.logs.String()
	if !strings.Contains(text, "with grense_ABCDEFGH_***") || strings.Contains(text, key) {
		t.Errorf("the log shows the key, or no panic: %s", text)
	}
	sound.Store(true)
	if res := a.begun(t, manyOf+"&f=json", "identity"); res.StatusCode != 200 || st.direct.Load() != 0 {
		t.Errorf("status %d, %d features read without a snapshot", res.StatusCode, st.direct.Load())
	}
}

// rowsOfText is the address of a database with a table of so many rows of 2 KB.
func rowsOfText(t *testing.T, n int) string {
	t.Helper()
	url := cluster.Database(t)
	change(t, url, "CREATE TABLE rows (id int PRIMARY KEY, text text)",
		fmt.Sprintf("INSERT INTO rows SELECT i, repeat('before ', 300) FROM generate_series(1, %d) AS i", n),
		"ANALYZE rows")
	return url
}

func change(t *testing.T, url string, statements ...string) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	for _, s := range statements {
		if _, err := c.Exec(context.Background(), s); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLargePagesAreOfOneStateWhileTheirRowsAreWritten changes all rows of a table while a page of them is on its way.
func TestLargePagesAreOfOneStateWhileTheirRowsAreWritten(t *testing.T) {
	t.Parallel()
	url := rowsOfText(t, 4000)
	written := false
	st := &liveRows{Store: openURL(t, url), before: func(_ context.Context, given int64) error {
		if given == 1000 {
			change(t, url, "UPDATE rows SET text = 'after'")
			written = true
		}
		return nil
	}}
	a := serveStore(t, st, nil)
	for _, path := range []string{"/collections/rows/items?limit=10000&f=json", "/collections/rows/download?f=json"} {
		written = false
		change(t, url, "UPDATE rows SET text = repeat('before ', 300)")
		res := a.begun(t, path, "identity")
		body := rest(t, res, "", "")
		if n, other := strings.Count(body, "before before"),
			strings.Count(body, "after"); !written || res.StatusCode != 200 || res.ContentLength >= 0 ||
			n != 4000*150 || other > 0 {
			t.Errorf("%s: status %d, length %d, %d pairs of words before, %d after", path, res.StatusCode,
				res.ContentLength, n, other)
		}
	}
}

// TestDownloadsThatHoldAConnectionAreSentAsTheyGrow: the first byte of a file arrives before half of the file is
// written. The connection is released before the reader has received all.
func TestDownloadsThatHoldAConnectionAreSentAsTheyGrow(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	st := &liveRows{Store: openURL(t, rowsOfText(t, 8000)), before: standsAt(200, gone)}
	a := serveStore(t, st, func(c *config.Config) { c.Limits.Changes = 0 })
	whole := a.begun(t, "/collections/rows/download?f=json", "identity")
	some := a.begun(t, "/collections/rows/download?f=csv&filter=id%3E0", "gzip")
	for _, res := range []*http.Response{whole, some} {
		if res.StatusCode != 200 || res.ContentLength >= 0 {
			t.Errorf("status %d, length %d", res.StatusCode, res.ContentLength)
		}
	}
	close(gone)
	a.eventually("the snapshots are closed while nobody reads", func() bool { return st.open.Load() == 0 })
	for _, res := range []*http.Response{whole, some} {
		if n := strings.Count(rest(t, res, "", ""), "before before"); n != 8000*150 {
			t.Errorf("%d pairs of words", n)
		}
	}
	// not while other tests write into the cluster
	a.eventually("a file that was sent as it grew is kept", func() bool {
		first := a.begun(t, "/collections/rows/download?f=csv", "identity")
		body := rest(t, first, "", "")
		kept := a.get("/collections/rows/download?f=csv", "Accept-Encoding", "identity").wants(200)
		return kept.ContentLength >= 0 && string(kept.Body) == body &&
			kept.Header.Get("Etag") == first.Header.Get("Etag") &&
			kept.Header.Get("Content-Location") == first.Header.Get("Content-Location") &&
			a.get("/collections/rows/download?f=csv", "If-None-Match", first.Header.Get("Etag")).StatusCode == 304
	})
}
