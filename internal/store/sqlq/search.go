package sqlq

import (
	"slices"
	"strconv"
	"strings"

	"grense/internal/cql2"
)

// maxSearched is the largest number of texts in one call of grense_rank; SQLite allows 127 arguments.
const maxSearched = 100

// Search queries the index of words. If the words of a term must follow each other, it then tests the
// texts that the index returns.
func (d SQLite) Search(alias string, src *Source, s cql2.Search) (Fragment, bool) {
	w := src.Words
	if w == nil || !slices.Equal(w.Props, s.Props) {
		f, ok := d.rankOfTexts(alias, src, s)
		return Cat(f, limitRank), ok
	}
	name := w.Index[strings.LastIndexByte(w.Index, '.')+1:]
	match := Cat(Ident("SELECT rowid FROM "+w.Index), SQL(" WHERE "+name+" MATCH ?", matchWords(s.Terms)))
	if !single(s.Terms) {
		match = Cat(Ident("SELECT id FROM "+w.Table+" WHERE id IN ("), match, Ident(") AND "),
			rankOfWords(w, s), limitRank)
	}
	return Cat(Ident(alias+"."+w.RowID+" IN ("), match, Ident(")")), true
}

// limitRank is the condition on a rank that a row matches.
var limitRank = Ident(" <= " + strconv.Itoa(cql2.RankWord))

// Rank looks up the words of a row.
func (d SQLite) Rank(alias string, src *Source, s cql2.Search) (Fragment, bool) {
	w := src.Words
	if w == nil || !slices.Equal(w.Props, s.Props) {
		return d.rankOfTexts(alias, src, s)
	}
	rank := rankOfWords(w, s)
	if single(s.Terms) {
		rank = rankOfSingle(w, s)
	}
	return Cat(Ident("(SELECT "), rank, Ident(" FROM "+w.Table+" WHERE id = "+alias+"."+w.RowID+")")), true
}

func (d SQLite) rankOfTexts(alias string, src *Source, s cql2.Search) (Fragment, bool) {
	f := SQL("grense_rank(?", strings.Join(s.Terms, ","))
	for _, p := range s.Props {
		x := src.Fields[p]
		if x == nil || x.Type != cql2.TypeText {
			return Fragment{}, false
		}
		f = Cat(f, Ident(", "+Column(d, alias, x)))
	}
	return Cat(f, Ident(")")), len(s.Props) <= maxSearched
}

func rankOfWords(w *Words, s cql2.Search) Fragment {
	return Cat(SQL("grense_rank_words(?", strings.Join(s.Terms, ",")), Ident(", "+strings.Join(w.columns(), ", ")+")"))
}

// rankOfSingle returns the rank of single-word terms without calling a function.
func rankOfSingle(w *Words, s cql2.Search) Fragment {
	var whole, start []Fragment
	for _, t := range s.Terms {
		for _, c := range w.columns() {
			whole = append(whole, SQL(c+" = ?", t))
			start = append(start, prefixed(Ident(c), t))
		}
	}
	return Cat(Ident("CASE WHEN "), Join(" OR ", whole...), Ident(" THEN "+strconv.Itoa(cql2.RankWhole)+" WHEN "),
		Join(" OR ", start...),
		Ident(" THEN "+strconv.Itoa(cql2.RankStart)+" ELSE "+strconv.Itoa(cql2.RankWord)+" END"))
}

func (w *Words) columns() []string {
	names := make([]string, len(w.Props))
	for i := range names {
		names[i] = "c" + strconv.Itoa(i)
	}
	return names
}

func single(terms []string) bool {
	return !slices.ContainsFunc(terms, func(t string) bool { return strings.Contains(t, " ") })
}

// matchWords returns an FTS5 query: one of the terms, with each of its words as a prefix. Words contain only letters
// and digits.
func matchWords(terms []string) string {
	or := make([]string, len(terms))
	for i, t := range terms {
		or[i] = `("` + strings.ReplaceAll(t, " ", `" * AND "`) + `" *)`
	}
	return strings.Join(or, " OR ")
}
