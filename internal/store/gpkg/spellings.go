package gpkg

import (
	"bytes"
	"cmp"
	"context"
	"iter"
	"math/bits"
	"runtime"
	"slices"
	"sort"
	"strings"

	"grense/internal/cql2"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// spellings is an index in memory for patterns that no ordered index serves. It contains the distinct folded texts of a
// property, sorted, and the rows with each text: rows of the layer, or of a relation by their owner's id. The texts are
// far fewer than the rows, so that searching them is fast. It is built in the background on first use if it fits into
// Options.TypeAhead; until then SQLite answers. It is immutable.
type spellings struct {
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

func (t *spellings) size() int {
	n := len(t.text) + 4*(cap(t.ends)+cap(t.from)+cap(t.nth)+cap(t.byID)+cap(t.high)) + 8*(cap(t.rows)+cap(t.first))
	if t.grams != nil {
		n += t.grams.size()
	}
	return n
}

// id returns the id of a row.
func (t *spellings) id(row uint32) int64 {
	id := uint64(t.rows[row].id)
	if t.high != nil {
		id |= uint64(t.high[row]) << 32
	}
	return t.base + int64(id)
}

// textOf returns the number of a row's text.
func (t *spellings) textOf(row uint32) int {
	return int(t.nth[row>>6]) + bits.OnesCount64(t.first[row>>6]&(2<<(row&63)-1)) - 1
}

// countTexts builds the bit set for textOf.
func (t *spellings) countTexts() {
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

func (t *spellings) at(i int) string {
	start := uint32(0)
	if i > 0 {
		start = t.ends[i-1]
	}
	return t.text[start:t.ends[i]]
}

// copied returns copies of texts.
func (t *spellings) copied(list []uint32) []string {
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

// textSet is a bit set of text numbers.
type textSet []uint64

func (s textSet) add(i int)      { s[i>>6] |= 1 << (i & 63) }
func (s textSet) has(i int) bool { return s[i>>6]>>(i&63)&1 != 0 }

// find returns the texts that match a condition, for which isSpelled is true.
func (t *spellings) find(e cql2.Expr) textSet {
	s := make(textSet, len(t.ends)/64+1)
	t.add(s, e)
	return s
}

// add adds the texts that match a condition to a set.
func (t *spellings) add(s textSet, e cql2.Expr) {
	switch e := e.(type) {
	case cql2.And:
		var all textSet
		for i, x := range e {
			for j, bits := range t.find(x) {
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
		for j, bits := range t.find(e.X) {
			s[j] |= ^bits
		}
	case cql2.Like:
		t.like(e, func(i int) bool { s.add(i); return true })
	}
}

// each calls fn with each text that matches a condition, once, until fn returns false.
func (t *spellings) each(e cql2.Expr, fn func(i int) bool) {
	switch e := only(e).(type) {
	case cql2.Like:
		t.like(e, fn)
		return
	case cql2.Or:
		t.some(e, fn)
		return
	}
	for j, left := range t.find(e) {
		for ; left != 0; left &= left - 1 {
			if i := j<<6 + bits.TrailingZeros64(left); i >= len(t.ends) || !fn(i) {
				// a complement may have bits beyond the last text
				return
			}
		}
	}
}

// some is each for an OR. It stops searching as soon as fn returns false.
func (t *spellings) some(e cql2.Or, fn func(i int) bool) {
	seen, more := make(textSet, len(t.ends)/64+1), true
	for _, x := range e {
		t.each(x, func(i int) bool {
			if !seen.has(i) {
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

// eachRow calls fn with each row whose text matches a condition, until fn returns false.
func (t *spellings) eachRow(e cql2.Expr, fn func(row uint32) bool) {
	t.each(e, func(i int) bool {
		for row := t.from[i]; row < t.from[i+1]; row++ {
			if !fn(row) {
				return false
			}
		}
		return true
	})
}

// spelledPattern is a pattern of LIKE.
type spelledPattern struct {
	sqlq.Pattern
	part  bool // the pattern matches a part anywhere in the text
	match func(text string) bool
}

func newSpelledPattern(e cql2.Like) (p spelledPattern) {
	pattern, _ := sqlq.PatternText(e.Pattern)
	p.Pattern, _ = sqlq.SplitPattern(pattern)
	match := cql2.LikeFolded("", pattern)
	p.match = func(text string) bool { return strings.Contains(text, p.Longest) && match(text) }
	if n := len(p.Tokens); n == 3 && p.Tokens[0].Wild == '%' && p.Tokens[1].Text != "" && p.Tokens[2].Wild == '%' {
		p.part, p.match = true, func(text string) bool { return strings.Contains(text, p.Longest) }
	}
	return p
}

// test returns a function that reports whether a text, by number, matches a condition. For few texts it is faster than
// find.
func (t *spellings) test(e cql2.Expr) func(i int) bool {
	tests := func(list []cql2.Expr) (out []func(int) bool) {
		for _, x := range list {
			out = append(out, t.test(x))
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
		x := t.test(e.X)
		return func(i int) bool { return !x(i) }
	case cql2.Like:
		p := newSpelledPattern(e)
		return func(i int) bool { return p.match(t.at(i)) }
	}
	return func(int) bool { return false }
}

// like calls fn with each text that matches a pattern, once, until fn returns false.
func (t *spellings) like(e cql2.Like, fn func(i int) bool) {
	p := newSpelledPattern(e)
	if p.Prefix == "" {
		if plan, ok := t.grams.plan(p); ok {
			var seen textSet
			if plan.any {
				seen = make(textSet, len(t.ends)/64+1)
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

// of returns the rows with some ids, which must be sorted.
func (t *spellings) of(ids []int64) (rows []uint32) {
	at := 0
	for i, id := range ids {
		if i&(1<<10-1) == 0 { // at most every half millisecond
			runtime.Gosched()
		}
		step := 1
		for at+step < len(t.byID) && t.id(t.byID[at+step]) < id {
			at, step = at+step, 2*step
		}
		near := t.byID[at:min(at+step+1, len(t.byID))]
		for at += sort.Search(len(near), func(i int) bool {
			return t.id(near[i]) >= id
		}); at < len(t.byID) && t.id(t.byID[at]) == id; at++ {
			rows = append(rows, t.byID[at])
		}
	}
	return rows
}

// beginning returns the range of texts with a prefix.
func (t *spellings) beginning(prefix string) (from, to int) {
	n := len(t.ends)
	if prefix == "" {
		return 0, n
	}
	from = sort.Search(n, func(i int) bool { return t.at(i) >= prefix })
	return from, from + sort.Search(n-from, func(i int) bool { return !strings.HasPrefix(t.at(from+i), prefix) })
}

// among yields those of rows whose text is wanted.
func (t *spellings) among(rows []uint32, wanted func(text int) bool) iter.Seq[uint32] {
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

// makeSpellings builds the index from the texts in order.
func (r *revision) makeSpellings(part spelledPart) error {
	room := int(r.memory.typeAhead.Room())
	t := &spellings{}
	order := "0"
	if part.order != "" {
		order = sqlite.Quote(part.order)
	}
	id := sqlite.Quote(part.id)
	from := " FROM " + part.table + " WHERE " + sqlite.Quote(part.norm) + " IS NOT NULL"
	sql := "SELECT " + sqlite.Quote(part.norm) + ", " + id + ", " + order + from + " ORDER BY " +
		sqlite.Quote(part.norm)
	err := r.use(context.Background(), func(c *sqlite.Conn) error {
		if same, err := c.Unchanged(); err != nil || !same {
			return errNoRoom
		}
		least, err := c.One("SELECT min(" + id + ") FROM " + part.table)
		most, err2 := c.One("SELECT max(" + id + ") FROM " + part.table)
		all, err3 := c.One("SELECT count(*)" + from)
		if err := cmp.Or(err, err2, err3); err != nil || all > int64(room/16) {
			return cmp.Or(err, errNoRoom)
		}
		t.base, t.rows = least, make([]spelled, 0, all)
		if uint64(most-least)>>32 != 0 {
			t.high = make([]uint32, 0, all)
		}
		m := spellingsMaker{t: t, most: most}
		n := 0
		err = c.Query(sql, nil, func(row sqlite.Row) error {
			if n++; n&4095 == 0 && (r.refs.Load() <= 1 || t.size()+m.texts.Cap()+8*len(t.rows) > room ||
				m.texts.Len() > 1<<31) {
				// byID, and memory to sort it
				return errNoRoom
			}
			return m.add(row)
		})
		t.text = m.texts.String()
		return err
	})
	if err != nil {
		return err
	}
	// without spare capacity
	t.ends, t.from = slices.Clone(t.ends), append(slices.Clone(t.from), uint32(len(t.rows)))
	t.countTexts()
	t.sort()
	if t.grams = makeGrams(t.text, t.ends, room-t.size()); t.grams == nil {
		return errNoRoom
	}
	return r.put(r.memory.typeAhead, part.name(), t, t.size())
}

// spellingsMaker adds rows to the index, ordered by text.
type spellingsMaker struct {
	t          *spellings
	most       int64 // greatest id
	texts      strings.Builder
	text, last []byte
}

func (m *spellingsMaker) add(row sqlite.Row) error {
	t := m.t
	at := row.Int(2)
	if row.Kind(0) != sqlite.KindText || row.Kind(1) != sqlite.KindInt || row.Kind(2) != sqlite.KindInt ||
		int64(int32(at)) != at {
		return errNoRoom
	}
	id := row.Int(1)
	if id < t.base || id > m.most {
		return errNoRoom
	}
	m.text = row.Bytes(0, m.text)
	if len(t.ends) == 0 || !bytes.Equal(m.text, m.last) {
		m.last = append(m.last[:0], m.text...)
		m.texts.Write(m.text)
		t.ends, t.from = append(t.ends, uint32(m.texts.Len())), append(t.from, uint32(len(t.rows)))
	}
	beyond := uint64(id - t.base)
	t.rows = append(t.rows, spelled{uint32(beyond), int32(at)})
	if t.high != nil {
		t.high = append(t.high, uint32(beyond>>32))
	}
	return nil
}

// sort builds byID.
func (t *spellings) sort() {
	t.byID = make([]uint32, len(t.rows))
	for i := range t.byID {
		t.byID[i] = uint32(i)
	}
	slices.SortFunc(t.byID, func(a, b uint32) int { return cmp.Or(cmp.Compare(t.id(a), t.id(b)), cmp.Compare(a, b)) })
}
