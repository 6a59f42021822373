package main_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"grense/internal/store/storetest"
)

// importMemory bounds the resident memory of an import of any size, in bytes.
const importMemory = 150 << 20

// TestAnImportTakesBoundedMemory imports 300,000 and 3 million features.
func TestAnImportTakesBoundedMemory(t *testing.T) {
	for _, p := range storetest.ScaledParcels(t) {
		dir := t.TempDir()
		from := filepath.Join(dir, "teig.geojsonl")
		f, err := os.Create(from)
		if err != nil {
			t.Fatal(err)
		}
		w := bufio.NewWriter(f)
		if err := errors.Join(p.WriteGeoJSON(w), w.Flush(), f.Close()); err != nil {
			t.Fatal(err)
		}
		cmd := program(t, t.Context(), dir, "import", from, "--into", filepath.Join(dir, "teig.gpkg"),
			"--collection", "teig", "--crs", "EPSG:25833", "--id-field", "nummer")
		cmd.Env = append(os.Environ(), "TMPDIR="+dir)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		state := cmd.ProcessState
		line := fmt.Sprintf("%d features: CPU %.1f s", p.N, (state.UserTime() + state.SystemTime()).Seconds())
		if u, ok := state.SysUsage().(*syscall.Rusage); ok {
			line += fmt.Sprintf(", resident memory %d MB (bar %d MB)", u.Maxrss>>10, importMemory>>20)
			if u.Maxrss<<10 > importMemory {
				t.Errorf("%d features take %d MB", p.N, u.Maxrss>>10)
			}
		}
		t.Log(line)
	}
}
