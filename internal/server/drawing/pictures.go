package drawing

import (
	"context"
	"html/template"
	"slices"
	"strconv"

	"github.com/paulmach/orb"

	"grense/internal/apikey"
	"grense/internal/draw"
	"grense/internal/geo/crs"
	"grense/internal/server"
	"grense/internal/server/page"
	"grense/internal/server/wire"
	"grense/internal/store"
	"grense/internal/style"
	"grense/internal/tile"
)

// Marks returns marks of features; their links have the parameter lang of the request.
func (c Drawing) Marks(coll *store.Collection, outs []*draw.Outline, near bool) []draw.Mark {
	tail := ""
	if l := server.First(c.Values["lang"]); l != "" {
		tail = "?lang=" + wire.QueryEscape(l)
	}
	start := page.LocalPath(c.Base()) + "/collections/" + coll.ID + "/items/"
	towns := CRS(coll) == crs.UTM33 && style.Dimensions[coll.Geometry.Type] == 2
	var out []draw.Mark
	for _, o := range outs {
		if o != nil && !o.Empty() {
			out = append(out, draw.Mark{Outline: o, Foreign: server.Foreign(o.Lang, c.Lang), Href: start +
				wire.PathEscape(o.ID) + tail, Near: near, First: towns && slices.Contains(norwegianTowns, o.Title)})
		}
	}
	return out
}

// ItemsMap draws the features of a page; "" without an outliner.
func (c Drawing) ItemsMap(o *Outliner, rows []store.Row) (template.HTML, error) {
	if o == nil {
		return "", nil
	}
	rows = rows[:min(len(rows), mostFeatures)]
	plane := CRS(c.Collection)
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
	others := len(rows) < c.Collection.Count || server.IsVersioned(c.Collection)
	if err == nil && others && server.Country(c.Catalog) == c.Collection {
		ground, err = c.groundOf(c.Collection, at, len(rows))
		others = ground != nil
	}
	if err != nil {
		return "", err
	}
	p := draw.Picture{Lang: c.Lang, Degrees: plane.Geographic(), Marks: append(ground, here...), Labels: true,
		Lookup: true, Bare: ground == nil && others}
	if p.Text = c.Text("map.items", c.Collection.TitleIn(c.Lang), len(here)); len(here) == 1 {
		p.Text = c.Text("map.items-one", c.Collection.TitleIn(c.Lang))
	}
	return p.SVG(), nil
}

// ItemMap draws a feature and, in grey, its neighbours.
func (c Drawing) ItemMap(o *Outliner, row store.Row, b orb.Bound, title string) (template.HTML, error) {
	plane := CRS(c.Collection)
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
	if !here[0].HasArea() { // points and lines need a background
		if ground, err = c.Ground(at); err != nil {
			return "", err
		}
	}
	around, err := c.surroundings(at, row.ID, b)
	if err != nil {
		return "", err
	}
	here[0].Href = ""
	p := draw.Picture{Lang: c.Lang, Degrees: plane.Geographic(), Marks: slices.Concat(ground, around, here),
		Labels: true, Around: true, Text: c.Text("map.item", title)}
	return p.SVG(), nil
}

// Overview draws all features of a collection or, if it is large, its extent over the country. Visitors without a
// needed key see no features: only the extent over a grid of degrees on the page of the collection, and nothing
// elsewhere. If the store does not answer, the page has no map; then fleeting is set, and the page must not be
// cached.
func (c Drawing) Overview(coll *store.Collection, text string) (svg template.HTML, fleeting bool) {
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
	plane := CRS(coll)
	p := draw.Picture{Lang: c.Lang, Degrees: plane.Geographic(), Text: text, Labels: true}
	drawn := coll
	if coll.Count > server.CountryMost {
		box, err := crs.EnvelopeOf(*coll.Extent, crs.CRS84, plane)
		if err != nil {
			return "", false
		}
		p.Box = &box
		if drawn = server.Country(c.Catalog); drawn == nil || CRS(drawn) != plane {
			p.Marks, _ = c.Ground(c.ScaleOfAll(coll, plane))
			p.DegreeGrid = p.Marks == nil && p.Degrees // instead of an empty frame
			return p.SVG(), false
		}
	}
	marks, err := c.allMarks(drawn, c.ScaleOfAll(coll, plane))
	if err == nil && drawn == coll && style.Dimensions[coll.Geometry.Type] != 2 { // points and lines need a background
		var ground []draw.Mark
		ground, err = c.Ground(c.ScaleOfAll(coll, plane))
		marks = slices.Concat(ground, marks)
	}
	if err != nil {
		c.maps.Log.WarnContext(c.Request.Context(), "map left out", "request", c.ID, "collection", drawn.ID, "err",
			apikey.Redact(err.Error()))
		return "", true
	}
	for i := range marks {
		marks[i].Near = drawn != coll || marks[i].Near
	}
	p.Marks = marks
	return p.SVG(), c.Roughly
}

// SetMap draws the tiles of a set over the country, at the first level with several tiles; "" if the set does not
// cover the country. The map has neither names nor links, and no outlines if data need a key. For fleeting see
// Overview.
func (c Drawing) SetMap(set *tile.Set) (svg template.HTML, fleeting bool) {
	coll := server.Country(c.Catalog)
	if c.Format.F != "html" || coll == nil || coll.Extent == nil || !server.Covers(set.CRS, *coll.Extent) {
		return "", false
	}
	area, err := crs.EnvelopeOf(*coll.Extent, crs.CRS84, set.CRS)
	if err != nil {
		return "", false
	}
	var marks []draw.Mark
	if c.MayDraw() {
		if marks, err = c.allMarks(coll, c.ScaleOfAll(coll, set.CRS)); err != nil {
			c.maps.Log.WarnContext(c.Request.Context(), "map left out", "request", c.ID, "collection", coll.ID, "err",
				apikey.Redact(err.Error()))
			return "", true
		}
		area = draw.Bound(marks)
		for i := range marks {
			marks[i].Href = ""
		}
	}
	z, tiles := gridOver(set, area)
	p := draw.Picture{Lang: c.Lang, Degrees: set.CRS.Geographic(), Marks: marks, Tiles: tiles,
		Text: c.Text("map.tiles", z)}
	if marks == nil {
		p.Box = &area
	}
	return p.SVG(), c.Roughly
}

// gridOver returns the tiles that touch an area, at the first level whose tiles are smaller than half of it.
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
				out = append(out, draw.Tile{Bound: at(col, row), Name: strconv.Itoa(z) + "/" + strconv.Itoa(row) +
					"/" + strconv.Itoa(col)})
			}
		}
	}
	return z, out
}

// allMarks returns marks of all features of a collection that is small enough to be drawn whole.
func (c Drawing) allMarks(coll *store.Collection, at Scale) ([]draw.Mark, error) {
	o, err := c.Outliner(coll, at)
	if err != nil {
		return nil, err
	}
	return c.AllMarksBy(o, coll)
}

// AllMarksBy is allMarks with an outliner of the collection.
func (c Drawing) AllMarksBy(o *Outliner, coll *store.Collection) ([]draw.Mark, error) {
	rows, err := c.allRows(coll)
	if err != nil {
		return nil, err
	}
	outs, err := c.outlinesBy(o, rows)
	return c.Marks(coll, outs, false), err
}

// allRows returns the rows of a collection that is small enough to be drawn whole.
func (c Drawing) allRows(coll *store.Collection) ([]store.Row, error) {
	var page *store.Page
	err := c.Ask(func(ctx context.Context) (err error) {
		q := store.Query{Limit: server.CountryMost, Count: store.CountNone}
		page, err = c.maps.Store.Page(ctx, c.Current(coll, q))
		return err
	})
	if err != nil {
		return nil, err
	}
	return page.Rows, nil
}
