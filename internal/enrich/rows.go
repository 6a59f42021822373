package enrich

import (
	"bytes"
	"io"
	"slices"
	"strings"
)

// Rows reads a CSV table in any dialect that Table accepts, and calls fn for each row that is not empty. It passes as
// many cells as names; fn may keep both. decimals is the decimal separator: a comma if the delimiter is a semicolon or
// tab, else a point. A Fault means that the table cannot be read.
func Rows(r io.Reader, fn func(names, cells []string, decimals byte) error) error {
	t := NewCSV(nil, Options{})
	var names []string
	decimals := byte('.')
	t.visit = func(row []byte) error {
		if t.begun {
			t.Report.Rows++
			cells := t.texts(row)
			if len(cells) != len(names) {
				return fault("row %d has %d cells, the header %d", t.Report.Rows, len(cells), len(names))
			}
			return fn(names, cells, decimals)
		}
		t.begun, t.sep = true, separator(row)
		if t.sep == ';' || t.sep == '\t' {
			decimals = ','
		}
		names = t.texts(row)
		for i, name := range names {
			if name == "" || slices.Contains(names[:i], name) {
				return fault("column %d has the name %q; give each a name of its own", i+1, name)
			}
		}
		return nil
	}
	return t.Run(io.Discard, r, nil)
}

// CodeColumn returns the index of the code column: the one named want, else one with a usual name such as code, kode or
// kommunenummer.
func CodeColumn(names []string, want string) (int, error) {
	for _, name := range append([]string{want}, codeNames...) {
		if i := slices.IndexFunc(names, func(s string) bool {
			return name != "" && strings.EqualFold(s, name)
		}); i >= 0 {
			return i, nil
		}
		if want != "" {
			break
		}
	}
	if want != "" {
		return -1, fault("the table has no column %q; it has %s", want, clipped(names))
	}
	return -1, fault("no column with codes was found; name it: the table has %s", clipped(names))
}

// texts returns the contents of a row's cells, trimmed.
func (t *Table) texts(row []byte) (out []string) {
	for _, c := range t.split(row) {
		out = append(out, strings.TrimSpace(t.text(c)))
	}
	return out
}

// separator returns the delimiter of a header.
func separator(row []byte) byte {
	sep := byte(',')
	for _, c := range []byte(";\t|") {
		if bytes.Count(row, []byte{c}) > bytes.Count(row, []byte{sep}) {
			sep = c
		}
	}
	return sep
}
