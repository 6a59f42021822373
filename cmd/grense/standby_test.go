package main

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"grense/internal/datadir"
	"grense/internal/store/storetest"
)

// TestStartWithoutThePrimary: where no server takes changes and there is no table of keys, a server answers,
// and keys that it made then are valid after the next start, until somebody says otherwise.
func TestStartWithoutThePrimary(t *testing.T) {
	t.Parallel()
	own := &storetest.Cluster{Private: true}
	t.Cleanup(own.Stop)
	primary := own.Database(t)
	reader, asReader := storetest.Role(t, primary, "")
	maker, asMaker := storetest.Role(t, primary, "")
	statement(t, primary, "CREATE TABLE steder (nr TEXT PRIMARY KEY, geom geometry(Point, 4258)); "+
		"INSERT INTO steder VALUES ('1', 'SRID=4258;POINT(10 60)'); GRANT SELECT ON steder TO "+reader+", "+maker+
		"; DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO "+maker+"', current_database()); END $$")
	replica, err := url.Parse(own.Replica(t, primary))
	if err != nil {
		t.Fatal(err)
	}
	hosts := func(as string, first bool) string { // without a word of TLS, as people write it
		u, err := url.Parse(as)
		if err != nil {
			t.Fatal(err)
		}
		if u.RawQuery = ""; first {
			u.Host += "," + replica.Host
		} else {
			u.Host = replica.Host
		}
		return u.String()
	}
	dir, items := t.TempDir(), "/collections/steder/items"
	visit := func(home, key string, want int, args ...string) (said string) {
		t.Helper()
		s := serveAsIs(t, home, args...)
		if m := shownKey.FindStringSubmatch(s.stdout.String()); m != nil && key == "shown" {
			key = m[1]
		}
		if code, body := s.get(t, items, key); code != want {
			t.Errorf("%v: status %d, want %d: %s\n%s", args, code, want, body, s.stderr)
		}
		s.stop()
		s.exit(t)
		return s.stdout.String() + s.stderr.String()
	}
	visit(t.TempDir(), "shown", http.StatusOK, hosts(asReader, false))
	visit(t.TempDir(), "", http.StatusOK, hosts(asMaker, false), "--auth", "open")
	if _, err := own.Halt(); err != nil {
		t.Fatal(err)
	}
	visit(t.TempDir(), "shown", http.StatusOK, hosts(asReader, true))
	visit(t.TempDir(), "", http.StatusOK, hosts(asMaker, true), "--auth", "open")
	said := visit(dir, "shown", http.StatusOK, hosts(asMaker, true))
	if !strings.Contains(said, "no server of the database takes changes") {
		t.Errorf("not told: %s", said)
	}
	key := ""
	if m := shownKey.FindStringSubmatch(said); m != nil {
		key = m[1]
	}
	if err := own.Resume(); err != nil {
		t.Fatal(err)
	}
	if said = visit(dir, key, http.StatusOK, hosts(asMaker, true)); !strings.Contains(said, "remove the file") {
		t.Errorf("how to change is not told: %s", said)
	}
	if err := os.Remove(filepath.Join(dir, ".local", "share", "grense", datadir.StateMark)); err != nil {
		t.Fatal(err)
	}
	if said = visit(dir, key, http.StatusUnauthorized, hosts(asMaker, true)); !strings.Contains(said,
		"keys of the data directory are not used") {
		t.Errorf("that keys are not used is not told: %s", said)
	}
}

var shownKey = regexp.MustCompile(`X-API-Key: ([^']+)'`)
