package server

import (
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"slices"
	"strconv"
	"sync"

	"github.com/paulmach/orb"

	"grense/internal/cache"
	"grense/internal/cql2"
	"grense/internal/draw"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server/page"
	"grense/internal/store"
	"grense/internal/tile"
	"grense/web"
)

const (
	mapMost      = 1000     // features on the map of a page, at most
	CountryMost  = 500      // features of a collection that is drawn whole, at most
	nearMost     = 40       // features around the one that a page shows, at most
	outlineBytes = 32 << 20 // outlines that are cached, at most
)

// outlineCache holds the outlines of features.
type outlineCache = cache.Cache[outlineKey, *draw.Outline]

type outlineKey struct {
	collection, id, Plane string
	rev                   uint64
}

func newOutlineCache(g *cache.Group) *outlineCache {
	return cache.New[outlineKey, *draw.Outline](cache.Options{Name: "outlines", Bytes: outlineBytes, Group: g})
}

func putOutline(c *outlineCache, k outlineKey, o *draw.Outline) {
	c.Put(k, o, int64(o.Size()+len(k.id)))
}

// norwegian is the area whose maps are drawn in UTM zone 33, in which maps of Norway are.
var norwegian = orb.Bound{Min: orb.Point{-10, 56}, Max: orb.Point{36, 82}}

// MapCRS is the plane of the maps of a collection: metres in Norway, else degrees.
func MapCRS(coll *store.Collection) crs.ID {
	if b := coll.Extent; b != nil && norwegian.Contains(b.Min) && norwegian.Contains(b.Max) {
		return crs.UTM33
	}
	return crs.CRS84
}

// norwegianTowns are areas by whose names readers find their way on a map of Norway, although they are small.
var norwegianTowns = []string{"Oslo", "Bergen", "Trondheim - Tråante", "Trondheim", "Stavanger", "Kristiansand", "Tromsø", "Bodø", "Ålesund"}

// A MapScale is the plane of a map, and how wide a unit of its picture is there.
type MapScale struct {
	Plane crs.ID
	Unit  float64
}

// ScaleOf is that of a map of an area in a plane.
func ScaleOf(plane crs.ID, area orb.Bound) MapScale {
	return MapScale{plane, draw.Unit(area, plane.Geographic())}
}

// ScaleOfAll is that of a map of all of a collection of the call's catalog.
func (c *Call) ScaleOfAll(coll *store.Collection, plane crs.ID) MapScale {
	all := c.s.scales.Load()
	if all == nil || all.cat != c.Catalog {
		all = &mapScales{cat: c.Catalog}
		c.s.scales.Store(all)
	}
	key := scaledIn{coll.ID, plane}
	if at, ok := all.of.Load(key); ok {
		return at.(MapScale)
	}
	at := MapScale{Plane: plane}
	if coll.Extent != nil {
		if area, err := crs.EnvelopeOf(*coll.Extent, crs.CRS84, plane); err == nil {
			at = ScaleOf(plane, area).of(coll.Count)
		}
	}
	all.of.Store(key, at)
	return at
}

// mapScales are those of the collections of a catalog, whose envelopes take long to find.
type mapScales struct {
	cat *store.Catalog
	of  sync.Map // of scaledIn to mapScale
}

type scaledIn struct {
	collection string
	plane      crs.ID
}

// of is the scale of a map of so many features: with many it is coarser, so that the picture keeps within its bytes without moving borders.
func (at MapScale) of(n int) MapScale {
	if n > groundMost {
		at.Unit *= 2.5
	}
	return at
}

// finestUnit is the width of the smallest unit that maps are simplified for, in metres; every set has a level for it.
const finestUnit = 6.0

// shared are the outlines of the areas of a collection for a map, in which neighbours have the same border; nil where there are none: then each
// feature has its own. Pending says that there will be some.
func (c *Call) shared(coll *store.Collection, at MapScale) (o *tile.Outlines, pending bool, err error) {
	set := ladder(coll, at.Plane)
	if set == nil || set.CRS != at.Plane || !(at.Unit > 0) || Dimensions[coll.Geometry.Type] != 2 {
		return nil, false, nil
	}
	least := finestUnit
	if at.Plane.Geographic() {
		least /= metresPerDegree
	}
	at.Unit = max(at.Unit, least)
	err = c.Ask(func(ctx context.Context) (err error) {
		o, err = c.s.Tiles.Outlines(ctx, c.s.Store, tile.Scale{Set: set, Collection: coll.ID, Cell: at.Unit * 1.5})
		return err
	})
	if problem.Of(err).Kind == problem.Busy {
		return nil, true, nil
	}
	return o, false, err
}

// OutlinesOf gives the outlines of the features that rows name, in order, in the revisions that they name.
func (c *Call) OutlinesOf(coll *store.Collection, at MapScale, rows []store.Row) ([]*draw.Outline, error) {
	o, err := c.Outliner(coll, at)
	if err != nil {
		return nil, err
	}
	return c.outlinesBy(o, rows)
}

// outlinesBy is the same by an outliner, which may have made them.
func (c *Call) outlinesBy(o *Outliner, rows []store.Row) ([]*draw.Outline, error) {
	out := make([]*draw.Outline, len(rows))
	var missing []store.Row
	place := map[string]int{}
	for i, r := range rows {
		if out[i] = o.Cached(r); out[i] == nil {
			missing, place[r.ID] = append(missing, r), i
		}
	}
	for len(missing) > 0 {
		n := min(len(missing), Batch)
		err := c.Ask(func(ctx context.Context) error {
			return c.s.Store.Fetch(ctx, o.Key.collection, missing[:n], store.Want{Properties: o.Properties, NoGeometry: o.Shared != nil}, func(x *store.Feature) (err error) {
				out[place[x.ID]], err = o.Outline(x, x.Values)
				return err
			})
		})
		if err != nil {
			return nil, err
		}
		missing = missing[n:]
	}
	return out, nil
}

// lightBytes bounds the geometries that are read of features beside those that a page is about, where there are no simplified ones.
const lightBytes = 2 << 20

// errHeavy ends the reading of features whose geometries take too long to draw.
var errHeavy = errors.New("server: the geometries are too large for a map")

// lightOutlines is outlinesBy for features that may be left out: nil from the one on with which their geometries are too large; whole is false then. A page does
// not wait for large neighbours.
func (c *Call) lightOutlines(o *Outliner, rows []store.Row) (out []*draw.Outline, whole bool, err error) {
	if o.Shared != nil {
		out, err = c.outlinesBy(o, rows)
		return out, true, err
	}
	const atOnce = 4 // a store may read all of them before the first is looked at
	out = make([]*draw.Outline, len(rows))
	read := 0
	for i := 0; i < len(rows); {
		var missing []store.Row
		var place []int
		for ; i < len(rows) && len(missing) < atOnce; i++ {
			if out[i] = o.Cached(rows[i]); out[i] == nil {
				missing, place = append(missing, rows[i]), append(place, i)
			}
		}
		k := 0
		err := c.Ask(func(ctx context.Context) error {
			return c.s.Store.Fetch(ctx, o.Key.collection, missing, store.Want{Properties: o.Properties}, func(x *store.Feature) (err error) {
				if read += len(x.Geometry.WKB); read > lightBytes {
					return errHeavy
				}
				out[place[k]], err = o.Outline(x, x.Values)
				k++
				return err
			})
		})
		if errors.Is(err, errHeavy) {
			c.Roughly = true
			return out, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	return out, true, nil
}

// Refine changes outlines of features of a collection for another scale, where they have shared borders.
func (c *Call) Refine(coll *store.Collection, at MapScale, rows []store.Row, outs []*draw.Outline) error {
	o, err := c.Outliner(coll, at)
	if err != nil || o.Shared == nil {
		return err
	}
	for i, r := range rows {
		fine := o.Cached(r)
		if fine == nil {
			g, err := o.Shared.Area(r.ID)
			if err != nil {
				return err
			}
			fine = draw.NewShared(outs[i].Title, outs[i].Lang, g)
			fine.ID = outs[i].ID
			putOutline(c.s.outlines, o.keyOf(r), fine)
		}
		outs[i] = fine
	}
	return nil
}

// Outliner makes the outlines of features of a collection, and caches them.
type Outliner struct {
	server     *Kit
	Key        outlineKey // but for the feature
	project    func(x, y float64) (float64, float64)
	Properties []string       // of the title and of its language, as far as there are; never nil
	Shared     *tile.Outlines // nil: each feature has an outline of its own
}

func (c *Call) Outliner(coll *store.Collection, at MapScale) (*Outliner, error) {
	f, err := crs.Between(coll.Geometry.CRS, at.Plane)
	if err != nil {
		return nil, err
	}
	o := &Outliner{server: c.s, Key: outlineKey{collection: coll.ID, Plane: at.Plane.String()}, project: f, Properties: []string{}}
	shared, pending, err := c.shared(coll, at)
	if err != nil {
		return nil, err
	}
	o.Shared, c.Roughly = shared, c.Roughly || pending
	if o.Shared != nil {
		o.Key.Plane += " " + o.Shared.Rev()
	}
	if p, ok := coll.Find(coll.TitleProperty); ok && !p.Hidden {
		o.Properties = []string{p.Name}
		if l := LanguageProperty(coll); l != nil {
			o.Properties = append(o.Properties, l.Name)
		}
	}
	return o, nil
}

// cached is the outline of a row; nil when it must be made.
func (o *Outliner) Cached(r store.Row) *draw.Outline {
	out, _ := o.server.outlines.Get(o.keyOf(r))
	return out
}

func (o *Outliner) keyOf(r store.Row) outlineKey {
	key := o.Key
	key.id, key.rev = r.ID, r.Rev
	return key
}

// outline makes and caches the outline of a feature, whose values of the properties are given.
func (o *Outliner) Outline(x *store.Feature, values []any) (*draw.Outline, error) {
	title := x.ID
	if len(values) > 0 && values[0] != nil {
		title = Cell(values[0])
	}
	lang := ""
	if len(values) > 1 {
		lang = LanguageCode(Cell(values[1]))
	}
	var out *draw.Outline
	if o.Shared != nil {
		g, err := o.Shared.Area(x.ID)
		if err != nil {
			return nil, err
		}
		out = draw.NewShared(title, lang, g)
	} else {
		g, err := x.Geometry.Orb()
		if err != nil { // what cannot be read is not drawn; the rest of the page stands
			g = nil
		}
		out = draw.NewOutline(title, g, o.project)
		out.Lang = lang
	}
	out.ID = x.Public()
	putOutline(o.server.outlines, o.keyOf(store.Row{ID: x.ID, Rev: x.Rev}), out)
	return out, nil
}

// Marks makes marks of features; the parameter lang is kept in their links.
func (c *Call) Marks(coll *store.Collection, outs []*draw.Outline, near bool) []draw.Mark {
	tail := ""
	if l := First(c.Values["lang"]); l != "" {
		tail = "?lang=" + QueryEscape(l)
	}
	start := page.LocalPath(c.Base()) + "/collections/" + coll.ID + "/items/"
	towns := MapCRS(coll) == crs.UTM33 && Dimensions[coll.Geometry.Type] == 2
	var out []draw.Mark
	for _, o := range outs {
		if o != nil && !o.Empty() {
			out = append(out, draw.Mark{Outline: o, Foreign: Foreign(o.Lang, c.Lang), Href: start + PathEscape(o.ID) + tail, Near: near, First: towns && slices.Contains(norwegianTowns, o.Title)})
		}
	}
	return out
}

// itemsMap draws the features of a page; "" without an outliner.
func (c *Call) ItemsMap(o *Outliner, rows []store.Row) (template.HTML, error) {
	if o == nil {
		return "", nil
	}
	rows = rows[:min(len(rows), mapMost)]
	plane := MapCRS(c.Collection)
	at := c.ScaleOfAll(c.Collection, plane)
	outs, err := c.outlinesBy(o, rows)
	if err != nil {
		return "", err
	}
	here := c.Marks(c.Collection, outs, false)
	if here == nil {
		return "", nil
	}
	if near := ScaleOf(plane, draw.Bound(here)).of(len(here)); near.Unit < at.Unit/2 { // a small part of the collection
		if err = c.Refine(c.Collection, near, rows, outs); err != nil {
			return "", err
		}
		here, at = c.Marks(c.Collection, outs, false), near
	}
	ground, err := c.Ground(at)
	others := len(rows) < c.Collection.Count || IsVersioned(c.Collection)
	if err == nil && others && c.Country() == c.Collection {
		ground, err = c.groundOf(c.Collection, at, len(rows))
		others = ground != nil
	}
	if err != nil {
		return "", err
	}
	p := draw.Picture{Lang: c.Lang, Degrees: plane.Geographic(), Marks: append(ground, here...), Labels: true, Lookup: true, Bare: ground == nil && others}
	if p.Text = c.Text("map.items", c.TitleOf(c.Collection), len(here)); len(here) == 1 {
		p.Text = c.Text("map.items-one", c.TitleOf(c.Collection))
	}
	return p.SVG(), nil
}

// itemMap draws a feature and, in grey, what of its collection lies around it.
func (c *Call) ItemMap(o *Outliner, row store.Row, b orb.Bound, title string) (template.HTML, error) {
	plane := MapCRS(c.Collection)
	area, err := crs.EnvelopeOf(b, c.Collection.Geometry.CRS, plane)
	if err != nil {
		return "", err
	}
	rows := []store.Row{row}
	outs, err := c.outlinesBy(o, rows)
	if err != nil {
		return "", err
	}
	at := ScaleOf(plane, area)
	if err := c.Refine(c.Collection, at, rows, outs); err != nil {
		return "", err
	}
	here := c.Marks(c.Collection, outs, false)
	if here == nil {
		return "", nil
	}
	var ground []draw.Mark
	if !here[0].HasArea() { // points and lines need something to lie on
		if ground, err = c.Ground(at); err != nil {
			return "", err
		}
	}
	around, err := c.surroundings(at, row.ID, b)
	if err != nil {
		return "", err
	}
	here[0].Href = ""
	p := draw.Picture{Lang: c.Lang, Degrees: plane.Geographic(), Marks: slices.Concat(ground, around, here), Labels: true, Around: true, Text: c.Text("map.item", title)}
	return p.SVG(), nil
}

// groundMost is how many features of the country lie under the map of other features, at most; of more it is the country without the borders in it.
const groundMost = 60

// Ground is the country in grey, under features of another collection; nil when there is none in that plane.
func (c *Call) Ground(at MapScale) ([]draw.Mark, error) {
	under := c.Country()
	if under == nil && c.s.shore != nil && at.Plane == crs.UTM33 {
		return []draw.Mark{{Outline: c.s.shore, Near: true}}, nil
	}
	if under == nil || under == c.Collection || MapCRS(under) != at.Plane {
		return nil, nil
	}
	return c.groundOf(under, at, 0)
}

// groundOf is what a collection of areas covers, in grey; nil where that is no more than so many areas, which are shown.
func (c *Call) groundOf(under *store.Collection, at MapScale, shown int) ([]draw.Mark, error) {
	o, err := c.Outliner(under, at.of(under.Count))
	if err != nil {
		return nil, err
	}
	rows, err := c.allRows(under)
	if err != nil {
		return nil, err
	}
	outs, complete, err := c.lightOutlines(o, rows)
	if err == nil && !complete { // part of a country would be taken for all of it
		return nil, nil
	}
	marks := c.Marks(under, outs, false)
	if errors.Is(err, store.ErrChanged) || err == nil && len(marks) <= shown { // what lies under the map may be left out
		return nil, nil
	}
	if err == nil && len(marks) > groundMost {
		all := make([]*draw.Outline, len(marks))
		for i, m := range marks {
			all[i] = m.Outline
		}
		if marks = nil; len(all) > 0 {
			if whole := draw.Union(all); whole != nil {
				marks = []draw.Mark{{Outline: whole}}
			}
		}
	}
	for i := range marks {
		marks[i].Near, marks[i].Href = true, ""
	}
	return marks, err
}

// setPages makes the pages, with an outline of the country for maps without areas: those drawn here, and those of tiles, which fetch it as a list of
// rings of whole metres.
func (s *Kit) setPages(rings []orb.Ring) {
	s.pages, s.assets = page.NewRenderer(hashedName), newAssets()
	if rings == nil {
		return
	}
	var land orb.MultiPolygon
	numbers := make([][]int, len(rings))
	for i, r := range rings {
		land = append(land, orb.Polygon{r})
		for _, at := range r {
			numbers[i] = append(numbers[i], int(at[0]), int(at[1]))
		}
	}
	s.shore = draw.NewOutline("", land, func(x, y float64) (float64, float64) { return x, y })
	text, _ := json.Marshal(numbers) // of whole numbers only
	s.assets.shore, s.assets.shoreName = newAsset(text, AsJSON.Media), web.HashedName("shore.json", text)
	s.shoreFile = "/static/" + s.assets.shoreName
}

// surroundings are the other features of the collection that touch a box in its storage CRS, widened by a fifth.
func (c *Call) surroundings(at MapScale, id string, b orb.Bound) ([]draw.Mark, error) {
	g := c.Collection.Geometry
	least := 10000.0
	if g.CRS.Geographic() {
		least = .1
	}
	wide := b.Pad(max((b.Max[0]-b.Min[0])/5, (b.Max[1]-b.Min[1])/5, least))
	domain := g.CRS.Domain()
	wide = orb.Bound{Min: orb.Point{max(wide.Min[0], domain.Min[0]), max(wide.Min[1], domain.Min[1])}, Max: orb.Point{min(wide.Max[0], domain.Max[0]), min(wide.Max[1], domain.Max[1])}}
	e, err := cql2.Check(cql2.BBox{Prop: g.Name, CRS: g.CRS, Box: wide}, c.SchemaOf(c.Collection))
	if err != nil {
		return nil, err
	}
	var page *store.Page
	err = c.Ask(func(ctx context.Context) (err error) {
		page, err = c.s.Store.Page(ctx, c.Current(c.Collection, store.Query{Filter: e, Limit: nearMost, Count: store.CountNone}))
		return err
	})
	if err != nil {
		return nil, err
	}
	rows := slices.DeleteFunc(page.Rows, func(r store.Row) bool { return r.ID == id })
	o, err := c.Outliner(c.Collection, at)
	if err != nil {
		return nil, err
	}
	outs, _, err := c.lightOutlines(o, rows)
	if errors.Is(err, store.ErrChanged) { // what lies around it may be left out
		return nil, nil
	}
	return c.Marks(c.Collection, outs, true), err
}

// Country is the first public collection of areas that can be drawn whole; nil when there is none.
func (c *Call) Country() *store.Collection {
	for _, coll := range c.Catalog.Collections {
		if coll.Public && coll.Geometry != nil && (coll.Geometry.Type == "Polygon" || coll.Geometry.Type == "MultiPolygon") && coll.Count > 0 && coll.Count <= CountryMost {
			return coll
		}
	}
	return nil
}

// mayDraw reports whether a page about data may show features: none where they need a key and the visitor has none.
func (c *Call) MayDraw() bool { return c.s.Config.Auth == "open" || c.holds }

// Overview draws all features of a collection, or where it is large its extent over the country. For visitors who lack a key it draws none of them:
// on the page of the collection its extent over a grid of degrees, elsewhere nothing. A store that does not answer costs the page its map only: then fleeting is set, and the page
// must not be cached.
func (c *Call) Overview(coll *store.Collection, text string) (svg template.HTML, fleeting bool) {
	if c.Format.F != "html" || coll == nil || coll.Geometry == nil || coll.Extent == nil {
		return "", false
	}
	if !c.MayDraw() {
		if coll != c.Collection {
			return "", false
		}
		p := draw.Picture{Lang: c.Lang, Degrees: true, Text: text, Box: coll.Extent, DegreeGrid: true}
		return p.SVG(), false
	}
	plane := MapCRS(coll)
	p := draw.Picture{Lang: c.Lang, Degrees: plane.Geographic(), Text: text, Labels: true}
	drawn := coll
	if coll.Count > CountryMost {
		box, err := crs.EnvelopeOf(*coll.Extent, crs.CRS84, plane)
		if err != nil {
			return "", false
		}
		p.Box = &box
		if drawn = c.Country(); drawn == nil || MapCRS(drawn) != plane {
			p.Marks, _ = c.Ground(c.ScaleOfAll(coll, plane))
			p.DegreeGrid = p.Marks == nil && p.Degrees // what would be an empty frame
			return p.SVG(), false
		}
	}
	marks, err := c.allMarks(drawn, c.ScaleOfAll(coll, plane))
	if err == nil && drawn == coll && Dimensions[coll.Geometry.Type] != 2 { // points and lines need something to lie on
		var ground []draw.Mark
		ground, err = c.Ground(c.ScaleOfAll(coll, plane))
		marks = slices.Concat(ground, marks)
	}
	if err != nil {
		c.s.Log.WarnContext(c.Request.Context(), "map left out", "request", c.ID, "collection", drawn.ID, "err", Redacted(err.Error()))
		return "", true
	}
	for i := range marks {
		marks[i].Near = drawn != coll || marks[i].Near
	}
	p.Marks = marks
	return p.SVG(), c.Roughly
}

// SetMap draws the tiles of a set that lie over the country, at the first level that cuts it into several; "" where the set does not
// cover it. Such a map has neither names nor links; where data need a key it has no outlines either. For fleeting see overview.
func (c *Call) SetMap(set *tile.Set) (svg template.HTML, fleeting bool) {
	coll := c.Country()
	if c.Format.F != "html" || coll == nil || coll.Extent == nil || !covers(set.CRS, *coll.Extent) {
		return "", false
	}
	area, err := crs.EnvelopeOf(*coll.Extent, crs.CRS84, set.CRS)
	if err != nil {
		return "", false
	}
	var marks []draw.Mark
	if c.MayDraw() {
		if marks, err = c.allMarks(coll, c.ScaleOfAll(coll, set.CRS)); err != nil {
			c.s.Log.WarnContext(c.Request.Context(), "map left out", "request", c.ID, "collection", coll.ID, "err", Redacted(err.Error()))
			return "", true
		}
		area = draw.Bound(marks)
		for i := range marks {
			marks[i].Href = ""
		}
	}
	z, tiles := gridOver(set, area)
	p := draw.Picture{Lang: c.Lang, Degrees: set.CRS.Geographic(), Marks: marks, Tiles: tiles, Text: c.Text("map.tiles", z)}
	if marks == nil {
		p.Box = &area
	}
	return p.SVG(), c.Roughly
}

// gridOver lists the tiles that touch an area, at the first level whose tiles are smaller than half of it.
func gridOver(set *tile.Set, area orb.Bound) (z int, out []draw.Tile) {
	z, last := set.Levels()
	half := max(area.Max[0]-area.Min[0], area.Max[1]-area.Min[1]) / 2
	at := func(col, row int) orb.Bound { return set.Bound(tile.Tile{Z: z, Col: col, Row: row}) }
	for b := at(0, 0); z < last && b.Max[0]-b.Min[0] > half; b = at(0, 0) {
		z++
	}
	b := at(0, 0)
	w := b.Max[0] - b.Min[0]
	if !(w > 0) || area.Min[0] > area.Max[0] || half/w > 10 {
		return z, nil
	}
	for row := int((b.Max[1] - area.Max[1]) / w); row <= int((b.Max[1]-area.Min[1])/w); row++ {
		for col := int((area.Min[0] - b.Min[0]) / w); col <= int((area.Max[0]-b.Min[0])/w); col++ {
			if set.Contains(tile.Tile{Z: z, Col: col, Row: row}) {
				out = append(out, draw.Tile{Bound: at(col, row), Name: strconv.Itoa(z) + "/" + strconv.Itoa(row) + "/" + strconv.Itoa(col)})
			}
		}
	}
	return z, out
}

// allMarks is every feature of a collection that is small enough to be drawn whole.
func (c *Call) allMarks(coll *store.Collection, at MapScale) ([]draw.Mark, error) {
	o, err := c.Outliner(coll, at)
	if err != nil {
		return nil, err
	}
	return c.AllMarksBy(o, coll)
}

// AllMarksBy is the same by an outliner of the collection.
func (c *Call) AllMarksBy(o *Outliner, coll *store.Collection) ([]draw.Mark, error) {
	rows, err := c.allRows(coll)
	if err != nil {
		return nil, err
	}
	outs, err := c.outlinesBy(o, rows)
	return c.Marks(coll, outs, false), err
}

// allRows are the features of a collection that is small enough to be drawn whole.
func (c *Call) allRows(coll *store.Collection) ([]store.Row, error) {
	var page *store.Page
	err := c.Ask(func(ctx context.Context) (err error) {
		page, err = c.s.Store.Page(ctx, c.Current(coll, store.Query{Limit: CountryMost, Count: store.CountNone}))
		return err
	})
	if err != nil {
		return nil, err
	}
	return page.Rows, nil
}
