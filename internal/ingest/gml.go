package ingest

import (
	"context"
	"encoding/binary"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// gmlReader reads the features of one type of GML 2 and 3 of simple features (OGC 10-100r3): members of a collection whose properties are texts, nested texts or geometries
// of straight lines and arcs of circles. Coordinates are in the order of the authority where the reference system is named by a URN or URI, and x before y where it is named EPSG:n.
type gmlReader struct {
	open   func() (io.ReadCloser, error)
	kind   string // name of the elements that are features
	memory memory
	as     crs.ID // what a person says the coordinates are in, or 0
}

// gmlMembers are the elements that hold features.
var gmlMembers = map[string]bool{"featureMember": true, "featureMembers": true, "member": true}

// gmlGeometries are the elements that are geometries.
var gmlGeometries = map[string]wkb.Kind{
	"Point": wkb.Point, "LineString": wkb.LineString, "Curve": wkb.LineString, "CompositeCurve": wkb.LineString, "LinearRing": wkb.LineString, "Polygon": wkb.Polygon, "PolygonPatch": wkb.Polygon,
	"Surface": wkb.MultiPolygon, "CompositeSurface": wkb.MultiPolygon, "MultiPoint": wkb.MultiPoint, "MultiLineString": wkb.MultiLineString, "MultiCurve": wkb.MultiLineString,
	"MultiPolygon": wkb.MultiPolygon, "MultiSurface": wkb.MultiPolygon, "MultiGeometry": wkb.Collection, "GeometryCollection": wkb.Collection,
}

// gmlUnread are elements that are geometries and are not read.
var gmlUnread = map[string]bool{"Solid": true, "CompositeSolid": true, "MultiSolid": true, "PolyhedralSurface": true, "TriangulatedSurface": true, "Tin": true,
	"OrientableCurve": true, "OrientableSurface": true, "GeometricComplex": true, "Grid": true, "RectifiedGrid": true, "Shell": true, "Envelope": true}

func isGML(n xml.Name) bool { return strings.HasPrefix(n.Space, "http://www.opengis.net/gml") }

// gmlDecoder reads XML: no piece of more than a bound, and Latin letters besides UTF-8.
type gmlDecoder struct {
	*xml.Decoder
	text *budget
}

func newGMLDecoder(in io.Reader, most int64) *gmlDecoder {
	d := &gmlDecoder{text: &budget{in: in, most: int(min(max(most, 1<<20), math.MaxInt32))}}
	d.text.again()
	d.Decoder = xml.NewDecoder(d.text)
	d.CharsetReader = func(charset string, in io.Reader) (io.Reader, error) {
		switch strings.ToLower(charset) {
		case "iso-8859-1", "latin1":
			return charmap.ISO8859_1.NewDecoder().Reader(in), nil
		case "windows-1252":
			return charmap.Windows1252.NewDecoder().Reader(in), nil
		case "iso-8859-15":
			return charmap.ISO8859_15.NewDecoder().Reader(in), nil
		}
		return nil, refusal("the encoding %q is not read; save the file as UTF-8", shorten(charset))
	}
	return d
}

// leave reads to the end of the element that has begun.
func (d *gmlDecoder) leave() error {
	for depth := 1; depth > 0; { // Skip is recursive and has no bound of its own
		t, err := d.Token()
		if err != nil {
			return d.wrong(err)
		}
		switch t.(type) {
		case xml.StartElement:
			depth++
		case xml.EndElement:
			depth--
		}
	}
	return nil
}

// place is where the decoder stands.
func (d *gmlDecoder) place() place {
	line, column := d.InputPos()
	return place{line, column}
}

// wrong makes a refusal of an error of XML.
func (d *gmlDecoder) wrong(err error) error {
	if bad, ok := errors.AsType[*xml.SyntaxError](err); ok {
		return refusal("line %d: this is not well-formed XML: %s", bad.Line, bad.Msg)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return refusal("the file is cut off at line %d", d.place().line)
	}
	if what, ofXML := strings.CutPrefix(err.Error(), "xml: "); ofXML && !errors.Is(err, ErrRefused) { // of the declaration, which has no type of error
		return refusal("line %d: this is not read as XML: %s", d.place().line, shorten(what))
	}
	return err
}

// members calls fn with each element that is a feature, until the document ends; other is called with what stands elsewhere.
func (d *gmlDecoder) members(fn func(e xml.StartElement) error, other func(e xml.StartElement)) error {
	var path []string // names of the elements around
	some := false
	for {
		d.text.again()
		t, err := d.Token()
		if errors.Is(err, io.EOF) && len(path) == 0 && some {
			return nil
		}
		if err != nil {
			return d.wrong(err)
		}
		switch t := t.(type) {
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.StartElement:
			some = true
			if len(path) > 0 && gmlMembers[path[len(path)-1]] && t.Name.Local != "FeatureCollection" {
				if err := fn(t); err != nil {
					return err
				}
				continue
			}
			other(t)
			if path = append(path, t.Name.Local); len(path) > 1000 {
				return refusal("line %d: elements lie more than 1000 deep in each other", d.place().line)
			}
		}
	}
}

// gmlLayers lists the types of the features of a file.
func gmlLayers(f *file) (names []string, err error) {
	in, err := f.open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	d := newGMLDecoder(in, maxRow)
	err = d.members(func(e xml.StartElement) error {
		if !slices.Contains(names, e.Name.Local) {
			if names = append(names, e.Name.Local); len(names) > maxNames {
				return refusal("more than %d types of features", maxNames)
			}
		}
		return d.leave()
	}, func(xml.StartElement) {})
	switch {
	case err != nil && errors.Is(err, ErrRefused) && len(names) > 0: // the survey tells it with its place
		return names, nil
	case err != nil:
		return nil, err
	case names == nil:
		return nil, refusal("%s holds no features in featureMember or member elements; is it GML, and not empty?", f.name)
	}
	return names, nil
}

func (r *gmlReader) read(ctx context.Context, out sink) error {
	in, err := r.open()
	if err != nil {
		return err
	}
	defer in.Close()
	g := &gmlFeatures{gmlDecoder: newGMLDecoder(in, r.memory.bytes()/4), memory: r.memory, out: out, as: r.as}
	n := 0
	err = g.members(func(e xml.StartElement) error {
		if e.Name.Local != r.kind {
			return g.leave()
		}
		if n++; n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		rec, err := g.feature(e)
		if err != nil {
			return err
		}
		return out.record(rec)
	}, func(e xml.StartElement) {
		if name := attr(e, "srsName"); name != "" { // of boundedBy
			g.system = name
		}
	})
	if errors.Is(err, ErrRefused) && ctx.Err() == nil {
		out.fault(g.place(), false, Refused, Reason(err))
		return nil
	}
	return err
}

// gmlFeatures reads features one by one.
type gmlFeatures struct {
	*gmlDecoder
	memory  memory
	out     sink
	system  string // of geometries that name none
	told    string // the system that was told last
	telling bool
	as      crs.ID // that of the reader
	ordered string // the system that was named last, and whether its positions are swapped
	swap    bool
	known   map[string]bool   // names of properties that were left out, and told
	names   map[string]string // of properties, by the path of their elements
	paths   map[string]string // the other way round
	leaves  []gmlLeaf         // of the feature being read
}

// gmlLeaf is a text in a property of a feature.
type gmlLeaf struct {
	name, top string // of the property that it becomes; and of the element of the feature that it lies in
	n         int    // which of the elements called top that is, from 0
	value     value
}

func (g *gmlFeatures) warn(at place, name, reason string) {
	if g.known == nil {
		g.known = map[string]bool{}
	}
	if !g.known[name] && len(g.known) < maxNames {
		g.known[name] = true
		g.out.fault(at, false, Warning, reason)
	}
}

// feature reads a feature whose element has begun.
func (g *gmlFeatures) feature(e xml.StartElement) (*record, error) {
	rec := &record{at: g.place()}
	own := ""
	for _, a := range e.Attr {
		if a.Name.Local == "id" && isGML(a.Name) || a.Name.Local == "fid" {
			own = strings.TrimPrefix(a.Value, e.Name.Local+".")
		}
	}
	hasID := false
	g.leaves = g.leaves[:0]
	count := map[string]int{}
	for {
		t, err := g.Token()
		if err != nil {
			return nil, g.wrong(err)
		}
		if _, ok := t.(xml.EndElement); ok {
			break
		}
		p, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		if p.Name.Local == "boundedBy" && isGML(p.Name) {
			if err := g.leave(); err != nil {
				return nil, err
			}
			continue
		}
		hasID = hasID || p.Name.Local == "id"
		if err := g.property(rec, p, count[p.Name.Local]); err != nil {
			return nil, err
		}
		count[p.Name.Local]++
	}
	if err := g.collect(rec, count); err != nil {
		return nil, err
	}
	if own != "" && !hasID {
		rec.id = value{plain, own}
	}
	return rec, nil
}

// property reads a property whose element has begun, number n of its name: a text, a geometry, or elements with texts.
func (g *gmlFeatures) property(rec *record, p xml.StartElement, n int) error {
	at, top := g.place(), p.Name.Local
	var b strings.Builder
	geometry, nested := false, false
	for {
		t, err := g.Token()
		if err != nil {
			return g.wrong(err)
		}
		switch t := t.(type) {
		case xml.CharData:
			b.Write(t)
			continue
		case xml.StartElement:
			kind, is := gmlGeometries[t.Name.Local]
			switch is = is && isGML(t.Name); {
			case is && rec.shape == nil && !rec.refused:
				geometry = true
				err = g.geometry(rec, t, kind)
			case is:
				geometry = true
				g.warn(at, top, fmt.Sprintf("further geometries, as in %q, are left out", top))
				err = g.leave()
			case isGML(t.Name) && gmlUnread[t.Name.Local]:
				geometry = true
				g.warn(at, top, fmt.Sprintf("geometries of the type %s, as in %q, are not read and left out; ogr2ogr makes simple ones", t.Name.Local, top))
				err = g.leave()
			default:
				nested = true
				err = g.nested(t, top, n)
			}
			if err != nil {
				return err
			}
			continue
		}
		if _, ok := t.(xml.EndElement); ok {
			break
		}
	}
	if v := leafValue(p, b.String()); v.kind > null || !geometry && !nested {
		g.leaves = append(g.leaves, gmlLeaf{g.name(top, nil), top, n, v})
	}
	return nil
}

// leafValue is the value of an element with that text: else of its reference, or of its code (ISO 19139).
func leafValue(e xml.StartElement, s string) value {
	if s = strings.Trim(s, " \t\r\n"); s != "" { // blanks of XML, and no others
		return value{untyped, s}
	}
	for _, a := range e.Attr {
		if a.Name.Local == "href" && strings.HasSuffix(a.Name.Space, "xlink") || a.Name.Local == "codeListValue" && a.Value != "" {
			return value{plain, a.Value}
		}
	}
	return value{kind: null}
}

// mostNested bounds how deep elements lie in each other in a property.
const mostNested = 100

// nested reads an element in the property top, number n of that name, whose innermost elements are texts.
func (g *gmlFeatures) nested(e xml.StartElement, top string, n int) error {
	type level struct {
		e      xml.StartElement
		text   strings.Builder
		parent bool // has elements
	}
	stack := []*level{{e: e}}
	for len(stack) > 0 {
		t, err := g.Token()
		if err != nil {
			return g.wrong(err)
		}
		last := stack[len(stack)-1]
		switch t := t.(type) {
		case xml.CharData:
			last.text.Write(t)
		case xml.StartElement:
			last.parent = true
			_, geometry := gmlGeometries[t.Name.Local]
			switch {
			case isGML(t.Name) && (geometry || gmlUnread[t.Name.Local]):
				g.warn(g.place(), top, fmt.Sprintf("the geometries in %q are left out: they are nested", top))
				err = g.leave()
			case isGML(t.Name) && t.Name.Local == "boundedBy":
				err = g.leave()
			case len(stack) == mostNested:
				err = refusal("line %d: elements lie more than %d deep in the property %q", g.place().line, mostNested, top)
			default:
				stack = append(stack, &level{e: t})
			}
			if err != nil {
				return err
			}
		case xml.EndElement:
			if v := leafValue(last.e, last.text.String()); !last.parent && v.kind > null {
				path := make([]string, len(stack))
				for i, l := range stack {
					path[i] = l.e.Name.Local
				}
				g.leaves = append(g.leaves, gmlLeaf{g.name(top, path), top, n, v})
			}
			stack = stack[:len(stack)-1]
		}
	}
	return nil
}

// name names the property for the texts at a path of elements in the element top: by top, and by the last of the path that is a property and no object
// (OGC 07-036r1, 7.1.1: objects begin with a capital letter). If another path has that name, by all of them.
func (g *gmlFeatures) name(top string, path []string) string {
	key := top + "/" + strings.Join(path, "/")
	if name, ok := g.names[key]; ok {
		return name
	}
	if g.names == nil {
		g.names, g.paths = map[string]string{}, map[string]string{}
	}
	properties := []string{top}
	for _, p := range path {
		if first, _ := utf8.DecodeRuneInString(p); !unicode.IsUpper(first) {
			properties = append(properties, p)
		}
	}
	name := top
	if len(properties) > 1 {
		name += "_" + properties[len(properties)-1]
	}
	if g.paths[name] != "" {
		name = strings.Join(properties, "_")
	}
	name = store.Unique(name, func(s string) bool { return g.paths[s] != "" })
	if len(g.names) < maxNames {
		g.names[key], g.paths[name] = name, key
	}
	return name
}

// collect makes the properties of a feature. Where an element stands count times, or a text several times in it, the property is a list; with one text
// for each element, null where it has none.
func (g *gmlFeatures) collect(rec *record, count map[string]int) error {
	texts := map[string][]gmlLeaf{}
	for _, l := range g.leaves {
		if len(texts[l.name]) == 0 {
			if len(texts) == maxNames {
				return refusal("line %d: more than %d properties", rec.at.line, maxNames)
			}
			rec.fields = append(rec.fields, field{name: l.name})
		}
		texts[l.name] = append(texts[l.name], l)
	}
	for i := range rec.fields {
		f := &rec.fields[i]
		all := texts[f.name]
		top := count[all[0].top]
		if top == 1 && len(all) == 1 {
			f.value = all[0].value
			continue
		}
		row := make([]value, top)
		for _, l := range all {
			if row[l.n].kind != absent { // several in one element
				row = row[:0]
				break
			}
			row[l.n] = l.value
		}
		if len(row) == 0 {
			for _, l := range all {
				row = append(row, l.value)
			}
		}
		b := []byte{'['}
		for k, v := range row {
			if k > 0 {
				b = append(b, ',')
			}
			b = v.appendJSON(b)
		}
		f.value = value{many, string(append(b, ']'))}
	}
	return nil
}

// geometry reads the geometry of a feature.
func (g *gmlFeatures) geometry(rec *record, e xml.StartElement, kind wkb.Kind) error {
	at := g.place()
	x := &gmlGeometry{g: g, dim: 2}
	x.named(e, g.system)
	b, err := x.read(nil, e, kind, 0)
	if wrong, ok := errors.AsType[gmlFault](err); ok {
		rec.refused = true
		g.out.fault(at, true, Refused, string(wrong))
		for range x.depth { // to the end of the geometry
			if err := g.leave(); err != nil {
				return err
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	if x.system != g.told || !g.telling {
		g.out.reference(at, x.system)
		g.told, g.telling = x.system, true
	}
	rec.at = at
	g.memory.place(rec, b, g.out)
	return nil
}

// gmlFault is what is wrong with a geometry.
type gmlFault string

func (f gmlFault) Error() string { return string(f) }

// gmlGeometry reads one geometry as well-known binary.
type gmlGeometry struct {
	g      *gmlFeatures
	system string
	swap   bool
	dim    int // of positions, where no element tells
	depth  int // elements of the geometry that have begun
	n      int // positions so far
}

// named takes the reference system and the dimension of an element.
func (x *gmlGeometry) named(e xml.StartElement, otherwise string) {
	if name := attr(e, "srsName"); name != "" {
		otherwise = name
	}
	if otherwise != "" && otherwise != x.system {
		x.system = otherwise
		if g := x.g; otherwise != g.ordered {
			g.ordered, g.swap = otherwise, NorthFirst(otherwise, g.as)
		}
		x.swap = x.g.swap
	}
	if n, err := strconv.Atoi(attr(e, "srsDimension")); err == nil && (n == 2 || n == 3) {
		x.dim = n
	}
}

// read appends the geometry of an element that has begun.
func (x *gmlGeometry) read(dst []byte, e xml.StartElement, kind wkb.Kind, depth int) ([]byte, error) {
	x.depth++
	if depth > wkb.MaxDepth {
		return dst, gmlFault("geometries lie too deep in each other")
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
				x.depth-- // it is at its end
				return dst, gmlFault(fmt.Sprintf("a point of %d numbers", len(line)))
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
		if dst, err = x.members(dst, kind, depth); err == nil && strings.HasSuffix(e.Name.Local, "Surface") && e.Name.Local != "MultiSurface" && binary.LittleEndian.Uint32(dst[at+5:]) == 1 {
			dst = append(dst[:at], dst[at+9:]...) // a surface of one patch is a polygon
		}
	}
	if err == nil {
		x.depth--
	}
	return dst, err
}

func (x *gmlGeometry) positions(dst []byte, line []float64, dim int) []byte {
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

// next is the next element below the one that has begun; false at its end.
func (x *gmlGeometry) next() (e xml.StartElement, ok bool, err error) {
	for {
		t, err := x.g.Token()
		if err != nil {
			return e, false, x.g.wrong(err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			return t, true, nil
		case xml.EndElement:
			return e, false, nil
		}
	}
}

// line reads the positions of an element that has begun, of its segments too, to its end.
func (x *gmlGeometry) line(line []float64, depth int) ([]float64, int, error) {
	dim := 0
	if depth > wkb.MaxDepth {
		return nil, 0, gmlFault("geometries lie too deep in each other")
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
		case "pointProperty", "Point", "pointRep", "segments", "LineStringSegment", "curveMember", "LineString", "Curve", "baseCurve":
			more, got, err = x.line(nil, depth+1)
			if err == nil && len(line) > 0 && len(more) >= got && got == dim && got > 0 && slices.Equal(line[len(line)-got:], more[:got]) { // segments share their ends
				more = more[got:]
			}
		case "Arc", "ArcString", "Circle":
			if more, got, err = x.line(nil, depth+1); err == nil {
				more, err = x.arcs(e.Name.Local, more, got)
			}
			if err == nil && len(line) > 0 && got == dim && slices.Equal(line[len(line)-got:], more[:got]) {
				more = more[got:]
			}
		case "ArcByCenterPoint", "CircleByCenterPoint", "CubicSpline", "BSpline", "Bezier", "Geodesic", "GeodesicString", "Clothoid", "ArcByBulge", "ArcStringByBulge", "OffsetCurve":
			return nil, 0, gmlFault(fmt.Sprintf("a curve of %s; straight lines, Arc, ArcString and Circle are read. ogr2ogr -nlt CONVERT_TO_LINEAR makes lines", e.Name.Local))
		default:
			return nil, 0, gmlFault(fmt.Sprintf("an element %s where positions should be", shorten(e.Name.Local)))
		}
		if err != nil {
			return nil, 0, err
		}
		x.depth--
		if x.dim = was; dim != 0 && got != dim && len(more) > 0 {
			return nil, 0, gmlFault("positions with and without heights in one line")
		}
		if len(more) > 0 {
			dim = got
		}
		line = append(line, more...)
	}
}

// arcs replaces the positions of an Arc, ArcString or Circle (ISO 19136, 10.4.7) by lines along it.
func (x *gmlGeometry) arcs(what string, line []float64, dim int) ([]float64, error) {
	n := 0
	if dim > 0 {
		n = len(line) / dim
	}
	if n < 3 || n%2 == 0 || what != "ArcString" && n != 3 {
		return nil, gmlFault(fmt.Sprintf("a curve of %s with %d positions", what, n))
	}
	if what == "Circle" {
		rest, ok := restOfCircle(line, dim)
		if !ok {
			return nil, gmlFault("a Circle whose positions lie on a line")
		}
		line = append(line, rest...)
	}
	chord := wkb.ChordMetres
	if id, _, wrong := reference(x.system); wrong == "" {
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
		return nil, gmlFault(fmt.Sprintf("a curve of %s: %v", what, err))
	}
	r := wkb.NewReader(b)
	if _, err := r.Header(); err != nil {
		return nil, err
	}
	p, err := r.Line()
	if err != nil {
		return nil, err
	}
	if wrong := x.g.memory.positions(x.n + p.Len()); wrong != "" {
		return nil, gmlFault(wrong)
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

// restOfCircle returns the two positions that make three positions of a circle a closed string of arcs: one between the third and the
// first, and the first. false if the three lie on a line.
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

// numbers reads the text of an element that has begun as ordinates, to its end.
func (x *gmlGeometry) numbers(e xml.StartElement) (out []float64, dim int, err error) {
	var b strings.Builder
	for {
		t, err := x.g.Token()
		if err != nil {
			return nil, 0, x.g.wrong(err)
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
				return nil, 0, gmlFault(fmt.Sprintf("an element %s among numbers", shorten(t.Name.Local)))
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
		x.depth-- // the element is at its end
		return nil, 0, gmlFault(wrong)
	}
	return out, dim, nil
}

// parse reads the text of an element as ordinates.
func (x *gmlGeometry) parse(e xml.StartElement, s string) (out []float64, dim int, wrong string) {
	dim = x.dim
	if e.Name.Local == "coordinates" { // GML 2: tuples
		if cs := attr(e, "cs"); cs != "" && cs != "," || attr(e, "decimal") != "" && attr(e, "decimal") != "." {
			return nil, 0, "coordinates with other separators than comma, point and space"
		}
		s = strings.TrimSpace(s)
		dim = strings.Count(s[:max(0, strings.IndexAny(s+" ", " \t\r\n"))], ",") + 1
		s = strings.ReplaceAll(s, ",", " ")
	}
	for f := range strings.FieldsSeq(s) {
		v, err := strconv.ParseFloat(f, 64)
		if err != nil {
			return nil, 0, fmt.Sprintf("%q is not a number", shorten(f))
		}
		out = append(out, v)
		if wrong := x.g.memory.positions(x.n + len(out)/2); wrong != "" {
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
func (x *gmlGeometry) polygon(dst []byte, depth int) ([]byte, error) {
	var rings [][]float64
	dim := 0
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
			return dst, gmlFault(fmt.Sprintf("an element %s where a ring should be", shorten(e.Name.Local)))
		}
		outer := strings.HasPrefix(e.Name.Local, "ex") || strings.HasPrefix(e.Name.Local, "outer")
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
			return dst, gmlFault("more than one ring in a boundary")
		}
		x.depth--
		if len(line) == 0 {
			continue
		}
		if dim != 0 && got != dim {
			return dst, gmlFault("rings with and without heights in one polygon")
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

// members reads the members of a geometry of several, to the end of the element.
func (x *gmlGeometry) members(dst []byte, kind wkb.Kind, depth int) ([]byte, error) {
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
		k, is := gmlGeometries[e.Name.Local]
		switch {
		case !is && inside == 0: // pointMember, patches and the like
			inside++
			x.depth++
			continue
		case !is:
			x.depth++
			return dst, gmlFault(fmt.Sprintf("a geometry of type %s, which is not read; ogr2ogr makes simple ones", shorten(e.Name.Local)))
		case kind == wkb.MultiPolygon && k == wkb.MultiPolygon: // a surface of patches among others: its members are members
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
			return dst, gmlFault(fmt.Sprintf("a %s among the members of a %s", e.Name.Local, kind))
		}
		if dst, err = x.read(dst, e, k, depth+1); err != nil {
			return dst, err
		}
		n++
	}
	if n > 0 && dst[at+9+2] == 3 { // members with heights (type 1001 and on): so are they together
		copy(dst[at:], wkb.AppendHeader(nil, kind, true))
	}
	copy(dst[at+5:], wkb.AppendCount(nil, int(n)))
	return dst, nil
}
