package ingest_test

import (
	"bytes"
	"context"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"github.com/paulmach/orb/encoding/wkt"
	"github.com/paulmach/orb/planar"

	"grense/internal/format/input"
	"grense/internal/ingest"
	"grense/internal/ingest/ingesttest"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/storetest"
)

var cluster storetest.Cluster

func TestMain(m *testing.M) { os.Exit(cluster.Main(m)) }

// TestRepairKeepsWhatIsCovered has what becomes of polygons that are not valid, and the area that is covered
// afterwards.
func TestRepairKeepsWhatIsCovered(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		wkt    string
		action input.Action
		area   float64
		reason string
	}{
		"valid": {"POLYGON((0 0,4 0,4 4,0 4,0 0))", "", 16, ""},
		"a shell elsewhere": {"POLYGON((10 60,10 60.001,10.001 60.001,10.001 60,10 60),(11 60,11 61,12 61,12 " +
			"60,11 60))", input.Kept, 0, "ways that differ by 100000000 %"},
		"the same hole twice": {"POLYGON((0 0,9 0,9 9,0 9,0 0),(1 1,1 8,8 8,8 1,1 1),(1 1,1 8,8 8,8 1,1 1))",
			input.Kept, 0, "ways that differ by 153 %"},
		"turned the second time": {"POLYGON((0 0,9 0,9 9,0 9,0 0),(1 1,1 8,8 8,8 1,1 1),(1 1,8 1,8 8,1 8,1 1))",
			input.Kept, 0, "ways that differ by 153 %"},
		"the same hole thrice": {"POLYGON((0 0,9 0,9 9,0 9,0 0),(1 1,1 8,8 8,8 1,1 1),(1 1,1 8,8 8,8 1,1 1),(1 1,8 " +
			"1,8 8,1 8,1 1))", input.Kept, 0, ""},
		"a tiny hole twice": {"POLYGON((0 0,9 0,9 9,0 9,0 0),(1 1,1 1.001,1.001 1.001,1.001 1,1 1),(1 1,1 " +
			"1.001,1.001 1.001,1.001 1,1 1))", input.Repaired, 81 - 1e-6, ""},
		"holes that overlap": {"POLYGON((0 0,9 0,9 9,0 9,0 0),(1 1,1 6,6 6,6 1,1 1),(3 3,3 8,8 8,8 3,3 3))",
			input.Kept, 0, ""},
		"holes side by side": {"POLYGON((0 0,9 0,9 9,0 9,0 0),(1 1,1 4,4 4,4 1,1 1),(4 1,4 4,8 4,8 1,4 1))",
			input.Repaired, 81 - 21, ""},
		"the hole is the shell": {"POLYGON((0 0,9 0,9 9,0 9,0 0),(0 0,0 9,9 9,9 0,0 0))", input.Kept, 0,
			"enclose nothing"},
		"a part in a hole twice": {"MULTIPOLYGON(((0 0,9 0,9 9,0 9,0 0),(1 1,1 8,8 8,8 1,1 1),(1 1,1 8,8 8,8 1,1 " +
			"1)),((1 1,8 1,8 8,1 8,1 1)))", input.Kept, 0, ""},
		"bow-tie for a hole": {"POLYGON((-1 -1,9 -1,9 9,-1 9,-1 -1),(0 0,2 2,2 0,0 2,0 0))",
			input.Repaired, 98, ""},
		"bow-tie": {"POLYGON((0 0,2 2,2 0,0 2,0 0))", input.Repaired, 2, ""},
		"a spike": {"POLYGON((0 0,4 0,4 9,4 4,0 4,0 0))", input.Repaired, 16, ""},
		"parts side by side": {"MULTIPOLYGON(((0 0,1 0,1 1,0 1,0 0)),((1 0,2 0,2 1,1 1,1 0)))",
			input.Repaired, 2, ""},
		"parts one on the other": {"MULTIPOLYGON(((0 0,2 0,2 1,0 1,0 0)),((1 0,3 0,3 1,1 1,1 0)))", input.Kept, 4,
			"differ by 33 %"},
		"the same part twice": {"MULTIPOLYGON(((0 0,2 0,2 1,0 1,0 0)),((0 0,2 0,2 1,0 1,0 0)))", input.Kept, 4,
			"differ by 100 %"},
		"pentagram":          {"POLYGON((0 3,2 -3,-3 1,3 1,-2 -3,0 3))", input.Kept, 0, "ways that differ by"},
		"nothing inside":     {"POLYGON((0 0,1 1,2 2,0 0))", input.Kept, 0, "enclose nothing"},
		"a hole at the edge": {"POLYGON((0 0,4 0,4 4,0 4,0 0),(0 1,0 2,1 2,1 1,0 1))", input.Repaired, 15, ""},
		"a hole across the edge": {"POLYGON((0 0,4 0,4 4,0 4,0 0),(3 1,3 2,4.0000001 2,4.0000001 1,3 1))",
			input.Repaired, 15, ""},
		"a hole in a hole": {"POLYGON((0 0,9 0,9 9,0 9,0 0),(1 1,1 8,8 8,8 1,1 1),(1 1,4 2,2 4,1 1))", input.Kept,
			0, "a hole lies in another hole"},
		"a hole in a hole after": {"POLYGON((0 0,9 0,9 9,0 9,0 0),(1 1,4 2,2 4,1 1),(8 1,1 1,1 8,8 8,8 1))",
			input.Kept, 0, ""},
		"in a collection": {"GEOMETRYCOLLECTION(POINT(7 7),MULTIPOLYGON(((0 0,2 2,2 0,0 2,0 0))))",
			input.Repaired, 2, "part 2 is invalid"},
		"one of a collection": {"GEOMETRYCOLLECTION(POLYGON((0 0,2 2,2 0,0 2,0 0)),POLYGON((0 0,1 1,2 2,0 0)))",
			input.Kept, 0, "part 2 is invalid"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, err := wkt.Unmarshal(c.wkt)
			if err != nil {
				t.Fatal(err)
			}
			action, reason, out, err := ingest.Repair(wkb.MustMarshal(g))
			if err != nil || action != c.action || !strings.Contains(reason, c.reason) {
				t.Fatalf("%v, %q, %q", err, action, reason)
			}
			after, err := wkb.Unmarshal(out)
			if err != nil {
				t.Fatal(err)
			}
			if a := planar.Area(after); c.area > 0 && math.Abs(a-c.area) > 1e-9*c.area {
				t.Errorf("area %v, want %v: %s", a, c.area, wkt.MarshalString(after))
			}
			if action == input.Kept && wkt.MarshalString(after) == "" {
				t.Error("nothing is kept")
			}
			if again, reason, _, err := ingest.Repair(out); err != nil || action == input.Repaired && again != "" {
				t.Errorf("the repaired one is %s: %s, %v", again, reason, err)
			}
		})
	}
}

func TestRepairKeepsHeights(t *testing.T) {
	t.Parallel()
	plan, have := ingesttest.ImportText(t, "a.geojson",
		`{"type":"Feature","id":1,"properties":null,"geometry":{"type":"Polygon","coordinates":[[[0,0,5],[2,2,7],[2,`+
			`0,8],[0,2,9],[0,0,5]]]}}`, ingesttest.Into)
	if plan.Report.Repaired != 1 || !plan.Collection.Geometry.HasZ {
		t.Fatalf("%+v", plan.Report)
	}
	if !bytes.Contains(have[0].WKB, ingesttest.Floats(1, 1, 6)) { // the crossing, between 5 and 7
		t.Errorf("%x", have[0].WKB)
	}
	var faces []string // around a summit, which a union would lose
	for _, edge := range []string{"[0,0,1],[2,0,1]", "[2,0,1],[2,2,1]", "[2,2,1],[0,2,1]", "[0,2,1],[0,0,1]"} {
		faces = append(faces, "[[[1,1,5],"+edge+",[1,1,5]]]")
	}
	plan, have = ingesttest.ImportText(t, "b.geojson",
		`{"type":"Feature","id":1,"properties":null,"geometry":{"type":"MultiPolygon","coordinates":[`+
			strings.Join(faces, ",")+`]}}`, ingesttest.Into)
	if _, ok := ingesttest.Find(plan.Report, input.Kept, "would lose heights"); !ok ||
		!bytes.Contains(have[0].WKB, ingesttest.Floats(1, 1, 5)) {
		t.Errorf("%v", plan.Report.Faults)
	}
}

// random is a polygon with faults of many kinds: rings that cross themselves and each other, on a coarse grid so that
// they often touch.
func random(r *rand.Rand) orb.Geometry {
	at := func() orb.Point { return orb.Point{float64(r.IntN(12)), float64(r.IntN(12))} }
	if r.IntN(3) == 0 {
		at = func() orb.Point { return orb.Point{r.Float64() * 12, r.Float64() * 12} }
	}
	ring := func() orb.Ring {
		var out orb.Ring
		if r.IntN(2) == 0 { // a box
			a, b := at(), at()
			b[0], b[1] = b[0]+1, b[1]+1
			out = orb.Ring{a, {b[0], a[1]}, b, {a[0], b[1]}}
		} else {
			for range 3 + r.IntN(6) {
				out = append(out, at())
			}
		}
		return append(out, out[0])
	}
	var m orb.MultiPolygon
	for range 1 + r.IntN(2)*r.IntN(3) {
		var p orb.Polygon
		for range 1 + r.IntN(2)*r.IntN(3) {
			p = append(p, ring())
		}
		m = append(m, p)
	}
	if len(m) == 1 {
		return m[0]
	}
	return m
}

// TestRepairAgreesWithGEOS compares with PostGIS. What GEOS calls invalid is repaired, or kept and reported.
// A repair covers what ST_MakeValid covers, and what an even-odd reading by GEOS covers, except for a millionth.
// If a piece of line is drawn twice those two differ, because ST_MakeValid ignores how often lines are drawn.
// Then one of them is enough.
func TestRepairAgreesWithGEOS(t *testing.T) {
	t.Parallel()
	n := sharedtest.Rounds(t, 400)
	r := rand.New(rand.NewPCG(13, 1))
	var list [][]byte
	for range n {
		list = append(list, wkb.MustMarshal(random(r)))
	}
	seen := compareWithGEOS(t, list)
	if seen[""] < n/20 || seen[input.Repaired] < n/10 || seen[input.Kept] < n/8 {
		t.Errorf("the random polygons are all of a kind: %v", seen)
	}
}

// TestRepairOfRealDataAgreesWithGEOS compares every polygon of files that have invalid ones.
func TestRepairOfRealDataAgreesWithGEOS(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]map[input.Action]int{
		"norway/robhop-2024/Kommuner-M.geojson.gz":   {"": 324, input.Repaired: 14, input.Kept: 19},
		"norway/robhop-2020/Fylker-large.geojson.gz": {"": 4, input.Repaired: 5, input.Kept: 2},
		"norway/misc/csmaps-Fylker17.geojson.gz":     {"": 17, input.Repaired: 2},
		"world/ne_110m_admin_0_countries.geojson.gz": {"": 176, input.Repaired: 1},
	} {
		if strings.Contains(file, "Kommuner-M") && os.Getenv("GRENSE_SOAK") == "" {
			continue // a minute in GEOS; make soak has it
		}
		var list [][]byte
		for _, l := range ingesttest.Open(t, ingesttest.SharedPath(t, "data", filepath.FromSlash(file)), 0).Layers {
			err := l.Features(t.Context(), func(f *ingest.Feature) error {
				list = append(list, bytes.Clone(f.Geometry.WKB))
				return nil
			}, func(ingest.Fault) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
		}
		if seen := compareWithGEOS(t, list); !maps.Equal(seen, want) {
			t.Errorf("%s: %v, want %v", file, seen, want)
		}
	}
}

// evenOdd is the even-odd reading by GEOS: one ring after the other, what is in it changes sides. by_roles takes holes
// from their shells, and unites what is left. spikes is the length of what a ring draws twice itself, which
// ST_MakeValid takes for a border.
const evenOdd = `CREATE FUNCTION even_odd(g geometry) RETURNS geometry LANGUAGE plpgsql AS $$
	DECLARE r geometry; sum geometry := 'POLYGON EMPTY';
	BEGIN
		FOR r IN SELECT ST_MakeValid(ST_MakePolygon(ST_ExteriorRing(d.geom))) FROM ST_Dump(g) p, ST_DumpRings(p.geom) d LOOP
			sum := ST_SymDifference(sum, ST_CollectionExtract(r, 3));
		END LOOP;
		RETURN sum;
	END $$;
	CREATE FUNCTION by_roles(g geometry) RETURNS geometry LANGUAGE plpgsql AS $$
	DECLARE p geometry; r geometry; one geometry; sum geometry := 'POLYGON EMPTY';
	BEGIN
		FOR p IN SELECT d.geom FROM ST_Dump(g) d LOOP
			one := ST_CollectionExtract(ST_MakeValid(ST_MakePolygon(ST_ExteriorRing(p))), 3);
			FOR r IN SELECT ST_MakeValid(ST_MakePolygon(ST_InteriorRingN(p, i))) FROM generate_series(1, ST_NumInteriorRings(p)) i LOOP
				one := ST_Difference(one, ST_CollectionExtract(r, 3));
			END LOOP;
			sum := ST_Union(sum, one);
		END LOOP;
		RETURN sum;
	END $$;
	CREATE FUNCTION spikes(g geometry) RETURNS float LANGUAGE sql AS $$
		SELECT sum(ST_Length(r) - ST_Length(ST_UnaryUnion(r))) FROM ST_Dump(g) p, ST_DumpRings(p.geom) d, ST_ExteriorRing(d.geom) r $$`

// compareWithGEOS repairs polygons and holds the results against PostGIS; it counts what became of them.
func compareWithGEOS(t *testing.T, list [][]byte) map[input.Action]int {
	t.Helper()
	db, err := pgx.Connect(t.Context(), cluster.Database(t))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(context.Background())
	if _, err := db.Exec(t.Context(), evenOdd); err != nil {
		t.Fatal(err)
	}
	seen := map[input.Action]int{}
	actions := make([]input.Action, len(list))
	after := make([][]byte, len(list))
	for i, b := range list {
		if actions[i], _, after[i], err = ingest.Repair(b); err != nil {
			t.Fatal(err)
		}
		seen[actions[i]]++
	}
	rows, err := db.Query(t.Context(),
		`SELECT i, ST_AsText(a), ST_IsValid(a), ST_IsValid(b), CASE WHEN ST_IsValid(a) OR NOT ST_IsValid(b) THEN ARRAY[0, 0, 1, 0, 0, 0] ELSE ARRAY[
			ST_Area(ST_SymDifference(even_odd(a), b)), ST_Area(ST_SymDifference(ST_MakeValid(a), b)), ST_Area(b),
			ST_Length(ST_Boundary(a)) - ST_Length(ST_UnaryUnion(ST_Boundary(a))), spikes(a),
			ST_Area(ST_SymDifference(by_roles(a), b))] END
		FROM (SELECT ST_GeomFromWKB(a) a, ST_GeomFromWKB(b) b, i FROM unnest($1::bytea[], $2::bytea[]) WITH ORDINALITY x(a, b, i)) x`, list, after)
	if err != nil {
		t.Fatal(err)
	}
	var text string
	var i int
	var valid, now bool
	var d []float64
	_, err = pgx.ForEachRow(rows, []any{&i, &text, &valid, &now, &d}, func() error {
		action := actions[i-1]
		switch {
		case valid != (action == ""):
			t.Errorf("%d: valid for GEOS %v, but %q: %.500s", i, valid, action, text)
		case action == input.Repaired && !now:
			t.Errorf("%d: the repair is not valid for GEOS: %.500s", i, text)
		case action == input.Repaired && min(d[0], d[1]) > 1e-6*d[2] && d[4] < 1e-9,
			action == input.Repaired && max(d[0], d[1]) > 1e-6*d[2] && d[3] < 1e-9:
			t.Errorf("%d: the repair differs from an even-odd reading by %v and from ST_MakeValid by %v of %v: %.500s",
				i, d[0], d[1], d[2], text)
		case action == input.Repaired && d[5] > 1e-6*d[2] && d[4] < 1e-9:
			t.Errorf("%d: the repair differs by %v of %v from the shells without their holes: %.500s", i,
				d[5], d[2], text)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

func TestImportTellsTheAreas(t *testing.T) {
	t.Parallel()
	plan, _ := ingesttest.ImportText(t, "a.geojson", `{"type":"FeatureCollection","features":[
		{"type":"Feature","id":1,"properties":null,"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}},
		{"type":"Feature","id":2,"properties":null,"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]}}]}`, ingesttest.Into)
	a := plan.Report.Area
	if math.Abs(a.Read/1.5-12363.7e6) > 1e6 || math.Abs(a.Written-a.Read) > 1 || a.Moved > 1 {
		t.Errorf("%+v", a)
	}
}

func TestStrictRefusesWhatCannotBeRepaired(t *testing.T) {
	t.Parallel()
	star := `{"type":"Feature","id":1,"properties":null,"geometry":{"type":"Polygon","coordinates":[[[0,3],[2,-3],` +
		`[-3,1],[3,1],[-2,-3],[0,3]]]}}`
	strict := ingesttest.Into
	strict.Strict = true
	plan, err := ingesttest.Survey(t, "a.geojson", star, strict)
	if f, ok := ingesttest.Find(plan.Report, input.Refused, "without --strict"); err == nil || !ok || f.Feature != 1 {
		t.Errorf("%v %v", err, plan.Report.Faults)
	}
	if plan, err := ingesttest.Survey(t, "a.geojson", star, ingesttest.Into); err != nil || plan.Report.Kept != 1 {
		t.Errorf("%v %v", err, plan.Report.Faults)
	}
}

func TestSingleAndMultiplePartsBecomeOneType(t *testing.T) {
	t.Parallel()
	const polygon, multi = `{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}`,
		`{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]]]}`
	const line, lines = `{"type":"LineString","coordinates":[[0,0],[1,0]]}`,
		`{"type":"MultiLineString","coordinates":[[[0,0],[1,0]],[[2,0],[3,0]]]}`
	for name, c := range map[string]struct{ a, b, want, orb string }{
		"polygons":          {polygon, multi, "MultiPolygon", "MultiPolygon"},
		"in other order":    {multi, polygon, "MultiPolygon", "MultiPolygon"},
		"lines":             {line, lines, "MultiLineString", "MultiLineString"},
		"polygon and lines": {polygon, lines, "", "Polygon"},
	} {
		plan, have := ingesttest.ImportText(t, "a.geojson",
			`{"type":"FeatureCollection","features":[{"type":"Feature","id":1,"properties":null,"geometry":`+c.a+`},
			{"type":"Feature","id":2,"properties":null,"geometry":`+c.b+`}]}`, ingesttest.Into)
		if plan.Collection.Geometry.Type != c.want {
			t.Errorf("%s: %q", name, plan.Collection.Geometry.Type)
		}
		g, err := store.Geometry{WKB: have[0].WKB}.Orb()
		if err != nil || g.GeoJSONType() != c.orb {
			t.Errorf("%s: %v %v", name, g, err)
		}
	}
}
