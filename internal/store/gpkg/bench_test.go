package gpkg_test

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// benchStore holds n lines of 200 positions.
func benchStore(b *testing.B, n int) (*gpkg.Store, []string) {
	b.Helper()
	path := filepath.Join(b.TempDir(), "x.gpkg")
	ids := make([]string, n)
	create(b, path, func(w store.Writer) {
		c := points("x", crs.UTM33)
		c.Geometry.Type = "LineString"
		if err := w.Define(context.Background(), c, false); err != nil {
			b.Fatal(err)
		}
		insert, err := w.Insert(context.Background(), "x", []string{"nr", "geom", "dag"})
		if err != nil {
			b.Fatal(err)
		}
		for i := range ids {
			line := make(orb.LineString, 200)
			for j := range line {
				line[j] = orb.Point{float64(i * 100), 6600000 + float64(j)}
			}
			ids[i] = strconv.Itoa(100000 + i)
			if err := insert(ids[i], store.Geometry{WKB: wkb.MustMarshal(line)}, "2024-01-01"); err != nil {
				b.Fatal(err)
			}
		}
	})
	return openStore(b, path, gpkg.Options{}), ids
}

func BenchmarkFetch(b *testing.B) {
	s, ids := benchStore(b, 10000)
	for _, n := range []int{1, 10, 100, 1000, 10000} {
		b.Run("n="+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				err := s.Fetch(context.Background(), "x", store.Current(ids[:n]...), store.Want{},
					func(*store.Feature) error { return nil })
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPage(b *testing.B) {
	s, ids := benchStore(b, 10000)
	box := func(w float64) cql2.Expr {
		return cql2.BBox{Prop: "geometry", CRS: crs.UTM33,
			Box: orb.Bound{Min: orb.Point{500000, 6600050}, Max: orb.Point{500000 + w, 6600060}}}
	}
	degrees := cql2.BBox{Prop: "geometry", CRS: crs.CRS84,
		Box: orb.Bound{Min: orb.Point{10, 59}, Max: orb.Point{11, 60}}}
	for name, q := range map[string]store.Query{
		"all":     {},
		"cursor":  {Cursor: store.NewCursor(store.Place{ID: ids[5000]})},
		"offset":  {Offset: 5000},
		"box":     {Filter: box(1000)},
		"wide":    {Filter: box(200000)},
		"degrees": {Filter: degrees},
		"text":    {Filter: cql2.Like{X: cql2.Prop{Name: "nr"}, Pattern: cql2.Text("1050%")}},
		"sorted":  {SortBy: []store.Sort{{Property: "dag", Desc: true}}},
	} {
		q.Collection, q.Limit = "x", 100
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Page(context.Background(), q); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
