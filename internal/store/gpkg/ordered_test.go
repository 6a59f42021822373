//go:build !race

package gpkg_test

import (
	"math/rand/v2"
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestPlacesOfMunicipalitiesAreFoundInTheirOrderAsBySQLite: of one and of several, also where rows name a place that is not there, and after somebody has written.
func TestPlacesOfMunicipalitiesAreFoundInTheirOrderAsBySQLite(t *testing.T) {
	t.Parallel()
	for name, edit := range map[string]string{
		"as it was made": "", "rows of places that are not there": "UPDATE sted_kommune SET rang = rang + 1000000 WHERE rang % 3 = 0; UPDATE sted_kommune SET rang = -1 WHERE rang % 7 = 0",
		"gaps": "DELETE FROM sted WHERE rang % 20 = 1", "wide gaps": "DELETE FROM sted WHERE rang % 7 = 1",
	} {
		path := manyNames(t)
		if edit != "" {
			run(t, path, edit)
		}
		sql, table := openStore(t, path, gpkg.Options{DataDir: t.TempDir(), Columns: -1}), opened(t, path, 0)
		table.ColumnsAtOnce(false)
		r := rand.New(rand.NewPCG(1, 8))
		ways := map[string]int{}
		question := func() store.Query {
			var list []cql2.Expr
			for range 1 + r.IntN(3) {
				list = append(list, cql2.Text([]string{"5612", "0301", "4204", "1103", "4601", "5001", "3401"}[r.IntN(7)]))
			}
			q := store.Query{Collection: "sted", SortBy: []store.Sort{{Property: "rang"}}, Count: store.CountNone, AllOrNothing: true, Limit: []int{1, 20, 100_000}[r.IntN(3)]}
			c, _ := sql.Catalog().Collection("sted")
			var err error
			if q.Filter, err = cql2.Check(has("kommuner", cql2.In{X: cql2.Prop{Name: "kommunenummer"}, List: list}), c); err != nil {
				t.Fatal(err)
			}
			return q
		}
		for range 60 {
			comparePages(t, sql, table, question(), ways)
		}
		plan, err := table.Explain(t.Context(), question())
		if err != nil || ways["page many"] == 0 || (len(plan.Steps) == 1) == (name == "wide gaps") { // a step for each table that is read
			t.Errorf("%s: %v, %+v, %v", name, ways, plan, err)
		}
		run(t, path, "DELETE FROM sted WHERE rang % 4 = 1")
		for range 10 {
			comparePages(t, sql, table, question(), ways)
		}
	}
}
