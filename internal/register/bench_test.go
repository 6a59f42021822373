package register_test

import (
	"path/filepath"
	"testing"

	"grense/internal/register"
	"grense/internal/store/gpkg"
)

// BenchmarkGenerate writes a register of 50,000 places to a GeoPackage.
func BenchmarkGenerate(b *testing.B) {
	for b.Loop() {
		w, err := gpkg.Create(b.Context(), filepath.Join(b.TempDir(), "register.gpkg"))
		if err != nil {
			b.Fatal(err)
		}
		if err := register.Generate(b.Context(), w, register.Options{Places: 50_000, Seed: seed}); err != nil {
			b.Fatal(err)
		}
		if err := w.Commit(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
