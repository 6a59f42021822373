//go:build unix

package main_test

import (
	"net/http"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"grense/internal/await"
	"grense/internal/store/storetest"
)

// TestAcceptStalledPostGIS stops every process of the database for 30 seconds, under the limits that the program has by
// itself: each request is answered within its limit, with 503, and all is well when the database goes on.
func TestAcceptStalledPostGIS(t *testing.T) {
	accept(t)
	const (
		stall = 30 * time.Second
		limit = 10*time.Second + 5*time.Second // of the questions of a request, and for a busy machine
	)
	cluster := storetest.Cluster{Private: true}
	t.Cleanup(cluster.Stop)
	address := database(t, &cluster, "norway/kartverket-fylker-25833.gpkg", map[string]string{"fylker": "fylker"})
	s := serveDatabase(t, address)
	s.away = true
	const page = "/collections/fylker/items?limit=3&f=csv"
	_, before, err := s.get(t.Context(), page)
	if err != nil {
		t.Fatal(err)
	}
	pids := ask(t, address,
		"SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()")
	pids = append(pids, ask(t, address, "SELECT split_part(pg_read_file('postmaster.pid'), E'\\n', 1)::int")...)
	if len(pids) < 2 {
		t.Fatalf("processes of the database: %v", pids)
	}
	signal := func(sig syscall.Signal) {
		for _, pid := range pids {
			if err := syscall.Kill(pid, sig); err != nil && err != syscall.ESRCH {
				t.Error(err)
			}
		}
	}
	t.Cleanup(func() { signal(syscall.SIGCONT) })
	signal(syscall.SIGSTOP)
	var all sync.WaitGroup
	end := time.Now().Add(stall)
	for i := range 4 {
		all.Go(func() {
			for n := 0; time.Now().Before(end.Add(-limit)); n++ {
				start := time.Now()
				code, body, err := s.get(t.Context(), "/collections/fylker/items?f=json&limit="+strconv.Itoa(1+i)+
					"&offset="+strconv.Itoa(n%7))
				if err != nil || code != http.StatusServiceUnavailable {
					t.Errorf("status %d during the stall: %v, %.300s", code, err, body)
				}
				if took := time.Since(start); took > limit {
					t.Errorf("answered after %v", took)
				}
			}
		})
	}
	all.Wait()
	if code, _, err := s.get(t.Context(), "/readyz"); err != nil || code != http.StatusServiceUnavailable {
		t.Errorf("/readyz: status %d during the stall, %v", code, err)
	}
	if code, _, err := s.get(t.Context(), "/healthz"); err != nil || code != http.StatusOK {
		t.Errorf("/healthz: status %d during the stall, %v", code, err)
	}
	await.Pace(time.Until(end)) // the stall is of 30 seconds
	signal(syscall.SIGCONT)
	within(t, soon, []*serving{s}, "the database is back", func(s *serving) bool {
		code, body, err := s.get(t.Context(), page)
		ready, _, _ := s.get(t.Context(), "/readyz")
		return err == nil && code == http.StatusOK && string(body) == string(before) && ready == http.StatusOK
	})
}
