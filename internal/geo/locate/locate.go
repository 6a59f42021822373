// Package locate finds in memory which areas of a layer contain a position: exactly those that S_INTERSECTS finds,
// including borders and vertices.
//
// A grid covers the layer. A cell that no border touches lists the areas that cover it. Any other cell also lists
// polygons to test; a polygon finds the edges above and below a position in columns of equal width. A position is in a
// polygon by the even-odd rule over all its rings, and in an area if it is in one of its polygons or on an edge;
// orientation tests are exact. Coordinates are x before y in the units of the layer, in which edges are straight. Only
// polygons with closed rings are supported; for other layers ask the store.
//
// For a position outside of all areas it finds the nearest one with a hierarchy of balls on the sphere around short
// runs of edges, so that few edges are measured.
package locate

import (
	"errors"
	"math"
	"unsafe"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

var (
	// ErrTooLarge reports that an index would exceed its limit.
	ErrTooLarge = errors.New("locate: the layer is too large")
	// ErrNoArea reports a geometry that is not a polygon, or has an open ring.
	ErrNoArea = errors.New("locate: not polygons alone")
)

// Index holds the areas of a layer. It is immutable and safe for concurrent use.
type Index struct {
	bound    orb.Bound
	columns  int
	rows     int
	sx, sy   float64  // cells for each unit of length
	cells    []uint32 // by row, from the south; 0: no area
	lists    []uint32 // for cells with more than one certain area: number of entries, then the entries
	parts    []part
	vertices []orb.Point // of all rings, concatenated
	degrees  []orb.Point // the vertices in CRS84; nil: the layer is in CRS84
	starts   []uint32    // start of each column of all parts in edges
	edges    []uint32    // first vertex of each edge; the next vertex is its end
	runs     []run       // neighbouring runs are adjacent
	balls    [][]ball    // tier 0: around runs; each further tier: around fan balls of the one before
	back     crs.Func    // transforms coordinates of the layer to CRS84
}

// part is a polygon.
type part struct {
	bound   orb.Bound
	scale   float64 // columns for each unit of length
	last    float64 // index of the last column
	start   uint32  // first column in Index.starts
	feature int32
}

// A cell is 0, or certain plus the number of the only area, which covers it, or the index of its list. An entry of a
// list is certain plus the number of an area, or the number of a part to test. Parts of an area are adjacent.
const certain = 1 << 31

// Append appends the numbers of the areas that contain a position, ascending. Areas are numbered in the order of Add,
// from 0. No area contains NaN or infinite positions.
func (x *Index) Append(dst []int32, px, py float64) []int32 {
	b := &x.bound
	if !(px >= b.Min[0] && px <= b.Max[0] && py >= b.Min[1] && py <= b.Max[1]) {
		return dst
	}
	v := x.cells[cellOf(py-b.Min[1], x.sy, x.rows)*x.columns+cellOf(px-b.Min[0], x.sx, x.columns)]
	switch {
	case v == 0:
		return dst
	case v&certain != 0:
		return append(dst, int32(v&^certain))
	}
	n := x.lists[v]
	done := int32(-1)
	for _, e := range x.lists[v+1 : v+1+n] {
		if e&certain != 0 {
			done = int32(e &^ certain)
			dst = append(dst, done)
			continue
		}
		if p := &x.parts[e]; p.feature != done && x.holds(p, orb.Point{px, py}) {
			done = p.feature
			dst = append(dst, done)
		}
	}
	return dst
}

// cellOf returns the number of the cell or column at a distance from the first. It rounds edges and positions alike,
// and is monotonic.
func cellOf(distance, scale float64, n int) int {
	return min(max(int(distance*scale), 0), n-1)
}

// holds reports whether a position is in a polygon or on its border.
func (x *Index) holds(p *part, at orb.Point) bool {
	if at[0] < p.bound.Min[0] || at[0] > p.bound.Max[0] || at[1] < p.bound.Min[1] || at[1] > p.bound.Max[1] {
		return false
	}
	k := p.start + uint32(p.column(at[0]))
	inside := false
	for _, i := range x.edges[x.starts[k]:x.starts[k+1]] {
		a, b := x.vertices[i], x.vertices[i+1]
		if a[0] > b[0] {
			a, b = b, a
		}
		if at[0] < a[0] || at[0] > b[0] || at[1] < a[1] && at[1] < b[1] {
			continue // the edge does not lie above the position
		}
		crossing := a[0] < at[0] != (b[0] < at[0])
		if at[1] > a[1] && at[1] > b[1] {
			inside = inside != crossing
			continue
		}
		side := wkb.Turn(a, b, at)
		if side == 0 { // on the edge
			return true
		}
		inside = inside != (crossing && side > 0)
	}
	return inside
}

// column returns the column of an x coordinate.
func (p *part) column(x float64) int {
	return int(min(max((x-p.bound.Min[0])*p.scale, 0), p.last))
}

// Bytes returns the size of the index.
func (x *Index) Bytes() int64 {
	// tiers above the first have 1/(fan-1) of its balls, or a few more
	return int64(len(x.cells)+len(x.lists)+len(x.starts)+len(x.edges))*4 +
		int64(len(x.vertices)+len(x.degrees))*vertexBytes + int64(len(x.parts))*partBytes +
		int64(len(x.runs))*(runBytes+ballBytes*fan/(fan-1))
}

const (
	vertexBytes = int64(unsafe.Sizeof(orb.Point{}))
	partBytes   = int64(unsafe.Sizeof(part{}))
)

// finite returns scale; 0 if it is NaN or infinite, which puts everything into the first cell.
func finite(scale float64) float64 {
	if math.IsNaN(scale) || math.IsInf(scale, 0) {
		return 0
	}
	return scale
}
