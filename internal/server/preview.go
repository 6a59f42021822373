package server

import (
	"github.com/paulmach/orb"

	"grense/api/ogcapi"
	"grense/internal/crs"
	"grense/internal/draw"
)

// previewDoc describes the picture for programs.
type previewDoc struct {
	Title       string        `json:"title"`
	Description string        `json:"description"`
	Links       []ogcapi.Link `json:"links"`
}

// preview is the picture of the service for previews of links (The Open Graph protocol, og:image): the area that it covers over a
// grid of degrees, with the outlines of the first collection of areas where data need no key.
func (s *Server) preview(c *call) (*answer, error) {
	svc := &s.cfg.Service
	doc := previewDoc{svc.Title.In(c.lang), svc.Description.In(c.lang), c.selfLinks("/preview.png")}
	a := &answer{JSON: doc, Links: doc.Links}
	if c.rep.F != asPNG.F {
		return a, nil
	}
	data, fleeting, err := c.previewPNG()
	if err != nil {
		return nil, err
	}
	a.Raw, a.Fleeting = map[string][]byte{asPNG.F: data}, fleeting
	return a, nil
}

// previewPNG is the picture. It is painted once for each catalog, since that takes longer than most answers, and anyone may ask. It is
// fleeting when the outlines were out of reach.
func (c *call) previewPNG() (data []byte, fleeting bool, err error) {
	if data, ok := c.s.previews.Get(c.cat.Version); ok {
		return data, false, nil
	}
	whole := c.country()
	if whole == nil {
		for _, coll := range c.cat.Collections {
			if coll.Public && coll.Extent != nil {
				whole = coll
				break
			}
		}
	}
	var extent *orb.Bound
	var plane crs.ID
	var marks []draw.Mark
	if whole != nil && whole.Extent != nil {
		extent, plane = whole.Extent, mapCRS(whole)
		if c.s.cfg.Auth == "open" && whole == c.country() {
			if marks, err = c.allMarks(whole, mapScale{plane: plane}); err != nil {
				c.s.log.WarnContext(c.r.Context(), "preview without outlines", "request", c.id, "collection", whole.ID, "err", redact(err.Error()))
				fleeting, marks = true, nil
			}
		}
	}
	if data, err = draw.PreviewPNG(extent, plane, marks); err != nil {
		return nil, false, err
	}
	if !fleeting {
		c.s.previews.Put(c.cat.Version, data, int64(len(data)+len(c.cat.Version)))
	}
	return data, fleeting, nil
}
