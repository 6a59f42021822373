// Package locate answers in memory which areas of a layer hold a position: exactly those that S_INTERSECTS finds,
// borders and vertices included.
//
// A grid lies over the layer. A cell that no border touches knows its areas; of any other a cell knows which polygons
// to ask, and a polygon finds the few edges above and below a position in columns of equal width. A position lies in
// a polygon by the rule of even and odd over all its rings, and in an area when it lies in one of its polygons or on
// an edge; signs of turns are exact. Coordinates are x before y, in the units of the layer, in which edges are
// straight. It takes polygons with closed rings alone: a layer with anything else is the store's to answer for.
//
// Outside of all it finds the nearest area: balls on the sphere hold runs of edges, and balls these, so that few
// edges are measured.
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
	// ErrTooLarge reports that an index would take more bytes than it may.
	ErrTooLarge = errors.New("locate: the layer is too large")
	// ErrNoArea reports a geometry with points, lines or open rings.
	ErrNoArea = errors.New("locate: not polygons alone")
)

// Index holds the areas of a layer. It is immutable and safe for concurrent use.
type Index struct {
	bound    orb.Bound
	columns  int
	rows     int
	sx, sy   float64  // cells in a unit
	cells    []uint32 // by row, from the south; 0: nothing is there
	lists    []uint32 // of cells that more than one certain area concerns: a number of entries, then these
	parts    []part
	vertices []orb.Point // of all rings, one after the other
	degrees  []orb.Point // the same in CRS84; nil: they are
	starts   []uint32    // of the columns of all parts in edges
	edges    []uint32    // first vertices; the next vertex is the other end
	runs     []run       // near ones beside each other
	balls    [][]ball    // around the runs, and in each further tier around fan of the tier before
	back     crs.Func    // from the system of the layer to CRS84
}

// part is a polygon.
type part struct {
	bound   orb.Bound
	scale   float64 // columns in a unit
	last    float64 // number of the last column
	start   uint32  // of its columns in Index.starts
	feature int32
}

// A cell is 0, certain with the number of the one area that covers it, or the place of its list. An entry of a list
// is certain with the number of an area, or the number of a part to ask; those of an area follow each other.
const certain = 1 << 31

// Append appends the numbers of the areas that hold a position to dst, in ascending order. Areas are numbered as they
// were added, from 0. A position that is not finite lies nowhere.
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

// cellOf is the number of the cell, or column, of a distance from the first. It rounds the same way for edges and for
// positions, and never descends as the distance grows.
func cellOf(distance, scale float64, n int) int {
	return min(max(int(distance*scale), 0), n-1)
}

// holds reports whether a position lies in a polygon or on its border.
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
			continue // neither on the edge nor above it
		}
		crossing := a[0] < at[0] != (b[0] < at[0])
		if at[1] > a[1] && at[1] > b[1] {
			inside = inside != crossing
			continue
		}
		side := wkb.Turn(a, b, at)
		if side == 0 { // on the line, and within the bound of the edge
			return true
		}
		inside = inside != (crossing && side > 0)
	}
	return inside
}

// column is the number of the column of an x.
func (p *part) column(x float64) int {
	return int(min(max((x-p.bound.Min[0])*p.scale, 0), p.last))
}

// Bytes is what the index takes.
func (x *Index) Bytes() int64 {
	// Tiers beyond the first have 1/(fan-1) of its balls, or a few more.
	return int64(len(x.cells)+len(x.lists)+len(x.starts)+len(x.edges))*4 +
		int64(len(x.vertices)+len(x.degrees))*vertexBytes + int64(len(x.parts))*partBytes +
		int64(len(x.runs))*(runBytes+ballBytes*fan/(fan-1))
}

const (
	vertexBytes = int64(unsafe.Sizeof(orb.Point{}))
	partBytes   = int64(unsafe.Sizeof(part{}))
)

// finite is a number to scale by: what is infinite or no number becomes 0, which puts all into the first cell.
func finite(scale float64) float64 {
	if math.IsNaN(scale) || math.IsInf(scale, 0) {
		return 0
	}
	return scale
}
