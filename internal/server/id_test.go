package server_test

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb/encoding/mvt"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis/writer"
	"grense/internal/store/storetest"
)

// writtenBoth opens a GeoPackage and a PostGIS database that write has filled.
func writtenBoth(t *testing.T, write func(context.Context, store.Writer) error) map[string]store.Store {
	t.Helper()
	path, err := fillFile(filepath.Join(t.TempDir(), "written.gpkg"), write)
	if err != nil {
		t.Fatal(err)
	}
	addr := cluster.Database(t)
	storetest.Write(t, func(w store.Writer) {
		if err := write(t.Context(), w); err != nil {
			t.Fatal(err)
		}
	})(writer.Create(t.Context(), addr))
	return map[string]store.Store{"GeoPackage": openGeoPackage(t, path), "PostGIS": openURL(t, addr)}
}

// bothWith opens a GeoPackage and a PostGIS database with the same tables of others.
func bothWith(t *testing.T, file, database string) map[string]store.Store {
	t.Helper()
	addr := cluster.Database(t)
	db, err := pgx.Connect(t.Context(), addr)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	if _, err := db.Exec(t.Context(), database, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	return map[string]store.Store{"GeoPackage": openGeoPackage(t, foreign(t, file)), "PostGIS": openURL(t, addr)}
}

// encoded is a query with the escapes that its values need.
func encoded(question string) string {
	var pairs []string
	for pair := range strings.SplitSeq(question, "&") {
		name, value, _ := strings.Cut(pair, "=")
		pairs = append(pairs, url.QueryEscape(name)+"="+url.QueryEscape(value))
	}
	return strings.Join(pairs, "&")
}

// idStores are both stores with features whose id no property repeats: a number (tall), of two columns (par), and
// beside a property called id (opptatt).
func idStores(t *testing.T) map[string]store.Store {
	t.Helper()
	rows := `INSERT INTO tall VALUES (1, NULL, 'a'), (2, NULL, 'b'), (10, NULL, 'c');
		INSERT INTO par VALUES (1, '2024', 5), (1, '2;5~', 6), (2, '2024', 7), (10, 'Å', 8);
		INSERT INTO opptatt VALUES (1, 'x'), (2, 'y');`
	return bothWith(t, `CREATE TABLE tall (fid INTEGER PRIMARY KEY, geom POINT, navn TEXT);
		CREATE TABLE par (a INTEGER NOT NULL, y TEXT NOT NULL, v INTEGER, PRIMARY KEY (a, y));
		CREATE TABLE opptatt (fid INTEGER PRIMARY KEY, id TEXT);
		INSERT INTO gpkg_contents (table_name, data_type, srs_id) VALUES ('tall', 'features', 4326),
			('par', 'attributes', 0), ('opptatt', 'attributes', 0);
		INSERT INTO gpkg_geometry_columns VALUES ('tall', 'geom', 'POINT', 4326, 0, 0);`+rows+
		`UPDATE tall SET geom = CASE fid WHEN 1 THEN x'47500001E6100000010100000000000000000024400000000000004E40'
			WHEN 2 THEN x'47500001E61000000101000000000000000000244000000000000024C0'
			ELSE x'47500001E6100000010100000000000000000059C00000000000004E40' END;`,
		`CREATE TABLE tall (fid INTEGER PRIMARY KEY, geom geometry(Point, 4326), navn TEXT);
		CREATE TABLE par (a INTEGER NOT NULL, y TEXT NOT NULL, v INTEGER, PRIMARY KEY (a, y));
		CREATE TABLE opptatt (fid INTEGER PRIMARY KEY, id TEXT);`+rows+`
		UPDATE tall SET geom = CASE fid WHEN 1 THEN ST_Point(10, 60, 4326) WHEN 2 THEN ST_Point(10, -10, 4326)
			ELSE ST_Point(-100, 60, 4326) END;`)
}

// idQuestion is the expected result of a query to a collection.
type idQuestion struct{ collection, question, want string }

func (x idQuestion) check(t *testing.T, a *api) {
	t.Helper()
	q := encoded(x.question)
	if got := foundIDs(t, a, "/collections/"+x.collection+"/items?"+q); got != x.want {
		t.Errorf("%s, %s: %q, want %q", x.collection, x.question, got, x.want)
	}
	if strings.HasPrefix(q, "sortby") {
		return
	}
	if got := foundIDs(t, a, "/collections/"+x.collection+"/download?f=json&"+q); got != x.want {
		t.Errorf("download of %s, %s: %q, want %q", x.collection, x.question, got, x.want)
	}
}

// TestFeatureIDIsQueryable: under its name in /schema, in both stores and both forms of CQL2.
func TestFeatureIDIsQueryable(t *testing.T) {
	t.Parallel()
	for name, s := range idStores(t) {
		t.Run(name, func(t *testing.T) {
			a := serveStore(t, s, nil)
			for _, x := range []idQuestion{
				{"tall", "filter=id IN (1,2)", "1 2"},
				{"tall", "filter=id IN ('1','10')", "1 10"},
				{"tall", "filter=id > 1 AND NOT id = 2", "10"},
				{"tall", `filter-lang=cql2-json&filter={"op":"in","args":[{"property":"id"},[2,10]]}`, "2 10"},
				{"tall", "id=1", "1"},
				{"tall", "id=7", ""},
				{"tall", "id.from=2", "2 10"},
				{"tall", "sortby=id", "1 2 10"},
				{"tall", "sortby=-id", "10 2 1"},
				{"par", "filter=id = '1;2024'", "1;2024"},
				{"par", "filter=id <> '1;2024' AND id <> 'x'", "1;2~15~0 2;2024 10;Å"},
				{"par", "filter=id IN ('1;2~15~0','10;Å','x','1;2;5')", "1;2~15~0 10;Å"},
				{"par", "filter=NOT (id = '1;2024' OR v > 6)", "1;2~15~0"},
				{"par", "filter=id LIKE '1;%'", "1;2024 1;2~15~0"},
				{"par", "filter=CASEI(id) = CASEI('10;å')", "10;Å"},
				{"par", "filter=id IS NULL", ""},
				{"par", "filter=id < '1;3' AND v BETWEEN 5 AND 8", "1;2024 1;2~15~0 10;Å"}, // by code point
				{"par", "id=1;2024", "1;2024"},
				{"par", "sortby=id", "1;2024 1;2~15~0 2;2024 10;Å"},
				{"par", "sortby=-id", "10;Å 2;2024 1;2~15~0 1;2024"},
				{"opptatt", "filter=id = 2", "2"},
				{"opptatt", "id=1", "1"},
				{"opptatt", "filter=id_ = 'y'", "2"},
				{"opptatt", "id_=y", "2"},
			} {
				x.check(t, a)
			}
			for question, want := range map[string]int{"": 3, "&filter=id=2": 1, "&filter=id%20IN%20(1,2)": 2} {
				tile := a.get("/collections/tall/tiles/WebMercatorQuad/0/0/0?f=mvt" + question).wants(http.StatusOK)
				layers, err := mvt.Unmarshal(tile.Body)
				if err != nil || len(layers) != 1 || len(layers[0].Features) != want {
					t.Errorf("a tile%s has %v (%v), want %d features: %v", question, layers, err, want,
						layers[0].Features)
				}
			}
			for path, cure := range map[string]string{
				"/collections/tall/items?filter=id=%27x%27": "'id' is a number",
				"/collections/tall/items?id=x":              "use a whole number",
				"/collections/par/items?filter=id=1":        "'id' is text; write '1' in single quotes",
				"/collections/tall/items?properties=id": "name properties of the collection: " +
					"navn, geometry",
				"/collections/tall/items?filter=fid=1":              "no property 'fid'",
				"/collections/opptatt/items?sortby=x":               "sort by one of id, id_",
				"/collections/opptatt/items?filter=idx%20IS%20NULL": "did you mean",
			} {
				if body := a.get(path).wants(http.StatusBadRequest).Body; !bytes.Contains(body, []byte(cure)) {
					t.Errorf("%s: %s does not say %q", path, body, cure)
				}
			}
		})
	}
}

// TestTextsAreFeatureIDsToo in collections that were imported with ids of their own.
func TestTextsAreFeatureIDsToo(t *testing.T) {
	t.Parallel()
	for name, s := range writtenBoth(t, func(ctx context.Context, w store.Writer) error {
		c := &store.Collection{ID: "koder", Table: "koder", Public: true,
			Key:        store.FeatureKey{Column: "nøkkel", Type: cql2.TypeText},
			Properties: []store.Property{{Name: "v", Column: "v", Type: cql2.TypeInteger}}}
		if err := w.Define(ctx, c, false); err != nil {
			return err
		}
		insert, err := w.Insert(ctx, "koder", []string{"nøkkel", "v"})
		for i, code := range []string{"0301", "Å", "a;b", "301"} {
			err = cmp.Or(err, insert(code, int64(i)))
		}
		return err
	}) {
		t.Run(name, func(t *testing.T) {
			a := serveStore(t, s, nil)
			for _, x := range []idQuestion{
				{"koder", "filter=id IN ('301','Å')", "301 Å"},
				{"koder", "id=0301", "0301"},
				{"koder", "filter=id > '0301' AND id < 'b'", "301 a;b"},
				{"koder", "id.like=03", "0301"},
				{"koder", "sortby=-id", "Å a;b 301 0301"},
			} {
				x.check(t, a)
			}
		})
	}
}

func TestFeatureIDIsDescribedAndPaged(t *testing.T) {
	t.Parallel()
	var described []byte
	for name, s := range idStores(t) {
		a := serveStore(t, s, nil)
		for _, c := range []string{"tall", "par"} {
			a.crawl(t, c, []int{1, 2})
			first := a.get("/collections/" + c + "/items?limit=2&sortby=-id").wants(http.StatusOK)
			next, _ := find(first.links(), "next", "")
			second := a.get(strings.TrimPrefix(next.Href, a.URL)).wants(http.StatusOK)
			prev, _ := find(second.links(), "prev", "")
			back := a.get(strings.TrimPrefix(prev.Href, a.URL)).wants(http.StatusOK)
			if one, again := idsIn(t, first.Body), idsIn(t, back.Body); strings.Join(one, " ") != strings.Join(
				again, " ") {
				t.Errorf("%s, %s: back on the first page there is %v, not %v", name, c, again, one)
			}
			if got := idsIn(t, second.Body); len(got) == 0 || !strings.HasPrefix(got[0], "1") {
				t.Errorf("%s, %s: the second page has %v", name, c, got)
			}
		}
		var all []byte
		for _, c := range []string{"tall", "par", "opptatt"} {
			for _, kind := range []string{"queryables", "sortables"} {
				body := a.get("/collections/" + c + "/" + kind + "?f=json").wants(http.StatusOK).Body
				if bytes.Count(body, []byte(`"id":{`)) != 1 || !bytes.Contains(body, []byte(`"x-ogc-role":"id"`)) {
					t.Errorf("%s, %s of %s: %s", name, kind, c, body)
				}
				all = append(all, bytes.ReplaceAll(body, []byte(a.URL), nil)...)
			}
		}
		if described == nil {
			described = all
		} else if !bytes.Equal(described, all) {
			t.Errorf("the stores describe ids differently:\n%s\n%s", described, all)
		}
	}
}

// TestValuesInsideJSONAreQueryable by the path to them, in both stores and both forms of CQL2.
func TestValuesInsideJSONAreQueryable(t *testing.T) {
	t.Parallel()
	const rows = `INSERT INTO x VALUES (1, '{"a":{"b":"Ås","n":0.5},"ja":true,"med plass":"p","liste":[1]}'),
		(2, '{"a":{"b":"as","n":9007199254740993},"ja":false}'), (3, '{"a":{"b":null,"n":12345678901234567891}}'), (4, NULL),
		(5, '{"a":"feil"}'), (6, '[1,2]');`
	var described string
	for name, s := range bothWith(t, `CREATE TABLE x (id INTEGER PRIMARY KEY, props JSON);
		INSERT INTO gpkg_contents (table_name, data_type) VALUES ('x', 'attributes');`+rows,
		`CREATE TABLE x (id INTEGER PRIMARY KEY, props JSONB);`+rows) {
		a := serveStore(t, s, nil)
		for _, x := range []idQuestion{
			{"x", "filter=props.a.b = 'Ås'", "1"},
			{"x", "filter=CASEI(props.a.b) LIKE CASEI('å%')", "1"},
			{"x", "filter=props.a.b IS NULL", "3 4 5 6"},
			{"x", "filter=NOT (props.a.n > 1)", "1"},
			{"x", "filter=props.a.n = 9007199254740993", "2"},
			{"x", "filter=props.a.n IN (12345678901234567891, 12345678901234567892)", "3"},
			{"x", "filter=props.a.n > 9007199254740992 AND props.ja = FALSE", "2"},
			{"x", "filter=props.ja", "1"},
			{"x", `filter="props.med plass" = 'p' OR id = 6`, "1 6"},
			{"x", `filter-lang=cql2-json&filter={"op":"<","args":[{"property":"props.a.n"},1]}`, "1"},
			{"x", "props.a.b=as", "2"},
			{"x", "props.ja=true", "1"},
			{"x", "props.a.n.from=1&props.a.n.to=9007199254740993", "2"},
		} {
			x.check(t, a)
		}
		for path, cure := range map[string]string{
			"filter=props.a=1":            "no property 'props.a'; did you mean",
			"filter=props.a.b>1":          "'props.a.b' is text; write '1' in single quotes",
			"filter=props.liste%3D1":      "no property 'props.liste'",
			"sortby=props.a.b":            "sort by one of id",
			"properties=props.a.b":        "name properties of the collection: ",
			"props.a.n=x":                 "use a number",
			"filter=props.a.b%20LIKE%201": "the pattern of LIKE is a string",
		} {
			body := a.get("/collections/x/items?" + path).wants(http.StatusBadRequest).Body
			if !bytes.Contains(body, []byte(cure)) {
				t.Errorf("%s, %s: %s does not say %q", name, path, body, cure)
			}
		}
		body := strings.ReplaceAll(string(a.get("/collections/x/queryables?f=json").wants(http.StatusOK).Body), a.URL,
			"")
		for _, member := range []string{`"props.a.b":{"title":"props.a.b","type":"string"}`,
			`"props.a.n":{"title":"props.a.n","type":"number"}`,
			`"props.ja":{"title":"props.ja","type":"boolean"}`, `"props.med plass":{`} {
			if !strings.Contains(body, member) {
				t.Errorf("%s: no %s in %s", name, member, body)
			}
		}
		for _, kind := range []string{"schema", "sortables"} {
			body := a.get("/collections/x/" + kind + "?f=json").wants(http.StatusOK).Body
			if bytes.Contains(body, []byte("props.")) {
				t.Errorf("%s: %s of features has %s", name, kind, body)
			}
		}
		if described == "" {
			described = body
		} else if described != body {
			t.Errorf("the stores describe themselves differently:\n%s\n%s", described, body)
		}
	}
}
