package tile_test

import (
	"path/filepath"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
	"grense/internal/tile"
)

// TestWebMercatorShowsAreasThatReachThePoles to where it ends: neighbours along a meridian fill their parts of each
// tile, from the features themselves and from levels.
func TestWebMercatorShowsAreasThatReachThePoles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.gpkg")
	storetest.Write(t, func(w store.Writer) {
		insert := define(t, w, &store.Geom{Name: "geom", Column: "geom", CRS: crs.CRS84}, "navn")
		for name, g := range map[string]orb.Geometry{"west": square(-180, -90, 180, 180),
			"south": square(0, -90, 180, 90), "north": square(0, 0, 180, 90)} {
			if err := insert(name, store.Geometry{WKB: wkb.Append(nil, orb.Polygon{g.(orb.Ring)})}); err != nil {
				t.Fatal(err)
			}
		}
	})(gpkg.Create(t.Context(), path))
	st := open(t, path)
	set, c := find(t, "WebMercatorQuad"), st.Catalog().Collections[0]
	if !set.Takes(c) || set.Holds(c) {
		t.Errorf("takes %v, holds all %v", set.Takes(c), set.Holds(c))
	}
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	for _, from := range []string{"features", "levels"} {
		made, err := m.Tile(t.Context(), st, tile.Ask{Set: set, Layers: []tile.Query{{Collection: "areas"}}})
		if err != nil || made.Keep != (from == "levels") {
			t.Fatalf("from %s: %+v, %v", from, made, err)
		}
		layers, err := unlabelled(made.Data)
		if err != nil || len(layers) != 1 || len(layers[0].Features) != 3 {
			t.Fatalf("from %s: %v, %v", from, layers, err)
		}
		const whole = tile.Extent * tile.Extent
		for _, f := range layers[0].Features {
			want := map[any]float64{"west": whole / 2, "south": whole / 4, "north": whole / 4}[f.Properties["navn"]]
			if got := insideTile(f.Geometry); got != want {
				t.Errorf("from %s: %v has %.0f cells, want %.0f", from, f.Properties["navn"], got, want)
			}
		}
		ready(t, m, st, "WebMercatorQuad", "areas")
	}
	if set, _ := tile.Find("utm33n"); set.Takes(c) {
		t.Error("UTM takes the world")
	}
}

// TestAreasThatAreSmallerThanACell are no reason to fail: a layer of nothing else has tiles, which are empty, and
// another one in the same tile is there.
func TestAreasThatAreSmallerThanACell(t *testing.T) {
	t.Parallel()
	var list []orb.Geometry
	for i := range 100 {
		x, y := float64(100_000+i%10), float64(6_600_000+i/10)
		list = append(list, orb.Polygon{{{x, y}, {x + .001, y}, {x + .001, y + .001}, {x, y}}})
	}
	for name, list := range map[string][]orb.Geometry{"tiny": list, "one": list[:1],
		"without area": {
			orb.Polygon{{{100_000, 6_600_000}, {101_000, 6_600_000}, {102_000, 6_600_000}, {100_000, 6_600_000}}}}} {
		st := areas(t, crs.UTM33, list...)
		m := tile.NewMaker(tile.Options{})
		r := ready(t, m, st, "utm33n", "areas")
		l := r.Limits[len(r.Limits)-1]
		made, err := m.Tile(
			t.Context(),
			st,
			tile.Ask{
				Set:    find(t, "utm33n"),
				Tile:   tile.Tile{Z: l.Z, Row: l.MinRow, Col: l.MinCol},
				Layers: []tile.Query{{Collection: "areas"}},
			},
		)
		if err != nil || !made.Empty || !made.Keep {
			t.Errorf("%s: %+v, %v", name, made, err)
		}
		if _, err := m.Topology(t.Context(), st, "areas"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
}
