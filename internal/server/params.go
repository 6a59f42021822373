package server

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server/problems"
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
	return func(c *Call, params any, values []string) error {
		if to, ok := params.(T); ok {
			return parse(c, to, values)
		}
		if p, ok := params.(Layered); ok { // parameters that select features apply to each layer
			return p.Each(func(at *Call) error { return parse(at, any(at.Params).(T), values) })
		}
		return parse(c, any(params.(selectsFeatures).selection()).(T), values)
	}
}

// Layered is implemented by parameters that select features of several collections.
type Layered interface {
	Each(fn func(*Call) error) error // calls fn for each collection, with a call for its features
}

// OutputParams say how features are written. Structs of several routes embed them.
type OutputParams struct {
	Crs          crs.ID
	CrsURI       string   // value of Content-Crs
	Properties   []string // nil: all
	SkipGeometry bool
	Profile      string   // of GeoJSON; "": rfc7946
	Dialect      string   // of CSV; "": rfc4180
	Precision    *int     // decimals of coordinates in GeoJSON and CSV; nil: those of the CRS
	Zoom         *float64 // nil: geometries are not simplified
	versions     string   // requested profile of versions; "": none
	VersionIDs   bool     // features are versions with ids of their own
	told         string   // profile of versions that the response has; "": it has no versions
}

// Output returns p, by which parameters find it in the struct of a route.
func (p *OutputParams) Output() *OutputParams { return p }

func (p *OutputParams) ProfileParam() *string { return &p.Profile }

// Profiled is implemented by parameters of routes that write GeoJSON in a profile.
type Profiled interface{ ProfileParam() *string }

// WritesFeatures is implemented by structs that embed OutputParams.
type WritesFeatures interface{ Output() *OutputParams }

func NewOutputParams() OutputParams { return OutputParams{Crs: crs.CRS84, CrsURI: crs.CRS84.URI()} }

// ItemsParams are the parameters of the features of a collection.
type ItemsParams struct {
	OutputParams
	Query      store.Query
	Bbox       string
	HasBBox    bool
	BboxCRS    crs.ID
	from, to   *time.Time
	hasTime    bool
	interval   bool     // datetime is an interval, not a date or time
	Terms      []string // of q; nil: none
	filter     string
	hasFilter  bool
	filterJSON bool
	filterCRS  crs.ID // zero: CRS84
	Norwegian  bool   // texts are sorted by the Norwegian alphabet
	Hits       bool   // only the count is requested
}

// selection returns p, by which parameters find it in the struct of another route.
func (p *ItemsParams) selection() *ItemsParams { return p }

// selectsFeatures is implemented by structs that embed ItemsParams.
type selectsFeatures interface{ selection() *ItemsParams }

func NewItemsParams(c *Call) any {
	return &ItemsParams{OutputParams: NewOutputParams(), BboxCRS: crs.CRS84,
		Query: store.Query{Collection: c.Collection.ID, Limit: c.PageDefault(), SortBy: c.Collection.DefaultSort}}
}

// Items returns the parameters of a call to a route that selects features.
func (c *Call) Items() *ItemsParams { return c.Params.(selectsFeatures).selection() }

// Output returns the parameters of a call to a route that writes features.
func (c *Call) Output() *OutputParams { return c.Params.(WritesFeatures).Output() }

// Encodings of a filter (OGC 19-079r2, 7.3). Older clients use cql-text.
var filterLangs = []string{"cql2-text", "cql2-json", "cql-text"}

// profiles are the profiles of GeoJSON (OGC 21-045r1, 14). The first is the default.
var profiles = []string{"rfc7946", "jsonfg", "jsonfg-plus"}

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

	ParamCursor = &Param{Name: "cursor", Description: "Place to go on from, as links next and prev give it; has no " +
		"meaning of its own", Schema: SchemaFilled,
		Parse: Into(func(c *Call, p *ItemsParams, v []string) error {
			if p.Query.Cursor, c.Resumes = c.s.Cursors.Verify(v[0], c.Collection.ID, c.Values); c.Resumes {
				return nil
			}
			c.PayForged()
			return problem.InvalidWith("cursor", v[0], problems.ForeignCursor)
		})}

	ParamDatetime = &Param{Name: "datetime", Define: defineDatetime, Description: "Only features whose time touches " +
		"this moment or interval: RFC 3339, a/b, ../b, a/... Features without time are always in. Where no property " +
		"has the role of the time, all days and moments of a feature count",
		Schema: SchemaFilled,
		Parse: Into(func(c *Call, p *ItemsParams, v []string) error {
			return p.parseDatetime("datetime", v[0], c.Zone())
		})}

	ParamDatetimeAlias = &Param{Name: "datetime_", Untold: true, Description: "The same as datetime, for clients " +
		"that cannot write that name",
		Schema: SchemaFilled,
		Parse: Into(func(c *Call, p *ItemsParams, v []string) error {
			return p.parseDatetime("datetime_", v[0], c.Zone())
		})}

	ParamFilter = &Param{Name: "filter", Description: "Only features for which this CQL2 expression is true",
		Schema: SchemaFilled,
		Parse: Into(func(_ *Call, p *ItemsParams, v []string) error {
			p.filter, p.hasFilter = v[0],
				true
			return nil
		})}

	ParamFilterLang = &Param{Name: "filter-lang", Description: "Encoding of filter",
		Schema: map[string]any{"type": "string", "enum": filterLangs, "default": filterLangs[0]},
		Parse: Into(func(_ *Call, p *ItemsParams, v []string) error {
			for _, l := range filterLangs {
				if v[0] == l {
					p.filterJSON = l == "cql2-json"
					return nil
				}
			}
			return problem.Invalidf("filter-lang", v[0], "use one of %s", strings.Join(filterLangs, ", "))
		})}

	ParamFilterCRS = &Param{Name: "filter-crs", Own: true, Define: DefineCRS,
		Description: "CRS of the geometries in filter: one of the collection's crs; default CRS84", Schema: SchemaURI,
		Parse: Into(func(c *Call, p *ItemsParams, v []string) (err error) {
			p.filterCRS, _, err = ParseCRS(c.Collection, "filter-crs", v[0])
			return err
		})}

	ParamProperties = &Param{Name: "properties", Own: true, Define: defineProperties,
		Description: "Properties to return, separated by commas; id and links always stay, the geometry only when it " +
			"is named",
		Schema: map[string]any{"type": "array", "minItems": 1,
			"items": map[string]any{"type": "string", "minLength": 1}},
		Parse: Into(func(c *Call, to WritesFeatures, v []string) error {
			return to.Output().parseProperties(c.Collection, v[0])
		})}

	ParamProfile = &Param{Name: "profile", Define: defineProfile, Description: "Of GeoJSON: rfc7946, the default, or " +
		"JSON-FG: jsonfg, or jsonfg-plus with the geometry in CRS84 beside the place in another CRS. Of several the " +
		"first is written. Other representations have none, and tell so in the header Format-Losses",
		Schema: map[string]any{"type": "array", "minItems": 1,
			"items": map[string]any{"type": "string", "enum": profiles}},
		Parse: Into(func(c *Call, to Profiled, v []string) error {
			told := false
			for name := range strings.SplitSeq(v[0], ",") {
				name = profileName(name)
				if out, ok := to.(WritesFeatures); ok && IsVersioned(c.Collection) &&
					slices.Contains(versionProfiles, name) {
					if out.Output().versions == "" {
						out.Output().versions = name
					}
					continue
				}
				if !slices.Contains(profiles, name) {
					return problem.Invalidf("profile", v[0], "use %s", strings.Join(profilesOf(c.Collection), ", "))
				}
				if !told {
					*to.ProfileParam(), told = name, true
				}
			}
			return nil
		})}
)

var (
	SchemaString = map[string]any{"type": "string"}
	SchemaFilled = map[string]any{"type": "string", "minLength": 1}
	SchemaNumber = map[string]any{"type": "number"}
	SchemaURI    = map[string]any{"type": "string", "format": "uri"}
)

func defineProfile(c *Call, d *openapi.Parameter) {
	if IsVersioned(c.Collection) {
		d.Shared = "profile-versions"
		d.Schema = map[string]any{"type": "array", "minItems": 1,
			"items": map[string]any{"type": "string", "enum": profilesOf(c.Collection)}}
		d.Description += ". Of several versions of a feature: versions-as-features-unique-ids, the default of an " +
			"interval, " +
			"gives each an id of its own, versions-as-features that of the feature"
	}
}

func defineDatetime(c *Call, d *openapi.Parameter) {
	if IsVersioned(c.Collection) {
		d.Shared = "datetime-versions"
		d.Description = "Which versions of the features: those of a moment or of a day (RFC 3339), one of each; " +
			"of an interval (a/b, ../b, a/..) all that touch it. Without it, those of now. All other conditions are " +
			"on these versions"
	}
	d.Description += ". Days, and times without a zone, are those of " + c.Zone().String()
}

func DefineCRS(c *Call, d *openapi.Parameter) {
	if c.Collection != nil && c.Collection != AnyCollection {
		// without a format, since generated clients have no constants for enums with one
		d.Schema = map[string]any{"type": "string", "enum": CrsURIs(c.Collection)}
	}
}

func defineProperties(c *Call, d *openapi.Parameter) {
	if c.Collection == nil || c.Collection == AnyCollection {
		return
	}
	if names := c.Collection.Shown(); len(names) > 0 {
		d.Schema = map[string]any{"type": "array", "minItems": 1, "uniqueItems": true,
			"items": map[string]any{"type": "string", "enum": names}}
	}
}

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

// ParseCRS parses a reference system that the collection offers (OGC 18-058r1, 6.2, 6.3). uri is the value of
// Content-Crs.
func ParseCRS(coll *store.Collection, name, v string) (id crs.ID, uri string, err error) {
	id, ok := crs.Parse(v)
	if ok {
		for _, x := range OfferedCRS(coll) {
			if x == id {
				return id, id.URI(), nil
			}
		}
	}
	uris := CrsURIs(coll)
	return crs.CRS84, "", problem.Invalidf(name, v, "use one of the collection's crs: %s", strings.Join(uris, ", "))
}

func (p *ItemsParams) parseDatetime(name, v string, zone *time.Location) error {
	from, to, err := cql2.ParseInterval(v, zone)
	if err != nil {
		e := problem.Of(err)
		for i := range e.Faults {
			e.Faults[i].Param = name
		}
		return e
	}
	if p.hasTime {
		return problem.Invalidf(name, v, "give either datetime or datetime_, not both")
	}
	p.from, p.to, p.hasTime, p.interval = from, to, true, strings.Contains(v, "/")
	return nil
}

// parseProperties parses the list of requested properties (OGC API – Features Part 6, draft).
func (p *OutputParams) parseProperties(coll *store.Collection, v string) error {
	p.Properties, p.SkipGeometry = []string{}, true
	seen := map[string]bool{}
	for name := range strings.SplitSeq(v, ",") {
		if seen[name] {
			return problem.Invalidf("properties", v, "name each property once; %s stands twice", problem.Clip(name))
		}
		seen[name] = true
		if g := coll.Geometry; g != nil && coll.Canonical(name) == g.Name {
			p.SkipGeometry = false
			continue
		}
		if x, ok := coll.Find(name); !ok || x.Hidden {
			return problem.Invalidf("properties", v, "name properties of the collection: %s",
				strings.Join(coll.Shown(), ", "))
		}
		p.Properties = append(p.Properties, name)
	}
	return nil
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
