package ingest_test

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
)

// blob is a ring around a centre with corners at random distances, which may repeat a position.
func blob(r *rand.Rand, x, y, size float64, clockwise bool) orb.Ring {
	var ring orb.Ring
	n := 3 + r.IntN(9)
	for i := range n {
		a := 2 * math.Pi * float64(i) / float64(n)
		if clockwise {
			a = -a
		}
		d := size * (0.3 + 0.7*r.Float64())
		ring = append(ring, orb.Point{math.Round(x + d*math.Cos(a)), math.Round(y + d*math.Sin(a))})
		if r.IntN(8) == 0 {
			ring = append(ring, ring[len(ring)-1])
		}
	}
	return append(ring, ring[0])
}

// blobs is polygons with holes, somewhere on a plane of 100 units, so that some lie in, on and across others.
func blobs(r *rand.Rand) orb.MultiPolygon {
	var all orb.MultiPolygon
	for range 1 + r.IntN(3) {
		x, y := 100*r.Float64(), 100*r.Float64()
		p := orb.Polygon{blob(r, x, y, 40, false)}
		for range r.IntN(3) {
			p = append(p, blob(r, x+10*r.NormFloat64(), y+10*r.NormFloat64(), 1+8*r.Float64(), true))
		}
		all = append(all, p)
	}
	return all
}

// TestWhatIsPlainlyValidIsValid compares with the library, which takes its time.
func TestWhatIsPlainlyValidIsValid(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(15, 2))
	seen := map[[2]bool]int{}
	for i := range 4000 {
		var g orb.Geometry = blobs(r)
		if i%4 == 0 {
			g = random(r)
		}
		b := wkb.MustMarshal(g)
		plainly, wrong, err := ingest.PlainlyValid(b)
		if err != nil {
			continue
		}
		if plainly && wrong != "" {
			t.Errorf("plainly valid, but %s: %v", wrong, g)
		}
		seen[[2]bool{plainly, wrong == ""}]++
	}
	t.Log(seen)
	if seen[[2]bool{true, true}] < 300 || seen[[2]bool{false, false}] < 300 {
		t.Errorf("too few of a kind: %v", seen)
	}
}

// TestPlainlyValid: rings apart from each other are seen to be valid where they belong, and nowhere else.
func TestPlainlyValid(t *testing.T) {
	t.Parallel()
	square := func(x, y, size float64) orb.Ring {
		return orb.Ring{{x, y}, {x + size, y}, {x + size, y + size}, {x, y + size}, {x, y}}
	}
	shell := square(0, 0, 100)
	for name, c := range map[string]struct {
		g    orb.Geometry
		want bool
	}{
		"a square":                {orb.Polygon{shell}, true},
		"a hole":                  {orb.Polygon{shell, square(10, 10, 10)}, true},
		"two holes":               {orb.Polygon{shell, square(10, 10, 10), square(30, 10, 10)}, true},
		"a hole outside":          {orb.Polygon{shell, square(110, 10, 10)}, false},
		"a hole in a hole":        {orb.Polygon{shell, square(10, 10, 50), square(20, 20, 10)}, false},
		"a hole around the shell": {orb.Polygon{shell, square(-10, -10, 200)}, false},
		"a hole on the edge":      {orb.Polygon{shell, square(0, 10, 10)}, false},
		"an island in a hole":     {orb.MultiPolygon{{shell, square(10, 10, 50)}, {square(20, 20, 10)}}, true},
		"an island first":         {orb.MultiPolygon{{square(20, 20, 10)}, {shell, square(10, 10, 50)}}, true},
		"a polygon in another":    {orb.MultiPolygon{{shell, square(10, 10, 5)}, {square(20, 20, 10)}}, false},
		"a lake on an island in a hole": {orb.MultiPolygon{{shell, square(10, 10, 50)},
			{square(20, 20, 20), square(25, 25, 5)}}, true},
		"a polygon twice": {orb.MultiPolygon{{shell}, {shell}}, false},
		"a spike":         {orb.Polygon{{{0, 0}, {10, 0}, {20, 0}, {10, 0}, {10, 10}, {0, 0}}}, false},
		"a bow tie":       {orb.Polygon{{{0, 0}, {10, 10}, {10, 0}, {0, 10}, {0, 0}}}, false},
		"a ring that touches itself": {orb.Polygon{{{0, 0}, {5, 5}, {10, 0}, {10, 10}, {5, 5}, {0, 10}, {0, 0}}},
			false},
		"a line there and back": {orb.Polygon{{{0, 0}, {10, 10}, {0, 0}, {0, 0}}}, false},
		"what is not finite":    {orb.Polygon{{{0, 0}, {math.Inf(1), 0}, {10, 10}, {0, 0}}}, false},
	} {
		if plainly, _, err := ingest.PlainlyValid(wkb.MustMarshal(c.g)); err == nil && plainly != c.want {
			t.Errorf("%s: %v", name, plainly)
		}
	}
}

// TestTheOceanIsPlainlyValid: the largest geometry of the shared data, of 447,163 positions and 6,807 islands, takes no
// more than a sort.
func TestTheOceanIsPlainlyValid(t *testing.T) {
	if testing.Short() {
		t.Skip("reads six megabytes")
	}
	t.Parallel()
	var b []byte
	err := ingesttest.Open(t, ingesttest.SharedPath(t, "data", "world", "ne_10m_ocean.geojson.gz"), 0).
		Layers[0].Features(t.Context(), func(f *ingest.Feature) error {
		b = bytes.Clone(f.Geometry.WKB)
		return nil
	}, func(ingest.Fault) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if plainly, err := ingest.PlainlyValidOnly(b); err != nil || !plainly {
		t.Errorf("%v, %v", plainly, err)
	}
}
