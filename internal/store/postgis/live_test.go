package postgis_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"grense/internal/cache"
	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/postgis/statedb"
	"grense/internal/store/storetest"
)

func TestRowsAreLive(t *testing.T) {
	t.Parallel()
	url := base(t, places)
	s := openStore(t, url, postgis.Options{})
	q := store.Query{Collection: "sted", Limit: 10}
	before := page(t, s, q)
	run(t, url, "UPDATE sted SET navn = 'Bjørgvin' WHERE kode = 'b'; INSERT INTO sted VALUES ('c', 'C', NULL)")
	after := page(t, s, q)
	if after.Matched != 4 || ids(after) != "B a b c" || values(t, s, "sted", "b")["navn"] != "Bjørgvin" {
		t.Errorf("%+v", after)
	}
	if before.Rows[1] != after.Rows[1] || before.Rows[2].Rev == after.Rows[2].Rev {
		t.Errorf("only the changed row has a new revision: %v, then %v", before.Rows, after.Rows)
	}
	f := func(x *store.Feature) error {
		if x.Rev != after.Rows[2].Rev {
			t.Errorf("the revision fetched is %d, the one of the page %d", x.Rev, after.Rows[2].Rev)
		}
		return nil
	}
	if err := s.Fetch(context.Background(), "sted", store.Current("b"), store.Want{}, f); err != nil {
		t.Error(err)
	}
	var given []string
	err := s.Fetch(context.Background(), "sted", before.Rows, store.Want{}, func(x *store.Feature) error {
		given = append(given, x.ID)
		return nil
	})
	if !errors.Is(err, store.ErrChanged) || len(given) > 2 {
		t.Errorf("a page of before the change: %v after %v", err, given)
	}
	run(t, url, "DELETE FROM sted WHERE kode = 'c'")
	if err := s.Fetch(context.Background(), "sted", after.Rows, store.Want{}, func(*store.Feature) error {
		return nil
	}); !errors.Is(err, store.ErrChanged) {
		t.Errorf("a page with a row that is gone: %v", err)
	}
}

func TestDefinitionsAreSeenWithinFiveSeconds(t *testing.T) {
	t.Parallel()
	url := base(t, places)
	s := openStore(t, url, postgis.Options{})
	page(t, s, store.Query{Collection: "sted", Limit: 1}) // prepared statements are of the old definition
	version := s.Catalog().Version
	run(t, url,
		"ALTER TABLE sted ADD folk INT DEFAULT 5; CREATE TABLE ny (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258))")
	page(t, s, store.Query{Collection: "sted", Limit: 1})
	eventually(t, "a new table and column", func() bool {
		c, _ := s.Catalog().Collection("sted")
		_, column := c.Find("folk")
		_, table := s.Catalog().Collection("ny")
		return column && table
	})
	if s.Catalog().Version == version || values(t, s, "sted", "a")["folk"] != int64(5) {
		t.Error("the version did not change, or the new column is not read")
	}
	run(t, url, "ALTER TABLE sted ALTER folk TYPE TEXT")
	if _, err := s.Page(context.Background(), store.Query{Collection: "sted", Limit: 1}); err != nil {
		t.Errorf("after a change of type: %v", err)
	}
}

func TestDroppedTable(t *testing.T) {
	t.Parallel()
	url := base(t, places+"CREATE TABLE annet (id INT PRIMARY KEY);")
	s := openStore(t, url, postgis.Options{})
	run(t, url, "DROP TABLE sted")
	if _, err := s.Page(context.Background(), store.Query{Collection: "sted", Limit: 1}); !errors.Is(err,
		store.ErrUnavailable) {
		t.Errorf("page: %v, want unavailable until the catalog is new", err)
	}
	eventually(t, "out of the catalog", func() bool { _, ok := s.Catalog().Collection("sted"); return !ok })
}

// slow is a view whose rows take a minute.
const slow = places + `CREATE VIEW treg AS SELECT kode, navn, geom FROM sted WHERE pg_sleep(CASE WHEN ` +
	`current_setting('grense.vent', TRUE) = '1' THEN 60 ELSE 0 END) IS NOT NULL;`

// active counts the sessions of a database, other than the asking one, that run a statement with that text.
func active(t testing.TB, url, text string) int {
	t.Helper()
	return count(t, url, text, " AND state = 'active'")
}

// sessions is active for those, too, whose last statement has ended.
func sessions(t testing.TB, url, text string) int {
	t.Helper()
	return count(t, url, text, "")
}

func count(t testing.TB, url, text, and string) (n int) {
	t.Helper()
	c, err := pgx.Connect(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	err = c.QueryRow(context.Background(),
		"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() AND "+
			"position($1 in query) > 0"+and, text).Scan(&n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// slowed opens a store whose questions of treg take long from now on, on new connections.
func slowed(t *testing.T) (url string, s *postgis.Store) {
	t.Helper()
	url = base(t, slow)
	s = openStore(t, url, postgis.Options{})
	run(t, url, "ALTER DATABASE "+databaseOf(url)+" SET grense.vent = '1'")
	run(t, url, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid "+
		"<> pg_backend_pid()")
	return url, s
}

func TestQuestionOfAClientThatHangsUpIsCancelled(t *testing.T) {
	t.Parallel()
	url, s := slowed(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := s.Page(ctx, store.Query{Collection: "treg", Limit: 1})
		done <- err
	}()
	eventually(t, "running", func() bool { return active(t, url, "treg") > 0 })
	start := time.Now()
	cancel()
	for active(t, url, "treg") > 0 {
		if time.Since(start) > 30*time.Second {
			t.Fatal("the question still runs")
		}
	}
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestQuestionEndsWithItsDeadline(t *testing.T) {
	t.Parallel()
	_, s := slowed(t)
	page(t, s, store.Query{Collection: "sted", Limit: 1}) // on a new connection, which has the setting
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	if _, err := s.Page(ctx, store.Query{Collection: "treg", Limit: 1}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("error %v", err)
	}
}

func databaseOf(url string) string {
	c, err := pgx.ParseConfig(url)
	if err != nil {
		panic(err)
	}
	return c.Database
}

func TestBackendKilledMidQuery(t *testing.T) {
	t.Parallel()
	url := base(t, slow)
	s := openStore(t, url, postgis.Options{})
	run(t, url, "ALTER DATABASE "+databaseOf(url)+" SET grense.vent = '1'")
	const kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid " +
		"<> pg_backend_pid()"
	run(t, url, kill)
	page(t, s, store.Query{Collection: "sted", Limit: 1}) // on a new connection, which has the setting
	done := make(chan error, 1)
	go func() {
		_, err := s.Page(context.Background(), store.Query{Collection: "treg", Limit: 1})
		done <- err
	}()
	killed := 0
	eventually(t, "ended", func() bool { // it is asked once more on a new connection, which is killed too
		select {
		case err := <-done:
			if killed < 2 || !errors.Is(err, store.ErrUnavailable) {
				t.Errorf("error %v after %d kills, want unavailable after two", err, killed)
			}
			return true
		default:
		}
		if active(t, url, "treg") > 0 { // which a backend is for a moment after it was killed
			run(t, url, kill)
			killed++
		}
		return false
	})
	if p := page(t, s, store.Query{Collection: "sted", Limit: 1}); p.Matched != 3 {
		t.Errorf("afterwards: %+v", p)
	}
}

// TestServerAway stops a server of its own and starts it again.
func TestServerAway(t *testing.T) {
	t.Parallel()
	alone := storetest.Cluster{Private: true}
	t.Cleanup(alone.Stop)
	url := alone.Database(t)
	run(t, url, places)
	var l logs
	s := openStore(t, url, postgis.Options{Poll: 100 * time.Millisecond, Logger: l.logger()})
	page(t, s, store.Query{Collection: "sted", Limit: 1})
	if ours, err := alone.Halt(); err != nil || !ours {
		t.Fatal(ours, err)
	}
	if _, err := s.Page(context.Background(), store.Query{Collection: "sted", Limit: 1}); !errors.Is(err,
		store.ErrUnavailable) {
		t.Errorf("page: %v, want unavailable", err)
	}
	if err := s.Ready(context.Background()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("ready: %v, want unavailable", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	opened := make(chan error, 1)
	var waiting logs
	go func() {
		s, err := postgis.Open(ctx, url, postgis.Options{Wait: true, Logger: waiting.logger()})
		if err == nil {
			err = s.Close()
		}
		opened <- err
	}()
	eventually(t, "told what was tried", func() bool {
		return strings.Contains(waiting.String(), "trying again") && strings.Contains(waiting.String(), "127.0.0.1")
	})
	if err := alone.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(context.Background()); err != nil {
		t.Errorf("ready after the server is back: %v", err)
	}
	if p := page(t, s, store.Query{Collection: "sted", Limit: 1}); p.Matched != 3 {
		t.Errorf("after the server is back: %+v", p)
	}
	if err := <-opened; err != nil {
		t.Errorf("a start while the server was away: %v", err)
	}
	eventually(t, "noticed", func() bool {
		return strings.Contains(l.String(), "answers again") || !strings.Contains(l.String(), "cannot be read")
	})
}

func TestRefusedConnections(t *testing.T) {
	t.Parallel()
	nobody, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := nobody.Addr().String()
	nobody.Close()
	_, err = postgis.Open(context.Background(), "postgres://u:s3cret@"+address+"/d", postgis.Options{})
	if !errors.Is(err, store.ErrUnavailable) || !strings.Contains(err.Error(), address) ||
		strings.Contains(err.Error(), "s3cret") {
		t.Errorf("error %v", err)
	}
}

func TestExhaustedConnections(t *testing.T) {
	t.Parallel()
	url := base(t, places)
	s := openStore(t, url, postgis.Options{Poll: time.Hour})
	role, asRole := storetest.Role(t, url, "CONNECTION LIMIT 1")
	run(t, url, "GRANT SELECT ON sted TO "+role)
	one, err := pgx.Connect(context.Background(), asRole)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := postgis.Open(context.Background(), asRole, postgis.Options{}); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("open without a connection left: %v", err)
	}
	one.Close(context.Background())
	eventually(t, "a connection free again", func() bool {
		s, err := postgis.Open(context.Background(), asRole, postgis.Options{})
		if err == nil {
			s.Close()
		}
		return err == nil
	})
	page(t, s, store.Query{Collection: "sted", Limit: 1})
}

func TestPasswordsAreNotTold(t *testing.T) {
	t.Parallel()
	for _, url := range []string{
		"postgres://u:s3cret@h:port/d", "postgres://u:s3cret@h/d?sslmode=nonsense", "postgres://u:s3cret@127.0.0.1:1/d",
		"postgres://u:s3%cret@h/d",
		"host=127.0.0.1 port=1 password=s3cret", "host=127.0.0.1 port=x password='s3cret'",
		"postgres://127.0.0.1:1/d?password=s3cret",
	} {
		_, err := postgis.Open(context.Background(), url, postgis.Options{})
		if err == nil || strings.Contains(err.Error(), "cret") {
			t.Errorf("%s: error %v", url, err)
		}
	}
}

// TestExtentsStayUntilRowsAreWrittenAnew: a changed definition must be seen soon, also of a table
// whose reading takes minutes.
func TestExtentsStayUntilRowsAreWrittenAnew(t *testing.T) {
	t.Parallel()
	url := base(t, places+"CREATE VIEW utsnitt AS SELECT kode, geom FROM sted;")
	s := openStore(t, url, postgis.Options{Poll: 100 * time.Millisecond})
	east := func(id string) float64 {
		c, ok := s.Catalog().Collection(id)
		if !ok || c.Extent == nil {
			t.Fatalf("%s has no extent", id)
		}
		return c.Extent.Max[0]
	}
	column := func(name string) func() bool {
		return func() bool {
			c, ok := s.Catalog().Collection("sted")
			if !ok {
				return false
			}
			_, ok = c.Find(name)
			return ok
		}
	}
	run(t, url, "UPDATE sted SET geom = 'SRID=4258;POINT(20 60)' WHERE kode = 'a'; ALTER TABLE sted ADD en INT")
	eventually(t, "the new column", column("en"))
	if e := east("sted"); e != 10.8 {
		t.Errorf("the geometries of the table were read again: x to %v", e)
	}
	if e := east("utsnitt"); e != 20 {
		t.Errorf("of a view nothing is known, so it has to be read: x to %v", e)
	}
	run(t, url, "VACUUM FULL sted")
	run(t, url, "ALTER TABLE sted ADD tre INT")
	eventually(t, "one more column", column("tre"))
	eventually(t, "the extent of a table that was written anew", func() bool { return east("sted") == 20 })
	run(t, url, "UPDATE sted SET geom = 'SRID=4258;POINT(30 60)' WHERE kode = 'a'")
	if err := s.Reload(context.Background()); err != nil || east("sted") != 30 {
		t.Errorf("after Reload: %v, x to %v", err, east("sted"))
	}
}

// TestImportIsToldToServers: without waiting for the next look.
func TestImportIsToldToServers(t *testing.T) {
	t.Parallel()
	url := base(t, places)
	s := openStore(t, url, postgis.Options{Poll: time.Hour})
	eventually(t, "listening", func() bool { return sessions(t, url, "LISTEN") > 0 })
	create(t, url, func(w store.Writer) {
		c := &store.Collection{ID: "a", Table: "tabell", Public: true,
			Key: store.FeatureKey{Column: "id", Type: cql2.TypeInteger}}
		if err := w.Define(context.Background(), c, false); err != nil {
			t.Error(err)
		}
	})
	eventually(t, "served", func() bool { _, ok := s.Catalog().Collection("a"); return ok })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	eventually(t, "the connection closed", func() bool { return sessions(t, url, "LISTEN") == 0 })
}

// TestReloadHasItsOwnTime: a question that had little time leaves no limit to the reading of tables.
func TestReloadHasItsOwnTime(t *testing.T) {
	t.Parallel()
	url := base(t, `CREATE TABLE vent (sekunder DOUBLE PRECISION NOT NULL); INSERT INTO vent VALUES (0);
		CREATE TABLE sted (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO sted VALUES (1, 'SRID=4258;POINT(5 60)');
		CREATE VIEW treg AS SELECT id, CASE WHEN pg_sleep(sekunder) IS NOT NULL THEN geom END::GEOMETRY(Point, 4258) AS geom FROM sted, vent`)
	s := openStore(t, url+"&pool_max_conns=1", postgis.Options{Poll: time.Hour})
	ctx, cancel := context.WithTimeout(context.Background(), 500*time.Millisecond)
	defer cancel()
	if _, err := s.Page(ctx, store.Query{Collection: "sted", Limit: 1}); err != nil {
		t.Fatal(err)
	}
	run(t, url, "UPDATE vent SET sekunder = 3")
	if err := s.Reload(context.Background()); err != nil {
		t.Error(err)
	}
}

// TestCountsThatTookLong: they are cached for a while, but are never below what a page shows,
// and end with the definitions.
func TestCountsThatTookLong(t *testing.T) {
	t.Parallel()
	url := base(t,
		`CREATE TABLE sted (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO sted SELECT i, 'SRID=4258;POINT(5 60)' FROM generate_series(1, 50) i;
		CREATE VIEW treg AS SELECT id, geom FROM sted WHERE pg_sleep(0.02) IS NOT NULL`)
	caches := &cache.Group{}
	s := openStore(t, url, postgis.Options{Poll: time.Hour, Caches: caches})
	q := store.Query{Collection: "treg", Limit: 2, Count: store.CountExact}
	matched := func(offset int) int {
		q.Offset = offset
		return page(t, s, q).Matched
	}
	matched(0) // together with its page
	if n := matched(0); n != 50 {
		t.Fatalf("matched %d", n)
	}
	run(t, url, "INSERT INTO sted SELECT i, 'SRID=4258;POINT(5 60)' FROM generate_series(51, 60) i")
	if n := matched(0); n != 50 {
		t.Errorf("the count was not cached: %d", n)
	}
	if !slices.ContainsFunc(caches.Stats(), func(x cache.Stats) bool {
		return x.Name == "counts" && x.Entries > 0 && x.Bytes > 0
	}) {
		t.Errorf("caches %+v: no count", caches.Stats())
	}
	if n := matched(55); n < 57 {
		t.Errorf("features 56 and 57 of %d", n)
	}
	if err := s.Reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	if n := matched(0); n != 60 {
		t.Errorf("after Reload: matched %d", n)
	}
}

// TestRefusedUserEndsTheStart: to wait does not help a user whom the server does not let in,
// unlike a server that is away.
func TestRefusedUserEndsTheStart(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(cluster.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword("finnes_ikke", "s3cret")
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // only a failure takes so long
	defer cancel()
	_, err = postgis.Open(ctx, u.String(), postgis.Options{Wait: true})
	_, errState := statedb.Open(ctx, u.String())
	for _, err := range []error{err, errState} {
		if !errors.Is(err, conn.ErrRefused) || errors.Is(err, store.ErrUnavailable) ||
			!strings.Contains(err.Error(), "pg_hba.conf") || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("error %v", err)
		}
	}
}
