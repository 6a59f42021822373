package server_test

import (
	"bytes"
	"testing"
)

// TestAViewLeavesOtherCollectionsCached: responses from a table are cached although there is a view; those from the
// view are not.
func TestAViewLeavesOtherCollectionsCached(t *testing.T) {
	t.Parallel()
	if !onPostGIS() {
		t.Skip("views of files have a version")
	}
	url := cluster.Database(t)
	admin(t, url, `CREATE TABLE punkt (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258)); INSERT INTO punkt VALUES (1, 'SRID=4258;POINT(10 60)');
		CREATE VIEW utsnitt AS SELECT id, geom FROM punkt WHERE id < 10`)
	a := serveStore(t, openURL(t, url), nil)
	for _, path := range []string{"/collections/punkt/items", "/collections/punkt/items/1",
		"/collections/punkt/items?f=html", "/collections/punkt/items/1?f=html"} {
		a.cachedBefore(path).wants(200)
	}
	admin(t, url, `CREATE TABLE flate (id INT PRIMARY KEY, geom GEOMETRY(Polygon, 4258));
		INSERT INTO flate VALUES (1, 'SRID=4258;POLYGON((9 59, 11 59, 11 61, 9 61, 9 59))')`)
	b := serveStore(t, openURL(t, url), nil)
	const lookup = "/lookup?lon=10&lat=60"
	const area = "/collections/flate/items/1"
	if body := b.cachedBefore(lookup).wants(200).Body; !bytes.Contains(body, []byte(area)) {
		t.Errorf("a lookup does not find the area: %s", body)
	}
	admin(t, url, "DELETE FROM flate")
	if body := b.get(lookup).wants(200).Body; bytes.Contains(body, []byte(area)) {
		t.Errorf("a cached lookup finds an area that was removed: %s", body)
	}
	for range 5 {
		if r := a.get("/collections/utsnitt/items"); a.wasCached(r) {
			t.Errorf("an answer about a view was cached")
		}
	}
	admin(t, url, "INSERT INTO punkt VALUES (2, NULL)")
	if got := a.get("/collections/punkt/items").json()["numberMatched"]; got != 2.0 {
		t.Errorf("%v features after a row was added", got)
	}
}
