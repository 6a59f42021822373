package server

import (
	"fmt"
	"strconv"
	"strings"

	"grense/internal/cql2"
	"grense/internal/server/page"
	"grense/internal/store"
)

// numeric reports whether the values of a property are numbers, which a table writes to the right.
func Numeric(p *store.Property) bool {
	return (p.Type == cql2.TypeInteger || p.Type == cql2.TypeNumber) && p.Ref == "" && p.CodeList == ""
}

// LanguageOfName is the language that the end of a property's name tells, as in navn_se; "" when it tells none.
func LanguageOfName(name string) string {
	i := strings.LastIndexByte(name, '_')
	if i < 1 {
		return ""
	}
	switch end := name[i+1:]; end {
	case "nb", "nn", "no", "en", "se", "smj", "sma", "sms", "fkv":
		return end
	}
	return ""
}

// languageTags are the BCP 47 tags of codes that have shorter ones, or other ones (RFC 5646, 2.2.1: the shortest code counts).
var languageTags = map[string]string{"nor": "no", "nob": "nb", "nno": "nn", "sme": "se", "eng": "en", "dan": "da", "swe": "sv", "fin": "fi", "isl": "is", "fao": "fo", "deu": "de",
	"fra": "fr", "nld": "nl", "rus": "ru", "gle": "ga", "kal": "kl", "spa": "es", "ita": "it", "pol": "pl", "lat": "la"}

// LanguageCode is the BCP 47 tag of a code of ISO 639; "" for what is no such code.
func LanguageCode(code string) string {
	if t := languageTags[code]; t != "" {
		return t
	}
	if len(code) != 2 && len(code) != 3 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return code
}

// Foreign is the tag of a language where it is another than that of the page: Norwegian of no stated form (no) is none on pages in Norwegian.
func Foreign(tag, page string) string {
	if tag == page || tag == "no" && page != "en" {
		return ""
	}
	return tag
}

// LanguageProperty is the property that tells in which language the title of each feature is; nil when there is none.
func LanguageProperty(coll *store.Collection) *store.Property {
	if coll.TitleProperty == "" {
		return nil
	}
	for _, name := range []string{"spraak", "språk", "sprak", "language", "lang"} {
		if p, ok := coll.Find(name); ok && !p.Hidden {
			return p
		}
	}
	return nil
}

// divisionLists are the collections whose ids are the codes of our lists.
var divisionLists = map[string]string{"kommune": "kommuner", "fylke": "fylker"}

// RefersTo is the public collection whose features the values of a property name, by their ids or by codes that are their ids; nil when there
// is none.
func (c *Call) RefersTo(p *store.Property) *store.Collection {
	id := p.Ref
	if list, ours := strings.CutPrefix(p.CodeList, "/codelists/"); id == "" && ours {
		id = divisionLists[list]
	}
	other, ok := c.Catalog.Collection(id)
	if !ok || !other.Public || p.Ref == "" && other.Key.Type != cql2.TypeText { // a running number is no code
		return nil
	}
	return other
}

// dateText writes a day or a moment for people in the language of the page.
func (c *Call) DateText(s string) (string, bool) { return page.DateText(s, c.Lang, c.Zone()) }

// size writes a number of bytes for people, in decimal units.
func (c *Call) Size(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range [...]string{"kB", "MB", "GB"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	digits := 0
	if v < 10 && unit != "B" {
		digits = 1
	}
	return page.InDigits(strconv.FormatFloat(v, 'f', digits, 64), c.Lang) + "\u00a0" + unit
}

// Cell writes a value for a table.
func Cell(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case float64:
		return page.Number(v)
	}
	return fmt.Sprint(v)
}

const Batch = 200
