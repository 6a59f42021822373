package gpkg

import (
	"strings"
	"unicode/utf8"

	"zombiezen.com/go/sqlite"

	"grense/internal/cql2"
	"grense/internal/store/sqlq"
)

// registerFunctions offers what sqlq.SQLite calls. Each maps one value to text or null.
func registerFunctions(c *sqlite.Conn) error {
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
		"grense_exact":   text(always(cql2.Exact)),
		"grense_casei":   text(always(cql2.CaseI)),
		"grense_accenti": text(always(cql2.AccentI)),
		"grense_text":    text(always(validText)),
		"grense_date":    text(normalDate),
		"grense_time":    text(normalTime),
		"grense_nogeom": func(_ sqlite.Context, args []sqlite.Value) (sqlite.Value, error) {
			if args[0].Type() != sqlite.TypeBlob {
				return sqlite.IntegerValue(1), nil
			}
			_, state := readBlob(args[0].Blob())
			if state != blobFine {
				return sqlite.IntegerValue(1), nil
			}
			return sqlite.IntegerValue(0), nil
		},
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
