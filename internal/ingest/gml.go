package ingest

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

	"grense/internal/geo/crs"
	"grense/internal/store"
)

// gmlReader reads the features of one type of GML 2 and 3 of simple features (OGC 10-100r3): members of a collection whose properties are texts, nested texts or geometries
// of straight lines and arcs of circles. Coordinates are in the order of the authority where the reference system is named by a URN or URI, and x before y where it is named EPSG:n.
type gmlReader struct {
	open   func() (io.ReadCloser, error)
	kind   string // name of the elements that are features
	memory memory
	as     crs.ID // what a person says the coordinates are in, or 0
}

// gmlMembers are the elements that hold features.
var gmlMembers = map[string]bool{"featureMember": true, "featureMembers": true, "member": true}

// gmlUnread are elements that are geometries and are not read.
var gmlUnread = map[string]bool{"Solid": true, "CompositeSolid": true, "MultiSolid": true, "PolyhedralSurface": true, "TriangulatedSurface": true, "Tin": true,
	"OrientableCurve": true, "OrientableSurface": true, "GeometricComplex": true, "Grid": true, "RectifiedGrid": true, "Shell": true, "Envelope": true}

func isGML(n xml.Name) bool { return strings.HasPrefix(n.Space, "http://www.opengis.net/gml") }

// members calls fn with each element that is a feature, until the document ends; other is called with what stands elsewhere.
func (d *GMLDecoder) members(fn func(e xml.StartElement) error, other func(e xml.StartElement)) error {
	var path []string // names of the elements around
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
			if len(path) > 0 && gmlMembers[path[len(path)-1]] && t.Name.Local != "FeatureCollection" {
				if err := fn(t); err != nil {
					return err
				}
				continue
			}
			other(t)
			if path = append(path, t.Name.Local); len(path) > 1000 {
				return refusal("line %d: elements lie more than 1000 deep in each other", d.place().line)
			}
		}
	}
}

// gmlLayers lists the types of the features of a file.
func gmlLayers(f *file) (names []string, err error) {
	in, err := f.open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	d := NewGMLDecoder(in, maxRow)
	err = d.members(func(e xml.StartElement) error {
		if !slices.Contains(names, e.Name.Local) {
			if names = append(names, e.Name.Local); len(names) > maxNames {
				return refusal("more than %d types of features", maxNames)
			}
		}
		return d.Leave()
	}, func(xml.StartElement) {})
	switch {
	case err != nil && errors.Is(err, ErrRefused) && len(names) > 0: // the survey tells it with its place
		return names, nil
	case err != nil:
		return nil, err
	case names == nil:
		return nil, refusal("%s holds no features in featureMember or member elements; is it GML, and not empty?", f.name)
	}
	return names, nil
}

func (r *gmlReader) read(ctx context.Context, out sink) error {
	in, err := r.open()
	if err != nil {
		return err
	}
	defer in.Close()
	g := &gmlFeatures{GMLDecoder: NewGMLDecoder(in, r.memory.bytes()/4), out: out}
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
		return out.record(rec)
	}, func(e xml.StartElement) {
		if name := attr(e, "srsName"); name != "" { // of boundedBy
			g.system = name
		}
	})
	if errors.Is(err, ErrRefused) && ctx.Err() == nil {
		out.fault(g.place(), false, Refused, Reason(err))
		return nil
	}
	return err
}

// gmlFeatures reads features one by one.
type gmlFeatures struct {
	*GMLDecoder
	out     sink
	system  string // of geometries that name none
	told    string // the system that was told last
	telling bool
	known   map[string]bool   // names of properties that were left out, and told
	names   map[string]string // of properties, by the path of their elements
	paths   map[string]string // the other way round
	leaves  []gmlLeaf         // of the feature being read
}

// gmlLeaf is a text in a property of a feature.
type gmlLeaf struct {
	name, top string // of the property that it becomes; and of the element of the feature that it lies in
	n         int    // which of the elements called top that is, from 0
	value     value
}

func (g *gmlFeatures) warn(at place, name, reason string) {
	if g.known == nil {
		g.known = map[string]bool{}
	}
	if !g.known[name] && len(g.known) < maxNames {
		g.known[name] = true
		g.out.fault(at, false, Warning, reason)
	}
}

// feature reads a feature whose element has begun.
func (g *gmlFeatures) feature(e xml.StartElement) (*record, error) {
	rec := &record{at: g.place()}
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
		rec.id = value{plain, own}
	}
	return rec, nil
}

// property reads a property whose element has begun, number n of its name: a text, a geometry, or elements with texts.
func (g *gmlFeatures) property(rec *record, p xml.StartElement, n int) error {
	at, top := g.place(), p.Name.Local
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
			_, is := gmlGeometries[t.Name.Local]
			switch is = is && isGML(t.Name); {
			case is && rec.shape == nil && !rec.refused:
				geometry = true
				err = g.geometry(rec, t)
			case is:
				geometry = true
				g.warn(at, top, fmt.Sprintf("further geometries, as in %q, are left out", top))
				err = g.Leave()
			case isGML(t.Name) && gmlUnread[t.Name.Local]:
				geometry = true
				g.warn(at, top, fmt.Sprintf("geometries of the type %s, as in %q, are not read and left out; ogr2ogr makes simple ones", t.Name.Local, top))
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
	if v := leafValue(p, b.String()); v.kind > null || !geometry && !nested {
		g.leaves = append(g.leaves, gmlLeaf{g.name(top, nil), top, n, v})
	}
	return nil
}

// leafValue is the value of an element with that text: else of its reference, or of its code (ISO 19139).
func leafValue(e xml.StartElement, s string) value {
	if s = strings.Trim(s, " \t\r\n"); s != "" { // blanks of XML, and no others
		return value{untyped, s}
	}
	for _, a := range e.Attr {
		if a.Name.Local == "href" && strings.HasSuffix(a.Name.Space, "xlink") || a.Name.Local == "codeListValue" && a.Value != "" {
			return value{plain, a.Value}
		}
	}
	return value{kind: null}
}

// mostNested bounds how deep elements lie in each other in a property.
const mostNested = 100

// nested reads an element in the property top, number n of that name, whose innermost elements are texts.
func (g *gmlFeatures) nested(e xml.StartElement, top string, n int) error {
	type level struct {
		e      xml.StartElement
		text   strings.Builder
		parent bool // has elements
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
			_, geometry := gmlGeometries[t.Name.Local]
			switch {
			case isGML(t.Name) && (geometry || gmlUnread[t.Name.Local]):
				g.warn(g.place(), top, fmt.Sprintf("the geometries in %q are left out: they are nested", top))
				err = g.Leave()
			case isGML(t.Name) && t.Name.Local == "boundedBy":
				err = g.Leave()
			case len(stack) == mostNested:
				err = refusal("line %d: elements lie more than %d deep in the property %q", g.place().line, mostNested, top)
			default:
				stack = append(stack, &level{e: t})
			}
			if err != nil {
				return err
			}
		case xml.EndElement:
			if v := leafValue(last.e, last.text.String()); !last.parent && v.kind > null {
				path := make([]string, len(stack))
				for i, l := range stack {
					path[i] = l.e.Name.Local
				}
				g.leaves = append(g.leaves, gmlLeaf{g.name(top, path), top, n, v})
			}
			stack = stack[:len(stack)-1]
		}
	}
	return nil
}

// name names the property for the texts at a path of elements in the element top: by top, and by the last of the path that is a property and no object
// (OGC 07-036r1, 7.1.1: objects begin with a capital letter). If another path has that name, by all of them.
func (g *gmlFeatures) name(top string, path []string) string {
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
	if len(g.names) < maxNames {
		g.names[key], g.paths[name] = name, key
	}
	return name
}

// collect makes the properties of a feature. Where an element stands count times, or a text several times in it, the property is a list; with one text
// for each element, null where it has none.
func (g *gmlFeatures) collect(rec *record, count map[string]int) error {
	texts := map[string][]gmlLeaf{}
	for _, l := range g.leaves {
		if len(texts[l.name]) == 0 {
			if len(texts) == maxNames {
				return refusal("line %d: more than %d properties", rec.at.line, maxNames)
			}
			rec.fields = append(rec.fields, field{name: l.name})
		}
		texts[l.name] = append(texts[l.name], l)
	}
	for i := range rec.fields {
		f := &rec.fields[i]
		all := texts[f.name]
		top := count[all[0].top]
		if top == 1 && len(all) == 1 {
			f.value = all[0].value
			continue
		}
		row := make([]value, top)
		for _, l := range all {
			if row[l.n].kind != absent { // several in one element
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
			b = v.appendJSON(b)
		}
		f.value = value{many, string(append(b, ']'))}
	}
	return nil
}

// geometry reads the geometry of a feature.
func (g *gmlFeatures) geometry(rec *record, e xml.StartElement) error {
	at := g.place()
	read, wrong, err := g.Geometry(e, g.system)
	if wrong != "" {
		rec.refused = true
		g.out.fault(at, true, Refused, wrong)
	}
	if err != nil || wrong != "" {
		return err
	}
	if read.System != g.told || !g.telling {
		g.out.reference(at, read.System)
		g.told, g.telling = read.System, true
	}
	rec.at = at
	g.memory.place(rec, read.WKB, g.out)
	return nil
}
