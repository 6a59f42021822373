package ingest

import (
	"slices"

	"grense/internal/cql2"
)

// extraColumn is a member of features beside their properties, which becomes a property unless one has the same values.
type extraColumn struct {
	column
	same []string // properties with the same values so far
	only string   // the only value so far; "" if there are several
}

// seeExtra learns from the members beside the properties of a feature, before its properties are seen.
func (s *surveyor) seeExtra(r *record) {
	for _, x := range r.extra {
		if !s.wanted(x.name) || slices.ContainsFunc(s.extras, func(e *extraColumn) bool { return e.name == x.name }) {
			continue
		}
		e := &extraColumn{column: column{name: x.name, extra: true}, only: x.value.text}
		for _, f := range r.fields {
			if c := s.byName[f.name]; c == nil || sum(c.kinds[:]) == c.kinds[null] { // null in all features before
				e.same = append(e.same, f.name)
			}
		}
		s.extras = append(s.extras, e)
	}
	for _, e := range s.extras {
		v := valueOf(r.extra, e.name)
		e.see(v)
		if v.text != e.only {
			e.only = ""
		}
		e.same = slices.DeleteFunc(e.same, func(name string) bool { return !equalValues(v, valueOf(r.fields, name)) })
	}
}

// valueOf returns the value of a field; null if there is none.
func valueOf(fields []field, name string) value {
	for _, f := range fields {
		if f.name == name {
			return f.value
		}
	}
	return value{kind: null}
}

// equalValues compares texts, days and moments.
func equalValues(a, b value) bool {
	if a.kind <= null || b.kind <= null {
		return a.kind <= null && b.kind <= null
	}
	if a.text == b.text {
		return true
	}
	s, ok := moment(a.text)
	t, is := moment(b.text)
	return ok && is && s.Equal(t)
}

// addExtras makes properties of the members beside the properties, but for those that a property has already, or the id of the collection.
func (p *Plan) addExtras() {
	for _, e := range p.extras {
		known := len(e.same) > 0 || e.name == extraFeatureType && e.only == p.target.Collection
		if !known && e.kinds[null] < sum(e.kinds[:]) {
			p.columns = append(p.columns, &e.column)
		}
	}
}

// setTimes gives the members with times their roles, unless the collection has some.
func (p *Plan) setTimes() {
	c := p.Collection
	if c.Instant != "" || c.IntervalStart != "" || c.IntervalEnd != "" {
		return
	}
	name := func(extra string) string {
		for _, e := range p.extras {
			x := &e.column
			if e.name != extra || e.kinds[null] == sum(e.kinds[:]) {
				continue
			}
			if len(e.same) > 0 {
				x = p.byName[e.same[0]]
			}
			if x != nil && (x.typ == cql2.TypeDate || x.typ == cql2.TypeTimestamp) {
				return x.out
			}
		}
		return ""
	}
	start, end := name(extraTimeStart), name(extraTimeEnd)
	if start != "" || end != "" {
		c.IntervalStart, c.IntervalEnd = start, end
		return
	}
	c.Instant = name(extraTime)
}
