package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-chi/chi/v5"

	"grense/internal/problem"
	"grense/internal/server/limit"
	"grense/internal/server/links"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/problems"
	"grense/internal/server/queryable"
	"grense/internal/store"
	"grense/internal/trace"
)

// Call is a request and what the server has derived from it. It lives as long as the request.
type Call struct {
	links.Set
	limit.Admission
	page.Locale
	trail
	freshness

	s          *Kit
	Request    *http.Request
	Route      *Route
	Catalog    *store.Catalog
	Collection *store.Collection // of a route below a collection
	Began      time.Time         // see Now; zero before the first call

	// Params holds the parsed query parameters: the struct that New of the route returned; nil if the route has none.
	Params     any
	Conditions []queryable.Condition // parameters that filter by properties
	Form       bool                  // the body is a form of our own
	body       string                // the filter in the body; "" if there is none
	encoded    string                // see Canonical; "" before the first call
	holds      bool                  // a valid key came with a page about data, which then shows more
}

// trail is what log, metrics and traces say of a call.
type trail struct {
	ID        string         // request id, as in the log and in problem documents
	Trace     string         // header traceparent of the request; "" for none
	Operation string         // operation within a protocol such as SOAP
	traceID   string         // the trace in Trace
	span      *trace.Context // nil: the call is not traced
	op        string         // name of the route
	refused   string         // why the request was refused; "": it was not, or by a protocol with errors of its own
	cached    bool           // the response came from the cache
}

// freshness is what a call knows of the versions of the data in its response.
type freshness struct {
	Files   linkVersions  // versions to which links to files refer
	Single  bool          // the response is for this request alone
	Roughly bool          // a map was drawn without shared borders, which are still being built
	Retries int           // number of restarts because the data changed
	state   store.Version // version of a file at the first query of a page in HTML; "" before
	keep    *entry        // nil if the response will not be cached
	lead    *inFlight     // response in flight that others may join until this one begins; nil if there is none
}

// linkVersions holds the data versions to which links to files refer, by collection; "" is the version of all data. A
// version is "" if the store does not know it.
type linkVersions struct {
	Asked   bool // the version of a database was queried, since its files may be cached
	Unknown bool // the version is not known
	Names   map[string]string
}

type callKey struct{}

// NewCall returns a call without a client, with the current catalog.
func (s *Kit) NewCall() *Call {
	return &Call{Admission: s.Limits.Admission(nil), s: s, Catalog: s.Store.Catalog()}
}

// CallOf returns the call of a request.
func CallOf(r *http.Request) *Call {
	c, _ := r.Context().Value(callKey{}).(*Call)
	return c
}

// CallIn returns the call of a request's context; ok is false if there is none.
func CallIn(ctx context.Context) (*Call, bool) {
	c, ok := ctx.Value(callKey{}).(*Call)
	return c, ok
}

// Enter sets the route, the mount and the current catalog.
func (c *Call) Enter(r *http.Request, rt *Route, mount string) {
	c.Request, c.Route, c.Catalog = r, rt, c.s.Store.Catalog()
	c.Mount, c.Formats = mount, rt.Formats
}

// ReadCursor returns the cursor in a client's text, with which the request continues a download. A forged one is an
// error of kind Invalid.
func (c *Call) ReadCursor(text string) (store.Cursor, error) {
	cur, ok := c.s.Cursors.Verify(text, c.Collection.ID, c.Values)
	if c.Resumes = ok; !ok {
		c.PayForged()
		return "", problem.InvalidWith("cursor", text, problems.ForeignCursor)
	}
	return cur, nil
}

// PathParam returns a path variable, unescaped; "" if the escape is invalid.
func (c *Call) PathParam(name string) string {
	v, err := url.PathUnescape(chi.URLParam(c.Request, name))
	if err != nil {
		return ""
	}
	return v
}

// Resolve checks the collection (404), the key (401), parameters (400) and the representation (400, 406), in this
// order. Without a key, clients learn nothing about the content of a collection.
func (c *Call) Resolve() error {
	if id := chi.URLParam(c.Request, "collectionId"); id != "" {
		coll, ok := c.Catalog.Collection(c.PathParam("collectionId"))
		if !ok || !coll.Public {
			return problem.NotFoundf("there is no collection %q; %s/collections lists all",
				problem.Clip(c.PathParam("collectionId")), c.Base())
		}
		c.Collection = coll
	}
	if c.Route.Drawn && c.Collection.Geometry == nil {
		return problem.NotFoundf("the features of %s have no geometry, so there are no tiles of them", c.Collection.ID)
	}
	if c.Route.Data {
		if err := c.s.Authorize(c); err != nil {
			return err
		}
	}
	if c.Route.ReadsFilter(c.Request) && c.body == "" {
		var err error
		if c.body, err = readFilter(c.Request); err != nil {
			return err
		}
	}
	if c.Route.New != nil {
		c.Params = c.Route.New(c)
	}
	perr := c.parseQuery(c.Route)
	f, hasF := c.Values["f"]
	accept := c.Request.Header["Accept"]
	if c.Route.NoAccept {
		accept = nil
	}
	var nerr error
	c.Asked = hasF
	c.Format, nerr = media.Negotiate(First(f), hasF, accept, c.Route.Formats)
	switch {
	case perr == nil:
		return nerr
	case nerr == nil || problem.Of(nerr).Kind != problem.Invalid:
		return perr
	}
	all := problem.Of(perr)
	all.Faults = append(all.Faults, problem.Of(nerr).Faults...)
	problem.SortFaults(all.Faults)
	return all
}

// Ask calls fn, which queries the store: queries wait for slots, and their time is limited. fn must not write to the
// client, since a slow client would occupy a slot. If the catalog has been replaced, Ask returns store.ErrChanged.
func (c *Call) Ask(fn func(context.Context) error) error {
	c.Response.Resting() // the query has a slot of its own
	if c.Format.F == media.HTML.F && c.state == "" && !c.Catalog.Live {
		var err error
		if c.state, err = c.s.Store.Version(c.Asking(c.Request.Context())); err != nil {
			return err
		}
	}
	err := fn(c.Asking(c.Request.Context()))
	if c.s.Store.Catalog().Version != c.Catalog.Version &&
		(err == nil || problems.Classify(err).Kind == problem.Internal) {
		return errReopened() // the request was checked against the previous catalog
	}
	return err
}

func errReopened() error {
	return fmt.Errorf("server: the data were opened again: %w", store.ErrChanged)
}

// Retry calls fn, and again with the current catalog if the data changed before the first byte was sent.
func (c *Call) Retry(fn func() error) error {
	for n := 1; ; n++ {
		err := fn()
		if !errors.Is(err, store.ErrChanged) || n == tries || c.Response != nil && c.Response.Status != 0 {
			return err
		}
		c.Catalog, c.state, c.keep = c.s.Store.Catalog(), "", nil
	}
}

// Still returns store.ErrChanged if a file has changed since the first query of an HTML page. Such a page reads the
// titles of features without knowing their revisions.
func (c *Call) Still() error {
	if c.state == "" {
		return nil
	}
	now, err := c.s.Store.Version(c.Asking(c.Request.Context()))
	if err == nil && now != c.state {
		err = fmt.Errorf("server: the data were written to: %w", store.ErrChanged)
	}
	return err
}

func First(v []string) string {
	if len(v) == 0 {
		return ""
	}
	return v[0]
}
