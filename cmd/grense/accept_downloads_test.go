package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestAcceptDownloadsInOtherReaders downloads collections in every format, reads them with GDAL's newest wheels, pyarrow, geopandas and
// openpyxl, and compares ids, properties, nulls, geometries and reference systems with what items gives.
func TestAcceptDownloadsInOtherReaders(t *testing.T) {
	accept(t)
	python, err := filepath.Abs(filepath.Join("..", "..", "bin", "readers", "bin", "python"))
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(python, "-c", "import pyogrio, geopandas, pyarrow, openpyxl").Run(); err != nil {
		t.Fatalf("%s cannot be used (%v); make readers installs it", python, err)
	}
	for _, src := range sources {
		t.Run(src.name, func(t *testing.T) {
			s := src.start(t)
			ctx, cancel := context.WithTimeout(t.Context(), clientTime)
			defer cancel()
			args := []string{filepath.Join("testdata", "downloads", "compare.py"), s.base}
			for _, l := range src.layers {
				args = append(args, l.coll)
			}
			cmd := exec.CommandContext(ctx, python, args...)
			cmd.Env = append(os.Environ(), "GRENSE_KEY="+s.key, "no_proxy=localhost,127.0.0.1", "NO_PROXY=localhost,127.0.0.1")
			cmd.WaitDelay = time.Second
			out, err := cmd.CombinedOutput()
			steps := strings.Count("\n"+string(out), "\nok ")
			if err != nil || steps < 14*len(src.layers) {
				t.Errorf("%d steps right, %v:\n%s", steps, err, out)
			}
			t.Logf("%d steps right", steps)
		})
	}
}
