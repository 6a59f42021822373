package server_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"testing"
)

// TestParametersFitTheStructOfTheirRoute reads every parameter of every route into the struct of the route.
func TestParametersFitTheStructOfTheirRoute(t *testing.T) {
	t.Parallel()
	faults, n := serve(t, "", nil).srv.ReadParameters("x")
	for _, f := range faults {
		t.Error(f)
	}
	if n < 100 {
		t.Errorf("only %d parameters", n)
	}
}

// TestParametersAreDeclaredInOneFile: the kit and each surface declare their parameters in params.go, next to the
// structs that hold their values.
func TestParametersAreDeclaredInOneFile(t *testing.T) {
	t.Parallel()
	kit, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	surfaces, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]int{}
	for _, name := range append(kit, surfaces...) {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			x, ok := n.(*ast.CompositeLit)
			if !ok {
				return true
			}
			typ := x.Type
			if s, ok := typ.(*ast.SelectorExpr); ok {
				typ = s.Sel
			}
			if typ, ok := typ.(*ast.Ident); ok && typ.Name == "Param" {
				in[name]++
				if filepath.Base(name) != "params.go" {
					t.Errorf("%s declares a parameter", name)
				}
			}
			return true
		})
	}
	if in["params.go"] < 2 || in["selection/params.go"] < 5 || in["features/params.go"] < 20 {
		t.Errorf("parameters are declared in %v", in)
	}
}
