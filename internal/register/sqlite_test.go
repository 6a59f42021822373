package register_test

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/register"
	"grense/internal/register/registertest"
	"grense/internal/store"
	"grense/migrations"
)

// database is a database in memory with the tables of the register; it is closed with the test.
func database(t testing.TB) *sqlite.Conn {
	t.Helper()
	conn, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite, sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := migrated(conn); err != nil {
		t.Fatal(err)
	}
	return conn
}

// apart are migrations whose tables the generator does not fill: definitions, indexes that the Writer fills, lineage.
var apart = []string{
	"0001_collection.sql",
	"0003_search.sql",
	"0004_order.sql",
	"0005_lineage.sql",
	"0006_event_kinds.sql",
}

// migrated makes the tables that migrations make for the generator.
func migrated(conn *sqlite.Conn) error {
	files, err := fs.Glob(migrations.GeoPackage(), "*.sql") // in order
	for _, name := range files {
		if err != nil || slices.Contains(apart, name) {
			continue
		}
		var script []byte
		if script, err = fs.ReadFile(migrations.GeoPackage(), name); err == nil {
			err = sqlitex.ExecuteScript(conn, string(script), nil)
		}
	}
	return err
}

// filled is a database with the small register, made once for all tests that only read. It is locked during a query.
var filled = struct {
	once sync.Once
	sync.Mutex
	conn *sqlite.Conn
}{}

// ask runs a query on the small register and returns its rows as text.
func ask(t testing.TB, query string, args ...any) [][]string {
	t.Helper()
	filled.once.Do(func() {
		conn, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite, sqlite.OpenCreate)
		if err != nil {
			t.Fatal(err)
		}
		err = migrated(conn)
		if err == nil {
			err = load(conn, read(t, small))
		}
		if err == nil {
			err = sqlitex.Execute(conn, "INSERT INTO skrivemaate_fts (skrivemaate_fts) VALUES ('rebuild')", nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		filled.conn = conn
	})
	if filled.conn == nil {
		t.Fatal("the register could not be loaded")
	}
	filled.Lock()
	defer filled.Unlock()
	var rows [][]string
	err := sqlitex.Execute(filled.conn, query,
		&sqlitex.ExecOptions{Args: args, ResultFunc: func(stmt *sqlite.Stmt) error {
			row := make([]string, stmt.ColumnCount())
			for i := range row {
				row[i] = stmt.ColumnText(i)
			}
			rows = append(rows, row)
			return nil
		}})
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return rows
}

// load writes recorded rows in one transaction.
func load(conn *sqlite.Conn, r *registertest.Recording) (err error) {
	defer sqlitex.Save(conn)(&err)
	for table, rows := range r.Rows {
		columns := r.Columns[table]
		insert := "INSERT INTO " + table + " (" + strings.Join(columns, ", ") + ") VALUES (?" +
			strings.Repeat(", ?", len(columns)-1) + ")"
		for _, row := range rows {
			args := make([]any, len(row))
			for i, v := range row {
				switch v := v.(type) {
				case time.Time:
					args[i] = v.Format(time.RFC3339)
				case store.Geometry:
					args[i] = v.WKB
				default:
					args[i] = v
				}
			}
			if err := sqlitex.Execute(conn, insert, &sqlitex.ExecOptions{Args: args}); err != nil {
				return fmt.Errorf("%s %v: %w", table, row, err)
			}
		}
	}
	return nil
}

func tableColumns(t testing.TB, conn *sqlite.Conn, table string) []string {
	t.Helper()
	var out []string
	err := sqlitex.Execute(
		conn,
		"SELECT name FROM pragma_table_info(?)",
		&sqlitex.ExecOptions{Args: []any{table}, ResultFunc: func(stmt *sqlite.Stmt) error {
			out = append(out, stmt.ColumnText(0))
			return nil
		}},
	)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Every table is written, and every column of it.
func TestGeneratorFillsEveryColumnOfTheMigration(t *testing.T) {
	t.Parallel()
	conn := database(t)
	r := generated(t, 1, 0, false)
	var names []string
	err := sqlitex.Execute(
		conn,
		"SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '%\\_fts%' ESCAPE '\\'",
		&sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error { names = append(names, stmt.ColumnText(0)); return nil }},
	)
	if err != nil || len(names) < 25 {
		t.Fatalf("%d tables: %v", len(names), err)
	}
	for _, table := range names {
		want, got := tableColumns(t, conn, table), slices.Clone(r.Columns[table])
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("table %s: columns written %v, columns there %v", table, got, want)
		}
	}
}

// Every column that a collection or relation names is in its table, and an index leads to the owner's rows.
func TestCollectionsAgreeWithTheMigration(t *testing.T) {
	t.Parallel()
	conn := database(t)
	need := func(where, table, column string) {
		if column != "" && !slices.Contains(tableColumns(t, conn, table), column) {
			t.Errorf("%s: table %s has no column %q", where, table, column)
		}
	}
	properties := func(where, table string, ps []store.Property) {
		seen := map[string]bool{}
		for _, p := range ps {
			if seen[p.Name] {
				t.Errorf("%s: %s twice", where, p.Name)
			}
			seen[p.Name] = true
			for _, c := range []string{p.Column, p.Search.Exact, p.Search.Norm, p.Search.Rev} {
				need(where, table, c)
			}
			if p.Search.Gram != "" && len(tableColumns(t, conn, p.Search.Gram)) == 0 {
				t.Errorf("%s: no full-text table %s", where, p.Search.Gram)
			}
		}
	}
	var relations func(where, table string, list []store.Relation)
	relations = func(where, table string, list []store.Relation) {
		for _, r := range list {
			at := where + "." + r.Name
			need(at, r.Table, r.Owner)
			need(at, table, r.Key)
			properties(at, r.Table, r.Columns)
			if !leads(t, conn, r.Table, r.Owner) && !leads(t, conn, r.Table, r.Columns[0].Column, r.Owner) {
				t.Errorf("%s: no index on %s leads with %s, or with %s and it", at, r.Table, r.Owner,
					r.Columns[0].Column)
			}
			relations(at, r.Table, r.Relations)
		}
	}
	public := map[string]bool{}
	ids := map[string]bool{}
	for _, c := range register.Collections() {
		if ids[c.ID] {
			t.Errorf("collection %s twice", c.ID)
		}
		ids[c.ID] = true
		need(c.ID, c.Table, c.Key.Column)
		properties(c.ID, c.Table, c.Properties)
		relations(c.ID, c.Table, c.Relations)
		if c.Geometry != nil {
			need(c.ID, c.Table, c.Geometry.Column)
		}
		for _, name := range []string{c.TitleProperty, c.Instant} {
			if p, ok := c.Find(name); name != "" && (!ok || p.Hidden) {
				t.Errorf("%s: %q is no public property", c.ID, name)
			}
		}
		if public[c.ID] = c.Public; c.Public {
			inThreeLanguages(t, c)
		}
	}
	if !public["sted"] || !public["stedsnavn"] {
		t.Errorf("public collections: %v", public)
	}
}

// inThreeLanguages checks that people can read what a public collection is.
func inThreeLanguages(t *testing.T, c *store.Collection) {
	t.Helper()
	for _, lang := range []string{"nb", "nn", "en"} {
		if c.Title[lang] == "" || c.Description[lang] == "" {
			t.Errorf("%s has no title or description in %s", c.ID, lang)
		}
		for _, p := range c.Properties {
			if !p.Hidden && p.Title[lang] == "" {
				t.Errorf("%s.%s has no title in %s", c.ID, p.Name, lang)
			}
		}
	}
}

// leads reports whether the rows of a table are found by those columns: its key or an index begins with them.
func leads(t testing.TB, conn *sqlite.Conn, table string, columns ...string) bool {
	t.Helper()
	found := false
	err := sqlitex.Execute(
		conn,
		`SELECT 1 WHERE ?2 = (SELECT group_concat(name) FROM (SELECT name FROM pragma_table_info(?1) WHERE pk BETWEEN 1 AND ?3 ORDER BY pk))
		UNION ALL SELECT 1 FROM pragma_index_list(?1) l WHERE ?2 = (SELECT group_concat(name) FROM (SELECT name FROM pragma_index_info(l.name) WHERE seqno < ?3 ORDER BY seqno))`,
		&sqlitex.ExecOptions{
			Args:       []any{table, strings.Join(columns, ","), len(columns)},
			ResultFunc: func(*sqlite.Stmt) error { found = true; return nil },
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// The statements give what is wrong; each must give nothing.
func TestRowsReferToEachOther(t *testing.T) {
	t.Parallel()
	for _, ref := range [][4]string{
		{"sted_kommune", "sted_id", "sted", "id"}, {"stedsnavn", "sted_id", "sted", "id"},
		{"stedsnavn", "beste_skrivemaate_id", "skrivemaate", "id"},
		{"stedsnavn", "primaerfunksjon_id", "stedsnavn", "id"}, {"skrivemaate", "stedsnavn_id", "stedsnavn", "id"},
		{"skrivemaate", "normert_fra_id", "skrivemaate", "id"},
		{"sted_historikk", "sted_id", "sted", "id"}, {"stedsnavn_historikk", "stedsnavn_id", "stedsnavn", "id"},
		{"skrivemaate_historikk", "skrivemaate_id", "skrivemaate", "id"},
		{"kasus", "skrivemaate_id", "skrivemaate", "id"},
		{"sted_tilleggsopplysning", "sted_id", "sted", "id"},
		{"stedsnavn_tilleggsopplysning", "stedsnavn_id", "stedsnavn", "id"},
		{"sted_merknad", "sted_id", "sted", "id"}, {"stedsnavn_merknad", "stedsnavn_id", "stedsnavn", "id"},
		{"skrivemaate_merknad", "skrivemaate_id", "skrivemaate", "id"},
		{"vegreferanse", "sted_id", "sted", "id"}, {"matrikkel_sted", "sted_id", "sted", "id"},
		{"matrikkel_stedsnavn", "stedsnavn_id", "stedsnavn", "id"},
		{"matrikkel_skrivemaate", "skrivemaate_id", "skrivemaate", "id"}, {"navnesak", "klage_id", "klage", "id"},
		{"navnesak_stedsnavn", "navnesak_id", "navnesak", "id"},
		{"navnesak_stedsnavn", "stedsnavn_id", "stedsnavn", "id"}, {"navnesak_kommune", "navnesak_id", "navnesak",
			"id"}, {"navnesak", "id", "navnesak_kommune", "navnesak_id"},
		{"navnesak", "id", "navnesak_stedsnavn", "navnesak_id"}, {"vedtak", "navnesak_id", "navnesak", "id"},
		{"vedtak", "id", "vedtak_skrivemaate", "vedtak_id"},
		{"vedtak_skrivemaate", "vedtak_id", "vedtak", "id"},
		{"vedtak_skrivemaate", "skrivemaate_id", "skrivemaate", "id"}, {"klage", "vedtak_id", "vedtak", "id"},
		{"samlevedtak", "vedtaksomraade_id", "vedtaksomraade", "id"}, {"samlevedtak", "grunnlag_vedtak_id", "vedtak",
			"id"}, {"samlevedtak", "id", "del_av_samlevedtak", "samlevedtak_id"},
		{"del_av_samlevedtak", "samlevedtak_id", "samlevedtak", "id"},
		{"del_av_samlevedtak", "stedsnavn_id", "stedsnavn", "id"},
		{"samlevedtak_unntak", "samlevedtak_id", "samlevedtak", "id"},
		{"samlevedtak_unntak", "skrivemaate_id", "skrivemaate", "id"},
		{"dokumentasjon", "skrivemaate_id", "skrivemaate", "id"}, {"dokumentasjon", "bok_id", "bok", "id"},
		{"dokumentasjon", "kartprodukt_id", "kartprodukt", "id"},
		{"dokumentasjon", "vedtak_id", "vedtak", "id"}, {"dokumentasjon", "del_av_samlevedtak_id", "del_av_samlevedtak",
			"id"}, {"dokumentasjon", "klage_id", "klage", "id"},
	} {
		from, column, to, key := ref[0], ref[1], ref[2], ref[3]
		if rows := ask(t, "SELECT count(*) FROM "+from+" WHERE "+column+" IS NOT NULL"); rows[0][0] == "0" {
			t.Errorf("no row of %s has %s", from, column)
		}
		if rows := ask(t, "SELECT "+column+" FROM "+from+" WHERE "+column+" IS NOT NULL AND "+column+" NOT IN (SELECT "+
			key+" FROM "+to+") LIMIT 5"); len(rows) > 0 {
			t.Errorf("%s.%s: nothing in %s for %v", from, column, to, rows)
		}
	}
	for about, query := range map[string]string{
		"place without name": "SELECT id FROM sted WHERE id NOT IN (SELECT sted_id FROM stedsnavn)",
		"place without municipality": "SELECT id FROM sted WHERE id NOT IN (SELECT sted_id FROM " +
			"sted_kommune)",
		"case decided but without decision": "SELECT id FROM navnesak WHERE avsluttet AND id NOT IN (SELECT " +
			"navnesak_id FROM vedtak)",
		"closed without a date, or the reverse": "SELECT id FROM navnesak WHERE avsluttet <> (sluttdato IS NOT NULL) " +
			"OR klagesak <> (klage_id IS NOT NULL)",
		"road with a cadastral unit": "SELECT sted_id FROM vegreferanse INTERSECT SELECT sted_id FROM " +
			"matrikkel_sted",
		"name that was made from itself": "SELECT id FROM stedsnavn WHERE primaerfunksjon_id = id",
		"no or several prioritised spellings": "SELECT stedsnavn_id FROM skrivemaate GROUP BY 1 HAVING " +
			"sum(prioritert) <> 1",
		"documentation without " +
			"its document": `SELECT id FROM dokumentasjon WHERE CASE art WHEN 'bok' THEN bok_id WHEN 'kartforekomst' THEN kartprodukt_id WHEN 'vedtak' THEN vedtak_id
			WHEN 'delAvSamlevedtak' THEN del_av_samlevedtak_id WHEN 'klage' THEN klage_id WHEN 'dokument' THEN dokumenttype ELSE person END IS NULL`,
	} {
		if rows := ask(t, query); len(rows) > 0 {
			t.Errorf("%s: %v", about, rows[:min(5, len(rows))])
		}
	}
}

// What is repeated on a row is what stands where it comes from.
func TestRepeatedValuesAgree(t *testing.T) {
	t.Parallel()
	same := func(columns string) string {
		var parts []string
		for _, c := range strings.Fields(columns) {
			parts = append(parts, "a."+c+" IS NOT b."+c)
		}
		return strings.Join(parts, " OR ")
	}
	for about, query := range map[string]string{
		"name of place": "SELECT a.id FROM stedsnavn a JOIN sted b ON b.id = a.sted_id WHERE " +
			same("stedsnummer visningsnavn navneobjekttype vedtaksmyndighet land kommunenummer kommuner fylkesnummer "+
				"av_allmenn_interesse geom"),
		"spelling of place": "SELECT a.id FROM skrivemaate a JOIN sted b ON b.id = a.sted_id WHERE " +
			same("stedsnummer visningsnavn navneobjekttype vedtaksmyndighet land kommuner av_allmenn_interesse"),
		"spelling of name": "SELECT a.id FROM skrivemaate a JOIN stedsnavn b ON b.id = a.stedsnavn_id WHERE " +
			same("sted_id stedsnavnnummer spraak navnestatus navnesakstatus"),
		"place of unit": "SELECT a.id FROM matrikkel_sted a JOIN sted b ON b.id = a.sted_id WHERE " +
			same("stedsnummer stedsnavn visningsnavn navneobjekttype av_allmenn_interesse rang kommunenummer"),
		"name of unit": "SELECT a.id FROM matrikkel_stedsnavn a JOIN stedsnavn b ON b.id = a.stedsnavn_id WHERE " +
			"a.stedsnavn IS NOT b.skrivemaater OR " +
			same("sted_id stedsnummer stedsnavnnummer visningsnavn skrivemaatestatus skrivemaatestatusdato "+
				"navnesakstatus navnestatus spraak navneobjekttype rang"),
		"spelling of unit": "SELECT a.id FROM matrikkel_skrivemaate a JOIN skrivemaate b ON b.id = " +
			"a.skrivemaate_id WHERE " +
			same("sted_id stedsnavn_id stedsnummer stedsnavnnummer skrivemaatenummer langnavn visningsnavn "+
				"skrivemaatestatus skrivemaatestatusdato navnesakstatus navnestatus rang"),
		"units of names": `SELECT stedsnavn_id FROM matrikkel_stedsnavn EXCEPT SELECT n.id FROM stedsnavn n JOIN ` +
			`matrikkel_sted m ON m.sted_id = n.sted_id`,
		"units of all names": `SELECT n.id, m.gaardsnummer, m.bruksnummer, m.festenummer, m.seksjonsnummer FROM stedsnavn n JOIN matrikkel_sted m ON m.sted_id = n.sted_id
			EXCEPT SELECT stedsnavn_id, gaardsnummer, bruksnummer, festenummer, seksjonsnummer FROM matrikkel_stedsnavn`,
		"units of all spellings": `SELECT n.id, m.gaardsnummer, m.bruksnummer, m.festenummer, m.seksjonsnummer FROM skrivemaate n JOIN matrikkel_sted m ON m.sted_id = n.sted_id
			EXCEPT SELECT skrivemaate_id, gaardsnummer, bruksnummer, festenummer, seksjonsnummer FROM matrikkel_skrivemaate`,
		"type and rang of municipality": "SELECT a.sted_id FROM sted_kommune a JOIN sted b ON b.id = " +
			"a.sted_id WHERE " + same("navneobjekttype rang"),
		"kommuner of place": "SELECT id FROM sted s WHERE kommuner IS NOT (SELECT '[\"' || " +
			"group_concat(v.value, '\",\"') || '\"]' FROM json_each(s.kommuner) v WHERE v.value IN (SELECT " +
			"kommunenummer FROM sted_kommune WHERE sted_id = s.id))",
		"number of kommuner": "SELECT id FROM sted s WHERE json_array_length(kommuner) IS NOT " +
			"(SELECT count(*) FROM sted_kommune WHERE sted_id = s.id)",
		"antall_tilleggsopplysninger of sted": "SELECT id FROM sted s WHERE antall_tilleggsopplysninger <> (SELECT " +
			"count(*) FROM sted_tilleggsopplysning WHERE sted_id = s.id)",
		"antall_merknader of sted": "SELECT id FROM sted s WHERE antall_merknader <> (SELECT count(*) FROM " +
			"sted_merknad WHERE sted_id = s.id)",
		"counters of stedsnavn": `SELECT id FROM stedsnavn s WHERE antall_tilleggsopplysninger <> (SELECT count(*) FROM stedsnavn_tilleggsopplysning WHERE stedsnavn_id = s.id)
			OR antall_merknader <> (SELECT count(*) FROM stedsnavn_merknad WHERE stedsnavn_id = s.id) OR antall_skrivemaater <> (SELECT count(*) FROM skrivemaate WHERE stedsnavn_id = s.id)`,
		"antall_merknader of skrivemaate": "SELECT id FROM skrivemaate s WHERE antall_merknader <> (SELECT count(*) " +
			"FROM skrivemaate_merknad WHERE skrivemaate_id = s.id)",
		"spellings of the best status": "SELECT id FROM stedsnavn n WHERE antall_beste_skrivemaater <> (SELECT " +
			"count(*) FROM skrivemaate WHERE stedsnavn_id = n.id AND skrivemaatestatus = n.skrivemaatestatus)",
		"best spelling": "SELECT n.id FROM stedsnavn n JOIN skrivemaate s ON s.id = " +
			"n.beste_skrivemaate_id WHERE n.stedsnavn <> s.langnavn OR s.stedsnavn_id <> n.id",
		"number of decision": "SELECT a.id FROM vedtak a JOIN navnesak b ON b.id = a.navnesak_id WHERE " +
			same("aar saksnummer vedtaksmyndighet omraade"),
		"numbers of combined decision": "SELECT a.id FROM del_av_samlevedtak a JOIN stedsnavn b ON b.id = " +
			"a.stedsnavn_id WHERE " + same("stedsnummer stedsnavnnummer"),
		"names of case": `SELECT id FROM navnesak s WHERE json_array_length(stedsnavn) <> (SELECT count(*) FROM navnesak_stedsnavn WHERE navnesak_id = s.id)
			OR EXISTS (SELECT 1 FROM navnesak_stedsnavn p JOIN stedsnavn n ON n.id = p.stedsnavn_id WHERE p.navnesak_id = s.id AND n.stedsnavn NOT IN (SELECT value FROM json_each(s.stedsnavn)))`,
		"names of combined decision": "SELECT id FROM samlevedtak s WHERE json_array_length(stedsnavn) <> (SELECT " +
			"count(*) FROM del_av_samlevedtak WHERE samlevedtak_id = s.id)",
		"municipalities of case": `SELECT p.navnesak_id, k.kommunenummer FROM navnesak_stedsnavn p JOIN stedsnavn n ON n.id = p.stedsnavn_id JOIN sted_kommune k ON k.sted_id = n.sted_id
			EXCEPT SELECT navnesak_id, kommunenummer FROM navnesak_kommune`,
		"titles of code lists": "SELECT DISTINCT liste FROM kode WHERE liste <> 'kodeliste' EXCEPT SELECT verdi FROM " +
			"kode WHERE liste = 'kodeliste' AND navn_nn > '' AND navn_en > ''",
		"exercising authority": "SELECT id FROM vedtak WHERE (vedtaksmyndighet IN ('fylkeskommune', " +
			"'Statens_kartverk', 'departement', 'Klagenemnda_for_stedsnavnsaker')) = (utoever_kommunenummer IS NOT " +
			"NULL) OR (vedtaksmyndighet = 'fylkeskommune') <> (utoever_fylkesnummer IS NOT NULL)",
	} {
		if rows := ask(t, query); len(rows) > 0 {
			t.Errorf("%s: %v", about, rows[:min(5, len(rows))])
		}
	}
}

func TestRangIsTheOrderOfHits(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"sted", "stedsnavn", "skrivemaate", "bok"} {
		if rows := ask(t, "SELECT min(rang), max(rang) - count(*), count(DISTINCT rang) - count(*) FROM "+
			table); !slices.Equal(
			rows[0],
			[]string{"1", "0", "0"},
		) {
			t.Errorf("%s: rang is not dense: %v", table, rows)
		}
	}
	order := ask(t, "SELECT sortering1 || sortering2, visningsnavn FROM sted ORDER BY rang")
	if !slices.IsSortedFunc(order, func(a, b []string) int { return strings.Compare(b[0], a[0]) }) {
		t.Error("places are not in the order of importance")
	}
	var kommuner []string
	for _, row := range ask(t, "SELECT stedsnavn FROM sted WHERE navneobjekttype = 'kommune' ORDER BY rang") {
		kommuner = append(kommuner, row[0])
	}
	for _, pair := range [][2]string{{"Alta", "Oslo"}, {"Værøy", "Vågan"}, {"Tønsberg", "Vadsø"},
		{"Øvre Eiker", "Ålesund"}, {"Vinje", "Voss"}, {"Vågan", "Østre Toten"}, {"Ås", "Åsnes"}} {
		a, b := slices.Index(kommuner, pair[0]), slices.Index(kommuner, pair[1])
		if a < 0 || b < 0 || a > b {
			t.Errorf("%s is number %d, %s is number %d", pair[0], a, pair[1], b)
		}
	}
	if rows := ask(t, "SELECT a.id FROM stedsnavn a JOIN sted s ON s.id = a.sted_id JOIN stedsnavn b JOIN sted q ON "+
		"q.id = b.sted_id WHERE b.rang = a.rang + 1 AND (q.rang, b.stedsnavnnummer) <= (s.rang, "+
		"a.stedsnavnnummer)"); len(rows) > 0 {
		t.Errorf("names are not in the order of their places: %v", rows[0])
	}
	if rows := ask(t, "SELECT a.id FROM skrivemaate a JOIN stedsnavn n ON n.id = a.stedsnavn_id JOIN skrivemaate b "+
		"ON b.rang = a.rang + 1 JOIN stedsnavn m ON m.id = b.stedsnavn_id WHERE (m.rang, b.skrivemaatenummer) <= "+
		"(n.rang, a.skrivemaatenummer)"); len(rows) > 0 {
		t.Errorf("spellings are not in the order of their names: %v", rows[0])
	}
}

// A client that tries the service with well-known values finds something by each of the eleven searches.
func TestWellKnownValuesFindSomething(t *testing.T) {
	t.Parallel()
	for about, query := range map[string]string{
		"place":         "SELECT 1 FROM sted WHERE id IN (SELECT sted_id FROM skrivemaate WHERE norm = 'oslo')",
		"former name":   "SELECT 1 FROM skrivemaate WHERE norm = 'christiania' AND navnestatus = 'historisk'",
		"unit of place": "SELECT 1 FROM matrikkel_sted WHERE kommunenummer = '0301' AND gaardsnummer = 1",
		"unit of name":  "SELECT 1 FROM matrikkel_stedsnavn WHERE kommunenummer = '0301' AND gaardsnummer = 1",
		"unit of text":  "SELECT 1 FROM matrikkel_skrivemaate WHERE kommunenummer = '0301' AND gaardsnummer = 1",
		"case": "SELECT 1 FROM navnesak WHERE id IN (SELECT navnesak_id FROM navnesak_kommune WHERE " +
			"kommunenummer = '0301')",
		"decision": "SELECT 1 FROM vedtak WHERE navnesak_id IN (SELECT navnesak_id FROM navnesak_kommune WHERE " +
			"kommunenummer = '0301')",
		"combined": "SELECT 1 FROM del_av_samlevedtak WHERE stedsnavn_id IN (SELECT stedsnavn_id FROM " +
			"skrivemaate WHERE norm = 'oslo')",
		"book":        "SELECT 1 FROM bok WHERE soeketekst_norm LIKE '%norske%'",
		"map product": "SELECT 1 FROM kartprodukt WHERE utgivelsesaar = 1990",
		"inside of text": "SELECT 1 FROM skrivemaate WHERE id IN (SELECT rowid FROM skrivemaate_fts WHERE " +
			"skrivemaate_fts MATCH '\"rasjohk\"')",
	} {
		if len(ask(t, query)) == 0 {
			t.Errorf("no %s", about)
		}
	}
	if rows := ask(t, "SELECT DISTINCT visningsnavn FROM sted WHERE navneobjekttype IN ('kommune', 'fylke') AND "+
		"visningsnavn LIKE '% – %' ORDER BY 1"); len(rows) != 26 ||
		!slices.ContainsFunc(rows, func(r []string) bool { return r[0] == "Porsanger – Porsáŋgu – Porsanki" }) {
		t.Errorf("official names of several languages: %v", rows)
	}
}
