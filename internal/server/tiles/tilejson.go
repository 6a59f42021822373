package tiles

import (
	"html/template"
	"math"

	"grense/api/ogcapi"
	"grense/internal/server"
	"grense/internal/store"
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

// mercatorLat is the largest latitude in Web Mercator, in degrees.
const mercatorLat = 85.0511287

// tileJSON returns the TileJSON of the requested layers.
func (c *call) tileJSON(x tileExtent) tileJSONDoc {
	set, _ := tile.Find(server.WebMercator)
	t := c.tilesetDoc(set, x)
	d := tileJSONDoc{TileJSON: "3.0.0", Name: t.Title, Description: t.Description, Attribution: attribution(t),
		Scheme: "xyz",
		Tiles: []string{c.Base() + c.TilesPath() + "/" + server.WebMercator + "/{z}/{y}/{x}?f=mvt" +
			c.collectionsRest()}, VectorLayers: []tile.VectorLayer{}}
	d.MinZoom, d.MaxZoom, _ = x.zooms()
	if b := t.BoundingBox; b != nil {
		d.Bounds = &[4]float64{b.LowerLeft[0], max(b.LowerLeft[1], -mercatorLat), b.UpperRight[0],
			min(b.UpperRight[1], mercatorLat)}
		lon, lat, zoom := center(*d.Bounds)
		d.Center = &[3]float64{lon, lat, float64(max(d.MinZoom, min(d.MaxZoom, int(zoom))))}
	}
	for i, at := range c.tiles().layers {
		l := tile.VectorLayerOf(at.Collection, t.Layers[i].Title)
		l.MinZoom, l.MaxZoom = x.layers[i].First, x.layers[i].Last
		d.VectorLayers = append(d.VectorLayers, l)
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
	m := func(lat float64) float64 { return math.Asinh(math.Tan(lat*math.Pi/180)) * 180 / math.Pi }
	low, high := m(b[1]), m(b[3])
	lat = math.Atan(math.Sinh((low+high)/2*math.Pi/180)) * 180 / math.Pi
	zoom = math.Log2(360 / max(b[2]-b[0], high-low, 1e-4))
	return round4((b[0] + b[2]) / 2), round4(lat), math.Floor(zoom*10) / 10
}

func round4(v float64) float64 { return math.Round(v*1e4) / 1e4 }

// styleDoc is a style for map libraries (Mapbox style specification, version 8).
type styleDoc struct {
	Version int                    `json:"version"`
	Name    string                 `json:"name"`
	Center  *[2]float64            `json:"center,omitempty"`
	Zoom    float64                `json:"zoom"`
	Glyphs  string                 `json:"glyphs,omitempty"`
	Sources map[string]styleSource `json:"sources"`
	Layers  []map[string]any       `json:"layers"`
}

type styleSource struct {
	Type      string            `json:"type"` // "vector"
	URL       string            `json:"url"`  // of the TileJSON
	PromoteID map[string]string `json:"promoteId"`
}

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
	p := c.tiles()
	x, err := c.tileExtent(p.set, p.collections())
	if err != nil {
		return nil, err
	}
	t := c.tileJSON(x)
	d := styleDoc{Version: 8, Name: t.Name, Glyphs: s.Config.Service.Glyphs,
		Layers: []map[string]any{{"id": "background", "type": "background",
			"paint": map[string]any{"background-color": "#f6f5f1"}}}}
	if t.Bounds != nil {
		lon, lat, zoom := center(*t.Bounds)
		d.Center, d.Zoom = &[2]float64{lon, lat}, zoom
	}
	source := styleSource{Type: "vector", URL: c.Base() + c.TilesPath() + "/" + server.WebMercator + "?f=tilejson" +
		c.collectionsRest(), PromoteID: map[string]string{}}
	d.Layers = append(d.Layers, styleLayers(p.layers)...)
	for _, id := range c.layerIDs() {
		source.PromoteID[id] = tile.IDKey
	}
	d.Sources = map[string]styleSource{sourceName: source}
	return &server.Answer{JSON: d, Fleeting: !x.settled}, nil
}

// collectionsRest returns the parameter collections as part of a query; "" if it is not given.
func (c *call) collectionsRest() string {
	if !c.tiles().chosen {
		return ""
	}
	return "&collections=" + server.QueryEscape(server.First(c.Values["collections"]))
}

// quiet are the colours of layers, used in rotation: fill, line and label.
var quiet = [...][3]string{{"#dfe5da", "#7d8a78", "#3f4a3c"}, {"#dde3ea", "#75879a", "#38465a"},
	{"#ece2d8", "#9a836c", "#57442f"}, {"#e6dfea", "#877a94", "#473c54"}}

// styleLayers returns the layers of a style: areas, lines, points, then labels. Within each, it keeps the order of
// layers.
func styleLayers(layers []*server.Call) (out []map[string]any) {
	for i, at := range layers {
		if draws(at.Collection, 2) {
			out = append(out, styled(at.Collection, "area", "fill", "Polygon",
				map[string]any{"fill-color": quiet[i%len(quiet)][0], "fill-opacity": 0.6}))
		}
	}
	for i, at := range layers {
		if draws(at.Collection, 2) || draws(at.Collection, 1) {
			out = append(out, styled(at.Collection, "line", "line", "",
				map[string]any{"line-color": quiet[i%len(quiet)][1], "line-width": byZoom(0.5, 2)}))
		}
	}
	for i, at := range layers {
		if draws(at.Collection, 0) {
			out = append(out, styled(at.Collection, "point", "circle", "Point",
				map[string]any{"circle-color": quiet[i%len(quiet)][1], "circle-radius": byZoom(1.5, 4),
					"circle-stroke-color": "#ffffff", "circle-stroke-width": 0.5}))
		}
	}
	for i, at := range layers {
		if p, ok := at.Collection.Find(at.Collection.TitleProperty); ok && !p.Hidden {
			l := styled(at.Collection, "name", "symbol", "",
				map[string]any{"text-color": quiet[i%len(quiet)][2], "text-halo-color": "#ffffff",
					"text-halo-width": 1.2})
			l["layout"] = nameLayout(at.Collection, p.Name)
			out = append(out, l)
		}
	}
	return out
}

// draws reports whether the collection may have geometries of a dimension.
func draws(coll *store.Collection, dimension int) bool {
	d, ok := server.Dimensions[coll.Geometry.Type]
	return !ok || d == dimension
}

// styled returns a layer of a style for a collection. kind is a geometry type to filter by; "" for all.
func styled(coll *store.Collection, part, as, kind string, paint map[string]any) map[string]any {
	l := map[string]any{"id": coll.ID + "-" + part, "type": as, "source": sourceName, "source-layer": coll.ID,
		"paint": paint}
	if kind != "" {
		l["filter"] = []any{"==", []any{"geometry-type"}, kind}
	}
	return l
}

// nameLayout returns the layout of labels with the value of a property.
func nameLayout(coll *store.Collection, property string) map[string]any {
	l := map[string]any{"text-field": []any{"to-string", []any{"get", property}}, "text-size": byZoom(10, 14),
		"text-max-width": 8, "text-padding": 4}
	switch {
	case draws(coll, 2):
	case draws(coll, 1):
		l["symbol-placement"] = "line"
	case draws(coll, 0):
		l["text-anchor"], l["text-offset"] = "top", []any{0, 0.4}
	}
	return l
}

// byZoom returns an expression that interpolates from one value at zoom 4 to another at zoom 14.
func byZoom(from, to float64) []any {
	return []any{"interpolate", []any{"linear"}, []any{"zoom"}, 4, from, 14, to}
}
