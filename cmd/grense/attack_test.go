//go:build unix

package main_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"grense/api/placename"
	"grense/internal/await"
	"grense/internal/sharedtest"
)

// newKey makes one more key of s, and waits until it counts.
func (s *serving) newKey(t testing.TB, flags ...string) string {
	t.Helper()
	key := createKey(t, s.dir, flags...)
	await.Success(t, "a new key is accepted", func() error {
		_, body, _, err := s.asker(key).ask(t.Context(), "/key?f=json")
		if err == nil && !strings.Contains(body, `"keyAccepted":true`) {
			err = errors.New(body)
		}
		return err
	})
	return key
}

// peak is the most memory that the program has had so far, in bytes (VmHWM of Linux).
func (s *serving) peak(t testing.TB) size {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Skip("SKIPPED: there is no /proc")
	}
	_, rest, _ := strings.Cut(string(b), "VmHWM:")
	n, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return size(n << 10)
}

// idle waits until nothing is made in the background, has peak count from then on, and returns its value. The server
// has the setting tellsMetrics.
func (s *serving) idle(t *testing.T) size {
	t.Helper()
	s.rest(t)
	if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", s.cmd.Process.Pid), []byte("5"), 0); err != nil {
		t.Skip("SKIPPED: the peak of memory cannot be reset here")
	}
	return s.peak(t)
}

// cpu is the processor time that the program has used.
func (s *serving) cpu(t testing.TB) time.Duration {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		t.Skip("SKIPPED: there is no /proc")
	}
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

// asker asks one server with one key, over connections of its own.
type asker struct {
	s      *serving
	key    string
	client *http.Client
}

func (s *serving) asker(key string) *asker {
	return &asker{s, key, &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}, Timeout: patience}}
}

// ask returns status, the beginning of the body, and how long the answer took.
func (a *asker) ask(ctx context.Context, path string) (int, string, time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, a.s.base+path, nil)
	if err != nil {
		return 0, "", 0, err
	}
	return a.do(req)
}

func (a *asker) do(req *http.Request) (int, string, time.Duration, error) {
	if a.key != "" {
		req.Header.Set("X-API-Key", a.key)
	}
	start := time.Now()
	resp, err := a.client.Do(req)
	if err != nil {
		return 0, "", time.Since(start), err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
	}
	return resp.StatusCode, string(b), time.Since(start), err
}

// beside asks for path again and again, with pauses, until ctx ends, and returns the times and how many
// answers were other than 200.
func (a *asker) beside(ctx context.Context, path string, pause time.Duration) (times []time.Duration, bad int) {
	for ctx.Err() == nil {
		code, _, took, err := a.ask(context.WithoutCancel(ctx), path)
		if err != nil || code != http.StatusOK {
			bad++
		}
		times = append(times, took)
		await.Pace(pause)
	}
	return times, bad
}

// serveCommunes serves the communes of France.
func serveCommunes(t *testing.T, settings ...string) *serving {
	t.Helper()
	return serve(t, settings, communesOfFrance(t))
}

// communesOfFrance is a file of the communes of France.
func communesOfFrance(t *testing.T) string {
	t.Helper()
	source := sharedtest.Path(t, "data", "france", "france-communes-2018.geojsonl.gz")
	return fixture(t, "communes.gpkg", func(path string) {
		if out, err := program(t, t.Context(), t.TempDir(), "import", source, "--collection", "communes", "--into",
			path).CombinedOutput(); err != nil {
			t.Fatalf("%v: %.500s", err, out)
		}
	})
}

// generated is a register of so many places.
func generated(t *testing.T, places int) string {
	t.Helper()
	return fixture(t, fmt.Sprintf("register-%d.gpkg", places), func(path string) {
		if out, err := program(t, t.Context(), t.TempDir(), "register", "generate", "--places", strconv.Itoa(places),
			"--out", path).CombinedOutput(); err != nil {
			t.Fatalf("%v: %.500s", err, out)
		}
	})
}

// serveRegister serves a register of 50,000 places with 512 MiB of memory. What takes too long there is 503.
// other asks with a key of its own.
func serveRegister(t *testing.T) (s *serving, other *asker) {
	t.Helper()
	s = serve(t, []string{"GRENSE_LIMITS_MEMORY=512MiB"}, generated(t, 50_000))
	s.away = true
	other = s.asker(s.newKey(t))
	return s, other
}

// TestAttackFairTurns: while clients send the most expensive filters as fast as they are answered, other keys are
// answered at once. A refusal costs nothing and says why.
func TestAttackFairTurns(t *testing.T) {
	attack(t)
	t.Run("one key", func(t *testing.T) { fairTurns(t, 1) })
	t.Run("four keys", func(t *testing.T) { fairTurns(t, 4) })
}

// fairTurns lets eight clients attack with so many keys.
func fairTurns(t *testing.T, keys int) {
	t.Helper()
	s := serveCommunes(t, tellsMetrics)
	s.away = true // questions that take too long are 503
	s.idle(t)
	collection := s.only(t)
	items := "/collections/" + collection + "/items"
	dear := items + "?limit=1&filter=" + url.QueryEscape("S_TOUCHES(geometry,geometry) AND nom<>'N'")
	other := s.asker(s.newKey(t))
	if code, body, _, err := other.ask(t.Context(), items+"/7"); err != nil || code != http.StatusOK {
		t.Fatalf("%d, %v, %s", code, err, body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), phase(t, 15*time.Second))
	defer cancel()
	var all sync.WaitGroup
	var refused, busy, silent atomic.Int64
	attackers := make([]string, keys)
	for i := range attackers {
		attackers[i] = s.newKey(t)
	}
	for i := range 8 {
		a := s.asker(attackers[i%keys])
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				code, body, _, err := a.ask(context.WithoutCancel(ctx),
					dear+url.QueryEscape(fmt.Sprintf(" AND nom<>'%d-%d'", i, n)))
				if err == nil && code == http.StatusServiceUnavailable {
					refused.Add(1)
					if strings.Contains(body, "busy") {
						busy.Add(1)
					} else if !strings.Contains(body, "too long") {
						silent.Add(1)
					}
				}
			}
		})
	}
	seen := other.watch(t, ctx, &all, items+"/7")
	all.Wait()
	t.Logf("%d items, %d refused, %d of these for being busy", len(seen.item), refused.Load(), busy.Load())
	figure(t, fmt.Sprintf("8 clients with keys, %d in all, ask S_TOUCHES of 35,357 communes: refusals without a reason",
		keys), silent.Load(), 0)
	figure(t, "  most memory, without `memory`", s.peak(t), 400<<20)
	seen.report(t)
}

// TestAttackOneComparison: one comparison of two large geometries ends near its limit,
// and gives its memory and its place back.
func TestAttackOneComparison(t *testing.T) {
	attack(t)
	file := sharedPath(t, "data", "world", "ne_10m_ocean.geojson.gz")
	if _, err := os.Stat(file); err != nil {
		t.Skipf("SKIPPED: %s is absent", file)
	}
	ocean := filepath.Join(t.TempDir(), "ocean.gpkg")
	if out, err := exec.Command("ogr2ogr", "-nln", "ocean", ocean, "/vsigzip/"+file).CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: ogr2ogr: %v, %s; make attack installs it", err, out)
	}
	s := serve(t, []string{"GRENSE_LIMITS_QUERY_TIMEOUT=1s", "GRENSE_LIMITS_COUNT_TIMEOUT=1s",
		"GRENSE_LIMITS_MEMORY=512MiB"}, ocean)
	s.away = true
	items := "/collections/" + s.only(t) + "/items"
	a := s.asker(s.key)
	var star strings.Builder // of 4,000 corners, around the world
	for i := range 4000 {
		r, at := 80-20*float64(i%2), 2*math.Pi*float64(i)/4000
		fmt.Fprintf(&star, "[%.1f,%.1f],", 2*r*math.Cos(at), r*math.Sin(at))
	}
	for what, other := range map[string]string{"itself": `{"property":"geometry"}`,
		"a star of 4,000 corners": `{"type":"Polygon","coordinates":[[` + star.String() + "[160,0]]]}"} {
		worst := time.Duration(0)
		for i, op := range []string{"S_TOUCHES", "S_EQUALS", "S_OVERLAPS", "S_WITHIN", "S_CONTAINS", "S_CROSSES",
			"S_INTERSECTS", "S_DISJOINT"} {
			filter := fmt.Sprintf(`{"op":"and","args":[{"op":"%s","args":[{"property":"geometry"},%s]},{"op":"<>",`+
				`"args":[{"property":"scalerank"},%d]}]}`, strings.ToLower(op), other, 100+i)
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+items+"?resulttype=hits",
				strings.NewReader(filter))
			req.Header.Set("Content-Type", "application/json")
			before := s.cpu(t)
			code, body, took, err := a.do(req)
			used := s.cpu(t) - before
			if err != nil || code != http.StatusOK && code != http.StatusServiceUnavailable {
				t.Errorf("%s: %d, %v, %s", op, code, err, body)
			}
			t.Logf("%s of %s: %d after %v, %v of CPU", op, what, code, took, used)
			worst = max(worst, used)
		}
		figure(t,
			fmt.Sprintf("an ocean of 450,000 corners compared with %s by each predicate, at most 1 s a query: most CPU",
				what), worst, 2*time.Second)
	}
	figure(t, "  most memory, `memory: 512MiB`", s.peak(t), 512<<20)
	_, _, took, err := a.ask(t.Context(), items+"?limit=1&skipGeometry=true")
	if err != nil {
		t.Error(err)
	}
	figure(t, "  an item afterwards", took, 100*time.Millisecond)
}

// only is the id of the one collection that s serves.
func (s *serving) only(t *testing.T) string {
	t.Helper()
	var doc struct{ Collections []struct{ ID string } }
	s.getJSON(t, "/collections?f=json", &doc)
	if len(doc.Collections) == 0 {
		t.Fatal("no collection")
	}
	return doc.Collections[0].ID
}

// TestAttackSlowReaders: hundreds of readers who take large answers slowly cost little memory,
// and others are answered at once.
func TestAttackSlowReaders(t *testing.T) {
	attack(t)
	s := serveCommunes(t, "GRENSE_LIMITS_MEMORY=512MiB", "GRENSE_LIMITS_CONNECTIONS=4096")
	s.away = true // what there is no memory for is 503
	items := "/collections/" + s.only(t) + "/items"
	crowd{readers: 900, beside: items + "/7", lasts: phase(t, 30*time.Second), path: func(int) string {
		return items + "?limit=3000"
	}}.attack(t, s, "answers of 4 MB")
}

// soapRequest is a request of findSteder as HTTP/1.1 in whole.
func (s *serving) soapRequest(pattern string) (request, body string) {
	body = `<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>` +
		string(placename.AppendRequest(nil,
			&placename.FindSteder{StedSoek: placename.StedSoek{Stedsnavn: &pattern}}, placename.DefaultBase)) +
		`</S:Body></S:Envelope>`
	return fmt.Sprintf("POST /soap/stedsnavn/v1/SoekServiceWS HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\nContent-Type: "+
		"text/xml; charset=utf-8\r\nContent-Length: %d\r\n\r\n%s", s.key, len(body), body), body
}

// TestAttackSlowSOAP: a thousand readers who take the hits of large searches slowly cost little memory,
// and others are answered at once.
func TestAttackSlowSOAP(t *testing.T) {
	attack(t)
	const readers = 1000
	s, other := serveRegister(t)
	request, kib := "", 0
	for _, pattern := range strings.Fields("*vik* *nes* *berg* *land* *set* *sta* *dal* *ne* *er* *an* *st*") {
		r, body := s.soapRequest(pattern)
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/soap/stedsnavn/v1/SoekServiceWS",
			strings.NewReader(body))
		req.Header.Set("Content-Type", "text/xml; charset=utf-8")
		req.Header.Set("X-API-Key", s.key)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		n := len(b) >> 10
		if t.Logf("%s: %d, %d KiB", pattern, resp.StatusCode, n); err == nil &&
			resp.StatusCode == http.StatusOK && n > kib {
			request, kib = r, n
		}
	}
	t.Logf("%d KiB each", kib)
	if kib < 500 {
		t.Fatal("no search has many hits")
	}
	ctx, cancel := context.WithTimeout(t.Context(), phase(t, 45*time.Second))
	defer cancel()
	var all sync.WaitGroup
	var begun, refused atomic.Int64
	for range readers {
		all.Go(func() {
			if s.sendAgain(ctx, request, &refused, func() {}) == http.StatusOK {
				begun.Add(1)
			}
		})
	}
	seen := other.watch(t, ctx, &all, "/collections/sted/items/2")
	all.Wait()
	t.Logf("%d answers were begun; %d times a reader was told that the server is busy", begun.Load(), refused.Load())
	figure(t, fmt.Sprintf("%d slow readers of SOAP answers of %d KiB, `memory: 512MiB`: most memory", readers, kib),
		s.peak(t), 512<<20)
	figure(t, "  readers without an answer, who asked again after Retry-After", readers-int(begun.Load()), 0)
	seen.report(t)
}

// sendAgain is sendSlowly by a client that retries a second later if the server is busy. refused counts how often it
// was.
func (s *serving) sendAgain(ctx context.Context, request string, refused *atomic.Int64, begun func()) int {
	for {
		status := s.sendSlowly(ctx, request, begun)
		if status != http.StatusServiceUnavailable || ctx.Err() != nil {
			return status
		}
		refused.Add(1)
		await.Pace(time.Second)
	}
}

// sendSlowly sends a request and takes 6 KB in a second of the answer until ctx ends. It calls begun when an answer of
// 200 begins, and returns the status.
func (s *serving) sendSlowly(ctx context.Context, request string, begun func()) int {
	c, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.addr)
	if err != nil {
		return 0
	}
	defer c.Close()
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetReadBuffer(4 << 10)
	}
	io.WriteString(c, request)
	status := 0
	b := make([]byte, 3<<10)
	for n := 0; ctx.Err() == nil; n++ {
		c.SetReadDeadline(time.Now().Add(40 * time.Second))
		m, err := c.Read(b)
		if n == 0 && m > 12 {
			if status, _ = strconv.Atoi(string(b[9:12])); status != http.StatusOK {
				return status // the connection stays open, and nothing more comes
			}
			begun()
		}
		if err != nil {
			return status
		}
		await.Pace(500 * time.Millisecond)
	}
	return status
}

// TestAttackSearches: during the most expensive searches of SOAP and filters, other keys are answered at once.
func TestAttackSearches(t *testing.T) {
	attack(t)
	s, other := serveRegister(t)
	ctx, cancel := context.WithTimeout(t.Context(), phase(t, 20*time.Second))
	defer cancel()
	var all sync.WaitGroup
	var answered, refused, silent atomic.Int64
	count := func(code int, body string) {
		switch {
		case code == http.StatusOK:
			answered.Add(1)
		case strings.Contains(body, "busy") || strings.Contains(body, "opptatt") ||
			strings.Contains(body, "lang tid") || strings.Contains(body, "too long") ||
			strings.Contains(body, "LIMIT_EXCEEDED"):
			refused.Add(1)
		default:
			silent.Add(1)
			t.Logf("%d %.300s", code, body)
		}
	}
	dear := s.newKey(t)
	for i := range 8 {
		a := s.asker(dear)
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				pattern := fmt.Sprintf("*a*%c*", 'a'+rune((i+n)%26))
				body := `<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>` +
					string(placename.AppendRequest(nil,
						&placename.FindSteder{StedSoek: placename.StedSoek{Stedsnavn: &pattern}},
						placename.DefaultBase)) +
					`</S:Body></S:Envelope>`
				req, _ := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost,
					a.s.base+"/soap/stedsnavn/v1/SoekServiceWS", strings.NewReader(body))
				req.Header.Set("Content-Type", "text/xml; charset=utf-8")
				if code, answer, _, err := a.do(req); err == nil {
					count(code, answer)
				}
			}
		})
		f := s.asker(dear)
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				filter := fmt.Sprintf("CASEI(visningsnavn) LIKE CASEI('%%%c%%%c%%') AND visningsnavn<>'%d'",
					'a'+rune(n%26), 'a'+rune((n+i)%26), n)
				if code, answer, _, err := f.ask(context.WithoutCancel(ctx), "/collections/sted/items?limit=1&filter="+
					url.QueryEscape(filter)); err == nil && code != http.StatusNotFound {
					count(code, answer)
				}
			}
		})
	}
	seen := other.watch(t, ctx, &all, "/collections/sted/items/2")
	all.Wait()
	t.Logf("%d answered, %d refused", answered.Load(), refused.Load())
	figure(t, "8 clients of SOAP's patterns and 8 of filters over 50,000 places: refusals without a reason",
		silent.Load(), 0)
	figure(t, "  most memory, `memory: 512MiB`", s.peak(t), 512<<20)
	seen.report(t)
}

// TestAttackWrongKeys: thousands of unknown keys are refused, most of them for their number, and cost next to nothing.
func TestAttackWrongKeys(t *testing.T) {
	attack(t)
	s := serve(t, nil)
	a := s.asker("")
	before, let := s.cpu(t), 0
	const keys = 3000
	for i := range keys {
		a.key = fmt.Sprintf("grense_%08d_%038d", i, i)
		code, body, _, err := a.ask(t.Context(), "/collections/kommuner/items?limit=1")
		if err != nil || code != http.StatusUnauthorized && code != http.StatusTooManyRequests {
			t.Fatalf("%d, %v, %s", code, err, body)
		}
		if code == http.StatusUnauthorized {
			let++
		}
	}
	figure(t, "3,000 unknown keys of one address: answers of 401 instead of 429", let, 100)
	figure(t, "  CPU of a refused request", (s.cpu(t)-before)/keys, time.Millisecond)
}

// TestAttackReloads: reloads under load reset no request and change no answer.
func TestAttackReloads(t *testing.T) {
	attack(t)
	s := serve(t, nil)
	a := s.asker(s.key)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var asked, bad atomic.Int64
	for range 4 {
		all.Go(func() {
			for ctx.Err() == nil {
				code, body, _, err := a.ask(context.WithoutCancel(ctx), "/collections/kommuner/items?limit=50")
				if asked.Add(1); err != nil || code != http.StatusOK {
					bad.Add(1)
					t.Logf("%d, %v, %.200s", code, err, body)
				}
			}
		})
	}
	signals := repeats(t, 1000)
	for range signals {
		s.signal(t, syscall.SIGHUP)
		await.Pace(10 * time.Millisecond)
	}
	cancel()
	all.Wait()
	t.Logf("%d requests", asked.Load())
	figure(t, fmt.Sprintf("%d signals to reload under load: requests that failed", signals), bad.Load(), 0)
}

// TestAttackEndUnderLoad: a server that receives SIGTERM finishes its requests. As behind a balancer, new requests end
// some time after /readyz fails.
func TestAttackEndUnderLoad(t *testing.T) {
	attack(t)
	s := serve(t, []string{"GRENSE_LIMITS_DRAIN_WAIT=5s"})
	var all sync.WaitGroup
	var broken atomic.Int64
	ended := make(chan struct{})
	for range 8 {
		a := s.asker(s.key)
		all.Go(func() {
			for {
				code, body, _, err := a.ask(t.Context(), "/collections/kommuner/items?limit=100")
				switch {
				case err != nil || code != http.StatusOK:
					broken.Add(1)
					t.Logf("%d, %v, %.200s", code, err, body)
				}
				select {
				case <-ended:
					return
				default:
				}
			}
		})
	}
	await.Pace(time.Second)
	s.signal(t, syscall.SIGTERM)
	balancer := s.asker("")
	await.True(t, "/readyz fails", func() bool {
		code, _, _, err := balancer.ask(t.Context(), "/readyz")
		return err != nil || code != http.StatusOK
	})
	await.Pace(time.Second) // of load in which every answer ends its connection
	close(ended)
	all.Wait()
	s.exit(t)
	figure(t, "SIGTERM under the load of 8 clients: requests that were broken off", broken.Load(), 0)
}

// TestAttackAborts: clients that hang up, in HTTP/1.1 in the midst of answers, leave nothing behind
// and no error in the log.
func TestAttackAborts(t *testing.T) {
	attack(t)
	s := serveCommunes(t)
	s.away = true
	items := "/collections/" + s.only(t) + "/items"
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			for n := range 20 {
				c, err := net.Dial("tcp", s.addr)
				if err != nil {
					continue
				}
				fmt.Fprintf(c, "GET %s?limit=%d HTTP/1.1\r\nHost: x\r\nX-API-Key: %s\r\n\r\n", items, 100+n, s.key)
				if n%2 == 0 {
					io.ReadFull(c, make([]byte, 1000))
				}
				c.(*net.TCPConn).SetLinger(0) // a reset
				c.Close()
			}
		})
	}
	all.Wait()
	errors := strings.Count(s.logged(t), `"level":"ERROR"`)
	figure(t, "1,000 connections reset by their clients: errors in the log", errors, 0)
	_, _, took, err := s.asker(s.key).ask(t.Context(), items+"/7")
	if err != nil {
		t.Error(err)
	}
	figure(t, "  an item afterwards", took, 100*time.Millisecond)
}

// simplify asks for the levels of all collections in all systems, so that none is 503 for being made for
// the first time but here.
func (s *serving) simplify(t *testing.T) {
	t.Helper()
	s.away = true
	var doc struct {
		Collections []struct {
			ID  string
			CRS []string
		}
	}
	s.getJSON(t, "/collections?f=json", &doc)
	a := s.asker(s.key)
	for _, c := range doc.Collections {
		for _, crs := range c.CRS {
			await.True(t, "levels of "+c.ID+" in "+crs, func() bool { // or none are offered
				code, _, _, err := a.ask(t.Context(), "/collections/"+c.ID+"/items?limit=1&zoom-level=0&crs="+
					url.QueryEscape(crs))
				return err == nil && code != http.StatusServiceUnavailable
			})
		}
	}
}

// TestAttackGenerated sends what schemathesis makes of the API definition: no answer may be a failure of the server,
// or differ from the definition.
func TestAttackGenerated(t *testing.T) {
	attack(t)
	bin := os.Getenv("GRENSE_SCHEMATHESIS")
	if bin == "" {
		bin = rootPath(t, "bin", "schemathesis", "bin", "schemathesis")
	}
	if _, err := os.Stat(bin); err != nil {
		t.Skip("SKIPPED: schemathesis is not installed; make attack does that")
	}
	s := serve(t, []string{"GRENSE_AUTH=open"})
	s.simplify(t)
	lasts := phase(t, 2*time.Minute)
	cmd := exec.Command(bin, "run", s.base+"/openapi", "--url", s.base, "--max-examples", "70", "--checks",
		"not_a_server_error", "--workers", "2", "--phases", "examples,fuzzing", "--no-color")
	cmd.Dir = t.TempDir() // where it keeps a cache
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(lasts, func() { cmd.Process.Signal(syscall.SIGINT) }) // it ends with a summary
	defer timer.Stop()
	kill := time.AfterFunc(lasts+30*time.Second, func() { cmd.Process.Kill() })
	defer kill.Stop()
	err := cmd.Wait()
	n := strings.Count(s.logged(t), `"msg":"request"`)
	found := strings.Count(out.String(), "Server error")
	t.Logf("%v\n%s", err, out.String()[max(0, out.Len()-6000):])
	figure(t, fmt.Sprintf("%d requests generated from the API definition by schemathesis: answers of 5xx", n), found, 0)
	figure(t, "  requests short of 1,000", max(0, 1000-n), 0)
}
