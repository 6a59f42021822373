package features

import (
	"context"
	"errors"
	"net/http"

	"grense/api/ogcapi"
	"grense/internal/server"
	"grense/internal/server/links"
	"grense/internal/server/media"
	"grense/internal/server/selection"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// item writes one feature (OGC 17-069r4, 7.17), with the ids of its neighbours in the order of ids.
func (s *surface) item(c *call, w http.ResponseWriter) error {
	if err := c.checkPrecision(); err != nil {
		return err
	}
	id := c.PathParam("featureId")
	at, v, err := c.soughtItem(id)
	if err != nil {
		return err
	}
	if err := c.simplify(); err != nil {
		return err
	}
	links := c.itemLinks(id, at.prev, at.next)
	if v != nil {
		links = append(links, c.versionLinks(v)...)
	}
	links = append(links, c.versionsLink(id)...)
	c.DataFields(w, append(links, selection.ProfileLinks(c.Call)...))
	told := 0
	if v != nil {
		c.versionHeaders(w.Header(), v)
		told = len(v.all)
	}
	selection.WriteLosses(c.Call, w.Header())
	if c.Format.F == "json" {
		server.SetHeader(w, "Content-Crs", contentCRS(c.Output()))
	}
	if c.Format.F != "html" {
		tag := c.pageTag(&store.Page{Rows: []store.Row{at.row}, Next: store.Cursor(at.next),
			Prev: store.Cursor(at.prev), Matched: told})
		if same, err := server.Unchanged(w, c.Request, tag); same || err != nil {
			return err
		}
	}
	switch c.Format.F {
	case "html":
		return c.itemPage(w, at)
	case "jsonld":
		return c.itemLD(w, at.row)
	}
	return c.itemJSON(w, at, links)
}

// soughtItem finds the feature of an address and its neighbours; for a collection with versions, it finds the
// version.
func (c *call) soughtItem(id string) (at neighbours, v *versionAsked, err error) {
	if server.IsVersioned(c.Collection) {
		if v, err = c.soughtVersion(id); err != nil {
			return at, nil, err
		}
		c.Output().VersionIDs, c.Began = v.byID, v.moment
		at.row, at.id, at.of = v.all[v.n].row, id, v.versionList.id
		if !v.byID {
			at.prev, at.next = v.prev, v.next
			return at, v, nil
		}
		err = c.Ask(func(ctx context.Context) (err error) {
			at.prev, at.next, err = c.beside(ctx, v)
			return err
		})
		return at, v, err
	}
	err = c.Ask(func(ctx context.Context) (err error) {
		at.row, at.prev, at.next, err = c.s.Store.Neighbours(ctx, c.Collection.ID, id)
		return err
	})
	if errors.Is(err, store.ErrNotFound) {
		err = c.Missing(id)
	}
	at.id = at.row.ID
	return at, nil, err
}

// neighbours are a feature and the ids before and after it in the order of ids; "" for none.
type neighbours struct {
	row            store.Row
	id, prev, next string
	of             string // the id of the feature, if id is that of a version
}

// itemJSON writes a feature as GeoJSON. The members prev and next stay at the ends, with the id of the feature
// itself, since web clients always draw both buttons; the links prev and next do not.
func (c *call) itemJSON(w http.ResponseWriter, at neighbours, links []ogcapi.Link) error {
	out := server.NewSink(c.Call, w)
	frags, err := c.fragments([]store.Row{at.row}, out.Gzip)
	if err != nil {
		return err
	}
	if out.Buf, err = c.appendRoot(append(out.Buf, '{')); err != nil {
		return err
	}
	out.Add(frags[0])
	out.Buf = wire.AppendText(append(out.Buf, `,"prev":`...), orSelf(at.prev, at.id))
	out.Buf = wire.AppendText(append(out.Buf, `,"next":`...), orSelf(at.next, at.id))
	out.Buf = append(wire.AppendLinks(append(out.Buf, `,"links":`...), selection.WithProfile(c.Call, links)), '}')
	return out.Finish()
}

// itemLD writes a feature as JSON-LD.
func (c *call) itemLD(w http.ResponseWriter, row store.Row) error {
	doc, err := c.itemLinked(row)
	if err != nil {
		return err
	}
	return c.WriteOnce(w, doc)
}

// itemLinked returns a feature as JSON-LD.
func (c *call) itemLinked(row store.Row) (doc []byte, err error) {
	enc, err := c.encoder(c.Output().SkipGeometry)
	if err != nil {
		return nil, err
	}
	err = c.one(row, enc.Want(), func(f *store.Feature) (err error) {
		doc, err = enc.AppendJSONLD(nil, f, c.Item(c.Collection.ID, f.Public()))
		return err
	})
	return doc, err
}

// one fetches one feature in the revision of row.
func (c *call) one(row store.Row, want store.Want, fn func(*store.Feature) error) error {
	return c.Ask(func(ctx context.Context) error {
		return c.fetch(ctx, []store.Row{row}, want, fn)
	})
}

func orSelf(id, self string) string {
	if id == "" {
		return self
	}
	return id
}

// itemLinks returns the links of a feature, in the order that clients expect.
func (c *call) itemLinks(id, prev, next string) []ogcapi.Link {
	items := "/collections/" + c.Collection.ID + "/items/"
	list := append(make([]ogcapi.Link, 0, 2+len(c.Route.Formats)+links.MoreLinks),
		ogcapi.Link{Rel: "root", Type: "application/json", Title: "The landing page of this server as JSON",
			Href: c.Base() + "?f=json"},
		ogcapi.Link{Rel: "root", Type: "text/html", Title: "The landing page of this server as HTML", Href: c.Base() +
			"?f=html", Hreflang: links.Hreflang})
	list = c.AppendSelfLinks(list, items+wire.PathEscape(id), c.Others())
	for i := range list {
		if list[i].Type == media.GeoJSON.Media {
			list[i].Title = links.FormTitles["json"]
		}
	}
	list = append(list, ogcapi.Link{Rel: "collection", Type: "application/json", Title: c.Collection.TitleIn(c.Lang),
		Href: c.Base() + "/collections/" + c.Collection.ID})
	if prev != "" {
		list = append(list, ogcapi.Link{Rel: "prev", Type: "application/json", Href: c.Base() + items +
			wire.PathEscape(prev) + c.datedQuery()})
	}
	if next != "" {
		list = append(list, ogcapi.Link{Rel: "next", Type: "application/json", Href: c.Base() + items +
			wire.PathEscape(next) + c.datedQuery()})
	}
	return list
}
