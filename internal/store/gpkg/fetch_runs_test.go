package gpkg_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/gpkg/writer"
	"grense/internal/store/storetest"
)

// TestFetchGivesWhatIsAskedInItsOrder: ids that follow each other are read as one, and nothing is seen of that.
func TestFetchGivesWhatIsAskedInItsOrder(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	text := func(i int) any { // texts that repeat, differ by little, are empty, long or null
		return []any{"ab", "aab", "", nil, strings.Repeat("long ", 40), "Ål", strconv.Itoa(i)}[i%7]
	}
	storetest.Write(t, func(w store.Writer) {
		c := &store.Collection{ID: "x", Table: "x", Public: true, Key: store.FeatureKey{Column: "nr",
			Type: cql2.TypeInteger}, Properties: []store.Property{{Name: "navn", Column: "navn"}}}
		if err := w.Define(t.Context(), c, true); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(t.Context(), "x", []string{"nr", "navn"})
		for i := 1; i <= 5000 && err == nil; i++ {
			if i != 100 && i != 2001 {
				err = insert(int64(i), text(i))
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	})(writer.Create(t.Context(), path))
	st := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), path, gpkg.Options{DataDir: t.TempDir()}))
	var all []int
	for i := 1; i <= 5000; i++ {
		all = append(all, i)
	}
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	odd := slices.DeleteFunc(slices.Clone(all), func(i int) bool { return i%2 == 0 })
	mixed := slices.Concat(all[:50], backwards[:50], all[10:60], []int{7, 7, 8, 9, 10, 11, 12, 13, 14, 15})
	for name, asked := range map[string][]int{"all": all, "backwards": backwards, "odd": odd, "mixed": mixed,
		"beyond": {4990, 4991, 4992, 4993, 4994, 4995, 4996, 4997, 4998, 4999, 5000, 5001, 5002}} {
		var rows []store.Row
		var want, got []string
		for _, i := range asked {
			rows = append(rows, store.Row{ID: strconv.Itoa(i)})
			if i != 100 && i != 2001 && i <= 5000 {
				want = append(want, fmt.Sprint(i, " ", text(i)))
			}
		}
		take := func(f *store.Feature) error { got = append(got, fmt.Sprint(f.ID, " ", f.Values[0])); return nil }
		if err := st.Fetch(t.Context(), "x", rows, store.Want{Properties: []string{"navn"}, SkipMissing: true},
			take); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %d features instead of %d, %v", name, len(got), len(want), err)
		}
		if err := st.Fetch(t.Context(), "x", rows, store.Want{}, func(*store.Feature) error {
			return nil
		}); (err == nil) != (len(want) == len(asked)) || err != nil && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s, all wanted: %v", name, err)
		}
	}
	rows := store.Current("1", "2", "3", "4", "5", "6", "7", "8", "9", "10")
	p, err := st.Page(t.Context(), store.Query{Collection: "x", Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	copy(rows, p.Rows)
	rows[9].Rev++
	if err := st.Fetch(t.Context(), "x", rows, store.Want{}, func(*store.Feature) error {
		return nil
	}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("of another revision: %v", err)
	}
}
