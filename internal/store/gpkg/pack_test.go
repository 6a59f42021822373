package gpkg_test

import (
	"context"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// TestWrittenTreesAreWhole: SQLite finds no fault in an R-tree that the writer makes, of any depth,
// and it gives what lies in a window.
func TestWrittenTreesAreWhole(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	for _, n := range []int{0, 1, 51, 52, 2601, 2602, 6000} {
		path := filepath.Join(t.TempDir(), "tree.gpkg")
		r := rand.New(rand.NewPCG(1, uint64(n)))
		var at []orb.Point
		create(t, path, func(w store.Writer) {
			c := &store.Collection{ID: "x", Table: "x", Public: true,
				Key:      store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
				Geometry: &store.Geom{Name: "geom", Column: "geom", Type: "Point", CRS: crs.CRS84}}
			if err := w.Define(context.Background(), c, false); err != nil {
				t.Fatal(err)
			}
			insert, err := w.Insert(context.Background(), "x", []string{"fid", "geom"})
			if err != nil {
				t.Fatal(err)
			}
			for i := range n {
				p := orb.Point{4 + 20*r.Float64(), 58 + 12*r.Float64()}
				at = append(at, p)
				if err := insert(int64(i+1), store.Geometry{WKB: wkb.MustMarshal(p)}); err != nil {
					t.Fatal(err)
				}
			}
		})
		conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
		if err != nil {
			t.Fatal(err)
		}
		one := func(sql string) (s string) {
			err := sqlitex.ExecuteTransient(conn, sql, &sqlitex.ExecOptions{ResultFunc: func(st *sqlite.Stmt) error {
				s = st.ColumnText(0)
				return nil
			}})
			if err != nil {
				t.Fatal(err)
			}
			return s
		}
		if s := one("SELECT rtreecheck('rtree_x_geom')"); s != "ok" {
			t.Errorf("%d features: %s", n, s)
		}
		want := 0
		for _, p := range at {
			if p[0] >= 10 && p[0] <= 15 && p[1] >= 60 && p[1] <= 66 {
				want++
			}
		}
		if s := one("SELECT count(*) FROM rtree_x_geom WHERE minx >= 10 AND maxx <= 15 AND miny >= 60 AND " +
			"maxy <= 66"); s != strconv.Itoa(want) {
			t.Errorf("%d features: %s lie in the window, want %d", n, s, want)
		}
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
