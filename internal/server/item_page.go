package server

import (
	"hash/maphash"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"grense/internal/feature"
	"grense/internal/store"
)

// The page of a feature has parts as that of features has: what is told of it (in the place of the table), linked data, and the map. They are kept for the state of all
// data, since it names features of other collections and what became of it. What is around them differs between the features of a collection by id, title and place on the
// map of tiles, for which its frame has holes.

// Texts of the page of a feature, by their holes.
const (
	titleText = leadText
	idText    = prevText
	viewText  = nextText
)

// itemTold is what the page of a feature tells besides its parts.
type itemTold struct {
	id, title, titleLang string
	drawn, view          string // id and view on the map of tiles; "" where there is none
}

// kept is how the texts are kept beside the parts; toldBefore reads it.
func (t itemTold) kept() []byte {
	return []byte(strings.Join([]string{t.title, t.titleLang, t.view}, "\x00"))
}

func toldBefore(id string, kept []byte) itemTold {
	title, rest, _ := strings.Cut(string(kept), "\x00")
	lang, view, _ := strings.Cut(rest, "\x00")
	return itemTold{id: id, title: title, titleLang: lang, drawn: id, view: view}
}

// itemPage writes a feature as a page.
func (c *call) itemPage(w http.ResponseWriter, at neighbours) error {
	parts, told, err := c.itemParts(at)
	if err != nil {
		return err
	}
	out, err := c.aroundItem(told, parts)
	if err != nil {
		return err
	}
	if err := c.still(); err != nil {
		return err
	}
	return c.writeParts(w, out, parts)
}

// itemParts finds the parts of a page, or makes them.
func (c *call) itemParts(at neighbours) (parts *itemsParts, told itemTold, err error) {
	key, state, err := c.itemKey(at)
	if err != nil {
		return nil, told, err
	}
	if key != nil {
		if parts = c.keptParts(*key); parts != nil {
			parts.state = state
			return parts, toldBefore(at.id, parts.example.JSON), nil
		}
	}
	v, linked, err := c.readItem(at)
	if err != nil {
		return nil, told, err
	}
	told = itemTold{id: v.ID, title: v.Title, titleLang: v.TitleLang, drawn: at.id}
	if v.Map != "" {
		if m := c.itemTiles(at.id, *v.box); m != nil {
			told.view = m.View
		}
	}
	body, err := c.s.pages.render(c, &page{Name: "itembody", Title: v.Title, Data: v})
	if err != nil {
		return nil, told, err
	}
	if key != nil {
		now, err := c.stateOfAll()
		if err != nil {
			return nil, told, err
		}
		if c.roughly || now != state || strings.Contains(told.title, "\x00") {
			key = nil
		}
	}
	parts = c.newParts(key, itemsTexts{body, []byte(inScript(linked)), []byte(v.Map), told.kept()})
	parts.quick = true
	if key != nil {
		parts.state = state
	}
	return parts, told, nil
}

// itemKey names the parts of a page, and the state of the data that they are kept for; nil where they are not.
func (c *call) itemKey(at neighbours) (key *feature.Key, state string, err error) {
	if isVersioned(c.coll) {
		return nil, "", nil
	}
	if state, err = c.stateOfAll(); err != nil {
		return nil, "", err
	}
	const one = -2 // no number of features that a page of them has
	return c.partsKey(&store.Page{Rows: []store.Row{at.row}, Prev: store.Cursor(at.prev), Next: store.Cursor(at.next), Matched: one}, state), state, nil
}

// readItem finds what the page of a feature shows. The feature is fetched once for all of it.
func (c *call) readItem(at neighbours) (v *itemView, linked []byte, err error) {
	read, err := c.reading(nil)
	if err != nil {
		return nil, nil, err
	}
	err = c.one(at.row, read.want, func(f *store.Feature) (err error) {
		if v, err = c.itemView(f); err != nil {
			return err
		}
		if v.box != nil && read.outlines != nil {
			if err := read.outline(f); err != nil {
				return err
			}
		}
		linked, err = c.linkedOnPage(read.selected(f))
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	v.Prev.ID, v.Next.ID = at.prev, at.next
	if isVersioned(c.coll) {
		v.Versions = c.asPage(c.timeMapHref(at.of))
	}
	if err := c.nameItem(v); err != nil {
		return nil, nil, err
	}
	if v.History, err = c.itemHistory(at.row.ID); err != nil {
		return nil, nil, err
	}
	if v.Changes, err = c.eventChanges(at.row.ID); err != nil {
		return nil, nil, err
	}
	if v.Changes != nil { // which say the same
		v.Properties = slices.DeleteFunc(v.Properties, func(p propertyView) bool {
			return p.Name == "changes" || p.Name == "codes_before" || p.Name == "codes_after"
		})
	}
	if v.box != nil && read.outlines != nil {
		v.Map, err = c.itemMap(read.outlines, at.row, *v.box, v.Title)
	}
	return v, linked, err
}

// itemDoc is the page of a feature, with marks in the place of its parts.
func (c *call) itemDoc(told itemTold, parts *itemsParts) *page {
	path := "/collections/" + c.coll.ID + "/items/" + pathEscape(told.id)
	v := &itemAround{Body: template.HTML(parts.rows.mark()), Map: template.HTML(parts.drawn.mark())}
	if href := c.versionsElsewhere(told.id); href != "" {
		v.Elsewhere = c.asPage(href)
	}
	pg := &page{Name: "item", Title: told.title, Crumbs: c.crumbs("items"), LD: template.JS(parts.list.mark()), Data: v, TitleLang: told.titleLang, Script: true,
		Copies: append(c.copies(path+"?"+strings.Join(append([]string{"f=json"}, c.replay("f", "lang")...), "&")), copied{c.text("items.id"), told.id})}
	if told.view != "" {
		pg.Tiles = c.tileMap(mapGrid(c.coll), c.coll)
		pg.Tiles.ID, pg.Tiles.View = told.drawn, told.view
	}
	return pg
}

// itemAround is what the page of a feature shows around its parts, which are marks.
type itemAround struct {
	Body, Map template.HTML
	Elsewhere string // page of the versions at the time that is asked for; "": none
}

// aroundItem makes what stands around the parts of the page of a feature.
func (c *call) aroundItem(told itemTold, parts *itemsParts) (out around, err error) {
	key := c.itemFrameKey(told, parts)
	if key != "" {
		f, ok := c.s.frames.Get(key)
		if ok && f.Frame != nil {
			c.s.frames.used.Add(1)
			out.frame, out.values = f, f.values(told.texts())
			return out, nil
		}
		if !ok && again(c.s.frames.asked[:], maphash.String(c.s.frames.seed, key)) {
			return c.newItemFrame(key, told, parts)
		}
	}
	out.plain, err = c.s.pages.render(c, c.itemDoc(told, parts))
	return out, err
}

// itemFrameKey names the pages that have the same frame; "" where there is none.
func (c *call) itemFrameKey(told itemTold, parts *itemsParts) string {
	path := c.mount + "/collections/" + c.coll.ID + "/items/" + told.id
	if parts.state == "" || !isPlainCursor(store.Cursor(told.id)) || c.s.routePath(c.r.URL) != path || c.versionsElsewhere(told.id) != "" {
		return ""
	}
	b := takeBuffer()
	put := func(s string) { b = append(append(b, s...), 0) }
	for _, s := range [...]string{"item", c.coll.ID, c.cat.Version, parts.state, c.day(), c.root, c.mount, c.lang, told.titleLang, c.canonical(), parts.list.mark(), parts.drawn.mark()} {
		put(s)
	}
	if told.view != "" {
		put("view")
	}
	if told.title == c.s.cfg.Service.Title.In(c.lang) { // which is not told twice
		put("service")
	}
	key := string(b)
	giveBuffer(b)
	return key
}

// texts are the texts of the page, for the holes of its frame.
func (t itemTold) texts() []string {
	texts := make([]string, firstOpaque)
	texts[titleText], texts[idText], texts[viewText] = t.title, t.id, t.view
	return texts
}

// newItemFrame makes the frame of a page, keeps it, and returns the page as it is without one.
func (c *call) newItemFrame(key string, told itemTold, parts *itemsParts) (out around, err error) {
	if out.plain, err = c.s.pages.render(c, c.itemDoc(told, parts)); err != nil {
		return out, err
	}
	h := newPlaceholders()
	holes := itemTold{id: h.of(idText, true), title: h.of(titleText, false), titleLang: told.titleLang, drawn: h.of(idText, true)}
	if told.view != "" {
		holes.view = h.of(viewText, true)
	}
	pg := c.itemDoc(holes, parts)
	pg.Path = "/collections/" + c.coll.ID + "/items/" + holes.id
	page, err := c.s.pages.render(c, pg)
	if err != nil {
		return out, err
	}
	f := &frame{}
	if text, places, ok := f.cut(page, h); ok {
		values := f.values(told.texts())
		f.Frame = proven(feature.NewFrame(text, places, values, texts(parts.fragments())), values, out.plain)
	}
	if now, err := c.stateOfAll(); err == nil && now == parts.state {
		c.s.frames.Put(key, f, f.size(len(key)))
	}
	return out, nil
}
