package lineage

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/codes"
	"grense/internal/server/links"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/wire"
)

// JSON documents of schemes, and of the codes of a scheme that are in use on a day.
type (
	codeSchemesDoc struct {
		Schemes []codeScheme  `json:"schemes"`
		Links   []ogcapi.Link `json:"links"`
	}

	codeScheme struct {
		ID        string        `json:"id"`
		Codes     int           `json:"codes"` // in use today
		KnownFrom string        `json:"knownFrom,omitempty"`
		Links     []ogcapi.Link `json:"links"`
	}

	codesDoc struct {
		Scheme         string        `json:"scheme"`
		Datetime       string        `json:"datetime"`
		NumberMatched  int           `json:"numberMatched"`
		NumberReturned int           `json:"numberReturned"`
		Codes          []listedCode  `json:"codes"`
		Links          []ogcapi.Link `json:"links"`
	}

	listedCode struct {
		Code      string `json:"code"`
		Name      string `json:"name"`
		ValidFrom string `json:"validFrom,omitempty"` // "": unknown
		ValidTo   string `json:"validTo,omitempty"`
		Parent    string `json:"parent,omitempty"`
		Href      string `json:"href"`
	}
)

// codesView is the data of the page.
type codesView struct {
	codesDoc
	Rows       []listedCode // with the addresses of pages
	Prev, Next string
	Path       string // below the mount
}

// schemes lists the schemes of codes with a known history.
func (s *Surface) schemes(c *call) (*server.Answer, error) {
	h, err := c.History()
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, codes.ErrNoHistory()
	}
	doc := codeSchemesDoc{Schemes: []codeScheme{}, Links: c.SelfLinks("/codes")}
	rows := [][]string{{"scheme", "codes", "known_from"}}
	var list []page.Crumb
	for _, x := range h.Schemes() {
		path := "/codes/" + wire.PathEscape(x.ID)
		e := codeScheme{ID: x.ID, Codes: len(x.On(c.Today())), KnownFrom: x.Begin().String(), Links: []ogcapi.Link{
			{Rel: "item", Type: media.JSON.Media, Title: x.ID, Href: c.Base() + path},
			{Rel: "item", Type: media.CSV.Media, Title: x.ID, Href: c.Base() + path + "?f=csv"},
			{Rel: "item", Type: media.HTML.Media, Title: x.ID, Href: c.Base() + path + "?f=html",
				Hreflang: links.Hreflang}}}
		doc.Schemes = append(doc.Schemes, e)
		rows = append(rows, []string{e.ID, strconv.Itoa(e.Codes), e.KnownFrom})
		list = append(list, page.Crumb{Title: fmt.Sprintf("%s (%d)", x.ID, e.Codes), Href: c.HtmlHref(path)})
	}
	a := &server.Answer{JSON: doc, Links: doc.Links, Page: &page.Page{
		Name: "schemes", Title: c.Text("codes.title"), Crumbs: c.Crumbs(""),
		Data: struct{ Schemes []page.Crumb }{list},
	}}
	return a, c.addRows(a, rows)
}

// addRows adds the CSV representation (RFC 4180), if the client requests it.
func (c *call) addRows(a *server.Answer, rows [][]string) error {
	if c.Format.F != media.CSV.F {
		return nil
	}
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	err := w.WriteAll(rows)
	a.Raw = map[string][]byte{media.CSV.F: b.Bytes()}
	return err
}

// codesOf lists the codes of a scheme that are in use on a day, in pages.
func (s *Surface) codesOf(c *call) (*server.Answer, error) {
	p := c.Params.(*historyParams)
	h, err := c.History()
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, codes.ErrNoHistory()
	}
	id := c.PathParam("schemeId")
	scheme := h.Scheme(id)
	if scheme == nil {
		return nil, problem.NotFoundf("there is no scheme %q; there are %s", problem.Clip(id),
			strings.Join(codes.SchemeIDs(h), ", "))
	}
	at := p.at
	if at == 0 {
		at = c.Today()
	}
	if at < scheme.Begin() {
		return nil, problem.NotFoundf("%s is not known before %s; ask for that day or a later one", scheme.ID,
			scheme.Begin())
	}
	all := scheme.On(at)
	from, to := min(p.offset, len(all)), min(p.offset+p.limit, len(all))
	path := "/codes/" + wire.PathEscape(scheme.ID)
	doc := codesDoc{Scheme: scheme.ID, Datetime: at.String(), NumberMatched: len(all), NumberReturned: to - from,
		Codes: []listedCode{}, Links: c.SelfLinks(path)}
	v := codesView{Path: path}
	turn := func(rel string, offset int) string {
		query := url.Values{"limit": {strconv.Itoa(p.limit)}, "offset": {strconv.Itoa(offset)}}
		if p.at != 0 {
			query.Set("datetime", p.at.String())
		}
		href := c.Base() + path + "?f=" + c.Format.F + "&" + query.Encode()
		doc.Links = append(doc.Links, ogcapi.Link{Rel: rel, Type: c.Format.Media, Href: href})
		return c.HtmlHref(path) + "&" + query.Encode()
	}
	if from > 0 {
		v.Prev = turn("prev", max(0, from-p.limit))
	}
	if to < len(all) {
		v.Next = turn("next", to)
	}
	rows := [][]string{{"code", "name", "valid_from", "valid_to", "parent"}}
	for _, x := range all[from:to] {
		own := path + "/" + wire.PathEscape(x.Code)
		e := listedCode{x.Code, x.Name, x.From.String(), x.To.String(), x.Parent, c.Base() + own}
		doc.Codes = append(doc.Codes, e)
		rows = append(rows, []string{e.Code, e.Name, e.ValidFrom, e.ValidTo, e.Parent})
		e.Href = c.HtmlHref(own)
		v.Rows = append(v.Rows, e)
	}
	v.codesDoc = doc
	a := &server.Answer{JSON: doc, Links: doc.Links, Endless: true, Page: &page.Page{
		Name: "codes", Title: c.Text("codes.scheme", scheme.ID), Crumbs: c.Crumbs("codes"), Data: v,
	}}
	return a, c.addRows(a, rows)
}
