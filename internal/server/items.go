package server

import (
	"context"
	"crypto/sha256"
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
	"grense/internal/geo/crs"
	"grense/internal/server/limit"
	"grense/internal/server/page"
	"grense/internal/store"
)

// mostOnPage is how many features one page in HTML shows at most, so that it stays below 100 KB compressed. An answer may have fewer than were asked
// for (OGC 17-069r4, 7.15.2).
const mostOnPage = 250

// items writes a page of features (OGC 17-069r4, 7.15, 7.16).
func (s *Kit) items(c *Call, w http.ResponseWriter) error {
	if err := c.checkPrecision(); err != nil {
		return err
	}
	q := &c.Items().Query
	q.Count = store.CountCheap
	if c.Items().hits {
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
	if q.Limit >= LargeAnswer {
		if err := c.Large(); err != nil {
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
	c.DataFields(w, links)
	if p.Matched >= 0 {
		SetHeader(w, "Ogc-Numbermatched", strconv.Itoa(p.Matched))
	}
	SetHeader(w, "Ogc-Numberreturned", strconv.Itoa(len(p.Rows)))
	file := c.pageFormat()
	c.TellLosses(h, file)
	switch {
	case file != nil:
		c.fileHeaders(h, file)
	case c.Format.F == "json":
		SetHeader(w, "Content-Crs", c.output().contentCRS())
	}
	if c.Format.F != "html" {
		if same, err := c.Unchanged(w, c.pageTag(p)); same || err != nil {
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

// foundPage asks for the page of the call.
func (c *Call) foundPage() (p *store.Page, err error) {
	q := c.Items().Query
	err = c.Ask(func(ctx context.Context) (err error) {
		p, err = c.page(ctx, q)
		return err
	})
	if err != nil {
		return nil, err
	}
	return c.signCursors(p), nil
}

// seeOther leads to an address of this mount: without the host, which may be another name of this server.
func (c *Call) seeOther(w http.ResponseWriter, to string) {
	w.Header().Set("Location", page.LocalPath(c.Base())+strings.TrimPrefix(to, c.Base()))
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusSeeOther)
}

// contentCRS is the value of Content-Crs.
func (p *outputParams) contentCRS() string {
	if p.crsURI == crs84URI {
		return inCRS84
	}
	return "<" + p.crsURI + ">"
}

var (
	crs84URI = crs.CRS84.URI()
	inCRS84  = "<" + crs84URI + ">"
)

// pageTag is the weak validator of a page: it changes with the features, their order, the count and the request.
func (c *Call) pageTag(p *store.Page) string {
	b := TakeBuffer()
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
	return Digest(b)
}

// Digest is a validator of what a buffer holds, which is given back.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	GiveBuffer(b)
	return hex.EncodeToString(sum[:12])
}

// Unchanged sets the weak validator of an answer and evaluates the conditions of the request (RFC 9110, 13.2.2). It answers 304 and
// reports true if the client has the version already; the error is that of ifMatch.
func (c *Call) Unchanged(w http.ResponseWriter, tag string) (same bool, err error) {
	etag := `W/"` + tag + `"`
	SetHeader(w, "Etag", etag)
	if c.Request.Method == http.MethodPost { // 304 is for GET and HEAD (RFC 9110, 13.1.2)
		return false, nil
	}
	if err := c.ifMatch(etag); err != nil {
		return false, err
	}
	if same = matches(c.Request.Header["If-None-Match"], etag); same {
		w.WriteHeader(http.StatusNotModified)
	}
	return same, nil
}

// itemsJSON writes GeoJSON (RFC 7946): members in the order type, features, counts, links, timeStamp.
func (c *Call) itemsJSON(w http.ResponseWriter, p *store.Page, links []ogcapi.Link) error {
	out := newSink(c, w)
	var err error
	if out.buf, err = c.appendRoot(append(out.buf, `{"type":"FeatureCollection",`...)); err != nil {
		return err
	}
	out.buf = append(out.buf, `"features":[`...)
	if len(p.Rows) > 0 {
		out.buf = append(out.buf, '{')
	}
	for rows := p.Rows; len(rows) > 0; {
		frags, err := c.fragments(rows[:nextBatch(len(rows), len(p.Rows))], out.gzip)
		if err != nil {
			return err
		}
		n := len(frags)
		for i, f := range frags {
			if i > 0 || len(rows) < len(p.Rows) {
				out.buf = append(out.buf, "},{"...)
			}
			out.add(f)
			if err := out.spillAt(len(p.Rows)-len(rows)+i+1, len(p.Rows)); err != nil {
				return err
			}
		}
		rows = rows[n:]
	}
	c.letGo()
	if len(p.Rows) > 0 {
		out.buf = append(out.buf, '}')
	}
	out.buf = append(out.buf, `],"numberReturned":`...)
	out.buf = strconv.AppendInt(out.buf, int64(len(p.Rows)), 10)
	if p.Matched >= 0 { // OGC 17-069r4, 7.16.5: may be left out
		out.buf = append(out.buf, `,"numberMatched":`...)
		out.buf = strconv.AppendInt(out.buf, int64(p.Matched), 10)
	}
	out.buf = append(out.buf, `,"links":`...)
	out.buf = append(AppendLinks(out.buf, c.WithProfile(links)), `,"timeStamp":"`...)
	out.ends()
	out.buf = appendStamp(out.buf, time.Now())
	return out.finish()
}

// appendCRS appends the member crs of a projected system. RFC 7946 has none, but GDAL and front ends read the one of the GeoJSON of 2008, and take
// metres for degrees without.
func appendCRS(dst []byte, id crs.ID) []byte {
	if id.Geographic() {
		return dst
	}
	auth, code, _ := strings.Cut(id.String(), ":")
	return append(dst, `"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:`+auth+`::`+code+`"}},`...)
}

// encoder writes features as the request wants them.
func (c *Call) encoder(skipGeometry bool) (*feature.Encoder, error) {
	return feature.NewEncoder(c.written(), feature.Options{CRS: c.output().crs, Properties: c.output().Properties, SkipGeometry: skipGeometry, Precision: c.output().precision,
		Vocabulary: c.Base() + "/collections/" + c.Collection.ID + "/schema#"})
}

// parts names what of a feature is wanted; 0 when everything is.
func (c *Call) parts() uint64 {
	if c.output().Properties == nil && !c.output().skipGeometry && c.simple == nil && !c.output().versionIDs && c.output().precision == nil {
		return 0
	}
	h := fnv.New64a()
	if c.simple != nil {
		h.Write([]byte(c.simple.Rev()))
	}
	if c.output().skipGeometry {
		h.Write([]byte{1})
	}
	if c.output().versionIDs {
		h.Write([]byte{3})
	}
	if p := c.output().precision; p != nil {
		h.Write([]byte{4, byte(*p)})
	}
	for _, p := range c.output().Properties {
		h.Write([]byte(p))
		h.Write([]byte{0})
	}
	if c.output().Properties == nil {
		h.Write([]byte{2})
	}
	return h.Sum64() | 1
}

// Batch is how many features are read from the store at once, firstBatch of a large answer at first, so that it begins soon, and pieceBytes after how many bytes of them it is enough.
const (
	firstBatch = 50
	pieceBytes = 1 << 20
)

// nextBatch is how many features are read next, when left of all are still to be read.
func nextBatch(left, all int) int {
	if left == all && all >= LargeAnswer {
		return firstBatch
	}
	return min(left, Batch)
}

// errPiece ends a reading of features that are enough for now.
var errPiece = errors.New("server: enough for now")

// fragments returns the members of the first features of rows, at least one, without the braces around them, in order: from the cache, the others
// from the store, until pieceBytes of these are read. gz says that the client takes gzip: on a page of large features those
// found in the cache then have their compressed form.
func (c *Call) fragments(rows []store.Row, gz bool) (frags []*feature.Fragment, err error) {
	many := len(rows) >= limit.ManyFeatures
	if many {
		if err = c.writing(); err != nil {
			return nil, err
		}
	}
	frags, err = c.findFragments(rows, gz)
	if err == nil && many {
		err = c.writing() // again, after a question
	}
	return frags, err
}

// findFragments is fragments without a turn.
func (c *Call) findFragments(rows []store.Row, gz bool) ([]*feature.Fragment, error) {
	m := missing{c: c, frags: make([]*feature.Fragment, len(rows)), key: c.fragmentKey()}
	key := m.key
	for i, r := range rows {
		key.ID, key.Rev = r.ID, r.Rev
		if f, ok := c.s.fragments.Get(key); ok {
			m.frags[i] = f
		} else {
			m.rows, m.at = append(m.rows, r), append(m.at, i)
		}
	}
	if gz {
		c.s.fragments.Deflate(m.frags)
	}
	if len(m.rows) == 0 {
		return m.frags, nil
	}
	c.s.wanted.add(wantedFragments{c.Catalog, c.Collection, m.key}, len(m.rows))
	return m.read()
}

// fragmentKey is what the fragments of the call's features have in common.
func (c *Call) fragmentKey() feature.Key {
	return feature.Key{Collection: c.Collection.ID, CRS: c.output().crs, Properties: c.parts(), Kind: c.membersKind()}
}

// missing are rows whose fragments are not kept, and where they belong.
type missing struct {
	c     *Call
	frags []*feature.Fragment
	key   feature.Key
	rows  []store.Row
	at    []int // of rows, in frags
	enc   MembersEncoder
	n     int // rows that were read
	size  int // of their fragments, in bytes
}

// read reads the rows.
func (m *missing) read() (frags []*feature.Fragment, err error) {
	c := m.c
	if m.enc, err = c.members(); err != nil {
		return nil, err
	}
	buf := TakeBuffer()
	defer func() { GiveBuffer(buf) }()
	err = c.Ask(func(ctx context.Context) error {
		err := c.fetch(ctx, m.rows, m.enc.Want(), func(f *store.Feature) (err error) {
			buf, err = m.put(f, buf[:0])
			return err
		})
		if err == errPiece {
			return nil
		}
		return err
	})
	if m.n < len(m.rows) {
		m.frags = m.frags[:m.at[m.n]]
	}
	return m.frags, err
}

// put keeps the fragment of the next row, which it writes into buf first; errPiece when it is enough for now.
func (m *missing) put(f *store.Feature, buf []byte) ([]byte, error) {
	buf, err := m.enc.AppendMembers(buf, f)
	if err != nil {
		return buf, err
	}
	m.key.ID, m.key.Rev = m.rows[m.n].ID, f.Rev
	m.frags[m.at[m.n]] = m.c.s.fragments.Put(m.key, append(make([]byte, 0, len(buf)), buf...))
	m.n++
	if m.size += len(buf); m.size > pieceBytes && m.n < len(m.rows) {
		return buf, errPiece
	}
	return buf, nil
}

// item writes one feature (OGC 17-069r4, 7.17), with the ids of its neighbours in the order by id.
func (s *Kit) item(c *Call, w http.ResponseWriter) error {
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
	c.DataFields(w, links)
	told := 0
	if v != nil {
		c.versionHeaders(w.Header(), v)
		told = len(v.all)
	}
	c.TellLosses(w.Header(), nil)
	if c.Format.F == "json" {
		SetHeader(w, "Content-Crs", c.output().contentCRS())
	}
	if c.Format.F != "html" {
		tag := c.pageTag(&store.Page{Rows: []store.Row{at.row}, Next: store.Cursor(at.next), Prev: store.Cursor(at.prev), Matched: told})
		if same, err := c.Unchanged(w, tag); same || err != nil {
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

// soughtItem finds the feature that an address names, with those beside it; of a collection of versions its version.
func (c *Call) soughtItem(id string) (at neighbours, v *versionAsked, err error) {
	if IsVersioned(c.Collection) {
		if v, err = c.soughtVersion(id); err != nil {
			return at, nil, err
		}
		c.output().versionIDs, c.Began = v.byID, v.moment
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
		err = c.missing(id)
	}
	at.id = at.row.ID
	return at, nil, err
}

// neighbours are a feature and the ids beside it in the order by id; "" where there is none.
type neighbours struct {
	row            store.Row
	id, prev, next string
	of             string // the id of the feature, where id is that of a version
}

// itemJSON writes a feature as GeoJSON. The members prev and next stay at the ends, with the feature's own id, since front ends draw
// both buttons always; the links of those relations do not.
func (c *Call) itemJSON(w http.ResponseWriter, at neighbours, links []ogcapi.Link) error {
	out := newSink(c, w)
	frags, err := c.fragments([]store.Row{at.row}, out.gzip)
	if err != nil {
		return err
	}
	if out.buf, err = c.appendRoot(append(out.buf, '{')); err != nil {
		return err
	}
	out.add(frags[0])
	out.buf = appendText(append(out.buf, `,"prev":`...), orSelf(at.prev, at.id))
	out.buf = appendText(append(out.buf, `,"next":`...), orSelf(at.next, at.id))
	out.buf = append(AppendLinks(append(out.buf, `,"links":`...), c.WithProfile(links)), '}')
	return out.finish()
}

// itemLD writes a feature as JSON-LD.
func (c *Call) itemLD(w http.ResponseWriter, row store.Row) error {
	doc, err := c.itemLinked(row)
	if err != nil {
		return err
	}
	return c.WriteOnce(w, doc)
}

// itemLinked is a feature as JSON-LD.
func (c *Call) itemLinked(row store.Row) (doc []byte, err error) {
	enc, err := c.encoder(c.output().skipGeometry)
	if err != nil {
		return nil, err
	}
	err = c.one(row, enc.Want(), func(f *store.Feature) (err error) {
		doc, err = enc.AppendJSONLD(nil, f, c.itemAddress(f.Public()))
		return err
	})
	return doc, err
}

// linkedMost is how much JSON-LD of a feature stands in its page, in bytes; a longer one stands there without its geometry.
const linkedMost = 64 << 10

// linkedOnPage is a feature as JSON-LD for its page: without its geometry where that is long.
func (c *Call) linkedOnPage(f *store.Feature) (doc []byte, err error) {
	for _, skip := range []bool{c.output().skipGeometry, true} {
		enc, err := c.encoder(skip)
		if err != nil {
			return nil, err
		}
		if doc, err = enc.AppendJSONLD(nil, f, c.itemAddress(f.Public())); err != nil || len(doc) <= linkedMost {
			return doc, err
		}
	}
	return doc, nil
}

// pageReading says what features are fetched with when one question shall serve a whole page: its texts, its map and its linked data.
type pageReading struct {
	want     store.Want
	asked    []int     // where in Feature.Values those stand that the request asks for, in its order
	outlines *Outliner // nil: the page has no map
	titled   []int     // where those stand that outlines need
}

// reading is that of a page of the collection: every property that is not hidden, in the order of the schema, and the geometry. Where
// shown is not nil it is those and what outlines need; asked names nothing then.
func (c *Call) reading(shown []*store.Property) (r *pageReading, err error) {
	r = &pageReading{want: store.Want{Properties: []string{}}}
	if c.Collection.Geometry != nil && !c.output().skipGeometry {
		if r.outlines, err = c.Outliner(c.Collection, c.ScaleOfAll(c.Collection, MapCRS(c.Collection))); err != nil {
			return nil, err
		}
	}
	some := map[string]bool{}
	for _, p := range shown {
		some[p.Name] = true
	}
	if r.outlines != nil {
		for _, name := range r.outlines.properties {
			some[name] = true
		}
	}
	place := map[string]int{}
	for i := range c.Collection.Properties {
		if p := &c.Collection.Properties[i]; !p.Hidden && (shown == nil || some[p.Name]) {
			place[p.Name] = len(r.want.Properties)
			r.want.Properties = append(r.want.Properties, p.Name)
		}
	}
	at := func(names []string) (out []int) {
		for _, n := range names {
			out = append(out, place[n])
		}
		return out
	}
	switch asked := c.output().Properties; {
	case shown != nil:
	case asked != nil:
		r.asked = at(asked)
	default:
		r.asked = at(r.want.Properties)
	}
	if r.outlines != nil {
		r.titled = at(r.outlines.properties)
	}
	return r, nil
}

func pickValues(values []any, at []int) []any {
	out := make([]any, len(at))
	for i, k := range at {
		out[i] = values[k]
	}
	return out
}

// selected is the feature with the values that the request asks for. It is valid as long as f.
func (r *pageReading) selected(f *store.Feature) *store.Feature {
	g := *f
	g.Values = pickValues(f.Values, r.asked)
	return &g
}

// outline makes the outline of the feature, where the page has a map.
func (r *pageReading) outline(f *store.Feature) (err error) {
	if r.outlines != nil {
		_, err = r.outlines.outline(f, pickValues(f.Values, r.titled))
	}
	return err
}

// one fetches one feature in the revision that row names.
func (c *Call) one(row store.Row, want store.Want, fn func(*store.Feature) error) error {
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

// itemLinks are the links of a feature, in the order that clients know.
func (c *Call) itemLinks(id, prev, next string) []ogcapi.Link {
	items := "/collections/" + c.Collection.ID + "/items/"
	links := append(make([]ogcapi.Link, 0, 2+len(c.Route.Formats)+moreLinks),
		ogcapi.Link{Rel: "root", Type: "application/json", Title: "The landing page of this server as JSON", Href: c.Base() + "?f=json"},
		ogcapi.Link{Rel: "root", Type: "text/html", Title: "The landing page of this server as HTML", Href: c.Base() + "?f=html", Hreflang: Hreflang})
	links = c.appendSelfLinks(links, items+PathEscape(id), c.Others())
	for i := range links {
		if links[i].Type == AsGeoJSON.Media {
			links[i].Title = FormTitles["json"]
		}
	}
	links = append(links, ogcapi.Link{Rel: "collection", Type: "application/json", Title: c.TitleOf(c.Collection), Href: c.Base() + "/collections/" + c.Collection.ID})
	if prev != "" {
		links = append(links, ogcapi.Link{Rel: "prev", Type: "application/json", Href: c.Base() + items + PathEscape(prev) + c.datedQuery()})
	}
	if next != "" {
		links = append(links, ogcapi.Link{Rel: "next", Type: "application/json", Href: c.Base() + items + PathEscape(next) + c.datedQuery()})
	}
	return links
}

// eachBatch reads the features of a page batch by batch; fn appends one feature to dst. Between batches the answer may spill.
func (c *Call) eachBatch(out *sink, rows []store.Row, want store.Want, fn func(dst []byte, f *store.Feature) ([]byte, error)) error {
	for all := len(rows); len(rows) > 0; {
		n, most, start := 0, nextBatch(len(rows), all), len(out.buf)
		err := c.Ask(func(ctx context.Context) error {
			err := c.fetch(ctx, rows[:most], want, func(f *store.Feature) (err error) {
				if out.buf, err = fn(out.buf, f); err != nil {
					return err
				}
				if n++; len(out.buf)-start > pieceBytes && n < most {
					return errPiece
				}
				return nil
			})
			if err == errPiece {
				return nil
			}
			return err
		})
		if err != nil {
			return err
		}
		if rows = rows[n:]; n >= limit.ManyFeatures && out.w != nil {
			if err := c.writing(); err != nil {
				return err
			}
		}
		if err := out.spillAt(all-len(rows), all); err != nil {
			return err
		}
	}
	c.letGo()
	return nil
}
