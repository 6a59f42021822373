package gpkg_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// numbered returns a GeoPackage of rows points in the square degree east of longitude n, whose column a is n.
func numbered(t testing.TB, n, rows int) string {
	t.Helper()
	return build(t, fmt.Sprintf(`CREATE TABLE x (fid INTEGER PRIMARY KEY, geom BLOB, a INT);
		WITH RECURSIVE s(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM s WHERE i < %d)
		INSERT INTO x SELECT i, x'47500001E61000000101000000%s0000000000002440', %d FROM s;`, rows,
		littleEndian(float64(n)+0.5), n)+features)
}

// whole fails unless an answer is of one of the files of numbered, and returns its number.
// rowsOf gives the rows of each.
func whole(ctx context.Context, s *gpkg.Store, rowsOf map[int]int) (n int, err error) {
	snap, err := s.Snapshot(ctx)
	if err != nil {
		return 0, err
	}
	defer snap.Close()
	c, _ := snap.Catalog().Collection("x")
	bound := *c.Extent
	box := cql2.BBox{Prop: c.Geometry.Name, CRS: crs.CRS84, Box: bound}
	p, err := snap.Page(ctx, store.Query{Collection: "x", Limit: 50, Filter: box, Count: store.CountExact})
	if err != nil {
		return 0, err
	}
	n = int(bound.Min[0])
	if c.Count != rowsOf[n] || p.Matched != rowsOf[n] {
		return n, fmt.Errorf("extent of %d with %d rows in the catalog and %d in its box", n, c.Count, p.Matched)
	}
	values := store.Want{Properties: []string{"a"}}
	return n, snap.Fetch(ctx, "x", p.Rows, values, func(f *store.Feature) error {
		if got := fmt.Sprint(f.Values[0]); got != fmt.Sprint(n) {
			return fmt.Errorf("extent of %d, and a row of %s", n, got)
		}
		return nil
	})
}

// TestFileThatIsReplacedWhileItIsRead is served in one version, at the start and after a reload.
func TestFileThatIsReplacedWhileItIsRead(t *testing.T) {
	t.Parallel()
	rowsOf := map[int]int{1: 10, 2: 5000, 3: 6000}
	path := filepath.Join(t.TempDir(), "live.gpkg")
	put := func(n int) {
		if err := os.Rename(numbered(t, n, rowsOf[n]), path); err != nil {
			t.Error(err)
		}
	}
	var next []int
	o := gpkg.Options{DataDir: t.TempDir(), Progress: func(string, int, int) {
		if len(next) > 0 {
			put(next[0])
			next = next[1:]
		}
	}}
	check := func(when string, s *gpkg.Store, want int) {
		t.Helper()
		if n, err := whole(t.Context(), s, rowsOf); err != nil || n != want {
			t.Errorf("%s: version %d, want %d: %v", when, n, want, err)
		}
	}
	put(2)
	next = []int{3}
	s := openStore(t, path, o)
	check("replaced at the start", s, 3)
	put(2)
	next = []int{3, 2}
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("replaced twice during a reload", s, 2)
	put(1)
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("replaced before a reload", s, 1)
}

// TestStormOfReplacements gives no answer of two versions, and ends with the last one.
func TestStormOfReplacements(t *testing.T) {
	t.Parallel()
	const replacements, readers = 150, 3
	dir := t.TempDir()
	path := filepath.Join(dir, "live.gpkg")
	rowsOf, files := map[int]int{}, map[int][]byte{}
	for n := 1; n <= 3; n++ {
		rowsOf[n] = 40 * n
		b, err := os.ReadFile(numbered(t, n, rowsOf[n]))
		if err != nil {
			t.Fatal(err)
		}
		files[n] = b
	}
	put := func(n int) error {
		if err := os.WriteFile(path+".new", files[n], 0o600); err != nil {
			return err
		}
		return os.Rename(path+".new", path)
	}
	if err := put(1); err != nil {
		t.Fatal(err)
	}
	s := openStore(t, path, gpkg.Options{DataDir: t.TempDir(), MaxConns: 6})
	ctx, stop := context.WithCancel(t.Context())
	answered := make(chan struct{})
	var all sync.WaitGroup
	for range readers {
		all.Go(func() {
			for ctx.Err() == nil {
				if _, err := whole(ctx, s, rowsOf); err != nil && ctx.Err() == nil &&
					!errors.Is(err, store.ErrChanged) {
					t.Error(err)
				}
				select {
				case answered <- struct{}{}:
				case <-ctx.Done():
				}
			}
		})
	}
	reload := make(chan struct{}, 1)
	all.Go(func() {
		for range reload {
			if err := s.Reload(t.Context()); err != nil && !strings.Contains(err.Error(), "replaced") {
				t.Error(err)
			}
		}
	})
	random := rand.New(rand.NewPCG(1, 2))
	last := 1
	for range replacements {
		for range random.IntN(4) {
			<-answered
		}
		last = 1 + random.IntN(3)
		if err := put(last); err != nil {
			t.Error(err)
		}
		select {
		case reload <- struct{}{}:
		default:
		}
	}
	close(reload)
	stop()
	all.Wait()
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n, err := whole(t.Context(), s, rowsOf); err != nil || n != last {
		t.Errorf("after the storm: version %d, want %d: %v", n, last, err)
	}
}

// littleEndian returns the bytes of a double in hexadecimal digits.
func littleEndian(f float64) string {
	return fmt.Sprintf("%X", binary.LittleEndian.AppendUint64(nil, math.Float64bits(f)))
}
