package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"grense/internal/geo/crs"
)

// maxNames bounds the names of properties of a layer; SQLite has at most 2000 columns.
const maxNames = 1900

// geoReader reads GeoJSON (RFC 7946), JSON-FG (OGC 21-045r1), and sequences of them (RFC 8142, or a text on each line).
type geoReader struct {
	open   func() (io.ReadCloser, error)
	memory memory
	layer  string // the member of the outermost object that is read; "" is that object itself
	as     crs.ID // what a person says the coordinates are in, or 0

	s       *jsonScanner
	out     sink
	names   map[string]*nameUse
	serial  int             // of the object of properties under way
	told    map[string]bool // warnings that are given once for the layer
	refused bool            // the feature under way is
	fg      jsonFG
}

// nameUse is a name of properties and the object that had it last.
type nameUse struct {
	name   string
	serial int
}

func (g *geoReader) read(ctx context.Context, out sink) error {
	in, err := g.open()
	if err != nil {
		return err
	}
	defer in.Close()
	g.s, g.out = newJSONScanner(in, g.memory), out
	g.names, g.told, g.serial, g.fg = map[string]*nameUse{}, map[string]bool{}, 0, jsonFG{}
	err = g.texts(ctx)
	if bad, ok := errors.AsType[*syntaxError](err); ok {
		out.fault(bad.at, false, Refused, bad.tell("not JSON: "))
		return nil
	}
	return err
}

// texts reads one JSON text, or a sequence of them.
func (g *geoReader) texts(ctx context.Context) error {
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for c, ok := g.s.raw(); ok && c == 0x1e; c, ok = g.s.raw() { // RFC 8142, 2.1
			g.s.pos++
		}
		c, err := g.s.peek()
		switch {
		case err != nil:
			return err
		case c == 0x1e:
			continue
		case c == 0 && n > 0:
			return nil
		case c == 0:
			g.out.fault(g.s.here(), false, Refused, "the file is empty")
			return nil
		case c != '{':
			at := g.s.here()
			if err := g.s.skip(nil); err != nil {
				return err
			}
			g.out.fault(at, false, Refused, "the outermost value must be an object, but is "+describe(c))
			continue
		case g.layer != "":
			err = g.s.object(func(name []byte, _ place) error {
				if string(name) == g.layer {
					return g.root(ctx)
				}
				return g.s.skip(nil)
			})
		default:
			err = g.root(ctx)
		}
		if err != nil {
			return err
		}
	}
}

// Members with a meaning in GeoJSON.
const (
	memberType = iota
	memberCoordinates
	memberGeometries
	memberGeometry
	memberProperties
	memberFeatures
	memberID
	memberBBox
	memberCRS
	memberPlace // these of JSON-FG
	memberCoordRefSys
	memberTime
	memberFeatureType
	members
)

var memberNames = [members]string{"type", "coordinates", "geometries", "geometry", "properties", "features", "id", "bbox", "crs", "place", "coordRefSys", "time", "featureType"}

// node is an object of GeoJSON whose type may come last.
type node struct {
	at     place
	typ    string
	has    [members]place
	coords *coordinates
	parts  []shape
	shape  *shape
	fields []field
	id     value

	outer  bool    // no geometry
	place  *node   // nil: null
	system string  // coordRefSys
	extra  []field // time and featureType
}

// fault tells what is wrong with the feature under way.
func (g *geoReader) fault(at place, a Action, reason string) {
	g.refused = g.refused || a == Refused
	g.out.fault(at, true, a, reason)
}

// once warns at the first place only.
func (g *geoReader) once(at place, reason string) {
	if !g.told[reason] {
		g.told[reason] = true
		g.out.fault(at, false, Warning, reason)
	}
}

// root reads an outermost object.
func (g *geoReader) root(ctx context.Context) error {
	g.s.begin()
	n := &node{at: g.s.here(), outer: true}
	if c, err := g.s.peek(); err != nil || c != '{' {
		g.out.fault(n.at, false, Refused, "a FeatureCollection must be an object, but is "+describe(c))
		return errors.Join(err, g.s.skip(nil))
	}
	streamed := false
	features := func() error {
		c, err := g.s.peek()
		if err != nil {
			return err
		}
		if n.typ != "" && n.typ != "FeatureCollection" {
			return g.s.skip(nil)
		}
		if c != '[' {
			g.out.fault(n.has[memberFeatures], false, Refused, `"features" must be an array, but is `+describe(c))
			streamed = true
			return g.s.skip(nil)
		}
		streamed = true
		outer := g.refused
		defer func() { g.refused = outer }()
		return g.s.array(func() error { return g.element(ctx) })
	}
	g.refused = false
	if err := g.node(n, 0, features); err != nil {
		return err
	}
	switch _, isShape := depths[kindNamed(n.typ)]; {
	case n.typ == "FeatureCollection":
		g.misplaced(n, memberCoordinates, memberGeometries, memberGeometry, memberProperties)
		if n.has[memberFeatures] == (place{}) {
			g.out.fault(n.at, false, Refused, `a FeatureCollection needs a member "features"`)
		}
		return nil
	case streamed:
		g.typeFault(n, "FeatureCollection", false)
		return nil
	case isShape || n.typ == "GeometryCollection":
		s := g.shapeOf(n, 0)
		return g.emit(n, s)
	case n.typ == "Feature":
		return g.feature(n)
	case n.typ == "Topology":
		g.out.fault(n.at, false, Refused, "the topology has no objects")
		return nil
	}
	g.typeFault(n, "FeatureCollection, Feature or the name of a geometry", false)
	return nil
}

// typeFault tells that the type is missing or another one than wanted.
func (g *geoReader) typeFault(n *node, want string, of bool) {
	at, reason := n.at, `the member "type" is missing; `+want+" is expected"
	if n.has[memberType] != (place{}) {
		at, reason = n.has[memberType], "the type must be "+want+", not "+strconv.Quote(n.typ)
		for _, known := range append(shapeNames[1:], "Feature", "FeatureCollection") {
			if n.typ != known && strings.EqualFold(n.typ, known) {
				reason = "the type " + strconv.Quote(n.typ) + " is written " + known
			}
		}
		if n.typ == "" {
			reason = "the type must be a string"
		}
	}
	g.refused = g.refused || of
	g.out.fault(at, of, Refused, reason)
}

// misplaced warns of members that belong to other types (RFC 7946, 7.1).
func (g *geoReader) misplaced(n *node, list ...int) {
	for _, m := range list {
		if at := n.has[m]; at != (place{}) {
			g.once(at, "a "+n.typ+" has no member "+strconv.Quote(memberNames[m])+"; it is ignored")
		}
	}
}

// element reads one of the features of a collection.
func (g *geoReader) element(ctx context.Context) error {
	g.refused = false
	g.s.begin()
	c, err := g.s.peek()
	if err != nil {
		return err
	}
	n := &node{at: g.s.here(), outer: true}
	if c != '{' {
		g.fault(n.at, Refused, "every feature must be an object, but this is "+describe(c))
		if err := g.s.skip(nil); err != nil {
			return err
		}
		return g.emit(n, nil)
	}
	if err := g.node(n, 0, nil); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return g.feature(n)
}

func (g *geoReader) feature(n *node) error {
	if n.typ != "Feature" {
		g.typeFault(n, "Feature", true)
	}
	g.misplaced(n, memberCoordinates, memberGeometries, memberFeatures)
	for _, m := range [...]int{memberGeometry, memberProperties} {
		if n.has[m] == (place{}) {
			g.once(n.at, "a Feature needs the member "+strconv.Quote(memberNames[m])+"; it is taken as null")
		}
	}
	s, err := g.placed(n)
	if err != nil {
		return err
	}
	return g.emit(n, s)
}

func (g *geoReader) emit(n *node, s *shape) error {
	r := record{at: n.at, id: n.id, fields: n.fields, extra: g.fg.extra(n), shape: s, refused: g.refused}
	g.refused = false
	return g.out.record(&r)
}

// node reads the members of an object. features, when not nil, consumes the member of that name.
func (g *geoReader) node(n *node, depth int, features func() error) error {
	return g.s.object(func(name []byte, at place) error {
		m := -1
		for i := range memberNames {
			if memberNames[i] == string(name) {
				m = i
			}
		}
		if m < 0 {
			return g.s.skip(nil) // a foreign member (RFC 7946, 6.1)
		}
		if n.has[m] != (place{}) {
			g.refused = true
			g.out.fault(at, features == nil, Refused, "the member "+strconv.Quote(memberNames[m])+" stands here a second time")
			return g.s.skip(nil)
		}
		n.has[m] = at
		c, err := g.s.peek()
		if err != nil {
			return err
		}
		return g.member(n, m, c, depth, features)
	})
}

// member reads the value of member m, which begins with c.
func (g *geoReader) member(n *node, m int, c byte, depth int, features func() error) (err error) {
	at := g.s.here()
	switch {
	case m == memberType && c == '"':
		err = g.s.string()
		n.typ = string(g.s.tok)
		return err
	case m == memberCoordinates && c == '[':
		n.coords, err = g.coordinates()
		return err
	case m == memberGeometries && c == '[':
		return g.s.array(func() error {
			s, err := g.geometry(depth+1, false)
			if s != nil {
				n.parts = append(n.parts, *s)
			}
			return errors.Join(err, g.s.spend(2*positionCost))
		})
	case m == memberGeometry:
		n.shape, err = g.geometry(depth, true)
		return err
	case m == memberProperties && c == '{':
		return g.properties(n)
	case m == memberProperties && c != 'n':
		g.fault(at, Refused, `"properties" must be an object or null, but is `+describe(c))
	case m == memberFeatures && features != nil:
		return features()
	case m == memberID:
		return g.identifier(n, c)
	case m == memberBBox:
		return g.bbox(c)
	case m == memberCRS:
		return g.reference(at)
	case m >= memberPlace && n.outer:
		return g.jsonFG(n, m, c, features != nil)
	}
	return g.s.skip(nil)
}

func (g *geoReader) identifier(n *node, c byte) (err error) {
	if c == '{' || c == '[' || c == 't' || c == 'f' {
		g.fault(g.s.here(), Refused, "the id of a feature must be a string or a number, but is "+describe(c))
		return g.s.skip(nil)
	}
	n.id, err = g.value(c)
	return err
}

// value reads one value of any kind.
func (g *geoReader) value(c byte) (value, error) {
	switch {
	case c == '"':
		err := g.s.string()
		return value{text, string(g.s.tok)}, err
	case c == '{' || c == '[':
		var b []byte
		err := g.s.skip(&b)
		return value{object, string(b)}, err
	case c == '-' || c >= '0' && c <= '9':
		whole, err := g.s.number()
		if next, _ := g.s.raw(); err != nil && string(g.s.tok) == "-" && next == 'I' {
			w, err := g.s.word("Infinity")
			return value{number, "-" + w}, err
		}
		k := number
		if whole {
			k = integer
		}
		return value{k, string(g.s.tok)}, err
	}
	if c == 'N' || c == 'I' { // no JSON, but what Python and others write
		w, err := g.s.word("NaN", "Infinity")
		return value{number, w}, err
	}
	w, err := g.s.word("true", "false", "null")
	if w == "null" || err != nil {
		return value{kind: null}, err
	}
	return value{boolean, w}, nil
}

func (g *geoReader) properties(n *node) error {
	g.serial++
	return g.s.object(func(b []byte, at place) error {
		use := g.names[string(b)]
		if use == nil {
			if len(g.names) == maxNames {
				return g.s.fail("more than %d different properties; name those that are wanted in a smaller file", maxNames)
			}
			use = &nameUse{name: string(b)}
			g.names[use.name] = use
		}
		if use.serial == g.serial {
			g.fault(at, Refused, "the property "+strconv.Quote(use.name)+" stands here a second time")
		}
		use.serial = g.serial
		c, err := g.s.peek()
		if err != nil {
			return err
		}
		v, err := g.value(c)
		n.fields = append(n.fields, field{use.name, v})
		if err == nil {
			err = g.s.spend(positionCost + 2*len(v.text))
		}
		return err
	})
}

// bbox checks the member (RFC 7946, 5), of which nothing is used.
func (g *geoReader) bbox(c byte) error {
	at := g.s.here()
	if c == 'n' {
		return g.s.skip(nil)
	}
	if c != '[' {
		g.once(at, `"bbox" must be an array of numbers, but is `+describe(c)+"; it is ignored")
		return g.s.skip(nil)
	}
	n := 0
	err := g.s.array(func() error {
		n++
		c, err := g.s.peek()
		if err != nil {
			return err
		}
		if c != '-' && (c < '0' || c > '9') {
			g.once(g.s.here(), `each element of "bbox" must be a number, but one is `+describe(c)+"; it is ignored")
		}
		return g.s.skip(nil)
	})
	if err == nil && n != 4 && n != 6 {
		g.once(at, `"bbox" must have 4 or 6 numbers, not `+strconv.Itoa(n)+"; it is ignored")
	}
	return err
}

// reference reads the member "crs" of GeoJSON of 2008, section 3.
func (g *geoReader) reference(at place) error {
	var b []byte
	if err := g.s.skip(&b); err != nil {
		return err
	}
	var crs struct {
		Type       string
		Properties struct {
			Name, Href string
			Code       int
		}
	}
	if string(b) == "null" {
		g.out.reference(at, "")
		return nil
	}
	err := json.Unmarshal(b, &crs)
	p := crs.Properties
	switch {
	case err == nil && p.Name != "":
		g.out.reference(at, p.Name)
	case err == nil && strings.EqualFold(crs.Type, "EPSG") && p.Code > 0:
		g.out.reference(at, "EPSG:"+strconv.Itoa(p.Code))
	case err == nil && p.Href != "":
		g.out.reference(at, p.Href)
	default:
		g.out.reference(at, string(b[:min(len(b), 100)]))
	}
	return nil
}

// jsonLayers looks into a JSON text and returns the names of its layers: the objects of a topology; the members that are
// FeatureCollections, of an outermost object that is none; else one without a name.
func jsonLayers(in io.Reader) (layers []string, topology bool, err error) {
	s := newJSONScanner(in, 0)
	known := errors.New("known")
	if c, err := s.peek(); err != nil || c != '{' {
		return []string{""}, false, ignoreSyntax(err)
	}
	var objects []string
	err = s.object(func(name []byte, _ place) error {
		c, err := s.peek()
		switch {
		case err != nil:
			return err
		case string(name) == "type" && c == '"':
			if err := s.string(); err != nil || string(s.tok) != "Topology" {
				return errors.Join(known, err)
			}
			topology = true
			return nil
		case string(name) == "type" || string(name) == "features" && c == '[':
			return known
		case c != '{':
			return s.skip(nil)
		}
		layer, found, isObjects := string(name), false, string(name) == "objects"
		err = s.object(func(name []byte, _ place) error {
			if isObjects {
				if len(objects) == maxNames {
					return s.fail("more than %d objects", maxNames)
				}
				objects = append(objects, string(name))
			}
			c, err := s.peek()
			found = found || string(name) == "features" && c == '['
			return errors.Join(err, s.skip(nil))
		})
		if found && len(layers) < maxNames {
			layers = append(layers, layer)
		}
		return err
	})
	if topology && len(objects) > 0 {
		return objects, true, ignoreSyntax(err)
	}
	if errors.Is(err, known) || len(layers) == 0 {
		return []string{""}, false, nil
	}
	return layers, false, ignoreSyntax(err)
}

// ignoreSyntax leaves faults of the content to the one who reads it.
func ignoreSyntax(err error) error {
	if _, ok := errors.AsType[*syntaxError](err); ok {
		return nil
	}
	return err
}
