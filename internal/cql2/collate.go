package cql2

import (
	"encoding/hex"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// norwegian is a pool of collators in Norwegian order, which are not safe for concurrent use.
// The tables for Nynorsk sort æ, ø, å after z, and aa as å. Those for Bokmål are wrong in this library.
var norwegian = sync.Pool{New: func() any { return collate.New(language.MustParse("nn")) }}

// collated is the number of characters of a text that enter its collation key.
const collated = 256

// NorwegianKey returns a text whose order by code point is the Norwegian alphabetical order of s: æ, ø, å after z,
// then accents and case. Only the first 256 characters of s count.
func NorwegianKey(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if utf8.RuneCountInString(s) > collated {
		s = string([]rune(s)[:collated])
	}
	c := norwegian.Get().(*collate.Collator)
	defer norwegian.Put(c)
	var buf collate.Buffer
	return hex.EncodeToString(c.KeyFromString(&buf, s))
}
