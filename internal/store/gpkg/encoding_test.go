package gpkg_test

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestTextsOfAFileInUTF16AreReadAsOthers (GeoPackage 1.3.1, table 1).
func TestTextsOfAFileInUTF16AreReadAsOthers(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("å", 40)
	want := []string{"Ås", "", "Kárášjohka", long, "Ås", "𝔊"}
	for _, encoding := range []string{"UTF-16le", "UTF-16be"} {
		path := filepath.Join(t.TempDir(), encoding+".gpkg")
		db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
		if err != nil {
			t.Fatal(err)
		}
		err = sqlitex.ExecuteScript(db,
			`PRAGMA encoding='`+encoding+`'; PRAGMA application_id=1196444487; PRAGMA user_version=10300;
			CREATE TABLE gpkg_contents (table_name TEXT PRIMARY KEY, data_type TEXT NOT NULL, identifier TEXT, description TEXT DEFAULT '', last_change DATETIME DEFAULT '2024-01-01T00:00:00Z',
				min_x DOUBLE, min_y DOUBLE, max_x DOUBLE, max_y DOUBLE, srs_id INTEGER);
			CREATE TABLE gpkg_spatial_ref_sys (srs_name TEXT, srs_id INTEGER PRIMARY KEY, organization TEXT, organization_coordsys_id INTEGER, definition TEXT, description TEXT);
			CREATE TABLE gpkg_geometry_columns (table_name TEXT, column_name TEXT, geometry_type_name TEXT, srs_id INTEGER, z TINYINT, m TINYINT);
			CREATE TABLE x (id INTEGER PRIMARY KEY, name TEXT); `+attributes, nil)
		for _, name := range want {
			if err == nil {
				err = sqlitex.Execute(db, "INSERT INTO x (name) VALUES (?)", &sqlitex.ExecOptions{Args: []any{name}})
			}
		}
		if err := errors.Join(err, db.Close()); err != nil {
			t.Fatal(err)
		}
		s := openStore(t, path, gpkg.Options{})
		var got []string
		err = s.Fetch(t.Context(), "x", store.Current("1", "2", "3", "4", "5", "6"), store.Want{},
			func(f *store.Feature) error {
				got = append(got, f.Values[0].(string))
				return nil
			})
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %q %v, want %q", encoding, got, err, want)
		}
		p, err := s.Page(t.Context(), store.Query{Collection: "x", Limit: 9,
			Filter: cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: "name", Type: cql2.TypeText}, R: cql2.Text("Ås")}})
		if err != nil || len(p.Rows) != 2 {
			t.Errorf("%s: %v %v, want two called Ås", encoding, p, err)
		}
	}
}
