package gpkg_test

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// inMemory are stores of places and of columns whose tables are in memory as soon as they are asked for.
func inMemory(t *testing.T, o gpkg.Options) (places, columns *gpkg.Store) {
	t.Helper()
	places = openStore(t, spotFile(t, 1500, crs.UTM33), o)
	columns = openStore(t, mixedFile(t, "kode TEXT PRIMARY KEY", 900), o)
	places.ColumnsAtOnce(false)
	columns.ColumnsAtOnce(false)
	return places, columns
}

func parsed(t *testing.T, s *gpkg.Store, text string) cql2.Expr {
	t.Helper()
	c, _ := s.Catalog().Collection("x")
	e, err := cql2.ParseText(text)
	if err == nil {
		e, err = cql2.Check(e, c)
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}

// TestWhatIsRecalledIsThePage: pages out of memory are those of a question, of every filter and from every cursor.
func TestWhatIsRecalledIsThePage(t *testing.T) {
	t.Parallel()
	places, columns := inMemory(t, gpkg.Options{Unchanging: true})
	n := 300
	if testing.Short() {
		n = 60
	}
	for name, x := range map[string]struct {
		s      *gpkg.Store
		filter func(*rand.Rand) cql2.Expr
	}{
		"places": {places, func(r *rand.Rand) cql2.Expr { return randomPlace(r, r.IntN(3)) }},
		"boxes": {places, func(r *rand.Rand) cql2.Expr {
			x, y := 8+4*r.Float64(), 59+2*r.Float64()
			return cql2.BBox{Prop: "geom", CRS: crs.CRS84, Box: orb.Bound{Min: orb.Point{x, y}, Max: orb.Point{x + r.Float64(), y + r.Float64()/2}}}
		}},
		"columns": {columns, func(r *rand.Rand) cql2.Expr { return parsed(t, columns, mixedFilter(r, r.IntN(3))) }},
		"ids":     {columns, func(*rand.Rand) cql2.Expr { return nil }},
	} {
		r, recalled := rand.New(rand.NewPCG(7, uint64(len(name)))), 0
		for range n {
			q := store.Query{Collection: "x", Filter: x.filter(r), Limit: r.IntN(40), Offset: r.IntN(3) * r.IntN(30), Count: store.Count(r.IntN(3))}
			for range 4 {
				want, err := x.s.Page(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				got, cost := x.s.Recall(q)
				if cost != x.s.Cost(q) {
					t.Errorf("%s, %#v: recalled as %v, costs %v", name, q, cost, x.s.Cost(q))
				}
				if got != nil {
					if recalled++; len(got.Rows) == 0 && len(want.Rows) == 0 {
						got.Rows, want.Rows = nil, nil
					}
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("%s, %#v:\n    got %+v\nwant %+v", name, q, got, want)
					}
				}
				if q.Cursor = want.Next; r.IntN(3) == 0 {
					q.Cursor = want.Prev
				}
			}
		}
		if recalled < n/4 {
			t.Errorf("%s: %d recalled of %d: no test", name, recalled, 4*n)
		}
	}
}

// TestOnlyWhatIsSmallAndInMemoryIsRecalled: what takes a question to the file, or long, is left to Page.
func TestOnlyWhatIsSmallAndInMemoryIsRecalled(t *testing.T) {
	t.Parallel()
	places, columns := inMemory(t, gpkg.Options{Unchanging: true})
	small := orb.Bound{Min: orb.Point{9, 59.2}, Max: orb.Point{9.1, 59.3}}
	box := func(b orb.Bound) cql2.Expr { return cql2.BBox{Prop: "geom", CRS: crs.CRS84, Box: b} }
	meets := func(op cql2.SpatialOp, g orb.Geometry) cql2.Expr {
		return cql2.Spatial{Op: op, L: cql2.Prop{Name: "geom", Type: cql2.TypeGeometry}, R: cql2.Geom{G: g, CRS: crs.CRS84}}
	}
	for name, x := range map[string]struct {
		s    *gpkg.Store
		q    store.Query
		want bool
	}{
		"a box":                 {places, store.Query{Filter: box(small)}, true},
		"a point":               {places, store.Query{Filter: meets(cql2.SIntersects, orb.Point{9, 59.5})}, true},
		"a box of everything":   {places, store.Query{Filter: box(orb.Bound{Min: orb.Point{8.5, 59}, Max: orb.Point{12, 61}})}, false},
		"many boxes":            {places, store.Query{Filter: cql2.Or(slices.Repeat([]cql2.Expr{box(small)}, 9))}, false},
		"a shape":               {places, store.Query{Filter: meets(cql2.SIntersects, small.ToPolygon())}, false},
		"outside of a box":      {places, store.Query{Filter: cql2.Not{X: box(small)}}, false},
		"a value":               {columns, store.Query{Filter: parsed(t, columns, "navn = 'Oslo'")}, true},
		"a value and another":   {columns, store.Query{Filter: parsed(t, columns, "navn = 'Oslo' AND tall = 1")}, true},
		"most of the rows":      {columns, store.Query{Filter: parsed(t, columns, "tall > -2")}, false},
		"a part of texts":       {columns, store.Query{Filter: parsed(t, columns, "navn LIKE '%s%'")}, false},
		"a value, sorted":       {columns, store.Query{Filter: parsed(t, columns, "navn = 'Oslo'"), SortBy: []store.Sort{{Property: "tall"}}}, false},
		"a page":                {columns, store.Query{}, true},
		"a long page":           {columns, store.Query{Limit: 1000}, false},
		"no such collection":    {columns, store.Query{Collection: "ingen"}, false},
		"a cursor of elsewhere": {columns, store.Query{Cursor: "?"}, false},
	} {
		if x.q.Collection == "" {
			x.q.Collection = "x"
		}
		x.q.Limit = max(x.q.Limit, 10)
		if p, _ := x.s.Recall(x.q); p != nil && x.s.Columns() == 0 {
			t.Errorf("%s: recalled before anything is in memory", name)
		}
		x.s.Page(t.Context(), x.q)
		if p, _ := x.s.Recall(x.q); (p != nil) != x.want {
			t.Errorf("%s: recalled %v, want %v", name, p != nil, x.want)
		}
	}
}

// TestNothingIsRecalledOfAFileThatIsEdited: once somebody has written into the file, it is asked.
func TestNothingIsRecalledOfAFileThatIsEdited(t *testing.T) {
	t.Parallel()
	path := spotFile(t, 300, crs.CRS84)
	s := openStore(t, path, gpkg.Options{})
	s.SettleAfter(0)
	s.ColumnsAtOnce(false)
	q := store.Query{Collection: "x", Limit: 10, Filter: cql2.BBox{Prop: "geom", CRS: crs.CRS84, Box: orb.Bound{Min: orb.Point{9, 59.2}, Max: orb.Point{9.3, 59.4}}}}
	before, err := s.Page(t.Context(), q)
	if err != nil || len(before.Rows) == 0 {
		t.Fatal(before, err)
	}
	if p, _ := s.Recall(q); p == nil {
		t.Error("not recalled of a file that nobody has written into since the page was read")
	}
	time.Sleep(20 * time.Millisecond) // longer than the steps of the file system's time
	run(t, path, "DELETE FROM x WHERE fid = "+before.Rows[0].ID)
	if p, _ := s.Recall(q); p != nil {
		t.Error("recalled of a file that was written into")
	}
}
