package cql2_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/problem"
)

// places is a schema with a property of each type.
var places = columns{
	"kommunenummer": cql2.TypeText, "kommunenavn": cql2.TypeText, "folketall": cql2.TypeInteger,
	"areal": cql2.TypeNumber, "kyst": cql2.TypeBool,
	"dag": cql2.TypeDate, "oppdatert": cql2.TypeTimestamp, "fra": cql2.TypeTimestamp, "geometry": cql2.TypeGeometry,
	"merker": cql2.TypeJSON,
	"_norm":  cql2.TypeText,
}

func typed(name string) cql2.Prop { return cql2.Prop{Name: name, Type: places[name]} }

func TestCheckCastsLiteralsToTheTypeTheyMeet(t *testing.T) {
	t.Parallel()
	cmp := func(name string, r cql2.Expr) cql2.Expr { return cql2.Compare{Op: cql2.Eq, L: typed(name), R: r} }
	for text, want := range map[string]cql2.Expr{
		"dag = '2024-02-29'":           cmp("dag", cql2.Date{T: at("2024-02-29T00:00:00Z")}),
		"dag = '2024-02-29T10:00:00Z'": cmp("dag", cql2.Timestamp{T: at("2024-02-29T10:00:00Z")}),
		"oppdatert = '2024-02-29T10:00:00+02:00'": cmp("oppdatert",
			cql2.Timestamp{T: at("2024-02-29T08:00:00Z")}),
		"oppdatert = DATE('2024-02-29')": cmp("oppdatert",
			cql2.Timestamp{T: at("2024-02-29T00:00:00Z")}),
		"folketall = '500'": cmp("folketall", cql2.Int(500)),
		"folketall = 1.5":   cmp("folketall", cql2.Number(1.5)),
		"areal = '-1e3'":    cmp("areal", cql2.Number(-1000)),
		"kyst = 'TRUE'":     cmp("kyst", cql2.Bool(true)),
		"kyst = 1":          cmp("kyst", cql2.Bool(true)),
		"0 = kyst": cql2.Compare{Op: cql2.Eq, L: cql2.Bool(false),
			R: typed("kyst")},
		"kommunenavn = 'Oslo'": cmp("kommunenavn", cql2.Text("Oslo")),
		"dag = oppdatert":      cmp("dag", typed("oppdatert")),
		"dag IN ('2024-02-29', DATE('2024-03-01'))": cql2.In{X: typed("dag"),
			List: []cql2.Expr{cql2.Date{T: at("2024-02-29T00:00:00Z")}, cql2.Date{T: at("2024-03-01T00:00:00Z")}}},
		"'2024-02-29' BETWEEN dag AND DATE('2025-01-01')": cql2.Between{X: cql2.Date{T: at("2024-02-29T00:00:00Z")},
			Lo: typed("dag"), Hi: cql2.Date{T: at("2025-01-01T00:00:00Z")}},
		"kyst":             typed("kyst"),
		"geometry IS NULL": cql2.IsNull{X: typed("geometry")},
		"T_AFTER(dag, '2024-02-29')": cql2.Temporal{Op: cql2.TAfter, L: typed("dag"),
			R: cql2.Date{T: at("2024-02-29T00:00:00Z")}},
		"T_INTERSECTS(oppdatert, DATE('2024-02-29'))": cql2.Temporal{Op: cql2.TIntersects, L: typed("oppdatert"),
			R: cql2.Span{Start: cql2.Timestamp{T: at("2024-02-29T00:00:00Z")},
				End: cql2.Timestamp{T: at("2024-02-29T23:59:59.999999999Z")}}},
		"T_DURING(INTERVAL(fra, '..'), INTERVAL('2024-01-01','2024-01-02'))": cql2.Temporal{Op: cql2.TDuring,
			L: cql2.Span{Start: typed("fra")},
			R: cql2.Span{Start: cql2.Timestamp{T: at("2024-01-01T00:00:00Z")},
				End: cql2.Timestamp{T: at("2024-01-02T23:59:59.999999999Z")}}},
		`A_CONTAINS(merker, ("foo", 'bar', "kyst"))`: cql2.Array{Op: cql2.AContains, L: typed("merker"),
			R: cql2.List{cql2.Text("foo"), cql2.Text("bar"), typed("kyst")}},
		"year(dag) = 2024": cql2.Compare{Op: cql2.Eq,
			L: cql2.Func{Name: "year", Args: []cql2.Expr{typed("dag")}}, R: cql2.Int(2024)},
	} {
		e, err := cql2.ParseText(text)
		if err == nil {
			e, err = cql2.Check(e, places)
		}
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := bare(e); !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\n got %#v\nwant %#v", text, got, want)
		}
	}
}

func TestCheckRefusesWhatTheSchemaDoesNotKnow(t *testing.T) {
	t.Parallel()
	for text, words := range map[string][]string{
		"kommunenr = '0301'":                     {"no property 'kommunenr'; did you mean 'kommunenummer'?"},
		"Kommunenavn = 'x'":                      {"did you mean 'kommunenavn'?"},
		"folkettal = 1":                          {"did you mean 'folketall'?"},
		"xyz = 1":                                {"no property 'xyz'; properties are areal, dag"},
		"_norm = 'x'":                            {"no property '_norm'"},
		"kommunenummer = 301":                    {"'kommunenummer' is text; write '301' in single quotes"},
		"folketall = 'mange'":                    {"'folketall' is a number", "'mange', which is text"},
		"folketall = '0x10'":                     {"a number"},
		"dag = 'i dag'":                          {"is a date"},
		"kyst = 2":                               {"is a boolean"},
		"kommunenavn":                            {"expected a boolean"},
		"folketall LIKE '1%'":                    {"expected text"},
		"kommunenavn LIKE kommunenummer":         {"the pattern of LIKE"},
		"kommunenavn + 1 = 2":                    {"expected a number"},
		"geometry = geometry":                    {"S_EQUALS"},
		"merker = 'x'":                           {"A_CONTAINS"},
		"S_WITHIN(kommunenavn, POINT(1 2))":      {"expected a geometry"},
		"T_AFTER(folketall, DATE('2024-01-01'))": {"expected a date, a timestamp or an interval"},
		"A_EQUALS(kommunenavn, ('x'))":           {"expected an array"},
		"T_DURING(dag, INTERVAL('2024-01-02','2024-01-01'))": {"ends before it starts"},
		"avg(folketall) = 1":                {"no function 'avg'", "abs"},
		"lenght(kommunenavn) = 1":           {"did you mean 'length'?"},
		"s_intersect(geometry, POINT(1 2))": {"did you mean 's_intersects'?"},
		"length() = 1":                      {"takes 1 arguments, not 0"},
		"abs(kommunenavn) = 1":              {"expected a number"},
		"casei(folketall) = 'x'":            {"expected text"},
		"S_INTERSECTS(geometry,POINT(90 180))": {"coordinate 90 180 is outside OGC:CRS84",
			"latitude -90 to 90", "longitude, latitude"},
		"S_INTERSECTS(geometry,MULTIPOINT(7.02 49.92, 90 180))": {"coordinate 90 180"},
		"S_INTERSECTS(geometry,BBOX(-190,0,0,1))":               {"coordinate -190 0"},
		"S_INTERSECTS(geometry,LINESTRING(0 0, 1e300 0))":       {"outside"},
		"S_INTERSECTS(geometry,BBOX(1700,-17,-170,1))":          {"coordinate 1700 -17 is outside OGC:CRS84"},
		"S_INTERSECTS(geometry,BBOX(170,-17,-1700,1))":          {"outside OGC:CRS84"},
	} {
		e, err := cql2.ParseText(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if _, err = cql2.Check(e, places); err == nil {
			t.Errorf("%s: no error", text)
			continue
		}
		wantFault(t, err, problem.Invalid, words...)
	}
}

func TestCheckReportsAllFaultsWithTheirPlaces(t *testing.T) {
	t.Parallel()
	const src = "kommunenr = '1' AND\n (folketal > 1 OR\n æ IS NULL)"
	e, err := cql2.ParseText(src)
	if err != nil {
		t.Fatal(err)
	}
	_, err = cql2.Check(e, places)
	err = cql2.Locate(err, src)
	p, ok := errors.AsType[*problem.Error](err)
	if !ok || len(p.Faults) != 3 {
		t.Fatalf("%v; want 3 faults", err)
	}
	for i, want := range []string{"line 1, column 1: no property 'kommunenr'",
		"line 2, column 3: no property 'folketal'", "line 3, column 2: no property 'æ'"} {
		if f := p.Faults[i]; !strings.HasPrefix(f.Cure, want) || f.Value != src {
			t.Errorf("fault %d: %+v; want %q", i, f, want)
		}
	}
	e, err = cql2.ParseJSON([]byte("{\"op\":\"isNull\",\n\"args\":[{\"property\":\"nope\"}]}"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = cql2.Check(e, places)
	wantFault(t, cql2.Locate(err, "{\"op\":\"isNull\",\n\"args\":[{\"property\":\"nope\"}]}"), problem.Invalid,
		"line 2, column 21: no property 'nope'")
}

// relations is places with a relation.
type relations struct{ columns }

func (relations) Relation(name string) (cql2.Schema, bool) {
	return columns{"text": cql2.TypeText}, name == "names"
}

func TestCheckTakesTheNodesOfOurOwnCode(t *testing.T) {
	t.Parallel()
	own := cql2.And{
		cql2.BBox{Prop: "geometry", CRS: crs.CRS84, Box: orb.Bound{Max: orb.Point{1, 1}}},
		cql2.Interval{Start: "dag", End: "oppdatert"},
		cql2.Related{Relation: "names", X: cql2.Compare{Op: cql2.Eq, L: prop("text"), R: cql2.Text("x")}},
		cql2.Like{X: cql2.Func{Name: "norm", Args: []cql2.Expr{prop("_norm")}},
			Pattern: cql2.Func{Name: "norm", Args: []cql2.Expr{cql2.Text("x%")}}},
		cql2.Compare{Op: cql2.Eq, L: cql2.Func{Name: "exact", Args: []cql2.Expr{prop("kommunenavn")}},
			R: cql2.Text("x")},
	}
	for _, s := range []cql2.Schema{places, relations{places}} {
		if _, err := cql2.Check(own, s); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []cql2.Expr{
		cql2.BBox{Prop: "dag", CRS: crs.CRS84},
		cql2.Interval{Start: "kyst", End: "kyst"},
		cql2.Related{Relation: "nope", X: cql2.Bool(true)},
		cql2.Related{Relation: "names", X: cql2.IsNull{X: prop("kyst")}},
	} {
		if _, err := cql2.Check(bad, relations{places}); err == nil {
			t.Errorf("%#v is taken", bad)
		}
	}
}

func TestCheckLeavesTheTreeItWasGiven(t *testing.T) {
	t.Parallel()
	const text = "dag IN ('2024-02-29') AND (kyst OR folketall = '1') AND T_AFTER(oppdatert, DATE('2024-01-01'))"
	e, err := cql2.ParseText(text)
	if err != nil {
		t.Fatal(err)
	}
	same, _ := cql2.ParseText(text)
	if _, err := cql2.Check(e, places); err != nil || !reflect.DeepEqual(e, same) {
		t.Errorf("%#v, want %#v; %v", e, same, err)
	}
}

func TestCheckKnowsEveryNodeAndFunction(t *testing.T) {
	t.Parallel()
	schema := columns{"name": cql2.TypeText, "flag": cql2.TypeBool, "count": cql2.TypeInteger, "day": cql2.TypeDate,
		"list": cql2.TypeJSON, "geometry": cql2.TypeGeometry}
	row := record{values: map[string]any{"name": "Oslo", "flag": true, "count": int64(2), "day": "2024-02-29",
		"list": `["a"]`}, in: crs.CRS84}
	for _, e := range cql2.AllExprs {
		x, err := cql2.Check(e, schema)
		if err != nil { // a value: as a predicate it is wrapped
			if x, err = cql2.Check(cql2.IsNull{X: e}, schema); err != nil {
				t.Errorf("%T: %v", e, err)
				continue
			}
		}
		if _, err := cql2.Eval(x, row); err != nil {
			t.Errorf("%T: %v", e, err)
		}
		cql2.Extent(x, "geometry", crs.CRS84)
	}
	for _, f := range cql2.Functions {
		args := make([]cql2.Expr, len(f.Args))
		for i, a := range f.Args {
			args[i] = map[cql2.Type]cql2.Expr{cql2.TypeText: prop("name"), cql2.TypeInteger: cql2.Int(2),
				cql2.TypeNumber: prop("count"), cql2.TypeTimestamp: prop("day")}[a]
		}
		e, err := cql2.Check(cql2.IsNull{X: cql2.Func{Name: f.Name, Args: args}}, schema)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		} else if v, err := cql2.Eval(e, row); v != cql2.False || err != nil {
			t.Errorf("%s gives null: %v", f.Name, err)
		}
	}
}

// TestCureKeepsTheNumberAsTyped: a code with a leading zero, or with more digits than a double,
// is quoted as it was written.
func TestCureKeepsTheNumberAsTyped(t *testing.T) {
	t.Parallel()
	schema := columns{"nr": cql2.TypeText, "n": cql2.TypeInteger}
	for filter, want := range map[string]string{
		"nr=0301": "'0301'", "nr = 03": "'03'", "0301 = nr": "'0301'", "n = 301 AND nr = 0301": "'0301'",
		"nr IN (0301, 1103)":       "'0301'",
		"nr BETWEEN 0301 AND 0399": "'0301'", "nr = 12345678901234567890": "'12345678901234567890'",
		"nr = 1.50": "'1.50'", "nr = 301": "'301'",
	} {
		e, err := cql2.ParseText(filter)
		if err != nil {
			t.Fatal(err)
		}
		_, err = cql2.Check(e, schema)
		wantFault(t, cql2.Locate(err, filter), problem.Invalid, "write "+want+" in single quotes")
	}
	e, err := cql2.ParseJSON([]byte(`{"op":"=","args":[{"property":"nr"},301]}`))
	if err != nil {
		t.Fatal(err)
	}
	_, err = cql2.Check(e, schema)
	wantFault(t, cql2.Locate(err, ""), problem.Invalid, "write '301' in single quotes")
}

func TestADayWithoutQuotesIsToldTheCure(t *testing.T) {
	t.Parallel()
	schema := columns{"day": cql2.TypeDate, "at": cql2.TypeTimestamp, "n": cql2.TypeInteger}
	for _, filter := range []string{"day > 2022-09-17", "at <= 2022-09-17", "2022-09-17 = day",
		"day BETWEEN 2022-09-17 AND DATE('2023-01-01')"} {
		e, err := cql2.ParseText(filter)
		if err != nil {
			t.Fatal(err)
		}
		_, err = cql2.Check(e, schema)
		wantFault(t, err, problem.Invalid, "write DATE('2022-09-17')")
	}
}
