package lineage

import (
	"net/http"
	"slices"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/codes"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/wire"
)

// divisionDoc is a version of a division. It is valid from ValidFrom until the day before ValidTo.
type divisionDoc struct {
	Scheme    string           `json:"scheme"`
	Code      string           `json:"code"`
	Name      string           `json:"name"`
	ValidFrom string           `json:"validFrom,omitempty"` // "": unknown
	ValidTo   string           `json:"validTo,omitempty"`
	Parent    *parentCode      `json:"parent,omitempty"`
	Entity    string           `json:"entity"`
	Ended     history.Kind     `json:"ended,omitempty"` // kind of the event that ended it
	Became    []server.CodeRef `json:"became,omitempty"`
	Was       []server.CodeRef `json:"was,omitempty"`
	Href      string           `json:"href,omitempty"` // of the feature, if it exists now
}

type parentCode struct {
	Scheme string `json:"scheme"`
	Code   string `json:"code"`
	Name   string `json:"name,omitempty"`
}

type codeHistoryDoc struct {
	Scheme    string        `json:"scheme"`
	Code      string        `json:"code"`
	Datetime  string        `json:"datetime,omitempty"`
	Ambiguous bool          `json:"ambiguous"` // the code was reused for an unrelated division
	Meanings  []divisionDoc `json:"meanings"`
	Links     []ogcapi.Link `json:"links"`
}

type lineageDoc struct {
	Division     divisionDoc   `json:"division"`
	Datetime     string        `json:"datetime"`
	Predecessors []eventDoc    `json:"predecessors,omitempty"`
	Successors   []eventDoc    `json:"successors,omitempty"`
	Until        *untilDoc     `json:"until,omitempty"`
	Links        []ogcapi.Link `json:"links"`
}

type eventDoc struct {
	ID      string           `json:"id"`
	Date    string           `json:"date"`
	Kind    history.Kind     `json:"kind"`
	Kinds   []history.Kind   `json:"kinds"` // kind of the event and of all its changes
	Changes []history.Change `json:"changes"`
	Source  string           `json:"source,omitempty"`
	Href    string           `json:"href,omitempty"` // of the feature, if events are a collection
}

// untilDoc lists the codes that the division has on the day of the parameter until.
type untilDoc struct {
	Datetime string           `json:"datetime"`
	Codes    []server.CodeRef `json:"codes"`
	// a merger was undone, and the source does not say which of the codes continue the division
	Ambiguous bool `json:"ambiguous,omitempty"`
}

// errNoScheme returns the error for a collection whose ids are not codes with a known history.
func (c *call) errNoScheme() error {
	h, err := c.History()
	if err != nil {
		return err
	}
	if h == nil {
		return codes.ErrNoHistory()
	}
	return problem.NotFoundf("the ids of %s are no codes of a history; where they are, the operator names the "+
		"scheme with codes: of the collection, one of %s", c.Collection.ID, strings.Join(codes.SchemeIDs(h), ", "))
}

// code returns the divisions that a code stands for, on a day or at any time.
func (s *Surface) code(c *call) (*server.Answer, error) {
	p := c.Params.(*historyParams)
	h, err := c.History()
	if err != nil {
		return nil, err
	}
	if h == nil {
		return nil, codes.ErrNoHistory()
	}
	name, code := c.PathParam("schemeId"), c.PathParam("code")
	scheme := h.Scheme(name)
	if scheme == nil {
		return nil, problem.NotFoundf("there is no scheme %q; there are %s", problem.Clip(name),
			strings.Join(codes.SchemeIDs(h), ", "))
	}
	code = scheme.Whole(code)
	all := scheme.Meanings(code)
	if len(all) == 0 {
		return nil, problem.NotFoundf("%s has no code %q and never had", scheme.ID, problem.Clip(code))
	}
	path := "/codes/" + wire.PathEscape(scheme.ID) + "/" + wire.PathEscape(code)
	doc := codeHistoryDoc{Scheme: scheme.ID, Code: code, Datetime: p.at.String(), Links: c.SelfLinks(path)}
	for _, v := range all {
		if p.at != 0 && !v.Holds(p.at) {
			continue
		}
		doc.Meanings = append(doc.Meanings, c.divisionDoc(scheme, v))
	}
	if doc.Meanings == nil {
		return nil, c.NotInUse(scheme, code, p.at)
	}
	doc.Ambiguous = p.at == 0 && !scheme.Related(code)
	last := all[len(all)-1]
	if coll := c.CollectionOf(scheme.ID); coll != nil && last.To == 0 {
		doc.Links = append(doc.Links, ogcapi.Link{Rel: "item", Type: media.GeoJSON.Media, Title: last.Name,
			Href: c.Base() + "/collections/" + coll.ID + "/items/" + wire.PathEscape(code)})
	}
	title := page.Capital(c.Text("code.title", scheme.ID, code))
	return &server.Answer{JSON: doc, Links: doc.Links, Endless: true,
		Page: &page.Page{Name: "code", Title: title, Crumbs: c.Crumbs(""), Data: c.codeView(doc)}}, nil
}

func (c *call) divisionDoc(s *history.Scheme, v *history.Version) divisionDoc {
	d := divisionDoc{Scheme: s.ID, Code: v.Code, Name: v.Name, ValidFrom: v.From.String(), ValidTo: v.To.String(),
		Entity: v.Entity, Ended: s.Fate(v)}
	if v.Parent != "" {
		d.Parent = &parentCode{Scheme: v.ParentScheme, Code: v.Parent, Name: c.parentName(v)}
	}
	for _, e := range s.Out(v) {
		if e.To != nil {
			d.Became = append(d.Became, c.CodeRef(s, e.To, e))
		}
	}
	for _, e := range s.In(v) {
		if e.From != nil {
			d.Was = append(d.Was, c.CodeRef(s, e.From, e))
		}
	}
	if v.To == 0 {
		d.Href = c.FeatureOf(s.ID, v.Code)
	}
	return d
}

// parentName returns the first name that the parent has while the version is valid; "" if it is unknown.
func (c *call) parentName(v *history.Version) string {
	h, err := c.History()
	if err != nil || h == nil || h.Scheme(v.ParentScheme) == nil {
		return ""
	}
	for _, p := range h.Scheme(v.ParentScheme).Meanings(v.Parent) {
		if (v.To == 0 || p.From < v.To) && (p.To == 0 || v.From < p.To) {
			return p.Name
		}
	}
	return ""
}

// lineage writes the predecessors and successors of a division.
func (s *Surface) lineage(c *call, w http.ResponseWriter) error {
	scheme, err := c.Scheme()
	if err != nil {
		return err
	}
	id, p := c.PathParam("featureId"), c.Params.(*historyParams)
	if scheme == nil {
		return c.errNoScheme()
	}
	v, at, err := c.Meant(scheme, id, p.at)
	if err != nil {
		return err
	}
	path := "/collections/" + c.Collection.ID + "/items/" + wire.PathEscape(id) + "/lineage"
	doc := lineageDoc{Division: c.divisionDoc(scheme, v), Datetime: at.String(), Links: c.SelfLinks(path)}
	begin, end := codes.Beginning, max(c.Today(), at)
	for _, e := range scheme.Events { // events that are decided, but in the future
		end = max(end, e.Date)
	}
	if p.until != 0 && p.until < at {
		begin, end = p.until, at
	} else if p.until != 0 {
		begin, end = at, p.until
	}
	if p.direction != "successors" {
		doc.Predecessors = c.eventDocs(scheme.Lineage(v, at, begin))
	}
	if p.direction != "predecessors" {
		doc.Successors = c.eventDocs(scheme.Lineage(v, at, end))
	}
	if p.until != 0 {
		all, err := scheme.Matches(v.Code, at, p.until)
		if err != nil {
			return err
		}
		doc.Until = &untilDoc{Datetime: p.until.String(), Codes: []server.CodeRef{}}
		for _, m := range all {
			doc.Until.Ambiguous = doc.Until.Ambiguous || m.Unsure
			doc.Until.Codes = append(doc.Until.Codes,
				server.CodeRef{Code: m.Code, Name: m.Name, Share: codes.ShareOfWhole(m.Share),
					Href: c.VersionHref(scheme.ID, m.Version)})
		}
	}
	doc.Links = append(doc.Links, ogcapi.Link{Rel: "collection", Type: media.JSON.Media,
		Title: c.Collection.TitleIn(c.Lang),
		Href:  c.Base() + "/collections/" + c.Collection.ID})
	if doc.Division.Href != "" {
		doc.Links = append(doc.Links, ogcapi.Link{Rel: "original", Type: media.GeoJSON.Media, Title: v.Name,
			Href: doc.Division.Href})
	}
	title := c.Text("lineage.title", v.Code, v.Name)
	return c.DataAnswer(w, &server.Answer{JSON: doc, Links: doc.Links,
		Page: &page.Page{Name: "lineage", Title: title, Crumbs: c.Crumbs("items"), Data: c.lineageView(&doc)}})
}

func (c *call) eventDocs(edges []*history.Edge) []eventDoc {
	out := []eventDoc{}
	for _, e := range edges {
		if n := len(out); n == 0 || out[n-1].ID != e.Event.ID {
			k := slices.IndexFunc(out, func(d eventDoc) bool { return d.ID == e.Event.ID })
			if k >= 0 {
				out[k].Changes = append(out[k].Changes, history.ChangeOf(e))
				continue
			}
			d := eventDoc{ID: e.Event.ID, Date: e.Event.Date.String(), Kind: e.Event.Kind, Kinds: e.Event.EdgeKinds(),
				Source: e.Event.Source}
			if history.Has(c.Catalog) {
				d.Href = c.Base() + "/collections/" + history.EventsID + "/items/" + wire.PathEscape(e.Event.ID)
			}
			out = append(out, d)
		}
		out[len(out)-1].Changes = append(out[len(out)-1].Changes, history.ChangeOf(e))
	}
	return out
}

// codeView is the data of the page.
type codeView struct {
	codeHistoryDoc
	Rows []codeHistoryRow
}

type codeHistoryRow struct {
	divisionDoc
	Page  string // of the feature; "" if there is none
	Fate  string
	Leads []page.Crumb // pages of its successors
	From  []page.Crumb // pages of its predecessors
}

func (c *call) codeView(doc codeHistoryDoc) codeView {
	v := codeView{codeHistoryDoc: doc}
	for _, m := range doc.Meanings {
		row := codeHistoryRow{divisionDoc: m, Leads: server.RefCrumbs(&c.Set, m.Became),
			From: server.RefCrumbs(&c.Set, m.Was)}
		if m.Href != "" {
			row.Page = c.AsPage(m.Href)
		}
		if m.Ended != "" {
			row.Fate = server.KindText(c.Lang, m.Ended)
		}
		v.Rows = append(v.Rows, row)
	}
	return v
}

// timelineRow is an event on a page.
type timelineRow struct {
	Date, Kind, Href string
	Before, After    []page.Crumb
}

// lineageView is the data of the page.
type lineageView struct {
	*lineageDoc
	Timeline []timelineRow
	Now      []page.Crumb // its codes on the day until
	Feature  string       // page of the feature; "" if there is none
}

func (c *call) lineageView(doc *lineageDoc) *lineageView {
	v := &lineageView{lineageDoc: doc, Timeline: c.timeline(doc.Division.Scheme,
		append(slices.Clone(doc.Predecessors), doc.Successors...))}
	if doc.Until != nil {
		v.Now = server.RefCrumbs(&c.Set, doc.Until.Codes)
	}
	if doc.Division.Href != "" {
		v.Feature = c.AsPage(doc.Division.Href)
	}
	return v
}

// timeline returns the events as rows of a page.
func (c *call) timeline(scheme string, events []eventDoc) (out []timelineRow) {
	for _, e := range events {
		row := timelineRow{Date: e.Date, Kind: server.KindText(c.Lang, e.Kind)}
		add := func(to *[]page.Crumb, code, name string) {
			x := page.Crumb{Title: strings.TrimSpace(code + " " + name), Href: c.AsPage(c.CodeHref(scheme, code))}
			if code != "" && !slices.Contains(*to, x) {
				*to = append(*to, x)
			}
		}
		for _, x := range e.Changes {
			add(&row.Before, x.From, x.FromName)
			add(&row.After, x.To, x.ToName)
		}
		if e.Href != "" {
			row.Href = c.AsPage(e.Href)
		}
		out = append(out, row)
	}
	return out
}
