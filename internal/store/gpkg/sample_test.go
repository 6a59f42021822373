package gpkg_test

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// heldSurvey opens a store that samples layers of a thousand rows, and holds the whole survey until release is called,
// which waits until the store has been reloaded.
func heldSurvey(t *testing.T, path string) (s *gpkg.Store, release func()) {
	t.Helper()
	gate, done := make(chan struct{}), make(chan struct{})
	open := sync.OnceFunc(func() { close(gate) })
	var looks atomic.Int64
	s = openStore(t, path, gpkg.Options{SampleFrom: 1000,
		Progress: func(string, int, int) {
			if looks.Add(1) > 1 { // the first is of Open
				<-gate
			}
		},
		Surveyed: func(ctx context.Context) {
			<-gate
			if err := s.Reload(ctx); err != nil {
				t.Error(err)
			}
			close(done)
		}})
	t.Cleanup(open) // before the store is closed, which waits
	return s, func() {
		open()
		<-done
	}
}

// sampledParcels writes parcels, and some features without geometry, as a file of ours or of somebody else.
func sampledParcels(t *testing.T, ours bool, more ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "teig.gpkg")
	create(t, path, func(w store.Writer) {
		p := storetest.Parcels{N: 3000}
		p.Fill(t, w)
		insert, err := w.Insert(t.Context(), "teig", []string{"fid", "nummer", "navn"})
		for i := int64(5000); err == nil && i < 5010; i++ {
			err = insert(i, i, "Uten sted")
		}
		if err != nil {
			t.Fatal(err)
		}
	})
	if !ours {
		more = append(more, "DROP TABLE grense_collection")
	}
	// They call functions of other programs.
	for _, name := range []string{"insert", "update1", "update2", "update3", "update4", "delete"} {
		more = append([]string{"DROP TRIGGER rtree_teig_geom_" + name}, more...)
	}
	run(t, path, strings.Join(more, ";"))
	return path
}

// sampledQueries are queries whose answers do not depend on what has been read of the file.
func sampledQueries(t *testing.T, c *store.Collection) (list []store.Query) {
	t.Helper()
	filter := func(text string) cql2.Expr {
		e, err := cql2.ParseText(text)
		if err == nil {
			e, err = cql2.Check(e, c)
		}
		if err != nil {
			t.Fatal(text, err)
		}
		return e
	}
	terms, err := cql2.ParseSearch("gard 17")
	if err != nil {
		t.Fatal(err)
	}
	box := func(west, south, east, north float64, in crs.ID) cql2.Expr {
		b := orb.Bound{Min: orb.Point{west, south}, Max: orb.Point{east, north}}
		return cql2.BBox{Prop: c.Geometry.Name, Box: b, CRS: in}
	}
	for _, e := range []cql2.Expr{
		nil, filter("nummer = 17"), filter("navn LIKE 'Gard 1%' AND areal > 9500"),
		filter("dato < DATE('1960-01-01')"), filter("art IN ('skog', 'veg')"),
		filter("art IS NULL"), cql2.Search{Props: c.SearchNames(), Terms: terms},
		box(100_150, 6_500_150, 100_450, 6_500_250, crs.UTM33), box(0, 6_000_000, 900_000, 7_000_000, crs.UTM33),
		box(8.05, 58.4, 8.1, 58.6, crs.CRS84), box(-180, -90, 180, 90, crs.CRS84),
	} {
		for _, by := range [][]store.Sort{nil, {{Property: "dato", Desc: true}}} {
			for _, offset := range []int{0, 7, 2990} {
				list = append(list, store.Query{Collection: c.ID, Filter: e, SortBy: by, Limit: 5, Offset: offset})
			}
		}
	}
	return list
}

// TestALargeFileIsServedBeforeItIsRead compares answers by a sample with those that follow when all has been read.
func TestALargeFileIsServedBeforeItIsRead(t *testing.T) {
	t.Parallel()
	for _, ours := range []bool{true, false} {
		t.Run(fmt.Sprintf("ours=%v", ours), func(t *testing.T) {
			t.Parallel()
			s, release := heldSurvey(t, sampledParcels(t, ours))
			if s.Catalog().Survey == nil {
				t.Fatal("all rows have been read before the file is served")
			}
			type answer struct {
				ids        []string
				next, prev store.Cursor
				matched    int
				features   []store.Feature
			}
			ask := func() (list []answer) {
				c, _ := s.Catalog().Collection("teig")
				for _, q := range sampledQueries(t, c) {
					p := page(t, s, q)
					a := answer{next: p.Next, prev: p.Prev, matched: p.Matched}
					for _, r := range p.Rows {
						a.ids = append(a.ids, r.ID)
					}
					err := s.Fetch(t.Context(), "teig", p.Rows, store.Want{}, func(f *store.Feature) error {
						x := store.Feature{ID: f.ID, Values: slices.Clone(f.Values)}
						x.Geometry.WKB = bytes.Clone(f.Geometry.WKB)
						a.features = append(a.features, x)
						return nil
					})
					if err != nil {
						t.Fatal(err)
					}
					list = append(list, a)
				}
				return list
			}
			before, catalog := ask(), s.Catalog()
			release()
			after, now := ask(), s.Catalog()
			for i, q := range sampledQueries(t, now.Collections[0]) {
				if !reflect.DeepEqual(before[i], after[i]) {
					t.Errorf("%+v:\nbefore %+v\n after %+v", q, before[i], after[i])
				}
			}
			if now.Survey != nil || now.Version == catalog.Version {
				t.Errorf("version %s, then %s; survey %v", catalog.Version, now.Version, now.Survey)
			}
			a, b := catalog.Collections[0], now.Collections[0]
			if a.Count != b.Count || !a.Extent.Contains(b.Extent.Min) || !a.Extent.Contains(b.Extent.Max) ||
				!reflect.DeepEqual(a.Properties, b.Properties) {
				t.Errorf("collection\nbefore %+v\n after %+v", a, b)
			}
		})
	}
}

// TestAFileThatASampleMisjudgesIsReadFirst has files of which a sample would show something wrong.
func TestAFileThatASampleMisjudgesIsReadFirst(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"text in a column of integers":      "UPDATE teig SET nummer = 'sytten' WHERE fid = 17",
		"a time of day in a column of days": "UPDATE teig SET dato = '2020-01-01T12:00:00Z' WHERE fid = 17",
		"no R-tree":                         "DROP TABLE rtree_teig_geom",
		"an R-tree without some rows":       "DELETE FROM rtree_teig_geom WHERE id = 17",
		"more rows in the R-tree":           "INSERT INTO rtree_teig_geom SELECT fid + 9000, 0, 1, 0, 1 FROM teig",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if s, _ := heldSurvey(t, sampledParcels(t, false, sql)); s.Catalog().Survey != nil {
				t.Error("the file is served by a sample")
			}
		})
	}
}
