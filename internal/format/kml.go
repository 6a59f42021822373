package format

import (
	"cmp"
	"fmt"
	"io"
	"strconv"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

var kml = &Format{Name: "kml", Media: "application/vnd.google-earth.kml+xml", Ext: ".kml", Title: "KML 2.2", Streams: true, Lon: true,
	Losses: []string{lossPrecision, "integers, dates and JSON are text", "members of multi geometries and of collections are not told apart", noXML},
	open:   newKML}

// kmlWriter writes KML 2.2 (OGC 07-147r2): a Schema with the types of the properties and a Placemark for each feature, whose name is the
// feature's title, whose values are SchemaData.
type kmlWriter struct {
	buffered
	o      Options
	cols   []column
	names  []string
	title  int // index in cols of what names a feature
	shaper *shaper
}

func newKML(w io.Writer, o Options) (Writer, error) {
	o.CRS = crs.CRS84
	cols, s, err := o.prepare(1)
	if err != nil {
		return nil, err
	}
	k := &kmlWriter{buffered: buffered{w: w}, o: o, cols: cols, shaper: s, names: distinct(cols, 0, xmlName)}
	for i, c := range cols {
		if c.Name == o.Collection.TitleProperty {
			k.title = i
		}
	}
	k.buf = append(k.buf, xmlHead+`<kml xmlns="http://www.opengis.net/kml/2.2"><Document><name>`...)
	k.buf = appendXML(k.buf, o.Title)
	k.buf = append(k.buf, "</name>\n<Schema name=\""...)
	k.buf = appendXML(k.buf, o.Collection.ID)
	k.buf = append(k.buf, `" id="fields">`...)
	for i, c := range cols {
		k.buf = append(k.buf, `<SimpleField type="`+cmp.Or(kmlTypes[c.Type], "string")+`" name="`...)
		k.buf = append(appendXML(k.buf, k.names[i]), `"/>`...)
	}
	k.buf = append(k.buf, "</Schema>\n"...)
	return k, nil
}

// kmlTypes are the types of KML; what has none here is a string, and so are integers, since its int has 32 bits.
var kmlTypes = map[cql2.Type]string{cql2.TypeNumber: "double", cql2.TypeBool: "bool"}

func (k *kmlWriter) Want() store.Want { return k.o.want() }

func (k *kmlWriter) Write(f *store.Feature) error {
	b := append(k.buf, `<Placemark id="`...)
	b = append(append(b, kmlID(f.Public())...), `"><name>`...)
	title := k.cols[k.title].value(f)
	if title == nil {
		title = f.Public()
	}
	b = append(appendXMLValue(b, title), `</name><ExtendedData><SchemaData schemaUrl="#fields">`...)
	for i, c := range k.cols {
		v := c.value(f)
		if v == nil {
			continue
		}
		b = append(appendXML(append(b, `<SimpleData name="`...), k.names[i]), `">`...)
		b = append(appendXMLValue(b, v), "</SimpleData>"...)
	}
	b = append(b, "</SchemaData></ExtendedData>"...)
	g, ok, err := k.shaper.shape(f.Geometry.WKB)
	if err != nil {
		return fmt.Errorf("%s %q: %w", k.o.Collection.ID, f.Public(), err)
	}
	if ok {
		b = appendKMLGeometry(b, &g)
	}
	k.buf = append(b, "</Placemark>\n"...)
	return k.flush(flushAt)
}

// kmlID is the id of a feature as an XML id (xsd:ID), which begins with no digit and holds no blanks. "fields" is that of the schema.
func kmlID(id string) string { return "id." + xmlName("a" + id)[1:] }

func (k *kmlWriter) Close(abort bool) error {
	return k.end("</Document></kml>\n", abort)
}

func appendKMLGeometry(b []byte, g *shape) []byte {
	switch g.Kind {
	case wkb.Point:
		return append(appendKMLLine(append(b, "<Point>"...), g.Line), "</Point>"...)
	case wkb.LineString:
		return append(appendKMLLine(append(b, "<LineString>"...), g.Line), "</LineString>"...)
	case wkb.Polygon:
		b = append(b, "<Polygon>"...)
		for i := range g.Parts {
			name := "innerBoundaryIs"
			if i == 0 {
				name = "outerBoundaryIs"
			}
			b = append(append(append(b, '<'), name...), "><LinearRing>"...)
			b = appendKMLLine(b, g.Parts[i].Line)
			b = append(append(append(b, "</LinearRing></"...), name...), '>')
		}
		return append(b, "</Polygon>"...)
	}
	b = append(b, "<MultiGeometry>"...)
	for i := range g.Parts {
		b = appendKMLGeometry(b, &g.Parts[i])
	}
	return append(b, "</MultiGeometry>"...)
}

func appendKMLLine(b []byte, line []position) []byte {
	b = append(b, "<coordinates>"...)
	for i, p := range line {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(appendNumber(b, p[0]), ',')
		b = appendNumber(b, p[1])
		if p[2] == p[2] {
			b = appendNumber(append(b, ','), p[2])
		}
	}
	return append(b, "</coordinates>"...)
}

// appendNumber writes a number without an exponent, as short as it reads back.
func appendNumber(b []byte, v float64) []byte { return strconv.AppendFloat(b, v, 'f', -1, 64) }
