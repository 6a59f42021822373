package server

import (
	"fmt"
	"strings"

	"grense/internal/cql2"
	"grense/internal/server/page"
	"grense/internal/server/queryable"
	"grense/internal/store"
)

// Numeric reports whether the values of a property are numbers, which tables align to the right.
func Numeric(p *store.Property) bool {
	return (p.Type == cql2.TypeInteger || p.Type == cql2.TypeNumber) && p.Ref == "" && p.CodeList == ""
}

// LanguageOfName returns the language at the end of a property's name, as in navn_se; "" if there is none.
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

// languageTags maps ISO 639 codes to BCP 47 tags, which use the shortest code (RFC 5646, 2.2.1).
var languageTags = map[string]string{"nor": "no", "nob": "nb", "nno": "nn", "sme": "se", "eng": "en", "dan": "da",
	"swe": "sv", "fin": "fi", "isl": "is", "fao": "fo", "deu": "de",
	"fra": "fr", "nld": "nl", "rus": "ru", "gle": "ga", "kal": "kl", "spa": "es", "ita": "it", "pol": "pl", "lat": "la"}

// LanguageCode returns the BCP 47 tag of an ISO 639 code; "" for other texts.
func LanguageCode(code string) string {
	if t := languageTags[code]; t != "" {
		return t
	}
	if len(code) != 2 && len(code) != 3 || strings.Trim(code, "abcdefghijklmnopqrstuvwxyz") != "" {
		return ""
	}
	return code
}

// Foreign returns the tag of a language that differs from that of the page, else "". Unspecified Norwegian (no) does
// not differ from either Norwegian form.
func Foreign(tag, page string) string {
	if tag == page || tag == "no" && page != "en" {
		return ""
	}
	return tag
}

// LanguageProperty returns the property with the language of each feature's title; nil if there is none.
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

// divisionLists maps code lists to the collections whose ids are their codes.
var divisionLists = map[string]string{"kommune": "kommuner", "fylke": "fylker"}

// RefersTo returns the public collection that a property refers to, by ids or by codes that are its ids; nil if there
// is none.
func RefersTo(cat *store.Catalog, p *store.Property) *store.Collection {
	id := p.Ref
	if list, ours := strings.CutPrefix(p.CodeList, "/codelists/"); id == "" && ours {
		id = divisionLists[list]
	}
	other, ok := cat.Collection(id)
	if !ok || !other.Public || p.Ref == "" && other.Key.Type != cql2.TypeText { // row numbers are not codes
		return nil
	}
	return other
}

// DateText formats a date or an RFC 3339 time in the language of the page.
func (c *Call) DateText(s string) (string, bool) { return page.DateText(s, c.Lang, c.Zone()) }

// Cell formats a value for a table.
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

// EndingText returns the label of an input beside the title of its property; "" if it needs none.
func EndingText(lang, ending string) string {
	switch ending {
	case queryable.EndingFrom:
		return page.Text(lang, "items.from")
	case queryable.EndingTo:
		return page.Text(lang, "items.to")
	}
	return ""
}

// ColumnOf returns the column of a property, with its title in a language.
func ColumnOf(p *store.Property, lang string) Column {
	return Column{Name: p.Name, Title: p.TitleIn(lang), Unit: p.Unit, Number: Numeric(p)}
}

// Column is a column of a table.
type Column struct {
	Name, Title, Unit string
	Number            bool   // the values are numbers
	Sort              string // address of the page in this order; "" if it cannot be sorted
	Sorted            string // ascending or descending if the page has this order
}
