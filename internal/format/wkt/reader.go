// Package wkt reads well-known text (OGC 06-103r4, 7).
package wkt

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// Read parses well-known text, which may begin with SRID=n, and reports that system to out.
func Read(m input.Memory, s string, at input.Place, out input.Sink) (*input.Shape, []input.Note, string) {
	s = strings.TrimSpace(s)
	system := ""
	if rest, ok := strings.CutPrefix(s, "SRID="); ok {
		system, s, _ = strings.Cut(rest, ";")
		out.Reference(at, "EPSG:"+system)
	}
	if s == "" {
		return nil, nil, ""
	}
	if nesting(s) > input.MaxNesting {
		return nil, nil, fmt.Sprintf("well-known text with more than %d brackets in each other", input.MaxNesting)
	}
	if wrong := m.Positions(strings.Count(s, ",") + 1); wrong != "" {
		return nil, nil, wrong
	}
	if hasCurves(s) {
		return curves(m, s, system)
	}
	g, err := geom.UnmarshalWKT(s, geom.NoValidate{})
	if err != nil {
		return nil, nil, unread + input.Shorten(err.Error())
	}
	return input.Normalize(g)
}

const unread = "not well-known text of a geometry that is read: "

// curves parses well-known text of types that GeoJSON lacks, as lines. Without a known system, the numbers decide
// whether they are degrees.
func curves(m input.Memory, s, srid string) (*input.Shape, []input.Note, string) {
	b, measured, err := curvesOf(s)
	if err != nil {
		return nil, nil, unread + err.Error()
	}
	chord := wkb.ChordMetres
	if x, y, ok := wkb.First(b); ok && math.Abs(x) <= 360 && math.Abs(y) <= 90 {
		chord = wkb.ChordDegrees
	}
	if code, err := strconv.Atoi(srid); err == nil && crs.ID(code).Valid() {
		chord = store.Chord(crs.ID(code))
	}
	b, in, err := wkb.Lines(b, chord)
	if err != nil {
		return nil, nil, unread + err.Error()
	}
	if wrong := m.Positions(in.Positions); wrong != "" {
		return nil, nil, wrong
	}
	g, err := geom.UnmarshalWKB(b, geom.NoValidate{})
	if err != nil {
		return nil, nil, unread + input.Shorten(err.Error())
	}
	shape, notes, wrong := input.Normalize(g)
	if measured {
		notes = append(notes, input.Note{Action: input.Warning, Reason: "measures (M) are left out"})
	}
	return shape, notes, wrong
}

// nesting returns the depth of brackets. The parser of the library is recursive and has no limit.
func nesting(s string) (deepest int) {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(':
			depth++
			deepest = max(deepest, depth)
		case ')':
			depth--
		}
	}
	return deepest
}

// wktTypes are the types of well-known text (OGC 06-103r4, 7.2.2; ISO 13249-3, 5.1.68).
var wktTypes = map[string]wkb.Kind{
	"POINT": wkb.Point, "LINESTRING": wkb.LineString, "POLYGON": wkb.Polygon, "MULTIPOINT": wkb.MultiPoint,
	"MULTILINESTRING": wkb.MultiLineString,
	"MULTIPOLYGON":    wkb.MultiPolygon, "GEOMETRYCOLLECTION": wkb.Collection, "CIRCULARSTRING": wkb.CircularString,
	"COMPOUNDCURVE": wkb.CompoundCurve,
	"CURVEPOLYGON":  wkb.CurvePolygon, "MULTICURVE": wkb.MultiCurve, "MULTISURFACE": wkb.MultiSurface,
	"POLYHEDRALSURFACE": wkb.PolyhedralSurface,
	"TIN":               wkb.TIN, "TRIANGLE": wkb.Triangle,
}

// hasCurves reports whether a well-known text names a type that GeoJSON lacks. The library reads other texts.
func hasCurves(s string) bool {
	s = strings.ToUpper(s)
	for _, name := range [...]string{"CURVE", "CIRCULARSTRING", "SURFACE", "TIN", "TRIANGLE"} {
		if strings.Contains(s, name) {
			return true
		}
	}
	return false
}

// curvesOf parses a well-known text of any type as ISO WKB without measures; measured reports whether there were any.
func curvesOf(s string) (b []byte, measured bool, err error) {
	p := &wktParser{s: s}
	p.count()
	if err = p.tagged(0); err == nil && p.token() != "" {
		err = p.wrong("the end")
	}
	return p.b, p.measures, err
}

// wktParser reads well-known text into b.
type wktParser struct {
	s        string
	at       int // of the next token
	b        []byte
	ordinals int  // numbers in a position; 0: unknown
	z        bool // the third is a height
	measures bool // the last is a measure
}

func (p *wktParser) wrong(want string) error {
	token := p.token()
	if token == "" {
		token = "the end"
	}
	return fmt.Errorf("%s is missing before %q, at character %d", want, input.Shorten(token), p.at+1)
}

// token returns the next word, number or sign; "" at the end.
func (p *wktParser) token() string {
	for p.at < len(p.s) && strings.IndexByte(" \t\r\n", p.s[p.at]) >= 0 {
		p.at++
	}
	rest := p.s[p.at:]
	n := strings.IndexAny(rest, "(), \t\r\n")
	switch {
	case n < 0:
		return rest
	case n == 0:
		return rest[:1]
	}
	return rest[:n]
}

// take consumes the next token if it equals token, ignoring case.
func (p *wktParser) take(token string) bool {
	if !strings.EqualFold(p.token(), token) {
		return false
	}
	p.at += len(token)
	return true
}

// tagged reads a geometry with the name of its type, which must be one of of if given.
func (p *wktParser) tagged(depth int, of ...wkb.Kind) error {
	if depth > input.MaxNesting {
		return fmt.Errorf("more than %d geometries in each other", input.MaxNesting)
	}
	name := strings.ToUpper(p.token())
	k, ok := wktTypes[name]
	for _, d := range [...]string{"ZM", "Z", "M"} { // some omit the blank
		if cut, has := strings.CutSuffix(name, d); has && !ok {
			k, ok = wktTypes[cut]
		}
	}
	if !ok || len(of) > 0 && !slices.Contains(of, k) {
		return p.wrong("the name of a geometry type that may stand here")
	}
	p.at += len(name)
	for _, d := range [...]string{"ZM", "Z", "M"} {
		if p.take(d) {
			break
		}
	}
	return p.body(k, depth)
}

// count finds the number of numbers in positions from the first one, and the meaning of the third from the
// letters after the types.
func (p *wktParser) count() {
	i := strings.IndexAny(p.s, "0123456789")
	if i < 0 {
		return
	}
	first, _, _ := strings.Cut(p.s[i:], ",")
	first, _, _ = strings.Cut(first, ")")
	p.ordinals = len(strings.Fields(first))
	tag := strings.ToUpper(strings.TrimRight(p.s[:i], "(-+. \t\r\n")) // no name of a type ends in M
	p.measures = p.ordinals == 4 || p.ordinals == 3 && strings.HasSuffix(tag, "M")
	p.z = p.ordinals == 4 || p.ordinals == 3 && !p.measures
}

// body reads what follows the name of a type.
func (p *wktParser) body(k wkb.Kind, depth int) error {
	p.b = wkb.AppendHeader(p.b, k, p.z)
	untagged := func(k wkb.Kind, of ...wkb.Kind) func() error {
		return func() error {
			if token := p.token(); token == "(" || strings.EqualFold(token, "EMPTY") {
				return p.body(k, depth+1)
			}
			return p.tagged(depth+1, append(of, k)...)
		}
	}
	line := func() error { return p.list(p.position) }
	switch k {
	case wkb.Point:
		if p.take("EMPTY") {
			for range 2 {
				p.b = binary.LittleEndian.AppendUint64(p.b, math.Float64bits(math.NaN()))
			}
			if p.z {
				p.b = binary.LittleEndian.AppendUint64(p.b, math.Float64bits(math.NaN()))
			}
			return nil
		}
		if !p.take("(") {
			return p.wrong("(")
		}
		if err := p.position(); err != nil {
			return err
		}
		if !p.take(")") {
			return p.wrong(")")
		}
		return nil
	case wkb.LineString, wkb.CircularString:
		return line()
	case wkb.Polygon, wkb.Triangle:
		return p.list(line)
	case wkb.MultiPoint:
		return p.list(func() error {
			if token := p.token(); token == "(" || strings.EqualFold(token, "EMPTY") {
				return p.body(wkb.Point, depth+1)
			}
			p.b = wkb.AppendHeader(p.b, wkb.Point, p.z)
			return p.position()
		})
	case wkb.MultiLineString:
		return p.list(untagged(wkb.LineString))
	case wkb.CompoundCurve:
		return p.list(untagged(wkb.LineString, wkb.CircularString))
	case wkb.CurvePolygon, wkb.MultiCurve:
		return p.list(untagged(wkb.LineString, wkb.CircularString, wkb.CompoundCurve))
	case wkb.MultiPolygon, wkb.PolyhedralSurface:
		return p.list(untagged(wkb.Polygon))
	case wkb.MultiSurface:
		return p.list(untagged(wkb.Polygon, wkb.CurvePolygon))
	case wkb.TIN:
		return p.list(untagged(wkb.Triangle))
	}
	return p.list(func() error { return p.tagged(depth + 1) })
}

// list reads members in brackets, separated by commas, or EMPTY, and writes their number before them.
func (p *wktParser) list(member func() error) error {
	start, n := len(p.b), 0
	p.b = wkb.AppendCount(p.b, 0)
	if p.take("EMPTY") {
		return nil
	}
	if !p.take("(") {
		return p.wrong("(")
	}
	for {
		if err := member(); err != nil {
			return err
		}
		n++
		if !p.take(",") {
			break
		}
	}
	if !p.take(")") {
		return p.wrong("a comma or )")
	}
	binary.LittleEndian.PutUint32(p.b[start:], uint32(n))
	return nil
}

// position reads numbers with blanks between them.
func (p *wktParser) position() error {
	most := 2
	if p.z {
		most = 3
	}
	for i := range p.ordinals {
		token := p.token()
		f, err := strconv.ParseFloat(token, 64)
		if err != nil || !wkb.Finite(f) {
			return p.wrong("a number")
		}
		p.at += len(token)
		if i < most {
			p.b = binary.LittleEndian.AppendUint64(p.b, math.Float64bits(f))
		}
	}
	if p.ordinals < most {
		return p.wrong("a number")
	}
	return nil
}
