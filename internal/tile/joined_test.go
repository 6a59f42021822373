package tile_test

import (
	"math"
	"os"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/mvt"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/tile"
)

// layerOnLevel are the features of the collection areas in the tiles of a level, and their area in square metres.
func layerOnLevel(t *testing.T, m *tile.Maker, st store.Store, l tile.Limits, q tile.Query) (
	list []map[string]any, area float64) {
	t.Helper()
	set := find(t, "utm33n")
	for row := l.MinRow; row <= l.MaxRow; row++ {
		for col := l.MinCol; col <= l.MaxCol; col++ {
			here := tile.Tile{Z: l.Z, Row: row, Col: col}
			made, err := m.Tile(t.Context(), st, tile.Ask{Set: set, Tile: here, Layers: []tile.Query{q}})
			if err != nil {
				t.Fatal(err)
			}
			layers, err := mvt.Unmarshal(made.Data)
			if err != nil {
				t.Fatal(err)
			}
			b := set.Bound(here)
			cell := (b.Max[0] - b.Min[0]) / tile.Extent
			for _, layer := range layers {
				if layer.Name != "areas" {
					continue
				}
				for _, f := range layer.Features {
					list = append(list, f.Properties)
					area += insideTile(f.Geometry) * cell * cell
				}
			}
		}
	}
	return list, area
}

// TestManySmallAreasAreOne: where half of many areas are very small, tiles have what they cover as one
// area, without gaps, unless the request asks for features or properties.
func TestManySmallAreasAreOne(t *testing.T) {
	t.Parallel()
	const side, width = 72, 2000.0
	var list []orb.Geometry
	for i := range side * side {
		list = append(list, orb.Polygon{square(100_000+float64(i%side)*width, 6_600_000+float64(i/side)*width,
			width, width)})
	}
	st := areas(t, crs.UTM33, list...)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	r := ready(t, m, st, "utm33n", "areas")
	all := tile.Query{Collection: "areas"}
	one, each := 0, 0
	for _, l := range r.Limits[:5] {
		features, area := layerOnLevel(t, m, st, l, all)
		if want := side * side * width * width; math.Abs(area/want-1) > .02 {
			t.Errorf("level %d: %.4f of the area", l.Z, area/want)
		}
		if len(features) >= side*side {
			each++
			continue
		}
		one++
		count := 0
		for _, p := range features {
			n, _ := p["count"].(float64)
			if count += int(n); len(p) != 1 {
				t.Errorf("level %d: a joined area has %v", l.Z, p)
			}
		}
		if len(features) > 4 || l.Z > r.First && count < side*side {
			t.Errorf("level %d: %d areas stand for %d features", l.Z, len(features), count)
		}
		if l.Z == r.First { // most areas are too small, and belong to their neighbours
			continue
		}
		asked := all
		asked.Properties = []string{"navn"}
		if got, _ := layerOnLevel(t, m, st, l, asked); len(got) < side*side || got[0]["navn"] == nil {
			t.Errorf("level %d: %d features with properties", l.Z, len(got))
		}
		chosen := all
		c, _ := st.Catalog().Collection("areas")
		filter, err := cql2.ParseText("navn IN ('7','8')")
		if err == nil {
			chosen.Filter, err = cql2.Check(filter, c)
		}
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := layerOnLevel(t, m, st, l, chosen); len(got) < 2 || len(got) > 8 || got[0]["id"] == nil {
			t.Errorf("level %d: %d features are chosen", l.Z, len(got))
		}
	}
	if one == 0 || each == 0 {
		t.Errorf("%d levels show one area, %d each area", one, each)
	}
	set := find(t, "utm33n")
	if got := m.Side(set, "areas"); math.Abs(got/width-1) > .02 {
		t.Errorf("areas are %g metres wide; want %g", got, width)
	}
	for _, pixel := range []float64{width, width / 16} {
		w, ok := set.Window(r.Bound, pixel, 0)
		if !ok {
			t.Fatal("there is no window")
		}
		made, err := m.Tile(t.Context(), st, tile.Ask{Set: set, Window: w, Layers: []tile.Query{all}})
		if err != nil {
			t.Fatal(err)
		}
		layers, err := mvt.Unmarshal(made.Data)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(layers[0].Features); (n == 1) != (pixel == width) || n > 1 && n != side*side {
			t.Errorf("a map with pixels of %g metres has %d areas", pixel, n)
		}
	}
}

// TestAcceptTilesOfFranceAreSmall: each tile of 35,357 communes has less than 500 KB.
func TestAcceptTilesOfFranceAreSmall(t *testing.T) {
	if os.Getenv("GRENSE_ACCEPT") == "" {
		t.Skip("long: make accept")
	}
	st := layer(t, "france/france-communes-2018.geojsonl.gz", "code")
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	ready(t, m, st, "WebMercatorQuad", "areas")
	for z := 3; z <= 8; z++ {
		largest := 0
		n := 1 << (z - 3)
		for row := 2 * n; row < 3*n; row++ {
			for col := 3 * n; col < 5*n; col++ {
				made, err := m.Tile(t.Context(), st, tile.Ask{Set: find(t, "WebMercatorQuad"),
					Tile: tile.Tile{Z: z, Row: row, Col: col}, Layers: []tile.Query{{Collection: "areas"}}})
				if err != nil {
					t.Fatal(err)
				}
				largest = max(largest, len(made.Data))
			}
		}
		t.Logf("level %d: at most %d bytes", z, largest)
		if largest > 500_000 {
			t.Errorf("a tile of level %d has %d bytes", z, largest)
		}
	}
}
