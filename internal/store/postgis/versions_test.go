package postgis_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestVersionsOfOtherTables: rows of any table are versions if the settings say so, or if the configured id repeats and
// there are columns with the usual names; a note says so. A unique index must keep versions apart. Rows are live:
// of two that overlap the one that begins last is served.
func TestVersionsOfOtherTables(t *testing.T) {
	t.Parallel()
	url := base(t, `CREATE TABLE told (nr TEXT, fra DATE, til DATE, navn TEXT, PRIMARY KEY (nr, fra));
		INSERT INTO told VALUES ('1508', '2020-01-01', '2024-01-01', 'a'), ('1508', '2024-01-01', NULL, 'b'), ('1567', '2010-01-01', '2019-01-01', 'c');
		CREATE TABLE found (id BIGINT PRIMARY KEY, nr INT NOT NULL, "gyldigFra" TIMESTAMPTZ NOT NULL, "gyldigTil" TIMESTAMPTZ, UNIQUE (nr, "gyldigFra"));
		INSERT INTO found VALUES (1, 7, '2001-07-02T10:43:17Z', '2012-10-14T16:43:17Z'), (2, 7, '2012-10-14T16:43:17Z', NULL);
		CREATE TABLE once (nr TEXT UNIQUE NOT NULL, "gyldigFra" DATE NOT NULL, "gyldigTil" DATE, UNIQUE (nr, "gyldigFra")); INSERT INTO once VALUES ('a', '2020-01-01', NULL);
		CREATE TABLE plain (nr TEXT NOT NULL, fra DATE NOT NULL, til DATE); INSERT INTO plain VALUES ('a', '2020-01-01', NULL)`)
	versions := store.Settings{IDColumns: []string{"nr"}, ValidFrom: "fra", ValidTo: "til"}
	s := openStore(t, url, postgis.Options{Settings: map[string]store.Settings{"told": versions, "plain": versions,
		"found": {IDColumns: []string{"nr"}}, "once": {IDColumns: []string{"nr"}}}})
	for _, part := range []string{"ADD UNIQUE", `the ids in column "nr" repeat`} {
		if notes := s.Catalog().Notes; !slices.ContainsFunc(notes, func(n store.Note) bool {
			return strings.Contains(n.Reason, part)
		}) {
			t.Errorf("no note says %q: %+v", part, notes)
		}
	}
	if c, ok := s.Catalog().Collection("once"); !ok || c.Versions != nil {
		t.Errorf("ids that do not repeat: %v", c)
	}
	if _, ok := s.Catalog().Collection("plain"); ok {
		t.Error("versions that no index tells apart are served")
	}
	asOf := func(id string, at time.Time, want ...string) {
		t.Helper()
		p := page(t, s, store.Query{Collection: id, Limit: 9, AsOf: at})
		var got []string
		err := s.Fetch(context.Background(), id, p.Rows, store.Want{VersionIDs: true}, func(f *store.Feature) error {
			got = append(got, f.Public())
			return nil
		})
		if err != nil || !slices.Equal(got, want) || p.Matched != len(want) {
			t.Errorf("%s as of %v: %q of %d, %v; want %q", id, at, got, p.Matched, err, want)
		}
	}
	day := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	asOf("told", day(2024), "1508.20240101")
	asOf("told", day(2018), "1567.20100101")
	asOf("found", day(2010), "7.20010702T104317Z")
	asOf("found", time.Date(2012, 10, 14, 16, 43, 17, 0, time.UTC), "7.20121014T164317Z")
	for _, x := range []struct{ coll, id, prev, next, starts string }{
		{"told", "1508", "", "1567", "2020-01-01 2024-01-01"}, {"told", "1567", "", "", "2010-01-01"},
		{"told", "15", "", "", ""}, {"found", "7", "", "", "2001-07-02T10:43:17Z 2012-10-14T16:43:17Z"},
	} {
		life, err := s.Life(t.Context(), store.LifeQuery{Collection: x.coll, ID: x.id, At: day(2018), Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var starts []string
		for _, v := range life.Versions {
			starts = append(starts, v.Start)
		}
		if got := strings.Join(starts, " "); got != x.starts || life.Prev != x.prev || life.Next != x.next {
			t.Errorf("%+v lies between %q and %q, and begins %s", x, life.Prev, life.Next, got)
		}
	}
	run(t, url, "UPDATE told SET til = '2030-01-01' WHERE fra = '2020-01-01'; INSERT INTO found VALUES (3, 7, "+
		"'2013-01-01', NULL)")
	asOf("told", day(2024), "1508.20240101")
	asOf("found", day(2014), "7.20130101T000000Z")
}

// TestVersionsOfTablesWithoutDeclarations: ogr2ogr writes a running number as the primary key and declares nothing
// else; the rows say whether they are versions. What is refused is served once its cure was run, without a reload;
// without any key the cure is a statement that works.
func TestVersionsOfTablesWithoutDeclarations(t *testing.T) {
	t.Parallel()
	const columns = "nr VARCHAR(4), navn VARCHAR, fra TIMESTAMPTZ, til TIMESTAMPTZ, wkb_geometry " +
		"geometry(Geometry, 4326)"
	const rows = "('1508', 'a', '2020-01-01Z', '2024-01-01Z'), ('1508', 'b', '2024-01-01Z', NULL), ('1567', 'c', " +
		"'2010-01-01Z', '2019-01-01Z')"
	told := store.Settings{IDColumns: []string{"nr"}, ValidFrom: "fra", ValidTo: "til"}
	ogr := func(rows, more string) string {
		return "CREATE TABLE x (ogc_fid SERIAL PRIMARY KEY, " + columns +
			"); INSERT INTO x (nr, navn, fra, til) VALUES " + rows + "; " + more
	}
	const cure = `ALTER TABLE "public"."x" ALTER COLUMN "nr" SET NOT NULL, ALTER COLUMN "fra" SET NOT NULL, ` +
		`ADD UNIQUE ("nr", "fra")`
	for name, tt := range map[string]struct {
		script   string
		settings store.Settings
		note     string
		cured    string // served once this was run; "": it is served at once
	}{
		"told":    {ogr(rows, ""), told, `CREATE INDEX ON "public"."x" ("nr", "fra")`, ""},
		"indexed": {ogr(rows, "CREATE INDEX ON x (nr, fra)"), told, "", ""},
		"unique":  {ogr(rows, "CREATE UNIQUE INDEX ON x (nr, fra)"), told, "", ""},
		"found": {ogr(rows, `ALTER TABLE x RENAME fra TO valid_from; ALTER TABLE x RENAME til TO valid_to`),
			store.Settings{IDColumns: []string{"nr"}}, `the ids in column "nr" repeat`, ""},
		"materialized": {"CREATE TABLE t (" + columns + "); INSERT INTO t VALUES " +
			strings.ReplaceAll(rows, ")", ", NULL)") +
			"; CREATE MATERIALIZED VIEW x AS SELECT * FROM t; CREATE UNIQUE INDEX ON x (nr, fra)", told, "", ""},
		"no key": {"CREATE TABLE x (" + columns + "); INSERT INTO x VALUES " +
			strings.ReplaceAll(rows, ")", ", NULL)"), told, cure, cure},
		"no start": {ogr(rows+", ('1', '', NULL, NULL)", ""), told,
			`column "fra" of "1" is null; each version needs its start`, "DELETE FROM x WHERE nr = '1'"},
		"no id": {ogr(rows+", (NULL, '', '2020-01-01Z', NULL)", ""), told,
			`column "nr" is null or empty in some rows`, "DELETE FROM x WHERE nr IS NULL"},
		"the same start, found": {ogr(rows+", ('1508', '', '2020-01-01Z', NULL)",
			`ALTER TABLE x RENAME fra TO valid_from; ALTER TABLE x RENAME til TO valid_to`),
			store.Settings{IDColumns: []string{"nr"}},
			`column "nr" cannot be the feature id: 2 of 4 values occur more than once`,
			"DELETE FROM x WHERE navn = ''"},
		"the same start": {ogr(rows+", ('1508', '', '2020-01-01Z', NULL)", ""), told,
			`two versions of "1508" in column "nr" begin at `, "DELETE FROM x WHERE navn = ''"},
		"days as text": {ogr(rows, "ALTER TABLE x ALTER fra TYPE VARCHAR USING fra::text, ALTER til TYPE VARCHAR "+
			"USING til::text; INSERT INTO x (nr, fra, til) VALUES ('9', '2025-01-01', '')"), told,
			`ALTER TABLE "public"."x" ALTER COLUMN "fra" TYPE date USING nullif("fra", '')::date`,
			`ALTER TABLE x ALTER COLUMN "fra" TYPE date USING nullif("fra", '')::date; ALTER TABLE x ALTER COLUMN ` +
				`"til" TYPE date USING nullif("til", '')::date`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := base(t, "CREATE TABLE beside (id INT PRIMARY KEY); "+tt.script)
			s := openStore(t, url,
				postgis.Options{Poll: 50 * time.Millisecond, Settings: map[string]store.Settings{"x": tt.settings}})
			if notes := s.Catalog().Notes; (tt.note == "") != !slices.ContainsFunc(notes, func(n store.Note) bool {
				return n.Collection == "x" || n.Layer == "x"
			}) ||
				tt.note != "" && !slices.ContainsFunc(notes, func(n store.Note) bool {
					return strings.Contains(n.Reason, tt.note)
				}) {
				t.Errorf("no note says %q: %+v", tt.note, notes)
			}
			c, ok := s.Catalog().Collection("x")
			if tt.cured != "" {
				if ok {
					t.Errorf("it is served: %+v", c.Versions)
				}
				run(t, url, tt.cured)
				eventually(t, "served", func() bool {
					c, ok = s.Catalog().Collection("x")
					return ok && refusal(s, "x") == ""
				})
			}
			if !ok || c.Versions == nil {
				t.Fatalf("no versions: %v, %+v", ok, s.Catalog().Notes)
			}
			for year, want := range map[int]string{2018: "1567.2010", 2022: "1508.2020", 2024: "1508.2024"} {
				at := time.Date(year, 6, 1, 0, 0, 0, 0, time.UTC)
				p := page(t, s, store.Query{Collection: "x", Limit: 9, AsOf: at})
				got := ""
				err := s.Fetch(t.Context(), "x", p.Rows, store.Want{VersionIDs: true}, func(f *store.Feature) error {
					got += f.Public()
					return nil
				})
				if err != nil || !strings.HasPrefix(got, want) || p.Matched != 1 {
					t.Errorf("%d: %q of %d, %v; want %q", year, got, p.Matched, err, want)
				}
			}
			run(t, url,
				"DO $$ BEGIN INSERT INTO x (nr, fra) VALUES ('1508', NULL); EXCEPTION WHEN OTHERS THEN NULL; END $$")
			life, err := s.Life(t.Context(), store.LifeQuery{Collection: "x", ID: "1508",
				At: time.Date(2022, 6, 1, 0, 0, 0, 0, time.UTC), Limit: 10})
			if err != nil || len(life.Versions) != 2 {
				t.Errorf("%+v, %v", life, err)
			}
		})
	}
}

// TestVersionsOfADayAreCounted also after others have changed them.
func TestVersionsOfADayAreCounted(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	run(t, url, `CREATE TABLE dag (nr INT, fra DATE, til DATE, PRIMARY KEY (nr, fra));
		CREATE TABLE tid (nr TEXT, fra TIMESTAMPTZ, til TIMESTAMPTZ, PRIMARY KEY (nr, fra));
		INSERT INTO dag SELECT n, d, d + 10 FROM generate_series(1, 30) n, (VALUES (DATE '2020-01-01'), ('2020-01-11'), ('2020-02-01')) v (d);
		INSERT INTO dag VALUES (31, '-infinity', 'infinity'), (32, '2020-01-05', '2020-01-05'), (33, '2020-01-05', '2020-01-01'), (34, '2020-01-05', NULL);
		INSERT INTO tid SELECT nr::TEXT, fra, til FROM dag WHERE nr < 31; ANALYZE dag, tid`)
	versions := store.Settings{IDColumns: []string{"nr"}, ValidFrom: "fra", ValidTo: "til"}
	s := openStore(t, url, postgis.Options{Settings: map[string]store.Settings{"dag": versions, "tid": versions}})
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(context.Background()) })
	counts := func() {
		t.Helper()
		for _, coll := range []string{"dag", "tid"} {
			for d := range 45 {
				at := time.Date(2019, 12, 28+d, 0, 0, 0, 0, time.UTC)
				want := 0
				if err := c.QueryRow(t.Context(), "SELECT count(DISTINCT nr) FROM "+coll+
					" WHERE fra BETWEEN '0001-01-01' AND $1::date AND (til > $1 OR til IS NULL OR til = 'infinity')",
					at).Scan(&want); err != nil {
					t.Fatal(err)
				}
				if p := page(t, s, store.Query{Collection: coll, Limit: 2, AsOf: at}); p.Matched != want {
					t.Errorf("%s on %s: %d match, want %d", coll, at.Format(time.DateOnly), p.Matched, want)
				}
			}
		}
	}
	counts()
	run(t, url, "DELETE FROM dag WHERE nr = 1; INSERT INTO tid VALUES ('ny', '2020-01-03', NULL)")
	counts()
	run(t, url, "UPDATE dag SET til = '2020-01-15' WHERE fra = '2020-01-01' AND nr < 20")
	counts()
}
