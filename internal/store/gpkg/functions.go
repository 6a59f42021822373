package gpkg

import (
	"strings"
	"time"
	"unicode/utf8"

	"zombiezen.com/go/sqlite"

	"grense/internal/cql2"
	"grense/internal/store/sqlq"
)

// registerFunctions offers what sqlq.SQLite calls. Each maps one value to text or null.
func registerFunctions(cn *conn) error {
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
		"grense_norm":    text(always(cql2.Norm)),
		"grense_exact":   text(always(cql2.CaseI)),
		"grense_casei":   text(always(cql2.CaseI)),
		"grense_accenti": text(always(cql2.AccentI)),
		"grense_text":    text(always(validText)),
		"grense_nb":      text(always(cql2.NorwegianKey)),
		"grense_date":    text(normalDate),
		"grense_time":    text(normalTime),
		"grense_nogeom": func(_ sqlite.Context, args []sqlite.Value) (sqlite.Value, error) {
			if args[0].Type() != sqlite.TypeBlob {
				return sqlite.IntegerValue(1), nil
			}
			_, _, state := readBlob(args[0].Blob())
			if state != blobFine {
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

// validText replaces what is not UTF-8.
func validText(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return strings.ToValidUTF8(s, string(utf8.RuneError))
}

// normalDate returns a day as "2006-01-02"; false when s is none.
func normalDate(s string) (string, bool) {
	t, ok := parseMoment(s)
	if !ok {
		return "", false
	}
	return t.Format("2006-01-02"), true
}

// normalTime returns a moment as sqlq.StampLayout, UTC when it has no zone; false when s is none.
func normalTime(s string) (string, bool) {
	t, ok := parseMoment(s)
	if !ok {
		return "", false
	}
	t = t.UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return "", false
	}
	return t.Format(sqlq.StampLayout), true
}

// rank returns a function of terms, with commas between, and texts: cql2.RankWords of the best text,
// and one more when none matches.
// It keeps the terms of the last call.
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

// likes are the patterns that statements have bound recently. In SQL a pattern is its number,
// so that a call costs no text.
type likes struct {
	n     int64
	calls uint
	turn  time.Time
	tests [maxLikes]func(string) bool
}

// maxLikes is more than the patterns of one statement.
const maxLikes = 1024

// add returns the number of a pattern.
func (l *likes) add(p sqlq.Folded) int64 {
	l.n++
	l.tests[l.n%maxLikes] = cql2.LikeFolded(p.Fold, p.Pattern)
	return l.n
}

// call is the function of a text and the number of a pattern: whether the text, folded, is like the pattern.
func (l *likes) call(_ sqlite.Context, args []sqlite.Value) (sqlite.Value, error) {
	if l.calls++; l.calls%(8*rowsATurn) == 0 { // of a scan, most of whose rows no statement gives
		l.turn = makeWay(l.turn)
	}
	if t := args[0].Type(); t == sqlite.TypeNull || t == sqlite.TypeBlob {
		return sqlite.Value{}, nil
	}
	if test := l.tests[uint64(args[1].Int64())%maxLikes]; test != nil && test(args[0].Text()) {
		return sqlite.IntegerValue(1), nil
	}
	return sqlite.IntegerValue(0), nil
}
