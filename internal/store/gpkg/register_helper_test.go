package gpkg_test

import (
	"path/filepath"
	"testing"

	"grense/internal/cql2"
	"grense/internal/register"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

func norm(property string) cql2.Expr {
	return cql2.Func{Name: "norm", Args: []cql2.Expr{cql2.Prop{Name: property}}}
}

func liked(pattern string) cql2.Expr {
	return cql2.Like{X: norm("langnavn"), Pattern: cql2.Text(pattern)}
}

// manyNames makes a register that is large enough for tables in memory.
func manyNames(t *testing.T) string {
	path := filepath.Join(t.TempDir(), "register.gpkg")
	storetest.Write(t, func(w store.Writer) {
		if err := register.Generate(t.Context(), w, register.Options{Places: 2500, Seed: 3}); err != nil {
			t.Fatal(err)
		}
	})(gpkg.Create(t.Context(), path))
	return path
}
