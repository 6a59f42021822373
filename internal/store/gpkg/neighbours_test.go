package gpkg_test

import (
	"errors"
	"testing"

	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// TestNeighboursAreThoseOfPages: Neighbours returns the revision and the ids before and after a feature that pages
// return, for every type of id. If nobody writes into the file they also come from the ids in memory.
func TestNeighboursAreThoseOfPages(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]gpkg.Options{"by SQL": {}, "from memory": {Unchanging: true, Columns: 1 << 20},
		"without room": {Unchanging: true, Columns: -1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openNeighbours(t, o)
			s.ColumnsAtOnce(false)
			testNeighbours(t, s, name == "from memory")
		})
	}
}

func openNeighbours(t *testing.T, o gpkg.Options) *gpkg.Store {
	t.Helper()
	return openStore(t, build(t,
		`CREATE TABLE tall (fid INTEGER PRIMARY KEY, n INT); INSERT INTO tall VALUES (-3, 1), (5, 1), (40, 1), (7, 1);
		CREATE TABLE tekst (id TEXT PRIMARY KEY NOT NULL); INSERT INTO tekst VALUES ('a'), ('B'), ('å'), ('a b'), ('10'), ('9'), ('"');
		CREATE TABLE bokstav (id TEXT PRIMARY KEY COLLATE NOCASE NOT NULL); INSERT INTO bokstav VALUES ('a'), ('B'), ('c');
		CREATE TABLE en (fid INTEGER PRIMARY KEY); INSERT INTO en VALUES (9007199254740993);
		INSERT INTO gpkg_contents (table_name, data_type) VALUES ('tall', 'attributes'), ('tekst', 'attributes'), ('bokstav', 'attributes'), ('en', 'attributes');`), o)
}

func testNeighbours(t *testing.T, s *gpkg.Store, known bool) {
	t.Helper()
	for _, c := range []string{"tall", "tekst", "bokstav", "en"} {
		p, err := s.Page(t.Context(), store.Query{Collection: c, Limit: 100})
		if err != nil || len(p.Rows) == 0 {
			t.Fatalf("%s: %v, %v", c, p, err)
		}
		for i, want := range p.Rows {
			prev, next := "", ""
			if i > 0 {
				prev = p.Rows[i-1].ID
			}
			if i+1 < len(p.Rows) {
				next = p.Rows[i+1].ID
			}
			row, before, after, err := s.Neighbours(t.Context(), c, want.ID)
			if err != nil || row != want || before != prev || after != next {
				t.Errorf("%s %q: %v between %q and %q, want %v between %q and %q: %v", c, want.ID, row, before, after,
					want, prev, next, err)
			}
		}
		for i, want := range p.Rows {
			_, before, after, _ := s.Neighbours(t.Context(), c, want.ID)
			if row, prev, next, ok := s.Beside(c, want.ID); ok != known ||
				ok && (row != want || prev != before || next != after) {
				t.Errorf("%s, feature %d: in memory %v are %v between %q and %q, want %v between %q and %q", c, i, ok,
					row, prev, next, want, before, after)
			}
		}
		for _, id := range []string{"", "6", "007", "5 ", "A", "b", "\x00", "\xff", "99999999999999999999"} {
			if _, _, _, ok := s.Beside(c, id); ok {
				t.Errorf("%s %q is in memory", c, id)
			}
			if _, _, _, err := s.Neighbours(t.Context(), c, id); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s %q: %v", c, id, err)
			}
		}
	}
	if _, _, _, err := s.Neighbours(t.Context(), "ingen", "1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no such collection: %v", err)
	}
}
