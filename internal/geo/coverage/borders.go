package coverage

import (
	"cmp"
	"math"
	"slices"
)

// Border lists the arcs that two features of a level share, each feature on one side.
type Border struct {
	Feature int     // the other feature
	Arcs    []int32 // ascending
}

// Arc appends the points of an arc, numbered from 0 to Arcs-1. A closed arc ends with its first point.
func (l *Level) Arc(dst []Point, arc int) []Point {
	return append(dst, l.points[l.arcs[arc]:l.arcs[arc+1]]...)
}

// RingArcs returns the arcs of a ring in the order of AppendRing; ^n is arc n in reverse. The caller must not change
// them. It returns false if there is no such ring.
func (l *Level) RingArcs(feature, i, ring int) ([]int32, bool) {
	p := &l.polygons[int(l.first[feature])+i]
	if ring < 0 || ring >= len(p.rings)-1 {
		return nil, false
	}
	return l.refs[p.rings[ring]:p.rings[ring+1]], true
}

// sides lists the features on both sides of each arc.
type sides struct {
	first []int32 // start of each arc in of, and the end
	of    []int32 // feature on the left of the arc, or ^f for one on its right
}

// Borders returns the borders of a feature with others, by their numbers. Features on the same side of an arc overlap,
// like versions of one feature, and share no border there.
func (l *Level) Borders(feature int) []Border {
	l.sidesOnce.Do(l.findSides)
	type common struct{ feature, arc int32 }
	var list []common
	for _, ref := range l.refsOf(feature) {
		n := max(ref, ^ref)
		for _, f := range l.sides.of[l.sides.first[n]:l.sides.first[n+1]] {
			if (f < 0) != (ref < 0) {
				list = append(list, common{max(f, ^f), n})
			}
		}
	}
	slices.SortFunc(list,
		func(a, b common) int { return cmp.Or(cmp.Compare(a.feature, b.feature), cmp.Compare(a.arc, b.arc)) })
	var borders []Border
	for _, c := range slices.Compact(list) {
		if n := len(borders); n == 0 || borders[n-1].Feature != int(c.feature) {
			borders = append(borders, Border{Feature: int(c.feature)})
		}
		b := &borders[len(borders)-1]
		b.Arcs = append(b.Arcs, c.arc)
	}
	return borders
}

// refsOf returns the arcs of all rings of a feature.
func (l *Level) refsOf(feature int) []int32 {
	list := l.polygons[l.first[feature]:l.first[feature+1]]
	if len(list) == 0 {
		return nil
	}
	last := list[len(list)-1].rings
	return l.refs[list[0].rings[0]:last[len(last)-1]]
}

// Union returns a level of one feature, the area that all features cover together. ok is false if features overlap.
func (l *Level) Union() (union *Level, ok bool) {
	l.sidesOnce.Do(l.findSides)
	union = &Level{Unit: l.Unit, arcs: l.arcs, points: l.points, first: []int32{0}}
	var refs []int32
	for n := range int32(l.Arcs()) {
		of := l.sides.of[l.sides.first[n]:l.sides.first[n+1]]
		switch {
		case len(of) > 2 || len(of) == 2 && (of[0] < 0) == (of[1] < 0):
			return nil, false
		case len(of) == 1 && of[0] >= 0:
			refs = append(refs, n)
		case len(of) == 1:
			refs = append(refs, ^n)
		}
	}
	union.addFeature(refs)
	union.first = append(union.first, int32(len(union.polygons)))
	sum := 0.0
	for f := range l.Features() {
		sum += l.Area(f)
	}
	return union, math.Abs(sum-union.Area(0)) < .5
}

func (l *Level) findSides() {
	s := sides{first: make([]int32, l.Arcs()+2), of: make([]int32, len(l.refs))}
	for _, ref := range l.refs {
		s.first[max(ref, ^ref)+2]++
	}
	for i := 1; i < len(s.first); i++ {
		s.first[i] += s.first[i-1]
	}
	for f := range l.Features() {
		for _, ref := range l.refsOf(f) {
			at, side := &s.first[max(ref, ^ref)+1], int32(f)
			if ref < 0 {
				side = ^side
			}
			s.of[*at] = side
			*at++
		}
	}
	s.first = s.first[:l.Arcs()+1]
	l.sides = s
}
