package sqlq_test

import (
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

func TestColumnsAreDeclaredOnce(t *testing.T) {
	t.Parallel()
	typ := func(t cql2.Type) string {
		return map[cql2.Type]string{cql2.TypeText: "TEXT", cql2.TypeInteger: "INT"}[t]
	}
	ps := []store.Property{{Column: "id", Type: cql2.TypeInteger}, {Column: `na"vn`, Type: cql2.TypeText, NotNull: true,
		Search: store.Search{Norm: "norm"}}, {Column: "ID", Type: cql2.TypeText}}
	for what, x := range map[string]struct {
		l    sqlq.Columns
		want string
	}{
		"names fold": {sqlq.Columns{Dialect: sqlq.SQLite{}, Type: typ, Folds: true},
			`"id" KEY, "na""vn" TEXT NOT NULL, "norm" TEXT`},
		"names do not fold": {sqlq.Columns{Dialect: sqlq.PostgreSQL{}, Type: typ},
			`"id" KEY, "na""vn" TEXT NOT NULL, "norm" TEXT, "ID" TEXT`},
	} {
		x.l.Add("id", "KEY")
		x.l.Add("", "NOTHING")
		x.l.AddProperties(ps)
		if got := x.l.String(); got != x.want {
			t.Errorf("%s: %s, want %s", what, got, x.want)
		}
	}
}
