package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"grense/internal/store/storetest"
)

// cluster serves the tests that need a database.
var cluster storetest.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// TestDatabase goes an operator's way with a PostGIS database: import, check, keys, serve.
func TestDatabase(t *testing.T) {
	t.Parallel()
	db := cluster.Database(t)
	secret, password := withPassword(t, db)
	dir := t.TempDir()
	told := func(text string) {
		t.Helper()
		if strings.Contains(text, password) {
			t.Errorf("the password is told: %s", text)
		}
	}
	file := filepath.Join(dir, "ruter.geojson")
	writeFile(t, file, squares(30))
	code, stdout, stderr := command(t, dir, "import", file, "--into", secret, "--collection", "ruter",
		"--id-field", "nr")
	if told(stdout + stderr); code != 0 || !strings.Contains(stdout, "30 features") {
		t.Fatalf("import: status %d, %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = command(t, dir, "import", file, "--into", secret, "--collection", "ruter")
	if told(stdout + stderr); code == 0 || !strings.Contains(stderr, "--replace") {
		t.Errorf("a second import: status %d, %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = command(t, dir, "check", secret)
	if told(stdout + stderr); code != 0 || !strings.Contains(stdout, "ruter") {
		t.Errorf("check: status %d, %s%s", code, stdout, stderr)
	}
	key, id := createKey(t, dir, "--name", "felles", "--source", secret)
	s := serve(t, dir, secret, "--addr", "127.0.0.1:0")
	if code, body := s.get(t, "/collections/ruter/items?limit=2", key); code != http.StatusOK ||
		!strings.Contains(body, `"numberMatched":30`) {
		t.Errorf("items: %d %s", code, body)
	}
	code, stdout, stderr = command(t, dir, "key", "revoke", id, "--source", secret)
	if told(stdout + stderr); code != 0 {
		t.Errorf("revoke: status %d, %s%s", code, stdout, stderr)
	}
	code, stdout, stderr = command(t, dir, "key", "list", "--source", "data.gpkg")
	if code == 0 || !strings.Contains(stderr, "postgres://") {
		t.Errorf("keys of a file: status %d, %s%s", code, stdout, stderr)
	}
	s.stop()
	if s.exit(t) != 0 {
		t.Error("serve did not end well")
	}
}

// TestCheckListsCollectionsWithoutCachedResponses: responses about a view are not cached,
// until a materialised view is in its place.
func TestCheckListsCollectionsWithoutCachedResponses(t *testing.T) {
	t.Parallel()
	db, dir := cluster.Database(t), t.TempDir()
	statement(t, db,
		`CREATE TABLE steder (nr TEXT PRIMARY KEY, geom geometry(Point, 4258)); INSERT INTO steder VALUES ('1', `+
			`'SRID=4258;POINT(10 60)'); CREATE TABLE andre AS TABLE steder; ALTER TABLE andre ADD PRIMARY KEY (nr)`)
	const says = "responses are not cached, nor are those about all collections"
	for _, x := range []struct {
		change string
		tells  bool
	}{
		{"SELECT 1", false},
		{"CREATE VIEW vist AS SELECT * FROM steder WHERE nr < '5'", true},
		{"DROP VIEW vist; CREATE MATERIALIZED VIEW vist AS SELECT * FROM steder WHERE nr < '5'; " +
			"CREATE UNIQUE INDEX ON vist (nr)", false},
	} {
		statement(t, db, x.change)
		code, stdout, stderr := command(t, dir, "check", db)
		if tells := strings.Contains(stdout, "\nvist: responses are not cached") &&
			strings.Contains(stdout, says); code != 0 || tells != x.tells || strings.Contains(stdout, says) != x.tells {
			t.Errorf("after %s: status %d, told %v, want %v: %s%s", x.change, code, tells, x.tells, stdout, stderr)
		}
	}
}

// statement executes statements as a superuser.
func statement(t *testing.T, address, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// withPassword returns an address with a password, which a private server does not look at, and the password.
func withPassword(t *testing.T, address string) (with, password string) {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	password, stated := u.User.Password()
	if !stated {
		password = "s3cret"
		u.User = url.UserPassword(u.User.Username(), password)
	}
	return u.String(), password
}

func TestDatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := command(t, t.TempDir(), "check", "postgres://u:s3cret@127.0.0.1:1/d")
	if code == 0 || strings.Contains(stdout+stderr, "s3cret") || !strings.Contains(stderr, "127.0.0.1:1") {
		t.Errorf("status %d, %s%s", code, stdout, stderr)
	}
}

// sql runs statements in a database as its superuser.
func sql(t *testing.T, db, text string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	if _, err := c.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

// timeMember is what differs between two servers of the same data; lengths of files are sent as soon as each server
// knows them, and each signs its cursors.
var timeMember = regexp.MustCompile(`"timeStamp":\s*"[^"]*"|&revision=[0-9a-f]+|,"length":[0-9]+|cursor=[A-Za-z0-9_-]+`)

// alike compares the answers of two servers, but for their addresses and the time.
func alike(t *testing.T, a, b *running, paths ...string) {
	t.Helper()
	for _, p := range paths {
		var text [2]string
		for i, s := range []*running{a, b} {
			code, body := s.get(t, p, "")
			if code != http.StatusOK {
				t.Errorf("%s: status %d", p, code)
			}
			text[i] = timeMember.ReplaceAllString(strings.ReplaceAll(body, s.base, "http://grense"), "")
		}
		if text[0] != text[1] || len(text[0]) < 100 {
			i := 0
			for i < min(len(text[0]), len(text[1])) && text[0][i] == text[1][i] {
				i++
			}
			from := max(0, i-150)
			t.Errorf("%s differs at byte %d:\n%.400s\n%.400s", p, i, text[0][from:], text[1][from:])
		}
	}
}

// TestImportFromADatabase takes a layer from a GeoPackage into PostGIS and back; the three are served alike.
func TestImportFromADatabase(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	dir := t.TempDir()
	db, file, back := cluster.Database(t), demoCopy(t, dir), filepath.Join(dir, "back.gpkg")
	for _, layer := range []string{"fylker", "kommuner"} {
		for _, way := range [][2]string{{file, db}, {db, back}} {
			code, stdout, stderr := command(t, dir, "import", way[0], "--into", way[1], "--collection", layer,
				"--layer", layer)
			if code != 0 || !strings.Contains(stdout, "0 warnings") || !strings.Contains(stdout, "id from nr") {
				t.Fatalf("%v: status %d, %s%s", way, code, stdout, stderr)
			}
		}
	}
	paths := []string{"/collections?f=json"}
	for _, layer := range []string{"fylker", "kommuner"} {
		c := "/collections/" + layer
		paths = append(paths, c+"?f=json", c+"/schema?f=json", c+"/queryables?f=json", c+"/items?f=json&limit=500",
			c+"/items?f=json&limit=10&sortby=-navn",
			c+"/items?f=json&limit=500&crs=http://www.opengis.net/def/crs/EPSG/0/25833",
			c+"/items?f=json&bbox=10,59,12,61", c+"/items?f=json&q=os")
	}
	// the demo has more than was imported
	conf := writeFile(t, filepath.Join(dir, "grense.yaml"),
		"auth: open\ncollections: {sted: {hidden: true}, stedsnavn: {hidden: true}}\n")
	of := func(source string) *running { return serve(t, t.TempDir(), source, "--config", conf) }
	first, database, last := of(file), of(db), of(back)
	alike(t, first, database, paths[1:]...)
	alike(t, database, last, paths...)
}

// TestImportOfForeignTables keeps types that no row shows, ids, reference systems, comments and empty tables.
func TestImportOfForeignTables(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	db, dir := cluster.Database(t), t.TempDir()
	sql(t, db,
		`CREATE TABLE punkt (kode VARCHAR(8) PRIMARY KEY, navn TEXT, folk INT, areal NUMERIC(8, 2), aktiv BOOL, dag DATE, sist TIMESTAMPTZ, mer JSONB, tomt BIGINT,
		  tom_dag DATE, geom GEOMETRY(PointZ, 25833));
		COMMENT ON TABLE punkt IS 'Punkter'; COMMENT ON COLUMN punkt.folk IS 'Innbyggere';
		INSERT INTO punkt VALUES ('0301', 'Oslo', 700000, 454.10, TRUE, '2024-02-29', '2024-02-29 12:00:00.5+01', '{"a": [1, null]}', NULL, NULL, 'SRID=25833;POINT Z (262000 6650000 12.5)'),
		  ('b', '2024-01-01', 5, 7, FALSE, NULL, NULL, NULL, NULL, NULL, NULL), ('B', NULL, NULL, NULL, NULL, '1814-05-17', NULL, '[]', NULL, NULL, 'SRID=25833;POINT Z (262001.25 6650001 0)');
		CREATE SCHEMA kart; CREATE TABLE kart."Tomme ting" (gid INT PRIMARY KEY, "id" TEXT, navn TEXT, n FLOAT8, geom GEOMETRY(MultiPolygon, 4258));`)
	into := filepath.Join(dir, "ut.gpkg")
	for layer, id := range map[string]string{"punkt": "punkt", "kart.Tomme ting": "kart_tomme_ting"} {
		if code, stdout, stderr := command(t, dir, "import", db, "--into", into, "--collection", id, "--layer",
			layer); code != 0 || strings.Contains(stdout+stderr, "warning:") {
			t.Fatalf("%s: status %d, %s%s", layer, code, stdout, stderr)
		}
	}
	a, b := serve(t, t.TempDir(), db, "--auth", "open"), serve(t, t.TempDir(), into, "--auth", "open")
	items := "/items?f=json&filter-lang=cql2-text"
	alike(t, a, b, "/collections/punkt/schema?f=json", "/collections/punkt"+items,
		"/collections/punkt"+items+"&crs=http://www.opengis.net/def/crs/EPSG/0/25833",
		"/collections/punkt/items/0301?f=json", "/collections/punkt"+items+"&filter=tomt+IS+NULL",
		"/collections/punkt"+items+"&filter=tom_dag+IS+NULL+AND+areal+%3C+10",
		"/collections/kart_tomme_ting"+items)
	for name, c := range map[string]struct{ args, want string }{
		"no layer":  {db, "choose one with --layer"},
		"none such": {db + " --layer finnes_ikke", "no layer finnes_ikke"},
		"crs":       {db + " --layer punkt --crs EPSG:4326", "--crs is for files"},
		"refused":   {"postgres://u:s3cret@127.0.0.1:1/d --layer x", "127.0.0.1:1"},
		"exists":    {db + " --layer punkt", "--replace"},
	} {
		args := append([]string{"import", "--into", into, "--collection", "punkt"}, strings.Fields(c.args)...)
		if code, stdout, stderr := command(t, dir, args...); code == 0 || !strings.Contains(stderr, c.want) ||
			strings.Contains(stdout+stderr, "s3cret") {
			t.Errorf("%s: status %d, %s%s", name, code, stdout, stderr)
		}
	}
}

// TestServeWaitsForTheDatabase starts before the database can be reached.
func TestServeWaitsForTheDatabase(t *testing.T) {
	t.Parallel()
	server := cluster.Database(t)
	sql(t, server, "CREATE TABLE punkt (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO punkt VALUES "+
		"(1, 'SRID=4258;POINT(10 60)')")
	address, password := withPassword(t, server)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	database := u.Host
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	u.Host = l.Addr().String()
	l.Close() // nobody listens
	var logs, out output
	logs.changed, out.changed = make(chan struct{}, 1), make(chan struct{}, 1)
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	code := make(chan int, 1)
	go func() {
		code <- run(ctx, &process{Args: []string{"serve", u.String(), "--addr", "127.0.0.1:0", "--auth", "open"},
			Environ: append(environ(dir), "GRENSE_LIMITS_DRAIN_WAIT=0s"),
			Stdout:  &out, Stderr: &logs})
	}()
	logs.await(t, "trying again")
	if text := logs.await(t, u.Host); strings.Contains(text, password) {
		t.Errorf("the password is told: %s", text)
	}
	if l, err = net.Listen("tcp", u.Host); err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				d, err := net.Dial("tcp", database)
				if err != nil {
					return
				}
				defer d.Close()
				go io.Copy(d, c) // ends with d
				io.Copy(c, d)
			}()
		}
	}()
	out.await(t, "for programs")
	stop()
	if c := <-code; c != 0 {
		t.Errorf("status %d: %s", c, &logs)
	}
}

// TestCheckOfADatabase describes what is missing, with the cure; what is cured is no longer listed.
func TestCheckOfADatabase(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	db, dir := cluster.Database(t), t.TempDir()
	sql(t, db,
		`CREATE TABLE punkt (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258)); CREATE TABLE lukket (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258));
		CREATE TABLE stor (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO stor SELECT i, NULL FROM generate_series(1, 2000) i; ANALYZE stor;`)
	role, asRole := storetest.Role(t, db, "")
	sql(t, db, "REVOKE CREATE ON SCHEMA public FROM PUBLIC; GRANT SELECT ON punkt, stor TO "+role)
	check := func(address string, want int, told ...string) {
		t.Helper()
		code, stdout, stderr := command(t, dir, "check", address)
		if code != want {
			t.Errorf("status %d, want %d: %s%s", code, want, stdout, stderr)
		}
		for _, w := range told {
			not := strings.HasPrefix(w, "not: ")
			if w = strings.TrimPrefix(w, "not: "); strings.Contains(stdout, w) == not {
				t.Errorf("%q is told: %v\n%s", w, not, stdout)
			}
		}
	}
	check(asRole, 0, "there is no schema grense, and the role "+role+" may not create it",
		"GRANT SELECT ON public.lukket TO "+role, "CREATE INDEX ON public.stor USING gist (geom)", "not: punkt is not")
	check(db, 0, "there is no schema grense; creating a key", "not: lukket is not served")
	if code, stdout, stderr := command(t, dir, "key", "list", "--source", db); code != 0 {
		t.Fatalf("status %d, %s%s", code, stdout, stderr)
	}
	check(asRole, exitFailed, "GRANT USAGE ON SCHEMA grense TO "+role)
	sql(t, db, "GRANT USAGE ON SCHEMA grense TO "+role)
	check(asRole, exitFailed, "GRANT SELECT ON grense.migration TO "+role, "GRANT SELECT ON grense.collection TO "+role,
		"GRANT SELECT, INSERT, UPDATE ON grense.api_key TO "+role,
		"GRANT CREATE ON SCHEMA grense TO "+role, "not: GRANT USAGE")
	sql(t, db, "GRANT SELECT ON grense.migration, grense.collection TO "+role)
	check(asRole, 0, "not: grense.collection", "GRANT SELECT, INSERT, UPDATE ON grense.api_key")
	check(db, 0, "not: migrations are missing")
	sql(t, db, "INSERT INTO grense.migration VALUES (9999, 'fremtid')")
	check(asRole, exitFailed, "migration 9999 in the schema grense is of a newer version")
	sql(t, db, "DELETE FROM grense.migration; DROP TABLE grense.api_key, grense.collection")
	check(asRole, exitFailed, "migrations are missing in the schema grense: 0001_collection;", "grense check --migrate")
	if code, stdout, stderr := command(t, dir, "check", "--migrate", db); code != 0 ||
		strings.Contains(stdout, "migrations are missing") {
		t.Errorf("--migrate: status %d, %s%s", code, stdout, stderr)
	}
	if code, _, stderr := command(t, dir, "check", "--migrate", asRole); code != exitFailed ||
		!strings.Contains(stderr, "permission denied") {
		t.Errorf("--migrate by a role that may not: status %d, %s", code, stderr)
	}
	if code, _, stderr := command(t, dir, "check", "--migrate", demoCopy(t, dir)); code != exitFailed ||
		!strings.Contains(stderr, "--migrate is for databases") {
		t.Errorf("--migrate of a file: status %d, %s", code, stderr)
	}
}
