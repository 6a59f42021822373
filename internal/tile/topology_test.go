package tile_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/problem"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
	"grense/internal/tile"
)

// TestNeighboursAreThoseOfPostGIS: the features beside one and the length of the border with each are what PostGIS
// finds, and the same from a file.
func TestNeighboursAreThoseOfPostGIS(t *testing.T) {
	t.Parallel()
	url, pg := demoDatabase(t)
	m, n := tile.NewMaker(tile.Options{}), tile.NewMaker(tile.Options{Dir: t.TempDir()})
	defer m.Close()
	defer n.Close()
	file := demoStore(t)
	db, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close(t.Context())
	for _, collection := range []string{"fylker", "kommuner"} {
		c, _ := pg.Catalog().Collection(collection)
		sql := fmt.Sprintf(
			`select a.%[1]s::text, b.%[1]s::text, sum(st_length(st_transform(x.g, 4258)::geography)) from grense.%[2]s a join grense.%[2]s b on a.%[1]s <> b.%[1]s and a.%[3]s && b.%[3]s,
			lateral (select (st_dump(st_intersection(st_boundary(a.%[3]s), st_boundary(b.%[3]s)))).geom g) x where st_dimension(x.g) = 1 and a.%[1]s::text < '32' group by 1, 2`,
			c.Key.Column,
			c.Table,
			c.Geometry.Column,
		)
		rows, err := db.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		type pair struct {
			From, To string
			Length   float64
		}
		pairs, err := pgx.CollectRows(rows, pgx.RowToStructByPos[pair])
		if err != nil || len(pairs) < 10 {
			t.Fatal(len(pairs), err)
		}
		want := map[string]map[string]float64{}
		for _, p := range pairs {
			if want[p.From] == nil {
				want[p.From] = map[string]float64{}
			}
			want[p.From][p.To] = p.Length
		}
		a, err := m.Topology(t.Context(), pg, collection)
		if err != nil || !a.Coverage || a.Features() != c.Count || a.CRS != c.Geometry.CRS {
			t.Fatal(a, err)
		}
		b, err := n.Topology(t.Context(), file, collection)
		if err != nil {
			t.Fatal(err)
		}
		for id, neighbours := range want {
			list, err := a.Neighbours(id)
			if err != nil || len(list) != len(neighbours) {
				t.Fatalf("%s %s: %v, %v, want %v", collection, id, list, err, neighbours)
			}
			for _, x := range list {
				if length := neighbours[x.ID]; math.Abs(x.Length-length) > 0.01+1e-6*length {
					t.Errorf("%s %s: %v m along %s, PostGIS has %v", collection, id, x.Length, x.ID, length)
				}
			}
			if other, err := b.Neighbours(id); err != nil || !slices.Equal(list, other) {
				t.Errorf("%s %s: %v from a file, %v, want %v", collection, id, other, err, list)
			}
		}
	}
}

// TestNeighboursShareABorder: corners, versions of the same area and edges that do not match are no borders.
func TestNeighboursShareABorder(t *testing.T) {
	t.Parallel()
	st := areas(t, crs.UTM33,
		orb.Polygon{square(500000, 6500000, 1000, 1000)},
		orb.Polygon{square(501000, 6500000, 1000, 500)},  // along half of a side
		orb.Polygon{square(501000, 6501000, 1000, 500)},  // at a corner
		orb.Polygon{square(500000, 6500000, 1000, 1000)}, // the first one once more
		orb.Polygon{square(498999, 6500000, 1000, 1000)}, // a metre away
		nil)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	top, err := m.Topology(t.Context(), st, "areas")
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string][]string{"1": {"2"}, "2": {"1", "4"}, "3": {}, "4": {"2"}, "5": {}, "6": {}} {
		list, err := top.Neighbours(id)
		var ids []string
		for _, x := range list {
			if ids = append(ids, x.ID); math.Abs(x.Length-500) > 1 { // the scale of the projection
				t.Errorf("%s: %v m", id, x.Length)
			}
		}
		if err != nil || list == nil || !slices.Equal(ids, want) && len(want) > 0 || len(ids) != len(want) {
			t.Errorf("%s: %v, %v, want %v", id, list, err, want)
		}
	}
	if _, err := top.Neighbours("7"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if _, err := m.Topology(t.Context(), st, "nothing"); !errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
	if _, err := m.Topology(t.Context(), demoStore(t), "hendelser"); err != nil &&
		problem.Of(err).Kind != problem.NotFound &&
		!errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}

// TestTopologyIsTheAreas: arcs put together are the geometries of the store, to a millimetre.
func TestTopologyIsTheAreas(t *testing.T) {
	t.Parallel()
	st := demoStore(t)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	top, err := m.Topology(t.Context(), st, "kommuner")
	if err != nil {
		t.Fatal(err)
	}
	if least := .001; top.Unit() < least || top.Unit() > 20*least {
		t.Errorf("a grid of %v m", top.Unit())
	}
	page, err := st.Page(t.Context(), store.Query{Collection: "kommuner", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	err = st.Fetch(t.Context(), "kommuner", page.Rows, store.Want{Properties: []string{}},
		func(f *store.Feature) error {
			n, ok, err := top.Find(f.ID)
			if id, _ := top.ID(n); !ok || err != nil || id != f.ID {
				t.Fatalf("%s is %d, which is %s: %v", f.ID, n, id, err)
			}
			g, err := wkb.Decode(f.Geometry.WKB)
			if err != nil {
				return err
			}
			whole, ok := g.(orb.MultiPolygon)
			if !ok {
				whole = orb.MultiPolygon{g.(orb.Polygon)}
			}
			var made orb.MultiPolygon
			err = top.Polygons(n, func(rings [][]int32) error {
				var p orb.Polygon
				for _, refs := range rings {
					var r orb.Ring
					for _, ref := range refs {
						line := top.Arc(nil, int(max(ref, ^ref)))
						if ref < 0 {
							slices.Reverse(line)
						}
						r = append(r, line[min(1, len(r)):]...)
					}
					p = append(p, r)
				}
				made = append(made, p)
				return nil
			})
			a, b := measured(made), measured(whole)
			// positions have moved as far at most
			if moved := top.Unit() / math.Sqrt2; math.Abs(a[0]-b[0]) > moved*b[1] || math.Abs(a[1]-b[1]) > 1e-5*b[1] {
				t.Errorf("%s: area and length are %v, want %v", f.ID, a, b)
			}
			return err
		})
	if err != nil {
		t.Fatal(err)
	}
}

// measured is the area of a geometry, and the length of its rings, in the plane.
func measured(m orb.MultiPolygon) (sum [2]float64) {
	for _, p := range m {
		for _, r := range p {
			sum[0] += ringArea(r)
			for i := 1; i < len(r); i++ {
				sum[1] += math.Hypot(r[i][0]-r[i-1][0], r[i][1]-r[i-1][1])
			}
		}
	}
	sum[0] = math.Abs(sum[0])
	return sum
}

// areas is a collection of areas with the ids 1, 2 and so on; nil has no geometry.
func areas(t *testing.T, id crs.ID, list ...orb.Geometry) store.Store {
	t.Helper()
	path := t.TempDir() + "/areas.gpkg"
	storetest.Write(t, func(w store.Writer) {
		insert := define(t, w, &store.Geom{Name: "geom", Column: "geom", CRS: id}, "navn")
		for i, g := range list {
			var raw []byte
			if g != nil {
				raw = wkb.Append(nil, g)
			}
			if err := insert(fmt.Sprint(i), store.Geometry{WKB: raw}); err != nil {
				t.Fatal(err)
			}
		}
	})(gpkg.Create(t.Context(), path))
	return open(t, path)
}

// ringArea returns the signed area of a ring.
func ringArea(r orb.Ring) float64 {
	var a wkb.Area
	for _, p := range r {
		a.Add(p[0], p[1])
	}
	return a.Signed()
}
