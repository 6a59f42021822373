//go:build !race

package gpkg_test

import (
	"path/filepath"
	"slices"
	"testing"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/register"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestPlacesThatAnotherProgramRemovedAreNotFound: that each spelling has a place holds only as long as nobody else
// writes, and not again when something is imported into the file later.
func TestPlacesThatAnotherProgramRemovedAreNotFound(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "register.gpkg")
	generate := func() {
		create(t, path, func(w store.Writer) {
			if err := register.Generate(t.Context(), w, register.Options{Places: 300, Seed: 1}); err != nil {
				t.Fatal(err)
			}
		})
	}
	// named returns the places with a name that begins with s, and whether the answer was read from spellings alone.
	named := func() (ids []string, alone bool) {
		s := openStore(t, path, gpkg.Options{})
		defer s.Close()
		c, _ := s.Catalog().Collection("sted")
		x, err := cql2.Check(has("skrivemaater", liked("s%")), c)
		if err != nil {
			t.Fatal(err)
		}
		q := store.Query{Collection: "sted", Filter: x, SortBy: []store.Sort{{Property: "rang"}}, Limit: 1000}
		p, err := s.All(t.Context(), store.AllQuery{Query: q})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range p.Rows {
			ids = append(ids, r.ID)
		}
		plan, err := s.AllOrNothingPlan(q)
		if err != nil {
			t.Fatal(err)
		}
		return ids, len(plan) == 1
	}
	generate()
	all, alone := named()
	if len(all) < 2 || !alone {
		t.Fatalf("%d places; from spellings alone: %v", len(all), alone)
	}
	other := func(w store.Writer) { fillPoints(t, w, points("b", crs.UTM33), true, "1") }
	create(t, path, other)
	if ids, alone := named(); !slices.Equal(ids, all) || !alone {
		t.Errorf("after an import beside it: %d of %d places; from spellings alone: %v", len(ids), len(all), alone)
	}
	alter(t, path, "PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE type = 'trigger'; "+
		"PRAGMA writable_schema = RESET; DELETE FROM sted WHERE id = "+all[0])
	for _, step := range []string{"changed", "changed, and imported into"} {
		if ids, alone := named(); !slices.Equal(ids, all[1:]) || alone {
			t.Errorf("%s: %d of %d places; from spellings alone: %v", step, len(ids), len(all), alone)
		}
		create(t, path, other)
	}
	generate()
	if ids, alone := named(); !slices.Equal(ids, all) || !alone {
		t.Errorf("made anew: %d of %d places; from spellings alone: %v", len(ids), len(all), alone)
	}
}
