package gpkg_test

import (
	"path/filepath"
	"testing"

	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	storetest.Changes(t, func() store.Changes {
		s, err := gpkg.OpenState(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s.(store.Changes)
	})
}
