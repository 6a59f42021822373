package drawing

import (
	"fmt"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/draw"
)

func TestCachedOutlinesAreBounded(t *testing.T) {
	t.Parallel()
	o := newOutlineCache(nil)
	big := draw.NewOutline("", make(orb.MultiPoint, 100000), func(x, y float64) (float64, float64) { return x, y })
	for i := range 100 {
		putOutline(o, outlineKey{id: fmt.Sprint(i)}, big)
		if s := o.Stats(); s.Bytes > outlineBytes || s.Entries > 21 {
			t.Fatalf("%+v", s)
		}
	}
	_, newest := o.Get(outlineKey{id: "99"})
	if _, oldest := o.Get(outlineKey{id: "0"}); !newest || oldest {
		t.Error("the newest is gone, or the oldest still there")
	}
}
