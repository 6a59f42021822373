package crs_test

import (
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"grense/internal/geo/crs"
)

func TestNear(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		code int
		want crs.ID
		note string
	}{
		{4979, crs.CRS84, "(WGS 84 with heights) is taken as CRS84; heights are passed on"},
		{4269, crs.CRS84, "NAD83"}, {4619, crs.CRS84, "two metres"}, {5973, crs.UTM33, "heights"}, {27700, 0, ""},
		{4326, 0, ""}, {0, 0, ""},
	} {
		id, note, ok := crs.Near(c.code)
		if id != c.want || ok != (c.want != 0) || !strings.Contains(note, c.note) || (note == "") == ok {
			t.Errorf("%d: %v, %q, %v", c.code, id, note, ok)
		}
	}
}

// TestNorthFirstOfEPSG has the order of the system itself, not of the one as which it is taken.
func TestNorthFirstOfEPSG(t *testing.T) {
	t.Parallel()
	for code, want := range map[int][2]bool{
		4979: {true, true}, 4937: {true, true}, 7844: {true, true}, 5942: {true, true}, 5845: {true, true},
		9518: {true, true}, 4326: {true, true}, 3006: {true, true},
		5973: {false, true}, 5698: {false, true}, 25833: {false, true}, 3857: {false, true}, 84: {false, false},
		4230: {false, false}, 28992: {false, false}, 0: {false, false}, -1: {false, false},
	} {
		if north, known := crs.NorthFirst(code); north != want[0] || known != want[1] {
			t.Errorf("%d: %v, %v", code, north, known)
		}
	}
}

// TestAcceptAxesAgreeWithPROJ compares all systems that are served, or taken as one that is, with projinfo. It runs
// with the real clients.
func TestAcceptAxesAgreeWithPROJ(t *testing.T) {
	if os.Getenv("GRENSE_ACCEPT") == "" {
		t.Skip("make accept compares with projinfo")
	}
	projinfo, err := exec.LookPath("projinfo")
	if err != nil {
		t.Fatal("projinfo (Debian: proj-bin) is not installed")
	}
	n := 0
	for code := range 33000 {
		north, known := crs.NorthFirst(code)
		if _, _, near := crs.Near(code); known != (near || slices.Contains(crs.Known(), crs.ID(code)) &&
			crs.ID(code) != crs.CRS84) {
			t.Errorf("%d: known is %v", code, known)
		}
		if !known {
			continue
		}
		out, err := exec.Command(projinfo, "EPSG:"+strconv.Itoa(code), "-o", "WKT2:2019", "-q",
			"--single-line").Output()
		if err != nil {
			continue // of an older PROJ
		}
		_, axis, _ := strings.Cut(string(out), `AXIS["`)
		name, rest, _ := strings.Cut(axis, `",`)
		axis, _, _ = strings.Cut(rest, ",")
		_, second, _ := strings.Cut(rest, `AXIS["`)
		_, second, _ = strings.Cut(second, `",`)
		// at a pole both lead north, or south
		if want := axis == "north" && strings.HasPrefix(second, "east") ||
			strings.HasPrefix(name, "northing"); want != north ||
			axis == "" {
			t.Errorf("%d: the first axis is %q, north first is %v", code, axis, north)
		}
		n++
	}
	if n < 60 {
		t.Errorf("compared %d systems", n)
	}
}
