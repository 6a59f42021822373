// Package gml reads and writes GML 2 and 3 of simple features (OGC 10-100r3).
package gml

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// reader reads the features of one type in GML 2 and 3 of simple features (OGC 10-100r3): members of a collection whose
// properties are texts, nested texts, or geometries of straight lines and circular arcs.
// Coordinates are in the authority's order if a URN or URI names the reference system,
// and x before y if it is named EPSG:n.
type reader struct {
	open   func() (io.ReadCloser, error)
	kind   string // name of the elements that are features
	memory input.Memory
	as     crs.ID // the reference system that the user states, or 0
}

// memberElements are the elements that contain features.
var memberElements = map[string]bool{"featureMember": true, "featureMembers": true, "member": true}

// unreadKinds are elements of geometries that the reader does not support.
var unreadKinds = map[string]bool{"Solid": true, "CompositeSolid": true, "MultiSolid": true, "PolyhedralSurface": true,
	"TriangulatedSurface": true, "Tin": true,
	"OrientableCurve": true, "OrientableSurface": true, "GeometricComplex": true, "Grid": true, "RectifiedGrid": true,
	"Shell": true, "Envelope": true}

func isGML(n xml.Name) bool { return strings.HasPrefix(n.Space, "http://www.opengis.net/gml") }

// members calls fn with each element that is a feature until the document ends, and other with each element elsewhere.
func (d *Decoder) members(fn func(e xml.StartElement) error, other func(e xml.StartElement)) error {
	var path []string // names of the enclosing elements
	some := false
	for {
		d.Again()
		t, err := d.Token()
		if errors.Is(err, io.EOF) && len(path) == 0 && some {
			return nil
		}
		if err != nil {
			return d.Wrong(err)
		}
		switch t := t.(type) {
		case xml.EndElement:
			path = path[:len(path)-1]
		case xml.StartElement:
			some = true
			if len(path) > 0 && memberElements[path[len(path)-1]] && t.Name.Local != "FeatureCollection" {
				if err := fn(t); err != nil {
					return err
				}
				continue
			}
			other(t)
			if path = append(path, t.Name.Local); len(path) > 1000 {
				return input.Refuse("line %d: elements lie more than 1000 deep in each other", d.Place().Line)
			}
		}
	}
}

// Layers lists the types of the features of a file.
func Layers(_ context.Context, f *input.File, o input.Options) (layers []input.Layer, err error) {
	names, err := types(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Label, err)
	}
	for _, n := range names {
		layers = append(layers, input.Layer{Name: n,
			Reader: &reader{open: f.Open, kind: n, memory: input.Memory(o.Limits.Feature), as: o.CRS}})
	}
	return layers, nil
}

func types(f *input.File) (names []string, err error) {
	in, err := f.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	d := NewDecoder(in, input.MaxRow)
	err = d.members(func(e xml.StartElement) error {
		if !slices.Contains(names, e.Name.Local) {
			if names = append(names, e.Name.Local); len(names) > input.MaxNames {
				return input.Refuse("more than %d types of features", input.MaxNames)
			}
		}
		return d.Leave()
	}, func(xml.StartElement) {})
	switch {
	case err != nil && errors.Is(err, input.ErrRefused) && len(names) > 0: // the survey reports it with its place
		return names, nil
	case err != nil:
		return nil, err
	case names == nil:
		return nil,
			input.Refuse("%s holds no features in featureMember or member elements; is it GML, and not empty?", f.Name)
	}
	return names, nil
}

func (r *reader) Read(ctx context.Context, out input.Sink) error {
	in, err := r.open()
	if err != nil {
		return err
	}
	defer in.Close()
	g := &features{Decoder: NewDecoder(in, r.memory.Bytes()/4), out: out}
	g.memory, g.as = r.memory, r.as
	n := 0
	err = g.members(func(e xml.StartElement) error {
		if e.Name.Local != r.kind {
			return g.Leave()
		}
		if n++; n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		rec, err := g.feature(e)
		if err != nil {
			return err
		}
		return out.Record(rec)
	}, func(e xml.StartElement) {
		if name := input.Attr(e, "srsName"); name != "" { // of boundedBy
			g.system = name
		}
	})
	if errors.Is(err, input.ErrRefused) && ctx.Err() == nil {
		out.Fault(g.Place(), false, input.Refused, input.Reason(err))
		return nil
	}
	return err
}

// features reads features one by one.
type features struct {
	*Decoder
	out         input.Sink
	system      string // of geometries without one
	reported    string // the system that was reported last
	anyReported bool
	known       map[string]bool   // names of properties that were left out and reported
	names       map[string]string // of properties, by the path of their elements
	paths       map[string]string // the other way round
	leaves      []leaf            // of the feature being read
}

// leaf is a text inside a property of a feature.
type leaf struct {
	name, top string // of its property, and of the child of the feature that contains it
	n         int    // number of that child among those called top, from 0
	value     input.Value
}

func (g *features) warn(at input.Place, name, reason string) {
	if g.known == nil {
		g.known = map[string]bool{}
	}
	if !g.known[name] && len(g.known) < input.MaxNames {
		g.known[name] = true
		g.out.Fault(at, false, input.Warning, reason)
	}
}

// feature reads a feature whose start element was read.
func (g *features) feature(e xml.StartElement) (*input.Record, error) {
	rec := &input.Record{At: g.Place()}
	own := ""
	for _, a := range e.Attr {
		if a.Name.Local == "id" && isGML(a.Name) || a.Name.Local == "fid" {
			own = strings.TrimPrefix(a.Value, e.Name.Local+".")
		}
	}
	hasID := false
	g.leaves = g.leaves[:0]
	count := map[string]int{}
	for {
		t, err := g.Token()
		if err != nil {
			return nil, g.Wrong(err)
		}
		if _, ok := t.(xml.EndElement); ok {
			break
		}
		p, ok := t.(xml.StartElement)
		if !ok {
			continue
		}
		if p.Name.Local == "boundedBy" && isGML(p.Name) {
			if err := g.Leave(); err != nil {
				return nil, err
			}
			continue
		}
		hasID = hasID || p.Name.Local == "id"
		if err := g.property(rec, p, count[p.Name.Local]); err != nil {
			return nil, err
		}
		count[p.Name.Local]++
	}
	if err := g.collect(rec, count); err != nil {
		return nil, err
	}
	if own != "" && !hasID {
		rec.ID = input.Value{Kind: input.Plain, Text: own}
	}
	return rec, nil
}

// property reads the n-th property of its name, whose start element was read:
// a text, a geometry, or elements with texts.
func (g *features) property(rec *input.Record, p xml.StartElement, n int) error {
	at, top := g.Place(), p.Name.Local
	var b strings.Builder
	geometry, nested := false, false
	for {
		t, err := g.Token()
		if err != nil {
			return g.Wrong(err)
		}
		switch t := t.(type) {
		case xml.CharData:
			b.Write(t)
			continue
		case xml.StartElement:
			_, is := geometryKinds[t.Name.Local]
			switch is = is && isGML(t.Name); {
			case is && rec.Shape == nil && !rec.Refused:
				geometry = true
				err = g.geometry(rec, t)
			case is:
				geometry = true
				g.warn(at, top, fmt.Sprintf("further geometries, as in %q, are left out", top))
				err = g.Leave()
			case isGML(t.Name) && unreadKinds[t.Name.Local]:
				geometry = true
				g.warn(at, top,
					fmt.Sprintf("geometries of the type %s, as in %q, are not read and left out; "+
						"ogr2ogr makes simple ones", t.Name.Local, top))
				err = g.Leave()
			default:
				nested = true
				err = g.nested(t, top, n)
			}
			if err != nil {
				return err
			}
			continue
		}
		if _, ok := t.(xml.EndElement); ok {
			break
		}
	}
	if v := leafValue(p, b.String()); v.Kind > input.Null || !geometry && !nested {
		g.leaves = append(g.leaves, leaf{g.name(top, nil), top, n, v})
	}
	return nil
}

// leafValue returns the value of an element with text s; if s is blank, its reference or its code (ISO 19139).
func leafValue(e xml.StartElement, s string) input.Value {
	if s = strings.Trim(s, " \t\r\n"); s != "" { // only the blanks of XML
		return input.Value{Kind: input.Untyped, Text: s}
	}
	for _, a := range e.Attr {
		if a.Name.Local == "href" && strings.HasSuffix(a.Name.Space, "xlink") ||
			a.Name.Local == "codeListValue" && a.Value != "" {
			return input.Value{Kind: input.Plain, Text: a.Value}
		}
	}
	return input.Value{Kind: input.Null}
}

// mostNested bounds the depth of elements in a property.
const mostNested = 100

// nested reads an element in the n-th property called top. Its innermost elements are texts.
func (g *features) nested(e xml.StartElement, top string, n int) error {
	type level struct {
		e      xml.StartElement
		text   strings.Builder
		parent bool // has children
	}
	stack := []*level{{e: e}}
	for len(stack) > 0 {
		t, err := g.Token()
		if err != nil {
			return g.Wrong(err)
		}
		last := stack[len(stack)-1]
		switch t := t.(type) {
		case xml.CharData:
			last.text.Write(t)
		case xml.StartElement:
			last.parent = true
			_, geometry := geometryKinds[t.Name.Local]
			switch {
			case isGML(t.Name) && (geometry || unreadKinds[t.Name.Local]):
				g.warn(g.Place(), top, fmt.Sprintf("the geometries in %q are left out: they are nested", top))
				err = g.Leave()
			case isGML(t.Name) && t.Name.Local == "boundedBy":
				err = g.Leave()
			case len(stack) == mostNested:
				err = input.Refuse("line %d: elements lie more than %d deep in the property %q", g.Place().Line,
					mostNested, top)
			default:
				stack = append(stack, &level{e: t})
			}
			if err != nil {
				return err
			}
		case xml.EndElement:
			if v := leafValue(last.e, last.text.String()); !last.parent && v.Kind > input.Null {
				path := make([]string, len(stack))
				for i, l := range stack {
					path[i] = l.e.Name.Local
				}
				g.leaves = append(g.leaves, leaf{g.name(top, path), top, n, v})
			}
			stack = stack[:len(stack)-1]
		}
	}
	return nil
}

// name returns the name of the property for texts at a path of elements in the element top.
// It joins top and the last element of the path that is a property: objects begin with a capital letter (OGC 07-036r1,
// 7.1.1). If another path has that name, it joins all elements.
func (g *features) name(top string, path []string) string {
	key := top + "/" + strings.Join(path, "/")
	if name, ok := g.names[key]; ok {
		return name
	}
	if g.names == nil {
		g.names, g.paths = map[string]string{}, map[string]string{}
	}
	properties := []string{top}
	for _, p := range path {
		if first, _ := utf8.DecodeRuneInString(p); !unicode.IsUpper(first) {
			properties = append(properties, p)
		}
	}
	name := top
	if len(properties) > 1 {
		name += "_" + properties[len(properties)-1]
	}
	if g.paths[name] != "" {
		name = strings.Join(properties, "_")
	}
	name = store.Unique(name, func(s string) bool { return g.paths[s] != "" })
	if len(g.names) < input.MaxNames {
		g.names[key], g.paths[name] = name, key
	}
	return name
}

// collect builds the properties of a feature. If an element occurs count times, or a text several times in it,
// the property is a list. With one text for each element it has null for elements without text.
func (g *features) collect(rec *input.Record, count map[string]int) error {
	texts := map[string][]leaf{}
	for _, l := range g.leaves {
		if len(texts[l.name]) == 0 {
			if len(texts) == input.MaxNames {
				return input.Refuse("line %d: more than %d properties", rec.At.Line, input.MaxNames)
			}
			rec.Fields = append(rec.Fields, input.Field{Name: l.name})
		}
		texts[l.name] = append(texts[l.name], l)
	}
	for i := range rec.Fields {
		f := &rec.Fields[i]
		all := texts[f.Name]
		top := count[all[0].top]
		if top == 1 && len(all) == 1 {
			f.Value = all[0].value
			continue
		}
		row := make([]input.Value, top)
		for _, l := range all {
			if row[l.n].Kind != input.Absent { // several in one element
				row = row[:0]
				break
			}
			row[l.n] = l.value
		}
		if len(row) == 0 {
			for _, l := range all {
				row = append(row, l.value)
			}
		}
		b := []byte{'['}
		for k, v := range row {
			if k > 0 {
				b = append(b, ',')
			}
			b = v.AppendJSON(b)
		}
		f.Value = input.Value{Kind: input.Many, Text: string(append(b, ']'))}
	}
	return nil
}

// geometry reads the geometry of a feature.
func (g *features) geometry(rec *input.Record, e xml.StartElement) error {
	at := g.Place()
	read, wrong, err := g.Geometry(e, g.system)
	if wrong != "" {
		rec.Refused = true
		g.out.Fault(at, true, input.Refused, wrong)
	}
	if err != nil || wrong != "" {
		return err
	}
	if read.System != g.reported || !g.anyReported {
		g.out.Reference(at, read.System)
		g.reported, g.anyReported = read.System, true
	}
	rec.At = at
	g.memory.Place(rec, read.WKB, g.out)
	return nil
}
