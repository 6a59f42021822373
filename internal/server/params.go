package server

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/store"
	"grense/openapi"
)

// A Param is a query parameter, declared once for the check of requests and for the API definition.
type Param struct {
	Name        string
	Description string
	Schema      map[string]any               // OpenAPI 3.0 schema
	Shared      string                       // its name among the parameters that operations of the API definition share; "": Name
	Own         bool                         // each operation of the API definition describes it by itself
	Repeat      bool                         // may stand more than once
	Only        func(*store.Collection) bool // which collections it is for; nil: all
	Untold      bool                         // accepted, but nowhere told: the same as another under a second name
	// Define changes the description of the parameter in the API definition to what holds for the collection of the call; nil: nothing.
	Define func(c *Call, d *openapi.Parameter)
	// Parse reads the values into the struct of the route's parameters; what it returns is an error of kind Invalid. It runs for every
	// parameter of the route that the request names, in the order of the table. Made by Into; nil: the values are read elsewhere.
	Parse func(c *Call, params any, values []string) error
}

// Into makes a parse of a function that fills T: a pointer to the struct of a route's parameters, or an interface of several such.
func Into[T any](parse func(c *Call, to T, values []string) error) func(*Call, any, []string) error {
	return func(c *Call, params any, values []string) error {
		if to, ok := params.(T); ok {
			return parse(c, to, values)
		}
		if p, ok := params.(Layered); ok { // what chooses features does so in each layer
			return p.Each(func(at *Call) error { return parse(at, any(at.Params).(T), values) })
		}
		return parse(c, any(params.(selectsFeatures).selection()).(T), values)
	}
}

// Layered are parameters that choose features of several collections.
type Layered interface {
	Each(fn func(*Call) error) error // calls fn with the call as if it asked for the features of one collection
}

// outputParams say how features are written. They are part of the structs of several routes.
type OutputParams struct {
	Crs          crs.ID
	CrsURI       string   // as Content-Crs shall say it
	Properties   []string // nil: all
	SkipGeometry bool
	Profile      string   // of GeoJSON; "": rfc7946
	Dialect      string   // of CSV; "": rfc4180
	Precision    *int     // decimals of coordinates in GeoJSON and CSV; nil: those of the CRS
	Zoom         *float64 // nil: geometries are not simplified
	versions     string   // profile of several versions of a feature; "": none asked for
	VersionIDs   bool     // features are versions, with ids of their own
	told         string   // the profile of versions that the answer has; "": it has no versions
}

// output lets a parameter find these in the struct of a route.
func (p *OutputParams) Output() *OutputParams { return p }

func (p *OutputParams) ToldProfile() *string { return &p.Profile }

// profiled is the struct of a route that answers in GeoJSON of a profile.
type Profiled interface{ ToldProfile() *string }

// writesFeatures is the struct of a route that has outputParams.
type WritesFeatures interface{ Output() *OutputParams }

func NewOutputParams() OutputParams { return OutputParams{Crs: crs.CRS84, CrsURI: crs.CRS84.URI()} }

// itemsParams are those of the features of a collection.
type ItemsParams struct {
	OutputParams
	Query      store.Query
	Bbox       string
	HasBBox    bool
	BboxCRS    crs.ID
	from, to   *time.Time
	hasTime    bool
	interval   bool     // datetime is an interval, not a moment or a day
	Terms      []string // of q; nil: none
	filter     string
	hasFilter  bool
	filterJSON bool
	filterCRS  crs.ID // zero: CRS84
	Norwegian  bool   // texts are sorted by the Norwegian alphabet
	Hits       bool   // only the count is wanted
}

// selection lets a parameter find these in the struct of another route.
func (p *ItemsParams) selection() *ItemsParams { return p }

// selectsFeatures is the struct of a route that has itemsParams.
type selectsFeatures interface{ selection() *ItemsParams }

func NewItemsParams(c *Call) any {
	return &ItemsParams{OutputParams: NewOutputParams(), BboxCRS: crs.CRS84,
		Query: store.Query{Collection: c.Collection.ID, Limit: c.PageDefault(), SortBy: c.Collection.DefaultSort}}
}

// Items are the parameters of a call of a route that selects features.
func (c *Call) Items() *ItemsParams { return c.Params.(selectsFeatures).selection() }

// output are the parameters of a call of a route that writes features.
func (c *Call) Output() *OutputParams { return c.Params.(WritesFeatures).Output() }

// keyParams are those of the form for the key.
type keyParams struct{ code, next string } // "": none

func newKeyParams(*Call) any { return &keyParams{} }

// Encodings of a filter (OGC 19-079r2, 7.3). cql-text is the name that older clients know.
var filterLangs = []string{"cql2-text", "cql2-json", "cql-text"}

// profiles are those of GeoJSON (OGC 21-045r1, 14); the first goes without saying.
var profiles = []string{"rfc7946", "jsonfg", "jsonfg-plus"}

// truth reads the value of a parameter that is true or false.
func Truth(name, value string) (bool, error) {
	if value != "true" && value != "false" {
		return false, problem.Invalidf(name, value, "use true or false")
	}
	return value == "true", nil
}

// pageMax is the largest page of features of the collection.
func (c *Call) PageMax() int {
	if c.Collection != nil && c.Collection.PageMax > 0 {
		return c.Collection.PageMax
	}
	return c.s.Config.Limits.PageMax
}

// pageDefault is how many features of the collection a page has without limit.
func (c *Call) PageDefault() int {
	n := c.s.Config.Limits.PageDefault
	if c.Collection != nil && c.Collection.PageDefault > 0 {
		n = c.Collection.PageDefault
	}
	return min(n, c.PageMax())
}

// MaxLimit and DefaultLimit bound the lists of processes and jobs. A page of features has limits.page_max and limits.page_default
// (config.Limits.PageMax, PageDefault) instead, with the same defaults. A larger limit is clamped, not refused (OGC 17-069r4, 7.15.2).
const (
	MaxLimit     = 10000
	DefaultLimit = 100
)

var (
	ParamF = &Param{Name: "f", Description: "Representation; goes before the header Accept", Schema: SchemaString}

	ParamLang = &Param{Name: "lang", Description: "Language of texts: nb, nn or en; goes before Accept-Language, anything else gives nb", Schema: SchemaString}

	ParamCursor = &Param{Name: "cursor", Description: "Place to go on from, as links next and prev give it; has no meaning of its own", Schema: SchemaFilled,
		Parse: Into(func(c *Call, p *ItemsParams, v []string) (err error) {
			p.Query.Cursor, err = c.verifyCursor(v[0])
			c.continues = err == nil
			return err
		})}

	ParamDatetime = &Param{Name: "datetime", Define: defineDatetime, Description: "Only features whose time touches this moment or interval: RFC 3339, a/b, ../b, a/... Features without time are always in. Where no property has the role of the time, all days and moments of a feature count",
		Schema: SchemaFilled, Parse: Into(func(c *Call, p *ItemsParams, v []string) error { return p.parseDatetime("datetime", v[0], c.Zone()) })}

	ParamDatetimeAlias = &Param{Name: "datetime_", Untold: true, Description: "The same as datetime, for clients that cannot write that name",
		Schema: SchemaFilled, Parse: Into(func(c *Call, p *ItemsParams, v []string) error { return p.parseDatetime("datetime_", v[0], c.Zone()) })}

	ParamFilter = &Param{Name: "filter", Description: "Only features for which this CQL2 expression is true", Schema: SchemaFilled,
		Parse: Into(func(_ *Call, p *ItemsParams, v []string) error { p.filter, p.hasFilter = v[0], true; return nil })}

	ParamFilterLang = &Param{Name: "filter-lang", Description: "Encoding of filter", Schema: map[string]any{"type": "string", "enum": filterLangs, "default": filterLangs[0]},
		Parse: Into(func(_ *Call, p *ItemsParams, v []string) error {
			for _, l := range filterLangs {
				if v[0] == l {
					p.filterJSON = l == "cql2-json"
					return nil
				}
			}
			return problem.Invalidf("filter-lang", v[0], "use one of %s", strings.Join(filterLangs, ", "))
		})}

	ParamFilterCRS = &Param{Name: "filter-crs", Own: true, Define: DefineCRS, Description: "CRS of the geometries in filter: one of the collection's crs; default CRS84", Schema: SchemaURI,
		Parse: Into(func(c *Call, p *ItemsParams, v []string) (err error) {
			p.filterCRS, _, err = c.ParseCRS("filter-crs", v[0])
			return err
		})}

	ParamProperties = &Param{Name: "properties", Own: true, Define: defineProperties, Description: "Properties to return, separated by commas; id and links always stay, the geometry only when it is named",
		Schema: map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"type": "string", "minLength": 1}},
		Parse:  Into(func(c *Call, to WritesFeatures, v []string) error { return c.parseProperties(to.Output(), v[0]) })}

	ParamProfile = &Param{Name: "profile", Define: defineProfile, Description: "Of GeoJSON: rfc7946, the default, or JSON-FG: jsonfg, or jsonfg-plus with the geometry in CRS84 beside the place in another CRS. Of several the first is written. Other representations have none, and tell so in the header Format-Losses",
		Schema: map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"type": "string", "enum": profiles}},
		Parse: Into(func(c *Call, to Profiled, v []string) error {
			told := false
			for name := range strings.SplitSeq(v[0], ",") {
				name = profileName(name)
				if out, ok := to.(WritesFeatures); ok && IsVersioned(c.Collection) && slices.Contains(versionProfiles, name) {
					if out.Output().versions == "" {
						out.Output().versions = name
					}
					continue
				}
				if !slices.Contains(profiles, name) {
					return problem.Invalidf("profile", v[0], "use %s", strings.Join(c.profileNames(), ", "))
				}
				if !told {
					*to.ToldProfile(), told = name, true
				}
			}
			return nil
		})}

	paramCode     = &Param{Name: "code", Description: "One-time code", Schema: SchemaString, Parse: Into(func(_ *Call, p *keyParams, v []string) error { p.code = v[0]; return nil })}
	paramNextPage = &Param{Name: "next", Description: "Page to open afterwards", Schema: SchemaString, Parse: Into(func(_ *Call, p *keyParams, v []string) error { p.next = v[0]; return nil })}
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
			"items": map[string]any{"type": "string", "enum": c.profileNames()}}
		d.Description += ". Of several versions of a feature: versions-as-features-unique-ids, the default of an interval, " +
			"gives each an id of its own, versions-as-features that of the feature"
	}
}

func defineDatetime(c *Call, d *openapi.Parameter) {
	if IsVersioned(c.Collection) {
		d.Shared = "datetime-versions"
		d.Description = "Which versions of the features: those of a moment or of a day (RFC 3339), one of each; " +
			"of an interval (a/b, ../b, a/..) all that touch it. Without it, those of now. All other conditions are on these versions"
	}
	d.Description += ". Days, and times without a zone, are those of " + c.Zone().String()
}

func DefineCRS(c *Call, d *openapi.Parameter) {
	if c.Collection != nil && c.Collection != AnyCollection {
		// Without a format: generators make types of it that have no constants.
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

// reserved are the names that a property cannot have as a query parameter; such a property is no query parameter.
var Reserved = map[string]bool{"f": true, "lang": true, "limit": true, "offset": true, "cursor": true, "bbox": true, "bbox-crs": true, "crs": true,
	"datetime": true, "datetime_": true, "sortby": true, "collation": true, "properties": true, "skipGeometry": true, "resulttype": true, "q": true, "filter": true, "filter-lang": true,
	"filter-crs": true, "profile": true, "dialect": true, "revision": true, "zoom-level": true}

// maxInt bounds limit and offset as they are read; larger numbers mean the same as this one.
const maxInt = 1 << 40

// positive reads a whole number of at least low.
func Positive(name, v string, low int) (int, error) {
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil && n > 0 && len(v) < 1000 && !strings.ContainsAny(v, "+-_") {
		n, err = maxInt, nil // out of range, but a whole number
	}
	if err != nil || n < int64(low) || strings.HasPrefix(v, "+") {
		return low, problem.Invalidf(name, v, "use a whole number from %d", low)
	}
	return int(min(n, maxInt)), nil
}

// parseQuery reads the query of the request by the table: unknown parameters, repeated ones and bad values are all reported at
// once (OGC 17-069r4, 7.8 and 7.9).
func (c *Call) parseQuery(rt *Route) error {
	values, err := url.ParseQuery(c.Request.URL.RawQuery)
	var faults []problem.Fault
	var whole error // one without single faults
	add := func(err error) {
		if err == nil {
			return
		}
		if p := problem.Of(err); len(p.Faults) > 0 {
			faults = append(faults, p.Faults...)
		} else if whole == nil {
			whole = err
		}
	}
	if err != nil {
		add(problem.Invalidf("?", c.Request.URL.RawQuery, "write the query as name=value pairs joined by &, with %% escapes for other characters"))
	}
	c.Values = values
	if c.bringsFilter() {
		faults = append(faults, c.takeFilter(values)...)
	}
	switch l, ok := languageOf(values.Get("lang")); { // what means the same shall not make other documents
	case !ok: // any other text means the same as none
		delete(values, "lang")
	case len(values["lang"]) == 1: // nb-NO, NB and nb-x are nb
		values.Set("lang", l)
	}
	for name, v := range values {
		add(c.checkName(rt, name, v))
	}
	if rt.Lenient && len(rt.Formats) == 1 {
		delete(values, "f")
	}
	for _, p := range c.ParamsOf(rt) {
		if v, ok := values[p.Name]; ok && p.Parse != nil {
			add(p.Parse(c, c.Params, v))
		}
	}
	switch p := c.Params.(type) {
	case selectsFeatures:
		add(c.finishQuery(p.selection()))
	case Layered:
		add(p.Each(func(at *Call) error { return at.finishQuery(at.Items()) }))
	}
	if len(faults) > 0 {
		SortFaults(faults)
		return &problem.Error{Kind: problem.Invalid, Faults: faults}
	}
	return whole
}

// checkName tells what is wrong with a parameter of the query besides its value. Fields that a form sends empty are taken out.
func (c *Call) checkName(rt *Route, name string, v []string) error {
	p := c.ParamNamed(rt, name)
	form := rt.Fields && strings.EqualFold(c.Values.Get("f"), AsHTML.F)
	field := p == nil && rt.Fields && c.Field(name) != nil
	if p == nil && rt.Fields && !field {
		x, _ := c.forgiving(name)
		field = x != nil
		c.forgives = c.forgives || field
	}
	switch {
	case holdsKey(name) || slices.ContainsFunc(v, holdsKey):
		return problem.Invalidf(name, v[0], "never write a key into an address; send it in the header X-API-Key, and revoke this one")
	case form && len(v) == 1 && v[0] == "" && (p != nil || field):
		delete(c.Values, name)
	case field:
		if len(v) > 1 {
			return problem.Invalidf(name, v[1], "give the property once")
		}
	case rt.Lenient:
	case p == nil:
		return problem.Invalidf(name, v[0], "there is no such parameter here; %s", c.ParameterNames(rt))
	case len(v) > 1 && !p.Repeat:
		return problem.Invalidf(name, v[1], "give the parameter once")
	}
	return nil
}

// ParamsOf are the parameters of a route, at the collection of the call.
func (c *Call) ParamsOf(rt *Route) []*Param {
	if !slices.ContainsFunc(rt.Params, func(p *Param) bool { return p.Only != nil }) {
		return rt.Params
	}
	return slices.DeleteFunc(slices.Clone(rt.Params), func(p *Param) bool { return p.Only != nil && !p.Only(c.Collection) })
}

// ParamNamed is the parameter of a route with that name; nil when there is none.
func (c *Call) ParamNamed(rt *Route, name string) *Param {
	for _, p := range [...]*Param{ParamF, ParamLang} {
		if p.Name == name {
			return p
		}
	}
	for _, p := range c.ParamsOf(rt) {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// holdsKey reports whether a text looks like an API key.
func holdsKey(s string) bool { return Redacted(s) != s }

// ParameterNames lists what a route takes, for the cure of an unknown parameter.
func (c *Call) ParameterNames(rt *Route) problem.Saying {
	names := []string{"f", "lang"}
	for _, p := range c.ParamsOf(rt) {
		if !p.Untold {
			names = append(names, p.Name)
		}
	}
	if rt.Fields {
		for p := range c.Collection.Queryables() {
			if c.Field(p.Name) != nil {
				names = append(names, p.Name)
			}
		}
		return problem.Sayf("use %s; with .like at its end the name of a text asks for words in it, with .from and .to that of a number, a day or a moment bounds it", strings.Join(names, ", "))
	}
	return problem.Sayf("use %s", strings.Join(names, ", "))
}

// Field returns the property that a query parameter of that name filters by; nil when there is none.
func (c *Call) Field(name string) *store.Property {
	p, ok := c.Collection.Queryable(name)
	if !ok || p.Hidden || Reserved[name] || !Simple(p.Type) && !Elements(p) {
		return nil
	}
	return p
}

// Elements reports whether a property is an array whose elements a query parameter can name.
func Elements(p *store.Property) bool {
	return p.Items != "" && p.Items != "object" && p.Items != "array"
}

// Simple reports whether values of the type can be written as a query parameter.
func Simple(t cql2.Type) bool { return t != cql2.TypeGeometry && t != cql2.TypeJSON }

// parseCRS reads a CRS that the collection offers (OGC 18-058r1, 6.2, 6.3). uri is what Content-Crs shall say.
func (c *Call) ParseCRS(name, v string) (id crs.ID, uri string, err error) {
	id, ok := crs.Parse(v)
	if ok {
		for _, x := range OfferedCRS(c.Collection) {
			if x == id {
				return id, id.URI(), nil
			}
		}
	}
	uris := CrsURIs(c.Collection)
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

// parseMoment reads a moment, or a day, of which it is the beginning.
func (c *Call) ParseMoment(v string) (*time.Time, error) {
	at, ok := cql2.ParseInstant(v, c.Zone())
	if !ok {
		return nil, problem.Invalidf("datetime", v, "use a day as 2024-01-31 or a moment as 2024-01-31T12:00:00Z; %s/versions lists those of a feature", strings.TrimSuffix(c.Request.URL.Path, "/"))
	}
	return &at, nil
}

// parseSortBy reads sortby. An unencoded + arrives as a space. In a repeated parameter, a bare asc or desc sets the direction of
// the key before it, unless a property has that name.
func (c *Call) ParseSortBy(values []string) (keys []store.Sort, err error) {
	seen := map[string]bool{}
	for i, v := range values {
		if i > 0 && len(keys) > 0 && (v == "asc" || v == "desc") {
			if _, ok := c.Collection.Find(v); !ok {
				keys[len(keys)-1].Desc = v == "desc"
				continue
			}
		}
		for k := range strings.SplitSeq(v, ",") {
			key := store.Sort{Property: k}
			switch {
			case strings.HasPrefix(k, "-"):
				key = store.Sort{Property: k[1:], Desc: true}
			case strings.HasPrefix(k, "+"), strings.HasPrefix(k, " "):
				key.Property = k[1:]
			}
			p, ok := c.Collection.Queryable(key.Property)
			if !ok || !sortable(p) {
				return nil, problem.Invalidf("sortby", v, "sort by one of %s", strings.Join(SortableNames(c.Collection), ", "))
			}
			if seen[key.Property] {
				return nil, problem.Invalidf("sortby", v, "name each property once; %s stands twice", key.Property)
			}
			if len(keys) == 8 {
				return nil, problem.Invalidf("sortby", v, "use at most 8 properties")
			}
			seen[key.Property] = true
			keys = append(keys, key)
		}
	}
	return keys, nil
}

func SortableNames(coll *store.Collection) []string {
	var names []string
	for p := range coll.Queryables() {
		if sortable(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// sortable reports whether features can be put in the order of a property.
func sortable(p *store.Property) bool { return !p.Hidden && Simple(p.Type) && p.Path == nil }

// parseProperties reads the list of properties to return (OGC API – Features Part 6, draft).
func (c *Call) parseProperties(p *OutputParams, v string) error {
	p.Properties, p.SkipGeometry = []string{}, true
	seen := map[string]bool{}
	for name := range strings.SplitSeq(v, ",") {
		if seen[name] {
			return problem.Invalidf("properties", v, "name each property once; %s stands twice", Clip(name))
		}
		seen[name] = true
		if g := c.Collection.Geometry; g != nil && c.Collection.Canonical(name) == g.Name {
			p.SkipGeometry = false
			continue
		}
		if x, ok := c.Collection.Find(name); !ok || x.Hidden {
			return problem.Invalidf("properties", v, "name properties of the collection: %s", strings.Join(c.Collection.Shown(), ", "))
		}
		p.Properties = append(p.Properties, name)
	}
	return nil
}

// PickDivisions leaves of collections those that a list names, in its order.
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

// CrsOfPoints reads the CRS of positions that are asked about.
func CrsOfPoints(v string) (crs.ID, error) {
	id, ok := crs.Parse(v)
	if !ok {
		return id, problem.Invalidf("crs", v, "use the address of a coordinate system, such as %s", crs.UTM33.URI())
	}
	return id, nil
}

// PlainNumber reads a number as people and JSON write it; what only programs do, such as 1_0 and 0x1p3, is none, nor are infinity and NaN.
func PlainNumber(v string) (float64, bool) {
	x, err := strconv.ParseFloat(v, 64)
	return x, err == nil && x-x == 0 && !strings.ContainsAny(v, "xX_")
}

// OneOf reads a list of values, each of which must be allowed.
func OneOf(name, v string, allowed []string) ([]string, error) {
	list := strings.Split(v, ",")
	for _, x := range list {
		if !slices.Contains(allowed, x) {
			return nil, problem.Invalidf(name, v, "use one or more of %s", strings.Join(allowed, ", "))
		}
	}
	return list, nil
}
