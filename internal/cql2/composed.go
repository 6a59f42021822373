package cql2

import (
	"slices"

	"golang.org/x/text/unicode/norm"

	"grense/internal/cql2/fold"
)

// sameText reports whether two texts are equal, no matter whether their accented letters are composed
// (NFC) or decomposed (NFD).
func sameText(a, b string) bool {
	return a == b || !fold.IsASCII(a) && !fold.IsASCII(b) && norm.NFC.String(a) == norm.NFC.String(b)
}

// forms returns a text as written, composed and decomposed, without duplicates. Stores compare bytes, so they look up
// all forms in their indexes.
func forms(s string) []string {
	out := []string{s}
	if fold.IsASCII(s) {
		return out
	}
	for _, f := range [...]string{norm.NFC.String(s), norm.NFD.String(s)} {
		if !slices.Contains(out, f) {
			out = append(out, f)
		}
	}
	return out
}

// formsFor returns the forms of a text that a checked operand can have. A folded text is always composed.
func formsFor(x Expr, s string) []string {
	if f, ok := x.(Func); ok {
		if _, folds := fold.Apply(f.Name, ""); folds {
			return []string{norm.NFC.String(s)}
		}
	}
	return forms(s)
}

// compareForms returns a checked comparison in which a text equals all its forms.
func compareForms(e Compare) Expr {
	x, literal := e.L, e.R
	if isLiteral(x) {
		x, literal = literal, x
	}
	s, isText := literal.(Text)
	if !isText || isLiteral(x) || e.Op != Eq && e.Op != Ne {
		return e
	}
	in := inForms(In{x, []Expr{s}})
	if len(in.List) == 1 {
		return Compare{e.Op, x, in.List[0]}
	}
	if e.Op == Ne {
		return Not{in}
	}
	return in
}

// inForms returns a checked list in which every text appears in all its forms.
func inForms(e In) In {
	out := In{X: e.X, List: make([]Expr, 0, len(e.List))}
	for _, l := range e.List {
		s, isText := l.(Text)
		if !isText {
			out.List = append(out.List, l)
			continue
		}
		for _, f := range formsFor(e.X, string(s)) {
			out.List = append(out.List, Text(f))
		}
	}
	return out
}

// likeForms returns a checked LIKE whose pattern matches a text in any of its forms.
func likeForms(e Like) Expr {
	s, isText := e.Pattern.(Text)
	if !isText || isLiteral(e.X) {
		return e
	}
	list := formsFor(e.X, string(s))
	or := make(Or, len(list))
	for i, f := range list {
		or[i] = Like{e.X, Text(f)}
	}
	if len(or) == 1 {
		return or[0]
	}
	return or
}
