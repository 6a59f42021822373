package store_test

import (
	"math"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/store"
)

func TestItemTypes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		texts []string
		want  string // "-": not all are arrays
	}{
		{[]string{`[]`}, ""}, {[]string{`["a","b"]`, `[]`}, "string"}, {[]string{`[1,2.0]`}, "integer"},
		{[]string{`[1]`, `[2.5]`}, "number"},
		{[]string{`[2.5,1]`}, "number"}, {[]string{`[9007199254740993]`}, "number"},
		{[]string{`[true]`, `[false]`}, "boolean"}, {[]string{`[1]`, `["a"]`}, "any"},
		{[]string{`[1,"a",1]`}, "any"}, {[]string{`[null]`}, "any"}, {[]string{`[[1]]`}, "any"}, {[]string{`{}`}, "-"},
		{[]string{`"a"`}, "-"}, {[]string{`[`}, "-"},
	} {
		items, all := "", true
		for _, x := range tt.texts {
			ok := false
			items, ok = store.ItemType(items, []byte(x))
			all = all && ok
		}
		if !all {
			items = "-"
		}
		if items != tt.want {
			t.Errorf("%q: %q, want %q", tt.texts, items, tt.want)
		}
	}
}

// TestEdgePadCoversCurvedEdges goes along edges that are straight in degrees and looks how far they leave the envelope
// of their ends in metres.
func TestEdgePadCoversCurvedEdges(t *testing.T) {
	t.Parallel()
	to, err := crs.Between(crs.CRS84, crs.UTM33)
	if err != nil {
		t.Fatal(err)
	}
	bound := &orb.Bound{Min: orb.Point{4, 57}, Max: orb.Point{32, 72}}
	for _, e := range [][4]float64{{5, 60, 13, 60}, {10, 71, 20, 71}, {15, 58, 15.5, 58}, {8, 62, 9, 63},
		{25, 70, 31, 70.5}} {
		x0, y0 := to(e[0], e[1])
		x1, y1 := to(e[2], e[3])
		pad := store.EdgePad(crs.UTM33, math.Hypot(x1-x0, y1-y0), bound, false)
		for i := range 101 {
			f := float64(i) / 100
			x, y := to(e[0]+f*(e[2]-e[0]), e[1]+f*(e[3]-e[1]))
			if x < min(x0, x1)-pad || x > max(x0, x1)+pad || y < min(y0, y1)-pad || y > max(y0, y1)+pad {
				t.Errorf("%v: at %v the edge lies outside of a pad of %v m", e, f, pad)
			}
		}
		if pad > 50e3 {
			t.Errorf("%v: a pad of %v m says nothing", e, pad)
		}
	}
	for name, pad := range map[string]float64{
		"too long": store.EdgePad(crs.CRS84, 10, bound, false), "unknown extent": store.EdgePad(crs.CRS84, 1, nil,
			false), "coordinates outside": store.EdgePad(crs.CRS84, 1, bound, true),
		"polar": store.EdgePad(crs.CRS84, 1, &orb.Bound{Min: orb.Point{0, 0}, Max: orb.Point{1, 85}}, false),
	} {
		if !math.IsInf(pad, 1) {
			t.Errorf("%s: %v", name, pad)
		}
	}
}
