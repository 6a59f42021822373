package server

import "slices"

// filterField is an input of the form that filters.
type filterField struct {
	Name, Title, Type, Value string
	Options                  []string // the values there are; nil when any may be
}

// choice is an option of a select in a form.
type choice struct {
	Value, Title string
	Selected     bool
}

// keptValue is a parameter that the form sends on without showing it.
type keptValue struct{ Name, Value string }

// shownParams are the parameters of items that the form shows, or that start anew when it is sent.
var shownParams = []string{"limit", "offset", "cursor", "bbox", "datetime", "datetime_", "q", "filter", "sortby", "resulttype"}

// fillForm sets what the form over the features shows: the fields with what was asked, and what is sent on unseen.
func (c *call) fillForm(v *itemsView) {
	v.Action = "/collections/" + c.coll.ID + "/items"
	v.BoxValue, v.TimeValue, v.FilterValue, v.SearchValue = c.bbox, first(c.values["datetime"]), first(c.values["filter"]), first(c.values["q"])
	for i := range c.coll.Properties {
		if p := &c.coll.Properties[i]; c.field(p.Name) != nil {
			v.Filters = append(v.Filters, filterField{Name: p.Name, Title: c.columnOf(p).Title, Type: inputType(p), Value: first(c.values[p.Name]), Options: p.Enum})
		}
	}
	v.Search = len(c.coll.SearchNames()) > 0
	v.Sorts = c.sortChoices()
	for _, p := range c.rt.Params {
		if !slices.Contains(shownParams, p.Name) {
			for _, x := range c.values[p.Name] {
				v.Kept = append(v.Kept, keptValue{p.Name, x})
			}
		}
	}
	v.Filtered = v.BoxValue+v.TimeValue+v.FilterValue+v.SearchValue != "" ||
		slices.ContainsFunc(v.Filters, func(f filterField) bool { return f.Value != "" })
}

// sortChoices are the orders that the form offers: the usual one, each property in both directions, and the one that was asked when
// it is none of these.
func (c *call) sortChoices() []choice {
	asked := first(c.values["sortby"])
	out := []choice{{Title: c.text("items.sort-usual"), Selected: asked == ""}}
	for _, name := range sortableNames(c.coll) {
		p, _ := c.coll.Find(name)
		title := c.columnOf(p).Title
		out = append(out, choice{name, c.text("items.sort-up", title), asked == name || asked == "+"+name || asked == " "+name},
			choice{"-" + name, c.text("items.sort-down", title), asked == "-"+name})
	}
	if !slices.ContainsFunc(out, func(x choice) bool { return x.Selected }) {
		out = append(out, choice{asked, asked, true})
	}
	return out
}
