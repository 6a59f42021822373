package server

import (
	"slices"
	"strconv"
	"strings"

	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/store"
	"grense/openapi"
)

// Param is a query parameter. Both the check of requests and the API definition use it.
type Param struct {
	Name        string
	Description string
	Schema      map[string]any               // OpenAPI 3.0 schema
	Shared      string                       // name under which operations of the API definition share it; "": Name
	Own         bool                         // each operation of the API definition describes it in full
	Repeat      bool                         // may occur more than once
	Only        func(*store.Collection) bool // the collections that have it; nil: all
	Untold      bool                         // accepted but not documented: a second name of another parameter
	// Define adapts the description in the API definition to the collection of the call; nil: no change.
	Define func(c *Call, d *openapi.Parameter)
	// Parse parses the values into the struct of the route's parameters. It returns an error of kind Invalid. It runs
	// for each parameter in the request, in the order of the route. Into makes it; nil: the values are parsed
	// elsewhere.
	Parse func(c *Call, params any, values []string) error
}

// Into returns a Parse function. T is a pointer to the struct of a route's parameters, or an interface of several
// structs.
func Into[T any](parse func(c *Call, to T, values []string) error) func(*Call, any, []string) error {
	return func(c *Call, params any, values []string) error { return parse(c, params.(T), values) }
}

// Completer is implemented by parameters that are completed when all are parsed.
type Completer interface {
	Complete(c *Call) error
}

// Truth parses true or false.
func Truth(name, value string) (bool, error) {
	if value != "true" && value != "false" {
		return false, problem.Invalidf(name, value, "use true or false")
	}
	return value == "true", nil
}

// PageMax returns the largest number of features on a page of the collection.
func (c *Call) PageMax() int {
	if c.Collection != nil && c.Collection.PageMax > 0 {
		return c.Collection.PageMax
	}
	return c.s.Config.Limits.PageMax
}

// PageDefault returns the number of features on a page of the collection without limit.
func (c *Call) PageDefault() int {
	n := c.s.Config.Limits.PageDefault
	if c.Collection != nil && c.Collection.PageDefault > 0 {
		n = c.Collection.PageDefault
	}
	return min(n, c.PageMax())
}

// MaxLimit and DefaultLimit apply to lists of processes and jobs. Pages of features have limits.page_max and
// limits.page_default, with the same defaults. A larger limit is reduced, not refused (OGC 17-069r4, 7.15.2).
const (
	MaxLimit     = 10000
	DefaultLimit = 100
)

var (
	ParamF = &Param{Name: "f", Description: "Representation; goes before the header Accept", Schema: SchemaString}

	ParamLang = &Param{Name: "lang", Description: "Language of texts: nb, nn or en; goes before Accept-Language, " +
		"anything else gives nb", Schema: SchemaString}
)

var (
	SchemaString = map[string]any{"type": "string"}
	SchemaFilled = map[string]any{"type": "string", "minLength": 1}
	SchemaNumber = map[string]any{"type": "number"}
	SchemaURI    = map[string]any{"type": "string", "format": "uri"}
)

// maxInt bounds limit and offset when they are parsed.
const maxInt = 1 << 40

// Positive parses an integer of at least low.
func Positive(name, v string, low int) (int, error) {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil && n > 0 && len(v) < 1000 && !strings.ContainsAny(v, "+-_") {
		n, err = maxInt, nil // out of range, but an integer
	}
	if err != nil || n < int64(low) || strings.HasPrefix(v, "+") {
		return low, problem.Invalidf(name, v, "use a whole number from %d", low)
	}
	return int(min(n, maxInt)), nil
}

// PickDivisions reduces collections to those in a comma-separated list, in its order.
func PickDivisions(collections *[]*store.Collection, list string) error {
	all, ids := *collections, []string{}
	for _, coll := range all {
		ids = append(ids, coll.ID)
	}
	*collections = nil
	for id := range strings.SplitSeq(list, ",") {
		i := slices.Index(ids, id)
		if i < 0 || slices.Contains(*collections, all[i]) {
			return problem.Invalidf("collections", list, "name each of these at most once: %s", strings.Join(ids, ", "))
		}
		*collections = append(*collections, all[i])
	}
	return nil
}

// CrsOfPoints parses the reference system of positions in a request.
func CrsOfPoints(v string) (crs.ID, error) {
	id, ok := crs.Parse(v)
	if !ok {
		return id, problem.Invalidf("crs", v, "use the address of a coordinate system, such as %s", crs.UTM33.URI())
	}
	return id, nil
}

// PlainNumber parses a number as people and JSON write it, without 1_0, 0x1p3, infinity and NaN.
func PlainNumber(v string) (float64, bool) {
	x, err := strconv.ParseFloat(v, 64)
	return x, err == nil && x-x == 0 && !strings.ContainsAny(v, "xX_")
}
