package gpkg_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// planFile is a GeoPackage of n squares with indexes that its maker chose.
func planFile(t *testing.T, n int, analyze bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "plan.gpkg")
	text := func(name string) store.Property {
		return store.Property{Name: name, Column: name, Type: cql2.TypeText}
	}
	create(t, path, func(w store.Writer) {
		c := &store.Collection{ID: "x", Table: "x", Public: true,
			Key:      store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
			Geometry: &store.Geom{Name: "geom", Column: "geom", Type: "Polygon", CRS: crs.CRS84},
			Properties: []store.Property{text("kode"), text("navn"), {Name: "tall", Column: "tall",
				Type: cql2.TypeInteger}, {Name: "dag", Column: "dag", Type: cql2.TypeDate}, text("fritt")}}
		if err := w.Define(context.Background(), c, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(context.Background(), "x",
			[]string{"fid", "kode", "navn", "tall", "dag", "fritt", "geom"})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for i := range n {
			x, y := 5+r.Float64()*20, 58+r.Float64()*12
			g := orb.Polygon{{{x, y}, {x + .01, y}, {x + .01, y + .01}, {x, y + .01}, {x, y}}}
			if err := insert(int64(i+1), fmt.Sprintf("%04d", i), fmt.Sprintf("Navn %d", r.IntN(n)), int64(r.IntN(n)),
				fmt.Sprintf("20%02d-01-01", r.IntN(90)), "x", store.Geometry{WKB: wkb.MustMarshal(g)}); err != nil {
				t.Fatal(err)
			}
		}
	})
	run(t, path, `CREATE INDEX kode_i ON x (kode); CREATE INDEX navn_i ON x (navn); CREATE INDEX tall_i ON x (tall); `+
		`CREATE INDEX dag_i ON x (dag); CREATE INDEX del_i ON x (fritt) WHERE tall > 5`)
	if analyze {
		run(t, path, "ANALYZE")
	}
	return path
}

// TestIndexesServe looks at the plans of SQLite: where an index can serve, no table is read whole.
func TestIndexesServe(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	filters := map[string]string{ // words that a plan must have
		"kode = '0301'":                                             "SEARCH t USING",
		"kode IN ('0301','0302')":                                   "SEARCH t USING",
		"kode > '3990'":                                             "SEARCH t USING",
		"kode BETWEEN '0301' AND '0310'":                            "SEARCH t USING",
		"kode LIKE '03%'":                                           "SEARCH t USING",
		"navn LIKE 'Navn 30%' AND fritt = 'x'":                      "SEARCH t USING",
		"tall = 5":                                                  "SEARCH t USING",
		"tall BETWEEN 5 AND 7 AND fritt <> 'y'":                     "SEARCH t USING",
		"dag = DATE('2004-01-01')":                                  "SEARCH t USING",
		"dag < DATE('2001-01-01')":                                  "SEARCH t USING",
		"kode = '0301' OR tall = 5":                                 "SEARCH t USING",
		"S_INTERSECTS(geom,POINT(10.5 60.5))":                       "VIRTUAL TABLE INDEX",
		"S_INTERSECTS(geom,BBOX(10,60,10.1,60.1))":                  "VIRTUAL TABLE INDEX",
		"S_WITHIN(geom,BBOX(10,60,10.1,60.1)) AND fritt = 'x'":      "VIRTUAL TABLE INDEX",
		"S_CONTAINS(geom,POINT(10.5 60.5)) AND navn LIKE '%7%'":     "VIRTUAL TABLE INDEX",
		"S_TOUCHES(geom,LINESTRING(10 60,10.1 60.1))":               "VIRTUAL TABLE INDEX",
		"S_EQUALS(geom,POINT(10 60)) OR S_EQUALS(geom,POINT(9 60))": "VIRTUAL TABLE INDEX",
	}
	questions := map[string]cql2.Expr{}
	for text := range filters {
		e, err := cql2.ParseText(text)
		if err != nil {
			t.Fatal(err)
		}
		questions[text] = e
	}
	filters["bbox"] = "VIRTUAL TABLE INDEX"
	questions["bbox"] = cql2.BBox{Prop: "geom", CRS: crs.CRS84,
		Box: orb.Bound{Min: orb.Point{10, 60}, Max: orb.Point{10.1, 60.1}}}
	filters["bbox in metres"] = "VIRTUAL TABLE INDEX"
	questions["bbox in metres"] = cql2.BBox{Prop: "geom", CRS: crs.UTM33,
		Box: orb.Bound{Min: orb.Point{200000, 6600000}, Max: orb.Point{210000, 6610000}}}
	filters["q"] = "words_0 VIRTUAL TABLE INDEX"
	questions["q"] = cql2.Search{Props: []string{"kode", "navn", "fritt"}, Terms: []string{"300"}}
	for _, analyze := range []bool{false, true} {
		path := planFile(t, 4000, analyze)
		s := openStore(t, path, gpkg.Options{})
		c, _ := s.Catalog().Collection("x")
		for text, e := range questions {
			e, err := cql2.Check(e, c)
			if err != nil {
				t.Fatal(err)
			}
			page, count, err := s.Plan(store.Query{Collection: "x", Filter: e, Limit: 10})
			if err != nil {
				t.Fatal(err)
			}
			plans := [][]string{page, count}
			if strings.ContainsAny(text, "<>") && !strings.Contains(text, " AND ") {
				plans = plans[1:] // half a range: SQLite reads a page in the order of the ids until it is full
			}
			for _, plan := range plans {
				all := strings.Join(plan, "\n")
				if strings.Contains(all, "SCAN t") || !strings.Contains(all, filters[text]) {
					t.Errorf("analyzed %v: %s reads by\n%s\nwant %s", analyze, text, all, filters[text])
				}
			}
		}
	}
}

// TestBoxesOfTheWholeLayerAreNotAsked: a box around everything costs no more than no box.
func TestBoxesOfTheWholeLayerAreNotAsked(t *testing.T) {
	t.Parallel()
	s, err := gpkg.Open(t.Context(), filepath.Join(shared(t), "awkward/gpkg-ets/null_geometry.gpkg"),
		gpkg.Options{DataDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range s.Catalog().Collections {
		for _, f := range []cql2.Expr{
			cql2.BBox{Prop: c.Geometry.Name, CRS: crs.CRS84,
				Box: orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}},
			cql2.And{cql2.BBox{Prop: c.Geometry.Name, CRS: crs.WGS84,
				Box: orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}}, cql2.Bool(true)},
		} {
			p, err := s.Page(t.Context(), store.Query{Collection: c.ID, Limit: 100, Filter: f})
			if err != nil || p.Matched != c.Count || len(p.Rows) != c.Count {
				t.Errorf("%s: %d of %d, %v", c.ID, p.Matched, c.Count, err)
			}
		}
	}
}

// TestCountsDoNotDependOnThePage: where the page has tested rows already, only the others are counted.
func TestCountsDoNotDependOnThePage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	path := planFile(t, 1000, false)
	count := func(q store.Query) int {
		p, err := openStore(t, path, gpkg.Options{}).Page(t.Context(), q) // open again, so that no count is cached
		if err != nil {
			t.Fatal(err)
		}
		return p.Matched
	}
	for _, text := range []string{"CASEI(navn) LIKE CASEI('%n 1%')", "CASEI(navn) LIKE CASEI('NAVN 9%') AND tall > 200",
		"navn LIKE 'Navn 1%'", "ACCENTI(kode) = '0999'",
		"S_INTERSECTS(geom,BBOX(6,59,14,64)) AND CASEI(navn) LIKE CASEI('%7%')"} {
		e, err := cql2.ParseText(text)
		if err != nil {
			t.Fatal(err)
		}
		c, _ := openStore(t, path, gpkg.Options{}).Catalog().Collection("x")
		if e, err = cql2.Check(e, c); err != nil {
			t.Fatal(err)
		}
		q := store.Query{Collection: "x", Filter: e}
		want := count(q)
		if want == 0 {
			t.Errorf("%s: none: no test", text)
		}
		for _, page := range []store.Query{{Limit: 1}, {Limit: 10}, {Limit: 3, Offset: 5},
			{Limit: 5, SortBy: []store.Sort{{Property: "navn", Desc: true}}}, {Limit: 5000}} {
			page.Collection, page.Filter = "x", e
			if got := count(page); got != want {
				t.Errorf("%s, limit %d, offset %d: %d, want %d", text, page.Limit, page.Offset, got, want)
			}
		}
	}
}
