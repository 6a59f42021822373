package features

import (
	"context"
	"encoding/binary"
	"net/http"
	"strconv"
	"strings"
	"time"

	"grense/api/ogcapi"
	"grense/internal/geo/crs"
	"grense/internal/server"
	"grense/internal/server/limit"
	"grense/internal/server/page"
	"grense/internal/server/selection"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// mostOnPage limits the features of one HTML page, so that it stays below 100 KB compressed. A response may contain
// fewer features than requested (OGC 17-069r4, 7.15.2).
const mostOnPage = 250

// items writes a page of features (OGC 17-069r4, 7.15, 7.16).
func (s *surface) items(c *call, w http.ResponseWriter) error {
	if err := c.checkPrecision(); err != nil {
		return err
	}
	q := &c.Items().Query
	q.Count = store.CountCheap
	if c.Items().Hits {
		c.Allow(max(c.s.Config.Limits.Query, c.s.Config.Limits.Count))
		q.Limit, q.Count = 0, store.CountExact
	}
	if c.Format.F == "html" {
		q.Limit = min(q.Limit, mostOnPage)
		for _, sought := range []func() (string, bool){c.soughtPoint, c.ungrouped} {
			if to, ok := sought(); ok {
				c.seeOther(w, to)
				return nil
			}
		}
	}
	if q.Limit >= limit.LargeAnswer {
		if err := c.Large(c.Request.Context()); err != nil {
			return err
		}
	}
	defer c.letGo()
	p, err := c.foundPage()
	if err == nil {
		err = c.simplify()
	}
	if err != nil {
		return err
	}
	links, h := c.itemsLinks(p), w.Header()
	c.DataFields(w, append(links, selection.ProfileLinks(c.Call)...))
	if p.Matched >= 0 {
		server.SetHeader(w, "Ogc-Numbermatched", strconv.Itoa(p.Matched))
	}
	server.SetHeader(w, "Ogc-Numberreturned", strconv.Itoa(len(p.Rows)))
	file := c.pageFormat()
	selection.WriteLosses(c.Call, h, c.losses(file)...)
	switch {
	case file != nil:
		c.fileHeaders(h, file)
	case c.Format.F == "json":
		server.SetHeader(w, "Content-Crs", contentCRS(c.Output()))
	}
	if c.Format.F != "html" {
		if same, err := server.Unchanged(w, c.Request, c.pageTag(p)); same || err != nil {
			return err
		}
	}
	switch {
	case file != nil:
		return c.itemsFile(w, p, file)
	case c.Format.F == "html":
		return c.itemsPage(w, p)
	case c.Format.F == "jsonld":
		return c.itemsLD(w, p)
	}
	return c.itemsJSON(w, p, links)
}

// foundPage queries the page of the call.
func (c *call) foundPage() (p *store.Page, err error) {
	q := c.Items().Query
	err = c.Ask(func(ctx context.Context) (err error) {
		p, err = c.page(ctx, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.s.Cursors.Sign(p, c.Collection.ID, c.Values), nil
}

// seeOther redirects to an address of this mount, without the host, which may be another name of this server.
func (c *call) seeOther(w http.ResponseWriter, to string) {
	w.Header().Set("Location", page.LocalPath(c.Base())+strings.TrimPrefix(to, c.Base()))
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
}

// contentCRS returns the value of Content-Crs.
func contentCRS(p *selection.OutputParams) string {
	if p.CrsURI == crs84URI {
		return inCRS84
	}
	return "<" + p.CrsURI + ">"
}

var (
	crs84URI = crs.CRS84.URI()
	inCRS84  = "<" + crs84URI + ">"
)

// pageTag returns the weak validator of a page: it changes with the features, their order, the count and the request.
func (c *call) pageTag(p *store.Page) string {
	b := wire.TakeBuffer()
	put := func(s string) { b = append(append(b, s...), 0) }
	put(c.Base())
	put(c.Request.URL.Path)
	put(c.Canonical())
	put(c.Format.F)
	put(c.Lang)
	put(string(p.Next))
	put(string(p.Prev))
	put(strconv.Itoa(p.Matched))
	if c.simple != nil {
		put(c.simple.Rev())
	}
	for _, r := range p.Rows {
		put(r.ID)
		b = binary.LittleEndian.AppendUint64(b, r.Rev)
	}
	return wire.Digest(b)
}

// itemsJSON writes GeoJSON (RFC 7946), with the members in the order type, features, counts, links, timeStamp.
func (c *call) itemsJSON(w http.ResponseWriter, p *store.Page, links []ogcapi.Link) error {
	out := server.NewSink(c.Call, w)
	var err error
	if out.Buf, err = c.appendRoot(append(out.Buf, `{"type":"FeatureCollection",`...)); err != nil {
		return err
	}
	out.Buf = append(out.Buf, `"features":[`...)
	if len(p.Rows) > 0 {
		out.Buf = append(out.Buf, '{')
	}
	for rows := p.Rows; len(rows) > 0; {
		frags, err := c.fragments(rows[:nextBatch(len(rows), len(p.Rows))], out.Gzip)
		if err != nil {
			return err
		}
		n := len(frags)
		for i, f := range frags {
			if i > 0 || len(rows) < len(p.Rows) {
				out.Buf = append(out.Buf, "},{"...)
			}
			out.Add(f)
			if err := out.SpillAt(len(p.Rows)-len(rows)+i+1, len(p.Rows)); err != nil {
				return err
			}
		}
		rows = rows[n:]
	}
	c.letGo()
	if len(p.Rows) > 0 {
		out.Buf = append(out.Buf, '}')
	}
	out.Buf = append(out.Buf, `],"numberReturned":`...)
	out.Buf = strconv.AppendInt(out.Buf, int64(len(p.Rows)), 10)
	if p.Matched >= 0 { // OGC 17-069r4, 7.16.5: may be left out
		out.Buf = append(out.Buf, `,"numberMatched":`...)
		out.Buf = strconv.AppendInt(out.Buf, int64(p.Matched), 10)
	}
	out.Buf = append(out.Buf, `,"links":`...)
	out.Buf = append(wire.AppendLinks(out.Buf, selection.WithProfile(c.Call, links)), `,"timeStamp":"`...)
	out.Ends()
	out.Buf = wire.AppendStamp(out.Buf, time.Now())
	return out.Finish()
}

// appendCRS appends the member crs if the system is projected. RFC 7946 has no such member, but GDAL and web maps
// read the one of the GeoJSON of 2008, and otherwise take metres for degrees.
func appendCRS(dst []byte, id crs.ID) []byte {
	if id.Geographic() {
		return dst
	}
	auth, code, _ := strings.Cut(id.String(), ":")
	return append(dst, `"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:`+auth+`::`+code+`"}},`...)
}
