package postgis_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestTablesHealOnceTheirRowsAreRight: a table that is refused for a row is served when the row
// is gone, without a reload.
func TestTablesHealOnceTheirRowsAreRight(t *testing.T) {
	t.Parallel()
	url := base(t, places+
		`CREATE TABLE tom (nr TEXT, geom GEOMETRY(Point, 4258)); INSERT INTO tom VALUES ('1', NULL), (NULL, NULL);
		CREATE TABLE to_ganger (nr TEXT); INSERT INTO to_ganger VALUES ('1'), ('1');
		CREATE TABLE feil (nr TEXT PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO feil VALUES ('1', 'SRID=4258;POINT(10 60)'), ('2', 'SRID=4258;POINT(500000 6600000)');
		CREATE TABLE to_systemer (nr TEXT PRIMARY KEY, geom GEOMETRY); INSERT INTO to_systemer VALUES ('1', 'SRID=4258;POINT(10 60)'), ('2', 'SRID=25833;POINT(500000 6600000)')`)
	s := openStore(t, url, postgis.Options{Poll: 50 * time.Millisecond,
		Settings: map[string]store.Settings{"tom": {IDColumns: []string{"nr"}},
			"to_ganger": {IDColumns: []string{"nr"}}}})
	for table, x := range map[string][2]string{
		"tom":         {"1 values are null", "DELETE FROM tom WHERE nr IS NULL"},
		"to_ganger":   {"more than once", "DELETE FROM to_ganger WHERE ctid IN (SELECT ctid FROM to_ganger LIMIT 1)"},
		"feil":        {"not longitudes and latitudes", "DELETE FROM feil WHERE nr = '2'"},
		"to_systemer": {"several reference systems", "DELETE FROM to_systemer WHERE nr = '2'"},
	} {
		if said := refusal(s, table); !strings.Contains(said, x[0]) {
			t.Errorf("%s: %q", table, said)
		}
		run(t, url, x[1])
		eventually(t, table+" served", func() bool {
			_, ok := s.Catalog().Collection(table)
			return ok && refusal(s, table) == ""
		})
		if got := ids(page(t, s, store.Query{Collection: table, Limit: 5})); got != "1" {
			t.Errorf("%s: %q", table, got)
		}
	}
}

// TestLockedTablesAreToldAsSuch: a query waits for a while, and then says that another program has locked the table.
func TestLockedTablesAreToldAsSuch(t *testing.T) {
	t.Parallel()
	url := base(t, places)
	s := openStore(t, url, postgis.Options{})
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(t.Context(), "BEGIN; LOCK TABLE sted IN ACCESS EXCLUSIVE MODE",
		pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if _, err := s.Page(ctx, store.Query{Collection: "sted", Limit: 1}); !errors.Is(err, store.ErrLocked) ||
		!errors.Is(err, store.ErrUnavailable) {
		t.Errorf("%v", err)
	}
	if _, err := c.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	page(t, s, store.Query{Collection: "sted", Limit: 1})
}
