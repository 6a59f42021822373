package placename

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	api "grense/api/placename"
	"grense/internal/store"
)

// field assigns a property to a field of a hit. The target is a *string, *int64, *int32, *bool, *time.Time,
// **time.Time, *[]string or func(int64).
type field struct {
	property string
	to       any
}

// filler converts records to hits. It reuses one hit, to whose fields the properties are bound once.
type filler[H any] struct {
	hit    H
	empty  H // the hit before it is filled
	fields []field
}

// properties returns the names of the properties that a hit needs.
func (f *filler[H]) properties() []string {
	names := make([]string, len(f.fields))
	for i, x := range f.fields {
		names[i] = x.property
	}
	return names
}

// bind binds the properties to the fields of an empty hit.
func (f *filler[H]) bind(k *kind[H], flags api.Flags) {
	var none H
	f.hit = none
	f.fields = k.fields(&f.hit, flags)
	f.empty = f.hit
}

// fill fills the hit from the values of its properties. On an error it returns the name of the property.
func (f *filler[H]) fill(values []any) (property string, err error) {
	f.hit = f.empty
	for i, x := range f.fields {
		if err := assign(x.to, values[i]); err != nil {
			return x.property, err
		}
	}
	return "", nil
}

// assign stores a value of a property in the field to. NULL leaves the field unchanged; a number may be stored as text.
func assign(to, v any) error {
	if v == nil {
		return nil
	}
	switch to := to.(type) {
	case *string:
		return assignText(to, v)
	case *[]string:
		s, ok := v.(store.JSON)
		if !ok {
			return mistyped(to, v)
		}
		if list, ok := plainTexts(string(s)); ok {
			*to = list
			return nil
		}
		return json.Unmarshal([]byte(s), to)
	case *bool:
		b, ok := v.(bool)
		if !ok {
			return mistyped(to, v)
		}
		*to = b
	case *time.Time:
		return assignTime(to, v)
	case **time.Time:
		*to = new(time.Time)
		return assignTime(*to, v)
	case *int64, *int32, func(int64):
		return assignNumber(to, v)
	default:
		panic(fmt.Sprintf("placename: no value for a %T", to))
	}
	return nil
}

// plainTexts parses a JSON array of strings without escapes, the usual case. It returns false for anything else, valid
// or not.
func plainTexts(s string) (list []string, ok bool) {
	rest, ok := strings.CutPrefix(s, `["`)
	if !ok || strings.ContainsFunc(s, func(r rune) bool { return r == '\\' || r < ' ' || r == utf8.RuneError }) {
		return nil, false
	}
	for {
		text, after, ok := strings.Cut(rest, `"`)
		if !ok {
			return nil, false
		}
		list = append(list, text)
		if after == "]" {
			return list, true
		}
		if rest, ok = strings.CutPrefix(after, `,"`); !ok {
			return nil, false
		}
	}
}

func assignText(to *string, v any) error {
	switch v := v.(type) {
	case string:
		*to = v
	case int64:
		*to = strconv.FormatInt(v, 10)
	default:
		return mistyped(to, v)
	}
	return nil
}

func assignNumber(to, v any) error {
	n, ok := v.(int64)
	if !ok {
		return mistyped(to, v)
	}
	switch to := to.(type) {
	case *int64:
		*to = n
	case *int32:
		if n < math.MinInt32 || n > math.MaxInt32 {
			return mistyped(to, v)
		}
		*to = int32(n)
	case func(int64):
		to(n)
	}
	return nil
}

// assignTime parses a date or a timestamp.
func assignTime(to *time.Time, v any) (err error) {
	s, ok := v.(string)
	if !ok {
		return mistyped(to, v)
	}
	layout := time.RFC3339
	if len(s) == len(time.DateOnly) {
		layout = time.DateOnly
	}
	*to, err = time.Parse(layout, s)
	return err
}

func mistyped(to, v any) error { return fmt.Errorf("%v (%T) does not fit %T", v, v, to) }
