package server_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"grense/internal/await"
	"grense/internal/config"
	"grense/internal/sharedtest"
	"grense/internal/store"
)

// running counts goroutines, except those that wait for a query on a connection to a file. The number of such
// connections depends on how many queries ran at the same time.
func running() (n int, stacks string) {
	buf := make([]byte, 1<<22)
	stacks = string(buf[:runtime.Stack(buf, true)])
	for g := range strings.SplitSeq(stacks, "\n\n") {
		if !strings.Contains(g, "sqlite.(*Conn).SetInterrupt") {
			n++
		}
	}
	return n, stacks
}

// settle waits until no more than n goroutines run.
func settle(t *testing.T, n int) {
	t.Helper()
	await.Success(t, "goroutines end", func() error {
		if now, stacks := running(); now > n+3 {
			return fmt.Errorf("%d goroutines, %d before:\n%s", now, n, stacks)
		}
		return nil
	})
}

// stuck is a store whose pages arrive only after the client has disconnected.
type stuck struct {
	store.Store
	asked chan struct{}
}

func (s stuck) Page(ctx context.Context, _ store.Query) (*store.Page, error) {
	close(s.asked)
	<-ctx.Done()
	return nil, fmt.Errorf("stuck: %w", ctx.Err())
}

func TestClientThatLeavesIsNoFailureOfOurs(t *testing.T) {
	t.Parallel()
	st := stuck{demoStore(t), make(chan struct{})}
	a := serveStore(t, st, nil)
	ctx, leave := context.WithCancel(t.Context())
	go func() { <-st.asked; leave() }()
	req, _ := http.NewRequestWithContext(ctx, "GET", a.URL+"/collections/kommuner/items", nil)
	if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
		res.Body.Close()
		t.Fatal("an answer to a client that left")
	}
	a.Close() // waits for the handler
	if logs := a.logs.String(); strings.Contains(logs, `"level":"ERROR"`) || !strings.Contains(logs, `"status":0`) {
		t.Errorf("log: %s", logs)
	}
}

// busy is a store that holds its first query until the test releases it.
type busy struct {
	store.Store
	first  *sync.Once
	asked  chan struct{} // closed when the first query is there
	answer chan struct{}
}

func (s busy) Page(ctx context.Context, q store.Query) (*store.Page, error) {
	s.first.Do(func() { close(s.asked); <-s.answer })
	return s.Store.Page(ctx, q)
}

// TestBusyServerRefusesNewWorkButNoPageOfADownload guards clients that page through a collection: one that gets 503
// between two pages would take the pages read so far for all.
func TestBusyServerRefusesNewWorkButNoPageOfADownload(t *testing.T) {
	t.Parallel()
	free := serve(t, "", nil)
	var next string
	for _, l := range free.get("/collections/kommuner/items?limit=2&skipGeometry=true").wants(200).links() {
		if l.Rel == "next" {
			next = strings.TrimPrefix(l.Href, free.URL)
		}
	}
	st := busy{free.store, &sync.Once{}, make(chan struct{}), make(chan struct{})}
	a := serveStore(t, st, func(c *config.Config) { c.Limits.Concurrent, c.Limits.Queue = 1, time.Millisecond })
	var wg sync.WaitGroup
	wg.Go(func() { a.get("/collections/fylker/items?limit=1").wants(200) })
	<-st.asked
	status := make(chan int, 1)
	wg.Go(func() { status <- a.get(next).StatusCode })
	for range 20 {
		if r := a.get("/collections/kommuner/items?limit=2").wants(503); r.Header.Get("Retry-After") == "" {
			t.Error("no Retry-After")
		}
	}
	select {
	case s := <-status:
		t.Errorf("the next page was answered %d while the server was busy", s)
	default:
	}
	close(st.answer)
	wg.Wait()
	if len(status) == 1 {
		if s := <-status; s != 200 {
			t.Errorf("the next page: %d", s)
		}
	}
}

// TestHangUpsLeaveNothing opens requests and disconnects in the middle of the response.
func TestHangUpsLeaveNothing(t *testing.T) {
	n := sharedtest.Rounds(t, 500)
	a := serve(t, "", func(c *config.Config) { c.Limits.Buffer = 64 << 10 })
	before := stamped(a.get("/collections/kommuner/items?limit=1000").wants(200).Body)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	goroutines, _ := running()
	gate := make(chan struct{}, 200)
	var wg sync.WaitGroup
	for i := range n {
		gate <- struct{}{}
		wg.Go(func() {
			defer func() { <-gate }()
			rng := rand.New(rand.NewPCG(uint64(i), 7))
			conn, err := net.Dial("tcp", strings.TrimPrefix(a.URL, "http://"))
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			// a refusal is shorter
			fmt.Fprintf(conn, "GET /collections/kommuner/items?limit=1000&offset=%d HTTP/1.1\r\nHost: "+
				"x\r\nConnection: close\r\n\r\n", rng.IntN(50))
			io.CopyN(io.Discard, conn, int64(rng.IntN(20000)))
		})
	}
	wg.Wait()
	settle(t, goroutines)
	if after := stamped(a.get("/collections/kommuner/items?limit=1000").wants(200).Body); after != before {
		t.Error("the answer changed")
	}
}

// TestSlowReadersHoldNobodyUp lets 200 readers stop in the middle of a response. Other clients are served, and the
// server closes the slow connections.
func TestSlowReadersHoldNobodyUp(t *testing.T) {
	a := serve(t, "", func(c *config.Config) {
		c.Limits.Buffer = 64 << 10
		c.Limits.WriteTimeout = 2 * time.Second
		c.Limits.Concurrent = 4
		c.Limits.Queue = 10 * time.Second
	})
	before := stamped(a.get("/collections/kommuner/items?limit=10000").wants(200).Body)
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	goroutines, _ := running()
	var conns []net.Conn
	for range 200 {
		conn, err := net.Dial("tcp", strings.TrimPrefix(a.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		conn.(*net.TCPConn).SetReadBuffer(1024)
		fmt.Fprint(conn, "GET /collections/kommuner/items?limit=10000 HTTP/1.1\r\nHost: x\r\n\r\n")
		conns = append(conns, conn)
	}
	for _, c := range conns { // the response has begun
		if _, err := bufio.NewReaderSize(c, 16).ReadByte(); err != nil {
			t.Fatal(err)
		}
	}
	if got := stamped(a.get("/collections/kommuner/items?limit=10000").wants(200).Body); got != before {
		t.Error("another answer while readers stand still")
	}
	for _, c := range conns {
		c.Close()
	}
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	settle(t, goroutines)
}

// TestAnswerStopsWhenTheClientLeaves: a disconnect cancels the query to the store.
func TestAnswerStopsWhenTheClientLeaves(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	func() {
		defer func() { recover() }() // the handler may abort the response
		a.srv.Handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, "GET", "/collections/kommuner/items", nil))
	}()
	if w.Code == 200 && w.Body.Len() > 0 {
		t.Errorf("%d with %d bytes after the client left", w.Code, w.Body.Len())
	}
}

// injections are classes of SQL injection, path tricks and script injection.
var injections = []string{"' OR 1=1--", "'; DROP TABLE kommuner; --", "1; SELECT pg_sleep(10)",
	"' UNION SELECT name FROM sqlite_master--", "%27%20OR%20%271%27=%271", "ʼ OR 1=1", "\\'; --", "%' ESCAPE '!",
	"../../etc/passwd", "%2e%2e%2f", "%00", "\x00",
	"<script>alert(1)</script>", "\r\nSet-Cookie: a=b", "${jndi:ldap://x}", "{{7*7}}", strings.Repeat("(", 5000),
	"\xff\xfe"}

func TestInjectionsChangeNothing(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, s := range injections {
		e := escape(s)
		for _, p := range []string{"nr", "navn", "fylke_nr"} {
			if got := a.get("/collections/kommuner/items?" + p + "=" + queryEscape(s)).wants(
				200).page(); got.NumberMatched != 0 {
				t.Errorf("%s=%q matches %d", p, s, got.NumberMatched)
			}
		}
		for _, p := range []string{"limit", "offset", "cursor", "bbox", "datetime", "sortby", "crs", "f", "areal_km2",
			queryEscape(s)} {
			r := a.get("/collections/kommuner/items?" + p + "=" + queryEscape(s)).wants(400)
			if h := fmt.Sprint(r.Header); strings.Contains(h, "Set-Cookie") {
				t.Errorf("%s: header injected", p)
			}
		}
		for _, p := range []string{"/collections/" + e, "/collections/kommuner/items/" + e, "/TileMatrixSets/" + e,
			"/processes/" + e, "/" + e, "/static/" + e} {
			if r := a.get(p, "Accept", "text/html"); r.StatusCode != 404 ||
				strings.Contains(string(r.Body), "<script>alert") {
				t.Errorf("%s: %d", p, r.StatusCode)
			}
		}
	}
	if n := a.get("/collections/kommuner/items?limit=1").wants(200).page().NumberMatched; n != 357 {
		t.Errorf("%d features afterwards", n)
	}
}

// TestAnswersToManyFaultsAreShort sends requests with very many faults: the response is not many times as long as the
// request.
func TestAnswersToManyFaultsAreShort(t *testing.T) {
	a := serve(t, "", nil)
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&b, "&p%d=1", i)
	}
	for _, f := range []string{"json", "html"} {
		r := a.get("/collections/kommuner/items?f=" + f + b.String()).wants(400)
		if len(r.Body) > 100_000 {
			t.Errorf("f=%s: %d bytes", f, len(r.Body))
		}
		if f == "json" && !strings.HasSuffix(r.json()["detail"].(string), "; and 4950 more faults") {
			t.Errorf("%.300s", r.Body)
		}
	}
}

// TestPagesWithoutARevisionHaveNoETag guards pages that differ from client to client: an ETag would let a cache send
// one client the page of another.
func TestPagesWithoutARevisionHaveNoETag(t *testing.T) {
	a := serve(t, "", nil)
	for _, header := range [][]string{{"Accept-Encoding", "identity"}, {"Accept-Encoding", "gzip"}} {
		if r := a.get("/key?f=html", header...).wants(200); r.Header["Etag"] != nil {
			t.Errorf("%v: ETag %q", header, r.Header["Etag"])
		}
	}
}
