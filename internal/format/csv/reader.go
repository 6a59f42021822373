// Package csv reads and writes comma-separated values (RFC 4180).
package csv

import (
	"bufio"
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"grense/internal/format/input"
	"grense/internal/format/wkt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// reader reads CSV (RFC 4180) with a header, separated by comma, semicolon, tab or bar.
// Points come from a pair of columns, other geometries from a column of well-known text (OGC 06-103r4, 7).
type reader struct {
	open   func() (io.ReadCloser, error)
	memory input.Memory
}

// NoCoordinates is the note on a table without geometry.
const NoCoordinates = "there are no columns with coordinates, so that features have no geometry; if there should be, " +
	"name the columns lon and lat, x and y, or wkt"

// Names of columns with coordinates, in lower case, best first.
var (
	wktNames  = []string{"wkt", "geometry_wkt", "geom_wkt", "the_geom", "geom", "geometry", "wkt_geom", "shape"}
	pairNames = [][2]string{{"lon", "lat"}, {"lng", "lat"}, {"long", "lat"}, {"longitude", "latitude"},
		{"lengdegrad", "breddegrad"}, {"x", "y"},
		{"easting", "northing"}, {"east", "north"}, {"øst", "nord"}, {"ost", "nord"}, {"utm_x", "utm_y"},
		{"x_koordinat", "y_koordinat"}}
)

// degreePairs is the number of pairNames whose names imply degrees.
const degreePairs = 5

// rowBudget stops reading a row of unlimited length.
type rowBudget struct {
	in   io.Reader
	left int
}

func (b *rowBudget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, input.Refuse("a row of more than %d MB; is a quotation mark never closed?", input.MaxRow>>20)
	}
	n, err := b.in.Read(p)
	b.left -= n
	return n, err
}

// quotedLines doubles the carriage return of a line end within quotes, because encoding/csv removes one.
type quotedLines struct {
	in     io.Reader
	quoted bool
	last   byte
	chunk  [4096]byte
	buf    []byte // the buffer behind out
	out    []byte
}

func (q *quotedLines) Read(p []byte) (n int, err error) {
	if len(q.out) == 0 {
		n, err = q.in.Read(q.chunk[:])
		q.buf = q.buf[:0]
		for _, c := range q.chunk[:n] {
			if c == '"' {
				q.quoted = !q.quoted
			}
			if c == '\n' && q.last == '\r' && q.quoted {
				q.buf = append(q.buf, '\r')
			}
			q.buf, q.last = append(q.buf, c), c
		}
		q.out = q.buf
	}
	n = copy(p, q.out)
	q.out = q.out[n:]
	if len(q.out) > 0 {
		return n, nil
	}
	return n, err
}

// Table is the meaning of the header.
type Table struct {
	Memory  input.Memory
	Names   []string
	WKT     int // number of the column; -1: none
	X, Y    int // numbers of the columns; -1: none
	Degrees bool
	Comma   bool // coordinates may have decimal commas
}

// isFlat reports whether the header has no columns with coordinates. It leaves errors in the header to the survey.
func (c *reader) isFlat() (bool, error) {
	in, err := c.open()
	if err != nil {
		return false, err
	}
	defer in.Close()
	r, _ := rows(in)
	row, err := r.Read()
	var t Table
	return err == nil && t.Header(row) == "" && !t.Located(), nil
}

// rows returns a reader of rows. The caller refills the budget for each row.
func rows(in io.Reader) (*csv.Reader, *rowBudget) {
	budget := &rowBudget{in: in, left: input.MaxRow}
	text := bufio.NewReaderSize(budget, 64<<10)
	head, _ := text.Peek(4096)
	if bytes.HasPrefix(head, []byte("\xff\xfe")) || bytes.HasPrefix(head, []byte("\xfe\xff")) {
		text = bufio.NewReaderSize(unicode.UTF16(unicode.LittleEndian, unicode.ExpectBOM).NewDecoder().Reader(text),
			64<<10)
		head, _ = text.Peek(4096)
	}
	if bytes.HasPrefix(head, []byte("\xef\xbb\xbf")) {
		text.Discard(3)
		head = head[3:]
	}
	r := csv.NewReader(&quotedLines{in: text})
	r.ReuseRecord = true
	r.Comma = delimiter(head)
	return r, budget
}

func (c *reader) Read(ctx context.Context, out input.Sink) error {
	in, err := c.open()
	if err != nil {
		return err
	}
	defer in.Close()
	r, budget := rows(in)
	t, ok, err := header(r, out)
	if err != nil || !ok {
		return c.failed(err, out)
	}
	if !t.Located() {
		out.Fault(input.Place{Line: 1, Column: 1}, false, input.Warning, NoCoordinates)
	}
	t.Memory = c.memory
	out.Fields(t.Properties())
	if t.Degrees {
		out.Reference(input.Place{Line: 1, Column: 1}, "OGC:CRS84")
	}
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		budget.left = input.MaxRow
		row, err := r.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return c.failed(err, out)
		}
		line, _ := r.FieldPos(0)
		if err := out.Record(t.record(row, line, out)); err != nil {
			return err
		}
	}
}

// failed reports an error in the content to out.
func (c *reader) failed(err error, out input.Sink) error {
	if bad, ok := errors.AsType[*csv.ParseError](err); ok {
		reason := bad.Err.Error()
		if errors.Is(err, csv.ErrFieldCount) {
			reason = "the row has more or fewer fields than the header"
		}
		out.Fault(input.Place{Line: bad.Line, Column: bad.Column}, false, input.Refused, reason)
		return nil
	}
	return err
}

// delimiter guesses the separator by the first line.
func delimiter(head []byte) rune {
	line, _, _ := bytes.Cut(head, []byte("\n"))
	best, most := ',', 0
	for _, d := range ",;\t|" {
		n, quoted := 0, false
		for _, c := range line {
			if c == '"' {
				quoted = !quoted
			} else if rune(c) == d && !quoted {
				n++
			}
		}
		if n > most {
			best, most = d, n
		}
	}
	return best
}

// header reads the first row. ok is false if out has received a fault.
func header(r *csv.Reader, out input.Sink) (t Table, ok bool, err error) {
	row, err := r.Read()
	refuse := func(reason string) (Table, bool, error) {
		out.Fault(input.Place{Line: 1, Column: 1}, false, input.Refused, reason)
		return t, false, nil
	}
	if errors.Is(err, io.EOF) {
		return refuse("the file is empty")
	}
	if err != nil {
		return t, false, err
	}
	if wrong := t.Header(row); wrong != "" {
		return refuse(wrong)
	}
	t.Comma = r.Comma != ','
	return t, true, nil
}

// Located reports whether the table has columns with coordinates.
func (t *Table) Located() bool { return t.X >= 0 || t.WKT >= 0 }

// Header stores the names of the columns and finds those with coordinates. wrong is the reason if it cannot.
func (t *Table) Header(row []string) (wrong string) {
	if len(row) > input.MaxNames {
		return fmt.Sprintf("more than %d columns", input.MaxNames)
	}
	var low []string
	for i, name := range row {
		name = strings.TrimSpace(name)
		if !utf8.ValidString(name) {
			return "the header is not UTF-8; save the file as UTF-8"
		}
		if name == "" {
			name = "column_" + strconv.Itoa(i+1)
		}
		if slices.Contains(t.Names, name) {
			return "the column " + strconv.Quote(name) + " stands in the header twice"
		}
		t.Names = append(t.Names, strings.Clone(name))
		low = append(low, strings.ToLower(name))
	}
	t.WKT, t.X, t.Y = -1, -1, -1
	for _, name := range wktNames {
		if i := slices.Index(low, name); i >= 0 && t.WKT < 0 {
			t.WKT = i
		}
	}
	for i, p := range pairNames {
		x, y := slices.Index(low, p[0]), slices.Index(low, p[1])
		if x >= 0 && y >= 0 && t.X < 0 {
			t.X, t.Y, t.Degrees = x, y, i < degreePairs
		}
	}
	if t.X >= 0 { // numbers are clear without inspecting the rows
		t.WKT = -1
	}
	return ""
}

// Properties returns the names of the columns that are not coordinates.
func (t *Table) Properties() []string {
	var names []string
	for i, n := range t.Names {
		if i != t.WKT && i != t.X && i != t.Y {
			names = append(names, n)
		}
	}
	return names
}

// record converts a row to a feature. Columns with coordinates become the geometry instead of properties.
func (t *Table) record(row []string, line int, out input.Sink) *input.Record {
	rec := &input.Record{At: input.Place{Line: line, Column: 1}}
	refuse := func(reason string) {
		rec.Refused = true
		out.Fault(rec.At, true, input.Refused, reason)
	}
	for i, s := range row {
		switch {
		case !utf8.ValidString(s):
			refuse("the text in column " + strconv.Quote(t.Names[i]) + " is not UTF-8; save the file as UTF-8")
		case i == t.WKT || i == t.X || i == t.Y:
		case s == "":
			rec.Fields = append(rec.Fields, input.Field{Name: t.Names[i], Value: input.Value{Kind: input.Null}})
		default:
			rec.Fields = append(rec.Fields,
				input.Field{Name: t.Names[i], Value: input.Value{Kind: input.Untyped, Text: strings.Clone(s)}})
		}
	}
	if rec.Refused {
		return rec
	}
	at := func(i int) string {
		if i < 0 {
			return ""
		}
		return row[i]
	}
	t.Locate(rec, [3]string{at(t.WKT), at(t.X), at(t.Y)}, out)
	return rec
}

// Locate builds the geometry of a record from the texts at: well-known text, x and y.
func (t *Table) Locate(rec *input.Record, at [3]string, out input.Sink) {
	refuse := func(reason string) {
		rec.Refused = true
		out.Fault(rec.At, true, input.Refused, reason)
	}
	if t.WKT >= 0 {
		s, notes, wrong := wkt.Read(t.Memory, at[0], rec.At, out)
		if rec.Shape = s; wrong != "" {
			refuse(wrong)
		}
		for _, n := range notes {
			out.Fault(rec.At, true, n.Action, n.Reason)
		}
		return
	}
	x, y := strings.TrimSpace(at[1]), strings.TrimSpace(at[2])
	if x == "" && y == "" {
		return
	}
	rec.Shape = &input.Shape{Kind: input.Point}
	fx, okx := t.coordinate(x)
	fy, oky := t.coordinate(y)
	if !okx || !oky {
		refuse(fmt.Sprintf("%q, %q are not coordinates", input.Shorten(x), input.Shorten(y)))
	}
	rec.Shape.Add(fx, fy, 0)
}

// coordinate parses a decimal number, with a decimal comma if that cannot be a separator.
func (t *Table) coordinate(s string) (float64, bool) {
	if t.Comma && strings.Count(s, ",") == 1 && !strings.Contains(s, ".") {
		s = strings.Replace(s, ",", ".", 1)
	}
	if _, ok := input.NumberSyntax([]byte(strings.TrimPrefix(s, "+"))); !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil
}

// Layers returns the table of a file as a layer.
func Layers(_ context.Context, f *input.File, o input.Options) ([]input.Layer, error) {
	r := &reader{open: f.Open, memory: input.Memory(o.Limits.Feature)}
	flat, err := r.isFlat()
	if err != nil {
		return nil, err
	}
	return []input.Layer{{Reader: r, Flat: flat}}, nil
}
