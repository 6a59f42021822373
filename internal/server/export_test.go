package server

import (
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"grense/internal/server/limit"
	"grense/internal/server/media"
	"grense/internal/server/queryable"
)

// Meter makes the server charge requests from this machine without refusing any. charged returns the cost since its
// last call.
func (s *Kit) Meter() (charged func() float64) {
	last := float64(1 << 40)
	b := limit.NewBuckets(1e-12, last)
	s.Turns.Rates = b
	return func() float64 {
		before := last
		last, _ = b.Left("127.0.0.1", time.Now())
		return before - last
	}
}

// HTMLRoutes are the paths of the routes that return a page.
func (s *Kit) HTMLRoutes() []string {
	var out []string
	for _, rt := range s.routes {
		if slices.ContainsFunc(rt.Formats, func(r media.Format) bool { return r.F == "html" }) {
			out = append(out, rt.Path)
		}
	}
	return out
}

// Documents is how many written documents are cached.
func (s *Kit) Documents() int {
	return int(s.docs.Stats().Entries)
}

// JSONRoute is a route of the API definition with a representation in JSON.
type JSONRoute struct {
	Path, Op string
	Formats  []string // values of f for JSON responses
}

// JSONRoutes are the routes of the API definition that return JSON, and the paths of those that lack a schema.
func (s *Kit) JSONRoutes() (out []JSONRoute, bare []string) {
	for _, rt := range s.routes {
		j := JSONRoute{Path: rt.Path, Op: rt.Op}
		for _, r := range rt.Formats {
			if !rt.Hidden && rt.Gets() && (r.F == media.JSON.F || r.F == media.JSONLD.F) {
				j.Formats = append(j.Formats, r.F)
			}
		}
		if j.Formats == nil {
			continue
		}
		if out = append(out, j); rt.Schema == nil {
			bare = append(bare, rt.Path)
		}
	}
	return out, bare
}

// KeyedRoute is a route as its key check sees it.
type KeyedRoute struct {
	Path, Op string
	Data     bool
	Root     bool
	Formats  []string // values of f
}

// KeyedRoutes are all routes, aliases too.
func (s *Kit) KeyedRoutes() (out []KeyedRoute) {
	for _, rt := range s.routes {
		for _, path := range []string{rt.Path, rt.Alias} {
			if path == "" && rt.Path != "" {
				continue
			}
			k := KeyedRoute{Path: path, Op: rt.Op, Data: rt.Data, Root: rt.Root}
			for _, r := range rt.Formats {
				k.Formats = append(k.Formats, r.F)
			}
			out = append(out, k)
			if rt.Path == "" {
				break
			}
		}
	}
	return out
}

// TilesReady reports whether all tiles requested so far come from tile levels, so that their limits no longer change.
func (s *Kit) TilesReady() bool {
	for _, p := range s.Tiles.Progress() {
		if !p.Ready {
			return false
		}
	}
	return true
}

// ReadParameters reads a value into every parameter of every route. It returns the parameters that panic, accept an
// invalid value, or would also filter by a property of their name, and the number of parameters.
func (s *Kit) ReadParameters(value string) (faults []string, n int) {
	add := func(format string, args ...any) { faults = append(faults, fmt.Sprintf(format, args...)) }
	for _, rt := range s.routes {
		if rt.New == nil && rt.Params != nil {
			add("%q has parameters without a struct", rt.Path)
			continue
		}
		c := s.NewCall()
		c.Request, c.Route = httptest.NewRequest("GET", "/", nil), rt
		if strings.Contains(rt.Path, "{collectionId}") {
			c.Collection = c.Catalog.Collections[0]
		}
		for _, p := range rt.Params {
			n++
			if rt.Fields && !queryable.Reserved[p.Name] {
				add("%q: queryable.Reserved lacks the parameter %s", rt.Path, p.Name)
			}
			func() {
				defer func() {
					if x := recover(); x != nil {
						add("%q, parameter %s: %v", rt.Path, p.Name, x)
					}
				}()
				err := p.Parse(c, rt.New(c), []string{value})
				if err == nil && p.Schema["type"] != "string" && p.Name != "bbox" {
					add("%q takes %s for %s", rt.Path, value, p.Name)
				}
			}()
		}
	}
	return faults, n
}

// MetricDescriptions are all metrics, as package prometheus describes them.
func (s *Kit) MetricDescriptions() (list []string) {
	ch := make(chan *prometheus.Desc)
	go func() { s.Metrics.Registry.Describe(ch); close(ch) }()
	for d := range ch {
		list = append(list, d.String())
	}
	return list
}

// Paths are those of all routes.
func (s *Kit) Paths() (list []string) {
	for _, rt := range s.routes {
		list = append(list, orRoot(rt.Path))
	}
	return list
}
