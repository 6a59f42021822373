package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"grense/internal/problem"
	"grense/internal/server/limit"
	"grense/internal/store"
)

// A Call is one request on its way through the server: what was asked, resolved step by step. It lives as long as the request.
type Call struct {
	state store.Version // of a file when a page in HTML first asked for its rows; "": it did not

	s          *Kit
	Request    *http.Request
	Response   *response // what the handler writes to, below what compresses
	Route      *Route
	ID         string // of the request, as in the log and in problem documents
	Trace      string // header traceparent of the request; "" for none
	traceID    string // the trace in it
	Mount      string // "" or "/v1"
	Root       string // absolute URL that links start with, without mount and without a slash at its end
	Catalog    *store.Catalog
	Collection *store.Collection // of a route below a collection
	Format     Format            // negotiated
	asked      bool              // f was given
	Lang       string            // nb, nn or en
	KeyID      string            // "" when no key was needed or given
	holds      bool              // a valid key came with a page about data, which then shows what others do not see
	Address    string            // of the client, as the nearest proxy that is not trusted sees it
	held       int               // bytes of the answer that flight knows of
	Right      *limit.Ticket     // to ask the store; nil: not asked yet
	paid       bool              // as a page, for what the store was not asked for

	Values  url.Values // all query parameters
	encoded string     // see call.canonical; "": not known, or nothing
	Form    bool       // the body is that of a form of ours
	body    string     // the filter that the body brings; "" for none

	// params is what the query parameters say: the struct of the route's Params, as its New made it; nil when it has none.
	Params    any
	Files     keptState      // that links to files were made of
	Single    bool           // the response is for this request alone
	Roughly   bool           // a map was drawn without shared borders, which are being made
	Retries   int            // how often the answer was begun anew, since the data changed
	Early     store.Snapshot // the state that a large page is read from, which begins early; nil: none is held
	continues bool           // the request follows a page, by its cursor
	forgives  bool           // some query parameter has the name of a property with an ending

	keep   *keeping // nil: the answer is not kept
	cached bool     // the answer was kept before

	op      string // name of the route, for the log and the metrics
	refused string // why the request was refused; "": it was not, or a protocol with errors of its own refused it

	Operation string // operation of the protocol that the route speaks, once it is known: for the log and the metrics

	Began time.Time // see call.now; zero: nobody has asked
}

// keptState are the names of states that links to files were made of, by collection; of a file "" has that of all. A name is "" where the store did not tell.
type keptState struct {
	Asked   bool // a database was, since files of it may be kept
	Unknown bool // it did not tell
	Names   map[string]string
}

type callKey struct{}

// NewCall returns a call without a client, of the catalog as it is now.
func (s *Kit) NewCall() *Call { return &Call{s: s, Catalog: s.Store.Catalog()} }

// CallOf returns the call that the middleware made for a request.
func CallOf(r *http.Request) *Call {
	c, _ := r.Context().Value(callKey{}).(*Call)
	return c
}

// CallIn returns the call of a request's context; false where there is none.
func CallIn(ctx context.Context) (*Call, bool) {
	c, ok := ctx.Value(callKey{}).(*Call)
	return c, ok
}

// Enter says that the call has reached a route at a mount.
func (c *Call) Enter(r *http.Request, rt *Route, mount string) {
	c.Request, c.Route, c.Mount, c.Catalog = r, rt, mount, c.s.Store.Catalog()
}

// Writer is what the answer is written to; nil for a call without a client.
func (c *Call) Writer() http.ResponseWriter {
	if c.Response == nil {
		return nil
	}
	return c.Response
}

// Begun reports whether the first byte of the answer is out.
func (c *Call) Begun() bool { return c.Response != nil && c.Response.Status != 0 }

// Base is the absolute URL of the mount, without a slash at its end.
func (c *Call) Base() string { return c.Root + c.Mount }

// PathParam returns a variable of the path, unescaped; "" when the escape is broken.
func (c *Call) PathParam(name string) string {
	v, err := url.PathUnescape(chi.URLParam(c.Request, name))
	if err != nil {
		return ""
	}
	return v
}

// Resolve runs the steps between the router and the handler: collection (404), key (401), parameters (400), representation (400,
// 406). The key of a data route is checked before anything inside the collection is told.
func (c *Call) Resolve() error {
	if id := chi.URLParam(c.Request, "collectionId"); id != "" {
		coll, ok := c.Catalog.Collection(c.PathParam("collectionId"))
		if !ok || !coll.Public {
			return problem.NotFoundf("there is no collection %q; %s/collections lists all", Clip(c.PathParam("collectionId")), c.Base())
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
	if c.bringsFilter() {
		if err := c.readFilter(); err != nil {
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
	c.asked = hasF
	c.Format, nerr = negotiate(First(f), hasF, accept, c.Route.Formats)
	switch {
	case perr == nil:
		return nerr
	case nerr == nil || problem.Of(nerr).Kind != problem.Invalid:
		return perr
	}
	all := problem.Of(perr)
	all.Faults = append(all.Faults, problem.Of(nerr).Faults...)
	SortFaults(all.Faults)
	return all
}

// Ask runs questions to the store: each waits for its turn, and their time is bounded. Nothing may be written to the client inside, since a
// slow reader must not hold a turn. An answer of another version of the catalog than the call's is store.ErrChanged, so that all that a call hears is of one state.
func (c *Call) Ask(fn func(context.Context) error) error {
	c.Response.Resting() // the question has a turn of its own
	if c.Format.F == AsHTML.F && c.state == "" && !c.Catalog.Live {
		var err error
		if c.state, err = c.s.Store.Version(c.Asking(c.Request.Context())); err != nil {
			return err
		}
	}
	err := fn(c.Asking(c.Request.Context()))
	if c.s.Store.Catalog().Version != c.Catalog.Version && (err == nil || Classify(err).Kind == problem.Internal) {
		return errReopened() // the request was read by the previous catalog
	}
	return err
}

func errReopened() error {
	return fmt.Errorf("server: the data were opened again: %w", store.ErrChanged)
}

// Anew calls fn, and again with the data of now while these change before the first byte of the answer.
func (c *Call) Anew(fn func() error) error {
	for n := 1; ; n++ {
		err := fn()
		if !errors.Is(err, store.ErrChanged) || n == tries || c.Response != nil && c.Response.Status != 0 {
			return err
		}
		c.Catalog, c.state, c.keep = c.s.Store.Catalog(), "", nil
	}
}

// Still reports whether the data are those that the first question of a page in HTML met. Such a page asks for features of which it knows no
// revision: those that it names.
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

// Asking returns ctx with the request's right to ask the store.
func (c *Call) Asking(ctx context.Context) context.Context {
	if c.Right == nil {
		c.Right = c.Ticket(c.continues) // a page that follows another is part of a download
		if p, ok := c.Params.(selectsFeatures); ok && p.selection().Hits {
			c.Right.Work.Store(int64(max(c.s.Config.Limits.Query, c.s.Config.Limits.Count)))
		}
	}
	return c.Right.With(ctx)
}

// Owner is whose share of the server a request takes: that of its key, else of its address.
func (c *Call) Owner() string {
	if c.KeyID != "" {
		return c.KeyID
	}
	return shareOf(c.Address)
}

// caller is who breaks off what it asks for: one address of an owner, since programs at many addresses may have one key.
func (c *Call) caller() string { return c.Owner() + " " + shareOf(c.Address) }

func First(v []string) string {
	if len(v) == 0 {
		return ""
	}
	return v[0]
}

// Clip shortens a text of the client for a message.
func Clip(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func SortFaults(f []problem.Fault) {
	slices.SortStableFunc(f, func(a, b problem.Fault) int { return cmp.Compare(a.Param, b.Param) })
}
