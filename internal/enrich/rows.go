package enrich

import (
	"bytes"
	"io"
	"slices"
	"strings"
)

// Rows reads a CSV table, in the dialects that Table knows, and calls fn for each row but empty ones. Names and cells
// are texts, as many of one as of the other, and are the caller's to keep. decimals is what numbers have before their
// fractions: a comma where semicolons or tabs part cells, else a point. A Fault says that the table cannot be read.
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

// CodeColumn is the place of the column of codes among names: the one that is wanted, else such as code, kode or
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

// texts are what the cells of a row say, without blanks around them.
func (t *Table) texts(row []byte) (out []string) {
	for _, c := range t.split(row) {
		out = append(out, strings.TrimSpace(t.text(c)))
	}
	return out
}

// separator is what parts the cells of a header.
func separator(row []byte) byte {
	sep := byte(',')
	for _, c := range []byte(";\t|") {
		if bytes.Count(row, []byte{c}) > bytes.Count(row, []byte{sep}) {
			sep = c
		}
	}
	return sep
}
