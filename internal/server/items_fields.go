package server

import (
	"context"
	"html/template"
	"slices"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/store"
)

// filterField is an input of the form that filters.
type filterField struct {
	Name, Title, Type, Value string
	Unit                     string  // of the values; "" when they have none
	Options                  choices // the values there are; nil when any may be
}

// choice is an option of a select in a form.
type choice struct {
	Value, Title string
	Lang         string // of the title; "" when it is that of the page, or not known
	Selected     bool
}

// choices are the options of a select.
type choices []choice

// HTML is the option elements, in order. There may be hundreds, for which templates are slow.
func (xs choices) HTML() template.HTML {
	var b strings.Builder
	for _, x := range xs {
		selected := ""
		if x.Selected {
			selected = " selected"
		}
		b.WriteString(`<option value="` + template.HTMLEscapeString(x.Value) + `"` + langAttribute(x.Lang) + selected + ">" + template.HTMLEscapeString(x.Title) + "</option>\n")
	}
	return template.HTML(b.String())
}

// hiddenValue is a parameter that the form sends on without showing it.
type hiddenValue struct{ Name, Value string }

// shownParams are the parameters of items that the form shows, or that start anew when it is sent.
var shownParams = []string{"limit", "offset", "cursor", "bbox", "datetime", "datetime_", "q", "filter", "sortby", "resulttype"}

// fillForm sets what the form over the features shows: the fields with what was asked, and what is sent on unseen.
func (c *call) fillForm(v *itemsView) error {
	v.Action = "/collections/" + c.coll.ID + "/items"
	v.BoxValue, v.TimeValue, v.FilterValue, v.SearchValue = c.items().bbox, first(c.values["datetime"]), first(c.values["filter"]), first(c.values["q"])
	for i := range c.coll.Properties {
		p := &c.coll.Properties[i]
		if asked := first(c.values[p.Name]) != ""; (asked || len(v.Filters) < mostColumns) && c.field(p.Name) != nil {
			f := filterField{Name: p.Name, Title: c.columnOf(p).Title, Type: inputType(p), Value: first(c.values[p.Name]), Unit: p.Unit}
			var err error
			if f.Options, err = c.options(p, f.Value); err != nil {
				return err
			}
			v.Filters = append(v.Filters, f)
		}
	}
	v.Search = len(c.coll.SearchNames()) > 0
	v.Sorts = c.sortChoices()
	for _, p := range c.rt.Params {
		if !slices.Contains(shownParams, p.Name) {
			for _, x := range c.values[p.Name] {
				v.Hidden = append(v.Hidden, hiddenValue{p.Name, x})
			}
		}
	}
	v.Chips = c.chips(v)
	return nil
}

// chip is a condition that was asked, and the page without it.
type chip struct{ Title, Value, Href string }

// chips are the conditions of a page of features.
func (c *call) chips(v *itemsView) (out []chip) {
	add := func(name, title, value string) {
		if value == "" {
			return
		}
		rest := append([]string{"f=html"}, c.replay(name, "f", "offset", "cursor")...)
		out = append(out, chip{title, value, localPath(c.base()) + v.Action + "?" + strings.Join(rest, "&")})
	}
	add("q", c.text("items.search"), v.SearchValue)
	for _, f := range v.Filters {
		value := f.Value
		for _, o := range f.Options {
			if o.Selected {
				value = o.Title
			}
		}
		if f.Type == "boolean" && value != "" {
			value = c.text(map[string]string{"true": "items.yes", "false": "items.no"}[value])
		}
		add(f.Name, f.Title, value)
	}
	add("bbox", c.text("items.bbox"), v.BoxValue)
	add("datetime", c.text("items.datetime"), v.TimeValue)
	add("filter", c.text("items.expression"), v.FilterValue)
	return out
}

// optionsMost is how many values the form offers for choice, at most.
const optionsMost = 500

// options are the values that a property may have, with asked as the one selected: those that the source declares, the codes of its
// list, or the features that it refers to. nil when any value may be, or there are too many.
func (c *call) options(p *store.Property, asked string) (out choices, err error) {
	for _, x := range p.Enum {
		out = append(out, choice{Value: x, Title: x})
	}
	list, ours := strings.CutPrefix(p.CodeList, "/codelists/")
	other, ok := c.cat.Collection(p.Ref)
	switch {
	case out != nil:
	case ok && other.Public && other.Count <= optionsMost:
		out, err = c.optionsFrom(other)
	case ours:
		var names *nameList
		if names, err = c.codeNames(list); err != nil || len(names.codes) > optionsMost {
			return nil, err
		}
		for _, code := range names.codes {
			s := shown{Text: code}.named(c.inLanguage(names.of[code]), "")
			out = append(out, choice{Value: code, Title: s.Label(), Lang: s.Lang})
		}
	}
	if out == nil || err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Selected = out[i].Value == asked
	}
	if asked != "" && !slices.ContainsFunc(out, func(x choice) bool { return x.Selected }) {
		out = append(out, choice{Value: asked, Title: asked, Selected: true})
	}
	return out, nil
}

// optionsFresh is how long the features that a form offers are cached. Rows of a database may change within it: then the form offers those that were.
const optionsFresh = time.Minute

// choiceSize is what a choice takes besides its texts, in bytes.
const choiceSize = 64

// optionsKey names the features of a collection of a catalog that forms offer.
type optionsKey struct{ version, collection, lang string }

type offeredList struct {
	made    time.Time
	state   string  // of the data, where the answer that it was made for is kept; else ""
	choices choices // immutable
}

// optionsFrom are the features of a small collection, by id. The caller owns them.
func (c *call) optionsFrom(coll *store.Collection) (choices, error) {
	key := optionsKey{c.cat.Version, coll.ID, c.lang}
	if l, ok := c.s.offered.Get(key); ok && l.choices != nil && time.Since(l.made) < optionsFresh && c.fits(l) {
		return slices.Clone(l.choices), nil
	}
	out, err := c.readOptions(coll)
	if err != nil {
		return nil, err
	}
	size := len(key.version) + len(key.collection)
	for _, x := range out {
		size += choiceSize + len(x.Value) + len(x.Title)
	}
	c.s.offered.Put(key, offeredList{time.Now(), c.keptState(), out}, int64(size))
	return slices.Clone(out), nil
}

// keptState is the state of the data that an answer that is to be kept is made of; "" for any other.
func (c *call) keptState() string {
	if c.keep == nil {
		return ""
	}
	return c.keep.state
}

// fits reports whether a list may stand in the answer: in one that is to be kept only a list of the same state of the data.
func (c *call) fits(l offeredList) bool { return c.keep == nil || l.state == c.keep.state }

// readOptions asks the store for the features of a small collection.
func (c *call) readOptions(coll *store.Collection) (out choices, err error) {
	var page *store.Page
	err = c.ask(func(ctx context.Context) (err error) {
		page, err = c.s.store.Page(ctx, c.current(coll, store.Query{Limit: optionsMost, Count: store.CountNone}))
		return err
	})
	if err != nil {
		return nil, err
	}
	ids, err := c.publicIDs(coll, page.Rows)
	if err != nil {
		return nil, err
	}
	titles, err := c.titles(coll, ids)
	for _, id := range ids {
		s := shown{Text: id}.named(titles[id], "")
		s.Number = s.Number && coll.Key.Type == cql2.TypeText
		out = append(out, choice{Value: id, Title: s.Label(), Lang: s.Lang})
	}
	return out, err
}

// sortChoices are the orders that the form offers: the usual one, each property in both directions, and the one that was asked when
// it is none of these.
func (c *call) sortChoices() choices {
	asked := first(c.values["sortby"])
	out := choices{{Title: c.text("items.sort-usual"), Selected: asked == ""}}
	names := sortableNames(c.coll)
	for _, name := range names[:min(len(names), mostColumns)] {
		p, _ := c.coll.Find(name)
		title := c.columnOf(p).Title
		out = append(out, choice{Value: name, Title: c.text("items.sort-up", title), Selected: asked == name || asked == "+"+name || asked == " "+name},
			choice{Value: "-" + name, Title: c.text("items.sort-down", title), Selected: asked == "-"+name})
	}
	if !slices.ContainsFunc(out, func(x choice) bool { return x.Selected }) {
		out = append(out, choice{Value: asked, Title: asked, Selected: true})
	}
	return out
}
