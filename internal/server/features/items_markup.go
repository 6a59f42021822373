package features

import (
	"html/template"

	"grense/internal/server/page"
)

// Heads returns the headers of the columns.
func (v *itemsView) Heads() template.HTML {
	var m page.Markup
	for _, c := range v.Columns {
		m.Add(`<th scope="col"`)
		if c.Number {
			m.Add(` class="number"`)
		}
		m.Attribute("aria-sort", c.Sorted)
		m.Add(">")
		if c.Sort != "" {
			m.Add(`<a href="`)
			m.Address(c.Sort)
			m.Add(`" rel="nofollow">`)
		}
		m.Text(c.Title)
		if c.Sort != "" {
			m.Add("</a>")
		}
		m.Unit(c.Unit)
		m.Add("</th>")
	}
	return template.HTML(m)
}

// HTML returns the inputs of the field, with their labels and errors.
func (f filterField) HTML() template.HTML {
	var m page.Markup
	many := len(f.Inputs) == 2
	if many {
		m.Add("\n<fieldset><legend>", page.AsMarkup(f.Title))
		m.Unit(f.Unit)
		m.Add("</legend>")
	}
	for _, in := range f.Inputs {
		m.Add("\n<p><label for=\"q-", page.AsMarkup(in.Name), `">`)
		if many {
			m.Text(in.Label)
		} else {
			m.Text(f.Title)
			m.Unit(f.Unit)
		}
		m.Add("</label>\n<input id=\"q-", page.AsMarkup(in.Name), `" name="`, page.AsMarkup(in.Name), `" type="`,
			in.Type, `"`)
		m.Attribute("inputmode", in.Mode)
		m.Add(` value="`, page.AsMarkup(in.Value), `"`)
		m.Invalid(in.Fault)
		m.Add(">")
		m.Fault(in.Fault)
		m.Add("</p>")
	}
	if many {
		m.Add("\n</fieldset>")
	}
	return template.HTML(m)
}
