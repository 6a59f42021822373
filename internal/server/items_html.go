package server

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/server/limit"
	"grense/internal/server/page"
	"grense/internal/store"
)

// itemsView is what the page of features shows.
type itemsView struct {
	Columns  []column      // the first is the one that leads to the pages of features
	Shown    int           // columns that the table has
	All      int           // columns that it would have, were they not too many
	Schema   string        // path of the page that lists them
	Returned int           // rows
	Table    template.HTML // the rows
	Lead     string        // which of how many they are
	Whole    string        // heading of the files
	Prev     string
	Next     string
	Map      template.HTML
	Files    []page.DownloadLink // with all features that match
	Filters  []filterField
	Limit    int
	Most     int // that Limit may be
	Datetime bool
	BBox     bool

	Elsewhere string // page of the versions at the time that is asked for, of features that have none; "": there are none

	Action string      // path that the form asks, below the mount
	Chips  []chip      // what was asked, each to be taken back
	Near   *page.Crumb // the page of a name that is much like the one that was asked, of which nothing was found; nil: none
	Sorts  page.Choices
	Hidden []hiddenValue

	Search                                                    bool   // there are texts to search
	BoxValue, TimeValue, FilterValue, SearchValue, LimitValue string // of the parameters bbox, datetime, filter, q and limit, as asked
	Example, Fallback                                         string // a filter that finds something of what is shown, and one that finds something elsewhere
	page.Faulty
}

// itemRow is a feature in a table.
type itemRow struct {
	ID, Href string
	Cells    []page.Value
	Columns  []*store.Property // of the cells; nil for the id
}

// append writes the row as an element. A page may hold thousands of cells, for which templates are slow.
func (r itemRow) append(dst []byte) []byte {
	head := r.Cells[0] // leads to the page of the feature: its title, or its id where it has none
	if head.Text == "" {
		head = page.Value{Text: r.ID}
	}
	dst = append(append(append(dst, `<tr><th scope="row"><a href="`...), template.HTMLEscapeString(r.Href)...), '"')
	dst = append(append(append(dst, page.LangAttribute(head.Lang)...), '>'), template.HTMLEscapeString(head.Label())...)
	dst = append(dst, "</a></th>"...)
	for i, s := range r.Cells[1:] {
		if p := r.Columns[i+1]; p != nil && numeric(p) {
			dst = append(dst, `<td class="number">`...)
		} else {
			dst = append(dst, "<td>"...)
		}
		dst = append(append(dst, s.HTML()...), "</td>"...)
	}
	return append(dst, "</tr>\n"...)
}

// itemsPage writes the page of features: a table without geometry.
func (c *Call) itemsPage(w http.ResponseWriter, p *store.Page) error {
	read, err := c.readRows(p, c.tableOrder())
	if err != nil {
		return err
	}
	drawn, err := c.itemsMap(read.outlines, p.Rows)
	if err != nil {
		return err
	}
	if len(p.Rows) >= limit.ManyFeatures {
		if err := c.writing(); err != nil {
			return err
		}
	}
	pg, err := c.itemsDoc(p, read, drawn)
	c.Response.resting() // a question follows
	if err != nil {
		return err
	}
	return c.writePage(w, pg)
}

// ofThePage are the parameters of a page of features that do not say which features there are, nor how they are written.
var ofThePage = []string{"f", "lang", "limit", "offset", "cursor", "resulttype"}

// chosenBy is what a page of features is chosen by, and how they are written.
func (c *Call) chosenBy() []string { return c.Replay(ofThePage...) }

// itemsDoc is the page of features.
func (c *Call) itemsDoc(p *store.Page, read rowsRead, drawn template.HTML) (*page.Page, error) {
	path := "/collections/" + c.Collection.ID + "/items"
	near, err := c.nearItems(p)
	if err != nil {
		return nil, err
	}
	v := &itemsView{Limit: c.Items().Query.Limit, Most: mostOnPage, BBox: c.Collection.Geometry != nil, Returned: len(p.Rows),
		Near: near, Schema: "/collections/" + c.Collection.ID + "/schema", Example: read.example,
		Table: template.HTML(read.table), Map: drawn}
	_, v.Datetime = c.Collection.During()
	if href := c.versionsElsewhere(""); href != "" {
		v.Elsewhere = c.AsPage(href)
	}
	v.Files = c.pageDownloads(c.chosenBy(), p.Matched)
	if err := c.fillForm(v); err != nil {
		return nil, err
	}
	v.Lead, v.Whole = c.tellItems(p, v.Chips != nil)
	if p.Prev != "" {
		v.Prev = c.pageHref(path, p.Prev)
	}
	if p.Next != "" {
		v.Next = c.pageHref(path, p.Next)
	}
	order := c.tableOrder()
	v.All, v.Columns = len(c.visible()), make([]column, len(order))
	for i, pr := range order {
		if pr == nil {
			v.Columns[i] = column{Title: c.Text("items.id")}
			continue
		}
		v.Columns[i] = c.sortable(pr)
		v.Shown++
	}
	pg := &page.Page{Name: "items", Title: c.TitleOf(c.Collection), Crumbs: c.Crumbs("collection"), Data: v, Script: true, LD: template.JS(read.list)}
	if pg.Empty = len(p.Rows) == 0; !pg.Empty {
		pg.Copies = c.copies(path + "?" + strings.Join(append([]string{"f=json"}, c.Replay("f", "lang")...), "&"))
	}
	return pg, nil
}

// nearItems is the page of the name that is most like the one that alone was asked for, and that nothing has; nil where none is near.
func (c *Call) nearItems(p *store.Page) (*page.Crumb, error) {
	n, name := 0, "q"
	c.eachReplayed(func(string, string) { n++ }, append([]string{"sortby"}, ofThePage...)...)
	if p.Matched != 0 || n != 1 {
		return nil, nil
	}
	if title, _ := c.Collection.Find(c.Collection.TitleProperty); First(c.Values["q"]) == "" && title != nil {
		if names := c.asksOf(title); len(names) > 0 {
			name = names[0]
		}
	}
	asked := First(c.Values[name])
	if asked == "" {
		return nil, nil
	}
	near, err := c.NearName(asked, []*store.Collection{c.Collection})
	if err != nil || near == "" || near == asked {
		return nil, err
	}
	query := append([]string{"f=html"}, c.Replay("f", name, "offset", "cursor")...)
	return &page.Crumb{Title: near, Href: c.Base() + "/collections/" + c.Collection.ID + "/items?" + strings.Join(append(query, QueryEscape(name)+"="+QueryEscape(near)), "&")}, nil
}

// tellItems says which features a page has, of how many; and what files with all of them are called. chosen says that not all of the collection are asked for.
func (c *Call) tellItems(p *store.Page, chosen bool) (lead, whole string) {
	count := func(n int) string { return page.InDigits(strconv.Itoa(n), c.Lang) }
	first, last := 0, 0 // numbers of the first and the last row; a cursor does not tell them
	if q := &c.Items().Query; q.Cursor == "" {
		first, last = q.Offset+1, q.Offset+len(p.Rows)
	}
	if whole = c.Text("items.files-uncounted"); p.Matched >= 0 {
		whole = c.Text("items.files", count(p.Matched))
	}
	switch found := c.found(p.Matched, chosen); {
	case p.Matched == 0:
		lead = c.Text("items.none") + c.soughtWords() + "."
	case p.Matched < 0 && first > 0:
		lead = c.Text("items.unknown", count(first), count(last))
	case p.Matched < 0:
		lead = c.Text("items.uncounted", count(len(p.Rows)))
	case len(p.Rows) == 0 || first == 1 && last == p.Matched:
		lead = found + "."
	case first > 0:
		lead = c.Text("items.range", count(first), count(last), found)
	default:
		lead = c.Text("items.some", count(len(p.Rows)), found)
	}
	return lead, whole
}

// mostColumns is how many columns are read for a page at most, and how many of them the form offers as fields and as orders. More are for programs.
const mostColumns = 40

// tableColumns is how many columns a table has at most, where none are chosen: the title, what it is sorted by, the id, what was asked for, and the next.
const tableColumns = 6

// visible are the properties of the call's collection that people may see, or those of them that were chosen.
func (c *Call) visible() (out []*store.Property) {
	coll := c.selected()
	for i := range coll.Properties {
		if p := &coll.Properties[i]; !p.Hidden {
			out = append(out, p)
		}
	}
	return out
}

// tableOrder are the properties that a table shows, in the order chosen, or with those first that tell what was found. The first of them is the
// title, else the id; nil stands for an id that is no property.
func (c *Call) tableOrder() []*store.Property {
	all := c.visible()
	title, id := c.Collection.TitleProperty, c.Collection.Key.Property
	has := func(name string) bool {
		return name != "" && slices.ContainsFunc(all, func(p *store.Property) bool { return p.Name == name })
	}
	if !has(title) {
		title = id
	}
	language := LanguageProperty(c.Collection) // without it titles have no language
	rank := func(p *store.Property) int {
		switch {
		case p.Name == title:
			return 0
		case c.sortedBy(p.Name):
			return 1
		case p.Name == id:
			return 2
		case c.Field(p.Name) != nil && len(c.asksOf(p)) > 0, language != nil && p.Name == language.Name:
			return 3
		}
		return 4
	}
	most, last := mostColumns, 1
	if c.output().Properties == nil {
		most, last = tableColumns, 4
	}
	byRank := make([][]*store.Property, last+1)
	for _, p := range all {
		n := min(rank(p), last)
		byRank[n] = append(byRank[n], p)
	}
	all = slices.Concat(byRank...)
	if !has(title) { // the id is no property, or was not chosen
		all = slices.Insert(all, 0, nil)
	}
	return all[:min(len(all), most)]
}

// sortedBy reports whether it was asked to sort by a property.
func (c *Call) sortedBy(name string) bool {
	return First(c.Values["sortby"]) != "" && slices.ContainsFunc(c.Items().Query.SortBy, func(s store.Sort) bool { return s.Property == name })
}

// itemView is what the page of one feature shows.
type itemView struct {
	Title      string
	TitleLang  string // "" when it is that of the page, or not known
	ID         string
	IDShown    bool   // some property is the id
	Versions   string // page of all versions; "": features have none
	Properties []propertyView
	named      bool   // Title is its name
	Geometry   string // kind, in words; "" when there is none
	Map        template.HTML
	box        *orb.Bound // in the storage CRS
	Elsewhere  string     // page of the versions at the time that is asked for; "": none
	Prev, Next neighbour
	Belongs    []belonging  // what this feature belongs to
	Parts      []page.Crumb // features of other collections that refer to this one
	History    *itemHistory
	Changes    []eventChange // of an event
}

// neighbour is the feature before or after another one; with an empty Href there is none.
type neighbour struct {
	ID, Href string
	Title    page.Value
}

// belonging is a feature that a feature refers to, with the title of its collection.
type belonging struct {
	Kind string
	page.Value
}

// propertyView is a property with its value.
type propertyView struct {
	column
	Value page.Value
}

func (c *Call) itemView(f *store.Feature) (*itemView, error) {
	v := &itemView{ID: f.Public(), Title: c.TitleOf(c.Collection) + " " + f.Public()} // its name, where it has one
	i := 0
	for j := range c.Collection.Properties {
		p := &c.Collection.Properties[j]
		if p.Hidden {
			continue
		}
		pv := propertyView{column: c.columnOf(p), Value: c.Show(p, f.Values[i])}
		v.IDShown = v.IDShown || p.Name == c.Collection.Key.Property
		if p.Name == c.Collection.TitleProperty && pv.Value.Text != "" {
			v.Title, v.named = pv.Value.Text, true
		}
		v.Properties = append(v.Properties, pv)
		i++
	}
	if !f.Geometry.IsNull() {
		g, err := f.Geometry.Orb()
		if err != nil {
			return nil, fmt.Errorf("server: feature %q of %s: %w", f.Public(), c.Collection.ID, err)
		}
		v.Geometry = c.Text("type." + geometryFormat(g.GeoJSONType()))
		if b, ok, _ := f.Geometry.Bound(); ok {
			v.box = &b
		}
	}
	return v, nil
}

// nameItem puts names in the place of codes and ids on the page of a feature, and on the links to those before and after it.
func (c *Call) nameItem(v *itemView) error {
	var props []*store.Property
	values := []page.Value{}
	for i := range v.Properties {
		p, _ := c.Collection.Find(v.Properties[i].Name)
		props, values = append(props, p), append(values, v.Properties[i].Value)
	}
	if err := c.NameAll(c.Collection, props, [][]page.Value{values}); err != nil {
		return err
	}
	for i, p := range props {
		v.Properties[i].Value = values[i]
		if p.Name == c.Collection.TitleProperty {
			v.TitleLang = values[i].Lang
		}
		if other := c.RefersTo(p); other != nil {
			v.belong(c.OneOf(other), values[i])
		}
	}
	var err error
	if v.Parts, err = c.partsOf(v); err != nil {
		return err
	}
	var ids []string
	for _, n := range []*neighbour{&v.Prev, &v.Next} {
		if n.ID != "" {
			ids = append(ids, n.ID)
		}
	}
	titles, err := c.titles(c.Collection, ids)
	for _, n := range []*neighbour{&v.Prev, &v.Next} {
		n.Title, n.Href = page.Value{Text: n.ID}, c.itemHref(n.ID)
		if t, ok := titles[n.ID]; ok {
			n.Title = t
		}
	}
	return err
}

// belong adds what a value names to what the feature belongs to, or what each element of a list does, unless it is there.
func (v *itemView) belong(kind string, s page.Value) {
	for _, x := range s.Parts {
		v.belong(kind, x)
	}
	if !s.Away && strings.Contains(s.Href, "/items/") && !slices.ContainsFunc(v.Belongs, func(b belonging) bool { return b.Href == s.Href }) {
		v.Belongs = append(v.Belongs, belonging{kind, s})
	}
}

// OneOf is what one feature of a collection is called; the title of the collection where no catalogue knows it.
func (c *Call) OneOf(coll *store.Collection) string {
	switch coll.ID {
	case "fylker":
		return c.Text("one.fylker")
	case "kommuner":
		return c.Text("one.kommuner")
	}
	return c.TitleOf(coll)
}

// partsOf links to the features of other collections that refer to a feature of this one, with their number.
func (c *Call) partsOf(v *itemView) (out []page.Crumb, err error) {
	name := v.ID
	if v.named {
		name = v.Title
	}
	for _, coll := range c.Catalog.Collections {
		leads := func(p *store.Property) bool {
			return coll.Public && !p.Hidden && c.RefersTo(p) == c.Collection && !reserved[p.Name] && Simple(p.Type)
		}
		for i := range coll.Properties {
			p := &coll.Properties[i]
			if !leads(p) {
				continue
			}
			n, err := c.countOf(coll, p, v.ID)
			if err != nil {
				return nil, err
			}
			if n == 0 {
				continue
			}
			title := c.TitleOf(coll)
			if n > 0 {
				title = page.InDigits(strconv.Itoa(n), c.Lang) + " " + page.InsideSentence(title)
			}
			text := c.Text("item.parts-link", title, name)
			if by := c.columnOf(p).Title; slices.ContainsFunc(coll.Properties, func(x store.Property) bool { return x.Name != p.Name && leads(&x) }) {
				text += " (" + by + ")"
			}
			out = append(out, page.Crumb{Title: text, Href: c.HtmlHref("/collections/"+coll.ID+"/items") + "&" + QueryEscape(p.Name) + "=" + QueryEscape(v.ID)})
		}
	}
	return out, nil
}

// countOf is how many features of a collection have that value; -1 where counting would take long.
func (c *Call) countOf(coll *store.Collection, p *store.Property, value string) (n int, err error) {
	e, err := equals(p, value, c.Zone())
	if err == nil {
		e, err = cql2.Check(e, coll)
	}
	if err != nil {
		return -1, nil // an id that no value can be
	}
	err = c.Ask(func(ctx context.Context) error {
		page, err := c.s.Store.Page(ctx, c.Current(coll, store.Query{Filter: e, Limit: 1, Count: store.CountCheap}))
		if err != nil {
			return err
		}
		n = page.Matched
		return nil
	})
	return n, err
}

// itemHref is the page of a feature of the collection; "" for no id.
func (c *Call) itemHref(id string) string {
	if id == "" {
		return ""
	}
	return c.HtmlHref("/collections/" + c.Collection.ID + "/items/" + PathEscape(id) + c.datedQuery())
}

// sortable is a column of a table that can be sorted by it: once up, then down.
func (c *Call) sortable(p *store.Property) column {
	col := c.columnOf(p)
	if !Simple(p.Type) {
		return col
	}
	by := p.Name
	if keys := c.Items().Query.SortBy; First(c.Values["sortby"]) != "" && len(keys) > 0 && keys[0].Property == p.Name {
		col.Sorted = "descending"
		if !keys[0].Desc {
			col.Sorted, by = "ascending", "-"+p.Name
		}
	}
	col.Sort = c.Base() + "/collections/" + c.Collection.ID + "/items?" + strings.Join(append([]string{"f=html", "sortby=" + QueryEscape(by)}, c.Replay("f", "sortby", "offset", "cursor")...), "&")
	return col
}

func inputType(p *store.Property) string {
	switch t, format := JsonType(p.Type); {
	case format == "date":
		return "date"
	case t == "boolean":
		return t
	case t == "integer" || t == "number":
		return "number"
	}
	return "text"
}
