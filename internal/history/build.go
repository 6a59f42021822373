package history

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Rows are the versions and edges of one scheme as they were read.
type Rows struct {
	Scheme   string
	Versions []VersionRow
	Edges    []EdgeRow
	Numbers  map[string]int64 // Event.Seq by id, of those that have one; may be nil
	Assumed  []string         // codes and days: took up others, and count as if they had been in use before
}

// VersionRow is a version in a table. Line is where it stands there, counted from 1.
type VersionRow struct {
	Line                             int
	Code, Name, ParentScheme, Parent string
	From, To                         Date
	Recorded                         string
}

// EdgeRow is an edge in a table. It leads from the version of the code From that ends on Date to the one of the code
// To that begins then; a transfer leads between versions that hold before and after it. Of are codes that were merged
// into From earlier and that To is made of.
type EdgeRow struct {
	Line             int
	Date             Date
	From, To         string
	Of               []string
	Loose            bool // of Of, codes that From is not known to be made of are passed over
	Transfer         bool
	People, Area     Count
	Units            int64
	Source, Recorded string
}

// Fault is what does not fit in a table.
type Fault struct {
	Line   int // counted from 1; 0 when it is of no one line
	Reason string
}

// Faults is an error of all that does not fit.
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

func (f *Faults) add(line int, format string, args ...any) {
	*f = append(*f, Fault{line, fmt.Sprintf(format, args...)})
}

// New builds a history of the rows of one or more schemes and checks that they fit together. An error is Faults with
// all that does not:
//   - a version begins before it ends, and no two of a code hold on the same day;
//   - an edge leads from a version that ends on its day to one that begins on it; a transfer links two that are valid
//     around its day;
//   - every version that ends is left by an edge, and every one that begins after the scheme does is reached by one;
//   - of the edges that leave a version, either all or none say how many people went, and so for the area;
//   - what an edge is said to be made of was merged into its version before.
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
	lines  []int // of versions

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
			b.faults.add(r.Line, "a version has no code")
		case r.To != 0 && r.To <= r.From:
			b.faults.add(r.Line, "%s begins on %s and ends on %s", r.Code, r.From, r.To)
		case i > 0 && rows[i-1].Code == r.Code && (rows[i-1].To == 0 || rows[i-1].To > r.From):
			b.faults.add(r.Line, "%s begins on %s, but is in use since %s", r.Code, r.From, rows[i-1].From)
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

// find returns the version of a code for which ok holds; -1 when there is none.
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
				b.faults.add(r.Line, "no version of %s ends on %s", r.From, r.Date)
				continue
			}
			e.From = &s.Versions[e.from]
		}
		if r.To != "" {
			e.to = b.find(r.To, func(v *Version) bool {
				return v.From == r.Date || r.Transfer && v.Holds(r.Date)
			})
			if e.to < 0 {
				b.faults.add(r.Line, "no version of %s begins on %s", r.To, r.Date)
				continue
			}
			e.To = &s.Versions[e.to]
		}
		switch pair := [2]int32{e.from, e.to}; {
		case e.From == nil && e.To == nil:
			b.faults.add(r.Line, "a change names no code")
			continue
		case seen[pair] && !r.Transfer:
			b.faults.add(r.Line, "%s to %s on %s stands twice", r.From, r.To, r.Date)
			continue
		default:
			seen[pair] = true
		}
		b.connect(int32(i), r.Transfer)
	}
}

// connect hangs an edge on its ends.
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

// mostNumber bounds people and area, beyond the square metres of the earth, so that their sums fit.
const mostNumber = 1_000_000_000_000_000

// check holds what concerns several rows.
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
			b.faults.add(b.lines[i], "%s ends on %s, and no change says what becomes of it", v.Code, v.To)
		}
		if v.From != s.begin && len(v.in) == 0 {
			b.faults.add(b.lines[i], "%s begins on %s, and no change says what it was", v.Code, v.From)
		}
		people, area := 0, 0
		for _, n := range v.out {
			e := &s.Edges[n]
			e.Part = len(v.out) > 1
			if min(e.People.N, e.Area.N, e.Units) < 0 || max(e.People.N, e.Area.N, e.Units) > mostNumber {
				b.faults.add(r.Edges[n].Line, "people and area are numbers from 0 to %d", mostNumber)
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
				b.faults.add(r.Edges[v.out[0]].Line,
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

// undone finds what each edge is made of, and with it the versions that paths over the other edges of its version do
// not pass.
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

// partsOf finds the versions that the edges that end a version are made of: of each code the latest one before it that
// does not hold a part of another edge.
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
				b.faults.add(rows[n].Line, "%s was never part of %s, so %s is not made of it", code,
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

// holdsPart reports whether a part of another edge than n went into version v before.
func (s *Scheme) holdsPart(v, n int32, out []int32, of [][]int32) bool {
	before := s.ancestors(v)
	return slices.ContainsFunc(out, func(other int32) bool {
		return other != n && slices.ContainsFunc(of[other], func(k int32) bool { return slices.Contains(before, k) })
	})
}

// divide forbids, on each of the edges that end a version, the versions that its other edges are made of. An edge
// without a list beside others that have one carries the rest: whatever else was merged into the version since.
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

// onOneWay reports whether a version became one of others, or one of them it.
func (s *Scheme) onOneWay(v int32, others []int32) bool {
	before := s.ancestors(v)
	return slices.ContainsFunc(others, func(k int32) bool {
		return slices.Contains(before, k) || slices.Contains(s.ancestors(k), v)
	})
}

// joined lists the versions that were merged into v, or into what became v, together with parts or what they became;
// parts are earlier versions of v. The list is without parts.
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

// unsure marks the edges of splits that may undo a merger where no edge says what it is made of.
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

// ancestors lists the versions from which edges lead to a version, at any distance.
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

// events makes events of edges of one day that share a version, and of the transfers between two versions.
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
	between := map[[3]int32]int32{} // transfers by day and both ends
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

// stays returns the edge by which a version that ends or begins on a day goes on unchanged; -1 if there is none. Such
// an edge says how many people, or how much area, a transfer left.
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

// unchanged reports whether the edge is the only one of both its ends, and they differ in their days only.
func (e *Edge) unchanged() bool {
	a, b := e.From, e.To
	return a != nil && b != nil && a.Code == b.Code && a.Name == b.Name && a.Parent == b.Parent && len(a.out) == 1 &&
		len(b.in) == 1
}

// firstCode is the least code before the event, else after it.
func (e *Event) firstCode() string {
	if b := e.Before(); len(b) > 0 {
		return b[0].Code
	}
	return "new-" + e.After()[0].Code
}

// kindOf returns the kind of an event by what is before and after it.
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

// EdgeKinds lists the kinds of an event and of each of its edges, in the order of Kinds: a split within a larger
// reform is there, too.
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

// entities names what versions are versions of: one goes on where nothing else takes part, and where its code stays.
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

// groups are disjoint sets of numbers.
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
