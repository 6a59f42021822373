package store

import (
	"strconv"
	"strings"
)

// CollectionID turns the name of a layer into an id that is safe in a URL: lower case, æ, ø, å as ae, o, a, other runs as one
// underscore.
func CollectionID(name string) string {
	var b strings.Builder
	run := false
	for _, r := range strings.ToLower(name) {
		s := string(r)
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '_', r == '-':
		case r == 'æ':
			s = "ae"
		case r == 'ø':
			s = "o"
		case r == 'å':
			s = "a"
		default:
			if !run {
				b.WriteByte('_')
			}
			run = true
			continue
		}
		run = false
		b.WriteString(s)
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

// Unique returns id, or id with _2, _3 ... when it is taken.
func Unique(id string, taken func(string) bool) string {
	for n, next := 2, id; ; n++ {
		if !taken(next) {
			return next
		}
		next = id + "_" + strconv.Itoa(n)
	}
}
