package codes

import (
	"errors"
	"strings"

	"grense/api/ogcapi"
	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/media"
)

// NotInUse returns the error for a code of a scheme that was not in use on a day: 410 with the successors of what it
// stood for before, or 404 on a day of which the scheme knows nothing.
func (c Reader) NotInUse(s *history.Scheme, code string, at history.Date) error {
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
	e.Problem = problem.New(problem.Gone, nil, "%s %s was not in use on %s, but %s; %s", s.ID, code, at,
		history.Spans(all), e.Became)
	return e
}

// Missing returns the error for a feature that does not exist: 410 with its successors for a retired code, otherwise
// 404.
func (c Reader) Missing(id string) error {
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
		Rel: "version-history", Type: media.JSON.Media, Title: "What became of it", Href: c.Item(c.Collection.ID, id) +
			"/lineage",
	})
	return e
}

// Retired returns what became of a version that has ended, as an error.
func (c Reader) Retired(s *history.Scheme, v *history.Version) (*server.Retired, error) {
	today, id := c.Today(), v.Code
	e := &server.Retired{More: server.RetiredDoc{Date: v.To.String(), Successors: []server.CodeRef{},
		Current: []server.CodeRef{}}}
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
		r := server.CodeRef{Code: x.Code, Name: x.Name, Href: c.VersionHref(s.ID, x)}
		e.More.Current = append(e.More.Current, r)
		names = append(names, r.Code+" "+r.Name)
		e.Links = append(e.Links, ogcapi.Link{Rel: "successor-version", Type: media.GeoJSON.Media, Title: r.Code +
			" " +
			r.Name, Href: r.Href})
	}
	told := "nothing follows it"
	if names != nil {
		told = "today it is " + strings.Join(names, ", ")
	}
	e.Name, e.Became = strings.TrimSpace(id+" "+v.Name), told
	e.Problem = problem.New(problem.Gone, nil, "%s was given up on %s; %s", e.Name, v.To, told)
	return e, nil
}

func notFoundFeature(c Reader, id string) error {
	return problem.NotFoundf("%s has no feature %q; %s/collections/%s/items lists all", c.Collection.ID,
		problem.Clip(id), c.Base(), c.Collection.ID)
}
