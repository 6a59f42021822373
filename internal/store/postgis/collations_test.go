package postgis_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/inspect"
)

// locales are the options of databases whose texts compare in different ways.
var locales = []struct {
	name, options string
	codePoint     bool // texts compare by code point
}{
	{"C", "LOCALE 'C'", true},
	{"C.UTF-8", "LOCALE 'C.UTF-8'", true},
	{"nb_NO.UTF-8", "LOCALE 'nb_NO.UTF-8'", false},
	{"nb-NO of ICU", "LOCALE 'C.UTF-8' LOCALE_PROVIDER icu ICU_LOCALE 'nb-NO'", false},
}

const things = `CREATE EXTENSION citext; CREATE TYPE farge AS ENUM ('rød', 'grønn', 'blå', 'Sjelden'); CREATE DOMAIN navn AS TEXT CHECK (VALUE <> '');
	CREATE COLLATION ulik (provider = icu, locale = 'und-u-ks-level1', deterministic = false);
	CREATE TABLE ting (id INT PRIMARY KEY, navn TEXT, kode VARCHAR(20), fast CHAR(8), ci CITEXT, art FARGE, uid UUID, dom NAVN, ulik TEXT COLLATE ulik, tysk TEXT COLLATE "de-x-icu",
		tall FLOAT8, mengde NUMERIC, dag DATE, stund TIMESTAMPTZ, lokal TIMESTAMP, nr INT);
	INSERT INTO ting SELECT i, n, 'k' || i, 'f' || i, CASE WHEN i % 2 = 0 THEN upper(n) ELSE n END, CASE WHEN i % 5000 = 0 THEN 'Sjelden' ELSE 'blå' END::farge,
			md5(i::text)::uuid, n, n, n, i / 8.0, i / 8.0, DATE '2000-01-01' + i, TIMESTAMPTZ '2000-01-01 00:00:00Z' + i * INTERVAL '1 hour', TIMESTAMP '2000-01-01' + i * INTERVAL '1 hour',
			CASE WHEN i % 10 > 0 THEN i END FROM (SELECT i, 'n' || i FROM generate_series(1, 12000) i) AS x(i, n);
	INSERT INTO ting (id, navn, kode, fast, ci, ulik, tysk, tall, mengde, dag, stund, lokal) SELECT 20000 + ord, x, x, x, x, x, x, CASE ord WHEN 1 THEN 'NaN' WHEN 2 THEN '-Infinity' WHEN 3 THEN 'Infinity' END::float8,
			CASE ord WHEN 1 THEN 'NaN' WHEN 2 THEN 1e400 WHEN 3 THEN 0.1 END, CASE ord WHEN 1 THEN '-infinity' WHEN 2 THEN 'infinity' WHEN 3 THEN '0044-03-15 BC' END::date,
			CASE ord WHEN 1 THEN '-infinity' WHEN 2 THEN 'infinity' END::timestamptz, CASE ord WHEN 1 THEN 'infinity' WHEN 2 THEN '-infinity' END::timestamp
		FROM unnest(ARRAY['Ås', 'ås', 'AAS', 'aas', 'as', 'Os', 'os', 'Øs', 'Zoo', 'zoo', 'n1', 'N1', 'n-1', 'n 1', 'ss', 'ß', 'blank ', 'blank', '', ' ', '~', 'e' || U&'\0301', 'é', U&'\FFFD', U&'\+01F600'])
		WITH ORDINALITY AS x(x, ord);
	CREATE TABLE tekst (kode TEXT PRIMARY KEY, n INT); INSERT INTO tekst SELECT navn || id, id FROM ting WHERE navn <> '' AND id % 3 = 0;
	CREATE TABLE unik (uid UUID PRIMARY KEY, n INT); INSERT INTO unik SELECT uid, id FROM ting WHERE uid IS NOT NULL; `

const ordinary = `CREATE INDEX ON ting (navn); CREATE INDEX ON ting (kode); CREATE INDEX ON ting (fast); CREATE INDEX ON ting (ci); CREATE INDEX ON ting (art); CREATE INDEX ON ting (uid);
	CREATE INDEX ON ting (dom); CREATE INDEX ON ting (ulik); CREATE INDEX ON ting (tysk); CREATE INDEX ON ting (tall); CREATE INDEX ON ting (mengde); CREATE INDEX ON ting (dag); CREATE INDEX ON ting (stund);
	CREATE INDEX ON ting (lokal); CREATE INDEX ON ting (nr); `

// anywhere lists filters that an ordinary index serves in every locale, byCodePoint those that it serves where texts
// compare by code point.
var (
	anywhere = []string{"navn = 'n17'", "navn IN ('n17', 'Ås')", "'n17' = navn AND id > 3", "navn LIKE 'n17'",
		"kode = 'k17'", "kode IN ('k17', 'k18', 'x')", "fast = 'f17'", "fast IN ('f17', 'f18 ')",
		"ci = 'N18'", "ci IN ('N18', 'N20')", "art = 'Sjelden'", "art IN ('Sjelden', 'x')", "art LIKE 'Sj%'",
		"art < 'a'", "uid = '70efdf2e-c9b0-8607-9795-c442636b55fb'",
		"uid IN ('70efdf2e-c9b0-8607-9795-c442636b55fb', 'x')", "uid LIKE '70ef%'",
		"uid >= '70efdf2e-c9b0-8607-9795-c442636b55fb' AND uid < '70f00000-0000-0000-0000-000000000000'",
		"dom = 'n17'",
		"ulik = 'n17'", "ulik IN ('n17', 'n18')", "tysk = 'n17'", "tall = 17.5", "tall IN (17.5, 18.25)",
		"mengde = 0.125", "mengde IN (0.125, 0.25)", "dag = DATE('2001-01-01')",
		"dag IN (DATE('2001-01-01'), DATE('2001-01-02'))",
		"stund IN (TIMESTAMP('2000-01-02T00:00:00Z'), TIMESTAMP('2000-01-02T01:00:00Z'))",
		"lokal > TIMESTAMP('2001-05-12T00:00:00Z')", "nr IN (3, 4)"}
	byCodePoint = []string{"navn > 'n1998' AND navn < 'n1999'", "navn BETWEEN 'n17' AND 'n170'",
		"navn LIKE 'n1999%'", "kode LIKE 'k1999%'", "kode >= 'k9999'", "dom LIKE 'n1999%'"}
)

// orders lists properties by which an ordinary index sorts in every locale.
var orders = []string{"uid", "tall", "mengde", "dag", "stund", "lokal", "nr"}

// TestIndexesServeInEveryLocale asks in databases whose texts compare in different ways: the ordinary indexes serve
// what they can, those that are advised all that they are advised for, and the answers are those of code points.
func TestIndexesServeInEveryLocale(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	for _, x := range locales {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			url, ok := cluster.Located(t, x.options)
			if !ok {
				t.Skip("the server has no such locale")
			}
			run(t, url, things+ordinary+"ANALYZE")
			s := openStore(t, url, postgis.Options{})
			servesAll(t, s, anywhere)
			sortsAll(t, s, orders)
			if x.codePoint {
				servesAll(t, s, byCodePoint)
				sortsAll(t, s, []string{"navn", "kode", "dom"})
				paged(t, s, "tekst")
			}
			paged(t, s, "unik")
			answersByCodePoint(t, s)
			for _, text := range advised(t, url, "ting") {
				if _, sql, ok := strings.Cut(text, "let its owner run: "); ok && !strings.Contains(text, "words (q)") {
					run(t, url, sql)
				}
			}
			run(t, url, `CREATE INDEX ON tekst (kode COLLATE "C"); ANALYZE`)
			if err := s.Reload(t.Context()); err != nil {
				t.Fatal(err)
			}
			servesAll(t, s, append(anywhere, byCodePoint...))
			servesAll(t, s, []string{"fast LIKE 'f1999%'", "ci LIKE 'n1999%'", "ulik LIKE 'n1999%'",
				"tysk > 'n1998' AND tysk < 'n1999'", "fast > 'f9998'"})
			sortsAll(t, s, append(orders, "navn", "kode", "dom", "fast", "ci", "ulik", "tysk"))
			paged(t, s, "tekst")
			answersByCodePoint(t, s)
			for _, text := range advised(t, url, "ting") {
				if strings.Contains(text, "let its owner run: ") && !strings.Contains(text, "words (q)") {
					t.Errorf("advised again: %s", text)
				}
			}
		})
	}
}

func advised(t *testing.T, url, table string) (list []string) {
	t.Helper()
	all, err := inspect.Database(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if strings.HasPrefix(a.Text, table) {
			list = append(list, a.Text)
		}
	}
	return list
}

func servesAll(t *testing.T, s *postgis.Store, filters []string) {
	t.Helper()
	c, _ := s.Catalog().Collection("ting")
	for _, text := range filters {
		q := store.Query{Collection: "ting", Filter: parsed(t, c, text), Limit: 1_000_000, Count: store.CountNone,
			SortBy: []store.Sort{{Property: "id", Desc: true}}}
		if steps := explained(t, s, q); !strings.Contains(steps, "Index Cond") || strings.Contains(steps,
			"Seq Scan on ting") {
			t.Errorf("%s:\n%s", text, steps)
		}
	}
}

func sortsAll(t *testing.T, s *postgis.Store, properties []string) {
	t.Helper()
	for _, name := range properties {
		for _, desc := range []bool{false, true} {
			q := store.Query{Collection: "ting", Limit: 10, Count: store.CountNone,
				SortBy: []store.Sort{{Property: name, Desc: desc}}}
			if steps := explained(t, s, q); !strings.Contains(steps, "Index") || strings.Contains(steps, "Seq Scan") {
				t.Errorf("by %s:\n%s", name, steps)
			}
		}
	}
}

// paged fails unless an index gives the order by id.
func paged(t *testing.T, s *postgis.Store, collection string) {
	t.Helper()
	q := store.Query{Collection: collection, Limit: 10, Count: store.CountNone}
	for range 2 {
		if steps := explained(t, s, q); strings.Contains(steps, "Sort") || strings.Contains(steps, "Seq Scan") {
			t.Errorf("%s by id:\n%s", collection, steps)
		}
		q.Cursor = page(t, s, q).Next
	}
}

func explained(t *testing.T, s *postgis.Store, q store.Query) string {
	t.Helper()
	plan, err := s.Explain(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan.Steps, "\n")
}

// answersByCodePoint compares filters and orders with what the served values say.
func answersByCodePoint(t *testing.T, s *postgis.Store) {
	t.Helper()
	c, _ := s.Catalog().Collection("ting")
	var ids []string
	records := map[string]servedRow{}
	var rows []store.Row
	for q := (store.Query{Collection: "ting", Limit: 10_000, Count: store.CountNone}); ; {
		p := page(t, s, q)
		rows = append(rows, p.Rows...)
		if q.Cursor = p.Next; q.Cursor == "" {
			break
		}
	}
	err := s.Fetch(t.Context(), "ting", rows, store.Want{NoGeometry: true}, func(f *store.Feature) error {
		m := servedRow{}
		for i, p := range c.Properties {
			m[p.Name] = f.Values[i]
		}
		ids, records[f.ID] = append(ids, f.ID), m
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	filters := slices.Concat(anywhere, byCodePoint)
	rng := rand.New(rand.NewPCG(4, 7))
	texts := []string{"n17", "N17", "n1", "N1", "n-1", "Ås", "ås", "aas", "as", "zoo", "ß", "ss", "blank", "blank ",
		"", "~", "é", "e\u0301", "blå", "f17", "f17     ", "70efdf2e", "70efdf2e-c9b0-8607-9795-c442636b55fb"}
	one := func() string {
		name, lit := []string{"navn", "kode", "fast", "ci", "art", "uid", "dom", "ulik", "tysk"}[rng.IntN(9)],
			func() string { return "'" + texts[rng.IntN(len(texts))] + "'" }
		switch rng.IntN(6) {
		case 0:
			return name + " IN (" + lit() + ", " + lit() + ", " + lit() + ")"
		case 1:
			return name + " BETWEEN " + lit() + " AND " + lit()
		case 2:
			return name + " LIKE '" + texts[rng.IntN(len(texts))] + "%'"
		case 3:
			return name + []string{" = ", " < ", " <> "}[rng.IntN(3)] + []string{"navn", "ci", "tysk", "ulik",
				"uid"}[rng.IntN(5)]
		case 4:
			return lit() + []string{" = ", " < ", " <= ", " > ", " >= ", " <> "}[rng.IntN(6)] + lit()
		}
		return name + []string{" = ", " < ", " <= ", " > ", " >= ", " <> "}[rng.IntN(6)] + lit()
	}
	for range 60 {
		text := one()
		switch rng.IntN(4) {
		case 0:
			text = "NOT (" + text + ")"
		case 1:
			text = "(" + text + " OR " + one() + ") AND NOT (" + one() + ")"
		}
		filters = append(filters, text)
	}
	for _, text := range filters {
		m := cql2.NewMatcher(parsed(t, c, text))
		var want []string
		for _, id := range ids {
			if v, err := m.Eval(records[id]); err != nil {
				t.Fatal(err)
			} else if v == cql2.True {
				want = append(want, id)
			}
		}
		p := page(t, s, store.Query{Collection: "ting", Filter: parsed(t, c, text), Limit: 100_000})
		var got []string
		for _, r := range p.Rows {
			got = append(got, r.ID)
		}
		if !slices.Equal(got, want) || p.Matched != len(want) {
			t.Errorf("%s: %d features, want %d", text, len(got), len(want))
		}
	}
	for _, property := range append(orders, "navn", "kode", "fast", "ci", "art", "ulik", "tysk") {
		for _, desc := range []bool{false, true} {
			want := slices.Clone(ids)
			slices.SortStableFunc(want, func(a, b string) int {
				return compareServed(records[a][property],
					records[b][property], desc)
			})
			if got := walk(t, s, store.Query{Collection: "ting", Limit: 1500, Count: store.CountNone,
				SortBy: []store.Sort{{Property: property, Desc: desc}}}); !slices.Equal(got, want) {
				t.Errorf("by %s, falling %v: another order", property, desc)
			}
		}
	}
}

// compareServed compares two values of a property; null is last.
func compareServed(a, b any, desc bool) (n int) {
	if a == nil || b == nil {
		return cmp.Compare(fmt.Sprint(a == nil), fmt.Sprint(b == nil))
	}
	switch x := a.(type) {
	case string:
		n = strings.Compare(x, b.(string))
	case int64:
		n = cmp.Compare(x, b.(int64))
	case float64:
		n = cmp.Compare(x, b.(float64))
	}
	if desc {
		return -n
	}
	return n
}
