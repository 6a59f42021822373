package tile

// All lists every set. Nobody may change them; the caller owns the slice.
func All() []*Set {
	all := make([]*Set, len(sets))
	for i := range sets {
		all[i] = &sets[i]
	}
	return all
}
