package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestImportFromPostGISKeepsNumbersBeyondDoubles: a column of such numbers becomes text with all digits,
// and the command says so.
func TestImportFromPostGISKeepsNumbersBeyondDoubles(t *testing.T) {
	t.Parallel()
	url, dir := cluster.Database(t), t.TempDir()
	c, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(t.Context())
	if _, err := c.Exec(t.Context(),
		`CREATE TABLE tall (id INT PRIMARY KEY, n NUMERIC(20,0), d NUMERIC(38,10), liten NUMERIC(6,2));
		INSERT INTO tall VALUES (1, 12345678901234567891, 1234567890123456789.0123456789, 1.50), (2, 12345678901234567892, -0.5, 2)`); err != nil {
		t.Fatal(err)
	}
	target := filepath.Join(dir, "out.gpkg")
	code, stdout, stderr := command(t, dir, "import", url, "--layer", "tall", "--into", target, "--collection", "tall")
	if code != 0 || !strings.Contains(stdout+stderr, `"n"`) || !strings.Contains(stdout+stderr, "text") {
		t.Fatalf("status %d\n%s%s", code, stdout, stderr)
	}
	s := serve(t, dir, target, "--auth", "open")
	status, body := s.get(t, "/collections/tall/items?f=json&filter=n%3D'12345678901234567891'", "")
	var doc struct {
		Features []struct{ Properties map[string]any }
	}
	if err := json.Unmarshal([]byte(body), &doc); err != nil || status != 200 || len(doc.Features) != 1 {
		t.Fatalf("%d, %v: %s", status, err, body)
	}
	if p := doc.Features[0].Properties; p["n"] != "12345678901234567891" ||
		p["d"] != "1234567890123456789.0123456789" || p["liten"] != 1.5 {
		t.Errorf("%v", p)
	}
}
