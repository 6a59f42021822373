// Package shapefile reads and writes ESRI Shapefiles, and reads tables of dBASE.
package shapefile

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"grense/internal/format/input"
	"io"
	"math"

	"github.com/paulmach/orb"
)

// maxShape bounds the bytes of one shape.
const maxShape = 256 << 20

// reader reads a Shapefile (ESRI Shapefile Technical Description, 1998): shapes and rows in parallel.
// Without a .shp the rows are features without geometry; without a .dbf the shapes are features without properties.
// The .shx is only used to compare counts.
type reader struct {
	shp, dbf, shx, prj, cpg *input.File
	memory                  input.Memory
}

func (r *reader) Read(ctx context.Context, out input.Sink) error {
	refuse := func(reason string) error {
		out.Fault(input.Place{}, false, input.Refused, reason)
		return nil
	}
	var table *dbfTable
	if r.dbf != nil {
		in, err := r.dbf.Open()
		if err != nil {
			return err
		}
		defer in.Close()
		cpg, err := small(r.cpg)
		if err != nil {
			return err
		}
		t, reason, err := openDBF(in, cpg)
		if err != nil {
			return err
		}
		if reason != "" {
			return refuse(reason)
		}
		table = t
	} else {
		out.Fault(input.Place{}, false, input.Warning, "there is no .dbf beside the .shp; features have no properties")
	}
	if table != nil {
		out.Fields(table.names())
	}
	if r.shp == nil {
		return r.join(ctx, nil, table, out)
	}
	if err := r.reference(out); err != nil {
		return err
	}
	in, err := r.shp.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	s, reason, err := openShapes(in)
	if s != nil {
		s.memory = r.memory
	}
	if err != nil {
		return err
	}
	if reason != "" {
		return refuse(reason)
	}
	return r.join(ctx, s, table, out)
}

// small reads a file of a few hundred bytes; "" if there is none.
func small(f *input.File) (string, error) {
	if f == nil {
		return "", nil
	}
	in, err := f.Open()
	if err != nil {
		return "", err
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, 64<<10))
	return string(b), err
}

func (r *reader) reference(out input.Sink) error {
	text, err := small(r.prj)
	if err == nil && text != "" {
		out.Reference(input.Place{}, input.WKTPrefix+text)
	}
	if err == nil && text == "" {
		out.Reference(input.Place{}, "")
	}
	return err
}

// join reads shapes and rows in parallel; one of them may be nil.
func (r *reader) join(ctx context.Context, s *shapes, t *dbfTable, out input.Sink) error {
	if s != nil && s.measures() {
		out.Fault(input.Place{}, false, input.Warning, "measures (M) are left out")
	}
	deleted := 0
	for n := 1; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		rec := &input.Record{}
		var shapeEnd, rowEnd error
		var wrong, wrongRow string
		var gone bool
		if s != nil {
			rec.Shape, wrong, shapeEnd = s.next()
		}
		if t != nil {
			rec.Fields, gone, wrongRow, rowEnd = t.next()
		}
		if done, err := r.ended(n, s, t, shapeEnd, rowEnd, out); done {
			if deleted > 0 && err == nil {
				out.Fault(input.Place{}, false, input.Warning,
					fmt.Sprintf("%d rows of the .dbf are marked as deleted and left out, with their shapes", deleted))
			}
			return err
		}
		if gone {
			deleted++
			continue
		}
		for _, w := range [...]string{wrong, wrongRow} {
			if w != "" {
				rec.Refused = true
				out.Fault(input.Place{}, true, input.Refused, w)
			}
		}
		if rec.Shape != nil && !rec.Refused {
			r.finish(rec, out)
		}
		if err := out.Record(rec); err != nil {
			return err
		}
	}
}

// finish checks a shape. Rings of a Shapefile run the other way round, so reversing them is not a repair.
func (r *reader) finish(rec *input.Record, out input.Sink) {
	closed, dropped := rec.Shape.Check()
	if dropped > 0 {
		out.Fault(input.Place{}, true, input.Dropped, input.ShortPart)
	}
	if closed > 0 {
		out.Fault(input.Place{}, true, input.Repaired, input.ClosedRing)
	}
	rec.Shape.Orient()
}

// ended reports whether record n is past the end, and reports the faults there.
func (r *reader) ended(n int, s *shapes, t *dbfTable, shapeEnd, rowEnd error, out input.Sink) (bool, error) {
	for _, err := range [...]error{shapeEnd, rowEnd} {
		if err != nil && ignoreEnd(err) != nil {
			return true, err
		}
	}
	tell := func(a input.Action, format string, v ...any) {
		out.Fault(input.Place{}, false, a, fmt.Sprintf(format, v...))
	}
	switch {
	case shapeEnd == nil && rowEnd == nil:
		return false, nil
	case errors.Is(shapeEnd, io.ErrUnexpectedEOF):
		tell(input.Refused, "the .shp is cut off in record %d", n)
	case errors.Is(rowEnd, io.ErrUnexpectedEOF):
		tell(input.Refused, "the .dbf is cut off in row %d of %d", n, t.rows)
	case s != nil && t != nil && (shapeEnd == nil) != (rowEnd == nil):
		tell(input.Refused,
			"the .shp and the .dbf have different numbers of records: one ends before number %d, the other does not", n)
	}
	if s == nil {
		return true, nil
	}
	if extra, err := s.rest(); err != nil {
		return true, err
	} else if extra > 0 {
		tell(input.Warning, "the .shp goes on after the end that its header states, bytes: %d; they are ignored", extra)
	}
	if r.shx != nil && r.shx.Size > 0 {
		in, err := r.shx.Open()
		if err != nil {
			return true, err
		}
		size, err := io.Copy(io.Discard, in)
		if err := errors.Join(err, in.Close()); err != nil {
			return true, err
		}
		if have := int((size - 100) / 8); have != n-1 {
			tell(input.Warning, "the .shx lists %d shapes, the .shp holds %d", have, n-1)
		}
	}
	return true, nil
}

// shapes reads the records of a .shp in sequence.
type shapes struct {
	in     *bufio.Reader
	kind   uint32
	left   int64 // bytes left of the stated length
	record []byte
	memory input.Memory
}

// Shape types of the specification. A type with heights has 10 more, one with measures 20 more.
const (
	shapeNull       = 0
	shapePoint      = 1
	shapeLine       = 3
	shapePolygon    = 5
	shapeMultiPoint = 8
	shapeMultiPatch = 31
)

func openShapes(in io.Reader) (*shapes, string, error) {
	s := &shapes{in: bufio.NewReaderSize(in, 64<<10)}
	head := make([]byte, 100)
	if _, err := io.ReadFull(s.in, head); err != nil {
		return nil, "the .shp has no whole header", ignoreEnd(err)
	}
	if binary.BigEndian.Uint32(head) != 9994 {
		return nil, "the .shp does not begin as a Shapefile does", nil
	}
	s.left = 2*int64(binary.BigEndian.Uint32(head[24:])) - 100
	s.kind = binary.LittleEndian.Uint32(head[32:])
	switch s.kind {
	case shapeNull, 1, 3, 5, 8, 11, 13, 15, 18, 21, 23, 25, 28, shapeMultiPatch:
		return s, "", nil
	}
	return nil, fmt.Sprintf("the .shp has the unknown shape type %d", s.kind), nil
}

func (s *shapes) measures() bool { return s.kind > 20 && s.kind != shapeMultiPatch }

// rest returns the number of bytes after the stated length.
func (s *shapes) rest() (int64, error) {
	n, err := io.Copy(io.Discard, s.in)
	return max(n-max(s.left, 0), 0), err
}

// next reads one shape; nil for a null shape. It returns io.EOF at the end.
func (s *shapes) next() (*input.Shape, string, error) {
	if s.left < 8 {
		return nil, "", io.EOF
	}
	var head [8]byte
	if _, err := io.ReadFull(s.in, head[:]); err != nil {
		return nil, "", err // also EOF: the header may state too much
	}
	size := 2 * int64(binary.BigEndian.Uint32(head[4:]))
	s.left -= 8 + size
	if size > maxShape {
		return nil, "", io.ErrUnexpectedEOF
	}
	if wrong := s.memory.Positions(int(size / 16)); wrong != "" {
		_, err := io.CopyN(io.Discard, s.in, size)
		return nil, wrong, err
	}
	if _, err := io.CopyN(grow{&s.record}, s.in, size); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, "", err
	}
	defer func() { s.record = s.record[:0] }()
	g, wrong := s.decode(s.record)
	return g, wrong, nil
}

// grow appends what is written, so that memory is only used for existing bytes.
type grow struct{ b *[]byte }

func (g grow) Write(p []byte) (int, error) {
	*g.b = append(*g.b, p...)
	return len(p), nil
}

const shortShape = "the record is too short for its shape"

func (s *shapes) decode(b []byte) (*input.Shape, string) {
	if len(b) < 4 {
		return nil, shortShape
	}
	kind := binary.LittleEndian.Uint32(b)
	b = b[4:]
	if kind == shapeNull {
		return nil, ""
	}
	if kind != s.kind {
		return nil, fmt.Sprintf("a shape of type %d in a file of type %d", kind, s.kind)
	}
	if kind == shapeMultiPatch {
		return multiPatch(b)
	}
	g := &input.Shape{HasZ: kind > 10 && kind < 20}
	switch base := kind % 10; base {
	case shapePoint:
		g.Kind = input.Point
		n := 2
		if g.HasZ {
			n = 3
		}
		if len(b) < 8*n {
			return nil, shortShape
		}
		z := 0.0
		if g.HasZ {
			z = float(b[16:])
		}
		g.Add(float(b), float(b[8:]), z)
		return g, ""
	case shapeMultiPoint:
		g.Kind = input.MultiPoint
		if len(b) < 36 {
			return nil, shortShape
		}
		n := int64(binary.LittleEndian.Uint32(b[32:]))
		_, wrong := readPoints(g, b[36:], n)
		return orNil(g), wrong
	default:
		return readParts(g, b, base)
	}
}

func float(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }

// orNil returns nil for a shape without positions.
func orNil(g *input.Shape) *input.Shape {
	if g.Positions() == 0 {
		return nil
	}
	return g
}

// readPoints reads n positions, and the heights that follow them.
func readPoints(s *input.Shape, b []byte, n int64) (rest []byte, wrong string) {
	if n*16 > int64(len(b)) {
		return nil, shortShape
	}
	heights := b[16*n:]
	if s.HasZ {
		if int64(len(heights)) < 16+8*n {
			return nil, shortShape
		}
		heights = heights[16:]
	}
	s.XYZ = make([]float64, 0, 3*n)
	for i := range n {
		z := 0.0
		if s.HasZ {
			z = float(heights[8*i:])
		}
		s.Add(float(b[16*i:]), float(b[16*i+8:]), z)
	}
	return heights, ""
}

// readParts reads a line or polygon of several parts.
func readParts(s *input.Shape, b []byte, base uint32) (*input.Shape, string) {
	if len(b) < 40 {
		return nil, shortShape
	}
	parts, n := int64(binary.LittleEndian.Uint32(b[32:])), int64(binary.LittleEndian.Uint32(b[36:]))
	if b = b[40:]; parts*4 > int64(len(b)) {
		return nil, shortShape
	}
	starts := b[:4*parts]
	if _, wrong := readPoints(s, b[4*parts:], n); wrong != "" {
		return nil, wrong
	}
	if wrong := splitParts(s, starts, n); wrong != "" || n == 0 {
		return nil, wrong
	}
	if base == shapeLine {
		if s.Kind = input.MultiLineString; parts == 1 {
			s.Kind, s.Ends = input.LineString, nil
		}
		return s, ""
	}
	return groupRings(s), ""
}

// splitParts sets the ends of parts; starts holds the first position of each, and n is the number of positions.
func splitParts(s *input.Shape, starts []byte, n int64) (wrong string) {
	last, parts := int64(0), len(starts)/4
	for i := range parts {
		at := int64(binary.LittleEndian.Uint32(starts[4*i:]))
		if at < last || at > n || i == 0 && at != 0 || i > 0 && at == last {
			return "the parts of the shape do not follow each other"
		}
		if last = at; i > 0 {
			s.Ends = append(s.Ends, int(at))
		}
	}
	if parts == 0 || n == last {
		if parts == 0 && n == 0 {
			return ""
		}
		return "a part of the shape has no position"
	}
	s.Ends = append(s.Ends, int(n))
	return ""
}

// The types of the parts of a MultiPatch. A ring of another type belongs to the polygon before it.
const (
	triangleStrip = 0
	triangleFan   = 1
	outerRing     = 2
	firstRing     = 4
	lastPartType  = 5
)

// multiPatch reads surfaces as a MultiPolygon: one polygon for each triangle, and for each outer ring
// with the rings after it.
func multiPatch(b []byte) (*input.Shape, string) {
	if len(b) < 40 {
		return nil, shortShape
	}
	parts, n := int64(binary.LittleEndian.Uint32(b[32:])), int64(binary.LittleEndian.Uint32(b[36:]))
	if b = b[40:]; parts*8 > int64(len(b)) {
		return nil, shortShape
	}
	in := &input.Shape{HasZ: true}
	if _, wrong := readPoints(in, b[8*parts:], n); wrong != "" {
		return nil, wrong
	}
	if wrong := splitParts(in, b[:4*parts], n); wrong != "" || n == 0 {
		return nil, wrong
	}
	out := &input.Shape{Kind: input.MultiPolygon, HasZ: true}
	take := func(positions ...int) {
		for _, i := range positions {
			out.XYZ = append(out.XYZ, in.XYZ[3*i:3*i+3]...)
		}
	}
	ring := func() { out.Ends = append(out.Ends, out.Positions()) }
	from, open := 0, false // open: the last part was a ring
	for i, to := range in.Ends {
		kind := binary.LittleEndian.Uint32(b[4*(parts+int64(i)):])
		if kind > lastPartType {
			return nil, fmt.Sprintf("a part of the unknown type %d", kind)
		}
		if kind == triangleStrip || kind == triangleFan {
			for j := from; j+2 < to; j++ {
				a := from
				if kind == triangleStrip {
					a = j
				}
				take(a, j+1, j+2, a)
				ring()
				out.Polys = append(out.Polys, len(out.Ends))
			}
			from, open = to, false
			continue
		}
		if kind == outerRing || kind == firstRing || !open {
			out.Polys = append(out.Polys, 0)
		}
		open = true
		for j := from; j < to; j++ {
			take(j)
		}
		ring()
		out.Polys[len(out.Polys)-1] = len(out.Ends)
		from = to
	}
	return orNil(out), ""
}

// groupRings builds polygons from rings. An outer ring runs clockwise, a hole counter-clockwise.
// A hole belongs to the smallest outer ring around it; without one it is an outer ring itself.
func groupRings(s *input.Shape) *input.Shape {
	type ring struct {
		from, to int
		area     float64 // twice, signed
		box      orb.Bound
		holes    []int
		border   *border // built when a hole is first compared
	}
	rings := make([]ring, len(s.Ends))
	from := 0
	var outers, holes []int
	for i, to := range s.Ends {
		r := ring{from: from, to: to, area: s.Area(from, to),
			box: orb.Bound{Min: orb.Point{s.XYZ[3*from], s.XYZ[3*from+1]},
				Max: orb.Point{s.XYZ[3*from], s.XYZ[3*from+1]}}}
		for j := from; j < to; j++ {
			r.box = r.box.Extend(orb.Point{s.XYZ[3*j], s.XYZ[3*j+1]})
		}
		if rings[i] = r; r.area <= 0 {
			outers = append(outers, i)
		} else {
			holes = append(holes, i)
		}
		from = to
	}
	firm := len(outers)
	for _, h := range holes {
		best := -1
		for _, o := range outers[:firm] {
			if (best < 0 || -rings[o].area < -rings[best].area) && rings[o].box.Contains(rings[h].box.Min) &&
				rings[o].box.Contains(rings[h].box.Max) {
				if rings[o].border == nil {
					rings[o].border = newBorder(s, rings[o].from, rings[o].to)
				}
				if insideRing(s, rings[h].from, rings[h].to, rings[o].border) {
					best = o
				}
			}
		}
		if best < 0 {
			outers = append(outers, h)
		} else {
			rings[best].holes = append(rings[best].holes, h)
		}
	}
	g := &input.Shape{Kind: input.MultiPolygon, HasZ: s.HasZ, XYZ: make([]float64, 0, len(s.XYZ))}
	take := func(i int) {
		g.XYZ = append(g.XYZ, s.XYZ[3*rings[i].from:3*rings[i].to]...)
		g.Ends = append(g.Ends, g.Positions())
	}
	for _, o := range outers {
		take(o)
		for _, h := range rings[o].holes {
			take(h)
		}
		g.Polys = append(g.Polys, len(g.Ends))
	}
	if len(outers) == 1 {
		g.Kind, g.Polys = input.Polygon, nil
	}
	return g
}

// border is an outer ring prepared for tests of what lies inside.
type border struct {
	ring     orb.Ring
	vertices map[orb.Point]bool
}

func newBorder(s *input.Shape, from, to int) *border {
	b := &border{vertices: map[orb.Point]bool{}}
	for i := from; i < to; i++ {
		p := orb.Point{s.XYZ[3*i], s.XYZ[3*i+1]}
		b.ring = append(b.ring, p)
		b.vertices[p] = true
	}
	return b
}

// insideRing reports whether a ring lies inside a border. It tests the first vertex that is not a vertex of the border;
// without one the ring counts as inside.
func insideRing(s *input.Shape, from, to int, b *border) bool {
	for i := from; i < to; i++ {
		if p := (orb.Point{s.XYZ[3*i], s.XYZ[3*i+1]}); !b.vertices[p] {
			return crosses(b.ring, p)
		}
	}
	return true
}

// crosses implements the even-odd rule.
func crosses(ring orb.Ring, p orb.Point) bool {
	in := false
	for i, j := 0, len(ring)-1; i < len(ring); j, i = i, i+1 {
		a, b := ring[i], ring[j]
		if (a[1] > p[1]) != (b[1] > p[1]) && p[0] < (b[0]-a[0])*(p[1]-a[1])/(b[1]-a[1])+a[0] {
			in = !in
		}
	}
	return in
}

// Layers returns the layer of a Shapefile, or the table of a .dbf without a .shp.
func Layers(_ context.Context, f *input.File, o input.Options) ([]input.Layer, error) {
	if f.Suffix() == ".dbf" {
		return table(f)
	}
	return []input.Layer{{Reader: &reader{memory: input.Memory(o.Limits.Feature), shp: f, dbf: f.Sibling(".dbf"),
		shx: f.Sibling(".shx"), prj: f.Sibling(".prj"), cpg: f.Sibling(".cpg")}}}, nil
}

func table(f *input.File) ([]input.Layer, error) {
	if f.Sibling(".shp") != nil {
		return nil, input.Refuse("%s is a part of a Shapefile; name the .shp", f.Label)
	}
	return []input.Layer{{Reader: &reader{dbf: f, cpg: f.Sibling(".cpg")}, Flat: true}}, nil
}
