package kml

import (
	"cmp"
	"fmt"
	"io"

	"grense/internal/cql2"
	"grense/internal/format/output"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
)

// Losses lists what a reader may not get back.
var Losses = []string{
	output.LossPrecision,
	"integers, dates and JSON are text",
	"members of multi geometries and of collections are not told apart",
	output.NoXML,
}

// writer writes KML 2.2 (OGC 07-147r2): a Schema with the types of the properties, and a Placemark for each feature.
// Its name is the title of the feature, its SchemaData the values.
type writer struct {
	output.Buffered
	o      output.Options
	cols   []output.Column
	names  []string
	title  int // index in cols of the title of a feature
	shaper *output.Shaper
}

func New(w io.Writer, o output.Options) (output.Writer, error) {
	o.CRS = crs.CRS84
	cols, s, err := o.Prepare(1)
	if err != nil {
		return nil, err
	}
	names := output.Distinct(cols, 0, output.XMLName)
	k := &writer{Buffered: output.Buffered{W: w}, o: o, cols: cols, shaper: s, names: names}
	for i, c := range cols {
		if c.Name == o.Collection.TitleProperty {
			k.title = i
		}
	}
	k.Buf = append(k.Buf, output.XMLHead+`<kml xmlns="http://www.opengis.net/kml/2.2"><Document><name>`...)
	k.Buf = output.AppendXML(k.Buf, o.Title)
	k.Buf = append(k.Buf, "</name>\n<Schema name=\""...)
	k.Buf = output.AppendXML(k.Buf, o.Collection.ID)
	k.Buf = append(k.Buf, `" id="fields">`...)
	for i, c := range cols {
		k.Buf = append(k.Buf, `<SimpleField type="`+cmp.Or(fieldTypes[c.Type], "string")+`" name="`...)
		k.Buf = append(output.AppendXML(k.Buf, k.names[i]), `"/>`...)
	}
	k.Buf = append(k.Buf, "</Schema>\n"...)
	return k, nil
}

// fieldTypes are the types of KML. Other types are strings; so are integers, since an int of KML has 32 bits.
var fieldTypes = map[cql2.Type]string{cql2.TypeNumber: "double", cql2.TypeBool: "bool"}

func (k *writer) Want() store.Want { return k.o.Want() }

func (k *writer) Write(f *store.Feature) error {
	b := append(k.Buf, `<Placemark id="`...)
	b = append(append(b, xmlID(f.Public())...), `"><name>`...)
	title := k.cols[k.title].Value(f)
	if title == nil {
		title = f.Public()
	}
	b = append(output.AppendXMLValue(b, title), `</name><ExtendedData><SchemaData schemaUrl="#fields">`...)
	for i, c := range k.cols {
		v := c.Value(f)
		if v == nil {
			continue
		}
		b = append(output.AppendXML(append(b, `<SimpleData name="`...), k.names[i]), `">`...)
		b = append(output.AppendXMLValue(b, v), "</SimpleData>"...)
	}
	b = append(b, "</SchemaData></ExtendedData>"...)
	g, ok, err := k.shaper.Shape(f.Geometry.WKB)
	if err != nil {
		return fmt.Errorf("%s %q: %w", k.o.Collection.ID, f.Public(), err)
	}
	if ok {
		b = appendGeometry(b, &g)
	}
	k.Buf = append(b, "</Placemark>\n"...)
	return k.Flush(output.FlushAt)
}

// xmlID returns the id of a feature as an XML id (xsd:ID), which begins with no digit and contains no blanks.
// The schema has the id "fields".
func xmlID(id string) string { return "id." + output.XMLName("a" + id)[1:] }

func (k *writer) Close(abort bool) error {
	return k.End("</Document></kml>\n", abort)
}

func appendGeometry(b []byte, g *output.Shape) []byte {
	switch g.Kind {
	case wkb.Point:
		return append(appendLine(append(b, "<Point>"...), g.Line), "</Point>"...)
	case wkb.LineString:
		return append(appendLine(append(b, "<LineString>"...), g.Line), "</LineString>"...)
	case wkb.Polygon:
		b = append(b, "<Polygon>"...)
		for i := range g.Parts {
			name := "innerBoundaryIs"
			if i == 0 {
				name = "outerBoundaryIs"
			}
			b = append(append(append(b, '<'), name...), "><LinearRing>"...)
			b = appendLine(b, g.Parts[i].Line)
			b = append(append(append(b, "</LinearRing></"...), name...), '>')
		}
		return append(b, "</Polygon>"...)
	}
	b = append(b, "<MultiGeometry>"...)
	for i := range g.Parts {
		b = appendGeometry(b, &g.Parts[i])
	}
	return append(b, "</MultiGeometry>"...)
}

func appendLine(b []byte, line []output.Position) []byte {
	b = append(b, "<coordinates>"...)
	for i, p := range line {
		if i > 0 {
			b = append(b, ' ')
		}
		b = append(output.AppendNumber(b, p[0]), ',')
		b = output.AppendNumber(b, p[1])
		if p[2] == p[2] {
			b = output.AppendNumber(append(b, ','), p[2])
		}
	}
	return append(b, "</coordinates>"...)
}
