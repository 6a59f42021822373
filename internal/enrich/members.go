package enrich

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// RepeatedMember returns the JSON pointer (RFC 6901) of the first member in a JSON text whose name occurred before in
// the same object. It reads the text up to its first syntax error.
func RepeatedMember(text []byte) (pointer string, found bool) {
	type level struct {
		object bool
		names  map[string]bool
		name   string // of the current member
		n      int    // index of the current element
		value  bool   // in an object, the next token is a value
	}
	var at []level
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil {
			return "", false
		}
		delim, _ := token.(json.Delim)
		if delim == '}' || delim == ']' {
			at = at[:len(at)-1]
		}
		if top := len(at) - 1; top >= 0 && delim != '}' && delim != ']' {
			x := &at[top]
			switch {
			case !x.object:
				x.n++
			case x.value:
				x.value = false
			default:
				name := token.(string) // names are always strings
				twice := x.names[name]
				x.names[name], x.name, x.value = true, name, true
				if twice {
					var b strings.Builder
					for i := range at {
						part := at[i].name
						if !at[i].object {
							part = strconv.Itoa(at[i].n - 1)
						}
						b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(part, "~", "~0"), "/", "~1"))
					}
					return b.String(), true
				}
				continue
			}
		}
		switch delim {
		case '{':
			at = append(at, level{object: true, names: map[string]bool{}})
		case '[':
			at = append(at, level{})
		}
	}
}
