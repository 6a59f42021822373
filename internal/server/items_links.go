package server

import (
	"bytes"
	"crypto/rand"
	"hash/maphash"
	"net/http"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/cache"
	"grense/internal/feature"
	"grense/internal/store"
)

// The links of pages of features differ in the parameters that were asked for and in cursors alone. A linksFrame is their text with holes for these, as it stands in the header
// and, compressed, in GeoJSON. It is kept when it gives, with the true values, what is written without one.

// linksFrame is the text of the links of some pages. It is immutable.
type linksFrame struct {
	foot   *feature.Frame // what itemsJSON writes behind `"links":`, up to the time; nil: the pages cannot be told so
	header []headerPiece
	fixed  int // bytes that linkHeader counts, without values
}

// headerPiece is a text of the header Link, and which value stands behind it; -1: none.
type headerPiece struct {
	text string
	of   int
}

// Values of a linksFrame.
const (
	othersValue = iota // as call.others
	restValue          // the others, without what a cursor replaces
	prevValue
	nextValue
	linksValues
)

// linksKey names pages whose links have the same frame.
type linksKey struct {
	rt                                *route
	coll, version, root, mount, lang  string
	f                                 string // the representation
	asked, named, prev, next, replace bool   // replace: restValue is not othersValue
}

// linksFrameBytes is how much of them is kept: a few KB for each representation of a collection and language.
const linksFrameBytes = 2 << 20

func newLinksFrames(g *cache.Group) *cache.Cache[linksKey, *linksFrame] {
	return cache.New[linksKey, *linksFrame](cache.Options{Name: "link_frames", Bytes: linksFrameBytes, Group: g})
}

// pageLinks are the links of a page of features.
type pageLinks struct {
	c      *call
	p      *store.Page
	frame  *linksFrame // nil: they are written one by one
	values [linksValues][]byte
	list   []ogcapi.Link // see links
}

// linksOf finds how the links of a page are written.
func (c *call) linksOf(p *store.Page) *pageLinks {
	l := &pageLinks{c: c, p: p}
	key, ok := c.linksKey(p)
	if !ok {
		return l
	}
	l.values[othersValue] = []byte(c.others())
	if l.values[restValue] = l.values[othersValue]; key.replace {
		l.values[restValue] = []byte(c.replayed("f", "offset", "cursor"))
	}
	l.values[prevValue], l.values[nextValue] = []byte(p.Prev), []byte(p.Next)
	f, ok := c.s.links.Get(key)
	if !ok && again(c.s.frames.asked[:], maphash.Comparable(c.s.frames.seed, key)) {
		f = l.newFrame()
		c.s.links.Put(key, f, f.size(&key))
	}
	if f != nil && f.foot != nil && len(l.values[othersValue]) <= mostInFrame {
		l.frame = f
	}
	return l
}

// linksKey is false where links are written one by one.
func (c *call) linksKey(p *store.Page) (key linksKey, ok bool) {
	named, profile := c.values["f"], c.values["profile"]
	out, told := c.params.(writesFeatures)
	switch {
	case len(profile) > 0, told && out.output().told != "", c.versionsElsewhere("") != "":
		return key, false
	case len(named) > 1 || len(named) == 1 && named[0] != c.rep.F, !isPlainCursor(p.Prev), !isPlainCursor(p.Next):
		return key, false
	}
	return linksKey{rt: c.rt, coll: c.coll.ID, version: c.cat.Version, root: c.root, mount: c.mount, lang: c.lang, f: c.rep.F, asked: c.asked, named: len(named) > 0,
		prev: p.Prev != "", next: p.Next != "", replace: (p.Prev != "" || p.Next != "") && len(c.values["offset"])+len(c.values["cursor"]) > 0}, true
}

// links are those of the document.
func (l *pageLinks) links() []ogcapi.Link {
	if l.list == nil {
		l.list = l.c.itemsLinks(l.p)
	}
	return l.list
}

// header is the value of Link: that of linkHeader.
func (l *pageLinks) header() string {
	if f := l.frame; f != nil {
		n := f.fixed
		for _, piece := range f.header {
			n += l.length(piece)
		}
		if n <= maxLinks {
			return l.headerOf(f, n)
		}
	}
	return linkHeader(append(l.links(), l.c.profileLinks()...))
}

// length is that of the value behind a piece.
func (l *pageLinks) length(p headerPiece) int {
	if p.of < 0 {
		return 0
	}
	return len(l.values[p.of])
}

// headerOf is the header of a frame, of which linkHeader counts n bytes.
func (l *pageLinks) headerOf(f *linksFrame, n int) string {
	var b strings.Builder
	b.Grow(n)
	for _, piece := range f.header {
		if b.WriteString(piece.text); piece.of >= 0 {
			b.Write(l.values[piece.of])
		}
	}
	return b.String()
}

// length of the foot of a page in GeoJSON, where it has a frame.
func (l *pageLinks) footLength() int {
	if l.frame == nil {
		return 0
	}
	return l.frame.foot.Len(l.values[:])
}

// mostInFrame is the length in bytes of the values from which links are written one by one: long filters are compressed then, too.
const mostInFrame = 1 << 10

// beforeTime stands behind the links in GeoJSON.
const beforeTime = `,"timeStamp":"`

// writeFoot writes the links, and what stands before the time.
func (l *pageLinks) writeFoot(out *sink) {
	if l.frame != nil {
		out.addFrame(l.frame.foot, l.values[:])
		return
	}
	out.buf = append(appendLinks(out.buf, l.c.withProfile(l.links())), beforeTime...)
}

// newFrame makes the frame of a page's links.
func (l *pageLinks) newFrame() *linksFrame {
	c, p := l.c, l.p
	links := append(c.itemsLinks(p), c.profileLinks()...)
	name := "Hole" + rand.Text()
	var names [linksValues]string
	for i := range names {
		names[i] = name + string(rune('A'+i))
	}
	mark := func(cur store.Cursor, i int) store.Cursor {
		if cur != "" {
			cur = store.Cursor(names[i])
		}
		return cur
	}
	q := itemsAsked{others: names[othersValue], rest: names[restValue], prev: mark(p.Prev, prevValue), next: mark(p.Next, nextValue)}
	own := c.itemsLinksOf(q)
	with := append(own, c.profileLinks()...)
	f := new(linksFrame)
	for text := []byte(joinLinks(with)); text != nil; {
		before, at, rest := cutName(text, name)
		f.header, text = append(f.header, headerPiece{string(before), at}), rest
		if at >= 0 {
			f.fixed -= len(names[at])
		}
	}
	for i := range with {
		f.fixed += sizeInHeader(&with[i])
	}
	var text []byte
	var holes []feature.Hole
	for rest := append(appendLinks(nil, own), beforeTime...); rest != nil; {
		before, at, after := cutName(rest, name)
		if text, rest = append(text, before...), after; at >= 0 {
			holes = append(holes, feature.Hole{At: len(text), Of: at})
		}
	}
	foot := feature.NewInnerFrame(text, holes, l.values[:])
	whole := append(appendLinks(nil, c.itemsLinks(p)), beforeTime...)
	if bytes.Equal(foot.Append(nil, l.values[:], nil), whole) && l.headerOf(f, 0) == joinLinks(links) {
		f.foot = foot
	}
	return f
}

// cutName cuts a text at the first name, whose value is at; -1 and no rest where there is none.
func cutName(text []byte, name string) (before []byte, at int, rest []byte) {
	before, rest, found := bytes.Cut(text, []byte(name))
	if !found {
		return before, -1, nil
	}
	return before, int(rest[0] - 'A'), rest[1:]
}

// size is about how many bytes it takes, with its key.
func (f *linksFrame) size(k *linksKey) int64 {
	n := int64(len(k.coll) + len(k.version) + len(k.root) + 256)
	for _, p := range f.header {
		n += int64(len(p.text) + 32)
	}
	if f.foot != nil {
		n += f.foot.Size()
	}
	return n
}

// addFrame appends a frame with values.
func (s *sink) addFrame(f *feature.Frame, values [][]byte) {
	n := f.Len(values)
	if !s.gzip || s.plain == 0 && !s.open && len(s.buf)+n < worthwhile {
		s.buf = f.Append(s.buf, values, nil)
		return
	}
	s.pack()
	s.packed = s.member.AppendFrame(s.packed, f, values)
	s.plain += n
}

// dataFields are the header fields of answers with features: dataHeaders, what they are written in, and their links.
func (c *call) dataFields(w http.ResponseWriter, links []ogcapi.Link) {
	c.linkedFields(w, linkHeader(append(links, c.profileLinks()...)))
}

// linkedFields is dataFields with the header of links.
func (c *call) linkedFields(w http.ResponseWriter, links string) {
	setHeader(w, "Content-Type", c.rep.contentType())
	setHeader(w, "Content-Language", languageTag(c.lang))
	c.dataHeaders(w)
	setHeader(w, "Link", links)
}

// itemsAsked is what the links of a page are made of.
type itemsAsked struct {
	others, rest string // see linksFrame
	prev, next   store.Cursor
}

// itemsLinks are the links of a page of features, in the order that clients know.
func (c *call) itemsLinks(p *store.Page) []ogcapi.Link {
	q := itemsAsked{others: c.others(), prev: p.Prev, next: p.Next}
	if p.Prev != "" || p.Next != "" {
		q.rest = c.replayed("f", "offset", "cursor")
	}
	return c.itemsLinksOf(q)
}

func (c *call) itemsLinksOf(q itemsAsked) []ogcapi.Link {
	path := "/collections/" + c.coll.ID + "/items"
	links := c.appendSelfLinks(make([]ogcapi.Link, 0, len(c.rt.Formats)+moreLinks), path, q.others)
	page := func(rel, title string, cur store.Cursor) {
		if cur != "" {
			links = append(links, ogcapi.Link{Rel: rel, Type: c.rep.Media, Title: title, Href: c.pageHrefOf(path, cur, q.rest)})
		}
	}
	page("prev", "Items (prev)", q.prev)
	page("next", "Items (next)", q.next)
	links = append(links, c.versionsLink("")...)
	return append(links, ogcapi.Link{Rel: "collection", Type: "application/json", Title: c.titleOf(c.coll), Href: c.base() + "/collections/" + c.coll.ID})
}

// pageHref replays the request from another place.
func (c *call) pageHref(path string, cur store.Cursor) string {
	return c.pageHrefOf(path, cur, c.replayed("f", "offset", "cursor"))
}

func (c *call) pageHrefOf(path string, cur store.Cursor, rest string) string {
	query := "?"
	if f := first(c.values["f"]); f != "" {
		query = "?f=" + queryEscape(f) + "&"
	}
	return c.base() + path + query + "cursor=" + string(cur) + rest
}
