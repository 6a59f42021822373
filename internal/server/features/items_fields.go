package features

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
	"grense/internal/server"
	"grense/internal/server/names"
	"grense/internal/server/page"
	"grense/internal/server/queryable"
	"grense/internal/store"
)

// filterField is a property in the filter form.
type filterField struct {
	Name, Title, Type string
	Unit              string       // of the values; "" for none
	Value             string       // the exact value of the request
	Options           page.Choices // all values; nil if any value is possible
	Inputs            []fieldInput
}

// fieldInput is an input of the form: the only one of a property, or one of its two bounds.
type fieldInput struct {
	Name, Label, Type, Mode, Value string // Label is "" if that of the property is enough
	Fault                          *page.FieldFault
}

// hiddenValue is a parameter that the form sends without showing it.
type hiddenValue struct{ Name, Value string }

// shownParams are the parameters that the form shows, or that it resets when it is sent.
var shownParams = []string{"limit", "offset", "cursor", "bbox", "datetime", "datetime_", "q", "filter", "sortby",
	"resulttype"}

// fillForm fills the form of the page: the fields with the values of the request, and the hidden values.
func (c *call) fillForm(v *itemsView) error {
	v.Action = "/collections/" + c.Collection.ID + "/items"
	v.BoxValue, v.TimeValue, v.FilterValue, v.SearchValue = server.First(c.Values["bbox"]),
		server.First(c.Values["datetime"]), server.First(c.Values["filter"]), server.First(c.Values["q"])
	v.LimitValue = cmp.Or(server.First(c.Values["limit"]), strconv.Itoa(v.Limit))
	for p := range c.Collection.Queryables() {
		_, shown := c.Collection.Find(p.Name)
		if queryable.Field(c.Collection, p.Name) != nil &&
			(shown && len(v.Filters) < mostColumns || len(c.parametersOf(p)) > 0) {
			f := filterField{Name: p.Name, Title: p.TitleIn(c.Lang), Type: inputType(p),
				Value: server.First(c.Values[p.Name]), Unit: p.Unit}
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

// soughtWords describes the searched words, beginning with a space; "" for none.
func (c *call) soughtWords() string {
	if words := server.First(c.Values["q"]); words != "" {
		return " " + c.Text("items.for", words)
	}
	if title, _ := c.Collection.Find(c.Collection.TitleProperty); title != nil {
		if names := c.parametersOf(title); len(names) > 0 {
			return " " + c.Text("items.for", server.First(c.Values[names[0]]))
		}
	}
	return ""
}

// found describes how many features there are, of which collection.
func (c *call) found(matched int, chosen bool) string {
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

// example returns a filter that matches a feature, by one of its numbers, or by the beginning of a text; "" for none.
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

// filterName returns the name of a property as a filter spells it.
func filterName(s string) string {
	if plainName.MatchString(s) {
		return s
	}
	return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
}

// addInputs gives a field its inputs, unless it is a choice: bounds for numbers, days and times, words for texts. An
// exact value of the request is shown in them as well; the form then sends a condition that includes that value.
func (v *itemsView) addInputs(c *call, p *store.Property, f *filterField) {
	if f.Options != nil || f.Type == "boolean" {
		return
	}
	names := queryable.Endings(p)
	if queryable.Elements(p) || names == nil ||
		slices.ContainsFunc(names, func(e string) bool { return queryable.Field(c.Collection, p.Name+e) != nil }) {
		names = []string{""}
	}
	for _, ending := range names {
		in := fieldInput{Name: p.Name + ending, Label: server.EndingText(c.Lang, ending), Type: f.Type,
			Value: server.First(c.Values[p.Name+ending])}
		if in.Value == "" {
			in.Value = f.Value
		} else if ending != "" && f.Value != "" { // the request has both
			v.keep(p.Name, f.Value)
		}
		if in.Fault = v.Fault(in.Name); in.Fault == nil && in.Value == f.Value {
			in.Fault = v.Fault(p.Name)
		}
		switch {
		case in.Type == "number": // browsers clear numbers that they cannot parse
			in.Type, in.Mode = "text", "decimal"
		case in.Type == "date" && in.Value != "" && !page.IsDay(in.Value):
			in.Type = "text"
		}
		f.Inputs = append(f.Inputs, in)
	}
}

// keep adds a hidden value to the form, once.
func (v *itemsView) keep(name, value string) {
	if x := (hiddenValue{name, value}); !slices.Contains(v.Hidden, x) {
		v.Hidden = append(v.Hidden, x)
	}
}

// chip is a condition of the request, with the address of the page without it.
type chip struct{ Title, Value, Href string }

// chips returns the conditions of a page of features.
func (c *call) chips(v *itemsView) (out []chip) {
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
		for _, name := range c.parametersOf(p) {
			if ending := name[len(p.Name):]; ending != "" {
				add(name, strings.TrimSuffix(f.Title+" "+server.EndingText(c.Lang, ending), " "),
					c.chipText(p, server.First(c.Values[name])))
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

// chipText describes a condition on a property for readers.
func (c *call) chipText(p *store.Property, asked string) string {
	if p.Type == cql2.TypeDate || p.Type == cql2.TypeTimestamp {
		asked, _ = c.DateText(asked)
	}
	return asked
}

// options returns the possible values of a property, with the requested one selected: the values that the source
// declares, the codes of its list, or the features that it refers to. It returns nil if any value is possible, or if
// there are too many.
func (c *call) options(p *store.Property, asked string) (out page.Choices, err error) {
	for _, x := range p.Enum {
		title := x
		if names.ShowsKind(c.Collection, p) {
			title = server.KindText(c.Lang, history.Kind(x))
		}
		out = append(out, page.Choice{Value: x, Title: title})
	}
	list, ours := strings.CutPrefix(p.CodeList, "/codelists/")
	other, ok := c.Catalog.Collection(p.Ref)
	switch {
	case out != nil:
	case ok && other.Public && other.Count <= names.OptionsMost:
		out, err = c.OptionsFrom(other)
	case ours:
		var known *names.NameList
		if known, err = c.CodeNames(list); err != nil || len(known.Codes) > names.OptionsMost {
			return nil, err
		}
		for _, code := range known.Codes {
			s := page.Value{Text: code}.Named(c.InLanguage(known.Of[code]), "")
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

// sortChoices returns the orders that the form offers: the default, each property in both directions, and the order
// of the request if it is another one.
func (c *call) sortChoices() page.Choices {
	asked := server.First(c.Values["sortby"])
	out := page.Choices{{Title: c.Text("items.sort-usual"), Selected: asked == ""}}
	names := sortableNames(c.Collection)
	for _, name := range names[:min(len(names), mostColumns)] {
		p, shown := c.Collection.Find(name)
		if !shown {
			continue
		}
		title := p.TitleIn(c.Lang)
		out = append(out, page.Choice{Value: name, Title: c.Text("items.sort-up", title), Selected: asked == name ||
			asked == "+"+name || asked == " "+name},
			page.Choice{Value: "-" + name, Title: c.Text("items.sort-down", title), Selected: asked == "-"+name})
	}
	if !slices.ContainsFunc(out, func(x page.Choice) bool { return x.Selected }) {
		out = append(out, page.Choice{Value: asked, Title: asked, Selected: true})
	}
	return out
}

// periodText formats a day, a time or an interval for readers, without an open end.
func (c *call) periodText(s string) string {
	from, to, isInterval := strings.Cut(s, "/")
	from, _ = c.DateText(from)
	if !isInterval {
		return from
	}
	to, _ = c.DateText(to)
	return strings.TrimSpace(strings.TrimSuffix(from, "..") + " – " + strings.TrimSuffix(to, ".."))
}

// parametersOf returns the parameters of the request that filter by a property and have a value, the one without an
// ending first.
func (c *call) parametersOf(p *store.Property) (names []string) {
	for i := range c.Conditions {
		if x := &c.Conditions[i]; x.Property.Name == p.Name && x.Value != "" {
			names = append(names, x.Name())
		}
	}
	return names
}
