package ingest

import (
	"cmp"
	"fmt"
	"grense/internal/format/input"
	"math"
	"slices"

	"github.com/peterstace/simplefeatures/geom"
)

// maxDoubt is the largest fraction of the area by which the readings of rings may differ for a repair: a millionth.
const maxDoubt = 1e-6

// verdict is the result of validating a geometry with rings.
type verdict struct {
	action input.Action // "" if it was valid
	reason string
	shape  *input.Shape // the repaired geometry; nil unless action is Repaired
	read   float64      // area before, in squared units of the coordinates
	wrote  float64      // area after
	doubt  float64      // area on which the readings differ; a repair changed no more
}

// validate checks a geometry against OGC 06-103r4, 6.1.11.1. It repairs an invalid one if all readings of its rings
// agree, except for a millionth of the area; see settleRings. Otherwise the geometry stays as it is.
// A repair is never empty and keeps heights. In a collection, all polygons are repaired or none.
// Where rings meet, the time grows faster than the size.
func validate(s *input.Shape, wkb []byte) verdict {
	if !s.Areal() {
		return verdict{}
	}
	if s.Kind == input.Collection {
		return judgeParts(s)
	}
	wrong := invalidity(s, wkb)
	if wrong == "" {
		sum := sumArea(s, false)
		return verdict{read: sum, wrote: sum}
	}
	return repairShape(s, wrong)
}

func judgeParts(s *input.Shape) verdict {
	all := verdict{}
	out := *s
	out.Shapes = slices.Clone(s.Shapes)
	for i := range out.Shapes {
		part := &out.Shapes[i]
		v := validate(part, part.Append(nil))
		all.read, all.wrote, all.doubt = all.read+v.read, all.wrote+v.wrote, all.doubt+v.doubt
		if v.shape != nil {
			*part = *v.shape
		}
		if v.action != "" && all.action != input.Kept {
			all.action, all.reason = v.action, fmt.Sprintf("part %d is %s", i+1, v.reason)
		}
	}
	switch all.action {
	case input.Repaired:
		all.shape = &out
	case input.Kept:
		all.wrote, all.doubt = all.read, 0
	}
	return all
}

// invalidity returns what is wrong with a geometry that is not a collection; "" if nothing is.
// The library may panic on invalid geometries.
func invalidity(s *input.Shape, wkb []byte) (wrong string) {
	if plainlyValid(s) {
		return ""
	}
	defer func() {
		if r := recover(); r != nil {
			wrong = fmt.Sprint(r)
		}
	}()
	g, err := geom.UnmarshalWKB(wkb, geom.NoValidate{})
	if err == nil {
		err = g.Validate()
	}
	if err != nil {
		return err.Error()
	}
	return nestedHole(s)
}

// repairShape makes an invalid geometry valid, or returns why it cannot.
func repairShape(s *input.Shape, wrong string) (v verdict) {
	v.read = sumArea(s, false)
	v.wrote = v.read
	kept := func(format string, a ...any) verdict {
		v.action, v.doubt, v.wrote = input.Kept, 0, v.read
		v.reason = fmt.Sprintf("invalid (%s); %s; it is written as it is", wrong, fmt.Sprintf(format, a...))
		return v
	}
	r, err := settleRings(s)
	if err != nil {
		return kept("%v", err)
	}
	apart := max(r.doubt, math.Abs(r.read-r.area))
	switch {
	case !(r.area > 0):
		return kept("its rings enclose nothing")
	case !(apart <= maxDoubt*r.area):
		return kept("its rings can be read in ways that differ by %s of the area; mend it in its source",
			percent(apart/r.area))
	}
	v.read, v.doubt = r.read, r.doubt
	out := r.arrangement.polygons(covered)
	if out == nil {
		return kept("a repair failed")
	}
	if s.HasZ && !hasAllPositions(out, s) { // for example of a surface with many faces
		return kept("a repair would lose heights")
	}
	if s.Kind == input.Polygon && len(out.Polys) == 1 {
		out.Kind, out.Polys = input.Polygon, nil
	}
	v.wrote = sumArea(out, false)
	if invalidity(out, out.Append(nil)) != "" || math.Abs(v.wrote-r.area) > maxDoubt*r.area {
		return kept("a repair failed")
	}
	v.action, v.shape = input.Repaired, out
	v.reason = fmt.Sprintf("invalid (%s); the area moved by %s", wrong, percent(v.doubt/r.area))
	return v
}

// percent formats a fraction as a percentage: two significant digits, or no decimals from 10 % on.
func percent(part float64) string {
	if part >= 0.1 {
		return fmt.Sprintf("%.0f %%", 100*part)
	}
	return fmt.Sprintf("%.2g %%", 100*part)
}

// covered and nonZero select places by winding number.
func covered(w int32) bool { return w > 0 }
func nonZero(w int32) bool { return w != 0 }

// reading is the meaning of the rings of a polygon or multi-polygon.
type reading struct {
	arrangement *arrangement // winding numbers count the polygons that cover a face
	read        float64      // area of all outer rings minus that of all holes
	area        float64      // area that some polygon covers
	doubt       float64      // area on which the readings differ
}

// settleRings interprets rings by their roles: a ring covers the faces that it winds around, a polygon its outer ring
// without its holes, a multi-polygon whatever some polygon covers. Readings differ where a ring winds around a face an
// even number of times, where holes overlap or leave their outer ring, and where polygons overlap.
func settleRings(s *input.Shape) (r reading, err error) {
	all := &input.Shape{Kind: input.Polygon, HasZ: s.HasZ}
	var one *input.Shape // the rings of the current polygon, each without self-crossings
	flush := func() {
		if one == nil || err != nil {
			return
		}
		var a *arrangement
		if a, err = arrange(one); err != nil {
			return
		}
		r.doubt += a.area(func(w int32) bool { return w < 0 || w > 1 })
		a.outline(all, covered, false)
	}
	s.Rings(func(from, to int, outer bool) {
		if outer {
			flush()
			one = &input.Shape{Kind: input.Polygon, HasZ: s.HasZ}
		}
		if err != nil {
			return
		}
		ring := &input.Shape{Kind: input.Polygon, HasZ: s.HasZ, XYZ: s.XYZ[3*from : 3*to], Ends: []int{to - from}}
		var a *arrangement
		if a, err = arrange(ring); err != nil {
			return
		}
		area := a.area(nonZero)
		if !outer {
			area = -area
		}
		r.read += area
		r.doubt += a.area(func(w int32) bool { return w != 0 && w&1 == 0 })
		a.outline(one, nonZero, !outer)
	})
	if flush(); err != nil {
		return r, err
	}
	if r.arrangement, err = arrange(all); err != nil {
		return r, err
	}
	r.area = r.arrangement.area(covered)
	r.doubt += r.arrangement.area(func(w int32) bool { return w > 1 })
	return r, nil
}

// hasAllPositions reports whether each position of o is one of s.
func hasAllPositions(s *input.Shape, o *input.Shape) bool {
	have := make(map[xy]bool, s.Positions())
	for i := 0; i < len(s.XYZ); i += 3 {
		have[xy{s.XYZ[i], s.XYZ[i+1]}] = true
	}
	for i := 0; i < len(o.XYZ); i += 3 {
		if !have[xy{o.XYZ[i], o.XYZ[i+1]}] {
			return false
		}
	}
	return true
}

// authalicRadius is the radius in metres of the sphere with the surface of the WGS 84 ellipsoid.
const authalicRadius = 6371007.181

// sumArea returns the area of all polygons: shells minus holes, for each polygon at least 0.
// onSphere means that coordinates are degrees and the result is in square metres, with edges that are straight in a
// cylindrical equal-area projection.
func sumArea(s *input.Shape, onSphere bool) (sum float64) {
	for i := range s.Shapes {
		sum += sumArea(&s.Shapes[i], onSphere)
	}
	if s.Kind != input.Polygon && s.Kind != input.MultiPolygon {
		return sum
	}
	one := 0.0
	s.Rings(func(from, to int, outer bool) {
		a := 0.0
		if onSphere {
			a = math.Abs(sphereArea(s, from, to))
		} else {
			a = math.Abs(s.Area(from, to))
		}
		if outer {
			sum += max(one, 0)
			one = a
		} else {
			one -= a
		}
	})
	return sum + max(one, 0)
}

// sphereArea returns the signed area of a ring in degrees, in square metres.
func sphereArea(s *input.Shape, from, to int) (sum float64) {
	const radian = math.Pi / 180
	if from == to {
		return 0
	}
	height := func(i int) float64 { return math.Sin(s.XYZ[3*i+1] * radian) }
	x0, y0 := s.XYZ[3*(to-1)], height(to-1)
	first := x0
	px, py := x0, y0
	for i := from; i < to; i++ {
		x, y := s.XYZ[3*i], height(i)
		sum += (px-first)*(y-y0) - (x-first)*(py-y0)
		px, py = x, y
	}
	return sum / 2 * radian * authalicRadius * authalicRadius
}

// ringBox is a ring and its box.
type ringBox struct {
	from, to int
	min, max xy
}

// nestedHole reports a hole inside another hole of its polygon.
// The library misses that if they touch at the first position.
func nestedHole(s *input.Shape) string {
	var holes []ringBox
	found := ""
	flush := func() {
		slices.SortFunc(holes, func(a, b ringBox) int { return cmp.Compare(a.min.x, b.min.x) })
		for i, a := range holes {
			for _, b := range holes[i+1:] {
				if b.min.x > a.max.x {
					break
				}
				if ringInRing(s, b, a) || ringInRing(s, a, b) {
					found = fmt.Sprintf("a hole lies in another hole at or near (%v %v)", b.min.x, b.min.y)
					return
				}
			}
		}
		holes = holes[:0]
	}
	s.Rings(func(from, to int, outer bool) {
		if found != "" {
			return
		}
		if outer {
			flush()
			return
		}
		b := ringBox{from, to, xy{math.Inf(1), math.Inf(1)}, xy{math.Inf(-1), math.Inf(-1)}}
		for i := from; i < to; i++ {
			x, y := s.XYZ[3*i], s.XYZ[3*i+1]
			b.min, b.max = xy{min(b.min.x, x), min(b.min.y, y)}, xy{max(b.max.x, x), max(b.max.y, y)}
		}
		holes = append(holes, b)
	})
	if found == "" {
		flush()
	}
	return found
}

// ringInRing reports whether a lies in b. The two must not cross.
func ringInRing(s *input.Shape, a, b ringBox) bool {
	if a.min.x < b.min.x || a.min.y < b.min.y || a.max.x > b.max.x || a.max.y > b.max.y {
		return false
	}
	at := func(i int) xy { return xy{s.XYZ[3*i], s.XYZ[3*i+1]} }
next:
	for i := a.from; i < a.to; i++ {
		p, in := at(i), false
		for j := b.from; j+1 < b.to; j++ {
			e := segment{at(j), at(j + 1)}
			if e.holds(p) && side(e.a, e.b, p) == 0 {
				continue next
			}
			if (e.a.y <= p.y) != (e.b.y <= p.y) {
				if e.a.y > e.b.y {
					e.a, e.b = e.b, e.a
				}
				in = in != (side(e.a, e.b, p) < 0)
			}
		}
		return in
	}
	return false
}
