package features

import (
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/feature"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/queryable"
	"grense/internal/server/selection"
	"grense/internal/store"
	"grense/openapi"
)

// collectionsParams are the parameters of the list of collections.
type collectionsParams struct {
	limit, offset int
	query         string   // as in the request; "" for none
	terms         []string // of query; nil: none
	bbox          *cql2.BBox
	from, to      *time.Time
	hasTime       bool
}

// collectionsDefault is the number of collections of a page without limit. Most clients read the first page only.
const collectionsDefault = 1000

func newCollectionsParams(*server.Call) any { return &collectionsParams{limit: collectionsDefault} }

var paramCollectionsLimit = &server.Param{Name: "limit", Own: true,
	Description: "Collections in one page, at most. A larger number is read as the maximum",
	Schema: map[string]any{"type": "integer", "minimum": 1, "maximum": server.MaxLimit,
		"default": collectionsDefault},
	Parse: server.Into(func(_ *server.Call, p *collectionsParams, v []string) (err error) {
		p.limit, err = server.Positive("limit", v[0], 1)
		p.limit = min(p.limit, server.MaxLimit)
		return err
	})}

var paramCollectionsOffset = &server.Param{Name: "offset", Own: true, Description: "Collections to skip",
	Schema: map[string]any{"type": "integer", "minimum": 0, "default": 0},
	Parse: server.Into(func(_ *server.Call, p *collectionsParams, v []string) (err error) {
		p.offset, err = server.Positive("offset", v[0], 0)
		return err
	})}

var paramCollectionsQ = &server.Param{Name: "q", Own: true,
	Description: "Only collections with these words in id, title, description or keywords: the beginning of a word " +
		"is enough, a comma separates alternatives",
	Schema: map[string]any{"type": "string", "minLength": 1, "maxLength": 200},
	Parse: server.Into(func(_ *server.Call, p *collectionsParams, v []string) (err error) {
		p.query = v[0]
		p.terms, err = cql2.ParseSearch(v[0])
		return err
	})}

var paramCollectionsBBox = &server.Param{Name: "bbox", Own: true,
	Description: "Only collections whose extent touches this box in CRS84: west, south, east, north (with heights: " +
		"six numbers). Collections without an extent are always in",
	Schema: map[string]any{"type": "array", "minItems": 4, "maxItems": 6,
		"items": map[string]any{"type": "number"}},
	Parse: server.Into(func(_ *server.Call, p *collectionsParams, v []string) error {
		b, err := cql2.ParseBBox(v[0], crs.CRS84)
		p.bbox = &b
		return err
	})}

var paramCollectionsTime = &server.Param{Name: "datetime", Own: true,
	Description: "Only collections whose time touches this moment or interval: RFC 3339, a/b, ../b, a/... " +
		"Collections without time are always in", Schema: server.SchemaFilled,
	Parse: server.Into(func(c *server.Call, p *collectionsParams, v []string) (err error) {
		p.from, p.to, err = cql2.ParseInterval(v[0], c.Zone())
		p.hasTime = true
		return err
	})}

// downloadParams are the parameters of a file with features.
type downloadParams struct {
	selection.Params
	Revision string // "" for the current data version
}

func newDownloadParams(c *server.Call) any {
	return &downloadParams{Params: *selection.New(c).(*selection.Params)}
}

// file returns the parameters of a request for a download.
func (c *call) file() *downloadParams { return c.Params.(*downloadParams) }

// itemParams are the parameters of one feature.
type itemParams struct {
	selection.OutputParams
	At *time.Time // nil: now
}

func newItemParams(*server.Call) any { return &itemParams{OutputParams: selection.NewOutput()} }

var paramLimit = &server.Param{Name: "limit", Define: defineLimit,
	Description: "Features in one page, at most. A larger number is read as the maximum; pages in HTML show 250 at " +
		"most",
	Schema: map[string]any{"type": "integer", "minimum": 1, "maximum": server.MaxLimit,
		"default": server.DefaultLimit},
	Parse: selection.Into(func(c *server.Call, p *selection.Params, v []string) (err error) {
		p.Query.Limit, err = server.Positive("limit", v[0], 1)
		p.Query.Limit = min(p.Query.Limit, c.PageMax())
		return err
	})}

var paramOffset = &server.Param{Name: "offset",
	Description: "Features to skip. To walk through all, follow the links next instead",
	Schema:      map[string]any{"type": "integer", "minimum": 0, "default": 0},
	Parse: selection.Into(func(_ *server.Call, p *selection.Params, v []string) (err error) {
		p.Query.Offset, err = server.Positive("offset", v[0], 0)
		return err
	})}

var paramBBox = &server.Param{Name: "bbox",
	Description: "Only features that touch this box: west, south, east, north (with heights: six numbers), in the " +
		"axis order of bbox-crs. West greater than east crosses the antimeridian. Features without geometry are " +
		"always in",
	Schema: map[string]any{"type": "array", "minItems": 4, "maxItems": 6,
		"items": map[string]any{"type": "number"}},
	Parse: selection.Into(func(_ *server.Call, p *selection.Params, v []string) error {
		p.Bbox, p.HasBBox = v[0], true
		return nil
	})}

var paramBBoxCRS = &server.Param{Name: "bbox-crs", Own: true, Define: selection.DefineCRS,
	Description: "CRS of bbox: one of the collection's crs; default CRS84", Schema: server.SchemaURI,
	Parse: selection.Into(func(c *server.Call, p *selection.Params, v []string) (err error) {
		p.BboxCRS, _, err = selection.ParseCRS(c.Collection, "bbox-crs", v[0])
		return err
	})}

var paramCRS = &server.Param{Name: "crs", Own: true, Define: selection.DefineCRS,
	Description: "CRS of the coordinates in the answer: one of the collection's crs; default CRS84",
	Schema:      server.SchemaURI,
	Parse: selection.Into(func(c *server.Call, to selection.WritesFeatures, v []string) (err error) {
		p := to.Output()
		p.Crs, p.CrsURI, err = selection.ParseCRS(c.Collection, "crs", v[0])
		return err
	})}

var paramVersion = &server.Param{Name: "datetime", Define: defineVersion,
	Description: "A moment, or a day: the version of the feature that was valid then. Without it, the one of now",
	Schema:      server.SchemaFilled, Only: hasTimes,
	Parse: server.Into(func(c *server.Call, p *itemParams, v []string) (err error) {
		if server.IsPlain(c.Collection) && !c.HasHistory() {
			return problem.Invalidf("datetime", v[0], "features of %s have no versions; leave datetime out",
				c.Collection.ID)
		}
		p.At, err = parseMoment(c, v[0])
		return err
	})}

var paramSortBy = &server.Param{Name: "sortby", Own: true, Define: defineSortBy,
	Description: "Order: properties, separated by commas, each with + (ascending) or - (descending) before it. " +
		"Features without a value come last",
	Schema: map[string]any{"type": "array", "minItems": 1,
		"items": map[string]any{"type": "string", "minLength": 1}},
	Repeat: true,
	Parse: selection.Into(func(c *server.Call, p *selection.Params, v []string) (err error) {
		p.Query.SortBy, err = parseSortBy(c, v)
		return err
	})}

var paramQ = &server.Param{Name: "q", Description: "Only features with these words in a text: the beginning of a " +
	"word is enough; case, accents and letters such as ø and o count as equal. " +
	"Words separated by blanks stand in that order, a comma separates alternatives. Without sortby the best " +
	"matches come first",
	Schema: map[string]any{"type": "string", "minLength": 1, "maxLength": 200},
	Parse: selection.Into(func(_ *server.Call, p *selection.Params, v []string) (err error) {
		p.Terms, err = cql2.ParseSearch(v[0])
		return err
	})}

var paramSkipGeometry = &server.Param{Name: "skipGeometry", Description: "Leave the geometry out",
	Schema: map[string]any{"type": "boolean", "default": false},
	Parse: selection.Into(func(_ *server.Call, to selection.WritesFeatures, v []string) (err error) {
		to.Output().SkipGeometry, err = server.Truth("skipGeometry", v[0])
		return err
	})}

var paramZoomLevel = &server.Param{Name: "zoom-level",
	Description: "Zoom level of the map that shall show the geometries, in WebMercatorQuad with tiles of 256 " +
		"pixels: they are simplified for it, and neighbours keep the borders that they share. " +
		"What is too small for it keeps a finer outline; points stay as they are. The first request for a collection " +
		"and CRS may answer 503 with Retry-After",
	Schema: map[string]any{"type": "number", "minimum": 0},
	Parse: selection.Into(func(_ *server.Call, to selection.WritesFeatures, v []string) (err error) {
		to.Output().Zoom, err = parseZoom(v[0])
		return err
	})}

var paramCollation = &server.Param{Name: "collation",
	Description: "Order of texts in sortby: codepoint, or nb for the Norwegian alphabet with æ, ø, å after z",
	Schema:      map[string]any{"type": "string", "enum": []string{"codepoint", "nb"}, "default": "codepoint"},
	Parse: selection.Into(func(_ *server.Call, p *selection.Params, v []string) error {
		switch v[0] {
		case "nb":
			p.Norwegian = true
		case "codepoint":
		default:
			return problem.Invalidf("collation", v[0], "use codepoint or nb")
		}
		return nil
	})}

var paramResultType = &server.Param{Name: "resulttype",
	Description: "hits counts the features and returns none; a number that a page leaves out is counted here",
	Schema:      map[string]any{"type": "string", "enum": []string{"results", "hits"}, "default": "results"},
	Parse: selection.Into(func(_ *server.Call, p *selection.Params, v []string) error {
		switch v[0] {
		case "hits":
			p.Hits = true
		case "results":
		default:
			return problem.Invalidf("resulttype", v[0], "use results or hits")
		}
		return nil
	})}

var paramRevision = &server.Param{Name: "revision",
	Description: "State of the data that the file is of, as Content-Location and links of the collection name it. " +
		"Such a file can be resumed; one of a state that is gone answers 410",
	Schema: map[string]any{"type": "string", "pattern": "^[0-9a-f]+$"},
	Parse: server.Into(func(_ *server.Call, p *downloadParams, v []string) error {
		if p.Revision = v[0]; v[0] == "" || strings.Trim(v[0], "0123456789abcdef") != "" {
			return problem.Invalidf("revision", v[0], "take it from a link of the collection, or leave it out")
		}
		return nil
	})}

var paramDialect = &server.Param{Name: "dialect",
	Description: "Of CSV: excel writes what spreadsheets open by themselves: a byte order mark, semicolons, " +
		"decimal commas, no text that is taken for a formula",
	Schema: map[string]any{"type": "string", "enum": []string{"rfc4180", "excel"}, "default": "rfc4180"},
	Parse: selection.Into(func(_ *server.Call, to selection.WritesFeatures, v []string) error {
		if to.Output().Dialect = v[0]; v[0] != "rfc4180" && v[0] != "excel" {
			return problem.Invalidf("dialect", v[0], "use rfc4180 or excel")
		}
		return nil
	})}

var paramPrecision = &server.Param{Name: "precision",
	Description: "Decimals of coordinates in GeoJSON and CSV, at most: without it 7 of degrees and 2 of metres. " +
		"Heights have 2",
	Schema: map[string]any{"type": "integer", "minimum": 0, "maximum": feature.MaxPrecision},
	Parse: selection.Into(func(_ *server.Call, to selection.WritesFeatures, v []string) error {
		n, err := server.Positive("precision", v[0], 0)
		if err == nil && n > feature.MaxPrecision {
			err = problem.Invalidf("precision", v[0], "use a number from 0 to %d", feature.MaxPrecision)
		}
		to.Output().Precision = &n
		return err
	})}

func defineVersion(c *server.Call, d *openapi.Parameter) {
	d.Shared = "version"
	d.Description += ". Days, and times without a zone, are those of " + c.Zone().String()
}

func defineLimit(c *server.Call, d *openapi.Parameter) {
	d.Schema = map[string]any{"type": "integer", "minimum": 1, "maximum": c.PageMax(), "default": c.PageDefault()}
	if c.Collection != nil && c.Collection.PageDefault+c.Collection.PageMax > 0 {
		d.Shared = ""
	}
}

func defineSortBy(c *server.Call, d *openapi.Parameter) {
	if c.Collection != server.AnyCollection {
		d.Description += ". Properties: " + strings.Join(sortableNames(c.Collection), ", ")
	}
}

// parseMoment parses a time, or a day, which begins at midnight.
func parseMoment(c *server.Call, v string) (*time.Time, error) {
	at, ok := cql2.ParseInstant(v, c.Zone())
	if !ok {
		return nil, problem.Invalidf("datetime", v,
			"use a day as 2024-01-31 or a moment as 2024-01-31T12:00:00Z; %s/versions lists those of a feature",
			strings.TrimSuffix(c.Request.URL.Path, "/"))
	}
	return &at, nil
}

// parseSortBy parses sortby. An unencoded + arrives as a space. In a repeated parameter, a bare asc or desc sets the
// direction of the key before it, unless a property has that name.
func parseSortBy(c *server.Call, values []string) (keys []store.Sort, err error) {
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
				return nil, problem.Invalidf("sortby", v, "sort by one of %s",
					strings.Join(sortableNames(c.Collection), ", "))
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

func sortableNames(coll *store.Collection) []string {
	var names []string
	for p := range coll.Queryables() {
		if sortable(p) {
			names = append(names, p.Name)
		}
	}
	return names
}

// sortable reports whether features can be sorted by a property.
func sortable(p *store.Property) bool { return !p.Hidden && queryable.Simple(p.Type) && p.Path == nil }

// hasTimes reports whether a feature of a collection can be requested at a time: it has versions, or its id may be a
// code of a history.
func hasTimes(coll *store.Collection) bool {
	if coll == nil {
		return false
	}
	_, usual := server.UsualSchemes[coll.ID]
	return server.IsVersioned(coll) || coll.Codes != "" || usual
}
