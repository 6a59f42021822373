package ingest

import (
	"fmt"
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/peterstace/simplefeatures/geom"

	"grense/internal/format/input"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// touch is the distance from the antimeridian, in degrees, within which a position lies on it:
// a hundredth of a millimetre.
const touch = 1e-10

// cutProjected converts a geometry of a projected system that crosses the antimeridian to degrees and cuts it there
// (RFC 7946, 3.1.9). cut is nil if it does not cross; wrong is the reason if it cannot be cut.
// Areas around a pole are cut along the antimeridian up to the pole.
func cutProjected(s *input.Shape, degrees crs.Func) (cut *input.Shape, wrong string) {
	return cutAlong(s, unroller{degrees: degrees, turn: func(from, to orb.Point) float64 {
		return crs.Turn(degrees, from, to)
	}})
}

// cutGeodesic is cutProjected for degrees with edges that go the short way around the globe.
// An edge of a whole turn runs along the antimeridian.
func cutGeodesic(s *input.Shape) (cut *input.Shape, wrong string) {
	if !goesAround(s) {
		return nil, ""
	}
	same := func(lon, lat float64) (float64, float64) { return lon, lat }
	return cutAlong(s, unroller{degrees: same, turn: func(from, to orb.Point) float64 {
		if d := to[0] - from[0]; math.Abs(d) < 2*halfTurn-slack {
			return -math.Copysign(2*halfTurn, d)
		}
		return 0
	}})
}

// cutAlong is cutProjected with the functions of u.
func cutAlong(s *input.Shape, u unroller) (cut *input.Shape, wrong string) {
	if s.Kind == input.Collection {
		return cutParts(s, u)
	}
	u.areal, u.flat, u.off = s.Areal(), input.Shape{Kind: input.MultiLineString}, input.Shape{Kind: input.MultiPolygon}
	if u.areal {
		u.flat.Kind = input.MultiPolygon
	}
	if s.Kind == input.Point || s.Kind == input.MultiPoint || !u.unroll(s) {
		return nil, ""
	}
	if s.HasZ {
		return nil, "it crosses the antimeridian, where it would lose its heights when it is cut (RFC 7946, 3.1.9); " +
			"leave them out, for example with ogr2ogr -dim XY"
	}
	out, err := u.strips()
	if err != nil || out == nil {
		return nil, "it crosses the antimeridian, and could not be cut there (RFC 7946, 3.1.9), since it is not " +
			"valid; mend it in its source"
	}
	return out, ""
}

// cutParts is cutAlong for a collection. Afterwards all parts are in degrees.
func cutParts(s *input.Shape, u unroller) (cut *input.Shape, wrong string) {
	out := *s
	out.Shapes = make([]input.Shape, len(s.Shapes))
	for i := range s.Shapes {
		part, no := cutAlong(&s.Shapes[i], u)
		switch {
		case no != "":
			return nil, no
		case part != nil:
			out.Shapes[i], cut = *part, &out
		default:
			out.Shapes[i] = cloneShape(&s.Shapes[i])
			out.Shapes[i].Transform(u.degrees)
		}
	}
	return cut, ""
}

func cloneShape(s *input.Shape) input.Shape {
	c := *s
	c.XYZ, c.Shapes = slices.Clone(s.XYZ), slices.Clone(s.Shapes)
	for i := range c.Shapes {
		c.Shapes[i] = cloneShape(&c.Shapes[i])
	}
	return c
}

// unroller converts projected lines and rings to longitudes that continue beyond ±180.
type unroller struct {
	degrees crs.Func
	// degrees to add to longitudes after an edge of more than half a turn
	turn  func(from, to orb.Point) float64
	areal bool
	flat  input.Shape // of all lines, or all areas
	off   input.Shape // holes of areas around a pole, subtracted when both are cut
	ring  []orb.Point // the current line or ring
}

// unroll reports whether s crosses the antimeridian, or has edges along it that jump from one side to the other.
func (u *unroller) unroll(s *input.Shape) (crosses bool) {
	outers := map[int]bool{}
	if u.areal {
		s.Rings(func(from, _ int, outer bool) { outers[from] = outer })
	}
	capped, shell := false, 0.0 // whether the last shell goes around a pole, and its start
	eachLine(s, func(from, to int) {
		turn, turned := u.line(s, from, to)
		if crosses = crosses || turned; len(u.ring) == 0 {
			return
		}
		if u.areal && turn != 0 {
			u.closeAtPole(turn)
		}
		switch {
		case !u.areal || outers[from]:
			capped, shell = turn != 0, u.ring[0][0]
			appendLine(&u.flat, u.ring, true)
		case capped:
			appendLine(&u.off, u.ring, true)
		default:
			by := 2 * halfTurn * math.Round((shell-u.ring[0][0])/(2*halfTurn))
			for i := range u.ring {
				u.ring[i][0] += by
			}
			appendLine(&u.flat, u.ring, false)
		}
	})
	return crosses
}

// line unrolls a line or ring. turn is the longitude by which a ring misses its start.
func (u *unroller) line(s *input.Shape, from, to int) (turn float64, crosses bool) {
	u.ring = u.ring[:0]
	var last orb.Point
	before := 0.0
	for i := from; i < to; i++ {
		p := orb.Point{s.XYZ[3*i], s.XYZ[3*i+1]}
		lon, lat := u.degrees(p[0], p[1])
		if i > from && math.Abs(lon-before) > halfTurn {
			by := u.turn(last, p)
			turn, crosses = turn+by, crosses || by != 0
		}
		last, before = p, lon
		lon += turn
		if m := math.Round((lon-halfTurn)/(2*halfTurn))*2*halfTurn + halfTurn; math.Abs(lon-m) < touch {
			lon = m
		}
		crosses = crosses || math.Abs(lon) > halfTurn+slack
		u.ring = append(u.ring, orb.Point{lon, lat})
	}
	return turn, crosses
}

// closeAtPole closes a ring around a pole: at the crossing nearest to the pole it follows the antimeridian to the pole.
func (u *unroller) closeAtPole(turn float64) {
	ring := u.ring
	sum := 0.0
	for _, p := range ring {
		sum += p[1]
	}
	pole := math.Copysign(90, sum)
	at, start := -1, orb.Point{}
	for i := 1; i < len(ring); i++ {
		a, b := ring[i-1], ring[i]
		west, east := min(a[0], b[0]), max(a[0], b[0])
		// the last antimeridian not east of the edge
		m := math.Floor((east-halfTurn)/(2*halfTurn))*2*halfTurn + halfTurn
		if m <= west && (m < west || west == east) {
			continue
		}
		lat := a[1] + (b[1]-a[1])*(m-a[0])/(b[0]-a[0])
		if at < 0 || math.Abs(pole-lat) < math.Abs(pole-start[1]) {
			at, start = i, orb.Point{m, lat}
		}
	}
	if at < 0 { // a ring around a pole crosses every meridian
		return
	}
	by := -halfTurn - min(start[0], start[0]+turn)
	out := append(make([]orb.Point, 0, len(ring)+4), orb.Point{start[0] + by, start[1]})
	add := func(p orb.Point, by float64) {
		if p[0] += by; p != out[len(out)-1] {
			out = append(out, p)
		}
	}
	for _, p := range ring[at:] {
		add(p, by)
	}
	for _, p := range ring[1:at] {
		add(p, by+turn)
	}
	end := start[0] + by + turn
	add(orb.Point{end, start[1]}, 0)
	add(orb.Point{end, pole}, 0)
	add(orb.Point{out[0][0], pole}, 0)
	add(out[0], 0)
	u.ring = out
}

// appendLine adds a line or a ring. A ring begins a polygon or is a hole of the last one.
func appendLine(s *input.Shape, line []orb.Point, begins bool) {
	for _, p := range line {
		s.Add(p[0], p[1], 0)
	}
	s.Ends = append(s.Ends, s.Positions())
	switch {
	case s.Kind != input.MultiPolygon:
	case begins || len(s.Polys) == 0:
		s.Polys = append(s.Polys, len(s.Ends))
	default:
		s.Polys[len(s.Polys)-1] = len(s.Ends)
	}
}

// strips cuts the unrolled geometry.
func (u *unroller) strips() (*input.Shape, error) {
	u.flat.Orient()
	out, err := intoStrips(&u.flat)
	if err != nil || out == nil || len(u.off.Ends) == 0 {
		return out, err
	}
	u.off.Orient()
	off, err := intoStrips(&u.off)
	if err != nil || off == nil {
		return nil, err
	}
	return subtract(out, off)
}

// subtract subtracts one area from another. The library may panic on invalid areas.
func subtract(s *input.Shape, off *input.Shape) (out *input.Shape, err error) {
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("ingest: %v", r)
		}
	}()
	a, err := geom.UnmarshalWKB(s.Append(nil), geom.NoValidate{})
	if err != nil {
		return nil, err
	}
	b, err := geom.UnmarshalWKB(off.Append(nil), geom.NoValidate{})
	if err != nil {
		return nil, err
	}
	left, err := geom.Difference(a, b)
	if err != nil {
		return nil, err
	}
	out = &input.Shape{Kind: input.MultiPolygon}
	if err := gatherStrips(out, left, 0); err != nil || len(out.Ends) == 0 {
		return nil, err
	}
	out.Orient()
	return out, nil
}

// cutting tracks where features of a layer can cross the antimeridian.
type cutting struct {
	id      crs.ID
	degrees crs.Func  // nil: geographic or unknown
	within  orb.Bound // a box that does not touch the antimeridian
	some    bool
}

// system returns the reference system of coordinates, as far as it is known while the layer is read; 0 if unknown.
func (l *layerSurvey) system() crs.ID {
	if l.stated != 0 {
		return l.stated
	}
	for _, x := range l.names {
		if id, _, _ := resolveName(x.name); id != 0 {
			return id
		}
	}
	return l.Silent
}

// cutFeature cuts a geometry that crosses the antimeridian, and records and reports that. in is its box in the layer.
// doubt reports that it may cross and stays as it is; ok is false if it is refused. A cut geometry is in degrees.
func (s *surveyor) cutFeature(g *input.Shape, in *orb.Bound, f Fault) (cut *input.Shape, doubt, ok bool) {
	l := s.l
	id := l.system()
	reason, wrong := "it crosses the antimeridian; cut there (RFC 7946, 3.1.9)", ""
	action := input.Warning
	switch {
	case l.geodesic():
		action = input.Refused
		if cut, wrong = cutGeodesic(g); cut != nil {
			*in = wkb.EmptyBound()
			cut.Bound(in)
		}
	case id.Geographic():
		if cut, wrong = cutWorld(g); cut != nil {
			*in = wkb.EmptyBound()
			cut.Bound(in)
		}
	case id.Valid() && !l.cutting.clear(id, *in):
		action = input.Refused
		if cut, wrong = cutProjected(g, l.cutting.degrees); cut != nil {
			d := id.Domain()
			in.Min[0], in.Max[0] = min(max(in.Min[0], d.Min[0]), d.Max[0]), max(min(in.Max[0], d.Max[0]), d.Min[0])
		}
	}
	switch {
	case cut != nil:
		l.cut[l.n] = true
		f.Action, f.Reason = input.Repaired, reason
	case wrong != "":
		f.Action, f.Reason = action, wrong
	default:
		return nil, false, true
	}
	s.Plan.fault(f)
	return cut, cut == nil, f.Action != input.Refused
}

// clear reports whether nothing in a box can cross the antimeridian.
func (c *cutting) clear(id crs.ID, b orb.Bound) bool {
	if c.id != id {
		degrees, err := crs.Between(id, crs.CRS84)
		if err != nil {
			return true
		}
		*c = cutting{id: id, degrees: degrees}
	}
	if c.some && c.within.Contains(b.Min) && c.within.Contains(b.Max) {
		return true
	}
	if c.some {
		b = b.Union(c.within)
	}
	for _, pad := range [...]float64{max(b.Max[0]-b.Min[0], b.Max[1]-b.Min[1]), 0} {
		// a wider box is tested less often
		wide := b.Pad(pad)
		e, err := crs.EnvelopeOf(wide, id, crs.CRS84)
		if err == nil && !e.IsEmpty() && e.Min[0] > -halfTurn && e.Max[0] < halfTurn {
			c.within, c.some = wide, true
			return true
		}
	}
	return false
}

// geodesic reports whether the edges of the layer go the short way around the globe.
func (l *Layer) geodesic() bool {
	return l.Of != nil && l.Of.Geometry != nil && l.Of.Geometry.Geodesic
}

// cutAgain returns the geometry, in degrees, as the survey cut it.
func (w *writing) cutAgain(s *input.Shape) *input.Shape {
	var cut *input.Shape
	if w.l.geodesic() {
		cut, _ = cutGeodesic(s)
	} else if w.l.crs.Geographic() {
		cut, _ = cutWorld(s)
	} else if degrees, err := crs.Between(w.l.crs, crs.CRS84); err == nil {
		cut, _ = cutProjected(s, degrees)
	}
	return cut
}
