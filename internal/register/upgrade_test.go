package register_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/register"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// TestUpgradeDerivesTheColumnsForSearchingAnew and keeps everything else.
func TestUpgradeDerivesTheColumnsForSearchingAnew(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fill := func(w store.Writer) {
		if err := register.Generate(t.Context(), w, register.Options{Places: 60, Seed: 7}); err != nil {
			t.Fatal(err)
		}
	}
	want, old := filepath.Join(dir, "want.gpkg"), filepath.Join(dir, "old.gpkg")
	storetest.Write(t, fill)(gpkg.Create(t.Context(), want))
	storetest.Write(t, fill)(gpkg.Create(t.Context(), old))
	c, err := sqlite.OpenConn(old, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteScript(c, `UPDATE skrivemaate SET eksakt = 'old', rev = 'dlo';
		UPDATE bok SET soeketekst_norm = 'old', utgave_norm = 'old'; UPDATE matrikkel_sted SET tilleggsopplysning_norm = 'old';
		UPDATE grense_collection SET definition = replace(definition, '"Fold":"', '"Fold":"of old ')`, nil)
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	from, err := gpkg.OpenTables(old)
	if err != nil {
		t.Fatal(err)
	}
	if !from.OldFold() {
		t.Error("the register is not seen to be old")
	}
	storetest.Write(t, func(w store.Writer) {
		if err := register.Upgrade(t.Context(), from, w, nil); err != nil {
			t.Fatal(err)
		}
	})(gpkg.Create(t.Context(), old))
	if err := from.Close(); err != nil {
		t.Fatal(err)
	}
	was, is := rowsOf(t, want), rowsOf(t, old)
	for table, rows := range was {
		if !slices.Equal(rows, is[table]) {
			t.Errorf("table %s has other rows after the upgrade", table)
		}
	}
	st := storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), old, gpkg.Options{DataDir: t.TempDir()}))
	sted, ok := st.Catalog().Collection("sted")
	if !ok || len(st.Catalog().Notes) > 0 {
		t.Fatalf("after the upgrade: %+v", st.Catalog().Notes)
	}
	if sted.Count != 60 {
		t.Errorf("%d places", sted.Count)
	}
}

// rowsOf returns all rows of the register in a file, by table.
func rowsOf(t *testing.T, path string) map[string][]string {
	t.Helper()
	tables, err := gpkg.OpenTables(path)
	if err != nil {
		t.Fatal(err)
	}
	defer tables.Close()
	rows := map[string][]string{}
	for table, columns := range register.TableColumns() {
		err := tables.Each(context.Background(), table, columns, func(values []any) error {
			rows[table] = append(rows[table], fmt.Sprint(values))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return rows
}
