package ingest

import (
	"math"

	"github.com/parquet-go/parquet-go"

	"grense/internal/geo/wkb"
)

// nativeKinds are the encodings of geometries as lists of coordinates (GeoParquet 1.1, Native encodings).
var nativeKinds = map[string]wkb.Kind{"point": point, "linestring": lineString, "polygon": polygon, "multipoint": multiPoint, "multilinestring": multiLineString,
	"multipolygon": multiPolygon}

// nativeGeometry is a column of such an encoding: the numbers of the leaves with the ordinates.
type nativeGeometry struct {
	kind    wkb.Kind
	x, y, z int // z is -1 without heights
	levels  int // lists around a position
}

// nativeOf finds the leaves of a column; nil if it is not built as its kind needs.
func (t *parquetTable) nativeOf(n parquet.Node, kind wkb.Kind, f parquetField) *nativeGeometry {
	g := &nativeGeometry{kind: kind, x: -1, y: -1, z: -1, levels: depths[kind]}
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

// place puts the geometry of a row into its record.
func (g *nativeGeometry) place(m memory, rec *record, row parquet.Row, starts []int, out sink) {
	values := func(leaf int) parquet.Row {
		if leaf < 0 {
			return nil
		}
		return row[starts[leaf]:starts[leaf+1]]
	}
	xs, ys, zs := values(g.x), values(g.y), values(g.z)
	wrong := m.positions(len(xs))
	if len(xs) != len(ys) || g.z >= 0 && len(zs) != len(xs) {
		wrong = "the geometry has more ordinates of one axis than of another; is the file damaged?"
	}
	if wrong != "" {
		rec.refused = true
		out.fault(rec.at, true, Refused, wrong)
		return
	}
	s := &shape{kind: g.kind, hasZ: g.z >= 0}
	for i, x := range xs {
		if i > 0 {
			s.end(g.levels - x.RepetitionLevel())
		}
		if x.IsNull() || ys[i].IsNull() || g.kind == point && math.IsNaN(x.Double()) { // nothing, or an empty list
			continue
		}
		z := 0.0
		if g.z >= 0 && !zs[i].IsNull() {
			z = zs[i].Double()
		}
		s.add(x.Double(), ys[i].Double(), z)
	}
	s.end(g.levels)
	if s.isEmpty() {
		return
	}
	for _, n := range s.tidy() {
		out.fault(rec.at, true, n.action, n.reason)
	}
	rec.shape = s
}

// end ends so many lists: a line or ring, and the polygon that it belongs to.
func (s *shape) end(lists int) {
	rings := s.kind == polygon || s.kind == multiLineString || s.kind == multiPolygon
	last := 0
	if len(s.ends) > 0 {
		last = s.ends[len(s.ends)-1]
	}
	if lists > 0 && rings && s.positions() > last {
		s.ends = append(s.ends, s.positions())
	}
	last = 0
	if len(s.polys) > 0 {
		last = s.polys[len(s.polys)-1]
	}
	if lists > 1 && s.kind == multiPolygon && len(s.ends) > last {
		s.polys = append(s.polys, len(s.ends))
	}
}
