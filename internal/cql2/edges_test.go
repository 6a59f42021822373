package cql2_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/relate"
	"grense/internal/sharedtest"
)

// edged is a record whose geometry is made ready.
type edged struct {
	padded
	edges *relate.Edges
}

func (e edged) Edges() *relate.Edges { return e.edges }

func edgedOf(p padded) edged { return edged{p, relate.NewEdges(p.wkb["g"])} }

// TestGeometriesMadeReadyGiveTheSameAnswers: boxes and points that share corners and edges with a geometry,
// or lie in it and beside it, find it by its edges as by a walk.
func TestGeometriesMadeReadyGiveTheSameAnswers(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 12))
	n, hits, ready := sharedtest.Rounds(t, 4000), 0, 0
	for range n {
		g := randomArea(r)
		switch r.IntN(8) {
		case 0:
			g = sharedtest.Geometry(r)
		case 1:
			g = orb.Collection{sharedtest.Geometry(r), near(r, g), g}
		}
		order := []binary.ByteOrder{binary.LittleEndian, binary.BigEndian}[r.IntN(2)]
		plain := padded{record{wkb: map[string][]byte{"g": wkb.MustMarshal(g, order)}, in: crs.CRS84}, 0}
		quick := edgedOf(plain)
		if quick.edges != nil {
			ready++
		}
		for range 6 {
			at := orb.Point{float64(r.IntN(150)) / 16, float64(r.IntN(150)) / 16}
			b := box(at[0], at[1], at[0]+float64(r.IntN(40))/16, at[1]+float64(r.IntN(40))/16)
			if r.IntN(9) == 0 {
				b.Box.Min[0], b.Box.Max[0] = b.Box.Max[0]+.25, b.Box.Min[0] // across the antimeridian
			}
			op := []cql2.SpatialOp{cql2.SIntersects, cql2.SDisjoint}[r.IntN(2)]
			for _, e := range []cql2.Expr{b, cql2.Spatial{Op: op, L: cql2.Prop{Name: "g", Type: cql2.TypeGeometry},
				R: cql2.Geom{G: at, CRS: crs.CRS84}}} {
				want, err1 := cql2.Eval(e, plain)
				got, err2 := cql2.Eval(e, quick)
				if got != want || err1 != nil || err2 != nil {
					t.Fatalf("%v, %s: %d, by a walk %d; %v, %v", g, cql2.FormatText(e), got, want, err2, err1)
				}
				if got == cql2.True {
					hits++
				}
			}
		}
	}
	if hits < n || hits > 11*n || ready < n*9/10 {
		t.Errorf("of %d questions %d hit, and %d of %d geometries are made ready: no test", 12*n, hits, ready, n)
	}
}
