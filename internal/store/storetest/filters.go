package storetest

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/cql2/fold"
	"grense/internal/geo/crs"
	"grense/internal/sharedtest"
	"grense/internal/store"
)

// checked returns e checked against the store's own collection; nil stays nil.
func checked(t *testing.T, c *store.Collection, e cql2.Expr) cql2.Expr {
	t.Helper()
	if e == nil {
		return nil
	}
	x, err := cql2.Check(e, c)
	if err != nil {
		t.Fatalf("%#v: %v", e, err)
	}
	return x
}

// agree compares the store's result with the reference.
func agree(t *testing.T, s store.Store, set *set, e cql2.Expr) {
	t.Helper()
	e = checked(t, find(t, s, set.c.ID), e)
	p := page(t, s, store.Query{Collection: set.c.ID, Filter: e, Limit: 1000})
	want := set.filter(t, e, nil)
	same(t, set.c.ID, idsOf(p), want)
	if p.Matched != len(want) {
		t.Errorf("matched %d, want %d", p.Matched, len(want))
	}
	if t.Failed() {
		t.Fatalf("filter %#v", e)
	}
}

func name(n string) cql2.Prop { return cql2.Prop{Name: n} }

// cases returns filters that failed once, or that random ones rarely cover.
func cases() map[string]cql2.Expr {
	like := func(x cql2.Expr, p string) cql2.Expr { return cql2.Like{X: x, Pattern: cql2.Text(p)} }
	related := func(x cql2.Expr) cql2.Expr { return cql2.Related{Relation: "navn", X: x} }
	norm := func(n string) cql2.Expr { return cql2.Func{Name: "norm", Args: []cql2.Expr{name(n)}} }
	eq := func(l, r cql2.Expr) cql2.Expr { return cql2.Compare{Op: cql2.Eq, L: l, R: r} }
	return map[string]cql2.Expr{
		"empty and":                   cql2.And{},
		"very long or":                veryLong(),
		"empty or":                    cql2.Or{},
		"quote in a value":            eq(name("navn"), cql2.Text(`'; DROP TABLE steder; --`)),
		"quote in a name":             cql2.Not{X: cql2.IsNull{X: name("sær \"navn\".æ")}},
		"like minds case":             like(name("navn"), "o%"),
		"like by character":           like(name("navn"), "B_"),
		"like beyond the basic plane": like(name("navn"), "_ fjell"),
		"like escapes percent":        like(name("navn"), `%\%`),
		"like escapes underscore":     like(name("navn"), `a\_b`),
		"like escapes the escape":     like(name("navn"), `c\\d`),
		"like and glob":               like(name("navn"), "*?[%"),
		"like of nothing":             like(name("navn"), ""),
		"like of anything":            like(name("navn"), "%"),
		"not like and null":           cql2.Not{X: like(name("navn"), "%o")},
		"like folded": cql2.Like{X: cql2.Func{Name: "casei", Args: []cql2.Expr{name("navn")}},
			Pattern: cql2.Func{Name: "casei", Args: []cql2.Expr{cql2.Text("OS%")}}},
		"like without accents": cql2.Like{X: cql2.Func{Name: "accenti", Args: []cql2.Expr{name("navn")}},
			Pattern: cql2.Func{Name: "accenti", Args: []cql2.Expr{cql2.Text("%rich")}}},
		"norm":             eq(norm("navn"), cql2.Func{Name: "norm", Args: []cql2.Expr{cql2.Text("BØ")}}),
		"division by zero": cql2.IsNull{X: cql2.Arith{Op: cql2.Div, L: name("areal"), R: name("antall")}},
		"division is exact": cql2.Compare{Op: cql2.Gt,
			L: cql2.Arith{Op: cql2.Div, L: name("antall"), R: cql2.Int(2)}, R: cql2.Int(0)},
		"overflow": cql2.Compare{Op: cql2.Gt,
			L: cql2.Arith{Op: cql2.Mul, L: name("antall"), R: cql2.Number(1e308)}, R: cql2.Int(0)},
		"integer and double":    eq(name("antall"), cql2.Number(1.5)),
		"null of a condition":   cql2.IsNull{X: like(name("navn"), "O%")},
		"date beside timestamp": cql2.Compare{Op: cql2.Lt, L: name("tid"), R: cql2.Date{T: day(2)}},
		"below a millisecond": cql2.Compare{Op: cql2.Gt, L: name("tid"),
			R: cql2.Timestamp{T: day(2).Add(time.Nanosecond)}},
		"relation":               related(eq(name("tekst"), cql2.Text("Oslo"))),
		"not relation":           cql2.Not{X: related(eq(name("tekst"), cql2.Text("Oslo")))},
		"relation of a relation": related(cql2.Related{Relation: "merke", X: eq(name("merke"), cql2.Text("Oslo"))}),
		"not within a relation": related(
			cql2.Not{X: cql2.Related{Relation: "merke", X: eq(name("merke"), cql2.Text("Oslo"))}}),
		"residue in a relation": related(cql2.Compare{Op: cql2.Gt,
			L: cql2.Func{Name: "length", Args: []cql2.Expr{name("tekst")}}, R: cql2.Int(4)}),
		"not residue in a relation": cql2.Not{X: related(cql2.Compare{Op: cql2.Gt,
			L: cql2.Func{Name: "length", Args: []cql2.Expr{name("tekst")}}, R: cql2.Int(4)})},
		"search column":             related(eq(norm("tekst"), cql2.Text("bo"))),
		"search column, prefix":     related(like(norm("tekst"), "nord%")),
		"search column, suffix":     related(like(norm("tekst"), "%fron")),
		"search column, infix":      related(like(norm("tekst"), "%rd fr%")),
		"search column, infix, not": cql2.Not{X: related(like(norm("tekst"), "%rd fr%"))},
		"search column, not infix":  related(cql2.Not{X: like(norm("tekst"), "%rd fr%")}),
		"search column, quotes":     related(like(norm("tekst"), `%"q"%`)),
		"search column, exact": related(eq(cql2.Func{Name: "exact", Args: []cql2.Expr{name("tekst")}},
			cql2.Text("bø"))),
		"interval": cql2.Interval{Start: "dag", End: "gyldig_til", From: ptr(day(3).Add(time.Hour)),
			To: ptr(day(3).Add(2 * time.Hour))},
		"instant":              cql2.Interval{Start: "tid", End: "tid", From: ptr(day(2)), To: ptr(day(3))},
		"interval, open start": cql2.Interval{Start: "dag", End: "gyldig_til", To: ptr(day(2))},
		"interval, open end":   cql2.Interval{Start: "tid", End: "gyldig_til", From: ptr(day(4))},
		"several times": cql2.Interval{Also: []string{"dag", "tid", "gyldig_til"},
			From: ptr(day(2).Add(time.Hour)), To: ptr(day(3))},
		"several times, until": cql2.Interval{Also: []string{"dag", "tid"}, To: ptr(day(2))},
		"interval and other times": cql2.Interval{Start: "dag", End: "gyldig_til",
			Also: []string{"dag", "tid", "gyldig_til"}, From: ptr(day(4)), To: ptr(day(4))},
		"not several times": cql2.Not{X: cql2.Interval{Also: []string{"dag", "tid", "gyldig_til"}, From: ptr(day(3))}},
		"days of another zone": cql2.Interval{Also: []string{"dag", "tid"},
			From: ptr(day(3).Add(-time.Hour).In(east)), To: ptr(day(3).Add(-time.Hour).In(east))},
		"not interval": cql2.Not{X: cql2.Interval{Start: "dag", End: "dag", From: ptr(day(2))}},
		"temporal": cql2.Temporal{Op: cql2.TDuring, L: name("tid"),
			R: cql2.Span{Start: cql2.Timestamp{T: day(1)}, End: cql2.Timestamp{T: day(3)}}},
		"array": cql2.Array{Op: cql2.AContains, L: name("liste"),
			R: cql2.List{cql2.Text("a"), cql2.Int(1)}},
		"boolean order":         cql2.Compare{Op: cql2.Lt, L: name("aktiv"), R: cql2.Bool(true)},
		"hidden":                eq(name("skjult"), cql2.Int(2)),
		"between the wrong way": cql2.Between{X: name("antall"), Lo: cql2.Int(3), Hi: cql2.Int(-3)},
		"not in with null": cql2.Not{X: cql2.In{X: name("navn"),
			List: []cql2.Expr{cql2.Text("Oslo"), cql2.Text("Bø")}}},
		"greater by code point": cql2.Compare{Op: cql2.Gt, L: name("navn"), R: cql2.Text("z")},
		"search":                cql2.Search{Props: []string{"navn", "sær \"navn\".æ"}, Terms: []string{"bo"}},
		"not search": cql2.Not{X: cql2.Search{Props: []string{"navn", "sær \"navn\".æ"},
			Terms: []string{"bo", "nord fr"}}},
		"search by words in order": cql2.Search{Props: []string{"navn", "sær \"navn\".æ"},
			Terms: []string{"no fr"}},
		"search, the wrong order": cql2.Search{Props: []string{"navn", "sær \"navn\".æ"},
			Terms: []string{"fron nord"}},
		"search of nothing": cql2.Search{Props: []string{"navn"},
			Terms: []string{"finnes ikke", "or", "near"}},
		"search in one text":           cql2.Search{Props: []string{"sær \"navn\".æ"}, Terms: []string{"a"}},
		"null of a search":             cql2.IsNull{X: cql2.Search{Props: []string{"navn"}, Terms: []string{"bo"}}},
		"properties of different type": cql2.Compare{Op: cql2.Eq, L: name("antall"), R: name("areal")},
	}
}

// east is a zone whose days begin before those of UTC.
var east = time.FixedZone("", 2*3600)

// veryLong has more parts than a database accepts in a chain.
func veryLong() cql2.Or {
	var or cql2.Or
	for i := range 3000 {
		or = append(or, cql2.Compare{Op: cql2.Eq, L: name("antall"), R: cql2.Int(i + 3)})
	}
	return or
}

// spatialCases returns filters that need a geometry.
func spatialCases() map[string]cql2.Expr {
	box := func(id crs.ID, x0, y0, x1, y1 float64) cql2.Expr {
		return cql2.BBox{Prop: "geometry", CRS: id, Box: orb.Bound{Min: orb.Point{x0, y0}, Max: orb.Point{x1, y1}}}
	}
	far := cql2.Geom{G: orb.Point{-120, -40}, CRS: crs.CRS84}
	wedge := cql2.Geom{G: orb.Polygon{{{10, 59}, {11.9, 59.1}, {10.2, 60.8}, {10, 59}}}, CRS: crs.CRS84}
	spatial := func(op cql2.SpatialOp, g cql2.Geom) cql2.Expr { return cql2.Spatial{Op: op, L: name("geometry"), R: g} }
	m := map[string]cql2.Expr{
		"bbox":                 box(crs.CRS84, 10.3, 59.2, 11.1, 60.1),
		"bbox that is a point": box(crs.CRS84, 10.25, 59.5, 10.25, 59.5),
		"bbox of nowhere":      box(crs.CRS84, -50, -50, -49, -49),
		"bbox of the world":    box(crs.CRS84, -180, -90, 180, 90),
		"bbox, antimeridian":   box(crs.CRS84, 170, -90, -170, 90),
		"bbox in metres":       box(crs.UTM33, 205000, 6605000, 245000, 6645000),
		"bbox in other metres": box(crs.UTM32, 560000, 6600000, 640000, 6690000),
		"bbox, mercator":       box(crs.WebMercator, 1120000, 8200000, 1220000, 8390000),
		"not bbox":             cql2.Not{X: box(crs.CRS84, 10.3, 59.2, 11.1, 60.1)},
		"bbox or text": cql2.Or{box(crs.CRS84, -50, -50, -49, -49),
			cql2.Like{X: name("navn"), Pattern: cql2.Text("O%")}},
		"two boxes":                 cql2.And{box(crs.CRS84, 10, 59, 10.6, 59.6), box(crs.CRS84, 10.5, 59.5, 11, 60)},
		"null geometry":             cql2.IsNull{X: name("geometry")},
		"not null geometry":         cql2.Not{X: cql2.IsNull{X: name("geometry")}},
		"disjoint from far is all":  spatial(cql2.SDisjoint, far),
		"not intersects far is all": cql2.Not{X: spatial(cql2.SIntersects, far)},
		"intersects or text": cql2.Or{spatial(cql2.SIntersects, far),
			cql2.Compare{Op: cql2.Gt, L: name("antall"), R: cql2.Int(1)}},
	}
	for _, op := range []cql2.SpatialOp{cql2.SIntersects, cql2.SDisjoint, cql2.SEquals, cql2.STouches, cql2.SCrosses,
		cql2.SOverlaps, cql2.SWithin, cql2.SContains} {
		m[string(op)] = spatial(op, wedge)
		m["not "+string(op)] = cql2.Not{X: spatial(op, wedge)}
	}
	return m
}

func day(n int) time.Time                   { return time.Date(2024, 1, n, 0, 0, 0, 0, time.UTC) }
func ptr[T any](v T) *T                     { return &v }
func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func exerciseFilters(t *testing.T, s store.Store, d *dataset) {
	for _, set := range d.sets {
		run := func(m map[string]cql2.Expr) {
			for n, e := range m {
				if usesRelation(e) && len(set.c.Relations) == 0 {
					continue
				}
				t.Run(set.c.ID+"/"+n, func(t *testing.T) { agree(t, s, set, e) })
			}
		}
		run(cases())
		if set.c.Geometry != nil {
			run(spatialCases())
		}
	}
}

func usesRelation(e cql2.Expr) (found bool) {
	cql2.Walk(e, func(x cql2.Expr) bool {
		_, is := x.(cql2.Related)
		found = found || is
		return !found
	})
	return found
}

// exerciseRandom runs random queries with every kind of node. make soak runs more, with a new seed each time.
func exerciseRandom(t *testing.T, s store.Store, d *dataset) {
	n, seed := 2100, uint64(7)
	if sharedtest.Soak(t) > 0 {
		n, seed = sharedtest.Rounds(t, n), rand.Uint64()
	}
	t.Logf("seed %d", seed)
	kinds := map[reflect.Type]bool{}
	for i, set := range d.sets {
		g := &generator{r: rand.New(rand.NewPCG(seed, uint64(i))), set: set}
		for range n / len(d.sets) {
			e := g.predicate(4)
			noteKinds(e, kinds)
			agree(t, s, set, e)
		}
	}
	for _, e := range cql2.AllExprs {
		if !kinds[reflect.TypeOf(e)] {
			t.Errorf("no random filter has a %T", e)
		}
	}
}

func noteKinds(e cql2.Expr, kinds map[reflect.Type]bool) {
	cql2.Walk(e, func(x cql2.Expr) bool {
		kinds[reflect.TypeOf(x)] = true
		return true
	})
}

// generator builds random expressions over the properties of a set.
type generator struct {
	r    *rand.Rand
	set  *set
	rows bool // for rows of the relation
}

func (g *generator) predicate(depth int) cql2.Expr {
	if depth > 0 && g.r.IntN(3) > 0 {
		switch g.r.IntN(3) {
		case 0:
			return cql2.Not{X: g.predicate(depth - 1)}
		case 1:
			return cql2.And(g.several(depth - 1))
		}
		return cql2.Or(g.several(depth - 1))
	}
	if g.rows {
		return g.ofRow()
	}
	switch k := g.r.IntN(12); {
	case k < 3 && g.set.c.Geometry != nil:
		return g.spatial()
	case k == 3 && len(g.set.c.Relations) > 0:
		inner := &generator{r: g.r, set: g.set, rows: true}
		return cql2.Related{Relation: "navn", X: inner.predicate(depth)}
	case k == 4:
		from, to := day(1+g.r.IntN(5)), day(1+g.r.IntN(5)).Add(time.Duration(g.r.IntN(30))*time.Hour)
		e := cql2.Interval{Start: pick(g.r, "dag", "tid"), End: pick(g.r, "gyldig_til", "tid", "dag"),
			From: pick(g.r, nil, &from), To: pick(g.r, nil, &to)}
		if g.r.IntN(2) == 0 {
			e.Also = pick(g.r, []string{"dag", "tid", "gyldig_til"}, []string{"tid", "dag"})
		}
		if g.r.IntN(3) == 0 {
			e.Start, e.End, e.Also = "", "", []string{"dag", "gyldig_til", "tid"}
		}
		return e
	case k == 5:
		return g.temporal()
	case k == 6:
		return pick[cql2.Expr](g.r, name("aktiv"), cql2.Bool(true), cql2.Bool(false), g.array())
	case k == 7:
		return g.search()
	case k == 8:
		return g.ids()
	case k == 9:
		return g.members()
	}
	return g.scalar()
}

func (g *generator) several(depth int) []cql2.Expr {
	list := make([]cql2.Expr, 1+g.r.IntN(3))
	for i := range list {
		list[i] = g.predicate(depth)
	}
	return list
}

func (g *generator) op() cql2.CompareOp {
	return pick(g.r, cql2.Eq, cql2.Ne, cql2.Lt, cql2.Le, cql2.Gt, cql2.Ge)
}

func (g *generator) scalar() cql2.Expr {
	word := func() cql2.Expr { return cql2.Text(pick(g.r, words...)) }
	fold := func(e cql2.Expr) cql2.Expr {
		return cql2.Func{Name: pick(g.r, "casei", "accenti", "norm", "exact"), Args: []cql2.Expr{e}}
	}
	var number func(depth int) cql2.Expr
	number = func(depth int) cql2.Expr {
		if depth > 0 && g.r.IntN(3) == 0 {
			return cql2.Arith{Op: pick(g.r, cql2.Add, cql2.Sub, cql2.Mul, cql2.Div, cql2.IntDiv, cql2.Mod, cql2.Pow),
				L: number(depth - 1), R: number(depth - 1)}
		}
		return pick[cql2.Expr](g.r, name("antall"), name("areal"), name("skjult"), cql2.Int(g.r.IntN(5)-2),
			cql2.Number(float64(g.r.IntN(9)-4)/2),
			cql2.Decimal("1.00000000000000000001"))
	}
	stamp := func() cql2.Expr {
		return cql2.Timestamp{T: day(1 + g.r.IntN(4)).Add(time.Duration(g.r.IntN(48)) * 15 * time.Minute).
			Add(time.Duration(g.r.IntN(3)) * 125 * time.Millisecond)}
	}
	switch g.r.IntN(10) {
	case 0:
		return cql2.Compare{Op: g.op(), L: name("navn"), R: pick[cql2.Expr](g.r, word(), name("sær \"navn\".æ"))}
	case 1:
		f := fold(name("navn")).(cql2.Func)
		return cql2.Compare{Op: g.op(), L: f, R: cql2.Func{Name: f.Name, Args: []cql2.Expr{word()}}}
	case 2:
		return cql2.Like{X: pick[cql2.Expr](g.r, name("navn"), fold(name("navn"))), Pattern: cql2.Text(g.pattern())}
	case 3:
		return cql2.Compare{Op: g.op(), L: number(2), R: number(2)}
	case 4:
		return cql2.Between{X: number(1), Lo: number(0), Hi: number(1)}
	case 5:
		return cql2.In{X: number(0), List: []cql2.Expr{number(1), cql2.Int(1)}}
	case 6:
		return cql2.IsNull{X: pick[cql2.Expr](g.r, name("navn"), name("tid"), number(2), name("liste"))}
	case 7:
		return cql2.Compare{Op: g.op(), L: name("tid"), R: stamp()}
	case 8:
		return cql2.Compare{Op: g.op(), L: name("dag"),
			R: pick[cql2.Expr](g.r, cql2.Date{T: day(1 + g.r.IntN(5))}, name("gyldig_til"))}
	}
	return cql2.In{X: name("navn"), List: []cql2.Expr{word(), word()}}
}

// ids compares the feature id, which no property repeats.
func (g *generator) ids() cql2.Expr {
	of := func() cql2.Expr {
		f := g.set.rows[g.r.IntN(len(g.set.rows))]
		if f.text {
			return cql2.Text(f.id)
		}
		return cql2.Int(f.number + int64(g.r.IntN(2)))
	}
	if g.r.IntN(2) == 0 {
		return cql2.In{X: name(store.IDName), List: []cql2.Expr{of(), of(), of()}}
	}
	return cql2.Compare{Op: g.op(), L: name(store.IDName), R: of()}
}

// members compares values inside objects.
func (g *generator) members() cql2.Expr {
	word, text := cql2.Text(pick(g.r, words...)), name("objekt.dyp.navn")
	number := pick[cql2.Expr](g.r, cql2.Int(1), cql2.Int(9007199254740992), cql2.Int(9007199254740993),
		cql2.Decimal("12345678901234567891"), cql2.Number(0.5), cql2.Number(0.1),
		cql2.Decimal("0.10000000000000000555"), name("antall"))
	switch g.r.IntN(6) {
	case 0:
		return cql2.Compare{Op: g.op(), L: text, R: word}
	case 1:
		return cql2.Like{X: text, Pattern: cql2.Text(g.pattern())}
	case 2:
		return cql2.Compare{Op: g.op(), L: name("objekt.tall"), R: number}
	case 3:
		return cql2.In{X: name("objekt.tall"), List: []cql2.Expr{number, cql2.Int(-2)}}
	case 4:
		return cql2.IsNull{X: pick[cql2.Expr](g.r, text, name("objekt.tall"), name("objekt.dyp.er"))}
	}
	return name("objekt.dyp.er")
}

func (g *generator) pattern() string {
	w := []rune(pick(g.r, words...))
	i := g.r.IntN(len(w) + 1)
	return pick(g.r, string(w[:i])+"%", "%"+string(w[i:]), "%"+string(w)+"%", "_"+string(w[min(1, len(w)):]),
		string(w[:i])+"%_", string(w))
}

func (g *generator) ofRow() cql2.Expr {
	norm := cql2.Func{Name: "norm", Args: []cql2.Expr{name("tekst")}}
	switch g.r.IntN(5) {
	case 0:
		return cql2.Compare{Op: g.op(), L: norm, R: cql2.Text(fold.Norm(pick(g.r, words...)))}
	case 1:
		return cql2.Like{X: pick[cql2.Expr](g.r, norm, name("tekst")),
			Pattern: cql2.Func{Name: "norm", Args: []cql2.Expr{cql2.Text(g.pattern())}}}
	case 2:
		return cql2.Related{Relation: "merke",
			X: cql2.Compare{Op: g.op(), L: name("dag"), R: cql2.Date{T: day(1 + g.r.IntN(5))}}}
	case 3:
		return cql2.Compare{Op: g.op(), L: cql2.Func{Name: "length", Args: []cql2.Expr{name("tekst")}},
			R: cql2.Int(g.r.IntN(6))}
	}
	return cql2.Compare{Op: g.op(), L: name("nummer"), R: cql2.Int(g.r.IntN(3))}
}

func (g *generator) temporal() cql2.Expr {
	op := pick(g.r, cql2.TAfter, cql2.TBefore, cql2.TContains, cql2.TDisjoint, cql2.TDuring, cql2.TEquals,
		cql2.TFinishedBy, cql2.TFinishes, cql2.TIntersects,
		cql2.TMeets, cql2.TMetBy, cql2.TOverlappedBy, cql2.TOverlaps, cql2.TStartedBy, cql2.TStarts)
	end := func(at time.Time) cql2.Expr {
		return pick[cql2.Expr](g.r, cql2.Date{T: at}, cql2.Timestamp{T: at.Add(6 * time.Hour)}, name("tid"), nil)
	}
	span := func() cql2.Expr {
		s := cql2.Span{Start: end(day(1 + g.r.IntN(3))), End: end(day(4 + g.r.IntN(2)))}
		if s.Start == nil && s.End == nil {
			s.End = name("tid")
		}
		return s
	}
	var l, r cql2.Expr = cql2.Span{Start: name("dag"), End: name("gyldig_til")}, span()
	switch op { // the others accept timestamps too
	case cql2.TAfter, cql2.TBefore, cql2.TDisjoint, cql2.TEquals, cql2.TIntersects:
		l = pick[cql2.Expr](g.r, l, name("dag"), name("tid"))
		r = pick[cql2.Expr](g.r, r, cql2.Date{T: day(1 + g.r.IntN(5))},
			cql2.Timestamp{T: day(1 + g.r.IntN(4)).Add(6 * time.Hour)})
	case cql2.TDuring, cql2.TFinishes, cql2.TStarts:
		l = pick[cql2.Expr](g.r, l, name("tid"))
	}
	return cql2.Temporal{Op: op, L: l, R: r}
}

func (g *generator) array() cql2.Expr {
	item := func() cql2.Expr { return pick[cql2.Expr](g.r, cql2.Text("a"), cql2.Int(g.r.IntN(3)), cql2.Text("b")) }
	list := pick[cql2.Expr](g.r, cql2.List{item()}, cql2.List{item(), item()}, cql2.List{}, name("liste"))
	return cql2.Array{Op: pick(g.r, cql2.AContains, cql2.AContainedBy, cql2.AEquals, cql2.AOverlaps),
		L: name("liste"), R: list}
}

// search covers the texts that q searches, or one of them, for which there is no index.
func (g *generator) search() cql2.Expr {
	return cql2.Search{Props: pick(g.r, g.set.c.SearchNames(), []string{"navn"}), Terms: g.terms()}
}

// terms returns beginnings of words in the data.
func (g *generator) terms() []string {
	var terms []string
	for range 1 + g.r.IntN(2) {
		var term []string
		for _, w := range strings.Fields(cql2.Words(pick(g.r, words...))) {
			rs := []rune(w)
			term = append(term, string(rs[:1+g.r.IntN(len(rs))]))
		}
		if term != nil {
			terms = append(terms, strings.Join(term, " "))
		}
	}
	if terms == nil {
		return []string{"o"}
	}
	return terms
}

func (g *generator) spatial() cql2.Expr {
	x, y := 9.5+g.r.Float64()*3, 58.8+g.r.Float64()*2.2
	if g.r.IntN(2) == 0 { // on the grid of the data
		x, y = 10+float64(g.r.IntN(8))/4, 59+float64(g.r.IntN(8))/4
	}
	w, h := g.r.Float64()*1.5, g.r.Float64()*1.5
	switch g.r.IntN(3) {
	case 0:
		b := orb.Bound{Min: orb.Point{x, y}, Max: orb.Point{x + w, y + h}}
		id := pick(g.r, crs.CRS84, crs.ETRS89, crs.UTM33, crs.UTM32, crs.WebMercator, crs.LAEAEurope)
		if !id.Geographic() {
			f, _ := crs.Between(crs.CRS84, id)
			x0, y0 := f(x, y)
			b = orb.Bound{Min: orb.Point{x0, y0}, Max: orb.Point{x0 + w*50000, y0 + h*100000}}
		}
		return cql2.BBox{Prop: "geometry", CRS: id, Box: b}
	case 1:
		return cql2.IsNull{X: name("geometry")}
	}
	op := pick(g.r, cql2.SIntersects, cql2.SDisjoint, cql2.SEquals, cql2.STouches, cql2.SCrosses, cql2.SOverlaps,
		cql2.SWithin, cql2.SContains)
	lit := pick[orb.Geometry](g.r, orb.Point{x, y}, orb.LineString{{x, y}, {x + w, y + h}},
		orb.Polygon{{{x, y}, {x + w + 0.1, y}, {x, y + h + 0.1}, {x, y}}})
	return cql2.Spatial{Op: op, L: name("geometry"), R: cql2.Geom{G: lit, CRS: crs.CRS84}}
}
