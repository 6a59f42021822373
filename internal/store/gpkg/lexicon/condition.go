package lexicon

import (
	"slices"

	"grense/internal/cql2"
	"grense/internal/store/sqlq"
)

// FieldOf returns the property if a condition only tests its folded text by patterns; else nil.
func FieldOf(src *sqlq.Source, e cql2.Expr) *sqlq.Field {
	switch e := e.(type) {
	case cql2.And:
		return fieldIn(src, e)
	case cql2.Or:
		return fieldIn(src, e)
	case cql2.Not:
		return FieldOf(src, e.X)
	case cql2.Like:
		f, ok := e.X.(cql2.Func)
		if !ok || f.Name != "norm" || len(f.Args) != 1 {
			return nil
		}
		p, ok := f.Args[0].(cql2.Prop)
		pattern, isText := sqlq.PatternText(e.Pattern)
		if _, valid := sqlq.SplitPattern(pattern); !ok || !isText || !valid {
			return nil
		}
		return src.Fields[p.Name]
	}
	return nil
}

func fieldIn(src *sqlq.Source, list []cql2.Expr) (f *sqlq.Field) {
	for i, x := range list {
		of := FieldOf(src, x)
		if of == nil || i > 0 && of != f {
			return nil
		}
		f = of
	}
	return f
}

// IsLed reports whether an ordered index serves a condition: a pattern has a prefix, or has a suffix and there is an
// index of reversed texts.
func IsLed(f *sqlq.Field, e cql2.Expr) bool {
	switch e := e.(type) {
	case cql2.And:
		return slices.ContainsFunc(e, func(x cql2.Expr) bool { return IsLed(f, x) })
	case cql2.Or:
		return len(e) == 1 && IsLed(f, e[0])
	case cql2.Like:
		pattern, _ := sqlq.PatternText(e.Pattern)
		p, _ := sqlq.SplitPattern(pattern)
		return p.Prefix != "" || p.Suffix != "" && f.Search.Rev != ""
	}
	return false
}
