package history

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// ChangeRow is one line of a table of changes: From became To, wholly or in part, at the beginning of a day. A code
// that continues while others join or leave it has a line of its own with the code on both sides. If From is empty, To
// begins without a predecessor; if To is empty, From ends without a successor.
type ChangeRow struct {
	EdgeRow
	FromName, ToName string
	Joins            bool // the table does not state whether To was in use before
	Part             bool // with Joins: From continues to exist; if To does too, the change is a transfer
	Weak             bool // from a table without successors: ignored if another row describes the same change
}

// Listed is a code in a list, with its name and parent.
type Listed struct {
	Line         int
	Code, Name   string
	ParentScheme string
	Parent       string
}

// List holds the codes in use on a day, after the changes of that day.
type List struct {
	At    Date
	Codes []Listed
}

// Replay derives versions and edges from a table of changes. If there is a list, the changes are first undone from it,
// which yields the codes that no change mentions. A version that no change begins has no known start. Lines that change
// neither code nor name are ignored. The error is a Faults.
func Replay(scheme string, changes []ChangeRow, list *List) (*Rows, error) {
	p := &replay{rows: &Rows{Scheme: scheme}, live: map[string]VersionRow{}}
	if len(changes) == 0 && list == nil {
		return nil, Faults{{0, "there are no changes"}}
	}
	slices.SortStableFunc(changes, func(a, b ChangeRow) int { return cmp.Compare(a.Date, b.Date) })
	changes = p.settle(p.once(changes), list)
	days := groupByDay(changes)
	if len(days) == 0 && list == nil {
		p.faults.Add(0, "no line changes a code or a name")
	}
	if list != nil {
		p.back(days, list)
	} else {
		p.first(days)
	}
	if p.faults != nil {
		return nil, p.faults
	}
	for _, day := range days {
		p.forward(throughDay(day, func(c ChangeRow) (string, bool) {
			_, is := p.live[c.From]
			return c.From, !is
		}))
	}
	for _, v := range p.live {
		p.rows.Versions = append(p.rows.Versions, v)
	}
	slices.SortFunc(p.rows.Versions,
		func(a, b VersionRow) int { return cmp.Or(cmp.Compare(a.Code, b.Code), cmp.Compare(a.From, b.From)) })
	if p.faults != nil {
		return nil, p.faults
	}
	return p.rows, nil
}

// replay holds the state of Replay.
type replay struct {
	rows   *Rows
	live   map[string]VersionRow // codes in use at this point of the replay
	faults Faults
}

// complete adds to r the values that r lacks and more, another row of the same change, has. It returns a description of
// the values that contradict each other; "" if none do.
func (r *EdgeRow) complete(more EdgeRow) string {
	join := func(a *Count, b Count) bool {
		if !a.Known {
			*a = b
		}
		return !b.Known || *a == b
	}
	if len(r.Of) == 0 {
		r.Of, r.Loose = more.Of, more.Loose
	}
	switch {
	case !join(&r.People, more.People) || !join(&r.Area, more.Area):
		return "numbers"
	case len(more.Of) > 0 && !slices.Equal(r.Of, more.Of):
		return "codes in made_of"
	}
	return ""
}

// once combines all rows of one change into one. Rows that contradict each other are faults, and so are control
// characters in codes and names.
func (p *replay) once(changes []ChangeRow) (out []ChangeRow) {
	type key struct {
		date     Date
		from, to string
	}
	type end struct {
		date Date
		code string
		from bool
	}
	seen, firm := map[key]int{}, map[end]bool{}
	for _, c := range changes {
		if !c.Weak && !c.Transfer {
			firm[end{c.Date, c.From, true}], firm[end{c.Date, c.To, false}] = true, true
		}
	}
	for _, c := range changes {
		if c.Weak && (c.From != "" && firm[end{c.Date, c.From, true}] || c.To != "" && firm[end{c.Date, c.To, false}]) {
			continue
		}
		for _, s := range [...]string{c.From, c.To, c.FromName, c.ToName} {
			if strings.ContainsFunc(s, unicode.IsControl) {
				p.faults.Add(c.Line, "%q holds control characters", s)
			}
		}
		k := key{c.Date, c.From, c.To}
		if i, twice := seen[k]; twice && !c.Transfer {
			if out[i].FromName == "" {
				out[i].FromName = c.FromName
			}
			switch {
			case out[i].ToName == "", c.From == c.To && c.FromName == out[i].ToName: // it stays, and gets a name
				out[i].ToName = c.ToName
			case c.From == c.To && c.ToName == out[i].FromName:
				out[i].FromName = c.FromName
			}
			if what := out[i].complete(c.EdgeRow); what != "" {
				p.faults.Add(c.Line, "%s to %s on %s stands twice, with other %s", c.From, c.To, c.Date, what)
			}
			continue
		}
		seen[k] = len(out)
		out = append(out, c)
	}
	return out
}

// settle decides, for changes with ChangeRow.Joins, whether To was in use before: by an earlier list, otherwise by
// earlier changes. If neither shows it, To is taken to have been in use, and Rows.Assumed records that.
func (p *replay) settle(changes []ChangeRow, list *List) (out []ChangeRow) {
	if !slices.ContainsFunc(changes, func(c ChangeRow) bool { return c.Joins }) {
		return changes
	}
	use, whole := map[string]bool{}, list != nil && list.At < changes[0].Date
	if whole {
		for _, l := range list.Codes {
			use[l.Code] = true
		}
	}
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].Date == changes[0].Date {
			n++
		}
		day := changes[:n]
		changes = changes[n:]
		before, own := map[string]bool{}, map[string]bool{} // in use before; with a line of their own, or a new code
		joins, leaves := map[string]int{}, map[string]int{}
		for _, c := range day {
			before[c.From] = true
			leaves[c.From]++
			if c.Joins {
				joins[c.To]++
			} else {
				own[c.To] = true
			}
		}
		for i, c := range day {
			if !c.Joins {
				continue
			}
			was, known := use[c.To]
			// // a single whole code would be a renumbering
			if !known && !whole && !before[c.To] && !own[c.To] && (joins[c.To] > 1 || leaves[c.From] > 1) {
				p.rows.Assumed = append(p.rows.Assumed, fmt.Sprintf("%s on %s", c.To, c.Date))
			}
			was = was || before[c.To] || !known && !whole && !own[c.To]
			switch {
			case was && c.Part:
				day[i].Transfer = true
			case was && !own[c.To]:
				out = append(out,
					ChangeRow{EdgeRow: EdgeRow{Line: c.Line, Date: c.Date, From: c.To, To: c.To, Source: c.Source},
						FromName: c.ToName, ToName: c.ToName})
			}
			if use[c.To] = true; !c.Part || !was {
				own[c.To] = true
			}
		}
		for _, c := range day {
			if !c.Transfer && !c.Part {
				use[c.From] = false
			}
		}
		for _, c := range day {
			if use[c.To] = true; c.Transfer {
				use[c.From] = true
			}
		}
		out = append(out, day...)
	}
	return out
}

// joinInto appends a change to those of a day. If there is one with the same From and To, the two are combined and
// their numbers added; a number is unknown if either is.
func joinInto(day []ChangeRow, c ChangeRow) []ChangeRow {
	i := slices.IndexFunc(day, func(x ChangeRow) bool { return !x.Transfer && x.From == c.From && x.To == c.To })
	if i < 0 {
		return append(day, c)
	}
	both := func(a, b Count) Count {
		if !a.Known || !b.Known {
			return Count{}
		}
		return CountOf(a.N + b.N)
	}
	day[i].People, day[i].Area = both(day[i].People, c.People), both(day[i].Area, c.Area)
	return day
}

// through combines change a, which leads to a code, and change b, which leads on from it. one is set if a is the only
// change that leads to the code, other if b is the only one that leads on. If neither is, the numbers are unknown.
func through(a, b ChangeRow, one, other bool) ChangeRow {
	a.To, a.ToName, a.Line = b.To, b.ToName, b.Line
	if len(b.Of) > 0 {
		a.Of, a.Loose = b.Of, b.Loose
	}
	switch {
	case one && (!other || b.People.Known || b.Area.Known): // a alone comes to it
		a.People, a.Area = b.People, b.Area
	case !other:
		a.People, a.Area = Count{}, Count{}
	}
	return a
}

// groupByDay divides changes, which are sorted by day, into one list per day.
func groupByDay(changes []ChangeRow) (days [][]ChangeRow) {
	for len(changes) > 0 {
		n := 1
		for n < len(changes) && changes[n].Date == changes[0].Date {
			n++
		}
		if day := material(renamed(changes[:n])); len(day) > 0 {
			days = append(days, day)
		}
		changes = changes[n:]
	}
	return days
}

// renamed handles a code that is renamed on a day on which others join it under the old name, or on which it becomes
// another code under the new name: it combines these rows into changes from the old to the new names.
func renamed(day []ChangeRow) []ChangeRow {
	names, passed := map[string][2]string{}, map[string]bool{}
	for _, c := range day {
		if c.From == c.To && c.FromName != "" && c.ToName != "" && c.FromName != c.ToName {
			names[c.From] = [2]string{c.FromName, c.ToName}
		}
	}
	for i := range day {
		c := &day[i]
		if c.Transfer || c.From == c.To {
			continue
		}
		if n, ok := names[c.To]; ok && c.ToName == n[0] {
			c.ToName = n[1]
		}
		if n, ok := names[c.From]; ok && c.FromName == n[1] {
			c.FromName, passed[c.From] = n[0], true
		}
	}
	return throughDay(day, func(c ChangeRow) (string, bool) { return c.From, passed[c.From] })
}

// material removes the lines of a day that change neither code nor name if no other line of the day begins or ends the
// code. Lines with numbers are kept if there is a transfer, because they state how many people or how much area
// remained.
func material(day []ChangeRow) (out []ChangeRow) {
	from, to, moved := map[string]int{}, map[string]int{}, map[string]bool{}
	for _, c := range day {
		if c.Transfer {
			moved[c.From], moved[c.To] = true, true
			continue
		}
		from[c.From]++
		to[c.To]++
	}
	for _, c := range day {
		stayed := moved[c.From] && (c.People.Known || c.Area.Known)
		if c.Transfer || c.From == "" || c.From != c.To || c.FromName != c.ToName || from[c.From] > 1 || to[c.To] > 1 ||
			stayed {
			out = append(out, c)
		}
	}
	return out
}

// back undoes the changes up to the day of a list, the last first.
func (p *replay) back(days [][]ChangeRow, list *List) {
	for _, l := range list.Codes {
		if _, twice := p.live[l.Code]; twice || l.Code == "" {
			p.faults.Add(l.Line, "%q stands twice in the list, or is no code", l.Code)
		}
		p.live[l.Code] = VersionRow{Line: l.Line, Code: l.Code, Name: l.Name, ParentScheme: l.ParentScheme,
			Parent: l.Parent}
	}
	for i := len(days) - 1; i >= 0; i-- {
		if days[i][0].Date > list.At {
			continue
		}
		days[i] = throughDay(days[i], func(c ChangeRow) (string, bool) {
			_, after := p.live[c.To]
			return c.To, !after
		})
		undone := map[string]bool{}
		for _, c := range days[i] {
			if c.Transfer || c.To == "" || undone[c.To] {
				continue
			}
			if _, ok := p.live[c.To]; !ok {
				p.faults.Add(c.Line, "%s begins on %s, but is not in use afterwards", c.To, c.Date)
			}
			undone[c.To] = true
			delete(p.live, c.To)
		}
		for _, c := range days[i] {
			if !c.Transfer && c.From != "" {
				p.live[c.From] = VersionRow{Line: c.Line, Code: c.From, Name: c.FromName}
			}
		}
	}
}

// throughDay combines A to B and B to C into A to C if code B exists only within the day. is returns the code to test
// and whether it exists only within the day. A line from B to B counts only if there are others, or if it changes the
// name.
func throughDay(day []ChangeRow, is func(ChangeRow) (code string, passes bool)) []ChangeRow {
	for i := 0; i < len(day); i++ {
		code, passes := is(day[i])
		if !passes || code == "" || day[i].Transfer {
			continue
		}
		var in, on, rest []ChangeRow
		joined := false
		for _, c := range day {
			switch {
			case !c.Transfer && c.To == code:
				in = append(in, c)
				joined = joined || c.From != code || c.FromName != c.ToName
			case !c.Transfer && c.From == code && c.To != code:
				on = append(on, c)
			default:
				rest = append(rest, c)
			}
		}
		if !joined || on == nil {
			continue
		}
		for _, a := range in {
			for _, b := range on {
				rest = joinInto(rest, through(a, b, len(in) == 1, len(on) == 1))
			}
		}
		day, i = rest, -1
	}
	return day
}

// first adds to the codes in use at the beginning those that are changed before a change begins them.
func (p *replay) first(days [][]ChangeRow) {
	seen := map[string]bool{"": true}
	for _, day := range days {
		for _, c := range day {
			if !seen[c.From] {
				seen[c.From] = true
				p.live[c.From] = VersionRow{Line: c.Line, Code: c.From, Name: c.FromName}
			}
			if c.Transfer && !seen[c.To] &&
				!slices.ContainsFunc(day, func(x ChangeRow) bool { return !x.Transfer && x.To == c.To }) {
				seen[c.To] = true
				p.live[c.To] = VersionRow{Line: c.Line, Code: c.To, Name: c.ToName}
			}
		}
		for _, c := range day {
			seen[c.To] = true
		}
	}
}

// forward applies the changes of one day.
func (p *replay) forward(day []ChangeRow) {
	ended := map[string]VersionRow{}
	for _, c := range day {
		if c.Transfer || c.From == "" {
			continue
		}
		v, ok := p.live[c.From]
		if _, again := ended[c.From]; again {
			continue
		}
		if !ok {
			p.faults.Add(c.Line, "%s changes on %s, but is not in use before", c.From, c.Date)
			continue
		}
		if v.Name == "" {
			v.Name = c.FromName
		}
		v.To = c.Date
		ended[c.From] = v
		delete(p.live, c.From)
		p.rows.Versions = append(p.rows.Versions, v)
	}
	begun := map[string]bool{}
	for _, c := range day {
		p.rows.Edges = append(p.rows.Edges, c.EdgeRow)
		if c.Transfer || c.To == "" || begun[c.To] {
			continue
		}
		if _, taken := p.live[c.To]; taken {
			p.faults.Add(c.Line,
				"%s begins on %s, but is in use already; where it stays and takes up others, add a line with %s on "+
					"both sides",
				c.To, c.Date, c.To)
			continue
		}
		begun[c.To] = true
		name := c.ToName
		if name == "" {
			name = ended[c.To].Name
		}
		v := VersionRow{Line: c.Line, Code: c.To, Name: name, From: c.Date, Recorded: c.Recorded}
		p.live[c.To] = v
	}
}

// Since removes everything before a day: versions valid on it then begin on that day, and nothing is known about
// earlier days. Codes in EdgeRow.Of that are no longer known are ignored.
func (r *Rows) Since(d Date) {
	forgotten := map[string]bool{}
	r.Versions = slices.DeleteFunc(r.Versions, func(v VersionRow) bool {
		ended := v.To != 0 && v.To <= d
		forgotten[v.Code] = forgotten[v.Code] || ended
		return ended
	})
	r.Edges = slices.DeleteFunc(r.Edges, func(e EdgeRow) bool { return e.Date <= d })
	for i := range r.Edges {
		e := &r.Edges[i]
		e.Loose = e.Loose || slices.ContainsFunc(e.Of, func(code string) bool { return forgotten[code] })
	}
	for i := range r.Versions {
		if v := &r.Versions[i]; v.From < d {
			v.From = d
		}
	}
}

// SetParents sets the parents of versions that have none to the first characters of their codes. rule is a scheme and a
// number of characters, for example fylke:2.
func (r *Rows) SetParents(rule string) error {
	scheme, digits, _ := strings.Cut(rule, ":")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 || scheme == "" {
		return fmt.Errorf("%q is no rule for parents; write a scheme and how many characters, such as fylke:2", rule)
	}
	for i := range r.Versions {
		if v := &r.Versions[i]; v.Parent == "" && len(v.Code) > n {
			v.ParentScheme, v.Parent = scheme, v.Code[:n]
		}
	}
	return nil
}

// Record sets the time at which each change became known: the time in the earlier rows if they have the same change,
// otherwise now.
func (r *Rows) Record(earlier []*Rows, now string) {
	type key struct {
		date     Date
		from, to string
	}
	known := map[key]string{}
	for _, old := range earlier {
		if old.Scheme != r.Scheme {
			continue
		}
		for _, e := range old.Edges {
			known[key{e.Date, e.From, e.To}] = e.Recorded
		}
	}
	for i := range r.Edges {
		e := &r.Edges[i]
		if e.Recorded != "" {
			continue
		}
		e.Recorded = now
		if at, ok := known[key{e.Date, e.From, e.To}]; ok {
			e.Recorded = at
		}
	}
}
