package server

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/server/page"
	"grense/internal/store"
	"grense/internal/tile"
)

// mapLayer is what a map is told of a layer.
type mapLayer struct {
	Name  string `json:"name"`            // of the collection
	Title string `json:"title,omitempty"` // property with the names of features
	Lang  string `json:"lang,omitempty"`  // property with the languages of these
	Href  string `json:"href"`            // of a feature's page, with {id}

	First  []string `json:"first,omitempty"`  // features that are named before larger ones
	Ground bool     `json:"ground,omitempty"` // lies under the others: without names
}

// TileMap is a map of collections in a set. What is no area lies on the country, where that has tiles in the set.
func (c *Call) TileMap(set *tile.Set, colls ...*store.Collection) *page.TileMap {
	layers, path, rest, shown := map[string]mapLayer{}, c.TilesPath(), "", colls
	if under := c.Country(); c.Collection != nil && Dimensions[c.Collection.Geometry.Type] != 2 && under != nil && under != c.Collection && slices.Contains(TileSets(under), set) {
		layers[under.ID] = mapLayer{Ground: true}
		shown = append([]*store.Collection{under}, colls...)
		path, rest = "/tiles", "&collections="+under.ID+","+c.Collection.ID
	}
	for _, coll := range colls {
		l := mapLayer{Name: c.TitleOf(coll), Href: page.LocalPath(c.Base()) + "/collections/" + coll.ID + "/items/{id}?f=html"}
		if lang := First(c.Values["lang"]); lang != "" {
			l.Href += "&lang=" + QueryEscape(lang)
		}
		if p, ok := coll.Find(coll.TitleProperty); ok && !p.Hidden {
			l.Title = p.Name
			if p := LanguageProperty(coll); p != nil {
				l.Lang = p.Name
			}
		}
		if c.MayDraw() && set.CRS == crs.UTM33 && Dimensions[coll.Geometry.Type] == 2 { // who lacks a key gets no tiles to name
			l.First = norwegianTowns
		}
		layers[coll.ID] = l
	}
	text, _ := json.Marshal(layers) // of texts only
	m := &page.TileMap{Path: path + "/" + set.ID + "?f=json" + rest, Layers: string(text), Keyed: c.s.Config.Auth != "open",
		Grounded: rest != ""}
	if First(c.Values["datetime"]) == "" { // the extent follows the data of now, and a page of another day stays as it was
		m.Whole = wholeOf(set, shown)
	}
	if c.Collection != nil && Dimensions[c.Collection.Geometry.Type] != 2 && c.Country() == nil && c.s.shore != nil && set.CRS == crs.UTM33 {
		m.Shore = page.LocalPath(c.Root) + c.s.shoreFile
	}
	m.Bare = m.Shore == "" && (c.Country() == nil || c.Collection != nil && Dimensions[c.Collection.Geometry.Type] != 2 && !m.Grounded)
	return m
}

// wholeOf returns the corners of the extent of collections in the CRS of a set, within its tiles; "" without an extent.
func wholeOf(set *tile.Set, colls []*store.Collection) string {
	e := ExtentOfAll(colls)
	if e == nil {
		return ""
	}
	b, err := crs.EnvelopeOf(*e, crs.CRS84, set.CRS)
	if err != nil {
		return ""
	}
	world := set.World()
	for i := range 2 {
		b.Min[i], b.Max[i] = max(b.Min[i], world.Min[i]), min(b.Max[i], world.Max[i])
	}
	return cornersText(b)
}

// cornersText writes a box as the script reads it: west, south, east and north.
func cornersText(b orb.Bound) (s string) {
	for i, v := range [...]float64{b.Min[0], b.Min[1], b.Max[0], b.Max[1]} {
		if i > 0 {
			s += ","
		}
		s += page.Number(math.Round(v*1e6) / 1e6)
	}
	return s
}

// mapGrid is the set that maps of a collection are in: that of the base maps of Norway where it lies there; nil when there is none.
func MapGrid(coll *store.Collection) *tile.Set {
	ids := []string{WebMercator, "WorldCRS84Quad"}
	if MapCRS(coll) == crs.UTM33 {
		ids = []string{"utm33n"}
	}
	for _, id := range ids {
		for _, set := range TileSets(coll) {
			if set.ID == id && set.Holds(coll) {
				return set
			}
		}
	}
	return nil
}

// nearest is how far a map of one feature reaches at least, in metres.
const nearest = 4000

// nearestPlace is the same of a point that lies on areas, of which something shall be seen.
const nearestPlace = 60000

// itemTiles is the map of a feature, whose box is in the CRS that it is stored in; nil where there is none.
func (c *Call) ItemTiles(id string, box orb.Bound) *page.TileMap {
	set := MapGrid(c.Collection)
	if set == nil {
		return nil
	}
	b, err := crs.EnvelopeOf(box, c.Collection.Geometry.CRS, set.CRS)
	if err != nil {
		return nil
	}
	m := c.TileMap(set, c.Collection)
	least := float64(nearest)
	if Dimensions[c.Collection.Geometry.Type] == 0 && (m.Grounded || m.Shore != "") {
		least = nearestPlace
	}
	if set.CRS.Geographic() {
		least /= 111319
	}
	b = b.Pad(max(0, least-max(b.Max[0]-b.Min[0], b.Max[1]-b.Min[1])) / 2)
	m.ID, m.View = id, cornersText(b)
	return m
}

// TileSets are the tile matrix sets in which a collection has tiles; none without geometry.
func TileSets(coll *store.Collection) (sets []*tile.Set) {
	for _, set := range tile.All() {
		if set.Takes(coll) {
			sets = append(sets, set)
		}
	}
	return sets
}

// TilesPath is where the tiles of the route are, below the mount.
func (c *Call) TilesPath() string {
	if c.Collection != nil {
		return "/collections/" + c.Collection.ID + "/tiles"
	}
	return "/tiles"
}

// WebMercator is the set that TileJSON and styles are of: the libraries that read them know no other.
const WebMercator = "WebMercatorQuad"

// ExtentOfAll is what holds the extents of collections, in CRS84; nil when none has one.
func ExtentOfAll(colls []*store.Collection) *orb.Bound {
	var all *orb.Bound
	for _, coll := range colls {
		if coll.Extent == nil {
			continue
		}
		b := *coll.Extent
		if all != nil {
			b = b.Union(*all)
		}
		all = &b
	}
	return all
}

// Dimensions of geometries by their names in GeoJSON.
var Dimensions = map[string]int{"Point": 0, "MultiPoint": 0, "LineString": 1, "MultiLineString": 1, "Polygon": 2, "MultiPolygon": 2}

// Tiled are the public collections with tiles in a set; nil for any.
func (c *Call) Tiled(set *tile.Set) (colls []*store.Collection) {
	for _, coll := range c.Catalog.Collections {
		if coll.Public && (set == nil && TileSets(coll) != nil || set != nil && set.Takes(coll)) {
			colls = append(colls, coll)
		}
	}
	return colls
}
