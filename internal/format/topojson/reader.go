// Package topojson reads and writes TopoJSON.
package topojson

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"grense/internal/format/geojson"
	"grense/internal/format/input"
	"io"
)

// reader reads one object of a topology (TopoJSON 1.0). The members of an outermost GeometryCollection are the
// features. It keeps the arcs in memory, because all features refer to them and they may come last.
type reader struct {
	open   func() (io.ReadCloser, error)
	object string
	memory input.Memory

	g         geojson.Reader // reads ids and properties
	arcs      [][][2]float64
	transform *transform
}

type transform struct {
	Scale, Translate [2]float64
}

// apply converts a quantized position to a real one.
func (t *transform) apply(p [2]float64) (x, y float64) {
	if t == nil {
		return p[0], p[1]
	}
	return p[0]*t.Scale[0] + t.Translate[0], p[1]*t.Scale[1] + t.Translate[1]
}

func (t *reader) Read(ctx context.Context, out input.Sink) error {
	err := t.pass(func(s *input.JSONScanner) error { return t.load(s) })
	if err == nil {
		err = t.pass(func(s *input.JSONScanner) error {
			t.g = geojson.Reader{JSON: s, Out: out, Names: map[string]*geojson.NameUse{}, Warned: map[string]bool{}}
			return t.objects(ctx)
		})
	}
	if bad, ok := errors.AsType[*input.SyntaxError](err); ok {
		out.Fault(bad.At, false, input.Refused, bad.Message("not TopoJSON: "))
		return nil
	}
	return err
}

func (t *reader) pass(fn func(s *input.JSONScanner) error) error {
	in, err := t.open()
	if err != nil {
		return err
	}
	return errors.Join(fn(input.NewJSONScanner(in, t.memory)), in.Close())
}

// decodeJSON consumes a value of a small part of the file into v.
func decodeJSON(s *input.JSONScanner, v any) error {
	at := s.Here()
	var b []byte
	if err := s.Skip(&b); err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return &input.SyntaxError{At: at, Reason: err.Error()}
	}
	return nil
}

// load reads arcs and transform.
func (t *reader) load(s *input.JSONScanner) error {
	t.arcs, t.transform = nil, nil
	err := s.Object(func(name []byte, _ input.Place) error {
		switch string(name) {
		case "transform":
			t.transform = &transform{}
			return decodeJSON(s, t.transform)
		case "arcs":
			return s.Array(func() error {
				var arc [][]float64
				if _, err := s.Peek(); err != nil {
					return err
				}
				at := s.Here()
				if err := decodeJSON(s, &arc); err != nil {
					return err
				}
				line := make([][2]float64, len(arc))
				for i, p := range arc {
					if len(p) < 2 {
						return &input.SyntaxError{At: at, Reason: "a position of an arc needs two or more numbers"}
					}
					line[i] = [2]float64(p)
				}
				t.arcs = append(t.arcs, line)
				return s.Spend(input.PositionCost * (1 + len(line)))
			})
		}
		return s.Skip(nil)
	})
	for _, arc := range t.arcs {
		var sum [2]float64
		for i, p := range arc {
			if t.transform != nil { // quantized positions are differences
				sum[0], sum[1] = sum[0]+p[0], sum[1]+p[1]
				p = sum
			}
			arc[i][0], arc[i][1] = t.transform.apply(p)
		}
	}
	return err
}

func (t *reader) objects(ctx context.Context) error {
	s := t.g.JSON
	return s.Object(func(name []byte, _ input.Place) error {
		if string(name) == "crs" { // of TopoJSON before 1.0
			if _, err := s.Peek(); err != nil {
				return err
			}
			return t.g.Reference(s.Here())
		}
		if string(name) != "objects" {
			return s.Skip(nil)
		}
		return s.Object(func(name []byte, _ input.Place) error {
			if string(name) != t.object {
				return s.Skip(nil)
			}
			if _, err := s.Peek(); err != nil {
				return err
			}
			n := &node{Node: geojson.Node{At: s.Here()}}
			streamed, err := t.node(n, func() error {
				if err := ctx.Err(); err != nil {
					return err
				}
				return t.feature()
			})
			if err != nil || streamed {
				return err
			}
			return t.emit(n)
		})
	})
}

// node is a geometry object.
type node struct {
	geojson.Node
	arcs, positions json.RawMessage
	members         []*node
}

// feature reads one member of an outermost collection.
func (t *reader) feature() error {
	if _, err := t.g.JSON.Peek(); err != nil {
		return err
	}
	n := &node{Node: geojson.Node{At: t.g.JSON.Here()}}
	if _, err := t.node(n, nil); err != nil {
		return err
	}
	return t.emit(n)
}

func (t *reader) emit(n *node) error {
	s, wrong := t.shape(n)
	if wrong == "" && s != nil {
		closed, dropped := s.Check()
		if dropped > 0 {
			t.g.Fault(n.At, input.Dropped, input.ShortPart)
		}
		if closed > 0 {
			t.g.Fault(n.At, input.Repaired, input.ClosedRing)
		}
		s.Orient() // TopoJSON does not define the orientation of rings
	}
	if wrong != "" {
		t.g.Fault(n.At, input.Refused, wrong)
		s = nil
	}
	return t.g.Emit(&n.Node, s)
}

// node reads an object. each, unless nil, consumes the members of a collection one by one;
// streamed reports that it did.
func (t *reader) node(n *node, each func() error) (streamed bool, err error) {
	s := t.g.JSON
	err = s.Object(func(name []byte, _ input.Place) error {
		member := string(name)
		c, err := s.Peek()
		switch {
		case err != nil:
			return err
		case member == "type" && c == '"':
			err = s.Text()
			n.Typ = string(s.Token)
			return err
		case member == "id":
			return t.g.Identifier(&n.Node, c)
		case member == "properties" && c == '{':
			return t.g.Properties(&n.Node)
		case member == "arcs":
			return s.Skip((*[]byte)(&n.arcs))
		case member == "coordinates":
			return s.Skip((*[]byte)(&n.positions))
		case member == "geometries" && c == '[' && each != nil:
			streamed = true
			return s.Array(each)
		case member == "geometries" && c == '[':
			return s.Array(func() error {
				m := &node{Node: geojson.Node{At: s.Here()}}
				n.members = append(n.members, m)
				_, err := t.node(m, nil)
				return err
			})
		}
		return s.Skip(nil)
	})
	return streamed, err
}

// shape builds the geometry of an object; nil if it is empty or null.
func (t *reader) shape(n *node) (*input.Shape, string) {
	s := &input.Shape{Kind: input.KindNamed(n.Typ)}
	var err error
	wrong := ""
	switch s.Kind {
	case input.Point:
		var p [2]float64
		if err = unmarshal(n.positions, &p); err == nil {
			x, y := t.transform.apply(p)
			s.Add(x, y, 0)
		}
	case input.MultiPoint:
		var list [][2]float64
		err = unmarshal(n.positions, &list)
		for _, p := range list {
			x, y := t.transform.apply(p)
			s.Add(x, y, 0)
		}
	case input.LineString:
		var line []int
		if err = unmarshal(n.arcs, &line); err == nil {
			wrong = t.line(s, line)
			s.Ends = nil
		}
	case input.MultiLineString, input.Polygon:
		var lines [][]int
		err = unmarshal(n.arcs, &lines)
		wrong = t.lines(s, lines)
	case input.MultiPolygon:
		var list [][][]int
		err = unmarshal(n.arcs, &list)
		for _, lines := range list {
			if wrong = t.lines(s, lines); wrong != "" {
				return nil, wrong
			}
			s.Polys = append(s.Polys, len(s.Ends))
		}
	case input.Collection:
		if wrong = t.members(s, n.members); wrong != "" {
			return nil, wrong
		}
	default:
		if n.Typ == "" {
			return nil, "" // a null geometry (TopoJSON 1.0, 2.2)
		}
		return nil, fmt.Sprintf("the type %q is unknown", n.Typ)
	}
	if err != nil {
		return nil, "the arcs or coordinates do not fit to a " + n.Typ + ": " + err.Error()
	}
	if wrong != "" || s.IsEmpty() {
		return nil, wrong
	}
	return s, ""
}

// members appends the geometries of a collection.
func (t *reader) members(s *input.Shape, list []*node) (wrong string) {
	for _, m := range list {
		part, wrong := t.shape(m)
		if wrong != "" {
			return wrong
		}
		if part != nil {
			s.Shapes = append(s.Shapes, *part)
		}
	}
	return ""
}

func unmarshal(b json.RawMessage, v any) error {
	if len(b) == 0 {
		return errors.New("they are missing")
	}
	return json.Unmarshal(b, v)
}

func (t *reader) lines(s *input.Shape, list [][]int) (wrong string) {
	for _, line := range list {
		if wrong := t.line(s, line); wrong != "" {
			return wrong
		}
	}
	return ""
}

// line joins arcs; the first position of each is the last of the one before. Arc -1 is arc 0 backwards, and so on.
func (t *reader) line(s *input.Shape, arcs []int) string {
	start := s.Positions()
	for _, i := range arcs {
		back := i < 0
		if back {
			i = ^i
		}
		if i >= len(t.arcs) {
			return fmt.Sprintf("there is no arc %d", i)
		}
		arc := t.arcs[i]
		if n := s.Positions(); n > start && len(arc) > 0 {
			s.XYZ = s.XYZ[:3*(n-1)]
		}
		if wrong := t.memory.Positions(s.Positions() + len(arc)); wrong != "" {
			return wrong
		}
		for k := range arc {
			if back {
				k = len(arc) - 1 - k
			}
			s.Add(arc[k][0], arc[k][1], 0)
		}
	}
	s.Ends = append(s.Ends, s.Positions())
	return ""
}

// Layer returns the layer of an object of a topology. It states no reference system.
func Layer(f *input.File, object string, o input.Options) input.Layer {
	return input.Layer{Name: object,
		Reader: &reader{open: f.Open, object: object, memory: input.Memory(o.Limits.Feature)}}
}
