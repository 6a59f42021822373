package cql2

import (
	"time"

	"github.com/paulmach/orb"

	"grense/internal/geo/relate"
	"grense/internal/problem"
)

// temporal checks a temporal predicate. If one side has timestamps, dates among the literals become whole days.
func (c *checker) temporal(e Temporal) Expr {
	l, lk := c.operand(e.L)
	r, rk := c.operand(e.R)
	l, r = c.instant(e.L, l, &lk), c.instant(e.R, r, &rk)
	if hasTimestamp(l) || hasTimestamp(r) {
		l, r = widen(l), widen(r)
	}
	return Temporal{e.Op, l, r}
}

// instant parses a string as a moment and reports a fault for other strings.
func (c *checker) instant(src, x Expr, k *kind) Expr {
	if *k == kindAny || k.temporal() {
		return x
	}
	if y, ok := c.cast(x, *k, kindDate); ok {
		return y
	}
	c.fault(src, show(src), "%s is %s; expected a date, a timestamp or an interval", clip(show(src)), k.said())
	return x
}

// hasTimestamp reports whether a checked value holds a timestamp.
func hasTimestamp(e Expr) bool {
	switch e := e.(type) {
	case Timestamp:
		return true
	case Prop:
		return e.Type == TypeTimestamp
	case Span:
		return e.Start != nil && hasTimestamp(e.Start) || e.End != nil && hasTimestamp(e.End)
	}
	return false
}

// widen replaces dates among literals by whole days.
func widen(e Expr) Expr {
	switch e := e.(type) {
	case Date:
		return Span{firstMoment(e), lastMoment(e)}
	case Span:
		if d, ok := e.Start.(Date); ok {
			e.Start = firstMoment(d)
		}
		if d, ok := e.End.(Date); ok {
			e.End = lastMoment(d)
		}
		return e
	}
	return e
}

func firstMoment(d Date) Expr { return Timestamp(d) }

func lastMoment(d Date) Expr { return Timestamp{d.T.Add(day - time.Nanosecond)} }

// span checks an interval: both ends are instants, and the first is not after the second.
func (c *checker) span(e Span) Expr {
	out := Span{c.end(e.Start), c.end(e.End)}
	from, ok1 := literalTime(out.Start)
	to, ok2 := literalTime(out.End)
	if d, isDate := out.End.(Date); isDate && ok2 {
		to = d.T.Add(day - time.Nanosecond)
	}
	if ok1 && ok2 && from.After(to) {
		c.fault(e, show(e), "the interval ends before it starts")
	}
	return out
}

// end checks an end of an interval; nil is open.
func (c *checker) end(e Expr) Expr {
	if e == nil {
		return nil
	}
	x, k := c.operand(e)
	x = c.instant(e, x, &k)
	if k == kindSpan {
		c.fault(e, show(e), "an interval has no interval at its end")
	}
	return x
}

func literalTime(e Expr) (time.Time, bool) {
	switch e := e.(type) {
	case Date:
		return e.T, true
	case Timestamp:
		return e.T, true
	}
	return time.Time{}, false
}

// array checks an operand of an array predicate. A quoted name alone stays a property.
func (c *checker) array(e Expr) Expr { return c.want(e, kindArray) }

// element checks an element of an array. The standard's own examples write strings in double quotes there.
func (c *checker) element(e Expr) Expr {
	if p, ok := e.(Prop); ok && p.Quoted && !contains(c.nameList(), p.Name) {
		return Text(p.Name)
	}
	if isCondition(e) {
		return c.condition(e)
	}
	x, _ := c.operand(e)
	return x
}

// vertices reports coordinates outside the CRS, one fault for each geometry.
func (c *checker) vertices(g Geom) {
	var wrong problem.Saying
	relate.EachPoint(g.G, func(p orb.Point) {
		if wrong.Form == "" {
			wrong = outside(p, g.CRS)
		}
	})
	if wrong.Form != "" {
		c.say(g, FormatText(g), wrong)
	}
}
