package postgis_test

import (
	"fmt"
	"testing"

	"grense/internal/store"
	"grense/internal/store/postgis"
)

// TestCursorsAreThoseOfFiles: a moment of whole milliseconds is written as a GeoPackage has it.
func TestCursorsAreThoseOfFiles(t *testing.T) {
	t.Parallel()
	s := openStore(t, base(t, `CREATE TABLE x (id INT PRIMARY KEY, tid TIMESTAMPTZ);
		INSERT INTO x VALUES (1, '2024-02-29 12:00Z'), (2, '2024-02-29 12:00:00.001Z'), (3, '2024-02-29 12:00:00.001001Z'), (4, NULL)`), postgis.Options{})
	q := store.Query{Collection: "x", Limit: 1, SortBy: []store.Sort{{Property: "tid"}}}
	for i, want := range []string{"2024-02-29T12:00:00.000Z", "2024-02-29T12:00:00.001Z",
		"2024-02-29T12:00:00.001001Z", ""} {
		p := page(t, s, q)
		if len(p.Rows) != 1 || p.Rows[0].ID != fmt.Sprint(i+1) {
			t.Fatalf("page %d: %+v", i, p.Rows)
		}
		if want == "" {
			break
		}
		at, err := p.Next.Place()
		if err != nil || at.Keys[0] != want {
			t.Errorf("%v: %v", at.Keys, err)
		}
		q.Cursor = p.Next
	}
	if got := walk(t, s,
		store.Query{Collection: "x", Limit: 1, SortBy: []store.Sort{{Property: "tid", Desc: true}}}); len(got) != 4 {
		t.Errorf("%v", got)
	}
}
