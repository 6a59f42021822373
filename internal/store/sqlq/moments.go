package sqlq

import (
	"cmp"
	"slices"
)

// Moments are those at which the versions of a layer start and end, each a text, or a number of any unit and zero.
type Moments[T cmp.Ordered] struct {
	Starts, Ends []Instant[T] // in order, each moment once
	Inclusive    bool         // at its end a version is still valid
}

// Instant is a moment with the number of those up to it.
type Instant[T cmp.Ordered] struct {
	At    T
	Until int
}

// Valid is how many versions are valid at a moment.
func (x *Moments[T]) Valid(moment T) int {
	return upTo(x.Starts, moment, true) - upTo(x.Ends, moment, !x.Inclusive)
}

// upTo is the number of moments before at; with, of those that are at as well.
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
