package shapefile

import (
	"archive/zip"
	"encoding/binary"
	"io"
	"math"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/format/output"
	"grense/internal/geo/wkb"
	"grense/internal/problem"
	"grense/internal/store"
)

// Losses lists what a reader may not get back.
var Losses = []string{"names of properties beyond 10 bytes are cut",
	"texts beyond 254 bytes are cut, and blanks at their end are lost",
	"null texts are blank, and null truth values are ?",
	"timestamps, JSON and integers beyond 17 digits are text",
	"geometries of several kinds are split into one file a kind", "the difference between polygons and multipolygons",
	"positions without a height, in a file with heights, have height 0"}

// mostShapefile is the largest size of a file: offsets are 31 bits of 16-bit words, but many readers stop at 2 GiB.
// mostRecord is the largest size of a row of the table, whose length has 16 bits.
const (
	mostShapefile = math.MaxInt32
	mostRecord    = math.MaxUint16
)

// errLarge returns the error for data that does not fit into a shapefile.
func errLarge(what string) error {
	return problem.Invalidf("f", "shapefile",
		"%s; narrow the selection by a filter or by properties, or use f=gpkg or f=flatgeobuf", what)
}

// Kinds of layers: a shapefile has one.
const (
	layerPoint = iota
	layerLine
	layerPolygon
	layerMultiPoint
	layerKinds
)

// writer writes a zip of shapefiles (ESRI Shapefile Technical Description, July 1998), one for each kind of geometry
// among the features, with .dbf, .shx, .cpg (UTF-8) and .prj. Features without geometry go to the first.
type writer struct {
	w io.Writer
	t *output.Table
}

func New(w io.Writer, o output.Options) (output.Writer, error) {
	t, err := output.NewTable(o, -1) // outer rings run clockwise
	if err != nil {
		return nil, err
	}
	return &writer{w: w, t: t}, nil
}

func (s *writer) Want() store.Want             { return s.t.Want() }
func (s *writer) Write(f *store.Feature) error { return s.t.Write(f) }

func (s *writer) Close(abort bool) error {
	defer s.t.Scratch.Close()
	if abort {
		return nil
	}
	out := zip.NewWriter(s.w)
	kinds, err := s.kinds()
	if err != nil {
		return err
	}
	ends := [...]string{"", "_line", "_polygon", "_multipoint"}
	for i, k := range kinds {
		name := s.t.Options.Collection.ID
		if len(kinds) > 1 {
			name += ends[k]
			if k == layerPoint {
				name += "_point"
			}
		}
		if err := s.layer(out, name, k, i == 0); err != nil {
			return err
		}
	}
	if len(kinds) == 0 { // no geometry at all: the table alone
		if err := s.layer(out, s.t.Options.Collection.ID, -1, true); err != nil {
			return err
		}
	}
	return out.Close()
}

// kindIn returns the kind of shapefile for a kind of geometry; -1 for collections, which are split.
func kindIn(k wkb.Kind) int {
	switch k {
	case wkb.Point:
		return layerPoint
	case wkb.LineString, wkb.MultiLineString:
		return layerLine
	case wkb.Polygon, wkb.MultiPolygon:
		return layerPolygon
	case wkb.MultiPoint:
		return layerMultiPoint
	}
	return -1
}

// kinds returns the kinds of shapefiles that the features need.
func (s *writer) kinds() ([]int, error) {
	var has [layerKinds]bool
	for k := range s.t.Kinds {
		if i := kindIn(k); i >= 0 {
			has[i] = true
		}
	}
	if s.t.Kinds[wkb.Collection] {
		err := s.t.Read(func(_ int, _ []any, geom []byte) error {
			for k := range has {
				if _, ok := pick(geom, k); ok {
					has[k] = true
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	var out []int
	for k, ok := range has {
		if ok {
			out = append(out, k)
		}
	}
	if len(out) == 0 && !s.t.Options.SkipGeometry {
		out = append(out, max(0, kindIn(s.t.Options.LayerKind())))
	}
	return out, nil
}

// pick returns the part of a geometry that belongs in a shapefile of a kind.
func pick(geom []byte, kind int) (output.Shape, bool) {
	if len(geom) == 0 {
		return output.Shape{}, false
	}
	g, ok, err := output.Stored.Shape(geom)
	if err != nil || !ok {
		return output.Shape{}, false
	}
	if g.Kind != wkb.Collection {
		return g, kindIn(g.Kind) == kind
	}
	out := output.Shape{Kind: [...]wkb.Kind{wkb.MultiPoint, wkb.MultiLineString, wkb.MultiPolygon,
		wkb.MultiPoint}[kind]}
	var gather func(g *output.Shape)
	gather = func(g *output.Shape) {
		switch {
		case g.Kind == wkb.Collection:
			for i := range g.Parts {
				gather(&g.Parts[i])
			}
		case g.Kind == wkb.Point && kind == layerMultiPoint, kindIn(g.Kind) == kind && g.Kind <= wkb.Polygon &&
			kind != layerPoint:
			out.Parts = append(out.Parts, *g)
		case kindIn(g.Kind) == kind && kind != layerPoint:
			out.Parts = append(out.Parts, g.Parts...)
		}
	}
	gather(&g)
	return out, len(out.Parts) > 0
}

// layer writes one shapefile into the zip; kind -1 writes only the table. bare includes features without geometry.
func (s *writer) layer(out *zip.Writer, name string, kind int, bare bool) error {
	var body [3]*output.Scratch // shp, shx, dbf
	for i := range body {
		f, err := output.NewScratch(s.t.Options.Temp)
		if err != nil {
			return err
		}
		defer f.Close()
		body[i] = f
	}
	l := &layerWriter{kind: kind, z: s.t.HasZ, shp: body[0], shx: body[1], bound: wkb.EmptyBound(),
		zs: [2]float64{math.Inf(1), math.Inf(-1)}}
	dbf := newDBF(s.t, body[2])
	if dbf.size() > mostRecord {
		return errLarge("a row of a shapefile has at most 65,535 bytes, and texts have the width of the longest")
	}
	err := s.t.Read(func(_ int, values []any, geom []byte) error {
		var g output.Shape
		ok := false
		if kind >= 0 {
			g, ok = pick(geom, kind)
		}
		if !ok && !(bare && len(geom) == 0) && kind >= 0 {
			return nil
		}
		if kind >= 0 {
			if err := l.add(&g, ok); err != nil {
				return err
			}
		}
		return dbf.add(values)
	})
	if err != nil {
		return err
	}
	if kind >= 0 {
		if err := addFile(out, name+".shp", l.header(body[0].Size), body[0]); err != nil {
			return err
		}
		if err := addFile(out, name+".shx", l.header(body[1].Size), body[1]); err != nil {
			return err
		}
		prj, err := s.t.Options.CRS.ESRI()
		if err != nil {
			return err
		}
		if err := addFile(out, name+".prj", []byte(prj), nil); err != nil {
			return err
		}
	}
	if err := addFile(out, name+".dbf", dbf.header(), body[2]); err != nil {
		return err
	}
	return addFile(out, name+".cpg", []byte("UTF-8"), nil)
}

// addFile adds a file to the zip: a header and a body.
func addFile(out *zip.Writer, name string, head []byte, body *output.Scratch) error {
	w, err := out.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate})
	if err != nil {
		return err
	}
	if _, err := w.Write(head); err != nil || body == nil {
		return err
	}
	return body.CopyTo(w)
}

// layerWriter writes the .shp and .shx of a shapefile without their headers of 100 bytes.
type layerWriter struct {
	kind     int
	z        bool
	shp, shx *output.Scratch
	bound    orb.Bound
	zs       [2]float64
	n        int32
	buf      []byte
}

// code returns the type of shape in the file.
func (l *layerWriter) code() uint32 {
	c := [...]uint32{1, 3, 5, 8}[l.kind]
	if l.z {
		c += 10
	}
	return c
}

func (l *layerWriter) add(g *output.Shape, some bool) error {
	b := l.buf[:0]
	if some {
		b = l.shape(b, g)
	} else {
		b = binary.LittleEndian.AppendUint32(b, 0)
	}
	l.buf = b
	at := 100 + l.shp.Size
	if at+8+int64(len(b)) > mostShapefile {
		return errLarge("a shapefile holds at most 2 GB")
	}
	l.n++
	var head [8]byte
	binary.BigEndian.PutUint32(head[:], uint32(at/2))
	binary.BigEndian.PutUint32(head[4:], uint32(len(b)/2))
	if _, err := l.shx.Write(head[:]); err != nil {
		return err
	}
	binary.BigEndian.PutUint32(head[:], uint32(l.n))
	if _, err := l.shp.Write(head[:]); err != nil {
		return err
	}
	_, err := l.shp.Write(b)
	return err
}

// shape appends the content of a record.
func (l *layerWriter) shape(b []byte, g *output.Shape) []byte {
	b = binary.LittleEndian.AppendUint32(b, l.code())
	box := g.Bound()
	wkb.Extend(&l.bound, box.Min[0], box.Min[1])
	wkb.Extend(&l.bound, box.Max[0], box.Max[1])
	if l.kind == layerPoint {
		b = appendDoubles(b, g.Line[0][0], g.Line[0][1])
		if l.z {
			b = appendDoubles(b, l.height(g.Line[0]), noMeasure)
		}
		return b
	}
	var lines []output.Shape
	flat(g, &lines)
	var points []output.Position
	var starts []uint32
	for i := range lines {
		starts = append(starts, uint32(len(points)))
		points = append(points, lines[i].Line...)
	}
	b = appendDoubles(b, box.Min[0], box.Min[1], box.Max[0], box.Max[1])
	if l.kind != layerMultiPoint {
		b = binary.LittleEndian.AppendUint32(b, uint32(len(starts)))
	}
	b = binary.LittleEndian.AppendUint32(b, uint32(len(points)))
	if l.kind != layerMultiPoint {
		for _, s := range starts {
			b = binary.LittleEndian.AppendUint32(b, s)
		}
	}
	for _, p := range points {
		b = appendDoubles(b, p[0], p[1])
	}
	if l.z {
		low, high := math.Inf(1), math.Inf(-1)
		for _, p := range points {
			h := l.height(p)
			low, high = min(low, h), max(high, h)
		}
		b = appendDoubles(b, low, high)
		for _, p := range points {
			b = appendDoubles(b, l.height(p))
		}
	}
	return b
}

// noMeasure means no measure: any value below -1e38.
const noMeasure = -1e39

// height returns the height of a position, or 0 if it has none: the format cannot express that.
func (l *layerWriter) height(p output.Position) float64 {
	h := p[2]
	if h != h {
		h = 0
	}
	l.zs[0], l.zs[1] = min(l.zs[0], h), max(l.zs[1], h)
	return h
}

// flat collects the points and lines of a geometry, including rings.
func flat(g *output.Shape, out *[]output.Shape) {
	if len(g.Line) > 0 {
		*out = append(*out, *g)
	}
	for i := range g.Parts {
		flat(&g.Parts[i], out)
	}
}

func appendDoubles(b []byte, vs ...float64) []byte {
	for _, v := range vs {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return b
}

// header returns the header of a .shp or .shx whose body has that many bytes.
func (l *layerWriter) header(body int64) []byte {
	b := make([]byte, 28, 100)
	binary.BigEndian.PutUint32(b, 9994)
	binary.BigEndian.PutUint32(b[24:], uint32((100+body)/2))
	b = binary.LittleEndian.AppendUint32(b, 1000)
	b = binary.LittleEndian.AppendUint32(b, l.code())
	box, zs := l.bound, l.zs
	if box.IsEmpty() {
		box = orb.Bound{}
	}
	if zs[0] > zs[1] {
		zs = [2]float64{}
	}
	return appendDoubles(b, box.Min[0], box.Min[1], box.Max[0], box.Max[1], zs[0], zs[1], 0, 0)
}

// dbfWriter writes the records of a dBASE table.
type dbfWriter struct {
	t    *output.Table
	f    *output.Scratch
	cols []dbfColumn
	n    uint32
	buf  []byte
}

type dbfColumn struct {
	name  string
	typ   byte
	width int
	dec   byte
	kind  cql2.Type
}

func newDBF(t *output.Table, f *output.Scratch) *dbfWriter {
	d := &dbfWriter{t: t, f: f}
	names := output.Distinct(t.Cols, 10, strings.ToUpper)
	for i := range t.Cols {
		d.cols = append(d.cols, dbfColumnOf(t, i, names[i]))
	}
	return d
}

func dbfColumnOf(t *output.Table, i int, name string) dbfColumn {
	c := dbfColumn{name: name, typ: 'C', kind: t.KindOf(i), width: min(254, max(1, t.Facts[i].Longest))}
	switch c.kind {
	case cql2.TypeInteger:
		c.typ, c.width = 'N', 18
		if t.Facts[i].Most >= 1e17 {
			c.typ, c.width, c.kind = 'C', 20, cql2.TypeText
		}
	case cql2.TypeNumber:
		c.typ, c.width, c.dec = 'N', 24, 15
	case cql2.TypeBool:
		c.typ, c.width = 'L', 1
	case cql2.TypeDate:
		c.typ, c.width = 'D', 8
	case cql2.TypeText:
		if f := t.Facts[i]; f.Integer || f.Number || f.Boolean {
			c.width = max(c.width, 24)
		}
	}
	return c
}

func (d *dbfWriter) add(values []any) error {
	d.n++
	b := append(d.buf[:0], ' ')
	for i, c := range d.cols {
		b = c.append(b, values[i])
	}
	d.buf = b
	if d.f.Size+int64(len(b)) > mostShapefile {
		return errLarge("a shapefile holds at most 2 GB")
	}
	_, err := d.f.Write(b)
	return err
}

// size returns the number of bytes of a row.
func (d *dbfWriter) size() int {
	n := 1
	for _, c := range d.cols {
		n += c.width
	}
	return n
}

// append appends a value in the width of the column: numbers right-aligned, texts left-aligned, null as blanks.
func (c dbfColumn) append(b []byte, v any) []byte {
	s := output.ValueText(v)
	switch x := v.(type) {
	case float64:
		if math.IsNaN(x) || math.IsInf(x, 0) {
			s = ""
		}
	case bool:
		if c.typ == 'L' {
			s = strings.ToUpper(s[:1])
		}
	case nil:
		if c.typ == 'L' {
			s = "?"
		}
	}
	if c.kind == cql2.TypeDate {
		s = strings.ReplaceAll(s, "-", "")
	}
	s = output.Cut(strings.ToValidUTF8(s, "\uFFFD"), c.width)
	blanks := strings.Repeat(" ", c.width-len(s))
	if c.typ == 'N' {
		return append(append(b, blanks...), s...)
	}
	return append(append(b, s...), blanks...)
}

func (d *dbfWriter) header() []byte {
	// a fixed date, as GDAL writes it: today's date would make two files of the same data differ
	b := []byte{3, 95, 7, 26}
	b = binary.LittleEndian.AppendUint32(b, d.n)
	b = binary.LittleEndian.AppendUint16(b, uint16(32+32*len(d.cols)+1))
	b = binary.LittleEndian.AppendUint16(b, uint16(d.size()))
	b = append(b, make([]byte, 20)...)
	for _, c := range d.cols {
		var f [32]byte
		copy(f[:10], c.name)
		f[11], f[16], f[17] = c.typ, byte(c.width), c.dec
		b = append(b, f[:]...)
	}
	return append(b, 0x0D)
}
