package format_test

import (
	"bytes"
	"encoding/binary"
	"encoding/csv"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	flatbuffers "github.com/google/flatbuffers/go"
	"github.com/parquet-go/parquet-go"
	"github.com/paulmach/orb"
	"github.com/xuri/excelize/v2"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/geo/wkb"
)

// record is a feature as another reader finds it: the texts of what is not null, and the runs of positions of its
// geometry, x before y but where the format has it otherwise.
type record struct {
	values map[string]string
	runs   [][]orb.Point
}

// reader reads what a format wrote, without this package.
type reader func(t *testing.T, b []byte) []record

var readers = map[string]reader{"json": readGeoJSON, "geojsonseq": readSequence, "ndjson": readLines, "csv": readCSV,
	"xlsx": readXLSX, "parquet": readParquet, "gpkg": readGeoPackage,
	"flatgeobuf": readFlatGeobuf, "gml": readXML, "kml": readXML, "topojson": readTopology}

func readGeoJSON(t *testing.T, b []byte) []record {
	t.Helper()
	var doc struct{ Features []json.RawMessage }
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	var out []record
	for _, f := range doc.Features {
		out = append(out, readFeature(t, f))
	}
	return out
}

func readSequence(t *testing.T, b []byte) []record {
	t.Helper()
	var out []record
	for i, text := range strings.Split(string(b), "\x1e") {
		if i > 0 {
			out = append(out, readFeature(t, []byte(text)))
		}
	}
	return out
}

// readLines reads a JSON text a line (NDJSON), each ended by a line feed.
func readLines(t *testing.T, b []byte) []record {
	t.Helper()
	var out []record
	for line := range strings.Lines(string(b)) {
		if !strings.HasSuffix(line, "\n") {
			t.Errorf("the last line has no end: %q", line)
		}
		out = append(out, readFeature(t, []byte(line)))
	}
	return out
}

func readFeature(t *testing.T, b []byte) record {
	t.Helper()
	var f struct {
		ID         string
		Geometry   any
		Properties map[string]json.RawMessage
	}
	if err := json.Unmarshal(b, &f); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	r := record{values: map[string]string{"id": f.ID}}
	for k, v := range f.Properties {
		text := string(v)
		if text == "null" {
			continue
		}
		if text[0] == '"' {
			if err := json.Unmarshal(v, &text); err != nil {
				t.Fatal(err)
			}
		}
		r.values[k] = text
	}
	r.runs = jsonRuns(f.Geometry)
	return r
}

func jsonRuns(v any) (runs [][]orb.Point) {
	switch v := v.(type) {
	case map[string]any:
		if v["geometries"] != nil {
			return jsonRuns(v["geometries"])
		}
		return jsonRuns(v["coordinates"])
	case []any:
		if p, ok := position(v); ok {
			return [][]orb.Point{{p}}
		}
		var line []orb.Point
		for _, x := range v {
			l, _ := x.([]any)
			if p, ok := position(l); ok {
				line = append(line, p)
			} else {
				runs = append(runs, jsonRuns(x)...)
			}
		}
		if line != nil {
			runs = append(runs, line)
		}
	}
	return runs
}

func position(v []any) (orb.Point, bool) {
	if len(v) < 2 {
		return orb.Point{}, false
	}
	x, ok := v[0].(float64)
	y, _ := v[1].(float64)
	return orb.Point{x, y}, ok
}

// lonLat takes the columns of a point out of a row.
func lonLat(r *record) {
	x, err := strconv.ParseFloat(r.values["lon"], 64)
	y, err2 := strconv.ParseFloat(r.values["lat"], 64)
	if err == nil && err2 == nil {
		r.runs = [][]orb.Point{{{x, y}}}
	}
	delete(r.values, "lon")
	delete(r.values, "lat")
}

func rowsOf(rows [][]string) []record {
	var out []record
	for _, row := range rows[1:] {
		r := record{values: map[string]string{}}
		for i, v := range row {
			if v != "" {
				r.values[rows[0][i]] = v
			}
		}
		lonLat(&r)
		out = append(out, r)
	}
	return out
}

func readCSV(t *testing.T, b []byte) []record {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(b)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rowsOf(rows)
}

func readXLSX(t *testing.T, b []byte) []record {
	t.Helper()
	f, err := excelize.OpenReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	sheet := f.GetSheetList()[0]
	if d, err := f.GetSheetDimension(sheet); err != nil || d != "" {
		t.Errorf("the sheet says that it is %q (%v), where some readers stop", d, err)
	}
	rows, err := f.GetRows(sheet, excelize.Options{RawCellValue: true})
	if err != nil {
		t.Fatal(err)
	}
	for y := 1; y < len(rows); y++ {
		for x := range rows[y] {
			cell, _ := excelize.CoordinatesToCellName(x+1, y+1)
			typ, err := f.GetCellType(sheet, cell)
			if err != nil {
				t.Fatal(err)
			}
			style, _ := f.GetCellStyle(sheet, cell)
			switch v, err := strconv.ParseFloat(rows[y][x], 64); {
			case typ == excelize.CellTypeFormula:
				t.Errorf("%s is a formula", cell)
			case typ == excelize.CellTypeBool:
				rows[y][x] = map[string]string{"1": "true", "0": "false"}[rows[y][x]]
			case typ != excelize.CellTypeInlineString && typ != excelize.CellTypeSharedString &&
				style > 1 && err == nil:
				at := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC).
					Add(time.Duration(math.Round(v*86400000)) * time.Millisecond)
				rows[y][x] = at.Format(time.RFC3339Nano)
			}
		}
	}
	return rowsOf(rows)
}

func readParquet(t *testing.T, b []byte) []record {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	geometry := ""
	if meta, ok := f.Lookup("geo"); ok {
		var about struct {
			Version string
			Primary string `json:"primary_column"`
			Columns map[string]struct {
				Encoding string
				Covering any
			}
		}
		if err := json.Unmarshal([]byte(meta), &about); err != nil || about.Version != "1.1.0" ||
			about.Columns[about.Primary].Encoding != "WKB" || about.Columns[about.Primary].Covering == nil {
			t.Fatalf("%v: %s", err, meta)
		}
		geometry = about.Primary
	}
	columns := f.Schema().Columns()
	var out []record
	for _, g := range f.RowGroups() {
		rows := g.Rows()
		buf := make([]parquet.Row, 1)
		for {
			n, err := rows.ReadRows(buf)
			if n == 1 {
				out = append(out, parquetRecord(t, f, columns, geometry, buf[0]))
			}
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		rows.Close()
	}
	return out
}

func parquetRecord(t *testing.T, f *parquet.File, columns [][]string, geometry string, row parquet.Row) record {
	t.Helper()
	r := record{values: map[string]string{}}
	for _, v := range row {
		path := columns[v.Column()]
		if v.IsNull() || len(path) > 1 {
			continue
		}
		leaf, _ := f.Schema().Lookup(path...)
		logical := ""
		if l := leaf.Node.Type().LogicalType(); l != nil {
			logical = l.String()
		}
		switch text := v.String(); {
		case path[0] == geometry:
			r.runs = wkbRuns(t, v.ByteArray())
		case logical == "DATE":
			r.values[path[0]] = time.Unix(86400*int64(v.Int32()), 0).UTC().Format(time.DateOnly)
		case strings.HasPrefix(logical, "TIMESTAMP"):
			r.values[path[0]] = time.UnixMicro(v.Int64()).UTC().Format(time.RFC3339Nano)
		default:
			r.values[path[0]] = text
		}
	}
	return r
}

// wkbRuns are the positions of WKB.
func wkbRuns(t *testing.T, b []byte) [][]orb.Point {
	t.Helper()
	g, err := wkb.Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	return runsOf(g)
}

func runsOf(g orb.Geometry) (runs [][]orb.Point) {
	switch g := g.(type) {
	case orb.Point:
		runs = append(runs, []orb.Point{g})
	case orb.MultiPoint:
		runs = append(runs, g)
	case orb.LineString:
		runs = append(runs, g)
	case orb.MultiLineString:
		for _, l := range g {
			runs = append(runs, l)
		}
	case orb.Polygon:
		for _, l := range g {
			runs = append(runs, l)
		}
	case orb.MultiPolygon:
		for _, p := range g {
			runs = append(runs, runsOf(p)...)
		}
	case orb.Collection:
		for _, m := range g {
			runs = append(runs, runsOf(m)...)
		}
	}
	return runs
}

func readGeoPackage(t *testing.T, b []byte) []record {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	table, geometry, key := "", "", ""
	query := func(sql string, fn func(*sqlite.Stmt) error) {
		if err := sqlitex.ExecuteTransient(c, sql, &sqlitex.ExecOptions{ResultFunc: fn}); err != nil {
			t.Fatal(err)
		}
	}
	query("SELECT table_name FROM gpkg_contents", func(s *sqlite.Stmt) error { table = s.ColumnText(0); return nil })
	query("SELECT column_name FROM gpkg_geometry_columns", func(s *sqlite.Stmt) error {
		geometry = s.ColumnText(0)
		return nil
	})
	query(`SELECT name FROM pragma_table_info('`+table+`') WHERE pk AND type = 'INTEGER'`, func(s *sqlite.Stmt) error {
		key = s.ColumnText(0)
		return nil
	})
	var out []record
	query(`SELECT * FROM "`+table+`"`, func(s *sqlite.Stmt) error {
		r := record{values: map[string]string{}}
		for i := range s.ColumnCount() {
			name := s.ColumnName(i)
			switch {
			case s.ColumnType(i) == sqlite.TypeNull || name == key:
			case name == geometry:
				blob := make([]byte, s.ColumnLen(i))
				s.ColumnBytes(i, blob)
				r.runs = wkbRuns(t, blob[8+[...]int{0, 32, 48, 48, 64}[blob[3]>>1&7]:])
			default:
				r.values[name] = s.ColumnText(i)
			}
		}
		out = append(out, r)
		return nil
	})
	return out
}

// fgb is a table of a FlatGeobuf.
type fgb struct{ flatbuffers.Table }

func fgbRoot(b []byte) fgb {
	return fgb{flatbuffers.Table{Bytes: b, Pos: flatbuffers.GetUOffsetT(b)}}
}

func (f fgb) at(field int) flatbuffers.UOffsetT {
	return flatbuffers.UOffsetT(f.Offset(flatbuffers.VOffsetT(4 + 2*field)))
}

func (f fgb) vector(field int) (at flatbuffers.UOffsetT, n int) {
	o := f.at(field)
	if o == 0 {
		return 0, 0
	}
	return f.Vector(o), f.VectorLen(o)
}

func (f fgb) tables(field int) (out []fgb) {
	at, n := f.vector(field)
	for i := range n {
		out = append(out, fgb{flatbuffers.Table{Bytes: f.Bytes, Pos: f.Indirect(at + flatbuffers.UOffsetT(4*i))}})
	}
	return out
}

func (f fgb) runs() (runs [][]orb.Point) {
	for _, p := range f.tables(7) {
		runs = append(runs, p.runs()...)
	}
	at, n := f.vector(1)
	var all []orb.Point
	for i := 0; i < n; i += 2 {
		all = append(all, orb.Point{f.GetFloat64(at + flatbuffers.UOffsetT(8*i)),
			f.GetFloat64(at + flatbuffers.UOffsetT(8*i+8))})
	}
	ends, n := f.vector(0)
	from := 0
	for i := range n {
		end := int(f.GetUint32(ends + flatbuffers.UOffsetT(4*i)))
		runs = append(runs, all[from:end])
		from = end
	}
	if from < len(all) {
		runs = append(runs, all[from:])
	}
	return runs
}

// fgbFile is a FlatGeobuf in its parts.
type fgbFile struct {
	names    []string
	types    []byte
	count    int
	index    []byte // nil: none
	features []byte
}

func openFlatGeobuf(t *testing.T, b []byte) fgbFile {
	t.Helper()
	if !bytes.HasPrefix(b, []byte{'f', 'g', 'b', 3, 'f', 'g', 'b'}) {
		t.Fatal("no FlatGeobuf")
	}
	b = b[8:]
	n := 4 + binary.LittleEndian.Uint32(b)
	head := fgbRoot(b[4:n])
	f := fgbFile{features: b[n:], count: int(head.GetUint64Slot(4+2*8, 0))}
	for _, c := range head.tables(7) {
		f.names = append(f.names, string(c.ByteVector(c.Pos+c.at(0))))
		f.types = append(f.types, c.GetByteSlot(4+2, 0))
	}
	if head.GetUint16Slot(4+2*9, 16) > 0 && f.count > 0 {
		nodes := 0
		for level := f.count; ; {
			nodes += level
			if level == 1 && nodes > 1 || nodes == 0 {
				break
			}
			level = (level + 15) / 16
		}
		f.index, f.features = f.features[:40*nodes], f.features[40*nodes:]
	}
	return f
}

func (f fgbFile) feature(at int) (r record, next int) {
	n := int(binary.LittleEndian.Uint32(f.features[at:]))
	x := fgbRoot(f.features[at+4 : at+4+n])
	r.values = map[string]string{}
	if o := x.at(0); o != 0 {
		r.runs = fgb{flatbuffers.Table{Bytes: x.Bytes, Pos: x.Indirect(x.Pos + o)}}.runs()
	}
	var b []byte
	if o := x.at(1); o != 0 {
		b = x.ByteVector(x.Pos + o)
	}
	for len(b) > 0 {
		i := binary.LittleEndian.Uint16(b)
		b = b[2:]
		switch f.types[i] {
		case 2:
			r.values[f.names[i]], b = strconv.FormatBool(b[0] == 1), b[1:]
		case 7:
			r.values[f.names[i]], b = strconv.FormatInt(int64(binary.LittleEndian.Uint64(b)), 10), b[8:]
		case 10:
			r.values[f.names[i]], b = fmt.Sprint(math.Float64frombits(binary.LittleEndian.Uint64(b))), b[8:]
		default:
			n := 4 + binary.LittleEndian.Uint32(b)
			r.values[f.names[i]], b = string(b[4:n]), b[n:]
		}
	}
	return r, at + 4 + n
}

func readFlatGeobuf(t *testing.T, b []byte) []record {
	t.Helper()
	f := openFlatGeobuf(t, b)
	var out []record
	for at := 0; at < len(f.features); {
		var r record
		r, at = f.feature(at)
		out = append(out, r)
	}
	if len(out) != f.count {
		t.Errorf("%d features, the header tells %d", len(out), f.count)
	}
	return out
}

// find returns the features that the index of a FlatGeobuf finds in a box, and how many nodes it looked at.
func (f fgbFile) find(box orb.Bound) (hits []record, looked int) {
	var starts []int // of levels, the leaves first, counted in nodes from the leaves
	sizes := []int{f.count}
	for sizes[len(sizes)-1] > 1 || len(sizes) == 1 {
		sizes = append(sizes, (sizes[len(sizes)-1]+15)/16)
	}
	starts = make([]int, len(sizes))
	for l, at := len(sizes)-1, 0; l >= 0; l-- {
		starts[l] = at
		at += sizes[l]
	}
	var visit func(level, node int)
	visit = func(level, node int) {
		looked++
		b := f.index[40*node:]
		num := func(i int) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:])) }
		if !box.Intersects(orb.Bound{Min: orb.Point{num(0), num(1)}, Max: orb.Point{num(2), num(3)}}) {
			return
		}
		to := int(binary.LittleEndian.Uint64(b[32:]))
		if level == 0 {
			r, _ := f.feature(to)
			hits = append(hits, r)
			return
		}
		for i := to; i < min(to+16, starts[level-1]+sizes[level-1]); i++ {
			visit(level-1, i)
		}
	}
	visit(len(sizes)-1, 0)
	return hits, looked
}

// readXML reads GML and KML: elements of the application, and SimpleData, are properties.
func readXML(t *testing.T, b []byte) []record {
	t.Helper()
	var out []record
	var text strings.Builder
	name := ""
	in := xml.NewDecoder(bytes.NewReader(b))
	for {
		token, err := in.Token()
		if err == io.EOF {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		switch x := token.(type) {
		case xml.StartElement:
			text.Reset()
			switch x.Name.Local {
			case "featureMember", "Placemark":
				out = append(out, record{values: map[string]string{}})
			case "SimpleData":
				name = x.Attr[0].Value
			default:
				name = ""
				if strings.HasSuffix(x.Name.Space, "/schema") {
					name = x.Name.Local
				}
			}
		case xml.CharData:
			text.Write(x)
		case xml.EndElement:
			if len(out) == 0 {
				continue
			}
			r := &out[len(out)-1]
			switch x.Name.Local {
			case "pos", "posList":
				r.runs = append(r.runs, pairs(t, strings.Fields(text.String())))
			case "coordinates":
				var nums []string
				for _, p := range strings.Fields(text.String()) {
					nums = append(nums, strings.Split(p, ",")[:2]...)
				}
				r.runs = append(r.runs, pairs(t, nums))
			default:
				if name != "" {
					r.values[name] = text.String()
				}
			}
			name = ""
		}
	}
}

func pairs(t *testing.T, nums []string) (line []orb.Point) {
	t.Helper()
	if len(nums) == 3 { // a point with a height
		nums = nums[:2]
	}
	for i := 0; i+1 < len(nums); i += 2 {
		x, err := strconv.ParseFloat(nums[i], 64)
		y, err2 := strconv.ParseFloat(nums[i+1], 64)
		if err != nil || err2 != nil {
			t.Fatalf("no numbers: %v", nums)
		}
		line = append(line, orb.Point{x, y})
	}
	return line
}
