package store_test

import (
	"testing"

	"grense/internal/store"
)

func TestCollectionID(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Fylker": "fylker", "Kommuner-M": "kommuner-m", "Ærlig Øy, Å": "aerlig_oy_a", "a__b": "a__b", "n1000.kommune": "n1000_kommune", "": "_", "—": "_"} {
		if got := store.CollectionID(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}
