package page

import (
	"html/template"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// FieldFault is what is wrong with a field of a form, in the language of the page.
type FieldFault struct {
	Name   string // of the parameter
	Title  string // of the field
	Value  string // as it came, where no field shows it
	Text   string // what would be right
	Cure   string // the same in English, if Text has no translation; else ""
	Target string // id of the input; "" when the form has none for it
}

// Faulty is a form that comes back with what is wrong.
type Faulty struct {
	Faults  []FieldFault
	Trouble Value // why there is no answer although nothing is wrong; without a text for nothing
}

// Refused reports whether the form comes back without an answer.
func (v *Faulty) Refused() bool { return v.Trouble.Text != "" || len(v.Faults) > 0 }

// Fault is what is wrong with a parameter; nil for nothing.
func (v *Faulty) Fault(name string) *FieldFault {
	if i := slices.IndexFunc(v.Faults, func(f FieldFault) bool { return f.Name == name }); i >= 0 {
		return &v.Faults[i]
	}
	return nil
}

// Capital is a text with a capital letter first.
func Capital(text string) string {
	r, n := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(r)) + text[n:]
}

// Choice is an option of a select in a form.
type Choice struct {
	Value, Title string
	Lang         string // of the title; "" when it is that of the page, or not known
	Selected     bool
	Bare         bool // the title is the value
}

// Choices are the options of a select.
type Choices []Choice

// HTML is the option elements, in order. There may be hundreds, for which templates are slow.
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
