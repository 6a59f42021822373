package cql2_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
)

// TestTimestampsAreThoseOfRFC3339: 5.6, with leap seconds and years 0000 to 9999.
func TestTimestampsAreThoseOfRFC3339(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ name, text, want string }{ // "": refused
		{"UTC", "2024-02-29T12:30:45Z", "2024-02-29T12:30:45Z"},
		{"small letters", "2024-02-29t12:30:45z", "2024-02-29T12:30:45Z"},
		{"east of Greenwich", "2024-01-01T00:30:00+01:00", "2023-12-31T23:30:00Z"},
		{"west of Greenwich, over a leap day", "2024-02-29T23:30:00-01:00", "2024-03-01T00:30:00Z"},
		{"an unknown local offset", "2024-01-01T00:00:00-00:00", "2024-01-01T00:00:00Z"},
		{"fractions", "2024-01-01T00:00:00.25Z", "2024-01-01T00:00:00.25Z"},
		{"nanoseconds", "2024-01-01T00:00:00.000000001Z", "2024-01-01T00:00:00.000000001Z"},
		{"a leap second", "2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999999999Z"},
		{"the same one in Norway", "2017-01-01T00:59:60+01:00", "2016-12-31T23:59:59.999999999Z"},
		{"a leap second within a day", "2016-12-31T12:59:60Z", ""},
		{"the first year", "0000-01-01T00:00:00Z", "0000-01-01T00:00:00Z"},
		{"before the first year", "0000-01-01T00:00:00+01:00", ""},
		{"after the last year", "9999-12-31T23:59:59-01:00", ""},
		{"no such day", "2023-02-29T00:00:00Z", ""},
		{"hour 24", "2024-01-01T24:00:00Z", ""},
		{"second 61", "2024-01-01T23:59:61Z", ""},
		{"an hour of one digit", "2024-01-01T1:00:00.0Z", ""},
		{"no zone is UTC", "2024-01-01T00:00:00.000", "2024-01-01T00:00:00Z"},
		{"a zone without a colon", "2024-01-01T00:00:00+0100", ""},
		{"a decimal comma", "2024-01-01T00:00:00,5Z", ""},
		{"a blank for T", "2024-01-01 00:00:00Z", ""},
		{"a week", "2024-W01-1T00:00:00Z", ""},
		{"five digits of a year", "12024-01-01T00:00:00Z", ""},
		{"letters that are shorter in capitals", "ıııııııııııııııııııı", ""},
		{"the same within a date", "2024-01-01ſıſıſıſı", ""},
		{"letters that are longer in capitals", "ɐɐɐɐɐɐɐɐɐɐɐɐɐɐɐɐɐɐɐɐ", ""},
		{"a byte too many", "2024-01-01T00:00:00ZZ", ""},
	} {
		e, err := cql2.ParseText("a = TIMESTAMP('" + x.text + "')")
		if x.want == "" {
			if err == nil {
				t.Errorf("%s: %s is read as %s", x.name, x.text, cql2.FormatText(e))
			}
			if _, _, err := cql2.ParseInterval(x.text, time.UTC); err == nil {
				t.Errorf("%s: the parameter datetime reads %s", x.name, x.text)
			}
			if at, ok := cql2.ParseStored(x.text); ok && x.name != "a blank for T" {
				t.Errorf("%s: a stored %s is %v", x.name, x.text, at)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", x.name, err)
			continue
		}
		want, _ := time.Parse(time.RFC3339Nano, x.want)
		if got := e.(cql2.Compare).R.(cql2.Timestamp).T; !got.Equal(want) {
			t.Errorf("%s: %v, want %s", x.name, got, x.want)
		}
	}
}

// TestStoredMomentsMayHaveABlankAndNoZone: as SQLite and GeoPackages hold them.
func TestStoredMomentsMayHaveABlankAndNoZone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2024-02-29":                "2024-02-29T00:00:00Z",
		"2024-02-29 10:00:00":       "2024-02-29T10:00:00Z",
		"2024-02-29T10:00:00":       "2024-02-29T10:00:00Z",
		"2024-02-29 10:00:00.5":     "2024-02-29T10:00:00.5Z",
		"2024-02-29 10:00:00+02:00": "2024-02-29T08:00:00Z",
		"2024-02-29T10:00:00.000Z":  "2024-02-29T10:00:00Z",
		"":                          "",
		"2024-02":                   "", "20240229": "", "2024-02-30": "", "2024-02-29 10:00": "", "now": "",
		"29.02.2024": "", "2024-02-29Z": "", "2024-02-29x10:00:00": "",
	} {
		got, ok := cql2.ParseStored(text)
		if ok != (want != "") || ok && got.Format(time.RFC3339Nano) != want {
			t.Errorf("%q: %v, %t; want %q", text, got, ok, want)
		}
	}
}

// TestTemporalOperatorsAreAllensRelations: of two intervals with a length exactly one of the thirteen basic relations
// holds (OGC 21-065r2, 7.9, table 9).
func TestTemporalOperatorsAreAllensRelations(t *testing.T) {
	t.Parallel()
	basic := []string{"T_BEFORE", "T_MEETS", "T_OVERLAPS", "T_STARTS", "T_DURING", "T_FINISHES", "T_EQUALS",
		"T_FINISHEDBY", "T_CONTAINS", "T_STARTEDBY", "T_OVERLAPPEDBY", "T_METBY", "T_AFTER"}
	first := [][2]int{{1, 5}, {5, 10}, {5, 15}, {10, 15}, {12, 18}, {15, 20}, {10, 20}, {5, 20}, {5, 23}, {10, 23},
		{15, 23}, {20, 23}, {21, 23}} // each beside the hours 10 to 20
	const moment = cql2.TypeTimestamp
	schema := columns{"a": moment, "b": moment, "c": moment, "d": moment}
	hour := func(h int) string { return fmt.Sprintf("2024-01-01T%02d:00:00Z", h) }
	inverse := map[string]string{"T_EQUALS": "T_EQUALS"}
	for i, op := range basic {
		inverse[op] = basic[len(basic)-1-i]
	}
	for i, x := range first {
		r := record{values: map[string]any{"a": hour(x[0]), "b": hour(x[1]), "c": hour(10), "d": hour(20)}}
		apart := i == 0 || i == len(basic)-1
		for k, op := range append(slices.Clone(basic), "T_INTERSECTS", "T_DISJOINT") {
			want := i == k || op == "T_INTERSECTS" && !apart || op == "T_DISJOINT" && apart
			back := op
			if inverse[op] != "" {
				back = inverse[op]
			}
			for _, filter := range []string{op + "(INTERVAL(a,b), INTERVAL(c,d))",
				back + "(INTERVAL(c,d), INTERVAL(a,b))"} {
				if got, err := cql2.Eval(must(t, filter, schema), r); err != nil || (got == cql2.True) != want {
					t.Errorf("%v beside 10 to 20: %s is %d, want %t; %v", x, filter, got, want, err)
				}
			}
		}
	}
}

// TestConnectivesAreThoseOfKleene: of true, false and null, in each order and any number.
func TestConnectivesAreThoseOfKleene(t *testing.T) {
	t.Parallel()
	schema := columns{"t": cql2.TypeBool, "f": cql2.TypeBool, "n": cql2.TypeBool}
	r := record{values: map[string]any{"t": true, "f": false, "n": nil}}
	truth := map[byte]int{'t': 2, 'n': 1, 'f': 0} // AND is the least, OR the greatest
	of := func(v int) cql2.Truth { return []cql2.Truth{cql2.False, cql2.Null, cql2.True}[v] }
	var all []string
	for _, a := range "tfn" {
		for _, b := range "tfn" {
			all = append(all, string([]rune{a, b}))
			for _, c := range "tfn" {
				all = append(all, string([]rune{a, b, c}))
			}
		}
	}
	for _, names := range all {
		least, most := 2, 0
		for i := range len(names) {
			least, most = min(least, truth[names[i]]), max(most, truth[names[i]])
		}
		list := strings.Split(names, "")
		and, or := strings.Join(list, " AND "), strings.Join(list, " OR ")
		for filter, want := range map[string]int{and: least, or: most, "NOT (" + and + ")": 2 - least,
			"NOT (" + or + ")": 2 - most} {
			if got, err := cql2.Eval(must(t, filter, schema), r); got != of(want) || err != nil {
				t.Errorf("%s is %d, want %d; %v", filter, got, of(want), err)
			}
		}
	}
}

// TestIntegersStayExactOrBecomeDoubles: '/' and '^' give doubles; 'div' and '%' go towards zero.
func TestIntegersStayExactOrBecomeDoubles(t *testing.T) {
	t.Parallel()
	schema := columns{"i": cql2.TypeInteger, "big": cql2.TypeInteger, "low": cql2.TypeInteger}
	r := record{values: map[string]any{"i": int64(7), "big": int64(math.MaxInt64), "low": int64(math.MinInt64)}}
	for filter, want := range map[string]cql2.Truth{
		"big + 0 = 9223372036854775807":                 cql2.True,
		"big - 1 = 9223372036854775806":                 cql2.True,
		"low + 1 = -9223372036854775807":                cql2.True,
		"big + 1 = 9223372036854775808":                 cql2.True,
		"low - 1 < low":                                 cql2.False, // as doubles they are equal
		"low * -1 = 9223372036854775808":                cql2.True,
		"-1 * low = 9223372036854775808":                cql2.True,
		"abs(low) = 9223372036854775808":                cql2.True,
		"low div -1 = 9223372036854775808":              cql2.True,
		"low % -1 = 0":                                  cql2.True,
		"big * 0 = 0":                                   cql2.True,
		"0 * low = 0":                                   cql2.True,
		"i div 2 = 3":                                   cql2.True,
		"-7 div 2 = -3":                                 cql2.True,
		"i % -2 = 1":                                    cql2.True,
		"-7 % 2 = -1":                                   cql2.True,
		"i / 2 = 3.5":                                   cql2.True,
		"i % 0 IS NULL":                                 cql2.True,
		"i div 0 IS NULL":                               cql2.True,
		"i / 0 IS NULL":                                 cql2.True,
		"0 / 0 IS NULL":                                 cql2.True,
		"2 ^ 1024 IS NULL":                              cql2.True,
		"0 ^ 0 = 1":                                     cql2.True,
		"0 ^ -1 IS NULL":                                cql2.True,
		"2 ^ 62 = 4611686018427387904":                  cql2.True,
		"floor(-0.5) = -1":                              cql2.True,
		"ceil(-0.5) = 0":                                cql2.True,
		"0.1 + 0.2 = 0.3":                               cql2.False,
		"i BETWEEN 7 AND 7":                             cql2.True,
		"i BETWEEN 8 AND 6":                             cql2.False,
		"i IN (6, 7.0)":                                 cql2.True,
		"i IN (7.0000000000000000001)":                  cql2.False,
		"i < 7.0000000000000000001":                     cql2.True,
		"big < 9223372036854775807.5":                   cql2.True,
		"9007199254740993 = 9007199254740992.0":         cql2.False,
		"0.1 = 0.1000000000000000055511151231257827021": cql2.False,
	} {
		if got, err := cql2.Eval(must(t, filter, schema), r); got != want || err != nil {
			t.Errorf("%s is %d, want %d; %v", filter, got, want, err)
		}
	}
}

// TestSpatialPredicatesOnSharedBorders: by the definitions of OGC 06-103r4, 6.1.15. The letters are those of the
// predicates that hold: Intersects, Disjoint, Touches, Overlaps, Within, Contains, Equals, Crosses (X). Where the first
// geometry has the higher dimension, Crosses is read as in GEOS and PostGIS.
func TestSpatialPredicatesOnSharedBorders(t *testing.T) {
	t.Parallel()
	ops := map[byte]string{'I': "S_INTERSECTS", 'D': "S_DISJOINT", 'T': "S_TOUCHES", 'O': "S_OVERLAPS",
		'W': "S_WITHIN", 'C': "S_CONTAINS", 'E': "S_EQUALS", 'X': "S_CROSSES"}
	square := func(west, south, east, north float64) string {
		const ring = "POLYGON((%[1]g %[2]g,%[3]g %[2]g,%[3]g %[4]g,%[1]g %[4]g,%[1]g %[2]g))"
		return fmt.Sprintf(ring, west, south, east, north)
	}
	const ring = "POLYGON((0 0,9 0,9 9,0 9,0 0),(3 3,3 6,6 6,6 3,3 3))"
	for _, x := range []struct{ name, a, b, want, back string }{
		{"areas with a common edge", square(0, 0, 2, 2), square(2, 0, 4, 2), "IT", "IT"},
		{"areas with a part of an edge in common", square(0, 0, 2, 2), square(2, 1, 4, 5), "IT", "IT"},
		{"areas with a corner in common", square(0, 0, 2, 2), square(2, 2, 4, 4), "IT", "IT"},
		{"a corner on an edge", square(0, 0, 2, 2), "POLYGON((2 1,3 0,3 2,2 1))", "IT", "IT"},
		{"areas a little apart", square(0, 0, 2, 2), square(2.0000001, 0, 4, 2), "D", "D"},
		{"areas that overlap", square(0, 0, 2, 2), square(1, 1, 3, 3), "IO", "IO"},
		{"a cross of areas", square(0, 1, 3, 2), square(1, 0, 2, 3), "IO", "IO"},
		{"an area within, on the border", square(0, 0, 2, 2), square(0, 0, 1, 1), "IC", "IW"},
		{"an area within", square(0, 0, 4, 4), square(1, 1, 2, 2), "IC", "IW"},
		{"the same area", square(0, 0, 2, 2), square(0, 0, 2, 2), "IWCE", "IWCE"},
		{"the same area, from another corner and with more corners", square(0, 0, 2, 2),
			"POLYGON((2 2,1 2,0 2,0 0,2 0,2 2))", "IWCE", "IWCE"},
		{"areas that touch at the corners of one", square(0, 0, 2, 2),
			"MULTIPOLYGON(((2 2,3 2,3 3,2 2)),((0 0,-1 0,-1 -1,0 0)))", "IT", "IT"},
		{"an area in a hole", ring, square(4, 4, 5, 5), "D", "D"},
		{"an area that fills a hole", ring, square(3, 3, 6, 6), "IT", "IT"},
		{"an area beyond a hole", ring, square(2, 2, 7, 7), "IO", "IO"},
		{"an area around a hole", ring, square(0, 0, 9, 9), "IW", "IC"},
		{"a point on the border", square(0, 0, 2, 2), "POINT(2 1)", "IT", "IT"},
		{"a point on a corner", square(0, 0, 2, 2), "POINT(2 2)", "IT", "IT"},
		{"a point within", square(0, 0, 2, 2), "POINT(1 1)", "IC", "IW"},
		{"a point in a hole", ring, "POINT(5 5)", "D", "D"},
		{"a point on the border of a hole", ring, "POINT(3 4)", "IT", "IT"},
		{"points within and on the border", square(0, 0, 2, 2), "MULTIPOINT(1 1,2 1)", "IC", "IW"},
		{"points within and outside", square(0, 0, 2, 2), "MULTIPOINT(1 1,5 5)", "IX", "IX"},
		{"a line along the border", square(0, 0, 2, 2), "LINESTRING(0 0,2 0)", "IT", "IT"},
		{"a line from the border into the area", square(0, 0, 2, 2), "LINESTRING(0 0,1 1)", "IC", "IW"},
		{"a line through the area", square(0, 0, 2, 2), "LINESTRING(-1 1,3 1)", "IX", "IX"},
		{"a line that ends at the border", square(0, 0, 2, 2), "LINESTRING(3 1,2 1)", "IT", "IT"},
		{"lines that cross", "LINESTRING(0 0,2 2)", "LINESTRING(0 2,2 0)", "IX", "IX"},
		{"lines that share an end", "LINESTRING(0 0,1 1)", "LINESTRING(1 1,2 0)", "IT", "IT"},
		{"a line that ends on another", "LINESTRING(0 0,2 0)", "LINESTRING(1 0,1 1)", "IT", "IT"},
		{"lines with a part in common", "LINESTRING(0 0,2 0)", "LINESTRING(1 0,3 0)", "IO", "IO"},
		{"a part of a line", "LINESTRING(0 0,3 0)", "LINESTRING(1 0,2 0)", "IC", "IW"},
		{"a line and its reverse", "LINESTRING(0 0,1 0,2 0)", "LINESTRING(2 0,0 0)", "IWCE", "IWCE"},
		{"the end of a line", "LINESTRING(0 0,2 0)", "POINT(2 0)", "IT", "IT"},
		{"a point of a line", "LINESTRING(0 0,2 0)", "POINT(1 0)", "IC", "IW"},
		{"the point where a ring closes is within", "LINESTRING(0 0,2 0,1 1,0 0)", "POINT(0 0)", "IC", "IW"},
		{"the same point", "POINT(1 1)", "POINT(1 1)", "IWCE", "IWCE"},
		{"a point of two", "MULTIPOINT(1 1,2 2)", "POINT(1 1)", "IC", "IW"},
		{"two points of three", "MULTIPOINT(1 1,2 2)", "MULTIPOINT(2 2,3 3)", "IO", "IO"},
	} {
		for letter, op := range ops {
			for _, y := range [][3]string{{x.a, x.b, x.want}, {x.b, x.a, x.back}} {
				want := cql2.False
				if strings.ContainsRune(y[2], rune(letter)) {
					want = cql2.True
				}
				filter := op + "(" + y[0] + "," + y[1] + ")"
				got, err := cql2.Eval(must(t, filter, columns{}), record{in: crs.CRS84})
				if got != want || err != nil {
					t.Errorf("%s: %s is %d, want %d; %v", x.name, filter, got, want, err)
				}
			}
		}
	}
}

// TestEmptyGeometriesShareNothing.
func TestEmptyGeometriesShareNothing(t *testing.T) {
	t.Parallel()
	schema := columns{"g": cql2.TypeGeometry}
	for name, g := range map[string]orb.Geometry{"a line": orb.LineString{}, "an area": orb.MultiPolygon{},
		"a collection": orb.Collection{}} {
		r := record{wkb: map[string][]byte{"g": wkb.MustMarshal(g)}, in: crs.CRS84}
		for _, op := range []string{"S_INTERSECTS", "S_TOUCHES", "S_WITHIN", "S_CONTAINS", "S_OVERLAPS", "S_CROSSES"} {
			filter := op + "(g, BBOX(0,0,1,1))"
			if got, err := cql2.Eval(must(t, filter, schema), r); got == cql2.True || err != nil {
				t.Errorf("%s that is empty: %s is %d; %v", name, filter, got, err)
			}
		}
	}
}

// TestPatternsMatchCharacters: OGC 21-065r2, 6.5. A backslash escapes; all else stands for itself.
func TestPatternsMatchCharacters(t *testing.T) {
	t.Parallel()
	schema := columns{"t": cql2.TypeText}
	for _, x := range []struct {
		text, pattern string
		want          bool
	}{
		{"Bø", "B_", true}, {"Bø", "B__", false}, {"Bø", "b_", false}, {"Bø", "%ø", true}, {"Bø", "%", true},
		{"", "%", true}, {"", "_", false}, {"", "", true}, {"a", "", false},
		{"a%b", `a\\%b`, true}, {"axb", `a\\%b`, false}, {"a_b", `a\\_b`, true}, {"axb", `a\\_b`, false},
		{"a.b", "a.b", true}, {"axb", "a.b", false}, {"a*b", "a*b", true}, {"[a]", "[a]", true},
		{"aab", "%ab", true}, {"abab", "ab%ab", true}, {"aba", "ab%ba", false}, {"a\nb", "a_b", true},
		{"a\nb", "a%", true}, {"😀x", "_x", true}, {"abcabc", "%b%b%", true}, {"abc", "%b%b%", false},
	} {
		r := record{values: map[string]any{"t": x.text}}
		e, err := cql2.ParseText("t LIKE '" + x.pattern + "'")
		if err == nil {
			e, err = cql2.Check(e, schema)
		}
		if err != nil {
			t.Errorf("%q: %v", x.pattern, err)
			continue
		}
		if got, err := cql2.Eval(e, r); (got == cql2.True) != x.want || err != nil {
			t.Errorf("%q LIKE %q is %d; %v", x.text, x.pattern, got, err)
		}
	}
}
