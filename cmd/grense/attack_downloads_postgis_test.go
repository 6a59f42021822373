//go:build unix

package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"grense/internal/store/storetest"
)

// TestAttackWholeDownloadsFromPostGIS downloads a large register from a database in every format and reports memory
// above that of the idle server. A reader who stops holds no connection, and has what was there when it began.
func TestAttackWholeDownloadsFromPostGIS(t *testing.T) {
	attack(t)
	file := largeRegister(t)
	var cluster storetest.Cluster
	t.Cleanup(cluster.Stop)
	address := cluster.Database(t)
	if out, err := program(t, t.Context(), t.TempDir(), "import", file, "--layer", "sted", "--into", address,
		"--collection", "places").CombinedOutput(); err != nil {
		t.Fatalf("%v: %.500s", err, out)
	}
	ask(t, address, "VACUUM ANALYZE")
	for name, bound := range map[string]size{"geojsonseq": 64 << 20, "csv": 64 << 20, "flatgeobuf": 256 << 20,
		"parquet": 256 << 20, "gpkg": 256 << 20, "shapefile": 256 << 20, "topojson": 256 << 20} {
		t.Run(name, func(t *testing.T) {
			s := serveDatabase(t, address, tellsMetrics)
			var doc struct{ ItemCount int }
			s.getJSON(t, "/collections/places", &doc)
			idle := s.idle(t)
			n := s.discard(t, "/collections/places/download?f="+name)
			figure(t, fmt.Sprintf("%s of %d places in PostGIS, %d MB: memory above idle", name, doc.ItemCount, n>>20),
				s.peak(t)-idle, bound)
		})
	}
	for _, f := range []string{"geojsonseq", "csv"} {
		t.Run(f+", a reader who stops", func(t *testing.T) { stops(t, address, f) })
	}
}

// stops has every fiftieth row changed while a download is made, reads its beginning, stands still,
// and then reads the rest.
func stops(t *testing.T, address, f string) {
	s := serveDatabase(t, address)
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.base+"/collections/places/download?f="+f, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-API-Key", s.key)
	req.Header.Set("Accept-Encoding", "identity")
	answer := make(chan *http.Response, 1)
	go func() {
		defer close(answer)
		if res, err := http.DefaultClient.Do(req); err == nil {
			answer <- res
		}
	}()
	const held = "SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND pid <> " +
		"pg_backend_pid() AND xact_start IS NOT NULL AND backend_type = 'client backend'"
	for ask(t, address, held)[0] == 0 {
		if len(answer) > 0 || ctx.Err() != nil {
			t.Fatal("the download has no transaction")
		}
	}
	ask(t, address, "UPDATE grense.places SET stedstatus = 'changed-"+f+"' WHERE stedsnummer % 50 = 0")
	res := <-answer
	if res == nil || res.StatusCode != http.StatusOK {
		t.Fatal("no answer")
	}
	defer res.Body.Close()
	buf := make([]byte, 1<<20)
	if _, err := io.ReadFull(res.Body, buf[:1000]); err != nil {
		t.Fatal(err)
	}
	lines, changed := bytes.Count(buf[:1000], []byte{'\n'}), 0
	for n := 1; n > 0; n = ask(t, address, "SELECT 1 FROM pg_sleep(0.2)", held)[0] {
		if ctx.Err() != nil {
			t.Fatalf("%d connections stay in a transaction while nobody reads", n)
		}
	}
	for err == nil {
		var n int
		n, err = res.Body.Read(buf)
		lines += bytes.Count(buf[:n], []byte{'\n'})
		changed += bytes.Count(buf[:n], []byte("changed-"+f))
	}
	figure(t, f+" of the places, rows changed while it was written: changed values in it", changed, 0)
	if err != io.EOF || lines < 300_000 {
		t.Errorf("%d lines, %v", lines, err)
	}
}
