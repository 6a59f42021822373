package tile_test

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/clip"
	"github.com/paulmach/orb/encoding/mvt"
	"github.com/paulmach/orb/planar"
	"github.com/paulmach/orb/project"

	"grense/internal/await"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/sharedtest"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
	"grense/internal/tile"
)

// sharedFile returns the path of a file of the shared data; without them the test is skipped.
func sharedFile(t testing.TB, name string) string { return sharedtest.Path(t, "data", name) }

// layer opens the features of a packed GeoJSON file, or of one with a feature a line,
// as collection "areas" with one property.
func layer(t testing.TB, name, property string) store.Store {
	t.Helper()
	path := filepath.Join(t.TempDir(), "layer.gpkg")
	storetest.Write(t, func(w store.Writer) {
		insert := define(t, w, &store.Geom{Name: "geom", Column: "geom", CRS: crs.CRS84}, property)
		for _, f := range sharedtest.Features(t, "data", name) {
			if err := insert(fmt.Sprint(f.Properties[property]),
				store.Geometry{WKB: wkb.Append(nil, f.Area)}); err != nil {
				t.Fatal(err)
			}
		}
	})(gpkg.Create(t.Context(), path))
	return open(t, path)
}

// define makes the collection areas with one text.
func define(t testing.TB, w store.Writer, g *store.Geom, property string) func(...any) error {
	t.Helper()
	c := &store.Collection{ID: "areas", Table: "areas", Public: true,
		Key: store.FeatureKey{Column: "fid", Type: cql2.TypeInteger}, Geometry: g,
		Properties: []store.Property{{Name: property, Column: property, Type: cql2.TypeText}}}
	if err := w.Define(t.Context(), c, false); err != nil {
		t.Fatal(err)
	}
	insert, err := w.Insert(t.Context(), "areas", []string{property, "geom"})
	if err != nil {
		t.Fatal(err)
	}
	return insert
}

// ready waits until tiles of a collection are made from levels.
func ready(t testing.TB, m *tile.Maker, st store.Store, set, collection string) tile.Range {
	t.Helper()
	begin(t, m, st, set, collection)
	var r tile.Range
	await.Success(t, "levels", func() (err error) {
		if r, err = m.Range(t.Context(), st, find(t, set), collection); err != nil {
			t.Fatal(err)
		}
		p := m.Progress()
		if r.Settled {
			return nil
		}
		if len(p) > 0 && p[0].Err != nil {
			t.Fatalf("no levels: %+v", p)
		}
		return fmt.Errorf("progress %+v", p)
	})
	return r
}

// begin requests a tile.
func begin(t testing.TB, m *tile.Maker, st store.Store, set, collection string) {
	t.Helper()
	s := find(t, set)
	_, last := s.Levels()
	if _, err := m.Tile(t.Context(), st,
		tile.Ask{Set: s, Tile: tile.Tile{Z: last}, Layers: []tile.Query{{Collection: collection}}}); err != nil {
		t.Fatal(err)
	}
}

// decoded is a layer of a tile, by orb's decoder: polygons in cells, y down. Nil for an empty tile.
func decoded(t testing.TB, m *tile.Maker, st store.Store, a tile.Ask) *mvt.Layer {
	t.Helper()
	made, err := m.Tile(t.Context(), st, a)
	if err != nil {
		t.Fatal(a.Set.ID, a.Tile, err)
	}
	if !made.Keep {
		t.Fatal("the tile is not of levels")
	}
	if made.Empty {
		return nil
	}
	layers, err := unlabelled(made.Data)
	if err != nil || len(layers) != 1 {
		t.Fatal(a.Tile, err)
	}
	return layers[0]
}

// judgeTiles reads lines of tile and geometry in hexadecimal WKB, and prints for each tile how many are invalid,
// how many have edges that reach into the tile and do not match those of their neighbours, and the sum of areas beside
// the area of the union, of what lies in the tile without its buffer. Where edges are cut, at the far side of the
// buffer, they end on the grid, and may pass a corner of a neighbour on its wrong side there.
const judgeTiles = `
import sys, shapely, itertools
rows = (l.split() for l in sys.stdin)
for k, g in itertools.groupby(rows, key=lambda r: r[0]):
    g = shapely.from_wkb([r[1] for r in g])
    bad = (~shapely.is_valid(g)).sum()
    tile = shapely.box(0, 0, 4096, 4096)
    e = shapely.intersects(shapely.coverage_invalid_edges(g), tile).sum()
    inner = shapely.area(shapely.intersection(g, tile)).sum() if bad == 0 else -1
    print(k, bad, e, inner, shapely.area(shapely.intersection(shapely.union_all(g), tile)) if bad == 0 else -1)`

func python(t *testing.T) string {
	t.Helper()
	for _, p := range [...]string{os.Getenv("GRENSE_PYTHON"), "../../bin/clients/python/bin/python", "python3"} {
		if strings.Contains(p, "/") {
			p, _ = filepath.Abs(p)
		}
		if p != "" && exec.Command(p, "-c", "import shapely; shapely.coverage_invalid_edges").Run() == nil {
			return p
		}
	}
	if os.Getenv("GRENSE_ACCEPT") != "" || sharedtest.Soak(t) > 0 {
		t.Fatal("no shapely 2.1; run make client-tools")
	}
	t.Skip("no shapely 2.1; make client-tools installs it")
	return ""
}

// judged says which tiles are judged, and how many features may have edges that do not match, as in the source.
type judged struct {
	set, collection string
	whole           int // up to this level all tiles
	// so many seeded ones of each finer level, within those of the last of these levels that are not empty
	more  int
	known int
	seed  uint64
}

// tiles lists those of a level that are judged; full are those of the level whole that are not empty.
func (j judged) tiles(l tile.Limits, full []tile.Tile, random *rand.Rand) (list []tile.Tile) {
	if l.Z > j.whole {
		for range j.more {
			at := full[random.IntN(len(full))]
			by := 1 << (l.Z - at.Z)
			list = append(list, tile.Tile{Z: l.Z, Row: at.Row*by + random.IntN(by), Col: at.Col*by + random.IntN(by)})
		}
		return list
	}
	for row := l.MinRow; row <= l.MaxRow; row++ {
		for col := l.MinCol; col <= l.MaxCol; col++ {
			list = append(list, tile.Tile{Z: l.Z, Row: row, Col: col})
		}
	}
	return list
}

// judge makes tiles and asks GEOS about them: every polygon valid, no gap and no overlap along borders.
func (j judged) judge(t *testing.T, m *tile.Maker, st store.Store) {
	t.Helper()
	p := python(t)
	set, r := find(t, j.set), ready(t, m, st, j.set, j.collection)
	random := rand.New(rand.NewPCG(1, 2+j.seed))
	cmd := exec.Command(p, "-c", judgeTiles)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	tiles, features := 0, 0
	var full []tile.Tile
	for _, l := range r.Limits {
		sums := map[string]float64{}
		for n, at := range j.tiles(l, full, random) {
			layer := decoded(t, m, st,
				tile.Ask{Set: set, Tile: at, Layers: []tile.Query{{Collection: j.collection, Properties: []string{}}}})
			if layer == nil {
				continue
			}
			if tiles++; l.Z == j.whole {
				full = append(full, at)
			}
			for _, f := range layer.Features {
				features++
				sums[fmt.Sprint(f.Properties["id"])] += insideTile(f.Geometry) + slack
				fmt.Fprintf(in, "%d/%d/%d-%d %s\n", at.Z, at.Row, at.Col, n,
					hex.EncodeToString(wkb.Append(nil, f.Geometry)))
			}
		}
		if b := set.Bound(tile.Tile{Z: l.Z}); l.Z >= r.First && l.Z <= j.whole {
			whole(t, m, st, tile.Scale{Set: set, Collection: j.collection, Cell: (b.Max[0] - b.Min[0]) / 512}, sums)
		}
	}
	if err := errors.Join(in.Close(), cmd.Wait()); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	seen, area := 0, map[int]float64{}
	for line := range strings.Lines(out.String()) {
		var at string
		var invalid, edges int
		var inner, union float64
		if _, err := fmt.Sscan(line, &at, &invalid, &edges, &inner, &union); err != nil {
			t.Fatal(line, err)
		}
		var z int
		if _, err := fmt.Sscanf(at, "%d/", &z); err != nil {
			t.Fatal(at, err)
		}
		b := set.Bound(tile.Tile{Z: z})
		area[z] += inner * (b.Max[0] - b.Min[0]) / tile.Extent * (b.Max[1] - b.Min[1]) / tile.Extent
		if seen++; invalid > 0 || edges > j.known || j.known == 0 && math.Abs(inner-union) > 0.01 {
			t.Errorf("%s of %s: %s", at, j.set, line)
		}
	}
	whole := areaOf(t, st, j.collection, set.CRS)
	for z := r.First; z <= j.whole; z++ { // the outline moves by less than a cell or two, so that little is lost or won
		if off := math.Abs(area[z]/whole - 1); off > 0.1/math.Ldexp(1, z-r.First) && off > 0.002 {
			t.Errorf("level %d of %s: the tiles have %.4f of the area of the layer", z, j.set, area[z]/whole)
		}
	}
	t.Logf("%s of %s: %d tiles with %d features, levels %d to %d", j.collection, j.set, tiles, features,
		r.First, r.Last)
	if seen != tiles || tiles < j.more*max(0, r.Last-j.whole)/8 || tiles == 0 {
		t.Errorf("%d tiles of %d were judged", seen, tiles)
	}
}

// slack is how much of the area of a feature may be lost or won in a tile where edges are cut, in cells.
const slack = 8192

// insideTile is the area of a geometry of a tile without its buffer, in cells.
func insideTile(g orb.Geometry) float64 {
	return planar.Area(clip.Geometry(orb.Bound{Max: orb.Point{tile.Extent, tile.Extent}}, orb.Clone(g)))
}

// whole holds the areas of features in all tiles of a level, with slack for each of these, against those of the level.
func whole(t *testing.T, m *tile.Maker, st store.Store, of tile.Scale, sums map[string]float64) {
	t.Helper()
	o, err := m.Outlines(t.Context(), st, of)
	if err != nil || o == nil {
		t.Fatal(o, err)
	}
	for id, sum := range sums {
		g, err := o.Area(id)
		if err != nil {
			t.Fatal(err)
		}
		cell := 2 * of.Cell * 256 / tile.Extent
		if want := planar.Area(g) / cell / cell; sum < want {
			t.Errorf("%s of %s has %.0f cells of its %.0f in tiles of %f a pixel", id, of.Set.ID, sum, want, 2*of.Cell)
		}
	}
}

// areaOf is the sum of the areas of all features in a plane, from the stored geometries.
func areaOf(t *testing.T, st store.Store, collection string, plane crs.ID) (sum float64) {
	t.Helper()
	c, _ := st.Catalog().Collection(collection)
	move, err := crs.Between(c.Geometry.CRS, plane)
	if err != nil {
		t.Fatal(err)
	}
	page, err := st.Page(t.Context(), store.Query{Collection: collection, Limit: 100_000, Count: store.CountNone})
	if err == nil {
		err = st.Fetch(t.Context(), collection, page.Rows, store.Want{}, func(f *store.Feature) error {
			g, err := f.Geometry.Orb()
			if err == nil && g != nil {
				g = project.Geometry(g, func(p orb.Point) orb.Point {
					x, y := move(p[0], p[1])
					return orb.Point{x, y}
				})
				sum += planar.Area(g)
			}
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

// TestTilesAreCoveragesByShapely: GEOS finds no gap, no overlap and no invalid polygon in tiles of
// the demo, in every plane.
func TestTilesAreCoveragesByShapely(t *testing.T) {
	t.Parallel()
	python(t)
	st := demoStore(t)
	m := tile.NewMaker(tile.Options{})
	defer m.Close()
	for _, set := range []string{"WebMercatorQuad", "utm33n", "EPSG3575Quad", "WorldCRS84Quad"} {
		judged{set: set, collection: "kommuner", whole: 4, more: 3}.judge(t, m, st)
	}
}

// TestAcceptTilesByShapely is TestTilesAreCoveragesByShapely for real divisions.
// The borders of Haugesund and Sveio differ by hundreds of metres in the source.
func TestAcceptTilesByShapely(t *testing.T) {
	if os.Getenv("GRENSE_ACCEPT") == "" {
		t.Skip("long: make accept")
	}
	m := tile.NewMaker(tile.Options{Dir: t.TempDir()})
	defer m.Close()
	t.Run("Norway", func(t *testing.T) {
		st := layer(t, "norway/robhop-2024/Kommuner-M.geojson.gz", "kommunenummer")
		judged{set: "WebMercatorQuad", collection: "areas", whole: 7, more: 200, known: 2}.judge(t, m, st)
	})
	t.Run("N1000", func(t *testing.T) {
		st := open(t, sharedFile(t, "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg"))
		for _, set := range []string{"WebMercatorQuad", "utm33n", "EPSG3575Quad"} {
			judged{set: set, collection: "kommune", whole: 6, more: 200}.judge(t, m, st)
		}
	})
	t.Run("counties", func(t *testing.T) {
		st := open(t, sharedFile(t, "norway/kartverket-fylker-25833.gpkg"))
		judged{set: "WebMercatorQuad", collection: "fylker", whole: 6, more: 200}.judge(t, m, st)
	})
	t.Run("France", func(t *testing.T) {
		st := layer(t, "france/france-communes-2018.geojsonl.gz", "code")
		r := ready(t, m, st, "WebMercatorQuad", "areas")
		if r.First != 3 {
			t.Errorf("communes of France from level %d on", r.First)
		}
		judged{set: "WebMercatorQuad", collection: "areas", whole: 6, more: 200}.judge(t, m, st)
	})
}

// TestSoakTilesByShapely is TestAcceptTilesByShapely for seeded tiles above level 5, 500 for each round.
// GRENSE_SOAK_TILES chooses by name.
func TestSoakTilesByShapely(t *testing.T) {
	if sharedtest.Soak(t) == 0 {
		t.Skip("part of make soak")
	}
	for _, x := range []struct {
		name   string
		open   func() store.Store
		judged judged
	}{
		{"N1000 in UTM 33", func() store.Store {
			return open(t, sharedFile(t, "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg"))
		}, judged{set: "utm33n", collection: "kommune"}},
		{"N1000", func() store.Store {
			return open(t, sharedFile(t, "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg"))
		}, judged{set: "WebMercatorQuad", collection: "kommune"}},
		{"counties", func() store.Store {
			return open(t, sharedFile(t, "norway/kartverket-fylker-25833.gpkg"))
		}, judged{set: "WebMercatorQuad", collection: "fylker"}},
		{"Kommuner-M", func() store.Store {
			return layer(t, "norway/robhop-2024/Kommuner-M.geojson.gz", "kommunenummer")
		}, judged{set: "WebMercatorQuad", collection: "areas", known: 2}},
		{"France", func() store.Store {
			return layer(t, "france/france-communes-2018.geojsonl.gz", "code")
		}, judged{set: "WebMercatorQuad", collection: "areas"}},
	} {
		if !strings.HasPrefix(x.name, os.Getenv("GRENSE_SOAK_TILES")) {
			continue
		}
		t.Run(x.name, func(t *testing.T) {
			m := tile.NewMaker(tile.Options{Dir: t.TempDir()})
			defer m.Close()
			st, j := x.open(), x.judged
			_, last := find(t, j.set).Levels()
			j.whole, j.seed = 5, rand.Uint64()
			last = min(last, ready(t, m, st, j.set, j.collection).Last)
			j.more = sharedtest.Rounds(t, 500) / max(1, last-j.whole)
			j.judge(t, m, st)
		})
	}
}
