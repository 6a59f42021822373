package server

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"grense/internal/cql2"
	"grense/internal/history"
	"grense/internal/server/page"
	"grense/internal/store"
)

// filterField is what the form that filters has for a property.
type filterField struct {
	Name, Title, Type string
	Unit              string       // of the values; "" when they have none
	Value             string       // that was asked for exactly
	Options           page.Choices // the values there are; nil when any may be
	Inputs            []fieldInput
}

// fieldInput is an input of the form: the only one of a property, or one of its two bounds.
type fieldInput struct {
	Name, Label, Type, Mode, Value string // Label is "" where that of the property will do
	Fault                          *page.FieldFault
}

// hiddenValue is a parameter that the form sends on without showing it.
type hiddenValue struct{ Name, Value string }

// shownParams are the parameters of items that the form shows, or that start anew when it is sent.
var shownParams = []string{"limit", "offset", "cursor", "bbox", "datetime", "datetime_", "q", "filter", "sortby", "resulttype"}

// fillForm sets what the form over the features shows: the fields with what was asked, and what is sent on unseen.
func (c *Call) fillForm(v *itemsView) error {
	v.Action = "/collections/" + c.Collection.ID + "/items"
	v.BoxValue, v.TimeValue, v.FilterValue, v.SearchValue = First(c.Values["bbox"]), First(c.Values["datetime"]), First(c.Values["filter"]), First(c.Values["q"])
	v.LimitValue = cmp.Or(First(c.Values["limit"]), strconv.Itoa(v.Limit))
	for p := range c.Collection.Queryables() {
		_, shown := c.Collection.Find(p.Name)
		if c.Field(p.Name) != nil && (shown && len(v.Filters) < mostColumns || len(c.asksOf(p)) > 0) {
			f := filterField{Name: p.Name, Title: c.columnOf(p).Title, Type: inputType(p), Value: First(c.Values[p.Name]), Unit: p.Unit}
			var err error
			if f.Options, err = c.options(p, f.Value); err != nil {
				return err
			}
			v.addInputs(c, p, &f)
			v.Filters = append(v.Filters, f)
		}
	}
	v.Search = len(c.Collection.SearchNames()) > 0
	v.Sorts = c.sortChoices()
	for _, p := range c.Route.Params {
		if !slices.Contains(shownParams, p.Name) {
			for _, x := range c.Values[p.Name] {
				v.Hidden = append(v.Hidden, hiddenValue{p.Name, x})
			}
		}
	}
	v.Chips = c.chips(v)
	if len(v.Filters) > 0 {
		v.Fallback = filterName(v.Filters[0].Name) + " IS NOT NULL"
		for _, f := range v.Filters {
			if p, _ := c.Collection.Queryable(f.Name); p.Type == cql2.TypeNumber || p.Type == cql2.TypeInteger {
				v.Fallback = filterName(f.Name) + " > 0"
				break
			}
		}
	}
	return nil
}

// soughtWords says what words asked for features, beginning with a blank; "" for none.
func (c *Call) soughtWords() string {
	if words := First(c.Values["q"]); words != "" {
		return " " + c.Text("items.for", words)
	}
	if title, _ := c.Collection.Find(c.Collection.TitleProperty); title != nil {
		if names := c.asksOf(title); len(names) > 0 {
			return " " + c.Text("items.for", First(c.Values[names[0]]))
		}
	}
	return ""
}

// found says how many features there are, of what.
func (c *Call) found(matched int, chosen bool) string {
	n := page.InDigits(strconv.Itoa(matched), c.Lang)
	switch {
	case !chosen && matched == 1:
		return c.Text("collections.count-one")
	case !chosen:
		return c.Text("collections.count", n)
	case matched == 1:
		return c.Text("items.hit") + c.soughtWords()
	}
	return c.Text("items.hits", n) + c.soughtWords()
}

// example is a filter that a feature fulfils, by a number it has, else by the beginning of a text; "" for none.
func example(props []*store.Property, at []int, values []any) (text string) {
	for i, p := range props {
		if p == nil || at[i] < 0 || p.Ref != "" || p.CodeList != "" {
			continue
		}
		var x float64
		switch v := values[at[i]].(type) {
		case float64:
			x = v
		case int64:
			x = float64(v)
		case string:
			if r, size := utf8.DecodeRuneInString(v); p.Type == cql2.TypeText && text == "" && unicode.IsLetter(r) {
				text = filterName(p.Name) + " LIKE '" + v[:size] + "%'"
			}
		}
		if x > 0 {
			unit := math.Pow(10, math.Floor(math.Log10(x)))
			return filterName(p.Name) + " >= " + page.Number(math.Floor(x/unit)*unit)
		}
	}
	return text
}

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// filterName is the name of a property as it stands in a filter.
func filterName(s string) string {
	if plainName.MatchString(s) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// addInputs gives a field its inputs, unless it is a choice: bounds of numbers, days and moments, words of a text. What was asked for exactly stands in
// them, too; then what is sent asks for that and what is like it.
func (v *itemsView) addInputs(c *Call, p *store.Property, f *filterField) {
	if f.Options != nil || f.Type == "boolean" {
		return
	}
	names := endings(p)
	if Elements(p) || names == nil || slices.ContainsFunc(names, func(e string) bool { return c.Field(p.Name+e) != nil }) {
		names = []string{""}
	}
	for _, ending := range names {
		in := fieldInput{Name: p.Name + ending, Label: c.endingText(ending), Type: f.Type, Value: First(c.Values[p.Name+ending])}
		if in.Value == "" {
			in.Value = f.Value
		} else if ending != "" && f.Value != "" { // both
			v.keep(p.Name, f.Value)
		}
		if in.Fault = v.Fault(in.Name); in.Fault == nil && in.Value == f.Value {
			in.Fault = v.Fault(p.Name)
		}
		switch {
		case in.Type == "number": // which browsers empty of what they do not know
			in.Type, in.Mode = "text", "decimal"
		case in.Type == "date" && in.Value != "" && !page.IsDay(in.Value):
			in.Type = "text"
		}
		f.Inputs = append(f.Inputs, in)
	}
}

// keep makes the form send a parameter on unseen, once.
func (v *itemsView) keep(name, value string) {
	if x := (hiddenValue{name, value}); !slices.Contains(v.Hidden, x) {
		v.Hidden = append(v.Hidden, x)
	}
}

// chip is a condition that was asked, and the page without it.
type chip struct{ Title, Value, Href string }

// chips are the conditions of a page of features.
func (c *Call) chips(v *itemsView) (out []chip) {
	add := func(name, title, value string) {
		if value == "" {
			return
		}
		rest := append([]string{"f=html"}, c.Replay(name, "f", "offset", "cursor")...)
		out = append(out, chip{title, value, page.LocalPath(c.Base()) + v.Action + "?" + strings.Join(rest, "&")})
	}
	add("q", c.Text("items.search"), v.SearchValue)
	for _, f := range v.Filters {
		value := f.Value
		p, _ := c.Collection.Queryable(f.Name)
		for _, name := range c.asksOf(p) {
			if ending := name[len(p.Name):]; ending != "" {
				add(name, strings.TrimSuffix(f.Title+" "+c.endingText(ending), " "), c.chipText(p, First(c.Values[name])))
			}
		}
		for _, o := range f.Options {
			if o.Selected {
				value = o.Title
			}
		}
		if f.Type == "boolean" && value != "" {
			value = c.Text(map[string]string{"true": "items.yes", "false": "items.no"}[value])
		}
		add(f.Name, f.Title, value)
	}
	add("bbox", c.Text("items.bbox"), v.BoxValue)
	add("datetime", c.Text("items.datetime"), c.periodText(v.TimeValue))
	add("filter", c.Text("items.expression"), v.FilterValue)
	return out
}

// chipText writes what was asked of a property for people.
func (c *Call) chipText(p *store.Property, asked string) string {
	if p.Type == cql2.TypeDate || p.Type == cql2.TypeTimestamp {
		asked, _ = c.dateText(asked)
	}
	return asked
}

// options are the values that a property may have, with asked as the one selected: those that the source declares, the codes of its
// list, or the features that it refers to. nil when any value may be, or there are too many.
func (c *Call) options(p *store.Property, asked string) (out page.Choices, err error) {
	for _, x := range p.Enum {
		title := x
		if tellsKind(c.Collection, p) {
			title = c.KindText(history.Kind(x))
		}
		out = append(out, page.Choice{Value: x, Title: title})
	}
	list, ours := strings.CutPrefix(p.CodeList, "/codelists/")
	other, ok := c.Catalog.Collection(p.Ref)
	switch {
	case out != nil:
	case ok && other.Public && other.Count <= optionsMost:
		out, err = c.optionsFrom(other)
	case ours:
		var names *nameList
		if names, err = c.CodeNames(list); err != nil || len(names.Codes) > optionsMost {
			return nil, err
		}
		for _, code := range names.Codes {
			s := page.Value{Text: code}.Named(c.InLanguage(names.Of[code]), "")
			out = append(out, page.Choice{Value: code, Title: s.Label(), Lang: s.Lang})
		}
	}
	if out == nil || err != nil {
		return nil, err
	}
	for i := range out {
		out[i].Selected = out[i].Value == asked
	}
	if asked != "" && !slices.ContainsFunc(out, func(x page.Choice) bool { return x.Selected }) {
		out = append(out, page.Choice{Value: asked, Title: asked, Selected: true})
	}
	return out, nil
}

// sortChoices are the orders that the form offers: the usual one, each property in both directions, and the one that was asked when
// it is none of these.
func (c *Call) sortChoices() page.Choices {
	asked := First(c.Values["sortby"])
	out := page.Choices{{Title: c.Text("items.sort-usual"), Selected: asked == ""}}
	names := sortableNames(c.Collection)
	for _, name := range names[:min(len(names), mostColumns)] {
		p, shown := c.Collection.Find(name)
		if !shown {
			continue
		}
		title := c.columnOf(p).Title
		out = append(out, page.Choice{Value: name, Title: c.Text("items.sort-up", title), Selected: asked == name || asked == "+"+name || asked == " "+name},
			page.Choice{Value: "-" + name, Title: c.Text("items.sort-down", title), Selected: asked == "-"+name})
	}
	if !slices.ContainsFunc(out, func(x page.Choice) bool { return x.Selected }) {
		out = append(out, page.Choice{Value: asked, Title: asked, Selected: true})
	}
	return out
}
