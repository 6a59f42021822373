package cql2_test

import (
	"encoding/binary"
	"math"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
)

// row has a value of each type, and nulls beside them.
func row() (columns, record) {
	schema := columns{
		"t": cql2.TypeText, "i": cql2.TypeInteger, "f": cql2.TypeNumber, "b": cql2.TypeBool, "d": cql2.TypeDate,
		"s": cql2.TypeTimestamp,
		"e": cql2.TypeTimestamp, "j": cql2.TypeJSON, "g": cql2.TypeGeometry, "h": cql2.TypeGeometry, "n": cql2.TypeText,
		"m":  cql2.TypeInteger,
		"nb": cql2.TypeBool, "nd": cql2.TypeDate, "nj": cql2.TypeJSON,
	}
	return schema, record{
		values: map[string]any{
			"t": "København", "i": int64(9007199254740993), "f": 2.5, "b": int64(1), "d": "2024-02-29",
			"s": "2024-02-29 10:00:00",
			"e": "2024-03-01T10:00:00.5+01:00", "j": `["a","b",1,2.0,true,["x"]]`, "n": nil, "m": nil, "nb": nil,
			"nd": nil, "nj": nil,
		},
		wkb: map[string][]byte{"g": wkb.MustMarshal(orb.Point{10, 60})},
		in:  crs.CRS84,
	}
}

func TestEvalIsThreeValued(t *testing.T) {
	t.Parallel()
	schema, r := row()
	for filter, want := range map[string]cql2.Truth{
		"t = n": cql2.Null, "NOT t = n": cql2.Null, "n = n": cql2.Null, "n IS NULL": cql2.True,
		"n IS NOT NULL": cql2.False, "nb": cql2.Null,
		"nb AND FALSE": cql2.False, "nb AND TRUE": cql2.Null, "nb OR TRUE": cql2.True, "nb OR FALSE": cql2.Null,
		"(n = n) IS NULL": cql2.True,
		"m IN (1)":        cql2.Null, "1 IN (m, 1)": cql2.True, "1 IN (m, 2)": cql2.Null, "m NOT IN (1)": cql2.Null,
		"2 BETWEEN 3 AND m": cql2.False, "2 BETWEEN 1 AND m": cql2.Null, "2.5 BETWEEN 100.0 AND 1.0": cql2.False,
		"f BETWEEN 2.5 AND 2.5": cql2.True,
		"n LIKE '%'":            cql2.Null, "casei(n) = 'x'": cql2.Null,
		"S_INTERSECTS(h, POINT(1 2))": cql2.Null, "NOT S_INTERSECTS(h, POINT(1 2))": cql2.Null,
		"S_DISJOINT(h, POINT(1 2))": cql2.Null,
		"h IS NULL":                 cql2.True, "g IS NULL": cql2.False, "POINT(1 2) IS NULL": cql2.False,
		"T_AFTER(nd, DATE('2024-01-01'))": cql2.Null, "T_AFTER(d, INTERVAL(nd, '..'))": cql2.Null,
		"INTERVAL(nd,d) IS NULL": cql2.True,
		"A_EQUALS(nj, ())":       cql2.Null, "1 / 0 = 1": cql2.Null, "1 div 0 = 1": cql2.Null, "1 % 0 = 1": cql2.Null,
		"(-8) ^ 0.5 > 0": cql2.Null, "m + 1 = 1": cql2.Null,
	} {
		got, err := cql2.Eval(must(t, filter, schema), r)
		if got != want || err != nil {
			t.Errorf("%s is %d, want %d; %v", filter, got, want, err)
		}
	}
}

func TestEvalComputes(t *testing.T) {
	t.Parallel()
	schema, r := row()
	for _, filter := range []string{
		// numbers
		"i = 9007199254740993", "NOT i = 9007199254740992.0", "i > 9007199254740992.0", "9007199254740992.0 < i",
		"2 < f", "f < 3", "NOT 2 = f", "-2 > f - 5", "-3 < f - 5", "1e300 > i", "-1e300 < i", "5 % 2 = 1",
		"-5 % 2 = -1", "7 div 2 = 3", "-7 div 2 = -3",
		"7 / 2 = 3.5", "4 / 2 = 2", "7.5 div 2 = 3", "7.5 % 2 = 1.5", "2 ^ 3 = 8", "2 ^ -1 = 0.5", "-2 ^ 2 = 4",
		"1 - 2 - 3 = -4", "1 - (2 - 3) = 2", "2 * 3 + 4 = 10", "2 + 3 * 4 = 14",
		"9223372036854775807 + 1 > 9223372036854775807", "9223372036854775807 * 2 = 18446744073709551616",
		"abs(-3) = 3", "ceil(2.1) = 3", "floor(-2.1) = -3", "abs(f - 5) = f",
		// texts
		"t = 'København'", "t <> 'Kobenhavn'", "casei(t) = casei('KØBENHAVN')", "NOT casei(t) = 'kobenhavn'",
		"casei('Straße') = casei('STRASSE')", "accenti('Chișinău') = 'Chisinau'",
		"accenti('Ærø å') = 'Ærø a'", "t LIKE 'K_benhavn'", "t LIKE 'K%v_'", "t LIKE '%'", "NOT t LIKE 'k%'",
		"casei(t) LIKE casei('kØ%')", "'100%' LIKE '100\\%'", "NOT '1000' LIKE '100\\%'",
		"'a_b' LIKE 'a\\_b'", "NOT 'axb' LIKE 'a\\_b'", "'a\\\\b' LIKE 'a\\\\\\\\b'", "'aXbXc' LIKE '%X_'",
		"'' LIKE ''", "NOT '' LIKE '_'", "'Z' < 'a'", "'z' < 'æ'", "'å' > 'ä'",
		"length(t) = 9", "left(t, 2) = 'Kø'", "left(t, 99) = t", "left(t, 0) = ''", "t IN ('x', 'København')",
		// moments
		"d = DATE('2024-02-29')", "d = '2024-02-29'", "s = TIMESTAMP('2024-02-29T10:00:00Z')",
		"e = TIMESTAMP('2024-03-01T09:00:00.5Z')", "s > d", "s < e", "year(s) = 2024", "month(d) = 2", "day(e) = 1",
		"T_EQUALS(d, INTERVAL('2024-02-29','2024-02-29'))", "T_INTERSECTS(s, DATE('2024-02-29'))",
		"NOT T_INTERSECTS(s, DATE('2024-02-28'))", "T_DURING(s, INTERVAL('2024-02-29','..'))",
		"T_MEETS(INTERVAL('..','2024-02-29T10:00:00Z'), INTERVAL(s,e))", "T_BEFORE(INTERVAL('..','0001-01-01'), d)",
		"T_CONTAINS(INTERVAL('..','..'), INTERVAL(s,e))", "T_EQUALS(INTERVAL('..',d),INTERVAL('..',d))",
		"NOT T_AFTER(INTERVAL(s,'..'), INTERVAL(s,e))", "T_FINISHES(INTERVAL(s,'..'), INTERVAL('..','..'))",
		"T_AFTER(d, DATE('0000-01-01'))", "T_BEFORE(d, DATE('9999-12-31'))",
		// booleans
		"b", "b = TRUE", "b <> FALSE", "TRUE",
		// arrays
		"A_CONTAINS(j, ('b','a'))", "NOT A_CONTAINS(j, ('z'))", "A_CONTAINEDBY(('a','a'), j)",
		"A_CONTAINS(j, (2, 1.0, TRUE))", "NOT A_CONTAINS(j, (FALSE))", "A_CONTAINS(j, (('x')))",
		"A_OVERLAPS(j, ('z','a'))",
		"NOT A_OVERLAPS(j, ('z'))", "A_EQUALS(('b','a','a'), ('a','b'))", "NOT A_EQUALS(j, ('a'))", "A_CONTAINS(j, ())",
		"NOT A_CONTAINS(j, (g))", "A_EQUALS((), ())", "A_CONTAINS((d), (DATE('2024-02-29')))",
		// geometries
		"S_INTERSECTS(g, BBOX(9,59,11,61))", "S_WITHIN(g, BBOX(9,59,11,61))", "S_TOUCHES(g, BBOX(10,60,11,61))",
		"NOT S_WITHIN(g, BBOX(10,60,11,61))", "S_EQUALS(g, POINT(10 60))",
		"S_DISJOINT(g, POINT(0 0))", "S_CONTAINS(BBOX(9,59,11,61), g)",
		"S_INTERSECTS(BBOX(170,0,-170,1), POINT(-175 0.5))", "S_CROSSES(LINESTRING(0 0,2 2), LINESTRING(0 2,2 0))",
		"S_OVERLAPS(BBOX(0,0,2,2), BBOX(1,1,3,3))", "S_INTERSECTS(g, GEOMETRYCOLLECTION(POINT(0 0),POINT(10 60)))",
		"NOT S_CONTAINS(BBOX(0,0,1,1), BBOX(0,0,2,2))",
	} {
		got, err := cql2.Eval(must(t, filter, schema), r)
		if got != cql2.True || err != nil {
			t.Errorf("%s is %d; %v", filter, got, err)
		}
	}
}

func TestLiteralsAreTransformedToTheCRSOfTheRecord(t *testing.T) {
	t.Parallel()
	schema := columns{"g": cql2.TypeGeometry}
	to, err := crs.Between(crs.CRS84, crs.UTM33)
	if err != nil {
		t.Fatal(err)
	}
	x, y := to(10.5, 59.9)
	r := record{wkb: map[string][]byte{"g": wkb.MustMarshal(orb.Point{x, y})}, in: crs.UTM33}
	for filter, want := range map[string]cql2.Truth{
		"S_INTERSECTS(g, BBOX(10,59,11,60))": cql2.True, "S_WITHIN(g, BBOX(10,59,11,60))": cql2.True,
		"S_INTERSECTS(BBOX(11,59,12,60), g)": cql2.False,
	} {
		if got, err := cql2.Eval(must(t, filter, schema), r); got != want || err != nil {
			t.Errorf("%s is %d, want %d; %v", filter, got, want, err)
		}
	}
	m := cql2.NewMatcher(must(t, "S_INTERSECTS(g, BBOX(10,59,11,60))", schema))
	for range 2 { // the literal is prepared for each CRS in turn
		for _, rec := range []record{r, {wkb: map[string][]byte{"g": wkb.MustMarshal(orb.Point{10.5, 59.5})},
			in: crs.CRS84}} {
			if got, err := m.Eval(rec); got != cql2.True || err != nil {
				t.Errorf("%d in %v; %v", got, rec.in, err)
			}
		}
	}
}

func TestIntervalMatchesFeaturesWithoutTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		start, end any
		param      string
		want       cql2.Truth
	}{
		{nil, nil, "2024-02-29", cql2.True},
		{"2024-02-29", "2024-02-29", "2024-02-29", cql2.True},
		{"2024-02-29", "2024-02-29", "2024-02-29T23:59:59Z", cql2.True},
		{"2024-02-29", "2024-02-29", "2024-03-01T00:00:00Z", cql2.False},
		{"2024-02-29", "2024-02-29", "../2024-02-28", cql2.False},
		{"2024-02-29 10:00:00", "2024-02-29 11:00:00", "2024-02-29T11:00:00Z/..", cql2.True},
		{"2024-02-29 10:00:00", "2024-02-29 11:00:00", "2024-02-29T11:00:01Z/..", cql2.False},
		{"2024-02-29 10:00:00", "2024-02-29 11:00:00", "../2024-02-29T10:00:00Z", cql2.True},
		{"2024-02-29 10:00:00", "2024-02-29 11:00:00", "../2024-02-29T09:59:59Z", cql2.False},
		{"2024-02-29", nil, "9999-12-31", cql2.True},
		{"2024-02-29", nil, "../2024-02-28", cql2.False},
		{nil, "2024-02-29", "0000-01-01", cql2.True},
		{nil, "2024-02-29", "2024-03-01/..", cql2.False},
	} {
		from, to, err := cql2.ParseInterval(c.param, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		r := record{values: map[string]any{"a": c.start, "b": c.end}}
		if got, err := cql2.Eval(cql2.Interval{Start: "a", End: "b", From: from, To: to}, r); got != c.want ||
			err != nil {
			t.Errorf("%v to %v in %s is %d, want %d; %v", c.start, c.end, c.param, got, c.want, err)
		}
	}
}

func TestRelatedAsksForSomeRow(t *testing.T) {
	t.Parallel()
	names := func(list ...any) record {
		var rows []cql2.Record
		for _, n := range list {
			rows = append(rows, record{values: map[string]any{"text": n}})
		}
		return record{rows: map[string][]cql2.Record{"names": rows}}
	}
	e := cql2.Related{Relation: "names", X: cql2.Compare{Op: cql2.Eq, L: prop("text"), R: cql2.Text("Oslo")}}
	for _, c := range []struct {
		r    record
		want cql2.Truth
	}{{names(), cql2.False}, {names("Bergen", "Oslo"), cql2.True}, {names("Bergen"), cql2.False},
		{names(nil), cql2.False}, {names(nil, "Oslo"), cql2.True}} {
		if got, err := cql2.Eval(e, c.r); got != c.want || err != nil {
			t.Errorf("%v: %d, want %d; %v", c.r.rows, got, c.want, err)
		}
	}
}

func TestEvalReturnsTheErrorOfTheRecord(t *testing.T) {
	t.Parallel()
	r := record{wkb: map[string][]byte{"g": {1, 2, 3}}, in: crs.CRS84}
	broken := cql2.Spatial{Op: cql2.SIntersects, L: prop("g"), R: cql2.Geom{G: orb.Point{1, 2}, CRS: crs.CRS84}}
	for _, e := range []cql2.Expr{
		cql2.IsNull{X: prop("gone")}, cql2.Compare{Op: cql2.Eq, L: prop("gone"), R: cql2.Int(1)},
		cql2.And{cql2.Bool(true), prop("gone")},
		cql2.Interval{Start: "gone", End: "gone"},
	} {
		if _, err := cql2.Eval(e, r); err == nil {
			t.Errorf("%s: no error", cql2.FormatText(e))
		}
	}
	for what, e := range map[cql2.Truth]cql2.Expr{cql2.Null: broken,
		cql2.True: cql2.BBox{Prop: "g", CRS: crs.CRS84, Box: orb.Bound{Max: orb.Point{1, 1}}}} {
		if got, err := cql2.Eval(e, r); got != what || err != nil {
			t.Errorf("%s of what is no geometry: %d, %v", cql2.FormatText(e), got, err)
		}
	}
	nan := record{wkb: map[string][]byte{"g": floats(binary.LittleEndian, []byte{1, 1, 0, 0, 0}, 1, math.NaN())},
		in: crs.CRS84}
	if got, err := cql2.Eval(broken, nan); got != cql2.Null || err != nil {
		t.Errorf("coordinate that is no number: %d, want null; %v", got, err)
	}
}
