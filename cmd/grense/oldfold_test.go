package main

import (
	"net/http"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// TestServeTellsWhyARegisterIsRefused: a register whose names were folded by older rules is not served,
// and whoever starts the server reads why, and the cure.
func TestServeTellsWhyARegisterIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := demoCopy(t, dir)
	c, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	const older = `UPDATE grense_collection SET definition = replace(definition, '"Fold":"', '"Fold":"of old ')`
	if err := sqlitex.ExecuteTransient(c, older, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	r := serveAsIs(t, dir, "--auth", "open", path)
	if out := r.stdout.String(); !strings.Contains(out, "not served      ") || !strings.Contains(out, "sted") ||
		!strings.Contains(out, "grense register upgrade FILE") {
		t.Errorf("serve does not tell the register that it refuses:\n%s", out)
	}
	if code, _ := r.get(t, "/collections/fylker/items?limit=1", ""); code != http.StatusOK {
		t.Errorf("divisions beside the register: %d", code)
	}
	if code, body := r.get(t, "/soap/stedsnavn/v1/SoekServiceWS?wsdl", ""); code != http.StatusNotFound ||
		!strings.Contains(body, "grense check says why") {
		t.Errorf("the description of a refused register: %d %s", code, body)
	}
}
