package features

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
	"grense/internal/server"
	"grense/internal/server/limit"
	"grense/internal/server/page"
	"grense/internal/server/queryable"
	"grense/internal/server/schema"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// itemsView is the view model of the page of features.
type itemsView struct {
	Columns  []server.Column // the first contains the links to the features
	Shown    int             // number of columns in the table
	All      int             // number of columns before the table was limited
	Schema   string          // path of the page that lists all properties
	Returned int             // number of rows
	Table    template.HTML   // the rows
	Lead     string          // "1-100 of 357", localized
	Whole    string          // heading of the links to files
	Prev     string
	Next     string
	Map      template.HTML
	Files    []page.DownloadLink // files with all matching features
	Filters  []filterField
	Limit    int
	Most     int // maximum of Limit
	Datetime bool
	BBox     bool

	// page of the versions at the requested time, if the features have no versions here; "" for none
	Elsewhere string

	Action string // path of the form, below the mount
	Chips  []chip // conditions, each with an address without it
	// the page of a similar name, if nothing has the requested name; nil for none
	Near   *page.Crumb
	Sorts  page.Choices
	Hidden []hiddenValue

	Search bool // the collection has texts to search
	// values of bbox, datetime, filter, q and limit, as in the request
	BoxValue, TimeValue, FilterValue, SearchValue, LimitValue string
	// a filter that matches a feature of the page, and one that matches elsewhere
	Example, Fallback string
	page.Faulty
}

// itemRow is a feature in a table.
type itemRow struct {
	ID, Href string
	Cells    []page.Value
	Columns  []*store.Property // properties of the cells; nil for the id
}

// append writes the row as HTML. A page may have thousands of cells, for which templates are slow.
func (r itemRow) append(dst []byte) []byte {
	head := r.Cells[0] // links to the page of the feature: its title, or its id if it has none
	if head.Text == "" {
		head = page.Value{Text: r.ID}
	}
	dst = append(append(append(dst, `<tr><th scope="row"><a href="`...), template.HTMLEscapeString(r.Href)...), '"')
	dst = append(append(append(dst, page.LangAttribute(head.Lang)...), '>'), template.HTMLEscapeString(head.Label())...)
	dst = append(dst, "</a></th>"...)
	for i, s := range r.Cells[1:] {
		if p := r.Columns[i+1]; p != nil && server.Numeric(p) {
			dst = append(dst, `<td class="number">`...)
		} else {
			dst = append(dst, "<td>"...)
		}
		dst = append(append(dst, s.HTML()...), "</td>"...)
	}
	return append(dst, "</tr>\n"...)
}

// itemsPage writes the page of features: a table without geometries.
func (c *call) itemsPage(w http.ResponseWriter, p *store.Page) error {
	read, err := c.readRows(p, c.tableOrder())
	if err != nil {
		return err
	}
	drawn, err := c.ItemsMap(read.outlines, p.Rows)
	if err != nil {
		return err
	}
	if len(p.Rows) >= limit.ManyFeatures {
		if err := c.Writing(c.Request.Context()); err != nil {
			return err
		}
	}
	pg, err := c.itemsDoc(p, read, drawn)
	c.Response.Resting() // a query follows
	if err != nil {
		return err
	}
	return c.writePage(w, pg)
}

// ofThePage are the parameters that neither select features nor change how they are written.
var ofThePage = []string{"f", "lang", "limit", "offset", "cursor", "resulttype"}

// chosenBy returns the parameters that select features and change how they are written.
func (c *call) chosenBy() []string { return c.Replay(ofThePage...) }

// itemsDoc returns the page of features.
func (c *call) itemsDoc(p *store.Page, read rowsRead, drawn template.HTML) (*page.Page, error) {
	path := "/collections/" + c.Collection.ID + "/items"
	near, err := c.nearItems(p)
	if err != nil {
		return nil, err
	}
	v := &itemsView{Limit: c.Items().Query.Limit, Most: mostOnPage, BBox: c.Collection.Geometry != nil,
		Returned: len(p.Rows),
		Near:     near, Schema: "/collections/" + c.Collection.ID + "/schema", Example: read.example,
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
	v.All, v.Columns = len(c.visible()), make([]server.Column, len(order))
	for i, pr := range order {
		if pr == nil {
			v.Columns[i] = server.Column{Title: c.Text("items.id")}
			continue
		}
		v.Columns[i] = c.sortable(pr)
		v.Shown++
	}
	pg := &page.Page{Name: "items", Title: c.Collection.TitleIn(c.Lang), Crumbs: c.Crumbs("collection"), Data: v,
		Script: true, LD: template.JS(read.list)}
	if pg.Empty = len(p.Rows) == 0; !pg.Empty {
		pg.Copies = c.copies(path + "?" + strings.Join(append([]string{"f=json"}, c.Replay("f", "lang")...), "&"))
	}
	return pg, nil
}

// nearItems returns the page of the most similar name, if the request has one name only and no feature has it; nil if
// no name is similar.
func (c *call) nearItems(p *store.Page) (*page.Crumb, error) {
	n, name := 0, "q"
	c.EachReplayed(func(string, string) { n++ }, append([]string{"sortby"}, ofThePage...)...)
	if p.Matched != 0 || n != 1 {
		return nil, nil
	}
	if title, _ := c.Collection.Find(c.Collection.TitleProperty); server.First(c.Values["q"]) == "" && title != nil {
		if names := c.parametersOf(title); len(names) > 0 {
			name = names[0]
		}
	}
	asked := server.First(c.Values[name])
	if asked == "" {
		return nil, nil
	}
	near, err := c.NearName(asked, []*store.Collection{c.Collection})
	if err != nil || near == "" || near == asked {
		return nil, err
	}
	query := append([]string{"f=html"}, c.Replay("f", name, "offset", "cursor")...)
	return &page.Crumb{Title: near, Href: c.Base() + "/collections/" + c.Collection.ID + "/items?" +
		strings.Join(append(query, wire.QueryEscape(name)+"="+wire.QueryEscape(near)), "&")}, nil
}

// tellItems sets which features a page has, of how many, and the heading of the files with all of them. chosen
// reports that they are a part of the collection.
func (c *call) tellItems(p *store.Page, chosen bool) (lead, whole string) {
	count := func(n int) string { return page.InDigits(strconv.Itoa(n), c.Lang) }
	first, last := 0, 0 // numbers of the first and the last row; unknown after a cursor
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

// mostColumns limits the columns that are read for a page, and those that the form offers as fields and orders.
const mostColumns = 40

// tableColumns limits the columns of a table if none are chosen: the title, the sort keys, the id, the properties of
// conditions, and the next.
const tableColumns = 6

// visible returns the visible properties of the collection, or the chosen ones of them.
func (c *call) visible() (out []*store.Property) {
	coll := c.selected()
	for i := range coll.Properties {
		if p := &coll.Properties[i]; !p.Hidden {
			out = append(out, p)
		}
	}
	return out
}

// tableOrder returns the properties of a table, in the chosen order, or with those of the conditions first. The first
// is the title, or the id; nil stands for an id that is no property.
func (c *call) tableOrder() []*store.Property {
	all := c.visible()
	title, id := c.Collection.TitleProperty, c.Collection.Key.Property
	has := func(name string) bool {
		return name != "" && slices.ContainsFunc(all, func(p *store.Property) bool { return p.Name == name })
	}
	if !has(title) {
		title = id
	}
	language := server.LanguageProperty(c.Collection) // nil: titles have no language
	rank := func(p *store.Property) int {
		switch {
		case p.Name == title:
			return 0
		case c.sortedBy(p.Name):
			return 1
		case p.Name == id:
			return 2
		case queryable.Field(c.Collection, p.Name) != nil && len(c.parametersOf(p)) > 0,
			language != nil && p.Name == language.Name:
			return 3
		}
		return 4
	}
	most, last := mostColumns, 1
	if c.Output().Properties == nil {
		most, last = tableColumns, 4
	}
	byRank := make([][]*store.Property, last+1)
	for _, p := range all {
		n := min(rank(p), last)
		byRank[n] = append(byRank[n], p)
	}
	all = slices.Concat(byRank...)
	if !has(title) { // the id is no property, or it was not chosen
		all = slices.Insert(all, 0, nil)
	}
	return all[:min(len(all), most)]
}

// sortedBy reports whether the request sorts by a property.
func (c *call) sortedBy(name string) bool {
	return server.First(c.Values["sortby"]) != "" &&
		slices.ContainsFunc(c.Items().Query.SortBy, func(s store.Sort) bool { return s.Property == name })
}

// itemView is the view model of the page of one feature.
type itemView struct {
	Title      string
	TitleLang  string // "" if it is that of the page, or unknown
	ID         string
	IDShown    bool   // a property is the id
	Versions   string // page of all versions; "" if features have none
	Properties []propertyView
	named      bool   // Title is the name of the feature
	Geometry   string // kind, in words; "" for none
	Map        template.HTML
	box        *orb.Bound // in the storage CRS
	Elsewhere  string     // page of the versions at the requested time; "" for none
	Prev, Next neighbour
	Belongs    []belonging  // features that this one refers to
	Parts      []page.Crumb // features of other collections that refer to this one
	History    *itemHistory
	Changes    []eventChange // of an event
}

// neighbour is the feature before or after another one; Href is "" for none.
type neighbour struct {
	ID, Href string
	Title    page.Value
}

// belonging is a feature that another one refers to, with the title of its collection.
type belonging struct {
	Kind string
	page.Value
}

// propertyView is a property with its value.
type propertyView struct {
	server.Column
	Value page.Value
}

func (c *call) itemView(f *store.Feature) (*itemView, error) {
	// the name of the feature follows its id, if it has one
	v := &itemView{ID: f.Public(), Title: c.Collection.TitleIn(c.Lang) + " " + f.Public()}
	i := 0
	for j := range c.Collection.Properties {
		p := &c.Collection.Properties[j]
		if p.Hidden {
			continue
		}
		pv := propertyView{Column: server.ColumnOf(p, c.Lang), Value: c.Show(p, f.Values[i])}
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
		v.Geometry = c.Text("type." + schema.GeometryFormat(g.GeoJSONType()))
		if b, ok, _ := f.Geometry.Bound(); ok {
			v.box = &b
		}
	}
	return v, nil
}

// nameItem replaces codes and ids by names on the page of a feature, and in the links to the previous and the next
// one.
func (c *call) nameItem(v *itemView) error {
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
		if other := server.RefersTo(c.Catalog, p); other != nil {
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
	titles, err := c.Titles(c.Collection, ids)
	for _, n := range []*neighbour{&v.Prev, &v.Next} {
		n.Title, n.Href = page.Value{Text: n.ID}, c.itemHref(n.ID)
		if t, ok := titles[n.ID]; ok {
			n.Title = t
		}
	}
	return err
}

// belong adds the features that a value, or each element of a list, refers to, once each.
func (v *itemView) belong(kind string, s page.Value) {
	for _, x := range s.Parts {
		v.belong(kind, x)
	}
	if !s.Away && strings.Contains(s.Href, "/items/") &&
		!slices.ContainsFunc(v.Belongs, func(b belonging) bool { return b.Href == s.Href }) {
		v.Belongs = append(v.Belongs, belonging{kind, s})
	}
}

// partsOf returns links to the features of other collections that refer to this one, with their number.
func (c *call) partsOf(v *itemView) (out []page.Crumb, err error) {
	name := v.ID
	if v.named {
		name = v.Title
	}
	for _, coll := range c.Catalog.Collections {
		leads := func(p *store.Property) bool {
			return coll.Public && !p.Hidden && server.RefersTo(c.Catalog, p) == c.Collection &&
				!queryable.Reserved[p.Name] && queryable.Simple(p.Type)
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
			title := coll.TitleIn(c.Lang)
			if n > 0 {
				title = page.InDigits(strconv.Itoa(n), c.Lang) + " " + page.InsideSentence(title)
			}
			text := c.Text("item.parts-link", title, name)
			if by := p.TitleIn(c.Lang); slices.ContainsFunc(coll.Properties,
				func(x store.Property) bool { return x.Name != p.Name && leads(&x) }) {
				text += " (" + by + ")"
			}
			out = append(out, page.Crumb{Title: text, Href: c.HtmlHref("/collections/"+coll.ID+"/items") + "&" +
				wire.QueryEscape(p.Name) + "=" + wire.QueryEscape(v.ID)})
		}
	}
	return out, nil
}

// countOf returns how many features of a collection have that value; -1 if counting would take long.
func (c *call) countOf(coll *store.Collection, p *store.Property, value string) (n int, err error) {
	e, err := queryable.Equals(p, value, c.Zone())
	if err == nil {
		e, err = cql2.Check(e, coll)
	}
	if err != nil {
		return -1, nil // the id is no possible value
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

// itemHref returns the address of a feature of the collection; "" for no id.
func (c *call) itemHref(id string) string {
	if id == "" {
		return ""
	}
	return c.HtmlHref("/collections/" + c.Collection.ID + "/items/" + wire.PathEscape(id) + c.datedQuery())
}

// sortable is a column header that sorts the table: first ascending, then descending.
func (c *call) sortable(p *store.Property) server.Column {
	col := server.ColumnOf(p, c.Lang)
	if !queryable.Simple(p.Type) {
		return col
	}
	by := p.Name
	if keys := c.Items().Query.SortBy; server.First(c.Values["sortby"]) != "" && len(keys) > 0 &&
		keys[0].Property == p.Name {
		col.Sorted = "descending"
		if !keys[0].Desc {
			col.Sorted, by = "ascending", "-"+p.Name
		}
	}
	col.Sort = c.Base() + "/collections/" + c.Collection.ID + "/items?" +
		strings.Join(append([]string{"f=html", "sortby=" + wire.QueryEscape(by)},
			c.Replay("f", "sortby", "offset", "cursor")...), "&")
	return col
}

func inputType(p *store.Property) string {
	switch t, format := schema.TypeOf(p.Type); {
	case format == "date":
		return "date"
	case t == "boolean":
		return t
	case t == "integer" || t == "number":
		return "number"
	}
	return "text"
}
