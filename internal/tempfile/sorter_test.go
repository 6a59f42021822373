package tempfile_test

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"grense/internal/tempfile"
)

// TestASorterGivesAllValuesInOrder sorts fewer and more values than are held in memory.
func TestASorterGivesAllValuesInOrder(t *testing.T) {
	t.Parallel()
	type value struct {
		key uint64
		n   int32
	}
	compare := func(a, b value) int { return cmp.Or(cmp.Compare(a.key, b.key), cmp.Compare(a.n, b.n)) }
	for _, n := range []int{0, 1, 99, 100, 101, 250, 5000} {
		dir := t.TempDir()
		s := tempfile.NewSorter(dir, 100, compare)
		var want, got []value
		for i := range n {
			v := value{rand.Uint64N(1000), int32(i)}
			want = append(want, v)
			s.Add(v)
		}
		slices.SortFunc(want, compare)
		if err := s.Sorted(func(v value) error { got = append(got, v); return nil }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) || s.Len() != n {
			t.Errorf("%d values come as %d, in another order", n, len(got))
		}
		stop := errors.New("stop")
		if err := s.Sorted(func(value) error { return stop }); n > 0 && err != stop {
			t.Errorf("%d values: %v", n, err)
		}
		s.Close()
		if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
			t.Errorf("%d values leave %v, %v", n, left, err)
		}
	}
	s := tempfile.NewSorter(filepath.Join(t.TempDir(), "none"), 1, compare)
	s.Add(value{})
	s.Add(value{})
	if err := s.Sorted(func(value) error { return nil }); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is not there: %v", err)
	}
}
