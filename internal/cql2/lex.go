package cql2

import (
	"strings"
	"unicode/utf8"

	"grense/internal/problem"
)

type tokenKind uint8

const (
	tokEnd    tokenKind = iota
	tokName             // identifier or keyword
	tokQuoted           // identifier in double quotes
	tokString
	tokNumber
	tokSign // operator or punctuation
)

// token is a word of the text. text is the name, the value of a string, the digits of a number, or the sign.
type token struct {
	kind     tokenKind
	text     string
	pos, end int // byte offsets from 0
}

// is reports whether the token is a keyword, in any case.
func (t token) is(keyword string) bool {
	return t.kind == tokName && strings.EqualFold(t.text, keyword)
}

func (t token) sign(s string) bool { return t.kind == tokSign && t.text == s }

// lex appends the tokens of a text, valid UTF-8; the last is tokEnd.
func lex(toks []token, src string) ([]token, error) {
	for i := 0; ; {
		r, n := utf8.DecodeRuneInString(src[i:])
		switch {
		case n == 0:
			return append(toks, token{kind: tokEnd, pos: i, end: i}), nil
		case isBlank(r):
			i += n
			continue
		}
		t, wrong := lexToken(src, i, r)
		if wrong.Form != "" {
			return toks, syntaxError(src, i+1, src[i:t.end], wrong)
		}
		toks, i = append(toks, t), t.end
	}
}

// lexToken reads the token that starts with r at offset i.
func lexToken(src string, i int, r rune) (t token, wrong problem.Saying) {
	switch {
	case r == '\'':
		return lexString(src, i)
	case r == '"':
		return lexQuoted(src, i)
	case isDigit(r) || r == '.' && i+1 < len(src) && isDigit(rune(src[i+1])):
		end := numberEnd(src, i)
		return token{tokNumber, src[i:end], i, end}, wrong
	case isNameStart(r):
		end := nameEnd(src, i)
		return token{tokName, src[i:end], i, end}, wrong
	}
	if i+1 < len(src) && (r == '<' && src[i+1] == '>' || (r == '<' || r == '>') && src[i+1] == '=') {
		return token{tokSign, src[i : i+2], i, i + 2}, wrong
	}
	if strings.ContainsRune("=<>+-*/%^(),", r) {
		return token{tokSign, src[i : i+1], i, i + 1}, wrong
	}
	if strings.HasPrefix(src[i:], "!=") {
		return token{end: i + 2}, problem.Sayf("'!=' is no operator; write '<>'")
	}
	return token{end: i + utf8.RuneLen(r)}, problem.Sayf("unexpected character '%c'", r)
}

// stringEscapes are the characters that a backslash escape yields in a string. Before any other character the backslash
// stays, as LIKE needs it.
var stringEscapes = map[byte]byte{'\'': '\'', '\\': '\\', 'a': '\a', 'b': '\b', 't': '\t', 'n': '\n', 'v': '\v',
	'f': '\f', 'r': '\r'}

// lexString reads a character literal; a doubled quote or one after a backslash stands for a quote, two backslashes for
// one (OGC 21-065r2, characterLiteral).
func lexString(src string, i int) (t token, wrong problem.Saying) {
	if n := strings.IndexAny(src[i+1:], `'\`); n >= 0 && src[i+1+n] == '\'' && !strings.HasPrefix(src[i+2+n:], "'") {
		return token{tokString, src[i+1 : i+1+n], i, i + n + 2}, wrong
	}
	var b strings.Builder
	for j := i + 1; j < len(src); j++ {
		switch c := src[j]; {
		case c == '\'' && j+1 < len(src) && src[j+1] == '\'':
			b.WriteByte('\'')
			j++
		case c == '\'':
			return token{tokString, b.String(), i, j + 1}, wrong
		case c == '\\' && j+1 < len(src) && stringEscapes[src[j+1]] != 0:
			b.WriteByte(stringEscapes[src[j+1]])
			j++
		default:
			b.WriteByte(c)
		}
	}
	return token{end: i + 1}, problem.Sayf("the string has no closing quote")
}

// lexQuoted reads an identifier in double quotes. Two double quotes stand for one.
func lexQuoted(src string, i int) (t token, wrong problem.Saying) {
	var b strings.Builder
	for j := i + 1; j < len(src); j++ {
		if src[j] != '"' {
			b.WriteByte(src[j])
			continue
		}
		if j+1 < len(src) && src[j+1] == '"' {
			b.WriteByte('"')
			j++
			continue
		}
		if b.Len() == 0 {
			return token{end: j + 1}, problem.Sayf("a name in double quotes needs at least one character")
		}
		return token{tokQuoted, b.String(), i, j + 1}, wrong
	}
	return token{end: i + 1}, problem.Sayf("the name has no closing double quote")
}

// numberEnd returns the end of the unsigned number that starts at i.
func numberEnd(src string, i int) int {
	digits := func() {
		for i < len(src) && isDigit(rune(src[i])) {
			i++
		}
	}
	digits()
	if i < len(src) && src[i] == '.' {
		i++
		digits()
	}
	if i < len(src) && (src[i] == 'e' || src[i] == 'E') {
		j := i + 1
		if j < len(src) && (src[j] == '+' || src[j] == '-') {
			j++
		}
		if j < len(src) && isDigit(rune(src[j])) {
			i = j
			digits()
		}
	}
	return i
}

func nameEnd(src string, i int) int {
	for i < len(src) {
		r, n := utf8.DecodeRuneInString(src[i:])
		if !isNamePart(r) {
			break
		}
		i += n
	}
	return i
}

// isName reports whether s is an identifier of the grammar.
func isName(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return s != "" && utf8.ValidString(s) && isNameStart(r) && nameEnd(s, 0) == len(s)
}

func isDigit(r rune) bool { return r >= '0' && r <= '9' }

// nameStarts are the ranges of identifierStart beyond ASCII.
var nameStarts = [...][2]rune{
	{0xC0, 0xD6}, {0xD8, 0xF6}, {0xF8, 0x2FF}, {0x370, 0x37D}, {0x37F, 0x1FFE}, {0x200C, 0x200D}, {0x2070, 0x218F},
	{0x2C00, 0x2FEF}, {0x3001, 0xD7FF}, {0xF900, 0xFDCF}, {0xFDF0, 0xFFFD}, {0x10000, 0xEFFFF},
}

func isNameStart(r rune) bool {
	if r < 0x80 {
		return r == ':' || r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
	}
	if isBlank(r) || r == utf8.RuneError {
		return false
	}
	for _, s := range nameStarts {
		if r >= s[0] && r <= s[1] {
			return true
		}
	}
	return false
}

func isNamePart(r rune) bool {
	return isNameStart(r) || r == '.' || isDigit(r) || r >= 0x300 && r <= 0x36F || r == 0x203F || r == 0x2040
}

func isBlank(r rune) bool {
	switch r {
	case '\t', '\n', '\v', '\f', '\r', ' ', 0x85, 0xA0, 0x1680, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000:
		return true
	}
	return r >= 0x2000 && r <= 0x200A
}
