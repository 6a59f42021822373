package ingest

import (
	"cmp"
	"encoding/json"
	"slices"
)

// jsonFG is what is known of a document of JSON-FG (OGC 21-045r1) while it is read.
type jsonFG struct {
	system      string // coordRefSys of the document
	featureType value  // of the document
	looked      bool   // the document was searched for both
	swap        bool   // positions of the geometry being read have the northing or latitude first
	told        string // the system that was told last
	places      bool   // some features had a place
	geometries  bool   // some had a geometry only
}

// Names of the properties that members beside the properties become.
const (
	extraTime        = "time"
	extraTimeStart   = "time_start"
	extraTimeEnd     = "time_end"
	extraFeatureType = "featureType"
)

// fgGeometries are the types of geometries that JSON-FG adds to GeoJSON. They are not read.
var fgGeometries = []string{"Polyhedron", "MultiPolyhedron", "Prism", "MultiPrism", "CircularString", "CompoundCurve", "CurvePolygon", "MultiCurve", "MultiSurface"}

// jsonFG reads the value of a member of a document, if root, or of a feature. What is not as JSON-FG has it is a foreign member.
func (g *geoReader) jsonFG(n *node, m int, c byte, root bool) error {
	if m == memberPlace {
		if c != '{' {
			return g.s.skip(nil)
		}
		n.place = &node{at: g.s.here()}
		return g.node(n.place, 0, nil)
	}
	var b []byte
	if err := g.s.skip(&b); err != nil {
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
		v := value{kind: null}
		if text := ""; json.Unmarshal(b, &text) == nil && text != "" {
			v = value{plain, text}
		} else if c == '[' {
			v = value{object, string(b)}
		}
		if root {
			g.fg.featureType = v
		}
		if v.kind > null {
			n.extra = append(n.extra, field{extraFeatureType, v})
		}
	}
	return nil
}

// systemOf returns the name in a coordRefSys (OGC 21-045r1, 7.5): a URI, an object with one, or a list of a horizontal system and others.
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
		name = shorten(string(b))
	}
	return name
}

// timesOf reads the member time (OGC 21-045r1, 7.3); nil if it is not of JSON-FG.
func timesOf(b []byte) []field {
	var t struct {
		Date, Timestamp string
		Interval        []string
	}
	if json.Unmarshal(b, &t) != nil {
		return nil
	}
	moment := func(s string) value {
		if s == "" || s == ".." {
			return value{kind: null}
		}
		return value{text, s}
	}
	if s := cmp.Or(t.Timestamp, t.Date); s != "" {
		return []field{{extraTime, moment(s)}}
	}
	if len(t.Interval) == 2 {
		return []field{{extraTimeStart, moment(t.Interval[0])}, {extraTimeEnd, moment(t.Interval[1])}}
	}
	return nil
}

// extra returns the members beside the properties of a feature, with the type of its document.
func (d *jsonFG) extra(n *node) []field {
	if d.featureType.kind > null && !slices.ContainsFunc(n.extra, func(f field) bool { return f.name == extraFeatureType }) {
		n.extra = append(n.extra, field{extraFeatureType, d.featureType})
	}
	return n.extra
}

// placed returns the geometry of a feature: its place, else its geometry, which is in CRS84.
func (g *geoReader) placed(n *node) (*shape, error) {
	p, d := n.place, &g.fg
	if (p != nil || len(n.extra) > 0) && !d.looked && (d.system == "" || d.featureType.kind == absent) {
		d.looked = true
		if err := g.look(); err != nil {
			return nil, err
		}
	}
	const crs84 = "http://www.opengis.net/def/crs/OGC/0/CRS84"
	if p == nil || kindNamed(p.typ) == 0 {
		switch {
		case p == nil || !slices.Contains(fgGeometries, p.typ): // a foreign member
		case n.shape != nil:
			g.once(p.at, "a place of the type "+p.typ+" is not read; the member geometry is used")
		default:
			g.fault(p.at, Refused, "a place of the type "+p.typ+" is not read, and there is no geometry")
		}
		if d.geometries = d.geometries || n.shape != nil; d.places && n.shape != nil {
			g.tellSystem(n.at, crs84)
		}
		return n.shape, nil
	}
	if d.geometries && !d.places {
		g.tellSystem(n.at, crs84)
	}
	d.places = true
	system := cmp.Or(p.system, n.system, d.system, crs84)
	g.tellSystem(p.at, system)
	d.swap = NorthFirst(system, g.as)
	s := g.shapeOf(p, 0)
	if d.swap && s != nil && s.kind == collection {
		s.swap() // its members were read before the system was known
		s.orient()
	}
	d.swap = false
	return s, nil
}

func (g *geoReader) tellSystem(at place, system string) {
	if g.fg.told != system {
		g.fg.told = system
		g.out.reference(at, system)
	}
}

// look searches the document for members that come after its features.
func (g *geoReader) look() error {
	in, err := g.open()
	if err != nil {
		return err
	}
	defer in.Close()
	s := newJSONScanner(in, g.memory)
	var members func(layer string) error
	members = func(layer string) error {
		return s.object(func(name []byte, _ place) error {
			var b []byte
			switch {
			case layer != "" && string(name) == layer:
				return members("")
			case layer == "" && string(name) == memberNames[memberCoordRefSys]:
				err := s.skip(&b)
				g.fg.system = systemOf(b)
				return err
			case layer == "" && string(name) == memberNames[memberFeatureType]:
				err := s.skip(&b)
				if text := ""; json.Unmarshal(b, &text) == nil {
					g.fg.featureType = value{plain, text}
				}
				return err
			}
			return s.skip(nil)
		})
	}
	if c, err := s.peek(); err != nil || c != '{' { // the reader of the value reports the error
		return ignoreSyntax(err)
	}
	return ignoreSyntax(members(g.layer))
}

// swap exchanges the first two ordinates of all positions.
func (s *shape) swap() {
	for i := range s.shapes {
		s.shapes[i].swap()
	}
	for i := 0; i < len(s.xyz); i += 3 {
		s.xyz[i], s.xyz[i+1] = s.xyz[i+1], s.xyz[i]
	}
}
