package gpkg_test

import (
	"path/filepath"
	"testing"

	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

func TestJobs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "state.db")
	storetest.Jobs(t, func() store.Jobs {
		s, err := gpkg.OpenState(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s.(store.Jobs)
	})
}
