package server_test

import (
	"context"
	"regexp"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/store/storetest"
)

// TestDownloadsOfAFileThatSomebodyWritesIntoAreOfThePresentRows: a file of an earlier data version is never served
// for the current one.
func TestDownloadsOfAFileThatSomebodyWritesIntoAreOfThePresentRows(t *testing.T) {
	t.Parallel()
	st, path := many(t, 20)
	a := serveStore(t, st, nil)
	const whole = "/collections/many/download?f=csv"
	link := regexp.MustCompile(`/collections/many/download\?f=csv&revision=[0-9a-f]+`)
	named := link.FindString(string(a.get("/collections/many?f=json").wants(200).Body))
	if named == "" {
		t.Fatal("no link names a state")
	}
	a.get(named).wants(200)
	tag := a.get(whole).wants(200).Header.Get("ETag")
	if tag == "" {
		t.Fatal("the file is not kept")
	}
	db := writable(t, path)
	for _, name := range []string{"ny", "nyere"} {
		if err := sqlitex.Execute(db, "UPDATE many SET navn = ?", &sqlitex.ExecOptions{Args: []any{name}}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r := a.get(whole, "If-None-Match", tag).wants(200)
			if n := strings.Count(string(r.Body), ","+name+","); n != 20 {
				t.Errorf("%d of 20 rows are %s: %.200s", n, name, r.Body)
			}
			if r.Header.Get("ETag") == tag {
				t.Errorf("the file of rows that are %s has the tag of former ones", name)
			}
		}
		for _, path := range []string{"/collections/many?f=json", "/collections?f=json"} {
			if l := link.FindString(string(a.get(path).wants(200).Body)); l == named {
				t.Errorf("%s: a link leads to a former state: %s", path, l)
			}
		}
	}
}

// TestDownloadsOfAViewAreOfItsPresentRows: the rows of a view may change without a transaction, so its files are not
// cached.
func TestDownloadsOfAViewAreOfItsPresentRows(t *testing.T) {
	t.Parallel()
	if !onPostGIS() {
		t.Skip("files have no such views")
	}
	alone := storetest.Cluster{Private: true} // a cluster without the transactions of other tests
	t.Cleanup(alone.Stop)
	url := alone.Database(t)
	change(t, url, "CREATE TABLE event (id int PRIMARY KEY)", `CREATE VIEW present AS SELECT id FROM event WHERE id = 1
		OR NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objid = 47)`, "ANALYZE event")
	a := serveStore(t, openURL(t, url), nil)
	change(t, url, "INSERT INTO event VALUES (1), (2)")
	const whole = "/collections/present/download?f=csv"
	for range 2 {
		r := a.get(whole).wants(200)
		if n := strings.Count(string(r.Body), "\n"); n != 3 {
			t.Fatalf("%d lines, want two rows: %s", n, r.Body)
		}
		if h := r.Header; h.Get("ETag") != "" || h.Get("Content-Location") != "" {
			t.Errorf("the file has a name: %v", h)
		}
	}
	other, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close(context.Background())
	if _, err := other.Exec(t.Context(), "SELECT pg_advisory_lock(47)"); err != nil { // the view shows one row
		t.Fatal(err)
	}
	if r := a.get(whole).wants(200); strings.Count(string(r.Body), "\n") != 2 {
		t.Errorf("a row that is past is given: %s", r.Body)
	}
	if r := a.do("HEAD", whole).wants(200); r.Header.Get("ETag") != "" {
		t.Errorf("HEAD: %v", r.Header)
	}
	a.get(whole + "&revision=0011223344556677").wants(410)
	if r := a.get("/collections/event/download?f=csv").wants(200); r.Header.Get("ETag") == "" {
		t.Error("the file of a table has no name")
	}
}
