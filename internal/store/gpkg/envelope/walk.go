package envelope

import (
	"container/heap"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
)

// Walk returns the rows that may match in ascending or descending order of ids. It visits only boxes that may contain
// the next row.
type Walk struct {
	table *Table
	test  *cql2.Bounds
	reach orb.Bound
	from  int64 // first place to return
	back  bool
	none  []uint32 // remaining rows without geometry, if these match, in the direction
	nodes nodes
}

// node is an entry of the heap: a box of a tier, a row (tier -1), or a row without geometry (tier -2).
type node struct {
	next int64 // first place in it, in the direction
	tier int
	at   int
	t    cql2.Truth
}

// nodes is a heap by next, or with back by next in descending order.
type nodes struct {
	list []node
	back bool
}

func (h *nodes) Len() int { return len(h.list) }

func (h *nodes) Less(i, j int) bool {
	if h.back {
		i, j = j, i
	}
	return h.list[i].next < h.list[j].next
}

func (h *nodes) Swap(i, j int) { h.list[i], h.list[j] = h.list[j], h.list[i] }

func (h *nodes) Push(x any) { h.list = append(h.list, x.(node)) }

func (h *nodes) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	return last
}

// Walk returns a walk from a place on. none means that rows without geometry match.
func (t *Table) Walk(test *cql2.Bounds, reach orb.Bound, from int64, back, none bool) *Walk {
	f := &Walk{table: t, test: test, reach: reach, from: from, back: back, nodes: nodes{back: back}}
	f.begin(none)
	return f
}

// begin adds the top tier to the heap. matchesNone means that rows without geometry match.
func (f *Walk) begin(matchesNone bool) {
	if matchesNone {
		at, on := slices.BinarySearch(f.table.none, uint32(max(f.from, 0)))
		if f.none = f.table.none[at:]; f.back {
			if on {
				at++
			}
			f.none = slices.Clone(f.table.none[:at])
			slices.Reverse(f.none)
		}
		f.nextNone()
	}
	if top := len(f.table.tiers) - 2; top >= 0 {
		f.open(top, f.table.tiers[top], f.table.tiers[top+1], cql2.Null)
	}
}

func (f *Walk) nextNone() {
	if len(f.none) > 0 && f.from >= 0 {
		heap.Push(&f.nodes, node{next: int64(f.none[0]), tier: -2, t: cql2.True})
		f.none = f.none[1:]
	}
}

// open adds boxes of a tier to the heap; known is what is known about all of them.
func (f *Walk) open(tier, from, to int, known cql2.Truth) {
	w := search{Table: f.table, test: f.test, reach: f.reach}
	for i := from; i < to; i++ {
		low, high := f.table.span(tier, i)
		if f.back && low > f.from || !f.back && high < f.from {
			continue
		}
		if t := w.look(tier, i, known); t != cql2.False {
			n := node{next: max(low, f.from), tier: tier, at: i, t: t}
			if f.back {
				n.next = min(high, f.from)
			}
			if tier == 0 {
				n.tier = -1
			}
			heap.Push(&f.nodes, n)
		}
	}
}

// Next returns the next row; false if there is none.
func (f *Walk) Next() (Entry, bool) {
	for f.nodes.Len() > 0 {
		n := heap.Pop(&f.nodes).(node)
		switch {
		case n.tier == -2:
			f.nextNone()
			return Entry{n.next, n.t}, true
		case n.tier < 0:
			return Entry{n.next, n.t}, true
		}
		first := f.table.tiers[n.tier-1] + (n.at-f.table.tiers[n.tier])*fanout
		f.open(n.tier-1, first, min(first+fanout, f.table.tiers[n.tier]), n.t)
	}
	return Entry{}, false
}
