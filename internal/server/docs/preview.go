package docs

import (
	"github.com/paulmach/orb"

	"grense/api/ogcapi"
	"grense/internal/draw"
	"grense/internal/geo/crs"
	"grense/internal/server"
	"grense/internal/store"
)

// previewDoc describes the picture for programs.
type previewDoc struct {
	Title       string        `json:"title"`
	Description string        `json:"description"`
	Links       []ogcapi.Link `json:"links"`
}

// preview is the picture of the service for previews of links (The Open Graph protocol, og:image): the area that it
// covers over a grid of degrees, with the outlines of the first collection of areas where data need no key.
func (s *surface) preview(c *call) (*server.Answer, error) {
	svc := &s.Config.Service
	doc := previewDoc{svc.Title.In(c.Lang), svc.Description.In(c.Lang), c.SelfLinks("/preview.png")}
	a := &server.Answer{JSON: doc, Links: doc.Links}
	if c.Format.F != server.AsPNG.F {
		return a, nil
	}
	data, fleeting, err := c.previewPNG()
	if err != nil {
		return nil, err
	}
	a.Raw, a.Fleeting = map[string][]byte{server.AsPNG.F: data}, fleeting
	return a, nil
}

// previewPNG is the picture. It is painted once for each catalog, and again when there are levels whose borders
// neighbours share, since that takes longer than most answers, and anyone may ask. It is fleeting until then, and
// when the outlines were out of reach.
func (c *call) previewPNG() (data []byte, fleeting bool, err error) {
	v := c.previewView()
	o, err := c.previewOutliner(v)
	key := c.Catalog.Version
	if err == nil && o != nil {
		key += " " + o.Key.Plane
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
			v.whole.ID, "err", server.Redacted(err.Error()))
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

// A previewView is what the picture shows.
type previewView struct {
	whole  *store.Collection // nil: nothing
	extent *orb.Bound        // nil where it is not known
	plane  crs.ID
}

func (c *call) previewView() (v previewView) {
	v.whole = c.Country()
	for _, coll := range c.Catalog.Collections {
		if v.whole == nil && coll.Public && coll.Extent != nil {
			v.whole = coll
		}
	}
	if v.whole != nil && v.whole.Extent != nil {
		v.extent, v.plane = v.whole.Extent, server.MapCRS(v.whole)
	}
	return v
}

// previewOutliner makes the outlines of the picture; nil where it shows an extent alone.
func (c *call) previewOutliner(v previewView) (*server.Outliner, error) {
	if v.extent == nil || c.s.Config.Auth != "open" || v.whole != c.Country() {
		return nil, nil
	}
	at := server.MapScale{Plane: v.plane}
	if area, err := crs.EnvelopeOf(*v.extent, crs.CRS84, v.plane); err == nil {
		at.Unit = draw.PreviewUnit(area, v.plane.Geographic())
	}
	return c.Outliner(v.whole, at)
}
