// Package compat serves two public REST services of Kartverket, kommuneinfo/v1 and stedsnavn/v1, with the same
// addresses and documents. Existing clients only have to change the host.
//
// Documents, parameters and error texts are those of the services. Unlike the rest of Grense, this package ignores
// unknown parameters, accepts a doubled slash before the first segment, and may answer 404 if nothing is found.
package compat

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"grense/internal/cache"
	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/placename"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/codes"
	"grense/internal/server/media"
	"grense/internal/server/names"
	"grense/internal/server/page"
	"grense/internal/server/points"
)

// Paths of the services below the root.
const (
	kommuneinfoPath = "/kommuneinfo/v1"
	stedsnavnPath   = "/stedsnavn/v1"
)

// surface holds what the handlers of all routes share.
type surface struct {
	*server.Kit
	codes  *codes.Codes
	names  *names.Names
	points *points.Indexes
	roles  atomic.Pointer[catalogRoles] // of the latest catalog
	tables *cache.Cache[tableKey, *table]
	places *placename.Service
}

// call is a request to a route of the surface.
type call struct {
	*server.Call
	codes.Reader
	names.Namer
	points.Finder
	s *surface
}

func (s *surface) call(c *server.Call) *call {
	return &call{c, s.codes.Reader(c), s.names.Namer(c), s.points.Finder(c), s}
}

// endpoint is a resource of a service. Routes and API definition are derived from it.
type endpoint struct {
	path       string // below the path of the service
	alias      string // another spelling of path; "" if there is none
	summary    string
	parameters []parameter
	schema     string // name of the response's schema in the API definition
	list       bool   // the response is an array of schema
	get        func(*call) (any, error)
}

// Routes returns the routes of the services that the configuration enables.
func Routes(k *server.Kit, h *codes.Codes, n *names.Names, p *points.Indexes) []server.Route {
	s := &surface{Kit: k, codes: h, names: n, points: p}
	var out []server.Route
	if k.Config.Compat.Kommuneinfo {
		s.tables = cache.New[tableKey, *table](cache.Options{Name: "kommuneinfo", Bytes: tableBytes, Group: k.Caches})
		out = append(out, s.routes(kommuneinfo())...)
	}
	if k.Config.Compat.Stedsnavn {
		s.places = placename.New(k.Store, placename.Options{MaxHits: maxHits})
		out = append(out, s.routes(stedsnavn())...)
	}
	return out
}

// routes returns the routes of a service: its page, its API definition and its endpoints.
func (s *surface) routes(v *service) []server.Route {
	out := []server.Route{
		{Path: v.path, Alias: v.path + "/index.html", Op: v.name, Root: true, Hidden: true, Lenient: true,
			Summary: v.title, Formats: []media.Format{media.HTML, media.JSON},
			Get: func(c *server.Call) (*server.Answer, error) { return v.page(s.call(c)), nil }},
		{Path: v.path + "/openapi.json", Alias: v.path + "//openapi.json", Op: v.name + ".openapi", Root: true,
			Hidden: true, Lenient: true, NoAccept: true, Formats: []media.Format{media.JSON},
			Get: func(c *server.Call) (*server.Answer, error) {
				return &server.Answer{JSON: v.definition(s.call(c))}, nil
			}},
	}
	for _, e := range v.endpoints {
		rt := server.Route{Path: v.path + e.path, Alias: v.path + "/" + e.path, Op: v.name + "." + opName(e.path),
			Root: true, Hidden: true, Lenient: true, NoAccept: true, Data: !s.Config.Compat.Open,
			Kept: v.path == kommuneinfoPath, Summary: e.summary,
			Formats: []media.Format{media.JSON}, Stream: s.stream(e)}
		out = append(out, rt)
		if e.alias != "" {
			rt.Path, rt.Alias, rt.Op = v.path+e.alias, v.path+"/"+e.alias, rt.Op+".alias"
			out = append(out, rt)
		}
	}
	return out
}

// opName returns the name of an endpoint in logs and metrics, such as kommuner.kommunenummer.omrade.
func opName(path string) string {
	return strings.NewReplacer("/", ".", "{", "", "}", "").Replace(strings.TrimPrefix(path, "/"))
}

// stream returns a handler that writes the response of an endpoint.
func (s *surface) stream(e endpoint) func(*server.Call, http.ResponseWriter) error {
	return func(sc *server.Call, w http.ResponseWriter) error {
		c := s.call(sc)
		doc, err := e.get(c)
		if err != nil {
			return err
		}
		b := appendJSON(nil, doc, parseSelection(c.Values.Get("filtrer")))
		w.Header().Set("Content-Type", media.JSON.ContentType())
		w.Header().Set("Content-Language", page.LanguageTag("nb"))
		c.DataHeaders(w)
		return c.WriteOnce(w, b)
	}
}

// Error texts of the original services.
const (
	wrongSystem     = "Feil i koordinatsystem-parameterene."
	unknownSystem   = "Koordinatsystemet/SRID er ikke støttet."
	wrongParameters = "Feil i parameterene."
	nothingFound    = "Ingen treff, sjekk parameterene."
	tooShort        = "Søkestreng er for kort."
	wrongSigns      = "Ugyldige tegn i søkestreng."
	wrongSort       = "Ugyldige sorterings-parametere: %s."
	manyHits        = "Søket gir mer enn 50000 treff. Avgrens det."
	onlyWildcard    = "Søkeparameteren kan ikke kun være et wildcard."
)

// refuse returns an error of kind problem.Invalid with a text of the original service and a cure of our own.
func refuse(text, name, value, cure string) error {
	return &problem.Error{Kind: problem.Invalid, Detail: text,
		Faults: []problem.Fault{{In: "query", Param: name, Value: value, Cure: cure}}}
}

// system parses a coordinate system: an EPSG code with or without the prefix EPSG:. The default is 4258.
func (c *call) system(name string) (crs.ID, error) {
	v := c.Values.Get(name)
	if v == "" {
		return crs.ETRS89, nil
	}
	digits := v
	if len(v) > 5 && strings.EqualFold(v[:5], "epsg:") {
		digits = v[5:]
	}
	n, err := strconv.ParseUint(digits, 10, 20)
	if err != nil {
		return 0, refuse(wrongSystem, name, v, "give the number of an EPSG code, such as 4258 or 25833")
	}
	if id := crs.ID(n); id != crs.CRS84 && id.Valid() && !id.Own() {
		return id, nil
	}
	return 0, refuse(unknownSystem, name, v, "use 4258, 4326, 3857, 25832, 25833 or 25835")
}

// point parses nord, ost and koordsys.
func (c *call) point() (p position, err error) {
	if p.system, err = c.system("koordsys"); err != nil {
		return p, err
	}
	domain := p.system.Domain()
	for i, x := range []struct {
		name string
		to   *float64
	}{{"ost", &p.x}, {"nord", &p.y}} {
		v := c.Values.Get(x.name)
		f, err := strconv.ParseFloat(v, 64)
		if err != nil || !(f >= domain.Min[i] && f <= domain.Max[i]) {
			return p, refuse(wrongParameters, x.name, v,
				fmt.Sprintf("give a number from %s to %s, with a point for decimals",
					page.Number(domain.Min[i]), page.Number(domain.Max[i])))
		}
		*x.to = f
	}
	return p, nil
}

// position is a place in a coordinate system: x is easting or longitude, y northing or latitude.
type position struct {
	system crs.ID
	x, y   float64
}

// number parses an integer between low and high. usual is the default.
func (c *call) number(name string, usual, low, high int) (int, error) {
	v := c.Values.Get(name)
	if v == "" {
		return usual, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < low || n > high {
		return 0, refuse(wrongParameters, name, v, fmt.Sprintf("give a whole number from %d to %d", low, high))
	}
	return n, nil
}

// day parses datetime and returns noon of that day; the zero time if it is not given.
func (c *call) day() (time.Time, error) {
	v := c.Values.Get("datetime")
	if v == "" {
		return time.Time{}, nil
	}
	noon := func(t *time.Time) time.Time {
		y, m, d := t.In(c.s.Oslo).Date()
		return time.Date(y, m, d, 12, 0, 0, 0, c.s.Oslo)
	}
	from, to, err := cql2.ParseInterval(v, c.s.Oslo)
	if err != nil || from == nil || to == nil || noon(from) != noon(to) {
		return time.Time{}, refuse(wrongParameters, "datetime", v, "give one day, such as 2019-06-01")
	}
	return noon(from), nil
}
