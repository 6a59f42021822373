package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Difference is one contradiction between a table of changes and a list of codes.
type Difference struct {
	Back bool // found while undoing the changes from the last to the first, not while applying them
	Date Date // date of the change or of the list
	Line int  // line number of the change, or in the list; 0 if there is none
	List bool // Line is a line of the list of Date
	Code string
	Text string
}

// Check applies changes in order, then undoes them in reverse order, and compares the codes in use with lists each
// time. It returns the differences. first and last are the codes in use before and after all changes; nil if they are
// not known. Without them, a code is compared only once a change or a list has named it.
func Check(changes []ChangeRow, first, last *List, lists ...*List) []Difference {
	p := &replay{rows: &Rows{}}
	changes = slices.Clone(changes)
	slices.SortStableFunc(changes, func(a, b ChangeRow) int { return cmp.Compare(a.Date, b.Date) })
	lists = slices.Clone(lists)
	slices.SortStableFunc(lists, func(a, b *List) int { return cmp.Compare(a.At, b.At) })
	earliest := first
	if earliest == nil && len(lists) > 0 {
		earliest = lists[0]
	}
	days := groupByDay(p.settle(p.once(changes), earliest))
	for i, day := range days {
		own := map[string]bool{}
		for _, c := range day {
			own[c.From] = own[c.From] || c.From == c.To
		}
		days[i] = throughDay(day, func(c ChangeRow) (string, bool) {
			return c.From, own[c.From] && goneAfter(c.From, day[0].Date, days[i+1:], lists)
		})
	}
	var out []Difference
	for _, f := range p.faults {
		out = append(out, Difference{Line: f.Line, Text: f.Reason})
	}
	for _, back := range [...]bool{false, true} {
		c := &check{back: back, use: map[string]usage{}}
		if start := map[bool]*List{false: first, true: last}[back]; start != nil {
			c.whole = true
			for _, x := range start.Codes {
				c.use[x.Code] = usage{true, x.Name, "it is so in the list that is part of the changes", false}
			}
		}
		c.run(days, lists)
		out = append(out, c.found...)
	}
	return out
}

// goneAfter reports whether, according to the next list or change that mentions it, a code is not in use after a day.
// later and lists are sorted by date.
func goneAfter(code string, day Date, later [][]ChangeRow, lists []*List) bool {
	var next *List
	if i := slices.IndexFunc(lists, func(l *List) bool { return l.At >= day }); i >= 0 {
		next = lists[i]
	}
	for _, changes := range later {
		if next != nil && changes[0].Date > next.At {
			break
		}
		if slices.ContainsFunc(changes, func(c ChangeRow) bool {
			return c.From == code || c.Transfer && c.To == code
		}) {
			return false
		}
		if slices.ContainsFunc(changes, func(c ChangeRow) bool { return c.To == code }) {
			return true
		}
	}
	return next != nil && !slices.ContainsFunc(next.Codes, func(l Listed) bool { return l.Code == code })
}

// check holds the state of Check in one direction.
type check struct {
	back  bool
	whole bool // a complete list was read, so codes that are not in use are not in use for certain
	use   map[string]usage
	found []Difference
}

// usage holds whether a code is in use at some point of a replay, and why.
type usage struct {
	in   bool
	name string
	why  string // the change or list that shows it, for the message
	list bool   // a list shows it
}

func (c *check) run(days [][]ChangeRow, lists []*List) {
	if !c.back {
		for _, l := range lists {
			for len(days) > 0 && days[0][0].Date <= l.At {
				c.day(days[0])
				days = days[1:]
			}
			c.list(l)
		}
		for _, day := range days {
			c.day(day)
		}
		return
	}
	for _, l := range slices.Backward(lists) {
		for n := len(days) - 1; n >= 0 && days[n][0].Date > l.At; n-- {
			c.day(days[n])
			days = days[:n]
		}
		c.list(l)
	}
	for _, day := range slices.Backward(days) {
		c.day(day)
	}
}

func (c *check) differ(d Date, line int, list bool, code, format string, args ...any) {
	c.found = append(c.found, Difference{c.back, d, line, list, code, fmt.Sprintf(format, args...)})
}

// is returns what is known about a code; false if nothing is known.
func (c *check) is(code string) (usage, bool) {
	u, ok := c.use[code]
	if !ok && c.whole {
		u.why = "no change begins it since the last list"
		if c.back {
			u.why = "no change ends it before the next list"
		}
	}
	return u, ok || c.whole
}

// side is one side of a change: From or To, depending on the direction of the replay.
type side struct {
	row  *ChangeRow
	name string
}

// day applies the changes of a day, or undoes them if c.back is set.
func (c *check) day(day []ChangeRow) {
	ends, begins := map[string]side{}, map[string]side{}
	own := map[string]bool{} // codes with a line that has the code on both sides
	set := func(m map[string]side, code, name string, r *ChangeRow) {
		if old, twice := m[code]; code != "" && (!twice || old.name == "") {
			m[code] = side{r, name}
		}
	}
	for i := range day {
		r := &day[i]
		from, to := ends, begins
		if c.back {
			from, to = to, from
		}
		if !r.Transfer {
			set(from, r.From, r.FromName, r)
			set(to, r.To, r.ToName, r)
			own[r.From] = own[r.From] || r.From == r.To
		}
	}
	before, stops, starts, ended, begun := "before", "changes", "begins", "it ended", "it began"
	if c.back {
		before, stops, starts, ended, begun = "afterwards", starts, "ends", begun, ended
	}
	fresh := map[string]usage{}
	for _, code := range slices.Sorted(maps.Keys(ends)) {
		x := ends[code]
		again, stays := begins[code]
		u, ok := c.is(code)
		switch {
		case stays && !own[code] && !u.in: // a code may begin and end on one day
			delete(begins, code)
			continue
		case ok && !u.in:
			c.differ(x.row.Date, x.row.Line, false, code, "%s %s, but is not in use %s: %s", code, stops, before, u.why)
		case ok && u.name != "" && x.name != "" && u.name != x.name && !u.list:
			c.differ(x.row.Date, x.row.Line, false, code, "%s is %q %s by this change, but %q by the others: %s", code,
				x.name, before, u.name, u.why)
		}
		if !stays {
			fresh[code] = usage{why: ended + " on " + x.row.Date.String()}
		} else if again.name == "" {
			begins[code] = side{again.row, cmp.Or(x.name, u.name)}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(begins)) {
		x := begins[code]
		u, ok := c.is(code)
		if _, stays := ends[code]; ok && u.in && !stays {
			c.differ(x.row.Date, x.row.Line, false, code, "%s %s, but is in use %s: %s", code, starts, before, u.why)
		}
		fresh[code] = usage{true, x.name, begun + " on " + x.row.Date.String(), false}
	}
	for _, r := range day {
		for _, code := range [...]string{r.From, r.To} {
			if _, isNew := begins[code]; r.Transfer && !isNew {
				if u, ok := c.is(code); ok && !u.in {
					c.differ(r.Date, r.Line, false, code, "territory of %s moves, but it is not in use: %s", code,
						u.why)
				}
			}
		}
	}
	maps.Copy(c.use, fresh)
}

// list compares the codes in use with a list. A change takes precedence over the list; otherwise the list replaces what
// was known.
func (c *check) list(l *List) {
	listed := map[string]bool{}
	next := map[string]usage{}
	for _, x := range l.Codes {
		if listed[x.Code] && !c.back {
			c.differ(l.At, x.Line, true, x.Code, "%s stands twice in the list", x.Code)
		}
		listed[x.Code] = true
		u, ok := c.is(x.Code)
		switch {
		case ok && !u.in:
			c.differ(l.At, x.Line, true, x.Code, "%s is in the list, but not in use: %s", x.Code, u.why)
		case ok && u.name != "" && x.Name != "" && u.name != x.Name:
			c.differ(l.At, x.Line, true, x.Code, "%s is %q in the list, and %q by the changes: %s", x.Code, x.Name,
				u.name, u.why)
		}
		if _, known := c.use[x.Code]; !known || u.list {
			next[x.Code] = usage{true, x.Name, "it is in the list of " + l.At.String(), true}
		}
	}
	for _, code := range slices.Sorted(maps.Keys(c.use)) {
		u := c.use[code]
		if u.in && !listed[code] {
			c.differ(l.At, 0, true, code, "%s is in use, but not in the list: %s", code, u.why)
		}
		if u.list && !listed[code] {
			delete(c.use, code)
		}
	}
	maps.Copy(c.use, next)
	c.whole = true
}

// Replayable converts a scheme to a table of changes, and to the codes in use before the first and after the last
// change.
func (r *Rows) Replayable() (changes []ChangeRow, first, last *List) {
	type end struct {
		code string
		date Date
	}
	begins, ends := map[end]string{}, map[end]string{}
	begin := Date(0)
	for i, v := range r.Versions {
		if i == 0 || v.From < begin {
			begin = v.From
		}
		begins[end{v.Code, v.From}], ends[end{v.Code, v.To}] = v.Name, v.Name
	}
	first, last = &List{}, &List{}
	for _, v := range r.Versions {
		if v.From == begin {
			first.Codes = append(first.Codes, Listed{Code: v.Code, Name: v.Name})
		}
		if v.To == 0 {
			last.Codes = append(last.Codes, Listed{Code: v.Code, Name: v.Name})
		}
	}
	for _, e := range r.Edges {
		e.Line = 0
		changes = append(changes,
			ChangeRow{EdgeRow: e, FromName: ends[end{e.From, e.Date}], ToName: begins[end{e.To, e.Date}]})
	}
	return changes, first, last
}
