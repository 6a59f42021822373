package server

import (
	"fmt"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/apikey"
	"grense/internal/cql2"
	"grense/internal/problem"
	"grense/internal/server/page"
	"grense/internal/server/queryable"
)

// failed describes the failure of a call to people.
type failed struct{ *Call }

// formPage returns the form of the request with its values and errors; nil if the route has no form or the form fails.
func (c failed) formPage(e *problem.Error, p ogcapi.Problem) *page.Page {
	if c.Route == nil || c.Route.Form == nil || c.Params == nil && !c.Form {
		return nil
	}
	v := page.Faulty{}
	switch e.Kind {
	case problem.Invalid:
		if len(p.Faults) == 0 {
			v.Trouble = c.translatedOr(e.Said, p.Detail)
		}
		v.Faults = c.fieldFaults(e, p.Faults)
	case problem.Timeout, problem.TooLarge:
		v.Trouble.Text = c.Text("problem.too-much")
	default:
		return nil
	}
	pg, err := c.Route.Form(c.Call, v)
	if err != nil {
		c.s.Log.ErrorContext(c.Request.Context(), "form cannot be shown again", "request", c.ID, "err", err)
	}
	if err != nil || pg == nil {
		return nil
	}
	pg.Refused, pg.Instance = true, p.Instance
	return pg
}

// fieldFaults returns the faults of an error in the language of the page. faults are those of the problem document.
func (c failed) fieldFaults(e *problem.Error, faults []ogcapi.Fault) (out []page.FieldFault) {
	for i, f := range faults {
		x := page.FieldFault{Name: f.Name, Title: f.Name, Value: f.Value}
		said := c.translated(e.Faults[i].Said)
		switch field := c.fieldOf(&x); {
		case !field && said != "":
			x.Text = said
		case !field:
			x.Text, x.Cure = c.Text("fault.other"), f.Cure
		case x.Name == "filter" && said != "":
			x.Text += " " + said
		case x.Name == "filter":
			x.Cure = f.Cure
		}
		if strings.Contains(f.Cure, "no such parameter") {
			x.Text, x.Cure, x.Target = c.Text("fault.unknown"), "", ""
		}
		out = append(out, x)
	}
	return out
}

// translated returns a message in the language of the page; "" if it exists in English only.
func (c failed) translated(s problem.Saying) string {
	text, ok := s.In(func(form string) (string, bool) {
		if text := c.Text(fmt.Sprintf("cql2.%s", form)); text != "cql2."+form {
			return text, true
		}
		text := c.Text(fmt.Sprintf("told.%s", form))
		return text, text != "told."+form
	})
	if !ok || text == "" {
		return ""
	}
	if text = page.Capital(text); !strings.HasSuffix(text, "?") {
		text += "."
	}
	return apikey.Redact(text)
}

// translatedOr returns a message in the language of the page, or the English text, marked as such.
func (c failed) translatedOr(s problem.Saying, english string) page.Value {
	if said := c.translated(s); said != "" {
		return page.Value{Text: said}
	}
	return page.Value{Text: english, Lang: "en"}
}

// formFields maps parameters to the id of their field, the message key of its title, and that of the expected value.
var formFields = map[string][3]string{
	"q": {"p-search", "items.search", "words"}, "bbox": {"p-bbox", "items.bbox", "box"},
	"datetime": {"p-datetime", "items.datetime", "time"},
	"sortby":   {"p-sortby", "items.sort", "choice"}, "limit": {"p-limit", "items.limit", "limit"},
	"filter": {"p-filter", "items.expression", "expression"},
	"lon":    {"lon", "lookup.lon", "place"}, "lat": {"lat", "lookup.lat", "place"},
}

// fieldOf sets title, target and text of a fault by its field; ok is false if there is no field.
func (c failed) fieldOf(x *page.FieldFault) bool {
	if m, ok := formFields[x.Name]; ok {
		x.Target, x.Title, x.Text = m[0], c.Text(m[1]), c.Text(fmt.Sprintf("fault.%s", m[2]))
		return true
	}
	if c.Collection == nil {
		return false
	}
	p, ending := queryable.Field(c.Collection, x.Name), ""
	if p == nil {
		p, ending = queryable.Forgiving(c.Collection, x.Name)
	}
	if p == nil {
		return false
	}
	if exact := queryable.Endings(p); ending == "" && len(exact) > 0 && !queryable.Elements(p) && p.Ref == "" &&
		p.CodeList == "" {
		ending = exact[0] // the input that the form shows
	}
	x.Target = "q-" + p.Name + ending
	x.Title = strings.TrimSuffix(p.TitleIn(c.Lang)+" "+EndingText(c.Lang, ending), " ")
	text := map[cql2.Type]string{cql2.TypeText: "words", cql2.TypeInteger: "number", cql2.TypeNumber: "number",
		cql2.TypeBool: "choice", cql2.TypeDate: "day", cql2.TypeTimestamp: "day"}[p.Type]
	if text == "" {
		return false
	}
	x.Text = c.Text(fmt.Sprintf("fault.%s", text))
	return true
}
