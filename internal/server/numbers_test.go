package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb/encoding/mvt"
)

// foundIDs lists the ids that a query to items returns, in the order of the response.
func foundIDs(t *testing.T, a *api, path string) string {
	t.Helper()
	return strings.Join(idsIn(t, a.get(path).wants(http.StatusOK).Body), " ")
}

func TestIntegersBeyondDoublesCompareExactly(t *testing.T) {
	t.Parallel()
	a := serve(t, foreign(t, `CREATE TABLE x (id INTEGER PRIMARY KEY, b BIGINT, d DOUBLE);
		INSERT INTO x VALUES (1, 9007199254740991, 0.1), (2, 9007199254740992, 9007199254740992), (3, 9007199254740993,
			1e300), (4, 9223372036854775807, 9223372036854775808);
		INSERT INTO gpkg_contents (table_name, data_type) VALUES ('x', 'attributes');`), nil)
	for question, want := range map[string]string{
		"b=9007199254740993": "3", "b=9223372036854775808": "", "b.from=9007199254740993&b.to=9007199254740993": "3",
		"b.from=9223372036854775807": "4",
		"b.to=9223372036854775808":   "1 2 3 4", "b.from=9007199254740992.5&b.to=9007199254740993.0": "3",
		"sortby=-b":             "4 3 2 1",
		"d=9223372036854775808": "4", "d=9007199254740993": "", "d=0.1": "1", "d.from=9007199254740993": "3 4",
		"d.to=0.10000000000000000555": "1",
		"filter=b=9007199254740993.0": "3", "filter=b<9223372036854775808": "1 2 3 4",
		"filter=b=9223372036854775808":                                                         "",
		"filter=b IN (9007199254740993,9007199254740991)":                                      "1 3",
		"filter=b>9007199254740992.5 AND d<1e301":                                              "3 4",
		`filter-lang=cql2-json&filter={"op":"=","args":[{"property":"b"},9007199254740993.0]}`: "3",
	} {
		q, err := url.ParseQuery(question)
		if err != nil {
			t.Fatal(err)
		}
		if got := foundIDs(t, a, "/collections/x/items?"+q.Encode()); got != want {
			t.Errorf("%s: %q, want %q", question, got, want)
		}
		if got := foundIDs(t, a, "/collections/x/download?f=json&"+q.Encode()); got != want {
			t.Errorf("download of %s: %q, want %q", question, got, want)
		}
	}
	a.get("/collections/x/items?b=1.5").wants(http.StatusBadRequest)
}

func TestDecimalNumbersOfPostGISCompareExactly(t *testing.T) {
	t.Parallel()
	addr := cluster.Database(t)
	db, err := pgx.Connect(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	_, err = db.Exec(t.Context(), `CREATE TABLE mini (id INT PRIMARY KEY, n NUMERIC(20,0), geom geometry(Point,4326));
		INSERT INTO mini VALUES (1, 12345678901234567891, 'SRID=4326;POINT(10 60)'), (2, 12345678901234567892,
			'SRID=4326;POINT(10 60)')`)
	if err != nil {
		t.Fatal(err)
	}
	a := serveDatabase(t, addr)
	for question, want := range map[string]string{
		"filter=n=12345678901234567891": "1", "filter=n>12345678901234567891": "2", "n=12345678901234567891": "1",
		"sortby=-n": "2 1", "sortby=-n&limit=1": "2",
		"n.from=12345678901234567892": "2", "n.to=12345678901234567891.5": "1",
		"filter=n IN (12345678901234567892, 3)": "2", "n=12345678901234567890": "",
	} {
		q, err := url.ParseQuery(question)
		if err != nil {
			t.Fatal(err)
		}
		if got := foundIDs(t, a, "/collections/mini/items?"+q.Encode()); got != want {
			t.Errorf("%s: %q, want %q", question, got, want)
		}
	}
	// A tile holds numbers of one type: doubles.
	layers, err := mvt.Unmarshal(a.get("/collections/mini/tiles/WebMercatorQuad/0/0/0?f=mvt").wants(http.StatusOK).Body)
	if err != nil || len(layers) != 1 {
		t.Fatal(layers, err)
	}
	for _, f := range layers[0].Features {
		if f.Properties["n"] != 12345678901234567891.0 {
			t.Errorf("a tile has %T %v", f.Properties["n"], f.Properties["n"])
		}
	}
	if body := string(a.get("/collections/mini/items/2").wants(http.StatusOK).Body); !strings.Contains(body,
		`"n":12345678901234567892`) {
		t.Errorf("the number is not served with its digits: %s", body)
	}
}
