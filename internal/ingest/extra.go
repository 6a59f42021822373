package ingest

import (
	"slices"

	"grense/internal/cql2"
	"grense/internal/format/input"
)

// extraColumn is a member of features outside their properties.
// It becomes a property unless a property has the same values.
type extraColumn struct {
	column
	same []string // properties with the same values so far
	only string   // the only value so far; "" if there are several
}

// seeExtra records the members outside the properties of a feature, before its properties are read.
func (s *surveyor) seeExtra(r *input.Record) {
	for _, x := range r.Extra {
		if !s.wanted(x.Name) || slices.ContainsFunc(s.extras, func(e *extraColumn) bool { return e.name == x.Name }) {
			continue
		}
		e := &extraColumn{column: column{name: x.Name, extra: true}, only: x.Value.Text}
		for _, f := range r.Fields {
			if c := s.byName[f.Name]; c == nil || sum(c.kinds[:]) == c.kinds[input.Null] {
				// null in all features before
				e.same = append(e.same, f.Name)
			}
		}
		s.extras = append(s.extras, e)
	}
	for _, e := range s.extras {
		v := valueOf(r.Extra, e.name)
		e.see(v)
		if v.Text != e.only {
			e.only = ""
		}
		e.same = slices.DeleteFunc(e.same, func(name string) bool { return !equalValues(v, valueOf(r.Fields, name)) })
	}
}

// valueOf returns the value of a field; null if there is none.
func valueOf(fields []input.Field, name string) input.Value {
	for _, f := range fields {
		if f.Name == name {
			return f.Value
		}
	}
	return input.Value{Kind: input.Null}
}

// equalValues compares texts, dates and timestamps.
func equalValues(a, b input.Value) bool {
	if a.Kind <= input.Null || b.Kind <= input.Null {
		return a.Kind <= input.Null && b.Kind <= input.Null
	}
	if a.Text == b.Text {
		return true
	}
	s, ok := moment(a.Text)
	t, is := moment(b.Text)
	return ok && is && s.Equal(t)
}

// addExtras adds properties for the members outside the properties, unless a property has their values or they are
// the id of the collection.
func (p *Plan) addExtras() {
	for _, e := range p.extras {
		known := len(e.same) > 0 || e.name == input.ExtraFeatureType && e.only == p.target.Collection
		if !known && e.kinds[input.Null] < sum(e.kinds[:]) {
			p.columns = append(p.columns, &e.column)
		}
	}
}

// setTimes assigns the members with times their roles, unless the collection has such roles.
func (p *Plan) setTimes() {
	c := p.Collection
	if c.Instant != "" || c.IntervalStart != "" || c.IntervalEnd != "" {
		return
	}
	name := func(extra string) string {
		for _, e := range p.extras {
			x := &e.column
			if e.name != extra || e.kinds[input.Null] == sum(e.kinds[:]) {
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
	start, end := name(input.ExtraTimeStart), name(input.ExtraTimeEnd)
	if start != "" || end != "" {
		c.IntervalStart, c.IntervalEnd = start, end
		return
	}
	c.Instant = name(input.ExtraTime)
}
