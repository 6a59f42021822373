package gml

import (
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"grense/internal/format/input"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// geometryKinds are the elements that are geometries.
var geometryKinds = map[string]wkb.Kind{
	"Point": wkb.Point, "LineString": wkb.LineString, "Curve": wkb.LineString, "CompositeCurve": wkb.LineString,
	"LinearRing": wkb.LineString, "Polygon": wkb.Polygon, "PolygonPatch": wkb.Polygon,
	"Surface": wkb.MultiPolygon, "CompositeSurface": wkb.MultiPolygon, "MultiPoint": wkb.MultiPoint,
	"MultiLineString": wkb.MultiLineString, "MultiCurve": wkb.MultiLineString,
	"MultiPolygon": wkb.MultiPolygon, "MultiSurface": wkb.MultiPolygon, "MultiGeometry": wkb.Collection,
	"GeometryCollection": wkb.Collection,
}

// geometryFault is the reason why a geometry is refused.
type geometryFault string

func (f geometryFault) Error() string { return string(f) }

// geometryReader reads one geometry as well-known binary.
type geometryReader struct {
	d      *Decoder
	system string
	swap   bool
	dim    int  // of positions without a stated dimension
	depth  int  // open elements of the geometry
	n      int  // positions so far
	mixed  bool // positions use two reference systems
	broken bool // parts of a curve do not join
}

// Geometry is the result of reading a geometry.
type Geometry struct {
	WKB    []byte
	System string // name of its reference system; "": none is stated
	Broken bool   // parts of a curve do not join; straight lines connect them
}

// Geometry reads a geometry whose start element was read, to its end. system is the reference system if the geometry
// names none; wrong is the reason if the geometry is refused.
func (d *Decoder) Geometry(e xml.StartElement, system string) (g Geometry, wrong string, err error) {
	kind, known := geometryKinds[e.Name.Local]
	if !known {
		return g, notRead(e), d.Leave()
	}
	x := &geometryReader{d: d, dim: 2}
	x.named(e, system)
	b, err := x.read(nil, e, kind, 0)
	if bad, ok := errors.AsType[geometryFault](err); ok {
		for range x.depth { // to the end of the geometry
			if err := d.Leave(); err != nil {
				return g, "", err
			}
		}
		return g, string(bad), nil
	}
	if x.mixed {
		return g, "positions in two reference systems in one geometry", err
	}
	return Geometry{b, x.system, x.broken}, "", err
}

func notRead(e xml.StartElement) string {
	return fmt.Sprintf("a geometry of type %s, which is not read; ogr2ogr makes simple ones",
		input.Shorten(e.Name.Local))
}

// named sets the reference system and the dimension of an element.
func (x *geometryReader) named(e xml.StartElement, otherwise string) {
	if name := input.Attr(e, "srsName"); name != "" {
		otherwise = name
	}
	if otherwise != "" && otherwise != x.system {
		before, swapped := x.system, x.swap
		x.system = otherwise
		if d := x.d; otherwise != d.ordered {
			d.ordered, d.swap = otherwise, input.NorthFirst(otherwise, d.as)
		}
		x.swap = x.d.swap
		x.mixed = x.mixed || x.n > 0 && before != "" && (x.swap != swapped || !sameReference(before, otherwise))
	}
	if n, err := strconv.Atoi(input.Attr(e, "srsDimension")); err == nil && (n == 2 || n == 3) {
		x.dim = n
	}
}

// sameReference reports whether two names mean the same reference system.
func sameReference(a, b string) bool {
	x, _, wrong := input.Reference(a)
	y, _, alsoWrong := input.Reference(b)
	return wrong == "" && alsoWrong == "" && x == y
}

// read appends the geometry of an element whose start was read.
func (x *geometryReader) read(dst []byte, e xml.StartElement, kind wkb.Kind, depth int) ([]byte, error) {
	x.depth++
	if depth > wkb.MaxDepth {
		return dst, geometryFault("geometries lie too deep in each other")
	}
	outer := x.dim
	x.named(e, x.system)
	defer func() { x.dim = outer }()
	var err error
	switch kind {
	case wkb.Point, wkb.LineString:
		var line []float64
		dim := 0
		if line, dim, err = x.line(nil, depth); err != nil {
			return dst, err
		}
		if kind == wkb.Point {
			if len(line) != dim {
				x.depth-- // at its end
				return dst, geometryFault(fmt.Sprintf("a point of %d numbers", len(line)))
			}
			dst = wkb.AppendHeader(dst, wkb.Point, dim == 3)
		} else {
			dst = wkb.AppendCount(wkb.AppendHeader(dst, wkb.LineString, dim == 3), len(line)/max(dim, 2))
		}
		dst = x.positions(dst, line, dim)
	case wkb.Polygon:
		dst, err = x.polygon(dst, depth)
	default:
		at := len(dst)
		if dst, err = x.members(dst, kind, depth); err == nil && strings.HasSuffix(e.Name.Local, "Surface") &&
			e.Name.Local != "MultiSurface" && binary.LittleEndian.Uint32(dst[at+5:]) == 1 {
			dst = append(dst[:at], dst[at+9:]...) // a surface of one patch is a polygon
		}
	}
	if err == nil {
		x.depth--
	}
	return dst, err
}

func (x *geometryReader) positions(dst []byte, line []float64, dim int) []byte {
	for i := 0; i+dim <= len(line) && dim > 0; i += dim {
		a, b := line[i], line[i+1]
		if x.swap {
			a, b = b, a
		}
		if dim == 3 {
			dst = wkb.AppendXYZ(dst, a, b, line[i+2])
		} else {
			dst = wkb.AppendXY(dst, a, b)
		}
	}
	return dst
}

// next returns the next child of the current element; ok is false at the end.
func (x *geometryReader) next() (e xml.StartElement, ok bool, err error) {
	for {
		t, err := x.d.Token()
		if err != nil {
			return e, false, x.d.Wrong(err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			return t, true, nil
		case xml.EndElement:
			return e, false, nil
		}
	}
}

// line reads the positions of the current element, also those of its segments, to its end.
func (x *geometryReader) line(line []float64, depth int) ([]float64, int, error) {
	dim := 0
	if depth > wkb.MaxDepth {
		return nil, 0, geometryFault("geometries lie too deep in each other")
	}
	for {
		e, ok, err := x.next()
		if err != nil || !ok {
			return line, dim, err
		}
		x.depth++
		was := x.dim
		x.named(e, x.system)
		var more []float64
		var got int
		switch e.Name.Local {
		case "pos", "posList", "coordinates", "coord":
			more, got, err = x.numbers(e)
		case "pointProperty", "Point", "pointRep", "segments", "LineStringSegment", "curveMember", "LineString",
			"Curve", "baseCurve":
			more, got, err = x.line(nil, depth+1)
			if err == nil && len(line) > 0 && len(more) >= got && got == dim && got > 0 {
				more = x.follow(line, more, dim, !strings.HasPrefix(strings.ToLower(e.Name.Local), "point"))
			}
		case "Arc", "ArcString", "Circle":
			if more, got, err = x.line(nil, depth+1); err == nil {
				more, err = x.arcs(e.Name.Local, more, got)
			}
			if err == nil && len(line) > 0 && got == dim {
				more = x.follow(line, more, dim, true)
			}
		case "ArcByCenterPoint", "CircleByCenterPoint", "CubicSpline", "BSpline", "Bezier", "Geodesic",
			"GeodesicString", "Clothoid", "ArcByBulge", "ArcStringByBulge", "OffsetCurve":
			return nil, 0,
				geometryFault(
					fmt.Sprintf("a curve of %s; straight lines, Arc, ArcString and Circle are read. "+
						"ogr2ogr -nlt CONVERT_TO_LINEAR makes lines", e.Name.Local))
		default:
			return nil, 0,
				geometryFault(fmt.Sprintf("an element %s where positions should be", input.Shorten(e.Name.Local)))
		}
		if err != nil {
			return nil, 0, err
		}
		x.depth--
		if x.dim = was; dim != 0 && got != dim && len(more) > 0 {
			return nil, 0, geometryFault("positions with and without heights in one line")
		}
		if len(more) > 0 {
			dim = got
		}
		line = append(line, more...)
	}
}

// follow returns the positions of a part to append to line. It omits the first one if it repeats the last of line.
// Segments share their ends.
func (x *geometryReader) follow(line, part []float64, dim int, segment bool) []float64 {
	if slices.Equal(line[len(line)-dim:], part[:dim]) {
		return part[dim:]
	}
	x.broken = x.broken || segment
	return part
}

// arcs replaces the positions of an Arc, ArcString or Circle (ISO 19136, 10.4.7) by lines along it.
func (x *geometryReader) arcs(what string, line []float64, dim int) ([]float64, error) {
	n := 0
	if dim > 0 {
		n = len(line) / dim
	}
	if n < 3 || n%2 == 0 || what != "ArcString" && n != 3 {
		return nil, geometryFault(fmt.Sprintf("a curve of %s with %d positions", what, n))
	}
	if what == "Circle" {
		rest, ok := restOfCircle(line, dim)
		if !ok {
			return nil, geometryFault("a Circle whose positions lie on a line")
		}
		line = append(line, rest...)
	}
	chord := wkb.ChordMetres
	if id, _, wrong := input.Reference(x.system); wrong == "" {
		chord = store.Chord(id)
	} else if math.Abs(line[0]) <= 360 && math.Abs(line[1]) <= 360 {
		chord = wkb.ChordDegrees
	}
	b := wkb.AppendCount(wkb.AppendHeader(nil, wkb.CircularString, dim == 3), len(line)/dim)
	for _, v := range line {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	b, err := wkb.Straighten(nil, b, chord)
	if err != nil {
		return nil, geometryFault(fmt.Sprintf("a curve of %s: %v", what, err))
	}
	r := wkb.NewReader(b)
	if _, err := r.Header(); err != nil {
		return nil, err
	}
	p, err := r.Line()
	if err != nil {
		return nil, err
	}
	if wrong := x.d.memory.Positions(x.n + p.Len()); wrong != "" {
		return nil, geometryFault(wrong)
	}
	x.n += p.Len()
	line = make([]float64, 0, dim*p.Len())
	for i := range p.Len() {
		a, b := p.XY(i)
		if line = append(line, a, b); dim == 3 {
			line = append(line, p.Z(i))
		}
	}
	return line, nil
}

// restOfCircle returns the two positions that complete three positions of a circle to a closed string of arcs:
// one between the third and the first, and the first. ok is false if the three lie on a line.
func restOfCircle(line []float64, dim int) ([]float64, bool) {
	ax, ay, bx, by, cx, cy := line[0], line[1], line[dim], line[dim+1], line[2*dim], line[2*dim+1]
	ux, uy, vx, vy := bx-ax, by-ay, cx-ax, cy-ay
	d := 2 * (ux*vy - uy*vx)
	u, v := ux*ux+uy*uy, vx*vx+vy*vy
	ox, oy := (vy*u-uy*v)/d, (ux*v-vx*u)/d // from the first position to the centre
	radius, chord := math.Hypot(ox, oy), math.Hypot(vx, vy)
	if !wkb.Finite(radius) || chord == 0 {
		return nil, false
	}
	nx, ny := -vy/chord, vx/chord // across the chord from the first to the third position, away from the second
	if nx*ux+ny*uy > 0 {
		nx, ny = -nx, -ny
	}
	rest := []float64{ax + ox + radius*nx, ay + oy + radius*ny}
	if dim == 3 {
		rest = append(rest, (line[2]+line[2*dim+2])/2)
	}
	return append(rest, line[:dim]...), true
}

// numbers reads the text of the current element as ordinates, to its end.
func (x *geometryReader) numbers(e xml.StartElement) (out []float64, dim int, err error) {
	var b strings.Builder
	for {
		t, err := x.d.Token()
		if err != nil {
			return nil, 0, x.d.Wrong(err)
		}
		if _, ok := t.(xml.EndElement); ok {
			break
		}
		switch t := t.(type) {
		case xml.CharData:
			b.Write(t)
		case xml.StartElement: // X, Y and Z of GML 2
			if e.Name.Local != "coord" {
				x.depth++
				return nil, 0, geometryFault(fmt.Sprintf("an element %s among numbers", input.Shorten(t.Name.Local)))
			}
			x.depth++
			v, _, err := x.numbers(t)
			if err != nil {
				return nil, 0, err
			}
			x.depth--
			out = append(out, v...)
		}
	}
	if e.Name.Local == "coord" {
		return out, len(out), nil
	}
	out, dim, wrong := x.parse(e, b.String())
	if wrong != "" {
		x.depth-- // at the end of the element
		return nil, 0, geometryFault(wrong)
	}
	return out, dim, nil
}

// parse parses the text of an element as ordinates.
func (x *geometryReader) parse(e xml.StartElement, s string) (out []float64, dim int, wrong string) {
	dim = x.dim
	if e.Name.Local == "coordinates" { // GML 2: tuples
		if cs := input.Attr(e, "cs"); cs != "" && cs != "," || input.Attr(e, "decimal") != "" &&
			input.Attr(e, "decimal") != "." {
			return nil, 0, "coordinates with other separators than comma, point and space"
		}
		s = strings.TrimSpace(s)
		dim = strings.Count(s[:max(0, strings.IndexAny(s+" ", " \t\r\n"))], ",") + 1
		s = strings.ReplaceAll(s, ",", " ")
	}
	for f := range strings.FieldsSeq(s) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return nil, 0, fmt.Sprintf("%q is not a number", input.Shorten(f))
		}
		out = append(out, v)
		if wrong := x.d.memory.Positions(x.n + len(out)/2); wrong != "" {
			return nil, 0, wrong
		}
	}
	switch e.Name.Local {
	case "X", "Y", "Z":
		return out, 1, ""
	case "pos":
		if len(out) == 2 || len(out) == 3 {
			dim = len(out)
		}
	}
	if dim < 2 || dim > 3 || len(out)%dim != 0 {
		return nil, 0, fmt.Sprintf("%d numbers are no positions of %d", len(out), dim)
	}
	x.n += len(out) / dim
	return out, dim, ""
}

// polygon reads rings, to the end of the element.
func (x *geometryReader) polygon(dst []byte, depth int) ([]byte, error) {
	var rings [][]float64
	dim, shell := 0, false
	for {
		e, ok, err := x.next()
		if err != nil {
			return dst, err
		}
		if !ok {
			break
		}
		x.depth++
		switch e.Name.Local {
		case "exterior", "interior", "outerBoundaryIs", "innerBoundaryIs":
		default:
			return dst, geometryFault(fmt.Sprintf("an element %s where a ring should be", input.Shorten(e.Name.Local)))
		}
		outer := strings.HasPrefix(e.Name.Local, "ex") || strings.HasPrefix(e.Name.Local, "outer")
		if outer && shell {
			return dst, geometryFault("a polygon with two exterior rings")
		}
		shell = shell || outer
		r, ok, err := x.next()
		if err != nil {
			return dst, err
		}
		if !ok {
			x.depth--
			continue
		}
		x.depth++
		x.named(r, x.system)
		line, got, err := x.line(nil, depth+1)
		if err != nil {
			return dst, err
		}
		x.depth--
		if _, more, err := x.next(); err != nil {
			return dst, err
		} else if more {
			x.depth++
			return dst, geometryFault("more than one ring in a boundary")
		}
		x.depth--
		if len(line) == 0 {
			continue
		}
		if dim != 0 && got != dim {
			return dst, geometryFault("rings with and without heights in one polygon")
		}
		dim = got
		if outer {
			rings = slices.Insert(rings, 0, line)
		} else {
			rings = append(rings, line)
		}
	}
	dst = wkb.AppendCount(wkb.AppendHeader(dst, wkb.Polygon, dim == 3), len(rings))
	for _, line := range rings {
		dst = x.positions(wkb.AppendCount(dst, len(line)/dim), line, dim)
	}
	return dst, nil
}

// members reads the members of a collection geometry, to the end of the element.
func (x *geometryReader) members(dst []byte, kind wkb.Kind, depth int) ([]byte, error) {
	at := len(dst)
	dst = wkb.AppendCount(wkb.AppendHeader(dst, kind, false), 0)
	n := uint32(0)
	for inside := 0; ; {
		e, ok, err := x.next()
		if err != nil {
			return dst, err
		}
		if !ok {
			if inside == 0 {
				break
			}
			inside--
			x.depth--
			continue
		}
		k, is := geometryKinds[e.Name.Local]
		switch {
		case !is && inside == 0: // pointMember, patches and the like
			inside++
			x.depth++
			continue
		case !is:
			x.depth++
			return dst, geometryFault(notRead(e))
		case kind == wkb.MultiPolygon && k == wkb.MultiPolygon:
			// a surface of patches among others: its members are members
			inner, err := x.read(nil, e, k, depth+1)
			if err != nil {
				return dst, err
			}
			if k := inner[1]; k == byte(wkb.Polygon) || k == byte((wkb.Polygon+1000)&0xff) {
				dst = append(dst, inner...)
				n++
				continue
			}
			n += binary.LittleEndian.Uint32(inner[5:])
			dst = append(dst, inner[9:]...)
			continue
		case kind != wkb.Collection && k != kind-3:
			x.depth++
			return dst, geometryFault(fmt.Sprintf("a %s among the members of a %s", e.Name.Local, kind))
		}
		if dst, err = x.read(dst, e, k, depth+1); err != nil {
			return dst, err
		}
		n++
	}
	if n > 0 && dst[at+9+2] == 3 { // members with heights (type 1001 and above): the collection has them too
		copy(dst[at:], wkb.AppendHeader(nil, kind, true))
	}
	copy(dst[at+5:], wkb.AppendCount(nil, int(n)))
	return dst, nil
}
