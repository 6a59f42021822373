package server

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"grense/api/ogcapi"
	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/server/page"
	"grense/internal/store"
)

// times is the history of the data, read once for each catalog. Make it by newTimes.
type times struct {
	read atomic.Pointer[readTimes]
	turn chan struct{} // one reads at a time; who waits for it may leave
}

// readTimes is the history in a state of the data.
type readTimes struct {
	of *store.Catalog
	h  *history.History
}

func newTimes() times { return times{turn: make(chan struct{}, 1)} }

// History returns what the data know of divisions through time; nil when they know nothing.
func (c *Call) History() (*history.History, error) {
	if !history.Has(c.Catalog) {
		return c.s.past, nil
	}
	t := &c.s.times
	if r := t.read.Load(); r != nil && r.of == c.Catalog {
		return r.h, nil
	}
	select {
	case t.turn <- struct{}{}:
		defer func() { <-t.turn }()
	case <-c.Request.Context().Done():
		return nil, c.Request.Context().Err()
	}
	if r := t.read.Load(); r != nil && r.of == c.Catalog { // while this one waited
		return r.h, nil
	}
	r := &readTimes{of: c.Catalog}
	err := c.Ask(func(ctx context.Context) (err error) {
		r.h, err = history.Load(ctx, c.s.Store)
		return err
	})
	if err != nil {
		return nil, err
	}
	t.read.Store(r)
	return r.h, nil
}

// usualSchemes are the schemes of codes that collections have by their ids where nothing is configured.
var usualSchemes = map[string]string{"kommuner": history.Kommune, "fylker": history.Fylke}

// schemeID is the scheme whose codes the ids of a collection are, as configured or by its usual name; it need not be
// known.
func schemeID(coll *store.Collection) string {
	if coll.Codes != "" {
		return coll.Codes
	}
	if s, ok := usualSchemes[coll.ID]; ok {
		return s
	}
	return coll.ID
}

// hasHistory reports whether anything is known of divisions through time.
func (c *Call) HasHistory() bool { return history.Has(c.Catalog) || c.s.past != nil }

// tellsTime reports whether the ids of a collection may be codes of a history.
func (c *Call) tellsTime(coll *store.Collection) bool {
	return c.HasHistory() && (coll.Codes != "" || usualSchemes[coll.ID] != "")
}

// Scheme is that of the codes that the ids of the collection are; nil when they are none.
func (c *Call) Scheme() (*history.Scheme, error) {
	if !c.tellsTime(c.Collection) {
		return nil, nil
	}
	h, err := c.History()
	if err != nil || h == nil {
		return nil, err
	}
	return h.Scheme(schemeID(c.Collection)), nil
}

// CollectionOf is the public collection whose ids are codes of a scheme; nil when there is none.
func (c *Call) CollectionOf(scheme string) *store.Collection {
	for _, coll := range c.Catalog.Collections {
		if coll.Public && c.tellsTime(coll) && schemeID(coll) == scheme {
			return coll
		}
	}
	return nil
}

// Today is the day that it is where the data are from.
func (c *Call) Today() history.Date { return history.DateOf(time.Now().In(c.Zone())) }

// The documents about codes through time.
type (
	// CodeRef is a code that another one became or was.
	CodeRef struct {
		Code  string   `json:"code"`
		Name  string   `json:"name"`
		Date  string   `json:"date,omitempty"`
		Event string   `json:"event,omitempty"`
		Part  bool     `json:"part,omitempty"` // only a part
		Share *float64 `json:"share,omitempty"`
		Units int64    `json:"units,omitempty"`
		Href  string   `json:"href,omitempty"`
	}
)

// ErrNoHistory answers where the data know nothing of divisions through time.
func ErrNoHistory() error {
	return problem.NotFoundf("the data served here have no history of divisions; the operator adds one with " +
		"--history norway, or with grense lineage import")
}

func SchemeIDs(h *history.History) (ids []string) {
	for _, x := range h.Schemes() {
		ids = append(ids, x.ID)
	}
	return ids
}

// NotInUse is the error of a code that its scheme has, but not on a day: 410, with the successors of what it stood for
// before, or 404 on a day of which the scheme knows nothing.
func (c *Call) NotInUse(s *history.Scheme, code string, at history.Date) error {
	if _, err := s.At(code, at); errors.Is(err, history.ErrNotKnown) {
		return problem.NotFoundf("%s %s is not known before %s; ask for that day or a later one", s.ID, code, s.Begin())
	}
	all := s.Meanings(code)
	gone := problem.New(problem.Gone, nil, "%s %s was not in use on %s, but %s", s.ID, code, at, history.Spans(all))
	var ended *history.Version
	for _, v := range all {
		if v.To != 0 && v.To <= at {
			ended = v
		}
	}
	if ended == nil {
		return gone
	}
	e, err := c.Retired(s, ended)
	if err != nil {
		return err
	}
	e.Told = problem.New(problem.Gone, nil, "%s %s was not in use on %s, but %s; %s", s.ID, code, at,
		history.Spans(all), e.Became)
	return e
}

// VersionHref is the address of the feature of a version that holds, else of what is known of its code.
func (c *Call) VersionHref(scheme string, v *history.Version) string {
	if href := c.FeatureOf(scheme, v.Code); v.To == 0 && href != "" {
		return href
	}
	return c.Base() + "/codes/" + PathEscape(scheme) + "/" + PathEscape(v.Code)
}

// FeatureOf is the address of the feature with a code; "" when no collection has the codes of the scheme.
func (c *Call) FeatureOf(scheme, code string) string {
	coll := c.CollectionOf(scheme)
	if coll == nil {
		return ""
	}
	return c.Base() + "/collections/" + coll.ID + "/items/" + PathEscape(code)
}

// CodeRef is one end of an edge.
func (c *Call) CodeRef(s *history.Scheme, v *history.Version, e *history.Edge) CodeRef {
	r := CodeRef{Code: v.Code, Name: v.Name, Date: e.Event.Date.String(), Event: e.Event.ID, Part: e.Part,
		Units: e.Units, Href: c.VersionHref(s.ID, v)}
	if e.Part && e.People.Known {
		total := int64(0)
		for _, x := range s.Out(e.From) {
			total += x.People.N
		}
		if total > 0 {
			r.Share = ShareOfWhole(big.NewRat(e.People.N, total))
		}
	}
	return r
}

func ShareOfWhole(r *big.Rat) *float64 {
	if r == nil {
		return nil
	}
	f, _ := r.Float64()
	return &f
}

// Meant is what a code stands for on a day, or, where none is given, today, else when it last stood for something;
// and a day of that time.
func (c *Call) Meant(s *history.Scheme, code string, at history.Date) (*history.Version, history.Date, error) {
	all := s.Meanings(s.Whole(code))
	if len(all) == 0 {
		return nil, 0, problem.NotFoundf("%s has no code %q and never had", s.ID, Clip(code))
	}
	code = all[0].Code
	asked := at != 0
	if !asked {
		at = c.Today()
	}
	v, err := s.At(code, at)
	switch {
	case err == nil:
		return v, at, nil
	case asked:
		return nil, 0, c.NotInUse(s, code, at)
	}
	v = all[len(all)-1]
	return v, v.SomeDay(), nil
}

// DataAnswer writes a document that depends on the data.
func (c *Call) DataAnswer(w http.ResponseWriter, a *Answer) error {
	if err := c.Still(); err != nil {
		return err
	}
	plain, err := c.Render(a)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", c.Format.ContentType())
	h.Set("Content-Language", page.LanguageTag(c.Lang))
	c.DataHeaders(w)
	h.Set("Link", LinkHeader(a.Links))
	c.WriteBody(w, http.StatusOK, NewBody(plain))
	return nil
}

// retired is the error of a code that has been given up: 410 with what it became.
type Retired struct {
	Told  error // a problem.Error
	More  RetiredDoc
	Links []ogcapi.Link

	Name, Became string // for people: what it was, and what it is today
}

func (e *Retired) Error() string { return e.Told.Error() }
func (e *Retired) Unwrap() error { return e.Told }

// retiredDoc is the problem document of a code that has been given up. Its type is split, merge, renumber or end.
type RetiredDoc struct {
	ogcapi.Problem
	Date       string    `json:"date"`
	Successors []CodeRef `json:"successors"` // what it became then
	Current    []CodeRef `json:"current"`    // what that is now
}

// missing is the error of a feature that is not there: 410 with its successors for a code that was retired, else 404.
func (c *Call) Missing(id string) error {
	plain := notFoundFeature(c, id)
	s, err := c.Scheme()
	if err != nil {
		return err
	}
	if s == nil {
		return plain
	}
	var v *history.Version
	today := c.Today()
	id = s.Whole(id)
	for _, x := range s.Meanings(id) {
		if x.Holds(today) {
			return plain
		}
		if x.To != 0 && x.To <= today {
			v = x
		}
	}
	if v == nil {
		return plain
	}
	e, err := c.Retired(s, v)
	if err != nil {
		return err
	}
	e.Links = append(e.Links, ogcapi.Link{
		Rel: "version-history", Type: AsJSON.Media, Title: "What became of it", Href: c.ItemAddress(id) + "/lineage",
	})
	return e
}

// retired tells what became of a version that has ended.
func (c *Call) Retired(s *history.Scheme, v *history.Version) (*Retired, error) {
	today, id := c.Today(), v.Code
	e := &Retired{More: RetiredDoc{Date: v.To.String(), Successors: []CodeRef{}, Current: []CodeRef{}}}
	e.More.Type = string(s.Fate(v))
	for _, x := range s.Out(v) {
		if x.To != nil {
			e.More.Successors = append(e.More.Successors, c.CodeRef(s, x.To, x))
		}
	}
	now, err := s.Translate(id, v.SomeDay(), today)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, x := range now {
		r := CodeRef{Code: x.Code, Name: x.Name, Href: c.VersionHref(s.ID, x)}
		e.More.Current = append(e.More.Current, r)
		names = append(names, r.Code+" "+r.Name)
		e.Links = append(e.Links, ogcapi.Link{Rel: "successor-version", Type: AsGeoJSON.Media, Title: r.Code + " " +
			r.Name, Href: r.Href})
	}
	told := "nothing follows it"
	if names != nil {
		told = "today it is " + strings.Join(names, ", ")
	}
	e.Name, e.Became = strings.TrimSpace(id+" "+v.Name), told
	e.Told = problem.New(problem.Gone, nil, "%s was given up on %s; %s", e.Name, v.To, told)
	return e, nil
}

func (c *Call) KindText(k history.Kind) string { return c.Text(fmt.Sprintf("kind.%s", k)) }

// AsPage is the page of an address of this mount.
func (c *Call) AsPage(href string) string { return c.HtmlHref(strings.TrimPrefix(href, c.Base())) }

// RefCrumbs are links to pages of codes.
func (c *Call) RefCrumbs(refs []CodeRef) []page.Crumb {
	out := make([]page.Crumb, len(refs))
	for i, r := range refs {
		out[i] = page.Crumb{Title: r.Code + " " + r.Name, Href: c.AsPage(r.Href)}
	}
	return out
}

// Beginning is before all that is known.
const Beginning = history.Date(10101)
