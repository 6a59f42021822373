package format

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"

	"grense/internal/cql2"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

var gml = &Format{Name: "gml", Media: "application/gml+xml;version=3.2", Ext: ".gml", Title: "GML 3.2, Simple Features level 0", Streams: true,
	Losses: []string{"names of properties that XML does not allow are escaped", lossPrecision, "JSON properties are text", "heights of a geometry that has not all of them", noXML},
	open:   newGML}

// Names of OGC 17-069r4, 8.5 and OGC 07-036.
const (
	gmlNamespace = "http://www.opengis.net/gml/3.2"
	sfNamespace  = "http://www.opengis.net/ogcapi-features-1/1.0/sf"
	sfSchema     = "http://schemas.opengis.net/ogcapi/features/part1/1.0/xml/core-sf.xsd"
)

// gmlWriter writes an sf:FeatureCollection (OGC 17-069r4, 8.5) of features of the simple features profile, level 0 (OGC 10-100r3).
// Coordinates are in the order of the reference system's authority. gml:id is COLLECTION.ID, since ids may begin with a digit.
type gmlWriter struct {
	buffered
	o      Options
	cols   []column
	names  []string
	geom   string // name of the property with the geometry
	shaper *shaper
	z      bool
	// heights is the attribute of geometries that have them. GDAL takes a layer of any geometry for one of a type that its callers do not know
	// when the text srsDimension="3" is in the file; in apostrophes it means the same and is not looked for.
	heights string
	srs     string
	swap    bool
	parts   int // parts of the feature that have an id so far
	id      string
}

// GMLNamespace is that of the features of a collection.
func GMLNamespace(address string) string { return address + "/schema" }

func newGML(w io.Writer, o Options) (Writer, error) {
	cols, s, err := o.prepare(1)
	if err != nil {
		return nil, err
	}
	g := &gmlWriter{buffered: buffered{w: w}, o: o, cols: cols, shaper: s, srs: o.CRS.URI(), swap: o.CRS.NorthFirst()}
	g.names, g.geom = gmlNames(&o, cols)
	if g.heights = ` srsDimension="3"`; o.Collection.Geometry == nil || gmlType(o.Collection.Geometry.Type) == gmlAny {
		g.heights = ` srsDimension='3'`
	}
	ns := GMLNamespace(o.Address)
	g.buf = append(g.buf, xmlHead+`<sf:FeatureCollection xmlns:sf="`+sfNamespace+`" xmlns:gml="`+gmlNamespace+
		`" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xmlns:app="`...)
	g.buf = appendXML(g.buf, ns)
	g.buf = append(g.buf, `" xsi:schemaLocation="`+sfNamespace+" "+sfSchema+" "...)
	g.buf = appendXML(g.buf, ns+" "+ns+"?f=xsd")
	g.buf = append(g.buf, "\">\n"...)
	return g, nil
}

// gmlNames are the names of the elements of the columns, and of the geometry.
func gmlNames(o *Options, cols []column) ([]string, string) {
	all := cols
	if o.Collection.Geometry != nil {
		all = append(append([]column(nil), cols...), column{Name: "geometry"})
	}
	names := distinct(all, 0, xmlName)
	for i := range names {
		names[i] = xmlName(names[i])
	}
	return names[:len(cols)], names[len(names)-1]
}

func (g *gmlWriter) Want() store.Want { return g.o.want() }

func (g *gmlWriter) Write(f *store.Feature) error {
	coll := xmlName(g.o.Collection.ID)
	g.id, g.parts = coll+"."+xmlName("a" + f.Public())[1:], 0
	b := append(g.buf, "<sf:featureMember><app:"...)
	b = append(append(append(append(b, coll...), ` gml:id="`...), g.id...), `">`...)
	for i, c := range g.cols {
		v := c.value(f)
		if v == nil {
			continue
		}
		b = append(append(append(b, "<app:"...), g.names[i]...), '>')
		b = appendGMLValue(b, c.Type, v)
		b = append(append(append(b, "</app:"...), g.names[i]...), '>')
	}
	s, ok, err := g.shaper.shape(f.Geometry.WKB)
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
	g.buf = b
	return g.flush(flushAt)
}

// allHeights reports whether every position has a height, as a three-dimensional srsDimension needs.
func allHeights(g *shape) bool {
	all := true
	g.each(func(p position) { all = all && p[2] == p[2] })
	return all
}

// appendGMLValue writes a value in the type that the schema gives it.
func appendGMLValue(b []byte, t cql2.Type, v any) []byte {
	if f, ok := v.(float64); ok && math.IsInf(f, 1) {
		return append(b, "INF"...)
	} else if ok && math.IsInf(f, -1) {
		return append(b, "-INF"...)
	}
	return appendXMLValue(b, v)
}

func (g *gmlWriter) Close(abort bool) error {
	return g.end("</sf:FeatureCollection>\n", abort)
}

// geometry writes a geometry; every geometry has an id, the outermost one names the reference system.
func (g *gmlWriter) geometry(b []byte, s *shape, outer bool) []byte {
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
	b = append(append(append(b, "<gml:"...), name...), ` gml:id="G`...) // ids of collections have no capitals, so no feature has that id
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

// positions writes coordinates.
func (g *gmlWriter) positions(b []byte, line []position) []byte {
	for i, p := range line {
		if i > 0 {
			b = append(b, ' ')
		}
		x, y := p[0], p[1]
		if g.swap {
			x, y = y, x
		}
		b = appendNumber(append(appendNumber(b, x), ' '), y)
		if g.z {
			b = appendNumber(append(b, ' '), p[2])
		}
	}
	return b
}

// GMLSchema returns the XML Schema of the features of a collection, of the simple features profile, level 0 (OGC 10-100r3, 8).
func GMLSchema(o Options) ([]byte, error) {
	cols, err := o.columns()
	if err != nil {
		return nil, err
	}
	names, geom := gmlNames(&o, cols)
	coll := xmlName(o.Collection.ID)
	var b strings.Builder
	ns := string(appendXML(nil, GMLNamespace(o.Address)))
	b.WriteString(xmlHead + `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:gml="` + gmlNamespace + `" xmlns:app="` + ns + `" targetNamespace="` + ns +
		`" elementFormDefault="qualified" version="1.0">` + "\n")
	b.WriteString(`<xs:annotation><xs:appinfo source="http://schemas.opengis.net/gmlsfProfile/2.0/gmlsfLevels.xsd"><gmlsf:ComplianceLevel xmlns:gmlsf="http://www.opengis.net/gmlsf/2.0">0</gmlsf:ComplianceLevel></xs:appinfo></xs:annotation>` + "\n")
	b.WriteString(`<xs:import namespace="` + gmlNamespace + `" schemaLocation="http://schemas.opengis.net/gml/3.2.1/gml.xsd"/>` + "\n")
	fmt.Fprintf(&b, `<xs:element name="%s" type="app:%[1]sType" substitutionGroup="gml:AbstractFeature"/>`+"\n", coll)
	fmt.Fprintf(&b, `<xs:complexType name="%sType"><xs:complexContent><xs:extension base="gml:AbstractFeatureType"><xs:sequence>`+"\n", coll)
	for i, c := range cols {
		least := 0
		if c.at < 0 {
			least = 1
		}
		fmt.Fprintf(&b, `<xs:element name="%s" type="%s" minOccurs="%d"/>`+"\n", names[i], cmp.Or(xsdTypes[c.Type], "xs:string"), least)
	}
	if o.Collection.Geometry != nil {
		fmt.Fprintf(&b, `<xs:element name="%s" type="%s" minOccurs="0"/>`+"\n", geom, gmlType(o.Collection.Geometry.Type))
	}
	b.WriteString("</xs:sequence></xs:extension></xs:complexContent></xs:complexType>\n</xs:schema>\n")
	return []byte(b.String()), nil
}

// xsdTypes are the types of XML Schema.
var xsdTypes = map[cql2.Type]string{cql2.TypeInteger: "xs:long", cql2.TypeNumber: "xs:double", cql2.TypeBool: "xs:boolean", cql2.TypeDate: "xs:date", cql2.TypeTimestamp: "xs:dateTime"}

// gmlAny is the type of a property that holds any geometry.
const gmlAny = "gml:GeometryPropertyType"

func gmlType(geojson string) string {
	switch geojson {
	case "Point":
		return "gml:PointPropertyType"
	case "LineString":
		return "gml:CurvePropertyType"
	case "MultiPoint":
		return "gml:MultiPointPropertyType"
	}
	return gmlAny // polygons may be mixed with multipolygons
}
