package compat

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"
)

// object is a JSON object with a fixed order of members: some clients read them by position.
type object []member

type member struct {
	name  string
	value any // object, []object, string, int, int64, float64, bool, nil, or json.RawMessage
}

// selection holds the members that filtrer selects, each with its selected members; nil selects everything.
type selection map[string]selection

// parseSelection parses filtrer: names separated by commas, with points between nested names.
func parseSelection(list string) selection {
	if list == "" {
		return nil
	}
	root := selection{}
	for path := range strings.SplitSeq(list, ",") {
		at := root
		names := strings.Split(strings.TrimSpace(path), ".")
		for i, name := range names {
			inner, ok := at[name]
			switch {
			case ok && inner == nil: // all of it is selected already
			case i == len(names)-1:
				at[name] = nil
			case !ok:
				inner = selection{}
				at[name] = inner
			}
			if at = inner; at == nil {
				break
			}
		}
	}
	return root
}

// appendJSON appends the selected members of a document.
func appendJSON(b []byte, v any, keep selection) []byte {
	switch v := v.(type) {
	case object:
		b = append(b, '{')
		first := true
		for _, m := range v {
			inner, ok := keep[m.name]
			if keep != nil && !ok {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(appendText(b, m.name), ':')
			b = appendJSON(b, m.value, inner)
		}
		return append(b, '}')
	case []object:
		b = append(b, '[')
		for i, x := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendJSON(b, x, keep)
		}
		return append(b, ']')
	case json.RawMessage:
		return append(b, v...)
	case string:
		return appendText(b, v)
	case int:
		return strconv.AppendInt(b, int64(v), 10)
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return strconv.AppendFloat(b, v, 'f', -1, 64)
	case bool:
		return strconv.AppendBool(b, v)
	}
	return append(b, "null"...)
}

func appendText(b []byte, s string) []byte {
	special := func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == utf8.RuneError || r&^1 == '\u2028' }
	if !strings.ContainsFunc(s, special) {
		return append(append(append(b, '"'), s...), '"')
	}
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.Encode(s) // a string cannot fail
	return append(b, strings.TrimSuffix(out.String(), "\n")...)
}

// rounded returns x rounded to a number of decimals.
func rounded(x float64, decimals int) float64 {
	scale := math.Pow10(decimals)
	return math.Round(x*scale) / scale
}
