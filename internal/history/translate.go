package history

import (
	"cmp"
	"math/big"
	"slices"
	"time"
)

// step is a place on a path: a version, the edge that led there, and the step before.
type step struct {
	v, edge, prev int32
	sign          uint64 // of what on the path decides where it may go on
}

// walker follows edges; its zero value with a scheme is ready. It is for one goroutine.
type walker struct {
	s     *Scheme
	steps []step
}

// walk appends to dst each version at which a path from v arrives on day d, once.
func (w *walker) walk(v int32, d Date, dst []int32) []int32 {
	s := w.s
	w.steps = append(w.steps[:0], step{v, -1, -1, w.mark(0, v)})
	for i := 0; i < len(w.steps); i++ {
		at := w.steps[i]
		x := &s.Versions[at.v]
		switch {
		case x.Holds(d):
			if !slices.Contains(dst, at.v) {
				dst = append(dst, at.v)
			}
		case x.From > d:
			for _, n := range x.in {
				if u := s.Edges[n].from; u >= 0 && w.mayBack(int32(i), u) {
					w.push(step{u, n, int32(i), w.markEdge(at.sign, n)})
				}
			}
		default:
			for _, n := range x.out {
				if u := s.Edges[n].to; u >= 0 && w.mayOn(int32(i), n) {
					w.push(step{u, n, int32(i), w.mark(at.sign, u)})
				}
			}
		}
	}
	return dst
}

// push adds a step unless it is there with the same past.
func (w *walker) push(x step) {
	for i := range w.steps {
		if w.steps[i].v == x.v && w.steps[i].sign == x.sign {
			return
		}
	}
	w.steps = append(w.steps, x)
}

const mixer = 0x9E3779B97F4A7C15

// mark adds a version to what decides, if it does.
func (w *walker) mark(sign uint64, v int32) uint64 {
	if !w.s.Versions[v].tagged {
		return sign
	}
	return sign ^ uint64(v+1)*mixer
}

// markEdge adds an edge on the way back to what decides, if it does.
func (w *walker) markEdge(sign uint64, n int32) uint64 {
	if w.s.Edges[n].forbid == nil {
		return sign
	}
	return sign ^ ^uint64(n)*mixer
}

// mayOn reports whether the path to step i may go on over edge n.
func (w *walker) mayOn(i, n int32) bool {
	forbid := w.s.Edges[n].forbid
	if forbid == nil {
		return true
	}
	for ; i >= 0; i = w.steps[i].prev {
		if slices.Contains(forbid, w.steps[i].v) {
			return false
		}
	}
	return true
}

// mayBack reports whether the path back to step i may go on to version u.
func (w *walker) mayBack(i, u int32) bool {
	if !w.s.Versions[u].tagged {
		return true
	}
	for ; i >= 0; i = w.steps[i].prev {
		if n := w.steps[i].edge; n >= 0 && slices.Contains(w.s.Edges[n].forbid, u) {
			return false
		}
	}
	return true
}

// Match is what a code became, or was, on another day.
type Match struct {
	*Version
	Share  *big.Rat // how much of the division lies in it, by people; nil if that is not known
	Unsure bool     // a merger was undone on the way, and the source does not say which part came back to this one
}

// Translate describes what a code of day from stands for on day to, which may be before it, by code. Nothing is left of
// what ended and was before what began. The error is that of At on day from.
func (s *Scheme) Translate(code string, from, to Date) ([]*Version, error) {
	v, err := s.at(code, from)
	if err != nil {
		return nil, err
	}
	var room [16]int32
	found := s.reach(v, from, to, room[:0])
	out := make([]*Version, len(found))
	for i, n := range found {
		out[i] = &s.Versions[n]
	}
	return out, nil
}

// reach appends the numbers of the versions that v of day from is on day to, in order.
func (s *Scheme) reach(v int32, from, to Date, dst []int32) []int32 {
	if s.smaller != nil { // also where the code stays, since area may have moved

		if parts, ok := s.throughSmaller(v, from, to); ok {
			for _, n := range parts {
				dst = append(dst, n.v)
			}
			return dst
		}
	}
	if s.Versions[v].Holds(to) {
		return append(dst, v)
	}
	var room [40]step // enough for most, so that nothing is allocated
	w := walker{s: s, steps: room[:]}
	dst = w.walk(v, to, dst)
	slices.Sort(dst)
	return dst
}

// part is a version and how many divisions of the smaller scheme lead to it.
type part struct{ v, units int32 }

// throughSmaller translates a larger division by the smaller ones that belong to it; false when they name none on
// either day.
func (s *Scheme) throughSmaller(v int32, from, to Date) (out []part, ok bool) {
	code := s.Versions[v].Code
	for i := range s.smaller.Versions {
		u := &s.smaller.Versions[i]
		if u.Parent != code || !u.Holds(from) {
			continue
		}
		for _, n := range s.smaller.reach(int32(i), from, to, nil) {
			p, err := s.at(s.smaller.Versions[n].Parent, to)
			if err != nil {
				continue
			}
			k := slices.IndexFunc(out, func(x part) bool { return x.v == p })
			if k < 0 {
				k, out = len(out), append(out, part{v: p})
			}
			out[k].units++
		}
	}
	slices.SortFunc(out, func(a, b part) int { return cmp.Compare(a.v, b.v) })
	return out, len(out) > 0
}

// Matches is Translate with shares.
func (s *Scheme) Matches(code string, from, to Date) ([]Match, error) {
	v, err := s.at(code, from)
	if err != nil {
		return nil, err
	}
	found := s.reach(v, from, to, nil)
	out := make([]Match, len(found))
	unsure := s.unsureAt(v, to)
	for i, n := range found {
		out[i] = Match{Version: &s.Versions[n], Unsure: len(found) > 1 && slices.Contains(unsure, n)}
	}
	switch {
	case s.smaller == nil && len(s.lead(v, from, to).moves) > 0: // part of its territory moved
	case s.Versions[v].From > to && len(out) == 1 || s.smaller != nil && len(out) == 1:
		out[0].Share = big.NewRat(1, 1)
	case s.Versions[v].From <= to && s.smaller == nil:
		shares := s.sharesBy(v, to, func(e *Edge) Count { return e.People })
		for i, n := range found {
			if !out[i].Unsure {
				out[i].Share = shares[n]
			}
		}
	}
	return out, nil
}

// unsureAt lists the versions at which a path from v arrives on a day over an undone merger whose parts the source
// does not distinguish: v, or the version at the end, was only one of those merged.
func (s *Scheme) unsureAt(v int32, d Date) (out []int32) {
	if !s.unsure || s.smaller != nil {
		return nil
	}
	w := walker{s: s}
	for _, n := range w.walk(v, d, nil) {
		for i := range w.steps {
			if w.steps[i].v == n && w.isUnsure(int32(i)) {
				out = append(out, n)
				break
			}
		}
	}
	return out
}

// isUnsure reports whether the path to step i leads, in time, through a merger and then over a split that the source
// leaves open. A merger or split all of whose parts the walk has met is none: what was together at its start is
// together again.
func (w *walker) isUnsure(i int32) bool {
	back := w.s.Versions[w.steps[0].v].From > w.s.Versions[w.steps[i].v].From
	var edges []int32 // the last in time first
	for ; w.steps[i].prev >= 0; i = w.steps[i].prev {
		edges = append(edges, w.steps[i].edge)
	}
	if back {
		slices.Reverse(edges)
	}
	split := false
	for _, n := range edges {
		e := &w.s.Edges[n]
		split = split || e.unsure && !(back && w.hasMet(e.From.out))
		if split && e.to >= 0 && len(w.s.Versions[e.to].in) > 1 && (back || !w.hasMet(w.s.Versions[e.to].in)) {
			return true
		}
	}
	return false
}

// hasMet reports whether the walk has met both ends of all these edges.
func (w *walker) hasMet(edges []int32) bool {
	met := func(v int32) bool {
		return v < 0 || slices.ContainsFunc(w.steps, func(x step) bool { return x.v == v })
	}
	for _, n := range edges {
		if e := &w.s.Edges[n]; !met(e.from) || !met(e.to) {
			return false
		}
	}
	return true
}

// sharesBy follows the people, or the area, of a version forward to a day; of returns them of an edge. Versions whose
// share is not known are left out. Paths that meet go on together, so that the work grows with the versions.
func (s *Scheme) sharesBy(v int32, to Date, of func(*Edge) Count) map[int32]*big.Rat {
	w := &walker{s: s, steps: []step{{v, -1, -1, 0}}}
	w.steps[0].sign = w.mark(0, v)
	shares := []*big.Rat{big.NewRat(1, 1)} // that came to each step; nil: not known
	sum, unknown := map[int32]*big.Rat{}, map[int32]bool{}
	for todo := []int32{0}; len(todo) > 0; {
		k := w.earliest(todo)
		i := todo[k]
		todo = slices.Delete(todo, k, k+1)
		at := w.steps[i].v
		switch x := &s.Versions[at]; {
		case x.Holds(to) && shares[i] == nil:
			unknown[at] = true
		case x.Holds(to):
			sum[at] = plus(sum[at], shares[i])
		default:
			for _, p := range w.parted(i, shares[i], of) {
				j := slices.IndexFunc(w.steps, func(x step) bool { return x.v == p.v && x.sign == p.sign })
				switch {
				case j < 0:
					todo = append(todo, int32(len(w.steps)))
					w.steps, shares = append(w.steps, p.step), append(shares, p.share)
				case shares[j] == nil || p.share == nil:
					shares[j] = nil
				default:
					shares[j] = plus(shares[j], p.share)
				}
			}
		}
	}
	for v := range unknown {
		delete(sum, v)
	}
	return sum
}

// earliest is the place among todo of the step whose version begins first: all that comes to it has come.
func (w *walker) earliest(todo []int32) (k int) {
	for n, i := range todo {
		if w.s.Versions[w.steps[i].v].From < w.s.Versions[w.steps[todo[k]].v].From {
			k = n
		}
	}
	return k
}

// sharedStep is a step with the share that it takes along; nil when that is not known.
type sharedStep struct {
	step
	share *big.Rat
}

// parted are the steps by which step i goes on, with their parts of its share.
func (w *walker) parted(i int32, share *big.Rat, of func(*Edge) Count) (out []sharedStep) {
	x := &w.s.Versions[w.steps[i].v]
	var ways []int32
	people, known := int64(0), true
	for _, n := range x.out {
		if w.mayOn(i, n) {
			ways = append(ways, n)
			n := of(&w.s.Edges[n])
			people, known = people+n.N, known && n.Known
		}
	}
	for _, n := range ways {
		e := &w.s.Edges[n]
		if e.to < 0 {
			continue // what ends goes nowhere
		}
		next := share
		switch {
		case share == nil || isZero(share) || len(ways) == 1:
		case !known || people == 0 || len(ways) < len(x.out):
			next = nil
		default:
			next = new(big.Rat).Mul(share, big.NewRat(of(e).N, people))
		}
		out = append(out, sharedStep{step{v: e.to, edge: n, prev: i, sign: w.mark(w.steps[i].sign, e.to)}, next})
	}
	return out
}

// isZero reports whether a share is known to be 0.
func isZero(share *big.Rat) bool { return share != nil && share.Sign() == 0 }

// plus is a sum that is new; nil is 0.
func plus(a, b *big.Rat) *big.Rat {
	if a == nil {
		a = new(big.Rat)
	}
	return new(big.Rat).Add(a, b)
}

// A Table translates all codes of one day to another day. It is immutable.
type Table struct {
	scheme *Scheme
	codes  map[string][]string
	from   Date
}

// Table returns the translation of all codes of a day; some milliseconds, after which a code takes a look into a map.
func (s *Scheme) Table(from, to Date) *Table {
	t := &Table{scheme: s, codes: map[string][]string{}, from: from}
	for i := range s.Versions {
		if !s.Versions[i].Holds(from) {
			continue
		}
		found := s.reach(int32(i), from, to, nil)
		codes := make([]string, len(found))
		for k, n := range found {
			codes[k] = s.Versions[n].Code
		}
		t.codes[s.Versions[i].Code] = codes
	}
	return t
}

// Translate returns the codes that a code is on the other day, in order. Do not change the slice. Errors are those of
// Scheme.Translate.
func (t *Table) Translate(code string) ([]string, error) {
	if codes, ok := t.codes[code]; ok {
		return codes, nil
	}
	_, err := t.scheme.at(code, t.from)
	return nil, err
}

// Lineage lists the edges by which a version that holds on day from goes on to day until, or goes back to it, with
// the transfers that touched what it was on the way, by day. Of divisions that are translated through smaller ones it
// leaves out what they have no part in.
func (s *Scheme) Lineage(v *Version, from, until Date) (out []*Edge) {
	i, back := s.number(v), until < from
	take := func(n int32) {
		e := &s.Edges[n]
		if slices.Contains(out, e) {
			return
		}
		if s.smaller != nil {
			far, day := e.to, e.Event.Date
			if back {
				far, day = e.from, before(day)
			}
			if far < 0 || !slices.Contains(s.reach(i, from, day, nil), far) {
				return
			}
		}
		out = append(out, e)
	}
	w := walker{s: s}
	w.walk(i, until, nil)
	for _, x := range w.steps {
		if x.edge >= 0 {
			take(x.edge)
		}
		for _, n := range s.Versions[x.v].moves {
			if d := s.Edges[n].Event.Date; min(from, until) < d && d <= max(from, until) {
				take(n)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *Edge) int { return cmp.Compare(a.Event.Date, b.Event.Date) })
	return out
}

// before is the day before another.
func before(d Date) Date { return DateOf(d.Time(time.UTC).AddDate(0, 0, -1)) }

// following is the day after another.
func following(d Date) Date { return DateOf(d.Time(time.UTC).AddDate(0, 0, 1)) }

// number is the place of a version of the scheme in Versions.
func (s *Scheme) number(v *Version) int32 {
	r := s.byCode[v.Code]
	for i := r[0]; i < r[1]; i++ {
		if &s.Versions[i] == v {
			return i
		}
	}
	panic("history: the version is of another scheme")
}
