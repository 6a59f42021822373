package sqlq

import (
	"cmp"
	"slices"
)

// Moments are the times at which the versions of a layer start and end, each a text, or a number in any unit.
type Moments[T cmp.Ordered] struct {
	Starts, Ends []Instant[T] // sorted, without duplicates
	Inclusive    bool         // a version is still valid at its end
}

// Instant is a moment with the number of moments up to it.
type Instant[T cmp.Ordered] struct {
	At    T
	Until int
}

// Valid returns the number of versions that are valid at a moment.
func (x *Moments[T]) Valid(moment T) int {
	return upTo(x.Starts, moment, true) - upTo(x.Ends, moment, !x.Inclusive)
}

// upTo returns the number of moments before at; with equal ones if with is true.
func upTo[T cmp.Ordered](list []Instant[T], at T, with bool) int {
	i, found := slices.BinarySearchFunc(list, at, func(s Instant[T], at T) int { return cmp.Compare(s.At, at) })
	if found && with {
		i++
	}
	if i == 0 {
		return 0
	}
	return list[i-1].Until
}
