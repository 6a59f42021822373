package drawing

import (
	"encoding/json"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/server"
	"grense/internal/server/page"
	"grense/internal/server/wire"
	"grense/internal/store"
	"grense/internal/style"
	"grense/internal/tile"
)

// layer describes a layer for the script of the map.
type layer struct {
	Name  string `json:"name"`            // of the collection
	Title string `json:"title,omitempty"` // property with the names of features
	Lang  string `json:"lang,omitempty"`  // property with the languages of the names
	Href  string `json:"href"`            // page of a feature

	First  []string `json:"first,omitempty"`  // features that get a name before larger ones
	Ground bool     `json:"ground,omitempty"` // drawn under the others, without names
}

// TileMap returns a map of collections in a set. Points and lines lie on the country, if that has tiles in the set.
func (c Drawing) TileMap(set *tile.Set, colls ...*store.Collection) *page.TileMap {
	layers, path, rest, shown := map[string]layer{}, server.TilesPath(c.Collection), "", colls
	if under := server.Country(c.Catalog); c.Collection != nil && style.Dimensions[c.Collection.Geometry.Type] != 2 &&
		under != nil && under != c.Collection && slices.Contains(server.TileSets(under), set) {
		layers[under.ID] = layer{Ground: true}
		shown = append([]*store.Collection{under}, colls...)
		path, rest = "/tiles", "&collections="+under.ID+","+c.Collection.ID
	}
	for _, coll := range colls {
		l := layer{Name: coll.TitleIn(c.Lang), Href: page.LocalPath(c.Base()) + "/collections/" + coll.ID +
			"/items/{id}?f=html"}
		if lang := server.First(c.Values["lang"]); lang != "" {
			l.Href += "&lang=" + wire.QueryEscape(lang)
		}
		if p, ok := coll.Find(coll.TitleProperty); ok && !p.Hidden {
			l.Title = p.Name
			if p := server.LanguageProperty(coll); p != nil {
				l.Lang = p.Name
			}
		}
		// visitors without a key get no tiles
		if c.MayDraw() && set.CRS == crs.UTM33 && style.Dimensions[coll.Geometry.Type] == 2 {
			l.First = norwegianTowns
		}
		layers[coll.ID] = l
	}
	text, _ := json.Marshal(layers) // of texts only
	m := &page.TileMap{Path: path + "/" + set.ID + "?f=json" + rest, Layers: string(text),
		Keyed:    c.maps.Config.Auth != "open",
		Grounded: rest != ""}
	if server.First(c.Values["datetime"]) == "" { // the extent is that of the current data
		m.Whole = wholeOf(set, shown)
	}
	if c.Collection != nil && style.Dimensions[c.Collection.Geometry.Type] != 2 && server.Country(c.Catalog) == nil &&
		c.maps.Shore != nil && set.CRS == crs.UTM33 {
		m.Shore = page.LocalPath(c.Root) + c.maps.ShoreFile
	}
	m.Bare = m.Shore == "" && (server.Country(c.Catalog) == nil || c.Collection != nil &&
		style.Dimensions[c.Collection.Geometry.Type] != 2 && !m.Grounded)
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

// cornersText writes a box for the script: west, south, east, north.
func cornersText(b orb.Bound) (s string) {
	for i, v := range [...]float64{b.Min[0], b.Min[1], b.Max[0], b.Max[1]} {
		if i > 0 {
			s += ","
		}
		s += page.Number(math.Round(v*1e6) / 1e6)
	}
	return s
}

// Grid returns the tile matrix set of the maps of a collection: in Norway that of its base maps; nil if there is
// none.
func Grid(coll *store.Collection) *tile.Set {
	ids := []string{server.WebMercator, "WorldCRS84Quad"}
	if CRS(coll) == crs.UTM33 {
		ids = []string{"utm33n"}
	}
	for _, id := range ids {
		for _, set := range server.TileSets(coll) {
			if set.ID == id && set.Holds(coll) {
				return set
			}
		}
	}
	return nil
}

// nearest is the least width of the map of one feature, in metres.
const nearest = 4000

// nearestPlace is the least width of the map of a point on areas, of which some should be visible.
const nearestPlace = 60000

// ItemTiles returns the map of a feature, whose box is in its storage CRS; nil if there is none.
func (c Drawing) ItemTiles(id string, box orb.Bound) *page.TileMap {
	set := Grid(c.Collection)
	if set == nil {
		return nil
	}
	b, err := crs.EnvelopeOf(box, c.Collection.Geometry.CRS, set.CRS)
	if err != nil {
		return nil
	}
	m := c.TileMap(set, c.Collection)
	least := float64(nearest)
	if style.Dimensions[c.Collection.Geometry.Type] == 0 && (m.Grounded || m.Shore != "") {
		least = nearestPlace
	}
	if set.CRS.Geographic() {
		least /= 111319
	}
	b = b.Pad(max(0, least-max(b.Max[0]-b.Min[0], b.Max[1]-b.Min[1])) / 2)
	m.ID, m.View = id, cornersText(b)
	return m
}

// ExtentOfAll returns the extent of collections together, in CRS84; nil if none has one.
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

// Ladder returns the tile matrix set with simplified geometries of a collection in a CRS; nil if there is none.
func Ladder(coll *store.Collection, id crs.ID) *tile.Set {
	if id.Geographic() { // maps need not distinguish datums
		id = crs.CRS84
	}
	for _, set := range server.TileSets(coll) {
		if set.CRS == id && set.Holds(coll) {
			return set
		}
	}
	return nil
}

// MetresPerDegree is the length of a degree on the equator.
const MetresPerDegree = 111319.49
