package crs_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
)

func bound(x1, y1, x2, y2 float64) orb.Bound {
	return orb.Bound{Min: orb.Point{x1, y1}, Max: orb.Point{x2, y2}}
}

func envelope(t *testing.T, b orb.Bound, from, to crs.ID) orb.Bound {
	t.Helper()
	e, err := crs.EnvelopeOf(b, from, to)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestEnvelopeCoversEveryPoint draws boxes of all sizes in every CRS and looks for an inner point outside the envelope.
func TestEnvelopeCoversEveryPoint(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	r := rand.New(rand.NewPCG(1, 2))
	ids := slices.Concat(crs.Served(), []crs.ID{2154, 3034, 2180, 32701})
	for _, from := range ids {
		for _, to := range ids {
			f, d := between(t, from, to), from.Domain()
			if from == crs.WebMercator {
				d = bound(-2.1e7, -2.1e7, 2.1e7, 2.1e7)
				d.Min[0], d.Max[0] = from.Domain().Min[0], from.Domain().Max[0]
			}
			for range 40 {
				size := math.Pow(10, -4*r.Float64())
				w, h := (d.Max[0]-d.Min[0])*size, (d.Max[1]-d.Min[1])*size*r.Float64()
				x, y := d.Min[0]+(d.Max[0]-d.Min[0]-w)*r.Float64(), d.Min[1]+(d.Max[1]-d.Min[1]-h)*r.Float64()
				b := bound(x, y, x+w, y+h)
				e := envelope(t, b, from, to)
				for i := range 60 {
					px, py := x+w*r.Float64(), y+h*r.Float64()
					if i%3 == 0 {
						px = x
					} else if i%3 == 1 {
						py = y + h
					}
					qx, qy := f(px, py)
					if to.Geographic() && from == crs.WebMercator {
						qx = max(-180, min(180, qx))
					}
					if math.Abs(qx) < 1e8 && math.Abs(qy) < 1e9 && !e.Contains(orb.Point{qx, qy}) {
						t.Fatalf("%v to %v: envelope %v of %v misses %v %v, the image of %v %v", from, to, e, b,
							qx, qy, px, py)
					}
				}
			}
		}
	}
}

func TestEnvelopeIsTightWhereNothingIsSpecial(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		from, to crs.ID
		in, want orb.Bound
		slack    float64
	}{
		// PROJ, transform_bounds with 5000 points on each edge.
		{"edges bulge beyond the corners", crs.CRS84, crs.UTM33, bound(5, 60, 25, 70),
			bound(-56351.3, 6651411.2, 1056351.3, 7797151), 100},
		{"identity is untouched", crs.WGS84, crs.CRS84, bound(1, 2, 3, 4), bound(1, 2, 3, 4), 0},
		{"Mercator", crs.CRS84, crs.WebMercator, bound(0, 0, 10, 10), bound(0, 0, 1113194.9, 1118889.97), 50},
	} {
		e := envelope(t, c.in, c.from, c.to)
		for k := range 2 {
			if math.Abs(e.Min[k]-c.want.Min[k]) > c.slack || math.Abs(e.Max[k]-c.want.Max[k]) > c.slack {
				t.Errorf("%s: %v, want %v", c.name, e, c.want)
			}
		}
	}
}

func TestEnvelopeAtPolesAndAntimeridian(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		from, to      crs.ID
		in            orb.Bound
		allLongitudes bool
		reachesLat    float64
	}{
		{"pole inside a polar box", crs.LAEANorthPole, crs.CRS84, bound(-1e5, -2e5, 3e5, 1e5), true, 90},
		{"pole on the corner", crs.LAEANorthPole, crs.CRS84, bound(0, 0, 3e5, 1e5), true, 90},
		{"across 180 degrees in the polar system", crs.LAEANorthPole, crs.CRS84, bound(-1e5, 1e6, 1e6, 2e6), true, 0},
		{"far from both", crs.LAEANorthPole, crs.CRS84, bound(-1e5, -2e6, 1e5, -1e6), false, 0},
		{"pole in a UTM box", crs.UTM33, crs.CRS84, bound(4e5, 9.9e6, 6e5, 1.01e7), true, 90},
		{"Norway in UTM", crs.UTM33, crs.CRS84, bound(-1e5, 6.4e6, 1.2e6, 8e6), false, 0},
		{"half the world in Mercator", crs.WebMercator, crs.CRS84, bound(0, -1e7, 20037508.342789244, 1e7), false, 0},
	} {
		e := envelope(t, c.in, c.from, c.to)
		if all := e.Min[0] == -180 && e.Max[0] == 180; all != c.allLongitudes || c.reachesLat == 90 && e.Max[1] != 90 {
			t.Errorf("%s: %v", c.name, e)
		}
	}
	norway := orb.Point{262000, 6649000}
	for _, b := range []orb.Bound{bound(-180, -90, 180, 90), bound(-180, 50, 180, 90), bound(-180, 0, 180, 89)} {
		for _, to := range []crs.ID{crs.UTM33, crs.LAEAEurope, crs.LAEANorthPole, crs.WebMercator} {
			p := norway
			p[0], p[1] = between(t, crs.UTM33, to)(norway[0], norway[1])
			if e := envelope(t, b, crs.CRS84, to); !e.Contains(p) {
				t.Errorf("world %v in %v: %v misses Norway", b, to, e)
			}
		}
	}
}

func TestEnvelopeOfNothing(t *testing.T) {
	t.Parallel()
	if e := envelope(t, bound(1, 1, -1, -1), crs.CRS84, crs.UTM33); !e.IsEmpty() {
		t.Errorf("empty box becomes %v", e)
	}
	if _, err := crs.EnvelopeOf(bound(0, 0, 1, 1), crs.CRS84, 3395); err == nil {
		t.Error("EPSG:3395 has an envelope")
	}
	b := bound(10, 60, 10, 60)
	x, y := between(t, crs.CRS84, crs.UTM33)(10, 60)
	if e := envelope(t, b, crs.CRS84, crs.UTM33); !e.Contains(orb.Point{x, y}) || e.Max[0]-e.Min[0] > 0.01 {
		t.Errorf("a point becomes %v", e)
	}
}
