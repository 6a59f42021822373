package register

import "iter"

// Names yields the names of the first n drawn records.
func Names(seed uint64, n int) iter.Seq[string] {
	w := newWords()
	return func(yield func(string) bool) {
		for i := range n {
			c := newChain(seed, uint64(i))
			if !yield(w.name(&c).String()) {
				return
			}
		}
	}
}

// KindShares counts the kinds of the first n drawn records, in the order of the recipe.
func KindShares(seed uint64, n int) (counts [kinds]int) {
	w := newWords()
	for i := range n {
		c := newChain(seed, uint64(i))
		counts[w.name(&c).kind]++
	}
	return counts
}

// KindPercent is the share of each kind that the recipe asks for.
func KindPercent() (percent [kinds]int) {
	for k := range kindTable {
		percent[k] = kindTable[k].percent
	}
	return percent
}

// Mix, Permute, LocalID, AreaWeight and Respell are parts of the generator that have answers of their own.
var (
	Mix        = mix
	Permute    = permute
	LocalID    = localID
	AreaWeight = areaWeight
	Respell    = respell
)

// TestName is a name for DisplayName: each spelling is "text status".
type TestName struct {
	Spraak, Status string
	Spellings      [][2]string
	Prioritised    int // number of the prioritised spelling, from 1; 0 for none
}

// DisplayName is the display name of a place with these names.
func DisplayName(priority string, list ...TestName) string {
	var names []name
	for _, t := range list {
		n := name{spraak: t.Spraak, status: t.Status}
		for i, s := range t.Spellings {
			n.spellings = append(n.spellings, spelling{core: s[0], status: s[1], prioritert: i+1 == t.Prioritised})
		}
		names = append(names, n)
	}
	return displayName(names, priority)
}
