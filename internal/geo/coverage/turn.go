package coverage

// faces are the faces between the arcs of a feature, for reading rings that cross themselves by the even-odd rule. Each
// arc occurs in both directions.
type faces struct {
	l    *Level
	refs []int32         // both directions of each arc
	next map[int32]int32 // next arc around the face on the left
	// whether the face on the left of an arc is inside by the even-odd rule; only for visited arcs
	odd map[int32]bool
}

// turned returns the arcs directed so that the inside, by the even-odd rule, is on their left.
func (l *Level) turned(refs []int32) []int32 {
	f := faces{l: l, next: map[int32]int32{}, odd: map[int32]bool{}}
	from := map[Point][]int32{}
	for _, r := range refs {
		f.refs = append(f.refs, r, ^r)
		first, _, _, last := l.ends(r)
		from[first] = append(from[first], r)
		from[last] = append(from[last], ^r)
	}
	for _, r := range f.refs {
		_, _, before, last := l.ends(r)
		f.next[r] = l.sharpest(from[last], last, before)
	}
	for _, r := range f.refs {
		if _, reached := f.odd[r]; !reached {
			f.spread(r)
		}
	}
	var out []int32
	for _, r := range f.refs {
		if f.odd[r] {
			out = append(out, r)
		}
	}
	return out
}

// spread visits all faces that are connected with an arc.
func (f *faces) spread(start int32) {
	var part []int32
	list := []int32{start}
	f.odd[start] = false
	for len(list) > 0 {
		r := list[len(list)-1]
		list = list[:len(list)-1]
		part = append(part, r)
		if _, reached := f.odd[^r]; !reached {
			f.odd[^r] = !f.odd[r]
			list = append(list, ^r)
		}
		if next := f.next[r]; next != noArc {
			if _, reached := f.odd[next]; !reached {
				f.odd[next] = f.odd[r]
				list = append(list, next)
			}
		}
	}
	if f.inverted(part) {
		for _, r := range part {
			f.odd[r] = !f.odd[r]
		}
	}
}

// inverted reports whether a connected part was visited with the wrong parity: the face around it, which is on the left
// of a clockwise walk, must be outside.
func (f *faces) inverted(part []int32) bool {
	in, done := map[int32]bool{}, map[int32]bool{}
	for _, r := range part {
		in[r] = true
	}
	for _, r := range part {
		if done[r] {
			continue
		}
		var walk []int32
		for x := r; x != noArc && !done[x]; x = f.next[x] {
			done[x] = true
			walk = append(walk, x)
		}
		if f.l.area(walk) >= 0 {
			continue
		}
		at, _, _, _ := f.l.ends(r)
		around := false
		for _, x := range f.refs {
			if x >= 0 && !in[x] && f.l.leftOf(x, at) {
				around = !around
			}
		}
		return f.odd[r] != around
	}
	return false
}

// leftOf reports whether an odd number of the arc's edges pass a position on its left.
func (l *Level) leftOf(r int32, p Point) (odd bool) {
	list := l.points[l.arcs[r]:l.arcs[r+1]]
	for i := 1; i < len(list); i++ {
		a, b := list[i-1], list[i]
		if b.Y < a.Y {
			a, b = b, a
		}
		if a.Y <= p.Y && p.Y < b.Y && cross(a, b, p) < 0 {
			odd = !odd
		}
	}
	return odd
}
