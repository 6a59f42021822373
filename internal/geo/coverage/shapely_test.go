package coverage_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/geo/coverage"
	"grense/internal/geo/wkb"
)

// judge reads a geometry in hexadecimal WKB a line, and prints how many there are, how many are invalid, and how many
// have edges that do not match those of their neighbours.
const judge = `
import sys, shapely
g = shapely.from_wkb([l.strip() for l in sys.stdin])
e = shapely.coverage_invalid_edges(g)
print(len(g), (~shapely.is_valid(g)).sum(), (~shapely.is_empty(e)).sum())`

// python returns an interpreter that has shapely 2.1 or later: that of make client-tools, else the one on the path.
func python(t *testing.T) string {
	t.Helper()
	for _, p := range [...]string{"../../../bin/clients/python/bin/python", "python3"} {
		if strings.Contains(p, "/") {
			p, _ = filepath.Abs(p)
		}
		if exec.Command(p, "-c", "import shapely; shapely.coverage_invalid_edges").Run() == nil {
			return p
		}
	}
	if os.Getenv("GRENSE_ACCEPT") != "" {
		t.Fatal("no shapely 2.1; run make client-tools")
	}
	t.Skip("no shapely 2.1; make client-tools installs it")
	return ""
}

// TestLevelsAreCoveragesByShapely: GEOS finds no gap, no overlap and no invalid polygon on the levels of a made
// coverage.
func TestLevelsAreCoveragesByShapely(t *testing.T) {
	t.Parallel()
	ask(t, python(t), build(t, 0.3, coverage.Options{}, 9, patchwork(11, 8, 100)...), 0)
}

// TestAcceptLevelsByShapely: GEOS finds no invalid polygon on any level, and no gap or overlap but the one between
// Haugesund and Sveio, whose borders differ by hundreds of metres in the source.
func TestAcceptLevelsByShapely(t *testing.T) {
	if os.Getenv("GRENSE_ACCEPT") == "" {
		t.Skip("long: make accept")
	}
	p := python(t)
	for name, known := range map[string]int{"norway/robhop-2024/Kommuner-M.geojson.gz": 2,
		"france/departements.geojson.gz": 0} {
		t.Run(filepath.Base(name), func(t *testing.T) {
			ask(t, p, build(t, unit14, coverage.Options{}, 13, collection(t, name)...), known)
		})
	}
}

// ask fails when a level has invalid polygons, or more than known features with edges that do not match.
func ask(t *testing.T, python string, levels []*coverage.Level, known int) {
	t.Helper()
	for _, l := range levels {
		var in bytes.Buffer
		for f := range l.Features() {
			if m := feature(l, f); len(m) > 0 {
				in.WriteString(hex.EncodeToString(wkb.Append(nil, m)) + "\n")
			}
		}
		cmd := exec.Command(python, "-c", judge)
		cmd.Stdin = &in
		out, err := cmd.CombinedOutput()
		var n, invalid, edges int
		if err == nil {
			_, err = fmt.Sscan(string(out), &n, &invalid, &edges)
		}
		if err != nil || invalid > 0 || edges > known {
			t.Errorf("unit %v: %s, %v", l.Unit, out, err)
		}
	}
}
