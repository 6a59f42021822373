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
	"grense/internal/server/wire"
	"grense/internal/store"
)

// answers are whole answers to GET, and to searches by SOAP, kept from the second time that the same is asked, and sent for as long as the data are as they were. What is asked once, as a
// crawl asks, is not kept. Who asks what another is being answered waits for that (making). It is safe for concurrent use.
type answers struct {
	*cache.Cache[answerKey, *keptAnswer]
	most  int // bytes of one
	seed  maphash.Seed
	asked [1 << 14]atomic.Uint64 // hashes of what was asked of late, by their last bits

	last atomic.Pointer[stateSeen]

	mu     sync.Mutex
	making map[uint64]*making // under way, by the hashes of their keys
}

// answerKey is all of a request that an answer depends on, besides the data, the day and the key, which is checked before.
type answerKey struct {
	root, mount, path, query string
	media, lang              string
	gzip                     bool
	files                    uint64 // what filesTold said
}

// keptAnswer is an answer as it goes out. It is immutable, but for its readers.
type keptAnswer struct {
	state  store.Version // of all data
	day    string        // in the zone of the data
	header fields
	etag   string // "": none
	body   []byte
	coding string
	// Where stamped, the time of the request follows the body, and ends the document; gz goes on with a compressed one.
	stamped bool
	gz      feature.Member
	readers limit.Lent
}

// keeping is what a call knows of the answer that it makes, when that is to be kept.
type keeping struct {
	key     answerKey
	state   store.Version
	day     string
	body    []byte // up to the time of the request, where stamped; else nil
	stamped bool
	gz      feature.Member
	once    bool // it is for those who wait, and not kept then
}

// answerShards is into how many parts the cache is divided.
const answerShards = 4

// newAnswers makes a cache of so many bytes; nil for 0, which keeps nothing.
func newAnswers(bytes int64, g *cache.Group) *answers {
	if bytes <= 0 {
		return nil
	}
	return &answers{Cache: cache.New[answerKey, *keptAnswer](cache.Options{Name: "answers", Bytes: bytes, Shards: answerShards, Group: g}),
		most: int(bytes / answerShards / 2), seed: maphash.MakeSeed(), making: map[uint64]*making{}}
}

// hash is that of a key, of which again and making know.
func (a *answers) hash(k answerKey) uint64 { return maphash.Comparable(a.seed, k) }

// again reports whether the same was asked of late, and notes that it is now.
func (a *answers) again(hash uint64) bool { return again(a.asked[:], hash) }

// again reports whether a hash is among those of late, and puts it there.
func again(late []atomic.Uint64, h uint64) bool { return late[h%uint64(len(late))].Swap(h) == h }

// stream answers a route whose answers are kept: with a kept one, or with a new one, which may be kept then.
func (s *Kit) stream(c *Call, w http.ResponseWriter) error {
	if s.answers == nil || !c.Route.Kept || c.Request.Method == http.MethodPost || c.Response == nil {
		return c.Route.Stream(c, w)
	}
	k := answerKey{root: c.Root, mount: c.Mount, path: c.Request.URL.EscapedPath(), query: c.Canonical(), media: c.Format.Media, lang: c.Lang, gzip: wire.AcceptsGzip(c.Request), files: caching{c}.filesTold()}
	return caching{c}.keptOr(w, k, func() error { return c.Route.Stream(c, w) })
}

// caching answers a call from the response cache, or caches its response.
type caching struct{ *Call }

// keptOr answers with what is kept for a key, with what another request makes that is under way, or by made, whose answer may be kept then.
func (c caching) keptOr(w http.ResponseWriter, k answerKey, made func() error) error {
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
		return c.sendKept(w, old)
	}
	if state == "" {
		return c.make(nil, made)
	}
	other, m, err := c.join(&making{all: all, hash: hash, key: k, state: state, began: now})
	switch {
	case err != nil:
		return err
	case other != nil:
		return c.sendKept(w, other)
	case m != nil:
		c.keep = &keeping{key: k, state: state, day: day}
	}
	return c.make(m, made)
}

// Searched answers a search that came in the body of a request below path: with what is kept for it, or by made.
func (c *Call) Searched(path, body, media string, made func() error) error {
	if c.s.answers == nil {
		return made()
	}
	k := answerKey{root: c.Root, mount: c.Mount, path: path, query: body, media: media, gzip: wire.AcceptsGzip(c.Request)}
	return c.Anew(func() error { return caching{c}.keptOr(c.Response, k, made) })
}

// of reports whether the answer is that of a state of the data and of a day; a nil one is of none.
func (a *keptAnswer) of(state store.Version, day string) bool {
	return a != nil && a.state == state && a.day == day
}

// stateOfAll returns the version of all data that are served. Where one collection has none, as a view, it is the version of those that the
// response depends on; "" if these have none.
func (c caching) stateOfAll() (state store.Version, err error) {
	if state, err = c.dataVersion(); err != nil {
		return "", err
	}
	c.s.answers.saw(c.Catalog, state)
	if state == "" {
		if ids := c.dependencies(); ids != nil {
			return c.dataVersion(ids...)
		}
	}
	return state, nil
}

// looksInto is the struct of a route that depends on certain collections only.
type looksInto interface{ LooksInto() []*store.Collection }

// dependencies returns the ids of the collections that a response depends on; nil if these are not known. A response
// about c.Collection depends on it, on those that it refers to or that refer to it, and on a page on the one under the map; a
// lookup, but for its page, on those that it looks into and those that they refer to.
func (c caching) dependencies() (ids []string) {
	add := func(coll *store.Collection) {
		if coll != nil && !slices.Contains(ids, coll.ID) {
			ids = append(ids, coll.ID)
		}
	}
	if p, ok := c.Params.(looksInto); ok && c.Format.F != AsHTML.F {
		for _, coll := range p.LooksInto() {
			add(coll)
			for i := range coll.Properties {
				add(c.RefersTo(&coll.Properties[i]))
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
			switch other := c.RefersTo(&coll.Properties[i]); {
			case coll == c.Collection:
				add(other)
			case other == c.Collection:
				add(coll)
			}
		}
	}
	if c.Format.F == "html" {
		add(c.Country())
	}
	return ids
}

// dataVersion returns the version of collections, of all without any; "" if it is unknown.
func (c *Call) dataVersion(collections ...string) (v store.Version, err error) {
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

// DataVersion returns the version of collections, of all without any; "" if it is unknown.
func (c *Call) DataVersion(collections ...string) (store.Version, error) {
	return c.dataVersion(collections...)
}

// KeptVersion returns the data version of a response that may be cached; "" for any other.
func (c *Call) KeptVersion() store.Version {
	if c.keep == nil {
		return ""
	}
	return c.keep.state
}

// MayUse reports whether something that was read in a data version may be part of the response. A response that may be
// cached has one data version.
func (c *Call) MayUse(state store.Version) bool { return c.keep == nil || state == c.keep.state }

// day is today's date where the data are of.
func (c caching) day() string { return time.Now().In(c.Zone()).Format(time.DateOnly) }

// lasts reports whether the answer stays the same for as long as the data and the day do.
func (c caching) lasts(h http.Header) bool {
	return !c.Roughly && c.sharable(h)
}

// sharable reports whether the answer is as good for another who asks the same now.
func (c caching) sharable(h http.Header) bool {
	return !c.Single && h["Set-Cookie"] == nil && c.daily()
}

// daily reports whether what is valid changes between days only.
func (c caching) daily() bool {
	for _, coll := range c.Catalog.Collections {
		if coll.Versions == nil {
			continue
		}
		if p, ok := coll.Find(coll.Versions.Start); !ok || p.Type != cql2.TypeDate { // what is valid changes within the day
			return false
		}
	}
	return true
}

// ownFields are header fields that belong to one request, not to the answer.
var ownFields = [...]string{"X-Request-Id", "Connection", "Strict-Transport-Security", "Ratelimit", "Ratelimit-Policy", "Content-Length", "Content-Encoding", "Date"}

// keepAnswer hands an answer that is about to be sent with status 200 to those who wait for it, and keeps it when it is to be kept and was made of one state of the data.
func (c caching) keepAnswer(h http.Header, body []byte, coding string) {
	k := c.wanted()
	if k == nil {
		return
	}
	c.keep = nil
	lasts := !k.once && c.lasts(h)
	if len(body) > c.s.answers.most || !lasts && (c.leads() == nil || !c.sharable(h)) {
		c.hand(nil)
		return
	}
	a, size := k.answer(h, body, coding)
	if lasts && c.stays(k) {
		c.s.answers.Put(k.key, a, size)
	}
	c.hand(a)
}

// stays reports whether the data, the day and the files are those that an answer was begun with.
func (c caching) stays(k *keeping) bool {
	state, err := c.stateOfAll()
	return err == nil && state == k.state && c.day() == k.day && c.filesTold() == k.key.files
}

// answer is the answer, and the bytes that it takes.
func (k *keeping) answer(h http.Header, body []byte, coding string) (*keptAnswer, int64) {
	a := &keptAnswer{state: k.state, day: k.day, etag: First(h["Etag"]), coding: coding, body: k.body, stamped: k.stamped, gz: k.gz}
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

// sendKept sends a kept answer as the one to this request.
func (c caching) sendKept(w http.ResponseWriter, a *keptAnswer) error {
	if err := c.Pay(c.continues); err != nil {
		return err
	}
	c.cached = true
	c.s.answers.Count(true)
	h := w.Header()
	a.header.set(h)
	c.s.TellRates(w, c.Owner())
	if err := c.IfMatch(a.etag); err != nil {
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
	return c.Response.whole(a.body, end)
}

// filesListed changes whenever files of a collection, or of any for "", come or go whose length downloadLinks may tell.
func (s *Kit) filesListed(collection string) uint64 { return s.Files.Changes.Count(collection) }

// filesTold is filesListed for what the answer to a call may tell: pages do, of their collection.
func (c caching) filesTold() uint64 {
	if c.Format.F != AsHTML.F || c.Collection == nil {
		return 0
	}
	return c.s.filesListed(c.Collection.ID)
}
