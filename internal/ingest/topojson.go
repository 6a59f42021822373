package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// topoReader reads one object of a topology (TopoJSON 1.0). The members of an outermost GeometryCollection are the features. The arcs,
// to which all features refer and which may come last, are kept in memory.
type topoReader struct {
	open   func() (io.ReadCloser, error)
	object string
	memory memory

	g         geoReader // reads ids and properties
	arcs      [][][2]float64
	transform *topoTransform
}

type topoTransform struct {
	Scale, Translate [2]float64
}

// apply turns a quantized position into a real one.
func (t *topoTransform) apply(p [2]float64) (x, y float64) {
	if t == nil {
		return p[0], p[1]
	}
	return p[0]*t.Scale[0] + t.Translate[0], p[1]*t.Scale[1] + t.Translate[1]
}

func (t *topoReader) read(ctx context.Context, out sink) error {
	err := t.pass(func(s *jsonScanner) error { return t.load(s) })
	if err == nil {
		err = t.pass(func(s *jsonScanner) error {
			t.g = geoReader{s: s, out: out, names: map[string]*nameUse{}, told: map[string]bool{}}
			return t.objects(ctx)
		})
	}
	if bad, ok := errors.AsType[*syntaxError](err); ok {
		out.fault(bad.at, false, Refused, bad.tell("not TopoJSON: "))
		return nil
	}
	return err
}

func (t *topoReader) pass(fn func(s *jsonScanner) error) error {
	in, err := t.open()
	if err != nil {
		return err
	}
	return errors.Join(fn(newJSONScanner(in, t.memory)), in.Close())
}

// decode consumes a value of a small part of the file into v.
func decodeJSON(s *jsonScanner, v any) error {
	at := s.here()
	var b []byte
	if err := s.skip(&b); err != nil {
		return err
	}
	if err := json.Unmarshal(b, v); err != nil {
		return &syntaxError{at: at, reason: err.Error()}
	}
	return nil
}

// load reads arcs and transform.
func (t *topoReader) load(s *jsonScanner) error {
	t.arcs, t.transform = nil, nil
	err := s.object(func(name []byte, _ place) error {
		switch string(name) {
		case "transform":
			t.transform = &topoTransform{}
			return decodeJSON(s, t.transform)
		case "arcs":
			return s.array(func() error {
				var arc [][]float64
				if _, err := s.peek(); err != nil {
					return err
				}
				at := s.here()
				if err := decodeJSON(s, &arc); err != nil {
					return err
				}
				line := make([][2]float64, len(arc))
				for i, p := range arc {
					if len(p) < 2 {
						return &syntaxError{at: at, reason: "a position of an arc needs two or more numbers"}
					}
					line[i] = [2]float64(p)
				}
				t.arcs = append(t.arcs, line)
				return s.spend(positionCost * (1 + len(line)))
			})
		}
		return s.skip(nil)
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

func (t *topoReader) objects(ctx context.Context) error {
	s := t.g.s
	return s.object(func(name []byte, _ place) error {
		if string(name) == "crs" { // of TopoJSON before 1.0
			if _, err := s.peek(); err != nil {
				return err
			}
			return t.g.reference(s.here())
		}
		if string(name) != "objects" {
			return s.skip(nil)
		}
		return s.object(func(name []byte, _ place) error {
			if string(name) != t.object {
				return s.skip(nil)
			}
			if _, err := s.peek(); err != nil {
				return err
			}
			n := &topoNode{node: node{at: s.here()}}
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

// topoNode is a geometry object.
type topoNode struct {
	node
	arcs, positions json.RawMessage
	members         []*topoNode
}

// feature reads one member of an outermost collection.
func (t *topoReader) feature() error {
	if _, err := t.g.s.peek(); err != nil {
		return err
	}
	n := &topoNode{node: node{at: t.g.s.here()}}
	if _, err := t.node(n, nil); err != nil {
		return err
	}
	return t.emit(n)
}

func (t *topoReader) emit(n *topoNode) error {
	s, wrong := t.shape(n)
	if wrong == "" && s != nil {
		closed, dropped := s.check()
		if dropped > 0 {
			t.g.fault(n.at, Dropped, shortPart)
		}
		if closed > 0 {
			t.g.fault(n.at, Repaired, closedRing)
		}
		s.orient() // TopoJSON does not say how rings run
	}
	if wrong != "" {
		t.g.fault(n.at, Refused, wrong)
		s = nil
	}
	return t.g.emit(&n.node, s)
}

// node reads an object. each, when not nil, consumes the members of a collection one by one; streamed tells that it did.
func (t *topoReader) node(n *topoNode, each func() error) (streamed bool, err error) {
	s := t.g.s
	err = s.object(func(name []byte, _ place) error {
		member := string(name)
		c, err := s.peek()
		switch {
		case err != nil:
			return err
		case member == "type" && c == '"':
			err = s.string()
			n.typ = string(s.tok)
			return err
		case member == "id":
			return t.g.identifier(&n.node, c)
		case member == "properties" && c == '{':
			return t.g.properties(&n.node)
		case member == "arcs":
			return s.skip((*[]byte)(&n.arcs))
		case member == "coordinates":
			return s.skip((*[]byte)(&n.positions))
		case member == "geometries" && c == '[' && each != nil:
			streamed = true
			return s.array(each)
		case member == "geometries" && c == '[':
			return s.array(func() error {
				m := &topoNode{node: node{at: s.here()}}
				n.members = append(n.members, m)
				_, err := t.node(m, nil)
				return err
			})
		}
		return s.skip(nil)
	})
	return streamed, err
}

// shape makes the geometry of an object; nil when it is empty or null.
func (t *topoReader) shape(n *topoNode) (*shape, string) {
	s := &shape{kind: kindNamed(n.typ)}
	var err error
	wrong := ""
	switch s.kind {
	case point:
		var p [2]float64
		if err = unmarshal(n.positions, &p); err == nil {
			x, y := t.transform.apply(p)
			s.add(x, y, 0)
		}
	case multiPoint:
		var list [][2]float64
		err = unmarshal(n.positions, &list)
		for _, p := range list {
			x, y := t.transform.apply(p)
			s.add(x, y, 0)
		}
	case lineString:
		var line []int
		if err = unmarshal(n.arcs, &line); err == nil {
			wrong = t.line(s, line)
			s.ends = nil
		}
	case multiLineString, polygon:
		var lines [][]int
		err = unmarshal(n.arcs, &lines)
		wrong = t.lines(s, lines)
	case multiPolygon:
		var list [][][]int
		err = unmarshal(n.arcs, &list)
		for _, lines := range list {
			if wrong = t.lines(s, lines); wrong != "" {
				return nil, wrong
			}
			s.polys = append(s.polys, len(s.ends))
		}
	case collection:
		if wrong = t.members(s, n.members); wrong != "" {
			return nil, wrong
		}
	default:
		if n.typ == "" {
			return nil, "" // a null geometry (TopoJSON 1.0, 2.2)
		}
		return nil, fmt.Sprintf("the type %q is unknown", n.typ)
	}
	if err != nil {
		return nil, "the arcs or coordinates do not fit to a " + n.typ + ": " + err.Error()
	}
	if wrong != "" || s.isEmpty() {
		return nil, wrong
	}
	return s, ""
}

// members appends the geometries of a collection.
func (t *topoReader) members(s *shape, list []*topoNode) (wrong string) {
	for _, m := range list {
		part, wrong := t.shape(m)
		if wrong != "" {
			return wrong
		}
		if part != nil {
			s.shapes = append(s.shapes, *part)
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

func (t *topoReader) lines(s *shape, list [][]int) (wrong string) {
	for _, line := range list {
		if wrong := t.line(s, line); wrong != "" {
			return wrong
		}
	}
	return ""
}

// line joins arcs; the first position of each is the last of the one before. The arc -1 is arc 0 backwards, and so on.
func (t *topoReader) line(s *shape, arcs []int) string {
	start := s.positions()
	for _, i := range arcs {
		back := i < 0
		if back {
			i = ^i
		}
		if i >= len(t.arcs) {
			return fmt.Sprintf("there is no arc %d", i)
		}
		arc := t.arcs[i]
		if n := s.positions(); n > start && len(arc) > 0 {
			s.xyz = s.xyz[:3*(n-1)]
		}
		if wrong := t.memory.positions(s.positions() + len(arc)); wrong != "" {
			return wrong
		}
		for k := range arc {
			if back {
				k = len(arc) - 1 - k
			}
			s.add(arc[k][0], arc[k][1], 0)
		}
	}
	s.ends = append(s.ends, s.positions())
	return ""
}
