// Package flatgeobuf reads and writes FlatGeobuf 3.
package flatgeobuf

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"grense/internal/format/input"
	"grense/internal/geo/wkb"
)

// reader reads FlatGeobuf 3. It skips the index, since it reads every feature.
// It trusts a stated size only as far as bytes follow.
type reader struct {
	open   func() (io.ReadCloser, error)
	memory input.Memory
}

// maxHeader bounds the bytes of a header.
const maxHeader = 16 << 20

// column is the name of a property and its type, by its number in the schema of the format.
type column struct {
	name string
	kind byte
}

// header is the content of the header.
type header struct {
	kind    wkb.Kind // of all geometries; 0: each states its own
	columns []column
	count   uint64
	index   int64 // its length in bytes
	system  string
	memory  input.Memory
}

func (r *reader) Read(ctx context.Context, out input.Sink) error {
	file, err := r.open()
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 256<<10)
	l, wrong, err := open(in)
	if err == nil && wrong == "" && l.index > 0 {
		if n, e := io.CopyN(io.Discard, in, l.index); errors.Is(e, io.EOF) {
			wrong = fmt.Sprintf("the file ends in its index, which needs %d more bytes", l.index-n)
		} else {
			err = e
		}
	}
	if err != nil || wrong != "" {
		if wrong != "" {
			out.Fault(input.Place{}, false, input.Refused, wrong)
		}
		return err
	}
	l.memory = r.memory
	out.Reference(input.Place{}, l.system)
	var names []string
	for _, c := range l.columns {
		names = append(names, c.name)
	}
	out.Fields(names)
	return l.features(ctx, in, out)
}

// open reads the header. wrong is the reason if the file is refused.
func open(in io.Reader) (l *header, wrong string, err error) {
	var start [12]byte
	if _, err := io.ReadFull(in, start[:]); err != nil {
		if err = input.Ended(err); err != nil {
			return nil, "", err
		}
		return nil, "the file is too short for FlatGeobuf", nil
	}
	if string(start[:3]) != "fgb" || string(start[4:7]) != "fgb" {
		return nil, "the file does not begin as FlatGeobuf does; is it of another format?", nil
	}
	if start[3] != 3 {
		return nil, fmt.Sprintf("FlatGeobuf of version %d is not read; version 3 is. ogr2ogr writes it", start[3]), nil
	}
	n := binary.LittleEndian.Uint32(start[8:])
	if n < 8 || n > maxHeader {
		return nil, fmt.Sprintf("a header of %d bytes; is the file damaged?", n), nil
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(in, b); err != nil {
		if err = input.Ended(err); err != nil {
			return nil, "", err
		}
		return nil, "the file ends in its header", nil
	}
	l, wrong = readHeader(b)
	return l, wrong, nil
}

// readHeader reads a table Header: geometry_type 2, columns 7, features_count 8, index_node_size 9, crs 10.
func readHeader(b []byte) (*header, string) {
	t := &buffer{b: b}
	root := t.root()
	l := &header{kind: wkb.Kind(t.byte(root, 2, 0)), columns: t.columns(root, 7), count: t.uint64(root, 8, 0)}
	if at := t.child(root, 10); at != 0 {
		l.system = t.system(at)
	}
	if size := t.uint16(root, 9, 16); size > 1 && l.count > 0 {
		const node = 40
		for n := l.count; ; n = (n + uint64(size) - 1) / uint64(size) {
			if n > math.MaxInt64/node/2 || l.index > math.MaxInt64/2 {
				return nil, "a header that says more features than a file can hold; is the file damaged?"
			}
			l.index += int64(n) * node
			if n == 1 {
				break
			}
		}
		if l.count == 1 { // leaf and root
			l.index = 2 * node
		}
	} else if size == 1 {
		return nil, "an index of nodes of 1; is the file damaged?"
	}
	if t.bad {
		return nil, "the header points outside of itself; is the file damaged?"
	}
	if len(l.columns) > input.MaxNames {
		return nil, fmt.Sprintf("more than %d columns", input.MaxNames)
	}
	return l, ""
}

// system returns the name of the reference system in a table Crs: org 0, code 1, wkt 4, code_string 5.
func (t *buffer) system(at int) string {
	org := t.text(at, 0)
	if org == "" {
		org = "EPSG"
	}
	if code := int32(t.uint32(at, 1, 0)); code > 0 {
		return org + ":" + strconv.Itoa(int(code))
	}
	if code := t.text(at, 5); code != "" {
		return org + ":" + code
	}
	if text := t.text(at, 4); text != "" {
		return input.WKTPrefix + text
	}
	return ""
}

func (t *buffer) columns(at, slot int) (out []column) {
	from, n := t.vector(at, slot, 4)
	for i := range n {
		c := t.follow(from + 4*i)
		out = append(out, column{t.text(c, 0), t.byte(c, 1, 0)})
		if len(out) > input.MaxNames {
			return out
		}
	}
	return out
}

func (l *header) features(ctx context.Context, in io.Reader, out input.Sink) error {
	refuse := func(format string, a ...any) error {
		out.Fault(input.Place{}, false, input.Refused, fmt.Sprintf(format, a...))
		return nil
	}
	var b []byte
	for n := uint64(0); l.count == 0 || n < l.count; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		var size [4]byte
		switch k, err := io.ReadFull(in, size[:]); {
		case errors.Is(err, io.EOF) && l.count == 0:
			return nil
		case err != nil && input.Ended(err) == nil:
			return refuse("the file ends after %d features and %d bytes; the header says %d features", n, k, l.count)
		case err != nil:
			return err
		}
		length := int64(binary.LittleEndian.Uint32(size[:]))
		if length > l.memory.Bytes()/2 {
			return refuse("feature %d has %d bytes: %s", n+1, length, l.memory.Refusal())
		}
		var err error
		if b, err = readGrowing(in, b, int(length)); err != nil {
			if err = input.Ended(err); err != nil {
				return err
			}
			return refuse("the file ends in feature %d", n+1)
		}
		if err := out.Record(l.record(b, out)); err != nil {
			return err
		}
	}
	return nil
}

// readGrowing reads n bytes into b. It allocates as bytes arrive, since n may be wrong.
func readGrowing(in io.Reader, b []byte, n int) ([]byte, error) {
	b = b[:0]
	for len(b) < n {
		from := len(b)
		b = append(b, make([]byte, min(n-from, max(64<<10, from)))...)
		if _, err := io.ReadFull(in, b[from:]); err != nil {
			return b[:from], err
		}
	}
	return b, nil
}

// record converts a table Feature to a record: geometry 0, properties 1, columns 2.
func (l *header) record(b []byte, out input.Sink) *input.Record {
	t := &buffer{b: b, most: l.memory.Bytes() / input.PositionCost}
	root := t.root()
	rec := &input.Record{}
	refuse := func(reason string) {
		rec.Refused = true
		out.Fault(rec.At, true, input.Refused, reason)
	}
	columns := l.columns
	if own := t.columns(root, 2); len(own) > 0 {
		columns = own
	}
	from, n := t.vector(root, 1, 1)
	if wrong := l.properties(rec, columns, t.b[from:from+n], out); wrong != "" {
		refuse(wrong)
		return rec
	}
	at := t.child(root, 0)
	var shape []byte
	if at != 0 {
		shape = t.geometry(nil, at, l.kind, 0)
	}
	switch {
	case t.many:
		refuse(l.memory.Refusal())
	case t.bad:
		refuse("the feature points outside of itself; is the file damaged?")
	case at != 0:
		l.memory.Place(rec, shape, out)
	}
	return rec
}

// properties reads pairs of a column number and a value. Columns without a value are null.
func (l *header) properties(rec *input.Record, columns []column, b []byte, out input.Sink) (wrong string) {
	values := make([]input.Value, len(columns))
	for len(b) > 0 {
		if len(b) < 2 {
			return "the properties end too early; is the file damaged?"
		}
		i := int(binary.LittleEndian.Uint16(b))
		if i >= len(columns) {
			return fmt.Sprintf("a value of column %d, but there are %d columns", i+1, len(columns))
		}
		v, size := columns[i].value(b[2:])
		if size < 0 {
			return fmt.Sprintf("the value of %q ends too early, or is of no type that is read; is the file damaged?",
				columns[i].name)
		}
		if (v.Kind == input.Plain || v.Kind == input.Text) && !utf8.ValidString(v.Text) {
			return fmt.Sprintf("the text in %q is not UTF-8; write the file again, for example with ogr2ogr",
				columns[i].name)
		}
		values[i], b = v, b[2+size:]
	}
	for i, c := range columns {
		if values[i].Kind == input.Absent {
			values[i].Kind = input.Null
		}
		rec.Fields = append(rec.Fields, input.Field{Name: c.name, Value: values[i]})
	}
	return ""
}

// sizes are the lengths in bytes of values of fixed size, by type: Byte, UByte, Bool, Short, UShort, Int, UInt,
// Long, ULong, Float, Double.
var sizes = [...]int{1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8}

// value reads a value. size is -1 if bytes are missing.
func (c column) value(b []byte) (v input.Value, size int) {
	if int(c.kind) < len(sizes) {
		if size = sizes[c.kind]; len(b) < size {
			return v, -1
		}
	}
	whole := func(n int64) input.Value { return input.Value{Kind: input.Integer, Text: strconv.FormatInt(n, 10)} }
	switch c.kind {
	case 0:
		return whole(int64(int8(b[0]))), size
	case 1:
		return whole(int64(b[0])), size
	case 2:
		return input.Value{Kind: input.Boolean, Text: strconv.FormatBool(b[0] != 0)}, size
	case 3:
		return whole(int64(int16(binary.LittleEndian.Uint16(b)))), size
	case 4:
		return whole(int64(binary.LittleEndian.Uint16(b))), size
	case 5:
		return whole(int64(int32(binary.LittleEndian.Uint32(b)))), size
	case 6:
		return whole(int64(binary.LittleEndian.Uint32(b))), size
	case 7:
		return whole(int64(binary.LittleEndian.Uint64(b))), size
	case 8:
		return input.Value{Kind: input.Integer, Text: strconv.FormatUint(binary.LittleEndian.Uint64(b), 10)}, size
	case 9:
		return input.Floating(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32), size
	case 10:
		return input.Floating(math.Float64frombits(binary.LittleEndian.Uint64(b)), 64), size
	}
	if c.kind > 14 || len(b) < 4 {
		return v, -1
	}
	n := int64(binary.LittleEndian.Uint32(b))
	if n > int64(len(b)-4) {
		return v, -1
	}
	s := b[4 : 4+n]
	switch {
	case c.kind == 12 && input.Structured(s):
		return input.Value{Kind: input.Object, Text: string(s)}, 4 + len(s)
	case c.kind == 13:
		return input.Value{Kind: input.Text, Text: string(s)}, 4 + len(s)
	case c.kind == 14:
		return input.Value{Kind: input.Blob}, 4 + len(s)
	}
	return input.Value{Kind: input.Plain, Text: string(s)}, 4 + len(s)
}

// buffer reads tables of FlatBuffers. An offset outside the bytes reads as nothing and sets bad.
type buffer struct {
	b    []byte
	bad  bool
	many bool  // the feature has more positions than most
	most int64 // largest number of positions of a feature; several members may share them
	n    int64 // positions so far
}

func (t *buffer) at(i, size int) []byte {
	if i < 0 || size < 0 || i > len(t.b)-size {
		t.bad = true
		return make([]byte, min(max(size, 0), 8))
	}
	return t.b[i : i+size]
}

func (t *buffer) follow(i int) int {
	return i + int(binary.LittleEndian.Uint32(t.at(i, 4)))
}

// root returns the offset of the root table.
func (t *buffer) root() int { return t.follow(0) }

// slot returns the offset of a member of a table; 0 if it is missing.
func (t *buffer) slot(table, n int) int {
	names := table - int(int32(binary.LittleEndian.Uint32(t.at(table, 4))))
	if size := int(binary.LittleEndian.Uint16(t.at(names, 2))); t.bad || 4+2*n+2 > size {
		return 0
	}
	off := int(binary.LittleEndian.Uint16(t.at(names+4+2*n, 2)))
	if off == 0 || t.bad {
		return 0
	}
	return table + off
}

func (t *buffer) byte(table, n int, without byte) byte {
	if at := t.slot(table, n); at != 0 {
		return t.at(at, 1)[0]
	}
	return without
}

func (t *buffer) uint16(table, n int, without uint16) uint16 {
	if at := t.slot(table, n); at != 0 {
		return binary.LittleEndian.Uint16(t.at(at, 2))
	}
	return without
}

func (t *buffer) uint32(table, n int, without uint32) uint32 {
	if at := t.slot(table, n); at != 0 {
		return binary.LittleEndian.Uint32(t.at(at, 4))
	}
	return without
}

func (t *buffer) uint64(table, n int, without uint64) uint64 {
	if at := t.slot(table, n); at != 0 {
		return binary.LittleEndian.Uint64(t.at(at, 8))
	}
	return without
}

// child returns the offset of a table that is a member; 0 if it is missing.
func (t *buffer) child(table, n int) int {
	if at := t.slot(table, n); at != 0 {
		return t.follow(at)
	}
	return 0
}

// vector returns the offset of the elements of a member, and their number.
func (t *buffer) vector(table, n, size int) (from, count int) {
	at := t.slot(table, n)
	if at == 0 {
		return 0, 0
	}
	from = t.follow(at) + 4
	count = int(binary.LittleEndian.Uint32(t.at(from-4, 4)))
	if t.bad || from > len(t.b) || count > (len(t.b)-from)/size {
		t.bad = true
		return 0, 0
	}
	return from, count
}

func (t *buffer) text(table, n int) string {
	from, count := t.vector(table, n, 1)
	return string(t.b[from : from+count])
}

// geometry appends a table Geometry as well-known binary: ends 0, xy 1, z 2, type 6, parts 7.
// kind is used if the table states no type.
func (t *buffer) geometry(dst []byte, at int, kind wkb.Kind, depth int) []byte {
	if own := wkb.Kind(t.byte(at, 6, 0)); own != 0 {
		kind = own
	}
	if depth > wkb.MaxDepth || kind < wkb.Point || kind > wkb.Triangle {
		t.bad = true
		return dst
	}
	p := positions{t: t}
	p.xy, p.n = t.vector(at, 1, 8)
	p.n /= 2
	var heights int
	p.z, heights = t.vector(at, 2, 8)
	if p.hasZ = heights > 0; p.hasZ && heights < p.n {
		t.bad = true
	}
	if t.n += int64(p.n); t.n > t.most || t.bad {
		t.many = t.many || t.n > t.most
		t.bad = true
		return dst
	}
	switch kind {
	case wkb.Point, wkb.LineString, wkb.CircularString, wkb.MultiPoint, wkb.Polygon, wkb.Triangle, wkb.MultiLineString:
		return p.append(dst, kind, t.ends(at, p.n))
	}
	from, n := t.vector(at, 7, 4)
	z := false
	for i := range n {
		_, h := t.vector(t.follow(from+4*i), 2, 8)
		z = z || h > 0
	}
	var member wkb.Kind
	switch kind {
	case wkb.MultiPolygon, wkb.PolyhedralSurface, wkb.MultiSurface:
		member = wkb.Polygon
	case wkb.TIN:
		member = wkb.Triangle
	case wkb.CompoundCurve, wkb.CurvePolygon, wkb.MultiCurve:
		member = wkb.LineString
	}
	dst = wkb.AppendCount(wkb.AppendHeader(dst, kind, z), n)
	for i := range n {
		if t.n++; t.n > t.most { // empty members have no positions, but there may be many
			t.many, t.bad = true, true
		}
		if t.bad {
			return dst
		}
		dst = t.geometry(dst, t.follow(from+4*i), member, depth+1)
	}
	return dst
}

// ends returns the numbers of positions before the ends of lines or rings.
func (t *buffer) ends(at, n int) []int {
	from, count := t.vector(at, 0, 4)
	if count == 0 && n > 0 {
		return []int{n}
	}
	var out []int
	last := 0
	for i := range count {
		end := int(binary.LittleEndian.Uint32(t.at(from+4*i, 4)))
		if end < last || end > n {
			t.bad = true
			return nil
		}
		out, last = append(out, end), end
	}
	return out
}

// positions are the ordinates of a table Geometry.
type positions struct {
	t     *buffer
	xy, z int // offsets of the ordinates
	n     int
	hasZ  bool
}

// append appends a geometry without members.
func (p *positions) append(dst []byte, kind wkb.Kind, ends []int) []byte {
	if kind == wkb.Point && p.n == 0 {
		return wkb.AppendXY(wkb.AppendHeader(dst, kind, false), math.NaN(), math.NaN())
	}
	dst = wkb.AppendHeader(dst, kind, p.hasZ)
	switch kind {
	case wkb.Point:
		return p.positions(dst, 0, 1)
	case wkb.MultiPoint:
		dst = wkb.AppendCount(dst, p.n)
		for i := range p.n {
			dst = p.positions(wkb.AppendHeader(dst, wkb.Point, p.hasZ), i, i+1)
		}
		return dst
	case wkb.LineString, wkb.CircularString:
		return p.positions(wkb.AppendCount(dst, p.n), 0, p.n)
	}
	dst = wkb.AppendCount(dst, len(ends))
	from := 0
	for _, to := range ends {
		if kind == wkb.MultiLineString {
			dst = wkb.AppendHeader(dst, wkb.LineString, p.hasZ)
		}
		dst = p.positions(wkb.AppendCount(dst, to-from), from, to)
		from = to
	}
	return dst
}

func (p *positions) positions(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		dst = append(dst, p.t.at(p.xy+16*i, 16)...)
		if p.hasZ {
			dst = append(dst, p.t.at(p.z+8*i, 8)...)
		}
	}
	return dst
}

// Layers returns the layer of a file.
func Layers(_ context.Context, f *input.File, o input.Options) ([]input.Layer, error) {
	return []input.Layer{{Reader: &reader{open: f.Open, memory: input.Memory(o.Limits.Feature)}}}, nil
}
