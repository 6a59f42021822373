package wkb_test

import (
	"errors"
	"math"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/geo/wkb"
)

func header(k wkb.Kind, n int) []byte { return wkb.AppendCount(wkb.AppendHeader(nil, k, false), n) }

func curve(k wkb.Kind, xy ...float64) []byte {
	b := header(k, len(xy)/2)
	for i := 0; i < len(xy); i += 2 {
		b = wkb.AppendXY(b, xy[i], xy[i+1])
	}
	return b
}

func group(k wkb.Kind, members ...[]byte) []byte {
	b := header(k, len(members))
	for _, m := range members {
		b = append(b, m...)
	}
	return b
}

func TestStraightenKeepsArcsWithinTheChord(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		radius, chord float64
	}{{100, wkb.ChordMetres}, {5000, wkb.ChordMetres}, {0.01, wkb.ChordDegrees}, {1e-4, wkb.ChordMetres}} {
		x, y, r := 500000.0, 6600000.0, c.radius
		if c.chord == wkb.ChordDegrees {
			x, y = 10, 60
		}
		for name, b := range map[string][]byte{
			"half":           curve(wkb.CircularString, x+r, y, x, y+r, x-r, y),
			"with the clock": curve(wkb.CircularString, x-r, y, x, y+r, x+r, y),
			"most of it":     curve(wkb.CircularString, x+r, y, x-r, y, x, y-r),
			"circle":         curve(wkb.CircularString, x+r, y, x-r, y, x+r, y),
			"two arcs":       curve(wkb.CircularString, x+r, y, x, y+r, x-r, y, x, y-r, x+r, y),
		} {
			out, err := wkb.Straighten(nil, b, c.chord)
			if err != nil {
				t.Fatal(err)
			}
			g, err := wkb.Decode(out)
			line, ok := g.(orb.LineString)
			if err != nil || !ok {
				t.Fatalf("%s: %v, %v", name, g, err)
			}
			rounding := 4e-16 * y
			for i, p := range line {
				if d := math.Hypot(p[0]-x, p[1]-y); math.Abs(d-r) > 4*rounding {
					t.Errorf("%s of %v: %v is %v off the circle", name, r, p, d-r)
				}
				if i > 0 {
					if d := math.Hypot((p[0]+line[i-1][0])/2-x, (p[1]+line[i-1][1])/2-y); r-
						d > c.chord*1.000001+4*rounding {
						t.Errorf("%s of %v: a line is %v off", name, r, r-d)
					}
				}
			}
			if name == "with the clock" && (line[0][0] > line[len(line)-1][0] || line[1][1] < y) {
				t.Errorf("%v", line)
			}
			if name == "circle" && math.Abs(ringArea(orb.Ring(line))-math.Pi*r*r) > 2*math.Pi*r*c.chord+rounding*r*100 {
				t.Errorf("the area is %v", ringArea(orb.Ring(line)))
			}
		}
	}
}

func TestStraightenKnowsEveryType(t *testing.T) {
	t.Parallel()
	arc, line := curve(wkb.CircularString, 0, 0, 1, 1, 2, 0), curve(wkb.LineString, 2, 0, 0, 0)
	compound := group(wkb.CompoundCurve, arc, line)
	ring := header(wkb.Polygon, 1)
	ring = append(ring, curve(wkb.LineString, 0, 0, 1, 0, 0, 1, 0, 0)[5:]...)
	triangle := append(header(wkb.Triangle, 1), ring[9:]...)
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"compound":     {compound, "LineString"},
		"polygon":      {group(wkb.CurvePolygon, compound), "Polygon"},
		"curves":       {group(wkb.MultiCurve, compound, line, arc), "MultiLineString"},
		"surfaces":     {group(wkb.MultiSurface, group(wkb.CurvePolygon, compound), ring), "MultiPolygon"},
		"faces":        {group(wkb.PolyhedralSurface, ring, ring), "MultiPolygon"},
		"triangles":    {group(wkb.TIN, triangle, triangle), "MultiPolygon"},
		"a triangle":   {triangle, "Polygon"},
		"a collection": {group(wkb.Collection, arc, ring, curve(wkb.LineString, 0, 0, 1, 1)), "GeometryCollection"},
		"a polygon":    {ring, "Polygon"},
		"on a line":    {curve(wkb.CircularString, 0, 0, 1, 0, 2, 0), "LineString"},
		"nothing":      {header(wkb.CurvePolygon, 0), "Polygon"},
		"even":         {curve(wkb.CircularString, 0, 0, 1, 1), ""},
		"mixed up":     {group(wkb.MultiSurface, arc), ""},
		"in a curve":   {group(wkb.CurvePolygon, ring), ""},
		"cut off":      {compound[:len(compound)-3], ""},
		"abstract":     {header(wkb.Surface, 0), ""},
		"endless":      {curve(wkb.CircularString, 0, 0, 1e9, 1e9, 2e9, 0, 3e9, -1e9, 4e9, 0, 5e9, 1e9, 6e9, 0), ""},
		"no numbers":   {curve(wkb.CircularString, 0, 0, math.NaN(), 1, 2, 0), ""},
	} {
		out, err := wkb.Straighten(nil, c.b, 1e-6)
		if c.want == "" {
			if err == nil {
				_, err = wkb.Check(out)
			}
			if !errors.Is(err, wkb.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		in, check := wkb.Check(out)
		if err != nil || check != nil || in.Kind.String() != c.want {
			t.Errorf("%s: %v %v %v", name, in.Kind, err, check)
		}
	}
	closed, err := wkb.Straighten(nil, group(wkb.CurvePolygon, compound), 1e-6)
	g, _ := wkb.Decode(closed)
	if p, ok := g.(orb.Polygon); err != nil || !ok || p[0][0] != p[0][len(p[0])-1] || p[0][0] != (orb.Point{0, 0}) {
		t.Errorf("%v %v", g, err)
	}
}

func TestStraightenInterpolatesHeights(t *testing.T) {
	t.Parallel()
	b := wkb.AppendCount(wkb.AppendHeader(nil, wkb.CircularString, true), 3)
	for _, p := range [][3]float64{{0, 0, 0}, {1, 1, 10}, {2, 0, 20}} {
		b = wkb.AppendXYZ(b, p[0], p[1], p[2])
	}
	out, err := wkb.Straighten(nil, b, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	last := -1.0
	err = wkb.Walk(out, func(p wkb.Run) bool {
		for i := range p.Len() {
			if z := p.Z(i); !(z > last) {
				t.Errorf("height %v after %v", z, last)
			} else {
				last = z
			}
		}
		return true
	})
	if err != nil || last != 20 {
		t.Errorf("%v %v", last, err)
	}
}

func FuzzStraighten(f *testing.F) {
	f.Add(
		group(wkb.CurvePolygon,
			group(wkb.CompoundCurve, curve(wkb.CircularString, 0, 0, 1, 1, 2, 0), curve(wkb.LineString, 2, 0, 0, 0))),
	)
	f.Add(group(wkb.TIN))
	f.Fuzz(func(t *testing.T, b []byte) {
		out, err := wkb.Straighten(nil, b, 1e-3)
		if err != nil {
			if !errors.Is(err, wkb.ErrInvalid) {
				t.Error(err)
			}
			return
		}
		if _, err := wkb.Check(out); err != nil && !errors.Is(err, wkb.ErrInvalid) {
			t.Error(err)
		}
	})
}

// ringArea returns the signed area of a ring.
func ringArea(r orb.Ring) float64 {
	var a wkb.Area
	for _, p := range r {
		a.Add(p[0], p[1])
	}
	return a.Signed()
}
