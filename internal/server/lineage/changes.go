package lineage

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"grense/api/ogcapi"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/wire"
	"grense/internal/state"
	"grense/internal/store"
)

// Numbers of changes in one response.
const (
	changesDefault = 1000
	maxChanges     = 10000
	latestDefault  = 50
)

// JSON documents of the change feed.
type (
	changesDoc struct {
		Changes []changeDoc `json:"changes"`
		// number of the last change listed; without changes, the number that was requested
		Last  int64         `json:"last"`
		Links []ogcapi.Link `json:"links"`

		newest bool   // in descending order
		title  string // of the page and the feeds
	}

	changeDoc struct {
		Seq        int64  `json:"seq"`
		Recorded   string `json:"recorded"`
		Op         string `json:"op"`
		Collection string `json:"collection"`
		ID         string `json:"id,omitempty"`
		Title      string `json:"title,omitempty"`
		Count      *int64 `json:"count,omitempty"`
		Href       string `json:"href,omitempty"`
	}
)

func errNoChanges() error {
	return problem.NotFoundf("changes are not recorded here; the operator lets the role of the database write into " +
		"its schema grense (GRANT CREATE ON DATABASE, once), or serves a file with a data directory that can be " +
		"written to")
}

// changes lists changes after a number, in ascending order.
func (s *Surface) changes(c *call, w http.ResponseWriter) error {
	p := c.Params.(*changesParams)
	var list []state.Change
	err := c.askChanges(func(ctx context.Context, kept *state.DB) (err error) {
		if list, err = kept.ChangesAfter(ctx, p.after, p.limit+1); err != nil || len(list) > 0 || p.after == 0 {
			return err
		}
		last, err := kept.LastChanges(ctx, 1)
		if err != nil || len(last) > 0 && last[0].Seq >= p.after {
			return err
		}
		return problem.New(problem.Gone, nil,
			"there is no change %d: the log of changes was begun anew; take the collections whole, and go on from "+
				"after=0", p.after)
	})
	if err != nil {
		return err
	}
	more := len(list) > p.limit
	doc := c.changesDoc("/changes", list[:min(len(list), p.limit)])
	doc.Last, doc.title = p.after, c.Text("changes.title")
	if n := len(doc.Changes); n > 0 {
		doc.Last = doc.Changes[n-1].Seq
	}
	if more {
		c.addLink(&doc, "next", "The changes after these",
			fmt.Sprintf("/changes?f=%s&after=%d%s", c.Format.F, doc.Last, c.limitQuery()))
	}
	c.addLink(&doc, "current", "The latest changes", "/changes/latest?f="+c.Format.F)
	return c.writeChanges(w, &doc)
}

// latestChanges lists the last changes, in descending order.
func (s *Surface) latestChanges(c *call, w http.ResponseWriter) error {
	p := c.Params.(*changesParams)
	var list []state.Change
	err := c.askChanges(func(ctx context.Context, kept *state.DB) (err error) {
		list, err = kept.LastChanges(ctx, p.limit)
		return err
	})
	if err != nil {
		return err
	}
	doc := c.changesDoc("/changes/latest", list)
	doc.newest, doc.title = true, c.Text("changes.latest-title")
	if len(list) > 0 {
		doc.Last = list[0].Seq
	}
	c.addLink(&doc, "start", "All changes from the first", "/changes?f="+c.Format.F)
	return c.writeChanges(w, &doc)
}

// askChanges queries the change log in a slot of CostPage. It fails if changes are not recorded.
func (c *call) askChanges(fn func(context.Context, *state.DB) error) error {
	if c.s.recorder == nil {
		return errNoChanges()
	}
	return c.Ask(func(ctx context.Context) error {
		return c.s.Turns.Run(ctx, store.CostPage, func(ctx context.Context) error {
			c.s.Turns.Charge(ctx, store.CostPage)
			return fn(ctx, c.s.recorder.Kept)
		})
	})
}

func (c *call) limitQuery() string {
	if v := server.First(c.Values["limit"]); v != "" {
		return "&limit=" + wire.QueryEscape(v)
	}
	return ""
}

func (c *call) addLink(doc *changesDoc, rel, title, path string) {
	if l := server.First(c.Values["lang"]); l != "" {
		path += "&lang=" + wire.QueryEscape(l)
	}
	doc.Links = append(doc.Links, ogcapi.Link{Rel: rel, Type: c.Format.Media, Title: title, Href: c.Base() + path})
}

func (c *call) changesDoc(path string, list []state.Change) changesDoc {
	doc := changesDoc{Changes: make([]changeDoc, len(list)), Links: c.SelfLinks(path)}
	for i, x := range list {
		items := c.Base() + "/collections/" + x.Collection + "/items"
		d := changeDoc{Seq: x.Seq, Recorded: x.At.Format("2006-01-02T15:04:05.000Z"), Op: x.Op,
			Collection: x.Collection, ID: x.ID, Title: x.Title}
		switch x.Op {
		case state.ChangeLoad:
			d.Count, d.Href = &x.Count, items
			if coll, ok := c.Catalog.Collection(x.Collection); ok && !server.IsPlain(coll) {
				d.Href += everyVersion
			}
		case state.ChangeAdd, state.ChangeUpdate:
			d.Href = items + "/" + wire.PathEscape(x.ID)
		}
		doc.Changes[i] = d
	}
	return doc
}

func (c *call) writeChanges(w http.ResponseWriter, doc *changesDoc) error {
	a := &server.Answer{JSON: doc, Links: doc.Links}
	var err error
	switch c.Format.F {
	case media.Atom.F:
		a.Raw = map[string][]byte{media.Atom.F: nil}
		a.Raw[media.Atom.F], err = c.atom(doc)
	case media.JSONFeed.F:
		a.Raw = map[string][]byte{}
		a.Raw[media.JSONFeed.F], err = wire.Marshal(c.jsonFeed(doc))
	default:
		a.Page = &page.Page{Name: "changes", Title: doc.title, Crumbs: c.Crumbs(""), Data: c.changesView(doc)}
	}
	if err != nil {
		return err
	}
	return c.DataAnswer(w, a)
}

// changeTitle describes a change in the language of the request: "Kommuner: Oslo (0301) – ny".
func (c *call) changeTitle(d *changeDoc) string {
	what := d.Collection
	if coll, ok := c.Catalog.Collection(d.Collection); ok && coll.Public {
		what = coll.TitleIn(c.Lang)
	}
	switch {
	case d.Title != "" && d.Title != d.ID:
		what += ": " + d.Title
		if !strings.Contains(d.Title, " → ") { // the title of an event contains its codes
			what += " (" + d.ID + ")"
		}
	case d.ID != "":
		what += ": " + d.ID
	}
	return what + " – " + c.Text(fmt.Sprintf("change.%s", d.Op))
}

// changeID returns the permanent id of a feed entry, which depends on neither mount nor format (RFC 4287, 4.2.6).
func (c *call) changeID(d *changeDoc) string {
	return c.Root + "/changes?after=" + strconv.FormatInt(d.Seq-1, 10) + "&limit=1"
}

// Elements of an Atom feed (RFC 4287).
type (
	atomFeed struct {
		XMLName   xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		Lang      string   `xml:"xml:lang,attr"`
		ID        string   `xml:"id"`
		Title     string   `xml:"title"`
		Updated   string   `xml:"updated"`
		Author    string   `xml:"author>name"`
		Generator string   `xml:"generator"`
		Links     []atomLink
		Entries   []atomEntry
	}
	atomLink struct {
		XMLName xml.Name `xml:"link"`
		Rel     string   `xml:"rel,attr"`
		Type    string   `xml:"type,attr,omitempty"`
		Href    string   `xml:"href,attr"`
	}
	atomEntry struct {
		XMLName  xml.Name     `xml:"entry"`
		ID       string       `xml:"id"`
		Title    string       `xml:"title"`
		Updated  string       `xml:"updated"`
		Category atomCategory `xml:"category"`
		Links    []atomLink
		Content  string `xml:"content"`
	}
	atomCategory struct {
		Term string `xml:"term,attr"`
	}
)

func (c *call) atom(doc *changesDoc) ([]byte, error) {
	svc := &c.s.Config.Service
	f := atomFeed{Lang: page.LanguageTag(c.Lang), ID: c.Root + "/changes", Title: svc.Title.In(c.Lang) + ": " +
		doc.title, Author: cmp.Or(svc.Publisher.Name, svc.Title.In(c.Lang)), Generator: "Grense",
		Updated: time.Unix(0, 0).UTC().Format(time.RFC3339)}
	for _, l := range doc.Links {
		f.Links = append(f.Links, atomLink{Rel: l.Rel, Type: l.Type, Href: l.Href})
	}
	for i := range doc.Changes {
		d := &doc.Changes[i]
		f.Updated = max(f.Updated, d.Recorded)
		e := atomEntry{ID: c.changeID(d), Title: c.changeTitle(d), Updated: d.Recorded, Category: atomCategory{d.Op},
			Content: c.changeTitle(d)}
		if d.Href != "" {
			e.Links = append(e.Links, atomLink{Rel: "alternate", Href: d.Href})
		}
		f.Entries = append(f.Entries, e)
	}
	b, err := xml.Marshal(f)
	return append([]byte(xml.Header), b...), err
}

// Members of JSON Feed 1.1. The extension _grense holds the change itself.
type (
	jsonFeedDoc struct {
		Version  string         `json:"version"`
		Title    string         `json:"title"`
		HomePage string         `json:"home_page_url"`
		FeedURL  string         `json:"feed_url"`
		NextURL  string         `json:"next_url,omitempty"`
		Language string         `json:"language"`
		Authors  []jsonAuthor   `json:"authors"`
		Items    []jsonFeedItem `json:"items"`
	}
	jsonAuthor struct {
		Name string `json:"name"`
	}
	jsonFeedItem struct {
		ID        string    `json:"id"`
		URL       string    `json:"url,omitempty"`
		Title     string    `json:"title"`
		Text      string    `json:"content_text"`
		Published string    `json:"date_published"`
		Tags      []string  `json:"tags"`
		Change    changeDoc `json:"_grense"`
	}
)

func (c *call) jsonFeed(doc *changesDoc) jsonFeedDoc {
	svc := &c.s.Config.Service
	f := jsonFeedDoc{Version: "https://jsonfeed.org/version/1.1", Title: svc.Title.In(c.Lang) + ": " + doc.title,
		HomePage: c.Base() + "/changes/latest?f=html", Language: page.LanguageTag(c.Lang),
		Authors: []jsonAuthor{{cmp.Or(svc.Publisher.Name, svc.Title.In(c.Lang))}}, Items: []jsonFeedItem{}}
	for _, l := range doc.Links {
		switch l.Rel {
		case "self":
			f.FeedURL = l.Href
		case "next":
			f.NextURL = l.Href
		}
	}
	for i := range doc.Changes {
		d := &doc.Changes[i]
		t := c.changeTitle(d)
		f.Items = append(f.Items, jsonFeedItem{ID: c.changeID(d), URL: d.Href, Title: t, Text: t,
			Published: d.Recorded, Tags: []string{d.Op, d.Collection}, Change: *d})
	}
	return f
}

// changesView is the data of the page.
type changesView struct {
	Rows  []changeRow
	Next  string     // address of the next page; "" if there is none
	Other page.Crumb // link to the other page of changes
}

type changeRow struct {
	changeDoc
	When, What, Name, Page string
	Of                     string // title of the collection
	Many                   string // number of features; "" if there is none
}

func (c *call) changesView(doc *changesDoc) changesView {
	v := changesView{Other: page.Crumb{Title: c.Text("changes.latest-title"), Href: c.HtmlHref("/changes/latest")}}
	if doc.newest {
		v.Other = page.Crumb{Title: c.Text("changes.title"), Href: c.HtmlHref("/changes")}
	}
	if i := slices.IndexFunc(doc.Links, func(l ogcapi.Link) bool { return l.Rel == "next" }); i >= 0 {
		v.Next = doc.Links[i].Href
	}
	for _, d := range doc.Changes {
		row := changeRow{changeDoc: d, When: d.Recorded, What: c.Text(fmt.Sprintf("change.%s", d.Op)), Name: d.Title,
			Of: d.Collection}
		if coll, ok := c.s.Store.Catalog().Collection(d.Collection); ok {
			row.Of = coll.TitleIn(c.Lang)
		}
		if d.ID != "" && d.ID != d.Title && !strings.Contains(d.Title, " → ") {
			row.Name = strings.TrimSpace(d.Title + " " + d.ID)
		}
		if row.Name == "" {
			row.Name = row.Of
		}
		if d.Count != nil {
			row.Many = page.InDigits(strconv.FormatInt(*d.Count, 10), c.Lang)
		}
		if d.Href != "" {
			row.Page = c.AsPage(d.Href)
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// everyVersion selects all versions of the features of a collection: an interval matches versions without a start as
// well.
const everyVersion = "?datetime=0001-01-01/.."
