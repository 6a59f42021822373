package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Rows are the versions and edges of one scheme, as read from a table or a store and before New has checked them.
type Rows struct {
	Scheme   string
	Versions []VersionRow
	Edges    []EdgeRow
	Numbers  map[string]int64 // values of Event.Seq by event id, for the events that have one; may be nil
	Assumed  []string         // "code on date" of each code that took up others and was assumed to be in use before
}

// VersionRow is one row of a table of versions. Line is its line number in the table, counted from 1.
type VersionRow struct {
	Line                             int
	Code, Name, ParentScheme, Parent string
	From, To                         Date
	Recorded                         string
}

// EdgeRow is one row of a table of edges. The edge leads from the version of code From that ends on Date to the version
// of code To that begins on Date. A transfer instead leads between two versions that are valid both before and after
// Date. Of holds the codes that were merged into From earlier and whose territory now becomes To.
type EdgeRow struct {
	Line             int
	Date             Date
	From, To         string
	Of               []string
	Loose            bool // codes in Of that were never part of From are ignored; otherwise they are faults
	Transfer         bool
	People, Area     Count
	Units            int64
	Source, Recorded string
}

// Fault is one error in the rows of a table.
type Fault struct {
	Line   int // line number, counted from 1; 0 if the fault concerns no single line
	Reason string
}

// Faults is an error that lists all faults found in the rows.
type Faults []Fault

func (f Faults) Error() string {
	var b strings.Builder
	for i, x := range f {
		const most = 20
		if i == most {
			fmt.Fprintf(&b, "\nand %d more", len(f)-most)
			break
		}
		if i > 0 {
			b.WriteByte('\n')
		}
		if x.Line > 0 {
			fmt.Fprintf(&b, "line %d: ", x.Line)
		}
		b.WriteString(x.Reason)
	}
	return b.String()
}

// Add appends a fault of a line.
func (f *Faults) Add(line int, format string, args ...any) {
	*f = append(*f, Fault{line, fmt.Sprintf(format, args...)})
}

// Err returns f as an error; nil if there are no faults.
func (f Faults) Err() error {
	if f == nil {
		return nil
	}
	return f
}

// New builds a history from the rows of one or more schemes and checks them. If a check fails, the error is a Faults
// that lists every failure. The checks are:
// //   - a version begins before it ends, and two versions of one code never overlap;
// //   - an edge leads from a version that ends on the day of the edge to one that begins on it; a transfer links two
// //     versions that are valid around its day;
// //   - an edge leaves every version that ends, and an edge reaches every version that begins after the scheme does;
// //   - of the edges that leave a version, either all or none have a number of people; the same holds for the area;
// //   - the codes in Of were merged into the version that the edge leaves.
func New(rows ...*Rows) (*History, error) {
	h := &History{}
	var faults Faults
	for _, r := range rows {
		b := &builder{s: &Scheme{ID: r.Scheme, byCode: map[string][2]int32{}, byID: map[string]*Event{}},
			numbers: r.Numbers}
		b.versions(r.Versions)
		if b.faults == nil {
			b.edges(r.Edges)
		}
		if b.faults == nil {
			b.check(r)
			b.undone(r.Edges)
			b.unsure()
			b.events(r.Edges)
			b.entities()
		}
		faults = append(faults, b.faults...)
		h.schemes = append(h.schemes, b.s)
	}
	if faults != nil {
		return nil, faults
	}
	h.number(0)
	slices.SortFunc(h.schemes, func(a, b *Scheme) int { return cmp.Compare(a.ID, b.ID) })
	for _, s := range h.schemes {
		for i := range s.Versions {
			if p := s.Versions[i].ParentScheme; p != "" && p != s.ID {
				if larger := h.Scheme(p); larger != nil {
					larger.smaller = s
				}
				break
			}
		}
	}
	return h, nil
}

type builder struct {
	s      *Scheme
	faults Faults
	lines  []int // line number of each version

	numbers map[string]int64
}

func (b *builder) versions(rows []VersionRow) {
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows,
		func(x, y VersionRow) int { return cmp.Or(cmp.Compare(x.Code, y.Code), cmp.Compare(x.From, y.From)) })
	s := b.s
	for i, r := range rows {
		v := Version{
			Scheme:       s.ID,
			Code:         r.Code,
			Name:         r.Name,
			ParentScheme: r.ParentScheme,
			Parent:       r.Parent,
			From:         r.From,
			To:           r.To,
			Recorded:     r.Recorded,
		}
		switch {
		case r.Code == "":
			b.faults.Add(r.Line, "a version has no code")
		case r.To != 0 && r.To <= r.From:
			b.faults.Add(r.Line, "%s begins on %s and ends on %s", r.Code, r.From, r.To)
		case i > 0 && rows[i-1].Code == r.Code && (rows[i-1].To == 0 || rows[i-1].To > r.From):
			b.faults.Add(r.Line, "%s begins on %s, but is in use since %s", r.Code, r.From, rows[i-1].From)
		}
		n := int32(len(s.Versions))
		at, ok := s.byCode[r.Code]
		if !ok {
			at[0] = n
		}
		at[1] = n + 1
		s.byCode[r.Code] = at
		s.Versions, b.lines = append(s.Versions, v), append(b.lines, r.Line)
	}
}

// find returns the number of the first version of a code for which ok returns true, or -1 if there is none.
func (b *builder) find(code string, ok func(*Version) bool) int32 {
	r := b.s.byCode[code]
	for i := r[0]; i < r[1]; i++ {
		if ok(&b.s.Versions[i]) {
			return i
		}
	}
	return -1
}

func (b *builder) edges(rows []EdgeRow) {
	s := b.s
	s.Edges = make([]Edge, len(rows))
	seen := map[[2]int32]bool{}
	for i, r := range rows {
		e := &s.Edges[i]
		*e = Edge{People: r.People, Area: r.Area, Units: r.Units, date: r.Date, from: -1, to: -1, transfer: r.Transfer}
		s.moved = s.moved || r.Transfer
		if r.From != "" {
			e.from = b.find(r.From, func(v *Version) bool {
				return v.To == r.Date || r.Transfer && v.From < r.Date && (v.To == 0 || r.Date < v.To)
			})
			if e.from < 0 {
				b.faults.Add(r.Line, "no version of %s ends on %s", r.From, r.Date)
				continue
			}
			e.From = &s.Versions[e.from]
		}
		if r.To != "" {
			e.to = b.find(r.To, func(v *Version) bool {
				return v.From == r.Date || r.Transfer && v.Holds(r.Date)
			})
			if e.to < 0 {
				b.faults.Add(r.Line, "no version of %s begins on %s", r.To, r.Date)
				continue
			}
			e.To = &s.Versions[e.to]
		}
		switch pair := [2]int32{e.from, e.to}; {
		case e.From == nil && e.To == nil:
			b.faults.Add(r.Line, "a change names no code")
			continue
		case seen[pair] && !r.Transfer:
			b.faults.Add(r.Line, "%s to %s on %s stands twice", r.From, r.To, r.Date)
			continue
		default:
			seen[pair] = true
		}
		b.connect(int32(i), r.Transfer)
	}
}

// connect adds edge i to the lists of edges of the two versions that it links.
func (b *builder) connect(i int32, transfer bool) {
	e := &b.s.Edges[i]
	if e.From != nil && transfer {
		e.From.moves = append(e.From.moves, i)
	} else if e.From != nil {
		e.From.out = append(e.From.out, i)
	}
	if e.To != nil && transfer {
		e.To.moves = append(e.To.moves, i)
	} else if e.To != nil {
		e.To.in = append(e.To.in, i)
	}
}

// MaxCount is the largest number of people or square metres accepted. It is more than the area of the earth, and
// small enough that sums do not overflow.
const MaxCount = 1_000_000_000_000_000

// check runs the checks that concern more than one row.
func (b *builder) check(r *Rows) {
	s := b.s
	for i := range s.Versions {
		if from := s.Versions[i].From; i == 0 || from < s.begin {
			s.begin = from
		}
		if n := len(s.Versions[i].Code); i == 0 {
			s.width = n
		} else if n != s.width {
			s.width = -1
		}
	}
	for i := range s.Versions {
		v := &s.Versions[i]
		if v.To != 0 && len(v.out) == 0 {
			b.faults.Add(b.lines[i], "%s ends on %s, and no change says what becomes of it", v.Code, v.To)
		}
		if v.From != s.begin && len(v.in) == 0 {
			b.faults.Add(b.lines[i], "%s begins on %s, and no change says what it was", v.Code, v.From)
		}
		people, area := 0, 0
		for _, n := range v.out {
			e := &s.Edges[n]
			e.Part = len(v.out) > 1
			if min(e.People.N, e.Area.N, e.Units) < 0 || max(e.People.N, e.Area.N, e.Units) > MaxCount {
				b.faults.Add(r.Edges[n].Line, "people and area are numbers from 0 to %d", MaxCount)
			}
			if e.People.Known {
				people++
			}
			if e.Area.Known {
				area++
			}
		}
		for _, known := range [...]int{people, area} {
			if known != 0 && known != len(v.out) {
				b.faults.Add(r.Edges[v.out[0]].Line,
					"of the %d changes that end %s on %s, %d have numbers; give them for all or none", len(v.out),
					v.Code, v.To, known)
			}
		}
	}
	for i := range r.Edges {
		if r.Edges[i].Transfer {
			s.Edges[i].Part = true
		}
	}
}

// undone sets Edge.Of of every edge, and the versions that a path over an edge may not have passed (Edge.forbid).
func (b *builder) undone(rows []EdgeRow) {
	s := b.s
	of := make([][]int32, len(rows))
	for i := range s.Versions {
		b.partsOf(s.Versions[i].out, rows, of)
	}
	for i, parts := range of {
		for _, n := range parts {
			s.Edges[i].Of = append(s.Edges[i].Of, &s.Versions[n])
		}
	}
	for i := range s.Versions {
		s.divide(s.Versions[i].out, of)
	}
}

// partsOf resolves the codes in EdgeRow.Of of the edges in out, which leave one version, to versions, and stores them
// in of. It chooses the latest earlier version of each code into which no part of another edge has been merged.
func (b *builder) partsOf(out []int32, rows []EdgeRow, of [][]int32) {
	if !slices.ContainsFunc(out, func(n int32) bool { return len(rows[n].Of) > 0 }) {
		return
	}
	s := b.s
	before := s.ancestors(s.Edges[out[0]].from)
	latest := func(code string, not func(int32) bool) int32 {
		found := int32(-1)
		for _, n := range before {
			if s.Versions[n].Code == code && (found < 0 || s.Versions[n].From > s.Versions[found].From) && !not(n) {
				found = n
			}
		}
		return found
	}
	for _, n := range out {
		for _, code := range rows[n].Of {
			k := latest(code, func(int32) bool { return false })
			switch {
			case k >= 0:
				of[n] = append(of[n], k)
			case !rows[n].Loose:
				b.faults.Add(rows[n].Line, "%s was never part of %s, so %s is not made of it", code,
					rows[n].From, rows[n].To)
			}
		}
	}
	for changed := true; changed; {
		changed = false
		for _, n := range out {
			for i, k := range of[n] {
				older := latest(s.Versions[k].Code, func(v int32) bool {
					return s.Versions[v].From > s.Versions[k].From || s.holdsPart(v, n, out, of)
				})
				if older >= 0 && older != k {
					of[n][i], changed = older, true
				}
			}
		}
	}
}

// holdsPart reports whether a version that another edge than n is made of was merged into version v, directly or not.
func (s *Scheme) holdsPart(v, n int32, out []int32, of [][]int32) bool {
	before := s.ancestors(v)
	return slices.ContainsFunc(out, func(other int32) bool {
		return other != n && slices.ContainsFunc(of[other], func(k int32) bool { return slices.Contains(before, k) })
	})
}

// divide forbids each of the edges in out, which leave one version, to paths that passed a version that another of the
// edges is made of. If some of the edges have no list Of, they carry what else was merged into the version.
func (s *Scheme) divide(out []int32, of [][]int32) {
	var listed []int32
	for _, n := range out {
		listed = append(listed, of[n]...)
	}
	if listed == nil {
		return
	}
	rest := s.joined(s.Edges[out[0]].from, listed)
	carries := func(n int32) []int32 {
		if of[n] == nil {
			return rest
		}
		return of[n]
	}
	for _, n := range out {
		e, own := &s.Edges[n], carries(n)
		if own == nil {
			continue
		}
		for _, other := range out {
			for _, k := range carries(other) {
				if !slices.Contains(own, k) && !slices.Contains(e.forbid, k) && !s.onOneWay(k, own) {
					e.forbid = append(e.forbid, k)
					s.Versions[k].tagged = true
				}
			}
		}
	}
}

// onOneWay reports whether version v is an ancestor or a descendant of one of others.
func (s *Scheme) onOneWay(v int32, others []int32) bool {
	before := s.ancestors(v)
	return slices.ContainsFunc(others, func(k int32) bool {
		return slices.Contains(before, k) || slices.Contains(s.ancestors(k), v)
	})
}

// joined returns the versions, other than parts, that were merged with parts or with their successors on the way to
// version v. All of parts are ancestors of v.
func (s *Scheme) joined(v int32, parts []int32) (out []int32) {
	before := append(s.ancestors(v), v)
	after := map[int32]bool{}
	for todo := slices.Clone(parts); len(todo) > 0; {
		u := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if after[u] || !slices.Contains(before, u) {
			continue
		}
		after[u] = true
		for _, n := range s.Versions[u].out {
			if to := s.Edges[n].to; to >= 0 && u != v {
				todo = append(todo, to)
			}
		}
	}
	for u := range after {
		if slices.Contains(parts, u) {
			continue
		}
		for _, n := range s.Versions[u].in {
			if from := s.Edges[n].from; from >= 0 && !after[from] && !slices.Contains(out, from) {
				out = append(out, from)
			}
		}
	}
	slices.Sort(out)
	return out
}

// unsure sets Edge.unsure on the edges of each split that may undo a merger and where no edge has a list Of.
func (b *builder) unsure() {
	s := b.s
	for i := range s.Versions {
		out := s.Versions[i].out
		if len(out) < 2 || slices.ContainsFunc(out, func(n int32) bool { return s.Edges[n].Of != nil }) {
			continue
		}
		for _, u := range append(s.ancestors(int32(i)), int32(i)) {
			if len(s.Versions[u].in) > 1 {
				s.unsure = true
				for _, n := range out {
					s.Edges[n].unsure = true
				}
				break
			}
		}
	}
}

// ancestors returns all versions from which a path of edges leads to version v.
func (s *Scheme) ancestors(v int32) (out []int32) {
	todo := []int32{v}
	seen := map[int32]bool{}
	for len(todo) > 0 {
		v, todo = todo[len(todo)-1], todo[:len(todo)-1]
		for _, n := range s.Versions[v].in {
			if u := s.Edges[n].from; u >= 0 && !seen[u] {
				seen[u] = true
				out, todo = append(out, u), append(todo, u)
			}
		}
	}
	return out
}

// events groups edges into events: edges of one day that share a version are one event, and so are the transfers of one
// day between two versions.
func (b *builder) events(rows []EdgeRow) {
	s := b.s
	group := newGroups(len(s.Edges))
	for i := range s.Versions {
		for _, ns := range [...][]int32{s.Versions[i].in, s.Versions[i].out} {
			for _, n := range ns[min(1, len(ns)):] {
				group.join(ns[0], n)
			}
		}
	}
	between := map[[3]int32]int32{} // number of an edge, by day and the two versions, of transfers
	for i := range s.Edges {
		e := &s.Edges[i]
		if !e.transfer {
			continue
		}
		k := [3]int32{int32(e.date), min(e.from, e.to), max(e.from, e.to)}
		if first, ok := between[k]; ok {
			group.join(first, int32(i))
		} else {
			between[k] = int32(i)
		}
	}
	for k, n := range between { // who stays beside a transfer is part of it
		for _, v := range k[1:] {
			if i := s.stays(v, Date(k[0])); i >= 0 {
				group.join(n, i)
			}
		}
	}
	at := map[int32]int{}
	var ids []int32
	for i := range s.Edges {
		g := group.of(int32(i))
		if _, ok := at[g]; !ok {
			at[g] = len(ids)
			ids = append(ids, g)
		}
	}
	members := make([][]*Edge, len(ids))
	for i := range s.Edges {
		k := at[group.of(int32(i))]
		members[k] = append(members[k], &s.Edges[i])
	}
	s.Events = make([]Event, len(ids))
	for k, g := range ids {
		r := &rows[g]
		s.Events[k] = Event{Scheme: s.ID, Date: r.Date, Source: r.Source, Recorded: r.Recorded, Edges: members[k]}
		s.Events[k].Kind = kindOf(&s.Events[k], slices.ContainsFunc(members[k], func(e *Edge) bool {
			return e.transfer
		}))
	}
	slices.SortStableFunc(s.Events, func(x, y Event) int {
		return cmp.Or(cmp.Compare(x.Date, y.Date), cmp.Compare(x.firstCode(), y.firstCode()))
	})
	for k := range s.Events {
		e := &s.Events[k]
		id := s.ID + "-" + e.Date.String() + "-" + e.firstCode()
		e.ID = id
		for n := 2; s.byID[e.ID] != nil; n++ {
			e.ID = fmt.Sprintf("%s-%d", id, n)
		}
		s.byID[e.ID] = e
		e.Seq = b.numbers[e.ID]
		for _, x := range e.Edges {
			x.Event = e
		}
	}
}

// stays returns the number of the edge over which version v, which begins or ends on day d, continues unchanged; -1 if
// there is none. Such an edge holds how many people, or how much area, remained when a transfer left the division.
func (s *Scheme) stays(v int32, d Date) int32 {
	x := &s.Versions[v]
	edges := x.in
	if x.To == d {
		edges = x.out
	}
	if len(edges) == 1 && s.Edges[edges[0]].date == d && s.Edges[edges[0]].unchanged() {
		return edges[0]
	}
	return -1
}

// unchanged reports whether the edge links one version to one version that differs from it only in its days.
func (e *Edge) unchanged() bool {
	a, b := e.From, e.To
	return a != nil && b != nil && a.Code == b.Code && a.Name == b.Name && a.Parent == b.Parent && len(a.out) == 1 &&
		len(b.in) == 1
}

// firstCode returns the lowest code before the event, or "new-" and the lowest code after it if there is none before.
func (e *Event) firstCode() string {
	if b := e.Before(); len(b) > 0 {
		return b[0].Code
	}
	return "new-" + e.After()[0].Code
}

// kindOf returns the kind of an event, judged by the versions before and after it.
func kindOf(e *Event, transfer bool) Kind {
	before, after := e.Before(), e.After()
	stay := 0
	for _, v := range after {
		if slices.ContainsFunc(before, func(u *Version) bool { return u.Code == v.Code }) {
			stay++
		}
	}
	switch {
	case transfer:
		return Transfer
	case len(before) == 0:
		return Create
	case len(after) == 0:
		return End
	case len(before) == 1 && len(after) == 1 && stay == 0:
		return Renumber
	case len(before) == 1 && len(after) == 1 && before[0].Name == after[0].Name && before[0].Parent != after[0].Parent:
		return Reparent
	case len(before) == 1 && len(after) == 1:
		return Rename
	case len(before) < len(after):
		return Split
	case len(before) == len(after):
		return Transfer
	case stay == len(after):
		return Absorb
	}
	return Merge
}

// EdgeKinds returns the kinds of the event and of each of its edges, in the order of Kinds. If a reform includes a
// split, for example, Split is among them.
func (e *Event) EdgeKinds() []Kind {
	before, after := map[string]bool{}, map[string]bool{}
	for _, x := range e.Edges {
		if x.From != nil {
			before[x.From.Code] = true
		}
		if x.To != nil {
			after[x.To.Code] = true
		}
	}
	moves := func(x *Edge) bool {
		return x.transfer ||
			x.From != nil && x.To != nil && x.From.Code != x.To.Code && after[x.From.Code] && before[x.To.Code]
	}
	out, in := map[*Version]int{}, map[*Version]int{}
	for _, x := range e.Edges {
		if !moves(x) {
			out[x.From]++
			in[x.To]++
		}
	}
	found := map[Kind]bool{e.Kind: true}
	for _, x := range e.Edges {
		switch {
		case moves(x):
			found[Transfer] = true
		case x.From == nil:
			found[Create] = true
		case x.To == nil:
			found[End] = true
		case e.Kind == Transfer && x.unchanged():
		case out[x.From] == 1 && in[x.To] == 1:
			found[kindOf(&Event{Edges: []*Edge{x}}, false)] = true
		}
		if !moves(x) && x.From != nil && out[x.From] > 1 {
			found[Split] = true
		}
		if !moves(x) && x.To != nil && in[x.To] > 1 && before[x.To.Code] {
			found[Absorb] = true
		} else if !moves(x) && x.To != nil && in[x.To] > 1 {
			found[Merge] = true
		}
	}
	var kinds []Kind
	for _, k := range Kinds {
		if found[k] {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

// entities sets Version.Entity. Two versions that an edge links have the same entity if they have the same code, or if
// no other version takes part in the change.
func (b *builder) entities() {
	s := b.s
	group := newGroups(len(s.Versions))
	for i := range s.Edges {
		e := &s.Edges[i]
		if e.From == nil || e.To == nil || e.Event.Kind == Transfer && e.From.Code != e.To.Code {
			continue
		}
		if e.From.Code == e.To.Code || len(e.From.out) == 1 && len(e.To.in) == 1 {
			group.join(e.from, e.to)
		}
	}
	first := map[int32]*Version{}
	for i := range s.Versions {
		v, g := &s.Versions[i], group.of(int32(i))
		if f := first[g]; f == nil || v.From < f.From {
			first[g] = v
		}
	}
	for i := range s.Versions {
		f := first[group.of(int32(i))]
		s.Versions[i].Entity = fmt.Sprintf("%s-%s-%08d", s.ID, f.Code, f.From)
	}
}

// groups is a union-find structure: element i holds the parent of i.
type groups []int32

func newGroups(n int) groups {
	g := make(groups, n)
	for i := range g {
		g[i] = int32(i)
	}
	return g
}

func (g groups) of(i int32) int32 {
	for g[i] != i {
		g[i] = g[g[i]]
		i = g[i]
	}
	return i
}

func (g groups) join(i, j int32) {
	i, j = g.of(i), g.of(j)
	g[max(i, j)] = min(i, j)
}
