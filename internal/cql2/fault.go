package cql2

import (
	"errors"
	"regexp"
	"unicode/utf8"

	"grense/internal/problem"
)

// Limits of a filter that a client sends.
const (
	MaxBytes    = 64 << 10 // of text or JSON
	MaxDepth    = 64       // of the tree, and of brackets in the text
	MaxNodes    = 500
	MaxVertices = 10_000 // of all geometry literals together
)

// maxEcho is the length in bytes of the longest filter that an error repeats in full.
const maxEcho = 1000

// position returns line and column of a byte offset. All count from 1; a column is a character.
func position(src string, pos int) (line, column int) {
	line, column = 1, 1
	for i, r := range src {
		if i >= pos-1 {
			break
		}
		if column++; r == '\n' {
			line, column = line+1, 1
		}
	}
	return line, column
}

// located adds the line and column of Pos to a fault. Until then Value is the offending token.
func located(f problem.Fault, src string) problem.Fault {
	if f.Pos <= 0 || f.Pos > len(src)+1 {
		return f
	}
	if f.Said.Form == quoteCure {
		f.Said = problem.Sayf(quoteCure, f.Said.With[0], asTyped(f.Said.With[1], src, f.Pos-1))
	}
	line, column := position(src, f.Pos)
	f.Said = problem.Sayf("line %d, column %d: %s", line, column, f.Said)
	f.Cure = f.Said.String()
	if len(src) <= maxEcho && utf8.ValidString(src) {
		f.Value = src
	} else {
		f.Pos = 0
	}
	return f
}

// numberToken is a number in a filter.
var numberToken = regexp.MustCompile(`-?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?`)

// asTyped returns a number as the source spells it, with leading zeros, for a number that FormatText printed.
// It takes the first one from a byte offset on, else the first in the source.
func asTyped(printed any, src string, from int) any {
	for _, part := range []string{src[min(from, len(src)):], src} {
		for _, token := range numberToken.FindAllString(part, -1) {
			if e, ok := parseNumber(token); ok && FormatText(e) == printed {
				return token
			}
		}
	}
	return printed
}

// syntaxError reports what is wrong with the source at a byte offset, counted from 1.
func syntaxError(src string, pos int, token string, cure problem.Saying) error {
	f := problem.Fault{In: "query", Param: "filter", Value: clip(token), Cure: cure.String(), Said: cure, Pos: pos}
	return &problem.Error{Kind: problem.Invalid, Faults: []problem.Fault{located(f, src)}}
}

// tooLong reports a filter of n bytes.
func tooLong(n int) error {
	return problem.New(problem.TooLarge, nil, "the filter has %d bytes; at most %d are read", n, MaxBytes)
}

// clip shortens a token for a message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	n := most
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// Locate adds line and column in the parsed source to the faults that Check found.
// It returns any other error unchanged.
func Locate(err error, source string) error {
	p, ok := errors.AsType[*problem.Error](err)
	if !ok || len(p.Faults) == 0 {
		return err
	}
	q := *p
	q.Faults = make([]problem.Fault, len(p.Faults))
	for i, f := range p.Faults {
		q.Faults[i] = located(f, source)
	}
	return &q
}

// measure returns the number of nodes of a tree and its depth; a leaf has depth 1.
func measure(e Expr) (nodes, depth int) {
	nodes = 1
	for _, c := range Children(e) {
		n, d := measure(c)
		nodes, depth = nodes+n, max(depth, d)
	}
	return nodes, depth + 1
}
