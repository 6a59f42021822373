package xlsx

import (
	"archive/zip"
	"fmt"
	"io"
	"math"
	"unicode/utf16"

	"github.com/xuri/excelize/v2"

	"grense/internal/cql2"
	"grense/internal/feature"
	"grense/internal/format/output"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// MaxRows is the largest number of rows of a sheet without its header (ECMA-376, 18.3.1.73).
const MaxRows = 1<<20 - 1

// Losses lists what a reader may not get back.
var Losses = []string{output.LossShapes, output.LossHeights, output.LossPrecision,
	"null and an empty text are the same", "integers beyond 15 digits are text",
	"texts beyond 32,767 characters are cut",
	"dates before 1901 are text", "moments are in UTC without saying so, to the millisecond", output.NoXML}

// writer writes a workbook with one sheet (ECMA-376): a frozen header and a row for each feature.
// Texts stay texts, so codes keep their zeros; numbers, booleans and dates have their types.
// If a feature may be a point, there are columns lon and lat in degrees.
type writer struct {
	w      io.Writer
	o      output.Options
	cols   []output.Column
	file   *excelize.File
	sheet  *excelize.StreamWriter
	shaper *output.Shaper
	points bool
	row    int
	size   int64 // approximate size of the sheet, rather too large
	date   int   // styles
	moment int
}

func New(w io.Writer, o output.Options) (output.Writer, error) {
	if o.Count > MaxRows {
		return nil, output.TooMany("xlsx", MaxRows)
	}
	cols, err := o.Columns()
	if err != nil {
		return nil, err
	}
	x := &writer{w: w, o: o, cols: cols, row: 1, points: !o.SkipGeometry && o.Collection.Geometry.MayBePoint()}
	x.o.SkipGeometry = !x.points
	if x.shaper, err = output.NewShaper(&x.o, 0); err != nil {
		return nil, err
	}
	x.file = excelize.NewFile(excelize.Options{TmpDir: o.Temp})
	if err := x.begin(); err != nil {
		x.file.Close()
		return nil, err
	}
	return x, nil
}

// begin writes the header.
func (x *writer) begin() error {
	name := sheetName(x.o.Collection.ID)
	if err := x.file.SetSheetName("Sheet1", name); err != nil {
		return err
	}
	bold, err := x.file.NewStyle(&excelize.Style{Font: &excelize.Font{Bold: true}})
	if err != nil {
		return err
	}
	day, moment := "yyyy-mm-dd", "yyyy-mm-dd hh:mm:ss"
	if x.date, err = x.file.NewStyle(&excelize.Style{CustomNumFmt: &day}); err != nil {
		return err
	}
	if x.moment, err = x.file.NewStyle(&excelize.Style{CustomNumFmt: &moment}); err != nil {
		return err
	}
	if err = x.file.SetSheetDimension(name, ""); err != nil { // it would say A1, and some readers would stop there
		return err
	}
	if x.sheet, err = x.file.NewStreamWriter(name); err != nil {
		return err
	}
	if err := x.sheet.SetPanes(&excelize.Panes{Freeze: true, YSplit: 1, TopLeftCell: "A2",
		ActivePane: "bottomLeft"}); err != nil {
		return err
	}
	cols := x.cols
	if x.points {
		cols = append(append([]output.Column(nil), cols...), output.Column{Name: "lon"}, output.Column{Name: "lat"})
	}
	var head []any
	for _, n := range output.Distinct(cols, 0, func(s string) string { return s }) {
		head = append(head, excelize.Cell{StyleID: bold, Value: n})
	}
	return x.sheet.SetRow("A1", head)
}

// sheetName returns a valid name of a sheet.
func sheetName(id string) string { return output.Cut(id, 31) }

func (x *writer) Want() store.Want { return x.o.Want() }

func (x *writer) Write(f *store.Feature) error {
	if x.row++; x.row > MaxRows+1 {
		return output.TooMany("xlsx", MaxRows)
	}
	row := make([]any, 0, len(x.cols)+2)
	for _, c := range x.cols {
		v := x.cell(c.Type, c.Value(f))
		x.size += cellSize
		if s, ok := v.(string); ok {
			x.size += int64(len(s))
		}
		row = append(row, v)
	}
	if x.points {
		g, ok, err := x.shaper.Shape(f.Geometry.WKB)
		if err != nil {
			return fmt.Errorf("%s %q: %w", x.o.Collection.ID, f.Public(), err)
		}
		if ok && g.Kind == wkb.Point {
			row = append(row, g.Line[0][0], g.Line[0][1])
		}
	}
	cell, err := excelize.CoordinatesToCellName(1, x.row)
	if err != nil {
		return err
	}
	return x.sheet.SetRow(cell, row)
}

// cell converts a value for a cell.
func (x *writer) cell(t cql2.Type, v any) any {
	switch v := v.(type) {
	case int64:
		if v > -1e15 && v < 1e15 { // a number in a cell has 15 digits
			return v
		}
		return fmt.Sprint(v)
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return v
	case bool:
		return v
	case store.JSON:
		return cellText(string(v))
	case string:
		if t == cql2.TypeDate || t == cql2.TypeTimestamp {
			if at, ok := feature.Moment(v); ok && at.Year() >= 1901 && at.Year() <= 9999 {
				style := x.moment
				if t == cql2.TypeDate {
					style = x.date
				}
				return excelize.Cell{StyleID: style, Value: at}
			}
		}
		return cellText(v)
	}
	return nil
}

// cellText shortens a text to what a cell can hold: 32,767 units of UTF-16.
func cellText(s string) string {
	const most = 32767
	if len(s) <= most {
		return s
	}
	n := 0
	for i, r := range s {
		if n += utf16.RuneLen(r); n > most {
			return s[:i]
		}
	}
	return s
}

// A workbook is compressed while it is written. If its sheet may reach 4 GiB it is built in memory, because Excel needs
// another header for such a part.
const (
	cellSize  = 64 // bytes of a cell in XML without its text
	zip64From = 3 << 30
)

func (x *writer) Close(abort bool) error {
	defer x.file.Close()
	if abort {
		return nil
	}
	if err := x.sheet.Flush(); err != nil {
		return err
	}
	if x.size < zip64From {
		x.file.SetZipWriter(func(io.Writer) excelize.ZipWriter { return zip.NewWriter(x.w) })
	}
	return x.file.Write(x.w) // nothing, if the file is already written
}
