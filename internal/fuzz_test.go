package internal_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSoakRunsEveryFuzzTarget holds what make soak runs against the functions that the packages have,
// and keeps the corpora in the tree small.
func TestSoakRunsEveryFuzzTarget(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("SKIPPED: there is no make")
	}
	cmd := exec.Command("make", "-s", "fuzz-targets")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var run, have []string
	for line := range strings.Lines(string(out)) {
		run = append(run, strings.TrimSpace(line))
	}
	const most = 64 << 10 // bytes of one corpus
	corpora := map[string]int64{}
	err = filepath.WalkDir("..", func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "node_modules"):
			return fs.SkipDir
		case strings.Contains(p, "/testdata/fuzz/") && !d.IsDir():
			info, err := d.Info()
			if err != nil {
				return err
			}
			corpora[filepath.Dir(p)] += info.Size()
		case strings.HasSuffix(p, "_test.go"):
			names, err := fuzzTargets(p)
			for _, name := range names {
				have = append(have, name+" "+strings.TrimPrefix(filepath.Dir(p), "../"))
			}
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(run)
	slices.Sort(have)
	if len(have) < 20 || !slices.Equal(run, have) {
		t.Errorf("make soak runs\n%s\nand there are\n%s", strings.Join(run, "\n"), strings.Join(have, "\n"))
	}
	for dir, size := range corpora {
		if size > most {
			t.Errorf("%s has %d bytes; minimize it", dir, size)
		}
	}
}

// fuzzTargets are the functions of a file that take a *testing.F, by name.
func fuzzTargets(file string) (names []string, err error) {
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || fn.Recv != nil || len(fn.Type.Params.List) != 1 {
			continue
		}
		star, ok := fn.Type.Params.List[0].Type.(*ast.StarExpr)
		if !ok {
			continue
		}
		if sel, ok := star.X.(*ast.SelectorExpr); ok && sel.Sel.Name == "F" && strings.HasPrefix(fn.Name.Name, "Fuzz") {
			names = append(names, fn.Name.Name)
		}
	}
	return names, nil
}
