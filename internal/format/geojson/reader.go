// Package geojson reads and writes GeoJSON (RFC 7946), sequences of it (RFC 8142) and JSON-FG (OGC 21-045r1).
package geojson

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
)

// Reader reads GeoJSON (RFC 7946), JSON-FG (OGC 21-045r1), and sequences of them: RFC 8142, or one text on each line.
type Reader struct {
	open   func() (io.ReadCloser, error)
	memory input.Memory
	layer  string // the member of the outermost object to read; "" is that object itself
	as     crs.ID // the reference system that the user states, or 0

	JSON    *input.JSONScanner
	Out     input.Sink
	Names   map[string]*NameUse
	serial  int             // number of the current object of properties
	Warned  map[string]bool // warnings that were given, each once for the layer
	refused bool            // the current feature is refused
	fg      jsonFG
}

// NameUse is a name of properties and the last object that had it.
type NameUse struct {
	name   string
	serial int
}

func (g *Reader) Read(ctx context.Context, out input.Sink) error {
	in, err := g.open()
	if err != nil {
		return err
	}
	defer in.Close()
	g.JSON, g.Out = input.NewJSONScanner(in, g.memory), out
	g.Names, g.Warned, g.serial, g.fg = map[string]*NameUse{}, map[string]bool{}, 0, jsonFG{}
	err = g.texts(ctx)
	if bad, ok := errors.AsType[*input.SyntaxError](err); ok {
		out.Fault(bad.At, false, input.Refused, bad.Message("not JSON: "))
		return nil
	}
	return err
}

// texts reads one JSON text or a sequence of them.
func (g *Reader) texts(ctx context.Context) error {
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for c, ok := g.JSON.Raw(); ok && c == 0x1e; c, ok = g.JSON.Raw() { // RFC 8142, 2.1
			g.JSON.Pos++
		}
		c, err := g.JSON.Peek()
		switch {
		case err != nil:
			return err
		case c == 0x1e:
			continue
		case c == 0 && n > 0:
			return nil
		case c == 0:
			g.Out.Fault(g.JSON.Here(), false, input.Refused, "the file is empty")
			return nil
		case c != '{':
			at := g.JSON.Here()
			if err := g.JSON.Skip(nil); err != nil {
				return err
			}
			g.Out.Fault(at, false, input.Refused, "the outermost value must be an object, but is "+input.Describe(c))
			continue
		case g.layer != "":
			err = g.JSON.Object(func(name []byte, _ input.Place) error {
				if string(name) == g.layer {
					return g.root(ctx)
				}
				return g.JSON.Skip(nil)
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
	memberPlace // those of JSON-FG
	memberCoordRefSys
	memberTime
	memberFeatureType
	members
)

var memberNames = [members]string{"type", "coordinates", "geometries", "geometry", "properties", "features", "id",
	"bbox", "crs", "place", "coordRefSys", "time", "featureType"}

// Node is an object of GeoJSON. Its type may come last.
type Node struct {
	At     input.Place
	Typ    string
	has    [members]input.Place
	coords *coordinates
	parts  []input.Shape
	shape  *input.Shape
	fields []input.Field
	id     input.Value

	outer  bool          // no geometry
	place  *Node         // nil: null
	system string        // coordRefSys
	extra  []input.Field // time and featureType
}

// Fault reports a fault of the current feature.
func (g *Reader) Fault(at input.Place, a input.Action, reason string) {
	g.refused = g.refused || a == input.Refused
	g.Out.Fault(at, true, a, reason)
}

// once warns at the first place only.
func (g *Reader) once(at input.Place, reason string) {
	if !g.Warned[reason] {
		g.Warned[reason] = true
		g.Out.Fault(at, false, input.Warning, reason)
	}
}

// root reads an outermost object.
func (g *Reader) root(ctx context.Context) error {
	g.JSON.Begin()
	n := &Node{At: g.JSON.Here(), outer: true}
	if c, err := g.JSON.Peek(); err != nil || c != '{' {
		g.Out.Fault(n.At, false, input.Refused, "a FeatureCollection must be an object, but is "+input.Describe(c))
		return errors.Join(err, g.JSON.Skip(nil))
	}
	streamed := false
	features := func() error {
		c, err := g.JSON.Peek()
		if err != nil {
			return err
		}
		if n.Typ != "" && n.Typ != "FeatureCollection" {
			return g.JSON.Skip(nil)
		}
		if c != '[' {
			g.Out.Fault(n.has[memberFeatures], false, input.Refused,
				`"features" must be an array, but is `+input.Describe(c))
			streamed = true
			return g.JSON.Skip(nil)
		}
		streamed = true
		outer := g.refused
		defer func() { g.refused = outer }()
		return g.JSON.Array(func() error { return g.element(ctx) })
	}
	g.refused = false
	if err := g.node(n, 0, features); err != nil {
		return err
	}
	switch _, isShape := input.Depths[input.KindNamed(n.Typ)]; {
	case n.Typ == "FeatureCollection":
		g.misplaced(n, memberCoordinates, memberGeometries, memberGeometry, memberProperties)
		if n.has[memberFeatures] == (input.Place{}) {
			g.Out.Fault(n.At, false, input.Refused, `a FeatureCollection needs a member "features"`)
		}
		return nil
	case streamed:
		g.typeFault(n, "FeatureCollection", false)
		return nil
	case isShape || n.Typ == "GeometryCollection":
		s := g.shapeOf(n, 0)
		return g.Emit(n, s)
	case n.Typ == "Feature":
		return g.feature(n)
	case n.Typ == "Topology":
		g.Out.Fault(n.At, false, input.Refused, "the topology has no objects")
		return nil
	}
	g.typeFault(n, "FeatureCollection, Feature or the name of a geometry", false)
	return nil
}

// typeFault reports that the type is missing or not the wanted one.
func (g *Reader) typeFault(n *Node, want string, of bool) {
	at, reason := n.At, `the member "type" is missing; `+want+" is expected"
	if n.has[memberType] != (input.Place{}) {
		at, reason = n.has[memberType], "the type must be "+want+", not "+strconv.Quote(n.Typ)
		for _, known := range append(input.ShapeNames[1:], "Feature", "FeatureCollection") {
			if n.Typ != known && strings.EqualFold(n.Typ, known) {
				reason = "the type " + strconv.Quote(n.Typ) + " is written " + known
			}
		}
		if n.Typ == "" {
			reason = "the type must be a string"
		}
	}
	g.refused = g.refused || of
	g.Out.Fault(at, of, input.Refused, reason)
}

// misplaced warns of members that belong to other types (RFC 7946, 7.1).
func (g *Reader) misplaced(n *Node, list ...int) {
	for _, m := range list {
		if at := n.has[m]; at != (input.Place{}) {
			g.once(at, "a "+n.Typ+" has no member "+strconv.Quote(memberNames[m])+"; it is ignored")
		}
	}
}

// element reads one of the features of a collection.
func (g *Reader) element(ctx context.Context) error {
	g.refused = false
	g.JSON.Begin()
	c, err := g.JSON.Peek()
	if err != nil {
		return err
	}
	n := &Node{At: g.JSON.Here(), outer: true}
	if c != '{' {
		g.Fault(n.At, input.Refused, "every feature must be an object, but this is "+input.Describe(c))
		if err := g.JSON.Skip(nil); err != nil {
			return err
		}
		return g.Emit(n, nil)
	}
	if err := g.node(n, 0, nil); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return g.feature(n)
}

func (g *Reader) feature(n *Node) error {
	if n.Typ != "Feature" {
		g.typeFault(n, "Feature", true)
	}
	g.misplaced(n, memberCoordinates, memberGeometries, memberFeatures)
	for _, m := range [...]int{memberGeometry, memberProperties} {
		if n.has[m] == (input.Place{}) {
			g.once(n.At, "a Feature needs the member "+strconv.Quote(memberNames[m])+"; it is taken as null")
		}
	}
	s, err := g.placed(n)
	if err != nil {
		return err
	}
	return g.Emit(n, s)
}

func (g *Reader) Emit(n *Node, s *input.Shape) error {
	r := input.Record{At: n.At, ID: n.id, Fields: n.fields, Extra: g.fg.extra(n), Shape: s, Refused: g.refused}
	g.refused = false
	return g.Out.Record(&r)
}

// node reads the members of an object. features, unless nil, consumes the member of that name.
func (g *Reader) node(n *Node, depth int, features func() error) error {
	return g.JSON.Object(func(name []byte, at input.Place) error {
		m := -1
		for i := range memberNames {
			if memberNames[i] == string(name) {
				m = i
			}
		}
		if m < 0 {
			return g.JSON.Skip(nil) // a foreign member (RFC 7946, 6.1)
		}
		if n.has[m] != (input.Place{}) {
			g.refused = true
			g.Out.Fault(at, features == nil, input.Refused, "the member "+strconv.Quote(memberNames[m])+
				" stands here a second time")
			return g.JSON.Skip(nil)
		}
		n.has[m] = at
		c, err := g.JSON.Peek()
		if err != nil {
			return err
		}
		return g.member(n, m, c, depth, features)
	})
}

// member reads the value of member m, whose first byte is c.
func (g *Reader) member(n *Node, m int, c byte, depth int, features func() error) (err error) {
	at := g.JSON.Here()
	switch {
	case m == memberType && c == '"':
		err = g.JSON.Text()
		n.Typ = string(g.JSON.Token)
		return err
	case m == memberCoordinates && c == '[':
		n.coords, err = g.coordinates()
		return err
	case m == memberGeometries && c == '[':
		return g.JSON.Array(func() error {
			s, err := g.geometry(depth+1, false)
			if s != nil {
				n.parts = append(n.parts, *s)
			}
			return errors.Join(err, g.JSON.Spend(2*input.PositionCost))
		})
	case m == memberGeometry:
		n.shape, err = g.geometry(depth, true)
		return err
	case m == memberProperties && c == '{':
		return g.Properties(n)
	case m == memberProperties && c != 'n':
		g.Fault(at, input.Refused, `"properties" must be an object or null, but is `+input.Describe(c))
	case m == memberFeatures && features != nil:
		return features()
	case m == memberID:
		return g.Identifier(n, c)
	case m == memberBBox:
		return g.bbox(c)
	case m == memberCRS:
		return g.Reference(at)
	case m >= memberPlace && n.outer:
		return g.jsonFG(n, m, c, features != nil)
	}
	return g.JSON.Skip(nil)
}

func (g *Reader) Identifier(n *Node, c byte) (err error) {
	if c == '{' || c == '[' || c == 't' || c == 'f' {
		g.Fault(g.JSON.Here(), input.Refused, "the id of a feature must be a string or a number, but is "+
			input.Describe(c))
		return g.JSON.Skip(nil)
	}
	n.id, err = g.value(c)
	return err
}

// value reads one value of any kind.
func (g *Reader) value(c byte) (input.Value, error) {
	switch {
	case c == '"':
		err := g.JSON.Text()
		return input.Value{Kind: input.Text, Text: string(g.JSON.Token)}, err
	case c == '{' || c == '[':
		var b []byte
		err := g.JSON.Skip(&b)
		return input.Value{Kind: input.Object, Text: string(b)}, err
	case c == '-' || c >= '0' && c <= '9':
		whole, err := g.JSON.Number()
		if next, _ := g.JSON.Raw(); err != nil && string(g.JSON.Token) == "-" && next == 'I' {
			w, err := g.JSON.Word("Infinity")
			return input.Value{Kind: input.Number, Text: "-" + w}, err
		}
		k := input.Number
		if whole {
			k = input.Integer
		}
		return input.Value{Kind: k, Text: string(g.JSON.Token)}, err
	}
	if c == 'N' || c == 'I' { // not JSON, but written by Python and others
		w, err := g.JSON.Word("NaN", "Infinity")
		return input.Value{Kind: input.Number, Text: w}, err
	}
	w, err := g.JSON.Word("true", "false", "null")
	if w == "null" || err != nil {
		return input.Value{Kind: input.Null}, err
	}
	return input.Value{Kind: input.Boolean, Text: w}, nil
}

func (g *Reader) Properties(n *Node) error {
	g.serial++
	return g.JSON.Object(func(b []byte, at input.Place) error {
		use := g.Names[string(b)]
		if use == nil {
			if len(g.Names) == input.MaxNames {
				return g.JSON.Fail("more than %d different properties; name those that are wanted in a smaller file",
					input.MaxNames)
			}
			use = &NameUse{name: string(b)}
			g.Names[use.name] = use
		}
		if use.serial == g.serial {
			g.Fault(at, input.Refused, "the property "+strconv.Quote(use.name)+" stands here a second time")
		}
		use.serial = g.serial
		c, err := g.JSON.Peek()
		if err != nil {
			return err
		}
		v, err := g.value(c)
		n.fields = append(n.fields, input.Field{Name: use.name, Value: v})
		if err == nil {
			err = g.JSON.Spend(input.PositionCost + 2*len(v.Text))
		}
		return err
	})
}

// bbox checks the member bbox (RFC 7946, 5), whose value is not used.
func (g *Reader) bbox(c byte) error {
	at := g.JSON.Here()
	if c == 'n' {
		return g.JSON.Skip(nil)
	}
	if c != '[' {
		g.once(at, `"bbox" must be an array of numbers, but is `+input.Describe(c)+"; it is ignored")
		return g.JSON.Skip(nil)
	}
	n := 0
	err := g.JSON.Array(func() error {
		n++
		c, err := g.JSON.Peek()
		if err != nil {
			return err
		}
		if c != '-' && (c < '0' || c > '9') {
			g.once(g.JSON.Here(), `each element of "bbox" must be a number, but one is `+input.Describe(c)+
				"; it is ignored")
		}
		return g.JSON.Skip(nil)
	})
	if err == nil && n != 4 && n != 6 {
		g.once(at, `"bbox" must have 4 or 6 numbers, not `+strconv.Itoa(n)+"; it is ignored")
	}
	return err
}

// Reference reads the member "crs" of GeoJSON of 2008, section 3.
func (g *Reader) Reference(at input.Place) error {
	var b []byte
	if err := g.JSON.Skip(&b); err != nil {
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
		g.Out.Reference(at, "")
		return nil
	}
	err := json.Unmarshal(b, &crs)
	p := crs.Properties
	switch {
	case err == nil && p.Name != "":
		g.Out.Reference(at, p.Name)
	case err == nil && strings.EqualFold(crs.Type, "EPSG") && p.Code > 0:
		g.Out.Reference(at, "EPSG:"+strconv.Itoa(p.Code))
	case err == nil && p.Href != "":
		g.Out.Reference(at, p.Href)
	default:
		g.Out.Reference(at, string(b[:min(len(b), 100)]))
	}
	return nil
}

// Layer returns the layer of a file with a name from Names.
func Layer(f *input.File, name string, o input.Options) input.Layer {
	// RFC 7946, 4
	return input.Layer{Name: name, Reader: &Reader{open: f.Open, layer: name, memory: input.Memory(o.Limits.Feature),
		as: o.CRS}, Silent: crs.CRS84}
}

// Names reads a JSON text and returns the names of its layers: the objects of a topology;
// the members that are FeatureCollections, if the outermost object is not one; else a single layer without a name.
func Names(in io.Reader) (layers []string, topology bool, err error) {
	s := input.NewJSONScanner(in, 0)
	known := errors.New("known")
	if c, err := s.Peek(); err != nil || c != '{' {
		return []string{""}, false, ignoreSyntax(err)
	}
	var objects []string
	err = s.Object(func(name []byte, _ input.Place) error {
		c, err := s.Peek()
		switch {
		case err != nil:
			return err
		case string(name) == "type" && c == '"':
			if err := s.Text(); err != nil || string(s.Token) != "Topology" {
				return errors.Join(known, err)
			}
			topology = true
			return nil
		case string(name) == "type" || string(name) == "features" && c == '[':
			return known
		case c != '{':
			return s.Skip(nil)
		}
		layer, found, isObjects := string(name), false, string(name) == "objects"
		err = s.Object(func(name []byte, _ input.Place) error {
			if isObjects {
				if len(objects) == input.MaxNames {
					return s.Fail("more than %d objects", input.MaxNames)
				}
				objects = append(objects, string(name))
			}
			c, err := s.Peek()
			found = found || string(name) == "features" && c == '['
			return errors.Join(err, s.Skip(nil))
		})
		if found && len(layers) < input.MaxNames {
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

// ignoreSyntax drops errors of the content, which the reader reports later.
func ignoreSyntax(err error) error {
	if _, ok := errors.AsType[*input.SyntaxError](err); ok {
		return nil
	}
	return err
}
