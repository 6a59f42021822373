package server

import (
	"context"
	"hash/maphash"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"grense/internal/cache"
	"grense/internal/cql2"
	"grense/internal/feature"
	"grense/internal/server/limit"
	"grense/internal/server/media"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// answers caches complete responses to GET and to SOAP searches. A response is cached when the same request comes a
// second time, so that crawlers do not fill the cache, and is valid for one data version. Identical requests in flight
// share one response (inFlight). It is safe for concurrent use.
type answers struct {
	*cache.Cache[answerKey, *cachedResponse]
	most  int // largest response, in bytes
	seed  maphash.Seed
	asked [1 << 14]atomic.Uint64 // hashes of recent requests, by their low bits

	last atomic.Pointer[stateSeen]

	mu       sync.Mutex
	inFlight map[uint64]*inFlight // in flight, by the hashes of their keys
}

// answerKey holds everything in a request that a response depends on. The data version and the day are compared
// separately, and the API key is checked before.
type answerKey struct {
	root, mount, path, query string
	media, lang              string
	gzip                     bool
	files                    uint64 // result of filesVersion
}

// cachedResponse is a cached response. It is immutable except for readers.
type cachedResponse struct {
	state  store.Version // version of all data
	day    string        // date in the time zone of the data
	header fields
	etag   string // "": none
	body   []byte
	coding string
	// If stamped, the time of the request and the end of the document follow the body; gz continues its compressed
	// form.
	stamped bool
	gz      feature.Member
	readers limit.Lent
}

// entry describes a response that is being written and will be cached.
type entry struct {
	key     answerKey
	state   store.Version
	day     string
	body    []byte // if stamped, the body up to the time of the request; else nil
	stamped bool
	gz      feature.Member
	once    bool // it is for waiting requests only and will not be cached
}

// answerShards is the number of shards of the cache.
const answerShards = 4

// newAnswers returns a cache of so many bytes; nil for 0, which disables it.
func newAnswers(bytes int64, g *cache.Group) *answers {
	if bytes <= 0 {
		return nil
	}
	return &answers{Cache: cache.New[answerKey, *cachedResponse](
		cache.Options{Name: "answers", Bytes: bytes, Shards: answerShards, Group: g}),
		most: int(bytes / answerShards / 2), seed: maphash.MakeSeed(), inFlight: map[uint64]*inFlight{}}
}

// hash returns the hash of a key.
func (a *answers) hash(k answerKey) uint64 { return maphash.Comparable(a.seed, k) }

// again reports whether the same request came recently, and records it.
func (a *answers) again(hash uint64) bool { return again(a.asked[:], hash) }

// again reports whether a hash is in the table late, and stores it there.
func again(late []atomic.Uint64, h uint64) bool { return late[h%uint64(len(late))].Swap(h) == h }

// stream answers a request from the cache or by its route. The new response may be cached.
func (s *Kit) stream(c *Call, w http.ResponseWriter) error {
	if s.answers == nil || !c.Route.Kept || c.Request.Method == http.MethodPost || c.Response == nil {
		return c.Route.Stream(c, w)
	}
	k := answerKey{root: c.Root, mount: c.Mount, path: c.Request.URL.EscapedPath(), query: c.Canonical(),
		media: c.Format.Media, lang: c.Lang, gzip: wire.AcceptsGzip(c.Request), files: caching{c}.filesVersion()}
	return caching{c}.cachedOr(w, k, func() error { return c.Route.Stream(c, w) })
}

// caching answers a call from the response cache, or caches its response.
type caching struct{ *Call }

// cachedOr writes the cached response of a key, or waits for the same response in flight, or calls made to write it.
func (c caching) cachedOr(w http.ResponseWriter, k answerKey, made func() error) error {
	all := c.s.answers
	hash := all.hash(k)
	old, ok := all.Peek(k)
	if !ok && !all.again(hash) {
		if m, busy := all.first(c, k, hash); !busy {
			return c.make(m, made)
		}
	}
	state, err := c.stateOfAll()
	if err != nil {
		return err
	}
	now := time.Now().In(c.Zone())
	day := now.Format(time.DateOnly)
	if ok && old.of(state, day) {
		return c.sendCached(w, old)
	}
	if state == "" {
		return c.make(nil, made)
	}
	other, m, err := c.join(&inFlight{all: all, hash: hash, key: k, state: state, began: now})
	switch {
	case err != nil:
		return err
	case other != nil:
		return c.sendCached(w, other)
	case m != nil:
		c.keep = &entry{key: k, state: state, day: day}
	}
	return c.make(m, made)
}

// Searched writes the response of a search that came in the body of a request below path: from the cache, or by made.
func (c *Call) Searched(path, body, media string, made func() error) error {
	if c.s.answers == nil {
		return made()
	}
	k := answerKey{root: c.Root, mount: c.Mount, path: path, query: body, media: media,
		gzip: wire.AcceptsGzip(c.Request)}
	return c.Retry(func() error { return caching{c}.cachedOr(c.Response, k, made) })
}

// of reports whether the response belongs to a data version and a day. A nil response belongs to none.
func (a *cachedResponse) of(state store.Version, day string) bool {
	return a != nil && a.state == state && a.day == day
}

// stateOfAll returns the version of all data. If one collection has no version, such as a view, it returns the version
// of the collections that the response depends on; "" if these have none either.
func (c caching) stateOfAll() (state store.Version, err error) {
	if state, err = c.DataVersion(); err != nil {
		return "", err
	}
	c.s.answers.saw(c.Catalog, state)
	if state == "" {
		if ids := c.dependencies(); ids != nil {
			return c.DataVersion(ids...)
		}
	}
	return state, nil
}

// looksInto is implemented by parameters of routes that depend on certain collections only.
type looksInto interface{ LooksInto() []*store.Collection }

// dependencies returns the ids of the collections that a response depends on; nil if unknown. A response about
// c.Collection depends on it, on related collections, and, if it is a page, on the background of its map. A lookup,
// except for its page, depends on the requested collections and those that they refer to.
func (c caching) dependencies() (ids []string) {
	add := func(coll *store.Collection) {
		if coll != nil && !slices.Contains(ids, coll.ID) {
			ids = append(ids, coll.ID)
		}
	}
	if p, ok := c.Params.(looksInto); ok && c.Format.F != media.HTML.F {
		for _, coll := range p.LooksInto() {
			add(coll)
			for i := range coll.Properties {
				add(RefersTo(c.Catalog, &coll.Properties[i]))
			}
		}
		return ids
	}
	if c.Collection == nil {
		return nil
	}
	add(c.Collection)
	for _, coll := range c.Catalog.Collections {
		for i := range coll.Properties {
			switch other := RefersTo(c.Catalog, &coll.Properties[i]); {
			case coll == c.Collection:
				add(other)
			case other == c.Collection:
				add(coll)
			}
		}
	}
	if c.Format.F == "html" {
		add(Country(c.Catalog))
	}
	return ids
}

// DataVersion returns the version of collections, or of all data without any; "" if it is unknown.
func (c *Call) DataVersion(collections ...string) (v store.Version, err error) {
	read := func(ctx context.Context) error {
		v, err = c.s.Store.Version(ctx, collections...)
		return err
	}
	if c.Catalog.Live {
		err = c.Ask(read)
		return v, err
	}
	if err = read(c.Request.Context()); err == nil && c.s.Store.Catalog().Version != c.Catalog.Version {
		err = errReopened()
	}
	return v, err
}

// CachedVersion returns the data version of a response that may be cached; "" for any other.
func (c *Call) CachedVersion() store.Version {
	if c.keep == nil {
		return ""
	}
	return c.keep.state
}

// day returns today's date in the time zone of the data.
func (c caching) day() string { return time.Now().In(c.Zone()).Format(time.DateOnly) }

// lasts reports whether the response stays the same until the data or the day change.
func (c caching) lasts(h http.Header) bool {
	return !c.Roughly && c.sharable(h)
}

// sharable reports whether other clients may get the same response now.
func (c caching) sharable(h http.Header) bool {
	return !c.Single && h["Set-Cookie"] == nil && c.daily()
}

// daily reports whether the set of valid versions changes at midnight only.
func (c caching) daily() bool {
	for _, coll := range c.Catalog.Collections {
		if coll.Versions == nil {
			continue
		}
		if p, ok := coll.Find(coll.Versions.Start); !ok || p.Type != cql2.TypeDate { // validity may begin within a day
			return false
		}
	}
	return true
}

// ownFields are header fields that belong to one request and are not cached.
var ownFields = [...]string{"X-Request-Id", "Connection", "Strict-Transport-Security", "Ratelimit", "Ratelimit-Policy",
	"Server-Timing", "Content-Length", "Content-Encoding", "Date"}

// keepAnswer passes a response with status 200, before it is sent, to the requests that wait for it. It caches the
// response if that is intended and all of it is of one data version.
func (c caching) keepAnswer(h http.Header, body []byte, coding string) {
	k := c.wanted()
	if k == nil {
		return
	}
	c.keep = nil
	lasts := !k.once && c.lasts(h)
	if len(body) > c.s.answers.most || !lasts && (c.lead == nil || !c.sharable(h)) {
		c.hand(nil)
		return
	}
	a, size := k.answer(h, body, coding)
	if lasts && c.stays(k) {
		c.s.answers.Put(k.key, a, size)
	}
	c.hand(a)
}

// stays reports whether data version, day and files are the same as at the start of the response.
func (c caching) stays(k *entry) bool {
	state, err := c.stateOfAll()
	return err == nil && state == k.state && c.day() == k.day && c.filesVersion() == k.key.files
}

// answer returns the cache entry and its size in bytes.
func (k *entry) answer(h http.Header, body []byte, coding string) (*cachedResponse, int64) {
	a := &cachedResponse{state: k.state, day: k.day, etag: First(h["Etag"]), coding: coding, body: k.body,
		stamped: k.stamped, gz: k.gz}
	if !k.stamped {
		a.body = slices.Clone(body)
	}
	size := len(a.body) + len(k.key.root) + len(k.key.path) + len(k.key.query) + len(a.state) + 256
	for name, v := range h {
		if slices.Contains(ownFields[:], name) || everyAnswer.has(name) || len(v) == 0 {
			continue
		}
		a.header.add(name, slices.Clone(v)...)
		size += len(name) + len(v[0]) + 64
	}
	return a, int64(size)
}

// sendCached sends a cached response.
func (c caching) sendCached(w http.ResponseWriter, a *cachedResponse) error {
	if err := c.Pay(c.Resumes); err != nil {
		return err
	}
	c.cached = true
	c.s.answers.Count(true)
	h := w.Header()
	a.header.set(h)
	c.s.WriteRates(w, c.Owner())
	if err := wire.IfMatch(c.Request, a.etag); err != nil {
		return err
	}
	if a.etag != "" && wire.Matches(c.Request.Header["If-None-Match"], a.etag) {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	var room [128]byte
	end := room[:0]
	if a.stamped {
		var text [64]byte
		if end = wire.AppendStamp(text[:0], time.Now()); a.coding != "" {
			gz := a.gz
			end = gz.AppendEnd(gz.AppendText(room[:0], end))
		}
	}
	done, err := a.readers.Begin(&c.s.Flight, len(a.body))
	if err != nil {
		return err
	}
	defer done()
	if a.coding != "" {
		SetHeader(w, "Content-Encoding", a.coding)
	}
	SetHeader(w, "Content-Length", strconv.Itoa(len(a.body)+len(end)))
	w.WriteHeader(http.StatusOK)
	if c.Request.Method == http.MethodHead {
		return nil
	}
	return c.Response.Whole(a.body, end)
}

// filesListed returns a number that changes when a cached file of a collection is added or removed, since pages show
// the sizes of files. "" stands for all collections.
func (s *Kit) filesListed(collection string) uint64 { return s.Files.Changes.Count(collection) }

// filesVersion returns filesListed of the collection if the response is a page, which lists files; else 0.
func (c caching) filesVersion() uint64 {
	if c.Format.F != media.HTML.F || c.Collection == nil {
		return 0
	}
	return c.s.filesListed(c.Collection.ID)
}
