package server

import (
	"bytes"
	"crypto/rand"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"grense/internal/cache"
	"grense/internal/feature"
	"grense/internal/format"
	"grense/internal/store"
)

// What stands around the parts of a page of features is nearly the same on all pages of a collection: it differs in the values that were asked for, and in what
// is told. A frame is that text with holes for these, compressed once. It is made by rendering the page with names that nobody can guess in their places, and kept
// when it gives, with the true values, the bytes of the page itself.

// frame is what stands around the parts of pages.
type frame struct {
	*feature.Frame             // nil: the pages cannot be told so
	holes          []frameHole // its values
	chosen         bool        // as in tellItems
	sized          bool        // there are holes for the sizes of files
}

// frameHole is which of the texts of a page stands there, and how.
type frameHole struct {
	text int
	as   writtenAs
}

// writtenAs is how a text is written.
type writtenAs uint8

const (
	asText  writtenAs = iota // where text or a quoted attribute stands
	asQuery                  // in the query of an address
	asIs                     // of letters and digits, which are the same everywhere
)

// opaque are the parameters of items that stand on pages as they came, and that nothing else on the page depends on.
var opaque = [...]string{"limit", "offset", "cursor", "bbox", "filter", "q"}

// Texts of a page of features: first those of itemsTold, then the opaque parameters, then the sizes of files.
const (
	leadText = iota
	wholeText
	exampleText
	prevText
	nextText
	firstOpaque
	firstSize = firstOpaque + len(opaque)
)

// frames keeps frames from the second time on that one would have served. It is safe for concurrent use.
type frames struct {
	*cache.Cache[string, *frame]
	seed  maphash.Seed
	asked [1 << 8]atomic.Uint64 // as in answers
	used  atomic.Uint64         // pages that were told by one
}

// frameBytes is how much of them is kept.
const frameBytes = 8 << 20

func newFrames(g *cache.Group) *frames {
	return &frames{Cache: cache.New[string, *frame](cache.Options{Name: "page_frames", Bytes: frameBytes, Group: g}), seed: maphash.MakeSeed()}
}

// around is what stands around the parts of a page: as text with their marks, or as a frame with its values.
type around struct {
	plain  []byte
	frame  *frame
	values [][]byte
}

// aroundItems makes what stands around the parts of a page of features.
func (c *call) aroundItems(p *store.Page, parts *itemsParts) (out around, err error) {
	told := itemsTold{example: string(parts.example.JSON), prev: p.Prev, next: p.Next}
	if told.near, err = c.nearItems(p); err != nil {
		return out, err
	}
	key := c.frameKey(p, parts)
	if key == "" || told.near != nil {
		out.plain, err = c.renderItems(p, parts, told)
		return out, err
	}
	f, ok := c.s.frames.Get(key)
	switch {
	case ok && f.Frame != nil:
		c.s.frames.used.Add(1)
		out.frame, out.values = f, f.values(c.itemsTexts(f, p, told))
		return out, nil
	case ok || !again(c.s.frames.asked[:], maphash.String(c.s.frames.seed, key)):
		out.plain, err = c.renderItems(p, parts, told)
		return out, err
	}
	return c.newFrame(key, p, parts, told)
}

// renderItems writes a page of features with marks in the place of its parts.
func (c *call) renderItems(p *store.Page, parts *itemsParts, told itemsTold) ([]byte, error) {
	pg, err := c.itemsDoc(p, parts, told)
	if err != nil {
		return nil, err
	}
	return c.s.pages.render(c, pg)
}

// frameKey names the pages that have the same frame; "" where there is none.
func (c *call) frameKey(p *store.Page, parts *itemsParts) string {
	if parts.state == "" || c.r.Method == http.MethodPost || !isPlainCursor(p.Prev) || !isPlainCursor(p.Next) || c.sizesOfPage() == nil {
		return ""
	}
	b := takeBuffer()
	put := func(s string) { b = append(append(b, s...), 0) }
	for _, s := range [...]string{c.coll.ID, c.cat.Version, parts.state, c.day(), c.root, c.mount, c.lang} {
		put(s)
	}
	for _, is := range [...]bool{p.Prev == "", p.Next == "", len(p.Rows) == 0, p.Matched < 0, parts.list.mark() == "", parts.drawn.mark() == "", len(parts.example.JSON) == 0} {
		b = strconv.AppendBool(b, is)
	}
	b = strconv.AppendUint(append(b, ' '), c.s.filesListed(c.coll.ID), 10)
	if !c.selects() { // the sizes of files are those of the collection
		b = strconv.AppendInt(append(b, ' '), int64(p.Matched), 10)
	}
	names := make([]string, 0, 16)
	for name := range c.values {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		put(name)
		if c.isOpaque(name) {
			b = append(b, 1)
			continue
		}
		for _, v := range c.values[name] {
			b = append(b, 2)
			put(v)
		}
	}
	key := string(b)
	giveBuffer(b)
	return key
}

// selects reports whether chosenBy is more than nothing.
func (c *call) selects() (some bool) {
	c.eachReplayed(func(string, string) { some = true }, ofThePage...)
	return some
}

// isOpaque reports whether a parameter has one value, for which a frame may have holes.
func (c *call) isOpaque(name string) bool {
	v := c.values[name]
	return slices.Contains(opaque[:], name) && len(v) == 1 && v[0] != ""
}

// isPlainCursor reports whether a cursor is of characters that are the same wherever they stand.
func isPlainCursor(c store.Cursor) bool {
	return !strings.ContainsFunc(string(c), func(r rune) bool {
		return r != '-' && r != '_' && !('0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	})
}

// itemsTexts are the texts of a page, for the holes of its frame.
func (c *call) itemsTexts(f *frame, p *store.Page, told itemsTold) []string {
	reps := c.s.downloadReps()
	texts := make([]string, firstSize, firstSize+len(reps))
	texts[leadText], texts[wholeText] = c.tellItems(p, f.chosen)
	texts[exampleText], texts[prevText], texts[nextText] = told.example, string(told.prev), string(told.next)
	for i, name := range opaque {
		texts[firstOpaque+i] = first(c.values[name])
	}
	if f.sized {
		sizes := c.sizesOfPage()
		for _, r := range reps {
			texts = append(texts, c.fileSize(format.Find(r.F), sizes, p.Matched))
		}
	}
	return texts
}

// values are texts as they stand in the holes.
func (f *frame) values(texts []string) [][]byte {
	out := make([][]byte, len(f.holes))
	for i, h := range f.holes {
		switch text := texts[h.text]; h.as {
		case asText:
			out[i] = []byte(asMarkup(text))
		case asQuery:
			out[i] = []byte(queryEscape(text))
		default:
			out[i] = []byte(text)
		}
	}
	return out
}

// placeholders stand for texts: what no page has otherwise, and what tells how it was written.
type placeholders string

func newPlaceholders() placeholders { return placeholders("Hole" + rand.Text()) }

// of is the name of a text. A bare one is of letters and digits only.
func (h placeholders) of(text int, bare bool) string {
	name := string(h) + string(rune('A'+text)) + "e"
	if bare {
		return name
	}
	return name + "<"
}

// cut finds the first placeholder; ok is false for one that was written in an unknown way.
func (h placeholders) cut(page []byte) (before, after []byte, hole frameHole, found, ok bool) {
	before, after, found = bytes.Cut(page, []byte(h))
	if !found {
		return before, nil, hole, false, true
	}
	if len(after) < 2 || after[1] != 'e' {
		return before, after, hole, true, false
	}
	hole.text = int(after[0] - 'A')
	after = after[2:]
	if hole.text == prevText || hole.text == nextText {
		hole.as = asIs
		return before, after, hole, true, true
	}
	for as, end := range [...]string{asText: "&lt;", asQuery: "%3C"} {
		if rest, is := bytes.CutPrefix(after, []byte(end)); is {
			hole.as = writtenAs(as)
			return before, rest, hole, true, true
		}
	}
	return before, after, hole, true, false
}

// newFrame makes the frame of a page, keeps it, and returns the page as it is without one.
func (c *call) newFrame(key string, p *store.Page, parts *itemsParts, told itemsTold) (out around, err error) {
	plain, with := *c, *c
	plain.keep = &keeping{state: parts.state} // lists of choices are of the same state, too
	with.keep = plain.keep
	if out.plain, err = plain.renderItems(p, parts, told); err != nil {
		return out, err
	}
	h := newPlaceholders()
	holes := itemsTold{lead: h.of(leadText, false), whole: h.of(wholeText, false)}
	if told.example != "" {
		holes.example = h.of(exampleText, false)
	}
	if told.prev != "" {
		holes.prev = store.Cursor(h.of(prevText, true))
	}
	if told.next != "" {
		holes.next = store.Cursor(h.of(nextText, true))
	}
	if c.selects() {
		for i := range c.s.downloadReps() {
			holes.sizes = append(holes.sizes, h.of(firstSize+i, false))
		}
	}
	with.values, with.encoded = maps.Clone(c.values), ""
	for i, name := range opaque {
		if c.isOpaque(name) {
			with.values[name] = []string{h.of(firstOpaque+i, false)}
		}
	}
	pg, err := with.itemsDoc(p, parts, holes)
	if err != nil {
		return out, err
	}
	page, err := c.s.pages.render(&with, pg)
	if err != nil {
		return out, err
	}
	f := &frame{chosen: pg.Data.(*itemsView).Chips != nil, sized: holes.sizes != nil}
	if text, holes, ok := f.cut(page, h); ok {
		values := f.values(c.itemsTexts(f, p, told))
		f.Frame = proven(feature.NewFrame(text, holes, values, texts(parts.fragments())), values, out.plain)
	}
	if now, err := c.stateBeside(); err == nil && now == parts.state && !with.unknownFiles() && !plain.unknownFiles() {
		c.s.frames.Put(key, f, f.size(len(key)))
	}
	return out, nil
}

// unknownFiles reports whether the state that links to files are of was asked for, and not told.
func (c *call) unknownFiles() bool { return c.files.unknown }

// cut takes placeholders and marks out of a page; false for a placeholder that was written in an unknown way.
func (f *frame) cut(page []byte, h placeholders) (text []byte, holes []feature.Hole, ok bool) {
	for more := true; more; {
		var piece []byte
		var mark byte
		if piece, page, more = bytes.Cut(page, []byte{0}); more {
			mark, page = page[0], page[1:]
		}
		for found := true; found; {
			var before []byte
			var hole frameHole
			if before, piece, hole, found, ok = h.cut(piece); !ok {
				return nil, nil, false
			}
			if text = append(text, before...); found {
				holes = append(holes, feature.Hole{At: len(text), Of: f.value(hole)})
			}
		}
		if more {
			holes = append(holes, feature.Hole{At: len(text), Of: strings.IndexByte(partMarks, mark), Part: true})
		}
	}
	return text, holes, true
}

// proven is a frame that gives, with the true values, the page with marks that was made without one; else nil.
func proven(f *feature.Frame, values [][]byte, plain []byte) *feature.Frame {
	if !bytes.Equal(f.Append(nil, values, [][]byte{[]byte(listMark), []byte(rowsMark), []byte(drawnMark)}), plain) {
		return nil
	}
	return f
}

// value is the number of a hole among those that differ.
func (f *frame) value(h frameHole) int {
	if i := slices.Index(f.holes, h); i >= 0 {
		return i
	}
	f.holes = append(f.holes, h)
	return len(f.holes) - 1
}

// size is about how many bytes it takes.
func (f *frame) size(key int) int64 {
	n := int64(key + 16*len(f.holes) + 128)
	if f.Frame != nil {
		n += f.Size()
	}
	return n
}

// writeParts writes a page with its parts in the place of their marks.
func (c *call) writeParts(w http.ResponseWriter, page around, parts *itemsParts) error {
	out := takeBuffer()
	defer func() { giveBuffer(out) }()
	fragments := parts.fragments()
	if page.frame == nil {
		out = appendMarked(out, page.plain, parts)
		return c.writeWhole(w, out, parts.quick)
	}
	if acceptsGzip(c.r) && c.keep == nil && parts.found {
		var ok bool
		if out, ok = page.frame.AppendGzip(out, page.values, fragments); !ok {
			c.s.fragments.Fit(page.frame.Frame, page.values, fragments)
			out, ok = page.frame.AppendGzip(out[:0], page.values, fragments)
		}
		if ok {
			return c.send(w, out, "gzip")
		}
	}
	out = page.frame.Append(out[:0], page.values, texts(fragments))
	return c.writeWhole(w, out, parts.quick)
}
