package gpkg_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestKeyOfSeveralParts: pages, cursors, filters and neighbours of a table whose key has two columns.
func TestKeyOfSeveralParts(t *testing.T) {
	t.Parallel()
	var script strings.Builder
	script.WriteString("CREATE TABLE x (nr TEXT, aar INT, navn TEXT, geom BLOB, PRIMARY KEY (nr, aar));" + features)
	var want []string
	for i := range 40 {
		nr, aar := fmt.Sprintf("%c;", 'a'+i/4), 8+i%4
		fmt.Fprintf(&script, "INSERT INTO x VALUES ('%s', %d, 'n%d', x'47500001e6100000%s');", nr, aar, i%3,
			"0101000000000000000000f03f000000000000f03f")
		want = append(want, fmt.Sprintf("%c~1;%d", 'a'+i/4, aar))
	}
	for _, memory := range []bool{false, true} {
		s := openStore(t, build(t, script.String()), gpkg.Options{})
		if memory {
			s.ColumnsAtOnce(false)
		}
		named := func(n int) cql2.Expr {
			return cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: "navn"}, R: cql2.Text(fmt.Sprintf("n%d", n))}
		}
		at := cql2.Spatial{Op: cql2.SIntersects, L: cql2.Prop{Name: "geometry"},
			R: cql2.Geom{G: orb.Point{1, 1}, CRS: crs.CRS84}}
		for _, q := range []store.Query{{Limit: 7}, {Limit: 100}, {Limit: 3, Filter: named(1)},
			{Limit: 4, SortBy: []store.Sort{{Property: "navn", Desc: true}}}, {Limit: 5, Filter: at}} {
			q.Collection, q.Count = "x", store.CountExact
			expect := 40
			if _, ok := q.Filter.(cql2.Compare); ok {
				expect = 13
			}
			var got, back []string
			p := page(t, s, q)
			for {
				if p.Matched != expect {
					t.Errorf("%+v: matched %d", q, p.Matched)
				}
				for _, r := range p.Rows {
					got = append(got, r.ID)
				}
				if p.Next == "" {
					break
				}
				q.Cursor = p.Next
				p = page(t, s, q)
			}
			for {
				for _, r := range slices.Backward(p.Rows) {
					back = append(back, r.ID)
				}
				if p.Prev == "" {
					break
				}
				q.Cursor = p.Prev
				p = page(t, s, q)
			}
			slices.Reverse(back)
			if !slices.Equal(got, back) || len(got) != expect || q.SortBy == nil && !slices.IsSortedFunc(got,
				func(a, b string) int { return slices.Index(want, a) - slices.Index(want, b) }) {
				t.Errorf("%+v: %q, back %q", q, got, back)
			}
		}
		for i, id := range want {
			row, prev, next, err := s.Neighbours(context.Background(), "x", id)
			if err != nil || row.ID != id || i > 0 && prev != want[i-1] || i+1 < len(want) && next != want[i+1] {
				t.Errorf("beside %q: %q %q %v", id, prev, next, err)
			}
		}
		for _, id := range []string{"a;8", "a~1;08", "a~1", "a~1;8;1", "A~1;8", "a~1;x"} {
			err := s.Fetch(context.Background(), "x", store.Current(id), store.Want{}, func(*store.Feature) error {
				return nil
			})
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
}
