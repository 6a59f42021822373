package history

import (
	"cmp"
	"math/big"
	"slices"
)

// Transfers move territory between divisions that continue to exist. The translation of codes ignores them, because a
// division remains the same when it loses a part. The conversion of values (Series) follows them, because a value of
// one division then belongs to two.

// lead holds the divisions of one day that cover the territory of a version of another day.
type lead struct {
	to    []int32 // indexes of versions, sorted
	moves []int32 // indexes of the transfers on the way
	lost  bool    // a part has no counterpart: it ended without a successor, or began without a predecessor
}

// lead returns the versions valid on day to that have territory of version v, which is valid on day from. It follows
// transfers.
func (s *Scheme) lead(v int32, from, to Date) lead {
	if s.smaller != nil {
		l := lead{to: s.reach(v, from, to, nil)}
		s.leadSmaller(&l, v, from, to)
		slices.Sort(l.to)
		return l
	}
	f := flow{walker: walker{s: s}, from: from, to: to}
	f.walk(v)
	l := lead{}
	for i, x := range f.steps {
		if u := &s.Versions[x.v]; u.Holds(to) && !slices.Contains(l.to, x.v) {
			l.to = append(l.to, x.v)
		} else if !u.Holds(to) {
			l.lost = l.lost || s.loses(u, f.back())
		}
		if m := f.entered[i].move; m >= 0 {
			l.moves = append(l.moves, m)
		}
	}
	slices.Sort(l.to)
	return l
}

// loses reports whether a part of a version has no successor; if back is set, no predecessor.
func (s *Scheme) loses(v *Version, back bool) bool {
	if back {
		return len(v.in) == 0 || slices.ContainsFunc(v.in, func(n int32) bool { return s.Edges[n].from < 0 })
	}
	return len(v.out) == 0 || slices.ContainsFunc(v.out, func(n int32) bool { return s.Edges[n].to < 0 })
}

// leadSmaller adds to l.to the larger divisions that, on day to, contain territory that the smaller divisions of v lost
// by transfers.
func (s *Scheme) leadSmaller(l *lead, v int32, from, to Date) {
	if !s.smaller.moved {
		return
	}
	for i := range s.smaller.Versions {
		u := &s.smaller.Versions[i]
		if u.Parent != s.Versions[v].Code || !u.Holds(from) {
			continue
		}
		x := s.smaller.lead(int32(i), from, to)
		if x.moves == nil {
			continue
		}
		for _, n := range x.to {
			if p, err := s.at(s.smaller.Versions[n].Parent, to); err == nil && !slices.Contains(l.to, p) {
				l.to = append(l.to, p)
			}
		}
	}
}

// flow is a walker that also follows transfers. Set from and to before use.
type flow struct {
	walker
	from, to Date
	entered  []entry // the entry of each step
}

// entry holds the day on which a path reached a step, and the transfer over which it did; -1 if over none. When the
// walk goes back in time, the day is the last one that the path spends at the step; otherwise the first.
type entry struct {
	day  Date
	move int32
}

func (f *flow) back() bool { return f.to < f.from }

// add returns the index of the step with these properties, and adds the step if there is none. known reports whether it
// existed.
func (f *flow) add(x step, e entry) (i int32, known bool) {
	for i := range f.steps {
		if f.steps[i].v == x.v && f.steps[i].sign == x.sign && f.entered[i].day == e.day {
			return int32(i), true
		}
	}
	f.steps, f.entered = append(f.steps, x), append(f.entered, e)
	return int32(len(f.steps) - 1), false
}

// walk adds all steps that can be reached from version v.
func (f *flow) walk(v int32) {
	f.add(step{v, -1, -1, f.mark(0, v)}, entry{f.from, -1})
	for i := int32(0); int(i) < len(f.steps); i++ {
		for _, m := range f.movesFrom(i) {
			f.add(f.over(m))
		}
		for _, x := range f.next(i) {
			f.add(x, f.entry(x))
		}
	}
}

// movesFrom returns the transfers by which the version of step i loses territory during the walk, in the order of the
// walk.
func (f *flow) movesFrom(i int32) (out []int32) {
	at, day := f.steps[i].v, f.entered[i].day
	for _, n := range f.s.Versions[at].moves {
		e := &f.s.Edges[n]
		d := e.date
		switch {
		case e.from < 0 || e.to < 0:
		case f.back() && e.to == at && f.to < d && d <= day, !f.back() && e.from == at && day < d && d <= f.to:
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b int32) int {
		c := cmp.Compare(f.s.Edges[a].date, f.s.Edges[b].date)
		if f.back() {
			return -c
		}
		return c
	})
	return out
}

// over returns the step over transfer m. It starts with no past, because territory that moved belongs to the other
// division from then on, whatever it belonged to before.
func (f *flow) over(m int32) (step, entry) {
	e := &f.s.Edges[m]
	if f.back() {
		return step{e.from, -1, -1, 0}, entry{before(e.date), m}
	}
	return step{e.to, -1, -1, f.mark(0, e.to)}, entry{e.date, m}
}

// next returns the steps that follow step i over edges that are not transfers; none if its version is valid at the end
// of the walk, or has no successor.
func (f *flow) next(i int32) (out []step) {
	at := f.steps[i]
	x := &f.s.Versions[at.v]
	switch {
	case x.Holds(f.to):
	case f.back():
		for _, n := range x.in {
			if u := f.s.Edges[n].from; u >= 0 && f.mayBack(i, u) {
				out = append(out, step{u, n, i, f.markEdge(at.sign, n)})
			}
		}
	default:
		for _, n := range x.out {
			if u := f.s.Edges[n].to; u >= 0 && f.mayOn(i, n) {
				out = append(out, step{u, n, i, f.mark(at.sign, u)})
			}
		}
	}
	return out
}

// entry returns the entry of a step over an edge that is not a transfer.
func (f *flow) entry(x step) entry {
	if d := f.s.Edges[x.edge].date; f.back() {
		return entry{before(d), -1}
	} else {
		return entry{d, -1}
	}
}

// movedShares returns which share of the value of version p belongs to each version of day to. Versions whose share is
// not known are missing. If transfers left the division, the people who moved are divided by the number of people who
// stayed and moved if that is known; otherwise by the value itself, which then must be a number of people.
func (b *seriesBlock) movedShares(p int32, to Date) map[int32]*big.Rat {
	f := flow{walker: walker{s: b.x.s}, from: b.date, to: to}
	f.add(step{p, -1, -1, f.mark(0, p)}, entry{b.date, -1})
	shares := []*big.Rat{big.NewRat(1, 1)} // the share that reached each step; nil if not known
	give := func(x step, e entry, share *big.Rat) (fresh int32) {
		i, known := f.add(x, e)
		switch {
		case !known:
			shares = append(shares, share)
			return i
		case shares[i] == nil || share == nil:
			shares[i] = nil
		default:
			shares[i] = plus(shares[i], share)
		}
		return -1
	}
	sum, unknown := map[int32]*big.Rat{}, map[int32]bool{}
	for todo := []int32{0}; len(todo) > 0; {
		k := f.first(todo)
		i := todo[k]
		todo = slices.Delete(todo, k, k+1)
		push := func(x step, e entry, share *big.Rat) {
			if n := give(x, e, share); n >= 0 {
				todo = append(todo, n)
			}
		}
		rest := shares[i]
		for _, m := range f.movesFrom(i) {
			gone := b.gone(&f, m)
			var part *big.Rat
			switch {
			case isZero(rest): // nothing is left to move, however large the part
				part = rest
			case rest != nil && gone != nil:
				part = new(big.Rat).Mul(rest, gone)
				rest = new(big.Rat).Sub(rest, part)
			default:
				rest = nil
			}
			x, e := f.over(m)
			push(x, e, part)
		}
		at := f.steps[i].v
		switch holds := b.x.s.Versions[at].Holds(to); {
		case holds && rest == nil:
			unknown[at] = true
		case holds:
			sum[at] = plus(sum[at], rest)
		case f.back():
			ways := f.next(i)
			if len(ways) > 1 && !isZero(rest) {
				rest = nil
			}
			for _, x := range ways {
				push(x, f.entry(x), rest)
			}
		default:
			for _, x := range f.parted(i, rest, b.x.weightOf()) {
				push(x.step, f.entry(x.step), x.share)
			}
		}
	}
	for v := range unknown {
		delete(sum, v)
	}
	return sum
}

// first returns the index in todo of the step that the walk reaches first, so that all shares that lead to it have been
// added.
func (f *flow) first(todo []int32) (k int) {
	for n, i := range todo {
		a, b := f.entered[i].day, f.entered[todo[k]].day
		if f.back() && a > b || !f.back() && a < b {
			k = n
		}
	}
	return k
}

// gone returns the share of a division that transfer m removed from it; nil if not known. A transfer of 0 people or
// square metres removes 0 even if the total is not known.
func (b *seriesBlock) gone(f *flow, m int32) *big.Rat {
	e := &b.x.s.Edges[m]
	of := b.x.weightOf()
	at, day := e.from, before(e.date)
	if f.back() {
		at, day = e.to, e.date
	}
	moved := of(e)
	switch {
	case !moved.Known:
		return nil
	case moved.N == 0:
		return new(big.Rat)
	}
	total := b.stayed(at, e.date, of)
	if total == nil && b.x.o.Weights == PopulationWeights {
		total = b.within(at, day)
	}
	share := big.NewRat(moved.N, 1)
	if total == nil || total.Cmp(share) < 0 {
		return nil
	}
	return share.Quo(share, total)
}

// stayed returns the people or the area of version at, which ends on day d, as the sum over all edges that leave it;
// nil if one of these numbers is not known.
func (b *seriesBlock) stayed(at int32, d Date, of func(*Edge) Count) *big.Rat {
	v, sum := &b.x.s.Versions[at], int64(0)
	if v.To != d {
		return nil
	}
	out := slices.Clone(v.out)
	for _, n := range v.moves {
		if e := &b.x.s.Edges[n]; e.from == at && e.date == d {
			out = append(out, n)
		}
	}
	for _, n := range out {
		x := of(&b.x.s.Edges[n])
		if !x.Known {
			return nil
		}
		sum += x.N
	}
	return big.NewRat(sum, 1)
}

// within returns the sum of the values in version at on a day; nil if one of them is not known.
func (b *seriesBlock) within(at int32, day Date) *big.Rat {
	k := placeOn{at, day}
	if got, ok := b.sums[k]; ok {
		return got
	}
	var sum *big.Rat
	for _, q := range b.x.s.lead(at, day, b.date).to {
		v, ok := b.value(q)
		if !ok {
			sum = nil
			break
		}
		var shares map[int32]*big.Rat
		if b.x.s.lead(q, b.date, day).moves == nil && !b.back(day) {
			shares = b.x.s.sharesBy(q, day, b.x.weightOf())
		} else {
			shares = b.movedShares(q, day)
		}
		share := shares[at]
		if share == nil {
			sum = nil
			break
		}
		sum = plus(sum, share.Mul(share, v.rat()))
	}
	if b.sums == nil {
		b.sums = map[placeOn]*big.Rat{}
	}
	b.sums[k] = sum
	return sum
}

func (b *seriesBlock) back(day Date) bool { return day < b.date }

// placeOn is a version and a day.
type placeOn struct {
	v   int32
	day Date
}

// weightOf returns the function that reads the people or the area of an edge, depending on SeriesOptions.Weights.
func (x *Series) weightOf() func(*Edge) Count {
	if x.o.Weights == AreaWeights {
		return func(e *Edge) Count { return e.Area }
	}
	return func(e *Edge) Count { return e.People }
}
