package cql2

import (
	"encoding/hex"
	"strings"
	"sync"
	"unicode/utf8"

	"golang.org/x/text/collate"
	"golang.org/x/text/language"
)

// norwegian holds collators in Norwegian order, each for one goroutine at a time. The tables for Nynorsk hold æ, ø,
// å after z, and aa as å; those for Bokmål are not right in this library.
var norwegian = sync.Pool{New: func() any { return collate.New(language.MustParse("nn")) }}

// collated is how many characters of a text its collation key is made of.
const collated = 256

// NorwegianKey returns a text whose order by code point is the Norwegian alphabetical order of s: æ, ø, å after z,
// case and accents last. It is made of the first 256 characters of s.
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
