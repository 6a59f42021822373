package internal_test

import (
	"go/ast"
	"go/token"
	"strings"
	"testing"
)

// TestTestsDoNotSleep: tests wait for signals or, with package await, for conditions. Under the fake clock of
// synctest.Test a sleep takes no time and is allowed.
func TestTestsDoNotSleep(t *testing.T) {
	t.Parallel()
	parsed(t, func(path string, set *token.FileSet, f *ast.File) {
		if !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(f.Name.Name, "test") { // or support of tests
			return
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			switch {
			case !ok:
				return true
			case isCall(call, "synctest", "Test"):
				return false
			case isCall(call, "time", "Sleep"):
				t.Errorf("%v: a test sleeps; wait for a signal or with package await", set.Position(call.Pos()))
			}
			return true
		})
	})
}

// isCall reports whether a call is of a function of a package.
func isCall(call *ast.CallExpr, pkg, name string) bool {
	s, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || s.Sel.Name != name {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}
