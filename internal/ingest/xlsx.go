package ingest

import (
	"archive/zip"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"grense/internal/geo/wkb"
)

// xlsxReader reads a sheet of a workbook (ECMA-376, 18): its first row that has cells names the columns. Coordinates stand in columns as in CSV; without them the
// rows are features without geometry. Numbers with the format of a date or time are days, moments, times or durations; texts stay texts.
type xlsxReader struct {
	open   func() (*opened, error)
	sheet  xlsxSheet
	limits Limits
	memory memory
}

type xlsxSheet struct {
	name, part string
	located    bool // has columns with coordinates
}

// xlsxBook is what is kept of a workbook while a sheet is read.
type xlsxBook struct {
	zip    *zip.Reader
	texts  []string
	dates  []dateStyle // by style
	early  bool        // days are counted from 1904 and may be negative, not from 1900
	errors map[string]int
	blank  int // formulas without a result
	limits Limits
	packed int64
}

const notWorkbook = "the file is no workbook that can be read, or damaged: %v; save it anew as .xlsx"

// openBook reads what sheets refer to; texts says that the shared texts are wanted, which may be many.
func openBook(in *opened, l Limits, most int64) (*xlsxBook, error) {
	z, err := zip.NewReader(in, in.size)
	if err != nil {
		return nil, refusal(notWorkbook, err)
	}
	b := &xlsxBook{zip: z, limits: l, packed: in.size, errors: map[string]int{}}
	if err := b.readTexts(most); err != nil {
		return nil, err
	}
	return b, b.readStyles()
}

// part opens a file of the workbook; nil when there is none.
func (b *xlsxBook) part(name string) (io.ReadCloser, error) {
	for _, f := range b.zip.File {
		if strings.EqualFold(strings.TrimPrefix(f.Name, "/"), name) {
			in, err := f.Open()
			if err != nil {
				return nil, refusal(notWorkbook, err)
			}
			return &unpacking{in: in, close: in.Close, limit: b.limits, packed: int64(f.CompressedSize64), name: name}, nil
		}
	}
	return nil, nil
}

// elements calls fn with each element that begins. fn reads on by d, or leaves the content.
func (b *xlsxBook) elements(name string, fn func(d *xml.Decoder, e xml.StartElement) error) error {
	in, err := b.part(name)
	if in == nil {
		return err
	}
	defer in.Close()
	text := &budget{in: in, left: maxRow, most: maxRow}
	d := xml.NewDecoder(text)
	for {
		text.again()
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

// workbookError makes a refusal of an error of XML. Those of its declaration, as of an encoding that OPC forbids, have no type.
func workbookError(err error) error {
	if strings.HasPrefix(err.Error(), "xml: ") && !errors.Is(err, ErrRefused) {
		return refusal(notWorkbook, err)
	}
	if _, ok := errors.AsType[*xml.SyntaxError](err); ok || errors.Is(err, zip.ErrChecksum) || errors.Is(err, zip.ErrFormat) || ended(err) == nil {
		return refusal(notWorkbook, err)
	}
	return err
}

// budget ends a text of which one piece has more than most bytes.
type budget struct {
	in         io.Reader
	left, most int
}

func (b *budget) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, refusal("one feature, or row, has more than %d MB of text; is the file damaged?", b.most>>20)
	}
	n, err := b.in.Read(p)
	b.left -= n
	return n, err
}

func (b *budget) again() { b.left = b.most }

func attr(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

// xlsxText reads the text of an element: that of its parts t, but for readings of characters.
func xlsxText(d *xml.Decoder, e xml.StartElement, most int) (string, error) {
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
				return "", refusal("a text of more than %d MB", most>>20)
			}
		}
	}
	return unescapeXLSX(b.String()), nil
}

// unescapeXLSX undoes the escapes of characters that XML has not (ECMA-376, 22.9.2.19).
func unescapeXLSX(s string) string {
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

func (b *xlsxBook) readTexts(most int64) error {
	var size int64
	return b.elements("xl/sharedStrings.xml", func(d *xml.Decoder, e xml.StartElement) error {
		if e.Name.Local != "si" {
			return nil
		}
		s, err := xlsxText(d, e, maxRow)
		if err != nil {
			return err
		}
		if size += int64(len(s)) + 16; size > most {
			return refusal("the texts of the workbook take more than %d MB of memory; if the file is right, raise it with --feature-memory, or save the sheet as CSV", most>>20)
		}
		b.texts = append(b.texts, s)
		return nil
	})
}

// readStyles learns which styles are dates (ECMA-376, 18.8.30), and from when days are counted.
func (b *xlsxBook) readStyles() error {
	own := map[string]dateStyle{}
	cells := false
	err := b.elements("xl/styles.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		switch e.Name.Local {
		case "numFmt":
			own[attr(e, "numFmtId")] = styleOf(attr(e, "formatCode"))
		case "cellXfs", "cellStyleXfs":
			cells = e.Name.Local == "cellXfs"
		case "xf":
			if !cells {
				return nil
			}
			id := attr(e, "numFmtId")
			n, _ := strconv.Atoi(id)
			style, told := own[id]
			if !told {
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
		if v := attr(e, "date1904"); e.Name.Local == "workbookPr" && (v == "1" || v == "true") {
			b.early = true
		}
		return nil
	})
}

// dateStyle is what a format of numbers shows.
type dateStyle uint8

const (
	noDate   dateStyle = iota
	onlyDate           // a day
	dateTime           // a day with a time
	onlyTime           // a time of day
	duration           // hours, minutes or seconds that may pass a day
)

// builtIn are the formats without a code of their own (ECMA-376, 18.8.30).
var builtIn = map[int]dateStyle{14: onlyDate, 15: onlyDate, 16: onlyDate, 17: onlyDate, 18: onlyTime, 19: onlyTime, 20: onlyTime, 21: onlyTime, 22: dateTime,
	45: onlyTime, 46: duration, 47: onlyTime}

// styleOf reads the code of a format of numbers, of which the first section counts.
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
			if inside := strings.ToLower(code[i+1 : i+j]); inside != "" && strings.Trim(inside, inside[:1]) == "" && strings.Contains("hms", inside[:1]) {
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

// xlsxSheets lists the sheets of a workbook that have cells and are not hidden.
func xlsxSheets(open func() (*opened, error), l Limits) ([]xlsxSheet, error) {
	in, err := open()
	if err != nil {
		return nil, err
	}
	defer in.close()
	b, err := openBook(in, l, memory(l.Feature).bytes())
	if err != nil {
		return nil, err
	}
	targets := map[string]string{}
	err = b.elements("xl/_rels/workbook.xml.rels", func(_ *xml.Decoder, e xml.StartElement) error {
		if t := attr(e, "Target"); e.Name.Local == "Relationship" {
			if !strings.HasPrefix(t, "/") {
				t = path.Join("xl", t)
			}
			targets[attr(e, "Id")] = strings.TrimPrefix(t, "/")
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var all, out []xlsxSheet
	err = b.elements("xl/workbook.xml", func(_ *xml.Decoder, e xml.StartElement) error {
		if state := attr(e, "state"); e.Name.Local == "sheet" && (state == "" || state == "visible") && targets[attr(e, "id")] != "" && len(all) < l.Entries {
			all = append(all, xlsxSheet{name: attr(e, "name"), part: targets[attr(e, "id")]})
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
			s.located = t.located()
			out = append(out, s)
		}
	}
	if len(out) == 0 {
		return nil, refusal("the workbook has no sheet with cells")
	}
	return out, nil
}

// Sheet is a sheet of a workbook: the texts of its rows that have cells, and their numbers.
type Sheet struct {
	Name  string
	Rows  [][]string
	Lines []int
}

// Sheets reads the visible sheets of a workbook into memory; days are as ISO 8601 writes them. An error that is
// ErrRefused says what is wrong with the file.
func Sheets(name string, l Limits) (out []Sheet, err error) {
	l = l.withDefaults()
	open := func() (*opened, error) {
		in, err := os.Open(filepath.Clean(name))
		if err != nil {
			return nil, err
		}
		info, err := in.Stat()
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		return &opened{in, info.Size(), in.Close}, nil
	}
	sheets, err := xlsxSheets(open, l)
	if err != nil {
		return nil, err
	}
	in, err := open()
	if err != nil {
		return nil, err
	}
	defer in.close()
	most := memory(l.Feature).bytes()
	b, err := openBook(in, l, most)
	if err != nil {
		return nil, err
	}
	left := most
	for _, s := range sheets {
		sheet := Sheet{Name: s.name}
		err := b.rows(s, func(n int, row []xlsxCell) error {
			texts := make([]string, 0, len(row))
			for i := range row {
				texts = append(texts, row[i].text)
				left -= int64(len(row[i].text)) + 16
			}
			if left < 0 {
				return refusal("the sheet %q is too large to be read at once; save it as CSV", s.name)
			}
			sheet.Rows, sheet.Lines = append(sheet.Rows, texts), append(sheet.Lines, n)
			return nil
		})
		if err != nil {
			return nil, err
		}
		out = append(out, sheet)
	}
	return out, nil
}

// errEnough ends the reading of a sheet.
var errEnough = errors.New("ingest: enough of the sheet")

// peek reads the names of the columns of a sheet; false when it has no cells.
func (b *xlsxBook) peek(s xlsxSheet) (t csvTable, cells bool, err error) {
	err = b.rows(s, func(_ int, row []xlsxCell) error {
		cells = true
		t.headed(xlsxNames(row))
		return errEnough
	})
	if errors.Is(err, errEnough) {
		err = nil
	}
	return t, cells, err
}

// xlsxNames are the texts of a row without empty cells at its end.
func xlsxNames(row []xlsxCell) (names []string) {
	for i := range row {
		if row[i].kind > null {
			for len(names) < i {
				names = append(names, "")
			}
			names = append(names, row[i].text)
		}
	}
	return names
}

// xlsxCell is a cell with its value; nothing is absent.
type xlsxCell struct{ value }

// mostXLSXColumns is how many columns a sheet can have.
const mostXLSXColumns = 16384

// rows calls fn with the rows of a sheet that have cells, and their numbers. The cells are valid until fn returns.
func (b *xlsxBook) rows(s xlsxSheet, fn func(n int, row []xlsxCell) error) error {
	in, err := b.part(s.part)
	if err != nil {
		return err
	}
	if in == nil {
		return refusal("the sheet %q is missing in the file", s.name)
	}
	defer in.Close()
	text := &budget{in: in, left: maxRow, most: maxRow}
	d := xml.NewDecoder(text)
	n := 0
	var row []xlsxCell
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
		text.again()
		n++
		if r, err := strconv.Atoi(attr(e, "r")); err == nil && r >= n {
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
func (b *xlsxBook) row(d *xml.Decoder, row []xlsxCell) (_ []xlsxCell, some bool, err error) {
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
			if r := attr(t, "r"); r != "" {
				at = columnOf(r)
			}
			if at < len(row) || at >= mostXLSXColumns {
				return row, some, refusal("the cell %q stands where it cannot; is the file damaged?", shorten(attr(t, "r")))
			}
			for len(row) < at {
				row = append(row, xlsxCell{})
			}
			v, err := b.cell(d, t)
			if err != nil {
				return row, some, err
			}
			some = some || v.kind > absent
			row = append(row, xlsxCell{v})
		}
	}
}

// columnOf is the column of a cell's name, from 0; "B7" is 1.
func columnOf(name string) int {
	n := 0
	for i := 0; i < len(name) && i < 4 && name[i] >= 'A' && name[i] <= 'Z'; i++ {
		n = 26*n + int(name[i]-'A') + 1
	}
	return n - 1
}

// cell reads a cell (ECMA-376, 18.3.1.4).
func (b *xlsxBook) cell(d *xml.Decoder, c xml.StartElement) (v value, err error) {
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
			if s, err = xlsxText(d, e, maxRow); err != nil {
				return v, err
			}
		default:
			formula = formula || e.Name.Local == "f"
			if err := d.Skip(); err != nil {
				return v, err
			}
		}
	}
	kind := attr(c, "t")
	if s == "" {
		if formula && kind != "str" {
			b.blank++
			return value{kind: null}, nil
		}
		return value{}, nil
	}
	switch kind {
	case "s":
		i, err := strconv.Atoi(s)
		if err != nil || i < 0 || i >= len(b.texts) {
			return v, refusal("a cell has text %q, which the workbook has not; is the file damaged?", shorten(s))
		}
		if b.texts[i] == "" {
			return value{}, nil
		}
		return value{plain, b.texts[i]}, nil
	case "inlineStr", "str":
		return value{plain, s}, nil
	case "b":
		return value{boolean, strconv.FormatBool(s == "1" || s == "true")}, nil
	case "e": // #N/A and the like
		if len(b.errors) < listed {
			b.errors[shorten(s)]++
		}
		return value{kind: null}, nil
	case "d":
		return value{text, s}, nil
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || !wkb.Finite(f) {
		return value{plain, s}, nil
	}
	if i, err := strconv.Atoi(attr(c, "s")); err == nil && i >= 0 && i < len(b.dates) && b.dates[i] != noDate {
		if v, ok := b.moment(f, b.dates[i]); ok {
			return v, nil
		}
	}
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return value{integer, strconv.FormatInt(int64(f), 10)}, nil
	}
	return value{number, strconv.FormatFloat(f, 'f', -1, 64)}, nil
}

// Days that a workbook can have: to 9999-12-31, and from 1900-01-01 if they are counted from 1904.
const (
	lastDay1900  = 2958465
	firstDay1904 = -1462
)

// moment is what a number of days shows in a style, to the millisecond; false if it shows no date. Days are counted from 1900-01-01,
// which is 1, with a day 60 that no calendar has (1900-02-29); or from 1904-01-01, which is 0 (ECMA-376, 18.17.4.1).
func (b *xlsxBook) moment(days float64, style dateStyle) (value, bool) {
	const dayLength = 86400e3 // in milliseconds
	least := 0.0
	if b.early {
		least = firstDay1904
	}
	if days < least || days >= lastDay1900+1 {
		return value{}, false
	}
	ms := int64(math.Round(days * dayLength))
	clock := func(layout string) string { return time.UnixMilli(ms).UTC().Format(layout) } // the epoch begins at midnight
	if style == duration {
		return value{plain, fmt.Sprintf("%d:", ms/3600e3) + clock("04:05.999")}, ms >= 0
	}
	if style == onlyTime && ms >= 0 && ms < dayLength {
		return value{plain, clock("15:04:05.999")}, true
	}
	whole := int(math.Floor(float64(ms) / dayLength))
	since := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case b.early:
		since = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case whole == 60:
		return value{plain, "1900-02-29"}, true
	case whole < 60:
		since = since.AddDate(0, 0, 1)
	}
	date := since.AddDate(0, 0, whole).Format(time.DateOnly)
	if style == onlyDate && ms%dayLength == 0 {
		return value{text, date}, true
	}
	return value{text, date + "T" + clock("15:04:05.999")}, true
}

func (r *xlsxReader) read(ctx context.Context, out sink) error {
	in, err := r.open()
	if err != nil {
		return err
	}
	defer in.close()
	b, err := openBook(in, r.limits, r.memory.bytes())
	if err == nil {
		err = r.rows(ctx, b, out)
	}
	if errors.Is(err, ErrRefused) {
		out.fault(place{}, false, Refused, Reason(err))
		return nil
	}
	return err
}

func (r *xlsxReader) rows(ctx context.Context, b *xlsxBook, out sink) error {
	t := csvTable{memory: r.memory, comma: true}
	head := true
	err := b.rows(r.sheet, func(n int, row []xlsxCell) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !head {
			return out.record(t.xlsxRecord(n, row, out))
		}
		head = false
		if wrong := t.headed(xlsxNames(row)); wrong != "" {
			out.fault(place{n, 1}, false, Refused, wrong)
			return errEnough
		}
		out.fields(t.properties())
		if !t.located() {
			out.fault(place{n, 1}, false, Warning, noCoordinates)
		}
		if t.degrees {
			out.reference(place{n, 1}, "OGC:CRS84")
		}
		return nil
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(b.errors)) {
		out.fault(place{}, false, Warning, fmt.Sprintf("cells with the error %s: %d; they are null", name, b.errors[name]))
	}
	if b.blank > 0 {
		out.fault(place{}, false, Warning, fmt.Sprintf("cells with a formula and no result: %d; they are null. Open and save the file in a spreadsheet program", b.blank))
	}
	return err
}

// xlsxRecord makes a feature of a row.
func (t *csvTable) xlsxRecord(n int, row []xlsxCell, out sink) *record {
	rec := &record{at: place{n, 1}}
	cell := func(i int) value {
		if i < 0 || i >= len(row) {
			return value{}
		}
		return row[i].value
	}
	for i, name := range t.names {
		if i == t.wkt || i == t.x || i == t.y {
			continue
		}
		v := cell(i)
		if v.kind == absent {
			v.kind = null
		}
		rec.fields = append(rec.fields, field{name, v})
	}
	if len(row) > len(t.names) {
		for i := len(t.names); i < len(row); i++ {
			if row[i].kind > null {
				rec.refused = true
				out.fault(rec.at, true, Refused, "the row has more cells than the first one; name each column there")
				break
			}
		}
	}
	if rec.refused {
		return rec
	}
	t.locate(rec, [3]string{cell(t.wkt).text, cell(t.x).text, cell(t.y).text}, out)
	return rec
}
