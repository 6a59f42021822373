package maps

import (
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"slices"
	"strings"

	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/store"
)

// oldCall is a request to one of the older web services of OGC.
type oldCall struct {
	*call
	asked map[string]string // parameters, by their names in upper case
}

// oldRoute is a route of such a service. Its handler checks the key, since descriptions of a service need none.
func (s *surface) oldRoute(path, op, summary string, h func(*oldCall, http.ResponseWriter) error) server.Route {
	return server.Route{Path: path, Op: op, Summary: summary, Root: true, Hidden: true, Lenient: true,
		Scope: server.ScopeTiles, KeyParam: s.Config.Compat.KeyParameter, NoAccept: true, New: newMapParams,
		Formats: []media.Format{asPNG},
		Stream: s.stream(func(c *call, w http.ResponseWriter) error {
			x := &oldCall{c, map[string]string{}}
			for name, v := range c.Values {
				x.asked[strings.ToUpper(name)] = server.First(v)
			}
			return h(x, w)
		})}
}

// admit checks the key of a request for the data of layers, separated by commas. A single layer counts as its
// collection for the scopes of keys.
func (x *oldCall) admit(layers string) error {
	h := x.Request.Header
	if name := x.Route.KeyParam; name != "" {
		found := h.Get("X-API-Key") != "" || h.Get("Authorization") != "" || server.CookieKey(x.Request) != ""
		if key := x.asked[strings.ToUpper(name)]; key != "" && !found {
			h.Set("X-API-Key", key)
		}
	}
	all := server.Tiled(x.Catalog, nil)
	if i := slices.IndexFunc(all, func(c *store.Collection) bool { return c.ID == layers }); i >= 0 {
		x.Collection = all[i]
		defer func() { x.Collection = nil }()
	}
	return x.s.Authorize(x.Call)
}

// provided is who serves the maps.
func (x *oldCall) provided() string {
	svc := &x.s.Config.Service
	return cmp.Or(svc.Publisher.Name, svc.Title.In(x.Lang))
}

// An exception of a service (OGC 06-042, E.1; OGC 06-121r3, 8).
type exception struct {
	code string
	err  error
}

func (e *exception) Error() string { return e.err.Error() }

func (e *exception) Unwrap() error { return e.err }

// isServiceException reports whether an error is a fault of the request, which WMS and WMTS write as XML.
func isServiceException(c *call, err error) bool {
	if err == nil || c.Begun() || errors.Is(err, store.ErrChanged) || errors.Is(err, context.Canceled) {
		return false
	}
	k := problem.Of(err).Kind
	return k == problem.Invalid || k == problem.NotFound
}

// writeFault writes a fault of a request as XML.
func writeFault(w http.ResponseWriter, status int, doc string) error {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Type", "text/xml; charset=utf-8")
	w.WriteHeader(status)
	_, err := w.Write([]byte(xml.Header + doc))
	return err
}

// inXML is a text as it stands in XML.
func inXML(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder takes all
	return b.String()
}

// writeXML writes a description of a service, which needs no key.
func (x *oldCall) writeXML(w http.ResponseWriter, media, doc string) error {
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Language, Accept-Encoding")
	return x.WriteOnce(w, []byte(doc))
}
