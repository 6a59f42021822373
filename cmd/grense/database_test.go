package main

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"grense/internal/store/storetest"
)

// TestDatabase goes an operator's way with a PostGIS database: import, check, keys, serve.
func TestDatabase(t *testing.T) {
	t.Parallel()
	var cluster storetest.Cluster
	t.Cleanup(cluster.Stop)
	url := cluster.Database(t)
	secret := strings.Replace(url, "postgres@", "postgres:s3cret@", 1) // the server trusts everybody
	dir := t.TempDir()
	told := func(text string) {
		t.Helper()
		if strings.Contains(text, "s3cret") {
			t.Errorf("the password is told: %s", text)
		}
	}
	file := filepath.Join(dir, "ruter.geojson")
	writeFile(t, file, squares(30))
	code, stdout, stderr := command(t, dir, "import", file, "--into", secret, "--collection", "ruter", "--id-field", "nr")
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
	if code, body := s.get(t, "/collections/ruter/items?limit=2", key); code != http.StatusOK || !strings.Contains(body, `"numberMatched":30`) {
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

func TestDatabaseThatIsAway(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := command(t, t.TempDir(), "check", "postgres://u:s3cret@127.0.0.1:1/d")
	if code == 0 || strings.Contains(stdout+stderr, "s3cret") || !strings.Contains(stderr, "127.0.0.1:1") {
		t.Errorf("status %d, %s%s", code, stdout, stderr)
	}
}
