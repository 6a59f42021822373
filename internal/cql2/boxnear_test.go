package cql2_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/relate"
	"grense/internal/sharedtest"
)

func box(west, south, east, north float64) cql2.BBox {
	return cql2.BBox{Prop: "g", CRS: crs.CRS84,
		Box: orb.Bound{Min: orb.Point{west, south}, Max: orb.Point{east, north}}}
}

// boxOf is the box that is tested.
func boxOf(b cql2.BBox) relate.Box { return relate.Box{Bound: b.Box, Z: b.Z, CRS: b.CRS} }

func touches(t testing.TB, g []byte, in crs.ID, b cql2.BBox) bool {
	t.Helper()
	hit, err := boxOf(b).Touches(g, in)
	if err != nil {
		t.Fatal(err)
	}
	return hit
}

// padded is a record that knows how far its edges bend.
type padded struct {
	record
	pad float64
}

func (p padded) Pad() float64 { return p.pad }

// TestBoxesNearFewEdges: a record that knows how far edges bend gives the same answers, with boxes close to long
// edges and around corners.
func TestBoxesNearFewEdges(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 11))
	back, err := crs.Between(crs.UTM33, crs.CRS84)
	if err != nil {
		t.Fatal(err)
	}
	n, hits := sharedtest.Rounds(t, 3000), 0
	for range n {
		c := orb.Point{300000 + 400000*r.Float64(), 6500000 + 1000000*r.Float64()}
		size := math.Pow(10, 3+2.4*r.Float64())
		ring := ragged(r, c, size, 1, 3+r.IntN(60))
		g := orb.Geometry(orb.Polygon{ring})
		switch r.IntN(4) {
		case 0:
			g = orb.Polygon{ring, ragged(r, c, size/3, 1, 3+r.IntN(20))}
		case 1:
			g = orb.MultiPolygon{{ring}, {ragged(r, orb.Point{c[0] + 2*size, c[1]}, size/2, 1, 5)}}
		case 2:
			g = orb.LineString(ring)
		}
		longest := 0.0
		for i := range ring[1:] {
			longest = max(longest, math.Hypot(ring[i+1][0]-ring[i][0], ring[i+1][1]-ring[i][1]))
		}
		longest = max(longest, 3*size)
		rec := padded{record{wkb: map[string][]byte{"g": wkb.MustMarshal(g)}, in: crs.UTM33},
			6*longest*longest/(8*6371e3)*2 + 1e-6}
		for range 4 {
			i := r.IntN(len(ring) - 1)
			k := r.Float64() // along an edge, on it or beside it
			at := orb.Point{ring[i][0]*k + ring[i+1][0]*(1-k), ring[i][1]*k + ring[i+1][1]*(1-k)}
			off := size * math.Pow(10, -5*r.Float64())
			x, y := back(at[0]+off*(r.Float64()-.5), at[1]+off*(r.Float64()-.5))
			side := math.Pow(10, -6+6*r.Float64())
			b := box(x, y, x+side*r.Float64(), y+side*r.Float64()/2)
			b.Prop = "g"
			want := touches(t, rec.wkb["g"], crs.UTM33, b)
			if want {
				hits++
			}
			if got, err := cql2.Eval(b, rec); err != nil || (got == cql2.True) != want {
				t.Fatalf("%v and %v: %d, want %v; %v", g, b.Box, got, want, err)
			}
			if got, err := cql2.Eval(b, edgedOf(rec)); err != nil || (got == cql2.True) != want {
				t.Fatalf("%v and %v: made ready %d, want %v; %v", g, b.Box, got, want, err)
			}
		}
	}
	if hits < n/2 || hits > 4*n-n/2 {
		t.Errorf("of %d boxes %d touch: no test", 4*n, hits)
	}
}
