package server_test

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
)

// leaveOut limits the run over PostGIS to tests that depend on onPostGIS. The other tests would only repeat what the
// first run does.
func leaveOut() error {
	if !onPostGIS() {
		return nil
	}
	flag.Parse()
	names, err := storeless()
	if err != nil || len(names) == 0 {
		return err
	}
	skip := `^(` + strings.Join(names, "|") + `)$`
	if f := flag.Lookup("test.skip"); f.Value.String() != "" {
		skip = f.Value.String() + "|" + skip
	}
	return flag.Set("test.skip", skip)
}

// storeless returns the tests that do not depend on onPostGIS. Dependencies are found by name; a method counts
// whatever its type, so a test is rather included than left out. missed finds what the names do not show.
func storeless() (names []string, err error) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		return nil, err
	}
	// the names that each declaration uses, by package and name: "server_test openTest", and for methods "server_test
	// .get"
	decls := map[string][]string{}
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			declare(decls, f.Name.Name+" ", d)
		}
	}
	asks := map[string]bool{"server_test onPostGIS": true}
	for found := 0; found < len(asks); {
		found = len(asks)
		for name, uses := range decls {
			if slices.ContainsFunc(uses, func(u string) bool { return asks[u] }) {
				asks[name] = true
			}
		}
	}
	for name := range decls {
		if _, test, _ := strings.Cut(name, " "); strings.HasPrefix(test, "Test") && test != "TestMain" && !asks[name] {
			names = append(names, test)
		}
	}
	slices.Sort(names)
	return names, nil
}

// declare adds the names that a declaration uses to decls, under its own names with that of its package before them.
func declare(decls map[string][]string, pkg string, d ast.Decl) {
	var add func(string, ast.Node)
	add = func(name string, in ast.Node) {
		ast.Inspect(in, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				decls[pkg+name] = append(decls[pkg+name], pkg+"."+n.Sel.Name)
				add(name, n.X)
				return false
			case *ast.Ident:
				decls[pkg+name] = append(decls[pkg+name], pkg+n.Name)
			}
			return true
		})
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		name := d.Name.Name
		if d.Recv != nil {
			name = "." + name
		}
		add(name, d.Type)
		add(name, d.Body)
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				for _, n := range s.Names {
					add(n.Name, s)
				}
			case *ast.TypeSpec:
				add(s.Name.Name, s.Type)
			}
		}
	}
}

// askers are the tests that called onPostGIS in this run.
var askers sync.Map

var testOnStack = regexp.MustCompile(`/server_test\.(Test[A-Za-z0-9_]*)`)

// asking records the test that calls onPostGIS.
func asking() {
	pcs := make([]uintptr, 256)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(2, pcs)])
	for f, more := frames.Next(); more; f, more = frames.Next() {
		if m := testOnStack.FindStringSubmatch(f.Function); m != nil {
			askers.Store(m[1], true)
		}
	}
}

// missed fails if a test called onPostGIS although its sources do not show it: the run over PostGIS would leave that
// test out.
func missed() error {
	names, err := storeless()
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, asked := askers.Load(name); asked {
			return fmt.Errorf("%s asks for a store, and storeless does not see it", name)
		}
	}
	return nil
}
