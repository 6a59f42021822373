package ingest

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"unicode/utf8"

	"grense/internal/geo/wkb"
)

// flatReader reads FlatGeobuf 3. The index is passed over, since everything is read. What is stated of sizes is believed only as far as there are bytes.
type flatReader struct {
	open   func() (io.ReadCloser, error)
	memory memory
}

// maxFlatHeader bounds the bytes of a header.
const maxFlatHeader = 16 << 20

// flatColumn is a property: its name and its type, by the number in the schema of the format.
type flatColumn struct {
	name string
	kind byte
}

// flatLayer is what the header tells.
type flatLayer struct {
	kind    wkb.Kind // of all geometries; 0: each tells its own
	columns []flatColumn
	count   uint64 // 0: not known
	index   int64  // bytes of it
	system  string
	memory  memory
}

func (r *flatReader) read(ctx context.Context, out sink) error {
	file, err := r.open()
	if err != nil {
		return err
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 256<<10)
	l, wrong, err := openFlat(in)
	if err == nil && wrong == "" && l.index > 0 {
		if n, e := io.CopyN(io.Discard, in, l.index); errors.Is(e, io.EOF) {
			wrong = fmt.Sprintf("the file ends in its index, which needs %d more bytes", l.index-n)
		} else {
			err = e
		}
	}
	if err != nil || wrong != "" {
		if wrong != "" {
			out.fault(place{}, false, Refused, wrong)
		}
		return err
	}
	l.memory = r.memory
	out.reference(place{}, l.system)
	var names []string
	for _, c := range l.columns {
		names = append(names, c.name)
	}
	out.fields(names)
	return l.features(ctx, in, out)
}

// openFlat reads the header; wrong tells why a file is refused.
func openFlat(in io.Reader) (l *flatLayer, wrong string, err error) {
	var start [12]byte
	if _, err := io.ReadFull(in, start[:]); err != nil {
		if err = ended(err); err != nil {
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
	if n < 8 || n > maxFlatHeader {
		return nil, fmt.Sprintf("a header of %d bytes; is the file damaged?", n), nil
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(in, b); err != nil {
		if err = ended(err); err != nil {
			return nil, "", err
		}
		return nil, "the file ends in its header", nil
	}
	l, wrong = flatHeader(b)
	return l, wrong, nil
}

// ended is nil for an error that says that a file is too short.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// flatHeader reads a table Header: geometry_type 2, columns 7, features_count 8, index_node_size 9, crs 10.
func flatHeader(b []byte) (*flatLayer, string) {
	t := &flatBuffer{b: b}
	root := t.root()
	l := &flatLayer{kind: wkb.Kind(t.byte(root, 2, 0)), columns: t.columns(root, 7), count: t.uint64(root, 8, 0)}
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
	if len(l.columns) > maxNames {
		return nil, fmt.Sprintf("more than %d columns", maxNames)
	}
	return l, ""
}

// system names the reference system of a table Crs: org 0, code 1, wkt 4, code_string 5.
func (t *flatBuffer) system(at int) string {
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
		return prjName + text
	}
	return ""
}

func (t *flatBuffer) columns(at, slot int) (out []flatColumn) {
	from, n := t.vector(at, slot, 4)
	for i := range n {
		c := t.follow(from + 4*i)
		out = append(out, flatColumn{t.text(c, 0), t.byte(c, 1, 0)})
		if len(out) > maxNames {
			return out
		}
	}
	return out
}

func (l *flatLayer) features(ctx context.Context, in io.Reader, out sink) error {
	refuse := func(format string, a ...any) error {
		out.fault(place{}, false, Refused, fmt.Sprintf(format, a...))
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
		case err != nil && ended(err) == nil:
			return refuse("the file ends after %d features and %d bytes; the header says %d features", n, k, l.count)
		case err != nil:
			return err
		}
		length := int64(binary.LittleEndian.Uint32(size[:]))
		if length > l.memory.bytes()/2 {
			return refuse("feature %d has %d bytes: %s", n+1, length, l.memory.refusal())
		}
		var err error
		if b, err = readGrowing(in, b, int(length)); err != nil {
			if err = ended(err); err != nil {
				return err
			}
			return refuse("the file ends in feature %d", n+1)
		}
		if err := out.record(l.record(b, out)); err != nil {
			return err
		}
	}
	return nil
}

// readGrowing reads n bytes into b; memory is taken as they come, since n may be wrong.
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

// record makes a record of a table Feature: geometry 0, properties 1, columns 2.
func (l *flatLayer) record(b []byte, out sink) *record {
	t := &flatBuffer{b: b, most: l.memory.bytes() / positionCost}
	root := t.root()
	rec := &record{}
	refuse := func(reason string) {
		rec.refused = true
		out.fault(rec.at, true, Refused, reason)
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
		refuse(l.memory.refusal())
	case t.bad:
		refuse("the feature points outside of itself; is the file damaged?")
	case at != 0:
		l.memory.place(rec, shape, out)
	}
	return rec
}

// properties reads pairs of the number of a column and a value; columns without one are null.
func (l *flatLayer) properties(rec *record, columns []flatColumn, b []byte, out sink) (wrong string) {
	values := make([]value, len(columns))
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
			return fmt.Sprintf("the value of %q ends too early, or is of no type that is read; is the file damaged?", columns[i].name)
		}
		if (v.kind == plain || v.kind == text) && !utf8.ValidString(v.text) {
			return fmt.Sprintf("the text in %q is not UTF-8; write the file anew, for example with ogr2ogr", columns[i].name)
		}
		values[i], b = v, b[2+size:]
	}
	for i, c := range columns {
		if values[i].kind == absent {
			values[i].kind = null
		}
		rec.fields = append(rec.fields, field{c.name, values[i]})
	}
	return ""
}

// flatSizes are the bytes of values of a fixed size, by type: Byte, UByte, Bool, Short, UShort, Int, UInt, Long, ULong, Float, Double.
var flatSizes = [...]int{1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8}

// value reads a value; size is -1 where there are too few bytes.
func (c flatColumn) value(b []byte) (v value, size int) {
	if int(c.kind) < len(flatSizes) {
		if size = flatSizes[c.kind]; len(b) < size {
			return v, -1
		}
	}
	whole := func(n int64) value { return value{integer, strconv.FormatInt(n, 10)} }
	switch c.kind {
	case 0:
		return whole(int64(int8(b[0]))), size
	case 1:
		return whole(int64(b[0])), size
	case 2:
		return value{boolean, strconv.FormatBool(b[0] != 0)}, size
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
		return value{integer, strconv.FormatUint(binary.LittleEndian.Uint64(b), 10)}, size
	case 9:
		return floating(float64(math.Float32frombits(binary.LittleEndian.Uint32(b))), 32), size
	case 10:
		return floating(math.Float64frombits(binary.LittleEndian.Uint64(b)), 64), size
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
	case c.kind == 12 && structured(s):
		return value{object, string(s)}, 4 + len(s)
	case c.kind == 13:
		return value{text, string(s)}, 4 + len(s)
	case c.kind == 14:
		return value{kind: blob}, 4 + len(s)
	}
	return value{plain, string(s)}, 4 + len(s)
}

// structured reports whether a text is a JSON array or object.
func structured(s []byte) bool {
	return len(s) > 0 && (s[0] == '{' || s[0] == '[') && json.Valid(s)
}

// floating is a number of so many bits.
func floating(v float64, bits int) value {
	return value{number, strconv.FormatFloat(v, 'f', -1, bits)}
}

// flatBuffer reads tables of FlatBuffers. What points outside of the bytes is nothing, and bad is set.
type flatBuffer struct {
	b    []byte
	bad  bool
	many bool  // more positions than most
	most int64 // positions that one feature may have; they may be pointed to more than once
	n    int64 // positions so far
}

func (t *flatBuffer) at(i, size int) []byte {
	if i < 0 || size < 0 || i > len(t.b)-size {
		t.bad = true
		return make([]byte, min(max(size, 0), 8))
	}
	return t.b[i : i+size]
}

func (t *flatBuffer) follow(i int) int {
	return i + int(binary.LittleEndian.Uint32(t.at(i, 4)))
}

// root is where the root table stands.
func (t *flatBuffer) root() int { return t.follow(0) }

// slot is where a member of a table stands; 0 when it has none.
func (t *flatBuffer) slot(table, n int) int {
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

func (t *flatBuffer) byte(table, n int, without byte) byte {
	if at := t.slot(table, n); at != 0 {
		return t.at(at, 1)[0]
	}
	return without
}

func (t *flatBuffer) uint16(table, n int, without uint16) uint16 {
	if at := t.slot(table, n); at != 0 {
		return binary.LittleEndian.Uint16(t.at(at, 2))
	}
	return without
}

func (t *flatBuffer) uint32(table, n int, without uint32) uint32 {
	if at := t.slot(table, n); at != 0 {
		return binary.LittleEndian.Uint32(t.at(at, 4))
	}
	return without
}

func (t *flatBuffer) uint64(table, n int, without uint64) uint64 {
	if at := t.slot(table, n); at != 0 {
		return binary.LittleEndian.Uint64(t.at(at, 8))
	}
	return without
}

// child is where a table that is a member stands; 0 when there is none.
func (t *flatBuffer) child(table, n int) int {
	if at := t.slot(table, n); at != 0 {
		return t.follow(at)
	}
	return 0
}

// vector is where the elements of a member stand, and how many there are.
func (t *flatBuffer) vector(table, n, size int) (from, count int) {
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

func (t *flatBuffer) text(table, n int) string {
	from, count := t.vector(table, n, 1)
	return string(t.b[from : from+count])
}

// geometry appends a table Geometry as well-known binary: ends 0, xy 1, z 2, type 6, parts 7. kind is what it is where it does not tell.
func (t *flatBuffer) geometry(dst []byte, at int, kind wkb.Kind, depth int) []byte {
	if own := wkb.Kind(t.byte(at, 6, 0)); own != 0 {
		kind = own
	}
	if depth > wkb.MaxDepth || kind < wkb.Point || kind > wkb.Triangle {
		t.bad = true
		return dst
	}
	p := flatPositions{t: t}
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
		if t.n++; t.n > t.most { // empty members are no positions, but there may be many
			t.many, t.bad = true, true
		}
		if t.bad {
			return dst
		}
		dst = t.geometry(dst, t.follow(from+4*i), member, depth+1)
	}
	return dst
}

// ends are the numbers of positions before the ends of lines or rings.
func (t *flatBuffer) ends(at, n int) []int {
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

// flatPositions are those of a table Geometry.
type flatPositions struct {
	t     *flatBuffer
	xy, z int // where the ordinates stand
	n     int
	hasZ  bool
}

// append appends a geometry that has no members.
func (p *flatPositions) append(dst []byte, kind wkb.Kind, ends []int) []byte {
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

func (p *flatPositions) positions(dst []byte, from, to int) []byte {
	for i := from; i < to; i++ {
		dst = append(dst, p.t.at(p.xy+16*i, 16)...)
		if p.hasZ {
			dst = append(dst, p.t.at(p.z+8*i, 8)...)
		}
	}
	return dst
}
