//go:build linux

package gpkg_test

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestSpareGivesBackWhatConnectionsHaveRead reads a file of some 32 MB over several connections, which keep its pages until Spare; no other test runs beside it. What is asked meanwhile is answered as before.
func TestSpareGivesBackWhatConnectionsHaveRead(t *testing.T) {
	path := planFile(t, 50, false)
	for i := range 8 {
		run(t, path, "DROP TRIGGER IF EXISTS rtree_x_geom_update"+strconv.Itoa(i))
	}
	run(t, path, "CREATE TABLE filled AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 8000) SELECT i AS fid, hex(randomblob(2000)) AS tekst FROM n;"+
		"CREATE UNIQUE INDEX filled_fid ON filled (fid); INSERT INTO gpkg_contents (table_name, data_type, identifier) VALUES ('filled', 'attributes', 'filled')")
	s := openStore(t, path, gpkg.Options{MaxConns: 4})
	rows := page(t, s, store.Query{Collection: "filled", Limit: 8000}).Rows
	read := func() (n int) {
		err := s.Fetch(t.Context(), "filled", rows, store.Want{}, func(f *store.Feature) error { n += len(f.Values[len(f.Values)-1].(string)); return nil })
		if err != nil {
			t.Error(err)
		}
		return n
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { read() })
	}
	all.Wait()
	before := anonymous(t)
	s.Spare()
	if after := anonymous(t); after > before-8<<10 {
		t.Errorf("%d KB of memory are in use, after %d", after, before)
	}
	for range 20 {
		all.Go(s.Spare)
		all.Go(func() {
			if n := read(); n != 8000*4000 {
				t.Errorf("%d bytes read beside Spare", n)
			}
		})
	}
	all.Wait()
}

// anonymous is the memory of the process that no file stands behind, in KB.
func anonymous(t *testing.T) int {
	b, err := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(b), "RssAnon:")
	n, err2 := strconv.Atoi(strings.TrimSpace(rest[:max(0, strings.Index(rest, "kB"))]))
	if err != nil || err2 != nil {
		t.Skip("the system does not tell the memory of the process")
	}
	return n
}
