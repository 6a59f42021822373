package coverage_test

import (
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/geo/coverage"
	"grense/internal/geo/wkb"
)

func TestLinesAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	g := coverage.Grid{Unit: 1}
	l := coverage.NewLines(g)
	for _, x := range []orb.Geometry{orb.LineString{{0, 0}, {10, 0}, {10, 10}}, orb.Point{1, 1},
		orb.MultiLineString{{{5, 5}, {6, 9}}, {{-3, 2}, {8, 8}}, {{1, 1}, {2, 2}}}} {
		if err := l.Add(g, wkb.Append(nil, x), nil); err != nil {
			t.Fatal(err)
		}
	}
	b, err := l.AppendBinary(nil)
	if err != nil {
		t.Fatal(err)
	}
	var back coverage.Lines
	if err := back.UnmarshalBinary(b); err != nil || back.Features() != 3 || back.Count() != 4 ||
		len(back.Clip(nil, 2, coverage.Point{X: -9, Y: -9}, coverage.Point{X: 9, Y: 9})) != 3 {
		t.Errorf("%d features, %d lines: %v", back.Features(), back.Count(), err)
	}
	for n := range b {
		if err := new(coverage.Lines).UnmarshalBinary(b[:n]); err == nil {
			t.Errorf("%d of %d bytes are read", n, len(b))
		}
	}
}
