package cache

import (
	"math/bits"
	"slices"
	"strings"
	"sync"
)

// Stats are the counters of a cache, and what it holds now.
type Stats struct {
	Name                    string
	Hits, Misses, Evictions uint64
	Bytes, Limit            int64 // size including overhead, and its limit
	Entries                 int64
	Making                  int64 // values being built in the background
}

// Group is a set of caches in a process. The zero value is an empty group without a budget; nil accepts no caches. It
// is safe for concurrent use.
type Group struct {
	mu      sync.Mutex
	members []member
	budget  int64 // 0: none
}

// member is a Cache of any type.
type member interface {
	Stats() Stats
	SetLimit(bytes int64)
	wanted() (bytes int64, fixed bool) // as in Options
}

// add adds a cache to the group permanently.
func (g *Group) add(m member) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = append(g.members, m)
	g.share()
}

// SetBudget limits the total size of all caches of the group, including later ones. If their Options ask for more, each
// gets proportionally less. 0 or less: no budget.
func (g *Group) SetBudget(bytes int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.budget = max(bytes, 0)
	g.share()
}

func (g *Group) share() {
	sum := int64(0)
	for _, m := range g.members {
		if n, fixed := m.wanted(); !fixed {
			sum += n
		}
	}
	for _, m := range g.members {
		n, fixed := m.wanted()
		if !fixed && g.budget > 0 && sum > g.budget {
			high, low := bits.Mul64(uint64(n), uint64(g.budget))
			part, _ := bits.Div64(high, low, uint64(sum)) // below budget, since n <= sum
			n = int64(part)
		}
		m.SetLimit(n)
	}
}

// Stats returns the statistics of all caches by name. Caches with the same name are added up.
func (g *Group) Stats() []Stats {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	members := slices.Clone(g.members)
	g.mu.Unlock()
	var list []Stats
	for _, m := range members {
		x := m.Stats()
		i, found := slices.BinarySearchFunc(list, x.Name, func(s Stats, name string) int {
			return strings.Compare(s.Name, name)
		})
		if !found {
			list = slices.Insert(list, i, x)
			continue
		}
		s := &list[i]
		s.Hits, s.Misses, s.Evictions = s.Hits+x.Hits, s.Misses+x.Misses, s.Evictions+x.Evictions
		s.Bytes, s.Limit, s.Entries = s.Bytes+x.Bytes, s.Limit+x.Limit, s.Entries+x.Entries
		s.Making += x.Making
	}
	return list
}
