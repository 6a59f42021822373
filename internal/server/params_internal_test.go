package server

import (
	"net/http/httptest"
	"strings"
	"testing"

	"grense/internal/crs"
	"grense/internal/store"
)

// TestParametersFitTheStructOfTheirRoute reads every parameter of every route into the struct that the route makes.
func TestParametersFitTheStructOfTheirRoute(t *testing.T) {
	t.Parallel()
	s, n := &Server{}, 0
	some := &store.Collection{ID: "some", Public: true, Geometry: &store.Geom{CRS: crs.CRS84}}
	for _, rt := range s.table() {
		c := &call{s: s, r: httptest.NewRequest("GET", "/", nil), rt: rt, cat: &store.Catalog{Collections: []*store.Collection{some}}, coll: some}
		if !strings.Contains(rt.Path, "{collectionId}") {
			c.coll = nil
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
