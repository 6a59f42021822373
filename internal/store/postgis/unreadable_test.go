package postgis_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"grense/internal/store"
	"grense/internal/store/postgis"
)

// odd are tables that cannot be read now, each for another reason.
const odd = `CREATE EXTENSION postgres_fdw; CREATE SERVER borte FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '1', dbname 'x');
	CREATE USER MAPPING FOR PUBLIC SERVER borte OPTIONS (user 'x', password 'x');
	CREATE FOREIGN TABLE fjern (id INT, geom GEOMETRY(Point, 4258)) SERVER borte;
	CREATE MATERIALIZED VIEW kopi AS SELECT kode, geom FROM sted WITH NO DATA; CREATE UNIQUE INDEX ON kopi (kode);
	CREATE TABLE nevner (n INT); INSERT INTO nevner VALUES (0);
	CREATE VIEW feil AS SELECT kode, navn, geom FROM sted WHERE 1 / (SELECT n FROM nevner) = 1;`

func oddSettings() map[string]store.Settings {
	return map[string]store.Settings{"fjern": {IDColumns: []string{"id"}}}
}

// refusal returns what is said of a refused table; "" when it is not refused.
func refusal(s *postgis.Store, layer string) string {
	for _, n := range s.Catalog().Notes {
		if n.Layer == layer && n.Refused {
			return n.Reason
		}
	}
	return ""
}

func TestUnreadableTableCostsItselfOnly(t *testing.T) {
	t.Parallel()
	var l logs
	url := base(t, places+odd)
	s := openStore(t, url, postgis.Options{Settings: oddSettings(), Poll: 100 * time.Millisecond, Logger: l.logger()})
	if n := len(s.Catalog().Collections); n == 0 {
		t.Fatal("nothing is served")
	}
	page(t, s, store.Query{Collection: "sted", Limit: 1})
	for layer, cure := range map[string]string{"fjern": "foreign server", "kopi": "REFRESH MATERIALIZED VIEW",
		"feil": "division by zero"} {
		if r := refusal(s, layer); !strings.Contains(r, cure) {
			t.Errorf("%s is refused with %q, want %q", layer, r, cure)
		}
	}
	run(t, url, "CREATE TABLE ny (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258))")
	served := func(id string) func() bool {
		return func() bool { _, ok := s.Catalog().Collection(id); return ok }
	}
	eventually(t, "the change beside", served("ny"))
	run(t, url, "REFRESH MATERIALIZED VIEW kopi; UPDATE nevner SET n = 1")
	eventually(t, "the copy, which has data now", served("kopi"))
	eventually(t, "the view, which does not fail any more", served("feil"))
	if n := strings.Count(l.String(), "REFRESH MATERIALIZED VIEW"); n != 1 {
		t.Errorf("told %d times, want once:\n%s", n, l.String())
	}
}

// TestUnreadableForAWhile: a table that was served stays in the catalog, so that its clients get an error to retry.
func TestUnreadableForAWhile(t *testing.T) {
	t.Parallel()
	url := base(t, places+odd+"UPDATE nevner SET n = 1; REFRESH MATERIALIZED VIEW kopi;")
	s := openStore(t, url, postgis.Options{Settings: oddSettings(), Poll: 100 * time.Millisecond})
	run(t, url, "UPDATE nevner SET n = 0; REFRESH MATERIALIZED VIEW kopi WITH NO DATA; "+
		"CREATE TABLE ny (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258))")
	eventually(t, "the new table", func() bool { _, ok := s.Catalog().Collection("ny"); return ok })
	for _, id := range []string{"feil", "kopi"} {
		if _, err := s.Page(context.Background(), store.Query{Collection: id, Limit: 1}); !errors.Is(err,
			store.ErrUnavailable) {
			t.Errorf("%s: %v, want unavailable", id, err)
		}
	}
	run(t, url, "UPDATE nevner SET n = 1; REFRESH MATERIALIZED VIEW kopi")
	for _, id := range []string{"feil", "kopi"} {
		if p := page(t, s, store.Query{Collection: id, Limit: 9}); len(p.Rows) != 3 {
			t.Errorf("%s: %d rows", id, len(p.Rows))
		}
	}
}
