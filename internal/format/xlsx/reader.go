// Package xlsx reads and writes workbooks of spreadsheets (ECMA-376).
package xlsx

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"grense/internal/format/csv"
	"grense/internal/format/input"
	"grense/internal/geo/wkb"
)

// reader reads a sheet of a workbook (ECMA-376, 18). The first row with cells names the columns.
// Coordinates come from columns as in CSV; without them the rows are features without geometry.
// Numbers in the format of a date or time become dates, timestamps, times or durations; texts stay texts.
type reader struct {
	open   func() (*input.Opened, error)
	sheet  sheet
	limits input.Limits
	memory input.Memory
}

type sheet struct {
	name, part string
	located    bool // has columns with coordinates
}

// book is the part of a workbook that stays in memory while a sheet is read.
type book struct {
	zip    *zip.Reader
	texts  []string
	dates  []dateStyle // by style
	early  bool        // days count from 1904 and may be negative, instead of from 1900
	errors map[string]int
	blank  int // formulas without a result
	limits input.Limits
	packed int64
}

const notWorkbook = "the file is not a workbook, or is damaged: %v; save it again as .xlsx"

// openBook reads the parts that sheets refer to; texts includes the shared texts, which may be many.
func openBook(in *input.Opened, l input.Limits, most int64) (*book, error) {
	z, err := zip.NewReader(in, in.Size)
	if err != nil {
		return nil, input.Refuse(notWorkbook, err)
	}
	b := &book{zip: z, limits: l, packed: in.Size, errors: map[string]int{}}
	if err := b.readTexts(most); err != nil {
		return nil, err
	}
	return b, b.readStyles()
}

// part opens a file of the workbook; nil if there is none.
func (b *book) part(name string) (io.ReadCloser, error) {
	for _, f := range b.zip.File {
		if strings.EqualFold(strings.TrimPrefix(f.Name, "/"), name) {
			in, err := f.Open()
			if err != nil {
				return nil, input.Refuse(notWorkbook, err)
			}
			return input.Unpack(in, in.Close, b.limits, int64(f.CompressedSize64), name), nil
		}
	}
	return nil, nil
}

// elements calls fn with each start element. fn may read the content from d.
func (b *book) elements(name string, fn func(d *xml.Decoder, e xml.StartElement) error) error {
	in, err := b.part(name)
	if in == nil {
		return err
	}
	defer in.Close()
	text := input.NewBudget(in, input.MaxRow)
	d := xml.NewDecoder(text)
	for {
		text.Again()
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return workbookError(err)
		}
		if e, ok := t.(xml.StartElement); ok {
			if err := fn(d, e); err != nil {
				return workbookError(err)
			}
		}
	}
}

// workbookError converts an error of XML to a refusal. Errors of its declaration, as for an encoding that
// OPC forbids, have no type.
func workbookError(err error) error {
	if strings.HasPrefix(err.Error(), "xml: ") && !errors.Is(err, input.ErrRefused) {
		return input.Refuse(notWorkbook, err)
	}
	if _, ok := errors.AsType[*xml.SyntaxError](err); ok || errors.Is(err, zip.ErrChecksum) ||
		errors.Is(err, zip.ErrFormat) || input.Ended(err) == nil {
		return input.Refuse(notWorkbook, err)
	}
	return err
}

// text returns the text of an element: that of its parts t, without phonetic readings.
func text(d *xml.Decoder, e xml.StartElement, most int) (string, error) {
	var b strings.Builder
	in, skip := 0, 0
	plainly := e.Name.Local == "v" || e.Name.Local == "t"
	for depth := 1; depth > 0; {
		t, err := d.Token()
		if err != nil {
			return "", err
		}
		switch t := t.(type) {
		case xml.StartElement:
			depth++
			switch t.Name.Local {
			case "t":
				in++
			case "rPh":
				skip++
			}
		case xml.EndElement:
			depth--
			switch t.Name.Local {
			case "t":
				in--
			case "rPh":
				skip--
			}
		case xml.CharData:
			if (plainly || in > 0) && skip == 0 {
				b.Write(t)
			}
			if b.Len() > most {
				return "", input.Refuse("a text of more than %d MB", most>>20)
			}
		}
	}
	return unescape(b.String()), nil
}

// unescape decodes the escapes of characters that XML forbids (ECMA-376, 22.9.2.19).
func unescape(s string) string {
	if !strings.Contains(s, "_x") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '_' && i+7 <= len(s) && s[i+1] == 'x' && s[i+6] == '_' {
			if n, err := strconv.ParseUint(s[i+2:i+6], 16, 16); err == nil {
				b.WriteRune(rune(n))
				i += 6
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func (b *book) readTexts(most int64) error {
	var size int64
	return b.elements("xl/sharedStrings.xml", func(d *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local != "si" {
			return nil
		}
		s, err := text(d, e, input.MaxRow)
		if err != nil {
			return err
		}
		if size += int64(len(s)) + 16; size > most {
			return input.Refuse("the texts of the workbook take more than %d MB of memory; if the file is right, "+
				"raise it with --feature-memory, or save the sheet as CSV", most>>20)
		}
		b.texts = append(b.texts, s)
		return nil
	})
}

// readStyles finds the styles that are dates (ECMA-376, 18.8.30), and the day from which days count.
func (b *book) readStyles() error {
	own := map[string]dateStyle{}
	cells := false
	err := b.elements("xl/styles.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			own[input.Attr(e, "numFmtId")] = styleOf(input.Attr(e, "formatCode"))
		case "cellXfs", "cellStyleXfs":
			cells = e.Name.Local == "cellXfs"
		case "xf":
			if !cells {
				return nil
			}
			id := input.Attr(e, "numFmtId")
			n, _ := strconv.Atoi(id)
			style, ok := own[id]
			if !ok {
				style = builtIn[n]
			}
			b.dates = append(b.dates, style)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return b.elements("xl/workbook.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		if v := input.Attr(e, "date1904"); e.Name.Local == "workbookPr" && (v == "1" || v == "true") {
			b.early = true
		}
		return nil
	})
}

// dateStyle is what a number format shows.
type dateStyle uint8

const (
	noDate   dateStyle = iota
	onlyDate           // a day
	dateTime           // a day with a time
	onlyTime           // a time of day
	duration           // hours, minutes or seconds that may exceed a day
)

// builtIn are the number formats without a code (ECMA-376, 18.8.30).
var builtIn = map[int]dateStyle{14: onlyDate, 15: onlyDate, 16: onlyDate, 17: onlyDate, 18: onlyTime, 19: onlyTime,
	20: onlyTime, 21: onlyTime, 22: dateTime,
	45: onlyTime, 46: duration, 47: onlyTime}

// styleOf parses the code of a number format, of which only the first section counts.
func styleOf(code string) dateStyle {
	code, _, _ = strings.Cut(code, ";")
	day, clock := false, false
	for i := 0; i < len(code); i++ {
		switch code[i] {
		case '"':
			if j := strings.IndexByte(code[i+1:], '"'); j >= 0 {
				i += j + 1
			}
		case '[':
			j := strings.IndexByte(code[i:], ']')
			if j < 0 {
				continue
			}
			if inside := strings.ToLower(code[i+1 : i+j]); inside != "" && strings.Trim(inside, inside[:1]) == "" &&
				strings.Contains("hms", inside[:1]) {
				return duration
			}
			i += j
		case '\\', '_', '*':
			i++
		case 'y', 'Y', 'd', 'D':
			day = true
		case 'h', 'H', 's', 'S':
			clock = true
		}
	}
	switch {
	case day && clock:
		return dateTime
	case day:
		return onlyDate
	case clock:
		return onlyTime
	}
	return noDate
}

// sheets lists the sheets of a workbook that have cells and are not hidden.
func sheets(open func() (*input.Opened, error), l input.Limits) ([]sheet, error) {
	in, err := open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	b, err := openBook(in, l, input.Memory(l.Feature).Bytes())
	if err != nil {
		return nil, err
	}
	targets := map[string]string{}
	err = b.elements("xl/_rels/workbook.xml.rels", func(_ *xml.Decoder, e xml.StartElement) error {
		if t := input.Attr(e, "Target"); e.Name.Local == "Relationship" {
			if !strings.HasPrefix(t, "/") {
				t = path.Join("xl", t)
			}
			targets[input.Attr(e, "Id")] = strings.TrimPrefix(t, "/")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var all, out []sheet
	err = b.elements("xl/workbook.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		if state := input.Attr(e, "state"); e.Name.Local == "sheet" && (state == "" || state == "visible") &&
			targets[input.Attr(e, "id")] != "" && len(all) < l.Entries {
			all = append(all, sheet{name: input.Attr(e, "name"), part: targets[input.Attr(e, "id")]})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, s := range all {
		t, cells, err := b.peek(s)
		if err != nil {
			return nil, err
		}
		if cells {
			s.located = t.Located()
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, input.Refuse("the workbook has no sheet with cells")
	}
	return out, nil
}

// errEnough ends the reading of a sheet.
var errEnough = errors.New("ingest: enough of the sheet")

// peek reads the names of the columns of a sheet; false if it has no cells.
func (b *book) peek(s sheet) (t csv.Table, cells bool, err error) {
	err = b.rows(s, func(_ int, row []cell) error {
		cells = true
		t.Header(names(row))
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return t, cells, err
}

// names returns the texts of a row without empty cells at its end.
func names(row []cell) (names []string) {
	for i := range row {
		if row[i].Kind > input.Null {
			for len(names) < i {
				names = append(names, "")
			}
			names = append(names, row[i].Text)
		}
	}
	return names
}

// cell is a cell with its value; an empty cell is input.Absent.
type cell struct{ input.Value }

// maxErrors is the number of kinds of errors in cells that are reported.
const maxErrors = 20

// maxColumns is the largest number of columns of a sheet.
const maxColumns = 16384

// rows calls fn with the rows of a sheet that have cells, and their numbers. The cells are valid until fn returns.
func (b *book) rows(s sheet, fn func(n int, row []cell) error) error {
	in, err := b.part(s.part)
	if err != nil {
		return err
	}
	if in == nil {
		return input.Refuse("the sheet %q is missing in the file", s.name)
	}
	defer in.Close()
	text := input.NewBudget(in, input.MaxRow)
	d := xml.NewDecoder(text)
	n := 0
	var row []cell
	for {
		t, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return workbookError(err)
		}
		e, ok := t.(xml.StartElement)
		if !ok || e.Name.Local != "row" {
			continue
		}
		text.Again()
		n++
		if r, err := strconv.Atoi(input.Attr(e, "r")); err == nil && r >= n {
			n = r
		}
		var some bool
		if row, some, err = b.row(d, row[:0]); err != nil {
			return workbookError(err)
		}
		if !some {
			continue
		}
		if err := fn(n, row); err != nil {
			return err
		}
	}
}

// row reads the cells of a row.
func (b *book) row(d *xml.Decoder, row []cell) (_ []cell, some bool, err error) {
	for {
		t, err := d.Token()
		if err != nil {
			return row, some, err
		}
		switch t := t.(type) {
		case xml.EndElement:
			if t.Name.Local == "row" {
				return row, some, nil
			}
		case xml.StartElement:
			if t.Name.Local != "c" {
				continue
			}
			at := len(row)
			if r := input.Attr(t, "r"); r != "" {
				at = columnOf(r)
			}
			if at < len(row) || at >= maxColumns {
				return row, some, input.Refuse("the cell %q stands where it cannot; is the file damaged?",
					input.Shorten(input.Attr(t, "r")))
			}
			for len(row) < at {
				row = append(row, cell{})
			}
			v, err := b.cell(d, t)
			if err != nil {
				return row, some, err
			}
			some = some || v.Kind > input.Absent
			row = append(row, cell{v})
		}
	}
}

// columnOf returns the column in the name of a cell, from 0: "B7" is 1.
func columnOf(name string) int {
	n := 0
	for i := 0; i < len(name) && i < 4 && name[i] >= 'A' && name[i] <= 'Z'; i++ {
		n = 26*n + int(name[i]-'A') + 1
	}
	return n - 1
}

// cell reads a cell (ECMA-376, 18.3.1.4).
func (b *book) cell(d *xml.Decoder, c xml.StartElement) (v input.Value, err error) {
	var s string
	formula := false
	for {
		t, err := d.Token()
		if err != nil {
			return v, err
		}
		if _, ok := t.(xml.EndElement); ok {
			break
		}
		e, ok := t.(xml.StartElement)
		switch {
		case !ok:
		case e.Name.Local == "v" || e.Name.Local == "is":
			if s, err = text(d, e, input.MaxRow); err != nil {
				return v, err
			}
		default:
			formula = formula || e.Name.Local == "f"
			if err := d.Skip(); err != nil {
				return v, err
			}
		}
	}
	kind := input.Attr(c, "t")
	if s == "" {
		if formula && kind != "str" {
			b.blank++
			return input.Value{Kind: input.Null}, nil
		}
		return input.Value{}, nil
	}
	switch kind {
	case "s":
		i, err := strconv.Atoi(s)
		if err != nil || i < 0 || i >= len(b.texts) {
			return v, input.Refuse("a cell has text %q, which the workbook has not; is the file damaged?",
				input.Shorten(s))
		}
		if b.texts[i] == "" {
			return input.Value{}, nil
		}
		return input.Value{Kind: input.Plain, Text: b.texts[i]}, nil
	case "inlineStr", "str":
		return input.Value{Kind: input.Plain, Text: s}, nil
	case "b":
		return input.Value{Kind: input.Boolean, Text: strconv.FormatBool(s == "1" || s == "true")}, nil
	case "e": // #N/A and the like
		if len(b.errors) < maxErrors {
			b.errors[input.Shorten(s)]++
		}
		return input.Value{Kind: input.Null}, nil
	case "d":
		return input.Value{Kind: input.Text, Text: s}, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !wkb.Finite(f) {
		return input.Value{Kind: input.Plain, Text: s}, nil
	}
	if i, err := strconv.Atoi(input.Attr(c, "s")); err == nil && i >= 0 && i < len(b.dates) && b.dates[i] != noDate {
		if v, ok := b.moment(f, b.dates[i]); ok {
			return v, nil
		}
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return input.Value{Kind: input.Integer, Text: strconv.FormatInt(int64(f), 10)}, nil
	}
	return input.Value{Kind: input.Number, Text: strconv.FormatFloat(f, 'f', -1, 64)}, nil
}

// Range of days in a workbook: to 9999-12-31, and from 1900-01-01 if they count from 1904.
const (
	lastDay1900  = 2958465
	firstDay1904 = -1462
)

// moment returns what a number of days shows in a style, to the millisecond; false if it is not a date.
// Days count from 1900-01-01, which is 1, with a day 60 that does not exist (1900-02-29); or from 1904-01-01,
// which is 0 (ECMA-376, 18.17.4.1).
func (b *book) moment(days float64, style dateStyle) (input.Value, bool) {
	const dayLength = 86400e3 // in milliseconds
	least := 0.0
	if b.early {
		least = firstDay1904
	}
	if days < least || days >= lastDay1900+1 {
		return input.Value{}, false
	}
	ms := int64(math.Round(days * dayLength))
	// the epoch begins at midnight
	clock := func(layout string) string { return time.UnixMilli(ms).UTC().Format(layout) }
	if style == duration {
		return input.Value{Kind: input.Plain, Text: fmt.Sprintf("%d:", ms/3600e3) + clock("04:05.999")}, ms >= 0
	}
	if style == onlyTime && ms >= 0 && ms < dayLength {
		return input.Value{Kind: input.Plain, Text: clock("15:04:05.999")}, true
	}
	whole := int(math.Floor(float64(ms) / dayLength))
	since := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case b.early:
		since = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case whole == 60:
		return input.Value{Kind: input.Plain, Text: "1900-02-29"}, true
	case whole < 60:
		since = since.AddDate(0, 0, 1)
	}
	date := since.AddDate(0, 0, whole).Format(time.DateOnly)
	if style == onlyDate && ms%dayLength == 0 {
		return input.Value{Kind: input.Text, Text: date}, true
	}
	return input.Value{Kind: input.Text, Text: date + "T" + clock("15:04:05.999")}, true
}

func (r *reader) Read(ctx context.Context, out input.Sink) error {
	in, err := r.open()
	if err != nil {
		return err
	}
	defer in.Close()
	b, err := openBook(in, r.limits, r.memory.Bytes())
	if err == nil {
		err = r.rows(ctx, b, out)
	}
	if errors.Is(err, input.ErrRefused) {
		out.Fault(input.Place{}, false, input.Refused, input.Reason(err))
		return nil
	}
	return err
}

func (r *reader) rows(ctx context.Context, b *book, out input.Sink) error {
	t := csv.Table{Memory: r.memory, Comma: true}
	head := true
	err := b.rows(r.sheet, func(n int, row []cell) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !head {
			return out.Record(xlsxRecord(&t, n, row, out))
		}
		head = false
		if wrong := t.Header(names(row)); wrong != "" {
			out.Fault(input.Place{Line: n, Column: 1}, false, input.Refused, wrong)
			return errEnough
		}
		out.Fields(t.Properties())
		if !t.Located() {
			out.Fault(input.Place{Line: n, Column: 1}, false, input.Warning, csv.NoCoordinates)
		}
		if t.Degrees {
			out.Reference(input.Place{Line: n, Column: 1}, "OGC:CRS84")
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(b.errors)) {
		out.Fault(input.Place{}, false, input.Warning,
			fmt.Sprintf("cells with the error %s: %d; they are null", name, b.errors[name]))
	}
	if b.blank > 0 {
		out.Fault(input.Place{}, false, input.Warning,
			fmt.Sprintf("cells with a formula and no result: %d; they are null. Open and save the file in a "+
				"spreadsheet program", b.blank))
	}
	return err
}

// xlsxRecord converts a row to a feature.
func xlsxRecord(t *csv.Table, n int, row []cell, out input.Sink) *input.Record {
	rec := &input.Record{At: input.Place{Line: n, Column: 1}}
	cell := func(i int) input.Value {
		if i < 0 || i >= len(row) {
			return input.Value{}
		}
		return row[i].Value
	}
	for i, name := range t.Names {
		if i == t.WKT || i == t.X || i == t.Y {
			continue
		}
		v := cell(i)
		if v.Kind == input.Absent {
			v.Kind = input.Null
		}
		rec.Fields = append(rec.Fields, input.Field{Name: name, Value: v})
	}
	if len(row) > len(t.Names) {
		for i := len(t.Names); i < len(row); i++ {
			if row[i].Kind > input.Null {
				rec.Refused = true
				out.Fault(rec.At, true, input.Refused,
					"the row has more cells than the first one; name each column there")
				break
			}
		}
	}
	if rec.Refused {
		return rec
	}
	t.Locate(rec, [3]string{cell(t.WKT).Text, cell(t.X).Text, cell(t.Y).Text}, out)
	return rec
}

// Layers lists the sheets of a workbook.
func Layers(_ context.Context, f *input.File, o input.Options) (layers []input.Layer, err error) {
	open, err := f.Anywhere(o.TempDir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Label, err)
	}
	sheets, err := sheets(open, o.Limits)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Label, err)
	}
	for _, x := range sheets {
		l := input.Layer{Name: x.name, Reader: &reader{open: open, sheet: x, limits: o.Limits,
			memory: input.Memory(o.Limits.Feature)}, Flat: !x.located}
		if len(sheets) == 1 {
			l.Name = ""
		}
		layers = append(layers, l)
	}
	return layers, nil
}
