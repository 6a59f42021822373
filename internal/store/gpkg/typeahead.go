package gpkg

import (
	"bytes"
	"context"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/sqlite"
)

// Type-ahead asks for the few best of very many rows, such as all names that begin with a letter. The index of words
// must rank all of them, which is slow. A table in memory with the beginnings of all words yields rows by rank as it is
// read, with the same results (see BenchmarkTypeAhead).
//
// The table is built in the background from the side file's texts after the first use of the parameter q in a
// collection. Until then, and if the table does not fit into Options.TypeAhead, the index answers.

// typeAheadFrom is the least number of features for which a table is built; the index is fast enough for fewer.
const typeAheadFrom = 2_000

// ahead returns the table of a layer. If it is not built, it returns nil and starts building it.
func (r *revision) ahead(l *layer) *aheadTable {
	if l.source.Words == nil || !l.keyed || l.Count < typeAheadFrom {
		return nil
	}
	return tableOf[*aheadTable](r, r.memory.typeAhead, l.ID, func() error { return r.makeAhead(l) })
}

// makeAhead builds the table of a layer.
func (r *revision) makeAhead(l *layer) error {
	room := int(r.memory.typeAhead.Room())
	w := l.source.Words
	wanted := func() bool { return r.refs.Load() > 1 } // 1 is the reference of build
	t := &aheadTable{}
	sql := "SELECT id"
	for i := range w.Props {
		sql += ", c" + strconv.Itoa(i)
	}
	n := 0
	err := r.use(context.Background(), func(c *sqlite.Conn) error {
		return c.Query(sql+" FROM "+w.Table+" ORDER BY id", nil, func(row sqlite.Row) error {
			if n++; n&4095 == 0 && (!wanted() || t.size() > room || len(t.text) > 1<<31) {
				return errNoRoom
			}
			for i := range w.Props {
				if row.Kind(i+1) != sqlite.KindNull {
					t.add(row.Int(0), row.Text(i+1))
				}
			}
			return nil
		})
	})
	if err != nil {
		return err
	}
	if t.size() > room || !t.sort(wanted) {
		return errNoRoom
	}
	t.answers.New = func() any {
		a := &aheadAnswer{table: t}
		for i := range a.rows {
			a.rows[i] = make([]uint64, len(t.ids)/64+1)
		}
		return a
	}
	return r.put(r.memory.typeAhead, l.ID, t, t.size())
}

// aheadTable contains the beginnings of all words in the texts of a collection, sorted. It is immutable after sort.
type aheadTable struct {
	text    []byte      // texts as cql2.Words returns them, each followed by a zero byte
	words   []aheadWord // sorted by the text from at to the next zero byte
	ids     []int64     // ids by row, ascending
	answers sync.Pool   // of *aheadAnswer
}

// aheadWord is the position of a word.
type aheadWord struct {
	at  uint32 // in text
	row uint32 // index in ids, and the bit firstWord
}

const firstWord = 1 << 31 // the word is the first of its text

func (t *aheadTable) size() int { return cap(t.text) + 8*cap(t.words) + 8*cap(t.ids) }

// add adds a text of a row. Rows must be added in the order of their ids.
func (t *aheadTable) add(id int64, text string) {
	if text == "" {
		return
	}
	if n := len(t.ids); n == 0 || t.ids[n-1] != id {
		t.ids = append(t.ids, id)
	}
	row, mark := uint32(len(t.ids)-1), uint32(firstWord)
	for at := 0; ; {
		t.words = append(t.words, aheadWord{uint32(len(t.text) + at), row | mark})
		mark = 0
		next := strings.IndexByte(text[at:], ' ')
		if next < 0 {
			break
		}
		at += next + 1
	}
	t.text = append(append(t.text, text...), 0)
}

// tail returns the text from at to the next zero byte.
func (t *aheadTable) tail(at uint32) []byte {
	b := t.text[at:]
	return b[:bytes.IndexByte(b, 0)]
}

// sort sorts the words, letter by letter. It returns false as soon as wanted does.
func (t *aheadTable) sort(wanted func() bool) bool {
	t.text, t.words, t.ids = slices.Clip(t.text), slices.Clip(t.words), slices.Clip(t.ids)
	var from [257]int
	for _, w := range t.words {
		from[int(t.text[w.at])+1]++
	}
	for i := range 256 {
		from[i+1] += from[i]
	}
	next, sorted := from, make([]aheadWord, len(t.words))
	for _, w := range t.words {
		c := t.text[w.at]
		sorted[next[c]] = w
		next[c]++
	}
	t.words = sorted
	for i := range 256 {
		if !wanted() {
			return false
		}
		slices.SortFunc(sorted[from[i]:from[i+1]], func(a, b aheadWord) int {
			return bytes.Compare(t.tail(a.at), t.tail(b.at))
		})
	}
	return true
}

// find ranks the rows that match one of the terms. The caller must return the answer by t.answers.Put.
func (t *aheadTable) find(terms []string) *aheadAnswer {
	a := t.answers.Get().(*aheadAnswer)
	for i := range a.rows {
		clear(a.rows[i])
	}
	for _, term := range terms {
		first, _, several := strings.Cut(term, " ")
		from := sort.Search(len(t.words), func(i int) bool { return string(t.tail(t.words[i].at)) >= first })
		for _, w := range t.words[from:] {
			rest := t.text[w.at:]
			if len(rest) < len(first) || string(rest[:len(first)]) != first {
				break
			}
			rank, end := cql2.RankWord, len(first)
			if several {
				if !startsTerm(rest, term) {
					continue
				}
				end = len(term)
			}
			if w.row&firstWord != 0 {
				rank = cql2.RankStart
				if len(rest) > end && rest[end] == 0 && (!several || string(rest[:end]) == term) {
					rank = cql2.RankWhole
				}
			}
			row := w.row &^ firstWord
			a.rows[rank][row/64] |= 1 << (row % 64)
		}
	}
	a.count = 0
	whole, start, word := a.rows[cql2.RankWhole], a.rows[cql2.RankStart], a.rows[cql2.RankWord]
	for i := range whole {
		start[i] &^= whole[i]
		word[i] &^= whole[i] | start[i]
		a.count += bits.OnesCount64(whole[i] | start[i] | word[i])
	}
	return a
}

// startsTerm reports whether the first words of a text begin with the words of a term. The text ends with a zero byte.
func startsTerm(text []byte, term string) bool {
	for {
		word, rest, more := strings.Cut(term, " ")
		if !bytes.HasPrefix(text, []byte(word)) {
			return false
		}
		if !more {
			return true
		}
		i := bytes.IndexAny(text, " \x00")
		if i < 0 || text[i] == 0 {
			return false
		}
		text, term = text[i+1:], rest
	}
}

// aheadAnswer contains the matching rows by rank.
type aheadAnswer struct {
	table *aheadTable
	rows  [cql2.RankWord + 1][]uint64 // bit sets by rank
	count int
}

// read returns up to limit rows in the order of rank and id, from the cursor values on, without the first skip of them;
// see query.read.
func (a *aheadAnswer) read(values []any, back bool, limit, skip int) (rows []found) {
	ids := a.table.ids
	rank, row := 0, 0 // first candidate
	if back {
		rank, row = len(a.rows)-1, len(ids)-1
	}
	if values != nil {
		rank = int(values[0].(int64))
		id := values[1].(int64)
		at, found := slices.BinarySearch(ids, id)
		if row = at; back {
			row--
		} else if found {
			row++
		}
	}
	for ; rank >= 0 && rank < len(a.rows); rank, row = rank+step(back), edge(back, len(ids)) {
		set := a.rows[rank]
		for row >= 0 && row < len(ids) {
			var left uint64 // remaining bits of this word of the set
			if back {
				left = set[row/64] << (63 - row%64)
			} else {
				left = set[row/64] >> (row % 64)
			}
			if n := bits.OnesCount64(left); n <= skip { // skip the whole word
				skip -= n
				row = nextWord(row, back)
				continue
			}
			if back {
				row -= bits.LeadingZeros64(left)
			} else {
				row += bits.TrailingZeros64(left)
			}
			if skip > 0 {
				skip--
			} else if rows = append(rows, found{id: strconv.FormatInt(ids[row], 10), keys: []any{int64(rank)}}); len(
				rows) == limit {
				return rows
			}
			row += step(back)
		}
	}
	return rows
}

func step(back bool) int {
	if back {
		return -1
	}
	return 1
}

// edge returns the first of n rows in a direction.
func edge(back bool, n int) int {
	if back {
		return n - 1
	}
	return 0
}

// nextWord returns the first row in the next word of a set.
func nextWord(row int, back bool) int {
	if back {
		return row&^63 - 1
	}
	return row&^63 + 64
}

// isTypeAhead reports whether a query is only a ranked search of the texts in the index of words.
func (qu *query) isTypeAhead() bool {
	q := &qu.q
	s, ok := only(q.Filter).(cql2.Search)
	w := qu.l.source.Words
	if !ok || q.Rank == nil || len(q.SortBy) > 0 || !slices.Equal(s.Terms, q.Rank.Terms) ||
		!slices.Equal(s.Props, q.Rank.Props) ||
		w == nil || !slices.Equal(s.Props, w.Props) {
		return false
	}
	if qu.place != nil { // cursors may be forged
		rank, is := qu.values[0].(int64)
		_, number := qu.values[1].(int64)
		return is && number && rank >= cql2.RankWhole && rank <= cql2.RankWord
	}
	return true
}

// typeAhead answers the query from the table in memory; false if there is no table.
func (qu *query) typeAhead(ctx context.Context, c *sqlite.Conn, p *store.Page) (bool, error) {
	t := qu.rev.ahead(qu.l)
	if t == nil {
		return false, nil
	}
	if same, err := c.Unchanged(); err != nil || !same { // rows may have been deleted
		return false, err
	}
	qu.ahead = t.find(only(qu.q.Filter).(cql2.Search).Terms)
	defer t.answers.Put(qu.ahead)
	if qu.q.Limit > 0 {
		if err := qu.fill(ctx, c, qu.q, p); err != nil {
			return false, err
		}
	}
	if qu.q.Count == store.CountExact {
		p.Matched = qu.ahead.count
	}
	return true, nil
}
