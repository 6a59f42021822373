// Package queryable reads query parameters that filter by properties of a collection, such as navn=Oslo or
// areal.from=100.
package queryable

import (
	"net/url"
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

// Field returns the property of a collection that a query parameter filters by; nil if there is none.
func Field(coll *store.Collection, name string) *store.Property {
	p, ok := coll.Queryable(name)
	if !ok || p.Hidden || Reserved[name] || !Simple(p.Type) && !Elements(p) {
		return nil
	}
	return p
}

// Elements reports whether a property is an array with elements that a query parameter can name.
func Elements(p *store.Property) bool {
	return p.Items != "" && p.Items != "object" && p.Items != "array"
}

// Simple reports whether values of a type can be written as a query parameter.
func Simple(t cql2.Type) bool { return t != cql2.TypeGeometry && t != cql2.TypeJSON }

// Forgiving returns the property and the ending of a query parameter such as name.like; nil if there is none.
func Forgiving(coll *store.Collection, name string) (p *store.Property, ending string) {
	i := strings.LastIndexByte(name, '.')
	if i < 0 || Field(coll, name) != nil {
		return nil, ""
	}
	if p = Field(coll, name[:i]); p == nil || Elements(p) || !slices.Contains(Endings(p), name[i:]) {
		return nil, ""
	}
	return p, name[i:]
}

// Condition is a query parameter that filters by a property.
type Condition struct {
	Property *store.Property
	Ending   string // "" for equality
	Value    string // the first of the parameter
}

// Name returns the name of the parameter.
func (x *Condition) Name() string { return x.Property.Name + x.Ending }

// Conditions returns the conditions in a query, in the order of the properties; those of a property begin with
// equality. Without endings, that is all.
func Conditions(coll *store.Collection, query url.Values, endings bool) (list []Condition) {
	for p := range coll.Queryables() {
		// the cheap check first: there may be thousands of properties
		if v := query[p.Name]; len(v) > 0 && Field(coll, p.Name) != nil {
			list = append(list, Condition{p, "", v[0]})
		}
		if !endings || Field(coll, p.Name) == nil {
			continue
		}
		for _, ending := range Endings(p) {
			if v := query[p.Name+ending]; len(v) > 0 && Field(coll, p.Name+ending) == nil {
				list = append(list, Condition{p, ending, v[0]})
			}
		}
	}
	return list
}

// Expr returns the condition as a filter. Days are those of a zone.
func (x *Condition) Expr(zone *time.Location) (cql2.Expr, error) {
	if x.Ending == "" {
		return Equals(x.Property, x.Value, zone)
	}
	return forgivingFilter(x.Property, x.Ending, x.Value, zone)
}

// Equals returns the condition property = value for a query parameter (OGC 17-069r4, 7.15.5).
func Equals(p *store.Property, v string, zone *time.Location) (cql2.Expr, error) {
	prop := cql2.Prop{Name: p.Name}
	// the schema of the parameter lists them (OGC 17-069r4, 7.8)
	if p.Type == cql2.TypeText && len(p.Enum) > 0 && !slices.Contains(p.Enum, v) {
		return nil, problem.Invalidf(p.Name, v, "use one of %s", strings.Join(p.Enum, ", "))
	}
	if Elements(p) {
		x, err := element(p, v)
		return cql2.Array{Op: cql2.AContains, L: prop, R: cql2.List{x}}, err
	}
	cmp := func(x cql2.Expr) (cql2.Expr, error) { return cql2.Compare{Op: cql2.Eq, L: prop, R: x}, nil }
	switch p.Type {
	case cql2.TypeInteger:
		n, ok := cql2.ParseNumber(v)
		if !ok || strings.ContainsAny(v, ".eE") {
			return nil, problem.Invalidf(p.Name, v, "use a whole number")
		}
		return cmp(n)
	case cql2.TypeNumber:
		x, ok := cql2.ParseNumber(v)
		if !ok {
			return nil, problem.Invalidf(p.Name, v, "use a number")
		}
		return cmp(x)
	case cql2.TypeBool:
		switch v {
		case "true", "1":
			return cmp(cql2.Bool(true))
		case "false", "0":
			return cmp(cql2.Bool(false))
		}
		return nil, problem.Invalidf(p.Name, v, "use true or false")
	case cql2.TypeDate, cql2.TypeTimestamp:
		from, to, err := cql2.ParseInterval(v, zone)
		if err != nil || from == nil || to == nil || strings.Contains(v, "/") {
			return nil, problem.Invalidf(p.Name, v, "use a day as 2024-01-31 or a moment as 2024-01-31T12:00:00Z")
		}
		if p.Type == cql2.TypeDate {
			return cmp(cql2.Date{T: time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, time.UTC)})
		}
		if from.Equal(*to) {
			return cmp(cql2.Timestamp{T: from.UTC()})
		}
		return cql2.Between{X: prop, Lo: cql2.Timestamp{T: from.UTC()}, Hi: cql2.Timestamp{T: to.UTC()}}, nil
	}
	return cmp(cql2.Text(v))
}

// element parses a query parameter as an element that an array must contain.
func element(p *store.Property, v string) (cql2.Expr, error) {
	switch p.Items {
	case "number", "integer":
		x, ok := cql2.ParseNumber(v)
		if !ok {
			return nil, problem.Invalidf(p.Name, v, "use a number; features are taken whose list contains it")
		}
		return x, nil
	case "boolean":
		if v != "true" && v != "false" {
			return nil, problem.Invalidf(p.Name, v, "use true or false; features are taken whose list contains it")
		}
		return cql2.Bool(v == "true"), nil
	}
	return cql2.Text(v), nil
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

// Reserved are names of parameters. A property with such a name is not a query parameter.
var Reserved = map[string]bool{"f": true, "lang": true, "limit": true, "offset": true, "cursor": true, "bbox": true,
	"bbox-crs": true, "crs": true,
	"datetime": true, "datetime_": true, "sortby": true, "collation": true, "properties": true, "skipGeometry": true,
	"resulttype": true, "q": true, "filter": true, "filter-lang": true,
	"filter-crs": true, "profile": true, "dialect": true, "revision": true, "zoom-level": true, "precision": true}

// public is the schema for filters of clients: it lacks hidden properties.
type public struct {
	*store.Collection
	zone *time.Location
}

// Schema returns the schema of a collection for filters of clients, with times in a zone.
func Schema(coll *store.Collection, zone *time.Location) cql2.Schema { return public{coll, zone} }

// Zone returns the time zone of the service.
func (p public) Zone() *time.Location { return p.zone }

func (p public) Property(name string) (cql2.Type, bool) {
	if x, ok := p.Find(name); ok && x.Hidden {
		return 0, false
	}
	return p.Collection.Property(name)
}
