// Package table reads CSV files with a header line, as people save them.
package table

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"grense/internal/cql2"
)

// Table is a table with a header line.
type Table struct {
	Columns []string // column names in lower case
	First   []string // column names as written
	Rows    [][]string
	Lines   []int // line number of each row, counted from 1
}

// New returns a table without rows, with a header line.
func New(header []string) *Table {
	t := &Table{First: header}
	for _, c := range header {
		t.Columns = append(t.Columns, strings.ToLower(strings.TrimSpace(c)))
	}
	return t
}

// Read reads CSV separated by commas, semicolons or tabs, with or without a byte order mark. Text that is not valid
// UTF-8 is read as Latin-1. If a line is no CSV, the error is a *csv.ParseError.
func Read(r io.Reader) (*Table, error) {
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	if bytes.IndexByte(b, 0) >= 0 {
		return nil, errors.New("the table holds NUL, as UTF-16 does; save it as UTF-8")
	}
	if bytes.IndexByte(b, '\n') < 0 {
		b = bytes.ReplaceAll(b, []byte("\r"), []byte("\n"))
	}
	if !utf8.Valid(b) { // then it is Latin-1
		runes := make([]rune, len(b))
		for i, x := range b {
			runes[i] = rune(x)
		}
		b = []byte(string(runes))
	}
	in := csv.NewReader(bytes.NewReader(b))
	in.Comma = separator(b)
	header, err := in.Read()
	if err == io.EOF {
		return nil, errors.New("the table is empty")
	}
	if err != nil {
		return nil, err
	}
	t := New(header)
	for {
		row, err := in.Read()
		if err == io.EOF {
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		line, _ := in.FieldPos(0)
		t.Rows, t.Lines = append(t.Rows, row), append(t.Lines, line)
	}
}

// separator returns the most frequent of comma, semicolon and tab in the header line. Those in quotes do not count.
func separator(b []byte) rune {
	commas, semicolons, tabs, quoted := 0, 0, 0, false
	for _, c := range bytes.TrimLeft(b, "\r\n") {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ',':
			commas++
		case c == ';':
			semicolons++
		case c == '\t':
			tabs++
		}
		if c == '\n' && !quoted {
			break
		}
	}
	switch max(commas, semicolons, tabs) {
	case commas:
		return ','
	case semicolons:
		return ';'
	}
	return '\t'
}

// Has reports whether the table has all of columns.
func (t *Table) Has(columns ...string) bool {
	for _, c := range columns {
		if !slices.Contains(t.Columns, strings.ToLower(c)) {
			return false
		}
	}
	return true
}

// Value returns the value in row i of the first of columns that exists; "" if none does.
func (t *Table) Value(i int, columns ...string) string {
	for _, c := range columns {
		if k := slices.Index(t.Columns, strings.ToLower(c)); k >= 0 && k < len(t.Rows[i]) {
			return strings.TrimSpace(t.Rows[i][k])
		}
	}
	return ""
}

// Unknown returns a message for each column that is not in known or occurs twice.
func (t *Table) Unknown(known []string) (reasons []string) {
	add := func(format string, args ...any) { reasons = append(reasons, fmt.Sprintf(format, args...)) }
	for i, c := range t.Columns {
		near := cql2.Nearest(c, known)
		switch {
		case slices.Contains(t.Columns[:i], c):
			add("the column %q stands twice; name each once", c)
		case slices.Contains(known, c):
		case near != "":
			add("there is no column %q; write %s, or leave it out", c, near)
		default:
			add("there is no column %q; leave it out. The columns are %s", c, strings.Join(known, ", "))
		}
	}
	return reasons
}
