package history

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// ChangeRow is one line of a table of changes: what of From went to To at the beginning of a day. A code that stays
// while others join it, or leave it, has a line of its own with the same code on both sides. Without From it begins,
// without To it ends.
type ChangeRow struct {
	EdgeRow
	FromName, ToName string
	Joins            bool // of a table that does not say whether To was in use before
	Part             bool // with Joins: From goes on; if To does, too, it is a transfer
	Weak             bool // of a table that does not say what comes of what: left out where another row does
}

// Listed is a code of a list, with its name.
type Listed struct {
	Line         int
	Code, Name   string
	ParentScheme string
	Parent       string
}

// List is the codes that are in use on a day, that day's changes made.
type List struct {
	At    Date
	Codes []Listed
}

// Replay makes versions and edges of a table of changes, by replaying it. A list, where there is one, gives the codes
// that no change names; it is replayed backwards first. Versions that no change begins have no known start. Lines
// that change neither code nor name are passed over. An error is Faults.
func Replay(scheme string, changes []ChangeRow, list *List) (*Rows, error) {
	p := &replay{rows: &Rows{Scheme: scheme}, live: map[string]VersionRow{}}
	if len(changes) == 0 && list == nil {
		return nil, Faults{{0, "there are no changes"}}
	}
	slices.SortStableFunc(changes, func(a, b ChangeRow) int { return cmp.Compare(a.Date, b.Date) })
	changes = p.settle(p.once(changes), list)
	days := groupByDay(changes)
	if len(days) == 0 && list == nil {
		p.faults.add(0, "no line changes a code or a name")
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

// replay is a table of changes that is being replayed.
type replay struct {
	rows   *Rows
	live   map[string]VersionRow // by code
	faults Faults
}

// complete adds what another row of the same change knows. It returns what both rows know differently, "" for nothing.
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

// once joins the rows of one change into one, which knows what each of them does. Rows that contradict each other are
// faults, and so are codes and names with control characters.
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
				p.faults.add(c.Line, "%q holds control characters", s)
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
				p.faults.add(c.Line, "%s to %s on %s stands twice, with other %s", c.From, c.To, c.Date, what)
			}
			continue
		}
		seen[k] = len(out)
		out = append(out, c)
	}
	return out
}

// settle says of the changes of a table that does not say it whether what takes up others was in use before: by a list
// of an earlier day, or by earlier changes. If neither knows, it was, and the rows say so.
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
		before, own := map[string]bool{}, map[string]bool{} // were in use; have a line of their own, or a new code
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
			// one whole code alone would be a new number
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

// joinInto appends a change to those of a day. Where it is there already both are one, with the numbers of both,
// where both are known.
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

// through is change a to a code and change b on from it as one. Of several that come to the code and go on from it
// nobody knows how many of which went where.
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

// groupByDay parts changes that are sorted by their days.
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

// renamed joins what the rows of a day say in steps of a code that gets a new name: others join it under the old one,
// and it goes on in another code under the new one.
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

// material leaves out the lines of a day that change neither code nor name, of codes that no other line begins or ends.
// With numbers they stay beside a transfer: they say how many people, or how much area, did not move.
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
			p.faults.add(l.Line, "%q stands twice in the list, or is no code", l.Code)
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
				p.faults.add(c.Line, "%s begins on %s, but is not in use afterwards", c.To, c.Date)
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

// throughDay joins changes over a code that is not in use after a day, or not before it, which is determines for a
// change: A to B and B to C is A to C. The line of B itself counts if there are others or if it has a new name.
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

// first takes for there from the beginning what is changed before it begins.
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

// forward makes the changes of one day.
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
			p.faults.add(c.Line, "%s changes on %s, but is not in use before", c.From, c.Date)
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
			p.faults.add(c.Line,
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

// Since forgets what was before a day: versions that hold on it begin then, and the scheme knows nothing of the days
// before. What comes back later may be made of codes that are forgotten.
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

// SetParents names the parents of versions that have none by the first characters of their codes; rule is a scheme
// and how many: fylke:2.
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

// Record sets when changes became known: as earlier rows of the scheme have it, where they have the same change, else
// to now.
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
