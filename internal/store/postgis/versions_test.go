package postgis_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestVersionsOfOtherTables: rows of any table are versions where the settings say so, or where the configured id repeats beside columns of the usual
// names, and then a note says so; a unique index has to tell versions apart. Rows are live: of two that overlap the one that begins last is served.
func TestVersionsOfOtherTables(t *testing.T) {
	t.Parallel()
	url := base(t, `CREATE TABLE told (nr TEXT, fra DATE, til DATE, navn TEXT, PRIMARY KEY (nr, fra));
		INSERT INTO told VALUES ('1508', '2020-01-01', '2024-01-01', 'a'), ('1508', '2024-01-01', NULL, 'b'), ('1567', '2010-01-01', '2019-01-01', 'c');
		CREATE TABLE found (id BIGINT PRIMARY KEY, nr INT NOT NULL, "gyldigFra" TIMESTAMPTZ NOT NULL, "gyldigTil" TIMESTAMPTZ, UNIQUE (nr, "gyldigFra"));
		INSERT INTO found VALUES (1, 7, '2001-07-02T10:43:17Z', '2012-10-14T16:43:17Z'), (2, 7, '2012-10-14T16:43:17Z', NULL);
		CREATE TABLE once (nr TEXT UNIQUE NOT NULL, "gyldigFra" DATE NOT NULL, "gyldigTil" DATE, UNIQUE (nr, "gyldigFra")); INSERT INTO once VALUES ('a', '2020-01-01', NULL);
		CREATE TABLE plain (nr TEXT NOT NULL, fra DATE NOT NULL, til DATE); INSERT INTO plain VALUES ('a', '2020-01-01', NULL)`)
	versions := store.Settings{IDColumn: "nr", ValidFrom: "fra", ValidTo: "til"}
	s := openStore(t, url, postgis.Options{Settings: map[string]store.Settings{"told": versions, "plain": versions, "found": {IDColumn: "nr"}, "once": {IDColumn: "nr"}}})
	for _, part := range []string{"CREATE UNIQUE INDEX ON", `the ids in column "nr" repeat`} {
		if notes := s.Catalog().Notes; !slices.ContainsFunc(notes, func(n store.Note) bool { return strings.Contains(n.Reason, part) }) {
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
		err := s.Fetch(context.Background(), id, p.Rows, store.Want{VersionIDs: true}, func(f *store.Feature) error { got = append(got, f.Public()); return nil })
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
		{"told", "1508", "", "1567", "2020-01-01 2024-01-01"}, {"told", "1567", "", "", "2010-01-01"}, {"told", "15", "", "", ""}, {"found", "7", "", "", "2001-07-02T10:43:17Z 2012-10-14T16:43:17Z"},
	} {
		life, err := s.Life(t.Context(), store.LifeQuery{Collection: x.coll, ID: x.id, At: day(2018), Limit: 10, Ahead: &store.Want{}})
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
	run(t, url, "UPDATE told SET til = '2030-01-01' WHERE fra = '2020-01-01'; INSERT INTO found VALUES (3, 7, '2013-01-01', NULL)")
	asOf("told", day(2024), "1508.20240101")
	asOf("found", day(2014), "7.20130101T000000Z")
}
