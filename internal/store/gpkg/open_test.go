package gpkg_test

import (
	"context"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// build makes a GeoPackage with an SQL script, as another program would.
func build(t testing.TB, script string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "foreign.gpkg")
	create(t, path, func(store.Writer) {})
	run(t, path, script)
	return path
}

func run(t testing.TB, path, script string) {
	t.Helper()
	db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := sqlitex.ExecuteScript(db, script, nil); err != nil {
		t.Fatal(err)
	}
}

const attributes = `INSERT INTO gpkg_contents (table_name, data_type) VALUES ('x', 'attributes');`

const features = `INSERT INTO gpkg_contents (table_name, data_type, srs_id) VALUES ('x', 'features', 4326);
	INSERT INTO gpkg_geometry_columns VALUES ('x', 'geom', 'GEOMETRY', 4326, 0, 0);`

func TestOpenRefusesWithCure(t *testing.T) {
	t.Parallel()
	whole, err := os.ReadFile(build(t, "CREATE TABLE x (a); "+attributes))
	if err != nil {
		t.Fatal(err)
	}
	damaged := slices.Clone(whole)
	for i := 4096; i < len(damaged); i++ {
		damaged[i] ^= 0x5a
	}
	head := slices.Clone(whole)
	copy(head[100:108], "\xff\xff\xff\xff\xff\xff\xff\xff")
	tests := map[string]struct {
		content []byte
		want    string
	}{
		"empty":      {nil, "ogr2ogr"},
		"text":       {[]byte(strings.Repeat("not a database ", 100)), "ogr2ogr"},
		"truncated":  {whole[:len(whole)-5000], "truncated"},
		"damaged":    {damaged, "damaged"},
		"first page": {head, "damaged"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "x.gpkg")
			if err := os.WriteFile(path, tt.content, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := gpkg.Open(context.Background(), path, gpkg.Options{DataDir: t.TempDir()})
			if err == nil {
				s.Close()
				t.Fatal("opened")
			}
			if !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "x.gpkg") {
				t.Errorf("error %q does not say %q and which file", err, tt.want)
			}
		})
	}
	t.Run("no GeoPackage", func(t *testing.T) {
		t.Parallel()
		path := filepath.Join(t.TempDir(), "x.gpkg")
		db, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(sqlitex.ExecuteScript(db, "CREATE TABLE a (b);", nil), db.Close())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := gpkg.Open(context.Background(), path, gpkg.Options{DataDir: t.TempDir()}); err == nil ||
			!strings.Contains(err.Error(), "gpkg_contents") {
			t.Errorf("error %v", err)
		}
	})
	t.Run("missing", func(t *testing.T) {
		t.Parallel()
		if _, err := gpkg.Open(context.Background(), "/nowhere/x.gpkg",
			gpkg.Options{DataDir: t.TempDir()}); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("error %v", err)
		}
	})
}

// TestCutFilesNeverPanic cuts and flips a file in many places: an error or a store, and never a panic.
func TestCutFilesNeverPanic(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	whole, err := os.ReadFile(build(t, "CREATE TABLE x (id INTEGER PRIMARY KEY, a TEXT, geom BLOB); "+features+
		"INSERT INTO x SELECT value, printf('%200d', value), "+
		"x'47500001e61000000101000000000000000000f03f000000000000f03f' FROM (WITH RECURSIVE g(value) AS (SELECT 1 "+
		"UNION ALL SELECT value + 1 FROM g WHERE value < 200) SELECT value FROM g);"))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(whole); i += len(whole)/40 + 1 {
		flipped := slices.Clone(whole)
		for j := i; j < min(i+16, len(flipped)); j++ {
			flipped[j] ^= 0xff
		}
		for _, content := range [][]byte{whole[:i], flipped} {
			path := filepath.Join(t.TempDir(), "x.gpkg")
			if err := os.WriteFile(path, content, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := gpkg.Open(context.Background(), path, gpkg.Options{DataDir: t.TempDir()})
			if err != nil {
				continue
			}
			for _, c := range s.Catalog().Collections {
				p, err := s.Page(context.Background(), store.Query{Collection: c.ID, Limit: 1000})
				if err != nil {
					continue
				}
				for _, r := range p.Rows {
					err := s.Fetch(context.Background(), c.ID, store.Current(r.ID), store.Want{},
						func(f *store.Feature) error {
							_, err := f.Geometry.Orb()
							return err
						})
					if errors.Is(err, store.ErrGeometry) {
						t.Errorf("a broken geometry was passed on: %v", err)
					}
				}
			}
			s.Close()
		}
	}
}

// TestCollationOfTheSourceDoesNotCount: CQL2 compares by code point whatever a column was declared with.
func TestCollationOfTheSourceDoesNotCount(t *testing.T) {
	t.Parallel()
	s := openStore(t, build(t,
		`CREATE TABLE x (fid INTEGER PRIMARY KEY, a TEXT COLLATE NOCASE, b TEXT COLLATE RTRIM); CREATE INDEX i ON x (a);
		INSERT INTO x VALUES (1, 'Oslo', 'x'), (2, 'oslo', 'x '), (3, 'OSLO', 'y');`+attributes), gpkg.Options{})
	c, _ := s.Catalog().Collection("x")
	for filter, want := range map[string]int{"a = 'Oslo'": 1, "a IN ('oslo','bergen')": 1, "a > 'Z'": 1,
		"a BETWEEN 'OSLO' AND 'Oslo'": 2, "a LIKE 'os%'": 1, "b = 'x'": 1, "CASEI(a) = 'oslo'": 3, "a <> b": 3} {
		e, err := cql2.ParseText(filter)
		if err == nil {
			e, err = cql2.Check(e, c)
		}
		if err != nil {
			t.Fatal(err)
		}
		if p := page(t, s, store.Query{Collection: "x", Filter: e, Limit: 5}); p.Matched != want {
			t.Errorf("%s matches %d, want %d", filter, p.Matched, want)
		}
	}
}

// TestFileThatIsWrittenInto: what a page named is not given in another state, with the same id and number of bytes.
func TestFileThatIsWrittenInto(t *testing.T) {
	t.Parallel()
	path := planFile(t, 50, false)
	for i := range 8 { // they call functions that SQLite itself lacks
		run(t, path, "DROP TRIGGER IF EXISTS rtree_x_geom_update"+strconv.Itoa(i))
	}
	s := openStore(t, path, gpkg.Options{})
	none := func(*store.Feature) error { return nil }
	seen := map[uint64]bool{}
	for i := range 3 {
		p := page(t, s, store.Query{Collection: "x", Limit: 5})
		if seen[p.Rows[0].Rev] {
			t.Fatal("two states are one revision")
		}
		seen[p.Rows[0].Rev] = true
		if err := s.Fetch(t.Context(), "x", p.Rows, store.Want{}, none); err != nil {
			t.Fatal(err)
		}
		run(t, path, "UPDATE x SET fritt = '"+strconv.Itoa(i)+"' WHERE fid = 7")
		if err := s.Fetch(t.Context(), "x", p.Rows, store.Want{}, none); !errors.Is(err, store.ErrChanged) {
			t.Errorf("%v, want ErrChanged", err)
		}
	}
	run(t, path, "DELETE FROM x WHERE fid = 9")
	if p := page(t, s, store.Query{Collection: "x", Limit: 5}); p.Matched != 49 {
		t.Errorf("matched %d, want 49", p.Matched)
	}
}

// columnsOf splits a list of columns.
func columnsOf(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

func TestKeys(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		script, idColumn string
		ids              []string // nil: refused
		note             string
		property         string
	}{
		"integer": {`CREATE TABLE x (fid INTEGER PRIMARY KEY, a TEXT); INSERT INTO x VALUES (10, 'a'), ` +
			`(9, 'b'), (-1, 'c');`, "", []string{"-1", "9", "10"}, "", ""},
		"text": {`CREATE TABLE x (nr TEXT PRIMARY KEY, a); INSERT INTO x VALUES ('0301', 1), ('10', ` +
			`2), ('ø', 3), ('Z', 4), ('a', 5);`, "", []string{"0301", "10", "Z", "a", "ø"}, "", "nr"},
		"no case": {`CREATE TABLE x (nr TEXT COLLATE NOCASE PRIMARY KEY, a); INSERT INTO x VALUES ('b', ` +
			`1), ('A', 2), ('C', 3), ('d', 4);`, "", []string{"A", "C", "b", "d"}, "", "nr"},
		"none": {`CREATE TABLE x (a TEXT); INSERT INTO x VALUES ('a'), ('b');`, "", []string{"1", "2"},
			"VACUUM may change", ""},
		"composite": {`CREATE TABLE x (a INT, b INT, PRIMARY KEY (a, b)); INSERT INTO x VALUES (10, 1), (9, ` +
			`2), (9, 1);`, "", []string{"9;1", "9;2", "10;1"}, "", ""},
		"no row id": {`CREATE TABLE x (a TEXT, b INT, PRIMARY KEY (a, b)) WITHOUT ROWID; ` +
			`INSERT INTO x VALUES ('a;~', 1), ('a', 2);`, "", []string{"a;2", "a~1~0;1"}, "", ""},
		"null in composite": {`CREATE TABLE x (a TEXT, b INT, PRIMARY KEY (a, b)); INSERT INTO x VALUES ('a', 1), ` +
			`(NULL, 2);`, "", []string{"1", "2"}, "the row number is the id", ""},
		"no case composite": {`CREATE TABLE x (a TEXT COLLATE NOCASE, b INT, c TEXT, PRIMARY KEY (a, b)); ` +
			`INSERT INTO x VALUES ('b', 1, ''), ('A', 1, ''), ('a', 2, '');`, "",
			[]string{"A;1", "a;2", "b;1"}, "", ""},
		"unique": {`CREATE TABLE x (nr TEXT NOT NULL UNIQUE, a); INSERT INTO x VALUES ('b', 1), ('a', 2);`,
			"", []string{"a", "b"}, "", "nr"},
		"unique, nullable": {`CREATE TABLE x (nr TEXT UNIQUE, a); INSERT INTO x VALUES ('b', 1), ('a', 2);`, "",
			[]string{"1", "2"}, "VACUUM may change", ""},
		"unique, partial": {`CREATE TABLE x (nr TEXT NOT NULL, a); CREATE UNIQUE INDEX i ON x (nr) WHERE a > 0; ` +
			`INSERT INTO x VALUES ('b', 1), ('a', 2);`, "", []string{"1", "2"}, "VACUUM may change", ""},
		"unique, expression": {`CREATE TABLE x (nr TEXT NOT NULL, a); CREATE UNIQUE INDEX i ON x (lower(nr)); ` +
			`INSERT INTO x VALUES ('b', 1), ('a', 2);`, "", []string{"1", "2"}, "VACUUM may change", ""},
		"unique pair": {`CREATE TABLE x (nr TEXT NOT NULL, aar INT NOT NULL, UNIQUE (nr, aar)); ` +
			`INSERT INTO x VALUES ('b', 1), ('a', 2), ('a', 1);`, "", []string{"a;1", "a;2", "b;1"}, "", ""},
		"unique beside fid": {`CREATE TABLE x (fid INTEGER PRIMARY KEY, nr TEXT NOT NULL UNIQUE); ` +
			`INSERT INTO x VALUES (1, 'b'), (2, 'a');`, "", []string{"1", "2"}, "", ""},
		"unique beside pair": {`CREATE TABLE x (a INT, b INT, nr TEXT NOT NULL UNIQUE, PRIMARY KEY (a, b)); ` +
			`INSERT INTO x VALUES (1, 1, 'b'), (1, 2, 'a');`, "", []string{"a", "b"}, "", "nr"},
		"configured pair": {`CREATE TABLE x (fid INTEGER PRIMARY KEY, nr TEXT, aar INT); INSERT INTO x VALUES (1, ` +
			`'b', 1), (2, 'a', 2), (3, 'a', 1);`, "nr,AAR", []string{"a;1", "a;2", "b;1"}, "", ""},
		"repeated pair": {`CREATE TABLE x (fid INTEGER PRIMARY KEY, nr TEXT, aar INT); INSERT INTO x VALUES (1, ` +
			`'b', 1), (2, 'b', 1);`, "nr,aar", nil, `"b;1" occurs 2 times`, ""},
		"view of a pair": {`CREATE TABLE y (a INTEGER, b TEXT); INSERT INTO y VALUES (2, 'a'), (2, 'b'); ` +
			`CREATE VIEW x AS SELECT a, b FROM y;`, "a,b", []string{"2;a", "2;b"}, "", ""},
		"column rowid": {`CREATE TABLE x (rowid TEXT, a TEXT); INSERT INTO x VALUES ('p', 'a'), ('q', 'b');`, "",
			[]string{"1", "2"}, "", ""},
		"null in key": {`CREATE TABLE x (nr TEXT PRIMARY KEY, a); INSERT INTO x VALUES ('a', 1), (NULL, 2);`, "",
			[]string{"1", "2"}, "the row number is the id", ""},
		"configured": {`CREATE TABLE x (fid INTEGER PRIMARY KEY, id TEXT); INSERT INTO x VALUES (1, ` +
			`'b'), (2, 'a');`, "ID", []string{"a", "b"}, "", "id"},
		"repeated": {`CREATE TABLE x (fid INTEGER PRIMARY KEY, nr TEXT); INSERT INTO x VALUES (1, '1508'), ` +
			`(2, '4602'), (3, '1508');`, "nr", nil, `"1508" occurs 2 times`, ""},
		"configured null": {`CREATE TABLE x (fid INTEGER PRIMARY KEY, nr TEXT); INSERT INTO x VALUES (1, '1508'), ` +
			`(2, NULL);`, "nr", nil, "null", ""},
		"configured real": {`CREATE TABLE x (fid INTEGER PRIMARY KEY, nr REAL); INSERT INTO x VALUES (1, 1.5);`,
			"nr", nil, "neither all text", ""},
		"configured missing": {`CREATE TABLE x (fid INTEGER PRIMARY KEY); INSERT INTO x VALUES (1);`, "nr", nil,
			`no column "nr"`, ""},
		"view": {`CREATE TABLE y (a INTEGER, b TEXT); INSERT INTO y VALUES (2, 'a'), (1, 'b'); ` +
			`CREATE VIEW x AS SELECT a, b FROM y;`, "", []string{"1", "2"}, "", "a"},
		"view of text": {`CREATE TABLE y (a INTEGER, b TEXT); INSERT INTO y VALUES (2, 'a'), (1, 'b'); ` +
			`CREATE VIEW x AS SELECT b, a FROM y;`, "", []string{"a", "b"}, "", "b"},
		"bad view": {`CREATE TABLE y (a INTEGER, b TEXT); INSERT INTO y VALUES (2, 'a'), (2, 'b'); ` +
			`CREATE VIEW x AS SELECT a, b FROM y;`, "", nil, "no column of the view", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, build(t, tt.script+attributes),
				gpkg.Options{Settings: map[string]store.Settings{"x": {IDColumns: columnsOf(tt.idColumn)}}})
			hasNote(t, s, tt.note)
			c, ok := s.Catalog().Collection("x")
			if ok != (tt.ids != nil) {
				t.Fatalf("served: %v, notes %+v", ok, s.Catalog().Notes)
			}
			if !ok {
				hasNote(t, s, "in id_column") // the cure
				return
			}
			var got []string
			q := store.Query{Collection: "x", Limit: 1}
			for {
				p := page(t, s, q)
				got = append(got, p.Rows[0].ID)
				if q.Cursor = p.Next; q.Cursor == "" {
					break
				}
			}
			if !slices.Equal(got, tt.ids) {
				t.Errorf("ids %q, want %q", got, tt.ids)
			}
			if c.Key.Property != tt.property {
				t.Errorf("property %q repeats the id, want %q", c.Key.Property, tt.property)
			}
			n := 0
			if err := s.Fetch(context.Background(), "x", store.Current(tt.ids...), store.Want{},
				func(*store.Feature) error { n++; return nil }); err != nil || n != len(tt.ids) {
				t.Errorf("fetched %d: %v", n, err)
			}
		})
	}
}

// TestRefusalsOfWrongMetadataNameTheCure: each names the row that is to be changed.
func TestRefusalsOfWrongMetadataNameTheCure(t *testing.T) {
	t.Parallel()
	s := openStore(t, build(t, `
		CREATE TABLE x (fid INTEGER PRIMARY KEY); CREATE TABLE flat (fid INTEGER PRIMARY KEY);
		CREATE TABLE renamed (fid INTEGER PRIMARY KEY, shape BLOB); CREATE TABLE odd (fid INTEGER PRIMARY KEY);
		INSERT INTO gpkg_contents (table_name, data_type) VALUES ('x', 'attributes'), ('gone', 'attributes'),
			('flat', 'features'), ('renamed', 'features'), ('odd', 'drawings');
		INSERT INTO gpkg_geometry_columns VALUES ('renamed', 'geom', 'POINT', 4326, 0, 0);`), gpkg.Options{})
	for layer, cure := range map[string]string{"gone": "remove its row from gpkg_contents, or set hidden",
		"flat": "add its row there", "renamed": "correct its name in gpkg_geometry_columns",
		"odd": "set data_type in gpkg_contents"} {
		if n, ok := s.Catalog().Refusal(layer); !ok || !strings.Contains(n.Reason, cure) {
			t.Errorf("%s: %q, want %q", layer, n.Reason, cure)
		}
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	s := openStore(t, build(t, `
		CREATE TABLE "Fylker på Østlandet (æ)" (fid INTEGER PRIMARY KEY, id TEXT, "id_" TEXT, "a ""b"" c.d" TEXT);
		CREATE TABLE "fylker pa ostlandet [ae]" (fid INTEGER PRIMARY KEY, Id TEXT);
		CREATE TABLE "x-y" (fid INTEGER PRIMARY KEY);
		INSERT INTO "Fylker på Østlandet (æ)" VALUES (1, 'one', 'two', 'three');
		INSERT INTO gpkg_contents (table_name, data_type, identifier, description) VALUES ('Fylker på Østlandet (æ)', 'attributes', 'Fylker', 'Alle');
		INSERT INTO gpkg_contents (table_name, data_type) VALUES ('fylker pa ostlandet [ae]', 'attributes'), ('x-y', 'attributes');`),
		gpkg.Options{Settings: map[string]store.Settings{"x-y": {ID: "renamed", Title: store.Text{"nb": "Ny"}}}})
	var ids []string
	for _, c := range s.Catalog().Collections {
		ids = append(ids, c.ID)
	}
	if want := []string{"fylker_pa_ostlandet_ae_", "fylker_pa_ostlandet_ae__2", "renamed"}; !slices.Equal(ids, want) {
		t.Errorf("ids %q, want %q", ids, want)
	}
	c := s.Catalog().Collections[0]
	if want := []string{"id_", "id__2", `a "b" c.d`, "id"}; !slices.Equal(c.Names(), want) {
		t.Errorf("properties %q, want %q", c.Names(), want)
	}
	if c.Title.In("nb") != "Fylker" || c.Description.In("nb") != "Alle" ||
		s.Catalog().Collections[2].Title.In("en") != "Ny" {
		t.Errorf("texts %v %v", c.Title, c.Description)
	}
	err := s.Fetch(context.Background(), c.ID, store.Current("1"), store.Want{Properties: []string{`a "b" c.d`, "id_"}},
		func(f *store.Feature) error {
			if !slices.Equal(f.Values, []any{"three", "one"}) {
				t.Errorf("values %q", f.Values)
			}
			return nil
		})
	if err != nil {
		t.Error(err)
	}
}

// TestTypesFollowValues declares types that values do not always have.
func TestTypesFollowValues(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		declared, values string
		want             cql2.Type
		served           []any
		out, warned      bool
	}{
		"text":               {"TEXT(20)", "'a', NULL", cql2.TypeText, []any{"a", nil}, false, false},
		"varchar":            {"VARCHAR(20)", "'a'", cql2.TypeText, []any{"a"}, false, false},
		"mediumint":          {"MEDIUMINT", "7, NULL", cql2.TypeInteger, []any{int64(7), nil}, false, false},
		"integer with real":  {"INTEGER", "7, 1.5", cql2.TypeNumber, []any{7.0, 1.5}, false, true},
		"integer with text":  {"INTEGER", "7, 'x'", cql2.TypeText, []any{"7", "x"}, false, true},
		"double":             {"DOUBLE", "7, 1.5", cql2.TypeNumber, []any{7.0, 1.5}, false, false},
		"infinity":           {"REAL", "1, 9e999", cql2.TypeText, []any{"1.0", "Inf"}, false, true},
		"boolean":            {"BOOLEAN", "0, 1, NULL", cql2.TypeBool, []any{false, true, nil}, false, false},
		"boolean with two":   {"BOOLEAN", "0, 2", cql2.TypeInteger, []any{int64(0), int64(2)}, false, true},
		"date":               {"DATE", "'2024-02-29', NULL", cql2.TypeDate, []any{"2024-02-29", nil}, false, false},
		"date in other form": {"DATE", "'2024/02/29'", cql2.TypeDate, []any{"2024-02-29"}, false, false},
		"date with clock": {"DATE", "'2024-02-29', '2024-02-29T12:00:00Z'", cql2.TypeTimestamp,
			[]any{"2024-02-29T00:00:00Z", "2024-02-29T12:00:00Z"}, false, false},
		"date with text": {"DATE", "'2024-02-29', 'soon'", cql2.TypeText, []any{"2024-02-29", "soon"}, false, true},
		"datetime": {"DATETIME", "'2024-02-29T12:00:00.250Z'", cql2.TypeTimestamp,
			[]any{"2024-02-29T12:00:00.25Z"}, false, false},
		"datetime, no zone": {"DATETIME", "'2024-02-29 12:00:00'", cql2.TypeTimestamp, []any{"2024-02-29T12:00:00Z"},
			false, false},
		"datetime, zone": {"TIMESTAMP", "'2024-02-29T12:00:00+01:00', '2024-02-29T12:00:00+01'", cql2.TypeTimestamp,
			[]any{"2024-02-29T11:00:00Z", "2024-02-29T11:00:00Z"}, false, false},
		"undeclared":         {"", "1, 'a'", cql2.TypeText, []any{"1", "a"}, false, false},
		"undeclared numbers": {"", "1, 2", cql2.TypeInteger, []any{int64(1), int64(2)}, false, false},
		"string affinity":    {"STRING", "'07a', 12", cql2.TypeText, []any{"07a", "12"}, false, false},
		"not UTF-8":          {"TEXT", "CAST(x'61ff62' AS TEXT)", cql2.TypeText, []any{"a\ufffdb"}, false, false},
		"blob":               {"BLOB", "x'00'", 0, nil, true, true},
		"blob in text":       {"TEXT", "'a', x'00'", 0, nil, true, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t,
				build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY, a `+tt.declared+`); INSERT INTO x (a) VALUES (`+
					strings.ReplaceAll(tt.values, ", ", "), (")+`);`+attributes), gpkg.Options{})
			if warned := len(s.Catalog().Notes) > 0; warned != tt.warned {
				t.Errorf("notes %+v", s.Catalog().Notes)
			}
			c, _ := s.Catalog().Collection("x")
			typ, ok := c.Property("a")
			if ok == tt.out || typ != tt.want {
				t.Fatalf("type %v, served %v", typ, ok)
			}
			if tt.out {
				return
			}
			var got []any
			sorted := page(t, s, store.Query{Collection: "x", Limit: 10})
			for _, r := range sorted.Rows {
				err := s.Fetch(context.Background(), "x", store.Current(r.ID), store.Want{},
					func(f *store.Feature) error { got = append(got, f.Values...); return nil })
				if err != nil {
					t.Fatal(err)
				}
			}
			if !slices.Equal(got, tt.served) {
				t.Errorf("values %#v, want %#v", got, tt.served)
			}
			crawlSorted(t, s, len(tt.served))
		})
	}
}

// crawlSorted goes through x by one row at a time, sorted by a, which must end.
func crawlSorted(t *testing.T, s *gpkg.Store, n int) {
	t.Helper()
	q := store.Query{Collection: "x", Limit: 1, SortBy: []store.Sort{{Property: "a", Desc: true}}}
	seen := 0
	for ; seen <= n; seen++ {
		if q.Cursor = page(t, s, q).Next; q.Cursor == "" {
			seen++
			break
		}
	}
	if seen != n {
		t.Errorf("%d rows when sorted, want %d", seen, n)
	}
}

// TestBrokenGeometry: what cannot be read is served as null, with a note, and matches any bbox as
// features without geometry do.
func TestBrokenGeometry(t *testing.T) {
	t.Parallel()
	point := "47500001e6100000" + "0101000000000000000000f03f0000000000000040"
	big := "47500000000010e6" + "00000000013ff00000000000004000000000000000"
	blobs := []struct {
		name, hex string
		fine      bool
	}{
		{"point", point, true},
		{"big endian", big, true},
		{"envelope", "47500003e6100000" + strings.Repeat("00", 32) + point[16:], true},
		{"largest envelope", "47500009e6100000" + strings.Repeat("00", 64) + point[16:], true},
		{"unknown envelope", "4750000be6100000" + strings.Repeat("00", 64) + point[16:], false},
		{"no magic", "00000001e6100000" + point[16:], false},
		{"extended type", "47500021e6100000" + point[16:], false},
		{"empty flag", "47500011e6100000" + "0101000000000000000000f87f000000000000f87f", false},
		{"empty point", "47500001e6100000" + "0101000000000000000000f87f000000000000f87f", false},
		{"empty line", "47500001e6100000" + "010200000000000000", false},
		{"truncated", point[:40], false},
		{"header alone", "47500001e6100000", false},
		{"circular string", "47500001e6100000" + "010800000000000000", false},
		{"count too large", "47500001e6100000" + "0102000000ffffffff", false},
		{"infinite", "47500001e6100000" + "0101000000000000000000f07f0000000000000040", false},
		{"nothing", "", false},
	}
	var script strings.Builder
	for _, b := range blobs {
		script.WriteString("INSERT INTO x (name, geom) VALUES ('" + b.name + "', x'" + b.hex + "');")
	}
	script.WriteString("INSERT INTO x (name, geom) VALUES ('text', 'POINT(1 2)'), ('null', NULL);")
	s := openStore(t, build(t, "CREATE TABLE x (fid INTEGER PRIMARY KEY, name TEXT, geom BLOB);"+features+
		script.String()), gpkg.Options{})
	hasNote(t, s, "cannot be read")
	fine := map[string]bool{}
	for _, b := range blobs {
		fine[b.name] = b.fine
	}
	all := page(t, s, store.Query{Collection: "x", Limit: 100})
	for _, r := range all.Rows {
		err := s.Fetch(context.Background(), "x", store.Current(r.ID), store.Want{}, func(f *store.Feature) error {
			if name := f.Values[0].(string); f.Geometry.IsNull() == fine[name] {
				t.Errorf("%s: geometry %s", name, hex.EncodeToString(f.Geometry.WKB))
			}
			_, err := f.Geometry.Orb()
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]int{"50,50,51,51": len(all.Rows) - 4, "0,0,3,3": len(all.Rows)} {
		b, err := cql2.ParseBBox(name, crs.CRS84)
		if err != nil {
			t.Fatal(err)
		}
		b.Prop = "geometry"
		if p := page(t, s, store.Query{Collection: "x", Filter: b, Limit: 100}); p.Matched != want ||
			len(p.Rows) != want {
			t.Errorf("bbox %s: %d, want %d", name, p.Matched, want)
		}
	}
}

// TestIncompleteIndex has an R-tree that misses a feature; it must not be believed.
func TestIncompleteIndex(t *testing.T) {
	t.Parallel()
	path := build(t, `CREATE TABLE x (fid INTEGER PRIMARY KEY, geom BLOB); `+features+`
		INSERT INTO x VALUES (1, x'47500001e61000000101000000000000000000f03f0000000000000040'), (2, x'47500001e610000001010000000000000000001040000000000000f03f');
		CREATE VIRTUAL TABLE rtree_x_geom USING rtree(id, minx, maxx, miny, maxy); INSERT INTO rtree_x_geom VALUES (1, 1, 1, 2, 2), (2, 50, 50, 50, 50);`)
	s := openStore(t, path, gpkg.Options{})
	b, err := cql2.ParseBBox("3,0,5,2", crs.CRS84)
	if err != nil {
		t.Fatal(err)
	}
	b.Prop = "geometry"
	if p := page(t, s, store.Query{Collection: "x", Filter: b, Limit: 10}); len(p.Rows) != 1 || p.Rows[0].ID != "2" {
		t.Errorf("rows %v, want 2", p.Rows)
	}
}

func TestUnservedReferenceSystems(t *testing.T) {
	t.Parallel()
	metres := "x'47500001e6100000010100000000000000006a084100000000b0b05941'" // 200000, 6733504
	tests := map[string]struct {
		srs, geom, note string
		served          bool
	}{
		"undefined cartesian":         {"-1", metres, "name it in storage_crs", false},
		"undefined, but metres":       {"0", metres, "not longitudes", false},
		"degrees that are metres":     {"4326", metres, "not longitudes", false},
		"not in gpkg_spatial_ref_sys": {"4711", metres, "not in gpkg_spatial_ref_sys", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, build(t, "PRAGMA foreign_keys=OFF; CREATE TABLE x (fid INTEGER PRIMARY KEY, geom BLOB);"+
				strings.ReplaceAll(features, "4326", tt.srs)+
				"INSERT INTO x VALUES (1, "+tt.geom+"); CREATE TABLE y (a); INSERT INTO gpkg_contents (table_name, "+
				"data_type) VALUES ('y', 'attributes');"), gpkg.Options{})
			hasNote(t, s, tt.note)
			if _, ok := s.Catalog().Collection("x"); ok != tt.served {
				t.Errorf("served: %v", ok)
			}
			if _, ok := s.Catalog().Collection("y"); !ok {
				t.Error("the other layer is not served")
			}
		})
	}
}
