package gpkg_test

import (
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
)

// TestWhatComesFirstIsAskedWhereThereIsAnOrder: First is evaluated if there are two or more hits.
func TestWhatComesFirstIsAskedWhereThereIsAnOrder(t *testing.T) {
	t.Parallel()
	s := opened(t, manyNames(t), -1)
	seen := map[bool]bool{}
	for _, name := range []string{"Oslo", "Bergen", "Nesset", "Storhaugen", "Nes", "Vik", "Haugen", "Sandvika",
		"no such name"} {
		is := func(function, text string) cql2.Expr {
			return cql2.Compare{Op: cql2.Eq, L: cql2.Func{Name: function,
				Args: []cql2.Expr{cql2.Prop{Name: "langnavn", Type: cql2.TypeText}}}, R: cql2.Text(text)}
		}
		plan, err := s.Explain(t.Context(), store.Query{Collection: "skrivemaate",
			SortBy: []store.Sort{{Property: "rang"}}, Filter: is("norm", cql2.Norm(name)),
			First: is("exact", cql2.CaseI(name)),
			Limit: 1000, Count: store.CountNone, AllOrNothing: true})
		if err != nil || plan.Way != "all or nothing" {
			t.Fatal(plan, err)
		}
		asked := strings.Contains(strings.Join(plan.Steps, "\n"), "eksakt")
		if several := plan.Rows > 1; asked != several {
			t.Errorf("%s: %d rows, %q", name, plan.Rows, plan.Steps)
		} else {
			seen[several] = true
		}
	}
	if len(seen) != 2 {
		t.Errorf("names of one kind only: %v", seen)
	}
}
