package server

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"grense/internal/cql2"
	"grense/internal/crs"
	"grense/internal/problem"
	"grense/internal/store"
)

// A param is a query parameter, declared once for the check of requests and for the API definition.
type param struct {
	Name        string
	Description string
	Schema      map[string]any // OpenAPI 3.0 schema
	Repeat      bool           // may stand more than once
	// parse reads the values into the call; what it returns is an error of kind Invalid. It runs for every parameter of the route
	// that the request names, in the order of the table.
	parse func(c *call, values []string) error
}

// MaxLimit and DefaultLimit bound a page of features (OGC 17-069r4, 7.15.2). A larger limit is clamped, not refused.
const (
	MaxLimit     = 10000
	DefaultLimit = 100
)

var (
	paramF = &param{Name: "f", Description: "Representation; goes before the header Accept", Schema: schemaString}

	paramLang = &param{Name: "lang", Description: "Language of texts: nb, nn or en; goes before Accept-Language, anything else gives nb", Schema: schemaString}

	paramLimit = &param{Name: "limit", Description: "Features in one page, at most. A larger number is read as the maximum; pages in HTML show 250 at most",
		Schema: map[string]any{"type": "integer", "minimum": 1, "maximum": MaxLimit, "default": DefaultLimit},
		parse: func(c *call, v []string) (err error) {
			c.query.Limit, err = positive("limit", v[0], 1)
			c.query.Limit = min(c.query.Limit, c.s.cfg.Limits.PageMax)
			return err
		}}

	paramOffset = &param{Name: "offset", Description: "Features to skip. To walk through all, follow the links next instead",
		Schema: map[string]any{"type": "integer", "minimum": 0, "default": 0},
		parse: func(c *call, v []string) (err error) {
			c.query.Offset, err = positive("offset", v[0], 0)
			return err
		}}

	paramCursor = &param{Name: "cursor", Description: "Place to go on from, as links next and prev give it; has no meaning of its own", Schema: schemaString,
		parse: func(c *call, v []string) error {
			c.query.Cursor = store.Cursor(v[0])
			if _, err := c.query.Cursor.Place(); err != nil || v[0] == "" {
				return problem.Invalidf("cursor", v[0], "take the cursor from a link next or prev, whole and unchanged")
			}
			return nil
		}}

	paramBBox = &param{Name: "bbox", Description: "Only features that touch this box: west, south, east, north (with heights: six numbers), in the axis order of bbox-crs. West greater than east crosses the antimeridian. Features without geometry are always in",
		Schema: map[string]any{"type": "array", "minItems": 4, "maxItems": 6, "items": map[string]any{"type": "number"}},
		parse:  func(c *call, v []string) error { c.bbox = v[0]; c.hasBBox = true; return nil }}

	paramBBoxCRS = &param{Name: "bbox-crs", Description: "CRS of bbox: one of the collection's crs; default CRS84", Schema: schemaURI,
		parse: func(c *call, v []string) (err error) { c.bboxCRS, _, err = c.parseCRS("bbox-crs", v[0]); return err }}

	paramCRS = &param{Name: "crs", Description: "CRS of the coordinates in the answer: one of the collection's crs; default CRS84", Schema: schemaURI,
		parse: func(c *call, v []string) (err error) { c.crs, c.crsURI, err = c.parseCRS("crs", v[0]); return err }}

	paramDatetime = &param{Name: "datetime", Description: "Only features whose time touches this moment or interval: RFC 3339, a/b, ../b, a/... Features without time are always in",
		Schema: schemaString, parse: func(c *call, v []string) error { return c.parseDatetime("datetime", v[0]) }}

	paramDatetimeAlias = &param{Name: "datetime_", Description: "The same as datetime, for clients that cannot write that name",
		Schema: schemaString, parse: func(c *call, v []string) error { return c.parseDatetime("datetime_", v[0]) }}

	paramSortBy = &param{Name: "sortby", Description: "Order: properties, separated by commas, each with + (ascending) or - (descending) before it. Features without a value come last",
		Schema: map[string]any{"type": "array", "minItems": 1, "items": map[string]any{"type": "string", "minLength": 1}}, Repeat: true,
		parse: func(c *call, v []string) error { return c.parseSortBy(v) }}

	paramUI = &param{Name: "ui", Description: "Page of the API definition: plain, the default, reads without JavaScript; swagger tries requests out", Schema: map[string]any{"type": "string", "enum": []string{"swagger", "plain"}},
		parse: func(c *call, v []string) error {
			if v[0] != "swagger" && v[0] != "plain" {
				return problem.Invalidf("ui", v[0], "use swagger or plain")
			}
			c.ui = v[0]
			return nil
		}}

	paramProcessLimit = &param{Name: "limit", Description: "Processes in the list, at most", Schema: map[string]any{"type": "integer", "minimum": 1, "maximum": MaxLimit, "default": DefaultLimit},
		parse: paramLimit.parse}

	paramOperation = &param{Name: "operation", Description: "Operation of the place-name service", Schema: schemaString, parse: func(c *call, v []string) error { c.operationName = v[0]; return nil }}

	paramCode     = &param{Name: "code", Description: "One-time code", Schema: schemaString, parse: func(c *call, v []string) error { c.code = v[0]; return nil }}
	paramNextPage = &param{Name: "next", Description: "Page to open afterwards", Schema: schemaString, parse: func(c *call, v []string) error { c.after = v[0]; return nil }}
)

var (
	schemaString = map[string]any{"type": "string"}
	schemaURI    = map[string]any{"type": "string", "format": "uri"}
)

// reserved are the names that a property cannot have as a query parameter; such a property is no query parameter.
var reserved = map[string]bool{"f": true, "lang": true, "limit": true, "offset": true, "cursor": true, "bbox": true, "bbox-crs": true, "crs": true,
	"datetime": true, "datetime_": true, "sortby": true, "collation": true, "properties": true, "skipGeometry": true, "resulttype": true, "q": true, "filter": true, "filter-lang": true,
	"filter-crs": true, "profile": true, "zoom-level": true}

// maxInt bounds limit and offset as they are read; larger numbers mean the same as this one.
const maxInt = 1 << 40

// positive reads a whole number of at least low.
func positive(name, v string, low int) (int, error) {
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
func (c *call) parseQuery(rt *route) error {
	values, err := url.ParseQuery(c.r.URL.RawQuery)
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
		add(problem.Invalidf("?", c.r.URL.RawQuery, "write the query as name=value pairs joined by &, with %% escapes for other characters"))
	}
	c.values = values
	switch l, ok := languageOf(values.Get("lang")); { // what means the same shall not make other documents
	case !ok: // any other text means the same as none
		delete(values, "lang")
	case len(values["lang"]) == 1: // nb-NO, NB and nb-x are nb
		values.Set("lang", l)
	}
	known := map[string]*param{"f": paramF, "lang": paramLang}
	for _, p := range rt.Params {
		known[p.Name] = p
	}
	form := rt.Fields && strings.EqualFold(values.Get("f"), asHTML.F)
	for name, v := range values {
		p := known[name]
		switch {
		case holdsKey(name) || slices.ContainsFunc(v, holdsKey):
			add(problem.Invalidf(name, v[0], "never write a key into an address; send it in the header X-API-Key, and revoke this one"))
		case form && len(v) == 1 && v[0] == "" && (p != nil || c.field(name) != nil):
			delete(values, name) // a form sends the fields that were left empty
		case p == nil && rt.Fields && c.field(name) != nil:
			if len(v) > 1 {
				add(problem.Invalidf(name, v[1], "give the property once"))
			}
		case p == nil:
			add(problem.Invalidf(name, v[0], "there is no such parameter here; %s", c.parameterNames(rt)))
		case len(v) > 1 && !p.Repeat:
			add(problem.Invalidf(name, v[1], "give the parameter once"))
		}
	}
	for _, p := range rt.Params {
		if v, ok := values[p.Name]; ok && p.parse != nil {
			add(p.parse(c, v))
		}
	}
	if c.norwegian {
		c.query.SortBy = slices.Clone(c.query.SortBy) // it may be the catalog's
		for i := range c.query.SortBy {
			c.query.SortBy[i].Norwegian = true
		}
	}
	if rt.Data && c.coll != nil {
		add(c.buildFilter())
	}
	if len(faults) > 0 {
		sortFaults(faults)
		return &problem.Error{Kind: problem.Invalid, Faults: faults}
	}
	return whole
}

// holdsKey reports whether a text looks like an API key.
func holdsKey(s string) bool { return redact(s) != s }

// parameterNames lists what a route takes, for the cure of an unknown parameter.
func (c *call) parameterNames(rt *route) string {
	names := []string{"f", "lang"}
	for _, p := range rt.Params {
		if p != paramDatetimeAlias {
			names = append(names, p.Name)
		}
	}
	if rt.Fields {
		for _, p := range c.coll.Properties {
			if c.field(p.Name) != nil {
				names = append(names, p.Name)
			}
		}
	}
	return "use " + strings.Join(names, ", ")
}

// field returns the property that a query parameter of that name filters by; nil when there is none.
func (c *call) field(name string) *store.Property {
	p, ok := c.coll.Find(name)
	if !ok || p.Hidden || reserved[name] || !simple(p.Type) {
		return nil
	}
	return p
}

// simple reports whether values of the type can be written as a query parameter.
func simple(t cql2.Type) bool { return t != cql2.TypeGeometry && t != cql2.TypeJSON }

// parseCRS reads a CRS that the collection offers (OGC 18-058r1, 6.2, 6.3). uri is what Content-Crs shall say.
func (c *call) parseCRS(name, v string) (id crs.ID, uri string, err error) {
	id, ok := crs.Parse(v)
	if ok {
		for _, x := range offeredCRS(c.coll) {
			if x == id {
				return id, id.URI(), nil
			}
		}
	}
	uris := crsURIs(c.coll)
	return crs.CRS84, "", problem.Invalidf(name, v, "use one of the collection's crs: %s", strings.Join(uris, ", "))
}

func (c *call) parseDatetime(name, v string) error {
	from, to, err := cql2.ParseInterval(v)
	if err != nil {
		e := problem.Of(err)
		for i := range e.Faults {
			e.Faults[i].Param = name
		}
		return e
	}
	if c.hasTime {
		return problem.Invalidf(name, v, "give either datetime or datetime_, not both")
	}
	c.from, c.to, c.hasTime = from, to, true
	return nil
}

// parseSortBy reads sortby. An unencoded + arrives as a space. In a repeated parameter, a bare asc or desc sets the direction of
// the key before it, unless a property has that name.
func (c *call) parseSortBy(values []string) error {
	var keys []store.Sort
	seen := map[string]bool{}
	for i, v := range values {
		if i > 0 && len(keys) > 0 && (v == "asc" || v == "desc") {
			if _, ok := c.coll.Find(v); !ok {
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
			p, ok := c.coll.Find(key.Property)
			if !ok || p.Hidden || !simple(p.Type) {
				return problem.Invalidf("sortby", v, "sort by one of %s", strings.Join(sortableNames(c.coll), ", "))
			}
			if seen[key.Property] {
				return problem.Invalidf("sortby", v, "name each property once; %s stands twice", key.Property)
			}
			if len(keys) == 8 {
				return problem.Invalidf("sortby", v, "use at most 8 properties")
			}
			seen[key.Property] = true
			keys = append(keys, key)
		}
	}
	c.query.SortBy = keys
	return nil
}

func sortableNames(coll *store.Collection) []string {
	var names []string
	for _, p := range coll.Properties {
		if !p.Hidden && simple(p.Type) {
			names = append(names, p.Name)
		}
	}
	return names
}

// buildFilter turns bbox, datetime, name=value, q and filter into one expression over the collection; all must hold.
func (c *call) buildFilter() error {
	var and cql2.And
	var faults []problem.Fault
	if c.hasBBox {
		b, err := cql2.ParseBBox(c.bbox, c.bboxCRS)
		if err != nil {
			faults = append(faults, problem.Of(err).Faults...)
		} else if g := c.coll.Geometry; g != nil {
			b.Prop = g.Name
			and = append(and, b)
		}
	}
	if c.hasTime {
		start, end := c.coll.IntervalStart, c.coll.IntervalEnd
		if c.coll.Instant != "" {
			start, end = c.coll.Instant, c.coll.Instant
		}
		if start != "" || end != "" {
			and = append(and, cql2.Interval{Start: start, End: end, From: c.from, To: c.to})
		}
	}
	for i := range c.coll.Properties {
		p := &c.coll.Properties[i]
		v, ok := c.values[p.Name]
		if !ok || c.rt == nil || !c.rt.Fields || c.field(p.Name) == nil {
			continue
		}
		e, err := equals(p, v[0])
		if err != nil {
			faults = append(faults, problem.Of(err).Faults...)
			continue
		}
		and = append(and, e)
	}
	if c.terms != nil {
		s := cql2.Search{Props: c.coll.SearchNames(), Terms: c.terms}
		and = append(and, s)
		if _, sorted := c.values["sortby"]; !sorted {
			c.query.Rank, c.query.SortBy = &s, nil
		}
	}
	if c.hasFilter {
		e, err := c.parseFilter()
		if err != nil && problem.Of(err).Kind != problem.Invalid {
			return err
		}
		if err != nil {
			faults = append(faults, problem.Of(err).Faults...)
		} else {
			and = append(and, e)
		}
	}
	if faults != nil {
		return &problem.Error{Kind: problem.Invalid, Faults: faults}
	}
	if len(and) == 0 {
		return nil
	}
	var all cql2.Expr = and
	if len(and) == 1 {
		if all = and[0]; c.hasFilter { // which is checked
			c.query.Filter = all
			return nil
		}
	}
	e, err := cql2.Check(all, c.coll)
	c.query.Filter = e
	return err
}

// equals builds property = value from the text of a query parameter (OGC 17-069r4, 7.15.5).
func equals(p *store.Property, v string) (cql2.Expr, error) {
	prop := cql2.Prop{Name: p.Name}
	cmp := func(x cql2.Expr) (cql2.Expr, error) { return cql2.Compare{Op: cql2.Eq, L: prop, R: x}, nil }
	switch p.Type {
	case cql2.TypeInteger:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return nil, problem.Invalidf(p.Name, v, "use a whole number")
		}
		return cmp(cql2.Int(n))
	case cql2.TypeNumber:
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || x-x != 0 {
			return nil, problem.Invalidf(p.Name, v, "use a number")
		}
		return cmp(cql2.Number(x))
	case cql2.TypeBool:
		switch v {
		case "true", "1":
			return cmp(cql2.Bool(true))
		case "false", "0":
			return cmp(cql2.Bool(false))
		}
		return nil, problem.Invalidf(p.Name, v, "use true or false")
	case cql2.TypeDate, cql2.TypeTimestamp:
		from, to, err := cql2.ParseInterval(v)
		if err != nil || from == nil || to == nil || strings.Contains(v, "/") {
			return nil, problem.Invalidf(p.Name, v, "use a day as 2024-01-31 or a moment as 2024-01-31T12:00:00Z")
		}
		if p.Type == cql2.TypeDate {
			return cmp(cql2.Date{T: *from})
		}
		if from.Equal(*to) {
			return cmp(cql2.Timestamp{T: *from})
		}
		return cql2.Between{X: prop, Lo: cql2.Timestamp{T: *from}, Hi: cql2.Timestamp{T: *to}}, nil
	}
	return cmp(cql2.Text(v))
}
