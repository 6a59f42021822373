package postgis_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis"
)

// walk reads a collection page by page, forwards and back again, and returns the ids.
func walk(t testing.TB, s *postgis.Store, q store.Query) (list []string) {
	t.Helper()
	var back []string
	p := page(t, s, q)
	for {
		for _, r := range p.Rows {
			list = append(list, r.ID)
		}
		if p.Next == "" {
			break
		}
		q.Cursor = p.Next
		p = page(t, s, q)
	}
	for {
		for _, r := range slices.Backward(p.Rows) {
			back = append(back, r.ID)
		}
		if p.Prev == "" {
			break
		}
		q.Cursor = p.Prev
		p = page(t, s, q)
	}
	slices.Reverse(back)
	if !slices.Equal(list, back) {
		t.Errorf("forwards %q, back %q", list, back)
	}
	return list
}

// TestKeyOfSeveralParts: every row comes once, whatever its parts hold.
func TestKeyOfSeveralParts(t *testing.T) {
	t.Parallel()
	url := base(t,
		`CREATE TABLE kommune (id INT, aar INT, navn TEXT, geom GEOMETRY(Point, 4258), PRIMARY KEY (id, aar)) PARTITION BY RANGE (aar);
		CREATE TABLE k1 PARTITION OF kommune FOR VALUES FROM (0) TO (2024); CREATE TABLE k2 PARTITION OF kommune FOR VALUES FROM (2024) TO (3000);
		INSERT INTO kommune SELECT i, a, 'n' || i || '/' || a, ST_Point(i, 60, 4258) FROM generate_series(-2, 12) i, generate_series(2022, 2025) a;
		CREATE TABLE rar (a TEXT, b UUID, c DATE, n INT, PRIMARY KEY (a, b, c));
		INSERT INTO rar SELECT x, '00000000-0000-0000-0000-00000000000a', d, 1 FROM unnest(ARRAY['', ';', '~', '~1', '~0;', 'å', 'a;b']) x, unnest(ARRAY['2024-02-29'::DATE, 'infinity', '0044-03-15 BC']) d;`)
	s := openStore(t, url, postgis.Options{})
	c, _ := s.Catalog().Collection("kommune")
	if c == nil || c.Key.Type != cql2.TypeText || c.Key.Property != "" || c.Key.Column != "id, aar" {
		t.Fatalf("%+v", c)
	}
	for id, n := range map[string]int{"kommune": 60, "rar": 21} {
		for _, q := range []store.Query{{Collection: id, Limit: 7}, {Collection: id, Limit: 1},
			{Collection: id, Limit: 4,
				SortBy: []store.Sort{{Property: map[string]string{"kommune": "aar", "rar": "n"}[id], Desc: true}}}} {
			list := walk(t, s, q)
			seen := map[string]bool{}
			for _, x := range list {
				seen[x] = true
			}
			if len(list) != n || len(seen) != n {
				t.Errorf("%s: %d rows, %d different, want %d", id, len(list), len(seen), n)
			}
			got := 0
			err := s.Fetch(context.Background(), id, store.Current(list...), store.Want{},
				func(f *store.Feature) error {
					if f.ID != list[got] {
						t.Errorf("%q instead of %q", f.ID, list[got])
					}
					got++
					return nil
				})
			if err != nil || got != n {
				t.Errorf("%s: %d fetched: %v", id, got, err)
			}
		}
		list := walk(t, s, store.Query{Collection: id, Limit: 100})
		for i, x := range list {
			row, prev, next, err := s.Neighbours(context.Background(), id, x)
			if err != nil || row.ID != x || i > 0 && prev != list[i-1] || i < len(list)-1 && next != list[i+1] ||
				i == 0 && prev != "" || i == len(list)-1 && next != "" {
				t.Errorf("%s: beside %q are %q and %q: %v", id, x, prev, next, err)
			}
		}
	}
	if got := walk(t, s, store.Query{Collection: "kommune", Limit: 100}); got[0] != "-2;2022" || got[59] != "12;2025" {
		t.Errorf("%q", got)
	}
	if v := values(t, s, "rar", "~00~1;00000000-0000-0000-0000-00000000000a;2024-02-29"); v["a"] != "~0;" {
		t.Errorf("%v", v)
	}
	for _, id := range []string{"", "1", "1;2024;1", "1;x", "01;2024", "1;2024 ",
		"~;00000000-0000-0000-0000-00000000000a;2024-02-29", "å;x;2024-02-29",
		"å;00000000-0000-0000-0000-00000000000A;2024-02-29"} {
		for _, coll := range []string{"kommune", "rar"} {
			err := s.Fetch(context.Background(), coll, store.Current(id), store.Want{}, func(*store.Feature) error {
				return nil
			})
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s %q: %v", coll, id, err)
			}
		}
	}
}

// TestKeysAreStructural: what only happens to be unique is no id, but what the settings name is.
func TestKeysAreStructural(t *testing.T) {
	t.Parallel()
	url := base(t,
		places+
			`CREATE TABLE uten (id INT, navn TEXT, geom GEOMETRY(Point, 4258)); INSERT INTO uten VALUES (1, 'a', NULL), (2, 'b', NULL);
		CREATE TABLE valgt (x INT, y TEXT, geom GEOMETRY(Point, 4258)); INSERT INTO valgt VALUES (1, 'a', NULL), (1, 'b', NULL);
		CREATE TABLE null_i (x INT UNIQUE); INSERT INTO null_i VALUES (1);
		CREATE TABLE delvis (x INT NOT NULL); CREATE UNIQUE INDEX ON delvis (x) WHERE x > 0;
		CREATE TABLE mor (x INT PRIMARY KEY); CREATE TABLE barn (y INT) INHERITS (mor); INSERT INTO mor VALUES (1); INSERT INTO barn VALUES (1, 2);
		CREATE VIEW utsnitt AS SELECT navn AS n, kode AS k, geom FROM sted s WHERE EXISTS (SELECT 1 FROM uten u WHERE u.navn <> s.navn); CREATE VIEW av_utsnitt AS SELECT k AS kk, upper(n) AS n FROM utsnitt;
		CREATE VIEW dobbelt AS SELECT kode, a.geom FROM sted a, uten; CREATE VIEW uten_kode AS SELECT navn, geom FROM sted; CREATE VIEW samlet AS SELECT kode, count(*) FROM sted GROUP BY kode;`)
	s := openStore(t, url,
		postgis.Options{Settings: map[string]store.Settings{"valgt": {IDColumns: []string{"x", "y"}}},
			Poll: 50 * time.Millisecond})
	for id, key := range map[string]string{"sted": "kode", "utsnitt": "k", "av_utsnitt": "kk", "valgt": "x, y"} {
		if c, ok := s.Catalog().Collection(id); !ok || c.Key.Column != key {
			t.Errorf("%s: %+v", id, c)
		}
	}
	for _, layer := range []string{"uten", "null_i", "delvis", "mor", "barn", "dobbelt", "uten_kode", "samlet"} {
		if r := refusal(s, layer); !strings.Contains(r, "in id_column") {
			t.Errorf("%s: %q", layer, r)
		}
	}
	if got := walk(t, s, store.Query{Collection: "valgt", Limit: 1}); strings.Join(got, " ") != "1;a 1;b" {
		t.Errorf("%q", got)
	}
	// What the settings name is true only as long as it is.
	run(t, url, "INSERT INTO valgt VALUES (1, 'b', NULL)")
	for _, q := range []store.Query{{Collection: "valgt", Limit: 10},
		{Collection: "valgt", Limit: 10, SortBy: []store.Sort{{Property: "x"}}}} {
		if _, err := s.Page(context.Background(), q); !errors.Is(err, store.ErrUnavailable) &&
			!errors.Is(err, store.ErrNotFound) {
			t.Errorf("a row twice: %v", err)
		}
	}
	eventually(t, "refused", func() bool { return strings.Contains(refusal(s, "valgt"), "more than once") })
	run(t, url, "DELETE FROM valgt WHERE y = 'b'; ALTER TABLE valgt ADD PRIMARY KEY (x, y)")
	eventually(t, "served again", func() bool { _, ok := s.Catalog().Collection("valgt"); return ok })
}

// TestEmptyKey: no address can hold an empty id.
func TestEmptyKey(t *testing.T) {
	t.Parallel()
	s := openStore(t, base(t,
		"CREATE TABLE x (kode TEXT PRIMARY KEY); INSERT INTO x VALUES (''), ('~'), ('~a'), ('a~')"), postgis.Options{})
	list := walk(t, s, store.Query{Collection: "x", Limit: 1})
	if strings.Join(list, " ") != "~ a~ ~~ ~~a" {
		t.Errorf("%q", list)
	}
	for i, want := range []string{"", "a~", "~", "~a"} {
		if v := values(t, s, "x", list[i]); v["kode"] != want {
			t.Errorf("%q is %q", list[i], v["kode"])
		}
	}
}

func TestCollectionIDsAreStable(t *testing.T) {
	t.Parallel()
	const tables = `CREATE SCHEMA s2; CREATE SCHEMA s2_gen; CREATE TABLE s2.gen (id INT PRIMARY KEY, b INT); CREATE TABLE "Gen" (id INT PRIMARY KEY, c INT); CREATE TABLE s2_gen.x (id INT PRIMARY KEY);
		CREATE TABLE s2.gen_x (id INT PRIMARY KEY); CREATE TABLE "日本" (id INT PRIMARY KEY);`
	url := base(t, tables+"CREATE TABLE gen (id INT PRIMARY KEY, a INT);")
	s := openStore(t, url, postgis.Options{Poll: 50 * time.Millisecond})
	tablesOf := func() map[string]string {
		m := map[string]string{}
		for _, c := range s.Catalog().Collections {
			m[c.ID] = c.Table
		}
		return m
	}
	m := tablesOf()
	for id, want := range map[string]string{"gen": "gen", "s2_gen": "s2.gen", "_u65e5_u672c": "日本"} {
		if m[id] != want {
			t.Errorf("%s is %q in %v", id, m[id], m)
		}
	}
	if len(m) != 6 || s.Catalog().Collections[0].Table == "" {
		t.Errorf("%v", m)
	}
	again := openStore(t, url, postgis.Options{})
	for _, c := range again.Catalog().Collections {
		if m[c.ID] != c.Table {
			t.Errorf("%s is of %s, then of %s", c.ID, m[c.ID], c.Table)
		}
	}
	run(t, url, "CREATE TABLE ny (id INT)")
	run(t, url, "ALTER TABLE gen RENAME TO borte")
	eventually(t, "renamed", func() bool { return tablesOf()["borte"] != "" })
	if now := tablesOf(); now["gen"] == "s2.gen" || now["s2_gen"] != "s2.gen" {
		t.Errorf("%v", now)
	}
}

func TestNothingToServeIsAnError(t *testing.T) {
	t.Parallel()
	url := base(t, "CREATE TABLE uten (id INT)")
	_, err := postgis.Open(context.Background(), url, postgis.Options{})
	if err == nil || errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), "uten") {
		t.Errorf("error %v", err)
	}
	s := openStore(t, url, postgis.Options{AllowEmpty: true, Poll: 50 * time.Millisecond})
	run(t, url, "CREATE TABLE med (id INT PRIMARY KEY)")
	eventually(t, "served", func() bool { return len(s.Catalog().Collections) == 1 })
	run(t, url, "DROP TABLE med")
	if _, err := s.Page(context.Background(), store.Query{Collection: "med", Limit: 1}); err == nil {
		t.Error("a page of a table that is gone")
	}
}

func TestColumnGrants(t *testing.T) {
	t.Parallel()
	url := base(t, places+"ALTER TABLE sted ADD hemmelig TEXT DEFAULT 'x', ADD skjult TEXT DEFAULT 'y';")
	role, asRole := roleOf(t, url)
	run(t, url, "GRANT SELECT (kode, navn, skjult, geom) ON sted TO "+role)
	s := openStore(t, asRole,
		postgis.Options{Settings: map[string]store.Settings{"sted": {HiddenColumns: []string{"skjult"}}}})
	c, ok := s.Catalog().Collection("sted")
	if !ok || strings.Join(c.Names(), " ") != "kode navn geometry" {
		t.Fatalf("%v %+v", s.Catalog().Notes, c)
	}
	before := page(t, s, store.Query{Collection: "sted", Limit: 10})
	if ids(before) != "B a b" || values(t, s, "sted", "b")["navn"] != "Bergen" {
		t.Errorf("%v", before)
	}
	run(t, url, "UPDATE sted SET navn = 'Bjørgvin' WHERE kode = 'b'")
	after := page(t, s, store.Query{Collection: "sted", Limit: 10})
	if before.Rows[2].Rev == after.Rows[2].Rev || before.Rows[1].Rev != after.Rows[1].Rev {
		t.Errorf("revisions %v, then %v", before.Rows, after.Rows)
	}
	err := s.Fetch(context.Background(), "sted", after.Rows[2:],
		store.Want{Properties: []string{"navn"}, NoGeometry: true}, func(f *store.Feature) error {
			if f.Rev != after.Rows[2].Rev {
				t.Errorf("revision %d fetched, %d in the page", f.Rev, after.Rows[2].Rev)
			}
			return nil
		})
	if err != nil {
		t.Error(err)
	}
}

// TestVersionsAreFeaturesEachOnce: where a part of the key is the start of the interval, each version is a feature of
// its own, whose id names the start; none comes twice or is missing, over pages as well,
// and datetime picks those of a day.
func TestVersionsAreFeaturesEachOnce(t *testing.T) {
	t.Parallel()
	url := base(t,
		`CREATE TABLE kommune (nr TEXT, gyldig_fra DATE, gyldig_til DATE, navn TEXT, PRIMARY KEY (nr, gyldig_fra)) PARTITION BY RANGE (gyldig_fra);
		CREATE TABLE k1 PARTITION OF kommune FOR VALUES FROM (MINVALUE) TO ('2020-01-01'); CREATE TABLE k2 PARTITION OF kommune FOR VALUES FROM ('2020-01-01') TO (MAXVALUE);
		INSERT INTO kommune SELECT lpad(i::text, 4, '0'), fra::DATE, (fra + INTERVAL '2 years - 1 day')::DATE, 'navn ' || i FROM generate_series(1, 50) i, generate_series(DATE '2016-01-01', '2022-01-01', '2 years') fra;
		UPDATE kommune SET gyldig_til = NULL WHERE gyldig_fra = '2022-01-01'`)
	s := openStore(t, url,
		postgis.Options{
			Settings: map[string]store.Settings{"kommune": {IntervalStart: "gyldig_fra", IntervalEnd: "gyldig_til"}}})
	for _, reload := range []bool{false, true} {
		if reload {
			run(t, url, "ALTER TABLE kommune ADD COLUMN mer TEXT")
			eventually(t, "the new column", func() bool {
				c, ok := s.Catalog().Collection("kommune")
				_, has := c.Property("mer")
				return ok && has
			})
		}
		seen := map[string]bool{}
		for q := (store.Query{Collection: "kommune", Limit: 7}); ; {
			p := page(t, s, q)
			for _, r := range p.Rows {
				if seen[r.ID] {
					t.Errorf("%s comes twice", r.ID)
				}
				seen[r.ID] = true
			}
			if q.Cursor = p.Next; p.Next == "" {
				break
			}
		}
		if len(seen) != 200 || !seen["0007;2018-01-01"] {
			t.Errorf("%d versions of 200", len(seen))
		}
	}
	if v := values(t, s, "kommune", "0007;2018-01-01"); v["nr"] != "0007" || v["gyldig_til"] != "2019-12-31" {
		t.Errorf("%v", v)
	}
	c, _ := s.Catalog().Collection("kommune")
	during, ok := c.During()
	day := time.Date(2019, 6, 1, 0, 0, 0, 0, time.UTC)
	if during.From, during.To = &day, &day; !ok || during.Start != "gyldig_fra" {
		t.Fatalf("%+v", during)
	}
	if p := page(t, s, store.Query{Collection: "kommune", Filter: during, Limit: 100}); p.Matched != 50 ||
		p.Rows[0].ID != "0001;2018-01-01" {
		t.Errorf("on a day: %d, %v", p.Matched, p.Rows)
	}
}
