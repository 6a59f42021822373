package tile

import (
	"math"

	"github.com/paulmach/orb"

	"grense/internal/geo/coverage"
)

// frame is what is drawn of a level: a tile or a Window, on the grid of the level.
type frame struct {
	z             int
	corner        coverage.Point // upper left
	width, height int32
}

func (t Tile) frame() frame { return frame{t.Z, corner(t), Extent, Extent} }

// box returns the corners of a frame with its buffer.
func (f frame) box() (low, high coverage.Point) {
	return coverage.Point{X: f.corner.X - Buffer, Y: f.corner.Y - f.height - Buffer},
		coverage.Point{X: f.corner.X + f.width + Buffer, Y: f.corner.Y + Buffer}
}

// within is a frame without so many cells at each side.
func (f frame) within(margin int32) frame {
	f.corner.X, f.corner.Y = f.corner.X+margin, f.corner.Y-margin
	f.width, f.height = f.width-2*margin, f.height-2*margin
	return f
}

// finer is the same part of a level that is finer by so many.
func (f frame) finer(by int) frame {
	f.z, f.corner.X, f.corner.Y = f.z+by, f.corner.X<<by, f.corner.Y<<by
	f.width, f.height = f.width<<by, f.height<<by
	return f
}

// bound is where a frame lies in the CRS of its set.
func (f frame) bound(s *Set) orb.Bound {
	unit := s.unit(f.z)
	x, y := s.origin[0]+float64(f.corner.X)*unit, s.origin[1]+float64(f.corner.Y)*unit
	return orb.Bound{Min: orb.Point{x, y - float64(f.height)*unit}, Max: orb.Point{x + float64(f.width)*unit, y}}
}

// Window is a part of a level of any size. It is drawn as a tile is, and then holds areas and lines of the first
// finer level as well where its own is too coarse to have them.
type Window struct {
	frame
	set    *Set
	margin int32 // cells at each side without areas, if these have labels
}

// mostWindow is how many cells of its level a window is wide and high at most.
const mostWindow = 1 << 16

// Window returns the window that holds a box, in the CRS of the set, for maps on which a pixel is as wide as cell in
// units of that CRS; false where the box lies outside of what the set can show. Where the box is too large for that
// many pixels, the level is a coarser one. Areas with labels may be missing from a margin of so many pixels at its
// sides, which holds the labels beside a picture.
func (s *Set) Window(b orb.Bound, cell float64, margin int) (*Window, bool) {
	reach := s.World()
	reach = orb.Bound{
		Min: orb.Point{2*reach.Min[0] - reach.Max[0], 2*reach.Min[1] - reach.Max[1]},
		Max: orb.Point{2*reach.Max[0] - reach.Min[0], 2*reach.Max[1] - reach.Min[1]},
	}
	b = orb.Bound{Min: orb.Point{max(b.Min[0], reach.Min[0]), max(b.Min[1], reach.Min[1])},
		Max: orb.Point{min(b.Max[0], reach.Max[0]), min(b.Max[1], reach.Max[1])}}
	if !(b.Max[0] >= b.Min[0] && b.Max[1] >= b.Min[1]) {
		return nil, false
	}
	z := min(s.levelOf(cell), s.finest())
	for ; z > s.first && max(b.Max[0]-b.Min[0], b.Max[1]-b.Min[1])/s.unit(z) > mostWindow; z-- {
	}
	unit := s.unit(z)
	left, top := math.Floor((b.Min[0]-s.origin[0])/unit), math.Ceil((b.Max[1]-s.origin[1])/unit)
	right, bottom := math.Ceil((b.Max[0]-s.origin[0])/unit), math.Floor((b.Min[1]-s.origin[1])/unit)
	w, h := int32(right-left), int32(top-bottom)
	edge := int32(min(float64(margin)*cell/unit, float64(min(w, h))/3))
	return &Window{frame{z, coverage.Point{X: int32(left), Y: int32(top)}, w, h}, s, edge}, true
}

// Level is the number of the level.
func (w *Window) Level() int { return w.z }

// Place returns where a position of the drawn window lies, in the CRS of the set.
func (w *Window) Place(x, y int32) orb.Point {
	unit := w.set.unit(w.z)
	return orb.Point{w.set.origin[0] + float64(w.corner.X+x)*unit, w.set.origin[1] + float64(w.corner.Y-y)*unit}
}
