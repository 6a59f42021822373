package gml

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"grense/internal/cql2"
	"grense/internal/format/output"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// Losses lists what a reader may not get back.
var Losses = []string{"names of properties that XML does not allow are escaped", output.LossPrecision,
	"JSON properties are text", "heights of a geometry that has not all of them", output.NoXML}

// Names from OGC 17-069r4, 8.5 and OGC 07-036.
const (
	namespace   = "http://www.opengis.net/gml/3.2"
	sfNamespace = "http://www.opengis.net/ogcapi-features-1/1.0/sf"
	sfSchema    = "http://schemas.opengis.net/ogcapi/features/part1/1.0/xml/core-sf.xsd"
)

// writer writes an sf:FeatureCollection (OGC 17-069r4, 8.5) of features of the simple features profile,
// level 0 (OGC 10-100r3). Coordinates are in the axis order of the authority. gml:id is COLLECTION.ID,
// since ids may begin with a digit.
type writer struct {
	output.Buffered
	o      output.Options
	cols   []output.Column
	names  []string
	geom   string // name of the property with the geometry
	shaper *output.Shaper
	z      bool
	// heights is the attribute of geometries with heights. If the text srsDimension="3" occurs in a file,
	// GDAL gives a layer of mixed geometries a type that its callers do not know. In single quotes it means the same
	// and GDAL does not look for it.
	heights string
	srs     string
	swap    bool
	parts   int // parts of the feature with an id so far
	id      string
}

// Namespace returns the XML namespace of the features of a collection.
func Namespace(address string) string { return address + "/schema" }

func New(w io.Writer, o output.Options) (output.Writer, error) {
	cols, s, err := o.Prepare(1)
	if err != nil {
		return nil, err
	}
	g := &writer{Buffered: output.Buffered{W: w}, o: o, cols: cols, shaper: s, srs: o.CRS.URI(),
		swap: o.CRS.NorthFirst()}
	g.names, g.geom = propertyNames(&o, cols)
	if g.heights = ` srsDimension="3"`; o.Collection.Geometry == nil ||
		typeOf(o.Collection.Geometry.Type) == anyGeometry {
		g.heights = ` srsDimension='3'`
	}
	ns := Namespace(o.Address)
	g.Buf = append(g.Buf, output.XMLHead+`<sf:FeatureCollection xmlns:sf="`+sfNamespace+`" xmlns:gml="`+namespace+
		`" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:app="`...)
	g.Buf = output.AppendXML(g.Buf, ns)
	g.Buf = append(g.Buf, `" xsi:schemaLocation="`+sfNamespace+" "+sfSchema+" "...)
	g.Buf = output.AppendXML(g.Buf, ns+" "+ns+"?f=xsd")
	g.Buf = append(g.Buf, "\">\n"...)
	return g, nil
}

// propertyNames returns the names of the elements of the columns and of the geometry.
func propertyNames(o *output.Options, cols []output.Column) ([]string, string) {
	all := cols
	if o.Collection.Geometry != nil {
		all = append(append([]output.Column(nil), cols...), output.Column{Name: "geometry"})
	}
	names := output.Distinct(all, 0, output.XMLName)
	for i := range names {
		names[i] = output.XMLName(names[i])
	}
	return names[:len(cols)], names[len(names)-1]
}

func (g *writer) Want() store.Want { return g.o.Want() }

func (g *writer) Write(f *store.Feature) error {
	coll := output.XMLName(g.o.Collection.ID)
	g.id, g.parts = coll+"."+output.XMLName("a" + f.Public())[1:], 0
	b := append(g.Buf, "<sf:featureMember><app:"...)
	b = append(append(append(append(b, coll...), ` gml:id="`...), g.id...), `">`...)
	for i, c := range g.cols {
		v := c.Value(f)
		if v == nil {
			continue
		}
		b = append(append(append(b, "<app:"...), g.names[i]...), '>')
		b = appendValue(b, c.Type, v)
		b = append(append(append(b, "</app:"...), g.names[i]...), '>')
	}
	s, ok, err := g.shaper.Shape(f.Geometry.WKB)
	if err != nil {
		return fmt.Errorf("%s %q: %w", g.o.Collection.ID, f.Public(), err)
	}
	if ok && !g.o.SkipGeometry {
		g.z = allHeights(&s)
		b = append(append(append(b, "<app:"...), g.geom...), '>')
		b = g.geometry(b, &s, true)
		b = append(append(append(b, "</app:"...), g.geom...), '>')
	}
	b = append(append(append(b, "</app:"...), coll...), "></sf:featureMember>\n"...)
	g.Buf = b
	return g.Flush(output.FlushAt)
}

// allHeights reports whether every position has a height, which srsDimension 3 requires.
func allHeights(g *output.Shape) bool {
	all := true
	g.Each(func(p output.Position) { all = all && p[2] == p[2] })
	return all
}

// appendValue appends a value in its type of the schema.
func appendValue(b []byte, t cql2.Type, v any) []byte {
	if f, ok := v.(float64); ok && math.IsInf(f, 1) {
		return append(b, "INF"...)
	} else if ok && math.IsInf(f, -1) {
		return append(b, "-INF"...)
	}
	return output.AppendXMLValue(b, v)
}

func (g *writer) Close(abort bool) error {
	return g.End("</sf:FeatureCollection>\n", abort)
}

// geometry appends a geometry. Every geometry has an id; the outermost one names the reference system.
func (g *writer) geometry(b []byte, s *output.Shape, outer bool) []byte {
	name := s.Kind.String()
	member := ""
	switch s.Kind {
	case wkb.MultiPoint:
		member = "pointMember"
	case wkb.MultiLineString:
		name, member = "MultiCurve", "curveMember"
	case wkb.MultiPolygon:
		name, member = "MultiSurface", "surfaceMember"
	case wkb.Collection:
		name, member = "MultiGeometry", "geometryMember"
	}
	// ids of collections have no capitals, so no feature has that id
	b = append(append(append(b, "<gml:"...), name...), ` gml:id="G`...)
	b = fmt.Appendf(b, "%d.%s\"", g.parts, g.id)
	g.parts++
	if outer {
		b = append(append(append(b, ` srsName="`...), g.srs...), '"')
		if g.z {
			b = append(b, g.heights...)
		}
	}
	b = append(b, '>')
	switch s.Kind {
	case wkb.Point:
		b = append(g.positions(append(b, "<gml:pos>"...), s.Line), "</gml:pos>"...)
	case wkb.LineString:
		b = append(g.positions(append(b, "<gml:posList>"...), s.Line), "</gml:posList>"...)
	case wkb.Polygon:
		for i := range s.Parts {
			kind := "interior"
			if i == 0 {
				kind = "exterior"
			}
			b = append(append(append(b, "<gml:"...), kind...), "><gml:LinearRing><gml:posList>"...)
			b = g.positions(b, s.Parts[i].Line)
			b = append(append(append(b, "</gml:posList></gml:LinearRing></gml:"...), kind...), '>')
		}
	}
	if member != "" {
		for i := range s.Parts {
			b = append(append(append(b, "<gml:"...), member...), '>')
			b = g.geometry(b, &s.Parts[i], false)
			b = append(append(append(b, "</gml:"...), member...), '>')
		}
	}
	return append(append(append(b, "</gml:"...), name...), '>')
}

// positions appends coordinates.
func (g *writer) positions(b []byte, line []output.Position) []byte {
	for i, p := range line {
		if i > 0 {
			b = append(b, ' ')
		}
		x, y := p[0], p[1]
		if g.swap {
			x, y = y, x
		}
		b = output.AppendNumber(append(output.AppendNumber(b, x), ' '), y)
		if g.z {
			b = output.AppendNumber(append(b, ' '), p[2])
		}
	}
	return b
}

// Schema returns the XML Schema of the features of a collection, of the simple features profile, level 0 (OGC 10-100r3,
// 8).
func Schema(o output.Options) ([]byte, error) {
	cols, err := o.Columns()
	if err != nil {
		return nil, err
	}
	names, geom := propertyNames(&o, cols)
	coll := output.XMLName(o.Collection.ID)
	var b strings.Builder
	ns := string(output.AppendXML(nil, Namespace(o.Address)))
	b.WriteString(output.XMLHead + `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:gml="` + namespace +
		`" xmlns:app="` + ns + `" targetNamespace="` + ns +
		`" elementFormDefault="qualified" version="1.0">` + "\n")
	b.WriteString(`<xs:annotation><xs:appinfo source="http://schemas.opengis.net/gmlsfProfile/2.0/gmlsfLevels.xsd">` +
		`<gmlsf:ComplianceLevel xmlns:gmlsf="http://www.opengis.net/gmlsf/2.0">0</gmlsf:ComplianceLevel></xs:appinfo>` +
		`</xs:annotation>` + "\n")
	b.WriteString(`<xs:import namespace="` + namespace +
		`" schemaLocation="http://schemas.opengis.net/gml/3.2.1/gml.xsd"/>` + "\n")
	fmt.Fprintf(&b, `<xs:element name="%s" type="app:%[1]sType" substitutionGroup="gml:AbstractFeature"/>`+"\n", coll)
	fmt.Fprintf(&b, `<xs:complexType name="%sType"><xs:complexContent><xs:extension base="gml:AbstractFeatureType">`+
		`<xs:sequence>`+"\n", coll)
	for i, c := range cols {
		least := 0
		if c.At < 0 {
			least = 1
		}
		fmt.Fprintf(&b, `<xs:element name="%s" type="%s" minOccurs="%d"/>`+"\n", names[i],
			cmp.Or(xsdTypes[c.Type], "xs:string"), least)
	}
	if o.Collection.Geometry != nil {
		fmt.Fprintf(&b, `<xs:element name="%s" type="%s" minOccurs="0"/>`+"\n", geom,
			typeOf(o.Collection.Geometry.Type))
	}
	b.WriteString("</xs:sequence></xs:extension></xs:complexContent></xs:complexType>\n</xs:schema>\n")
	return []byte(b.String()), nil
}

// xsdTypes are the types of XML Schema.
var xsdTypes = map[cql2.Type]string{cql2.TypeInteger: "xs:long", cql2.TypeNumber: "xs:double",
	cql2.TypeBool: "xs:boolean", cql2.TypeDate: "xs:date", cql2.TypeTimestamp: "xs:dateTime"}

// anyGeometry is the type of a property that holds any geometry.
const anyGeometry = "gml:GeometryPropertyType"

func typeOf(geojson string) string {
	switch geojson {
	case "Point":
		return "gml:PointPropertyType"
	case "LineString":
		return "gml:CurvePropertyType"
	case "MultiPoint":
		return "gml:MultiPointPropertyType"
	}
	return anyGeometry // polygons may be mixed with multipolygons
}
