//go:build unix

package main_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// attack skips a test that is part of `make attack`.
func attack(t *testing.T) {
	t.Helper()
	if os.Getenv("GRENSE_ATTACK") == "" {
		t.Skip("part of make attack")
	}
}

// figure prints what was measured and its bound; more than the bound is a failure.
func figure[N int | int64 | float64 | time.Duration](t *testing.T, what string, got, bound N) {
	t.Helper()
	verdict := "ok"
	if got > bound {
		verdict = "FAILED"
		t.Fail()
	}
	line := fmt.Sprintf("%-90s %14v  bound %12v  %s\n", what, got, bound, verdict)
	fmt.Print(line)
	if name := os.Getenv("GRENSE_ATTACK_REPORT"); name != "" {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		f.WriteString(line)
	}
}

// newKey makes one more key of s, and waits until it counts.
func (s *serving) newKey(t testing.TB) string {
	t.Helper()
	key := createKey(t, s.dir)
	for end := time.Now().Add(patience); ; {
		_, body, _, err := s.asker(key).ask(t.Context(), "/key?f=json")
		if err == nil && strings.Contains(body, `"keyAccepted":true`) {
			return key
		}
		if time.Now().After(end) {
			t.Fatalf("a new key is not accepted: %v, %s", err, body)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// peak is the most memory that the program has had so far, in bytes (VmHWM of Linux).
func (s *serving) peak(t testing.TB) int64 {
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
	return n << 10
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

// p99 is the value that one in a hundred exceeds.
func p99(times []time.Duration) time.Duration {
	if len(times) == 0 {
		return time.Hour
	}
	slices.Sort(times)
	return times[len(times)*99/100]
}

// beside asks for path again and again, with pauses, until ctx ends, and returns the times and how many answers were other than 200.
func (a *asker) beside(ctx context.Context, path string, pause time.Duration) (times []time.Duration, bad int) {
	for ctx.Err() == nil {
		code, _, took, err := a.ask(context.WithoutCancel(ctx), path)
		if err != nil || code != http.StatusOK {
			bad++
		}
		times = append(times, took)
		time.Sleep(pause)
	}
	return times, bad
}

// serveCommunes serves the communes of France.
func serveCommunes(t *testing.T, settings ...string) *serving {
	t.Helper()
	file := sharedPath(t, "data", "france", "france-communes-2018.geojsonl.gz")
	if _, err := os.Stat(file); err != nil {
		t.Skipf("SKIPPED: %s is absent", file)
	}
	return serve(t, settings, file)
}

// TestAttackFairTurns: beside clients who ask the dearest filters as fast as they are answered, other keys are answered at once, and what is refused
// costs nothing and says why.
func TestAttackFairTurns(t *testing.T) {
	attack(t)
	s := serveCommunes(t)
	s.away = true // questions that take too long are 503
	collection := s.only(t)
	items := "/collections/" + collection + "/items"
	dear := items + "?limit=1&filter=" + url.QueryEscape("S_TOUCHES(geometry,geometry) AND nom<>'N'")
	other := s.asker(s.newKey(t))
	if code, body, _, err := other.ask(t.Context(), items+"/7"); err != nil || code != http.StatusOK {
		t.Fatalf("%d, %v, %s", code, err, body)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var all sync.WaitGroup
	var refused, busy, silent atomic.Int64
	attacker := s.newKey(t)
	for i := range 8 {
		a := s.asker(attacker)
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				code, body, _, err := a.ask(context.WithoutCancel(ctx), dear+url.QueryEscape(fmt.Sprintf(" AND nom<>'%d-%d'", i, n)))
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
	var item, ready []time.Duration
	var badItem, badReady int
	all.Go(func() { item, badItem = other.beside(ctx, items+"/7", 20*time.Millisecond) })
	all.Go(func() { ready, badReady = s.asker("").beside(ctx, "/readyz", 100*time.Millisecond) })
	all.Wait()
	t.Logf("%d items, %d refused, %d of these for being busy", len(item), refused.Load(), busy.Load())
	figure(t, "8 clients of one key ask S_TOUCHES of 35,357 communes: p99 of another key's item", p99(item), 100*time.Millisecond)
	figure(t, "  its answers other than 200", badItem, 0)
	figure(t, "  /readyz: answers other than 200", badReady, 0)
	figure(t, "  /readyz: p99", p99(ready), 100*time.Millisecond)
	figure(t, "  refused without saying why", silent.Load(), 0)
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

var _ = filepath.Join
