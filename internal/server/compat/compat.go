// Package compat serves the addresses and documents of two public REST services of Kartverket, kommuneinfo/v1 and
// stedsnavn/v1, for clients that exist: these need another host only.
//
// The documents, parameters and texts of refusals are those of the services. Unlike everywhere else in Grense, unknown
// parameters are ignored here, a doubled slash before the first segment is accepted, and nothing found may be 404.
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
	"grense/internal/server/page"
)

// Where the services lie below the root.
const (
	kommuneinfoPath = "/kommuneinfo/v1"
	stedsnavnPath   = "/stedsnavn/v1"
)

// surface is what the routes share.
type surface struct {
	*server.Kit
	roles  atomic.Pointer[catalogRoles] // of the last catalog
	tables *cache.Cache[tableKey, *table]
	names  *placename.Service
}

// call is a request to the surface.
type call struct {
	*server.Call
	s *surface
}

// An endpoint is one resource of a service: the table from which routes and API definition are made.
type endpoint struct {
	path       string // below that of the service
	alias      string // another spelling of it; "": none
	summary    string
	parameters []parameter
	schema     string // of the answer, in the API definition
	list       bool   // the answer is an array of it
	get        func(*call) (any, error)
}

// Routes returns the routes of the services that the configuration has; none if it has none.
func Routes(k *server.Kit) []server.Route {
	s := &surface{Kit: k}
	var out []server.Route
	if k.Config.Compat.Kommuneinfo {
		s.tables = cache.New[tableKey, *table](cache.Options{Name: "kommuneinfo", Bytes: tableBytes, Group: k.Caches})
		out = append(out, s.routes(kommuneinfo())...)
	}
	if k.Config.Compat.Stedsnavn {
		s.names = placename.New(k.Store, placename.Options{MaxHits: maxHits})
		out = append(out, s.routes(stedsnavn())...)
	}
	return out
}

// routes returns the routes of a service: its page, its API definition and its endpoints.
func (s *surface) routes(v *service) []server.Route {
	out := []server.Route{
		{Path: v.path, Alias: v.path + "/index.html", Op: v.name, Root: true, Hidden: true, Lenient: true,
			Summary: v.title, Formats: []server.Format{server.AsHTML, server.AsJSON},
			Get: func(c *server.Call) (*server.Answer, error) { return v.page(&call{c, s}), nil }},
		{Path: v.path + "/openapi.json", Alias: v.path + "//openapi.json", Op: v.name + ".openapi", Root: true,
			Hidden: true, Lenient: true, NoAccept: true, Formats: []server.Format{server.AsJSON},
			Get: func(c *server.Call) (*server.Answer, error) {
				return &server.Answer{JSON: v.definition(&call{c, s})}, nil
			}},
	}
	for _, e := range v.endpoints {
		rt := server.Route{Path: v.path + e.path, Alias: v.path + "/" + e.path, Op: v.name + "." + opName(e.path),
			Root: true, Hidden: true, Lenient: true, NoAccept: true, Data: !s.Config.Compat.Open,
			Kept: v.path == kommuneinfoPath, Summary: e.summary,
			Formats: []server.Format{server.AsJSON}, Stream: s.stream(e)}
		out = append(out, rt)
		if e.alias != "" {
			rt.Path, rt.Alias, rt.Op = v.path+e.alias, v.path+"/"+e.alias, rt.Op+".alias"
			out = append(out, rt)
		}
	}
	return out
}

// opName names an endpoint in logs and metrics: kommuner.kommunenummer.omrade.
func opName(path string) string {
	return strings.NewReplacer("/", ".", "{", "", "}", "").Replace(strings.TrimPrefix(path, "/"))
}

// stream writes the answer of an endpoint.
func (s *surface) stream(e endpoint) func(*server.Call, http.ResponseWriter) error {
	return func(sc *server.Call, w http.ResponseWriter) error {
		c := &call{sc, s}
		doc, err := e.get(c)
		if err != nil {
			return err
		}
		b := appendJSON(nil, doc, parseSelection(c.Values.Get("filtrer")))
		w.Header().Set("Content-Type", server.AsJSON.ContentType())
		w.Header().Set("Content-Language", page.LanguageTag("nb"))
		c.DataHeaders(w)
		return c.WriteOnce(w, b)
	}
}

// Texts of refusals, as the services have them.
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

// refuse refuses a parameter with the text of the service; the cure is ours.
func refuse(text, name, value, cure string) error {
	return &problem.Error{Kind: problem.Invalid, Detail: text,
		Faults: []problem.Fault{{In: "query", Param: name, Value: value, Cure: cure}}}
}

// system reads a coordinate system, an EPSG code with or without EPSG: before it. Without it is 4258.
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

// point reads nord and ost, and the system that they are in.
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

// position is a place in a coordinate system, x east.
type position struct {
	system crs.ID
	x, y   float64
}

// number reads a whole number of a range; without it it is usual.
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

// day reads datetime, the day that is asked about; the zero time without it.
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
