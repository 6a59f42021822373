package server

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/problem"
	"grense/internal/store"
)

// Endings of parameter names for tolerant conditions: navn.like, areal_km2.from, areal_km2.to. The name of a property
// alone means equality.
const (
	// of texts: the words of the value begin words of the text, in that order, whatever their case and accents
	EndingLike = ".like"
	EndingFrom = ".from" // of numbers, days and moments: not before
	EndingTo   = ".to"   // not after
)

// Endings returns the endings that parameters of a property may have.
func Endings(p *store.Property) []string {
	switch p.Type {
	case cql2.TypeText:
		if len(p.Enum) == 0 {
			return []string{EndingLike}
		}
	case cql2.TypeInteger, cql2.TypeNumber, cql2.TypeDate, cql2.TypeTimestamp:
		return []string{EndingFrom, EndingTo}
	}
	return nil
}

// Forgiving returns the property and the ending of a query parameter such as name_like; nil if there is none.
func (c *Call) Forgiving(name string) (p *store.Property, ending string) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 || c.Field(name) != nil {
		return nil, ""
	}
	if p = c.Field(name[:i]); p == nil || Elements(p) || !slices.Contains(Endings(p), name[i:]) {
		return nil, ""
	}
	return p, name[i:]
}

// ParametersOf returns the parameters of a property that have a value, the one without an ending first.
func (c *Call) ParametersOf(p *store.Property) (names []string) {
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
	if ending == EndingTo {
		op = cql2.Le
	}
	switch p.Type {
	case cql2.TypeText:
		words := cql2.Words(v)
		if words == "" {
			return nil, problem.Invalidf(name, v, "write at least one letter or digit; the words begin words of the "+
				"text, whatever their case and accents")
		}
		return cql2.Search{Props: []string{p.Name}, Terms: []string{words}}, nil
	case cql2.TypeInteger, cql2.TypeNumber:
		x, ok := cql2.ParseNumber(TypedNumber.Replace(v))
		if !ok && GroupedNumber.MatchString(v) { // its commas cannot be one before decimals
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
	if ending == EndingTo {
		at = to // the end of the day
	}
	if p.Type == cql2.TypeDate {
		return cql2.Compare{
			Op: op, L: prop, R: cql2.Date{T: time.Date(at.Year(), at.Month(), at.Day(), 0, 0, 0, 0, time.UTC)}}, nil
	}
	return cql2.Compare{Op: op, L: prop, R: cql2.Timestamp{T: at.UTC()}}, nil
}

// TypedNumber converts a number that a person typed: it removes spaces and replaces the decimal comma.
var TypedNumber = strings.NewReplacer(" ", "", "\u00a0", "", "\u202f", "", "\u2009", "", ",", ".", "\u2212", "-")

// GroupedNumber matches a number with commas between thousands, as in English; elsewhere a comma precedes decimals.
var GroupedNumber = regexp.MustCompile(`^\s*[-\x{2212}]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?\s*$`)

// EndingText returns the label of an input beside the title of its property; "" if it needs none.
func (c *Call) EndingText(ending string) string {
	switch ending {
	case EndingFrom:
		return c.Text("items.from")
	case EndingTo:
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
