package sqlite

import (
	"strings"
	"time"
	"unicode/utf8"

	"zombiezen.com/go/sqlite"

	"grense/internal/cql2"
	"grense/internal/cql2/fold"
	"grense/internal/store/gpkg/gpb"
	"grense/internal/store/gpkg/moment"
	"grense/internal/store/sqlq"
)

// registerFunctions registers the SQL functions that sqlq.SQLite uses. Each maps a value to a text or null.
func registerFunctions(cn *Conn) error {
	c := cn.c
	text := func(f func(string) (string, bool)) func(sqlite.Context, []sqlite.Value) (sqlite.Value, error) {
		return func(_ sqlite.Context, args []sqlite.Value) (sqlite.Value, error) {
			if t := args[0].Type(); t == sqlite.TypeNull || t == sqlite.TypeBlob {
				return sqlite.Value{}, nil
			}
			if s, ok := f(args[0].Text()); ok {
				return sqlite.TextValue(s), nil
			}
			return sqlite.Value{}, nil
		}
	}
	always := func(f func(string) string) func(string) (string, bool) {
		return func(s string) (string, bool) { return f(s), true }
	}
	functions := map[string]func(sqlite.Context, []sqlite.Value) (sqlite.Value, error){
		"grense_norm":    text(always(fold.Norm)),
		"grense_exact":   text(always(fold.CaseI)),
		"grense_casei":   text(always(fold.CaseI)),
		"grense_accenti": text(always(fold.AccentI)),
		"grense_text":    text(always(validText)),
		"grense_nb":      text(always(cql2.NorwegianKey)),
		"grense_date":    text(normalDate),
		"grense_time":    text(normalTime),
		"grense_nogeom": func(_ sqlite.Context, args []sqlite.Value) (sqlite.Value, error) {
			if args[0].Type() != sqlite.TypeBlob {
				return sqlite.IntegerValue(1), nil
			}
			_, _, state := gpb.Read(args[0].Blob())
			if state != gpb.Fine {
				return sqlite.IntegerValue(1), nil
			}
			return sqlite.IntegerValue(0), nil
		},
	}
	for name, fold := range map[string]func(string) string{"grense_rank": cql2.Words,
		"grense_rank_words": func(s string) string { return s }} {
		if err := c.CreateFunction(name, &sqlite.FunctionImpl{NArgs: -1, Scalar: rank(fold),
			Deterministic: true}); err != nil {
			return err
		}
	}
	if err := c.CreateFunction("grense_like",
		&sqlite.FunctionImpl{NArgs: 2, Scalar: cn.likes.call, Deterministic: true}); err != nil {
		return err
	}
	for name, f := range functions {
		if err := c.CreateFunction(name, &sqlite.FunctionImpl{NArgs: 1, Scalar: f, Deterministic: true}); err != nil {
			return err
		}
	}
	return nil
}

// validText replaces invalid UTF-8.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError))
}

// normalDate returns a date as "2006-01-02"; false if s is not a date.
func normalDate(s string) (string, bool) {
	t, ok := moment.Parse(s)
	if !ok {
		return "", false
	}
	return t.Format("2006-01-02"), true
}

// normalTime returns a timestamp in the form of sqlq.StampLayout; false if s is not a timestamp. Without a zone it is
// UTC.
func normalTime(s string) (string, bool) {
	t, ok := moment.Parse(s)
	if !ok {
		return "", false
	}
	t = t.UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return "", false
	}
	return t.Format(sqlq.StampLayout), true
}

// rank returns an SQL function of search terms, separated by commas, and texts. It returns cql2.RankWords of the best
// text, one more if none matches. It caches the terms of the last call.
func rank(words func(string) string) func(sqlite.Context, []sqlite.Value) (sqlite.Value, error) {
	var last string
	var terms []string
	return func(_ sqlite.Context, args []sqlite.Value) (sqlite.Value, error) {
		if q := args[0].Text(); q != last {
			last, terms = q, strings.Split(q, ",")
		}
		best := cql2.RankWord + 1
		for _, a := range args[1:] {
			if t := a.Type(); t == sqlite.TypeNull || t == sqlite.TypeBlob {
				continue
			}
			if n, ok := cql2.RankWords(words(a.Text()), terms); ok {
				best = min(best, n)
			}
		}
		return sqlite.IntegerValue(int64(best)), nil
	}
}

// likes holds patterns that statements have bound recently. In SQL a pattern is represented by its number, so that a
// call need not pass the text.
type likes struct {
	n     int64
	calls uint
	turn  time.Time
	tests [maxLikes]func(string) bool
}

// maxLikes is more than the number of patterns in any statement.
const maxLikes = 1024

// add returns the number of a pattern.
func (l *likes) add(p sqlq.Folded) int64 {
	l.n++
	l.tests[l.n%maxLikes] = cql2.LikeFolded(p.Fold, p.Pattern)
	return l.n
}

// call is the SQL function of a text and the number of a pattern. It reports whether the folded text matches the
// pattern.
func (l *likes) call(_ sqlite.Context, args []sqlite.Value) (sqlite.Value, error) {
	if l.calls++; l.calls%(8*RowsPerSlice) == 0 { // in a scan that returns few rows, nothing else yields
		l.turn = YieldAfter(l.turn)
	}
	if t := args[0].Type(); t == sqlite.TypeNull || t == sqlite.TypeBlob {
		return sqlite.Value{}, nil
	}
	if test := l.tests[uint64(args[1].Int64())%maxLikes]; test != nil && test(args[0].Text()) {
		return sqlite.IntegerValue(1), nil
	}
	return sqlite.IntegerValue(0), nil
}
