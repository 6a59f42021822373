package server

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/problem"
	"grense/internal/store"
	"grense/openapi"
)

// Endings of the names of query parameters that forgive: navn.like, areal_km2.from, areal_km2.to. What has the name of the property alone is exact.
const (
	endingLike = ".like" // of texts: the words of the value begin words of the text, in that order, whatever their case and accents
	endingFrom = ".from" // of numbers, days and moments: not before
	endingTo   = ".to"   // not after
)

// Endings returns the endings that parameters of a property may have.
func Endings(p *store.Property) []string {
	switch p.Type {
	case cql2.TypeText:
		if len(p.Enum) == 0 {
			return []string{endingLike}
		}
	case cql2.TypeInteger, cql2.TypeNumber, cql2.TypeDate, cql2.TypeTimestamp:
		return []string{endingFrom, endingTo}
	}
	return nil
}

// forgiving returns the property and the ending of a query parameter that forgives; nil when there is none of that name.
func (c *Call) forgiving(name string) (p *store.Property, ending string) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 || c.Field(name) != nil {
		return nil, ""
	}
	if p = c.Field(name[:i]); p == nil || Elements(p) || !slices.Contains(Endings(p), name[i:]) {
		return nil, ""
	}
	return p, name[i:]
}

// AsksOf returns the parameters of a property that have a value, the one without an ending first.
func (c *Call) AsksOf(p *store.Property) (names []string) {
	if First(c.Values[p.Name]) != "" {
		names = append(names, p.Name)
	}
	if !c.forgives {
		return names
	}
	for _, ending := range Endings(p) {
		if name := p.Name + ending; First(c.Values[name]) != "" && c.Field(name) == nil {
			names = append(names, name)
		}
	}
	return names
}

// forgivingFilter returns the condition of a parameter with an ending.
func forgivingFilter(p *store.Property, ending, v string, zone *time.Location) (cql2.Expr, error) {
	prop, name := cql2.Prop{Name: p.Name}, p.Name+ending
	op := cql2.Ge
	if ending == endingTo {
		op = cql2.Le
	}
	switch p.Type {
	case cql2.TypeText:
		words := cql2.Words(v)
		if words == "" {
			return nil, problem.Invalidf(name, v, "write at least one letter or digit; the words begin words of the text, whatever their case and accents")
		}
		return cql2.Search{Props: []string{p.Name}, Terms: []string{words}}, nil
	case cql2.TypeInteger, cql2.TypeNumber:
		x, ok := cql2.ParseNumber(TypedNumber.Replace(v))
		if !ok && groupedNumber.MatchString(v) { // its commas cannot be one before decimals
			x, ok = cql2.ParseNumber(TypedNumber.Replace(strings.ReplaceAll(v, ",", "")))
		}
		if !ok {
			return nil, problem.Invalidf(name, v, "use a number, such as 12 or 12.5")
		}
		return cql2.Compare{Op: op, L: prop, R: x}, nil
	}
	from, to, err := cql2.ParseInterval(v, zone)
	if err != nil || from == nil || to == nil || strings.Contains(v, "/") {
		return nil, problem.Invalidf(name, v, "use a day as 2024-01-31 or a moment as 2024-01-31T12:00:00Z")
	}
	at := from
	if ending == endingTo {
		at = to // the end of the day
	}
	if p.Type == cql2.TypeDate {
		return cql2.Compare{Op: op, L: prop, R: cql2.Date{T: time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)}}, nil
	}
	return cql2.Compare{Op: op, L: prop, R: cql2.Timestamp{T: at.UTC()}}, nil
}

// TypedNumber converts a number that a person typed: it removes spaces and replaces the decimal comma.
var TypedNumber = strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "", "\u2009", "", ",", ".", "\u2212", "-")

// groupedNumber is a number with commas between thousands, as English writes it; elsewhere a comma is one before decimals.
var groupedNumber = regexp.MustCompile(`^\s*[-\x{2212}]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?\s*$`)

// ungrouped is the address of a page in English with its numbers as programs write them, so that its links say the same in every language; false where none was typed
// with a comma between thousands.
func (c *Call) Ungrouped() (href string, ok bool) {
	if c.Lang != "en" {
		return "", false
	}
	values := maps.Clone(c.Values)
	for name := range c.Values {
		p, _ := c.forgiving(name)
		if v := First(c.Values[name]); p != nil && (p.Type == cql2.TypeInteger || p.Type == cql2.TypeNumber) && groupedNumber.MatchString(v) {
			values[name], ok = []string{strings.ReplaceAll(v, ",", "")}, true
		}
	}
	return "/collections/" + c.Collection.ID + "/items?" + values.Encode(), ok
}

// DefinedForgiving describes the parameters of a property that forgive.
func (c *Call) DefinedForgiving(p *store.Property) (out []openapi.Parameter) {
	if Elements(p) {
		return nil
	}
	t, format := JsonType(p.Type)
	for _, ending := range Endings(p) {
		if c.Field(p.Name+ending) != nil {
			continue
		}
		schema := map[string]any{"type": t}
		if format == "date" {
			schema["format"] = format
		}
		about := map[string]string{
			endingLike: "Only features whose " + p.Name + " has these words, or words that begin so, in that order; case, accents and letters such as ø and o count as equal",
			endingFrom: "Only features whose " + p.Name + " is this or more",
			endingTo:   "Only features whose " + p.Name + " is this or less",
		}[ending]
		if p.Type == cql2.TypeDate || p.Type == cql2.TypeTimestamp {
			about = strings.NewReplacer("this or more", "then or later", "this or less", "then or earlier").Replace(about)
		}
		out = append(out, openapi.Parameter{Name: p.Name + ending, In: "query", Description: about, Schema: schema})
	}
	return out
}

// endingText is what the input of a parameter is called beside its property; "" for nothing.
func (c *Call) EndingText(ending string) string {
	switch ending {
	case endingFrom:
		return c.Text("items.from")
	case endingTo:
		return c.Text("items.to")
	}
	return ""
}

func (c *Call) ColumnOf(p *store.Property) Column {
	t := p.Title.In(c.Lang)
	if t == "" {
		t = p.Name
	}
	return Column{Name: p.Name, Title: t, Unit: p.Unit, Number: Numeric(p)}
}

// Column is a column of a table.
type Column struct {
	Name, Title, Unit string
	Number            bool   // the values are numbers
	Sort              string // address of the page in this order; "" if it cannot be sorted
	Sorted            string // ascending or descending if the page has this order
}
