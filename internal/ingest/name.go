package ingest

import (
	"strconv"
	"strings"
)

// CollectionID turns the name of a layer into a collection id, as a GeoPackage's layers get theirs: lower case, æ, ø, å as ae, o, a,
// other runs as one underscore.
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
		case run:
			continue
		default:
			s = "_"
		}
		run = s == "_" && r != '_'
		b.WriteString(s)
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

// Unique returns name, or name with _2, _3 ... when it is taken.
func Unique(name string, taken func(string) bool) string {
	for n, next := 2, name; ; n++ {
		if !taken(next) {
			return next
		}
		next = name + "_" + strconv.Itoa(n)
	}
}
