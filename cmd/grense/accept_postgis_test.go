package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"grense/internal/await"
	"grense/internal/demo"
	"grense/internal/register"
	"grense/internal/store/postgis/writer"
	"grense/internal/store/storetest"
)

// soon is the time in which every process must see a change.
const soon = 5 * time.Second

// grense runs the program to its end and returns what it prints.
func grense(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientTime)
	defer cancel()
	cmd := program(t, ctx, t.TempDir(), args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("grense %v: %v\n%s%s", args, err, out, &errs)
	}
	return string(out)
}

func execute(t *testing.T, url, sql string) {
	t.Helper()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.WithoutCancel(t.Context()))
	if _, err := c.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// within fails the test unless ok becomes true in time at every server, and returns how long the last one took.
func within(t *testing.T, limit time.Duration, servers []*serving, what string, ok func(*serving) bool) {
	t.Helper()
	start := time.Now()
	for i, s := range servers {
		await.Within(t, limit-time.Since(start), what, func() error {
			if ok(s) {
				return nil
			}
			var told []string
			for l := range strings.Lines(s.logged(t)) {
				if !strings.Contains(l, `"msg":"request"`) {
					told = append(told, l)
				}
			}
			return fmt.Errorf("server %d logged %s", i, told)
		})
	}
	t.Logf("%s after %v", what, time.Since(start).Round(10*time.Millisecond))
}

// database fills a database of a cluster with the layers of a file of the shared data, named as they are.
func database(t *testing.T, cluster *storetest.Cluster, file string, layers map[string]string) string {
	t.Helper()
	address := cluster.Database(t)
	for name, id := range layers {
		args := []string{"import", sharedPath(t, "data", file), "--into", address, "--collection", id}
		if name != "" {
			args = append(args, "--layer", name)
		}
		grense(t, args...)
	}
	return address
}

// TestAcceptProcessesWithAReplica runs three servers on one database with a streaming replica.
// What one process changes, the others see; when the primary is killed, all three go on with the replica.
func TestAcceptProcessesWithAReplica(t *testing.T) {
	accept(t)
	t.Parallel()
	cluster := storetest.Cluster{Private: true}
	t.Cleanup(cluster.Stop)
	primary := database(t, &cluster, "norway/kartverket-fylker-25833.gpkg", map[string]string{"fylker": "fylker"})
	execute(t, primary, "CREATE TABLE punkt (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258)); "+
		"INSERT INTO punkt VALUES (1, 'SRID=4258;POINT(10 60)')")
	grense(t, "key", "list", "--source", primary) // makes the table of keys
	replica := cluster.Replica(t, primary)
	u, err := url.Parse(primary)
	if err != nil {
		t.Fatal(err)
	}
	second, err := url.Parse(replica)
	if err != nil {
		t.Fatal(err)
	}
	u.Host += "," + second.Host
	both := u.String()
	var servers []*serving
	for _, source := range []string{both, both + "&target_session_attrs=any",
		both + "&target_session_attrs=prefer-standby"} {
		servers = append(servers, serveShared(t, source))
	}
	status := func(path, key string) func(*serving) int {
		return func(s *serving) int {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("X-API-Key", key)
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			if _, err := io.Copy(io.Discard, resp.Body); err != nil {
				t.Error(err)
			}
			return resp.StatusCode
		}
	}
	const page = "/collections/fylker/items?limit=3"
	made := strings.TrimSpace(grense(t, "key", "create", "--name", "for all", "--source",
		both+"&target_session_attrs=prefer-standby"))
	within(t, soon, servers, "a new key is valid", func(s *serving) bool {
		return status(page, made)(s) == http.StatusOK
	})
	grense(t, "key", "revoke", made, "--source", both)
	within(t, soon, servers, "a revoked key is refused", func(s *serving) bool {
		return status(page, made)(s) == http.StatusUnauthorized
	})
	key := strings.TrimSpace(grense(t, "key", "create", "--name", "that stays", "--source", both))
	within(t, soon, servers, "another key is valid", func(s *serving) bool {
		s.key = key
		return status(page, key)(s) == http.StatusOK
	})
	execute(t, primary, "UPDATE punkt SET geom = NULL; ALTER TABLE punkt ADD navn TEXT DEFAULT 'ny'; "+
		"CREATE TABLE ny (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258))")
	within(t, soon, servers, "a changed definition is served", func(s *serving) bool {
		_, body, err := s.get(t.Context(), "/collections/punkt/items/1")
		return err == nil && bytes.Contains(body, []byte(`"navn":"ny"`)) &&
			status("/collections/ny", "")(s) == http.StatusOK
	})
	var before [3][]byte
	for i, s := range servers {
		_, before[i], _ = s.get(t.Context(), page+"&f=csv")
		if !bytes.Equal(before[i], before[0]) || len(before[i]) < 100 {
			t.Errorf("server %d answers %.300s, the first %.300s", i, before[i], before[0])
		}
	}
	if ours, err := cluster.Halt(); err != nil || !ours {
		t.Fatal(ours, err)
	}
	within(t, soon, servers, "reads go on without the primary", func(s *serving) bool {
		code, body, err := s.get(t.Context(), page+"&f=csv")
		ready, _, _ := s.get(t.Context(), "/readyz")
		return err == nil && code == http.StatusOK && bytes.Equal(body, before[0]) && ready == http.StatusOK
	})
	for i, s := range servers {
		for n := range 30 { // other questions than before, so that nothing comes from a cache
			if c := status(fmt.Sprintf("/collections/fylker/items?limit=%d&offset=%d", 1+n%4, n%10),
				key)(s); c != http.StatusOK {
				t.Errorf("server %d: status %d without the primary", i, c)
			}
		}
	}
	late := serveShared(t, both) // a process that starts now
	late.key = key
	within(t, soon, []*serving{late}, "a new process answers without the primary", func(s *serving) bool {
		return status(page, key)(s) == http.StatusOK
	})
	if err := cluster.Resume(); err != nil {
		t.Fatal(err)
	}
	// The replica looks for the primary every five seconds; keys are read there until connections are renewed.
	again := ""
	await.True(t, "keys can be made again", func() bool {
		again = strings.TrimSpace(grense(t, "key", "create", "--name", "after", "--source", both))
		return again != ""
	})
	within(t, 4*soon, append(servers, late), "a key made after the primary is back", func(s *serving) bool {
		return status(page, again)(s) == http.StatusOK
	})
}

// serveShared serves a database that dies.
func serveShared(t *testing.T, source string) *serving {
	t.Helper()
	s := serve(t, nil, source)
	s.away = true
	return s
}

// serveDatabase serves a database, where its key is.
func serveDatabase(t *testing.T, source string, env ...string) *serving {
	t.Helper()
	key := strings.TrimSpace(grense(t, "key", "create", "--name", "a real client", "--source", source))
	s := serve(t, env, source)
	s.key = key
	return s
}

// TestAcceptPostGIS sends the clients to the same data in a database.
func TestAcceptPostGIS(t *testing.T) {
	accept(t)
	t.Parallel()
	var cluster storetest.Cluster
	t.Cleanup(cluster.Stop)
	for i, layers := range map[int]map[string]string{1: {"fylker": "fylker", "fylker_kystkontur": "fylker_kystkontur"},
		2: {"kommune": "kommune", "kommunegrense": "kommunegrense", "fylkesgrense": "fylkesgrense"},
		3: {"ne_110m_admin_0_countries": "ne_110m_admin_0_countries",
			"ne_110m_populated_places_simple": "ne_110m_populated_places_simple",
			"ne_110m_rivers_lake_centerlines": "ne_110m_rivers_lake_centerlines"},
		4: {"": "kommuner-m"}} {
		src := sources[i]
		t.Run(src.name, func(t *testing.T) {
			s := serveDatabase(t, database(t, &cluster, src.file, layers))
			for _, l := range src.layers {
				t.Run("GDAL "+l.coll, func(t *testing.T) {
					client(t, "gdal_check.sh", s.base, l.coll, s.key, l.attr, l.box)
				})
				args := []string{s.base + "/", s.key, l.coll}
				if l.skip != "" {
					args = append([]string{"--skip", l.skip}, args...)
				}
				t.Run("OWSLib "+l.coll, func(t *testing.T) { client(t, "owslib_check.py", args...) })
			}
		})
	}
	t.Run("own tables", func(t *testing.T) { // as ogr2ogr makes them, and a role that may only read them
		address := cluster.Database(t)
		copyLayer(t, address, sharedPath(t, "data", sources[1].file), "fylker")
		role, asRole := storetest.Role(t, address, "")
		execute(t, address, "GRANT SELECT ON fylker TO "+role)
		s := serve(t, nil, asRole)
		client(t, "gdal_check.sh", s.base, "fylker", s.key, "nr=03", "10 59 11 60")
		client(t, "owslib_check.py", s.base+"/", s.key, "fylker")
	})
	t.Run("place names", func(t *testing.T) {
		address := cluster.Database(t)
		w, err := writer.Create(t.Context(), address)
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		if err = demo.Write(t.Context(), w); err == nil {
			err = register.Generate(t.Context(), w, register.Options{Places: 3000, Seed: 20260101})
		}
		if err == nil {
			err = w.Commit(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		s := serveDatabase(t, address)
		wsdl := s.base + "/soap/stedsnavn/v1/SoekServiceWS?wsdl"
		t.Run("SOAP 1.1", func(t *testing.T) { client(t, "zeep_check.py", wsdl, "--key", s.key, "--min-hits", "1") })
		t.Run("SOAP 1.2", func(t *testing.T) {
			client(t, "zeep_check.py", wsdl+"=1.2", "--key", s.key, "--min-hits", "1", "--port", "SoekServicePort12")
		})
		client(t, "owslib_check.py", "--skip", "filter", s.base+"/", s.key, "sted")
	})
}

// copyLayer lets GDAL make a table of a layer.
func copyLayer(t *testing.T, address, file, layer string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), clientTime)
	defer cancel()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	password, _ := u.User.Password()
	to := fmt.Sprintf("PG:host=%s port=%s user=%s password='%s' dbname=%s", u.Hostname(), u.Port(), u.User.Username(),
		password, strings.TrimPrefix(u.Path, "/"))
	if out, err := exec.CommandContext(ctx, "ogr2ogr", "-f", "PostgreSQL", to, file, layer, "-lco",
		"GEOMETRY_NAME=geom", "-nln", layer).CombinedOutput(); err != nil {
		t.Fatalf("ogr2ogr: %v\n%s", err, out)
	}
}
