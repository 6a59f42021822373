package server

import (
	"fmt"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/draw"
)

func TestOutlinesThatAreKeptAreBounded(t *testing.T) {
	t.Parallel()
	var o outlines
	big := draw.NewOutline("", make(orb.MultiPoint, 100000), func(x, y float64) (float64, float64) { return x, y })
	for i := range 100 {
		o.put(outlineKey{id: fmt.Sprint(i)}, big)
		if o.size > outlineBytes || len(o.m) > 21 {
			t.Fatalf("%d bytes, %d outlines", o.size, len(o.m))
		}
	}
	if o.get(outlineKey{id: "99"}) == nil || o.get(outlineKey{id: "0"}) != nil {
		t.Error("the newest is gone, or the oldest kept")
	}
}
