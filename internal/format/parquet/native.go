package parquet

import (
	"math"

	"github.com/parquet-go/parquet-go"

	"grense/internal/format/input"
	"grense/internal/geo/wkb"
)

// nativeKinds are the encodings of geometries as lists of coordinates (GeoParquet 1.1, native encodings).
var nativeKinds = map[string]wkb.Kind{"point": input.Point, "linestring": input.LineString, "polygon": input.Polygon,
	"multipoint": input.MultiPoint, "multilinestring": input.MultiLineString,
	"multipolygon": input.MultiPolygon}

// nativeGeometry is a column in such an encoding, by the numbers of the leaves with the ordinates.
type nativeGeometry struct {
	kind    wkb.Kind
	x, y, z int // z is -1 without heights
	levels  int // lists around a position
}

// nativeOf finds the leaves of a column; nil if its structure does not fit its kind.
func (t *table) nativeOf(n parquet.Node, kind wkb.Kind, f column) *nativeGeometry {
	g := &nativeGeometry{kind: kind, x: -1, y: -1, z: -1, levels: input.Depths[kind]}
	if len(f.names) != f.to-f.from {
		return nil
	}
	for i, name := range f.names {
		leaf := f.from + i
		if t.leaves[leaf].typ.Kind() != parquet.Double {
			return nil
		}
		switch name {
		case "x":
			g.x = leaf
		case "y":
			g.y = leaf
		case "z":
			g.z = leaf
		}
	}
	lists := 0
	for !n.Leaf() {
		if n.Repeated() {
			lists++
		}
		n = n.Fields()[0]
	}
	if g.x < 0 || g.y < 0 || lists != g.levels {
		return nil
	}
	return g
}

// place sets the geometry of a record from a row.
func (g *nativeGeometry) place(m input.Memory, rec *input.Record, row parquet.Row, starts []int, out input.Sink) {
	values := func(leaf int) parquet.Row {
		if leaf < 0 {
			return nil
		}
		return row[starts[leaf]:starts[leaf+1]]
	}
	xs, ys, zs := values(g.x), values(g.y), values(g.z)
	wrong := m.Positions(len(xs))
	if len(xs) != len(ys) || g.z >= 0 && len(zs) != len(xs) {
		wrong = "the geometry has more ordinates of one axis than of another; is the file damaged?"
	}
	if wrong != "" {
		rec.Refused = true
		out.Fault(rec.At, true, input.Refused, wrong)
		return
	}
	s := &input.Shape{Kind: g.kind, HasZ: g.z >= 0}
	for i, x := range xs {
		if i > 0 {
			endLists(s, g.levels-x.RepetitionLevel())
		}
		if x.IsNull() || ys[i].IsNull() || g.kind == input.Point && math.IsNaN(x.Double()) {
			// nothing, or an empty list
			continue
		}
		z := 0.0
		if g.z >= 0 && !zs[i].IsNull() {
			z = zs[i].Double()
		}
		s.Add(x.Double(), ys[i].Double(), z)
	}
	endLists(s, g.levels)
	if s.IsEmpty() {
		return
	}
	for _, n := range s.Tidy() {
		out.Fault(rec.At, true, n.Action, n.Reason)
	}
	rec.Shape = s
}

// endLists ends lists levels: a line or ring, and its polygon.
func endLists(s *input.Shape, lists int) {
	rings := s.Kind == input.Polygon || s.Kind == input.MultiLineString || s.Kind == input.MultiPolygon
	last := 0
	if len(s.Ends) > 0 {
		last = s.Ends[len(s.Ends)-1]
	}
	if lists > 0 && rings && s.Positions() > last {
		s.Ends = append(s.Ends, s.Positions())
	}
	last = 0
	if len(s.Polys) > 0 {
		last = s.Polys[len(s.Polys)-1]
	}
	if lists > 1 && s.Kind == input.MultiPolygon && len(s.Ends) > last {
		s.Polys = append(s.Polys, len(s.Ends))
	}
}
