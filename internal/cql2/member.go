package cql2

import "encoding/json"

// Member returns the value at a path of names inside JSON text, of the types that Record returns.
// It returns nil if there is no value of type t: TypeText, TypeNumber or TypeBool.
// Of members with the same name the last counts.
func Member(text string, path []string, t Type) any {
	v := decoded(text)
	for _, name := range path {
		object, _ := v.(map[string]any)
		v = object[name]
	}
	switch x := v.(type) {
	case string:
		if t == TypeText {
			return x
		}
	case bool:
		if t == TypeBool {
			return x
		}
	case json.Number:
		if t == TypeNumber {
			return recorded(x)
		}
	}
	return nil
}

// recorded converts a JSON number to a value of Record, or nil if it is too large to compare.
func recorded(n json.Number) any {
	e, _ := parseNumber(string(n))
	switch n := e.(type) {
	case Int:
		return int64(n)
	case Number:
		return float64(n)
	case Decimal:
		return n
	}
	return nil
}
