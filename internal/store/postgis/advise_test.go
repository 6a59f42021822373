package postgis_test

import (
	"context"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/inspect"
)

// TestValuesThatCannotBeGivenAreTold: none is null silently.
func TestValuesThatCannotBeGivenAreTold(t *testing.T) {
	t.Parallel()
	url := base(t,
		`CREATE TABLE x (id INT PRIMARY KEY, f FLOAT8, r REAL, n NUMERIC, stor NUMERIC, dag DATE, ts TIMESTAMP, tz TIMESTAMPTZ, god FLOAT8, noyaktig NUMERIC(30,10));
		INSERT INTO x VALUES (1, 'NaN', 'infinity', 'NaN', 1e400, 'infinity', '-infinity', '10000-01-01', 1e308, 12345678901234567890.0123456789),
			(2, '-infinity', 1, 1, 1, '0044-03-15 BC', '9999-12-31 23:59:59.999999', '0001-01-01 00:00Z', -1e308, 0.5), (3, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
		CREATE VIEW feil AS SELECT id, 1 / (id - 1)::FLOAT8 AS f FROM x;`)
	served := []string{"f", "r", "n", "stor", "dag", "ts", "tz"} // as null
	var l logs
	s := openStore(t, url, postgis.Options{Logger: l.logger()})
	for range 2 {
		v := values(t, s, "x", "1")
		for _, name := range served {
			if v[name] != nil {
				t.Errorf("%s is %v", name, v[name])
			}
		}
		if v["god"] != 1e308 || v["noyaktig"] != store.JSON("12345678901234567890.0123456789") {
			t.Errorf("%v", v)
		}
	}
	for _, name := range served {
		if n := strings.Count(l.String(), "table=x column="+name+"\n"); n != 1 {
			t.Errorf("%s is told %d times:\n%s", name, n, l.String())
		}
	}
	if strings.Contains(l.String(), "column=god") || strings.Contains(l.String(), "column=noyaktig") {
		t.Error(l.String())
	}
}

// TestIndexesThatAreAdvised serve the questions that they are advised for, and are not advised again.
func TestIndexesThatAreAdvised(t *testing.T) {
	t.Parallel()
	url := base(t,
		`CREATE TABLE stor (id INT PRIMARY KEY, navn TEXT COLLATE "und-x-icu", kode VARCHAR(20) COLLATE "und-x-icu" NOT NULL, nr INT, "sær ""n""" TEXT); CREATE TABLE liten (id INT PRIMARY KEY, navn TEXT);
		INSERT INTO stor SELECT i, 'n' || i, 'k' || i, CASE WHEN i % 10 > 0 THEN i END, 's' FROM generate_series(1, 20000) i; CREATE INDEX ON stor (navn); ANALYZE;`)
	advice := func() (lists []string) {
		list, err := inspect.Database(context.Background(), url)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range list {
			if a.Wrong || strings.HasPrefix(a.Text, "liten") {
				t.Errorf("%+v", a)
			}
			if strings.HasPrefix(a.Text, "stor") {
				lists = append(lists, a.Text)
			}
		}
		return lists
	}
	list := advice()
	for i, begin := range []string{`stor, column "id": the index stor_pkey serves equality, ranges, the order`,
		`stor, column "navn": the index stor_navn_idx serves equality; none serves ranges, LIKE 'abc%', the order; ` +
			`for those, let its owner run: CREATE INDEX ON "public"."stor" ("navn" COLLATE "C")`,
		`stor has about 20000 rows, and no index serves filters and orders by kode, nr, sær "n",`,
		"stor: words (q)", "stor: no index serves CASEI"} {
		if len(list) != 5 || !strings.HasPrefix(list[i], begin) {
			t.Fatalf("%q", list)
		}
	}
	for _, text := range list[1:] {
		_, sql, _ := strings.Cut(text, "let its owner run: ")
		run(t, url, sql)
	}
	run(t, url, "ANALYZE stor")
	for _, text := range advice() {
		if strings.Contains(text, "owner run") || strings.Contains(text, "none serves") {
			t.Errorf("again: %q", text)
		}
	}
	s := openStore(t, url, postgis.Options{})
	c, _ := s.Catalog().Collection("stor")
	for name, q := range map[string]store.Query{
		"text": {Filter: parsed(t, c, "navn = 'n17'")}, "prefix": {Filter: parsed(t, c, "kode LIKE 'k1234%'")},
		"number":           {Filter: parsed(t, c, "nr = 17")},
		"part of a text":   {Filter: parsed(t, c, "navn LIKE '%1999%'")},
		"order":            {SortBy: []store.Sort{{Property: "navn"}}},
		"number, order":    {SortBy: []store.Sort{{Property: "nr"}}},
		"falling":          {SortBy: []store.Sort{{Property: "kode", Desc: true}}},
		"CASEI":            {Filter: parsed(t, c, "CASEI(navn) = CASEI('N17')")},
		"CASEI, beginning": {Filter: parsed(t, c, "CASEI(kode) LIKE CASEI('K1999%')")},
	} {
		q.Collection, q.Limit = "stor", 10
		plan, err := s.Explain(context.Background(), q)
		if err != nil {
			t.Fatal(err)
		}
		if steps := strings.Join(plan.Steps, "\n"); !strings.Contains(steps, "Index") ||
			strings.Contains(steps, "Seq Scan") {
			t.Errorf("%s:\n%s", name, steps)
		}
	}
	for _, desc := range []bool{false, true} {
		list := walk(t, s,
			store.Query{Collection: "stor", Limit: 5000, SortBy: []store.Sort{{Property: "nr", Desc: desc}}})
		if len(list) != 20000 || list[len(list)-1] != "20000" ||
			list[0] != map[bool]string{false: "1", true: "19999"}[desc] {
			// null is last
			t.Errorf("%v: %d, from %s to %s", desc, len(list), list[0], list[len(list)-1])
		}
	}
}

func parsed(t testing.TB, c *store.Collection, text string) cql2.Expr {
	t.Helper()
	e, err := cql2.ParseText(text)
	if err == nil {
		e, err = cql2.Check(e, c)
	}
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return e
}
