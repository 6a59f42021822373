package gpkg_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"grense/internal/await"
	"grense/internal/cql2"
	"grense/internal/problem"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// mixedFile is a table of another program, of rows of all that SQLite lets stand in columns.
func mixedFile(t testing.TB, key string, n int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "blandet.gpkg")
	create(t, path, func(store.Writer) {})
	var b strings.Builder
	fmt.Fprintf(&b,
		`INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('x', 'attributes', 'x', 0);
		CREATE TABLE x (%s, navn TEXT, nocase TEXT COLLATE NOCASE, rtrim VARCHAR(20) COLLATE RTRIM, tall INTEGER, areal REAL, blandet TEXT, fritt, tallene NUMERIC, aktiv BOOLEAN, dag DATE, tid DATETIME, rot DATE, store DOUBLE PRECISION);
		INSERT INTO x (navn) VALUES (NULL); INSERT INTO x (navn) VALUES ('');`, key)
	r := rand.New(rand.NewPCG(3, 4))
	words := []string{"'Os'", "'os'", "'OS'", "'Oslo'", "'oslo '", "'Osøy'", "'Åros'", "'aros'", "'Ås'", "'as'",
		"'ÅS '", "'O%s'", "'O_s'", `'O\s'`, "'𝔊os'", "'\uffffx'", "''", "' '", "NULL", "'o''s'", "'Kárášjohka'",
		"'12'", "'1e3'"}
	numbers := []string{"0", "1", "-1", "2", "12", "1000", "9007199254740992", "-9223372036854775808",
		"9223372036854775807", "NULL", "0.5", "-0.0", "1e300", "2.0", "12.5"}
	days := []string{"'2024-01-01'", "'2024-02-29'", "'1900-12-31'", "'0001-01-01'", "'9999-12-31'", "NULL"}
	times := []string{"'2024-01-01T00:00:00Z'", "'2024-01-01T00:00:00.000Z'", "'2024-01-01T01:00:00+01:00'",
		"'2024-01-01 12:30:00'", "'2023-12-31T23:59:59.999Z'", "'0000-01-01T00:00:00Z'", "NULL"}
	loose := []string{"'2024/01/01'", "'2024-01-02T03:04:05Z'", "'2024-01-02'", "NULL"}
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	for i := range n {
		whole := numbers[r.IntN(10)]
		anything := pick(append(words, numbers...))
		fmt.Fprintf(&b, "INSERT INTO x (navn, nocase, rtrim, tall, areal, blandet, fritt, tallene, aktiv, dag, tid, "+
			"rot, store) VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s);",
			pick(words), pick(words), pick(words), whole, pick(numbers), anything, anything, anything,
			pick([]string{"0", "1", "NULL"}), pick(days), pick(times), pick(loose),
			pick([]string{"0.5", "7", "9007199254740993", "NULL"}))
		if strings.HasPrefix(key, "kode") {
			fmt.Fprintf(&b, `UPDATE x SET kode = '%c"\%d' WHERE rowid = last_insert_rowid();`,
				"aÅzZ"[i%2*3], (i*7919)%n)
		}
	}
	if strings.HasPrefix(key, "kode") {
		b.WriteString("UPDATE x SET kode = 'r' || rowid WHERE kode IS NULL;")
	}
	b.WriteString("DELETE FROM x WHERE rowid % 7 = 3")
	run(t, path, b.String())
	return path
}

// mixedFilter is a random condition on columns of mixedFile.
func mixedFilter(r *rand.Rand, depth int) string {
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	word := func() string {
		return pick("'Os'", "'os'", "'OS'", "'Oslo'", "'oslo '", "'Osøy'", "'Ås'", "'as'", "'O%s'", "''", "' '", "'12'",
			"'1e3'", "'𝔊os'", "'\uffffx'", "'finnes ikke'", "'12.5'", "'0.5'", "'o''s'", "'-1'", "'z'")
	}
	number := func() string {
		return pick("0", "1", "-1", "2", "0.5", "12", "12.5", "1000", "9007199254740992", "9007199254740993",
			"9007199254740992.0", "-9223372036854775808", "9223372036854775807", "9.3e18", "-1e300", "1.99999")
	}
	moment := func() string {
		return pick("DATE('2024-01-01')", "DATE('1900-12-31')", "DATE('9999-12-31')",
			"TIMESTAMP('2024-01-01T00:00:00Z')", "TIMESTAMP('2024-01-01T12:30:00Z')",
			"TIMESTAMP('2023-12-31T23:59:59.999Z')", "DATE('2024-02-29')", "DATE('0001-01-01')")
	}
	if depth > 0 && r.IntN(3) == 0 {
		a, b := mixedFilter(r, depth-1), mixedFilter(r, depth-1)
		return pick("("+a+" AND "+b+")", "("+a+" OR "+b+")", "(NOT "+a+")", "("+a+" AND 5 = "+pick("5", "6")+")",
			"("+a+" AND "+b+" AND "+mixedFilter(r, 0)+")")
	}
	of := func(x string, literal func() string) string {
		return x + pick(" = "+literal(), " < "+literal(), " <= "+literal(), " > "+literal(), " >= "+literal(),
			" <> "+literal(), " BETWEEN "+literal()+" AND "+literal(),
			" IN ("+literal()+", "+literal()+", "+literal()+")", " IS NULL", " = "+literal(), " NOT IN ("+literal()+")")
	}
	switch r.IntN(8) {
	case 0, 1:
		return of(pick("tall", "areal", "store"), number)
	case 2:
		return of(pick("dag", "tid", "rot"), moment)
	case 3:
		return "aktiv = " + pick("TRUE", "FALSE")
	case 4:
		fold := pick("CASEI", "ACCENTI")
		pattern := pick(word(), word(), "'%os%'", "'%SLO%'", "'%o_lo'", "'%kárá%'")
		return fold + "(" + pick("navn", "nocase", "blandet") + ") " + pick("= ", ">= ", "LIKE ", "LIKE ") + fold +
			"(" + pattern + ")"
	case 5:
		return pick("navn", "nocase", "rtrim", "blandet", "fritt", "tallene") + " LIKE " +
			pick("'Os%'", "'o%'", "'O\\%%'", "'O\\\\%'", "'Os_%'", "'O%s%'", "'Å%'", "'𝔊%'", "'\uffff%'", "'1%'",
				"'Os'", "'-%'", "'Os%%'", "'%slo%'", "'%O%slo'", "'%s%Osl%'", "'_slo%'", "'%\"os%'")
	}
	return of(pick("navn", "nocase", "rtrim", "blandet", "fritt", "tallene"), word)
}

// Rows found by the index file are those that SQLite finds: rows, counts, cursors and orders,
// whatever stands in the columns.
func TestColumnIndexesAnswerAsSQLite(t *testing.T) {
	t.Parallel()
	n := 400
	if testing.Short() {
		n = 60
	}
	for i, key := range []string{"fid INTEGER PRIMARY KEY", "kode TEXT PRIMARY KEY", "fid INTEGER PRIMARY KEY"} {
		few := i == 2
		path := mixedFile(t, key, 300)
		sql, columns := openStore(t, path, gpkg.Options{Columns: -1, Index: -1}), openStore(t, path, gpkg.Options{})
		columns.ColumnsAtOnce(few)
		columns.Large()
		c, ok := sql.Catalog().Collection("x")
		if !ok {
			t.Fatalf("%s: %v", key, sql.Catalog().Notes)
		}
		both := func(q store.Query) *store.Page {
			t.Helper()
			want, err := sql.Page(t.Context(), q)
			got, err2 := columns.Page(t.Context(), q)
			if err != nil || err2 != nil || len(want.Rows)+len(got.Rows) > 0 && !reflect.DeepEqual(want, got) ||
				want.Matched != got.Matched {
				t.Fatalf("%s: %#v %v from %q: %+v (%v), by SQLite %+v (%v)", key, q.Filter, q.SortBy, q.Cursor, got,
					err2, want, err)
			}
			return want
		}
		r, ways := rand.New(rand.NewPCG(5, 6)), map[string]int{}
		for range n {
			text := mixedFilter(r, 2)
			e, err := cql2.ParseText(text)
			if err == nil {
				e, err = cql2.Check(e, c)
			}
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			q := store.Query{Collection: "x", Filter: e, Limit: 1 + r.IntN(20), Offset: r.IntN(3) * r.IntN(30)}
			if r.IntN(5) == 0 { // all rows
				q.Filter, q.Limit, q.Offset = nil, 1+r.IntN(400), r.IntN(3)*r.IntN(400)
				if r.IntN(2) == 0 {
					q.Limit, q.SortBy = 1+r.IntN(40),
						[]store.Sort{{Property: []string{"navn", "tall", "tid", "areal", "nocase", "aktiv",
							"dag"}[r.IntN(7)], Desc: r.IntN(2) == 0}}
				}
			} else if r.IntN(3) == 0 {
				q.SortBy = []store.Sort{{Property: []string{"navn", "tall", "tid"}[r.IntN(3)], Desc: r.IntN(2) == 0}}
			}
			last := both(q)
			for i := 0; i < 3 && last.Next != ""; i++ {
				q.Cursor, q.Offset = last.Next, 0
				last = both(q)
			}
			for i := 0; i < 5 && last.Prev != ""; i++ {
				q.Cursor, q.Offset = last.Prev, 0
				last = both(q)
			}
			if q.SortBy == nil { // where a row was that is gone
				for _, back := range []bool{false, true} {
					q.Cursor, q.Offset = store.NewCursor(store.Place{Order: q.OrderName(),
						ID: strings.Repeat("150", 1+r.IntN(2)), Back: back}), 0
					both(q)
				}
			}
			plan, err := columns.Explain(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			ways[plan.Way]++
		}
		if ways["column index"] < n/8 || ways["SQL"] == 0 || ways["column order"] == 0 || ways["ids"] == 0 {
			t.Errorf("%s: ways %v: no test", key, ways)
		}
	}
}

// A query does not wait for tables that are being built, nor for those that do not fit;
// a later one, and the next process, finds them.
func TestColumnIndexesAreBuiltBesideTheQueries(t *testing.T) {
	t.Parallel()
	path, dir := mixedFile(t, "fid INTEGER PRIMARY KEY", 300), t.TempDir()
	q := store.Query{Collection: "x", Limit: 5,
		Filter: cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: "navn", Type: cql2.TypeText}, R: cql2.Text("Os")}}
	s := openStore(t, path, gpkg.Options{DataDir: dir})
	if c := s.Cost(q); c != store.CostScan || s.Indexed() != 0 {
		t.Errorf("before: %v, %d tables", c, s.Indexed())
	}
	plan, err := s.Explain(t.Context(), q)
	if err != nil || plan.Way != "SQL" || len(plan.Passed) != 1 || plan.Passed[0] != "column index" {
		t.Errorf("the first time: %+v (%v)", plan, err)
	}
	await.True(t, "the table is built", func() bool { return s.Indexed() > 0 })
	again := openStore(t, path, gpkg.Options{DataDir: dir})
	for _, s := range []*gpkg.Store{s, again} {
		plan, err = s.Explain(t.Context(), q)
		if err != nil || plan.Way != "column index" || plan.Cost != store.CostIndexed ||
			slices.ContainsFunc(plan.Steps, func(s string) bool { return strings.HasPrefix(s, "SCAN t") }) {
			t.Errorf("again: %+v (%v)", plan, err)
		}
	}
	small := openStore(t, path, gpkg.Options{Index: 600})
	small.ColumnsAtOnce(false)
	for range 3 {
		if plan, err = small.Explain(t.Context(), q); err != nil || plan.Way != "SQL" || plan.Rows == 0 ||
			small.Indexed() != 0 {
			t.Errorf("without room: %+v (%v), %d tables", plan, err, small.Indexed())
		}
	}
}

// A first order of a large layer is refused until its table is built, and one without room is read.
func TestFirstOrderOfALargeLayerIsRefused(t *testing.T) {
	t.Parallel()
	path := mixedFile(t, "fid INTEGER PRIMARY KEY", 300)
	q := store.Query{Collection: "x", Limit: 5, SortBy: []store.Sort{{Property: "tall"}}}
	s := openStore(t, path, gpkg.Options{})
	s.Large()
	var p *problem.Error
	if _, err := s.Page(t.Context(), q); !errors.As(err, &p) || p.Kind != problem.Busy ||
		!strings.Contains(err.Error(), "sorted by tall") {
		t.Errorf("the first time: %v", err)
	}
	await.True(t, "the table is built", func() bool { return s.Indexed() > 0 })
	if plan, err := s.Explain(t.Context(), q); err != nil || plan.Way != "column order" || plan.Rows != 5 {
		t.Errorf("again: %+v (%v)", plan, err)
	}
	small := openStore(t, path, gpkg.Options{Index: -1})
	small.Large()
	if plan, err := small.Explain(t.Context(), q); err != nil || plan.Way != "SQL" || plan.Rows != 5 {
		t.Errorf("without an index file: %+v (%v)", plan, err)
	}
}

// Short parts of texts in a large layer are looked for in the index file.
func TestShortPartsOfTextsAreLookedForInTheIndexFile(t *testing.T) {
	t.Parallel()
	path := mixedFile(t, "fid INTEGER PRIMARY KEY", 300)
	s, plain := openStore(t, path, gpkg.Options{}), openStore(t, path, gpkg.Options{Index: -1})
	s.ColumnsAtOnce(false)
	s.Large()
	for _, text := range []string{"navn LIKE '%sl%'", "navn LIKE '%zq%'", "navn LIKE '%s'",
		"CASEI(navn) LIKE CASEI('%L%')"} {
		e, err := cql2.ParseText(text)
		if err == nil {
			e, err = cql2.Check(e, s.Catalog().Collections[0])
		}
		if err != nil {
			t.Fatal(err)
		}
		q := store.Query{Collection: "x", Limit: 400, Filter: e}
		page(t, s, q) // has the table built
		if plan, err := s.Explain(t.Context(), q); err != nil || plan.Way != "column index" ||
			plan.Cost != store.CostScan {
			t.Errorf("%s: %+v (%v)", text, plan, err)
		}
		if got, want := page(t, s, q), page(t, plain, q); !slices.Equal(idsOf(got), idsOf(want)) ||
			got.Matched != want.Matched {
			t.Errorf("%s: %v of %d, want %v of %d", text, idsOf(got), got.Matched, idsOf(want), want.Matched)
		}
	}
}

// An index file can be deleted at any time, and only that of the present data is left.
func TestIndexFilesMayBeDeleted(t *testing.T) {
	t.Parallel()
	path, dir := mixedFile(t, "fid INTEGER PRIMARY KEY", 300), t.TempDir()
	s := openStore(t, path, gpkg.Options{DataDir: dir})
	s.ColumnsAtOnce(false)
	q := store.Query{Collection: "x", Limit: 5,
		Filter: cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: "navn", Type: cql2.TypeText}, R: cql2.Text("Os")}}
	other := store.Query{Collection: "x", Limit: 5, SortBy: []store.Sort{{Property: "tall"}}}
	answers := func(q store.Query, way string) {
		t.Helper()
		if plan, err := s.Explain(t.Context(), q); err != nil || plan.Rows != 5 || plan.Way != way {
			t.Fatalf("%+v (%v), want %s", plan, err, way)
		}
	}
	files := func() []string {
		list, err := filepath.Glob(filepath.Join(dir, "*.index"))
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	for range 3 {
		answers(q, "SQL")
		answers(q, "column index")
		for _, f := range files() {
			if err := os.Remove(f); err != nil {
				t.Fatal(err)
			}
		}
		answers(other, "SQL")
		answers(other, "column order")
		run(t, path, "DELETE FROM x WHERE fid = (SELECT max(fid) FROM x)")
		if err := s.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if list := files(); len(list) != 0 {
			t.Errorf("after a change: %q", list)
		}
	}
	answers(q, "SQL")
	answers(other, "SQL")
	if list := files(); len(list) != 1 {
		t.Errorf("two tables, files %q", list)
	}
}

// A page of all rows is of the ids that the file has now.
func TestIDsInMemoryAreOfOneStateOfTheFile(t *testing.T) {
	t.Parallel()
	path := mixedFile(t, "fid INTEGER PRIMARY KEY", 300)
	s := openStore(t, path, gpkg.Options{})
	s.ColumnsAtOnce(false)
	q := store.Query{Collection: "x", Limit: 3}
	for first := range 3 {
		if plan, err := s.Explain(t.Context(), q); err != nil || plan.Way != "ids" || len(plan.Steps) > 1 {
			t.Fatalf("%+v (%v)", plan, err)
		}
		before, err := s.Page(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		run(t, path, "DELETE FROM x WHERE fid = "+before.Rows[0].ID)
		if p, err := s.Page(t.Context(), q); err != nil || p.Rows[0].ID != before.Rows[1].ID ||
			p.Matched != before.Matched-1 || p.Rows[0].Rev == before.Rows[1].Rev {
			t.Fatalf("round %d: %+v, before %+v (%v)", first, p, before, err)
		}
		if err := s.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// A file that another program writes into is read in its current version, and so is one that is opened again.
func TestColumnIndexesAreOfOneStateOfTheFile(t *testing.T) {
	t.Parallel()
	path := mixedFile(t, "fid INTEGER PRIMARY KEY", 300)
	s := openStore(t, path, gpkg.Options{})
	s.ColumnsAtOnce(false)
	q := store.Query{Collection: "x", Limit: 5,
		Filter: cql2.Compare{Op: cql2.Eq, L: cql2.Prop{Name: "navn", Type: cql2.TypeText}, R: cql2.Text("Ny")}}
	for i := range 3 {
		if p, err := s.Page(t.Context(), q); err != nil || len(p.Rows) != i || p.Matched != i {
			t.Fatalf("after %d changes: %+v (%v)", i, p, err)
		}
		run(t, path, fmt.Sprintf("UPDATE x SET navn = 'Ny' WHERE fid = %d", 20-i))
		if p, err := s.Page(t.Context(), q); err != nil || len(p.Rows) != i+1 || p.Matched != i+1 ||
			p.Rows[0].ID != fmt.Sprint(20-i) {
			t.Fatalf("after %d changes: %+v (%v)", i+1, p, err)
		}
		if err := s.Reload(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Page(t.Context(), q); err != nil { // has the table built
			t.Fatal(err)
		}
		if plan, err := s.Explain(t.Context(), q); err != nil || plan.Way != "column index" {
			t.Fatalf("opened anew: %+v (%v)", plan, err)
		}
	}
}
