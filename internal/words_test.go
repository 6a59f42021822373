package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// parsed calls fn with each Go file of the project.
func parsed(t *testing.T, fn func(path string, set *token.FileSet, f *ast.File)) {
	t.Helper()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "bin"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, path, nil, parser.SkipObjectResolution|parser.ParseComments)
		if err == nil {
			fn(strings.TrimPrefix(filepath.ToSlash(path), "../"), set, f)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestNothingHasTheNameOfABuiltin holds for functions, types, parameters and variables;
// methods and fields cannot be taken for a builtin.
func TestNothingHasTheNameOfABuiltin(t *testing.T) {
	t.Parallel()
	parsed(t, func(path string, set *token.FileSet, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			for _, id := range declared(n) {
				if id != nil && types.Universe.Lookup(id.Name) != nil {
					t.Errorf("%s:%d: %s is the name of a builtin", path, set.Position(id.Pos()).Line, id.Name)
				}
			}
			return true
		})
	})
}

// declared returns the names that a node declares.
func declared(n ast.Node) []*ast.Ident {
	var names []*ast.Ident
	add := func(xs ...ast.Expr) {
		for _, x := range xs {
			if id, ok := x.(*ast.Ident); ok {
				names = append(names, id)
			}
		}
	}
	fields := func(l *ast.FieldList) {
		if l != nil {
			for _, f := range l.List {
				names = append(names, f.Names...)
			}
		}
	}
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok == token.DEFINE {
			add(n.Lhs...)
		}
	case *ast.RangeStmt:
		if n.Tok == token.DEFINE {
			add(n.Key, n.Value)
		}
	case *ast.ValueSpec:
		names = n.Names
	case *ast.TypeSpec:
		add(n.Name)
	case *ast.FuncDecl:
		if n.Recv == nil {
			add(n.Name)
		}
	case *ast.FuncType:
		fields(n.Params)
		fields(n.Results)
	}
	return names
}

// TestOnlyTestsAskWhetherTheRunIsShort: make test finds by their names what a short run leaves out,
// and runs that without the race detector.
func TestOnlyTestsAskWhetherTheRunIsShort(t *testing.T) {
	t.Parallel()
	parsed(t, func(path string, set *token.FileSet, f *ast.File) {
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if ok && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Test") && strings.HasSuffix(path, "_test.go") {
				continue
			}
			ast.Inspect(decl, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Short" && fmt.Sprint(s.X) == "testing" {
					t.Errorf("%s:%d: testing.Short is asked outside a test", path, set.Position(n.Pos()).Line)
				}
				return true
			})
		}
	})
}

// dialect matches words that the glossary replaces, in comments, where nothing else can be meant.
var dialect = regexp.MustCompile(`(?i)\b(told|tells?|anew|meanwhile|under way|at hand|of late|as ever|dear|` +
	`(who|whoever|what) (asks|is asked)|(is|are|was|were) asked for)\b`)

// TestCommentsUseTheGlossary looks for words of docs/develop/glossary.md that are not to be used.
func TestCommentsUseTheGlossary(t *testing.T) {
	t.Parallel()
	parsed(t, func(path string, set *token.FileSet, f *ast.File) {
		if path == "internal/words_test.go" {
			return
		}
		for _, group := range f.Comments {
			for _, c := range group.List {
				if m := dialect.FindString(c.Text); m != "" {
					t.Errorf("%s:%d: %q; docs/develop/glossary.md has the word", path, set.Position(c.Pos()).Line, m)
				}
			}
		}
	})
}
