package rtree_test

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/store/gpkg/rtree"
	"grense/internal/store/gpkg/sqlite"
)

// created returns a connection, in a transaction, to a file with an empty R-tree x.
func created(t *testing.T) (*sqlite.Conn, string) {
	t.Helper()
	dir := t.TempDir()
	c, err := sqlite.Open(filepath.Join(dir, "tree.gpkg"), sqlite.ReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, sql := range [...]string{"BEGIN", "CREATE VIRTUAL TABLE x USING rtree(id, minx, maxx, miny, maxy)"} {
		if err := c.Exec(sql); err != nil {
			t.Fatal(err)
		}
	}
	return c, dir
}

// TestWrittenTreesAreWhole: SQLite finds no fault in a tree of any depth, and a window selects what lies in it.
func TestWrittenTreesAreWhole(t *testing.T) {
	t.Parallel()
	window := orb.Bound{Min: orb.Point{10, 60}, Max: orb.Point{11, 61}}
	for _, n := range []int{0, 1, 51, 52, 2601, 2602, 6000} {
		c, dir := created(t)
		r := rand.New(rand.NewPCG(1, uint64(n)))
		cells, inside := rtree.NewSorter(dir), 0
		for i := range n {
			p := orb.Point{4 + 20*r.Float64(), 58 + 12*r.Float64()}
			x := rtree.NewCell(int64(i+1), p.Bound())
			if x.Bound().Intersects(window) {
				inside++
			}
			cells.Add(x)
		}
		if err := rtree.Write(c, dir, "x", cells); err != nil {
			t.Fatal(err)
		}
		verdict := ""
		err := c.Query("SELECT rtreecheck('x')", nil, func(r sqlite.Row) error { verdict = r.Text(0); return nil })
		if err != nil || verdict != "ok" {
			t.Errorf("%d rows: %q, %v", n, verdict, err)
		}
		got, err := c.One("SELECT count(*) FROM x WHERE maxx >= 10 AND minx <= 11 AND maxy >= 60 AND miny <= 61")
		if err != nil || int(got) != inside {
			t.Errorf("%d rows: %d in the window, want %d (%v)", n, got, inside, err)
		}
		seen := map[int64]bool{}
		err = rtree.Walk(c, "x", func(x rtree.Cell) error {
			seen[x.ID] = true
			return nil
		})
		if err != nil || len(seen) != n {
			t.Errorf("%d of %d rows are walked, %v", len(seen), n, err)
		}
		cells.Close()
	}
}

// TestDamagedTreesAreRefused: a missing, a short and an endless node.
func TestDamagedTreesAreRefused(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"missing": "DELETE FROM x_node",
		"short":   "UPDATE x_node SET data = x'00'",
		"endless": "UPDATE x_node SET data = x'00ff0001' || x'0000000000000001' || zeroblob(16) WHERE nodeno = 1",
		"counted": "UPDATE x_node SET data = x'0000ffff'",
	} {
		c, _ := created(t)
		if err := c.Exec(sql); err != nil {
			t.Fatal(err)
		}
		err := rtree.Walk(c, "x", func(rtree.Cell) error { return nil })
		if !errors.Is(err, rtree.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCellsContainTheirEnvelopes: float32 cannot represent every side.
func TestCellsContainTheirEnvelopes(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 1000 {
		p := orb.Point{360*r.Float64() - 180, 180*r.Float64() - 90}
		if x := rtree.NewCell(1, p.Bound()); !x.Bound().Contains(p) {
			t.Fatal(strconv.Itoa(i), p, x)
		}
	}
}
