package flatgeobuf

import (
	"bufio"
	"encoding/binary"
	"io"
	"math"
	"slices"

	flatbuffers "github.com/google/flatbuffers/go"

	"grense/internal/cql2"
	"grense/internal/format/output"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// Losses lists what a reader may not get back.
var Losses = []string{"the order of features, when all have a geometry",
	"polygons in a layer with multipolygons are multipolygons, and so lines and points",
	"dates are moments at midnight",
	"positions without a height, in a file with heights, have height 0"}

// magic is the beginning of a file of version 3.
var magic = []byte{'f', 'g', 'b', 3, 'f', 'g', 'b', 1}

// nodeSize is the number of children of a node of the index.
const nodeSize = 16

// writer writes FlatGeobuf 3: magic, header, index, features. The header needs facts of all features,
// and the index their positions and sizes, so features wait in a table. The index is a packed R-tree over the features
// in the order of a Hilbert curve, as the format requires. A file with a feature without geometry has no index and
// keeps the order of the features.
type writer struct {
	*output.Table
	w    io.Writer
	b    *flatbuffers.Builder
	kind wkb.Kind // of all geometries; 0 if they differ
}

func New(w io.Writer, o output.Options) (output.Writer, error) {
	t, err := output.NewTable(o, 1)
	if err != nil {
		return nil, err
	}
	return &writer{Table: t, w: w, b: flatbuffers.NewBuilder(4096)}, nil
}

func (w *writer) Close(abort bool) error {
	defer w.Scratch.Close()
	if abort {
		return nil
	}
	w.kind = w.OneKind()
	index := len(w.Rows) > 0
	for _, r := range w.Rows {
		index = index && !r.Box.IsEmpty()
	}
	if index {
		w.ByPlace()
	}
	data, err := output.NewScratch(w.Options.Temp)
	if err != nil {
		return err
	}
	defer data.Close()
	err = w.Read(func(i int, values []any, geom []byte) error {
		row := &w.Rows[i] // already read; from now on the offset in data
		row.Offset = data.Size
		b, err := w.feature(values, geom)
		if err == nil {
			_, err = data.Write(b)
		}
		row.Size = data.Size - row.Offset
		return err
	})
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w.w, output.FlushAt)
	out.Write(append(slices.Clone(magic), w.header(index)...)) // Flush returns its error
	if index {
		writeIndex(out, w.Rows)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return data.CopyTo(w.w)
}

// feature returns a size-prefixed Feature: geometry 0, properties 1. It is valid until the next call.
func (w *writer) feature(values []any, wkbGeom []byte) ([]byte, error) {
	w.b.Reset()
	props := w.Buf[:0]
	for i, v := range values {
		props = appendValue(props, i, w.KindOf(i), v)
	}
	w.Buf = props
	g, ok, err := output.Stored.Shape(wkbGeom)
	if err != nil {
		return nil, err
	}
	var geom flatbuffers.UOffsetT
	if ok {
		if w.kind >= wkb.MultiPoint && w.kind <= wkb.MultiPolygon {
			g = g.Multi()
		}
		geom = w.geometry(&g, w.HasZ)
	}
	vector := w.b.CreateByteVector(props)
	w.b.StartObject(3)
	w.b.PrependUOffsetTSlot(0, geom, 0)
	w.b.PrependUOffsetTSlot(1, vector, 0)
	w.b.FinishSizePrefixed(w.b.EndObject())
	return w.b.FinishedBytes(), nil
}

// geometry writes a table Geometry: ends 0, xy 1, z 2, type 6, parts 7.
func (w *writer) geometry(g *output.Shape, z bool) flatbuffers.UOffsetT {
	var parts, ends flatbuffers.UOffsetT
	var line []output.Position
	switch g.Kind {
	case wkb.MultiPolygon, wkb.Collection:
		offs := make([]flatbuffers.UOffsetT, len(g.Parts))
		for i := range g.Parts {
			offs[i] = w.geometry(&g.Parts[i], z)
		}
		parts = w.b.CreateVectorOfTables(offs)
	case wkb.Point, wkb.LineString:
		line = g.Line
	default: // rings, lines or points, one after the other
		var at []uint32
		for i := range g.Parts {
			line = append(line, g.Parts[i].Line...)
			at = append(at, uint32(len(line)))
		}
		if len(at) > 1 && g.Kind != wkb.MultiPoint || g.Kind == wkb.MultiLineString {
			// also for one line, which readers such as GDAL before 3.9.3 need
			w.b.StartVector(4, len(at), 4)
			for _, n := range slices.Backward(at) {
				w.b.PrependUint32(n)
			}
			ends = w.b.EndVector(len(at))
		}
	}
	var xy, heights flatbuffers.UOffsetT
	if len(line) > 0 {
		w.b.StartVector(8, 2*len(line), 8)
		for _, p := range slices.Backward(line) {
			w.b.PrependFloat64(p[1])
			w.b.PrependFloat64(p[0])
		}
		xy = w.b.EndVector(2 * len(line))
		if z {
			w.b.StartVector(8, len(line), 8)
			for _, p := range slices.Backward(line) {
				if p[2] != p[2] { // readers reject positions of NaN
					p[2] = 0
				}
				w.b.PrependFloat64(p[2])
			}
			heights = w.b.EndVector(len(line))
		}
	}
	w.b.StartObject(8)
	w.b.PrependUOffsetTSlot(0, ends, 0)
	w.b.PrependUOffsetTSlot(1, xy, 0)
	w.b.PrependUOffsetTSlot(2, heights, 0)
	w.b.PrependByteSlot(6, byte(g.Kind), 0)
	w.b.PrependUOffsetTSlot(7, parts, 0)
	return w.b.EndObject()
}

// Types of columns in FlatGeobuf.
const (
	fgbBool     = 2
	fgbLong     = 7
	fgbDouble   = 10
	fgbString   = 11
	fgbJSON     = 12
	fgbDateTime = 13
)

func typeOf(t cql2.Type) byte {
	switch t {
	case cql2.TypeInteger:
		return fgbLong
	case cql2.TypeNumber:
		return fgbDouble
	case cql2.TypeBool:
		return fgbBool
	case cql2.TypeDate, cql2.TypeTimestamp:
		return fgbDateTime
	case cql2.TypeJSON:
		return fgbJSON
	}
	return fgbString
}

// appendValue appends the number of a column and a value of its type; nothing for null.
func appendValue(dst []byte, col int, t cql2.Type, v any) []byte {
	if v == nil {
		return dst
	}
	dst = binary.LittleEndian.AppendUint16(dst, uint16(col))
	switch v := v.(type) {
	case int64:
		if t == cql2.TypeNumber {
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(float64(v)))
		}
		if t == cql2.TypeInteger {
			return binary.LittleEndian.AppendUint64(dst, uint64(v))
		}
	case float64:
		if t == cql2.TypeNumber {
			return binary.LittleEndian.AppendUint64(dst, math.Float64bits(v))
		}
	case bool:
		if t == cql2.TypeBool {
			if v {
				return append(dst, 1)
			}
			return append(dst, 0)
		}
	}
	s := output.ValueText(v)
	return append(binary.LittleEndian.AppendUint32(dst, uint32(len(s))), s...)
}

// writeIndex writes the packed R-tree over items, which are in the order of the file.
// Nodes have four doubles and an offset and are written from the root down. The offset of a leaf is that of its feature
// behind the index; the offset of another node is the number of its first child.
func writeIndex(out *bufio.Writer, items []output.TableRow) {
	levels := [][]output.TableRow{items}
	for len(levels[len(levels)-1]) > 1 || len(levels) == 1 {
		below := levels[len(levels)-1]
		level := make([]output.TableRow, 0, (len(below)+nodeSize-1)/nodeSize)
		for at := 0; at < len(below); at += nodeSize {
			box := below[at].Box
			for _, n := range below[at+1 : min(at+nodeSize, len(below))] {
				box = box.Union(n.Box)
			}
			level = append(level, output.TableRow{Box: box, Offset: int64(at)}) // of the first child, in its level
		}
		levels = append(levels, level)
	}
	base := int64(0) // number of the first node of the level below
	var b []byte
	for l := len(levels) - 1; l >= 0; l-- {
		base += int64(len(levels[l]))
		for _, n := range levels[l] {
			b = b[:0]
			for _, v := range [...]float64{n.Box.Min[0], n.Box.Min[1], n.Box.Max[0], n.Box.Max[1]} {
				b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
			}
			at := n.Offset
			if l > 0 {
				at += base
			}
			out.Write(binary.LittleEndian.AppendUint64(b, uint64(at)))
		}
	}
}

// header writes the table Header: name 0, envelope 1, geometry_type 2, has_z 3, columns 7, features_count 8,
// index_node_size 9, crs 10, title 11.
func (w *writer) header(index bool) []byte {
	b := flatbuffers.NewBuilder(1024)
	names := output.Distinct(w.Cols, 0, func(s string) string { return s })
	cols := make([]flatbuffers.UOffsetT, len(w.Cols))
	for i, c := range w.Cols {
		name := b.CreateString(names[i])
		b.StartObject(11)
		b.PrependUOffsetTSlot(0, name, 0)
		b.PrependByteSlot(1, typeOf(w.KindOf(i)), 0)
		if c.At < 0 {
			b.PrependBoolSlot(7, false, true) // nullable
		}
		cols[i] = b.EndObject()
	}
	columns := b.CreateVectorOfTables(cols)
	name, title := b.CreateString(w.Options.Collection.ID), b.CreateString(w.Options.Title)
	var system flatbuffers.UOffsetT
	if !w.Options.SkipGeometry {
		system = systemOf(b, w.Options.CRS)
	}
	var envelope flatbuffers.UOffsetT
	if !w.Bound.IsEmpty() {
		b.StartVector(8, 4, 8)
		for _, v := range [...]float64{w.Bound.Max[1], w.Bound.Max[0], w.Bound.Min[1], w.Bound.Min[0]} {
			b.PrependFloat64(v)
		}
		envelope = b.EndVector(4)
	}
	size := uint16(0)
	if index {
		size = nodeSize
	}
	b.StartObject(14)
	b.PrependUOffsetTSlot(0, name, 0)
	b.PrependUOffsetTSlot(1, envelope, 0)
	b.PrependByteSlot(2, byte(w.kind), 0)
	b.PrependBoolSlot(3, w.HasZ, false)
	b.PrependUOffsetTSlot(7, columns, 0)
	b.PrependUint64Slot(8, uint64(len(w.Rows)), 0)
	b.PrependUint16Slot(9, size, 16)
	b.PrependUOffsetTSlot(10, system, 0)
	b.PrependUOffsetTSlot(11, title, 0)
	b.FinishSizePrefixed(b.EndObject())
	return b.FinishedBytes()
}

// systemOf writes the table Crs: org 0, code 1, name 2, wkt 4, code_string 5. Coordinates are x, y,
// whatever the authority defines.
func systemOf(b *flatbuffers.Builder, id crs.ID) flatbuffers.UOffsetT {
	org, code, text := "EPSG", int32(id), ""
	switch {
	case id == crs.CRS84:
		org, code, text = "OGC", 0, "CRS84"
	case id.Own(): // its definition states it
		org, code = "", 0
	}
	o, n := b.CreateString(org), b.CreateString(id.Name())
	var t, wkt flatbuffers.UOffsetT
	if s, err := id.ESRI(); err == nil {
		wkt = b.CreateString(s)
	}
	if text != "" {
		t = b.CreateString(text)
	}
	b.StartObject(6)
	b.PrependUOffsetTSlot(0, o, 0)
	b.PrependInt32Slot(1, code, 0)
	b.PrependUOffsetTSlot(2, n, 0)
	b.PrependUOffsetTSlot(4, wkt, 0)
	b.PrependUOffsetTSlot(5, t, 0)
	return b.EndObject()
}
