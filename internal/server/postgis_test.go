package server_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"

	"grense/api/placename"
	"grense/internal/config"
	"grense/internal/cql2"
	"grense/internal/demo"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/writer"
	"grense/internal/store/storetest"
)

// cluster serves the tests that need PostGIS: all of them with GRENSE_TEST_STORE=postgis.
var cluster storetest.Cluster

// copies are the databases with the content of GeoPackages, by path.
var copies struct {
	sync.Mutex
	urls map[string]string
}

// openTest opens a GeoPackage, or a PostGIS database with its content if the environment says so.
func openTest(t testing.TB, source string) store.Store {
	t.Helper()
	if onPostGIS() {
		return openPostGIS(t, source)
	}
	return openGeoPackage(t, source)
}

func openGeoPackage(t testing.TB, source string) store.Store {
	t.Helper()
	return storetest.Opened[*gpkg.Store](t)(gpkg.Open(t.Context(), source,
		gpkg.Options{DataDir: t.TempDir(), Logger: slog.New(slog.DiscardHandler), AllowEmpty: true}))
}

// onPostGIS reports whether the tests use a database. It must be the only source of that fact: leaveOut skips the
// tests that never call it.
func onPostGIS() bool {
	asking()
	return os.Getenv("GRENSE_TEST_STORE") == "postgis"
}

// openPostGIS opens a database with the content of a GeoPackage.
func openPostGIS(t testing.TB, source string) store.Store {
	t.Helper()
	return openURL(t, databaseWith(t, source))
}

func openURL(t testing.TB, url string) store.Store {
	t.Helper()
	return storetest.Opened[*postgis.Store](t)(postgis.Open(t.Context(), url, postgis.Options{AllowEmpty: true}))
}

// databaseWith returns the address of a database with the content of a GeoPackage. Demo and register are loaded once,
// and all tests share them.
func databaseWith(t testing.TB, source string) string {
	t.Helper()
	copies.Lock()
	defer copies.Unlock()
	if url := copies.urls[source]; url != "" {
		return url
	}
	if !isMade(source, demoFile) && !isMade(source, registerFile) {
		return fillDatabase(t, cluster.Database(t), source)
	}
	if copies.urls == nil {
		copies.urls = map[string]string{}
	}
	copies.urls[source] = fillDatabase(t, cluster.Lasting(t), source)
	return copies.urls[source]
}

// fillDatabase writes the content of a GeoPackage into the database at url, which it returns.
func fillDatabase(t testing.TB, url, source string) string {
	t.Helper()
	storetest.Write(t, func(w store.Writer) {
		if err := refill(t, w, source); err != nil {
			t.Fatal(err)
		}
	})(writer.Create(t.Context(), url))
	return url
}

// writtenStore returns a store with what write inserts, in its own file or database, and a function that replaces the
// content by running write again.
func writtenStore(t testing.TB, write func(context.Context, store.Writer) error) (st store.Store, rewrite func()) {
	t.Helper()
	if onPostGIS() {
		url := cluster.Database(t)
		rewrite = func() {
			storetest.Write(t, func(w store.Writer) {
				if err := write(context.Background(), w); err != nil {
					t.Fatal(err)
				}
			})(writer.Create(t.Context(), url))
		}
		rewrite()
		return openURL(t, url), rewrite
	}
	path := filepath.Join(t.TempDir(), "written.gpkg")
	rewrite = func() {
		next, err := fillFile(path+".new", write)
		if err == nil {
			err = os.Rename(next, path)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	rewrite()
	return openGeoPackage(t, path), rewrite
}

func isMade(source string, file func() (string, error)) bool {
	path, err := file()
	return err == nil && path == source
}

// refill copies the content of a GeoPackage: with the function that created it if known, else feature by feature.
func refill(t testing.TB, w store.Writer, source string) error {
	ctx := context.Background()
	switch {
	case isMade(source, demoFile):
		return demo.Write(ctx, w)
	case isMade(source, registerFile):
		return writeRegister(ctx, w)
	case isMade(source, wholeDemo):
		if err := demo.Write(ctx, w); err != nil {
			return err
		}
		if err := writeRegister(ctx, w); err != nil {
			return err
		}
		return writeNorway(ctx, w)
	case isMade(source, historyFile):
		if err := demo.Write(ctx, w); err != nil {
			return err
		}
		return writeNorway(ctx, w)
	}
	from := openGeoPackage(t, source)
	for _, c := range from.Catalog().Collections {
		if err := w.Define(ctx, c, false); err != nil {
			return err
		}
		columns, names := []string{c.Key.Column}, []string{}
		for _, p := range c.Properties {
			if p.Column != c.Key.Column {
				columns, names = append(columns, p.Column), append(names, p.Name)
			}
		}
		if c.Geometry != nil {
			columns = append(columns, c.Geometry.Column)
		}
		insert, err := w.Insert(ctx, c.Table, columns)
		if err != nil {
			return err
		}
		page, err := from.Page(ctx, store.Query{Collection: c.ID, Limit: 1 << 20})
		if err != nil {
			return err
		}
		ids := make([]string, len(page.Rows))
		for i, r := range page.Rows {
			ids[i] = r.ID
		}
		err = from.Fetch(ctx, c.ID, store.Current(ids...), store.Want{Properties: names}, func(f *store.Feature) error {
			row := append([]any{keyOf(c, f.ID)}, f.Values...)
			if c.Geometry != nil {
				row = append(row, f.Geometry)
			}
			return insert(row...)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// keyOf returns the value of the id column.
func keyOf(c *store.Collection, id string) any {
	if n, err := strconv.ParseInt(id, 10, 64); err == nil && c.Key.Type == cql2.TypeInteger {
		return n
	}
	return id
}

var timeMember = regexp.MustCompile(`"timeStamp":\s*"[^"]*"|&(amp;)?revision=[0-9a-f]+`)

// plain is a body without the parts that differ between two servers: their addresses and the time.
func (a *api) plain(path string) []byte {
	r := a.get(path)
	b := bytes.ReplaceAll(r.Body, []byte(a.URL), []byte("http://grense"))
	b = bytes.ReplaceAll(b, []byte(strings.TrimPrefix(a.URL, "http://")), []byte("grense"))
	b = regexp.MustCompile(`urn:grense:request:[^"]*`).ReplaceAll(b, nil)
	return append(timeMember.ReplaceAll(b, nil), []byte(r.Header.Get("Content-Type")+" "+r.Status)...)
}

// alike requests the same paths from both stores, and follows the pages of items.
func alike(t *testing.T, source string, paths []string) {
	t.Helper()
	sameAnswers(t, openGeoPackage(t, source), openPostGIS(t, source), paths)
}

// aboutPattern matches what may differ between stores: the estimated size of a file, whose samples follow the order
// of the store, and the date of the last update, which only files report.
var aboutPattern = regexp.MustCompile(`, ca\. [^<]*|<dt>Sist oppdatert</dt><dd>.*?</dd>\n`)

func sameAnswers(t *testing.T, one, other store.Store, paths []string) {
	t.Helper()
	a, b := serveStore(t, one, nil), serveStore(t, other, func(*config.Config) {})
	for _, p := range paths {
		for n := 0; p != "" && n < 8; n++ {
			if strings.Contains(p, "f=html") { // maps change once tile levels are built
				a.settled(p)
				b.settled(p)
			}
			x, y := aboutPattern.ReplaceAll(a.plain(p), nil), aboutPattern.ReplaceAll(b.plain(p), nil)
			if !bytes.HasSuffix(x, []byte("200 OK")) && !strings.Contains(p, "nope") {
				t.Errorf("%s is no answer that proves anything: %.300s", p, x)
			}
			if !bytes.Equal(x, y) {
				i := 0
				for i < min(len(x), len(y)) && x[i] == y[i] {
					i++
				}
				from := max(0, i-120)
				t.Errorf("%s differs at byte %d:\nGeoPackage %.300s\nPostGIS    %.300s", p, i, x[from:], y[from:])
			}
			next := a.get(p)
			p = ""
			if strings.Contains(next.Header.Get("Content-Type"), "json") && next.StatusCode == 200 {
				if l, ok := find(next.links(), "next", ""); ok {
					p = strings.TrimPrefix(l.Href, a.URL)
				}
			}
		}
	}
}

func TestBothStoresGiveTheSameJSON(t *testing.T) {
	t.Parallel()
	t.Run("demo", func(t *testing.T) {
		t.Parallel()
		path, err := demoFile()
		if err != nil {
			t.Fatal(err)
		}
		alike(t, path, []string{
			"/?f=json", "/conformance?f=json", "/collections?f=json", "/collections/fylker?f=json",
			"/collections/kommuner/schema?f=json", "/collections/kommuner/queryables?f=json",
			"/collections/fylker/items?f=json", "/collections/kommuner/items?f=json&limit=50",
			"/collections/kommuner/items?f=json&limit=37&sortby=-navn",
			"/collections/kommuner/items?f=json&bbox=10,59,12,61",
			"/collections/kommuner/items?f=json&bbox=200000,6600000,300000,6700000" +
				"&bbox-crs=http://www.opengis.net/def/crs/EPSG/0/25833",
			"/collections/kommuner/items?f=json&filter=navn%20LIKE%20%27S%25%27",
			"/collections/kommuner/items?f=json&filter=NOT%20CASEI(navn)%20LIKE%20%27%25s%25%27&limit=5",
			"/collections/kommuner/items?f=json&q=os",
			"/collections/kommuner/items?f=json&datetime=2024-06-01T00:00:00Z",
			"/collections/kommuner/items/0301?f=json",
			"/collections/kommuner/items?f=json&crs=http://www.opengis.net/def/crs/EPSG/0/25833&limit=3",
			"/collections/kommuner/items/nope?f=json",
			"/collections/kommuner/items?f=csv&limit=20", "/collections/kommuner/items?f=jsonld&limit=20",
			"/v1/collections/fylker/items?f=json&offset=3&limit=2",
			"/?f=html", "/collections?f=html", "/collections/kommuner?f=html", "/collections/kommuner/schema?f=html",
			"/collections/kommuner/items?f=html&limit=50", "/collections/fylker/items?f=html&lang=en",
			"/collections/kommuner/items?f=html&bbox=10,59,12,61&sortby=-navn",
			"/collections/kommuner/items/0301?f=html",
			"/collections/kommuner/items?f=json&sortby=fylke_nr,-navn&limit=50",
			"/openapi?f=json",
		})
	})
	t.Run("register", func(t *testing.T) {
		t.Parallel()
		path, err := registerFile()
		if err != nil {
			t.Fatal(err)
		}
		paths := []string{"/collections?f=json"}
		for _, c := range []string{"sted", "stedsnavn"} {
			c = "/collections/" + c
			paths = append(paths, c+"?f=json", c+"/schema?f=json", c+"/queryables?f=json", c+"/items?f=json&limit=400",
				c+"/items?f=json&limit=100&sortby=-stedsnummer", c+"/items?f=json&q=vik",
				c+"/items?f=json&bbox=5,58,12,62&limit=50", c+"/items?f=csv&limit=500",
				c+"/items?f=json&skipGeometry=true&limit=20",
				c+"/items?f=json&filter=stedsnummer%20%3E%20100%20AND%20NOT%20navneobjekttype%20%3D%20%27by%27"+
					"&limit=200",
				c+"/items?f=json&crs=http://www.opengis.net/def/crs/EPSG/0/25833&limit=5", c+"/items/nope?f=json")
		}
		alike(t, path, paths)
	})
	t.Run("SOAP", func(t *testing.T) {
		t.Parallel()
		path, err := registerFile()
		if err != nil {
			t.Fatal(err)
		}
		a := serveStore(t, openGeoPackage(t, path), nil)
		b := serveStore(t, openPostGIS(t, path), nil)
		for _, op := range placename.TheContract().Operations {
			body := string(placename.ExampleRequest(op.Name, false, placename.DefaultBase))
			x, y := a.post(endpoint, "text/xml; charset=utf-8", body).wants(200),
				b.post(endpoint, "text/xml; charset=utf-8", body).wants(200)
			if !bytes.Equal(x.Body, y.Body) || len(x.Body) < 200 {
				t.Errorf("%s:\nGeoPackage %.600s\nPostGIS    %.600s", op.Name, x.Body, y.Body)
			}
		}
	})
	t.Run("cql2", func(t *testing.T) {
		t.Parallel()
		source := shared(t, "cql2/ne110m4cql2.gpkg")
		paths := []string{"/collections?f=json"}
		for c, filters := range map[string][]string{
			"ne_110m_populated_places_simple": {"name%20IS%20NULL",
				"pop_other%20%3E%201038280%20AND%20name%20%3C%20%27N%27", "%22date%22%20IS%20NOT%20NULL",
				"NOT%20CASEI(name)%20LIKE%20%27%25a%25%27"},
			"ne_110m_admin_0_countries":       {"NAME%20%3E%20%27N%27", "POP_EST%20BETWEEN%201000000%20AND%205000000"},
			"ne_110m_rivers_lake_centerlines": {"name%20IS%20NULL", "S_INTERSECTS(geom,BBOX(-60,-20,10,40))"},
		} {
			c = "/collections/" + c
			paths = append(paths, c+"?f=json", c+"/schema?f=json", c+"/queryables?f=json", c+"/items?f=json",
				c+"/items?f=json&limit=7", c+"/items?f=json&bbox=-10,-10,40,60", c+"/items?f=jsonld&limit=5")
			for _, f := range filters {
				paths = append(paths, c+"/items?f=json&filter="+f)
			}
		}
		alike(t, source, paths)
	})
}

// TestBothStoresServeTablesOfOthersAlike: as ogr2ogr writes them into a file and into a database.
func TestBothStoresServeTablesOfOthersAlike(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	circle := wkb.AppendCount(wkb.AppendHeader(nil, wkb.CircularString, false), 3)
	for _, p := range [...]orb.Point{{10, 60}, {10.1, 60}, {10, 60}} {
		circle = wkb.AppendXY(circle, p[0], p[1])
	}
	shapes := [][]byte{
		wkb.Append(nil, orb.Point{10.25, 59.5}), wkb.Append(nil, orb.Polygon{{{10, 59}, {11, 59}, {11, 60}, {10, 59}}}),
		nil,
		wkb.Append(nil, orb.LineString{{10, 59}, {11, 60.5}, {12, 60}}),
		append(wkb.AppendCount(wkb.AppendHeader(nil, wkb.CurvePolygon, false), 1), circle...),
		wkb.Append(nil, orb.MultiPoint{{10, 59}, {12, 61}}),
	}
	var file, database strings.Builder
	file.WriteString(`CREATE TABLE steder (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, geom GEOMETRY, navn TEXT, tall REAL NOT NULL, antall INTEGER NOT NULL, dag DATE NOT NULL, tid DATETIME);
		CREATE TABLE liste (fid INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL, navn TEXT); INSERT INTO liste (navn) VALUES ('a'), (NULL), ('å');
		CREATE TABLE koder (kode TEXT PRIMARY KEY, navn TEXT); INSERT INTO koder VALUES ('2', 'a'), ('5', 'b');
		INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('koder', 'attributes', 'koder', 0);
		INSERT INTO gpkg_contents (table_name, data_type, identifier, srs_id) VALUES ('liste', 'attributes', 'liste', 0), ('steder', 'features', 'steder', 4258);
		INSERT OR IGNORE INTO gpkg_spatial_ref_sys (srs_name, srs_id, organization, organization_coordsys_id, definition) VALUES ('ETRS89', 4258, 'EPSG', 4258, 'x');
		INSERT INTO gpkg_geometry_columns VALUES ('steder', 'geom', 'GEOMETRY', 4258, 0, 0);`)
	database.WriteString(`CREATE TABLE steder (fid SERIAL PRIMARY KEY, geom GEOMETRY(Geometry, 4258), navn VARCHAR, tall FLOAT8 NOT NULL, antall BIGINT NOT NULL, dag DATE NOT NULL, tid TIMESTAMPTZ);
		CREATE TABLE koder (kode VARCHAR PRIMARY KEY, navn VARCHAR); INSERT INTO koder VALUES ('2', 'a'), ('5', 'b');
		CREATE TABLE liste (fid SERIAL PRIMARY KEY, navn VARCHAR); INSERT INTO liste (navn) VALUES ('a'), (NULL), ('å');`)
	for i := range 40 {
		b := shapes[i%len(shapes)]
		geom, pg := "NULL", "NULL"
		if b != nil {
			geom = fmt.Sprintf("x'47500001A2100000%x'", b)
			pg = fmt.Sprintf(`ST_SetSRID(ST_GeomFromWKB('\x%x'), 4258)`, b)
		}
		tid := []string{"'2024-02-01T12:00:00.000Z'", "'2024-02-01T12:00:00.250Z'", "'2024-03-01T00:00:00.000Z'",
			"NULL"}[i%4]
		rest := fmt.Sprintf(`'navn %d', %v, %d, '2024-01-%02d', %s`, i%7, float64(i)/4, i*1000, 1+i%28, tid)
		fmt.Fprintf(&file, "INSERT INTO steder (geom, navn, tall, antall, dag, tid) VALUES (%s, %s);\n", geom, rest)
		fmt.Fprintf(&database, "INSERT INTO steder (geom, navn, tall, antall, dag, tid) VALUES (%s, %s);\n", pg, rest)
	}
	url := cluster.Database(t)
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	if _, err := db.Exec(t.Context(), database.String(), pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	paths := []string{"/?f=html", "/collections?f=json", "/collections?f=html"}
	for _, c := range []string{"/collections/steder", "/collections/liste", "/collections/koder"} {
		paths = append(paths, c+"?f=json", c+"?f=html", c+"/schema?f=json", c+"/queryables?f=json",
			c+"/items?f=json&limit=7", c+"/items?f=html&limit=7", c+"/items?f=html&sortby=-navn", c+"/items?f=csv",
			c+"/items?f=jsonld",
			c+"/items?f=json&sortby=navn&limit=3", c+"/items/2?f=json", c+"/items/2?f=html",
			c+"/items?f=json&q=navn&limit=9", c+"/items/nope?f=json")
	}
	const c = "/collections/steder"
	paths = append(paths, c+"/items?f=json&sortby=tid,-tall&limit=9", c+"/items?f=json&sortby=-tid&limit=9",
		c+"/items?f=json&sortby=dag&limit=11", c+"/items?f=json&bbox=10,60,10.05,60.02",
		c+"/items?f=html&bbox=10.09,59.9,10.2,60.1",
		c+"/items?f=json&bbox=200000,6600000,300000,6700000&bbox-crs=http://www.opengis.net/def/crs/EPSG/0/25833",
		c+"/items?f=json&crs=http://www.opengis.net/def/crs/EPSG/0/25833", c+"/items/5?f=html",
		c+"/items?f=json&filter=S_INTERSECTS(geom,POINT(10.05%2060.049))",
		c+"/items?f=json&filter=tid%20%3E%20TIMESTAMP('2024-02-01T12:00:00Z')")
	sameAnswers(t, openGeoPackage(t, foreign(t, file.String())), openURL(t, url), paths)
}

func TestRangeColumnsAreServedAsIntervals(t *testing.T) {
	t.Parallel()
	url := cluster.Database(t)
	admin(t, url, `CREATE TABLE vedtak (id INT PRIMARY KEY, gyldig DATERANGE); COMMENT ON COLUMN vedtak.gyldig IS 'Validity';
		INSERT INTO vedtak VALUES (1, '[2020-01-01,2021-01-01)'), (2, '[2021-01-01,)'), (3, 'empty')`)
	a := serveStore(t, openURL(t, url), nil)
	props := a.get("/collections/vedtak/schema").wants(200).json()["properties"].(map[string]any)
	for name, role := range map[string]string{"gyldig_start": "primary-interval-start",
		"gyldig_end": "primary-interval-end"} {
		p, _ := props[name].(map[string]any)
		if p["x-ogc-role"] != role || p["format"] != "date" || p["description"] != "Validity" {
			t.Errorf("%s: %v", name, p)
		}
	}
	if len(props) != 3 {
		t.Errorf("properties %v", props)
	}
	if ext := fmt.Sprint(a.get("/collections/vedtak").wants(200).json()["extent"]); !strings.Contains(
		ext, "interval:[[2020-01-01T00:00:00Z <nil>]]") {
		t.Error(ext)
	}
	for datetime, want := range map[string]string{"2020-12-31": "1", "2021-01-01": "2", "2020-06-01/..": "1 2",
		"../..": ""} {
		r := a.get("/collections/vedtak/items?f=json&datetime=" + datetime)
		if want == "" {
			r.wants(400)
		} else if got := strings.Join(r.wants(200).page().ids(), " "); got != want {
			t.Errorf("%s: %q, want %q", datetime, got, want)
		}
	}
	for id, want := range map[string]string{"1": "map[interval:[2020-01-01 2020-12-31]]",
		"2": "map[interval:[2021-01-01 ..]]", "3": "<nil>"} {
		doc := a.get("/collections/vedtak/items/" + id + "?profile=jsonfg").wants(200).json()
		if fmt.Sprint(doc["time"]) != want {
			t.Errorf("%s: time %v, want %s", id, doc["time"], want)
		}
	}
	if page := string(a.get("/collections/vedtak/items/1?f=html&lang=en").wants(200).Body); !strings.Contains(
		page, `<time datetime="2020-12-31">`) {
		t.Error("the page does not show the last day")
	}
	if got := strings.Join(a.get("/collections/vedtak/items?f=json&gyldig_end=2020-12-31").wants(200).page().ids(),
		" "); got != "1" {
		t.Errorf("by its last day: %q", got)
	}
}
