package tile_test

import (
	"path/filepath"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
	"grense/internal/tile"
)

// ranked is a feature of a layer with ranks, the smallest first.
type ranked struct {
	rank int64
	of   orb.Geometry
}

// rankedLayer opens features as collection "areas".
func rankedLayer(t testing.TB, list []ranked) store.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	storetest.Write(t, func(w store.Writer) {
		c := &store.Collection{
			ID:     "areas",
			Table:  "areas",
			Public: true,
			Key:    store.FeatureKey{Column: "fid", Type: cql2.TypeInteger},
			Geometry: &store.Geom{
				Name:   "geom",
				Column: "geom",
				CRS:    crs.UTM33,
			},
			Properties: []store.Property{{Name: "rang", Column: "rang", Type: cql2.TypeInteger}},
		}
		if err := w.Define(t.Context(), c, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(t.Context(), "areas", []string{"rang", "geom"})
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range list {
			if err := insert(f.rank, store.Geometry{WKB: wkb.Append(nil, f.of)}); err != nil {
				t.Fatal(err)
			}
		}
	})(gpkg.Create(t.Context(), path))
	return open(t, path)
}

// shownIn are the features of a level by their ids, and how many the fullest of its tiles has.
func shownIn(t *testing.T, m *tile.Maker, st store.Store, l tile.Limits) (shown map[int]orb.Geometry, most int) {
	t.Helper()
	shown = map[int]orb.Geometry{}
	for row := l.MinRow; row <= l.MaxRow; row++ {
		for col := l.MinCol; col <= l.MaxCol; col++ {
			layer := decoded(
				t,
				m,
				st,
				tile.Ask{
					Set:    find(t, "utm33n"),
					Tile:   tile.Tile{Z: l.Z, Row: row, Col: col},
					Layers: []tile.Query{{Collection: "areas"}},
				},
			)
			if layer == nil {
				continue
			}
			most = max(most, len(layer.Features))
			for _, f := range layer.Features {
				shown[int(f.ID.(float64))] = f.Geometry
			}
		}
	}
	return shown, most
}

// names is a layer of 3,000 points and so many outlines: areas that share borders or, where they stand apart by some
// metres, two of three of them lines.
func names(outlines int, apart float64) (list []ranked) {
	for i := range 3000 {
		list = append(list,
			ranked{int64(i * 7919 % 9000), orb.Point{100 + float64(i%60)*2500, 6_500_100 + float64(i/60)*2500}})
	}
	for i := range outlines {
		x, y := float64(i%50)*1000, 6_700_000+float64(i/50)*1000
		var g orb.Geometry = orb.Polygon{square(x, y, 1000-apart, 1000-apart)}
		if apart > 0 && i%3 > 0 {
			g = orb.LineString{{x, y}, {x + 300, y + 700}, {x + 900, y + 800}}
		}
		list = append(list, ranked{int64((i + 3000) * 7919 % 9000), g})
	}
	return list
}

// TestLinesAndAreasAmongNamesAreThinnedWithThem: few in a tile, the most important of each cell, whatever its
// geometry, and what a level shows on all finer ones.
func TestLinesAndAreasAmongNamesAreThinnedWithThem(t *testing.T) {
	t.Parallel()
	list := names(2500, 100)
	st := rankedLayer(t, list)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	set, r := find(t, "utm33n"), ready(t, m, st, "utm33n", "areas")
	var coarser map[int]orb.Geometry
	for _, l := range r.Limits {
		if l.Z > 9 {
			break
		}
		shown, most := shownIn(t, m, st, l)
		if most > 1300 {
			t.Errorf("level %d: %d in a tile", l.Z, most)
		}
		for id := range coarser {
			if shown[id] == nil {
				t.Fatalf("level %d lacks %d of the level above", l.Z, id)
			}
		}
		coarser = shown
		b := set.Bound(tile.Tile{Z: l.Z})
		cell := (b.Max[0] - b.Min[0]) / 32
		best := map[[2]int]int64{}
		at := func(f ranked) [2]int {
			p := f.of.Bound().Center()
			if line, ok := f.of.(orb.LineString); ok {
				p = line[1]
			}
			return [2]int{int((p[0] - b.Min[0]) / cell), int((b.Max[1] - p[1]) / cell)}
		}
		for _, f := range list {
			if v, ok := best[at(f)]; !ok || f.rank < v {
				best[at(f)] = f.rank
			}
		}
		for i, f := range list {
			if best[at(f)] == f.rank && shown[i+1] == nil {
				t.Fatalf("level %d lacks %d, a %s, the first of its cell", l.Z, i+1, f.of.GeoJSONType())
			}
		}
	}
	kinds := map[string]int{}
	for _, g := range coarser {
		kinds[g.GeoJSONType()]++
	}
	if kinds["Point"] != 3000 || kinds["Polygon"] != 834 || kinds["LineString"] != 1666 {
		t.Errorf("the last of the levels shows %v of %d", kinds, len(list))
	}
	q := tile.Query{Collection: "areas", Filter: checked(t, st, "areas", "rang = 7919")}
	if l := decoded(t, m, st, tile.Ask{Set: set, Layers: []tile.Query{q}}); l == nil || len(l.Features) != 1 ||
		l.Features[0].ID != 2.0 {
		t.Errorf("what a filter leaves is not on the first level: %+v", l)
	}
}

// areasOf counts the areas, among the shown where these are given.
func areasOf(list []ranked, shown map[int]orb.Geometry) (n int) {
	for i, f := range list {
		if _, ok := f.of.(orb.Polygon); ok && (shown == nil || shown[i+1] != nil) {
			n++
		}
	}
	return n
}

// TestDivisionsAmongPointsAreNeverThinned: neither where they are few among points, nor where points are few among
// outlines. Where they are about as wide as four cells, which is what an outline must have, some may have it and
// others not.
func TestDivisionsAmongPointsAreNeverThinned(t *testing.T) {
	t.Parallel()
	for name, list := range map[string][]ranked{
		"areas that share borders":     names(1200, 0),
		"more outlines than points":    names(1200, 100)[2000:],
		"outlines without many points": names(1200, 100)[2990:],
	} {
		st := rankedLayer(t, list)
		m := tile.NewMaker(tile.Options{})
		r := ready(t, m, st, "utm33n", "areas")
		all, full := areasOf(list, nil), false
		for _, l := range r.Limits[:min(7, len(r.Limits))] {
			shown, _ := shownIn(t, m, st, l)
			areas := areasOf(list, shown)
			b := find(t, "utm33n").Bound(tile.Tile{Z: l.Z})
			narrow := 1000 < 5*(b.Max[0]-b.Min[0])/tile.Extent
			if full = full || areas == all; areas != 0 && areas != all && !narrow {
				t.Errorf("%s, level %d: %d of %d areas", name, l.Z, areas, all)
			}
		}
		if !full {
			t.Errorf("%s: no areas", name)
		}
		m.Close()
	}
}
