package cql2

import (
	"fmt"
	"time"
)

// period is an interval of time with both ends. An open end is infinite.
type period struct {
	from, to         time.Time
	openFrom, openTo bool
}

// spanValue is null if an end that is not open is null.
func spanValue(e Span) value {
	var start, end value
	if e.Start != nil {
		start = operandValue(e.Start)
	}
	if e.End != nil {
		end = operandValue(e.End)
	}
	return func(r Record) (any, error) {
		p := period{openFrom: start == nil, openTo: end == nil}
		for _, side := range []struct {
			x  value
			at *time.Time
		}{{start, &p.from}, {end, &p.to}} {
			if side.x == nil {
				continue
			}
			v, err := side.x(r)
			if err != nil {
				return nil, err
			}
			t, ok := toTime(v)
			if !ok {
				return nil, nil
			}
			*side.at = t
		}
		return p, nil
	}
}

// toPeriod converts an instant to an interval that ends where it starts.
func toPeriod(v any) (period, bool) {
	if p, ok := v.(period); ok {
		return p, true
	}
	t, ok := toTime(v)
	return period{from: t, to: t}, ok
}

// operands evaluates both sides.
func operands(l, r value, rec Record) (x, y any, err error) {
	if x, err = l(rec); err == nil {
		y, err = r(rec)
	}
	return x, y, err
}

// temporal evaluates a temporal predicate: Allen's relations between two intervals (OGC 21-065r2, 7.9).
func temporal(e Temporal) predicate {
	l, r := operandValue(e.L), operandValue(e.R)
	return func(rec Record) (Truth, error) {
		x, y, err := operands(l, r, rec)
		if err != nil {
			return Null, err
		}
		a, ok1 := toPeriod(x)
		b, ok2 := toPeriod(y)
		if !ok1 || !ok2 {
			return Null, nil
		}
		return truth(allen(e.Op, a, b)), nil
	}
}

func allen(op TemporalOp, a, b period) bool {
	ends := compareEnds(a.to, b.to, infinite(a.openTo, 1), infinite(b.openTo, 1))
	starts := compareEnds(a.from, b.from, infinite(a.openFrom, -1), infinite(b.openFrom, -1))
	meets := compareEnds(a.to, b.from, infinite(a.openTo, 1), infinite(b.openFrom, -1))
	met := compareEnds(a.from, b.to, infinite(a.openFrom, -1), infinite(b.openTo, 1))
	switch op {
	case TAfter:
		return met > 0
	case TBefore:
		return meets < 0
	case TContains:
		return starts < 0 && ends > 0
	case TDisjoint:
		return met > 0 || meets < 0
	case TDuring:
		return starts > 0 && ends < 0
	case TEquals:
		return starts == 0 && ends == 0
	case TFinishedBy:
		return starts < 0 && ends == 0
	case TFinishes:
		return starts > 0 && ends == 0
	case TIntersects:
		return met <= 0 && meets >= 0
	case TMeets:
		return meets == 0
	case TMetBy:
		return met == 0
	case TOverlappedBy:
		return starts > 0 && met < 0 && ends > 0
	case TOverlaps:
		return starts < 0 && meets > 0 && ends < 0
	case TStartedBy:
		return starts == 0 && ends > 0
	case TStarts:
		return starts == 0 && ends < 0
	}
	panic(fmt.Sprintf("cql2: temporal predicate %q", op))
}

// infinite returns sign if the end of an interval is open, otherwise 0.
func infinite(open bool, sign int) int {
	if open {
		return sign
	}
	return 0
}

// compareEnds compares moments that may be infinite.
func compareEnds(a, b time.Time, infA, infB int) int {
	if infA != 0 || infB != 0 {
		return infA - infB
	}
	return a.Compare(b)
}

// array evaluates an array predicate. Arrays are sets: order and repetition do not count (OGC 21-065r2, 7.10).
func array(e Array) predicate {
	l, r := operandValue(e.L), operandValue(e.R)
	return func(rec Record) (Truth, error) {
		x, y, err := operands(l, r, rec)
		if err != nil {
			return Null, err
		}
		a, ok1 := x.([]any)
		b, ok2 := y.([]any)
		if !ok1 || !ok2 {
			return Null, nil
		}
		switch e.Op {
		case AContains:
			return truth(covers(a, b)), nil
		case AContainedBy:
			return truth(covers(b, a)), nil
		case AEquals:
			return truth(covers(a, b) && covers(b, a)), nil
		case AOverlaps:
			return truth(overlap(a, b)), nil
		}
		panic(fmt.Sprintf("cql2: array predicate %q", e.Op))
	}
}

// covers reports whether a holds every element of b.
func covers(a, b []any) bool {
	for _, y := range b {
		if !holdsItem(a, y) {
			return false
		}
	}
	return true
}

func overlap(a, b []any) bool {
	for _, y := range b {
		if holdsItem(a, y) {
			return true
		}
	}
	return false
}

func holdsItem(list []any, y any) bool {
	for _, x := range list {
		if sameItem(x, y) {
			return true
		}
	}
	return false
}

// sameItem compares elements: arrays as sets, texts in composed form.
// null equals null, and a boolean equals only a boolean.
func sameItem(x, y any) bool {
	if x == nil || y == nil {
		return x == nil && y == nil
	}
	a, ok1 := x.([]any)
	b, ok2 := y.([]any)
	if ok1 || ok2 {
		return ok1 && ok2 && covers(a, b) && covers(b, a)
	}
	_, ok1 = x.(bool)
	_, ok2 = y.(bool)
	if ok1 != ok2 {
		return false
	}
	s, ok1 := x.(string)
	t, ok2 := y.(string)
	if ok1 && ok2 {
		return sameText(s, t)
	}
	c, ok := order(x, y)
	return ok && c == 0
}
