package gpkg_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// TestSurveysOfFormerProgramsStayWhereNothingCanCrossTheAntimeridian takes from a side file what former programs did
// not look for: it is found again where a layer is wide enough for it, and the file of another stays as it is.
func TestSurveysOfFormerProgramsStayWhereNothingCanCrossTheAntimeridian(t *testing.T) {
	t.Parallel()
	crossing, plain := filepath.Join(t.TempDir(), "crossing.gpkg"), planFile(t, 5, false)
	create(t, crossing, func(w store.Writer) { storetest.WriteCrossings(t, w) })
	for path, wide := range map[string]bool{crossing: true, plain: false} {
		dir := t.TempDir()
		sides := func() (path string, info os.FileInfo) {
			found, err := filepath.Glob(filepath.Join(dir, "*.side"))
			if err != nil || len(found) != 1 {
				t.Fatalf("%v, %v", found, err)
			}
			if info, err = os.Stat(found[0]); err != nil {
				t.Fatal(err)
			}
			return found[0], info
		}
		refused := func() (layers []string) {
			s, err := gpkg.Open(t.Context(), path, gpkg.Options{DataDir: dir})
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range s.Catalog().Notes {
				if n.Refused {
					layers = append(layers, n.Layer)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			return layers
		}
		want := strings.Join(refused(), " ")
		side, before := sides()
		run(t, side, `UPDATE survey SET body = replace(replace(body, '"Edges":true', '"Edges":false'), `+
			`'"Across":true', '"Across":false')`)
		if got := strings.Join(refused(), " "); got != want {
			t.Errorf("%s: %s are refused, want %s", path, got, want)
		}
		if _, after := sides(); os.SameFile(before, after) == wide {
			t.Errorf("%s: the side file was made anew: %v, want %v", path, !wide, wide)
		}
	}
}
