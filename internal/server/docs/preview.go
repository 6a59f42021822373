package docs

import (
	"github.com/paulmach/orb"

	"grense/api/ogcapi"
	"grense/internal/apikey"
	"grense/internal/draw"
	"grense/internal/geo/crs"
	"grense/internal/server"
	"grense/internal/server/drawing"
	"grense/internal/server/media"
	"grense/internal/store"
)

// previewDoc is the JSON representation of the preview image.
type previewDoc struct {
	Title       string        `json:"title"`
	Description string        `json:"description"`
	Links       []ogcapi.Link `json:"links"`
}

// preview returns the image for link previews (Open Graph, og:image): the extent of the data over a grid of degrees. If
// data need no key, it also shows the areas of the country.
func (s *surface) preview(c *call) (*server.Answer, error) {
	svc := &s.Config.Service
	doc := previewDoc{svc.Title.In(c.Lang), svc.Description.In(c.Lang), c.SelfLinks("/preview.png")}
	a := &server.Answer{JSON: doc, Links: doc.Links}
	if c.Format.F != media.PNG.F {
		return a, nil
	}
	data, fleeting, err := c.previewPNG()
	if err != nil {
		return nil, err
	}
	a.Raw, a.Fleeting = map[string][]byte{media.PNG.F: data}, fleeting
	return a, nil
}

// previewPNG returns the image, from the cache if possible, since anyone may request it and it takes long. It is drawn
// again for a new catalog, and when outlines with shared borders are ready. fleeting means that clients should not
// cache it yet.
func (c *call) previewPNG() (data []byte, fleeting bool, err error) {
	v := c.previewView()
	o, err := c.previewOutliner(v)
	key := c.Catalog.Version
	if err == nil && o != nil {
		key += " " + o.Plane()
	}
	if data, ok := c.s.previews.Get(key); ok && err == nil {
		return data, c.Roughly, nil
	}
	var marks []draw.Mark
	if err == nil && o != nil {
		marks, err = c.AllMarksBy(o, v.whole)
	}
	if err != nil {
		c.s.Log.WarnContext(c.Request.Context(), "preview without outlines", "request", c.ID, "collection",
			v.whole.ID, "err", apikey.Redact(err.Error()))
		fleeting, marks = true, nil
	}
	if data, err = draw.PreviewPNG(v.extent, v.plane, marks); err != nil {
		return nil, false, err
	}
	if !fleeting {
		c.s.previews.Put(key, data, int64(len(data)+len(key)))
	}
	return data, fleeting || c.Roughly, nil
}

// previewView describes the image.
type previewView struct {
	whole  *store.Collection // nil: there is no collection to show
	extent *orb.Bound        // nil if unknown
	plane  crs.ID
}

func (c *call) previewView() (v previewView) {
	v.whole = server.Country(c.Catalog)
	for _, coll := range c.Catalog.Collections {
		if v.whole == nil && coll.Public && coll.Extent != nil {
			v.whole = coll
		}
	}
	if v.whole != nil && v.whole.Extent != nil {
		v.extent, v.plane = v.whole.Extent, drawing.CRS(v.whole)
	}
	return v
}

// previewOutliner returns the outliner of the image; nil if it shows an extent only.
func (c *call) previewOutliner(v previewView) (*drawing.Outliner, error) {
	if v.extent == nil || c.s.Config.Auth != "open" || v.whole != server.Country(c.Catalog) {
		return nil, nil
	}
	at := drawing.Scale{Plane: v.plane}
	if area, err := crs.EnvelopeOf(*v.extent, crs.CRS84, v.plane); err == nil {
		at.Unit = draw.PreviewUnit(area, v.plane.Geographic())
	}
	return c.Outliner(v.whole, at)
}
