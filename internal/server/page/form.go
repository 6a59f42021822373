package page

import (
	"html/template"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FieldFault is an error in a field of a form, in the language of the page.
type FieldFault struct {
	Name   string // of the parameter
	Title  string // of the field
	Value  string // as the client sent it, if no field shows it
	Text   string // the expected value
	Cure   string // the English text, if Text has no translation; else ""
	Target string // id of the input; "" if the form has no such input
}

// Faulty holds the errors of a form that is shown again.
type Faulty struct {
	Faults  []FieldFault
	Trouble Value // the reason why a valid request has no result; an empty text if there is none
}

// Refused reports whether the form is shown again without a result.
func (v *Faulty) Refused() bool { return v.Trouble.Text != "" || len(v.Faults) > 0 }

// Fault returns the error of a parameter; nil if it has none.
func (v *Faulty) Fault(name string) *FieldFault {
	if i := slices.IndexFunc(v.Faults, func(f FieldFault) bool { return f.Name == name }); i >= 0 {
		return &v.Faults[i]
	}
	return nil
}

// Capital returns a text with its first letter in upper case.
func Capital(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[n:]
}

// Choice is an option of a select in a form.
type Choice struct {
	Value, Title string
	Lang         string // of the title; "" if it is that of the page or unknown
	Selected     bool
	Bare         bool // the title is the value
}

// Choices are the options of a select.
type Choices []Choice

// HTML returns the option elements. It uses no template, since a form may have hundreds.
func (xs Choices) HTML() template.HTML {
	var b strings.Builder
	for _, x := range xs {
		selected := ""
		if x.Selected {
			selected = " selected"
		}
		value := ""
		if !x.Bare {
			value = ` value="` + template.HTMLEscapeString(x.Value) + `"`
		}
		b.WriteString("<option" + value + LangAttribute(x.Lang) + selected + ">" +
			template.HTMLEscapeString(x.Title) + "</option>\n")
	}
	return template.HTML(b.String())
}
