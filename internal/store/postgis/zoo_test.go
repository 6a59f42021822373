package postgis_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/postgis"
	"grense/internal/store/storetest"
)

// A zoo is a database of random tables, each with the rows 1 to zooRows. What a cell holds follows from the row and the
// name of the column, so that a reader knows what is right whatever happens to the table.
type zoo struct {
	rnd    *rand.Rand
	sql    strings.Builder
	tables []*animal
	role   string
	dir    string // of what starts keep
}

const zooRows = 20

// animal is a table of the zoo.
type animal struct {
	name    string // quoted, with its schema
	layer   string // as the notes call it
	base    string // the table below a view
	served  bool   // else refused, or not there for the role
	hidden  bool   // the role may read nothing of it
	kind    string
	columns []string // without the key and the geometry
	key     string   // list of columns
}

// zooColumns are the types of columns: by the stem of their name the type, the value as an expression
// of i, and what is served.
var zooColumns = map[string]struct {
	typ, value string
	want       func(i int) any
}{
	"heltall": {"INT", "i * 7 + 3", func(i int) any { return int64(i*7 + 3) }},
	"kort":    {"SMALLINT", "-i", func(i int) any { return int64(-i) }},
	"langt":   {"BIGINT", "i::BIGINT * 1000000000000", func(i int) any { return int64(i) * 1e12 }},
	"des":     {"NUMERIC(12, 3)", "i + 0.125", func(i int) any { return float64(i) + 0.125 }},
	"noyaktig": {"NUMERIC", "(i || '2345678901234567.0123456789')::NUMERIC", func(i int) any {
		return store.JSON(strconv.Itoa(i) + "2345678901234567.0123456789")
	}},
	"enkel":   {"REAL", "i + 0.1", func(i int) any { v, _ := strconv.ParseFloat(strconv.Itoa(i)+".1", 64); return v }},
	"dobbel":  {"FLOAT8", "i / 3.0", func(i int) any { return float64(i) / 3 }},
	"tekst":   {"TEXT", "'å' || i", func(i int) any { return "å" + strconv.Itoa(i) }},
	"varchar": {"VARCHAR(20)", "'v;' || i", func(i int) any { return "v;" + strconv.Itoa(i) }},
	"fast":    {"CHAR(8)", "'c' || i", func(i int) any { return "c" + strconv.Itoa(i) }},
	"sant":    {"BOOLEAN", "i % 2 = 0", func(i int) any { return i%2 == 0 }},
	"dag": {"DATE", "'2024-02-01'::DATE + i", func(i int) any {
		return time.Date(2024, 2, 1+i, 0, 0, 0, 0, time.UTC).Format(time.DateOnly)
	}},
	"tid": {"TIMESTAMPTZ", "'2024-02-01 12:00Z'::TIMESTAMPTZ + i * INTERVAL '1 day'", func(i int) any {
		return time.Date(2024, 2, 1+i, 12, 0, 0, 0, time.UTC).Format(time.RFC3339Nano)
	}},
	"lokal": {"TIMESTAMP", "'2024-02-01 12:00'::TIMESTAMP + i * INTERVAL '1 day'", func(i int) any {
		return time.Date(2024, 2, 1+i, 12, 0, 0, 0, time.UTC).Format(time.RFC3339Nano)
	}},
	"uuid": {"UUID", "('00000000-0000-0000-0000-' || lpad(i::TEXT, 12, '0'))::UUID", func(i int) any {
		return fmt.Sprintf("00000000-0000-0000-0000-%012d", i)
	}},
	"farge": {"farge", "(ARRAY['rød', 'blå'])[1 + i % 2]::farge", func(i int) any {
		return [...]string{"rød", "blå"}[i%2]
	}},
	"lite": {"lite", "i", func(i int) any { return int64(i) }},
	"jsonb": {"JSONB", "jsonb_build_object('a', i)", func(i int) any {
		return store.JSON(fmt.Sprintf(`{"a": %d}`, i))
	}},
	"json": {"JSON", "('{\"a\":' || i || '}')::JSON", func(i int) any {
		return store.JSON(fmt.Sprintf(`{"a":%d}`, i))
	}},
	"tall": {"INT[]", "ARRAY[i, NULL]", func(i int) any { return store.JSON(fmt.Sprintf(`[%d,null]`, i)) }},
	"ord":  {"TEXT[]", "ARRAY['x' || i]", func(i int) any { return store.JSON(fmt.Sprintf(`["x%d"]`, i)) }},
	"nett": {"INET", "('10.0.0.' || i)::INET", func(i int) any { return fmt.Sprintf("10.0.0.%d/32", i) }},
	"klokke": {"TIME", "'12:00'::TIME + i * INTERVAL '1 minute'", func(i int) any {
		return fmt.Sprintf("12:%02d:00", i)
	}},
	"tomt": {"INT", "NULL", func(int) any { return nil }},
	// changes its type under the readers: 'e' before the number when it is text
	"endres": {"INT", "i * 11", func(i int) any { return int64(i * 11) }},
}

var zooStems = []string{"heltall", "kort", "langt", "des", "noyaktig", "enkel", "dobbel", "tekst", "varchar", "fast",
	"sant", "dag", "tid", "lokal", "uuid", "farge", "lite", "jsonb", "json",
	"tall", "ord", "nett", "klokke", "tomt"}

// zooKeys are the kinds of keys: columns, their definition, their values, and whether they identify rows.
var zooKeys = []struct {
	columns, definition, values string
	served                      bool
}{
	{"nr", "nr INT PRIMARY KEY", "i", true},
	{"nr", "nr BIGINT PRIMARY KEY", "i", true},
	{"fid", "fid SERIAL PRIMARY KEY", "i", true},
	{"kode", "kode TEXT PRIMARY KEY", "'~k;' || i", true},
	{"kode", "kode VARCHAR(30) NOT NULL UNIQUE", "'K/' || i", true},
	{"u", "u UUID PRIMARY KEY", "('00000000-0000-0000-0000-' || lpad(i::TEXT, 12, '0'))::UUID", true},
	{"nr, aar", "nr INT, aar INT, PRIMARY KEY (nr, aar)", "i, 2024", true},
	{"kode, fra", "kode TEXT, fra DATE, PRIMARY KEY (kode, fra)", "'a;' || i, '2024-01-01'::DATE", true},
	{"nr", "nr INT", "i", false},
	{"nr", "nr INT UNIQUE", "i", false},
}

// zooGeometries are the kinds of geometries: a type for a column and a kind of shape around the place of a row.
// Systems on a datum of their own are served in ETRS89, curves as lines of short edges, surfaces of patches as areas.
var zooGeometries = []struct {
	typ, kind string
	srid      int
}{
	{"GEOMETRY(Point, 4258)", "POINT", 4258}, {"GEOMETRY(Point, 25833)", "POINT", 25833}, {"GEOMETRY", "POINT", 4258},
	{"GEOGRAPHY(Point, 4326)", "POINT", 4326},
	{"GEOMETRY(Point, 27700)", "POINT", 27700}, {"GEOMETRY(Point, 28992)", "POINT", 28992},
	{"GEOMETRY", "POINT", 31370}, {"GEOMETRY(Point, 2056)", "POINT", 2056},
	{"GEOMETRY(CurvePolygon, 25833)", "CURVEPOLYGON", 25833}, {"GEOMETRY(MultiSurface, 4258)", "MULTISURFACE", 4258},
	{"GEOMETRY(CircularString, 3006)", "CIRCULARSTRING", 3006},
	{"GEOMETRY", "COMPOUNDCURVE", 25833}, {"GEOMETRY(MultiCurve, 28992)", "MULTICURVE", 28992},
	{"GEOMETRY(CurvePolygon, 2056)", "CURVEPOLYGON", 2056}, {"GEOMETRY", "MULTISURFACE", 27700},
	{"GEOMETRY(Tin, 25833)", "TIN", 25833}, {"GEOMETRY(PolyhedralSurface, 31370)", "POLYHEDRALSURFACE", 31370},
}

// zooShapes makes functions: zoo_shape(kind, p), a shape whose box has p at its middle, and zoo_place(g), that middle.
const zooShapes = `CREATE FUNCTION zoo_place(g GEOMETRY) RETURNS GEOMETRY IMMUTABLE LANGUAGE sql AS $$ SELECT ST_SetSRID(ST_MakePoint((ST_XMin(b) + ST_XMax(b)) / 2, (ST_YMin(b) + ST_YMax(b)) / 2), ST_SRID(g))
	FROM (SELECT CASE WHEN ST_HasArc(g) THEN ST_CurveToLine(g) ELSE g END AS b) x $$;
CREATE FUNCTION zoo_shape(kind TEXT, p GEOMETRY) RETURNS GEOMETRY IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE r FLOAT8 := CASE WHEN abs(ST_X(p)) < 180 THEN 0.0001 ELSE 10 END; w TEXT := ST_X(p) - r; e TEXT := ST_X(p) + r; s TEXT := ST_Y(p) - r; n TEXT := ST_Y(p) + r; x TEXT := ST_X(p); y TEXT := ST_Y(p);
	arc TEXT := format('CIRCULARSTRING(%s %s, %s %s, %s %s)', w, y, e, y, w, y); ring TEXT := format('(%s %s, %s %s, %s %s, %s %s, %s %s)', w, s, e, s, e, n, w, n, w, s);
BEGIN RETURN ST_SetSRID(CASE kind WHEN 'POINT' THEN ST_AsText(p, 17) WHEN 'CIRCULARSTRING' THEN arc WHEN 'CURVEPOLYGON' THEN 'CURVEPOLYGON(' || arc || ')' WHEN 'MULTISURFACE' THEN 'MULTISURFACE(CURVEPOLYGON(' || arc || '))'
	WHEN 'MULTICURVE' THEN 'MULTICURVE(' || arc || ', ' || ring || ')' WHEN 'COMPOUNDCURVE' THEN format('COMPOUNDCURVE(CIRCULARSTRING(%s %s, %s %s, %s %s), (%s %s, %s %s))', w, y, x, n, e, y, e, y, x, s)
	WHEN 'POLYHEDRALSURFACE' THEN 'POLYHEDRALSURFACE((' || ring || '))'
	WHEN 'TIN' THEN format('TIN(((%s %s, %s %s, %s %s, %s %s)), ((%s %s, %s %s, %s %s, %s %s)))', w, s, e, s, e, n, w, s, w, s, e, n, w, n, w, s) END::GEOMETRY, ST_SRID(p)); END $$`

func (z *zoo) add(format string, a ...any) { fmt.Fprintf(&z.sql, format+";\n", a...) }

func newZoo(seed uint64, n int, role string) *zoo {
	z := &zoo{rnd: rand.New(rand.NewPCG(seed, 1)), role: role}
	z.add("CREATE SCHEMA s2; CREATE SCHEMA \"Skjema to\"; CREATE TYPE farge AS ENUM ('rød', 'blå'); "+
		"CREATE DOMAIN lite AS INT NOT NULL CHECK (VALUE < 1000); GRANT USAGE ON SCHEMA s2, \"Skjema to\" TO %s", role)
	z.add("%s", zooShapes)
	names := []string{"Tabell %d", "lag%d", "LAG%d", "日本%d", "a\"b%d", "æøå %d", "1tall%d",
		strings.Repeat("x", 50) + "%d", "o'hara%d", "%d"}
	schemas := []string{"public", "public", "s2", `"Skjema to"`}
	for i := range n {
		schema := schemas[z.rnd.IntN(len(schemas))]
		name := fmt.Sprintf(names[z.rnd.IntN(len(names))], i)
		a := &animal{name: schema + `."` + strings.ReplaceAll(name, `"`, `""`) + `"`, layer: name}
		if schema != "public" {
			a.layer = strings.Trim(schema, `"`) + "." + name
		}
		z.tables = append(z.tables, a)
		z.make(a)
	}
	return z
}

// make writes the statements that make a table.
func (z *zoo) make(a *animal) {
	k := zooKeys[z.rnd.IntN(len(zooKeys))]
	a.key, a.served, a.kind = k.columns, k.served, "table"
	definition, values := k.definition, k.values
	for j := range 1 + z.rnd.IntN(6) {
		stem := zooStems[z.rnd.IntN(len(zooStems))]
		c := fmt.Sprintf("%s_%d", stem, j)
		a.columns = append(a.columns, c)
		definition += ", " + c + " " + zooColumns[stem].typ
		values += ", " + zooColumns[stem].value
	}
	a.columns = append(a.columns, "endres_9")
	definition, values = definition+", endres_9 INT", values+", i * 11"
	geometry := z.rnd.IntN(4) > 0
	if geometry {
		g := zooGeometries[z.rnd.IntN(len(zooGeometries))]
		definition += ", geom " + g.typ
		values += fmt.Sprintf(", zoo_shape('%s', ST_Transform(ST_SetSRID(ST_MakePoint(10 + i * 0.01, 60), 4258), %d))",
			g.kind, g.srid)
	}
	a.base = a.name
	rows := " SELECT " + values + " FROM generate_series(1, " + strconv.Itoa(zooRows) + ") i"
	switch z.rnd.IntN(7) {
	case 0: // partitions by the first column of the key
		if !strings.Contains(k.definition, "PRIMARY KEY (") {
			break
		}
		a.kind = "partitioned"
		column, _, _ := strings.Cut(k.columns, ",")
		z.add("CREATE TABLE %s (%s) PARTITION BY HASH (%s)", a.name, definition, column)
		for r := range 3 {
			z.add(`CREATE TABLE public."del %d av %d" PARTITION OF %s FOR VALUES WITH (MODULUS 3, REMAINDER %d)`, r,
				len(z.tables), a.name, r)
		}
		z.add("INSERT INTO %s%s", a.name, rows)
	case 1, 2: // something that shows a table that the role may not read itself
		a.base = fmt.Sprintf("public.under%d", len(z.tables))
		z.add("CREATE TABLE %s (%s); INSERT INTO %s%s", a.base, definition, a.base, rows)
		switch z.rnd.IntN(4) {
		case 0:
			a.kind = "view"
			z.add("CREATE VIEW %s AS SELECT * FROM %s", a.name, a.base)
		case 1:
			a.kind, a.served = "join", false
			z.add("CREATE VIEW %s AS SELECT a.* FROM %s a, generate_series(1, 1) x", a.name, a.base)
		case 2:
			a.kind, a.served = "copy", k.served
			z.add("CREATE MATERIALIZED VIEW %s AS SELECT * FROM %s", a.name, a.base)
			if k.served {
				z.add("CREATE UNIQUE INDEX ON %s (%s)", a.name, k.columns)
			}
		case 3:
			a.kind = "view of a view"
			z.add("CREATE VIEW %s_v AS SELECT * FROM %s; CREATE VIEW %s AS SELECT * FROM %s_v WHERE TRUE", a.base,
				a.base, a.name, a.base)
		}
	case 3:
		a.kind, a.served = "parent", false
		z.add("CREATE TABLE %s (%s); INSERT INTO %s%s; CREATE TABLE public.barn%d () INHERITS (%s)", a.name, definition,
			a.name, rows, len(z.tables), a.name)
	}
	if a.kind == "table" {
		z.add("CREATE TABLE %s (%s); INSERT INTO %s%s", a.name, definition, a.name, rows)
		if geometry && z.rnd.IntN(2) == 0 {
			z.add("CREATE INDEX ON %s USING gist (geom)", a.name)
		}
	}
	switch z.rnd.IntN(8) {
	case 0:
		a.hidden, a.served = true, false
	case 1:
		list := k.columns + ", " + strings.Join(a.columns, ", ")
		if geometry {
			list += ", geom"
		}
		z.add("GRANT SELECT (%s) ON %s TO %s", list, a.name, z.role)
	default:
		z.add("GRANT SELECT ON %s TO %s", a.name, z.role)
	}
}

// rowOf returns the row of an id; 0 if there is none.
func rowOf(id string) int {
	first, rest, _ := strings.Cut(id, ";")
	if strings.HasPrefix(id, "~~k;") {
		first = rest
	}
	first = strings.TrimSuffix(strings.TrimPrefix(strings.TrimPrefix(first, "K/"), "a~1"), ";2024")
	if i := strings.LastIndexByte(first, '-'); i >= 0 {
		first = first[i+1:]
	}
	n, err := strconv.Atoi(first)
	if err != nil || n < 1 || n > zooRows {
		return 0
	}
	return n
}

// wrongRows says what is wrong with the rows of a page that holds all; "" when nothing is.
func wrongRows(p *store.Page) string {
	seen := map[int]bool{}
	for _, r := range p.Rows {
		n := rowOf(r.ID)
		if n == 0 || seen[n] {
			return fmt.Sprintf("the row %q is strange, or comes twice", r.ID)
		}
		seen[n] = true
	}
	if len(seen) != zooRows || p.Matched >= 0 && p.Matched != zooRows {
		return fmt.Sprintf("%d rows, matched %d, want %d", len(seen), p.Matched, zooRows)
	}
	return ""
}

// wrongFeature says what is wrong with a feature of a collection; "" when nothing is.
func wrongFeature(c *store.Collection, f *store.Feature) string {
	i := rowOf(f.ID)
	for n, p := range c.Properties {
		stem, _, _ := strings.Cut(p.Column, "_")
		spec, ok := zooColumns[stem]
		if !ok || !strings.Contains(p.Column, "_") {
			continue // of the key, or added later
		}
		want := spec.want(i)
		if text, is := f.Values[n].(string); is && stem == "endres" && text == fmt.Sprintf("e%v", want) {
			continue
		}
		if f.Values[n] != want {
			return fmt.Sprintf("%s of row %d is %#v, want %#v", p.Column, i, f.Values[n], want)
		}
	}
	if c.Geometry == nil {
		return ""
	}
	g, err := f.Geometry.Orb()
	if err != nil || g == nil {
		return fmt.Sprintf("geometry %v: %v", g, err)
	}
	at := g.Bound().Center()
	degree, err := crs.Between(c.StorageCRS(), crs.CRS84)
	if err != nil {
		return err.Error()
	}
	if x, y := degree(at[0], at[1]); math.Abs(x-10-float64(i)*0.01) > 1e-6 || math.Abs(y-60) > 1e-6 {
		return fmt.Sprintf("row %d lies at %v in %v", i, at, c.StorageCRS())
	} else if c.Extent == nil || !c.Extent.Pad(1e-6).Contains(orb.Point{x, y}) {
		return fmt.Sprintf("row %d lies outside of the extent %v", i, c.Extent)
	}
	return ""
}

// look reads a whole collection, as the server does: a page, then the features of its revisions.
// It returns what is wrong, and whether there was an answer.
func look(s *postgis.Store, cat *store.Catalog, c *store.Collection, q store.Query) (wrong string, answered bool) {
	q.Collection, q.Limit = c.ID, 1000
	p, err := s.Page(context.Background(), q)
	if err != nil {
		return wrongError(err), false
	}
	if p.Version != cat.Version {
		return "", false
	}
	if wrong = wrongRows(p); wrong != "" {
		return wrong, true
	}
	err = s.Fetch(context.Background(), c.ID, p.Rows, store.Want{}, func(f *store.Feature) error {
		if wrong == "" {
			wrong = wrongFeature(c, f)
		}
		return nil
	})
	if wrong == "" && err != nil {
		wrong = wrongError(err)
	}
	return wrong, err == nil
}

// wrongTypes reports the first geometry that is not of the type in the catalog. It is valid at rest only:
// a column of any type may receive others at any time.
func wrongTypes(s *postgis.Store, c *store.Collection) (wrong string) {
	p, err := s.Page(context.Background(), store.Query{Collection: c.ID, Limit: 1000})
	if err != nil {
		return err.Error()
	}
	err = s.Fetch(context.Background(), c.ID, p.Rows, store.Want{}, func(f *store.Feature) error {
		g, err := f.Geometry.Orb()
		if err == nil && (g == nil || c.Geometry.Type != "" && g.GeoJSONType() != c.Geometry.Type) {
			wrong = fmt.Sprintf("row %s has a %T, and its table a %s", f.ID, g, c.Geometry.Type)
		}
		return err
	})
	if err != nil {
		return err.Error()
	}
	return wrong
}

func wrongError(err error) string {
	if errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrChanged) {
		return ""
	}
	return "error " + err.Error()
}

// TestZoo: random tables are each served right or refused by name, at the start and while their definitions
// change under eight readers.
func TestZoo(t *testing.T) {
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("GRENSE_TEST_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("GRENSE_TEST_SEED=%d", seed)
	url := cluster.Database(t)
	role, asRole := storetest.Role(t, url, "")
	z := newZoo(seed, min(200, sharedtest.Rounds(t, 20)), role)
	run(t, url, z.sql.String())
	z.dir = t.TempDir()
	s := openStore(t, asRole, postgis.Options{Poll: 100 * time.Millisecond, Dir: z.dir})
	z.atStart(t, s)
	if !t.Failed() {
		z.atStart(t, openStore(t, asRole, postgis.Options{Poll: time.Hour, Dir: z.dir})) // from what was kept
	}
	if !t.Failed() {
		z.underChanges(t, s, url, asRole)
	}
	if !t.Failed() {
		z.afterChanges(t, asRole)
	}
}

// starts opens stores from what the first start kept, while the definitions change, until ctx ends;
// it returns how many, and what was wrong.
func (z *zoo) starts(ctx context.Context, asRole string) (n int, wrong string) {
	for ctx.Err() == nil && wrong == "" {
		s, err := postgis.Open(context.Background(), asRole, postgis.Options{Poll: time.Hour, Dir: z.dir})
		if err != nil {
			return n, wrongError(err)
		}
		n++
		cat := s.Catalog()
		if len(cat.Collections) == 0 {
			wrong = "no collections"
		}
		for _, c := range cat.Collections {
			if w, _ := look(s, cat, c, store.Query{}); w != "" && wrong == "" {
				wrong = c.Table + " after a start: " + w
			}
		}
		s.Close()
	}
	return n, wrong
}

// afterChanges: a start from what was kept before the changes serves the same as one that keeps nothing.
func (z *zoo) afterChanges(t *testing.T, asRole string) {
	kept, fresh := openStore(t, asRole, postgis.Options{Poll: time.Hour, Dir: z.dir}),
		openStore(t, asRole, postgis.Options{Poll: time.Hour})
	cat, want := kept.Catalog(), fresh.Catalog()
	if len(cat.Collections) != len(want.Collections) {
		t.Errorf("%d collections, and %d of a start that keeps nothing", len(cat.Collections), len(want.Collections))
	}
	for _, w := range want.Collections {
		c, ok := cat.Collection(w.ID)
		if !ok || c.Table != w.Table || c.Key != w.Key || !reflect.DeepEqual(c.Properties, w.Properties) ||
			c.StorageCRS() != w.StorageCRS() || c.Count != w.Count {
			t.Errorf("%s is served as %+v, want %+v", w.Table, c, w)
			continue
		}
		if wrong, _ := look(kept, cat, c, store.Query{}); wrong != "" {
			t.Errorf("%s: %s", c.Table, wrong)
		}
		if wrong, ok := look(fresh, want, w, store.Query{}); wrong != "" || !ok {
			t.Errorf("%s, nothing kept: %s, answered %v", c.Table, wrong, ok)
		}
	}
	for _, n := range want.Notes {
		if n.Refused && refusal(kept, n.Layer) == "" {
			t.Errorf("%s is not refused for %s", n.Layer, n.Reason)
		}
	}
}

func (z *zoo) atStart(t *testing.T, s *postgis.Store) {
	cat := s.Catalog()
	byTable := map[string]*store.Collection{}
	for _, c := range cat.Collections {
		if byTable[c.Table] != nil {
			t.Errorf("%s is served twice", c.Table)
		}
		byTable[c.Table] = c
	}
	for _, a := range z.tables {
		c, told := byTable[a.layer], refusal(s, a.layer)
		switch {
		case a.hidden && (c != nil || told != ""):
			t.Errorf("%s, which the role may not read: %v, %q", a.layer, c, told)
		case a.hidden:
		case a.served != (c != nil) || (c == nil) != (told != ""):
			t.Errorf("%s, a %s with the key %s: served %v, want %v; refused for %q", a.layer, a.kind, a.key, c != nil,
				a.served, told)
		case c != nil:
			box := cql2.BBox{CRS: crs.CRS84, Box: orb.Bound{Min: orb.Point{9, 59}, Max: orb.Point{11, 61}}}
			if wrong, ok := look(s, cat, c, store.Query{}); wrong != "" || !ok {
				t.Errorf("%s: %s, answered %v", a.layer, wrong, ok)
			}
			if c.Geometry == nil {
				continue
			}
			box.Prop = c.Geometry.Name
			if wrong, ok := look(s, cat, c, store.Query{Filter: box}); wrong != "" || !ok {
				t.Errorf("%s in a box: %s, answered %v", a.layer, wrong, ok)
			}
			if wrong := wrongTypes(s, c); wrong != "" {
				t.Errorf("%s: %s", a.layer, wrong)
			}
		}
	}
}

// change returns a random change of a definition, which leaves what the cells mean.
func (z *zoo) change(n int) string {
	a, g := z.tables[z.rnd.IntN(len(z.tables))], zooGeometries[z.rnd.IntN(len(zooGeometries))]
	choices := []string{
		fmt.Sprintf("ALTER TABLE %s ADD ny%d INT DEFAULT 5", a.base, n),
		fmt.Sprintf("ALTER TABLE %s ALTER endres_9 TYPE TEXT USING 'e' || ltrim(endres_9::TEXT, 'e')", a.base),
		fmt.Sprintf("ALTER TABLE %s ALTER endres_9 TYPE INT USING ltrim(endres_9::TEXT, 'e')::INT", a.base),
		fmt.Sprintf("ALTER TABLE %s ALTER endres_9 TYPE BIGINT USING ltrim(endres_9::TEXT, 'e')::BIGINT", a.base),
		fmt.Sprintf("ALTER TABLE %s ALTER geom TYPE %s USING zoo_shape('%s', "+
			"ST_Transform(ST_Transform(zoo_place(geom::GEOMETRY), 4258), %d))", a.base, g.typ, g.kind, g.srid),
		fmt.Sprintf("ALTER TABLE %s ALTER geom TYPE %s USING zoo_shape('%s', "+
			"ST_Transform(ST_Transform(zoo_place(geom::GEOMETRY), 4258), %d))", a.base, g.typ, g.kind, g.srid),
		fmt.Sprintf("ALTER TABLE %s DROP COLUMN %s", a.base, a.columns[z.rnd.IntN(len(a.columns))]),
		fmt.Sprintf("ALTER TABLE %s RENAME COLUMN endres_9 TO vekk; ALTER TABLE %s RENAME COLUMN vekk TO endres_9",
			a.base, a.base),
		fmt.Sprintf("CREATE TABLE midlertidig%d AS TABLE %s; DROP TABLE %s; CREATE TABLE %s AS TABLE midlertidig%d; "+
			"DROP TABLE midlertidig%d; GRANT SELECT ON %s TO %s", n, a.base, a.base, a.base, n, n, a.base, z.role),
		fmt.Sprintf("CREATE TABLE bytte%d (LIKE %s INCLUDING ALL); INSERT INTO bytte%d SELECT * FROM %s; "+
			"DROP TABLE %s; ALTER TABLE bytte%d SET SCHEMA public; GRANT SELECT ON bytte%d TO %s", n, a.base, n, a.base,
			a.base, n, n, z.role),
		fmt.Sprintf("REVOKE SELECT ON %s FROM %s", a.name, z.role),
		fmt.Sprintf("GRANT SELECT ON %s TO %s", a.name, z.role),
		fmt.Sprintf("REFRESH MATERIALIZED VIEW %s", a.name),
		fmt.Sprintf("REFRESH MATERIALIZED VIEW %s WITH NO DATA", a.name),
		fmt.Sprintf("CREATE OR REPLACE VIEW %s AS SELECT * FROM %s WHERE TRUE", a.name, a.base),
		fmt.Sprintf("COMMENT ON TABLE %s IS 'nr %d'", a.base, n),
		fmt.Sprintf("CREATE INDEX ON %s (endres_9)", a.base), fmt.Sprintf("VACUUM FULL %s", a.base),
		fmt.Sprintf("UPDATE %s SET endres_9 = endres_9", a.base),
	}
	return choices[z.rnd.IntN(len(choices))]
}

func (z *zoo) underChanges(t *testing.T, s *postgis.Store, url, asRole string) {
	ctx, stop := context.WithCancel(context.Background())
	var readers sync.WaitGroup
	var answers, refused atomic.Int64
	faults := make(chan string, 9)
	for r := range 8 {
		rnd := rand.New(rand.NewPCG(z.rnd.Uint64(), uint64(r)))
		readers.Go(func() {
			for ctx.Err() == nil {
				cat := s.Catalog()
				if len(cat.Collections) == 0 {
					faults <- "no collections"
					return
				}
				c := cat.Collections[rnd.IntN(len(cat.Collections))]
				q := store.Query{Count: store.Count(rnd.IntN(2))}
				if c.Geometry != nil && rnd.IntN(2) == 0 {
					q.Filter = cql2.BBox{Prop: c.Geometry.Name, CRS: crs.CRS84,
						Box: orb.Bound{Min: orb.Point{9, 59}, Max: orb.Point{11, 61}}}
				}
				wrong, ok := look(s, cat, c, q)
				if wrong != "" {
					faults <- c.Table + ": " + wrong
					return
				}
				if ok {
					answers.Add(1)
				} else {
					refused.Add(1)
				}
			}
		})
	}
	started := 0
	readers.Go(func() {
		n, wrong := z.starts(ctx, asRole)
		if started = n; wrong != "" {
			faults <- wrong
		}
	})
	admin, err := pgx.Connect(ctx, url)
	if err != nil {
		t.Fatal(err)
	}
	done, statements := 0, sharedtest.Rounds(t, 100)
	for n := 0; done < statements && len(faults) == 0; n++ {
		short, cancel := context.WithTimeout(ctx, 10*time.Second)
		if _, err := admin.Exec(short, z.change(n), pgx.QueryExecModeSimpleProtocol); err == nil {
			// many do not fit their table
			done++
		}
		cancel()
		if admin.IsClosed() {
			t.Fatal("the connection of the one who changes is closed")
		}
	}
	stop()
	readers.Wait()
	admin.Close(context.Background())
	close(faults)
	for f := range faults {
		t.Error(f)
	}
	t.Logf("%d changes, %d starts, %d answers, %d refused", done, started, answers.Load(), refused.Load())
	if answers.Load() < int64(statements) || started == 0 {
		t.Errorf("only %d answers of %d starts", answers.Load(), started)
	}
}
