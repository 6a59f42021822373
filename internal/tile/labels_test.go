package tile_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/planar"

	"grense/internal/geo/crs"
	"grense/internal/store"
	"grense/internal/tile"
)

// labelsOf are the positions of labels on a level in the CRS of the set, by name, and the colours of areas.
func labelsOf(t *testing.T, m *tile.Maker, st store.Store, set *tile.Set, l tile.Limits, q tile.Query) (
	at map[string][]orb.Point, colors map[string]any) {
	t.Helper()
	at, colors = map[string][]orb.Point{}, map[string]any{}
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
			side := (b.Max[0] - b.Min[0]) / tile.Extent
			for _, layer := range layers {
				for _, f := range layer.Features {
					if layer.Name == "areas" {
						colors[fmt.Sprint(f.Properties["navn"])] = f.Properties["color_index"]
						continue
					}
					p, ok := f.Geometry.(orb.Point)
					if !ok || p[0] < 0 || p[0] >= tile.Extent || p[1] < 0 || p[1] >= tile.Extent {
						t.Errorf("%v: a label at %v", here, f.Geometry)
					}
					if f.Properties["id"] == nil {
						t.Errorf("%v: a label has %v", here, f.Properties)
					}
					name := fmt.Sprint(f.Properties["name"])
					at[name] = append(at[name], orb.Point{b.Min[0] + (p[0]+.5)*side, b.Max[1] - (p[1]+.5)*side})
				}
			}
		}
	}
	return at, colors
}

// TestEachAreaHasOneLabelOnALevel whatever its parts, and however many tiles it crosses.
func TestEachAreaHasOneLabelOnALevel(t *testing.T) {
	t.Parallel()
	var list []orb.Geometry
	for i := range 30 {
		x, y := 100_000+float64(i%6)*20_000, 6_600_000+float64(i/6)*20_000
		g := orb.MultiPolygon{{square(x, y, 20_000, 20_000)}}
		if i < 6 { // with islands
			g = append(g, orb.Polygon{square(x, y-30_000, 3000, 3000)},
				orb.Polygon{square(x+9000, y-20_000, 2000, 2000)})
		}
		list = append(list, g)
	}
	st := areas(t, crs.UTM33, list...)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	set := find(t, "utm33n")
	r := ready(t, m, st, "utm33n", "areas")
	was := map[string]orb.Point{}
	for _, l := range r.Limits[:min(9, len(r.Limits))] {
		at, colors := labelsOf(t, m, st, set, l, tile.Query{Collection: "areas"})
		for name, places := range at {
			if len(places) != 1 {
				t.Errorf("level %d: %s has %d labels", l.Z, name, len(places))
			}
			var i int
			fmt.Sscan(name, &i)
			if b := list[i].(orb.MultiPolygon)[0]; !planar.PolygonContains(b, places[0]) {
				t.Errorf("level %d: the label of %s is not in its largest part", l.Z, name)
			}
			b := set.Bound(tile.Tile{Z: l.Z})
			if old, ok := was[name]; ok && planar.Distance(old, places[0]) > (b.Max[0]-b.Min[0])/1000 {
				t.Errorf("level %d: the label of %s moves by %.0f m", l.Z, name, planar.Distance(old, places[0]))
			}
			was[name] = places[0]
		}
		for name := range was {
			if at[name] == nil {
				t.Errorf("level %d: the label of %s is gone", l.Z, name)
			}
		}
		for i := range list {
			if c, right := colors[fmt.Sprint(i)], colors[fmt.Sprint(i+1)]; c == nil || i%6 < 5 && c == right {
				t.Errorf("level %d: areas %d and %d have the colours %v and %v", l.Z, i, i+1, c, right)
			}
		}
	}
	if len(was) != len(list) {
		t.Errorf("%d areas have labels", len(was))
	}
}

// TestLabelsFollowTheFilterAndTheProperties of a layer.
func TestLabelsFollowTheFilterAndTheProperties(t *testing.T) {
	t.Parallel()
	var list []orb.Geometry
	for i := range 20 {
		list = append(list, orb.Polygon{square(100_000+float64(i)*1000, 6_600_000, 1000, 1000)})
	}
	st := areas(t, crs.UTM33, list...)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	set := find(t, "utm33n")
	for _, from := range []string{"features", "levels"} {
		r, err := m.Range(t.Context(), st, set, "areas")
		if from == "levels" {
			r = ready(t, m, st, "utm33n", "areas")
		}
		if err != nil {
			t.Fatal(err)
		}
		last := r.Limits[len(r.Limits)-1]
		for last.Z > 11 {
			last = tile.Limits{Z: last.Z - 1, MinRow: last.MinRow / 2, MaxRow: last.MaxRow / 2, MinCol: last.MinCol / 2,
				MaxCol: last.MaxCol / 2}
		}
		at, _ := labelsOf(t, m, st, set, last,
			tile.Query{Collection: "areas", Filter: checked(t, st, "areas", "navn = '7'")})
		if len(at) != 1 || len(at["7"]) != 1 {
			t.Errorf("from %s: labels %v", from, at)
		}
		at, colors := labelsOf(t, m, st, set, last, tile.Query{Collection: "areas", Properties: []string{}})
		if len(at) != 0 || colors["<nil>"] != nil {
			t.Errorf("from %s: without the name there are labels %v and colours %v", from, at, colors)
		}
		if at, _ = labelsOf(t, m, st, set, last, tile.Query{Collection: "areas"}); len(at) != len(list) {
			t.Errorf("from %s: %d labels", from, len(at))
		}
		if p := at["7"]; len(p) == 1 && (math.Abs(p[0][0]-107_500) > 50 || math.Abs(p[0][1]-6_600_500) > 50) {
			t.Errorf("from %s: the label is at %v", from, p)
		}
	}
}

// unlabelled decodes a tile, without the layers of labels.
func unlabelled(data []byte) (mvt.Layers, error) {
	layers, err := mvt.Unmarshal(data)
	return slices.DeleteFunc(layers, func(l *mvt.Layer) bool { return strings.HasSuffix(l.Name, "_label") }), err
}
