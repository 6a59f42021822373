package server

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"grense/api/ogcapi"
	"grense/internal/history"
	"grense/internal/server/page"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// UsualSchemes are the schemes of codes that collections have by their ids where nothing is configured.
var UsualSchemes = map[string]string{"kommuner": history.Kommune, "fylker": history.Fylke}

// SchemeID is the scheme whose codes the ids of a collection are, as configured or by its usual name; it need not be
// known.
func SchemeID(coll *store.Collection) string {
	if coll.Codes != "" {
		return coll.Codes
	}
	if s, ok := UsualSchemes[coll.ID]; ok {
		return s
	}
	return coll.ID
}

// hasHistory reports whether anything is known of divisions through time.
func (c *Call) HasHistory() bool { return history.Has(c.Catalog) || c.s.Past != nil }

// TellsTime reports whether the ids of a collection may be codes of a history.
func (c *Call) TellsTime(coll *store.Collection) bool {
	return c.HasHistory() && (coll.Codes != "" || UsualSchemes[coll.ID] != "")
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
	h.Set("Link", wire.LinkHeader(a.Links))
	c.WriteBody(w, http.StatusOK, wire.NewBody(plain))
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
