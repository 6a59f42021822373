package coverage_test

import (
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/geo/coverage"
)

// TestDamagedLinesDoNoHarm reads whole and damaged bytes of lines, with a feature of many lines at the end, and one
// of none.
func TestDamagedLinesDoNoHarm(t *testing.T) {
	t.Parallel()
	g := coverage.Grid{Unit: 1}
	l := coverage.NewLines(g)
	add := func(x orb.Geometry) {
		var b []byte
		if x != nil {
			b = wkb.MustMarshal(x)
		}
		if err := l.Add(g, b, nil); err != nil {
			t.Fatal(err)
		}
	}
	add(orb.LineString{{1, 1}, {5, 5}, {9, -3}})
	add(nil)
	many := orb.MultiLineString{}
	for i := range 300 {
		many = append(many, orb.LineString{{float64(i), 0}, {float64(i), 10}})
	}
	add(many)
	b, err := l.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	var again coverage.Lines
	if err := again.UnmarshalBinary(b); err != nil {
		t.Fatal(err)
	}
	whole := [2]coverage.Point{{X: -1000, Y: -1000}, {X: 1000, Y: 1000}}
	if again.Features() != 3 || again.Count() != 301 || again.Unit != l.Unit {
		t.Errorf("%d features, %d lines", again.Features(), again.Count())
	}
	for f := range 3 {
		if got, want := again.Clip(nil, f, whole[0], whole[1]), l.Clip(nil, f, whole[0], whole[1]); !reflect.DeepEqual(
			got,
			want,
		) {
			t.Errorf("feature %d differs", f)
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 { // no damage does harm
		bad := append([]byte(nil), b[:r.IntN(len(b)+1)]...)
		for range r.IntN(4) {
			if len(bad) > 0 {
				bad[r.IntN(len(bad))] = byte(r.Uint32())
			}
		}
		var x coverage.Lines
		if x.UnmarshalBinary(bad) == nil {
			for f := range x.Features() {
				x.Clip(nil, f, whole[0], whole[1])
				x.Around(f)
			}
		}
	}
}
