package problem

import (
	"fmt"
	"strings"
)

// Saying is a sentence in English that pages may say in another language: a form of package fmt and what goes into
// it, which may be sayings.
type Saying struct {
	Form string
	With []any
}

// Sayf makes a saying.
func Sayf(form string, with ...any) Saying { return Saying{form, with} }

func (s Saying) String() string {
	text, _ := s.In(func(form string) (string, bool) { return form, true })
	return text
}

// Error turns a saying into an error.
func (s Saying) Error() string { return s.String() }

// In says it in the language into which of translates forms; false where a form has no translation.
func (s Saying) In(of func(form string) (string, bool)) (string, bool) {
	form, ok := of(s.Form)
	if !ok {
		return "", false
	}
	if !strings.Contains(form, "%") { // a translation need not contain all values
		return form, true
	}
	with := make([]any, len(s.With))
	for i, x := range s.With {
		if part, is := x.(Saying); is {
			text, ok := part.In(of)
			if !ok {
				return "", false
			}
			x = text
		}
		with[i] = x
	}
	return fmt.Sprintf(form, with...), true
}
