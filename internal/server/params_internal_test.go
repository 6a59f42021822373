package server

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/config"
	"grense/internal/geo/crs"
	"grense/internal/process"
	"grense/internal/server/limit"
	"grense/internal/server/page"
	"grense/internal/store"
	"grense/web"
)

// TestEveryLanguageOfTheCataloguesIsNegotiated: by its code, and by the tag that answers bear.
func TestEveryLanguageOfTheCataloguesIsNegotiated(t *testing.T) {
	t.Parallel()
	if len(page.Languages) != len(web.Languages()) {
		t.Errorf("%d languages, and %d catalogues", len(page.Languages), len(web.Languages()))
	}
	for i, code := range web.Languages() {
		if got, ok := languageOf(code); !ok || got != code {
			t.Errorf("%q is negotiated as %q", code, got)
		}
		if i >= len(page.Languages) || page.Languages[i].Code != code {
			t.Errorf("%q has no tag at its place", code)
		} else if got, ok := languageOf(page.Languages[i].Tag); !ok || got != code {
			t.Errorf("%q is negotiated as %q", page.Languages[i].Tag, got)
		}
	}
}

// TestTextsOfTheConfigurationMayBeInEveryLanguageOfTheCatalogues: the settings of a service know the same languages as its pages.
func TestTextsOfTheConfigurationMayBeInEveryLanguageOfTheCatalogues(t *testing.T) {
	t.Parallel()
	for _, code := range web.Languages() {
		c := config.Default()
		c.DataDir, c.Service.Title = t.TempDir(), config.Text{code: "x"}
		if err := c.Validate(); err != nil {
			t.Errorf("%q: %v", code, err)
		}
	}
}

// TestParametersFitTheStructOfTheirRoute reads every parameter of every route into the struct that the route makes.
func TestParametersFitTheStructOfTheirRoute(t *testing.T) {
	t.Parallel()
	s, n := &Kit{processList: process.NewRegistry(), Turns: &limit.Turns{}}, 0
	some := &store.Collection{ID: "some", Public: true, Geometry: &store.Geom{CRS: crs.CRS84}}
	for _, rt := range s.table() {
		c := &Call{s: s, Request: httptest.NewRequest("GET", "/", nil), Route: rt, Catalog: &store.Catalog{Collections: []*store.Collection{some}}, Collection: some}
		if !strings.Contains(rt.Path, "{collectionId}") {
			c.Collection = nil
		}
		if rt.New == nil && rt.Params != nil {
			t.Errorf("%q has parameters without a struct", rt.Path)
			continue
		}
		for _, p := range rt.Params {
			n++
			func() {
				defer func() {
					if x := recover(); x != nil {
						t.Errorf("%q, parameter %s: %v", rt.Path, p.Name, x)
					}
				}()
				if err := p.Parse(c, rt.New(c), []string{"x"}); err == nil && p.Schema["type"] != "string" && p.Name != "bbox" {
					t.Errorf("%q takes x for %s", rt.Path, p.Name)
				}
			}()
		}
	}
	if n < 20 {
		t.Errorf("only %d parameters", n)
	}
}

// TestParametersAreDeclaredInOneFile: params.go, beside the structs that they are read into.
func TestParametersAreDeclaredInOneFile(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	in := map[string]int{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if x, ok := n.(*ast.CompositeLit); ok {
				if typ, ok := x.Type.(*ast.Ident); ok && typ.Name == "Param" {
					in[name]++
				}
			}
			return true
		})
	}
	if len(in) != 1 || in["params.go"] < 20 {
		t.Errorf("parameters are declared in %v", in)
	}
}
