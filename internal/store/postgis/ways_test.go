package postgis_test

import (
	"slices"
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis"
)

// A question takes the first way that takes it, is said to, and finds what is there.
func TestEachWayAnswersItsQuestions(t *testing.T) {
	t.Parallel()
	url := base(t, `CREATE TABLE sted (id INT PRIMARY KEY, navn TEXT, annet TEXT, geom GEOMETRY(Point, 4258));
		INSERT INTO sted SELECT i, CASE WHEN i % 2 = 0 THEN 'Os' ELSE 'Ås' END, NULL, 'SRID=4258;POINT(5 60)' FROM generate_series(1, 6) AS i`)
	s := openStore(t, url, postgis.Options{})
	name := cql2.Prop{Name: "navn", Type: cql2.TypeText}
	os := cql2.Compare{Op: cql2.Eq, L: name, R: cql2.Text("Os")}
	folded := cql2.Compare{Op: cql2.Eq, L: cql2.Func{Name: "norm", Args: []cql2.Expr{name}},
		R: cql2.Func{Name: "norm", Args: []cql2.Expr{cql2.Text("ås")}}}
	tests := map[string]struct {
		q    store.Query
		want []string
	}{
		"all or nothing": {store.Query{Filter: os}, []string{"2", "4", "6"}},
		"sorted here": {store.Query{SortBy: []store.Sort{{Property: "navn", Norwegian: true}}},
			[]string{"2", "4", "6", "1", "3", "5"}},
		"SQL and recheck": {store.Query{Filter: folded}, []string{"1", "3", "5"}},
		"SQL":             {store.Query{Filter: os}, []string{"2", "4", "6"}},
	}
	for _, way := range postgis.Ways() {
		x, ok := tests[way]
		if !ok {
			t.Errorf("no question takes the way %q", way)
			continue
		}
		x.q.Collection, x.q.Limit = "sted", 100
		all := way == "all or nothing"
		plan, err := s.ExplainOf(t.Context(), x.q, all)
		if err != nil || plan.Way != way || plan.Does == "" || len(plan.Steps) == 0 || plan.Rows != len(x.want) {
			t.Errorf("%s: %+v (%v)", way, plan, err)
		}
		p, err := s.PageOf(t.Context(), x.q, all)
		if err != nil {
			t.Errorf("%s: %v", way, err)
			continue
		}
		var got []string
		for _, r := range p.Rows {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, x.want) {
			t.Errorf("%s: %q, want %q", way, got, x.want)
		}
	}
}
