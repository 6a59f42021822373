package gpkg_test

import (
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// TestNumbersOfForeignFilesCompareExactly: a column that is declared NUMERIC has integers and doubles beside each
// other.
func TestNumbersOfForeignFilesCompareExactly(t *testing.T) {
	if testing.Short() {
		t.Skip("asks one question after another: nothing for the race detector")
	}
	t.Parallel()
	mixed := append(storetest.Anys(storetest.EdgeIntegers), storetest.Anys(storetest.EdgeDoubles[1:3])...)
	mixed = append(mixed, 1e300, 0x1p63, 0x1p64)
	rows := storetest.NumberRows(map[string][]any{"i": storetest.Anys(storetest.EdgeIntegers),
		"d": storetest.Anys(storetest.EdgeDoubles), "m": mixed})
	path := build(t, "CREATE TABLE x (id INTEGER PRIMARY KEY, i BIGINT, d DOUBLE, m NUMERIC); "+attributes)
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if err := sqlitex.Execute(db, "INSERT INTO x VALUES (?, ?, ?, ?)", &sqlitex.ExecOptions{Args: []any{r.ID,
			r.Values["i"], r.Values["d"], r.Values["m"]}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	storetest.ExerciseNumbers(t, openStore(t, path, gpkg.Options{}), "x", rows)
	t.Run("by values in memory", func(t *testing.T) {
		s := openStore(t, path, gpkg.Options{})
		s.ColumnsAtOnce(false)
		storetest.ExerciseNumbers(t, s, "x", rows)
	})
}

func TestTablesOfTheOlderTypeAspatialAreServed(t *testing.T) {
	t.Parallel()
	s := openStore(t, build(t, "CREATE TABLE x (id INTEGER PRIMARY KEY, a TEXT); INSERT INTO x VALUES (1, 'b'); "+
		"INSERT INTO gpkg_contents (table_name, data_type) VALUES ('x', 'aspatial')"), gpkg.Options{})
	p, err := s.Page(t.Context(), store.Query{Collection: "x", Limit: 1})
	if err != nil || len(p.Rows) != 1 {
		t.Errorf("%v, %v", p, err)
	}
}

// TestIntegersAmongNumbersAreComputedWithAsSuch, by SQLite and where the rest of a filter is evaluated here.
func TestIntegersAmongNumbersAreComputedWithAsSuch(t *testing.T) {
	t.Parallel()
	s := openStore(t, build(t, "CREATE TABLE x (id INTEGER PRIMARY KEY, m NUMERIC); "+
		"INSERT INTO x VALUES (1, 9007199254740992), (2, 0.5); "+attributes), gpkg.Options{})
	c, _ := s.Catalog().Collection("x")
	for _, text := range []string{"9007199254740993 - m = 1", "9007199254740993 - m BETWEEN 1 AND 9007199254740991.5"} {
		e, err := cql2.ParseText(text)
		if err == nil {
			e, err = cql2.Check(e, c)
		}
		if err != nil {
			t.Fatal(err)
		}
		p, err := s.Page(t.Context(), store.Query{Collection: "x", Filter: e, Limit: 9})
		if err != nil || len(p.Rows) != 1 || p.Rows[0].ID != "1" {
			t.Errorf("%s: %v, %v", text, p, err)
		}
	}
}
