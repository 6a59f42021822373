package server

import (
	"context"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"grense/api/ogcapi"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server/page"
	"grense/internal/store"
	"grense/internal/tile"
)

// tileParams are those of tiles and of what describes them: of a collection, or of the dataset with a layer for each of several.
type tileParams struct {
	set    *tile.Set // nil: none in the path, or none that there is
	layers []*Call   // the call as if it asked for the features of each layer's collection, in the order of the layers
	chosen bool      // by the parameter collections
}

func newTileParams(c *Call) any {
	return newTileParamsOf(c, tileSet(c.PathParam("tileMatrixSetId")))
}

// newTileParamsOf are those of tiles in a set; nil: none is named, or none that there is.
func newTileParamsOf(c *Call, set *tile.Set) *tileParams {
	p := &tileParams{set: set}
	colls := []*store.Collection{c.Collection}
	if c.Collection == nil {
		colls = c.Tiled(p.set)
	}
	p.setLayers(c, colls)
	return p
}

func (p *tileParams) setLayers(c *Call, colls []*store.Collection) {
	p.layers = make([]*Call, len(colls))
	for i, coll := range colls {
		at := *c
		at.Collection, at.Values = coll, nil
		at.Params = newItemsParams(&at)
		p.layers[i] = &at
	}
}

// collections are those of the layers.
func (p *tileParams) collections() []*store.Collection {
	colls := make([]*store.Collection, len(p.layers))
	for i, at := range p.layers {
		colls[i] = at.Collection
	}
	return colls
}

// Each calls fn for each layer. Faults that not all of several layers have are told with the collections that have them.
func (p *tileParams) Each(fn func(*Call) error) error {
	var faults []problem.Fault
	in := map[[4]string][]string{}
	told := func(f *problem.Fault) [4]string { return [4]string{f.In, f.Param, f.Value, f.Cure} }
	for _, at := range p.layers {
		err := fn(at)
		if err == nil {
			continue
		}
		e := problem.Of(err)
		if len(e.Faults) == 0 {
			return err
		}
		for _, f := range e.Faults {
			is := told(&f)
			if in[is] == nil {
				faults = append(faults, f)
			}
			in[is] = append(in[is], at.Collection.ID)
		}
	}
	if faults == nil {
		return nil
	}
	for i, f := range faults {
		if ids := in[told(&f)]; len(ids) < len(p.layers) {
			faults[i].Cure = strings.Join(ids, ", ") + ": " + f.Cure + "; collections= chooses the layers"
		}
	}
	return &problem.Error{Kind: problem.Invalid, Faults: faults}
}

// tiles are the parameters of a call of a route of tiles.
func (c *Call) tiles() *tileParams { return c.Params.(*tileParams) }

// choose reads the parameter collections: ids or addresses of collections, in the order of the layers (OGC 20-057, /req/collections-selection).
func (p *tileParams) choose(c *Call, v string) error {
	var colls []*store.Collection
	all := c.Tiled(p.set)
	for name := range strings.SplitSeq(v, ",") {
		id := strings.TrimSpace(name)
		for _, mount := range mounts {
			if rest, ok := strings.CutPrefix(id, c.Root+mount+"/collections/"); ok {
				id, _, _ = strings.Cut(rest, "?")
				id = strings.TrimSuffix(id, "/")
			}
		}
		i := slices.IndexFunc(all, func(x *store.Collection) bool { return x.ID == id })
		if i < 0 {
			ids := make([]string, len(all))
			for i, x := range all {
				ids[i] = x.ID
			}
			return problem.Invalidf("collections", v, "there are no tiles here of %q; name some of %s, by id or address, with commas between them", Clip(id), strings.Join(ids, ", "))
		}
		if slices.Contains(colls, all[i]) {
			return problem.Invalidf("collections", v, "name each collection once; %s stands twice", id)
		}
		colls = append(colls, all[i])
	}
	p.chosen = true
	p.setLayers(c, colls)
	return nil
}

// tileSet finds a tile matrix set, whatever the case of its id; nil when there is none.
func tileSet(id string) *tile.Set {
	for _, set := range tile.All() {
		if strings.EqualFold(set.ID, id) {
			return set
		}
	}
	return nil
}

// tileSets are the tile matrix sets in which a collection has tiles; none without geometry.
func tileSets(coll *store.Collection) (sets []*tile.Set) {
	for _, set := range tile.All() {
		if set.Takes(coll) {
			sets = append(sets, set)
		}
	}
	return sets
}

// Tiled are the public collections with tiles in a set; nil for any.
func (c *Call) Tiled(set *tile.Set) (colls []*store.Collection) {
	for _, coll := range c.Catalog.Collections {
		if coll.Public && (set == nil && tileSets(coll) != nil || set != nil && set.Takes(coll)) {
			colls = append(colls, coll)
		}
	}
	return colls
}

// here are the tile matrix sets of the route: those of its collection, or of any of the dataset.
func (c *Call) here() (sets []*tile.Set) {
	if c.Collection != nil {
		return tileSets(c.Collection)
	}
	for _, set := range tile.All() {
		if c.Tiled(set) != nil {
			sets = append(sets, set)
		}
	}
	return sets
}

// tilesPath is where the tiles of the route are, below the mount.
func (c *Call) tilesPath() string {
	if c.Collection != nil {
		return "/collections/" + c.Collection.ID + "/tiles"
	}
	return "/tiles"
}

// tilesTitle is what the tiles of the route are of.
func (c *Call) tilesTitle() string {
	if c.Collection != nil {
		return c.TitleOf(c.Collection)
	}
	return c.s.Config.Service.Title.In(c.Lang)
}

// grid is the tile matrix set that the path names, as far as there are tiles in it here.
func (c *Call) grid() (*tile.Set, error) {
	set := c.tiles().set
	if set != nil && (c.Collection != nil && set.Takes(c.Collection) || c.Collection == nil && c.Tiled(set) != nil) {
		return set, nil
	}
	ids := make([]string, 0, 10)
	for _, s := range c.here() {
		ids = append(ids, s.ID)
	}
	return nil, problem.NotFoundf("there are no tiles here in a set %q; there are in %s", Clip(c.PathParam("tileMatrixSetId")), strings.Join(ids, ", "))
}

// A tileExtent is where one or more layers have tiles in a set.
type tileExtent struct {
	layers  []tile.Range // as asked
	limits  []ogcapi.TileMatrixLimits
	settled bool // see tile.Range
}

// mayHold reports whether a layer may have features in a tile, by the extent in the catalog; rows that were added since may lie outside.
// A level that is finer than all that are made is not found (OGC 20-057, /req/core/tc-error).
func (c *Call) mayHold(set *tile.Set, at tile.Tile) (bool, error) {
	last := -1
	for _, coll := range c.tiles().collections() {
		r, err := c.s.tiles.Estimate(c.s.Store, set, coll.ID)
		if err != nil || r.Contains(at) {
			return err == nil, err
		}
		last = max(last, r.Last)
	}
	if at.Z > last {
		return false, problem.NotFoundf("the tiles of %s%s/%s end with level %d; enlarge those", c.Base(), c.tilesPath(), set.ID, last)
	}
	return false, nil
}

// tileExtent tells where the layers have tiles. Limits are whole matrices: clients that reproject tiles also ask for
// those beside the data, and drop what they draw if one is missing. Empty tiles within are 204.
func (c *Call) tileExtent(set *tile.Set, colls []*store.Collection) (x tileExtent, err error) {
	x.settled, x.limits = true, []ogcapi.TileMatrixLimits{}
	first, last := math.MaxInt, -1
	for _, coll := range colls {
		var r tile.Range
		err := c.Ask(func(ctx context.Context) (err error) {
			r, err = c.s.tiles.Range(ctx, c.s.Store, set, coll.ID)
			return err
		})
		if err != nil {
			return x, err
		}
		x.layers, x.settled = append(x.layers, r), x.settled && r.Settled
		first, last = min(first, r.First), max(last, r.Last)
	}
	for z := first; z <= last; z++ {
		w, h := set.Size(z)
		x.limits = append(x.limits, ogcapi.TileMatrixLimits{TileMatrix: strconv.Itoa(z), MaxTileRow: h - 1, MaxTileCol: w - 1})
	}
	return x, nil
}

// zooms are the first and the last level of limits; false when there are none.
func (x tileExtent) zooms() (first, last int, ok bool) {
	if len(x.limits) == 0 {
		return 0, 0, false
	}
	first, _ = strconv.Atoi(x.limits[0].TileMatrix) // made of numbers
	last, _ = strconv.Atoi(x.limits[len(x.limits)-1].TileMatrix)
	return first, last, true
}

// tilesets lists the tilesets of a collection or of the dataset (OGC 20-057, 9).
func (s *Kit) tilesets(c *Call) (*Answer, error) {
	here := c.Base() + c.tilesPath()
	doc := ogcapi.TileSets{Title: c.tilesTitle(), Tilesets: []ogcapi.TileSetItem{}, Links: append(c.SelfLinks(c.tilesPath()),
		ogcapi.Link{Rel: "self", Type: AsJSON.Media, Title: "Tileset in a tile matrix set", Href: here + "/{tileMatrixSetId}?f=json", Templated: true},
		ogcapi.Link{Rel: "item", Type: asMVT.Media, Title: "Tiles", Href: here + "/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}?f=mvt", Templated: true},
		ogcapi.Link{Rel: "describedby", Type: AsJSON.Media, Title: "Tileset in a tile matrix set", Href: here + "/{tileMatrixSetId}/metadata?f=json", Templated: true})}
	a := &Answer{}
	for _, set := range c.here() {
		colls := []*store.Collection{c.Collection}
		if c.Collection == nil {
			colls = c.Tiled(set)
		}
		x, err := c.tileExtent(set, colls)
		if err != nil {
			return nil, err
		}
		a.Fleeting = a.Fleeting || !x.settled
		doc.Tilesets = append(doc.Tilesets, ogcapi.TileSetItem{Title: doc.Title, DataType: "vector", CRS: set.CRS.URI(), TileMatrixSetURI: set.URI(c.Root), TileMatrixSetID: set.ID,
			TileMatrixSetLimits: x.limits, Links: c.tilesetLinks(set, "")})
	}
	a.JSON, a.Links = doc, doc.Links
	a.Page = &page.Page{Name: "tilesets", Title: c.Text("tilesets.title"), Crumbs: c.tileCrumbs(), Data: tilesetsView{TileSets: doc, Path: c.tilesPath(), Style: c.styleAddress()}}
	return a, nil
}

// tilesetsView is what the page of a list of tilesets shows.
type tilesetsView struct {
	ogcapi.TileSets
	Path  string // of the list, below the mount
	Style string // address; "" when there is none
}

// Levels are the first and the last level of a tileset.
func (v tilesetsView) Levels(t ogcapi.TileSetItem) string {
	if n := len(t.TileMatrixSetLimits); n > 0 {
		return t.TileMatrixSetLimits[0].TileMatrix + "–" + t.TileMatrixSetLimits[n-1].TileMatrix
	}
	return ""
}

// styleAddress is where the style of the route's collection, or of the dataset, is; "" where none of it is in Web Mercator.
func (c *Call) styleAddress() string {
	if set, _ := tile.Find(webMercator); !slices.Contains(c.here(), set) {
		return ""
	}
	return c.Base() + strings.TrimSuffix(c.tilesPath(), "/tiles") + "/style"
}

func (c *Call) tileCrumbs() []page.Crumb {
	if c.Collection != nil {
		return c.Crumbs("collection")
	}
	return c.Crumbs("")
}

// tilesetLinks are those of a tileset, of its document and of its entry in the list; rest is what follows f in its addresses.
func (c *Call) tilesetLinks(set *tile.Set, rest string) []ogcapi.Link {
	here := c.Base() + c.tilesPath() + "/" + set.ID
	links := []ogcapi.Link{
		{Rel: "self", Type: AsJSON.Media, Title: formTitles["json"], Href: here + "?f=json" + rest},
		{Rel: "alternate", Type: AsHTML.Media, Title: formTitles["html"], Href: here + "?f=html" + rest, Hreflang: Hreflang},
	}
	if set.ID == webMercator {
		links = append(links, ogcapi.Link{Rel: "alternate", Type: asTileJSON.Media, Title: "This tileset as TileJSON", Href: here + "?f=tilejson" + rest})
	}
	return append(links,
		ogcapi.Link{Rel: "item", Type: asMVT.Media, Title: "Tiles", Href: here + "/{tileMatrix}/{tileRow}/{tileCol}?f=mvt" + rest, Templated: true},
		ogcapi.Link{Rel: ogcapi.RelTilingScheme, Type: AsJSON.Media, Title: "Tile matrix set " + set.ID, Href: c.Base() + "/TileMatrixSets/" + set.ID + "?f=json"})
}

// webMercator is the set that TileJSON and styles are of: the libraries that read them know no other.
const webMercator = "WebMercatorQuad"

// tileset describes a tileset (OGC 20-057, 8; OGC 17-083r4, 8).
func (s *Kit) tileset(c *Call) (*Answer, error) {
	set, err := c.grid()
	if err != nil {
		return nil, err
	}
	p := c.tiles()
	if c.Format.F == asTileJSON.F && set.ID != webMercator {
		return nil, problem.Invalidf("f", asTileJSON.F, "TileJSON knows %s only: ask %s%s/%s?f=tilejson, or take f=json here", webMercator, c.Base(), c.tilesPath(), webMercator)
	}
	x, err := c.tileExtent(set, p.collections())
	if err != nil {
		return nil, err
	}
	a := &Answer{Fleeting: !x.settled}
	if c.Format.F == asTileJSON.F {
		text, err := Marshal(c.tileJSON(x))
		a.Raw = map[string][]byte{asTileJSON.F: text}
		return a, err
	}
	doc := c.tilesetDoc(set, x)
	a.JSON, a.Links = doc, doc.Links
	v := tilesetView{TileSet: doc}
	if r, ok := find(doc.Links, "item"); ok {
		v.Template = r.Href
	}
	v.Map, a.Fleeting = c.setMap(set)
	a.Fleeting = a.Fleeting || !x.settled
	a.Page = &page.Page{Name: "tileset", Title: c.gridName(set.ID), Script: true, Tiles: c.tileMap(set, p.collections()...), Crumbs: append(c.tileCrumbs(), page.Crumb{Title: c.Text("tilesets.title"), Href: c.HtmlHref(c.tilesPath())}), Data: v}
	if set.ID != webMercator {
		a.Page.Without = asTileJSON.F
	}
	return a, nil
}

// tilesetView is what the page of a tileset shows.
type tilesetView struct {
	ogcapi.TileSet
	Template string        // address of tiles
	Map      template.HTML // the tiles over the country; "" where it is not within the grid
}

// find returns the first link of a relation.
func find(links []ogcapi.Link, rel string) (ogcapi.Link, bool) {
	i := slices.IndexFunc(links, func(l ogcapi.Link) bool { return l.Rel == rel })
	if i < 0 {
		return ogcapi.Link{}, false
	}
	return links[i], true
}

func (c *Call) tilesetDoc(set *tile.Set, x tileExtent) ogcapi.TileSet {
	p := c.tiles()
	doc := ogcapi.TileSet{Title: c.tilesTitle(), AccessConstraints: "unclassified", DataType: "vector", CRS: set.CRS.URI(), TileMatrixSetURI: set.URI(c.Root), TileMatrixSetID: set.ID,
		TileMatrixSetLimits: x.limits, MediaTypes: []string{asMVT.Media}, Layers: []ogcapi.TileLayer{}, Links: c.tilesetLinks(set, c.collectionsRest())}
	if c.Collection != nil {
		doc.Description, doc.Keywords = c.Collection.Description.In(c.Lang), c.Collection.Keywords
	} else {
		doc.Description = c.s.Config.Service.Description.In(c.Lang)
	}
	if l := c.s.Config.Service.Licence; l.Name != "" {
		doc.Attribution, doc.License = l.Name, l.URL
		doc.Links = append(doc.Links, ogcapi.Link{Rel: "license", Type: AsHTML.Media, Title: l.Name, Href: l.URL})
	}
	if low, high, ok := x.zooms(); ok {
		doc.MinZoom, doc.MaxZoom = &low, &high
	}
	doc.BoundingBox = degreeBox(extentOfAll(p.collections()))
	for i, at := range p.layers {
		doc.Layers = append(doc.Layers, at.tileLayer(x.layers[i]))
	}
	return doc
}

// extentOfAll is what holds the extents of collections, in CRS84; nil when none has one.
func extentOfAll(colls []*store.Collection) *orb.Bound {
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

func degreeBox(b *orb.Bound) *ogcapi.BoundingBox {
	if b == nil {
		return nil
	}
	return &ogcapi.BoundingBox{LowerLeft: [2]float64{down(b.Min[0], -180), down(b.Min[1], -90)}, UpperRight: [2]float64{-down(-b.Max[0], -180), -down(-b.Max[1], -90)}, CRS: crs.CRS84.URI()}
}

// Dimensions of geometries by their names in GeoJSON.
var Dimensions = map[string]int{"Point": 0, "MultiPoint": 0, "LineString": 1, "MultiLineString": 1, "Polygon": 2, "MultiPolygon": 2}

// tileLayer describes the layer of the call's collection.
func (c *Call) tileLayer(r tile.Range) ogcapi.TileLayer {
	l := ogcapi.TileLayer{ID: c.Collection.ID, Title: c.TitleOf(c.Collection), Description: c.Collection.Description.In(c.Lang), DataType: "vector", BoundingBox: degreeBox(c.Collection.Extent),
		PropertiesSchema: ogcapi.LayerSchema{Type: "object", Properties: map[string]ogcapi.LayerProperty{}},
		Links:            []ogcapi.Link{{Rel: "collection", Type: AsJSON.Media, Title: c.TitleOf(c.Collection), Href: c.Base() + "/collections/" + c.Collection.ID + "?f=json"}}}
	if d, ok := Dimensions[c.Collection.Geometry.Type]; ok {
		l.GeometryDimension = &d
	}
	l.MinTileMatrix, l.MaxTileMatrix = strconv.Itoa(r.First), strconv.Itoa(r.Last)
	for i := range c.Collection.Properties {
		p := &c.Collection.Properties[i]
		if p.Hidden || p.Name == tile.IDKey {
			continue
		}
		x := ogcapi.LayerProperty{Description: p.Description.In(c.Lang)}
		if t := p.Title.In(c.Lang); t != p.Name {
			x.Title = t
		}
		if x.Type, x.Format = JsonType(p.Type); p.Type == cql2.TypeJSON { // written as text
			x.Type = "string"
		}
		l.PropertiesSchema.Properties[p.Name] = x
	}
	l.PropertiesSchema.Properties[tile.IDKey] = ogcapi.LayerProperty{Type: "string", Title: "id"}
	return l
}
