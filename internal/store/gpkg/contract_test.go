package gpkg_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	storetest.Exercise(t, func(t *testing.T, fill func(store.Writer)) store.Store {
		t.Helper()
		path := filepath.Join(t.TempDir(), "data.gpkg")
		create(t, path, fill)
		return openStore(t, path, gpkg.Options{})
	})
}

// TestContractWithNarrowCopies is the contract where questions read copies without the geometry.
func TestContractWithNarrowCopies(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	storetest.Exercise(t, func(t *testing.T, fill func(store.Writer)) store.Store {
		t.Helper()
		path := filepath.Join(t.TempDir(), "data.gpkg")
		create(t, path, fill)
		return openStore(t, path, gpkg.Options{NarrowFrom: 1})
	})
}

// create writes a GeoPackage.
func create(t testing.TB, path string, fill func(store.Writer)) {
	t.Helper()
	w, err := gpkg.Create(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fill(w)
	if err := w.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// openStore opens a store and closes it when the test ends.
func openStore(t testing.TB, path string, o gpkg.Options) *gpkg.Store {
	t.Helper()
	if o.DataDir == "" {
		o.DataDir = t.TempDir()
	}
	s, err := gpkg.Open(context.Background(), path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestChangedData: a file that another one takes the place of, and one that is written into.
func TestChangedData(t *testing.T) {
	t.Parallel()
	storetest.ExerciseChange(t, func(t *testing.T, fill func(store.Writer)) (store.Store, func(func(store.Writer))) {
		path := filepath.Join(t.TempDir(), "data.gpkg")
		create(t, path, fill)
		s := openStore(t, path, gpkg.Options{})
		return s, func(fill func(store.Writer)) {
			create(t, path+".new", fill)
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
			if err := s.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	})
}
