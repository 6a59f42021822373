package lexicon

import (
	"iter"
	"math/bits"
	"runtime"
	"slices"
	"sort"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store/sqlq"
)

// Spellings is an index in memory for patterns that no ordered index serves. It contains the distinct folded texts of a
// property, sorted, and the rows with each text: rows of the layer, or of a relation by their owner's id. The texts are
// far fewer than the rows, so that searching them is fast. It is immutable.
type Spellings struct {
	text  string    // all texts, concatenated
	ends  []uint32  // end of each text in text
	from  []uint32  // first row of each text, and the number of rows
	rows  []spelled // by text
	first []uint64  // bit set of the first row of each text
	nth   []uint32  // by word of first: number of texts that begin before it
	byID  []uint32  // indexes of rows, by id, then by text
	base  int64     // smallest id
	high  []uint32  // upper bits of id-base of each row; nil: all 0
	grams *grams    // trigrams of the texts
}

// spelled is a row: the lower 32 bits of id-base, and its position in the order.
type spelled struct {
	id    uint32
	order int32
}

// Size returns the memory of the index in bytes.
func (t *Spellings) Size() int {
	n := len(t.text) + 4*(cap(t.ends)+cap(t.from)+cap(t.nth)+cap(t.byID)+cap(t.high)) + 8*(cap(t.rows)+cap(t.first))
	if t.grams != nil {
		n += t.grams.size()
	}
	return n
}

// ID returns the id of a row.
func (t *Spellings) ID(row uint32) int64 {
	id := uint64(t.rows[row].id)
	if t.high != nil {
		id |= uint64(t.high[row]) << 32
	}
	return t.base + int64(id)
}

// Len returns the number of rows.
func (t *Spellings) Len() int { return len(t.rows) }

// Order returns the position of a row in the order.
func (t *Spellings) Order(row uint32) int64 { return int64(t.rows[row].order) }

// textOf returns the number of a row's text.
func (t *Spellings) textOf(row uint32) int {
	return int(t.nth[row>>6]) + bits.OnesCount64(t.first[row>>6]&(2<<(row&63)-1)) - 1
}

// countTexts builds the bit set for textOf.
func (t *Spellings) countTexts() {
	t.first, t.nth = make([]uint64, len(t.rows)/64+1), make([]uint32, len(t.rows)/64+1)
	for _, row := range t.from[:len(t.ends)] {
		t.first[row>>6] |= 1 << (row & 63)
	}
	n := 0
	for i, word := range t.first {
		t.nth[i] = uint32(n)
		n += bits.OnesCount64(word)
	}
}

func (t *Spellings) at(i int) string {
	start := uint32(0)
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.text[start:t.ends[i]]
}

// copied returns copies of texts.
func (t *Spellings) copied(list []uint32) []string {
	size := 0
	for _, i := range list {
		size += len(t.at(int(i)))
	}
	all, ends := make([]byte, 0, size), make([]int, len(list))
	for at, i := range list {
		all = append(all, t.at(int(i))...)
		ends[at] = len(all)
	}
	texts, text, start := make([]string, len(list)), string(all), 0
	for at, end := range ends {
		texts[at], start = text[start:end], end
	}
	return texts
}

// Set is a bit set of text numbers.
type Set []uint64

func (s Set) add(i int) { s[i>>6] |= 1 << (i & 63) }

// Has reports whether the set has text i.
func (s Set) Has(i int) bool { return s[i>>6]>>(i&63)&1 != 0 }

// Find returns the texts that match a condition, for which FieldOf returns a field.
func (t *Spellings) Find(e cql2.Expr) Set {
	s := make(Set, len(t.ends)/64+1)
	t.add(s, e)
	return s
}

// add adds the texts that match a condition to a set.
func (t *Spellings) add(s Set, e cql2.Expr) {
	switch e := e.(type) {
	case cql2.And:
		var all Set
		for i, x := range e {
			for j, bits := range t.Find(x) {
				if i == 0 {
					all = append(all, bits)
				} else {
					all[j] &= bits
				}
			}
		}
		for j, bits := range all {
			s[j] |= bits
		}
	case cql2.Or:
		for _, x := range e {
			t.add(s, x)
		}
	case cql2.Not:
		for j, bits := range t.Find(e.X) {
			s[j] |= ^bits
		}
	case cql2.Like:
		t.like(e, func(i int) bool { s.add(i); return true })
	}
}

// each calls fn with each text that matches a condition, once, until fn returns false.
func (t *Spellings) each(e cql2.Expr, fn func(i int) bool) {
	if and, ok := e.(cql2.And); ok && len(and) == 1 {
		e = and[0]
	}
	switch e := e.(type) {
	case cql2.Like:
		t.like(e, fn)
		return
	case cql2.Or:
		t.some(e, fn)
		return
	}
	for j, left := range t.Find(e) {
		for ; left != 0; left &= left - 1 {
			if i := j<<6 + bits.TrailingZeros64(left); i >= len(t.ends) || !fn(i) {
				// a complement may have bits beyond the last text
				return
			}
		}
	}
}

// some is each for an OR. It stops searching as soon as fn returns false.
func (t *Spellings) some(e cql2.Or, fn func(i int) bool) {
	seen, more := make(Set, len(t.ends)/64+1), true
	for _, x := range e {
		t.each(x, func(i int) bool {
			if !seen.Has(i) {
				seen.add(i)
				more = fn(i)
			}
			return more
		})
		if !more {
			return
		}
	}
}

// EachRow calls fn with each row whose text matches a condition, until fn returns false.
func (t *Spellings) EachRow(e cql2.Expr, fn func(row uint32) bool) {
	t.each(e, func(i int) bool {
		for row := t.from[i]; row < t.from[i+1]; row++ {
			if !fn(row) {
				return false
			}
		}
		return true
	})
}

// TextsLike returns the texts that match a condition; more if they have more than limit rows.
func (t *Spellings) TextsLike(e cql2.Expr, limit int) (texts []string, more bool) {
	n, list := 0, []uint32(nil)
	t.each(e, func(i int) bool {
		list, n = append(list, uint32(i)), n+int(t.from[i+1]-t.from[i])
		return n <= limit
	})
	if n > limit {
		return nil, true
	}
	return t.copied(list), false
}

// TextsOfRows returns the distinct texts of rows; more if there are more than limit rows.
func (t *Spellings) TextsOfRows(rows iter.Seq[uint32], limit int) (texts []string, more bool) {
	n, list := 0, []uint32(nil)
	seen := make(Set, len(t.ends)/64+1)
	for row := range rows {
		if i := t.textOf(row); !seen.Has(i) {
			seen.add(i)
			list = append(list, uint32(i))
		}
		if n++; n > limit {
			return nil, true
		}
	}
	return t.copied(list), false
}

// pattern is a pattern of LIKE.
type pattern struct {
	sqlq.Pattern
	part  bool // the pattern matches a part anywhere in the text
	match func(text string) bool
}

func newPattern(e cql2.Like) (p pattern) {
	pattern, _ := sqlq.PatternText(e.Pattern)
	p.Pattern, _ = sqlq.SplitPattern(pattern)
	match := cql2.LikeFolded("", pattern)
	p.match = func(text string) bool { return strings.Contains(text, p.Longest) && match(text) }
	if n := len(p.Tokens); n == 3 && p.Tokens[0].Wild == '%' && p.Tokens[1].Text != "" && p.Tokens[2].Wild == '%' {
		p.part, p.match = true, func(text string) bool { return strings.Contains(text, p.Longest) }
	}
	return p
}

// Test returns a function that reports whether a text, by number, matches a condition. For few texts it is faster than
// Find.
func (t *Spellings) Test(e cql2.Expr) func(i int) bool {
	tests := func(list []cql2.Expr) (out []func(int) bool) {
		for _, x := range list {
			out = append(out, t.Test(x))
		}
		return out
	}
	switch e := e.(type) {
	case cql2.And:
		all := tests(e)
		return func(i int) bool { return !slices.ContainsFunc(all, func(f func(int) bool) bool { return !f(i) }) }
	case cql2.Or:
		some := tests(e)
		return func(i int) bool { return slices.ContainsFunc(some, func(f func(int) bool) bool { return f(i) }) }
	case cql2.Not:
		x := t.Test(e.X)
		return func(i int) bool { return !x(i) }
	case cql2.Like:
		p := newPattern(e)
		return func(i int) bool { return p.match(t.at(i)) }
	}
	return func(int) bool { return false }
}

// like calls fn with each text that matches a pattern, once, until fn returns false.
func (t *Spellings) like(e cql2.Like, fn func(i int) bool) {
	p := newPattern(e)
	if p.Prefix == "" {
		if plan, ok := t.grams.plan(p); ok {
			var seen Set
			if plan.any {
				seen = make(Set, len(t.ends)/64+1)
			}
			plan.each(seen, func(i int) bool { return !plan.exact && !p.match(t.at(i)) || fn(i) })
			return
		}
	}
	from, to := t.beginning(p.Prefix)
	for i := from; i < to; i++ {
		if i&(1<<14-1) == 0 { // about every half millisecond
			runtime.Gosched()
		}
		if p.match(t.at(i)) && !fn(i) {
			return
		}
	}
}

// Of returns the rows with some ids, which must be sorted.
func (t *Spellings) Of(ids []int64) (rows []uint32) {
	at := 0
	for i, id := range ids {
		if i&(1<<10-1) == 0 { // at most every half millisecond
			runtime.Gosched()
		}
		step := 1
		for at+step < len(t.byID) && t.ID(t.byID[at+step]) < id {
			at, step = at+step, 2*step
		}
		near := t.byID[at:min(at+step+1, len(t.byID))]
		for at += sort.Search(len(near), func(i int) bool {
			return t.ID(near[i]) >= id
		}); at < len(t.byID) && t.ID(t.byID[at]) == id; at++ {
			rows = append(rows, t.byID[at])
		}
	}
	return rows
}

// beginning returns the range of texts with a prefix.
func (t *Spellings) beginning(prefix string) (from, to int) {
	n := len(t.ends)
	if prefix == "" {
		return 0, n
	}
	from = sort.Search(n, func(i int) bool { return t.at(i) >= prefix })
	return from, from + sort.Search(n-from, func(i int) bool { return !strings.HasPrefix(t.at(from+i), prefix) })
}

// Among yields those of rows whose text is wanted.
func (t *Spellings) Among(rows []uint32, wanted func(text int) bool) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		last, holds := -1, false
		for at, row := range rows {
			if at&(1<<13-1) == 0 { // at most every half millisecond
				runtime.Gosched()
			}
			if i := t.textOf(row); i != last {
				last, holds = i, wanted(i)
			}
			if holds && !yield(row) {
				return
			}
		}
	}
}
