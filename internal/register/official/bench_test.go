package official_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"grense/internal/register"
	"grense/internal/register/official"
	"grense/internal/store/gpkg"
)

// manyPlaces writes a file of n places made of the invented ones, and returns its path.
func manyPlaces(b *testing.B, n int) string {
	b.Helper()
	path := filepath.Join(b.TempDir(), "many.gml")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	fmt.Fprint(f, gmlHead)
	places := invented()
	for i := range n {
		p := places[i%len(places)]
		p.number = i + 1
		fmt.Fprint(f, p)
	}
	fmt.Fprint(f, "</gml:FeatureCollection>\n")
	return path
}

// Reading and ordering, and the same with a GeoPackage written: places a second.
func BenchmarkImport(b *testing.B) {
	const n = 10_000
	path := manyPlaces(b, n)
	info, err := os.Stat(path)
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"read", "into a GeoPackage"} {
		write := name != "read"
		b.Run(name, func(b *testing.B) {
			b.SetBytes(info.Size())
			b.ReportAllocs()
			for b.Loop() {
				im, err := official.Read(b.Context(), []string{path}, official.Options{})
				if err != nil {
					b.Fatal(err)
				}
				if write {
					w, err := gpkg.CreateDated(b.Context(), filepath.Join(b.TempDir(), "register.gpkg"), im.Dated())
					if err != nil {
						b.Fatal(err)
					}
					if err := register.Define(b.Context(), w, false); err != nil {
						b.Fatal(err)
					}
					if err := im.Write(b.Context(), w); err != nil {
						b.Fatal(err)
					}
					if err := w.Commit(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
				im.Close()
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "places/s")
		})
	}
}
