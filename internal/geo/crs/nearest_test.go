package crs_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
)

// TestEdgesAreMeasuredWhereTheyAreNearest holds single edges, short and long, in degrees and in metres, up to the
// poles, against many positions on each.
func TestEdgesAreMeasuredWhereTheyAreNearest(t *testing.T) {
	t.Parallel()
	utm, err := crs.Between(crs.UTM33, crs.CRS84)
	if err != nil {
		t.Fatal(err)
	}
	const (
		parts  = 2000
		within = 3e-8 // on a sphere of radius 1, 20 cm: what the bend of an edge that is taken as straight may make
	)
	degrees := func(x, y float64) (float64, float64) { return x, y }
	r := rand.New(rand.NewPCG(31, 32))
	for _, tt := range []struct {
		name string
		back crs.Func
		edge func(size float64) (a, b, at orb.Point)
	}{
		{"degrees", degrees, func(size float64) (a, b, at orb.Point) {
			a = orb.Point{20*r.Float64() - 10, 176*r.Float64() - 88}
			b = orb.Point{a[0] + size*r.NormFloat64(), max(-89, min(89, a[1]+size*r.NormFloat64()))}
			return a, b, orb.Point{a[0] + 2*size*r.NormFloat64(), max(-90, min(90, a[1]+size*r.NormFloat64()))}
		}},
		{"degrees around a pole", degrees, func(float64) (a, b, at orb.Point) {
			near := func() float64 { return 90 - math.Pow(10, 2.5*r.Float64()-2) } // from 1 to 350 km
			a = orb.Point{0, near()}
			b = orb.Point{360 * r.Float64(), a[1] + (near()-a[1])*float64(r.IntN(2))*r.Float64()}
			return a, b, orb.Point{360*r.Float64() - 180, a[1] + (near()-a[1])*r.Float64()/4}
		}},
		{"metres", utm, func(size float64) (a, b, at orb.Point) {
			a = orb.Point{1e6 * r.Float64(), 6.4e6 + 1.5e6*r.Float64()}
			b = orb.Point{a[0] + size*1e5*r.NormFloat64(), a[1] + size*1e5*r.NormFloat64()}
			lon, lat := utm(a[0]+size*1e5*r.NormFloat64(), a[1]+size*1e5*r.NormFloat64())
			return a, b, orb.Point{lon, lat}
		}},
	} {
		for i := range 400 {
			a, b, at := tt.edge(math.Pow(10, 2*r.Float64()-1.5)) // from 3 to 300 km or so
			least, step := math.Inf(1), 0.0
			var last orb.Point
			for j := range parts + 1 {
				f := float64(j) / parts
				x, y := tt.back(a[0]+f*(b[0]-a[0]), a[1]+f*(b[1]-a[1]))
				p := orb.Point{x, y}
				least = min(least, onSphere(at, p))
				if j > 0 {
					step = max(step, onSphere(last, p))
				}
				last = p
			}
			n := crs.NewNearest(at, tt.back)
			if i%2 == 1 {
				n.Least = 1.2*least + within // of something else
			}
			n.Edge(n.Vertex(a), n.Vertex(b))
			// Between two positions may lie one that is nearer, half a step from both.
			if got := n.Least; got > least+within || got < math.Sqrt(max(0, least*least-step*step/4))-within {
				t.Fatalf("%s %d: from %v to the edge %v %v it is %v, of %d positions on it the nearest is at %v",
					tt.name, i, at, a, b, got, parts, least)
			}
		}
	}
}

// onSphere is the distance of two positions on a sphere of radius 1.
func onSphere(a, b orb.Point) float64 {
	const radian = math.Pi / 180
	sinY, sinX := math.Sin((b[1]-a[1])*radian/2), math.Sin((b[0]-a[0])*radian/2)
	return 2 * math.Asin(min(1, math.Sqrt(sinY*sinY+math.Cos(a[1]*radian)*math.Cos(b[1]*radian)*sinX*sinX)))
}

// TestNearestToWhatGoesAroundTheWorld: an edge whose ends are near, or one, is as far as it is between them.
func TestNearestToWhatGoesAroundTheWorld(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ at, a, b, want orb.Point }{
		{orb.Point{0, -59.9}, orb.Point{180, -60}, orb.Point{-180, -60}, orb.Point{0, -60}},
		{orb.Point{100, 1}, orb.Point{-180, 0}, orb.Point{180, 0}, orb.Point{100, 0}},
		{orb.Point{20, 49}, orb.Point{-170, 48}, orb.Point{175, 48}, orb.Point{20, 48}},
	} {
		n := crs.NewNearest(tt.at, func(x, y float64) (float64, float64) { return x, y })
		n.Edge(n.Vertex(tt.a), n.Vertex(tt.b))
		if d, want := n.Metres(), crs.Distance(tt.at, tt.want); math.Abs(d-want) > 1 {
			t.Errorf("from %v to %v–%v: %v m at %v, want %v at %v", tt.at, tt.a, tt.b, d, n.Best, want, tt.want)
		}
	}
}
