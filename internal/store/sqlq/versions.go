package sqlq

import (
	"time"

	"grense/internal/store"
)

// AsOf restricts the filter to versions that are valid at a moment; SQL expresses that exactly. Of overlapping versions
// of a feature it selects the one that begins last, for which an index on id and start is needed.
func (f Filter) AsOf(d Dialect, s *Source, alias string, at time.Time) Filter {
	v := s.Versions
	c := &compiler{d: d, src: s, alias: alias, depth: new(int)}
	parts := []Fragment{paren(c.valid(v, at)), paren(f.Where)}
	if v.Overlap {
		id, start := s.Fields[v.ID], s.Fields[v.Start]
		later := &compiler{d: d, src: s, alias: "later", depth: new(int)}
		parts = append(parts,
			Cat(Ident("NOT EXISTS (SELECT 1 FROM "+s.Table+" AS later WHERE "+later.quoted(id.Column)+" = "+
				c.quoted(id.Column)+
				" AND "+Column(d, later.alias, start)+" > "+Column(d, alias, start)+" AND "),
				later.valid(v, at), Ident(")")))
	}
	f.Where = Join(" AND ", parts...)
	return f
}

// Valid is true for rows of alias whose interval contains a moment, also for several of one feature.
func Valid(d Dialect, s *Source, alias string, at time.Time) Fragment {
	return (&compiler{d: d, src: s, alias: alias, depth: new(int)}).valid(s.Versions, at)
}

// valid is true for rows whose interval contains a moment.
func (c *compiler) valid(v *store.Versions, at time.Time) Fragment {
	begun, ok := c.moment(c.src.Fields[v.Start], at)
	ended, same := c.moment(c.src.Fields[v.End], at)
	if !ok || !same {
		return c.constant(false) // no column can contain later years
	}
	op := " > "
	if v.Inclusive {
		op = " >= "
	}
	end := c.src.Fields[v.End]
	return Cat(begun[0], Ident(" <= "), begun[1], Ident(" AND ("), ended[0], Ident(op), ended[1], Ident(" OR "),
		c.column(end), Ident(" IS NULL)"))
}
