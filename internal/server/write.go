package server

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/klauspost/compress/gzip"

	"grense/api/ogcapi"
	"grense/internal/cache"
	"grense/internal/problem"
	"grense/internal/server/page"
	"grense/internal/store"
)

// Values of Vary (RFC 9110, 12.5.5). Keyed answers differ by the key as well.
const (
	varyOpen  = "Accept, Accept-Encoding, Accept-Language"
	VaryKeyed = varyOpen + ", X-API-Key, Authorization, Cookie"
)

const (
	// smallest is the length in bytes from which an answer that is kept is compressed.
	smallest = 512
	// worthwhile is that from which one that is made anew is: below, it is in one packet of Ethernet either way, and compressing a sixth of its cost.
	worthwhile = 1400
)

// A Body is an answer that stands in memory, plain and, where that is shorter, compressed. It is immutable.
type Body struct {
	Plain, Gz []byte
	Etag      string // strong, for the plain form; the compressed form adds -gzip
}

// PlainBody is the body of a small answer, which is not compressed.
func PlainBody(b []byte) *Body { return &Body{Plain: b} }

// NewBody makes a body, compressed as well as it can be.
func NewBody(plain []byte) *Body { return newBodyAt(plain, gzip.BestCompression) }

// newBodyAt is newBody with a level of compression.
func newBodyAt(plain []byte, level int) *Body {
	sum := sha256.Sum256(plain)
	b := &Body{Plain: plain, Etag: base64.RawURLEncoding.EncodeToString(sum[:12])}
	if len(plain) >= smallest {
		if gz := Compress(nil, plain, level); len(gz) < len(plain) {
			b.Gz = gz
		}
	}
	return b
}

// once is a body that is not cached and has no ETag.
func once(plain []byte) *Body {
	b := &Body{Plain: plain}
	if len(plain) >= worthwhile {
		b.Gz = Compress(nil, plain, gzip.BestSpeed)
	}
	return b
}

var gzipPool = sync.Pool{New: func() any { w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed); return w }}

// Compress appends src as one gzip member to dst.
func Compress(dst, src []byte, level int) []byte {
	buf := bytes.NewBuffer(dst)
	if level == gzip.BestSpeed {
		w := gzipPool.Get().(*gzip.Writer)
		w.Reset(buf)
		w.Write(src) // a bytes.Buffer does not fail
		w.Close()
		gzipPool.Put(w)
		return buf.Bytes()
	}
	w, _ := gzip.NewWriterLevel(buf, level)
	w.Write(src)
	w.Close()
	return buf.Bytes()
}

// acceptsGzip reports whether the client takes gzip (RFC 9110, 12.5.3).
func AcceptsGzip(r *http.Request) bool {
	star := false
	for _, v := range r.Header["Accept-Encoding"] {
		for e := range strings.SplitSeq(v, ",") {
			name, rest, _ := strings.Cut(e, ";")
			q, ok := strings.CutPrefix(strings.TrimSpace(rest), "q=")
			refused := ok && strings.Trim(q, "0.") == ""
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "gzip", "x-gzip":
				return !refused
			case "*":
				star = !refused
			}
		}
	}
	return star
}

// WriteBody writes a complete answer with its validators (RFC 9110, 8.8.3, 13.1.2).
func (c *Call) WriteBody(w http.ResponseWriter, status int, b *Body) {
	h := w.Header()
	plain, etag := b.Plain, `"`+b.Etag+`"`
	if b.Gz != nil && AcceptsGzip(c.Request) {
		plain, etag = b.Gz, `"`+b.Etag+`-gzip"`
		h["Content-Encoding"] = gzipped
	}
	values := [2]string{etag, strconv.Itoa(len(plain))}
	if status == http.StatusOK {
		if b.Etag == "" {
			etag = ""
		}
		if err := c.IfMatch(etag); err != nil {
			c.Fail(w, err)
			return
		}
	}
	if status == http.StatusOK && b.Etag != "" {
		h["Etag"] = values[0:1:1]
		if Matches(c.Request.Header["If-None-Match"], etag) {
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
	if rw, ok := w.(*response); ok {
		rw.whole(plain) //nolint:errcheck // a client that is gone is seen by the server
	} else {
		w.Write(plain)
	}
}

// gzipped is the field Content-Encoding of what is compressed. Nobody changes it.
var gzipped = []string{"gzip"}

// ifMatch returns an error of kind Precondition if the request has If-Match and it names another version than etag, compared strongly:
// a weak validator matches nothing (RFC 9110, 13.1.1). "" is a representation without a validator. Only GET and HEAD are conditional.
func (c *Call) IfMatch(etag string) error {
	values, asked := c.Request.Header["If-Match"]
	if !asked || c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead {
		return nil
	}
	for _, v := range values {
		for e := range strings.SplitSeq(v, ",") {
			if e = strings.TrimSpace(e); e == "*" || e == etag && e != "" && !strings.HasPrefix(e, "W/") {
				return nil
			}
		}
	}
	return problem.New(problem.Precondition, nil, "The resource is not in a version that If-Match names. Leave the header out to get the current version.")
}

// matches reports whether If-None-Match names the validator, compared weakly (RFC 9110, 13.1.2).
func Matches(values []string, etag string) bool {
	etag = strings.TrimPrefix(etag, "W/")
	for _, v := range values {
		for e := range strings.SplitSeq(v, ",") {
			e = strings.TrimSpace(e)
			if e == "*" || strings.TrimPrefix(e, "W/") == etag {
				return true
			}
		}
	}
	return false
}

// Marshal writes a JSON document without escaping <, > and &, and without a line end.
func Marshal(v any) ([]byte, error) {
	if b, ok := v.([]byte); ok {
		return b, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// document answers a route whose answer depends on nothing but the catalog, the mount, the representation, the language, the
// parameters and, for pages, whether the visitor has a valid key. The bytes are made once and cached.
func (c *Call) document(w http.ResponseWriter) error {
	vary, cached := varyOpen, "no-cache"
	if c.Route.Draws && c.Format.F == "html" && c.s.Config.Auth != "open" {
		if vary = VaryKeyed; hasKey(c.Request) && c.s.Authorize(c) == nil { // a key that is wrong is none here
			c.holds, cached = true, "private, no-cache"
		}
	}
	key := docKey{holds: c.holds, root: c.Root, path: c.Request.URL.Path, query: c.Canonical(), f: c.Format.F, lang: c.Lang, version: c.Catalog.Version, files: c.s.filesListed("")}
	d, ok := c.s.docs.Get(key)
	if !ok {
		a, err := c.Route.Get(c)
		if err != nil {
			return err
		}
		if a.Fleeting && c.s.Store.Catalog() != c.Catalog {
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
		if a.Endless && c.Format.F != AsHTML.F {
			level = gzip.BestSpeed
		}
		d = c.newDoc(newBodyAt(plain, level), a.Links, vary, cached)
		if !a.Fleeting && (!a.Endless || c.s.endless.again(key)) {
			c.s.docs.Put(key, d, d.size())
		}
	}
	d.header.set(w.Header())
	c.WriteBody(w, http.StatusOK, d.body)
	return nil
}

func (c *Call) newDoc(b *Body, links []ogcapi.Link, vary, cached string) *doc {
	d := &doc{body: b}
	d.header.add("Content-Type", c.Format.ContentType())
	d.header.add("Content-Language", page.LanguageTag(c.Lang))
	d.header.add("Vary", vary)
	d.header.add("Cache-Control", cached)
	if l := LinkHeader(ledBy(links)); l != "" {
		d.header.add("Link", l)
	}
	if l := LinkTemplates(links); l != "" {
		d.header.add("Link-Template", l)
	}
	return d
}

// Render writes the chosen representation of an answer.
func (c *Call) Render(a *Answer) ([]byte, error) {
	if b, ok := a.Raw[c.Format.F]; ok {
		return b, nil
	}
	switch c.Format.F {
	case "json":
		return Marshal(a.JSON)
	case "jsonld":
		return Marshal(a.LD())
	default:
		if a.LD != nil {
			b, err := Marshal(a.LD())
			if err != nil {
				return nil, err
			}
			a.Page.LD = page.InScript(b)
		}
		return c.RenderPage(a.Page)
	}
}

// Canonical is the query with the parameters in a fixed order, once it is read; two requests with the same text ask the same. Of f it has what the answer depends on: nothing where that names
// the first representation, whose links are the same without it, but for pages, whose links to others repeat it as it came.
func (c *Call) Canonical() string {
	if c.encoded == "" {
		values, f := c.Values, c.Values["f"]
		first := c.Format.F == c.Route.Formats[0].F
		if len(f) == 1 && (first || f[0] != c.Format.F) && !slices.Contains(c.Route.Params, ParamCursor) {
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

// linkSafe keeps the texts of links, which may come from the configuration, inside their marks.
var linkSafe = strings.NewReplacer("<", "%3C", ">", "%3E", `"`, "%22", "\r", "", "\n", "")

func safeInLink(s string) string {
	for _, b := range [...]byte{'<', '>', '"', '\r', '\n'} { // each by the vectors of the processor
		if strings.IndexByte(s, b) >= 0 {
			return linkSafe.Replace(s)
		}
	}
	return s
}

// manyLinks is how many links a document has at most that are all in its header too. With more the header has those of leading.
const manyLinks = 10

// leading are the relations by which programs find their way without a look into the document.
var leading = [...]string{"self", "alternate", "service-desc", "service-doc", "conformance", "data", "items", "license"}

// ledBy is what the header has of the links of a document, which repeats them unless they are many (OGC 17-069r4, /rec/core/link-header).
func ledBy(links []ogcapi.Link) []ogcapi.Link {
	if len(links) <= manyLinks {
		return links
	}
	var few []ogcapi.Link
	for _, l := range links {
		if slices.Contains(leading[:], l.Rel) {
			few = append(few, l)
		}
	}
	return few
}

// maxLinks is how long the header Link gets at most, in bytes: many programs and proxies refuse answers whose headers have 8 KB together.
const maxLinks = 4 << 10

// LinkHeader writes links as the value of the header Link (RFC 8288, 3). Templated links are left out, and what a long filter makes
// too long: first the links to the document itself, then the others. The document has them all, but for CSV, which then is paged by offset.
func LinkHeader(links []ogcapi.Link) string {
	itself := func(l *ogcapi.Link) bool { return l.Rel == "self" || l.Rel == "alternate" }
	left, all := maxLinks, 0 // left for the links to the document itself
	for i := range links {
		l := &links[i]
		all += sizeInHeader(l)
		if !l.Templated && !itself(l) && sizeInHeader(l) <= left {
			left -= sizeInHeader(l)
		}
	}
	var b strings.Builder
	b.Grow(min(all, maxLinks))
	rest := maxLinks
	for i := range links {
		l := &links[i]
		if n := sizeInHeader(l); l.Templated || n > rest || itself(l) && n > left {
			continue
		} else if rest -= n; itself(l) {
			left -= n
		}
		writeLink(&b, l)
	}
	return b.String()
}

// sizeInHeader is how many bytes linkHeader counts for a link.
func sizeInHeader(l *ogcapi.Link) int {
	return len(l.Href) + len(l.Rel) + len(l.Type) + len(`<>; rel=""; type="", `)
}

// writeLink writes a link behind others.
func writeLink(b *strings.Builder, l *ogcapi.Link) {
	if b.Len() > 0 {
		b.WriteString(", ")
	}
	b.WriteByte('<')
	b.WriteString(safeInLink(l.Href))
	b.WriteString(`>; rel="`)
	b.WriteString(safeInLink(l.Rel))
	b.WriteByte('"')
	if l.Type != "" {
		b.WriteString(`; type="`)
		b.WriteString(safeInLink(l.Type))
		b.WriteByte('"')
	}
}

// docKey names a written document.
type docKey struct {
	root, path, query, f, lang, version string
	files                               uint64 // what filesListed said
	holds                               bool   // see call
}

type doc struct {
	body   *Body
	header fields
}

// docCache holds written documents. docBytes is how much of them: the documents of one catalog are few, but proxies may bring many addresses.
type docCache = cache.Cache[docKey, *doc]

const docBytes = 64 << 20

// documentsAsked are hashes of which documents of endlessly many were asked for of late, by their last bits. It is safe for concurrent use.
type documentsAsked struct {
	seed maphash.Seed
	late [1 << 12]atomic.Uint64
}

// again reports whether the same was asked for of late, and notes that it is now.
func (a *documentsAsked) again(k docKey) bool { return again(a.late[:], maphash.Comparable(a.seed, k)) }

func (d *doc) size() int64 {
	n := len(d.body.Plain) + len(d.body.Gz) + 512
	for i := range d.header {
		n += len(d.header[i].values[0])
	}
	return int64(n)
}

// DataHeaders are those of every answer with data.
func (c *Call) DataHeaders(w http.ResponseWriter) {
	c.s.TellRates(w, c.Owner())
	h := w.Header()
	if c.s.Config.Auth == "open" {
		openData.set(h)
		if shared := c.sharedFor(); shared != "" {
			SetHeader(w, "Cache-Control", shared)
		}
		return
	}
	keyedData.set(h)
}

// sharedFor returns the Cache-Control of open data that caches may use again without asking; "" where they may not.
func (c *Call) sharedFor() string {
	cfg := &c.s.Config.Cache
	age := cfg.MaxAge
	switch {
	case c.Route != nil && c.Route.Scope == ScopeTiles:
		age = cfg.TilesMaxAge
	case c.Collection != nil && c.Collection.MaxAge > 0:
		age = c.Collection.MaxAge
	}
	if age < time.Second {
		return ""
	}
	s := "public, max-age=" + strconv.Itoa(int(age.Seconds()))
	if stale := cfg.StaleWhileRevalidate; stale >= time.Second {
		s += ", stale-while-revalidate=" + strconv.Itoa(int(stale.Seconds()))
	}
	return s
}

// openData and keyedData are the fields of answers with data, where these need no key and where they do.
var (
	openData  = fields{{"Vary", []string{varyOpen}}, {"Cache-Control", []string{"no-cache"}}}
	keyedData = fields{{"Vary", []string{VaryKeyed}}, {"Cache-Control", []string{"private, no-cache"}}}
)

// Unchanged sets the weak validator of an answer and evaluates the conditions of the request (RFC 9110, 13.2.2). It answers 304 and
// reports true if the client has the version already; the error is that of ifMatch.
func (c *Call) Unchanged(w http.ResponseWriter, tag string) (same bool, err error) {
	etag := `W/"` + tag + `"`
	SetHeader(w, "Etag", etag)
	if c.Request.Method == http.MethodPost { // 304 is for GET and HEAD (RFC 9110, 13.1.2)
		return false, nil
	}
	if err := c.IfMatch(etag); err != nil {
		return false, err
	}
	if same = Matches(c.Request.Header["If-None-Match"], etag); same {
		w.WriteHeader(http.StatusNotModified)
	}
	return same, nil
}

// DataFields are the header fields of answers with features: dataHeaders, what they are written in, and their links.
func (c *Call) DataFields(w http.ResponseWriter, links []ogcapi.Link) {
	SetHeader(w, "Content-Type", c.Format.ContentType())
	SetHeader(w, "Content-Language", page.LanguageTag(c.Lang))
	c.DataHeaders(w)
	SetHeader(w, "Link", LinkHeader(append(links, c.ProfileLinks()...)))
}

// TellLosses tells what the answer does not give: what its format cannot hold, and a profile that was asked for and is
// none of it, which is no error (OGC 23-058r2, 13, profile-negotiation).
func (c *Call) TellLosses(h http.Header, losses ...string) {
	if p, ok := c.Params.(Profiled); ok && c.Format.F != AsGeoJSON.F && *p.ToldProfile() != "" {
		losses = append(losses, "the profile "+*p.ToldProfile()+", which f=json has")
	}
	if len(losses) > 0 {
		h.Set("Format-Losses", strings.Join(losses, "; "))
	}
}

// Digest is a validator of what a buffer holds, which is given back.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	GiveBuffer(b)
	return hex.EncodeToString(sum[:12])
}
