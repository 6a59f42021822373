package server

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/fnv"
	"net/http"
	"strconv"
	"strings"
	"time"

	"grense/api/ogcapi"
	"grense/internal/feature"
	"grense/internal/store"
)

// tries is how often a page is read when features vanish between the two questions for it.
const tries = 3

// items writes a page of features (OGC 17-069r4, 7.15, 7.16).
func (s *Server) items(c *call, w http.ResponseWriter) error {
	var err error
	for range tries {
		if err = s.itemsOnce(c, w); !errors.Is(err, store.ErrNotFound) || w.(*response).status != 0 {
			return err
		}
	}
	return err
}

func (s *Server) itemsOnce(c *call, w http.ResponseWriter) error {
	var p *store.Page
	if c.hits {
		c.query.Limit = 0
	}
	err := c.ask(func(ctx context.Context) (err error) {
		p, err = s.store.Page(ctx, c.query)
		return err
	})
	if err != nil {
		return err
	}
	links := c.itemsLinks(p)
	h := w.Header()
	h.Set("Content-Type", c.rep.contentType())
	h.Set("Content-Language", languageTag(c.lang))
	c.dataHeaders(h)
	h.Set("Link", linkHeader(links))
	h.Set("OGC-NumberMatched", strconv.Itoa(p.Matched))
	h.Set("OGC-NumberReturned", strconv.Itoa(len(p.Rows)))
	if c.rep.F == "json" {
		h.Set("Content-Crs", "<"+c.crsURI+">")
	}
	if c.rep.F == "csv" {
		h.Set("Content-Disposition", `attachment; filename="`+c.coll.ID+`.csv"`)
	}
	if c.rep.F != "html" && c.unchanged(h, c.pageTag(p)) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	if c.r.Method == http.MethodHead {
		w.WriteHeader(http.StatusOK)
		return nil
	}
	switch c.rep.F {
	case "html":
		return c.itemsPage(w, p, links)
	case "csv":
		return c.itemsCSV(w, p)
	case "jsonld":
		return c.itemsLD(w, p)
	}
	return c.itemsJSON(w, p, links)
}

// dataHeaders are those of every answer with data.
func (c *call) dataHeaders(h http.Header) {
	if c.s.cfg.Auth == "open" {
		h.Set("Vary", varyOpen)
		h.Set("Cache-Control", "no-cache")
		return
	}
	h.Set("Vary", varyKeyed)
	h.Set("Cache-Control", "private, no-cache")
}

// pageTag is the weak validator of a page: it changes with the features, their order, the count and the request.
func (c *call) pageTag(p *store.Page) string {
	h := fnv.New128a()
	var n [8]byte
	put := func(s string) { h.Write([]byte(s)); h.Write([]byte{0}) }
	put(c.base())
	put(c.r.URL.Path)
	put(c.canonical())
	put(c.rep.F)
	put(c.lang)
	put(string(p.Next))
	put(string(p.Prev))
	put(strconv.Itoa(p.Matched))
	for _, r := range p.Rows {
		put(r.ID)
		binary.LittleEndian.PutUint64(n[:], r.Rev)
		h.Write(n[:])
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// unchanged sets the weak validator and reports whether the client has that state already.
func (c *call) unchanged(h http.Header, tag string) bool {
	etag := `W/"` + tag + `"`
	h.Set("ETag", etag)
	return matches(c.r.Header.Values("If-None-Match"), etag)
}

// itemsLinks are the links of a page of features, in the order that clients know.
func (c *call) itemsLinks(p *store.Page) []ogcapi.Link {
	path := "/collections/" + c.coll.ID + "/items"
	links := c.selfLinks(path)
	page := func(rel, title string, cur store.Cursor) {
		if cur != "" {
			links = append(links, ogcapi.Link{Rel: rel, Type: c.rep.Media, Title: title, Href: c.pageHref(path, cur)})
		}
	}
	page("prev", "Items (prev)", p.Prev)
	page("next", "Items (next)", p.Next)
	return append(links, ogcapi.Link{Rel: "collection", Type: "application/json", Title: c.titleOf(c.coll), Href: c.base() + "/collections/" + c.coll.ID})
}

// pageHref replays the request from another place.
func (c *call) pageHref(path string, cur store.Cursor) string {
	kv := append([]string{"cursor=" + string(cur)}, c.replay("f", "offset", "cursor")...)
	if f := first(c.values["f"]); f != "" {
		kv = append([]string{"f=" + queryEscape(f)}, kv...)
	}
	return c.base() + path + "?" + strings.Join(kv, "&")
}

// itemsJSON writes GeoJSON (RFC 7946): members in the order type, features, counts, links, timeStamp.
func (c *call) itemsJSON(w http.ResponseWriter, p *store.Page, links []ogcapi.Link) error {
	enc, err := c.encoder(c.skipGeometry)
	if err != nil {
		return err
	}
	out := newSink(c, w)
	out.buf = append(out.buf, `{"type":"FeatureCollection","features":[`...)
	for rows := p.Rows; len(rows) > 0; {
		n := min(len(rows), batch)
		frags, err := c.fragments(rows[:n], enc, out.gzip)
		if err != nil {
			return err
		}
		for i, f := range frags {
			if i > 0 || len(rows) < len(p.Rows) {
				out.buf = append(out.buf, ',')
			}
			out.add(f)
			if err := out.spill(); err != nil {
				return err
			}
		}
		rows = rows[n:]
	}
	out.buf = append(out.buf, `],"numberReturned":`...)
	out.buf = strconv.AppendInt(out.buf, int64(len(p.Rows)), 10)
	out.buf = append(out.buf, `,"numberMatched":`...)
	out.buf = strconv.AppendInt(out.buf, int64(p.Matched), 10)
	out.buf = append(out.buf, `,"links":`...)
	tail, err := marshal(links)
	if err != nil {
		return err
	}
	out.buf = append(out.buf, tail...)
	out.buf = append(out.buf, `,"timeStamp":"`...)
	out.buf = time.Now().UTC().AppendFormat(out.buf, "2006-01-02T15:04:05.000000Z")
	out.buf = append(out.buf, `"}`...)
	return out.finish()
}

// encoder writes features as the request wants them.
func (c *call) encoder(skipGeometry bool) (*feature.Encoder, error) {
	return feature.NewEncoder(c.coll, feature.Options{CRS: c.crs, Properties: c.properties, SkipGeometry: skipGeometry,
		Vocabulary: c.base() + "/collections/" + c.coll.ID + "/schema#"})
}

// parts names what of a feature is wanted; 0 when everything is.
func (c *call) parts() uint64 {
	if c.properties == nil && !c.skipGeometry {
		return 0
	}
	h := fnv.New64a()
	if c.skipGeometry {
		h.Write([]byte{1})
	}
	for _, p := range c.properties {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	if c.properties == nil {
		h.Write([]byte{2})
	}
	return h.Sum64() | 1
}

// batch is how many features are read from the store at once.
const batch = 200

// fragments returns the encoded features of rows, in order: from the cache, the others from the store. gz says that the client takes
// gzip: on a page of large features those found in the cache then have their deflated form.
func (c *call) fragments(rows []store.Row, enc *feature.Encoder, gz bool) ([]*feature.Fragment, error) {
	frags := make([]*feature.Fragment, len(rows))
	var missing []string
	var at []int
	key := feature.Key{Collection: c.coll.ID, CRS: c.crs, Properties: c.parts(), Kind: feature.KindGeoJSON}
	for i, r := range rows {
		key.ID, key.Rev = r.ID, r.Rev
		f, ok := c.s.fragments.Get(key)
		if !ok {
			missing = append(missing, r.ID)
			at = append(at, i)
			continue
		}
		frags[i] = f
	}
	if gz {
		c.s.fragments.Deflate(frags)
	}
	if len(missing) == 0 {
		return frags, nil
	}
	err := c.ask(func(ctx context.Context) error {
		n := 0
		var buf []byte
		return c.s.store.Fetch(ctx, c.coll.ID, missing, enc.Want(), func(f *store.Feature) error {
			var err error
			if buf, err = enc.AppendGeoJSON(buf[:0], f); err != nil {
				return err
			}
			b := append(make([]byte, 0, len(buf)), buf...)
			i := at[n]
			if n++; f.Rev != rows[i].Rev {
				frags[i] = feature.NewFragment(b)
				return nil
			}
			key := key
			key.ID, key.Rev = rows[i].ID, rows[i].Rev
			frags[i] = c.s.fragments.Put(key, b)
			return nil
		})
	})
	return frags, err
}

// item writes one feature (OGC 17-069r4, 7.17), with the ids of its neighbours in the order by id.
func (s *Server) item(c *call, w http.ResponseWriter) error {
	id := c.pathParam("featureId")
	var prev, next string
	var doc []byte
	var view *itemView
	var rev uint64
	enc, err := c.encoder(c.skipGeometry)
	if err != nil {
		return err
	}
	want := enc.Want()
	if c.rep.F == "html" {
		want = store.Want{}
	}
	err = c.ask(func(ctx context.Context) error {
		err := s.store.Fetch(ctx, c.coll.ID, []string{id}, want, func(f *store.Feature) (err error) {
			rev = f.Rev
			switch c.rep.F {
			case "html":
				view, err = c.itemView(f)
			case "jsonld":
				doc, err = enc.AppendJSONLD(nil, f, c.base()+"/collections/"+c.coll.ID+"/items/"+pathEscape(f.ID))
			default:
				doc, err = enc.AppendMembers(nil, f)
			}
			return err
		})
		if err != nil {
			return err
		}
		for _, back := range []bool{true, false} {
			p, err := s.store.Page(ctx, store.Query{Collection: c.coll.ID, Limit: 1, Cursor: store.CursorAt(id, back), Count: store.CountNone})
			if err != nil {
				return err
			}
			if len(p.Rows) == 1 {
				if back {
					prev = p.Rows[0].ID
				} else {
					next = p.Rows[0].ID
				}
			}
		}
		return nil
	})
	if errors.Is(err, store.ErrNotFound) {
		return notFoundFeature(c, id)
	}
	if err != nil {
		return err
	}
	links := c.itemLinks(id, prev, next)
	h := w.Header()
	h.Set("Content-Type", c.rep.contentType())
	h.Set("Content-Language", languageTag(c.lang))
	c.dataHeaders(h)
	h.Set("Link", linkHeader(links))
	if c.rep.F == "json" {
		h.Set("Content-Crs", "<"+c.crsURI+">")
	}
	switch c.rep.F {
	case "html":
		view.Prev, view.Next, view.Links = prev, next, links
		view.PrevHref, view.NextHref = c.itemHref(prev), c.itemHref(next)
		doc, err = c.s.pages.render(c, &page{Name: "item", Title: view.Title, Crumbs: c.crumbs("items"), Data: view})
	case "json":
		doc, err = c.itemJSON(doc, orSelf(prev, id), orSelf(next, id), links)
	}
	if err != nil {
		return err
	}
	if c.rep.F != "html" {
		p := &store.Page{Rows: []store.Row{{ID: id, Rev: rev}}, Next: store.Cursor(next), Prev: store.Cursor(prev)}
		if c.unchanged(h, c.pageTag(p)) {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	return c.writeOnce(w, doc)
}

// itemJSON wraps the members of a feature. The members prev and next stay at the ends, with the feature's own id, since front ends
// draw both buttons always; the links of those relations do not.
func (c *call) itemJSON(members []byte, prev, next string, links []ogcapi.Link) ([]byte, error) {
	tail, err := marshal(struct {
		Prev  string        `json:"prev"`
		Next  string        `json:"next"`
		Links []ogcapi.Link `json:"links"`
	}{prev, next, links})
	if err != nil {
		return nil, err
	}
	doc := make([]byte, 0, len(members)+len(tail)+2)
	doc = append(doc, '{')
	doc = append(doc, members...)
	doc = append(doc, ',')
	return append(doc, tail[1:]...), nil
}

func orSelf(id, self string) string {
	if id == "" {
		return self
	}
	return id
}

// itemLinks are the links of a feature, in the order that clients know.
func (c *call) itemLinks(id, prev, next string) []ogcapi.Link {
	items := "/collections/" + c.coll.ID + "/items/"
	links := []ogcapi.Link{
		{Rel: "root", Type: "application/json", Title: "The landing page of this server as JSON", Href: c.base() + "?f=json"},
		{Rel: "root", Type: "text/html", Title: "The landing page of this server as HTML", Href: c.base() + "?f=html", Hreflang: hreflang},
	}
	for _, l := range c.selfLinks(items + pathEscape(id)) {
		if l.Type == asGeoJSON.Media {
			l.Title = formTitles["json"]
		}
		links = append(links, l)
	}
	links = append(links, ogcapi.Link{Rel: "collection", Type: "application/json", Title: c.titleOf(c.coll), Href: c.base() + "/collections/" + c.coll.ID})
	if prev != "" {
		links = append(links, ogcapi.Link{Rel: "prev", Type: "application/json", Href: c.base() + items + pathEscape(prev)})
	}
	if next != "" {
		links = append(links, ogcapi.Link{Rel: "next", Type: "application/json", Href: c.base() + items + pathEscape(next)})
	}
	return links
}
