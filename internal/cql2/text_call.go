package cql2

import (
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/geo/relate"
)

// spatialOps, temporalOps and arrayOps are the comparison functions by their name in lower case.
var (
	spatialOps  = opSet(SIntersects, SDisjoint, SEquals, STouches, SCrosses, SOverlaps, SWithin, SContains)
	temporalOps = opSet(TAfter, TBefore, TContains, TDisjoint, TDuring, TEquals, TFinishedBy, TFinishes, TIntersects,
		TMeets, TMetBy,
		TOverlappedBy, TOverlaps, TStartedBy, TStarts)
	arrayOps = opSet(AContainedBy, AContains, AEquals, AOverlaps)
)

func opSet[T ~string](ops ...T) map[string]T {
	m := make(map[string]T, len(ops))
	for _, op := range ops {
		m[string(op)] = op
	}
	return m
}

// ownFunctions are functions that only our own code builds; clients cannot write them.
var ownFunctions = map[string]bool{"norm": true, "exact": true, "related": true, "search": true}

// call parses a function, or a literal that looks like one.
func (p *textParser) call() Expr {
	if !p.enter() {
		return nil
	}
	defer p.leave()
	t := p.next()
	name := strings.ToLower(t.text)
	if geometryTypes[strings.ToUpper(name)] != "" {
		return p.geometry(t)
	}
	p.expect("(")
	e := p.arguments(t, name)
	p.expect(")")
	return p.node(e)
}

// arguments parses what stands in the brackets after name.
func (p *textParser) arguments(t token, name string) Expr {
	if op, ok := spatialOps[name]; ok {
		l, r := p.pair(p.operand)
		return Spatial{op, l, r}
	}
	if op, ok := temporalOps[name]; ok {
		l, r := p.pair(p.operand)
		return Temporal{op, l, r}
	}
	if op, ok := arrayOps[name]; ok {
		l, r := p.pair(p.array)
		return Array{op, l, r}
	}
	switch {
	case name == "casei" || name == "accenti":
		return Func{name, []Expr{p.operand()}}
	case name == "date":
		return p.date()
	case name == "timestamp":
		return p.timestamp()
	case name == "interval":
		l, r := p.pair(p.instant)
		return Span{l, r}
	case name == "bbox":
		return p.box(t)
	case ownFunctions[name]:
		p.fail(t, "there is no function '%s'", name)
		return nil
	}
	f := Func{Name: name}
	if p.peek().sign(")") {
		return f
	}
	f.Args = []Expr{p.element()}
	for p.accept(",") {
		f.Args = append(f.Args, p.element())
	}
	return f
}

func (p *textParser) pair(part func() Expr) (l, r Expr) {
	l = part()
	p.expect(",")
	return l, part()
}

func (p *textParser) date() Expr {
	t := p.next()
	d, ok := parseDate(t.text)
	if !ok || t.kind != tokString {
		p.fail(t, "expected a date such as '2024-02-29'")
	}
	return Date{d}
}

func (p *textParser) timestamp() Expr {
	t := p.next()
	at, ok := parseTimestampIn(t.text, p.zone)
	if !ok || t.kind != tokString {
		p.fail(t, "expected a timestamp such as '2024-02-29T12:30:00Z'")
	}
	return Timestamp{at}
}

// instant parses an end of INTERVAL. It returns nil for an open end.
func (p *textParser) instant() Expr {
	t := p.peek()
	if t.kind != tokString {
		return p.operand()
	}
	p.next()
	if t.text == ".." {
		return nil
	}
	e := instantLiteral(t.text, p.zone)
	if e == nil {
		p.fail(t, "expected a date, a timestamp, '..' or a property in an interval")
	}
	return p.node(e)
}

// instantLiteral parses a date or a timestamp, in the time zone in if it has none. It returns nil if s is neither.
func instantLiteral(s string, in *time.Location) Expr {
	var at time.Time
	var ok bool
	if at, ok = parseDate(s); ok {
		return Date{at}
	}
	if at, ok = parseTimestampIn(s, in); ok {
		return Timestamp{at}
	}
	return nil
}

// geometryTypes are the GeoJSON names of the geometry types by their name in well-known text.
var geometryTypes = map[string]string{
	"POINT": "Point", "LINESTRING": "LineString", "POLYGON": "Polygon", "MULTIPOINT": "MultiPoint",
	"MULTILINESTRING": "MultiLineString",
	"MULTIPOLYGON":    "MultiPolygon", "GEOMETRYCOLLECTION": "GeometryCollection",
}

// geometry parses well-known text after its keyword t. It drops heights, because the predicates are planar.
func (p *textParser) geometry(t token) Expr {
	g := p.shape(t)
	return p.node(Geom{g, p.in})
}

func (p *textParser) shape(t token) orb.Geometry {
	p.keyword("Z")
	switch strings.ToUpper(t.text) {
	case "POINT":
		p.expect("(")
		v := p.vertex()
		p.expect(")")
		return v
	case "LINESTRING":
		return p.line()
	case "POLYGON":
		return p.polygon()
	case "MULTIPOINT":
		return orb.MultiPoint(listOf(p, p.loosePoint))
	case "MULTILINESTRING":
		return orb.MultiLineString(listOf(p, p.line))
	case "MULTIPOLYGON":
		return orb.MultiPolygon(listOf(p, p.polygon))
	}
	return orb.Collection(listOf(p, p.member))
}

// listOf parses items in brackets, with commas.
func listOf[T any](p *textParser, item func() T) []T {
	p.expect("(")
	list := []T{item()}
	for p.accept(",") {
		list = append(list, item())
	}
	p.expect(")")
	return list
}

// member parses a geometry of a collection; collections do not nest.
func (p *textParser) member() orb.Geometry {
	t := p.next()
	kind := strings.ToUpper(t.text)
	if t.kind != tokName || geometryTypes[kind] == "" || kind == "GEOMETRYCOLLECTION" {
		p.fail(t, "unexpected %s; expected a geometry that is no collection", p.show(t))
		return nil
	}
	return p.shape(t)
}

func (p *textParser) line() orb.LineString {
	t := p.peek()
	line := orb.LineString(listOf(p, p.vertex))
	if p.err == nil && len(line) < 2 {
		p.fail(t, "a line has at least 2 points")
	}
	return line
}

func (p *textParser) polygon() orb.Polygon { return orb.Polygon(listOf(p, p.ring)) }

func (p *textParser) ring() orb.Ring {
	t := p.peek()
	ring := orb.Ring(listOf(p, p.vertex))
	if p.err == nil && !closed(ring) {
		p.fail(t, "a ring of a polygon has at least 4 points, the last equal to the first")
	}
	return ring
}

// closed reports whether a ring has at least four positions and ends where it starts.
func closed(r orb.Ring) bool { return len(r) >= 4 && r[0] == r[len(r)-1] }

// loosePoint parses a point of a MULTIPOINT, with or without brackets.
func (p *textParser) loosePoint() orb.Point {
	bracket := p.accept("(")
	v := p.vertex()
	if bracket {
		p.expect(")")
	}
	return v
}

func (p *textParser) vertex() orb.Point {
	if p.vertices++; p.vertices > MaxVertices {
		p.fail(p.peek(), "the geometries have more than %d vertices", MaxVertices)
	}
	a, b := p.coordinate(), p.coordinate()
	if t := p.peek(); t.kind == tokNumber || t.sign("-") || t.sign("+") {
		p.coordinate()
	}
	return point(a, b, p.in)
}

// coordinate parses a signed number.
func (p *textParser) coordinate() float64 {
	sign := 1.0
	if p.accept("-") {
		sign = -1
	} else {
		p.accept("+")
	}
	t := p.peek()
	if t.kind != tokNumber {
		p.fail(t, "unexpected %s; expected a coordinate", p.show(t))
		return 0
	}
	p.next()
	v, err := strconv.ParseFloat(t.text, 64)
	if err != nil {
		p.fail(t, "the number is beyond the range of a double")
		return 0
	}
	return sign * v
}

// box parses the numbers of BBOX.
func (p *textParser) box(t token) Expr {
	v := []float64{p.coordinate()}
	for p.accept(",") && len(v) <= 6 {
		v = append(v, p.coordinate())
	}
	if p.err != nil {
		return nil
	}
	b, _, wrong := boxNumbers(v, p.in)
	if wrong.Form != "" {
		p.fail(t, wrong.Form, wrong.With...)
		return nil
	}
	p.vertices += 5
	return Geom{relate.BoxGeometry(b), p.in}
}
