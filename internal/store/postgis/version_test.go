package postgis_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/storetest"
)

// versionOf is the version of the collection sted.
func versionOf(t *testing.T, s *postgis.Store) store.Version {
	t.Helper()
	v, err := s.Version(context.Background(), "sted")
	if err != nil || v == "" {
		t.Errorf("version %q, %v", v, err)
	}
	return v
}

// TestVersionsChangeWithAnswers: whoever changes whatever in a database that is served, before the store has read the
// definitions again.
func TestVersionsChangeWithAnswers(t *testing.T) {
	t.Parallel()
	const tables = places + `ALTER TABLE sted ADD annet TEXT; UPDATE sted SET annet = 'annet ' || kode;
		CREATE VIEW utsnitt AS SELECT kode, navn, annet, geom FROM sted;
		CREATE MATERIALIZED VIEW kopi AS SELECT kode, navn, annet, geom FROM sted; CREATE UNIQUE INDEX ON kopi (kode);
		CREATE TABLE reserve AS SELECT * FROM sted WHERE kode = 'b'; ALTER TABLE reserve ADD PRIMARY KEY (kode);
		CREATE TABLE delt (kode TEXT PRIMARY KEY, navn TEXT) PARTITION BY RANGE (kode); CREATE TABLE del1 PARTITION OF delt FOR VALUES FROM ('a') TO ('f'); INSERT INTO delt VALUES ('a', 'A');`
	sees := []string{"sted", "utsnitt", "kopi", "reserve", "delt"}
	for name, change := range map[string]string{
		"update":   "UPDATE sted SET navn = 'other' WHERE kode = 'a'",
		"insert":   "INSERT INTO sted VALUES ('c', 'C')",
		"delete":   "DELETE FROM sted WHERE kode = 'a'",
		"truncate": "TRUNCATE sted",
		"exchanged columns": "BEGIN; ALTER TABLE sted RENAME navn TO x; ALTER TABLE sted RENAME annet TO navn; " +
			"ALTER TABLE sted RENAME x TO annet; COMMIT",
		"exchanged tables": "BEGIN; ALTER TABLE sted RENAME TO x; ALTER TABLE reserve RENAME TO sted; " +
			"ALTER TABLE x RENAME TO reserve; COMMIT",
		"rewritten": "DROP VIEW utsnitt; DROP MATERIALIZED VIEW kopi; ALTER TABLE sted ALTER navn TYPE " +
			"VARCHAR(3) USING left(navn, 3)",
		"a column less": "DROP VIEW utsnitt; DROP MATERIALIZED VIEW kopi; ALTER TABLE sted DROP annet",
		"a column more": "ALTER TABLE sted ADD mer TEXT DEFAULT 'mer'",
		"dropped":       "DROP TABLE sted CASCADE",
		"another view": "CREATE OR REPLACE VIEW utsnitt AS SELECT kode, annet AS navn, navn AS annet, " +
			"geom FROM sted",
		"refresh":        "UPDATE sted SET navn = 'other'; REFRESH MATERIALIZED VIEW kopi",
		"refresh beside": "UPDATE sted SET navn = 'other'; REFRESH MATERIALIZED VIEW CONCURRENTLY kopi",
		"a partition":    "UPDATE del1 SET navn = 'other'",
		"a partition more": "CREATE TABLE del2 PARTITION OF delt FOR VALUES FROM ('f') TO ('z'); " +
			"INSERT INTO del2 VALUES ('g', 'G')",
		"exchanged parts": "ALTER TABLE delt DETACH PARTITION del1; CREATE TABLE del2 PARTITION OF delt FOR " +
			"VALUES FROM ('a') TO ('f'); INSERT INTO del2 VALUES ('a', 'other')",
		"rows of another table": "CREATE TABLE arving () INHERITS (reserve); INSERT INTO arving SELECT 'h', 'H'",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := base(t, tables)
			s := openStore(t, url, postgis.Options{Poll: time.Hour})
			storetest.ExerciseVersion(t, s, sees, func() { run(t, url, change) })
		})
	}
	t.Run("policies", func(t *testing.T) {
		t.Parallel()
		url := base(t, places)
		role, asRole := storetest.Role(t, url, "")
		run(t, url, "GRANT SELECT ON sted TO "+role)
		s := openStore(t, asRole+"&sslmode=disable", postgis.Options{Poll: time.Hour})
		storetest.ExerciseVersion(t, s, []string{"sted"}, func() {
			run(t, url, "ALTER TABLE sted ENABLE ROW LEVEL SECURITY; CREATE POLICY few ON sted USING (kode = "+
				"current_setting('x.y', TRUE) OR kode = 'a')")
		})
	})
	t.Run("foreign table", func(t *testing.T) {
		t.Parallel()
		far := base(t, places)
		cfg, err := pgx.ParseConfig(far)
		if err != nil {
			t.Fatal(err)
		}
		url := base(t,
			fmt.Sprintf(
				`CREATE EXTENSION postgres_fdw; CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '%s', port '%d', dbname '%s');
			CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '%s', password_required 'false');
			CREATE FOREIGN TABLE sted (kode VARCHAR(8) NOT NULL, navn TEXT, geom GEOMETRY(Point, 4258)) SERVER far`,
				cfg.Host, cfg.Port, cfg.Database, cfg.User))
		s := openStore(t, url, postgis.Options{Poll: time.Hour,
			Settings: map[string]store.Settings{"sted": {IDColumns: []string{"kode"}}}})
		storetest.ExerciseVersion(t, s, []string{"sted"}, func() {
			run(t, far, "UPDATE sted SET navn = 'other' WHERE kode = 'a'")
		})
	})
}

// TestVersionsFollowEachCommit: a caller never gets the version of before a commit that it has seen, and those of one
// caller go on.
func TestVersionsFollowEachCommit(t *testing.T) {
	t.Parallel()
	url := base(t, places)
	s := openStore(t, url, postgis.Options{})
	over := make(chan struct{})
	var writers, readers sync.WaitGroup
	for i := range 10 {
		writers.Go(func() {
			c, err := pgx.Connect(context.Background(), url)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close(context.Background())
			for n := range 40 {
				before := versionOf(t, s)
				if _, err := c.Exec(context.Background(), "INSERT INTO sted (kode) VALUES ($1)",
					fmt.Sprintf("k%d-%d", i, n)); err != nil {
					t.Error(err)
				}
				if after := versionOf(t, s); after == before {
					t.Errorf("writer %d, row %d: the version is still %q", i, n, after)
				}
			}
		})
	}
	for range 4 {
		readers.Go(func() {
			for last := uint64(0); ; {
				var xmin, xmax uint64
				v := versionOf(t, s)
				_, state, _ := strings.Cut(string(v), " ")
				if _, err := fmt.Sscanf(state, "%d:%d:", &xmin, &xmax); err != nil || xmax < last {
					t.Errorf("version %q after one of %d: %v", v, last, err)
				}
				last = xmax
				select {
				case <-over:
					return
				default:
				}
			}
		})
	}
	writers.Wait()
	close(over)
	readers.Wait()
}

// TestVersionsAfterTheServerHasRecovered are others: a crash may lose the last transactions, whose numbers are given
// again. So are the revisions of rows.
func TestVersionsAfterTheServerHasRecovered(t *testing.T) {
	t.Parallel()
	alone := storetest.Cluster{Private: true}
	t.Cleanup(alone.Stop)
	url := alone.Database(t)
	run(t, url, places)
	s := openStore(t, url, postgis.Options{Poll: time.Hour})
	first := versionOf(t, s)
	row := page(t, s, store.Query{Collection: "sted", Limit: 1}).Rows[0]
	crash(t, url)
	second := versionOf(t, s)
	if second == first {
		t.Errorf("version %q after %q", second, first)
	}
	if again := page(t, s, store.Query{Collection: "sted", Limit: 1}).Rows[0]; again.ID != row.ID ||
		again.Rev == row.Rev {
		t.Errorf("row %v after %v", again, row)
	}
}

// crash ends one process of a server of the test's own, so that it ends all connections and recovers, and waits until
// it has.
func crash(t *testing.T, url string) {
	t.Helper()
	ctx := t.Context()
	var both [2]*pgx.Conn
	for i := range both {
		c, err := pgx.Connect(ctx, url)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close(context.Background())
		both[i] = c
	}
	if _, err := both[0].Exec(ctx, "DO $$ BEGIN EXECUTE format('COPY (SELECT 1) TO PROGRAM ''kill -9 %s''', "+
		"pg_backend_pid()); END $$"); err == nil {
		t.Fatal("the process of a connection is still there")
	}
	eventually(t, "all connections ended", func() bool { _, err := both[1].Exec(ctx, "SELECT 1"); return err != nil })
	eventually(t, "recovered", func() bool {
		c, err := pgx.Connect(ctx, url)
		if err == nil {
			c.Close(ctx)
		}
		return err == nil
	})
}
