// Package kml reads and writes KML 2.2 (OGC 07-147r2).
package kml

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// Layers returns the one layer of a file: the placemarks of all folders.
func Layers(_ context.Context, f *input.File, o input.Options) ([]input.Layer, error) {
	r := &reader{open: f.Open, memory: input.Memory(o.Limits.Feature)}
	return []input.Layer{{Reader: r, Silent: crs.CRS84}}, nil
}

// reader reads the placemarks of KML: geometries of straight lines, names, descriptions, times and extended data.
type reader struct {
	open   func() (io.ReadCloser, error)
	memory input.Memory
}

// maxDepth bounds the depth of elements.
const maxDepth = 1000

func (r *reader) Read(ctx context.Context, out input.Sink) error {
	in, err := r.open()
	if err != nil {
		return err
	}
	defer in.Close()
	p := &placemarks{
		XML:    input.NewXML(in, r.memory.Bytes()/4),
		memory: r.memory,
		out:    out,
		types:  map[string]string{},
		warned: map[string]bool{},
	}
	err = p.document(ctx)
	if errors.Is(err, input.ErrRefused) && ctx.Err() == nil {
		out.Fault(p.Place(), false, input.Refused, input.Reason(err))
		return nil
	}
	return err
}

// placemarks reads placemarks one by one.
type placemarks struct {
	*input.XML
	memory input.Memory
	out    input.Sink
	types  map[string]string // of fields of schemas, by "schema/field"
	schema string            // schema that is being read
	warned map[string]bool   // warnings that were given, each once
	n      int               // positions of the current geometry
}

// once warns at the first place only.
func (p *placemarks) once(reason string) {
	if !p.warned[reason] && len(p.warned) < input.MaxNames {
		p.warned[reason] = true
		p.out.Fault(p.Place(), false, input.Warning, reason)
	}
}

// document reads to the end of the file.
func (p *placemarks) document(ctx context.Context) error {
	depth, some := 0, false
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		p.Again()
		t, err := p.Token()
		if errors.Is(err, io.EOF) && depth == 0 && some {
			return nil
		}
		if err != nil {
			return p.Wrong(err)
		}
		switch t := t.(type) {
		case xml.EndElement:
			depth--
		case xml.StartElement:
			if !some && t.Name.Local != "kml" {
				return input.Refuse(
					"line %d: the outermost element is %s, not kml; if this is GML, let its name end in .gml",
					p.Line(), input.Shorten(t.Name.Local))
			}
			some = true
			switch t.Name.Local {
			case "Placemark":
				if err := p.placemark(t); err != nil {
					return err
				}
				continue
			case "Schema":
				p.schema = input.Attr(t, "id")
			case "SimpleField":
				if len(p.types) < input.MaxNames {
					p.types[p.schema+"/"+input.Attr(t, "name")] = input.Attr(t, "type")
				}
			case "NetworkLink":
				p.once("links to other files (NetworkLink) are not followed; import those files too")
			case "GroundOverlay", "ScreenOverlay", "PhotoOverlay":
				p.once("images laid over the map (" + t.Name.Local + ") are left out")
			}
			if depth++; depth > maxDepth {
				return input.Refuse("line %d: elements lie more than %d deep in each other", p.Line(), maxDepth)
			}
		}
	}
}

// each calls fn with the children of the current element, to its end. fn reads each child to its end.
func (p *placemarks) each(fn func(e xml.StartElement) error) error {
	for {
		t, err := p.Token()
		if err != nil {
			return p.Wrong(err)
		}
		switch t := t.(type) {
		case xml.StartElement:
			if err := fn(t); err != nil {
				return err
			}
		case xml.EndElement:
			return nil
		}
	}
}

// text returns the text of the current element without that of its children, and reads to its end.
func (p *placemarks) text() (string, error) {
	var b strings.Builder
	for {
		t, err := p.Token()
		if err != nil {
			return "", p.Wrong(err)
		}
		switch t := t.(type) {
		case xml.CharData:
			b.Write(t)
		case xml.StartElement:
			if err := p.Leave(); err != nil {
				return "", err
			}
		case xml.EndElement:
			return strings.Trim(b.String(), " \t\r\n"), nil
		}
	}
}

// placemark reads a feature whose start element was read.
func (p *placemarks) placemark(e xml.StartElement) error {
	rec := &input.Record{At: p.Place()}
	var name, description string
	err := p.each(func(e xml.StartElement) (err error) {
		switch _, geometry := geometries[e.Name.Local]; {
		case e.Name.Local == "name":
			name, err = p.text()
			return err
		case e.Name.Local == "description":
			description, err = p.text()
			return err
		case e.Name.Local == "TimeStamp", e.Name.Local == "TimeSpan":
			return p.time(rec)
		case e.Name.Local == "ExtendedData":
			return p.extended(rec)
		case geometry && rec.Shape == nil && !rec.Refused:
			return p.place(rec, e)
		case geometry:
			p.once("further geometries of a placemark are left out; MultiGeometry holds several")
		}
		return p.Leave()
	})
	if err != nil {
		return err
	}
	for _, f := range [...][2]string{{"description", description}, {"name", name}} {
		if f[1] != "" && !has(rec, f[0]) {
			v := input.Value{Kind: input.Text, Text: f[1]}
			rec.Fields = slices.Insert(rec.Fields, 0, input.Field{Name: f[0], Value: v})
		}
	}
	if id := input.Attr(e, "id"); id != "" && !has(rec, "id") {
		rec.ID = input.Value{Kind: input.Plain, Text: id}
	}
	return p.out.Record(rec)
}

func has(rec *input.Record, name string) bool {
	return slices.ContainsFunc(rec.Fields, func(f input.Field) bool { return f.Name == name })
}

// time reads the time or the period of a placemark.
func (p *placemarks) time(rec *input.Record) error {
	names := map[string]string{"when": input.ExtraTime, "begin": input.ExtraTimeStart, "end": input.ExtraTimeEnd}
	return p.each(func(e xml.StartElement) error {
		s, err := p.text()
		if name := names[e.Name.Local]; name != "" && s != "" {
			rec.Extra = append(rec.Extra, input.Field{Name: name, Value: input.Value{Kind: input.Text, Text: s}})
		}
		return err
	})
}

// extended reads the properties in an ExtendedData: Data with a value, and SchemaData whose types a Schema has.
func (p *placemarks) extended(rec *input.Record) error {
	return p.each(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "Data":
			value := ""
			err := p.each(func(v xml.StartElement) (err error) {
				if v.Name.Local != "value" {
					return p.Leave()
				}
				value, err = p.text()
				return err
			})
			p.add(rec, input.Attr(e, "name"), "", value)
			return err
		case "SchemaData":
			schema := strings.TrimPrefix(input.Attr(e, "schemaUrl"), "#")
			return p.each(func(v xml.StartElement) error {
				if v.Name.Local != "SimpleData" {
					p.once("values of " + v.Name.Local + " are left out")
					return p.Leave()
				}
				s, err := p.text()
				name := input.Attr(v, "name")
				p.add(rec, name, p.types[schema+"/"+name], s)
				return err
			})
		}
		p.once("elements of other vocabularies in ExtendedData are left out")
		return p.Leave()
	})
}

// add adds a property; kind is its type in a schema, or "".
func (p *placemarks) add(rec *input.Record, name, kind, s string) {
	if has(rec, name) {
		p.once(fmt.Sprintf("the property %q stands several times in a placemark; the first is read",
			input.Shorten(name)))
		return
	}
	v := input.Value{Kind: input.Untyped, Text: s}
	whole, number := input.NumberSyntax([]byte(s))
	switch {
	case s == "":
		v = input.Value{Kind: input.Null}
	case kind == "string":
		v.Kind = input.Text
	case kind == "bool" && (s == "1" || s == "0"):
		v = input.Value{Kind: input.Boolean, Text: strconv.FormatBool(s == "1")}
	case kind == "bool" && (s == "true" || s == "false"):
		v.Kind = input.Boolean
	case (kind == "double" || kind == "float") && (number || input.NotFinite(s)):
		v.Kind = input.Number
	case (kind == "int" || kind == "uint" || kind == "short" || kind == "ushort") && whole:
		v.Kind = input.Integer
	}
	rec.Fields = append(rec.Fields, input.Field{Name: name, Value: v})
}

// place reads the geometry of a feature, whose start element was read.
func (p *placemarks) place(rec *input.Record, e xml.StartElement) error {
	at := p.Place()
	p.n = 0
	g, err := p.geometry(e, 0)
	if bad, ok := errors.AsType[geometryFault](err); ok {
		rec.Refused = true
		p.out.Fault(at, true, input.Refused, bad.reason)
		for range bad.open {
			if err := p.Leave(); err != nil {
				return err
			}
		}
		return nil
	}
	if err != nil {
		return err
	}
	if g.high > 0 && g.high < g.count() {
		p.once("heights of geometries of which some positions have none are left out")
	}
	g.SetZ(g.heights())
	if g.IsEmpty() {
		return nil
	}
	for _, n := range g.Tidy() {
		p.out.Fault(at, true, n.Action, n.Reason)
	}
	if !g.IsEmpty() {
		rec.Shape = &g.Shape
	}
	return nil
}

// geometryFault is the reason why a geometry is refused. open is the number of its elements that have not ended.
type geometryFault struct {
	reason string
	open   int
}

func (f geometryFault) Error() string { return f.reason }

// geometries are the elements of geometries and their kinds; 0 for those that are not supported.
var geometries = map[string]wkb.Kind{
	"Point": wkb.Point, "LineString": wkb.LineString, "LinearRing": wkb.LineString, "Polygon": wkb.Polygon,
	"MultiGeometry": wkb.Collection, "Model": 0, "Track": 0, "MultiTrack": 0,
}

// geometry is a shape and the number of its positions with a height.
type geometry struct {
	input.Shape
	high int
	zero bool // all heights are 0
}

// heights reports whether all positions have heights, and some is not 0.
func (g *geometry) heights() bool { return g.high > 0 && g.high == g.count() && !g.zero }

func (g *geometry) count() int {
	n := g.Positions()
	for i := range g.Shapes {
		n += (&geometry{Shape: g.Shapes[i]}).count()
	}
	return n
}

// geometry reads a geometry whose start element was read, to its end.
func (p *placemarks) geometry(e xml.StartElement, depth int) (*geometry, error) {
	kind := geometries[e.Name.Local]
	g := &geometry{Shape: input.Shape{Kind: kind}, zero: true}
	switch {
	case kind == 0:
		name := input.Shorten(e.Name.Local)
		return nil, geometryFault{"a geometry of type " + name + ", which is not read; ogr2ogr makes simple ones", 1}
	case depth > wkb.MaxDepth:
		return nil, geometryFault{"geometries lie too deep in each other", 1}
	}
	var err error
	switch kind {
	case wkb.Collection:
		err = p.members(g, depth)
	case wkb.Polygon:
		err = p.rings(g)
	default:
		err = p.coordinates(g)
	}
	if err == nil && kind == wkb.Point && g.Positions() > 1 {
		return nil, geometryFault{fmt.Sprintf("a Point of %d positions", g.Positions()), 0}
	}
	return g, opened(err)
}

// opened adds the enclosing element to the open elements of a fault.
func opened(err error) error {
	if bad, ok := errors.AsType[geometryFault](err); ok {
		bad.open++
		return bad
	}
	return err
}

// coordinates reads the positions of the current element, to its end.
func (p *placemarks) coordinates(g *geometry) error {
	return p.each(func(e xml.StartElement) error {
		if e.Name.Local != "coordinates" {
			return p.Leave()
		}
		s, err := p.text()
		if err != nil {
			return err
		}
		for t := range strings.FieldsSeq(s) {
			if wrong := p.position(g, t); wrong != "" {
				return geometryFault{wrong, 0}
			}
		}
		return nil
	})
}

// position adds a position: longitude, latitude and perhaps a height.
func (p *placemarks) position(g *geometry, s string) (wrong string) {
	var v [3]float64
	parts := strings.Split(s, ",")
	ok := len(parts) == 2 || len(parts) == 3
	for i := 0; ok && i < len(parts); i++ {
		var err error
		v[i], err = strconv.ParseFloat(parts[i], 64)
		ok = err == nil
	}
	if !ok {
		const cure = "write longitude,latitude or longitude,latitude,height without blanks"
		return fmt.Sprintf("%q is not a position; %s", input.Shorten(s), cure)
	}
	if p.n++; len(parts) == 3 {
		g.high++
		g.zero, g.HasZ = g.zero && v[2] == 0, true
	}
	g.Add(v[0], v[1], v[2])
	return p.memory.Positions(p.n)
}

// rings reads the boundaries of a polygon, the outer one first.
func (p *placemarks) rings(g *geometry) error {
	var outer, inner []float64
	var ends []int
	err := p.each(func(e xml.StartElement) error {
		if e.Name.Local != "outerBoundaryIs" && e.Name.Local != "innerBoundaryIs" {
			return p.Leave()
		}
		return opened(p.each(func(r xml.StartElement) error {
			if r.Name.Local != "LinearRing" {
				return geometryFault{"an element " + input.Shorten(r.Name.Local) + " where a LinearRing should be", 1}
			}
			ring := &geometry{zero: true}
			if err := p.coordinates(ring); err != nil {
				return opened(err)
			}
			g.high, g.zero, g.HasZ = g.high+ring.high, g.zero && ring.zero, g.HasZ || ring.HasZ
			switch {
			case e.Name.Local == "innerBoundaryIs":
				inner = append(inner, ring.XYZ...)
				ends = append(ends, len(inner)/3)
			case outer != nil:
				return geometryFault{"a polygon with two outer boundaries", 0}
			default:
				outer = ring.XYZ
			}
			return nil
		}))
	})
	if err != nil {
		return err
	}
	if len(outer) == 0 {
		return nil
	}
	g.XYZ, g.Ends = append(outer, inner...), append(g.Ends, len(outer)/3)
	for _, end := range ends {
		g.Ends = append(g.Ends, len(outer)/3+end)
	}
	return nil
}

// members reads the geometries in a MultiGeometry. Geometries of one kind become a multi geometry.
func (p *placemarks) members(g *geometry, depth int) error {
	one := wkb.Kind(0)
	err := p.each(func(e xml.StartElement) error {
		if _, is := geometries[e.Name.Local]; !is {
			return p.Leave()
		}
		m, err := p.geometry(e, depth+1)
		if err != nil || m.IsEmpty() {
			return err
		}
		g.high, g.zero, g.HasZ = g.high+m.high, g.zero && m.zero, g.HasZ || m.HasZ
		if len(g.Shapes) == 0 {
			one = m.Kind
		} else if m.Kind != one {
			one = wkb.Collection
		}
		g.Shapes = append(g.Shapes, m.Shape)
		return nil
	})
	if err != nil || one == 0 || one > wkb.Polygon {
		return err
	}
	parts := g.Shapes
	g.Kind, g.Shapes = one+3, nil
	for _, m := range parts {
		from := g.Positions()
		g.XYZ = append(g.XYZ, m.XYZ...)
		switch one {
		case wkb.LineString:
			g.Ends = append(g.Ends, g.Positions())
		case wkb.Polygon:
			for _, end := range m.Ends {
				g.Ends = append(g.Ends, from+end)
			}
			g.Polys = append(g.Polys, len(g.Ends))
		}
	}
	return nil
}
