package maps

import (
	"math"
	"net/http"

	"grense/internal/server"
	"grense/internal/server/tiles"
	"grense/internal/tile"
)

func newTileParams(c *server.Call) any {
	return &mapParams{Layers: tiles.NewTileLayers(c), look: newLook()}
}

// tileReach is the distance around a tile within which names are placed, in pixels, so that a name across an edge is
// in both tiles or in neither.
const tileReach = 128

// tile answers with a tile of a map. Where there are no data it shows the ground alone.
func (s *surface) tile(c *call, w http.ResponseWriter) error {
	set, err := tiles.Grid(c.Call, c.p.Layers)
	if err != nil {
		return err
	}
	at, err := set.Parse(c.PathParam("tileMatrix"), c.PathParam("tileRow"), c.PathParam("tileCol"))
	if err != nil {
		return err
	}
	v := tileView(set, at)
	if err := c.tileSize(v); err != nil {
		return err
	}
	return c.answer(w, v)
}

// tileView is the view of a tile of 256 by 256 pixels.
func tileView(set *tile.Set, at tile.Tile) *view {
	return &view{crs: set.CRS, box: set.Bound(at), set: set, width: tile.Cells, height: tile.Cells, reach: tileReach}
}

// tileSize sets the pixels of a tile: 256 by 256 unless the request says otherwise.
func (c *call) tileSize(v *view) error {
	p := c.p
	switch {
	case p.scale > 0 && (p.width > 0 || p.height > 0):
		return c.checkScale("a tile")
	case p.scale > 0:
		cell := p.mm / 1000 * p.scale / metres(v.crs, v.box.Center())
		v.width = pixels((v.box.Max[0] - v.box.Min[0]) / cell)
		v.height = v.width
	case p.width > 0 && p.height > 0:
		v.width, v.height = p.width, p.height
	default:
		if n := max(p.width, p.height); n > 0 {
			v.width, v.height = n, n
		}
	}
	v.reach = int(math.Ceil(float64(v.reach) * pixelMM / p.mm))
	return c.checkPixels(v)
}
