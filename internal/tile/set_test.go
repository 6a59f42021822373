package tile_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"

	"github.com/paulmach/orb"

	"grense/api/ogcapi"
	"grense/internal/geo/crs"
	"grense/internal/sharedtest"
	"grense/internal/tile"
)

const root = "https://example.com/grense"

// shared returns the folder of test data; the test is skipped where there is none.
func shared(t *testing.T) string { return sharedtest.Path(t) }

// near allows for the register, which writes some cell sizes with 10 decimals.
func near(a, b float64) bool { return math.Abs(a-b) <= 1e-10*math.Max(math.Abs(a), math.Abs(b)) }

func find(t testing.TB, id string) *tile.Set {
	t.Helper()
	s, ok := tile.Find(id)
	if !ok {
		t.Fatalf("no set %s", id)
	}
	return s
}

func TestRegisteredSetsAreAsInTheRegister(t *testing.T) {
	t.Parallel()
	dir := shared(t)
	for _, id := range []string{"WebMercatorQuad", "WorldCRS84Quad", "EuropeanETRS89_LAEAQuad", "UTM32WGS84Quad",
		"UTM33WGS84Quad", "UTM35WGS84Quad"} {
		b, err := os.ReadFile(filepath.Join(dir, "data", "tms", id+".json"))
		if err != nil {
			t.Fatal(err)
		}
		var want ogcapi.TileMatrixSet
		if err := json.Unmarshal(b, &want); err != nil {
			t.Fatal(err)
		}
		got := find(t, id).Document(root)
		if got.ID != want.ID || got.Title != want.Title || got.URI != want.URI || got.CRS != want.CRS ||
			got.WellKnownScaleSet != want.WellKnownScaleSet ||
			!reflect.DeepEqual(got.OrderedAxes, want.OrderedAxes) ||
			!reflect.DeepEqual(got.BoundingBox, want.BoundingBox) {
			t.Errorf("%s: head is %+v, want %+v", id, got, want)
		}
		if len(got.TileMatrices) != len(want.TileMatrices) {
			t.Fatalf("%s: %d levels, want %d", id, len(got.TileMatrices), len(want.TileMatrices))
		}
		for i, w := range want.TileMatrices {
			g := got.TileMatrices[i]
			if g.ID != w.ID || g.TileWidth != w.TileWidth || g.TileHeight != w.TileHeight ||
				g.MatrixWidth != w.MatrixWidth || g.MatrixHeight != w.MatrixHeight ||
				!near(g.CellSize, w.CellSize) || !near(g.ScaleDenominator, w.ScaleDenominator) ||
				!near(g.PointOfOrigin[0], w.PointOfOrigin[0]) || !near(g.PointOfOrigin[1], w.PointOfOrigin[1]) ||
				g.CornerOfOrigin != "topLeft" {
				t.Errorf("%s: level %+v, want %+v", id, g, w)
			}
		}
	}
}

func TestSetsOfOurOwn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id     string
		crs    crs.ID
		extent [4]float64 // of the first level
		scale  float64
		levels int
	}{
		{"utm33n", crs.UTM33, [4]float64{-2500000, 3500000, 3045984, 9045984}, 77371428.571, 18},
		{"utm32n", crs.UTM32, [4]float64{-2000000, 3500000, 3545984, 9045984}, 77371428.571, 18},
		{"utm35n", crs.UTM35, [4]float64{-3500000, 3500000, 2045984, 9045984}, 77371428.571, 18},
		{"EPSG3575Quad", crs.LAEANorthPole, [4]float64{-4889334.802954878, -4889334.802954878, 4889334.802954878,
			4889334.802954878}, 136421171.957, 13},
	} {
		d := find(t, c.id).Document(root)
		if d.URI != root+"/TileMatrixSets/"+c.id || d.CRS != c.crs.URI() || len(d.TileMatrices) != c.levels ||
			d.TileMatrices[0].ID != "0" {
			t.Errorf("%s: %+v", c.id, d)
		}
		box := [4]float64{
			d.BoundingBox.LowerLeft[0],
			d.BoundingBox.LowerLeft[1],
			d.BoundingBox.UpperRight[0],
			d.BoundingBox.UpperRight[1],
		}
		for i := range box {
			if math.Abs(box[i]-c.extent[i]) > 1e-6 {
				t.Errorf("%s: bounding box %v, want %v", c.id, box, c.extent)
			}
		}
		if math.Abs(d.TileMatrices[0].ScaleDenominator-c.scale) > 0.001 ||
			d.TileMatrices[0].PointOfOrigin != [2]float64{c.extent[0], c.extent[3]} {
			t.Errorf("%s: level 0 is %+v", c.id, d.TileMatrices[0])
		}
	}
}

// TestEverySetIsConsistent checks what holds for each set, registered or not.
func TestEverySetIsConsistent(t *testing.T) {
	t.Parallel()
	docs, all := tile.Sets(root), tile.All()
	if len(docs) != 10 || len(all) != len(docs) {
		t.Fatalf("%d sets, want 10", len(docs))
	}
	for i, d := range docs {
		id, ok := crs.Parse(d.CRS)
		if all[i].ID != d.ID || all[i].URI(root) != d.URI || !ok || id != all[i].CRS {
			t.Errorf("%s: document and set differ", d.ID)
		}
		first, last := all[i].Levels()
		if d.TileMatrices[0].ID != strconv.Itoa(first) || len(d.TileMatrices) != last-first+1 {
			t.Errorf("%s: levels %d to %d, document has %d", d.ID, first, last, len(d.TileMatrices))
		}
		metres := 1.0
		if id.Geographic() {
			metres = 6378137 * math.Pi / 180
		}
		for j, m := range d.TileMatrices {
			if math.Abs(m.CellSize*metres/0.00028/m.ScaleDenominator-1) > 1e-11 {
				t.Errorf("%s %s: scale %v does not fit cell size %v", d.ID, m.ID, m.ScaleDenominator, m.CellSize)
			}
			if j > 0 && m.MatrixWidth != 2*d.TileMatrices[j-1].MatrixWidth {
				t.Errorf("%s %s: width %d", d.ID, m.ID, m.MatrixWidth)
			}
		}
	}
	if _, ok := tile.Find("webmercatorquad"); ok {
		t.Error("ids are case-sensitive")
	}
}

func TestDocumentMembers(t *testing.T) {
	t.Parallel()
	d := find(t, "WorldCRS84Quad").Document(root)
	d.TileMatrices = d.TileMatrices[:1]
	got, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"title":"CRS84 for the World","crs":"http://www.opengis.net/def/crs/OGC/1.3/CRS84",` +
		`"id":"WorldCRS84Quad",` +
		`"uri":"http://www.opengis.net/def/tilematrixset/OGC/1.0/WorldCRS84Quad","orderedAxes":["Lon","Lat"],` +
		`"wellKnownScaleSet":"http://www.opengis.net/def/wkss/OGC/1.0/GoogleCRS84Quad","tileMatrices":[{"id":"0",` +
		`"scaleDenominator":279541132.014358,` +
		`"cellSize":0.703125,"cornerOfOrigin":"topLeft","pointOfOrigin":[-180,90],"tileWidth":256,"tileHeight":256,` +
		`"matrixWidth":2,"matrixHeight":1}]}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestBoundOfTiles(t *testing.T) {
	t.Parallel()
	const world = 20037508.3427892
	for _, c := range []struct {
		set  string
		tile tile.Tile
		want orb.Bound
	}{
		{"WebMercatorQuad", tile.Tile{}, orb.Bound{Min: orb.Point{-world, -world}, Max: orb.Point{world, world}}},
		{"WebMercatorQuad", tile.Tile{Z: 1, Row: 0, Col: 1},
			orb.Bound{Min: orb.Point{0, 0}, Max: orb.Point{world, world}}},
		{"WorldCRS84Quad", tile.Tile{Z: 0, Row: 0, Col: 1}, orb.Bound{Min: orb.Point{0, -90}, Max: orb.Point{180, 90}}},
		{"WorldCRS84Quad", tile.Tile{Z: 1, Row: 1, Col: 0},
			orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{-90, 0}}},
		{"EuropeanETRS89_LAEAQuad", tile.Tile{}, orb.Bound{Min: orb.Point{2e6, 1e6}, Max: orb.Point{6.5e6, 5.5e6}}},
		{"EuropeanETRS89_LAEAQuad", tile.Tile{Z: 1, Row: 0, Col: 1},
			orb.Bound{Min: orb.Point{4.25e6, 3.25e6}, Max: orb.Point{6.5e6, 5.5e6}}},
		{"utm33n", tile.Tile{Z: 1, Row: 1, Col: 1},
			orb.Bound{Min: orb.Point{272992, 3500000}, Max: orb.Point{3045984, 6272992}}},
		{"UTM33WGS84Quad", tile.Tile{Z: 1, Row: 1, Col: 0},
			orb.Bound{Min: orb.Point{-9501965.72931276, -20003931.4586255}, Max: orb.Point{10501965.7293128, 0}}},
	} {
		got := find(t, c.set).Bound(c.tile)
		for k := range 2 {
			if math.Abs(got.Min[k]-c.want.Min[k]) > 1e-6 || math.Abs(got.Max[k]-c.want.Max[k]) > 1e-6 {
				t.Errorf("%s %v: %v, want %v", c.set, c.tile, got, c.want)
			}
		}
	}
}

func TestBergenIsInItsTile(t *testing.T) {
	t.Parallel()
	// Column and row in Web Mercator are those of the well-known formula for lon 5.32, lat 60.39 at level 10.
	s := find(t, "WebMercatorQuad")
	lon, lat := 5.32, 60.39*math.Pi/180
	col := int((lon + 180) / 360 * 1024)
	row := int((1 - math.Asinh(math.Tan(lat))/math.Pi) / 2 * 1024)
	for _, set := range tile.All() {
		f, err := crs.Between(crs.CRS84, set.CRS)
		if err != nil {
			t.Fatal(err)
		}
		x, y := f(5.32, 60.39)
		if set == s {
			if b := s.Bound(tile.Tile{Z: 10, Row: row, Col: col}); !b.Contains(orb.Point{x, y}) {
				t.Errorf("%v is not in tile 10/%d/%d: %v", orb.Point{x, y}, row, col, b)
			}
		}
		first, _ := set.Levels()
		hits := 0
		for row := range 8 {
			for col := range 8 {
				if a := (tile.Tile{Z: first + 2, Row: row, Col: col}); set.Contains(a) &&
					set.Bound(a).Contains(orb.Point{x, y}) {
					hits++
				}
			}
		}
		if hits != 1 {
			t.Errorf("%s: Bergen is in %d tiles of its third level", set.ID, hits)
		}
	}
}
