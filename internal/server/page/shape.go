package page

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// schemaShape is the part of a JSON Schema that the page of a process shows.
type schemaShape struct {
	Type, Format, ContentMediaType       string
	Enum                                 []any
	AnyOf, OneOf                         []schemaShape
	Properties                           map[string]schemaShape
	Items                                *schemaShape
	Minimum, Maximum, MinItems, MaxItems *json.Number
	Default                              any
}

// shapeOf describes a JSON Schema in one line: alternatives separated by |, arrays in brackets, objects in braces, then
// the bounds, then = and the default.
func shapeOf(schema any) (string, error) {
	b, err := json.Marshal(schema)
	if err != nil {
		return "", err
	}
	var s schemaShape
	if err := json.Unmarshal(b, &s); err != nil {
		return "", err
	}
	return s.String(), nil
}

func (s schemaShape) String() string {
	out := s.kind() + bounds(s.Minimum, s.Maximum) + bounds(s.MinItems, s.MaxItems)
	if s.Default != nil {
		out += fmt.Sprintf(" = %v", s.Default)
	}
	return out
}

func (s schemaShape) kind() string {
	switch {
	case s.Enum != nil:
		return alternatives(s.Enum)
	case s.AnyOf != nil:
		return alternatives(s.AnyOf)
	case s.Properties != nil:
		members := make([]string, 0, len(s.Properties))
		for name, p := range s.Properties {
			if p.Properties != nil || p.Items != nil {
				name += ": " + p.String()
			}
			members = append(members, name)
		}
		slices.Sort(members)
		return strings.TrimSpace(s.ContentMediaType + " {" + strings.Join(members, ", ") + "}")
	case s.ContentMediaType != "":
		return s.ContentMediaType
	case s.Items != nil:
		return "[" + s.Items.String() + ", …]"
	case s.Type == "" && s.OneOf != nil:
		return alternatives(s.OneOf)
	case s.Format != "":
		return s.Format
	}
	return s.Type
}

func alternatives[T any](of []T) string {
	texts := make([]string, len(of))
	for i, x := range of {
		texts[i] = fmt.Sprint(x)
	}
	return strings.Join(texts, " | ")
}

// bounds formats a minimum and a maximum, of which either may be nil.
func bounds(least, most *json.Number) string {
	switch {
	case least == nil && most == nil:
		return ""
	case most == nil:
		return ", ≥ " + least.String()
	case least == nil:
		return ", ≤ " + most.String()
	}
	return ", " + least.String() + "–" + most.String()
}
