package server

import (
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"

	"grense/api/ogcapi"
	"grense/internal/cache"
	"grense/internal/server/limit"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// Values of Vary (RFC 9110, 12.5.5). Responses with keys also depend on the key.
const (
	varyOpen  = "Accept, Accept-Encoding, Accept-Language"
	VaryKeyed = varyOpen + ", X-API-Key, Authorization, Cookie"
)

// WriteBody writes a complete response with its validators (RFC 9110, 8.8.3, 13.1.2).
func (c *Call) WriteBody(w http.ResponseWriter, status int, b *wire.Body) {
	h := w.Header()
	plain, etag := b.Plain, `"`+b.Etag+`"`
	if b.Gz != nil && wire.AcceptsGzip(c.Request) {
		plain, etag = b.Gz, `"`+b.Etag+`-gzip"`
		h["Content-Encoding"] = gzipped
	}
	values := [2]string{etag, strconv.Itoa(len(plain))}
	if status == http.StatusOK {
		if b.Etag == "" {
			etag = ""
		}
		if err := wire.IfMatch(c.Request, etag); err != nil {
			c.Fail(w, err)
			return
		}
	}
	if status == http.StatusOK && b.Etag != "" {
		h["Etag"] = values[0:1:1]
		if wire.Matches(c.Request.Header["If-None-Match"], etag) {
			h.Del("Content-Encoding")
			h.Del("Content-Type")
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	h["Content-Length"] = values[1:2:2]
	w.WriteHeader(status)
	if c.Request.Method == http.MethodHead {
		return
	}
	if rw, ok := w.(*limit.Response); ok {
		rw.Whole(plain) //nolint:errcheck // net/http notices a client that has disconnected
	} else {
		w.Write(plain)
	}
}

// gzipped is the value of Content-Encoding. Nobody may change it.
var gzipped = []string{"gzip"}

// document writes the response of a route that depends only on catalog, mount, representation, language, parameters
// and, for pages, whether the visitor has a valid key. It is built once and cached.
func (s *Kit) document(c *Call, w http.ResponseWriter) error {
	vary, cached := varyOpen, "no-cache"
	if c.Route.Draws && c.Format.F == "html" && s.Config.Auth != "open" {
		if vary = VaryKeyed; hasKey(c.Request) && s.Authorize(c) == nil { // a wrong key counts as none here
			c.holds, cached = true, "private, no-cache"
		}
	}
	key := docKey{holds: c.holds, root: c.Root, path: c.Request.URL.Path, query: c.Canonical(), f: c.Format.F,
		lang: c.Lang, version: c.Catalog.Version, files: s.filesListed("")}
	d, ok := s.docs.Get(key)
	if !ok {
		a, err := c.Route.Get(c)
		if err != nil {
			return err
		}
		if a.Fleeting && s.Store.Catalog() != c.Catalog {
			return fmt.Errorf("server: what was left out may be there now: %w", store.ErrChanged)
		}
		if err := c.Still(); err != nil {
			return err
		}
		plain, err := c.Render(a)
		if err != nil {
			return err
		}
		level := gzip.BestCompression
		if a.Endless && c.Format.F != media.HTML.F {
			level = gzip.BestSpeed
		}
		d = newDoc(c, wire.NewBodyAt(plain, level), a.Links, vary, cached)
		if !a.Fleeting && (!a.Endless || s.endless.again(key)) {
			s.docs.Put(key, d, d.size())
		}
	}
	d.header.set(w.Header())
	c.WriteBody(w, http.StatusOK, d.body)
	return nil
}

// newDoc returns the document of a call.
func newDoc(c *Call, b *wire.Body, links []ogcapi.Link, vary, cached string) *doc {
	d := &doc{body: b}
	d.header.add("Content-Type", c.Format.ContentType())
	d.header.add("Content-Language", page.LanguageTag(c.Lang))
	d.header.add("Vary", vary)
	d.header.add("Cache-Control", cached)
	if l := wire.LinkHeader(wire.LedBy(links)); l != "" {
		d.header.add("Link", l)
	}
	if l := wire.LinkTemplates(links); l != "" {
		d.header.add("Link-Template", l)
	}
	return d
}

// Render encodes the negotiated representation of an answer.
func (c *Call) Render(a *Answer) ([]byte, error) {
	if b, ok := a.Raw[c.Format.F]; ok {
		return b, nil
	}
	switch c.Format.F {
	case "json":
		return wire.Marshal(a.JSON)
	case "jsonld":
		return wire.Marshal(a.LD())
	default:
		if a.LD != nil {
			b, err := wire.Marshal(a.LD())
			if err != nil {
				return nil, err
			}
			a.Page.LD = page.InScript(b)
		}
		return c.RenderPage(a.Page)
	}
}

// Canonical returns the query with its parameters in a fixed order: requests with the same text get the same response.
// It contains f only if the response depends on it. Documents in the first representation do not, but pages do, since
// their links repeat f. It must not be called before the query is parsed.
func (c *Call) Canonical() string {
	if c.encoded == "" {
		values, f := c.Values, c.Values["f"]
		first := c.Format.F == c.Route.Formats[0].F
		if len(f) == 1 && (first || f[0] != c.Format.F) &&
			c.Route.ParamNamed(c.Collection, "cursor") == nil {
			if values = maps.Clone(values); first {
				delete(values, "f")
			} else {
				values["f"] = []string{c.Format.F}
			}
		}
		c.encoded = values.Encode()
	}
	return c.encoded
}

// docKey identifies an encoded document.
type docKey struct {
	root, path, query, f, lang, version string
	files                               uint64 // result of filesListed
	holds                               bool   // see Call
}

type doc struct {
	body   *wire.Body
	header fields
}

// docCache holds encoded documents. docBytes bounds it: a catalog has few documents, but proxies may add many
// addresses.
type docCache = cache.Cache[docKey, *doc]

const docBytes = 64 << 20

// requestedDocuments holds hashes of recent requests for documents of which there are very many, by their low bits. It
// is safe for concurrent use.
type requestedDocuments struct {
	seed maphash.Seed
	late [1 << 12]atomic.Uint64
}

// again reports whether the same document was requested recently, and records it.
func (a *requestedDocuments) again(k docKey) bool {
	return again(a.late[:], maphash.Comparable(a.seed, k))
}

func (d *doc) size() int64 {
	n := len(d.body.Plain) + len(d.body.Gz) + 512
	for i := range d.header {
		n += len(d.header[i].values[0])
	}
	return int64(n)
}

// DataHeaders sets the header fields of all responses with data.
func (c *Call) DataHeaders(w http.ResponseWriter) {
	c.s.WriteRates(w, c.Owner())
	h := w.Header()
	if c.s.Config.Auth == "open" {
		openData.set(h)
		if shared := c.s.sharedFor(c.Route, c.Collection); shared != "" {
			SetHeader(w, "Cache-Control", shared)
		}
		return
	}
	keyedData.set(h)
}

// sharedFor returns the Cache-Control of open data that caches may use again without asking; "" where they may not.
func (s *Kit) sharedFor(rt *Route, coll *store.Collection) string {
	cfg := &s.Config.Cache
	age := cfg.MaxAge
	switch {
	case rt != nil && rt.Scope == ScopeTiles:
		age = cfg.TilesMaxAge
	case coll != nil && coll.MaxAge > 0:
		age = coll.MaxAge
	}
	if age < time.Second {
		return ""
	}
	value := "public, max-age=" + strconv.Itoa(int(age.Seconds()))
	if stale := cfg.StaleWhileRevalidate; stale >= time.Second {
		value += ", stale-while-revalidate=" + strconv.Itoa(int(stale.Seconds()))
	}
	return value
}

// openData and keyedData are the header fields of responses with data, without and with API keys.
var (
	openData  = fields{{"Vary", []string{varyOpen}}, {"Cache-Control", []string{"no-cache"}}}
	keyedData = fields{{"Vary", []string{VaryKeyed}}, {"Cache-Control", []string{"private, no-cache"}}}
)

// Unchanged sets the weak validator of a response and evaluates conditional requests (RFC 9110, 13.2.2). If the client
// has the version, it writes 304 and returns true. Its error is that of IfMatch.
func Unchanged(w http.ResponseWriter, r *http.Request, tag string) (same bool, err error) {
	etag := `W/"` + tag + `"`
	SetHeader(w, "Etag", etag)
	if r.Method == http.MethodPost { // 304 is for GET and HEAD (RFC 9110, 13.1.2)
		return false, nil
	}
	if err := wire.IfMatch(r, etag); err != nil {
		return false, err
	}
	if same = wire.Matches(r.Header["If-None-Match"], etag); same {
		w.WriteHeader(http.StatusNotModified)
	}
	return same, nil
}

// DataFields sets the header fields of responses with features: DataHeaders, content type, language and links.
func (c *Call) DataFields(w http.ResponseWriter, links []ogcapi.Link) {
	SetHeader(w, "Content-Type", c.Format.ContentType())
	SetHeader(w, "Content-Language", page.LanguageTag(c.Lang))
	c.DataHeaders(w)
	SetHeader(w, "Link", wire.LinkHeader(links))
}
