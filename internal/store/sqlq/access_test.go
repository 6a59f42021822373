package sqlq_test

import (
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

func indexed() *sqlq.Source {
	s := source()
	s.Leads = map[string]string{"tall": "by_tall", "navn": "by_navn", "id": "by_id"}
	s.Indexed = map[string]bool{"tall": true, "navn": true}
	return s
}

func equal(l, r cql2.Expr) cql2.Expr { return cql2.Compare{Op: cql2.Eq, L: l, R: r} }

// What an index serves is read by it, a relation by its own; what SQL cannot say has no path;
// without an index the database chooses.
func TestAccessPaths(t *testing.T) {
	t.Parallel()
	few := equal(prop("tall"), cql2.Int(3))
	name := related(equal(fn("norm", prop("tekst")), cql2.Text("oslo")))
	for what, x := range map[string]struct {
		e    cql2.Expr
		want []string // the beginning of each Join, after FROM
	}{
		"all":      {nil, []string{`main."t" AS t WHERE (`}},
		"no index": {equal(prop("areal"), cql2.Number(1)), []string{`main."t" AS t WHERE (`}},
		"an equality that few have": {cql2.And{cql2.Compare{Op: cql2.Gt, L: prop("navn"), R: cql2.Text("a")}, few},
			[]string{`main."t" AS t INDEXED BY "by_tall"`}},
		"two ranges": {cql2.And{cql2.Compare{Op: cql2.Gt, L: prop("navn"), R: cql2.Text("a")},
			cql2.Between{X: prop("tall"), Lo: cql2.Int(1), Hi: cql2.Int(2)}},
			[]string{`main."t" AS t INDEXED BY "by_navn"`, `main."t" AS t INDEXED BY "by_tall"`}},
		"both ends of a range": {cql2.And{cql2.Compare{Op: cql2.Gt, L: prop("navn"), R: cql2.Text("a")},
			equal(prop("flagg"), cql2.Bool(true)), cql2.Compare{Op: cql2.Le, L: prop("navn"), R: cql2.Text("b")}},
			[]string{`main."t" AS t INDEXED BY "by_navn" WHERE ((t."navn" > +?) AND (t."navn" <= +?)) AND (`}},
		"a prefix": {cql2.Like{X: prop("navn"), Pattern: cql2.Text("Os%")},
			[]string{`main."t" AS t INDEXED BY "by_navn"`}},
		"unequal": {cql2.Compare{Op: cql2.Ne, L: prop("tall"), R: cql2.Int(1)},
			[]string{`main."t" AS t WHERE (`}},
		"alone in and": {cql2.And{cql2.Or{few}}, []string{`main."t" AS t INDEXED BY "by_tall"`}},
		"a relation": {name,
			[]string{`main."n" AS r1 CROSS JOIN main."t" AS t INDEXED BY "by_id" WHERE (`}},
		"a relation and more": {cql2.And{name, equal(prop("flagg"), cql2.Bool(true))},
			[]string{`main."n" AS r1 CROSS JOIN main."t" AS t WHERE (`}},
		"what SQL cannot say": {cql2.Array{Op: cql2.AEquals, L: prop("liste"), R: cql2.List{}}, nil},
		"an index, and what SQL cannot say": {
			cql2.And{few, cql2.Array{Op: cql2.AEquals, L: prop("liste"), R: cql2.List{}}}, nil},
	} {
		paths := sqlq.AccessPaths(indexed(), "t", x.e)
		if len(paths) != len(x.want) {
			t.Errorf("%s: %d paths, want %d", what, len(paths), len(x.want))
			continue
		}
		for i, p := range paths {
			if sql, args := sqlq.New(sqlq.Steady{}).Add(p.Join).SQL(); !strings.HasPrefix(sql, " FROM "+x.want[i]) ||
				strings.Count(sql, "+?") != len(args) {
				t.Errorf("%s: %s %v, want %s", what, sql, args, x.want[i])
			}
		}
	}
}

// shape is a ring of n positions.
func shape(n int) orb.Polygon {
	r := make(orb.Ring, n)
	for i := range r[:n-1] {
		r[i] = orb.Point{float64(i), float64(i * i)}
	}
	r[n-1] = r[0]
	return orb.Polygon{r}
}

// Costs of conditions over single columns, which the stores' common cases leave out.
func TestCost(t *testing.T) {
	t.Parallel()
	noon := time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC)
	tall := prop("tall")
	for what, x := range map[string]struct {
		q    store.Query
		want store.Cost
	}{
		"a number":            {store.Query{Filter: equal(tall, cql2.Int(1))}, store.CostIndexed},
		"the other way round": {store.Query{Filter: equal(cql2.Int(1), tall)}, store.CostIndexed},
		"two columns":         {store.Query{Filter: equal(tall, prop("areal"))}, store.CostScan},
		"arithmetic": {
			store.Query{Filter: equal(cql2.Arith{Op: cql2.Add, L: tall, R: cql2.Int(1)}, cql2.Int(2))}, store.CostScan},
		"a list": {store.Query{Filter: cql2.In{X: tall, List: []cql2.Expr{cql2.Int(1), cql2.Int(2)}}},
			store.CostIndexed},
		"a list with a column": {store.Query{Filter: cql2.In{X: tall, List: []cql2.Expr{prop("areal")}}},
			store.CostScan},
		"a range": {store.Query{Filter: cql2.Between{X: tall, Lo: cql2.Int(1), Hi: cql2.Int(2)}},
			store.CostIndexed},
		"nothing": {store.Query{Filter: cql2.Bool(false)}, store.CostIndexed},
		"a prefix": {store.Query{Filter: cql2.Like{X: prop("navn"), Pattern: cql2.Text("Os%")}},
			store.CostIndexed},
		"a folded prefix": {store.Query{Filter: cql2.Like{X: fn("casei", prop("navn")), Pattern: cql2.Text("os%")}},
			store.CostScan},
		"a folded equality": {store.Query{Filter: equal(fn("casei", prop("navn")), fn("casei", cql2.Text("Os")))},
			store.CostScan},
		"a moment without an index": {store.Query{Filter: equal(prop("tid"), cql2.Timestamp{T: noon})},
			store.CostScan},
		"the id": {store.Query{Filter: equal(prop("areal"), cql2.Number(1)), Collection: "areal"},
			store.CostIndexed},
		"words without an index": {store.Query{Filter: cql2.Search{Props: []string{"navn"}, Terms: []string{"os"}}},
			store.CostScan},
		"a suffix of a relation": {store.Query{
			Filter: related(cql2.Like{X: fn("norm", prop("tekst")), Pattern: cql2.Text("%vik")})}, store.CostIndexed},
		"a short part of a relation": {store.Query{
			Filter: related(cql2.Like{X: fn("norm", prop("tekst")), Pattern: cql2.Text("%v%")})}, store.CostScan},
		"a far page": {store.Query{Offset: 10_001}, store.CostScan},
		"a point": {store.Query{Filter: cql2.Spatial{Op: cql2.SIntersects, L: prop("geometry"),
			R: cql2.Geom{G: orb.Point{1, 2}, CRS: crs.UTM33}}}, store.CostIndexed},
		"a point within": {store.Query{Filter: cql2.Spatial{Op: cql2.SContains, L: prop("geometry"),
			R: cql2.Geom{G: orb.Point{1, 2}, CRS: crs.UTM33}}}, store.CostIndexed},
		"a small shape": {store.Query{Filter: cql2.Spatial{Op: cql2.SIntersects, L: prop("geometry"),
			R: cql2.Geom{G: shape(16), CRS: crs.UTM33}}}, store.CostIndexed},
		"a larger shape": {store.Query{Filter: cql2.Spatial{Op: cql2.SIntersects, L: prop("geometry"),
			R: cql2.Geom{G: shape(17), CRS: crs.UTM33}}}, store.CostGeometry},
		"a small shape within": {store.Query{Filter: cql2.Spatial{Op: cql2.SWithin, L: prop("geometry"),
			R: cql2.Geom{G: shape(5), CRS: crs.UTM33}}}, store.CostGeometry},
		"a shape under not": {
			store.Query{Filter: cql2.Not{X: cql2.Or{equal(tall, cql2.Int(1)), cql2.Spatial{Op: cql2.STouches,
				L: prop("geometry"), R: cql2.Geom{G: shape(5), CRS: crs.UTM33}}}}}, store.CostGeometry},
		"an order by an index": {store.Query{SortBy: []store.Sort{{Property: "tall"}}}, store.CostIndexed},
		"an order with nulls":  {store.Query{SortBy: []store.Sort{{Property: "navn"}}}, store.CostScan},
		"an order by two": {store.Query{SortBy: []store.Sort{{Property: "tall"}, {Property: "navn"}}},
			store.CostScan},
		"an index and an order": {store.Query{Filter: equal(tall, cql2.Int(1)),
			SortBy: []store.Sort{{Property: "navn"}}}, store.CostIndexed},
		"an order by what is missing": {store.Query{SortBy: []store.Sort{{Property: "ingen"}}}, store.CostScan},
	} {
		if got := sqlq.Cost(sqlq.SQLite{}, indexed(), x.q.Collection, x.q); got != x.want {
			t.Errorf("%s: %v, want %v", what, got, x.want)
		}
	}
}
