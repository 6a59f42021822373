package postgis_test

import (
	"context"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/postgis/statedb"
	"grense/internal/store/storetest"
)

const places = `CREATE TABLE sted (kode VARCHAR(8) PRIMARY KEY, navn TEXT, geom GEOMETRY(Point, 4258));
	INSERT INTO sted VALUES ('b', 'Bergen', 'SRID=4258;POINT(5 60)'), ('a', 'Ås', 'SRID=4258;POINT(10.8 59.7)'), ('B', NULL, NULL);
	CREATE INDEX ON sted USING gist (geom);`

func TestForeignTables(t *testing.T) {
	t.Parallel()
	url := base(t, places+`
		COMMENT ON TABLE sted IS 'Steder'; COMMENT ON COLUMN sted.navn IS 'Navnet';
		CREATE SCHEMA kart; CREATE TABLE kart."Kommuner på kart" (id INT PRIMARY KEY, "ID" TEXT, geom GEOMETRY(MultiPolygonZ, 25833));
		CREATE TABLE kart.sted (gid BIGINT PRIMARY KEY, geom GEOGRAPHY(Point));
		CREATE VIEW utsnitt AS SELECT kode, navn, geom FROM sted WHERE navn IS NOT NULL;
		CREATE MATERIALIZED VIEW kopi AS SELECT row_number() OVER () AS fid, geom FROM sted; CREATE UNIQUE INDEX ON kopi (fid);
		CREATE MATERIALIZED VIEW tilfeldig AS SELECT row_number() OVER () AS fid, geom FROM sted;
		CREATE TABLE uten_geometri (id INT PRIMARY KEY); CREATE TABLE uten_srid (id INT PRIMARY KEY, geom GEOMETRY);
		INSERT INTO uten_srid VALUES (1, 'POINT(1 2)');
		CREATE TABLE fremmed (id INT PRIMARY KEY, geom GEOMETRY(Point, 3395));
		CREATE TABLE to_like (id INT, geom GEOMETRY(Point, 4258)); INSERT INTO to_like VALUES (1, NULL), (1, NULL);
		CREATE TABLE delt (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258)) PARTITION BY RANGE (id);
		CREATE TABLE delt_1 PARTITION OF delt FOR VALUES FROM (0) TO (10); INSERT INTO delt VALUES (1, NULL);`)
	s := openStore(t, url, postgis.Options{})
	want := map[string]string{
		"sted": "OGC:none Point kode EPSG:4258 3", "utsnitt": "kode EPSG:4258 2", "kopi": "fid EPSG:4258 3",
		"delt":                  "id EPSG:4258 1",
		"kart_kommuner_pa_kart": "id EPSG:25833 0", "kart_sted": "gid EPSG:4326 0", "uten_geometri": "id OGC:none 0",
	}
	if n := len(s.Catalog().Collections); n != len(want) {
		t.Errorf("%d collections, want %d", n, len(want))
	}
	for id, w := range want {
		c, ok := s.Catalog().Collection(id)
		if !ok {
			t.Errorf("no collection %q", id)
			continue
		}
		f := strings.Fields(w)
		f = f[len(f)-3:]
		system := "OGC:none"
		if c.Geometry != nil {
			system = c.StorageCRS().String()
		}
		if c.Key.Column != f[0] || system != f[1] {
			t.Errorf("%s: key %s, CRS %v, want %v", id, c.Key.Column, system, f)
		}
		if p := page(t, s, store.Query{Collection: id, Limit: 10}); len(p.Rows) != c.Count || p.Matched != c.Count {
			t.Errorf("%s: %d rows of %d, matched %d", id, len(p.Rows), c.Count, p.Matched)
		}
	}
	c, _ := s.Catalog().Collection("sted")
	if p, _ := c.Find("navn"); c.Title[""] != "Steder" || p.Title[""] != "Navnet" || c.Geometry.Type != "Point" {
		t.Errorf("comments and types: %+v, %+v", c, p)
	}
	c, _ = s.Catalog().Collection("kart_kommuner_pa_kart")
	if _, ok := c.Find("ID_"); !ok || !c.Geometry.HasZ || c.Geometry.Type != "MultiPolygon" ||
		c.Table != "kart.Kommuner på kart" {
		t.Errorf("names: %+v %+v", c, c.Geometry)
	}
	refused := map[string]string{"uten_srid": "SRID 0", "fremmed": "EPSG:3395", "to_like": "in id_column",
		"tilfeldig": "CREATE UNIQUE INDEX"}
	for _, n := range s.Catalog().Notes {
		if w, ok := refused[n.Layer]; !ok || !n.Refused || !strings.Contains(n.Reason, w) {
			t.Errorf("note %+v", n)
		}
		delete(refused, n.Layer)
	}
	if len(refused) > 0 {
		t.Errorf("no note for %v", refused)
	}
	if p := page(t, s, store.Query{Collection: "sted", Limit: 10}); ids(p) != "B a b" {
		t.Errorf("ids %q are not in the order of code points", ids(p))
	}
}

func TestReadOnlyRoleIsEnough(t *testing.T) {
	t.Parallel()
	url := base(t, places+`CREATE TABLE hemmelig (id INT PRIMARY KEY, geom GEOMETRY(Point, 4258));`)
	role, asRole := storetest.Role(t, url, "")
	run(t, url, "GRANT SELECT ON sted TO "+role)
	s := openStore(t, asRole, postgis.Options{})
	if n := len(s.Catalog().Collections); n != 1 {
		t.Errorf("%d collections, want only the one that the role may read", n)
	}
	if p := page(t, s, store.Query{Collection: "sted", Limit: 10}); p.Matched != 3 {
		t.Errorf("matched %d", p.Matched)
	}
	if _, err := statedb.Open(context.Background(), asRole); err != statedb.ErrReadOnly {
		t.Errorf("keys: %v, want ErrReadOnly", err)
	}
}

func TestValuesOfForeignTypes(t *testing.T) {
	t.Parallel()
	url := base(t, `CREATE TYPE farge AS ENUM ('rød', 'blå'); CREATE DOMAIN lite AS INT CHECK (VALUE < 10);
		CREATE TABLE x (id UUID PRIMARY KEY, i2 SMALLINT, d lite, n NUMERIC(6,2), r REAL, f FLOAT8, b BOOL, c CHAR(6), e farge, j JSONB, l TEXT[], dag DATE,
		  ts TIMESTAMP, tz TIMESTAMPTZ, rå BYTEA, geom GEOMETRY(Geometry, 4258));
		INSERT INTO x VALUES ('00000000-0000-0000-0000-00000000000a', 7, 3, 12.50, 0.1, 'NaN', TRUE, '0301', 'blå', '{"a": [1]}', '{a,b}', 'infinity',
		  '2024-02-29 12:00:00.5', '2024-02-29 12:00:00+02', '\x00', 'SRID=4258;POLYGON EMPTY'),
		  ('00000000-0000-0000-0000-00000000000b', NULL, NULL, 'NaN', 'infinity', 1e300, NULL, NULL, NULL, NULL, NULL, '0044-03-15 BC', 'infinity', NULL, NULL,
		  'SRID=4258;CIRCULARSTRING(10 60, 11 61, 12 60)');`)
	s := openStore(t, url, postgis.Options{})
	got := values(t, s, "x", "00000000-0000-0000-0000-00000000000a")
	want := map[string]any{"id": "00000000-0000-0000-0000-00000000000a", "i2": int64(7), "d": int64(3), "n": 12.5,
		"r": 0.1, "f": nil, "b": true, "c": "0301", "e": "blå",
		"j": store.JSON(`{"a": [1]}`), "l": store.JSON(`["a","b"]`), "dag": nil, "ts": "2024-02-29T12:00:00.5Z",
		"tz": "2024-02-29T10:00:00Z", "(geometry)": nil}
	if want["id_"], want["(geometry)"] = nil, nil; !reflect.DeepEqual(without(got), without(want)) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
	got = values(t, s, "x", "00000000-0000-0000-0000-00000000000b")
	if got["n"] != nil || got["r"] != nil || got["f"] != 1e300 || got["dag"] != nil || got["ts"] != nil {
		t.Errorf("what is no number and no day: %v", got)
	}
	if line, ok := got["(geometry)"].(orb.LineString); !ok || len(line) < 10 {
		t.Errorf("an arc is %v", got["(geometry)"])
	}
	c, _ := s.Catalog().Collection("x")
	for text, want := range map[string]int{
		"n = 12.5": 1, "r = 0.1": 1, "f > 0": 1, "f IS NULL": 1, "e = 'blå'": 1, "c = '0301'": 1, "dag IS NULL": 2,
		"ts >= TIMESTAMP('2024-02-29T12:00:00.5Z')":     1,
		"tz < TIMESTAMP('2024-02-29T10:00:00.000001Z')": 1, "geom IS NULL": 1, "i2 + 1 = 8": 1,
		"CASEI(e) LIKE 'bl%'": 1, "e < 'z'": 1, "NOT (n > 100)": 1, "r > 100": 0,
	} {
		e, err := cql2.ParseText(text)
		if err == nil {
			e, err = cql2.Check(e, c)
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if p := page(t, s, store.Query{Collection: "x", Filter: e, Limit: 10}); p.Matched != want {
			t.Errorf("%s: matched %d, want %d", text, p.Matched, want)
		}
	}
	box := cql2.BBox{Prop: "geometry", CRS: crs.CRS84, Box: orb.Bound{Min: orb.Point{-10, -10}, Max: orb.Point{-9, -9}}}
	if p := page(t, s, store.Query{Collection: "x", Filter: box, Limit: 10}); p.Matched != 1 {
		t.Errorf("an empty geometry counts as none in a bbox: matched %d, want 1", p.Matched)
	}
}

func without(m map[string]any) map[string]any {
	for k, v := range m {
		if f, ok := v.(float64); v == nil || ok && math.IsNaN(f) {
			delete(m, k)
		}
	}
	return m
}

func TestTextThatTheDatabaseDoesNotTake(t *testing.T) {
	t.Parallel()
	s := openStore(t, base(t, places), postgis.Options{})
	for _, text := range []string{"a\x00b", "\xff"} {
		e := cql2.Compare{Op: cql2.Gt, L: cql2.Prop{Name: "navn", Type: cql2.TypeText}, R: cql2.Text(text)}
		want := 0
		for _, name := range []string{"Bergen", "Ås"} {
			if name > text {
				want++
			}
		}
		if p := page(t, s, store.Query{Collection: "sted", Filter: e, Limit: 10}); p.Matched != want {
			t.Errorf("%q: matched %d, want %d", text, p.Matched, want)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	url := base(t, places+`CREATE TABLE to_like (id INT, nr TEXT, fra DATE, geom GEOMETRY(Point, 4258)); `+
		`INSERT INTO to_like VALUES (1, 'x', '2024-01-02', NULL), (1, 'y', NULL, NULL);`)
	s := openStore(t, url, postgis.Options{Settings: map[string]store.Settings{
		"public.to_like": {ID: "par", IDColumns: []string{"nr"}, Instant: "fra", Title: store.Text{"en": "Pairs"}},
		"sted":           {Hidden: true},
	}})
	c, ok := s.Catalog().Collection("par")
	if !ok || len(s.Catalog().Collections) != 1 || c.Title["en"] != "Pairs" || c.Instant != "fra" ||
		c.Temporal[0] == nil {
		t.Fatalf("%+v", s.Catalog().Collections)
	}
	if p := page(t, s, store.Query{Collection: "par", Limit: 10}); ids(p) != "x y" {
		t.Errorf("ids %q", ids(p))
	}
}
