package geojson

import (
	"cmp"
	"encoding/json"
	"grense/internal/format/input"
	"slices"
)

// jsonFG is the state of reading a document of JSON-FG (OGC 21-045r1).
type jsonFG struct {
	system      string      // coordRefSys of the document
	featureType input.Value // of the document
	looked      bool        // the document was searched for both
	swap        bool        // positions of the current geometry have the northing or latitude first
	reported    string      // the system that was reported last
	places      bool        // some features had a place
	geometries  bool        // some had a geometry only
}

// fgGeometries are the types of geometries that JSON-FG adds to GeoJSON. The reader does not support them.
var fgGeometries = []string{"Polyhedron", "MultiPolyhedron", "Prism", "MultiPrism", "CircularString", "CompoundCurve",
	"CurvePolygon", "MultiCurve", "MultiSurface"}

// jsonFG reads the value of a member of a document (root) or of a feature.
// A value that JSON-FG does not allow is a foreign member.
func (g *Reader) jsonFG(n *Node, m int, c byte, root bool) error {
	if m == memberPlace {
		if c != '{' {
			return g.JSON.Skip(nil)
		}
		n.place = &Node{At: g.JSON.Here()}
		return g.node(n.place, 0, nil)
	}
	var b []byte
	if err := g.JSON.Skip(&b); err != nil {
		return err
	}
	switch m {
	case memberCoordRefSys:
		if n.system = systemOf(b); root {
			g.fg.system = n.system
		}
	case memberTime:
		n.extra = append(n.extra, timesOf(b)...)
	case memberFeatureType:
		v := input.Value{Kind: input.Null}
		if text := ""; json.Unmarshal(b, &text) == nil && text != "" {
			v = input.Value{Kind: input.Plain, Text: text}
		} else if c == '[' {
			v = input.Value{Kind: input.Object, Text: string(b)}
		}
		if root {
			g.fg.featureType = v
		}
		if v.Kind > input.Null {
			n.extra = append(n.extra, input.Field{Name: input.ExtraFeatureType, Value: v})
		}
	}
	return nil
}

// systemOf returns the name in a coordRefSys (OGC 21-045r1, 7.5): a URI, an object with one, or a list of a
// horizontal system and others.
func systemOf(b []byte) string {
	var name string
	var reference struct{ Href string }
	var list []json.RawMessage
	switch {
	case json.Unmarshal(b, &name) == nil:
	case json.Unmarshal(b, &reference) == nil && reference.Href != "":
		name = reference.Href
	case json.Unmarshal(b, &list) == nil && len(list) > 0:
		return systemOf(list[0])
	default:
		name = input.Shorten(string(b))
	}
	return name
}

// timesOf reads the member time (OGC 21-045r1, 7.3); nil if JSON-FG does not allow its value.
func timesOf(b []byte) []input.Field {
	var t struct {
		Date, Timestamp string
		Interval        []string
	}
	if json.Unmarshal(b, &t) != nil {
		return nil
	}
	moment := func(s string) input.Value {
		if s == "" || s == ".." {
			return input.Value{Kind: input.Null}
		}
		return input.Value{Kind: input.Text, Text: s}
	}
	if s := cmp.Or(t.Timestamp, t.Date); s != "" {
		return []input.Field{{Name: input.ExtraTime, Value: moment(s)}}
	}
	if len(t.Interval) == 2 {
		return []input.Field{{Name: input.ExtraTimeStart, Value: moment(t.Interval[0])},
			{Name: input.ExtraTimeEnd, Value: moment(t.Interval[1])}}
	}
	return nil
}

// extra returns the members of a feature outside its properties, and the type in its document.
func (d *jsonFG) extra(n *Node) []input.Field {
	if d.featureType.Kind > input.Null && !slices.ContainsFunc(n.extra, func(f input.Field) bool {
		return f.Name == input.ExtraFeatureType
	}) {
		n.extra = append(n.extra, input.Field{Name: input.ExtraFeatureType, Value: d.featureType})
	}
	return n.extra
}

// placed returns the geometry of a feature: its place, or else its geometry, which is in CRS84.
func (g *Reader) placed(n *Node) (*input.Shape, error) {
	p, d := n.place, &g.fg
	if (p != nil || len(n.extra) > 0) && !d.looked && (d.system == "" || d.featureType.Kind == input.Absent) {
		d.looked = true
		if err := g.look(); err != nil {
			return nil, err
		}
	}
	const crs84 = "http://www.opengis.net/def/crs/OGC/0/CRS84"
	if p == nil || input.KindNamed(p.Typ) == 0 {
		switch {
		case p == nil || !slices.Contains(fgGeometries, p.Typ): // a foreign member
		case n.shape != nil:
			g.once(p.At, "a place of the type "+p.Typ+" is not read; the member geometry is used")
		default:
			g.Fault(p.At, input.Refused, "a place of the type "+p.Typ+" is not read, and there is no geometry")
		}
		if d.geometries = d.geometries || n.shape != nil; d.places && n.shape != nil {
			g.tellSystem(n.At, crs84)
		}
		return n.shape, nil
	}
	if d.geometries && !d.places {
		g.tellSystem(n.At, crs84)
	}
	d.places = true
	system := cmp.Or(p.system, n.system, d.system, crs84)
	g.tellSystem(p.At, system)
	d.swap = input.NorthFirst(system, g.as)
	s := g.shapeOf(p, 0)
	if d.swap && s != nil && s.Kind == input.Collection {
		swapAxes(s) // its members were read before the system was known
		s.Orient()
	}
	d.swap = false
	return s, nil
}

func (g *Reader) tellSystem(at input.Place, system string) {
	if g.fg.reported != system {
		g.fg.reported = system
		g.Out.Reference(at, system)
	}
}

// look searches the document for members that come after its features.
func (g *Reader) look() error {
	in, err := g.open()
	if err != nil {
		return err
	}
	defer in.Close()
	s := input.NewJSONScanner(in, g.memory)
	var members func(layer string) error
	members = func(layer string) error {
		return s.Object(func(name []byte, _ input.Place) error {
			var b []byte
			switch {
			case layer != "" && string(name) == layer:
				return members("")
			case layer == "" && string(name) == memberNames[memberCoordRefSys]:
				err := s.Skip(&b)
				g.fg.system = systemOf(b)
				return err
			case layer == "" && string(name) == memberNames[memberFeatureType]:
				err := s.Skip(&b)
				if text := ""; json.Unmarshal(b, &text) == nil {
					g.fg.featureType = input.Value{Kind: input.Plain, Text: text}
				}
				return err
			}
			return s.Skip(nil)
		})
	}
	if c, err := s.Peek(); err != nil || c != '{' { // whoever reads the value reports the error
		return ignoreSyntax(err)
	}
	return ignoreSyntax(members(g.layer))
}

// swapAxes exchanges the first two ordinates of all positions.
func swapAxes(s *input.Shape) {
	for i := range s.Shapes {
		swapAxes(&s.Shapes[i])
	}
	for i := 0; i < len(s.XYZ); i += 3 {
		s.XYZ[i], s.XYZ[i+1] = s.XYZ[i+1], s.XYZ[i]
	}
}
