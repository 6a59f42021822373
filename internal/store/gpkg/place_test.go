package gpkg_test

import (
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"

	"grense/internal/cache"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
)

// star makes a star-shaped polygon around c.
func star(r *rand.Rand, c orb.Point, size float64, n int) orb.Polygon {
	var ring orb.Ring
	for i := range n {
		s, k := math.Sincos(2 * math.Pi * float64(i) / float64(n))
		d := size * (0.5 + 0.5*r.Float64())
		ring = append(ring, orb.Point{c[0] + d*k*2, c[1] + d*s})
	}
	return orb.Polygon{append(ring, ring[0])}
}

// spotFile is a GeoPackage of n polygons around Oslo, in degrees or in metres; some rows have no geometry.
func spotFile(t *testing.T, n int, in crs.ID) string {
	t.Helper()
	return spotFileOf(t, n, in, store.FeatureKey{Column: "fid", Type: cql2.TypeInteger}, func(i int) any {
		return int64(3*i - n)
	})
}

func spotFileOf(t *testing.T, n int, in crs.ID, key store.FeatureKey, id func(int) any) string {
	t.Helper()
	to, err := crs.Between(crs.CRS84, in)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "spots.gpkg")
	create(t, path, func(w store.Writer) {
		c := &store.Collection{ID: "x", Table: "x", Public: true, Key: key,
			Geometry: &store.Geom{Name: "geom", Column: "geom", Type: "Polygon", CRS: in}}
		if err := w.Define(context.Background(), c, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(context.Background(), "x", []string{key.Column, "geom"})
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for i := range n {
			g := store.Geometry{}
			if i%50 != 0 {
				p := star(r, orb.Point{8 + 4*r.Float64(), 59 + 2*r.Float64()},
					0.002+0.1*r.Float64()*r.Float64(), 3+r.IntN(30))
				for k, v := range p[0] {
					p[0][k][0], p[0][k][1] = to(v[0], v[1])
				}
				g.WKB = wkb.MustMarshal(p)
			}
			if err := insert(id(i), g); err != nil {
				t.Fatal(err)
			}
		}
	})
	return path
}

// randomPlace asks for places only.
func randomPlace(r *rand.Rand, depth int) cql2.Expr {
	if depth > 0 {
		switch r.IntN(4) {
		case 0:
			return cql2.And{randomPlace(r, depth-1), randomPlace(r, depth-1)}
		case 1:
			return cql2.Or{randomPlace(r, depth-1), randomPlace(r, depth-1)}
		case 2:
			return cql2.And{randomPlace(r, 0), cql2.Not{X: randomPlace(r, depth-1)}}
		}
	}
	c := orb.Point{8 + 4*r.Float64(), 59 + 2*r.Float64()}
	geom := cql2.Prop{Name: "geom", Type: cql2.TypeGeometry}
	if r.IntN(3) == 0 {
		return cql2.BBox{Prop: "geom", CRS: crs.CRS84,
			Box: orb.Bound{Min: c, Max: orb.Point{c[0] + r.Float64(), c[1] + r.Float64()/2}}}
	}
	literal := cql2.Geom{G: star(r, c, 0.1+r.Float64()/2, 3+r.IntN(200)), CRS: crs.CRS84}
	if r.IntN(4) == 0 {
		literal.G = c
	}
	op := cql2.SIntersects
	if r.IntN(4) == 0 {
		op = cql2.SWithin
	}
	return cql2.Spatial{Op: op, L: geom, R: literal}
}

// TestPagesOfPlacesAgreeWithThoseOfSQL: envelopes in memory and statements give the same pages, counts and cursors.
func TestPagesOfPlacesAgreeWithThoseOfSQL(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	names := store.FeatureKey{Column: "navn", Type: cql2.TypeText}
	name := func(i int) any { return strconv.FormatInt(int64(7919*i%100003), 7) } // in another order than the rows
	for what, x := range map[string]struct {
		path func(*testing.T) string
		o    gpkg.Options
	}{
		"degrees": {func(t *testing.T) string { return spotFile(t, 1500, crs.CRS84) }, gpkg.Options{}},
		"metres": {func(t *testing.T) string {
			return spotFile(t, 1500, crs.UTM33)
		}, gpkg.Options{Unchanging: true}},
		"ids are texts": {func(t *testing.T) string {
			return spotFileOf(t, 1500, crs.UTM33, names, name)
		}, gpkg.Options{}},
		"a few features": {func(t *testing.T) string {
			return spotFileOf(t, 60, crs.CRS84, names, name)
		}, gpkg.Options{}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s := openStore(t, x.path(t), x.o)
			s.ColumnsAtOnce(false)
			plan, err := s.Explain(t.Context(),
				store.Query{Collection: "x", Limit: 1, Filter: randomPlace(rand.New(rand.NewPCG(1, 1)), 0)})
			if err != nil || plan.Way != "places" {
				t.Fatalf("%+v, %v", plan, err)
			}
			pagesOfPlaces(t, s)
		})
	}
}

func pagesOfPlaces(t *testing.T, s *gpkg.Store) {
	t.Helper()
	n := sharedtest.Rounds(t, 60)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	found := 0
	for range n {
		place := randomPlace(r, 2)
		q := store.Query{Collection: "x", Limit: 1 + r.IntN(40), Offset: max(0, r.IntN(60)-30),
			Count: store.Count(r.IntN(2))}
		for range 6 {
			q.Filter = place
			got, err := s.Page(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			q.Filter = cql2.And{place, cql2.Bool(true)} // which is not about places alone
			want, err := s.Page(t.Context(), q)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Rows) == 0 && len(want.Rows) == 0 {
				got.Rows, want.Rows = nil, nil
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("%s, %+v:\n got %+v\nwant %+v", cql2.FormatText(place), q, got, want)
			}
			found += len(got.Rows)
			q.Offset = r.IntN(2) * r.IntN(5)
			if q.Cursor = got.Next; r.IntN(3) == 0 || q.Cursor == "" {
				q.Cursor = got.Prev
			}
			if q.Cursor == "" {
				break
			}
		}
	}
	if found < n/6 {
		t.Errorf("%d features found: no test", found)
	}
}

// TestPlacesOfAFileThatIsEdited: when somebody has changed the file, envelopes are no longer taken for the rows.
func TestPlacesOfAFileThatIsEdited(t *testing.T) {
	t.Parallel()
	path := spotFile(t, 500, crs.CRS84)
	s := openStore(t, path, gpkg.Options{})
	q := store.Query{Collection: "x", Limit: 10, Filter: cql2.BBox{Prop: "geom", CRS: crs.CRS84,
		Box: orb.Bound{Min: orb.Point{9, 59.2}, Max: orb.Point{11, 60.8}}}}
	before, err := s.Page(t.Context(), q)
	if err != nil || len(before.Rows) < 10 {
		t.Fatal(len(before.Rows), err)
	}
	gone := before.Rows[3].ID
	run(t, path, "DELETE FROM x WHERE fid = "+gone)
	after, err := s.Page(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range after.Rows {
		if row.ID == gone {
			t.Errorf("feature %s is gone and in the page", gone)
		}
	}
	if after.Matched != before.Matched-1 {
		t.Errorf("%d matches, before %d", after.Matched, before.Matched)
	}
}

// TestGeometriesAreMadeReadyAtOnce: the first question about places has the geometries of all features made
// ready, unless they do not fit.
func TestGeometriesAreMadeReadyAtOnce(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct{ budget, from, to int64 }{"they fit": {0, 1470, 1470},
		"they do not fit": {1 << 20, 0, 100}} {
		caches := &cache.Group{}
		s := openStore(t, spotFile(t, 1500, crs.CRS84), gpkg.Options{Caches: caches, TypeAhead: 1 << 20})
		caches.SetBudget(x.budget)
		s.ColumnsAtOnce(false)
		q := store.Query{Collection: "x", Limit: 10, Filter: cql2.BBox{Prop: "geom", CRS: crs.CRS84,
			Box: orb.Bound{Min: orb.Point{9, 59.2}, Max: orb.Point{9.1, 59.3}}}}
		if _, err := s.Page(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		if n := s.Shapes(); n < x.from || n > x.to {
			t.Errorf("%s: %d of 1470 geometries are ready", name, n)
		}
	}
}

// Boxes are tested against geometries that are kept: those of the file as it is.
func TestKeptGeometriesAreOfOneStateOfTheFile(t *testing.T) {
	t.Parallel()
	path := spotFile(t, 100, crs.CRS84)
	s := openStore(t, path, gpkg.Options{})
	boxes := func() (ids []string) {
		t.Helper()
		fresh, r := openStore(t, path, gpkg.Options{}), rand.New(rand.NewPCG(3, 4))
		for range 100 {
			x, y := 8+4*r.Float64(), 59+2*r.Float64()
			box := cql2.BBox{Prop: "geom", CRS: crs.CRS84,
				Box: orb.Bound{Min: orb.Point{x, y}, Max: orb.Point{x + .1, y + .05}}}
			q := store.Query{Collection: "x", Filter: box, Limit: 100}
			for range 2 { // kept the second time
				got, err := s.Page(t.Context(), q)
				want, err2 := fresh.Page(t.Context(), q)
				if err != nil || err2 != nil || !slices.EqualFunc(got.Rows, want.Rows, func(a, b store.Row) bool {
					return a.ID == b.ID
				}) {
					t.Fatalf("%v: %+v (%v), by another store %+v (%v)", box.Box, got, err, want, err2)
				}
				for _, x := range got.Rows {
					ids = append(ids, x.ID)
				}
			}
		}
		return ids
	}
	before := boxes()
	if err := os.Rename(spotFile(t, 103, crs.CRS84), path); err != nil { // the same ids, with other geometries
		t.Fatal(err)
	}
	if err := s.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := boxes(); slices.Equal(before, after) || s.Shapes() == 0 {
		t.Errorf("the same answers, %d geometries kept: no test", s.Shapes())
	}
}
