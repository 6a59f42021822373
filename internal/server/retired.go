package server

import (
	"fmt"
	"net/http"
	"time"

	"grense/api/ogcapi"
	"grense/internal/history"
	"grense/internal/server/links"
	"grense/internal/server/page"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// UsualSchemes are the schemes of codes that collections have by their ids where nothing is configured.
var UsualSchemes = map[string]string{"kommuner": history.Kommune, "fylker": history.Fylke}

// SchemeID returns the scheme whose codes are the ids of a collection, configured or usual. The history need not have
// it.
func SchemeID(coll *store.Collection) string {
	if coll.Codes != "" {
		return coll.Codes
	}
	if s, ok := UsualSchemes[coll.ID]; ok {
		return s
	}
	return coll.ID
}

// HasHistory reports whether there is a history of divisions, in the data or configured.
func (c *Call) HasHistory() bool { return history.Has(c.Catalog) || c.s.Past != nil }

// ShowsTime reports whether the ids of a collection of a catalog may be codes with a history.
func (s *Kit) ShowsTime(cat *store.Catalog, coll *store.Collection) bool {
	return (history.Has(cat) || s.Past != nil) && (coll.Codes != "" || UsualSchemes[coll.ID] != "")
}

// Today returns today's date in the time zone of the data.
func (c *Call) Today() history.Date { return history.DateOf(time.Now().In(c.Zone())) }

// JSON documents about the history of codes.
type (
	// CodeRef is a predecessor or successor of a code.
	CodeRef struct {
		Code  string   `json:"code"`
		Name  string   `json:"name"`
		Date  string   `json:"date,omitempty"`
		Event string   `json:"event,omitempty"`
		Part  bool     `json:"part,omitempty"` // only a part of the division
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

// Retired is the error of a retired code: 410 with its successors.
type Retired struct {
	Problem error // a problem.Error
	More    RetiredDoc
	Links   []ogcapi.Link

	Name, Became string // for people: the retired division, and what it is today
}

func (e *Retired) Error() string { return e.Problem.Error() }
func (e *Retired) Unwrap() error { return e.Problem }

// RetiredDoc is the problem document of a retired code. Its type is split, merge, renumber or end.
type RetiredDoc struct {
	ogcapi.Problem
	Date       string    `json:"date"`
	Successors []CodeRef `json:"successors"` // when it was retired
	Current    []CodeRef `json:"current"`    // today
}

// KindText returns the name of a kind of event in a language.
func KindText(lang string, k history.Kind) string { return page.Text(lang, fmt.Sprintf("kind.%s", k)) }

// RefCrumbs returns links to pages of codes.
func RefCrumbs(s *links.Set, refs []CodeRef) []page.Crumb {
	out := make([]page.Crumb, len(refs))
	for i, r := range refs {
		out[i] = page.Crumb{Title: r.Code + " " + r.Name, Href: s.AsPage(r.Href)}
	}
	return out
}
