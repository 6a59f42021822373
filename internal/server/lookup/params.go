package lookup

import (
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/server/queryable"
	"grense/internal/store"
)

// lookupParams are the parameters of a lookup.
type lookupParams struct {
	lon, lat    *float64 // nil: not given
	crs         crs.ID   // of lon and lat
	collections []*store.Collection
	from, to    *time.Time
	hasTime     bool
	interval    bool   // datetime is an interval, not a date or time
	profile     string // of GeoJSON; "": rfc7946
}

func (p *lookupParams) ProfileParam() *string { return &p.profile }

func (p *lookupParams) LooksInto() []*store.Collection { return p.collections }

func newLookupParams(c *server.Call) any {
	return &lookupParams{crs: crs.CRS84, collections: c.Catalog.Areas()}
}

var paramSearch = &server.Param{Name: "q", Own: true,
	Description: "Words, as q of a collection takes them, of which one may name a kind of divisions",
	Schema:      map[string]any{"type": "string", "minLength": 1, "maxLength": 200}, Parse: server.Into(parseSearched)}

var paramLon = &server.Param{Name: "lon",
	Description: "Longitude in degrees, or the easting where crs is projected. Must be given; the page asks for it",
	Schema:      server.SchemaNumber,
	Parse: server.Into(func(c *server.Call, p *lookupParams, v []string) (err error) {
		p.lon, err = coordinate(c, "lon", v[0])
		return err
	})}

var paramLat = &server.Param{Name: "lat",
	Description: "Latitude in degrees, or the northing where crs is projected. Must be given; the page asks for it",
	Schema:      server.SchemaNumber,
	Parse: server.Into(func(c *server.Call, p *lookupParams, v []string) (err error) {
		p.lat, err = coordinate(c, "lat", v[0])
		return err
	})}

var paramLookupCRS = &server.Param{Name: "crs", Own: true,
	Description: "CRS of lon and lat, whatever its axis order; default CRS84", Schema: server.SchemaURI,
	Parse: server.Into(func(_ *server.Call, p *lookupParams, v []string) (err error) {
		p.crs, err = server.CrsOfPoints(v[0])
		return err
	})}

var paramLookupCollections = &server.Param{Name: "collections", Own: true,
	Description: "Only divisions of these collections: ids, separated by commas",
	Schema: map[string]any{"type": "array", "minItems": 1,
		"items": map[string]any{"type": "string", "minLength": 1}},
	Parse: server.Into(func(_ *server.Call, p *lookupParams, v []string) error {
		return server.PickDivisions(&p.collections, v[0])
	})}

var paramLookupTime = &server.Param{Name: "datetime", Own: true,
	Description: "Only divisions whose time touches this moment or interval: RFC 3339, a/b, ../b, a/... Divisions " +
		"without time are always in", Schema: server.SchemaFilled,
	Parse: server.Into(func(c *server.Call, p *lookupParams, v []string) (err error) {
		p.from, p.to, err = cql2.ParseInterval(v[0], c.Zone())
		p.hasTime, p.interval = true, strings.Contains(v[0], "/")
		return err
	})}

// coordinate parses a number. Forms of pages also accept a decimal comma and signs that people type.
func coordinate(c *server.Call, name, v string) (*float64, error) {
	if c.Values.Get("f") == media.HTML.F {
		v = queryable.TypedNumber.Replace(v)
	}
	x, ok := server.PlainNumber(v)
	if !ok {
		return nil, problem.Invalidf(name, v, "use a number with a point for the decimals, such as 10.75")
	}
	return &x, nil
}
