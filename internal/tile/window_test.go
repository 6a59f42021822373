package tile_test

import (
	"math"
	"reflect"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/planar"

	"grense/internal/tile"
)

// drawnIn are the features of a collection of the demo in a window, in the CRS of the set.
func drawnIn(t *testing.T, set *tile.Set, b orb.Bound, cell float64, from, to int) (list []orb.Geometry, level int) {
	t.Helper()
	st := demoStore(t)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	ready(t, m, st, set.ID, "fylker")
	w, ok := set.Window(b, cell, 0)
	if !ok {
		return nil, -1
	}
	made, err := m.Tile(t.Context(), st, tile.Ask{Set: set, Window: w, Layers: []tile.Query{{Collection: "fylker"}}})
	if err != nil || !made.Keep || made.Rev == "" {
		t.Fatalf("%+v, %v", made, err)
	}
	layers, err := mvt.Unmarshal(made.Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		if l.Name != "fylker" {
			continue
		}
		for _, f := range l.Features {
			list = append(list, f.Geometry)
		}
	}
	if n := len(list); n < from || n > to {
		t.Fatalf("%d features, not %d to %d", n, from, to)
	}
	return list, w.Level()
}

// TestWindowsHoldWhatLiesInThem draws the whole of the demo, and a far smaller scale than that of the first level.
func TestWindowsHoldWhatLiesInThem(t *testing.T) {
	t.Parallel()
	set := find(t, "utm33n")
	for _, c := range []struct {
		name     string
		box      orb.Bound
		cell     float64
		from, to int
	}{
		{"all", orb.Bound{Min: orb.Point{-100_000, 6_400_000}, Max: orb.Point{1_200_000, 8_000_000}}, 1600, 15, 15},
		{"a part", orb.Bound{Min: orb.Point{200_000, 6_600_000}, Max: orb.Point{300_000, 6_700_000}}, 100, 1, 14},
		{"far off", orb.Bound{Min: orb.Point{-9e6, 0}, Max: orb.Point{9e6, 15e6}}, 50_000, 15, 15},
		{"beside", orb.Bound{Min: orb.Point{-2_400_000, 5_000_000}, Max: orb.Point{-2_300_000, 5_100_000}}, 100, 0, 0},
		{"beyond the grid", orb.Bound{Min: orb.Point{9e7, 9e7}, Max: orb.Point{9.1e7, 9.1e7}}, 100, 0, 0},
		{"a needle", orb.Bound{Min: orb.Point{-9e6, 7_000_000}, Max: orb.Point{9e6, 7_000_001}}, 1e-3, 1, 15},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			list, _ := drawnIn(t, set, c.box, c.cell, c.from, c.to)
			for _, g := range list {
				if math.Abs(planar.Area(g)) == 0 && c.name != "far off" && c.name != "a needle" {
					t.Errorf("a feature without area: %v", g)
				}
			}
		})
	}
}

// TestPlaceOfAWindowIsThatOfItsBox: the upper left corner of a window is that of the box, to a cell.
func TestPlaceOfAWindowIsThatOfItsBox(t *testing.T) {
	t.Parallel()
	set := find(t, "utm33n")
	b := orb.Bound{Min: orb.Point{200_000, 6_600_000}, Max: orb.Point{300_000, 6_700_000}}
	w, ok := set.Window(b, 100, 0)
	if !ok {
		t.Fatal("no window")
	}
	at := w.Place(0, 0)
	if math.Abs(at[0]-b.Min[0]) > 100 || math.Abs(at[1]-b.Max[1]) > 100 {
		t.Errorf("%v is not the upper left corner of %v", at, b)
	}
}

// TestMarginsOfWindowsHaveLabelsAlone: areas with labels end within the margin, and labels are there to its edge.
func TestMarginsOfWindowsHaveLabelsAlone(t *testing.T) {
	t.Parallel()
	st := demoStore(t)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	set := find(t, "utm33n")
	ready(t, m, st, set.ID, "kommuner")
	b := orb.Bound{Min: orb.Point{100_000, 6_500_000}, Max: orb.Point{400_000, 6_800_000}}
	labels := [2]int{}
	for i, margin := range []int{0, 100} {
		w, ok := set.Window(b, 1000, margin)
		if !ok {
			t.Fatal("no window")
		}
		made, err := m.Tile(t.Context(), st,
			tile.Ask{Set: set, Window: w, Layers: []tile.Query{{Collection: "kommuner"}}})
		if err != nil {
			t.Fatal(err)
		}
		layers, err := mvt.Unmarshal(made.Data)
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range layers {
			if l.Name == "kommuner_label" {
				labels[i] = len(l.Features)
				continue
			}
			for _, f := range l.Features {
				for _, p := range []orb.Point{f.Geometry.Bound().Min, f.Geometry.Bound().Max} {
					at := w.Place(int32(p[0]), int32(p[1]))
					if off := b.Pad(-float64(margin)*1000 + 12_000); !off.Contains(at) {
						t.Errorf("margin %d: an area reaches %v", margin, at)
					}
				}
			}
		}
	}
	if labels[0] == 0 || labels[0] != labels[1] {
		t.Errorf("%d labels without a margin, %d with one", labels[0], labels[1])
	}
}

// TestTitledQueriesReadNoOtherProperties: areas have their id, title and colour alone, and labels are the same.
func TestTitledQueriesReadNoOtherProperties(t *testing.T) {
	t.Parallel()
	st := demoStore(t)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	set := find(t, "utm33n")
	ready(t, m, st, set.ID, "kommuner")
	w, ok := set.Window(orb.Bound{Min: orb.Point{100_000, 6_500_000}, Max: orb.Point{400_000, 6_800_000}}, 500, 0)
	if !ok {
		t.Fatal("no window")
	}
	read := func(titled bool) map[string]*mvt.Layer {
		made, err := m.Tile(t.Context(), st, tile.Ask{Set: set, Window: w,
			Layers: []tile.Query{{Collection: "kommuner", Titled: titled}}})
		if err != nil {
			t.Fatal(err)
		}
		layers, err := mvt.Unmarshal(made.Data)
		if err != nil || len(layers) != 2 {
			t.Fatalf("%d layers, %v", len(layers), err)
		}
		return map[string]*mvt.Layer{layers[0].Name: layers[0], layers[1].Name: layers[1]}
	}
	all, titled := read(false), read(true)
	if !reflect.DeepEqual(all["kommuner_label"], titled["kommuner_label"]) {
		t.Error("the labels differ")
	}
	for i, f := range titled["kommuner"].Features {
		whole := all["kommuner"].Features[i]
		if f.ID != whole.ID || !reflect.DeepEqual(f.Geometry, whole.Geometry) {
			t.Fatalf("feature %v is drawn otherwise", f.ID)
		}
		if len(whole.Properties) <= 3 {
			t.Fatalf("%v has no other properties", whole.Properties)
		}
		want := map[string]any{}
		for _, name := range []string{"id", "navn", "color_index"} {
			if v, ok := whole.Properties[name]; ok {
				want[name] = v
			}
		}
		if !reflect.DeepEqual(map[string]any(f.Properties), want) {
			t.Fatalf("%v, want %v", f.Properties, want)
		}
	}
}
