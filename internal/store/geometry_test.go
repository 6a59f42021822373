package store_test

import (
	"errors"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/store"
)

func TestNullGeometry(t *testing.T) {
	t.Parallel()
	var g store.Geometry
	if o, err := g.Orb(); o != nil || err != nil || !g.IsNull() || g.HasZ() {
		t.Errorf("%v, %v", o, err)
	}
	if _, ok, err := g.Bound(); ok || err != nil {
		t.Error("a bound of nothing")
	}
}

func TestGeometryOfBytesThatAreNone(t *testing.T) {
	t.Parallel()
	g := store.Geometry{WKB: []byte{1, 7, 0, 0, 0, 255, 255, 255, 255}}
	if o, err := g.Orb(); o != nil || !errors.Is(err, store.ErrGeometry) {
		t.Errorf("%v, %v", o, err)
	}
	if _, ok, err := g.Bound(); ok || !errors.Is(err, store.ErrGeometry) {
		t.Errorf("bound: %v, %v", ok, err)
	}
}

func TestGeometryIsDecoded(t *testing.T) {
	t.Parallel()
	want := orb.LineString{{1, 2}, {3, 0}}
	g := store.Geometry{WKB: wkb.MustMarshal(want)}
	if o, err := g.Orb(); err != nil || !orb.Equal(o, want) {
		t.Errorf("%v, %v", o, err)
	}
	if b, ok, err := g.Bound(); !ok || err != nil || b != want.Bound() {
		t.Errorf("%v, %v, %v", b, ok, err)
	}
}
