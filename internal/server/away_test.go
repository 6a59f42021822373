package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"grense/api/placename"
	"grense/internal/await"
	"grense/internal/config"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/storetest"
)

// proxy stands between a store and its database, and fails as networks do.
type proxy struct {
	t      testing.TB
	target string // host:port of the database
	addr   string // of the proxy

	mu       sync.Mutex
	listener net.Listener // nil: connections are refused
	conns    map[net.Conn]bool
	stalled  chan struct{} // nil: bytes flow; closed when they do again
}

// newProxy starts a proxy in front of a database and returns it with the address that leads through it.
func newProxy(t testing.TB, database string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{t: t, target: u.Host, addr: "127.0.0.1:0", conns: map[net.Conn]bool{}}
	p.listen()
	t.Cleanup(func() { p.refuse(); p.flow() })
	u.Host = p.addr
	return p, u.String()
}

// listen takes connections, after refuse again.
func (p *proxy) listen() {
	p.t.Helper()
	l, err := net.Listen("tcp", p.addr)
	if err != nil {
		p.t.Fatal(err)
	}
	p.mu.Lock()
	p.listener, p.addr = l, l.Addr().String()
	p.mu.Unlock()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
}

func (p *proxy) serve(c net.Conn) {
	defer c.Close()
	p.wait()
	d, err := net.Dial("tcp", p.target)
	if err != nil {
		return
	}
	defer d.Close()
	p.mu.Lock()
	if p.listener == nil {
		p.mu.Unlock()
		return
	}
	p.conns[c], p.conns[d] = true, true
	p.mu.Unlock()
	go p.pump(c, d)
	p.pump(d, c)
	p.mu.Lock()
	delete(p.conns, c)
	delete(p.conns, d)
	p.mu.Unlock()
}

func (p *proxy) pump(from, to net.Conn) {
	defer to.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		p.wait()
		if _, e := to.Write(b[:n]); err != nil || e != nil {
			return
		}
	}
}

// wait returns when bytes may flow.
func (p *proxy) wait() {
	p.mu.Lock()
	gate := p.stalled
	p.mu.Unlock()
	if gate != nil {
		<-gate
	}
}

// stall keeps connections open and accepts new ones, but passes nothing on.
func (p *proxy) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = make(chan struct{})
}

// flow ends a stall.
func (p *proxy) flow() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled != nil {
		close(p.stalled)
		p.stalled = nil
	}
}

// cut breaks all connections; new ones are taken.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
}

// refuse breaks all connections and takes no new ones, as a server that is down.
func (p *proxy) refuse() {
	p.mu.Lock()
	if p.listener != nil {
		p.listener.Close()
		p.listener = nil
	}
	p.mu.Unlock()
	p.cut()
}

// serveDatabase serves the database at url with limits that suit tests of failures.
func serveDatabase(t *testing.T, url string) *api {
	t.Helper()
	return serveStore(t, openURL(t, url), func(c *config.Config) { c.Limits.Query = 700 * time.Millisecond })
}

func registerDatabase(t *testing.T) string {
	t.Helper()
	path, err := registerFile()
	if err != nil {
		t.Fatal(err)
	}
	return databaseWith(t, path)
}

var soapSearch = string(placename.ExampleRequest("findSteder", false, placename.DefaultBase))

// away fails the test unless the server reports, over every protocol and to many clients at once, that the database
// is unavailable.
func (a *api) away() {
	a.t.Helper()
	var wg sync.WaitGroup
	for _, path := range []string{"/collections/sted/items?limit=3", "/v1/collections/stedsnavn/items?limit=1&f=html",
		"/collections/sted/items?f=csv", "/collections/sted/items?bbox=5,58,31,72",
		"/collections/sted/items/1", "/collections/sted/items?limit=4", "/collections/sted/items?limit=5"} {
		wg.Go(func() {
			r := a.get(path)
			if r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" ||
				r.Header.Get("Cache-Control") != "no-store" {
				a.t.Errorf("%s: status %d, Retry-After %q, %.300s", path, r.StatusCode, r.Header.Get("Retry-After"),
					r.Body)
			}
			if strings.Contains(path, "f=html") {
				return
			}
			var p struct{ Status int }
			if err := json.Unmarshal(r.Body, &p); err != nil ||
				r.Header.Get("Content-Type") != "application/problem+json" ||
				p.Status != http.StatusServiceUnavailable {
				a.t.Errorf("%s: no problem document: %s, %v, %.300s", path, r.Header.Get("Content-Type"), err, r.Body)
			}
		})
	}
	for _, soap12 := range []bool{false, true} {
		wg.Go(func() {
			media := "text/xml; charset=utf-8"
			if soap12 {
				media = "application/soap+xml; charset=utf-8"
			}
			r := a.post(endpoint, media, string(placename.ExampleRequest("findSteder", soap12, placename.DefaultBase)))
			if r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "" ||
				!bytes.Contains(r.Body, []byte(":Fault>")) || !bytes.Contains(r.Body, []byte("UNAVAILABLE")) {
				a.t.Errorf("SOAP: status %d, Retry-After %q, %.600s", r.StatusCode, r.Header.Get("Retry-After"), r.Body)
			}
		})
	}
	wg.Go(func() {
		if r := a.get("/readyz"); r.StatusCode != http.StatusServiceUnavailable {
			a.t.Errorf("/readyz: status %d while the database is away", r.StatusCode)
		}
	})
	wg.Go(func() {
		if r := a.get("/healthz"); r.StatusCode != http.StatusOK {
			a.t.Errorf("/healthz: status %d; the process answers", r.StatusCode)
		}
	})
	wg.Wait()
}

// answers fails the test unless the server responds over every protocol, at once or within seconds.
func (a *api) answers() {
	a.t.Helper()
	a.eventually("ready", func() bool { return a.get("/readyz").StatusCode == http.StatusOK })
	a.eventually("items", func() bool { return a.get("/collections/sted/items?limit=3").StatusCode == http.StatusOK })
	if r := a.post(endpoint, "text/xml; charset=utf-8", soapSearch); r.StatusCode != http.StatusOK {
		a.t.Errorf("SOAP: status %d, %.300s", r.StatusCode, r.Body)
	}
}

func (a *api) eventually(what string, ok func() bool) {
	a.t.Helper()
	await.True(a.t, what, ok)
}

func TestDatabaseThatStalls(t *testing.T) {
	t.Parallel()
	p, url := newProxy(t, registerDatabase(t))
	a := serveDatabase(t, url)
	a.answers()
	p.stall()
	a.away()
	a.away() // on new connections, since the old ones have been given up
	p.flow()
	a.answers()
}

func TestDatabaseThatRefusesConnections(t *testing.T) {
	t.Parallel()
	p, url := newProxy(t, registerDatabase(t))
	a := serveDatabase(t, url)
	a.answers()
	p.refuse()
	a.away()
	p.listen()
	a.answers()
	p.cut() // a single loss of all connections is not seen
	if r := a.get("/collections/sted/items?limit=2"); r.StatusCode != http.StatusOK {
		t.Errorf("after all connections broke: status %d, %.300s", r.StatusCode, r.Body)
	}
}

// TestStartWithoutADatabase begins while connections are refused.
func TestStartWithoutADatabase(t *testing.T) {
	t.Parallel()
	p, url := newProxy(t, registerDatabase(t))
	p.refuse()
	logs := &lockedBuffer{}
	opened := make(chan store.Store, 1)
	go func() {
		st, err := postgis.Open(t.Context(), url, postgis.Options{
			Wait: true, Logger: slog.New(slog.NewTextHandler(logs, nil))})
		if err != nil {
			t.Error(err)
		}
		opened <- st
	}()
	a := &api{t: t}
	a.eventually("told what was tried", func() bool {
		s := logs.String()
		return strings.Count(s, "trying again") > 1 && strings.Contains(s, p.addr)
	})
	p.listen()
	st := <-opened
	if st == nil {
		t.FailNow()
	}
	t.Cleanup(func() { st.Close() })
	serveStore(t, st, nil).answers()
}

// admin runs a statement as the superuser and returns the number that it gives.
func admin(t testing.TB, url, sql string) (n int) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	rows, err := c.Query(t.Context(), sql, pgx.QueryExecModeSimpleProtocol)
	if err == nil {
		for rows.Next() {
			if v, e := rows.Values(); e == nil && len(v) > 0 {
				if i, ok := v[0].(int64); ok {
					n = int(i)
				}
			}
		}
		err = rows.Err()
	}
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return n
}

// sleepy is a table with a view whose rows take a minute once the setting of the role says so.
const sleepy = `CREATE TABLE punkt (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO punkt VALUES (1, 'SRID=4258;POINT(10 60)'), (2, NULL);
	CREATE VIEW treg AS SELECT * FROM punkt WHERE pg_sleep(CASE WHEN current_setting('grense.vent', TRUE) = '1' THEN 60 ELSE 0 END) IS NOT NULL;`

const (
	killOthers = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = current_database() ` +
		`AND pid <> pg_backend_pid()`
	sleeping = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() ` +
		`AND pid <> pg_backend_pid() AND state = 'active' AND wait_event = 'PgSleep'`
)

// slowDatabase serves a database in which the view treg takes a minute.
func slowDatabase(t *testing.T) (*api, string) {
	t.Helper()
	url := cluster.Database(t)
	admin(t, url, sleepy)
	a := serveStore(t, openURL(t, url), func(c *config.Config) { c.Limits.Query = time.Minute })
	setSleep(t, url, "1")
	admin(t, url, killOthers) // settings apply to new sessions
	a.get("/collections/punkt/items").wants(200)
	return a, url
}

func setSleep(t *testing.T, address, to string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	admin(t, address, "ALTER DATABASE "+strings.TrimPrefix(u.Path, "/")+" SET grense.vent = '"+to+"'")
}

// TestBackendKilledMidQuestion: the server hides one lost connection from the client. If connections are lost again
// and again, the client gets 503 with Retry-After.
func TestBackendKilledMidQuestion(t *testing.T) {
	t.Parallel()
	a, url := slowDatabase(t)
	ask := func() chan int {
		status := make(chan int, 1)
		go func() { status <- a.get("/collections/treg/items").StatusCode }()
		a.eventually("running", func() bool { return admin(t, url, sleeping) > 0 })
		return status
	}
	status := ask()
	admin(t, url, killOthers)
	a.eventually("asked once more", func() bool { return admin(t, url, sleeping) > 0 })
	admin(t, url, killOthers)
	if s := <-status; s != http.StatusServiceUnavailable {
		t.Errorf("killed twice: status %d", s)
	}
	status = ask()
	setSleep(t, url, "0")
	admin(t, url, killOthers)
	if s := <-status; s != http.StatusOK {
		t.Errorf("killed once: status %d", s)
	}
}

func TestClientThatHangsUpStopsTheQuestion(t *testing.T) {
	t.Parallel()
	a, url := slowDatabase(t)
	watch, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Close(context.WithoutCancel(t.Context()))
	running := func() (n int) {
		if err := watch.QueryRow(t.Context(), sleeping).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	least := time.Minute // of some tries: the machine may be busy
	for range 10 {
		ctx, hangUp := context.WithCancel(t.Context())
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.URL+"/collections/treg/items", nil)
		if err != nil {
			t.Fatal(err)
		}
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			if r, err := http.DefaultTransport.RoundTrip(req); err == nil {
				io.Copy(io.Discard, r.Body)
				r.Body.Close()
			}
		}()
		a.eventually("running", func() bool { return running() > 0 })
		start := time.Now()
		hangUp()
		took := time.Duration(0)
		for running() > 0 && took < 10*time.Second {
			took = time.Since(start)
		}
		<-gone
		if least = min(least, took); least <= 100*time.Millisecond {
			return
		}
	}
	t.Errorf("the question ran for %v after its client had left", least)
}

// TestDroppedTable: until the catalog is new the data are not available; then there is no such collection.
func TestDroppedTable(t *testing.T) {
	t.Parallel()
	path, err := registerFile()
	if err != nil {
		t.Fatal(err)
	}
	url := fillDatabase(t, cluster.Database(t), path)
	admin(t, url, "CREATE TABLE punkt (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO punkt VALUES (1, "+
		"'SRID=4258;POINT(10 60)')")
	a := serveDatabase(t, url)
	a.answers()
	a.get("/collections/punkt/items").wants(200)
	admin(t, url, "DROP TABLE punkt, grense.skrivemaate CASCADE")
	a.eventually("404", func() bool {
		r := a.get("/collections/punkt/items")
		switch {
		case r.StatusCode == http.StatusServiceUnavailable && r.Header.Get("Retry-After") != "",
			r.StatusCode == http.StatusNotFound:
		default:
			t.Fatalf("status %d, Retry-After %q, %.300s", r.StatusCode, r.Header.Get("Retry-After"), r.Body)
		}
		if r := a.post(endpoint, "text/xml; charset=utf-8",
			soapSearch); r.StatusCode != http.StatusServiceUnavailable && r.StatusCode != http.StatusNotFound {
			t.Fatalf("SOAP without its tables: status %d, %.300s", r.StatusCode, r.Body)
		}
		return r.StatusCode == http.StatusNotFound
	})
	a.get("/collections").wants(200)
	admin(t, url, "CREATE TABLE punkt (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO punkt VALUES (7, "+
		"'SRID=4258;POINT(10 60)')")
	a.eventually("there again", func() bool { return a.get("/collections/punkt/items/7").StatusCode == http.StatusOK })
}

// TestExhaustedConnections takes all connections that the role may have.
func TestExhaustedConnections(t *testing.T) {
	t.Parallel()
	address := registerDatabase(t)
	const most = 4
	role, asRole := storetest.Role(t, address, "CONNECTION LIMIT 4")
	admin(t, address, "GRANT USAGE ON SCHEMA grense TO "+role+"; GRANT SELECT ON ALL TABLES IN SCHEMA grense TO "+role)
	p, limited := newProxy(t, asRole)
	a := serveDatabase(t, limited)
	a.answers()
	p.cut()
	var taken []*pgx.Conn
	a.eventually("all taken", func() bool {
		c, err := pgx.Connect(t.Context(), asRole)
		if err == nil {
			taken = append(taken, c)
		} else if len(taken) < most {
			p.cut() // the store was faster
		}
		return len(taken) == most
	})
	a.away()
	for _, c := range taken {
		c.Close(t.Context())
	}
	a.answers()
}
