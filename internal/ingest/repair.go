package ingest

import (
	"fmt"
	"math"

	"github.com/peterstace/simplefeatures/geom"
)

// maxAreaMoved is the part of the area by which a repair may change a geometry.
const maxAreaMoved = 0.001

// verdict is what became of a geometry with rings.
type verdict struct {
	action Action // "" when it was valid
	reason string
	shape  *shape // the repaired one; nil unless action is Repaired
}

// judge checks a geometry against OGC 06-103r4, 6.1.11.1, and repairs it by a buffer of no width where the result is valid and has the
// same area, but for a thousandth. wkb is that of s. The algorithms of the library may panic on geometries that are not valid, which
// counts as no repair. The time grows faster than the size: the 6 807 islands and 447 163 vertices of the ocean at 1:10 million take 40 s,
// the 35 357 communes of France 1 s together.
func judge(s *shape, wkb []byte) (v verdict) {
	if !s.areal() {
		return verdict{}
	}
	defer func() {
		if r := recover(); r != nil {
			v = verdict{action: Kept, reason: fmt.Sprintf("invalid, and the repair failed: %v", r)}
		}
	}()
	g, err := geom.UnmarshalWKB(wkb, geom.NoValidate{})
	if err != nil {
		return verdict{action: Kept, reason: "its validity cannot be told: " + err.Error()}
	}
	wrong := g.Validate()
	if wrong == nil {
		return verdict{}
	}
	if s.kind == collection {
		return verdict{action: Kept, reason: fmt.Sprintf("invalid (%v); collections are not repaired", wrong)}
	}
	if s.hasZ {
		return verdict{action: Kept, reason: fmt.Sprintf("invalid (%v); a repair would lose its heights", wrong)}
	}
	fixed, err := geom.Buffer(g, 0)
	if err != nil {
		return verdict{action: Kept, reason: fmt.Sprintf("invalid (%v), and the repair failed: %v", wrong, err)}
	}
	before, after := g.Area(), fixed.Area()
	moved := math.Abs(after-before) / before
	if !(moved < 1) {
		return verdict{action: Kept, reason: fmt.Sprintf("invalid (%v); a repair would give it another area", wrong)}
	}
	if moved >= maxAreaMoved || fixed.Validate() != nil {
		return verdict{action: Kept, reason: fmt.Sprintf("invalid (%v); a repair would move its area by %.2g %%", wrong, 100*moved)}
	}
	out, err := fromSimple(fixed)
	if err != nil || out.kind != polygon && out.kind != multiPolygon {
		return verdict{action: Kept, reason: fmt.Sprintf("invalid (%v), and the repair gave no polygon", wrong)}
	}
	if s.kind == multiPolygon && out.kind == polygon { // keeps the type that the layer has
		out.kind, out.polys = multiPolygon, []int{len(out.ends)}
	}
	out.orient()
	return verdict{action: Repaired, reason: fmt.Sprintf("invalid (%v); the area moved by %.2g %%", wrong, 100*moved), shape: &out}
}
