package postgis_test

import (
	"testing"

	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/storetest"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	url := base(t, "")
	storetest.Changes(t, func() store.Changes {
		s, err := postgis.OpenState(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s.(store.Changes)
	})
}
