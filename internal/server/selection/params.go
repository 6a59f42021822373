// Package selection reads the parameters that select features and say how they are written, and makes a query of them:
// bbox, datetime, conditions on properties, filter, order, profile.
package selection

import (
	"slices"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/store"
	"grense/openapi"
)

// Into is server.Into for parameters that select or write features. If the struct of the route is another, it applies
// to each layer of Layered parameters, or to the Params that the struct embeds.
func Into[T any](parse func(c *server.Call, to T, values []string) error) func(*server.Call, any, []string) error {
	return func(c *server.Call, params any, values []string) error {
		if to, ok := params.(T); ok {
			return parse(c, to, values)
		}
		if p, ok := params.(Layered); ok { // parameters that select features apply to each layer
			return p.Each(func(at *server.Call) error { return parse(at, any(at.Params).(T), values) })
		}
		return parse(c, any(params.(selectsFeatures).selection()).(T), values)
	}
}

// Layered is implemented by parameters that select features of several collections.
type Layered interface {
	Each(fn func(*server.Call) error) error // calls fn for each collection, with a call for its features
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

// NewOutput returns the parameters of output with their defaults.
func NewOutput() OutputParams { return OutputParams{Crs: crs.CRS84, CrsURI: crs.CRS84.URI()} }

// Params are the parameters of the features of a collection.
type Params struct {
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
func (p *Params) selection() *Params { return p }

// selectsFeatures is implemented by structs that embed Params.
type selectsFeatures interface{ selection() *Params }

// New returns the parameters of features with their defaults.
func New(c *server.Call) any {
	return &Params{OutputParams: NewOutput(), BboxCRS: crs.CRS84,
		Query: store.Query{Collection: c.Collection.ID, Limit: c.PageDefault(), SortBy: c.Collection.DefaultSort}}
}

// Of returns the parameters of a call to a route that selects features.
func Of(c *server.Call) *Params { return c.Params.(selectsFeatures).selection() }

// OutputOf returns the parameters of a call to a route that writes features.
func OutputOf(c *server.Call) *OutputParams { return c.Params.(WritesFeatures).Output() }

// Encodings of a filter (OGC 19-079r2, 7.3). Older clients use cql-text.
var filterLangs = []string{"cql2-text", "cql2-json", "cql-text"}

// profiles are the profiles of GeoJSON (OGC 21-045r1, 14). The first is the default.
var profiles = []string{"rfc7946", "jsonfg", "jsonfg-plus"}

// Parameters of several surfaces.
var (
	ParamCursor = &server.Param{Name: "cursor",
		Description: "Place to go on from, as links next and prev give it; has no " +
			"meaning of its own", Schema: server.SchemaFilled,
		Parse: Into(func(c *server.Call, p *Params, v []string) (err error) {
			p.Query.Cursor, err = c.ReadCursor(v[0])
			return err
		})}

	ParamDatetime = &server.Param{Name: "datetime", Define: defineDatetime,
		Description: "Only features whose time touches this moment or interval: RFC 3339, a/b, ../b, a/... Features " +
			"without time are always in. Where no property has the role of the time, all days and moments of " +
			"a feature count",
		Schema: server.SchemaFilled,
		Parse: Into(func(c *server.Call, p *Params, v []string) error {
			return p.parseDatetime("datetime", v[0], c.Zone())
		})}

	ParamDatetimeAlias = &server.Param{Name: "datetime_", Untold: true,
		Description: "The same as datetime, for clients " +
			"that cannot write that name",
		Schema: server.SchemaFilled,
		Parse: Into(func(c *server.Call, p *Params, v []string) error {
			return p.parseDatetime("datetime_", v[0], c.Zone())
		})}

	ParamFilter = &server.Param{Name: "filter", Description: "Only features for which this CQL2 expression is true",
		Schema: server.SchemaFilled,
		Parse: Into(func(_ *server.Call, p *Params, v []string) error {
			p.filter, p.hasFilter = v[0],
				true
			return nil
		})}

	ParamFilterLang = &server.Param{Name: "filter-lang", Description: "Encoding of filter",
		Schema: map[string]any{"type": "string", "enum": filterLangs, "default": filterLangs[0]},
		Parse: Into(func(_ *server.Call, p *Params, v []string) error {
			for _, l := range filterLangs {
				if v[0] == l {
					p.filterJSON = l == "cql2-json"
					return nil
				}
			}
			return problem.Invalidf("filter-lang", v[0], "use one of %s", strings.Join(filterLangs, ", "))
		})}

	ParamFilterCRS = &server.Param{Name: "filter-crs", Own: true, Define: DefineCRS,
		Description: "CRS of the geometries in filter: one of the collection's crs; default CRS84",
		Schema:      server.SchemaURI,
		Parse: Into(func(c *server.Call, p *Params, v []string) (err error) {
			p.filterCRS, _, err = ParseCRS(c.Collection, "filter-crs", v[0])
			return err
		})}

	ParamProperties = &server.Param{Name: "properties", Own: true, Define: defineProperties,
		Description: "Properties to return, separated by commas; id and links always stay, the geometry only when it " +
			"is named",
		Schema: map[string]any{"type": "array", "minItems": 1,
			"items": map[string]any{"type": "string", "minLength": 1}},
		Parse: Into(func(c *server.Call, to WritesFeatures, v []string) error {
			return to.Output().parseProperties(c.Collection, v[0])
		})}

	ParamProfile = &server.Param{Name: "profile", Define: defineProfile,
		Description: "Of GeoJSON: rfc7946, the default, or JSON-FG: jsonfg, or jsonfg-plus with the geometry in " +
			"CRS84 beside the place in another CRS. Of several the first is written. Other representations have " +
			"none, and tell so in the header Format-Losses",
		Schema: map[string]any{"type": "array", "minItems": 1,
			"items": map[string]any{"type": "string", "enum": profiles}},
		Parse: Into(func(c *server.Call, to Profiled, v []string) error {
			told := false
			for name := range strings.SplitSeq(v[0], ",") {
				name = profileName(name)
				if out, ok := to.(WritesFeatures); ok && server.IsVersioned(c.Collection) &&
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

func defineProfile(c *server.Call, d *openapi.Parameter) {
	if server.IsVersioned(c.Collection) {
		d.Shared = "profile-versions"
		d.Schema = map[string]any{"type": "array", "minItems": 1,
			"items": map[string]any{"type": "string", "enum": profilesOf(c.Collection)}}
		d.Description += ". Of several versions of a feature: versions-as-features-unique-ids, the default of an " +
			"interval, " +
			"gives each an id of its own, versions-as-features that of the feature"
	}
}

func defineDatetime(c *server.Call, d *openapi.Parameter) {
	if server.IsVersioned(c.Collection) {
		d.Shared = "datetime-versions"
		d.Description = "Which versions of the features: those of a moment or of a day (RFC 3339), one of each; " +
			"of an interval (a/b, ../b, a/..) all that touch it. Without it, those of now. All other conditions are " +
			"on these versions"
	}
	d.Description += ". Days, and times without a zone, are those of " + c.Zone().String()
}

func DefineCRS(c *server.Call, d *openapi.Parameter) {
	if c.Collection != nil && c.Collection != server.AnyCollection {
		// without a format, since generated clients have no constants for enums with one
		d.Schema = map[string]any{"type": "string", "enum": server.CrsURIs(c.Collection)}
	}
}

func defineProperties(c *server.Call, d *openapi.Parameter) {
	if c.Collection == nil || c.Collection == server.AnyCollection {
		return
	}
	if names := c.Collection.Shown(); len(names) > 0 {
		d.Schema = map[string]any{"type": "array", "minItems": 1, "uniqueItems": true,
			"items": map[string]any{"type": "string", "enum": names}}
	}
}

// ParseCRS parses a reference system that the collection offers (OGC 18-058r1, 6.2, 6.3). uri is the value of
// Content-Crs.
func ParseCRS(coll *store.Collection, name, v string) (id crs.ID, uri string, err error) {
	id, ok := crs.Parse(v)
	if ok {
		for _, x := range server.OfferedCRS(coll) {
			if x == id {
				return id, id.URI(), nil
			}
		}
	}
	uris := server.CrsURIs(coll)
	return crs.CRS84, "", problem.Invalidf(name, v, "use one of the collection's crs: %s", strings.Join(uris, ", "))
}

func (p *Params) parseDatetime(name, v string, zone *time.Location) error {
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
