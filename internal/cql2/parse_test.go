package cql2_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/cql2/cql2test"
	"grense/internal/geo/crs"
	"grense/internal/problem"
)

func prop(name string) cql2.Prop { return cql2.Prop{Name: name} }

func at(s string) time.Time {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		panic(err)
	}
	return t.UTC()
}

func TestTextIsParsed(t *testing.T) {
	t.Parallel()
	square := orb.Polygon{{{0, 0}, {2, 0}, {2, 1}, {0, 1}, {0, 0}}}
	geom := func(g orb.Geometry) cql2.Expr {
		return cql2.Spatial{Op: cql2.SIntersects, L: prop("g"), R: cql2.Geom{G: g, CRS: crs.CRS84}}
	}
	eq := func(r cql2.Expr) cql2.Expr { return cql2.Compare{Op: cql2.Eq, L: prop("a"), R: r} }
	arith := func(op cql2.ArithOp, l, r cql2.Expr) cql2.Expr { return cql2.Arith{Op: op, L: l, R: r} }
	for text, want := range map[string]cql2.Expr{
		"true":                   cql2.Bool(true),
		"False":                  cql2.Bool(false),
		"flag":                   prop("flag"),
		"nOt flag":               cql2.Not{X: prop("flag")},
		"a = 'it''s'":            eq(cql2.Text("it's")),
		`a = 'it\'s'`:            eq(cql2.Text("it's")),
		`a = 'x\ty\n\\z\%'`:      eq(cql2.Text("x\ty\n\\z\\%")),
		"a = ''":                 eq(cql2.Text("")),
		"a\u00a0=\u3000'æ'":      eq(cql2.Text("æ")),
		"a=-5":                   eq(cql2.Int(-5)),
		"a=+5":                   eq(cql2.Int(5)),
		"a=5.":                   eq(cql2.Number(5)),
		"a=.5e1":                 eq(cql2.Number(5)),
		"a=1E-2":                 eq(cql2.Number(0.01)),
		"a=9223372036854775807":  eq(cql2.Int(9223372036854775807)),
		"a=-9223372036854775808": eq(cql2.Int(-9223372036854775808)),
		"a=9223372036854775808":  eq(cql2.Decimal("9223372036854775808")),
		"a=1-21 div 10":          eq(arith(cql2.Sub, cql2.Int(1), arith(cql2.IntDiv, cql2.Int(21), cql2.Int(10)))),
		"a=1-2-3":                eq(arith(cql2.Sub, arith(cql2.Sub, cql2.Int(1), cql2.Int(2)), cql2.Int(3))),
		"a=1-(2-3)":              eq(arith(cql2.Sub, cql2.Int(1), arith(cql2.Sub, cql2.Int(2), cql2.Int(3)))),
		"a=1- -2":                eq(arith(cql2.Sub, cql2.Int(1), cql2.Int(-2))),
		"a=2*2^0":                eq(arith(cql2.Mul, cql2.Int(2), arith(cql2.Pow, cql2.Int(2), cql2.Int(0)))),
		"a=-2^2":                 eq(arith(cql2.Pow, cql2.Int(-2), cql2.Int(2))),
		"a=-b":                   eq(arith(cql2.Mul, cql2.Int(-1), prop("b"))),
		`"select" = "a""b"`:      cql2.Compare{Op: cql2.Eq, L: prop("select"), R: prop(`a"b`)},
		"start = end":            cql2.Compare{Op: cql2.Eq, L: prop("start"), R: prop("end")},
		"date = boolean":         cql2.Compare{Op: cql2.Eq, L: prop("date"), R: prop("boolean")},
		"eo:a.b = størrelse":     cql2.Compare{Op: cql2.Eq, L: prop("eo:a.b"), R: prop("størrelse")},
		"a NOT IN ('x')":         cql2.Not{X: cql2.In{X: prop("a"), List: []cql2.Expr{cql2.Text("x")}}},
		"a not between 100.0 and 1.0": cql2.Not{X: cql2.Between{X: prop("a"), Lo: cql2.Number(100),
			Hi: cql2.Number(1)}},
		"a is not null":   cql2.Not{X: cql2.IsNull{X: prop("a")}},
		"(a = 1) IS NULL": cql2.IsNull{X: cql2.Compare{Op: cql2.Eq, L: prop("a"), R: cql2.Int(1)}},
		"a AND b OR c AND NOT d": cql2.Or{cql2.And{prop("a"), prop("b")},
			cql2.And{prop("c"), cql2.Not{X: prop("d")}}},
		"a AND (b OR c)":  cql2.And{prop("a"), cql2.Or{prop("b"), prop("c")}},
		"(a AND b) AND c": cql2.And{cql2.And{prop("a"), prop("b")}, prop("c")},
		"CaseI(a) LIKE accenti('%x')": cql2.Like{X: cql2.Func{Name: "casei", Args: []cql2.Expr{prop("a")}},
			Pattern: cql2.Func{Name: "accenti", Args: []cql2.Expr{cql2.Text("%x")}}},
		"a not ilike 'X%'": cql2.Not{X: cql2.Like{X: cql2.Func{Name: "casei", Args: []cql2.Expr{prop("a")}},
			Pattern: cql2.Func{Name: "casei", Args: []cql2.Expr{cql2.Text("X%")}}}},
		"Foo() = bar((1,2), a>1)": cql2.Compare{Op: cql2.Eq, L: cql2.Func{Name: "foo"},
			R: cql2.Func{Name: "bar", Args: []cql2.Expr{
				cql2.List{cql2.Int(1), cql2.Int(2)}, cql2.Compare{Op: cql2.Gt, L: prop("a"), R: cql2.Int(1)}}}},
		"A_EQUALS(a, ('x'))": cql2.Array{Op: cql2.AEquals, L: prop("a"),
			R: cql2.List{cql2.Text("x")}},
		"A_EQUALS(a, (('x')))": cql2.Array{Op: cql2.AEquals, L: prop("a"),
			R: cql2.List{cql2.List{cql2.Text("x")}}},
		"A_EQUALS(a, ((('x'))))": cql2.Array{Op: cql2.AEquals, L: prop("a"),
			R: cql2.List{cql2.List{cql2.List{cql2.Text("x")}}}},
		"A_EQUALS(a, (((1+2))))": cql2.Array{Op: cql2.AEquals, L: prop("a"),
			R: cql2.List{cql2.List{arith(cql2.Add, cql2.Int(1), cql2.Int(2))}}},
		"A_EQUALS(a, (((1,2))))": cql2.Array{Op: cql2.AEquals, L: prop("a"),
			R: cql2.List{cql2.List{cql2.List{cql2.Int(1), cql2.Int(2)}}}},
		"A_EQUALS(a, ((), (())))": cql2.Array{Op: cql2.AEquals, L: prop("a"),
			R: cql2.List{cql2.List{}, cql2.List{cql2.List{}}}},
		"a_overlaps((), (1+2))": cql2.Array{Op: cql2.AOverlaps, L: cql2.List{},
			R: cql2.List{arith(cql2.Add, cql2.Int(1), cql2.Int(2))}},
		"a=DATE('0000-02-29')":                     eq(cql2.Date{T: at("0000-02-29T00:00:00Z")}),
		"a=timestamp('9999-12-31t23:59:60.5z')":    eq(cql2.Timestamp{T: at("9999-12-31T23:59:59.999999999Z")}),
		"a=TIMESTAMP('2024-01-01T00:30:00+01:00')": eq(cql2.Timestamp{T: at("2023-12-31T23:30:00Z")}),
		"T_DURING(a, INTERVAL('..', b))": cql2.Temporal{Op: cql2.TDuring, L: prop("a"),
			R: cql2.Span{End: prop("b")}},
		"S_INTERSECTS(g,POINT(1 -2))":             geom(orb.Point{1, -2}),
		"S_INTERSECTS(g,POINT Z (1 2 3))":         geom(orb.Point{1, 2}),
		"S_INTERSECTS(g,point(1 2 3))":            geom(orb.Point{1, 2}),
		"S_INTERSECTS(g,MULTIPOINT(1 2,3 4))":     geom(orb.MultiPoint{{1, 2}, {3, 4}}),
		"S_INTERSECTS(g,MULTIPOINT((1 2),(3 4)))": geom(orb.MultiPoint{{1, 2}, {3, 4}}),
		"S_INTERSECTS(g,BBOX(0,0,2,1))":           geom(square),
		"S_INTERSECTS(g,BBOX(0,0,-9,2,1,9))":      geom(square),
		"S_INTERSECTS(g,BBOX(1,2,1,2))":           geom(orb.Point{1, 2}),
		"S_INTERSECTS(g,BBOX(1,2,3,2))":           geom(orb.LineString{{1, 2}, {3, 2}}),
		"S_INTERSECTS(g,BBOX(170,0,-170,1))": geom(orb.MultiPolygon{
			{{{170, 0}, {180, 0}, {180, 1}, {170, 1}, {170, 0}}},
			{{{-180, 0}, {-170, 0}, {-170, 1}, {-180, 1}, {-180, 0}}}}),
		"S_INTERSECTS(g,GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(1 2,3 4)))": geom(
			orb.Collection{orb.Point{1, 2}, orb.LineString{{1, 2}, {3, 4}}}),
	} {
		e, err := cql2.ParseText(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if !reflect.DeepEqual(bare(e), want) {
			t.Errorf("%s:\n got %#v\nwant %#v", text, bare(e), want)
		}
		again, err := cql2.ParseText(cql2.FormatText(e))
		if err != nil || !reflect.DeepEqual(bare(again), want) {
			t.Errorf("%s: printed %s: %v", text, cql2.FormatText(e), err)
		}
		again, err = cql2.ParseJSON(cql2test.FormatJSON(e))
		if err != nil || !reflect.DeepEqual(bare(again), want) {
			t.Errorf("%s: printed %s: %v", text, cql2test.FormatJSON(e), err)
		}
	}
}

func TestGeometriesAreInTheAxisOrderOfTheirCRS(t *testing.T) {
	t.Parallel()
	for _, in := range []crs.ID{crs.WGS84, crs.LAEAEurope} {
		want := cql2.Spatial{Op: cql2.SWithin, L: prop("g"),
			R: cql2.Geom{G: orb.LineString{{10, 60}, {11, 61}}, CRS: in}}
		e, err := cql2.ParseTextIn("S_WITHIN(g, LINESTRING(60 10, 61 11))", in)
		if err != nil || !reflect.DeepEqual(bare(e), cql2.Expr(want)) {
			t.Errorf("%v: %#v, %v", in, e, err)
		}
		back, err := cql2.ParseJSONIn(cql2test.FormatJSON(want), in)
		if err != nil || !reflect.DeepEqual(bare(back), cql2.Expr(want)) {
			t.Errorf("%v: %s: %v", in, cql2test.FormatJSON(want), err)
		}
	}
	e, err := cql2.ParseTextIn("S_WITHIN(g, BBOX(59,170,60,-170))", crs.ETRS89)
	if err != nil || e.(cql2.Spatial).R.(cql2.Geom).G.(orb.MultiPolygon)[1].Bound().Max != (orb.Point{-170, 60}) {
		t.Errorf("%#v, %v", e, err)
	}
	_, err = cql2.ParseTextIn("S_WITHIN(g, BBOX(600000,6000000,500000,7000000))", crs.UTM33)
	wantFault(t, err, problem.Invalid, "western edge", "geographic")
}

func TestBrokenTextTellsPlaceAndCure(t *testing.T) {
	t.Parallel()
	for text, words := range map[string][]string{
		"":                               {"line 1, column 1", "end of the filter"},
		"a = ":                           {"column 5", "expected a name"},
		"a = 'x":                         {"column 5", "no closing quote"},
		"\"a = 1":                        {"column 1", "no closing double quote"},
		"a = 1\n AND\n  b ! 2":           {"line 3, column 5", "unexpected character '!'"},
		"æøå != 2":                       {"column 5", "write '<>'"},
		"a == 1":                         {"column 4", "unexpected '='"},
		"a = b = c":                      {"column 7", "unexpected '='"},
		"a = NULL":                       {"IS NULL"},
		"and = 1":                        {"column 1", "double quotes"},
		"a NOT = 1":                      {"LIKE, BETWEEN or IN"},
		"a IS 1":                         {"expected NULL"},
		"a BETWEEN 1":                    {"expected AND"},
		"a IN ()":                        {"column 7"},
		"a IN (1":                        {"expected ')'"},
		"'a'":                            {"condition is expected"},
		"a AND 5":                        {"column 7", "condition is expected"},
		"NOT 'a'":                        {"condition is expected"},
		"(a > 1) = b":                    {"value is expected"},
		"a + (b > 1) = 2":                {"column 5", "value is expected"},
		"(1,2) = a":                      {"column 1", "array functions only"},
		"() IS NULL":                     {"array functions only"},
		"a = 1e999":                      {"range of a double"},
		"a = 2^3^4":                      {"brackets"},
		"a = --1":                        {"expected a number"},
		"a = 1 b":                        {"unexpected 'b'"},
		"norm(a) = 'x'":                  {"no function 'norm'"},
		"EXACT(a) = 'x'":                 {"no function 'exact'"},
		"related('x', a)":                {"no function 'related'"},
		"interval(a,b,'..','..')":        {"expected ')'"},
		"bbox(geom,1,2,3,4)":             {"expected a coordinate"},
		"a = DATE('2023-02-29')":         {"expected a date"},
		"a = DATE(2023)":                 {"expected a date"},
		"a = TIMESTAMP('2023-02-28')":    {"expected a timestamp"},
		"T_AFTER(a, INTERVAL('x','..'))": {"in an interval"},
		"S_WITHIN(g, POINT(1))":          {"expected a coordinate"},
		"S_WITHIN(g, POINT EMPTY)":       {"unexpected 'EMPTY'"},
		"S_WITHIN(g, POINT M (1 2 3))":   {"unexpected 'M'"},
		"S_WITHIN(g, LINESTRING(1 2))":   {"at least 2 points"},
		"S_WITHIN(g, POLYGON((1 2,3 4,5 6,7 8)))":                         {"last equal to the first"},
		"S_WITHIN(g, GEOMETRYCOLLECTION(GEOMETRYCOLLECTION(POINT(1 2))))": {"no collection"},
		"S_WITHIN(g, BBOX(0,5,1,4))":                                      {"southern edge 5"},
		"S_WITHIN(g, BBOX(0,5,1))":                                        {"4 numbers"},
		"S_WITHIN(g, BBOX(0,0,9,1,1,8))":                                  {"lowest height 9"},
		"S_WITHIN(g)":                                                     {"expected ','"},
		"a = \xff":                                                        {"UTF-8"},
	} {
		_, err := cql2.ParseText(text)
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		wantFault(t, err, problem.Invalid, words...)
	}
}

func TestBrokenJSONTellsPlaceAndCure(t *testing.T) {
	t.Parallel()
	for text, words := range map[string][]string{
		"":                                   {"ends too early"},
		"{":                                  {"ends too early"},
		`{"op":"=","args":[1,2]`:             {"ends too early"},
		`true false`:                         {"column 6", "after the end"},
		`{"op":"=",}`:                        {"broken JSON"},
		"{\n \"op\":\"=\",\n \"op\":\"=\"}":  {"line 3, column 2", "written twice"},
		`{"op":"and","args":[true]}`:         {"at least 2"},
		`{"op":"=","args":[1]}`:              {"takes 2 arguments"},
		`{"op":"not","args":[true,true]}`:    {"takes 1 arguments"},
		`{"op":"=","args":{}}`:               {"is an array"},
		`{"op":"="}`:                         {`needs "args"`},
		`{"op":7,"args":[]}`:                 {`"op" is a string`},
		`{"op":"=","args":[null,1]}`:         {"isNull"},
		`{"op":"=","args":[1,2],"x":1}`:      {`no member "x"`},
		`{"foo":1}`:                          {"expected an object with one of"},
		`{"op":"in","args":[1,2]}`:           {"array of at least one"},
		`{"op":"norm","args":["a"]}`:         {`no function "norm"`},
		`{"op":"related","args":["a",true]}`: {`no function "related"`},
		`{"op":"bbox","args":["a",true]}`:    {`no function "bbox"`},
		`{"op":"a b","args":[]}`:             {`no function "a b"`},
		`"text"`:                             {"condition is expected"},
		`{"op":"=","args":[{"op":"not","args":[true]},true]}`: {"value is expected"},
		`{"op":"=","args":[{"date":"2023-02-29"},1]}`:         {"expected a date"},
		`{"op":"=","args":[{"timestamp":"x"},1]}`:             {"expected a timestamp"},
		`{"op":"=","args":[{"property":""},1]}`:               {"not empty"},
		`{"op":"=","args":[{"property":1},1]}`:                {"is a string"},
		`{"op":"=","args":[1e999,1]}`: {
			"range of a double"},
		`{"op":"t_after","args":[{"interval":["x",".."]},1]}`: {"in an interval"},
		`{"op":"s_within","args":[{"type":"Point"},1]}`: {
			`needs "coordinates"`},
		`{"op":"s_within","args":[{"type":"Pt","coordinates":[]},1]}`: {
			"no geometry type"},
		`{"op":"s_within","args":[{"type":"Point","coordinates":[1,"2"]},1]}`: {
			"expected a number"},
		`{"op":"s_within","args":[{"type":"Point","coordinates":[1,2,3,4]},1]}`: {
			"2 numbers, or 3"},
		`{"op":"s_within","args":[{"type":"Polygon","coordinates":[[[1,2],[3,4],[5,6],[7,8]]]},1]}`: {"last equal"},
		`{"op":"s_within","args":[{"type":"GeometryCollection","geometries":[{"type":"GeometryCollection",` +
			`"geometries":[]}]},1]}`: {"coordinates"},
		`{"op":"s_within","args":[{"bbox":[1,2,3]},1]}`: {"4 numbers"},
		`{"op":"isNull","args":[[1]]}`:                  {"array functions only"},
		"\"\xff\"":                                      {"UTF-8"},
	} {
		_, err := cql2.ParseJSON([]byte(text))
		if err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		wantFault(t, err, problem.Invalid, words...)
	}
}

func TestLimitsHoldInTextAndJSON(t *testing.T) {
	t.Parallel()
	repeat := func(s, sep string, n int) string { return strings.TrimSuffix(strings.Repeat(s+sep, n), sep) }
	nested := func(n int) string { return strings.Repeat("NOT (", n) + "a" + strings.Repeat(")", n) }
	nestedJSON := func(n int) string {
		return strings.Repeat(`{"op":"not","args":[`, n) + `{"property":"a"}` + strings.Repeat("]}", n)
	}
	for _, c := range []struct {
		name, text string
		ok         bool
		kind       problem.Kind
		words      string
	}{
		{"64 KB", "a = '" + strings.Repeat("x", cql2.MaxBytes-6) + "'", true, 0, ""},
		{"more than 64 KB", "a = '" + strings.Repeat("x", cql2.MaxBytes-5) + "'", false, problem.TooLarge, "65536"},
		{"many brackets", strings.Repeat("(", 64) + "a" + strings.Repeat(")", 64), true, 0, ""},
		{"too many brackets", strings.Repeat("(", 65) + "a" + strings.Repeat(")", 65), false,
			problem.Invalid, "64 deep"},
		{"deep", nested(32), true, 0, ""},
		{"too deep", nested(64), false, problem.Invalid, "64 deep"},
		{"deep sum", "a = " + repeat("1", "+", 62), true, 0, ""},
		{"too deep sum", "a = " + repeat("1", "+", 66), false, problem.Invalid, "64 deep"},
		{"500 nodes", "a IN (" + repeat("1", ",", 498) + ")", true, 0, ""},
		{"too many nodes", "a IN (" + repeat("1", ",", 499) + ")", false, problem.Invalid, "more than 500"},
		{"10,000 vertices", "S_WITHIN(g, LINESTRING(" + repeat("1 1", ",", 10000) + "))", true, 0, ""},
		{"too many vertices", "S_WITHIN(g, LINESTRING(" + repeat("1 1", ",", 10001) + "))", false, problem.Invalid,
			"10000 vertices"},
		{"JSON 64 KB", `{"op":"=","args":["` + strings.Repeat("x", cql2.MaxBytes-25) + `",1]}`, true, 0, ""},
		{"JSON more than 64 KB", `{"op":"=","args":["` + strings.Repeat("x", cql2.MaxBytes) + `",1]}`, false,
			problem.TooLarge, "65536"},
		{"JSON deep", nestedJSON(63), true, 0, ""},
		{"JSON too deep", nestedJSON(64), false, problem.Invalid, "64 deep"},
		{"JSON far too deep", strings.Repeat("[", 60000), false, problem.Invalid, "64 deep"},
		{"JSON 500 nodes", `{"op":"in","args":[{"property":"a"},[` + repeat("1", ",", 498) + `]]}`, true, 0, ""},
		{"JSON too many nodes", `{"op":"in","args":[{"property":"a"},[` + repeat("1", ",", 499) + `]]}`, false,
			problem.Invalid, "more than 500"},
		{"JSON 10,000 vertices", `{"op":"s_within","args":[{"property":"g"},{"type":"MultiPoint","coordinates":[` +
			repeat("[1,1]", ",", 10000) + `]}]}`, true, 0, ""},
		{"JSON too many vertices", `{"op":"s_within","args":[{"property":"g"},{"type":"MultiPoint","coordinates":[` +
			repeat("[1,1]", ",", 10001) + `]}]}`, false, problem.Invalid, "10000 vertices"},
	} {
		var err error
		if strings.HasPrefix(c.name, "JSON") {
			_, err = cql2.ParseJSON([]byte(c.text))
		} else {
			_, err = cql2.ParseText(c.text)
		}
		switch {
		case c.ok && err != nil:
			t.Errorf("%s: %v", c.name, clipped(err))
		case !c.ok && err == nil:
			t.Errorf("%s: no error", c.name)
		case !c.ok:
			wantFault(t, err, c.kind, c.words)
		}
	}
}

func clipped(err error) string { return fmt.Sprintf("%.300s", err.Error()) }

func TestEveryNodeIsPrintedAndWalked(t *testing.T) {
	t.Parallel()
	seen := map[reflect.Type]bool{}
	for _, e := range cql2.AllExprs {
		seen[reflect.TypeOf(e)] = true
		if cql2.FormatText(e) == "" || len(cql2test.FormatJSON(e)) == 0 {
			t.Errorf("%T prints nothing", e)
		}
		n := 0
		cql2.Walk(e, func(cql2.Expr) bool { n++; return true })
		if n < 1+len(cql2.Children(e)) {
			t.Errorf("%T: %d nodes walked", e, n)
		}
	}
	if len(seen) != 28 || len(seen) != len(cql2.AllExprs) {
		t.Errorf("%d kinds of nodes in %d entries, want 28", len(seen), len(cql2.AllExprs))
	}
	want := []string{"a", "g", "s", "e"}
	e := cql2.And{cql2.IsNull{X: prop("a")}, cql2.BBox{Prop: "g"}, cql2.Interval{Start: "s", End: "e"},
		cql2.Related{Relation: "r", X: prop("inner")}, prop("a")}
	if got := cql2.Props(e); !reflect.DeepEqual(got, want) {
		t.Errorf("properties %v, want %v", got, want)
	}
}

func TestOurOwnNodesCannotBeParsedBack(t *testing.T) {
	t.Parallel()
	day := at("2024-02-29T00:00:00Z")
	for _, e := range []cql2.Expr{
		cql2.BBox{Prop: "g", CRS: crs.CRS84, Z: &[2]float64{0, 1}},
		cql2.Interval{Start: "a", End: "b", To: &day},
		cql2.Related{Relation: "r", X: cql2.Bool(true)},
		cql2.Search{Props: []string{"a"}, Terms: []string{"x"}},
		cql2.Compare{Op: cql2.Eq, L: cql2.Func{Name: "norm", Args: []cql2.Expr{prop("a")}}, R: cql2.Text("x")},
		cql2.Compare{Op: cql2.Eq, L: cql2.Func{Name: "exact", Args: []cql2.Expr{prop("a")}}, R: cql2.Text("x")},
	} {
		if _, err := cql2.ParseText(cql2.FormatText(e)); err == nil {
			t.Errorf("%s is parsed", cql2.FormatText(e))
		}
		if _, err := cql2.ParseJSON(cql2test.FormatJSON(e)); err == nil {
			t.Errorf("%s is parsed", cql2test.FormatJSON(e))
		}
	}
}
