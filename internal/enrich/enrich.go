// Package enrich adds columns to tables of points or codes: the divisions of the point or code of each row. Rows are
// unchanged otherwise and keep their order. The table is processed as a stream.
//
// Tables are CSV (RFC 4180, with a header) or JSON Lines. In CSV the delimiter (comma, semicolon, tab, bar), a byte
// order mark, decimal commas and Windows-1252 are detected; output is UTF-8. A row that cannot be read is kept, with
// the reason in the last column.
package enrich

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"grense/internal/problem"
)

// MaxRow is the largest size of a row in bytes.
const MaxRow = 1 << 20

// ErrorColumn is the default name of the last added column.
const ErrorColumn = "enrich_error"

// A Finder returns the values that are added to a row, one for each of Columns ("" for none), appended to dst. It is
// called for one row after the other.
type Finder interface {
	Columns() []string
	// At is called with a position, x before y, in the coordinate system of the table. fault is a message about the
	// row.
	At(dst []string, x, y float64) (values []string, fault string, err error)
	// Code is called with a code. restored means that the code had lost leading zeros and matches one division with
	// them. An error of type *Fault concerns only the row.
	Code(dst []string, code string) (values []string, restored bool, err error)
}

// Options name the columns with points or codes. If empty, usual names are looked up: lon and lat or similar, else code
// and the like.
type Options struct {
	X, Y, Code string
	Error      string // name of the last added column; "": ErrorColumn
}

// Report counts rows by result.
type Report struct {
	Rows          int `json:"rows"`
	Matched       int `json:"matched"`
	Unmatched     int `json:"unmatched"`     // points outside of all divisions, unknown codes
	Errors        int `json:"errors"`        // unreadable rows
	RestoredCodes int `json:"restoredCodes"` // codes that matched after leading zeros were restored
}

// Fault is a message about a whole table or, from a Finder, about a row.
type Fault struct{ Said problem.Saying }

func (f *Fault) Error() string { return f.Said.String() }

func fault(format string, a ...any) error { return &Fault{problem.Sayf(format, a...)} }

// usual names of columns with coordinates and codes, in lower case, in order of preference
var (
	pairNames = [][2]string{
		{"lon", "lat"},
		{"lng", "lat"},
		{"long", "lat"},
		{"longitude", "latitude"},
		{"lengdegrad", "breddegrad"},
		{"x", "y"},
		{"easting", "northing"},
		{"øst", "nord"},
		{"ost", "nord"},
	}
	codeNames = []string{"code", "kode", "kommunenummer", "kommunenr", "komnr", "fylkesnummer", "fylkesnr",
		"region", "id"}
)

// Table enriches one table. Use NewCSV or NewLines. It is not safe for concurrent use.
type Table struct {
	Report Report
	// Around, if not nil, is called by Run with the work on each piece of the table, which it must call. Run reads and
	// writes only between these calls. An error of Around ends Run.
	Around func(work func() error) error

	find    Finder
	options Options
	lines   bool
	begun   bool
	sep     byte
	fields  int // number of columns in the header
	x, y    int // columns; -1: use the code
	code    int
	cells   [][]byte
	open    bool // the last column lacks its closing quotation mark
	values  []string
	seen    int                    // lines of the incomplete row that were scanned already
	q       quotes                 // state of scanning after these
	visit   func(row []byte) error // if not nil, called for each row instead of enriching it
}

// NewCSV returns a Table for CSV.
func NewCSV(find Finder, o Options) *Table {
	if o.Error == "" {
		o.Error = ErrorColumn
	}
	return &Table{find: find, options: o}
}

// NewLines returns a Table for JSON Lines.
func NewLines(find Finder, o Options) *Table {
	t := NewCSV(find, o)
	t.lines = true
	return t
}

// IsLines reports whether a table that begins with head is JSON Lines.
func IsLines(head []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(head, "\ufeff \t\r\n"), []byte("{"))
}

// Append enriches the complete rows at the beginning of in and appends them to dst; rest is the remaining input, which
// begins with an incomplete row. last means that in ends the table. A Fault means that reading cannot continue; other
// errors are those of the Finder.
func (t *Table) Append(dst, in []byte, last bool) (out, rest []byte, err error) {
	if !t.begun && len(in) < 3 && !last {
		return dst, in, nil
	}
	if !t.begun {
		in = bytes.TrimPrefix(in, []byte("\xef\xbb\xbf"))
		if bytes.HasPrefix(in, []byte("\xff\xfe")) || bytes.HasPrefix(in, []byte("\xfe\xff")) {
			return dst, in, fault("the table is UTF-16; save it as UTF-8")
		}
	}
	for len(in) > 0 {
		n, size := t.row(in, last)
		if n < 0 || n > MaxRow {
			if len(in) > MaxRow {
				return dst, in, fault("row %d is longer than %d bytes; is a quotation mark never closed?",
					t.Report.Rows+1, MaxRow)
			}
			return dst, in, nil
		}
		if dst, err = t.one(dst, in[:n]); err != nil {
			return dst, in, err
		}
		in = in[size:]
	}
	if last && !t.begun && !t.lines {
		return dst, in, fault("the table is empty; its first row must name the columns")
	}
	return dst, in, nil
}

// leastRead is the least free space, in bytes, for a read of Run.
const leastRead = 16 << 10

// Run enriches all of r and writes it to w, piece by piece. read, if not nil, is called with the number of bytes read
// so far. It returns errors of Append, r and w.
func (t *Table) Run(w io.Writer, r io.Reader, read func(bytes int)) error {
	in, out, done := make([]byte, 0, 64<<10), make([]byte, 0, 64<<10), 0
	around := t.Around
	if around == nil {
		around = func(work func() error) error { return work() }
	}
	for last := false; !last; {
		if cap(in)-len(in) < leastRead {
			in = append(make([]byte, 0, 2*cap(in)), in...)
		}
		n, err := r.Read(in[len(in):cap(in)])
		in, done = in[:len(in)+n], done+n
		if last = errors.Is(err, io.EOF); err != nil && !last {
			return err
		}
		var rest []byte
		if err := around(func() (err error) { out, rest, err = t.Append(out[:0], in, last); return err }); err != nil {
			return err
		}
		in = append(in[:0], rest...)
		if len(out) > 0 {
			if _, err := w.Write(out); err != nil {
				return err
			}
		}
		if read != nil {
			read(done)
		}
	}
	return nil
}

// row returns the length of the first row without and with its line end; -1 if it is incomplete. It does not scan the
// same bytes twice.
func (t *Table) row(in []byte, last bool) (n, size int) {
	if !t.begun { // the delimiter is found in the complete header
		t.seen, t.q = 0, begins
	}
	for {
		i := bytes.IndexByte(in[t.seen:], '\n')
		if i < 0 && last {
			t.seen, t.q = 0, begins
			return len(bytes.TrimSuffix(in, []byte("\r"))), len(in)
		} else if i < 0 {
			return -1, 0
		}
		if line := in[t.seen : t.seen+i]; !t.lines && bytes.IndexByte(line, '"') >= 0 {
			t.q.over(line, t.parts(in[:t.seen+i]))
		}
		if t.seen += i + 1; t.q != within {
			size = t.seen
			t.seen, t.q = 0, begins
			if n = size - 1; n > 0 && in[n-1] == '\r' {
				n--
			}
			return n, size
		}
	}
}

// parts returns the delimiter of a row's cells.
func (t *Table) parts(row []byte) byte {
	if t.begun {
		return t.sep
	}
	return separator(row)
}

// quotes is a state of scanning quotation marks. A mark counts only at the beginning of a cell, possibly after blanks:
// 3" is plain text.
type quotes uint8

const (
	begins quotes = iota // at the beginning of a cell, possibly after blanks
	plain                // in a cell without marks, or after the closing mark
	within
	closed // after a mark in a quoted cell, which may be the first of two
)

// over advances over some bytes.
func (q *quotes) over(b []byte, sep byte) {
	for _, c := range b {
		q.take(c, sep)
	}
}

// take advances over a byte. It reports whether the cell ends before it.
func (q *quotes) take(c, sep byte) bool {
	switch {
	case *q == within:
		if c == '"' {
			*q = closed
		}
	case c == sep:
		*q = begins
		return true
	case c == '"' && (*q == begins || *q == closed):
		*q = within
	case *q == begins && (c == ' ' || c == '\t'):
	default:
		*q = plain
	}
	return false
}

func (t *Table) one(dst, row []byte) ([]byte, error) {
	if len(bytes.TrimSpace(row)) == 0 {
		return append(dst, '\n'), nil
	}
	if !utf8.Valid(row) {
		fixed, err := charmap.Windows1252.NewDecoder().Bytes(row)
		if err != nil {
			return dst, fault("row %d is neither UTF-8 nor Windows-1252", t.Report.Rows+1)
		}
		row = fixed
	}
	switch {
	case t.visit != nil:
		return dst, t.visit(row)
	case t.lines:
		t.begun = true
		return t.object(dst, row)
	case !t.begun:
		t.begun = true
		return t.header(dst, row)
	}
	return t.record(dst, row)
}

// header reads the column names and finds the columns with points or codes.
func (t *Table) header(dst, row []byte) ([]byte, error) {
	if bytes.IndexByte(row, '\r') >= 0 && bytes.IndexByte(row, '"') < 0 {
		return dst, fault("the lines of the table end with carriage returns alone; save it with line feeds")
	}
	t.sep = separator(row)
	names := t.texts(row)
	t.fields, t.x, t.y, t.code = len(names), -1, -1, -1
	if err := t.choose(names); err != nil {
		return dst, err
	}
	for _, i := range [...]int{t.x, t.y, t.code} {
		if i >= 0 && slices.Contains(names[i+1:], names[i]) {
			return dst, fault("the table has several columns %q, of which one is asked; rename the others", names[i])
		}
	}
	dst = append(dst, row...)
	for _, name := range append(slices.Clone(t.find.Columns()), t.options.Error) {
		if slices.Contains(names, name) {
			return dst, fault("the table has a column %s already, which would be added; rename it", name)
		}
		dst = t.cell(append(dst, t.sep), name)
	}
	return append(dst, '\n'), nil
}

func (t *Table) choose(names []string) error {
	find := func(name string) int {
		if name == "" { // a column without a name is none of these
			return -1
		}
		if i := slices.Index(names, name); i >= 0 {
			return i
		}
		return slices.IndexFunc(names, func(s string) bool { return strings.EqualFold(s, name) })
	}
	for _, name := range [...]string{t.options.X, t.options.Y, t.options.Code} {
		if name != "" && find(name) < 0 {
			return fault("the table has no column %q; it has %s", name, clipped(names))
		}
	}
	if t.code = find(t.options.Code); t.code >= 0 {
		return nil
	}
	if t.x, t.y = find(t.options.X), find(t.options.Y); t.x >= 0 && t.y >= 0 {
		return nil
	}
	for _, p := range pairNames {
		if t.x, t.y = find(p[0]), find(p[1]); t.x >= 0 && t.y >= 0 {
			return nil
		}
	}
	t.x, t.y = -1, -1
	for _, name := range codeNames {
		if t.code = find(name); t.code >= 0 {
			return nil
		}
	}
	return fault("no columns with points (lon and lat) or codes (code) were found; name them: the table has %s",
		clipped(names))
}

func clipped(names []string) string {
	s := strings.Join(names, ", ")
	if len(s) > 300 {
		s = strings.ToValidUTF8(s[:300], "") + "…"
	}
	return s
}

// split splits a row into cells, including their quotation marks.
func (t *Table) split(row []byte) [][]byte {
	t.cells, t.open = t.cells[:0], false
	if bytes.IndexByte(row, '"') < 0 {
		for {
			i := bytes.IndexByte(row, t.sep)
			if i < 0 {
				return append(t.cells, row)
			}
			t.cells, row = append(t.cells, row[:i]), row[i+1:]
		}
	}
	start, q := 0, begins
	for i, c := range row {
		if q.take(c, t.sep) {
			t.cells = append(t.cells, row[start:i])
			start = i + 1
		}
	}
	t.open = q == within
	return append(t.cells, row[start:])
}

// text returns the content of a cell.
func (t *Table) text(c []byte) string {
	if len(c) >= 2 && c[0] == '"' && c[len(c)-1] == '"' {
		return strings.ReplaceAll(string(c[1:len(c)-1]), `""`, `"`)
	}
	return string(c)
}

// cell appends a text as a cell.
func (t *Table) cell(dst []byte, s string) []byte {
	if !strings.ContainsAny(s, "\"\r\n") && strings.IndexByte(s, t.sep) < 0 {
		return append(dst, s...)
	}
	return append(append(append(dst, '"'), strings.ReplaceAll(s, `"`, `""`)...), '"')
}

func (t *Table) record(dst, row []byte) ([]byte, error) {
	cells := t.split(row)
	t.cells = cells
	wrong := ""
	if t.open {
		wrong = "a quotation mark is never closed; what follows is taken for its text"
	} else if len(cells) != t.fields {
		wrong = fmt.Sprintf("the row has %d cells, the header %d", len(cells), t.fields)
	}
	values, wrong, err := t.look(wrong, func(i int) []byte {
		if i < len(cells) {
			return bytes.TrimSpace(cells[i])
		}
		return nil
	})
	if err != nil {
		return dst, err
	}
	dst = append(dst, row...)
	for range t.fields - len(cells) {
		dst = append(dst, t.sep)
	}
	for _, v := range values {
		dst = t.cell(append(dst, t.sep), v)
	}
	return append(t.cell(append(dst, t.sep), wrong), '\n'), nil
}

// look finds the values for a row and counts the result. wrong is a fault that was found before.
func (t *Table) look(wrong string, cell func(column int) []byte) (values []string, fault string, err error) {
	t.Report.Rows++
	restored := false
	values = t.values[:0]
	switch {
	case wrong != "":
	case t.code >= 0:
		if code := t.text(cell(t.code)); code == "" {
			wrong = "there is no code"
		} else {
			values, restored, err = t.find.Code(values, code)
			if f, ok := errors.AsType[*Fault](err); ok {
				wrong, err = f.Error(), nil
			}
		}
	default:
		var x, y float64
		if x, wrong = number(cell(t.x)); wrong == "" {
			if y, wrong = number(cell(t.y)); wrong == "" {
				values, wrong, err = t.find.At(values, x, y)
			}
		}
	}
	for n := len(t.find.Columns()); len(values) < n; {
		values = append(values, "")
	}
	t.values = values
	switch {
	case wrong != "":
		t.Report.Errors++
	case slices.ContainsFunc(values, func(s string) bool { return s != "" }):
		t.Report.Matched++
	default:
		t.Report.Unmatched++
	}
	if restored {
		t.Report.RestoredCodes++
	}
	return values, wrong, err
}

// number parses a coordinate with a decimal point or comma.
func number(c []byte) (float64, string) {
	if len(c) >= 2 && c[0] == '"' && c[len(c)-1] == '"' {
		c = bytes.TrimSpace(c[1 : len(c)-1])
	}
	var room [64]byte
	if i := bytes.IndexByte(c, ','); i >= 0 && len(c) <= len(room) && bytes.IndexByte(c, '.') < 0 {
		c = append(room[:0], c...)
		c[i] = '.'
	}
	v, err := strconv.ParseFloat(string(c), 64)
	switch {
	case len(c) == 0:
		return 0, "there is no coordinate"
	case err != nil || v-v != 0 || bytes.ContainsAny(c, "xX_"):
		return 0, "a coordinate is no number"
	}
	return v, ""
}

// object enriches a JSON object.
func (t *Table) object(dst, row []byte) ([]byte, error) {
	row = bytes.TrimSpace(row)
	var members map[string]json.RawMessage
	if err := json.Unmarshal(row, &members); err != nil || members == nil {
		t.Report.Rows++
		t.Report.Errors++
		return append(appendMember(append(dst, '{'), t.options.Error, "the line is no JSON object"), '}', '\n'), nil
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	wrong := ""
	if _, twice := RepeatedMember(row); twice {
		wrong = "the line has a member twice"
	}
	t.code, t.x, t.y = -1, -1, -1
	if err := t.choose(names); err != nil {
		wrong = err.Error()
	}
	if _, ok := members[t.options.Error]; ok {
		return dst, fault("row %d has a member %s already, which would be added; rename it", t.Report.Rows+1,
			t.options.Error)
	}
	for _, name := range t.find.Columns() {
		if _, ok := members[name]; ok {
			wrong = "the line has a member " + name + " already, which would be added; rename it"
		}
	}
	values, wrong, err := t.look(wrong, func(i int) []byte {
		m := members[names[i]]
		var s string
		if json.Unmarshal(m, &s) == nil {
			return []byte(strings.TrimSpace(s))
		}
		return m
	})
	if err != nil {
		return dst, err
	}
	dst = append(dst, bytes.TrimRight(row[:len(row)-1], " \t")...)
	if len(members) > 0 {
		dst = append(dst, ',')
	}
	for i, name := range t.find.Columns() {
		if _, ok := members[name]; !ok {
			dst = append(appendMember(dst, name, values[i]), ',')
		}
	}
	return append(appendMember(dst, t.options.Error, wrong), '}', '\n'), nil
}

// appendMember appends a member with a string value; null for "".
func appendMember(dst []byte, name, value string) []byte {
	k, _ := json.Marshal(name) // never fails for strings
	v := []byte("null")
	if value != "" {
		v, _ = json.Marshal(value)
	}
	return append(append(append(dst, k...), ':'), v...)
}
