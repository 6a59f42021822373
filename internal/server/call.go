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

	s     *Kit
	r     *http.Request
	rw    *response // what the handler writes to, below what compresses
	rt    *Route
	id    string // of the request, as in the log and in problem documents
	mount string // "" or "/v1"
	root  string // absolute URL that links start with, without mount and without a slash at its end
	cat   *store.Catalog
	coll  *store.Collection // of a route below a collection
	rep   Format            // negotiated
	asked bool              // f was given
	lang  string            // nb, nn or en
	keyID string            // "" when no key was needed or given
	holds bool              // a valid key came with a page about data, which then shows what others do not see
	addr  string            // of the client, as the nearest proxy that is not trusted sees it
	held  int               // bytes of the answer that flight knows of
	right *limit.Ticket     // to ask the store; nil: not asked yet
	paid  bool              // as a page, for what the store was not asked for

	values  url.Values // all query parameters
	encoded string     // see call.canonical; "": not known, or nothing
	form    bool       // the body is that of a form of ours
	body    string     // the filter that the body brings; "" for none

	// params is what the query parameters say: the struct of the route's Params, as its New made it; nil when it has none.
	params    any
	files     keptState      // that links to files were made of
	simple    *simplified    // nil: geometries as they are stored
	roughly   bool           // a map was drawn without shared borders, which are being made
	retries   int            // how often the answer was begun anew, since the data changed
	early     store.Snapshot // the state that a large page is read from, which begins early; nil: none is held
	continues bool           // the request follows a page, by its cursor
	forgives  bool           // some query parameter has the name of a property with an ending

	keep   *keeping // nil: the answer is not kept
	cached bool     // the answer was kept before

	called string // operation of the protocol that the route speaks, once it is known: for the log and the metrics

	began time.Time // see call.now; zero: nobody has asked
}

// keptState are the names of states that links to files were made of, by collection; of a file "" has that of all. A name is "" where the store did not tell.
type keptState struct {
	asked   bool // a database was, since files of it may be kept
	unknown bool // it did not tell
	names   map[string]string
}

type callKey struct{}

// callOf returns the call that the middleware made for a request.
func callOf(r *http.Request) *Call {
	c, _ := r.Context().Value(callKey{}).(*Call)
	return c
}

// callIn returns the call of a request's context; false where there is none.
func callIn(ctx context.Context) (*Call, bool) {
	c, ok := ctx.Value(callKey{}).(*Call)
	return c, ok
}

// enter says that the call has reached a route at a mount.
func (c *Call) enter(r *http.Request, rt *Route, mount string) {
	c.r, c.rt, c.mount, c.cat = r, rt, mount, c.s.store.Catalog()
}

// Writer is what the answer is written to; nil for a call without a client.
func (c *Call) Writer() http.ResponseWriter {
	if c.rw == nil {
		return nil
	}
	return c.rw
}

// begun reports whether the first byte of the answer is out.
func (c *Call) begun() bool { return c.rw != nil && c.rw.status != 0 }

// base is the absolute URL of the mount, without a slash at its end.
func (c *Call) base() string { return c.root + c.mount }

// pathParam returns a variable of the path, unescaped; "" when the escape is broken.
func (c *Call) pathParam(name string) string {
	v, err := url.PathUnescape(chi.URLParam(c.r, name))
	if err != nil {
		return ""
	}
	return v
}

// resolve runs the steps between the router and the handler: collection (404), key (401), parameters (400), representation (400,
// 406). The key of a data route is checked before anything inside the collection is told.
func (c *Call) resolve() error {
	if id := chi.URLParam(c.r, "collectionId"); id != "" {
		coll, ok := c.cat.Collection(c.pathParam("collectionId"))
		if !ok || !coll.Public {
			return problem.NotFoundf("there is no collection %q; %s/collections lists all", clip(c.pathParam("collectionId")), c.base())
		}
		c.coll = coll
	}
	if c.rt.Drawn && c.coll.Geometry == nil {
		return problem.NotFoundf("the features of %s have no geometry, so there are no tiles of them", c.coll.ID)
	}
	if c.rt.Data {
		if err := c.s.authorize(c); err != nil {
			return err
		}
	}
	if c.bringsFilter() {
		if err := c.readFilter(); err != nil {
			return err
		}
	}
	if c.rt.New != nil {
		c.params = c.rt.New(c)
	}
	perr := c.parseQuery(c.rt)
	f, hasF := c.values["f"]
	accept := c.r.Header["Accept"]
	if c.rt.NoAccept {
		accept = nil
	}
	var nerr error
	c.asked = hasF
	c.rep, nerr = negotiate(first(f), hasF, accept, c.rt.Formats)
	switch {
	case perr == nil:
		return nerr
	case nerr == nil || problem.Of(nerr).Kind != problem.Invalid:
		return perr
	}
	all := problem.Of(perr)
	all.Faults = append(all.Faults, problem.Of(nerr).Faults...)
	sortFaults(all.Faults)
	return all
}

// ask runs questions to the store: each waits for its turn, and their time is bounded. Nothing may be written to the client inside, since a
// slow reader must not hold a turn. An answer of another version of the catalog than the call's is store.ErrChanged, so that all that a call hears is of one state.
func (c *Call) ask(fn func(context.Context) error) error {
	c.rw.resting() // the question has a turn of its own
	if c.rep.F == asHTML.F && c.state == "" && !c.cat.Live {
		var err error
		if c.state, err = c.s.store.Version(c.asking(c.r.Context())); err != nil {
			return err
		}
	}
	if err := fn(c.asking(c.r.Context())); err != nil {
		return err
	}
	if c.s.store.Catalog().Version != c.cat.Version {
		return errReopened()
	}
	return nil
}

func errReopened() error {
	return fmt.Errorf("server: the data were opened anew: %w", store.ErrChanged)
}

// anew calls fn, and again with the data of now while these change before the first byte of the answer.
func (c *Call) anew(fn func() error) error {
	for n := 1; ; n++ {
		err := fn()
		if !errors.Is(err, store.ErrChanged) || n == tries || c.rw != nil && c.rw.status != 0 {
			return err
		}
		c.cat, c.state, c.keep = c.s.store.Catalog(), "", nil
	}
}

// still reports whether the data are those that the first question of a page in HTML met. Such a page asks for features of which it knows no
// revision: those that it names.
func (c *Call) still() error {
	if c.state == "" {
		return nil
	}
	now, err := c.s.store.Version(c.asking(c.r.Context()))
	if err == nil && now != c.state {
		err = fmt.Errorf("server: the data were written to: %w", store.ErrChanged)
	}
	return err
}

// asking returns ctx with the request's right to ask the store.
func (c *Call) asking(ctx context.Context) context.Context {
	if c.right == nil {
		c.right = c.ticket(c.continues) // a page that follows another is part of a download
		if p, ok := c.params.(selectsFeatures); ok && p.selection().hits {
			c.right.Work.Store(int64(max(c.s.cfg.Limits.Query, c.s.cfg.Limits.Count)))
		}
	}
	return c.right.With(ctx)
}

// owner is whose share of the server a request takes: that of its key, else of its address.
func (c *Call) owner() string {
	if c.keyID != "" {
		return c.keyID
	}
	return shareOf(c.addr)
}

// caller is who breaks off what it asks for: one address of an owner, since programs at many addresses may have one key.
func (c *Call) caller() string { return c.owner() + " " + shareOf(c.addr) }

func first(v []string) string {
	if len(v) == 0 {
		return ""
	}
	return v[0]
}

// clip shortens a text of the client for a message.
func clip(s string) string {
	const most = 100
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

func sortFaults(f []problem.Fault) {
	slices.SortStableFunc(f, func(a, b problem.Fault) int { return cmp.Compare(a.Param, b.Param) })
}
