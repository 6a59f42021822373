package cql2_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/sharedtest"
)

// patterns are the DE-9IM patterns of the predicates (OGC 06-103r4, 6.1.15.3); some hold for certain dimensions only.
func patterns(op cql2.SpatialOp, a, b geom.Geometry) []string {
	switch op {
	case cql2.SEquals:
		return []string{"T*F**FFF*"}
	case cql2.SDisjoint:
		return []string{"FF*FF****"}
	case cql2.SIntersects:
		return []string{"T********", "*T*******", "***T*****", "****T****"}
	case cql2.STouches:
		return []string{"FT*******", "F**T*****", "F***T****"}
	case cql2.SWithin:
		return []string{"T*F**F***"}
	case cql2.SContains:
		return []string{"T*****FF*"}
	case cql2.SOverlaps:
		if a.Dimension() != b.Dimension() {
			return nil
		}
		if a.Dimension() == 1 {
			return []string{"1*T***T**"}
		}
		return []string{"T*T***T**"}
	case cql2.SCrosses:
		switch {
		case a.Dimension() < b.Dimension():
			return []string{"T*T******"}
		case a.Dimension() > b.Dimension():
			return []string{"T*****T**"}
		case a.Dimension() == 1:
			return []string{"0********"}
		}
	}
	return nil
}

func TestSpatialPredicatesAgreeWithTheIntersectionMatrix(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	ops := []cql2.SpatialOp{cql2.SIntersects, cql2.SDisjoint, cql2.SEquals, cql2.STouches, cql2.SCrosses,
		cql2.SOverlaps, cql2.SWithin, cql2.SContains}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 4))
	hits := map[cql2.SpatialOp]int{}
	n := sharedtest.Rounds(t, 1500)
	for i := 0; i < n || i < 20*n && seldom(hits, ops, 5); i++ {
		x, y := sharedtest.Geometry(r), sharedtest.Geometry(r)
		if r.IntN(4) == 0 {
			y = x
		}
		a, err1 := geom.UnmarshalWKB(wkb.MustMarshal(x))
		b, err2 := geom.UnmarshalWKB(wkb.MustMarshal(y))
		if err1 != nil || err2 != nil {
			continue // an invalid star
		}
		matrix, err := geom.Relate(a, b)
		if err != nil {
			t.Fatalf("%s and %s: %v", a.AsText(), b.AsText(), err)
		}
		rec := record{wkb: map[string][]byte{"g": wkb.MustMarshal(x), "h": wkb.MustMarshal(y)}, in: crs.CRS84}
		for _, op := range ops {
			want := matches(t, matrix, patterns(op, a, b))
			if want {
				hits[op]++
			}
			for _, e := range []cql2.Spatial{
				{Op: op, L: prop("g"), R: cql2.Geom{G: y, CRS: crs.CRS84}},
				{Op: op, L: cql2.Geom{G: x, CRS: crs.CRS84}, R: prop("h")}, {Op: op, L: prop("g"), R: prop("h")},
			} {
				if got, err := cql2.Eval(e, rec); err != nil || (got == cql2.True) != want {
					t.Fatalf("%s(%s, %s) is %d with matrix %s; %v", op, a.AsText(), b.AsText(), got, matrix, err)
				}
			}
		}
	}
	if seldom(hits, ops, 5) {
		t.Errorf("the predicates held %v times: no test", hits)
	}
}

// matches reports whether a matrix of intersections has one of several patterns.
func matches(t *testing.T, matrix string, patterns []string) bool {
	t.Helper()
	return slices.ContainsFunc(patterns, func(p string) bool {
		m, err := geom.RelateMatches(matrix, p)
		if err != nil {
			t.Fatal(err)
		}
		return m
	})
}

// seldom reports whether an operator has held fewer than n times.
func seldom(hits map[cql2.SpatialOp]int, ops []cql2.SpatialOp, n int) bool {
	return slices.ContainsFunc(ops, func(op cql2.SpatialOp) bool { return hits[op] < n })
}

func TestCollectionsHaveSpatialPredicates(t *testing.T) {
	t.Parallel()
	schema := columns{"g": cql2.TypeGeometry}
	r := record{wkb: map[string][]byte{
		"g": wkb.MustMarshal(orb.Collection{orb.Point{5, 5}, orb.LineString{{0, 0}, {1, 1}}})}, in: crs.CRS84}
	for filter, want := range map[string]cql2.Truth{
		"S_INTERSECTS(g, POINT(5 5))": cql2.True, "S_WITHIN(g, BBOX(-1,-1,6,6))": cql2.True,
		"S_WITHIN(g, BBOX(-1,-1,4,4))": cql2.False, "S_CONTAINS(g, POINT(5 5))": cql2.True,
		"S_EQUALS(g, GEOMETRYCOLLECTION(LINESTRING(1 1,0 0),POINT(5 5)))":          cql2.True,
		"S_DISJOINT(g, POINT(3 3))":                                                cql2.True,
		"S_TOUCHES(g, BBOX(1,1,2,2))":                                              cql2.True,
		"S_CROSSES(g, BBOX(0.5,0.5,9,9))":                                          cql2.True,
		"S_WITHIN(POINT(5 5), GEOMETRYCOLLECTION(POINT(5 5),LINESTRING(0 0,1 1)))": cql2.True,
	} {
		if got, err := cql2.Eval(must(t, filter, schema), r); got != want || err != nil {
			t.Errorf("%s is %d, want %d; %v", filter, got, want, err)
		}
	}
}

func TestLikeAgreesWithRegularExpressions(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(rand.Uint64(), 5))
	letters := []string{"a", "b", "æ", "%", "_", "\\%", "\\_", "%"}
	hits := 0
	n := sharedtest.Rounds(t, 5000)
	for range n {
		var pattern, expr, s strings.Builder
		for range r.IntN(6) {
			l := letters[r.IntN(len(letters))]
			pattern.WriteString(l)
			expr.WriteString(map[string]string{"%": ".*", "_": ".", "\\%": "%", "\\_": "_"}[l])
			if len(l) == 1 && l != "%" && l != "_" || l == "æ" {
				expr.WriteString(l)
			}
		}
		for range r.IntN(7) {
			s.WriteString([]string{"a", "b", "æ", "%", "_"}[r.IntN(5)])
		}
		want := regexp.MustCompile("(?s)^" + expr.String() + "$").MatchString(s.String())
		got, err := cql2.Eval(cql2.Like{X: cql2.Text(s.String()), Pattern: cql2.Text(pattern.String())}, record{})
		if err != nil || (got == cql2.True) != want {
			t.Fatalf("%q LIKE %q is %d, want %v; %v", s.String(), pattern.String(), got, want, err)
		}
		if want {
			hits++
		}
	}
	if hits < n/50 {
		t.Errorf("only %d match: no test", hits)
	}
}

// Of Allen's thirteen relations exactly one holds between two proper intervals, and each has its converse.
func TestTemporalPredicatesPartitionTheIntervals(t *testing.T) {
	t.Parallel()
	converse := map[cql2.TemporalOp]cql2.TemporalOp{
		cql2.TAfter: cql2.TBefore, cql2.TContains: cql2.TDuring, cql2.TEquals: cql2.TEquals,
		cql2.TFinishedBy: cql2.TFinishes, cql2.TMeets: cql2.TMetBy,
		cql2.TOverlappedBy: cql2.TOverlaps, cql2.TStartedBy: cql2.TStarts,
	}
	day := func(n int) cql2.Expr { return cql2.Date{T: time.Date(2024, 1, n, 0, 0, 0, 0, time.UTC)} }
	var spans []cql2.Span
	for a := 1; a <= 5; a++ {
		for b := a + 1; b <= 5; b++ {
			spans = append(spans, cql2.Span{Start: day(a), End: day(b)})
		}
		spans = append(spans, cql2.Span{Start: day(a)}, cql2.Span{End: day(a)})
	}
	spans = append(spans, cql2.Span{})
	holds := func(op cql2.TemporalOp, a, b cql2.Expr) bool {
		v, err := cql2.Eval(cql2.Temporal{Op: op, L: a, R: b}, record{})
		if err != nil || v == cql2.Null {
			t.Fatalf("%s: %d, %v", op, v, err)
		}
		return v == cql2.True
	}
	for _, a := range spans {
		for _, b := range spans {
			var held []string
			for op, back := range converse {
				if holds(op, a, b) {
					held = append(held, string(op))
				}
				if op != back && holds(back, a, b) {
					held = append(held, string(back))
				}
				if holds(op, a, b) != holds(back, b, a) {
					t.Errorf("%s and %s differ for %v %v", op, back, a, b)
				}
			}
			if len(held) != 1 {
				t.Errorf("%s and %s: %v hold", cql2.FormatText(a), cql2.FormatText(b), held)
			}
			apart := holds(cql2.TAfter, a, b) || holds(cql2.TBefore, a, b)
			if holds(cql2.TDisjoint, a, b) != apart || holds(cql2.TIntersects, a, b) == apart {
				t.Errorf("%s and %s: disjoint is not before or after", fmt.Sprint(a), fmt.Sprint(b))
			}
		}
	}
}
