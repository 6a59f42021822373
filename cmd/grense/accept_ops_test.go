//go:build linux

package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// released returns the folder with the files of a release, in which make accept-ops has put them.
func released(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("GRENSE_ACCEPT_OPS")
	if dir == "" {
		t.Skip("make accept-ops runs it")
	}
	return dir
}

// asRoot skips a test that another user cannot run.
func asRoot(t *testing.T) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("SKIPPED: only root changes the root directory and mounts")
	}
}

// releasedFile returns the one file of the release with an ending.
func releasedFile(t *testing.T, ending string) string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(released(t), "*"+ending))
	if err != nil || len(names) != 1 {
		t.Fatalf("%v, %v: want one file *%s", names, err, ending)
	}
	return names[0]
}

// must runs a program and returns what it prints.
func must(t *testing.T, name string, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// areas returns a file of n features: Vest, Midt, Aust, and areas whose names are numbers.
func areas(n int) string {
	var b strings.Builder
	b.WriteString(`{"type":"FeatureCollection","features":[`)
	note := strings.Repeat("En merknad. ", 50) // without it the answers would fit into the buffers of the system
	for i := range n {
		name, end := strconv.Itoa(i), ","
		if i < 3 {
			name = []string{"Vest", "Midt", "Aust"}[i]
		}
		if i == n-1 {
			end = "]}\n"
		}
		x, y := 5+float64(i%200)/10, 58+float64(i/200)/10
		fmt.Fprintf(&b, `{"type":"Feature","id":"%d","properties":{"navn":%q,"merknad":%q},`+
			`"geometry":{"type":"Polygon","coordinates":`+
			`[[[%.1f,%.1f],[%.1f,%.1f],[%.1f,%.1f],[%.1f,%.1f],[%.1f,%.1f]]]}}%s`,
			i+1, name, note, x, y, x+.1, y, x+.1, y+.1, x, y+.1, x, y, end)
	}
	return b.String()
}

// TestAcceptOpsUnitIsConfined by the measure of systemd.
func TestAcceptOpsUnitIsConfined(t *testing.T) {
	released(t)
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		t.Skip("SKIPPED: there is no systemd-analyze; install systemd")
	}
	out := must(t, "systemd-analyze", "security", "--offline=yes", "--threshold=20", "--no-pager",
		rootPath(t, "ops", "package", "grense.service"))
	t.Log(out[max(0, len(out)-200):])
}

// TestAcceptOpsTwoReleasesAreEqual byte for byte: the second is of a clone in another folder, made at another time, in
// another time zone and with another umask.
func TestAcceptOpsTwoReleasesAreEqual(t *testing.T) {
	first := released(t)
	if out := must(t, "git", "-C", rootPath(t), "status", "--porcelain"); out != "" {
		t.Skipf("SKIPPED: a release is of a commit, and there are changes beside it:\n%s", out)
	}
	clone := filepath.Join(t.TempDir(), "another clone")
	must(t, "git", "clone", "-q", rootPath(t), clone)
	cmd := exec.CommandContext(t.Context(), "sh", "-c",
		"umask 077; exec go run . -root ../.. -out ../../dist -only linux/amd64")
	cmd.Dir = filepath.Join(clone, "ops", "release")
	cmd.Env = append(os.Environ(), "TZ=Asia/Tokyo", "LC_ALL=C", "GOFLAGS=-trimpath")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	sums := func(dir string) string {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if a, b := sums(first), sums(filepath.Join(clone, "dist")); a != b || strings.Count(a, "\n") < 5 {
		t.Errorf("the first release:\n%s\nthe second:\n%s", a, b)
	}
}
