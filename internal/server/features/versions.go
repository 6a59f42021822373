package features

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"grense/api/ogcapi"
	"grense/internal/cql2"
	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/selection"
	"grense/internal/server/wire"
	"grense/internal/store"
)

// Versions of features follow the draft Versioned Features of OGC API Features (opengeospatial/ogcapi-features,
// proposals/versioned-features.md), which rests on Memento (RFC 7089, pattern 1.2) and RFC 5829. The parameter
// datetime selects versions and nothing else negotiates them.

// datedQuery returns the query that selects the version of another feature at the time of this request; "" if the
// request has no time.
func (c *call) datedQuery() string {
	v := server.First(c.Values["datetime"])
	out, ok := c.Params.(selection.WritesFeatures)
	if v == "" || server.IsPlain(c.Collection) || !ok || out.Output().VersionIDs || strings.Contains(v, "/") {
		return ""
	}
	return "?datetime=" + wire.QueryEscape(v)
}

// version is one version of a feature.
type version struct {
	row        store.Row
	start, end string // as they are served; end is "" if open
}

// versionList holds all versions of a feature, the earliest first.
type versionList struct {
	id   string // of the feature
	coll *store.Collection
	all  []version
	zone *time.Location
	// prev and next are the features before and after it at the requested time; "" for none
	prev, next string
}

// versionsOf reads the versions of a feature, and the features before and after it at a time; nil if there is none.
func (c *call) versionsOf(id string, at time.Time) (*versionList, error) {
	var life *store.Life
	err := c.Ask(func(ctx context.Context) (err error) {
		life, err = c.s.Store.Life(ctx, store.LifeQuery{Collection: c.Collection.ID, ID: id, At: at,
			Limit: c.s.Config.Limits.PageMax})
		return err
	})
	if err != nil || len(life.Versions) == 0 {
		return nil, err
	}
	l := &versionList{id: id, coll: c.Collection, zone: c.Zone(), prev: life.Prev, next: life.Next,
		all: make([]version, 0, len(life.Versions))}
	for _, x := range life.Versions {
		l.all = append(l.all, version{x.Row, x.Start, x.End})
	}
	return l, nil
}

// time parses a time as it is served, or a day, which begins at local midnight; false for "".
func (l *versionList) time(s string) (time.Time, bool) {
	if t, err := time.ParseInLocation(time.DateOnly, s, l.zone); err == nil {
		return t, true
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	return t, err == nil
}

// at returns the index of the version that is valid at t; of several, the one that begins last; -1 if there is none.
func (l *versionList) at(t time.Time) int {
	for i := len(l.all) - 1; i >= 0; i-- {
		x := l.all[i]
		if start, ok := l.time(x.start); !ok || start.After(t) {
			continue
		}
		if end, closed := l.ended(x); !closed || t.Before(end) || l.coll.Versions.Inclusive && t.Equal(end) &&
			len(x.end) > len(time.DateOnly) {
			return i
		}
	}
	return -1
}

// ended returns when a version ends: the first time after it, or its last time if the end is inclusive; false while
// it is open.
func (l *versionList) ended(x version) (time.Time, bool) {
	end, closed := l.time(x.end)
	if closed && l.coll.Versions.Inclusive && len(x.end) == len(time.DateOnly) {
		end = end.AddDate(0, 0, 1)
	}
	return end, closed
}

// began returns the index of the version with that start, as in its id; -1 if there is none.
func (l *versionList) began(start time.Time, day bool) int {
	return slices.IndexFunc(l.all, func(x version) bool {
		if day == (len(x.start) == len(time.DateOnly)) && day {
			return x.start == start.Format(time.DateOnly)
		}
		t, ok := l.time(x.start)
		return ok && !day && t.Equal(start)
	})
}

// memento returns the start of a version as an HTTP date (RFC 7089).
func (l *versionList) memento(n int) string {
	t, _ := l.time(l.all[n].start)
	return t.UTC().Format(http.TimeFormat)
}

// mementoHref returns the permanent address of a version: the feature with the start as datetime. f is the
// representation; "" for a negotiated one.
func (c *call) mementoHref(l *versionList, n int, f string) string {
	href := c.Item(c.Collection.ID, l.id) + "?datetime=" + wire.QueryEscape(l.all[n].start)
	if f != "" {
		href += "&f=" + f
	}
	return href
}

func (c *call) timeMapHref(id string) string { return c.Item(c.Collection.ID, id) + "/versions" }

// versionAsked is the version that a request selects.
type versionAsked struct {
	*versionList
	n      int
	byID   bool // the id of the path is that of the version
	dated  bool // the request names the version, so that the response never changes to another one
	id     string
	moment time.Time // time of the neighbours
}

// soughtVersion finds the version of an address: by datetime, by an id of the profile with unique ids, or the current
// one. The error is 410 for a feature that existed or will exist, otherwise 404.
func (c *call) soughtVersion(id string) (*versionAsked, error) {
	p, at := c.Params.(*itemParams), c.Now()
	if p.At != nil {
		at = *p.At
	}
	l, err := c.versionsOf(id, at)
	if err != nil {
		return nil, err
	}
	if l == nil {
		of, start, day, ok := store.ParseVersionID(id)
		if !ok {
			return nil, c.Missing(id)
		}
		if l, err = c.versionsOf(of, at); err != nil {
			return nil, err
		}
		n := -1
		if l != nil {
			n = l.began(start, day)
		}
		if n < 0 {
			return nil, c.Missing(id)
		}
		if p.At != nil {
			return nil, problem.Invalidf("datetime", server.First(c.Values["datetime"]),
				"the id %s names one version; leave out datetime, or ask %s", id, c.Item(c.Collection.ID, of))
		}
		at, _ := l.time(l.all[n].start)
		return &versionAsked{versionList: l, n: n, byID: true, dated: true, id: id, moment: at.In(c.Zone())}, nil
	}
	n := l.at(at)
	if n < 0 {
		return nil, c.goneVersion(l, p.At)
	}
	return &versionAsked{versionList: l, n: n, id: id, dated: p.At != nil, moment: at}, nil
}

// goneVersion returns the error for a feature that does not exist at the requested time: 410, with its name and, if a
// history of codes knows it, with its successors.
func (c *call) goneVersion(l *versionList, at *time.Time) error {
	e, err := c.endedEntity(l.id)
	if err != nil {
		return err
	}
	last := len(l.all) - 1
	ended := e != nil
	if !ended {
		e = &server.Retired{More: server.RetiredDoc{Successors: []server.CodeRef{}, Current: []server.CodeRef{}}}
		e.More.Type = "about:blank"
		if end, closed := l.ended(l.all[last]); closed {
			e.More.Date = end.In(c.Zone()).Format(time.DateOnly)
		}
	}
	if !ended || at != nil {
		when, what := "now", "the last one begins with "+l.all[last].start
		if at != nil {
			when = "at " + server.First(c.Values["datetime"])
		}
		if start, ok := l.time(l.all[0].start); ok && at != nil && at.Before(start) {
			what = "the first one begins with " + l.all[0].start
		}
		if ended {
			what += ", it ended on " + e.More.Date + " and " + e.Became
		}
		e.Problem = problem.New(problem.Gone, nil, "there is no version of %s %s; %s. %s lists all",
			cmp.Or(e.Name, l.id), when, what, c.timeMapHref(l.id))
	}
	e.Links = slices.DeleteFunc(e.Links, func(x ogcapi.Link) bool { return x.Rel == "version-history" })
	e.Links = append(e.Links, ogcapi.Link{Rel: "latest-version", Type: media.GeoJSON.Media,
		Title: "The last version", Href: c.mementoHref(l, last, "")})
	e.Links = append(e.Links, c.timeMapLinks(l.id)...)
	return e
}

// endedEntity returns what became of a feature that has ended, by the history of its codes; nil if unknown.
func (c *call) endedEntity(id string) (*server.Retired, error) {
	if c.Collection.ID != history.VersionsID {
		e, _ := c.Missing(id).(*server.Retired)
		return e, nil
	}
	h, err := c.History()
	if err != nil || h == nil {
		return nil, err
	}
	s, v := h.Entity(id)
	if v == nil || v.To == 0 || v.To > c.Today() {
		return nil, nil
	}
	return c.Retired(s, v)
}

func (c *call) timeMapLinks(id string) []ogcapi.Link {
	return []ogcapi.Link{
		{Rel: "timemap", Type: media.LinkFormat.Media, Title: "All versions, for programs",
			Href: c.timeMapHref(id) + "?f=" + media.LinkFormat.F},
		{Rel: "timemap", Type: media.JSON.Media, Title: "All versions as JSON", Href: c.timeMapHref(id)},
		{Rel: "version-history", Type: media.JSON.Media, Title: "All versions", Href: c.timeMapHref(id)},
	}
}

// versionLinks returns the links of a response with one version.
func (c *call) versionLinks(v *versionAsked) []ogcapi.Link {
	links := []ogcapi.Link{
		{Rel: "canonical", Type: media.GeoJSON.Media, Title: "This version",
			Href: c.mementoHref(v.versionList, v.n, "")},
		{Rel: "original", Type: media.GeoJSON.Media, Title: "The feature, as it is now",
			Href: c.Item(c.Collection.ID, v.versionList.id)},
	}
	links = append(links, c.timeMapLinks(v.versionList.id)...)
	if v.n > 0 {
		links = append(links, ogcapi.Link{Rel: "predecessor-version", Type: media.GeoJSON.Media,
			Title: "The version before", Href: c.mementoHref(v.versionList, v.n-1, "")})
	}
	if v.n < len(v.all)-1 {
		links = append(links, ogcapi.Link{Rel: "successor-version", Type: media.GeoJSON.Media,
			Title: "The version after", Href: c.mementoHref(v.versionList, v.n+1, "")})
	}
	return links
}

// versionHeaders sets which version a response contains, and how long it may be cached. A version that ended before
// the settled day of the collection never changes.
func (c *call) versionHeaders(h http.Header, v *versionAsked) {
	h.Set("Memento-Datetime", v.memento(v.n))
	settled, isSettled := v.time(c.Collection.Settled)
	end, closed := v.ended(v.all[v.n])
	if v.dated && closed && isSettled && !end.After(settled) && c.s.Config.Auth == "open" {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
}

// beside finds the ids of the features before and after one, of those that are valid at the same time.
func (c *call) beside(ctx context.Context, v *versionAsked) (prev, next string, err error) {
	p, _ := c.Collection.Find(c.Collection.Versions.ID)
	for _, x := range [...]struct {
		op   cql2.CompareOp
		desc bool
		to   *string
	}{{cql2.Lt, true, &prev}, {cql2.Gt, false, &next}} {
		e, ok := c.Collection.IsFeature(v.versionList.id)
		if !ok {
			continue
		}
		than := e.(cql2.Compare)
		than.Op = x.op
		q := store.Query{Collection: c.Collection.ID, Filter: than, AsOf: v.moment,
			SortBy: []store.Sort{{Property: p.Name, Desc: x.desc}}, Limit: 1, Count: store.CountNone}
		page, err := c.s.Store.Page(ctx, q)
		if err != nil {
			return prev, next, err
		}
		if len(page.Rows) == 0 {
			continue
		}
		err = c.s.Store.Fetch(ctx, c.Collection.ID, page.Rows,
			store.Want{Properties: []string{}, NoGeometry: true, VersionIDs: v.byID}, func(f *store.Feature) error {
				*x.to = f.Public()
				return nil
			})
		if err != nil {
			return prev, next, err
		}
	}
	return prev, next, nil
}

// timeMapDoc lists the versions of a feature: links with one relation each, and the time of each version.
type timeMapDoc struct {
	Links []mementoLink `json:"links"`
}

type mementoLink struct {
	ogcapi.Link
	Datetime string `json:"datetime,omitempty"` // HTTP date
}

// timeMapView is the view model of the page of the versions of a feature.
type timeMapView struct {
	ID   string
	Href string
	Rows []timeMapRow
}

type timeMapRow struct{ From, To, Href, Title, Lang string }

// name returns the name of the feature in its latest version, or its id if that has no name.
func (v *timeMapView) name(id string) string {
	if len(v.Rows) > 0 && v.Rows[len(v.Rows)-1].Title != "" {
		return v.Rows[len(v.Rows)-1].Title
	}
	return id
}

// versions writes the time map of a feature (RFC 7089, 5).
func (s *surface) versions(c *call, w http.ResponseWriter) error {
	id := c.PathParam("featureId")
	if server.IsPlain(c.Collection) {
		return problem.NotFoundf("features of %s have no versions; roles valid_from and valid_to in the "+
			"configuration make rows versions", c.Collection.ID)
	}
	l, err := c.versionsOf(id, c.Now())
	if err != nil {
		return err
	}
	if l == nil {
		return c.Missing(id)
	}
	doc := c.timeMap(l)
	a := &server.Answer{JSON: doc}
	for _, x := range doc.Links {
		if x.Rel != "memento" && x.Rel != "first" && x.Rel != "last" {
			a.Links = append(a.Links, x.Link)
		}
	}
	if c.Format.F == media.LinkFormat.F {
		a.Raw = map[string][]byte{media.LinkFormat.F: linkFormat(doc.Links)}
	}
	if c.Format.F == media.HTML.F {
		view, err := c.timeMapView(l)
		if err != nil {
			return err
		}
		a.Page = &page.Page{Name: "versions", Title: c.Text("versions.title", view.name(id)),
			Crumbs: c.Crumbs("items"), Data: view}
	}
	return c.DataAnswer(w, a)
}

func (c *call) timeMap(l *versionList) timeMapDoc {
	var doc timeMapDoc
	add := func(datetime string, x ogcapi.Link) { doc.Links = append(doc.Links, mementoLink{x, datetime}) }
	for _, x := range c.SelfLinks("/collections/" + c.Collection.ID + "/items/" + wire.PathEscape(l.id) +
		"/versions") {
		add("", x)
	}
	add("", ogcapi.Link{Rel: "original", Type: media.GeoJSON.Media, Href: c.Item(c.Collection.ID, l.id)})
	last := len(l.all) - 1
	for i := range l.all {
		x := ogcapi.Link{Rel: "memento", Type: media.GeoJSON.Media, Href: c.mementoHref(l, i, "")}
		if i == 0 {
			x.Rel = "first"
			add("", x)
		}
		if i == last {
			for _, x.Rel = range []string{"last", "latest-version"} {
				add("", x)
			}
		}
		x.Rel = "memento"
		add(l.memento(i), x)
	}
	return doc
}

// linkFormat writes links by RFC 6690: the media type as type, and the time of a version as datetime (RFC 7089, 5).
func linkFormat(links []mementoLink) []byte {
	var b strings.Builder
	for i, l := range links {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString("<" + l.Href + `>;rel="` + l.Rel + `"`)
		if l.Type != "" {
			b.WriteString(`;type="` + l.Type + `"`)
		}
		if l.Datetime != "" {
			b.WriteString(`;datetime="` + l.Datetime + `"`)
		}
	}
	return []byte(b.String())
}

func (c *call) timeMapView(l *versionList) (*timeMapView, error) {
	v := &timeMapView{ID: l.id, Href: c.AsPage(c.Item(c.Collection.ID, l.id))}
	rows := make([]store.Row, len(l.all))
	want := store.Want{Properties: []string{}, NoGeometry: true}
	if p, ok := c.Collection.Find(c.Collection.TitleProperty); ok && !p.Hidden {
		want.Properties = []string{p.Name}
	}
	for i := range l.all {
		rows[i] = l.all[i].row
	}
	err := c.Ask(func(ctx context.Context) error {
		v.Rows = v.Rows[:0]
		return c.s.Store.Fetch(ctx, c.Collection.ID, rows, want, func(f *store.Feature) error {
			n := len(v.Rows)
			r := timeMapRow{From: l.all[n].start, To: l.all[n].end, Href: c.mementoHref(l, n, media.HTML.F)}
			if len(f.Values) > 0 && f.Values[0] != nil {
				r.Title, r.Lang = server.Cell(f.Values[0]),
					server.Foreign(server.LanguageOfName(c.Collection.TitleProperty), c.Lang)
			}
			v.Rows = append(v.Rows, r)
			return nil
		})
	})
	return v, err
}
