package geojson

import (
	"math"
	"slices"
	"strconv"

	"grense/internal/format/input"
	"grense/internal/geo/wkb"
)

// coordinates is the member of that name. Its meaning is unknown until the type is read.
type coordinates struct {
	at     input.Place // of its first bracket
	xyz    []float64
	flat   int         // number of positions without a height
	depth  int         // arrays around each position; -1 before the first
	shuts  []shut      // ends of arrays that are not positions, in order
	wrong  string      // the first fault; "" for none
	wrongs input.Place // its place
	long   input.Place // a position of more than three numbers
	fine   input.Place // a number with more than nine decimals
}

// shut is the end of an array: its depth, the number of positions before it, and its place.
type shut struct {
	depth, positions int
	at               input.Place
}

func (c *coordinates) fault(at input.Place, reason string) {
	if c.wrong == "" {
		c.wrong, c.wrongs = reason, at
	}
}

// coordinates consumes nested arrays of numbers.
func (g *Reader) coordinates() (*coordinates, error) {
	c := &coordinates{at: g.JSON.Here(), depth: -1}
	return c, g.nested(c, 0)
}

// nested consumes one array inside depth others.
func (g *Reader) nested(c *coordinates, depth int) error {
	at := g.JSON.Here()
	n, numbers := 0, 0
	var p [3]float64
	err := g.JSON.Array(func() error {
		n++
		b, err := g.JSON.Peek()
		if err != nil {
			return err
		}
		here := g.JSON.Here()
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
		c.fault(here, "each element of a position must be a number, but one is "+input.Describe(b))
		return g.JSON.Skip(nil)
	})
	switch {
	case err != nil:
		return err
	case numbers > 0:
		c.position(at, depth, numbers, p)
	default:
		c.shuts = append(c.shuts, shut{depth, len(c.xyz) / 3, at})
	}
	return g.JSON.Spend(input.PositionCost)
}

func (g *Reader) ordinate(c *coordinates, at input.Place) (float64, error) {
	if _, err := g.JSON.Number(); err != nil {
		return 0, err
	}
	x, err := strconv.ParseFloat(string(g.JSON.Token), 64)
	if err != nil || math.IsInf(x, 0) {
		c.fault(at, "the number is too large for a coordinate")
	}
	if c.fine == (input.Place{}) && decimals(g.JSON.Token) > 9 {
		c.fine = at
	}
	return x, nil
}

// decimals returns the number of digits after the point.
func decimals(b []byte) int {
	for i, c := range b {
		if c == '.' {
			return len(b) - i - 1
		}
	}
	return 0
}

func (c *coordinates) position(at input.Place, depth, numbers int, p [3]float64) {
	switch {
	case numbers < 2:
		c.fault(at, "a position needs two or more numbers")
	case numbers == 2:
		c.flat++
	case numbers > 3 && c.long == (input.Place{}):
		c.long = at
	}
	if c.depth < 0 {
		c.depth = depth
	} else if c.depth != depth {
		c.fault(at, "positions lie in different depths of arrays")
	}
	c.xyz = append(c.xyz, p[0], p[1], p[2])
}

// shape builds a geometry of a kind with coordinates. nil without a reason means that it is empty.
func (c *coordinates) shape(kind wkb.Kind) (*input.Shape, input.Place, string) {
	want := input.Depths[kind]
	switch {
	case c.wrong != "" && (c.depth == want || c.depth < 0):
		return nil, c.wrongs, c.wrong
	case c.depth < 0 && len(c.shuts) == 1:
		return nil, c.at, "" // an empty array may mean null (RFC 7946, 3.1)
	case c.depth < 0 && slices.ContainsFunc(c.shuts, func(x shut) bool { return x.depth >= want }):
		return nil, c.at, "arrays without positions"
	case c.depth < 0: // lines, rings or polygons without positions
	case c.depth < want:
		return nil, c.at, "the positions of a " + input.ShapeNames[kind] +
			" must be nested deeper: a number stands where an array is expected"
	case c.depth > want:
		return nil, c.at, "the positions of a " + input.ShapeNames[kind] +
			" are nested too deep: an array stands where a number is expected"
	case c.wrong != "":
		return nil, c.wrongs, c.wrong
	case kind == input.Point && len(c.xyz) != 3:
		return nil, c.at, "a Point has one position"
	}
	s := &input.Shape{Kind: kind, XYZ: c.xyz, HasZ: c.flat == 0}
	for _, x := range c.shuts {
		switch {
		case x.depth == want-1 && want >= 2:
			s.Ends = append(s.Ends, x.positions)
		case x.depth == want-2 && want == 3:
			s.Polys = append(s.Polys, len(s.Ends))
		case x.depth >= want:
			return nil, x.at, "an empty array stands where a position is expected"
		}
	}
	return s, input.Place{}, ""
}

// faultyPart returns the place of the first line or ring that has too few positions or is open.
func (c *coordinates) faultyPart(kind wkb.Kind) input.Place {
	from, least := 0, 4
	if kind == input.LineString || kind == input.MultiLineString {
		least = 2
	}
	for _, x := range c.shuts {
		if x.depth != max(input.Depths[kind]-1, 0) {
			continue
		}
		n := x.positions - from
		if n < least || least == 4 && (c.xyz[3*from] != c.xyz[3*x.positions-3] ||
			c.xyz[3*from+1] != c.xyz[3*x.positions-2]) {
			return x.at
		}
		from = x.positions
	}
	return c.at
}

// geometry reads a geometry object. It returns nil if the object is null, empty or wrong; nullable permits null.
func (g *Reader) geometry(depth int, nullable bool) (*input.Shape, error) {
	c, err := g.JSON.Peek()
	if err != nil {
		return nil, err
	}
	n := &Node{At: g.JSON.Here()}
	if c != '{' {
		if c != 'n' || !nullable {
			g.Fault(n.At, input.Refused, "a geometry must be an object, but is "+input.Describe(c))
		}
		return nil, g.JSON.Skip(nil)
	}
	if err := g.node(n, depth, nil); err != nil {
		return nil, err
	}
	return g.shapeOf(n, depth), nil
}

// shapeOf builds the geometry of a node; nil if it is empty or wrong.
func (g *Reader) shapeOf(n *Node, depth int) *input.Shape {
	kind := input.KindNamed(n.Typ)
	if kind == 0 {
		g.typeFault(n, "the name of a geometry", true)
		return nil
	}
	if n.Typ != "" {
		g.misplaced(n, memberGeometry, memberProperties, memberFeatures)
	}
	if kind == input.Collection {
		return g.collect(n, depth)
	}
	if n.coords == nil {
		at, reason := n.At, "a "+n.Typ+` needs a member "coordinates"`
		if n.has[memberCoordinates] != (input.Place{}) {
			at, reason = n.has[memberCoordinates], `"coordinates" must be an array`
		}
		g.Fault(at, input.Refused, reason)
		return nil
	}
	s, at, wrong := n.coords.shape(kind)
	if wrong != "" {
		g.Fault(at, input.Refused, wrong)
	}
	if s == nil {
		return nil
	}
	if g.fg.swap {
		swapAxes(s)
	}
	return g.finish(s, n.coords)
}

func (g *Reader) collect(n *Node, depth int) *input.Shape {
	at := n.has[memberGeometries]
	switch {
	case at == (input.Place{}):
		g.Fault(n.At, input.Refused, `a GeometryCollection needs a member "geometries"`)
		return nil
	case depth > 0:
		g.once(n.At, "a GeometryCollection should not lie in another one (RFC 7946, 3.1.8)")
	case len(n.parts) == 1:
		g.once(at, "a GeometryCollection of one geometry should be that geometry (RFC 7946, 3.1.8)")
	}
	if len(n.parts) == 0 {
		return nil
	}
	s := &input.Shape{Kind: input.Collection, Shapes: n.parts, HasZ: true}
	for i := range s.Shapes {
		s.HasZ = s.HasZ && s.Shapes[i].HasZ
	}
	if s.SetZ(s.HasZ) {
		g.Fault(at, input.Repaired, "some geometries have heights and some have none; the heights are left out")
	}
	return s
}

// finish converts a geometry to the form in which it is stored.
func (g *Reader) finish(s *input.Shape, c *coordinates) *input.Shape {
	at := c.faultyPart(s.Kind)
	closed, dropped := s.Check()
	if dropped > 0 {
		g.Fault(at, input.Dropped, input.ShortPart)
	}
	if closed > 0 {
		g.Fault(at, input.Repaired, input.ClosedRing)
	}
	if s.IsEmpty() {
		return nil
	}
	if c.long != (input.Place{}) {
		g.Fault(c.long, input.Repaired, "a position has more than three numbers; the others are left out")
	}
	if c.flat > 0 && c.flat < len(c.xyz)/3 {
		g.Fault(c.at, input.Repaired, "some positions have a height and some have none; the heights are left out")
	}
	if n := s.Orient(); n > 0 {
		g.Fault(c.at, input.Turned, "rings do not follow the right-hand rule (RFC 7946, 3.1.6); turned")
	}
	if c.fine != (input.Place{}) {
		g.once(c.fine, "numbers have more than nine decimals, which is finer than a millimetre")
	}
	return s
}
