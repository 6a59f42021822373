package tiles

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
	"grense/internal/server"
	"grense/internal/server/drawing"
	"grense/internal/server/links"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/schema"
	"grense/internal/server/selection"
	"grense/internal/server/wire"
	"grense/internal/store"
	"grense/internal/style"
	"grense/internal/tile"
)

// tileParams are the parameters of tiles and tilesets. A tile of the dataset has a layer for each of its collections.
type tileParams struct {
	set *tile.Set // nil: the path has none, or an unknown one
	// calls for the features of each layer's collection, in the order of layers
	layers []*server.Call
	chosen bool // the parameter collections is given
	theme  style.Theme
}

func newTileParams(c *server.Call) any { return NewTileLayers(c) }

// newTileParamsOf returns the defaults for tiles in a set. set is nil if the path has none, or an unknown one.
func newTileParamsOf(c *server.Call, set *tile.Set) *tileParams {
	p := &tileParams{set: set, theme: style.Themes[0]}
	colls := []*store.Collection{c.Collection}
	if c.Collection == nil {
		colls = server.Tiled(c.Catalog, p.set)
	}
	p.setLayers(c, colls)
	return p
}

func (p *tileParams) setLayers(c *server.Call, colls []*store.Collection) {
	p.layers = make([]*server.Call, len(colls))
	for i, coll := range colls {
		at := *c
		at.Collection, at.Values = coll, nil
		at.Params = selection.New(&at)
		p.layers[i] = &at
	}
}

// collections returns the collections of the layers.
func (p *tileParams) collections() []*store.Collection {
	colls := make([]*store.Collection, len(p.layers))
	for i, at := range p.layers {
		colls[i] = at.Collection
	}
	return colls
}

// Complete completes the queries of all layers.
func (p *tileParams) Complete(*server.Call) error {
	return p.Each(func(at *server.Call) error { return selection.Of(at).Complete(at) })
}

// Each calls fn for each layer and joins the faults of all. A fault that only some layers have begins with their ids.
func (p *tileParams) Each(fn func(*server.Call) error) error {
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

// tiles returns the parameters of a call to a route of tiles.
func (c *call) tiles() *tileParams { return c.Params.(*tileParams) }

// choose parses the parameter collections: ids or addresses of collections, in the order of layers (OGC 20-057,
// /req/collections-selection).
func (p *tileParams) choose(c *server.Call, v string) error {
	var colls []*store.Collection
	all := server.Tiled(c.Catalog, p.set)
	for name := range strings.SplitSeq(v, ",") {
		id := strings.TrimSpace(name)
		for _, mount := range server.Mounts {
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
			return problem.Invalidf("collections", v,
				"there are no tiles here of %q; name some of %s, by id or address, with commas between them",
				problem.Clip(id), strings.Join(ids, ", "))
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

// tileSet returns the tile matrix set with an id in any case; nil if there is none.
func tileSet(id string) *tile.Set {
	for _, set := range tile.All() {
		if strings.EqualFold(set.ID, id) {
			return set
		}
	}
	return nil
}

// setsHere returns the tile matrix sets of the route: those of its collection, or all sets in which the dataset has
// tiles.
func setsHere(c *server.Call) (sets []*tile.Set) {
	if c.Collection != nil {
		return server.TileSets(c.Collection)
	}
	for _, set := range tile.All() {
		if server.Tiled(c.Catalog, set) != nil {
			sets = append(sets, set)
		}
	}
	return sets
}

// tilesTitle returns the title of the collection or of the service.
func (c *call) tilesTitle() string {
	if c.Collection != nil {
		return c.Collection.TitleIn(c.Lang)
	}
	return c.s.Config.Service.Title.In(c.Lang)
}

// grid returns the tile matrix set of the path. It fails if the route has no tiles in it.
func (c *call) grid() (*tile.Set, error) { return Grid(c.Call, c.tiles()) }

// Grid returns the tile matrix set that the path names; an error if it has no tiles of the layers.
func Grid(c *server.Call, p *Layers) (*tile.Set, error) {
	return gridIn(c, p.set, c.PathParam("tileMatrixSetId"))
}

// GridNamed returns the tile matrix set of that name; an error if it has no tiles of each of the layers.
func GridNamed(c *server.Call, p *Layers, name string) (*tile.Set, error) {
	set := tileSet(name)
	for _, at := range p.layers {
		if set == nil || !set.Takes(at.Collection) {
			return gridIn(c, nil, name)
		}
	}
	return set, nil
}

func gridIn(c *server.Call, set *tile.Set, name string) (*tile.Set, error) {
	if set != nil && (c.Collection != nil && set.Takes(c.Collection) ||
		c.Collection == nil && server.Tiled(c.Catalog, set) != nil) {
		return set, nil
	}
	ids := make([]string, 0, 10)
	for _, s := range setsHere(c) {
		ids = append(ids, s.ID)
	}
	return nil, problem.NotFoundf("there are no tiles here in a set %q; there are in %s",
		problem.Clip(name), strings.Join(ids, ", "))
}

// tileExtent is the range of tiles of one or more layers in a set.
type tileExtent struct {
	layers  []tile.Range // in the order of the requested layers
	limits  []ogcapi.TileMatrixLimits
	settled bool // see tile.Range
}

// mayHold reports whether a layer may have features in a tile, by the extent in the catalog. Later rows may lie outside
// it. A level after the last one is an error of kind problem.NotFound (OGC 20-057, /req/core/tc-error).
func (c *call) mayHold(set *tile.Set, at tile.Tile) (bool, error) {
	last := -1
	for _, coll := range c.tiles().collections() {
		r, err := c.s.Tiles.Estimate(c.s.Store, set, coll.ID)
		if err != nil || r.Contains(at) {
			return err == nil, err
		}
		last = max(last, r.Last)
	}
	if at.Z > last {
		return false, problem.NotFoundf("the tiles of %s%s/%s end with level %d; enlarge those", c.Base(),
			c.tilesPath(), set.ID, last)
	}
	return false, nil
}

// tileExtent returns the range of tiles of layers. Its limits are whole matrices, since clients that reproject tiles
// also request neighbours outside the data, and draw nothing if one fails. Those tiles are empty (204).
func (c *call) tileExtent(set *tile.Set, colls []*store.Collection) (x tileExtent, err error) {
	x.settled, x.limits = true, []ogcapi.TileMatrixLimits{}
	first, last := math.MaxInt, -1
	for _, coll := range colls {
		var r tile.Range
		err := c.Ask(func(ctx context.Context) (err error) {
			r, err = c.s.Tiles.Range(ctx, c.s.Store, set, coll.ID)
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
		x.limits = append(x.limits, ogcapi.TileMatrixLimits{TileMatrix: strconv.Itoa(z), MaxTileRow: h - 1,
			MaxTileCol: w - 1})
	}
	return x, nil
}

// zooms returns the first and last level of the limits; ok is false if there are none.
func (x tileExtent) zooms() (first, last int, ok bool) {
	if len(x.limits) == 0 {
		return 0, 0, false
	}
	first, _ = strconv.Atoi(x.limits[0].TileMatrix) // tileExtent writes numbers only
	last, _ = strconv.Atoi(x.limits[len(x.limits)-1].TileMatrix)
	return first, last, true
}

// tilesets lists the tilesets of a collection or of the dataset (OGC 20-057, 9).
func (s *surface) tilesets(c *call) (*server.Answer, error) {
	here := c.Base() + c.tilesPath()
	doc := ogcapi.TileSets{Title: c.tilesTitle(), Tilesets: []ogcapi.TileSetItem{},
		Links: append(c.SelfLinks(c.tilesPath()),
			ogcapi.Link{Rel: "self", Type: media.JSON.Media, Title: "Tileset in a tile matrix set", Href: here +
				"/{tileMatrixSetId}?f=json", Templated: true},
			ogcapi.Link{Rel: "item", Type: c.form().Media, Title: "Tiles", Href: here +
				"/{tileMatrixSetId}/{tileMatrix}/{tileRow}/{tileCol}?f=" + c.form().F, Templated: true},
			ogcapi.Link{Rel: "describedby", Type: media.JSON.Media, Title: "Tileset in a tile matrix set",
				Href: here +
					"/{tileMatrixSetId}/metadata?f=json", Templated: true})}
	a := &server.Answer{}
	for _, set := range setsHere(c.Call) {
		colls := []*store.Collection{c.Collection}
		if c.Collection == nil {
			colls = server.Tiled(c.Catalog, set)
		}
		x, err := c.tileExtent(set, colls)
		if err != nil {
			return nil, err
		}
		a.Fleeting = a.Fleeting || !x.settled
		doc.Tilesets = append(doc.Tilesets,
			ogcapi.TileSetItem{Title: doc.Title, DataType: c.dataType(), CRS: set.CRS.URI(),
				TileMatrixSetURI: set.URI(c.Root), TileMatrixSetID: set.ID,
				TileMatrixSetLimits: x.limits, Links: c.tilesetLinks(set, "")})
	}
	a.JSON, a.Links = doc, doc.Links
	a.Page = &page.Page{Name: "tilesets", Title: c.listTitle(), Crumbs: c.tileCrumbs(),
		Data: tilesetsView{TileSets: doc, Path: c.tilesPath(), Style: c.styleAddress(), Pictures: c.pictures}}
	return a, nil
}

// tilesetsView is the data of the page.
type tilesetsView struct {
	ogcapi.TileSets
	Path     string // of the list, below the mount
	Style    string // address; "" if there is none
	Pictures bool   // the tiles are pictures
}

// Levels returns the first and last level of a tileset, such as 0–14.
func (v tilesetsView) Levels(t ogcapi.TileSetItem) string {
	if n := len(t.TileMatrixSetLimits); n > 0 {
		return t.TileMatrixSetLimits[0].TileMatrix + "–" + t.TileMatrixSetLimits[n-1].TileMatrix
	}
	return ""
}

// styleAddress returns the address of the style of the route's collection or of the dataset; "" if it has no tiles in
// Web Mercator.
func (c *call) styleAddress() string {
	if set, _ := tile.Find(server.WebMercator); c.pictures || !slices.Contains(setsHere(c.Call), set) {
		return ""
	}
	return c.Base() + strings.TrimSuffix(c.tilesPath(), "/tiles") + "/style"
}

func (c *call) tileCrumbs() []page.Crumb {
	if c.Collection != nil {
		return c.Crumbs("collection")
	}
	return c.Crumbs("")
}

// tilesetLinks returns the links of a tileset. rest is the query after f.
func (c *call) tilesetLinks(set *tile.Set, rest string) []ogcapi.Link {
	here := c.Base() + c.tilesPath() + "/" + set.ID
	list := []ogcapi.Link{
		{Rel: "self", Type: media.JSON.Media, Title: links.FormTitles["json"], Href: here + "?f=json" + rest},
		{Rel: "alternate", Type: media.HTML.Media, Title: links.FormTitles["html"], Href: here + "?f=html" + rest,
			Hreflang: links.Hreflang},
	}
	if set.ID == server.WebMercator && !c.pictures {
		list = append(list, ogcapi.Link{Rel: "alternate", Type: media.TileJSON.Media,
			Title: "This tileset as TileJSON", Href: here + "?f=tilejson" + rest})
	}
	return append(list,
		ogcapi.Link{Rel: "item", Type: c.form().Media, Title: "Tiles", Href: here +
			"/{tileMatrix}/{tileRow}/{tileCol}?f=" + c.form().F + rest, Templated: true},
		ogcapi.Link{Rel: ogcapi.RelTilingScheme, Type: media.JSON.Media, Title: "Tile matrix set " + set.ID,
			Href: c.Base() + "/TileMatrixSets/" + set.ID + "?f=json"})
}

// tileset returns the description of a tileset (OGC 20-057, 8; OGC 17-083r4, 8).
func (s *surface) tileset(c *call) (*server.Answer, error) {
	set, err := c.grid()
	if err != nil {
		return nil, err
	}
	p := c.tiles()
	if c.Format.F == media.TileJSON.F && set.ID != server.WebMercator {
		return nil, problem.Invalidf("f", media.TileJSON.F,
			"TileJSON knows %s only: ask %s%s/%s?f=tilejson, or take f=json here", server.WebMercator, c.Base(),
			c.tilesPath(), server.WebMercator)
	}
	x, err := c.tileExtent(set, p.collections())
	if err != nil {
		return nil, err
	}
	a := &server.Answer{Fleeting: !x.settled}
	if c.Format.F == media.TileJSON.F {
		text, err := wire.Marshal(c.tileJSON(x))
		a.Raw = map[string][]byte{media.TileJSON.F: text}
		return a, err
	}
	doc := c.tilesetDoc(set, x)
	a.JSON, a.Links = doc, doc.Links
	v := tilesetView{TileSet: doc}
	for i, at := range p.layers {
		v.Collections = append(v.Collections, tileLayer(at, x.layers[i]))
	}
	if r, ok := find(doc.Links, "item"); ok {
		v.Template = r.Href
	}
	v.Map, a.Fleeting = c.SetMap(set)
	a.Fleeting = a.Fleeting || !x.settled
	tiles := c.TileMap(set, p.collections()...)
	tiles.Path += c.collectionsRest()
	a.Page = &page.Page{Name: "tileset", Title: c.gridName(set.ID), Script: true, Tiles: tiles,
		Crumbs: append(c.tileCrumbs(), page.Crumb{Title: c.listTitle(), Href: c.HtmlHref(c.tilesPath())}),
		Data:   v}
	if set.ID != server.WebMercator {
		a.Page.Without = media.TileJSON.F
	}
	return a, nil
}

// tilesetView is the data of the page.
type tilesetView struct {
	ogcapi.TileSet
	Collections []ogcapi.TileLayer // the layers without labels
	Template    string             // address of tiles
	Map         template.HTML      // the tiles over the country; "" if it lies outside the grid
}

// find returns the first link with a relation.
func find(links []ogcapi.Link, rel string) (ogcapi.Link, bool) {
	i := slices.IndexFunc(links, func(l ogcapi.Link) bool { return l.Rel == rel })
	if i < 0 {
		return ogcapi.Link{}, false
	}
	return links[i], true
}

func (c *call) tilesetDoc(set *tile.Set, x tileExtent) ogcapi.TileSet {
	p := c.tiles()
	doc := ogcapi.TileSet{Title: c.tilesTitle(), AccessConstraints: "unclassified", DataType: c.dataType(),
		CRS: set.CRS.URI(), TileMatrixSetURI: set.URI(c.Root), TileMatrixSetID: set.ID,
		TileMatrixSetLimits: x.limits, MediaTypes: []string{c.form().Media}, Layers: []ogcapi.TileLayer{},
		Links: c.tilesetLinks(set, c.collectionsRest())}
	if c.Collection != nil {
		doc.Description, doc.Keywords = c.Collection.Description.In(c.Lang), c.Collection.Keywords
	} else {
		doc.Description = c.s.Config.Service.Description.In(c.Lang)
	}
	if l := c.s.Config.Service.Licence; l.Name != "" {
		doc.Attribution, doc.License = l.Name, l.URL
		doc.Links = append(doc.Links, ogcapi.Link{Rel: "license", Type: media.HTML.Media, Title: l.Name,
			Href: l.URL})
	}
	if low, high, ok := x.zooms(); ok {
		doc.MinZoom, doc.MaxZoom = &low, &high
	}
	doc.BoundingBox = degreeBox(drawing.ExtentOfAll(p.collections()))
	for i, at := range p.layers {
		doc.Layers = append(doc.Layers, tileLayer(at, x.layers[i]))
		if labels, ok := labelLayer(at, x.layers[i]); ok {
			doc.Layers = append(doc.Layers, labels)
		}
	}
	return doc
}

func degreeBox(b *orb.Bound) *ogcapi.BoundingBox {
	if b == nil {
		return nil
	}
	return &ogcapi.BoundingBox{LowerLeft: [2]float64{server.Down(b.Min[0], -180), server.Down(b.Min[1], -90)},
		UpperRight: [2]float64{-server.Down(-b.Max[0], -180), -server.Down(-b.Max[1], -90)}, CRS: crs.CRS84.URI()}
}

// tileLayer describes the layer of the call's collection.
func tileLayer(c *server.Call, r tile.Range) ogcapi.TileLayer {
	l := ogcapi.TileLayer{ID: c.Collection.ID, Title: c.Collection.TitleIn(c.Lang),
		Description: c.Collection.Description.In(c.Lang), DataType: "vector",
		BoundingBox:      degreeBox(c.Collection.Extent),
		PropertiesSchema: ogcapi.LayerSchema{Type: "object", Properties: map[string]ogcapi.LayerProperty{}},
		Links: []ogcapi.Link{{Rel: "collection", Type: media.JSON.Media, Title: c.Collection.TitleIn(c.Lang),
			Href: c.Base() + "/collections/" + c.Collection.ID + "?f=json"}}}
	if d, ok := style.Dimensions[c.Collection.Geometry.Type]; ok {
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
		if x.Type, x.Format = schema.TypeOf(p.Type); p.Type == cql2.TypeJSON { // JSON values are written as text
			x.Type = "string"
		}
		l.PropertiesSchema.Properties[p.Name] = x
	}
	l.PropertiesSchema.Properties[tile.IDKey] = ogcapi.LayerProperty{Type: "string", Title: "id"}
	return l
}

// labelLayer describes the layer of labels of the call's collection; ok is false if there is none.
func labelLayer(c *server.Call, r tile.Range) (l ogcapi.TileLayer, ok bool) {
	points := 0
	l = ogcapi.TileLayer{ID: tile.LabelLayer(c.Catalog, c.Collection), Title: c.Collection.TitleIn(c.Lang) + ": labels",
		Description: "One point for each area, where a map writes its name.", DataType: "vector",
		GeometryDimension: &points, MinTileMatrix: strconv.Itoa(r.First), MaxTileMatrix: strconv.Itoa(r.Last),
		BoundingBox: degreeBox(c.Collection.Extent),
		PropertiesSchema: ogcapi.LayerSchema{Type: "object", Properties: map[string]ogcapi.LayerProperty{
			tile.IDKey:       {Type: "string", Title: "id"},
			style.LabelName:  {Type: "string", Description: "Name of the feature"},
			style.LabelLines: {Type: "string", Description: "Names in several languages, a line each"},
			style.LabelRank:  {Type: "integer", Description: "The smallest is the most important"},
			style.LabelZoom:  {Type: "integer", Description: "Level from which on the label is there"},
		}},
		Links: []ogcapi.Link{{Rel: "collection", Type: media.JSON.Media, Title: c.Collection.TitleIn(c.Lang),
			Href: c.Base() + "/collections/" + c.Collection.ID + "?f=json"}}}
	return l, l.ID != ""
}

// allTileSets returns the ids of all tile matrix sets for the API definition.
var allTileSets = map[string]func(*server.Call) []string{
	"tileMatrixSetId": func(*server.Call) []string { return setIDs(tile.All()) }}

// tilesHere returns the ids of the tile matrix sets of the route for the API definition.
var tilesHere = map[string]func(*server.Call) []string{
	"tileMatrixSetId": func(c *server.Call) []string { return setIDs(setsHere(c)) }}

func setIDs(sets []*tile.Set) (ids []string) {
	for _, s := range sets {
		ids = append(ids, s.ID)
	}
	return ids
}
