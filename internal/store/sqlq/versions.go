package sqlq

import (
	"time"

	"grense/internal/store"
)

// AsOf returns the filter for versions that are valid at a moment; nothing else is changed, since what it selects is
// said exactly. Of versions that overlap it takes the later, which begins last, by their index.
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

// Valid holds for the rows called alias in whose interval a moment is, also of several of one feature.
func Valid(d Dialect, s *Source, alias string, at time.Time) Fragment {
	return (&compiler{d: d, src: s, alias: alias, depth: new(int)}).valid(s.Versions, at)
}

// valid holds for the rows in whose interval a moment is.
func (c *compiler) valid(v *store.Versions, at time.Time) Fragment {
	begun, ok := c.moment(c.src.Fields[v.Start], at)
	ended, same := c.moment(c.src.Fields[v.End], at)
	if !ok || !same {
		return c.constant(false) // no version begins beyond the years that a column can hold
	}
	op := " > "
	if v.Inclusive {
		op = " >= "
	}
	end := c.src.Fields[v.End]
	return Cat(begun[0], Ident(" <= "), begun[1], Ident(" AND ("), ended[0], Ident(op), ended[1], Ident(" OR "),
		c.column(end), Ident(" IS NULL)"))
}

// Interval returns the validity of the rows called alias as two expressions, which AsOf compares with a moment;
// false where it compares with none.
func Interval(d Dialect, s *Source, alias string, at time.Time) (start, end string, ok bool) {
	c := &compiler{d: d, src: s, alias: alias, depth: new(int)}
	begun, ok := c.moment(s.Fields[s.Versions.Start], at)
	ended, same := c.moment(s.Fields[s.Versions.End], at)
	return begun[0].sql, ended[0].sql, ok && same && len(begun[0].args)+len(ended[0].args) == 0
}
