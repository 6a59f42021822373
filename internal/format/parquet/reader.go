// Package parquet reads and writes GeoParquet 1.x, and reads Parquet with geometry types.
package parquet

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"grense/internal/format/input"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/parquet-go/parquet-go/format"
)

// reader reads GeoParquet 1.x with geometries as WKB or in a native encoding, Parquet with columns of the type GEOMETRY
// or GEOGRAPHY, and Parquet without geometries. Structures of plain values become JSON.
type reader struct {
	open   func() (*input.Opened, error)
	memory input.Memory
}

// geoMetadata is the metadata of geometries in a file (GeoParquet 1.1, Metadata).
type geoMetadata struct {
	Primary string                      `json:"primary_column"`
	Columns map[string]geoParquetColumn `json:"columns"`
}

type geoParquetColumn struct {
	Encoding string          `json:"encoding"`
	CRS      json.RawMessage `json:"crs"`
	Edges    string          `json:"edges"`
	Covering struct {
		BBox map[string][]string `json:"bbox"`
	} `json:"covering"`
}

// guarded converts a panic of the library, which damaged files cause, to a refusal.
func guarded(fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = input.Refuse("the file is no Parquet that can be read, or damaged: %s", input.Shorten(fmt.Sprint(p)))
		}
	}()
	return fn()
}

// maxFooter bounds the bytes of the metadata of a file.
const maxFooter = 64 << 20

// openFile reads the metadata.
func openFile(in *input.Opened) (f *parquet.File, geo *geoMetadata, err error) {
	var tail [8]byte
	if in.Size < 12 {
		return nil, nil, input.Refuse("the file is too short for Parquet")
	}
	if _, err := in.ReadAt(tail[:], in.Size-8); err != nil {
		return nil, nil, err
	}
	if string(tail[4:]) != "PAR1" {
		return nil, nil, input.Refuse("the file does not end as Parquet does; is it cut off, or encrypted?")
	}
	if n := int64(tail[0]) | int64(tail[1])<<8 | int64(tail[2])<<16 | int64(tail[3])<<24; n > maxFooter ||
		n > in.Size-12 {
		return nil, nil, input.Refuse("the file states %d bytes of metadata; is it damaged?", n)
	}
	err = guarded(func() (err error) {
		if f, err = parquet.OpenFile(in, in.Size, parquet.SkipPageIndex(true),
			parquet.SkipBloomFilters(true)); err != nil {
			return input.Refuse("the file is no Parquet that can be read, or damaged: %s", input.Shorten(err.Error()))
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	if text, ok := f.Lookup("geo"); ok {
		geo = &geoMetadata{}
		if err := json.Unmarshal([]byte(text), geo); err != nil || geo.Columns[geo.Primary].Encoding == "" {
			return nil, nil,
				input.Refuse("the metadata of GeoParquet cannot be read; write the file again, for example with " +
					"ogr2ogr or geopandas")
		}
		return f, geo, nil
	}
	return f, typedGeometries(f), nil
}

// typedGeometries returns the metadata that the types of columns state (Apache Parquet, Geospatial Definitions).
// The first such column has the geometries of the features. nil: there is none.
func typedGeometries(f *parquet.File) *geoMetadata {
	var geo *geoMetadata
	for _, c := range f.Schema().Fields() {
		if !c.Leaf() || c.Type().LogicalType() == nil {
			continue
		}
		system := ""
		switch x := c.Type().LogicalType().Value.(type) {
		case *format.GeometryType:
			system = x.CRS
		case *format.GeographyType:
			system = x.CRS
		default:
			continue
		}
		if geo == nil {
			geo = &geoMetadata{Primary: c.Name(), Columns: map[string]geoParquetColumn{}}
		}
		geo.Columns[c.Name()] = geoParquetColumn{Encoding: "WKB", CRS: typedSystem(f, system)}
	}
	return geo
}

// typedSystem returns the reference system of a type as GeoParquet names it: PROJJSON, or a name as JSON text;
// null if the file lacks it. nil means CRS84.
func typedSystem(f *parquet.File, name string) json.RawMessage {
	if key, ok := strings.CutPrefix(name, "projjson:"); ok {
		if name, ok = f.Lookup(key); !ok {
			return json.RawMessage("null")
		}
	}
	if code, ok := strings.CutPrefix(name, "srid:"); ok {
		name = "EPSG:" + code
	}
	switch {
	case name == "":
		return nil
	case strings.HasPrefix(strings.TrimSpace(name), "{"):
		return json.RawMessage(name)
	}
	return input.AppendJSON(nil, []byte(name))
}

// isFlat reports whether a file has no geometries.
func isFlat(open func() (*input.Opened, error)) (bool, error) {
	in, err := open()
	if err != nil {
		return false, err
	}
	defer in.Close()
	_, geo, err := openFile(in)
	return geo == nil, err
}

// table is the structure of a file according to its metadata.
type table struct {
	memory input.Memory
	leaves []leaf // by number of the column
	fields []column
	geom   int             // number of the column with the geometries as WKB; -1 without
	native *nativeGeometry // nil: none
}

// leaf is a column of plain values.
type leaf struct {
	typ      parquet.Type
	max      int // definition level of a value
	repeated bool
	list     int  // definition level of a list that is empty
	optional bool // elements may be null
	skip     bool
	half     bool // numbers of 16 bits, whose type the library does not report
}

// column is a property, read from the leaves from to to.
type column struct {
	name     string
	from, to int
	group    bool // a structure; else a value or a list
	names    []string
}

func (r *reader) Read(ctx context.Context, out input.Sink) error {
	in, err := r.open()
	if err != nil {
		return err
	}
	defer in.Close()
	f, geo, err := openFile(in)
	if err == nil {
		err = guarded(func() error { return r.rows(ctx, f, geo, out) })
	}
	if errors.Is(err, input.ErrRefused) {
		out.Fault(input.Place{}, false, input.Refused, input.Reason(err))
		return nil
	}
	return err
}

func (r *reader) rows(ctx context.Context, f *parquet.File, geo *geoMetadata, out input.Sink) error {
	t, notes, err := newTable(f.Schema(), geo)
	if err != nil {
		return err
	}
	t.memory = r.memory
	at := 0
	for _, e := range f.Metadata().Schema {
		if e.Type.Valid && at < len(t.leaves) {
			_, t.leaves[at].half = e.LogicalType.Value.(*format.Float16Type)
			at++
		}
	}
	for _, n := range notes {
		out.Fault(input.Place{}, false, input.Warning, n)
	}
	if geo != nil {
		name, err := geo.system()
		if err != nil {
			return err
		}
		out.Reference(input.Place{}, name)
	}
	var names []string
	for _, f := range t.fields {
		names = append(names, f.name)
	}
	out.Fields(names)
	for _, g := range f.Metadata().RowGroups {
		for _, c := range g.Columns {
			if n := c.MetaData.NumValues; n > 0 && c.MetaData.TotalUncompressedSize > r.memory.Bytes() {
				return input.Refuse("a row group takes %d MB; write the file with smaller row groups, "+
					"or raise --feature-memory", c.MetaData.TotalUncompressedSize>>20)
			}
		}
	}
	buf := make([]parquet.Row, 32)
	for _, g := range f.RowGroups() {
		if err := t.group(ctx, g, buf, out); err != nil {
			return err
		}
	}
	return nil
}

func (t *table) group(ctx context.Context, g parquet.RowGroup, buf []parquet.Row, out input.Sink) error {
	rows := g.Rows()
	defer rows.Close()
	left := g.NumRows()
	for left > 0 {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		n, err := rows.ReadRows(buf)
		for _, row := range buf[:n] {
			if err := out.Record(t.record(row, out)); err != nil {
				return err
			}
		}
		left -= int64(n)
		if err != nil && !errors.Is(err, io.EOF) {
			return input.Refuse("the file is damaged: %s", input.Shorten(err.Error()))
		}
		if n == 0 && left > 0 {
			return input.Refuse("the file says %d rows more than it has; is it cut off?", left)
		}
	}
	return nil
}

// system returns the reference system of the geometries. A missing one means CRS84; null means unknown.
func (g *geoMetadata) system() (string, error) {
	c := g.Columns[g.Primary]
	if c.Encoding != "WKB" && nativeKinds[c.Encoding] == 0 {
		return "",
			input.Refuse("the geometries are encoded as %q; write the file with WKB, for example by geopandas' "+
				"to_parquet or ogr2ogr -lco GEOMETRY_ENCODING=WKB", input.Shorten(c.Encoding))
	}
	if c.CRS == nil {
		return "OGC:CRS84", nil
	}
	if string(c.CRS) == "null" {
		return "", nil
	}
	if name := ""; json.Unmarshal(c.CRS, &name) == nil {
		return input.Shorten(name), nil
	}
	var system struct {
		Name string
		ID   struct {
			Authority string
			Code      any
		}
	}
	if err := json.Unmarshal(c.CRS, &system); err != nil || system.ID.Authority == "" {
		return input.Shorten(system.Name), nil // reported as unknown
	}
	if n, ok := system.ID.Code.(float64); ok {
		return system.ID.Authority + ":" + strconv.FormatFloat(n, 'f', -1, 64), nil
	}
	return fmt.Sprintf("%s:%v", system.ID.Authority, system.ID.Code), nil
}

func newTable(s *parquet.Schema, geo *geoMetadata) (*table, []string, error) {
	t := &table{geom: -1}
	var notes []string
	boxes := map[string]bool{}
	if geo != nil {
		for _, path := range geo.Columns[geo.Primary].Covering.BBox {
			if len(path) > 0 {
				boxes[path[0]] = true
			}
		}
	}
	for _, f := range s.Fields() {
		from := len(t.leaves)
		field := column{name: f.Name(), from: from, group: true}
		plainly := t.add(f, leaf{}, true, &field)
		if field.to = len(t.leaves); field.to > input.MaxNames {
			return nil, nil, input.Refuse("more than %d columns", input.MaxNames)
		}
		skip := false
		switch {
		case geo != nil && f.Name() == geo.Primary && nativeKinds[geo.Columns[f.Name()].Encoding] != 0:
			if t.native = t.nativeOf(f, nativeKinds[geo.Columns[f.Name()].Encoding], field); t.native == nil {
				return nil, nil, input.Refuse("the column %q is not as its encoding %q says; write the file with WKB",
					input.Shorten(geo.Primary), geo.Columns[f.Name()].Encoding)
			}
			continue
		case geo != nil && f.Name() == geo.Primary:
			if field.group || field.to != from+1 || t.leaves[from].typ.Kind() != parquet.ByteArray ||
				t.leaves[from].repeated {
				return nil, nil, input.Refuse("the column %q is not WKB; write the file with WKB",
					input.Shorten(geo.Primary))
			}
			t.geom = from
			continue
		case boxes[f.Name()]: // the boxes of the geometries
			skip = true
		case geo != nil && geo.Columns[f.Name()].Encoding != "":
			skip = true
			notes = append(notes, fmt.Sprintf("the further geometries in %q are left out", f.Name()))
		case !plainly:
			skip = true
			notes = append(notes, fmt.Sprintf("the nested lists or structures in %q are left out", f.Name()))
		}
		if skip {
			for i := from; i < field.to; i++ {
				t.leaves[i].skip = true
			}
			continue
		}
		t.fields = append(t.fields, field)
	}
	if geo != nil && t.geom < 0 && t.native == nil {
		return nil, nil, input.Refuse("there is no column %q, which the metadata of GeoParquet name",
			input.Shorten(geo.Primary))
	}
	return t, notes, nil
}

// add appends the leaves of a node and reports whether they can be read: a value, a list of values,
// or a structure of values.
func (t *table) add(n parquet.Node, l leaf, top bool, field *column) (plainly bool) {
	if len(t.leaves) > input.MaxNames {
		return false
	}
	if n.Optional() {
		l.max++
		l.optional = true
	}
	again := l.repeated && n.Repeated()
	if n.Repeated() {
		l.list = l.max
		l.max++
		l.repeated, l.optional = true, false
	}
	if n.Leaf() {
		l.typ = n.Type()
		t.leaves = append(t.leaves, l)
		if top {
			field.group = false
		}
		return !again
	}
	fs := n.Fields()
	if len(fs) == 1 && (fs[0].Repeated() || n.Repeated()) { // a list, with or without a level for its elements
		field.group = false
		l.optional = false
		return t.add(fs[0], l, false, field) && !again
	}
	plainly = top && !n.Repeated()
	for _, f := range fs {
		field.names = append(field.names, f.Name())
		plainly = t.add(f, l, false, field) && plainly && f.Leaf() && !f.Repeated()
	}
	return plainly
}

// record converts a row, whose values come column by column, to a record.
func (t *table) record(row parquet.Row, out input.Sink) *input.Record {
	rec := &input.Record{}
	refuse := func(reason string) {
		if !rec.Refused {
			out.Fault(input.Place{}, true, input.Refused, reason)
		}
		rec.Refused = true
	}
	var size int64
	starts := make([]int, 0, len(t.leaves)+1)
	at := 0
	for c := range t.leaves {
		starts = append(starts, at)
		for at < len(row) && row[at].Column() == c {
			if k := row[at].Kind(); k == parquet.ByteArray || k == parquet.FixedLenByteArray {
				size += int64(len(row[at].ByteArray()))
			}
			at++
		}
	}
	starts = append(starts, at)
	if size > t.memory.Bytes() {
		refuse(t.memory.Refusal())
		return rec
	}
	for _, f := range t.fields {
		v, wrong := t.value(f, row, starts)
		if wrong != "" {
			refuse(fmt.Sprintf("the value of %q: %s", f.name, wrong))
		}
		rec.Fields = append(rec.Fields, input.Field{Name: f.name, Value: v})
	}
	if t.native != nil && !rec.Refused {
		t.native.place(t.memory, rec, row, starts, out)
	}
	if t.geom < 0 || rec.Refused {
		return rec
	}
	if g := row[starts[t.geom]:starts[t.geom+1]]; len(g) == 1 && !g[0].IsNull() {
		t.memory.Place(rec, g[0].ByteArray(), out)
	}
	return rec
}

func (t *table) value(f column, row parquet.Row, starts []int) (input.Value, string) {
	if f.group {
		return t.structure(f, row, starts)
	}
	l, values := t.leaves[f.from], row[starts[f.from]:starts[f.from+1]]
	if !l.repeated {
		if len(values) != 1 {
			return input.Value{Kind: input.Null}, ""
		}
		return l.value(values[0])
	}
	if len(values) == 0 || len(values) == 1 && values[0].DefinitionLevel() < l.list {
		return input.Value{Kind: input.Null}, ""
	}
	b := []byte{'['}
	for i, x := range values {
		if x.DefinitionLevel() <= l.list { // empty
			break
		}
		if i > 0 {
			b = append(b, ',')
		}
		v, wrong := l.value(x)
		if wrong != "" || v.Kind == input.Blob {
			return v, wrong
		}
		b = v.AppendJSON(b)
	}
	return input.Value{Kind: input.Object, Text: string(append(b, ']'))}, ""
}

// structure returns a structure of plain values as JSON.
func (t *table) structure(f column, row parquet.Row, starts []int) (input.Value, string) {
	b, some := []byte{'{'}, false
	for i := f.from; i < f.to; i++ {
		values := row[starts[i]:starts[i+1]]
		if len(values) != 1 {
			return input.Value{Kind: input.Null}, ""
		}
		v, wrong := t.leaves[i].value(values[0])
		if wrong != "" || v.Kind == input.Blob {
			return v, wrong
		}
		some = some || values[0].DefinitionLevel() > 0 || t.leaves[i].max == 0
		if i > f.from {
			b = append(b, ',')
		}
		b = append(input.AppendJSON(b, []byte(f.names[i-f.from])), ':')
		b = v.AppendJSON(b)
	}
	if !some {
		return input.Value{Kind: input.Null}, ""
	}
	return input.Value{Kind: input.Object, Text: string(append(b, '}'))}, ""
}

// value returns a value with its text according to its type.
func (l *leaf) value(v parquet.Value) (input.Value, string) {
	if v.IsNull() {
		return input.Value{Kind: input.Null}, ""
	}
	var logical format.LogicalTypeValue // nil: there is none
	if x := l.typ.LogicalType(); x != nil {
		logical = x.Value
	}
	switch v.Kind() {
	case parquet.Boolean:
		return input.Value{Kind: input.Boolean, Text: strconv.FormatBool(v.Boolean())}, ""
	case parquet.Float:
		return input.Floating(float64(v.Float()), 32), ""
	case parquet.Double:
		return input.Floating(v.Double(), 64), ""
	case parquet.Int96:
		x := v.Int96()
		day := int64(x[2]) - 2440588 // of the Julian calendar
		nanos := int64(x[1])<<32 | int64(x[0])
		return input.Value{Kind: input.Text, Text: time.Unix(day*86400, nanos).UTC().Format(time.RFC3339Nano)}, ""
	case parquet.Int32:
		return wholeValue(int64(v.Int32()), uint64(uint32(v.Int32())), logical, l.typ.ConvertedType()), ""
	case parquet.Int64:
		return wholeValue(v.Int64(), uint64(v.Int64()), logical, l.typ.ConvertedType()), ""
	}
	return l.bytes(v.ByteArray(), logical)
}

func (l *leaf) bytes(b []byte, logical format.LogicalTypeValue) (input.Value, string) {
	switch x := logical.(type) {
	case *format.DecimalType:
		n := new(big.Int).SetBytes(b)
		if len(b) > 0 && b[0]&0x80 != 0 {
			n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
		return decimal(n.String(), int(x.Scale)), ""
	case *format.UUIDType:
		if len(b) == 16 {
			return input.Value{Kind: input.Plain,
				Text: fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])}, ""
		}
	case *format.JsonType:
		if input.Structured(b) {
			return input.Value{Kind: input.Object, Text: string(b)}, ""
		}
	}
	if l.half && len(b) == 2 {
		return input.Floating(half(b), 32), ""
	}
	if old := l.typ.ConvertedType(); old != nil && *old == deprecated.Interval && len(b) == 12 {
		n := func(i int) uint32 { return binary.LittleEndian.Uint32(b[i:]) }
		return input.Value{Kind: input.Plain,
			Text: fmt.Sprintf("P%dM%dDT%sS", n(0), n(4), decimal(strconv.FormatUint(uint64(n(8)), 10), 3).Text)}, ""
	}
	if !utf8.Valid(b) || bytes.IndexByte(b, 0) >= 0 {
		return input.Value{Kind: input.Blob}, ""
	}
	return input.Value{Kind: input.Plain, Text: string(b)}, ""
}

// half decodes a number of 16 bits (IEEE 754, binary16).
func half(b []byte) float64 {
	n := binary.LittleEndian.Uint16(b)
	sign, exponent, fraction := 1-2*float64(n>>15), int(n>>10&0x1f), float64(n&0x3ff)
	switch {
	case exponent == 0x1f && fraction != 0:
		return math.NaN()
	case exponent == 0x1f:
		return math.Inf(int(sign))
	case exponent == 0:
		return sign * math.Ldexp(fraction, -24)
	}
	return sign * math.Ldexp(fraction+1024, exponent-25)
}

// wholeValue returns the meaning of an integer by its logical type, or by the older converted type.
func wholeValue(n int64, unsigned uint64, logical format.LogicalTypeValue, old *deprecated.ConvertedType) input.Value {
	moment := func(t time.Time) input.Value {
		return input.Value{Kind: input.Text, Text: t.UTC().Format(time.RFC3339Nano)}
	}
	switch x := logical.(type) {
	case *format.DateType:
		return input.Value{Kind: input.Text, Text: time.Unix(n*86400, 0).UTC().Format(time.DateOnly)}
	case *format.TimestampType:
		per := int64(time.Second)
		if x.Unit.Value != nil {
			per = int64(time.Second / max(1, x.Unit.Value.Duration()))
		}
		return moment(time.Unix(n/per, n%per*(int64(time.Second)/per)))
	case *format.TimeType:
		unit := time.Nanosecond
		if x.Unit.Value != nil {
			unit = x.Unit.Value.Duration()
		}
		return input.Value{Kind: input.Plain,
			Text: time.Unix(0, 0).UTC().Add(time.Duration(n) * unit).Format("15:04:05.999999999")}
	case *format.DecimalType:
		return decimal(strconv.FormatInt(n, 10), int(x.Scale))
	case *format.IntType:
		if !x.IsSigned {
			return input.Value{Kind: input.Integer, Text: strconv.FormatUint(unsigned, 10)}
		}
	case nil:
		switch {
		case old == nil:
		case *old == deprecated.Date:
			return input.Value{Kind: input.Text, Text: time.Unix(n*86400, 0).UTC().Format(time.DateOnly)}
		case *old == deprecated.TimestampMillis:
			return moment(time.UnixMilli(n))
		case *old == deprecated.TimestampMicros:
			return moment(time.UnixMicro(n))
		}
	}
	return input.Value{Kind: input.Integer, Text: strconv.FormatInt(n, 10)}
}

// decimal returns a decimal number from its digits and the number of digits after the point.
func decimal(digits string, scale int) input.Value {
	if scale <= 0 || scale > 100 {
		return input.Value{Kind: input.Integer, Text: digits}
	}
	digits, minus := strings.CutPrefix(digits, "-")
	if len(digits) <= scale {
		digits = strings.Repeat("0", scale-len(digits)+1) + digits
	}
	s := digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
	if minus {
		s = "-" + s
	}
	return input.Value{Kind: input.Number, Text: s}
}

// Layers returns the table of a file as a layer.
func Layers(_ context.Context, f *input.File, o input.Options) ([]input.Layer, error) {
	open, err := f.Anywhere(o.TempDir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Label, err)
	}
	flat, err := isFlat(open)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Label, err)
	}
	return []input.Layer{{Reader: &reader{open: open, memory: input.Memory(o.Limits.Feature)}, Flat: flat}}, nil
}
