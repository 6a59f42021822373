package crs_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
)

// TestAcceptCoordinatesAgreeWithPROJ compares random points of each area of use with cs2cs (PROJ). It runs with the
// real clients.
func TestAcceptCoordinatesAgreeWithPROJ(t *testing.T) {
	if os.Getenv("GRENSE_ACCEPT") == "" {
		t.Skip("make accept compares with cs2cs")
	}
	cs2cs, err := exec.LookPath("cs2cs")
	if err != nil {
		t.Fatal("cs2cs (Debian: proj-bin) is not installed")
	}
	for _, id := range crs.Sampled() {
		if id.Geographic() {
			continue
		}
		n, box := 5000, orb.Bound{Min: orb.Point{4, 57}, Max: orb.Point{32, 72}}
		if !slices.Contains(crs.Served(), id) {
			n, box = 200, id.Usual()
		}
		forward, err := crs.Between(crs.CRS84, id)
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(7, uint64(id)))
		var in bytes.Buffer
		points := make([][2]float64, n)
		for i := range points {
			points[i] = [2]float64{
				box.Min[0] + (box.Max[0]-box.Min[0])*rng.Float64(),
				box.Min[1] + (box.Max[1]-box.Min[1])*rng.Float64(),
			}
			fmt.Fprintf(&in, "%.12f %.12f\n", points[i][1], points[i][0]) // EPSG order: latitude first
		}
		cmd := exec.Command(cs2cs, "-f", "%.9f", id.Base().String(), id.String())
		cmd.Stdin = &in
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %v", id, err)
		}
		worst := 0.0
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if len(lines) != len(points) {
			t.Fatalf("%v: %d lines", id, len(lines))
		}
		for i, line := range lines {
			var a, b float64
			if _, err := fmt.Sscan(line, &a, &b); err != nil {
				t.Fatalf("%v: %q: %v", id, line, err)
			}
			if id.NorthFirst() {
				a, b = b, a
			}
			x, y := forward(points[i][0], points[i][1])
			worst = max(worst, math.Hypot(x-a, y-b))
		}
		if slices.Contains(crs.Served(), id) {
			t.Logf("%v: %.1e m at worst", id, worst)
		}
		if worst > 1e-6 {
			t.Errorf("%v differs from PROJ by %g m", id, worst)
		}
	}
}
