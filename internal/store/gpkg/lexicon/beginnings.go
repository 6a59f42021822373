// Package lexicon holds indexes of texts in memory: the beginnings of their words, for type-ahead, and their distinct
// spellings, for patterns that no ordered index serves.
package lexicon

import (
	"bytes"
	"errors"
	"math/bits"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"grense/internal/cql2"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// Beginnings contains the beginnings of all words in the texts of a collection, sorted. It is immutable after Complete.
// The zero value is empty.
type Beginnings struct {
	text    []byte      // texts as cql2.Words returns them, each followed by a zero byte
	words   []beginning // sorted by the text from at to the next zero byte
	ids     []int64     // ids by row, ascending
	answers sync.Pool   // of *Answer
}

// beginning is the position of a word.
type beginning struct {
	at  uint32 // in text
	row uint32 // index in ids, and the bit firstWord
}

const firstWord = 1 << 31 // the word is the first of its text

// Size returns the memory of the table in bytes.
func (t *Beginnings) Size() int { return cap(t.text) + 8*cap(t.words) + 8*cap(t.ids) }

// Read reads the texts of a collection from the table behind its index of words. It fails if they need more than
// room bytes, or as soon as wanted returns false.
func (t *Beginnings) Read(c *sqlite.Conn, w *sqlq.Words, room int, wanted func() bool) error {
	sql := "SELECT id"
	for i := range w.Props {
		sql += ", c" + strconv.Itoa(i)
	}
	n := 0
	return c.Query(sql+" FROM "+w.Table+" ORDER BY id", nil, func(row sqlite.Row) error {
		if n++; n&4095 == 0 && (!wanted() || t.Size() > room || len(t.text) > 1<<31) {
			return errNoRoom
		}
		for i := range w.Props {
			if row.Kind(i+1) != sqlite.KindNull {
				t.add(row.Int(0), row.Text(i+1))
			}
		}
		return nil
	})
}

// Complete sorts the table after all texts were read. It fails as Read does.
func (t *Beginnings) Complete(room int, wanted func() bool) error {
	if t.Size() > room || !t.sort(wanted) {
		return errNoRoom
	}
	t.answers.New = func() any {
		a := &Answer{table: t}
		for i := range a.rows {
			a.rows[i] = make([]uint64, len(t.ids)/64+1)
		}
		return a
	}
	return nil
}

// add adds a text of a row. Rows must be added in the order of their ids.
func (t *Beginnings) add(id int64, text string) {
	if text == "" {
		return
	}
	if n := len(t.ids); n == 0 || t.ids[n-1] != id {
		t.ids = append(t.ids, id)
	}
	row, mark := uint32(len(t.ids)-1), uint32(firstWord)
	for at := 0; ; {
		t.words = append(t.words, beginning{uint32(len(t.text) + at), row | mark})
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
func (t *Beginnings) tail(at uint32) []byte {
	b := t.text[at:]
	return b[:bytes.IndexByte(b, 0)]
}

// sort sorts the words, letter by letter. It returns false as soon as wanted does.
func (t *Beginnings) sort(wanted func() bool) bool {
	t.text, t.words, t.ids = slices.Clip(t.text), slices.Clip(t.words), slices.Clip(t.ids)
	var from [257]int
	for _, w := range t.words {
		from[int(t.text[w.at])+1]++
	}
	for i := range 256 {
		from[i+1] += from[i]
	}
	next, sorted := from, make([]beginning, len(t.words))
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
		slices.SortFunc(sorted[from[i]:from[i+1]], func(a, b beginning) int {
			return bytes.Compare(t.tail(a.at), t.tail(b.at))
		})
	}
	return true
}

// Find ranks the rows that match one of the terms. The caller must Release the answer.
func (t *Beginnings) Find(terms []string) *Answer {
	a := t.answers.Get().(*Answer)
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
	a.Count = 0
	whole, start, word := a.rows[cql2.RankWhole], a.rows[cql2.RankStart], a.rows[cql2.RankWord]
	for i := range whole {
		start[i] &^= whole[i]
		word[i] &^= whole[i] | start[i]
		a.Count += bits.OnesCount64(whole[i] | start[i] | word[i])
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

// Answer contains the matching rows by rank.
type Answer struct {
	table *Beginnings
	rows  [cql2.RankWord + 1][]uint64 // bit sets by rank
	Count int
}

// Release makes the memory of the answer available to others.
func (a *Answer) Release() { a.table.answers.Put(a) }

// Ranked is a row that matches.
type Ranked struct{ ID, Rank int64 }

// Read returns up to limit rows in the order of rank and id, or with back in the opposite order, without the first skip
// of them. It begins behind from; nil: at the first row.
func (a *Answer) Read(from *Ranked, back bool, limit, skip int) (rows []Ranked) {
	ids := a.table.ids
	rank, row := 0, 0 // first candidate
	if back {
		rank, row = len(a.rows)-1, len(ids)-1
	}
	if from != nil {
		rank = int(from.Rank)
		at, found := slices.BinarySearch(ids, from.ID)
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
			} else if rows = append(rows, Ranked{ids[row], int64(rank)}); len(rows) == limit {
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

// errNoRoom reports that an index does not fit, that its texts cannot be indexed, or that nobody wants it any more.
var errNoRoom = errors.New("gpkg: no room")
