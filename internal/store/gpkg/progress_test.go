package gpkg_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestProgressOfManyLayersIsTold: what reads files of many small layers hears how many are done.
func TestProgressOfManyLayersIsTold(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	create(t, path, func(w store.Writer) {
		for i := range 5 {
			id := fmt.Sprintf("layer_%d", i)
			c := &store.Collection{ID: id, Table: id, Public: true,
				Key: store.FeatureKey{Column: "nr", Type: cql2.TypeInteger}}
			if err := w.Define(context.Background(), c, false); err != nil {
				t.Fatal(err)
			}
		}
	})
	var told []int
	openStore(t, path, gpkg.Options{Progress: func(layer string, done, total int) {
		if layer == "" && total == 5 {
			told = append(told, done)
		}
	}})
	if fmt.Sprint(told) != "[0 1 2 3 4]" {
		t.Errorf("told of %v layers", told)
	}
}
