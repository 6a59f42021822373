package gpkg_test

import (
	"bufio"
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/peterstace/simplefeatures/geom"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"grense/internal/cql2"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// shared returns the folder of real test data, or skips.
func shared(t *testing.T) string { return sharedtest.Path(t, "data") }

func realFiles(t *testing.T) []string {
	dir := shared(t)
	files, err := filepath.Glob(filepath.Join(dir, "awkward", "gpkg-ets", "*.gpkg"))
	if err != nil || len(files) == 0 {
		t.Fatal("no files", err)
	}
	for _, f := range []string{"cql2/ne110m4cql2.gpkg", "norway/kartverket-fylker-25833.gpkg",
		"norway/hmalmedal-n1000/n1000-kommune-25833.gpkg",
		"norway/kartverket-basisdata-fylker-2023-25833.gpkg"} {
		files = append(files, filepath.Join(dir, filepath.FromSlash(f)))
	}
	return files
}

// TestRealFilesArriveWhole crawls every layer by next and by offset and compares each geometry
// with an independent reading.
func TestRealFilesArriveWhole(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	for _, f := range realFiles(t) {
		t.Run(filepath.Base(f), func(t *testing.T) {
			t.Parallel()
			before, _ := os.ReadDir(filepath.Dir(f))
			s := openStore(t, f, gpkg.Options{})
			for _, c := range s.Catalog().Collections {
				want := readRaw(t, f, c)
				if c.Count != len(want) {
					t.Errorf("%s: count %d, the table has %d rows", c.ID, c.Count, len(want))
				}
				for limit := 1; limit <= 40; limit++ {
					if len(want) > 1000 && limit%13 != 0 && sharedtest.Soak(t) == 0 {
						continue
					}
					crawlRaw(t, s, c, limit, want)
				}
				compareRaw(t, s, c, want)
			}
			if after, _ := os.ReadDir(filepath.Dir(f)); len(after) != len(before) {
				t.Errorf("%d files beside the source, before there were %d", len(after), len(before))
			}
		})
	}
}

// readRaw reads ids and geometries with nothing of the store: the WKB of each id.
func readRaw(t *testing.T, path string, c *store.Collection) map[string][]byte {
	t.Helper()
	db, err := sqlite.OpenConn("file:"+path+"?mode=ro&immutable=1", sqlite.OpenReadOnly|sqlite.OpenURI)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	column := "NULL"
	if c.Geometry != nil {
		column = `"` + c.Geometry.Column + `"`
	}
	rows := map[string][]byte{}
	err = sqlitex.ExecuteTransient(db, `SELECT `+c.Key.Column+`, `+column+` FROM "`+c.Table+`"`,
		&sqlitex.ExecOptions{ResultFunc: func(s *sqlite.Stmt) error {
			blob := make([]byte, s.ColumnLen(1))
			s.ColumnBytes(1, blob)
			if len(blob) > 0 {
				blob = blob[8+[]int{0, 32, 48, 48, 64}[blob[3]>>1&7]:]
			}
			rows[s.ColumnText(0)] = blob
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func crawlRaw(t *testing.T, s *gpkg.Store, c *store.Collection, limit int, want map[string][]byte) {
	t.Helper()
	seen := map[string]bool{}
	q := store.Query{Collection: c.ID, Limit: limit}
	offset := 0
	for {
		p := page(t, s, q)
		plain := page(t, s, store.Query{Collection: c.ID, Limit: limit, Offset: offset, Count: store.CountNone})
		if !slices.Equal(plain.Rows, p.Rows) {
			t.Fatalf("%s, limit %d, offset %d: by offset %v, by next %v", c.ID, limit, offset, plain.Rows, p.Rows)
		}
		for _, r := range p.Rows {
			if seen[r.ID] {
				t.Fatalf("%s, limit %d: %s comes twice", c.ID, limit, r.ID)
			}
			seen[r.ID] = true
		}
		offset += len(p.Rows)
		if q.Cursor = p.Next; q.Cursor == "" {
			break
		}
	}
	for id := range want {
		if !seen[id] {
			t.Fatalf("%s, limit %d: %s does not come", c.ID, limit, id)
		}
	}
	if len(seen) != len(want) {
		t.Fatalf("%s, limit %d: %d ids, want %d", c.ID, limit, len(seen), len(want))
	}
}

func compareRaw(t *testing.T, s *gpkg.Store, c *store.Collection, want map[string][]byte) {
	t.Helper()
	var ids []string
	for id := range want {
		ids = append(ids, id)
	}
	n := 0
	err := s.Fetch(context.Background(), c.ID, store.Current(ids...), store.Want{}, func(f *store.Feature) error {
		n++
		w := want[f.ID]
		g, err := geom.UnmarshalWKB(w, geom.NoValidate{})
		if len(w) == 0 || err != nil || g.IsEmpty() {
			if !f.Geometry.IsNull() {
				t.Errorf("%s %s: a geometry, want none", c.ID, f.ID)
			}
			return nil
		}
		if !bytes.Equal(f.Geometry.WKB, w) {
			t.Errorf("%s %s: other bytes than in the file", c.ID, f.ID)
		}
		o, err := f.Geometry.Orb()
		if err != nil {
			t.Errorf("%s %s: %v", c.ID, f.ID, err)
			return nil
		}
		low, high, _ := g.Envelope().MinMaxXYs()
		if b := o.Bound(); b.Min[0] != low.X || b.Min[1] != low.Y || b.Max[0] != high.X || b.Max[1] != high.Y {
			t.Errorf("%s %s: bound %v, want %v %v", c.ID, f.ID, b, low, high)
		}
		return nil
	})
	if err != nil || n != len(want) {
		t.Errorf("%s: fetched %d of %d: %v", c.ID, n, len(want), err)
	}
}

func page(t testing.TB, s store.Store, q store.Query) *store.Page {
	t.Helper()
	p, err := s.Page(context.Background(), q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return p
}

// TestOddLayers says what becomes of each odd layer of the test files of OGC.
func TestOddLayers(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	dir := filepath.Join(shared(t), "awkward", "gpkg-ets")
	tests := []struct {
		file, collection, note string
		count                  int
	}{
		{"empty", "", "", 0},
		{"uint16", "ogr_empty_table", "2d-gridded-coverage", 0},
		{"features-0_1", "0", `"foo" is not known`, 51},
		{"states10", "statesqgis", "", 51},
		{"gpkg-test-5208", "geojson", "", 6},
		{"null_geometry", "pointexamples", "", 2},
		{"sample1_2F10", "counties", "EPSG:4269 (NAD83) is taken as CRS84", 3141},
		{"sample1_2F10", "countiestbl", "", 3141},
		{"simple_sewer_features", "", "EPSG:27700", 0},
		{"gdal_sample", "point2d", "undefined; served as CRS84", 2},
		{"gdal_sample", "polygon2d", "", 2},
		{"gdal_sample_view", "sample_view", "", 8},
		{"gdal_sample_v1.2_spatial_index_extension", "attribute_table", `"tiles" is not served`, 1},
		{"v12_bad_attributes", "attribute_table", "", 1},
	}
	for _, tt := range tests {
		t.Run(tt.file+" "+tt.collection, func(t *testing.T) {
			s := openStore(t, filepath.Join(dir, tt.file+".gpkg"), gpkg.Options{})
			c, ok := s.Catalog().Collection(tt.collection)
			if ok != (tt.collection != "") {
				t.Fatalf("collection %q: %v", tt.collection, ok)
			}
			if ok && c.Count != tt.count {
				t.Errorf("count %d, want %d", c.Count, tt.count)
			}
			hasNote(t, s, tt.note)
		})
	}
}

func hasNote(t *testing.T, s *gpkg.Store, part string) {
	t.Helper()
	for _, n := range s.Catalog().Notes {
		if strings.Contains(n.Reason, part) {
			return
		}
	}
	if part != "" {
		t.Errorf("no note says %q: %+v", part, s.Catalog().Notes)
	}
}

// TestOfficialInterval reads gyldigFra and gyldigTil, whose ends are all open, without configuration.
func TestOfficialInterval(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	s := openStore(t, filepath.Join(shared(t), "norway", "kartverket-basisdata-fylker-2023-25833.gpkg"), gpkg.Options{
		Settings: map[string]store.Settings{"fylke": {IDColumns: []string{"identifikasjon.Identifikasjon.lokalId"}}},
	})
	c, _ := s.Catalog().Collection("fylke")
	if c.IntervalStart != "gyldigFra" || c.IntervalEnd != "gyldigTil" || c.Temporal[0] == nil || c.Temporal[1] != nil {
		t.Fatalf("interval %q %q, %v", c.IntervalStart, c.IntervalEnd, c.Temporal)
	}
	for date, want := range map[string]int{"2023-12-01": 8, "2024-01-01": 15, "2020-01-01": 0} {
		from, to, err := cql2.ParseInterval(date, time.UTC)
		if err != nil {
			t.Fatal(err)
		}
		p := page(t, s, store.Query{Collection: "fylke", Limit: 20,
			Filter: cql2.Interval{Start: "gyldigFra", End: "gyldigTil", From: from, To: to}})
		if p.Matched != want || len(p.Rows) != want {
			t.Errorf("%s: %d counties, want %d", date, p.Matched, want)
		}
	}
	if p := page(t, s, store.Query{Collection: "fylke", Limit: 1}); len(p.Rows[0].ID) != 36 {
		t.Errorf("id %q is no UUID", p.Rows[0].ID)
	}
}

// corrected are counts that are wrong in the standard (opengeospatial/ogcapi-features#1011).
var corrected = map[string]int{
	`ACCENTI(name) LIKE accenti('Ch%')`: 3, `ACCENTI(CASEI(name)) LIKE accenti(casei('Chiș%'))`: 1,
	`ACCENTI(CASEI(name)) LIKE accenti(casei('cHis%'))`: 1,
}

// TestStandardPredicates runs the predicates of OGC 21-065r2, annex A.
func TestStandardPredicates(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(shared(t), "cql2")
	s := openStore(t, filepath.Join(dir, "ne110m4cql2.gpkg"), gpkg.Options{})
	f, err := os.Open(filepath.Join(dir, "cql2-ats-predicates.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Scan()
	n := 0
	for lines.Scan() {
		cells := strings.Split(lines.Text(), "\t")
		want, _ := strconv.Atoi(cells[4])
		if x, ok := corrected[cells[3]]; ok {
			want = x
		}
		c, ok := s.Catalog().Collection(cells[2])
		if !ok {
			t.Fatalf("no collection %s", cells[2])
		}
		e, err := cql2.ParseText(cells[3])
		if err == nil {
			e, err = cql2.Check(e, c)
		}
		if err != nil {
			t.Errorf("%s: %v", cells[3], err)
			continue
		}
		n++
		if p := page(t, s, store.Query{Collection: c.ID, Filter: e, Limit: 10000}); p.Matched != want ||
			len(p.Rows) != want {
			t.Errorf("%s: %d matched, %d rows, want %d", cells[3], p.Matched, len(p.Rows), want)
		}
	}
	if n < 270 {
		t.Errorf("%d predicates", n)
	}
}
