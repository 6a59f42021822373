package gpkg_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestVersionsOfOtherFiles: rows of any file are versions where the settings say so, or where the configured id repeats
// beside columns of the usual names, and then a note says so; what cannot be versions is refused with the cure.
func TestVersionsOfOtherFiles(t *testing.T) {
	t.Parallel()
	const usual = `CREATE TABLE x (fid INTEGER PRIMARY KEY, nr TEXT, navn TEXT, gyldigFra TEXT, gyldigTil TEXT);`
	rows := func(v string) string { return "INSERT INTO x (nr, navn, gyldigFra, gyldigTil) VALUES " + v + ";" }
	const apart = `('1508', 'Ålesund', '2020-01-01', '2024-01-01'), ('1508', 'Ålesund', '2024-01-01', NULL), ` +
		`('1567', 'Rindal', '2010-01-01', '2019-01-01')`
	told := store.Settings{IDColumns: []string{"nr"}, ValidFrom: "gyldigFra", ValidTo: "gyldigTil"}
	inclusive := told
	inclusive.Inclusive = true
	const index = ` CREATE INDEX i ON x (nr, gyldigFra);`
	tests := map[string]struct {
		script   string
		settings store.Settings
		want     []string // versions of 2024-01-01; nil: refused, or each row a feature
		note     string
	}{
		"told": {usual + rows(apart), told, []string{"1508.20240101"}, ""},
		"told, last day": {usual +
			rows(`('a', '', '2020-01-01', '2024-01-01'), ('a', '', '2024-01-02', NULL), ('b', '', '2000-01-01', `+
				`'2023-12-31')`), inclusive, []string{"a.20200101"}, ""},
		"found": {usual + rows(apart), store.Settings{IDColumns: []string{"nr"}}, []string{"1508.20240101"},
			`the ids in column "nr" repeat`},
		"found by camels": {`CREATE TABLE x (fid INTEGER PRIMARY KEY, nr TEXT, navn TEXT, validFrom DATE, ` +
			`validTo DATE); INSERT INTO x VALUES (1, 'a', '', '2020-01-01', '2021-01-01'), (2, 'a', '', ` +
			`'2021-01-01', NULL);`, store.Settings{IDColumns: []string{"nr"}}, []string{"a.20210101"}, "repeat"},
		"numbers, moments": {`CREATE TABLE x (fid INTEGER PRIMARY KEY, nr INTEGER, gyldigFra DATETIME, ` +
			`gyldigTil DATETIME); INSERT INTO x VALUES (1, 7, '2001-07-02T10:43:17Z', NULL);`, told,
			[]string{"7.20010702T104317Z"}, ""},
		"ids once": {usual + rows(`('a', '', '2020-01-01', NULL), ('b', '', '2020-01-01', NULL)`),
			store.Settings{IDColumns: []string{"nr"}}, nil, ""},
		"instant said": {usual + rows(apart), store.Settings{IDColumns: []string{"nr"}, Instant: "gyldigFra"}, nil,
			`"1508" occurs 2 times`},
		"overlap": {usual + rows(`('a', '', '2020-01-01', '2025-01-01'), ('a', '', '2024-01-01', NULL)`), told,
			nil, "make an index"},
		"indexed overlap": {usual + rows(`('a', '', '2020-01-01', '2025-01-01'), ('a', '', '2024-01-01', NULL)`) +
			index, told, []string{"a.20240101"}, "the one that begins last"},
		"same start": {usual + rows(`('a', '', '2020-01-01', NULL), ('a', '', '2020-01-01', NULL)`), told, nil,
			"needs a start of its own"},
		"no start": {usual + rows(`('a', '', NULL, NULL)`), told, nil, "each version needs its start"},
		"no id":    {usual + rows(`(NULL, '', '2020-01-01', NULL)`), told, nil, "needs the id of its feature"},
		"no column": {usual + rows(apart),
			store.Settings{IDColumns: []string{"nr"}, ValidFrom: "fra", ValidTo: "gyldigTil"}, nil, `no column "fra"`},
		"no time": {usual + rows(`('a', '', '2020-01-01', 'x')`), told, nil, "no day or moment"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, build(t, tt.script+attributes),
				gpkg.Options{Settings: map[string]store.Settings{"x": tt.settings}})
			hasNote(t, s, tt.note)
			c, ok := s.Catalog().Collection("x")
			if tt.want == nil {
				if ok && c.Versions != nil {
					t.Errorf("%+v", c.Versions)
				}
				return
			}
			if !ok || c.Versions == nil || c.DefaultSort == nil {
				t.Fatalf("served: %v, notes %+v", ok, s.Catalog().Notes)
			}
			p := page(t, s, store.Query{Collection: "x", Limit: 9, SortBy: c.DefaultSort,
				AsOf: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)})
			var got []string
			err := s.Fetch(context.Background(), "x", p.Rows, store.Want{VersionIDs: true},
				func(f *store.Feature) error { got = append(got, f.Public()); return nil })
			if err != nil || !slices.Equal(got, tt.want) || p.Matched != len(tt.want) {
				t.Errorf("%q of %d, %v; want %q", got, p.Matched, err, tt.want)
			}
		})
	}
}
