package postgis_test

import (
	"context"
	"errors"
	"testing"

	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestNeighboursAreThoseOfPages: Neighbours returns the revision and the ids before and after a feature that pages
// return, for every type of id.
func TestNeighboursAreThoseOfPages(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	url := base(t,
		`CREATE TABLE tall (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO tall VALUES (-3), (5), (40), (7);
		CREATE TABLE tekst (id TEXT PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO tekst VALUES ('a'), ('B'), ('å'), ('a b'), ('10'), ('9'), ('"');
		CREATE TABLE fast (id CHAR(4) PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO fast VALUES ('0301'), ('1'), ('ab');
		CREATE TABLE merke (id UUID PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO merke SELECT gen_random_uuid() FROM generate_series(1, 5);
		CREATE TABLE en (id BIGINT PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO en VALUES (9007199254740993);
		CREATE VIEW utsnitt AS SELECT * FROM tall WHERE id > 0`)
	s := openStore(t, url, postgis.Options{Settings: map[string]store.Settings{"utsnitt": {IDColumns: []string{"id"}}}})
	for _, c := range []string{"tall", "tekst", "fast", "merke", "en", "utsnitt"} {
		p := page(t, s, store.Query{Collection: c, Limit: 100})
		if len(p.Rows) == 0 {
			t.Fatalf("no rows in %s", c)
		}
		for i, want := range p.Rows {
			prev, next := "", ""
			if i > 0 {
				prev = p.Rows[i-1].ID
			}
			if i+1 < len(p.Rows) {
				next = p.Rows[i+1].ID
			}
			row, before, after, err := s.Neighbours(ctx, c, want.ID)
			if err != nil || row != want || before != prev || after != next {
				t.Errorf("%s %q: %v between %q and %q, want %v between %q and %q: %v", c, want.ID, row, before, after,
					want, prev, next, err)
			}
		}
		for _, id := range []string{"", "6", "007", "5 ", "A", "\x00", "\xff", "99999999999999999999",
			"00000000-0000-0000-0000-000000000000"} {
			if _, _, _, err := s.Neighbours(ctx, c, id); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s %q: %v", c, id, err)
			}
		}
	}
	if _, _, _, err := s.Neighbours(ctx, "ingen", "1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no such collection: %v", err)
	}
}
