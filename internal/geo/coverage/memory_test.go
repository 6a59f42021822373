package coverage_test

import (
	"errors"
	"math"
	"testing"

	"grense/internal/geo/coverage"
	"grense/internal/geo/wkb"
)

// numbered is a level with its number.
type numbered struct {
	i int
	l *coverage.Level
}

// within makes the levels of a patchwork down to number last with so much memory.
func within(t *testing.T, memory int64, skip, last int) ([]numbered, error) {
	t.Helper()
	b := coverage.NewBuilder(coverage.Grid{Unit: 1}, coverage.Options{Memory: memory, Skip: skip})
	for _, f := range patchwork(3, 12, 1<<10) {
		if err := b.Add(wkb.Append(nil, f), nil); err != nil {
			return nil, err
		}
	}
	var list []numbered
	err := b.Each(t.Context(), func(i int, l *coverage.Level) (bool, error) {
		list = append(list, numbered{i, l})
		return i < last, nil
	})
	if len(list) > 0 && list[0].i != b.Skipped() {
		t.Errorf("the first level is %d, and %d were skipped", list[0].i, b.Skipped())
	}
	return list, err
}

func TestLittleMemoryLeavesOutTheFinestLevels(t *testing.T) {
	const last = 9
	all, err := within(t, 0, 0, last)
	if err != nil || len(all) != last+1 {
		t.Fatal(len(all), err)
	}
	most := int64(100 * all[0].l.Vertices()) // what all edges take on the finest level
	for _, c := range []struct {
		name          string
		memory        int64
		least, beyond int // levels that may be skipped
	}{
		{"enough once what neighbours share is joined", most * 3 / 2, 0, 0},
		{"two thirds", most * 2 / 3, 1, 8},
		{"a quarter", most / 4, 2, last},
	} {
		some, err := within(t, c.memory, last, last)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if n := some[0].i; n < c.least || n > c.beyond {
			t.Errorf("%s: %d levels were left out", c.name, n)
		}
		for _, x := range some {
			valid(t, x.l)
			covered(t, x.l)
			full := all[x.i].l
			if x.l.Unit != full.Unit || x.l.Features() != full.Features() {
				t.Errorf("%s: level %d has cells of %v and %d features, not %v and %d", c.name, x.i, x.l.Unit,
					x.l.Features(), full.Unit, full.Features())
			}
			for f := range full.Features() {
				a, b := area(feature(full, f)), area(feature(x.l, f))
				if c.least == 0 && a != b || x.i < 7 && math.Abs(a-b) > max(16, a/4) {
					// on coarser ones areas are a few cells
					t.Errorf("%s: level %d: feature %d has the area %v, not %v", c.name, x.i, f, b, a)
				}
			}
		}
	}
	for skip, memory := range map[int]int64{1: most / 4, last: most / 20} {
		if list, err := within(t, memory, skip, last); !errors.Is(err, coverage.ErrTooLarge) {
			t.Errorf("%d bytes, where %d levels may be left out: %d levels, %v", memory, skip, len(list), err)
		}
	}
}
