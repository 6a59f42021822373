package tiles

import (
	"html/template"
	"math"

	"grense/api/ogcapi"
	"grense/internal/server"
	"grense/internal/server/styles"
	"grense/internal/server/wire"
	"grense/internal/store"
	"grense/internal/style"
	"grense/internal/tile"
)

// tileJSONDoc describes a tileset in WebMercatorQuad (TileJSON 3.0.0, 3). Coordinates are longitude, latitude.
type tileJSONDoc struct {
	TileJSON     string             `json:"tilejson"`
	Name         string             `json:"name"`
	Description  string             `json:"description,omitempty"`
	Attribution  string             `json:"attribution,omitempty"`
	Scheme       string             `json:"scheme"`
	Tiles        []string           `json:"tiles"`
	MinZoom      int                `json:"minzoom"`
	MaxZoom      int                `json:"maxzoom"`
	Bounds       *[4]float64        `json:"bounds,omitempty"`
	Center       *[3]float64        `json:"center,omitempty"`
	VectorLayers []tile.VectorLayer `json:"vector_layers"`
}

// tileJSON returns the TileJSON of the requested layers.
func (c *call) tileJSON(x tileExtent) tileJSONDoc {
	set, _ := tile.Find(server.WebMercator)
	t := c.tilesetDoc(set, x)
	d := tileJSONDoc{TileJSON: "3.0.0", Name: t.Title, Description: t.Description, Attribution: attribution(t),
		Scheme: "xyz",
		Tiles: []string{c.Base() + c.tilesPath() + "/" + server.WebMercator + "/{z}/{y}/{x}?f=mvt" +
			c.collectionsRest()}, VectorLayers: []tile.VectorLayer{}}
	d.MinZoom, d.MaxZoom, _ = x.zooms()
	if b := t.BoundingBox; b != nil {
		d.Bounds = &[4]float64{b.LowerLeft[0], max(b.LowerLeft[1], -styles.MercatorEnd), b.UpperRight[0],
			min(b.UpperRight[1], styles.MercatorEnd)}
		lon, lat, zoom := center(*d.Bounds)
		d.Center = &[3]float64{lon, lat, float64(max(d.MinZoom, min(d.MaxZoom, int(zoom))))}
	}
	for i, at := range c.tiles().layers {
		l := tile.VectorLayerOf(at.Collection, at.Collection.TitleIn(c.Lang))
		l.MinZoom, l.MaxZoom = x.layers[i].First, x.layers[i].Last
		d.VectorLayers = append(d.VectorLayers, l)
		if labels, ok := tile.LabelLayerOf(c.Catalog, at.Collection, l.Description); ok {
			labels.MinZoom, labels.MaxZoom = l.MinZoom, l.MaxZoom
			d.VectorLayers = append(d.VectorLayers, labels)
		}
	}
	return d
}

func attribution(t ogcapi.TileSet) string {
	if t.License == "" || t.Attribution == "" {
		return t.Attribution
	}
	return `<a href="` + template.HTMLEscapeString(t.License) + `">` + template.HTMLEscapeString(t.Attribution) + "</a>"
}

// center returns the middle of bounds, in degrees, and the zoom at which they fit into 512 pixels.
func center(b [4]float64) (lon, lat, zoom float64) {
	low, high := styles.MercatorDegrees(b[1]), styles.MercatorDegrees(b[3])
	lat = math.Atan(math.Sinh((low+high)/2*math.Pi/180)) * 180 / math.Pi
	zoom = math.Log2(360 / max(b[2]-b[0], high-low, 1e-4))
	return round4((b[0] + b[2]) / 2), round4(lat), math.Floor(zoom*10) / 10
}

func round4(v float64) float64 { return math.Round(v*1e4) / 1e4 }

func newStyleParams(c *server.Call) any {
	set, _ := tile.Find(server.WebMercator)
	return newTileParamsOf(c, set)
}

// sourceName is the name of the source in styles.
const sourceName = "grense"

// style returns a style for a collection or the dataset (OGC 20-009, draft).
func (s *surface) style(c *call) (*server.Answer, error) {
	if _, err := c.grid(); err != nil {
		return nil, err
	}
	x, err := c.tileExtent(c.tiles().set, c.tiles().collections())
	if err != nil {
		return nil, err
	}
	return &server.Answer{JSON: c.divisionsStyle(c.tiles().theme, x), Fleeting: !x.settled}, nil
}

// divisionsStyle is our style of the layers of the call.
func (c *call) divisionsStyle(theme style.Theme, x tileExtent) *style.Style {
	t := c.tileJSON(x)
	own := c.s.Config.Service.Glyphs == "" // other fonts have other names
	set, _ := tile.Find(server.WebMercator)
	data := styles.Data(c.Catalog, c.tiles().collections(), c.s.Tiles,
		func(*store.Collection) *tile.Set { return set })
	d := &style.Style{Version: 8, Name: t.Name, Glyphs: c.glyphsURL(),
		Layers: style.Divisions(data, style.Drawing{Source: sourceName, Theme: theme, Fonts: own})}
	if t.Bounds != nil {
		lon, lat, zoom := center(*t.Bounds)
		d.Center, d.Zoom = &[2]float64{lon, lat}, &zoom
	}
	d.Sources = map[string]style.Source{sourceName: c.styleSource()}
	return d
}

// styleSource is the tiles of the call as the source of a style.
func (c *call) styleSource() style.Source {
	promote := map[string]string{}
	for _, coll := range c.tiles().collections() {
		promote[coll.ID] = tile.IDKey
		if labels := tile.LabelLayer(c.Catalog, coll); labels != "" {
			promote[labels] = tile.IDKey
		}
	}
	return style.VectorSource(c.Base()+c.tilesPath()+"/"+server.WebMercator+"?f=tilejson"+c.collectionsRest(), promote)
}

// collectionsRest returns the parameter collections as part of a query; "" if it is not given.
func (c *call) collectionsRest() string {
	if !c.tiles().chosen {
		return ""
	}
	return "&collections=" + wire.QueryEscape(server.First(c.Values["collections"]))
}
