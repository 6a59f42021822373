package cql2_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/sharedtest"
)

// gridGeometry makes a geometry of any type on a grid of few positions, so that two share vertices and edges,
// and touch in all ways. It need not be valid.
func gridGeometry(r *rand.Rand) orb.Geometry {
	p := func() orb.Point { return orb.Point{float64(r.IntN(6)), float64(r.IntN(6))} }
	line := func() orb.LineString {
		l := orb.LineString{p()}
		for range 1 + r.IntN(4) {
			l = append(l, p())
		}
		if r.IntN(4) == 0 {
			l = append(l, l[0])
		}
		return l
	}
	ring := func() orb.Ring {
		if r.IntN(2) == 0 {
			a, b := p(), p()
			return orb.Bound{Min: orb.Point{min(a[0], b[0]), min(a[1], b[1])},
				Max: orb.Point{max(a[0], b[0]) + 1, max(a[1], b[1]) + 1}}.ToRing()
		}
		l := orb.Ring{p(), p(), p()}
		for range r.IntN(3) {
			l = append(l, p())
		}
		return append(l, l[0])
	}
	polygon := func() orb.Polygon {
		if r.IntN(3) > 0 {
			return orb.Polygon{ring()}
		}
		outer := orb.Bound{Max: orb.Point{5 + float64(r.IntN(2)), 5 + float64(r.IntN(2))}}.ToRing()
		if r.IntN(2) == 0 {
			outer.Reverse()
		}
		if r.IntN(2) == 0 {
			return orb.Polygon{outer, ring(), ring()}
		}
		return orb.Polygon{outer, ring()}
	}
	switch r.IntN(8) {
	case 0:
		return p()
	case 1:
		return orb.MultiPoint{p(), p(), p()}
	case 2:
		return line()
	case 3:
		return orb.MultiLineString{line(), line()}
	case 4, 5:
		return orb.MultiPolygon{polygon(), polygon()}
	}
	return polygon()
}

// crossesItself reports whether a geometry is of lines that cross.
func crossesItself(g geom.Geometry) bool {
	simple, ok := g.IsSimple()
	return g.Dimension() == 1 && ok && !simple
}

// nodedMatrix is the matrix of the unions of each, which have a vertex wherever their polygons touch.
func nodedMatrix(t *testing.T, a, b geom.Geometry) string {
	t.Helper()
	one, err1 := geom.UnaryUnion(a)
	other, err2 := geom.UnaryUnion(b)
	matrix, err3 := geom.Relate(one, other)
	if err := errors.Join(err1, err2, err3); err != nil {
		t.Fatal(err)
	}
	return matrix
}

// TestPredicatesAgreeWhereGeometriesTouch compares predicates with the matrix of simplefeatures, on geometries that
// share vertices and edges.
func TestPredicatesAgreeWhereGeometriesTouch(t *testing.T) {
	t.Parallel()
	ops := []cql2.SpatialOp{cql2.SIntersects, cql2.SDisjoint, cql2.SEquals, cql2.STouches, cql2.SCrosses,
		cql2.SOverlaps, cql2.SWithin, cql2.SContains}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 5))
	hits, pairs, rounded := map[cql2.SpatialOp]int{}, 0, 0
	n := sharedtest.Rounds(t, 3000)
	if testing.Short() {
		n /= 10
	}
	for i := 0; i < n || i < 20*n && seldom(hits, ops, n/200); i++ {
		x, y := gridGeometry(r), gridGeometry(r)
		if r.IntN(10) == 0 {
			y = x
		}
		a, err1 := geom.UnmarshalWKB(wkb.MustMarshal(x))
		b, err2 := geom.UnmarshalWKB(wkb.MustMarshal(y))
		if err1 != nil || err2 != nil {
			continue
		}
		matrix, err := geom.Relate(a, b)
		if err != nil {
			continue // what crosses itself has none
		}
		pairs++
		rec := record{wkb: map[string][]byte{"g": wkb.MustMarshal(x), "h": wkb.MustMarshal(y)}, in: crs.CRS84}
		for _, op := range ops {
			want := matches(t, matrix, patterns(op, a, b))
			if want {
				hits[op]++
			}
			got, err := cql2.Eval(cql2.Spatial{Op: op, L: prop("g"), R: prop("h")}, rec)
			switch {
			case err == nil && (got == cql2.True) == want:
			case err == nil && (crossesItself(a) || crossesItself(b)):
				// the matrix has rounded the crossing, through which other lines run
				rounded++
			case err == nil && (got == cql2.True) == matches(t, nodedMatrix(t, a, b), patterns(op, a, b)):
				// a polygon touches an edge of another of its collection, where the matrix has no vertex
				rounded++
			default:
				t.Fatalf("%s(%s, %s) is %d with matrix %s; %v", op, a.AsText(), b.AsText(), got, matrix, err)
			}
		}
	}
	if rounded > pairs/50 {
		t.Errorf("of %d pairs %d are answered otherwise than by the matrix", pairs, rounded)
	}
	if seldom(hits, ops, n/200) {
		t.Errorf("of %d pairs the predicates held %v times: no test", pairs, hits)
	}
}

// ended is a record whose question has ended.
type ended struct {
	record
	ctx context.Context
}

func (e ended) Context() context.Context { return e.ctx }

// comb is a line that runs across the square n times, to the east and back or to the north and back.
func comb(n int, upright bool) orb.LineString {
	l := make(orb.LineString, 0, 2*n)
	for i := range n {
		at, from, to := (float64(i)+0.5)/float64(n), 0., 1.
		if i%2 == 1 {
			from, to = to, from
		}
		if upright {
			l = append(l, orb.Point{at, from}, orb.Point{at, to})
		} else {
			l = append(l, orb.Point{from, at}, orb.Point{to, at})
		}
	}
	return l
}

// TestComparingGeometriesEndsWithItsContext: the pair has a hundred million crossings, none of which decides.
func TestComparingGeometriesEndsWithItsContext(t *testing.T) {
	t.Parallel()
	rec := record{wkb: map[string][]byte{"g": wkb.MustMarshal(comb(10_000, false)),
		"h": wkb.MustMarshal(comb(10_000, true))}, in: crs.CRS84}
	if got, err := cql2.Eval(cql2.Spatial{Op: cql2.SEquals, L: prop("h"), R: prop("g")}, rec); err != nil ||
		got != cql2.False {
		t.Errorf("%d, %v; the first crossing decides", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := cql2.Eval(cql2.Spatial{Op: cql2.SCrosses, L: prop("g"), R: prop("h")}, ended{rec, ctx})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want the end of the context", err)
	}
}

// TestLargeCollectionsAreRefused: the comparison of a collection cannot be cancelled, so its size is bounded,
// and the error has the cure. Other geometries of that size are compared.
func TestLargeCollectionsAreRefused(t *testing.T) {
	t.Parallel()
	few, many := comb(100, false), comb(15_000, false)
	compare := func(g orb.Geometry) error {
		_, err := cql2.Eval(cql2.Spatial{Op: cql2.STouches, L: prop("g"), R: prop("g")},
			record{wkb: map[string][]byte{"g": wkb.MustMarshal(g)}, in: crs.CRS84})
		return err
	}
	for name, g := range map[string]orb.Geometry{"a small collection": orb.Collection{few, orb.Point{0, 0}},
		"a long line": many} {
		if err := compare(g); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	err := compare(orb.Collection{many, orb.Point{0, 0}})
	if p := problem.Of(err); err == nil || p.Kind != problem.Invalid ||
		!strings.Contains(p.Detail, "20,000 positions") || !strings.Contains(p.Detail, "bbox") {
		t.Errorf("a large collection: %v", err)
	}
}

// TestCollectionsThatMeetOftenAreRefused: what a comparison of collections costs is how often edges meet.
func TestCollectionsThatMeetOftenAreRefused(t *testing.T) {
	t.Parallel()
	comb := func(n int, upright bool) orb.Geometry {
		var l orb.LineString
		for i := range n {
			at, to := float64(i)/float64(n), float64(1-2*(i%2))
			p, q := orb.Point{at, -to}, orb.Point{at, to}
			if !upright {
				p, q = orb.Point{-to, at}, orb.Point{to, at}
			}
			l = append(l, p, q)
		}
		return orb.Collection{l, orb.Point{5, 5}}
	}
	for n, refused := range map[int]bool{50: false, 1000: true} {
		r := record{wkb: map[string][]byte{"g": wkb.MustMarshal(comb(n, true)), "h": wkb.MustMarshal(comb(n, false))},
			in: crs.CRS84}
		_, err := cql2.Eval(cql2.Spatial{Op: cql2.STouches, L: prop("g"), R: prop("h")}, r)
		if p := problem.Of(err); (err != nil) != refused ||
			refused && (p.Kind != problem.Invalid || !strings.Contains(p.Detail, "50,000 times")) {
			t.Errorf("%d lines across %d: %v", n, n, err)
		}
	}
}

// theOcean returns an area of 400,000 edges in degrees.
func theOcean(tb testing.TB) record {
	tb.Helper()
	area := sharedtest.Features(tb, "data", "world", "ne_10m_ocean.geojson.gz")[0].Area
	return record{wkb: map[string][]byte{"g": wkb.MustMarshal(area)}, in: crs.CRS84}
}

func BenchmarkTheOceanWithItself(b *testing.B) {
	rec := theOcean(b)
	for b.Loop() {
		if _, err := cql2.Eval(cql2.Spatial{Op: cql2.STouches, L: prop("g"), R: prop("g")}, rec); err != nil {
			b.Fatal(err)
		}
	}
}

// TestTheOceanIsCompared: 400,000 edges with themselves take seconds, since none is compared with all.
func TestTheOceanIsCompared(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	rec := theOcean(t)
	for op, want := range map[cql2.SpatialOp]cql2.Truth{cql2.SEquals: cql2.True, cql2.STouches: cql2.False} {
		got, err := cql2.Eval(cql2.Spatial{Op: op, L: prop("g"), R: prop("g")}, rec)
		if err != nil || got != want {
			t.Errorf("%s is %d, %v; want %d", op, got, err, want)
		}
	}
}
