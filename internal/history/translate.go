package history

import (
	"cmp"
	"math/big"
	"slices"
	"time"
)

// step is a place on a path: a version, the edge that led to it, and the index of the previous step.
type step struct {
	v, edge, prev int32
	sign          uint64 // hash of the versions and edges on the path that restrict where it may lead
}

// walker finds paths through the edges of s. It is not safe for concurrent use.
type walker struct {
	s     *Scheme
	steps []step
}

// walk appends to dst, without duplicates, each version valid on day d that a path from v reaches.
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

// push adds a step unless there is one with the same version and sign.
func (w *walker) push(x step) {
	for i := range w.steps {
		if w.steps[i].v == x.v && w.steps[i].sign == x.sign {
			return
		}
	}
	w.steps = append(w.steps, x)
}

const mixer = 0x9E3779B97F4A7C15

// mark returns sign with version v included, if some edge forbids paths that passed v.
func (w *walker) mark(sign uint64, v int32) uint64 {
	if !w.s.Versions[v].tagged {
		return sign
	}
	return sign ^ uint64(v+1)*mixer
}

// markEdge returns sign with edge n included, if it forbids any version. It is for walks back in time.
func (w *walker) markEdge(sign uint64, n int32) uint64 {
	if w.s.Edges[n].forbid == nil {
		return sign
	}
	return sign ^ ^uint64(n)*mixer
}

// mayOn reports whether the path to step i may follow edge n, which forbids paths that passed certain versions.
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

// mayBack reports whether the path to step i, which goes back in time, may continue to version u. It may not if an edge
// on it forbids u.
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

// Match is one division that a code corresponds to on another day.
type Match struct {
	*Version
	Share  *big.Rat // share of the people of the original division that it has; nil if not known
	Unsure bool     // a merger was undone in between, and the source does not say which part went to this division
}

// Translate returns the versions on day to that correspond to a code on day from, ordered by code. to may be before
// from. Divisions that ended without a successor, or began without a predecessor, contribute none. The error is that of
// At for day from.
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

// reach appends to dst the indexes of the versions of day to that version v of day from became or was, in ascending
// order.
func (s *Scheme) reach(v int32, from, to Date, dst []int32) []int32 {
	if s.smaller != nil { // even if the code is unchanged, because area may have moved

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
	var room [40]step // enough for most walks, so that nothing is allocated
	w := walker{s: s, steps: room[:]}
	dst = w.walk(v, to, dst)
	slices.Sort(dst)
	return dst
}

// part is a version, and the number of divisions of the smaller scheme that lead to it.
type part struct{ v, units int32 }

// throughSmaller translates a larger division by translating the smaller ones that belong to it. ok is false if no
// smaller division leads to a larger one on day to.
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

// Matches is like Translate but also returns shares.
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

// unsureAt returns the versions of day d that a path from v reaches over an undone merger whose parts the source does
// not distinguish, where v, or the version reached, was only one of several that were merged.
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

// isUnsure reports whether the path to step i leads, in the order of time, through a merger and then over a split that
// may undo it. A merger or split does not count if the walk has visited all of its parts, because then all that was
// together at the start is together again.
func (w *walker) isUnsure(i int32) bool {
	back := w.s.Versions[w.steps[0].v].From > w.s.Versions[w.steps[i].v].From
	var edges []int32 // the latest first
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

// hasMet reports whether the walk has visited both versions of every edge in edges.
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

// sharesBy returns which share of the people, or of the area, of version v belongs to each version of the later day to.
// of returns the number of people, or the area, of an edge. Versions whose share is not known are missing. Paths that
// meet are combined, so that the time is proportional to the number of versions.
func (s *Scheme) sharesBy(v int32, to Date, of func(*Edge) Count) map[int32]*big.Rat {
	w := &walker{s: s, steps: []step{{v, -1, -1, 0}}}
	w.steps[0].sign = w.mark(0, v)
	shares := []*big.Rat{big.NewRat(1, 1)} // the share that reached each step; nil if not known
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

// earliest returns the index in todo of the step whose version begins first, so that all shares that lead to it have
// been added.
func (w *walker) earliest(todo []int32) (k int) {
	for n, i := range todo {
		if w.s.Versions[w.steps[i].v].From < w.s.Versions[w.steps[todo[k]].v].From {
			k = n
		}
	}
	return k
}

// sharedStep is a step and the share that it receives; nil if that is not known.
type sharedStep struct {
	step
	share *big.Rat
}

// parted returns the steps that follow step i, with the share of each.
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
			continue // no successor
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

// isZero reports whether a share is known and 0.
func isZero(share *big.Rat) bool { return share != nil && share.Sign() == 0 }

// plus returns a new number, a + b; nil counts as 0.
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

// Table builds the Table from day from to day to. That takes some milliseconds; each translation is then a map look-up.
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

// Translate returns the codes on the other day that correspond to a code, in ascending order. The caller must not
// modify the slice. Errors are those of Scheme.Translate.
func (t *Table) Translate(code string) ([]string, error) {
	if codes, ok := t.codes[code]; ok {
		return codes, nil
	}
	_, err := t.scheme.at(code, t.from)
	return nil, err
}

// Lineage returns, ordered by day, the edges on the paths from version v, which is valid on day from, to day until,
// which may be earlier. It includes transfers that changed the territory on the way. For divisions that are translated
// through smaller ones, it leaves out edges in which these take no part.
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

// before returns the previous day.
func before(d Date) Date { return DateOf(d.Time(time.UTC).AddDate(0, 0, -1)) }

// number returns the index of a version in s.Versions.
func (s *Scheme) number(v *Version) int32 {
	r := s.byCode[v.Code]
	for i := r[0]; i < r[1]; i++ {
		if &s.Versions[i] == v {
			return i
		}
	}
	panic("history: the version is of another scheme")
}
