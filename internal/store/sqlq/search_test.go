package sqlq_test

import (
	"strings"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/store/sqlq"
)

// Words and moments come from callers: none may stand in the text of a statement, and each must be an argument of it.
func TestWordsAndMomentsAreArguments(t *testing.T) {
	t.Parallel()
	src := source()
	src.Words = &sqlq.Words{Props: []string{"navn", "sær"}, Index: `side."fts"`, Table: `side."words"`,
		RowID: `"rowid"`}
	from, to := time.Date(1987, 6, 5, 0, 0, 0, 0, time.UTC), time.Date(1988, 6, 5, 0, 0, 0, 0, time.UTC)
	for what, x := range map[string]struct {
		e    cql2.Expr
		args int // in SQLite; fewer than one: SQL must say nothing exact
	}{
		"words of the index": {cql2.Search{Props: []string{"navn", "sær"}, Terms: []string{"ondskap"}}, 1},
		"a phrase of the index": {cql2.Search{Props: []string{"navn", "sær"},
			Terms: []string{"ondskap to", "ondskap"}}, 2},
		"words of another text":    {cql2.Search{Props: []string{"navn"}, Terms: []string{"ondskap"}}, 1},
		"words of what is no text": {cql2.Search{Props: []string{"tall"}, Terms: []string{"ondskap"}}, 0},
		"a time of days":           {cql2.Interval{Start: "dag", End: "dag", From: &from, To: &to}, 2},
		"a time from a moment":     {cql2.Interval{Start: "tid", End: "tid", From: &from}, 1},
		"a time of two":            {cql2.Interval{Start: "dag", End: "tid", From: &from, To: &to}, 2},
		"a time of three": {cql2.Interval{Start: "dag", End: "tid", Also: []string{"dag"},
			From: &from, To: &to}, 3},
		"a time of what is none": {cql2.Interval{Start: "navn", End: "navn", From: &from, To: &to}, 0},
		"a time of nothing":      {cql2.Interval{Start: "ingen", End: "ingen", From: &from}, 0},
	} {
		for _, d := range []sqlq.Dialect{sqlq.SQLite{}, sqlq.PostgreSQL{}} {
			f := sqlq.Compile(d, src, "t", x.e)
			sql, args := sqlq.New(d).Add(f.Where).SQL()
			if strings.Contains(sql, "ondskap") || strings.Contains(sql, "1987") || strings.Contains(sql, "1988") {
				t.Errorf("%s: a value stands in %s", what, sql)
			}
			if _, lite := d.(sqlq.SQLite); lite && (len(args) != x.args && x.args > 0 ||
				(f.Residue == nil) != (x.args > 0)) {
				t.Errorf("%s: %d arguments, residue %v, of %s", what, len(args), f.Residue, sql)
			}
		}
		if s, ok := x.e.(cql2.Search); ok && x.args > 0 {
			rank, ok := sqlq.SQLite{}.Rank("t", src, s)
			if sql, args := sqlq.New(sqlq.SQLite{}).Add(rank).SQL(); !ok || strings.Contains(sql, "ondskap") ||
				strings.Count(sql, "?") != len(args) || len(args) == 0 {
				t.Errorf("%s: the rank is %s %v", what, sql, args)
			}
		}
	}
}
