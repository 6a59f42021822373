package official_test

import (
	"cmp"
	"slices"
	"testing"

	"grense/internal/register"
	"grense/internal/register/official"
)

// TestImportedSpellingsStandInTheOrderOfTheirPlacesAndNames is what the relations of Collections promise by their
// Order.
func TestImportedSpellingsStandInTheOrderOfTheirPlacesAndNames(t *testing.T) {
	t.Parallel()
	r, _ := imported(t, official.Options{}, put(t, t.TempDir(), "a.gml", gmlFile(invented()...)))
	ranks := func(table string) map[any]int64 {
		m := map[any]int64{}
		r.Each(t, table, func(get func(string) any) { m[get("id")] = get("rang").(int64) })
		return m
	}
	promised := 0
	for _, c := range register.Collections() {
		for _, rel := range c.Relations {
			if rel.Order == "" {
				continue
			}
			promised++
			owners := ranks(c.Table)
			type pair struct{ rank, owner int64 }
			var rows []pair
			r.Each(t, rel.Table, func(get func(string) any) {
				owner, ok := owners[get(rel.Owner)]
				if !ok {
					t.Errorf("%s %v has no row in %s", rel.Table, get("id"), c.Table)
				}
				rows = append(rows, pair{get(rel.Order).(int64), owner})
			})
			slices.SortFunc(rows, func(a, b pair) int { return cmp.Compare(a.rank, b.rank) })
			if len(rows) <= len(owners) ||
				!slices.IsSortedFunc(rows, func(a, b pair) int { return cmp.Compare(a.owner, b.owner) }) {
				t.Errorf("%d rows of %s by %s are not in the order of the %d of %s: %v", len(rows), rel.Table,
					rel.Order, len(owners), c.Table, rows)
			}
		}
	}
	if promised != 2 {
		t.Errorf("%d relations promise an order", promised)
	}
}
