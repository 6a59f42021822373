package server

import (
	"testing"

	"grense/internal/store"
)

// TestParametersFitTheStructOfTheirRoute reads every parameter of every route into the struct that the route makes.
func TestParametersFitTheStructOfTheirRoute(t *testing.T) {
	t.Parallel()
	s, n := &Server{}, 0
	for _, rt := range s.table() {
		c := &call{s: s, rt: rt, cat: &store.Catalog{}, coll: &store.Collection{ID: "some"}}
		if (rt.New != nil) != (rt.Params != nil) {
			t.Errorf("%q has parameters without a struct, or a struct without parameters", rt.Path)
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
				if err := p.parse(c, rt.New(c), []string{"x"}); err == nil && p.Schema["type"] != "string" && p.Name != "bbox" {
					t.Errorf("%q takes x for %s", rt.Path, p.Name)
				}
			}()
		}
	}
	if n < 20 {
		t.Errorf("only %d parameters", n)
	}
}
