package server

import (
	"github.com/paulmach/orb"

	"grense/api/ogcapi"
	"grense/internal/draw"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// previewDoc describes the picture for programs.
type previewDoc struct {
	Title       string        `json:"title"`
	Description string        `json:"description"`
	Links       []ogcapi.Link `json:"links"`
}

// preview is the picture of the service for previews of links (The Open Graph protocol, og:image): the area that it covers over a
// grid of degrees, with the outlines of the first collection of areas where data need no key.
func (s *Kit) preview(c *Call) (*Answer, error) {
	svc := &s.Config.Service
	doc := previewDoc{svc.Title.In(c.Lang), svc.Description.In(c.Lang), c.SelfLinks("/preview.png")}
	a := &Answer{JSON: doc, Links: doc.Links}
	if c.Format.F != asPNG.F {
		return a, nil
	}
	data, fleeting, err := c.previewPNG()
	if err != nil {
		return nil, err
	}
	a.Raw, a.Fleeting = map[string][]byte{asPNG.F: data}, fleeting
	return a, nil
}

// previewPNG is the picture. It is painted once for each catalog, and again when there are levels whose borders neighbours share, since that takes longer than
// most answers, and anyone may ask. It is fleeting until then, and when the outlines were out of reach.
func (c *Call) previewPNG() (data []byte, fleeting bool, err error) {
	v := c.previewView()
	o, err := c.previewOutliner(v)
	key := c.Catalog.Version
	if err == nil && o != nil {
		key += " " + o.key.plane
	}
	if data, ok := c.s.previews.Get(key); ok && err == nil {
		return data, c.roughly, nil
	}
	var marks []draw.Mark
	if err == nil && o != nil {
		marks, err = c.allMarksBy(o, v.whole)
	}
	if err != nil {
		c.s.Log.WarnContext(c.Request.Context(), "preview without outlines", "request", c.ID, "collection", v.whole.ID, "err", redact(err.Error()))
		fleeting, marks = true, nil
	}
	if data, err = draw.PreviewPNG(v.extent, v.plane, marks); err != nil {
		return nil, false, err
	}
	if !fleeting {
		c.s.previews.Put(key, data, int64(len(data)+len(key)))
	}
	return data, fleeting || c.roughly, nil
}

// A previewView is what the picture shows.
type previewView struct {
	whole  *store.Collection // nil: nothing
	extent *orb.Bound        // nil where it is not known
	plane  crs.ID
}

func (c *Call) previewView() (v previewView) {
	v.whole = c.country()
	for _, coll := range c.Catalog.Collections {
		if v.whole == nil && coll.Public && coll.Extent != nil {
			v.whole = coll
		}
	}
	if v.whole != nil && v.whole.Extent != nil {
		v.extent, v.plane = v.whole.Extent, mapCRS(v.whole)
	}
	return v
}

// previewOutliner makes the outlines of the picture; nil where it shows an extent alone.
func (c *Call) previewOutliner(v previewView) (*outliner, error) {
	if v.extent == nil || c.s.Config.Auth != "open" || v.whole != c.country() {
		return nil, nil
	}
	at := mapScale{plane: v.plane}
	if area, err := crs.EnvelopeOf(*v.extent, crs.CRS84, v.plane); err == nil {
		at.unit = draw.PreviewUnit(area, v.plane.Geographic())
	}
	return c.outliner(v.whole, at)
}
