package page

import (
	"slices"
	"unicode"
	"unicode/utf8"
)

// FieldFault is what is wrong with a field of a form, in the language of the page.
type FieldFault struct {
	Name   string // of the parameter
	Title  string // of the field
	Value  string // as it came, where no field shows it
	Text   string // what would be right
	Cure   string // the same in English, where Text cannot tell it; "" else
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
