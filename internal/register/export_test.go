package register

import (
	"iter"
	"strings"
)

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

// KindPercent is the share of each kind that the recipe requires.
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

func (b built) String() string {
	if b.modifier == "" {
		return b.core
	}
	return b.modifier + " " + b.core
}

// TableColumns returns the columns of each table that are written.
func TableColumns() map[string][]string {
	m := map[string][]string{}
	for _, t := range tables {
		m[t.name] = strings.Fields(t.columns)
	}
	return m
}
