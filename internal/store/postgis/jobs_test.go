package postgis_test

import (
	"testing"

	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/storetest"
)

func TestJobs(t *testing.T) {
	t.Parallel()
	url := base(t, "")
	storetest.Jobs(t, func() store.Jobs {
		s, err := postgis.OpenState(t.Context(), url)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s.(store.Jobs)
	})
}
