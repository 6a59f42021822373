package internal_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var quoted = regexp.MustCompile("`([^`\n]+)`")

// TestContributingNamesWhatThereIs holds the table of folders against the packages, and the files that the text names against the tree.
func TestContributingNamesWhatThereIs(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	table, _, ok := strings.Cut(string(b), "Which package may import which")
	if !ok {
		t.Fatal("the table of folders has no end")
	}
	var names []string
	for _, m := range quoted.FindAllStringSubmatch(table, -1) {
		names = append(names, m[1])
		if _, err := os.Stat(filepath.Join("..", m[1])); err != nil && strings.HasPrefix(m[1], "internal/") {
			t.Errorf("the table names %s, which is not there", m[1])
		}
	}
	for pkg := range may {
		if pkg != "internal" && !slices.Contains(names, pkg) && !slices.Contains(names, path.Base(pkg)) && !slices.Contains(names, strings.TrimPrefix(pkg, "internal/")) {
			t.Errorf("the table has no line for %s", pkg)
		}
	}
	files := map[string]bool{}
	err = filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		files[d.Name()] = true
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range quoted.FindAllStringSubmatch(string(b), -1) {
		if name := m[1]; strings.HasSuffix(name, ".go") && !files[path.Base(name)] {
			t.Errorf("the text names %s, which is not there", name)
		}
	}
}
