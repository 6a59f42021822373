package store

import (
	"math"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// Distance returns the shortest distance in metres, along the ellipsoid, from a position in CRS84 (longitude before
// latitude) to the points and edges of the geometry. back transforms coordinates of the geometry to CRS84. Edges are
// straight in the geometry's CRS. Inside a polygon it is the distance to the border. It returns +Inf for empty and
// invalid geometries.
func (g Geometry) Distance(at orb.Point, back crs.Func) float64 {
	n := crs.NewNearest(at, back)
	err := wkb.Walk(g.WKB, func(r wkb.Run) bool {
		var last crs.Vertex
		for i := range r.Len() {
			x, y := r.XY(i)
			v := n.Vertex(orb.Point{x, y})
			if i == 0 {
				last = v
			}
			n.Edge(last, v)
			last = v
		}
		return true
	})
	if err != nil || math.IsInf(n.Least, 1) {
		return math.Inf(1)
	}
	return n.Metres()
}
