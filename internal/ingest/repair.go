package ingest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/peterstace/simplefeatures/geom"
)

// maxDoubt is the part of the area by which an even-odd and a non-zero reading of rings may differ for a repair to be made: a millionth.
const maxDoubt = 1e-6

// verdict is what became of a geometry with rings.
type verdict struct {
	action Action // "" when it was valid
	reason string
	shape  *shape  // the repaired one; nil unless action is Repaired
	read   float64 // area before, in the square of the unit of the coordinates
	wrote  float64 // area after
	doubt  float64 // area of the places that are inside by one reading only; a repair moved no more
}

// validate checks a geometry against OGC 06-103r4, 6.1.11.1. One that is not valid is repaired where an even-odd and a non-zero reading of its
// rings agree, but for a millionth of the area that they cover; else it is kept as it is. A repair is never empty, and keeps heights. Of a
// collection either all polygons are repaired, or nothing is changed. Where rings meet, the time grows faster than the size.
func validate(s *shape, wkb []byte) verdict {
	if !s.areal() {
		return verdict{}
	}
	if s.kind == collection {
		return judgeParts(s)
	}
	wrong := s.invalid(wkb)
	if wrong == "" {
		sum := s.sumArea(false)
		return verdict{read: sum, wrote: sum}
	}
	return s.repair(wrong)
}

func judgeParts(s *shape) verdict {
	all := verdict{}
	out := *s
	out.shapes = slices.Clone(s.shapes)
	for i := range out.shapes {
		part := &out.shapes[i]
		v := validate(part, part.append(nil))
		all.read, all.wrote, all.doubt = all.read+v.read, all.wrote+v.wrote, all.doubt+v.doubt
		if v.shape != nil {
			*part = *v.shape
		}
		if v.action != "" && all.action != Kept {
			all.action, all.reason = v.action, fmt.Sprintf("part %d is %s", i+1, v.reason)
		}
	}
	switch all.action {
	case Repaired:
		all.shape = &out
	case Kept:
		all.wrote, all.doubt = all.read, 0
	}
	return all
}

// invalid tells what is wrong with a geometry that is no collection; "" when nothing. The algorithms of the library may panic on geometries
// that are not valid.
func (s *shape) invalid(wkb []byte) (wrong string) {
	if s.plainlyValid() {
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
	return s.nestedHole()
}

// repair makes an invalid geometry valid, or says why not.
func (s *shape) repair(wrong string) (v verdict) {
	v.read = s.sumArea(false)
	v.wrote = v.read
	kept := func(format string, a ...any) verdict {
		v.action, v.doubt, v.wrote = Kept, 0, v.read
		v.reason = fmt.Sprintf("invalid (%s); %s; it is written as it is", wrong, fmt.Sprintf(format, a...))
		return v
	}
	a, err := arrange(s)
	if err != nil {
		return kept("%v", err)
	}
	inside := func(w int32) bool { return w != 0 }
	v.read = a.area(inside)
	v.doubt = a.area(func(w int32) bool { return w != 0 && w&1 == 0 })
	switch {
	case !(v.read > 0):
		return kept("its rings enclose nothing")
	case !(v.doubt <= maxDoubt*v.read):
		return kept("even-odd and non-zero readings of its rings differ by %.2g %% of the area, so that what is meant cannot be told; mend it in its source", 100*v.doubt/v.read)
	}
	out := a.polygons(inside)
	if out == nil {
		return kept("a repair failed")
	}
	if s.hasZ && !out.hasAll(s) { // of a surface of many faces, say
		return kept("a repair would lose heights")
	}
	if s.kind == polygon && len(out.polys) == 1 {
		out.kind, out.polys = polygon, nil
	}
	v.wrote = out.sumArea(false)
	if out.invalid(out.append(nil)) != "" || math.Abs(v.wrote-v.read) > maxDoubt*v.read {
		return kept("a repair failed")
	}
	v.action, v.shape = Repaired, out
	v.reason = fmt.Sprintf("invalid (%s); the area moved by %.2g %%", wrong, 100*v.doubt/v.read)
	return v
}

// hasAll tells whether each position of o is one of s.
func (s *shape) hasAll(o *shape) bool {
	have := make(map[xy]bool, s.positions())
	for i := 0; i < len(s.xyz); i += 3 {
		have[xy{s.xyz[i], s.xyz[i+1]}] = true
	}
	for i := 0; i < len(o.xyz); i += 3 {
		if !have[xy{o.xyz[i], o.xyz[i+1]}] {
			return false
		}
	}
	return true
}

// authalicRadius is that of the sphere with the surface of the WGS 84 ellipsoid, in metres.
const authalicRadius = 6371007.181

// sumArea returns the area of all polygons: of shells less that of holes, of a polygon never below 0. onSphere takes coordinates as degrees
// and returns square metres, with edges that are straight in a cylindrical equal-area projection.
func (s *shape) sumArea(onSphere bool) (sum float64) {
	for i := range s.shapes {
		sum += s.shapes[i].sumArea(onSphere)
	}
	if s.kind != polygon && s.kind != multiPolygon {
		return sum
	}
	one := 0.0
	s.rings(func(from, to int, outer bool) {
		a := 0.0
		if onSphere {
			a = math.Abs(s.sphereArea(from, to))
		} else {
			a = math.Abs(s.area(from, to))
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
func (s *shape) sphereArea(from, to int) (sum float64) {
	const radian = math.Pi / 180
	if from == to {
		return 0
	}
	height := func(i int) float64 { return math.Sin(s.xyz[3*i+1] * radian) }
	x0, y0 := s.xyz[3*(to-1)], height(to-1)
	first := x0
	px, py := x0, y0
	for i := from; i < to; i++ {
		x, y := s.xyz[3*i], height(i)
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

// nestedHole tells of a hole that lies in another hole of its polygon, which the library misses where they touch at the first position.
func (s *shape) nestedHole() string {
	var holes []ringBox
	found := ""
	flush := func() {
		slices.SortFunc(holes, func(a, b ringBox) int { return cmp.Compare(a.min.x, b.min.x) })
		for i, a := range holes {
			for _, b := range holes[i+1:] {
				if b.min.x > a.max.x {
					break
				}
				if s.ringInRing(b, a) || s.ringInRing(a, b) {
					found = fmt.Sprintf("a hole lies in another hole at or near (%v %v)", b.min.x, b.min.y)
					return
				}
			}
		}
		holes = holes[:0]
	}
	s.rings(func(from, to int, outer bool) {
		if found != "" {
			return
		}
		if outer {
			flush()
			return
		}
		b := ringBox{from, to, xy{math.Inf(1), math.Inf(1)}, xy{math.Inf(-1), math.Inf(-1)}}
		for i := from; i < to; i++ {
			x, y := s.xyz[3*i], s.xyz[3*i+1]
			b.min, b.max = xy{min(b.min.x, x), min(b.min.y, y)}, xy{max(b.max.x, x), max(b.max.y, y)}
		}
		holes = append(holes, b)
	})
	if found == "" {
		flush()
	}
	return found
}

// ringInRing tells whether a lies in b, where the two do not cross.
func (s *shape) ringInRing(a, b ringBox) bool {
	if a.min.x < b.min.x || a.min.y < b.min.y || a.max.x > b.max.x || a.max.y > b.max.y {
		return false
	}
	at := func(i int) xy { return xy{s.xyz[3*i], s.xyz[3*i+1]} }
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
