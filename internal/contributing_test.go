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

// TestContributingIsShort bounds CONTRIBUTING.md, whose details belong in docs/develop.
func TestContributingIsShort(t *testing.T) {
	t.Parallel()
	const lines = 120
	b, err := os.ReadFile("../CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "\n"); n > lines {
		t.Errorf("CONTRIBUTING.md has %d lines; move details to docs/develop", n)
	}
}

// TestArchitectureNamesEveryPackage compares the table of packages with the table of imports.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../docs/develop/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(b)) {
		if cell, ok := strings.CutPrefix(line, "| `"); ok {
			cell, _, _ = strings.Cut("`"+cell, " | ")
			for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
				names = append(names, m[1])
				if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
					t.Errorf("the table of packages names %s, which does not exist", m[1])
				}
			}
		}
	}
	for pkg := range may {
		if pkg != "internal" && !slices.Contains(names, pkg) && !groupsItsChildren(pkg, names) {
			t.Errorf("the table of packages has no line for %s", pkg)
		}
	}
}

// groupsItsChildren reports whether a parent's line covers pkg: the formats below internal/format,
// the surfaces below internal/server.
func groupsItsChildren(pkg string, names []string) bool {
	parent := path.Dir(pkg)
	return (parent == "internal/format" || parent == "internal/server") && slices.Contains(names, parent)
}

// TestDocumentsNameWhatExists looks for the Go files, packages, tests and make targets that
// documents for developers name.
func TestDocumentsNameWhatExists(t *testing.T) {
	t.Parallel()
	files, tests := map[string]bool{}, map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func (Test\w+|Benchmark\w+|Fuzz\w+)`)
	err := filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "bin") {
			return fs.SkipDir
		}
		if err != nil {
			return err
		}
		files[d.Name()] = true
		if strings.HasSuffix(p, "_test.go") {
			b, err := os.ReadFile(p)
			if err != nil {
				return err
			}
			for _, m := range declared.FindAllStringSubmatch(string(b), -1) {
				tests[m[1]] = true
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile("../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	testName := regexp.MustCompile(`^Test\w+$`)
	for doc, text := range documents(t) {
		if doc != "CONTRIBUTING.md" && !strings.HasPrefix(doc, "docs/develop/") {
			continue
		}
		for _, m := range quoted.FindAllStringSubmatch(text, -1) {
			name := m[1]
			target, isTarget := strings.CutPrefix(name, "make ")
			target, _, _ = strings.Cut(target, " ")
			switch {
			case strings.HasSuffix(name, ".go") && !files[path.Base(name)],
				testName.MatchString(name) && !tests[name],
				isTarget && !strings.Contains(string(makefile), "\n"+target+":"):
				t.Errorf("%s names %s, which does not exist", doc, name)
			case strings.HasPrefix(name, "internal/"):
				if _, err := os.Stat(filepath.Join("..", name)); err != nil {
					t.Errorf("%s names %s, which does not exist", doc, name)
				}
			}
		}
	}
}
