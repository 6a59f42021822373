package lexicon

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"slices"
)

// grams is a trigram index of texts: sequences of three bytes, each with the texts that contain it. The end of a text
// counts as a byte of its own.
type grams struct {
	codes [256]uint8 // code of each byte; the rarest bytes share one
	grams []uint32   // existing trigrams, ascending
	start []uint32   // offset of each trigram's list in texts, and the end
	texts []byte     // lists of ascending text numbers, as differences: binary.Uvarint
}

const (
	gramBits = 6
	codeEnd  = 0 // code of the end of a text
	codeRare = 1<<gramBits - 1
	allGrams = 1 << (3 * gramBits)
)

func (g *grams) size() int { return len(g.codes) + 4*(cap(g.grams)+cap(g.start)) + cap(g.texts) }

// newGrams builds the index of concatenated texts; nil if it needs more than room bytes.
func newGrams(text string, ends []uint32, room int) *grams {
	g := &grams{}
	g.code(text)
	last, sizes := make([]uint32, allGrams), make([]uint32, allGrams)
	g.each(text, ends, func(gram, at uint32) {
		if last[gram] != at {
			sizes[gram] += uint32(bits.Len32(at-last[gram])+6) / 7
			last[gram] = at
		}
	})
	all, some := uint64(0), 0
	for _, n := range sizes {
		all, some = all+uint64(n), some+min(int(n), 1)
	}
	if all+8*uint64(some)+3*4*allGrams > uint64(max(room, 0)) {
		return nil
	}
	g.grams, g.start, g.texts = make([]uint32, 0, some), make([]uint32, 0, some+1), make([]byte, all)
	next, at := make([]uint32, allGrams), uint32(0)
	for gram, n := range sizes {
		if next[gram] = at; n > 0 {
			g.grams, g.start = append(g.grams, uint32(gram)), append(g.start, at)
			at += n
		}
	}
	g.start = append(g.start, at)
	clear(last)
	g.each(text, ends, func(gram, at uint32) {
		if last[gram] != at {
			next[gram] += uint32(binary.PutUvarint(g.texts[next[gram]:], uint64(at-last[gram])))
			last[gram] = at
		}
	})
	return g
}

// code assigns a code to each byte of the texts.
func (g *grams) code(text string) {
	var counts [256]int
	for i := range len(text) {
		counts[text[i]]++
	}
	order := make([]int, 256)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return counts[b] - counts[a] })
	for i, b := range order {
		g.codes[b] = uint8(min(i+1, codeRare))
	}
}

// each calls fn with the trigrams of each text and its number plus 1.
func (g *grams) each(text string, ends []uint32, fn func(gram, at uint32)) {
	start := uint32(0)
	for i, end := range ends {
		if i&(1<<13-1) == 0 { // about every half millisecond
			runtime.Gosched()
		}
		gram := uint32(0)
		for at := start; at < end; at++ {
			gram = (gram<<gramBits | uint32(g.codes[text[at]])) & (allGrams - 1)
			if at >= start+2 {
				fn(gram, uint32(i+1))
			}
		}
		if end >= start+2 {
			fn(gram<<gramBits&(allGrams-1)|codeEnd, uint32(i+1))
		}
		start = end
	}
}

// of returns the trigram of three bytes; at the end of a text there may be two.
func (g *grams) of(b string) uint32 {
	gram := uint32(g.codes[b[0]])<<(2*gramBits) | uint32(g.codes[b[1]])<<gramBits
	if len(b) > 2 {
		gram |= uint32(g.codes[b[2]])
	}
	return gram
}

// exact reports whether no byte of s shares its code with another byte.
func (g *grams) exact(s string) bool {
	for i := range len(s) {
		if g.codes[s[i]] == codeRare {
			return false
		}
	}
	return true
}

// gramList iterates over the texts of a trigram.
type gramList struct {
	texts []byte // grams.texts
	at    int    // remaining range
	text  int    // last text; -1: none
}

// lists returns the lists of the trigrams from from to before to.
func (g *grams) lists(from, to uint32) (lists []gramList) {
	at, _ := slices.BinarySearch(g.grams, from)
	for ; at < len(g.grams) && g.grams[at] < to; at++ {
		lists = append(lists, gramList{g.texts[g.start[at]:g.start[at+1]], 0, -1})
	}
	return lists
}

// next advances to the next text; false if there is none.
func (l *gramList) next() bool {
	for i, shift := l.at, 0; i < len(l.texts); i, shift = i+1, shift+7 {
		b := l.texts[i]
		l.text += int(b&0x7f) << shift
		if b < 0x80 {
			l.at = i + 1
			return true
		}
	}
	return false
}

// gramPlan describes how to search for a pattern.
type gramPlan struct {
	lists []gramList // every match is in all of these lists or, with any, in one of them
	any   bool
	exact bool // the texts in the lists are exactly the matches
}

// plan returns how to search for a pattern; ok is false if the pattern is too short for trigrams.
func (g *grams) plan(p pattern) (plan gramPlan, ok bool) {
	all := func(gram uint32) {
		ok = true
		if lists := g.lists(gram, gram+1); len(lists) > 0 {
			plan.lists = append(plan.lists, lists[0])
		} else {
			plan.lists = append(plan.lists, gramList{}) // no text contains it
		}
	}
	for i, token := range p.Tokens {
		s := token.Text
		for at := 0; at+3 <= len(s); at++ {
			all(g.of(s[at : at+3]))
		}
		if i == len(p.Tokens)-1 && len(s) >= 2 {
			all(g.of(s[len(s)-2:]))
		}
	}
	plan.exact = p.part && len(p.Longest) <= 3 && g.exact(p.Longest)
	if ok { // use the two shortest
		slices.SortFunc(plan.lists, func(a, b gramList) int { return len(a.texts) - len(b.texts) })
		plan.lists = plan.lists[:min(len(plan.lists), 2)]
	} else if len(p.Longest) == 2 {
		ok, plan.any = true, true
		from := g.of(p.Longest)
		plan.lists = g.lists(from, from+1<<gramBits)
	}
	return plan, ok
}

// each calls fn with the texts in the lists until fn returns false. seen must be empty; it is used with any.
func (p *gramPlan) each(seen Set, fn func(text int) bool) {
	n := 0
	turn := func() {
		if n++; n&(1<<16-1) == 0 { // about every half millisecond
			runtime.Gosched()
		}
	}
	if p.any {
		for i := range p.lists {
			for l := &p.lists[i]; l.next(); turn() {
				if seen.Has(l.text) {
					continue
				}
				if seen.add(l.text); !fn(l.text) {
					return
				}
			}
		}
		return
	}
	l := &p.lists[0]
	if len(p.lists) == 1 {
		for ; l.next() && fn(l.text); turn() {
		}
		return
	}
	for other := &p.lists[1]; l.next(); turn() {
		for other.text < l.text {
			if !other.next() {
				return
			}
		}
		if other.text == l.text && !fn(l.text) {
			return
		}
	}
}
