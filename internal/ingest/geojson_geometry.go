package ingest

import (
	"math"
	"slices"
	"strconv"

	"grense/internal/geo/wkb"
)

// coordinates is the member of that name, of which the meaning is not known before the type is.
type coordinates struct {
	at     place // of its first bracket
	xyz    []float64
	flat   int    // positions without a height
	depth  int    // arrays around each position; -1 while there is none
	shuts  []shut // arrays that are no positions, as they end
	wrong  string // what is wrong with it first; "" when nothing
	wrongs place  // where
	long   place  // a position of more than three numbers
	fine   place  // a number with more than nine decimals
}

// shut is the end of an array: its depth, how many positions have come before, and where it began.
type shut struct {
	depth, positions int
	at               place
}

func (c *coordinates) fault(at place, reason string) {
	if c.wrong == "" {
		c.wrong, c.wrongs = reason, at
	}
}

// coordinates consumes nested arrays of numbers.
func (g *geoReader) coordinates() (*coordinates, error) {
	c := &coordinates{at: g.s.here(), depth: -1}
	return c, g.nested(c, 0)
}

// nested consumes one array, around which there are depth others.
func (g *geoReader) nested(c *coordinates, depth int) error {
	at := g.s.here()
	n, numbers := 0, 0
	var p [3]float64
	err := g.s.array(func() error {
		n++
		b, err := g.s.peek()
		if err != nil {
			return err
		}
		here := g.s.here()
		switch {
		case b == '[' && numbers == 0:
			return g.nested(c, depth+1)
		case b == '-' || b >= '0' && b <= '9':
			if numbers != n-1 {
				c.fault(here, "a number stands among arrays")
			}
			x, err := g.ordinate(c, here)
			if numbers++; numbers <= 3 {
				p[numbers-1] = x
			}
			return err
		}
		c.fault(here, "each element of a position must be a number, but one is "+describe(b))
		return g.s.skip(nil)
	})
	switch {
	case err != nil:
		return err
	case numbers > 0:
		c.position(at, depth, numbers, p)
	default:
		c.shuts = append(c.shuts, shut{depth, len(c.xyz) / 3, at})
	}
	return g.s.spend(positionCost)
}

func (g *geoReader) ordinate(c *coordinates, at place) (float64, error) {
	if _, err := g.s.number(); err != nil {
		return 0, err
	}
	x, err := strconv.ParseFloat(string(g.s.tok), 64)
	if err != nil || math.IsInf(x, 0) {
		c.fault(at, "the number is too large for a coordinate")
	}
	if c.fine == (place{}) && decimals(g.s.tok) > 9 {
		c.fine = at
	}
	return x, nil
}

// decimals counts the digits after the point.
func decimals(b []byte) int {
	for i, c := range b {
		if c == '.' {
			return len(b) - i - 1
		}
	}
	return 0
}

func (c *coordinates) position(at place, depth, numbers int, p [3]float64) {
	switch {
	case numbers < 2:
		c.fault(at, "a position needs two or more numbers")
	case numbers == 2:
		c.flat++
	case numbers > 3 && c.long == (place{}):
		c.long = at
	}
	if c.depth < 0 {
		c.depth = depth
	} else if c.depth != depth {
		c.fault(at, "positions lie in different depths of arrays")
	}
	c.xyz = append(c.xyz, p[0], p[1], p[2])
}

// depths is how many arrays lie around a position, by kind of geometry.
var depths = map[wkb.Kind]int{point: 0, lineString: 1, multiPoint: 1, polygon: 2, multiLineString: 2, multiPolygon: 3}

// shape makes a geometry of a kind that has coordinates. nil without a reason: it is empty.
func (c *coordinates) shape(kind wkb.Kind) (*shape, place, string) {
	want := depths[kind]
	switch {
	case c.wrong != "" && (c.depth == want || c.depth < 0):
		return nil, c.wrongs, c.wrong
	case c.depth < 0 && len(c.shuts) == 1:
		return nil, c.at, "" // an empty array may be read as null (RFC 7946, 3.1)
	case c.depth < 0 && slices.ContainsFunc(c.shuts, func(x shut) bool { return x.depth >= want }):
		return nil, c.at, "arrays without positions"
	case c.depth < 0: // lines, rings or polygons without positions
	case c.depth < want:
		return nil, c.at, "the positions of a " + shapeNames[kind] + " must be nested deeper: a number stands where an array is expected"
	case c.depth > want:
		return nil, c.at, "the positions of a " + shapeNames[kind] + " are nested too deep: an array stands where a number is expected"
	case c.wrong != "":
		return nil, c.wrongs, c.wrong
	case kind == point && len(c.xyz) != 3:
		return nil, c.at, "a Point has one position"
	}
	s := &shape{kind: kind, xyz: c.xyz, hasZ: c.flat == 0}
	for _, x := range c.shuts {
		switch {
		case x.depth == want-1 && want >= 2:
			s.ends = append(s.ends, x.positions)
		case x.depth == want-2 && want == 3:
			s.polys = append(s.polys, len(s.ends))
		case x.depth >= want:
			return nil, x.at, "an empty array stands where a position is expected"
		}
	}
	return s, place{}, ""
}

// faultyPart is where the first line or ring stands that has too few positions, or is open.
func (c *coordinates) faultyPart(kind wkb.Kind) place {
	from, least := 0, 4
	if kind == lineString || kind == multiLineString {
		least = 2
	}
	for _, x := range c.shuts {
		if x.depth != max(depths[kind]-1, 0) {
			continue
		}
		n := x.positions - from
		if n < least || least == 4 && (c.xyz[3*from] != c.xyz[3*x.positions-3] || c.xyz[3*from+1] != c.xyz[3*x.positions-2]) {
			return x.at
		}
		from = x.positions
	}
	return c.at
}

// geometry reads a geometry object; nil when it is null, empty or wrong. null tells whether it may be null.
func (g *geoReader) geometry(depth int, nullable bool) (*shape, error) {
	c, err := g.s.peek()
	if err != nil {
		return nil, err
	}
	n := &node{at: g.s.here()}
	if c != '{' {
		if c != 'n' || !nullable {
			g.fault(n.at, Refused, "a geometry must be an object, but is "+describe(c))
		}
		return nil, g.s.skip(nil)
	}
	if err := g.node(n, depth, nil); err != nil {
		return nil, err
	}
	return g.shapeOf(n, depth), nil
}

func kindNamed(name string) wkb.Kind {
	for i, s := range shapeNames {
		if i > 0 && s == name {
			return wkb.Kind(i)
		}
	}
	return 0
}

// shapeOf makes the geometry of a node; nil when it is empty or wrong.
func (g *geoReader) shapeOf(n *node, depth int) *shape {
	kind := kindNamed(n.typ)
	if kind == 0 {
		g.typeFault(n, "the name of a geometry", true)
		return nil
	}
	if n.typ != "" {
		g.misplaced(n, memberGeometry, memberProperties, memberFeatures)
	}
	if kind == collection {
		return g.collect(n, depth)
	}
	if n.coords == nil {
		at, reason := n.at, "a "+n.typ+` needs a member "coordinates"`
		if n.has[memberCoordinates] != (place{}) {
			at, reason = n.has[memberCoordinates], `"coordinates" must be an array`
		}
		g.fault(at, Refused, reason)
		return nil
	}
	s, at, wrong := n.coords.shape(kind)
	if wrong != "" {
		g.fault(at, Refused, wrong)
	}
	if s == nil {
		return nil
	}
	if g.fg.swap {
		s.swap()
	}
	return g.finish(s, n.coords)
}

func (g *geoReader) collect(n *node, depth int) *shape {
	at := n.has[memberGeometries]
	switch {
	case at == (place{}):
		g.fault(n.at, Refused, `a GeometryCollection needs a member "geometries"`)
		return nil
	case depth > 0:
		g.once(n.at, "a GeometryCollection should not lie in another one (RFC 7946, 3.1.8)")
	case len(n.parts) == 1:
		g.once(at, "a GeometryCollection of one geometry should be that geometry (RFC 7946, 3.1.8)")
	}
	if len(n.parts) == 0 {
		return nil
	}
	s := &shape{kind: collection, shapes: n.parts, hasZ: true}
	for i := range s.shapes {
		s.hasZ = s.hasZ && s.shapes[i].hasZ
	}
	if s.setZ(s.hasZ) {
		g.fault(at, Repaired, "some geometries have heights and some have none; the heights are left out")
	}
	return s
}

// finish brings a geometry into the form in which it is stored.
func (g *geoReader) finish(s *shape, c *coordinates) *shape {
	at := c.faultyPart(s.kind)
	closed, dropped := s.check()
	if dropped > 0 {
		g.fault(at, Dropped, shortPart)
	}
	if closed > 0 {
		g.fault(at, Repaired, closedRing)
	}
	if s.isEmpty() {
		return nil
	}
	if c.long != (place{}) {
		g.fault(c.long, Repaired, "a position has more than three numbers; the others are left out")
	}
	if c.flat > 0 && c.flat < len(c.xyz)/3 {
		g.fault(c.at, Repaired, "some positions have a height and some have none; the heights are left out")
	}
	if n := s.orient(); n > 0 {
		g.fault(c.at, Turned, "rings do not follow the right-hand rule (RFC 7946, 3.1.6); turned")
	}
	if c.fine != (place{}) {
		g.once(c.fine, "numbers have more than nine decimals, which is finer than a millimetre")
	}
	return s
}
