package tile_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"grense/internal/await"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/problem"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
	"grense/internal/tile"
)

// idsIn are the features of kommuner in a tile, sorted; what is too small on its level may be left out.
func idsIn(t *testing.T, m *tile.Maker, st store.Store, at tile.Tile) (ids []string) {
	t.Helper()
	set := find(t, "WebMercatorQuad")
	made, err := m.Tile(t.Context(), st, tile.Ask{Set: set, Tile: at, Layers: []tile.Query{{Collection: "kommuner"}}})
	if err != nil {
		t.Fatal(at, err)
	}
	if !made.Keep || made.Rev != m.Rev(st, set, "kommuner") {
		t.Errorf("%v: the tile is not kept, or for another state: %q", at, made.Rev)
	}
	layers, err := unlabelled(made.Data)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range layers {
		for _, f := range l.Features {
			ids = append(ids, f.Properties["id"].(string))
		}
	}
	slices.Sort(ids)
	return ids
}

func TestLittleMemoryHasTheFinestTilesMadeOfFeatures(t *testing.T) {
	t.Parallel()
	st, dir := demoStore(t), t.TempDir()
	var log strings.Builder
	whole, some := tile.NewMaker(
		tile.Options{},
	), tile.NewMaker(tile.Options{Memory: 300 << 10, Dir: dir, Log: logger(&log)})
	defer whole.Close()
	a, b := ready(t, whole, st, "WebMercatorQuad", "kommuner"), ready(t, some, st, "WebMercatorQuad", "kommuner")
	if a.Last != b.Last || !b.Settled || len(b.Limits) != b.Last-b.First+1 {
		t.Errorf("tiles on the levels %d to %d, not to %d", b.First, b.Last, a.Last)
	}
	for _, at := range []tile.Tile{{Z: a.First, Row: a.Limits[0].MinRow, Col: a.Limits[0].MinCol},
		{Z: 6, Row: 18, Col: 33}, {Z: 8, Row: 74, Col: 132}, {Z: 11, Row: 590, Col: 1054}, {Z: 16, Row: 0, Col: 0}} {
		want, got := idsIn(t, whole, st, at), idsIn(t, some, st, at)
		missing := slices.DeleteFunc(slices.Clone(want), func(id string) bool { return slices.Contains(got, id) })
		if at.Z < 16 && len(want) == 0 || len(missing) > len(want)/20 || len(got) > len(want)+len(want)/20 {
			t.Errorf("%v: %d features, not %d; %v are missing", at, len(got), len(want), missing)
		}
	}
	o, err := some.Outlines(t.Context(), st,
		tile.Scale{Set: find(t, "WebMercatorQuad"), Collection: "kommuner", Cell: 1})
	if err != nil || o != nil {
		t.Errorf("outlines of a level that is not made: %v, %v", o, err)
	}
	if err := some.Close(); err != nil || !regexp.MustCompile(`made_when_asked=[1-9]`).MatchString(log.String()) {
		t.Error(err, log.String())
	}
	log.Reset()
	more := tile.NewMaker(tile.Options{Memory: 1 << 30, Dir: dir, Log: logger(&log)})
	ready(t, more, st, "WebMercatorQuad", "kommuner")
	if err := more.Close(); err != nil || !strings.Contains(log.String(), "made_when_asked=0") {
		t.Errorf("with more memory the levels of before serve: %v, %s", err, log.String())
	}
}

func TestLevelsThatTakeTooMuchMemoryAreNotMade(t *testing.T) {
	t.Parallel()
	st, set := demoStore(t), find(t, "WebMercatorQuad")
	var log strings.Builder
	m := tile.NewMaker(tile.Options{Memory: 16 << 10, Most: 100, Log: logger(&log)})
	begin(t, m, st, "WebMercatorQuad", "kommuner")
	await.True(t, "the levels are no longer being made", func() bool { return !m.Progress()[0].Busy })
	if p := m.Progress()[0]; p.Err == nil || p.Ready {
		t.Errorf("%+v", p)
	}
	ask := tile.Ask{Set: set, Layers: []tile.Query{{Collection: "kommuner"}}}
	var p *problem.Error
	if made, err := m.Tile(t.Context(), st, ask); !errors.As(err, &p) || p.Kind != problem.TooLarge ||
		!strings.Contains(err.Error(), "more than 100 features of kommuner") {
		t.Errorf("a tile of all: %+v, %v", made, err)
	}
	ask.Tile = tile.Tile{Z: 11, Row: 590, Col: 1054}
	if made, err := m.Tile(t.Context(), st, ask); err != nil || made.Empty || made.Keep {
		t.Errorf("a tile of few: %+v, %v", made, err)
	}
	if o, err := m.Outlines(t.Context(), st, tile.Scale{Set: set, Collection: "kommuner", Cell: 1000}); o != nil ||
		err != nil {
		t.Errorf("outlines: %v, %v", o, err)
	}
	if _, err := m.Topology(t.Context(), st, "kommuner"); !errors.As(err, &p) || p.Kind != problem.TooLarge {
		t.Errorf("arcs in full: %v", err)
	}
	if err := m.Close(); err != nil || strings.Count(log.String(), "level=WARN") != 4 ||
		!strings.Contains(log.String(), "limits.memory") {
		t.Error(err, log.String())
	}
}

// comb is a polygon with n teeth across a square of a side, with its lower left corner at x, y.
func comb(x, y, side float64, n int, upright bool) orb.Ring {
	step := side / float64(2*n)
	ring := orb.Ring{{x - step, y - step}}
	for i := range n {
		at := 2 * float64(i) * step
		ring = append(ring, orb.Point{x + at, y - step}, orb.Point{x + at, y + side},
			orb.Point{x + at + step, y + side}, orb.Point{x + at + step, y - step})
	}
	ring = append(ring, orb.Point{x + side, y - 2*step}, orb.Point{x - step, y - 2*step}, ring[0])
	if upright {
		return ring
	}
	for i, p := range ring {
		ring[i] = orb.Point{x + p[1] - y, y + p[0] - x}
	}
	slices.Reverse(ring)
	return ring
}

// TestLittleMemoryKeepsFeaturesThatAreSimplifiedAloneInPlace: areas that cross often, and one whose edges alone take
// more than the memory.
func TestLittleMemoryKeepsFeaturesThatAreSimplifiedAloneInPlace(t *testing.T) {
	t.Parallel()
	circle := make(orb.Ring, 20001)
	for i := range circle {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / 20000)
		r := 100_000 + 20*float64(i%2)
		circle[i] = orb.Point{600_000 + r*cos, 6_800_000 + r*sin}
	}
	circle[20000] = circle[0]
	path := filepath.Join(t.TempDir(), "x.gpkg")
	storetest.Write(t, func(w store.Writer) {
		insert := define(t, w, &store.Geom{Name: "geom", Column: "geom", CRS: crs.UTM33}, "navn")
		for i, ring := range []orb.Ring{comb(200_000, 6_600_000, 100_000, 100, true),
			comb(200_000, 6_600_000, 100_000, 100, false), circle} {
			if err := insert(fmt.Sprint(i), store.Geometry{WKB: wkb.Append(nil, orb.Polygon{ring})}); err != nil {
				t.Fatal(err)
			}
		}
	})(gpkg.Create(t.Context(), path))
	st, set := open(t, path), find(t, "utm33n")
	var log strings.Builder
	whole, some := tile.NewMaker(tile.Options{}), tile.NewMaker(tile.Options{Memory: 1 << 20, Log: logger(&log)})
	defer whole.Close()
	ready(t, some, st, "utm33n", "areas")
	r := ready(t, whole, st, "utm33n", "areas")
	for z, l := range r.Limits[:min(len(r.Limits), 4)] {
		bounds := func(m *tile.Maker) map[string]orb.Bound {
			of := map[string]orb.Bound{}
			for row := l.MinRow; row <= l.MaxRow; row++ {
				for col := l.MinCol; col <= l.MaxCol; col++ {
					at := tile.Tile{Z: r.First + z, Row: row, Col: col}
					layer := decoded(t, m, st,
						tile.Ask{Set: set, Tile: at, Layers: []tile.Query{{Collection: "areas"}}})
					if layer == nil {
						continue
					}
					for _, f := range layer.Features {
						id, b := f.Properties["id"].(string), f.Geometry.Bound()
						low, high := orb.Point{
							b.Min[0] + 4096*float64(col),
							b.Min[1] + 4096*float64(row),
						}, orb.Point{
							b.Max[0] + 4096*float64(col),
							b.Max[1] + 4096*float64(row),
						}
						b = orb.Bound{Min: low, Max: high}
						if have, seen := of[id]; seen {
							b = b.Union(have)
						}
						of[id] = b
					}
				}
			}
			return of
		}
		want, got := bounds(whole), bounds(some)
		for id, b := range want {
			for i := range 2 {
				if math.Abs(b.Min[i]-got[id].Min[i]) > 64 || math.Abs(b.Max[i]-got[id].Max[i]) > 64 {
					t.Errorf("level %d: feature %s is at %v, not at %v", r.First+z, id, got[id], b)
				}
			}
		}
	}
	if err := some.Close(); err != nil || !regexp.MustCompile(`made_when_asked=[1-9]`).MatchString(log.String()) {
		t.Error(err, log.String())
	}
}
