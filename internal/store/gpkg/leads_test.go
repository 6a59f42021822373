package gpkg_test

import (
	"path/filepath"
	"testing"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// A statement that names an index of some rows only cannot be planned, however the index was written.
func TestWholeAnswersLeaveIndexesOfSomeRows(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	create(t, path, func(w store.Writer) { fillPoints(t, w, points("a", crs.CRS84), false, "1", "2") })
	alter(t, path, "CREATE INDEX some ON a (nr)\nWHERE\nnr > '1'")
	s := openStore(t, path, gpkg.Options{})
	p, err := s.All(t.Context(), store.AllQuery{Query: store.Query{Collection: "a", Limit: 10,
		Filter: cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: "nr", Type: cql2.TypeText}, R: cql2.Text("1")}}})
	if err != nil || len(p.Rows) != 1 {
		t.Errorf("%+v: %v", p, err)
	}
}
