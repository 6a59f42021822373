package internal_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the files of THIRD_PARTY")

// licenceFile matches the names of files that a licence asks to pass on.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|unlicense)`)

// TestLicencesOfLinkedModulesAreInThirdParty compares THIRD_PARTY with the modules that the program is linked with on
// any system of a release.
func TestLicencesOfLinkedModulesAreInThirdParty(t *testing.T) {
	t.Parallel()
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{"go.txt": licences(t, "The Go runtime and standard library",
		strings.TrimSpace(string(goroot)))}
	for path, dir := range linked(t) {
		name := strings.ReplaceAll(path, "/", "_") + ".txt"
		want[name] = licences(t, path, dir)
	}
	const folder = "../THIRD_PARTY"
	have, err := filepath.Glob(filepath.Join(folder, "*.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range have {
		if _, ok := want[filepath.Base(path)]; ok {
			continue
		}
		if *update {
			os.Remove(path)
			continue
		}
		t.Errorf("%s is of a module that is not linked; run make licences", path)
	}
	for name, text := range want {
		path := filepath.Join(folder, name)
		if *update {
			if err := os.WriteFile(path, text, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, text) {
			t.Errorf("%s is missing or stale; run make licences", path)
		}
	}
}

// linked returns the folders of the modules that the program is linked with, by path of the module.
func linked(t *testing.T) map[string]string {
	t.Helper()
	dirs := map[string]string{}
	for _, system := range []string{"linux", "darwin", "windows"} {
		cmd := exec.Command("go", "list", "-e", "-deps", "-f", "{{with .Module}}{{.Path}} {{.Dir}}{{end}}",
			"../cmd/grense")
		cmd.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			if path, dir, ok := strings.Cut(strings.TrimSpace(line), " "); ok && path != "grense" {
				dirs[path] = dir
			}
		}
	}
	return dirs
}

// licences returns the texts of a module, with its name above.
func licences(t *testing.T, name, dir string) []byte {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	found := false
	for _, f := range files {
		if !f.Type().IsRegular() || !licenceFile.MatchString(f.Name()) {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		found = true
		b = bytes.TrimSpace(bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")))
		fmt.Fprintf(&text, "%s\n%s: %s\n%s\n\n%s\n\n", strings.Repeat("=", 78), name, f.Name(),
			strings.Repeat("=", 78), b)
	}
	if !found {
		t.Fatalf("%s has no licence file in its folder", name)
	}
	return text.Bytes()
}
