package server

import (
	"errors"
	"slices"
	"strings"

	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/server/page"
)

// eventChange is a change of an event on a page.
type EventChange struct {
	Before, After []page.Crumb
	Part          bool
	MadeOf        string
	People        string
	Area          string
}

// eventChanges are the changes of an event, for its page; nil for other features.
func (c *Call) EventChanges(id string) (out []EventChange, err error) {
	if c.Collection.ID != history.EventsID {
		return nil, nil
	}
	h, err := c.History()
	if err != nil || h == nil {
		return nil, err
	}
	link := func(v *history.Version) []page.Crumb {
		if v == nil {
			return nil
		}
		return []page.Crumb{{Title: strings.TrimSpace(v.Code + " " + v.Name),
			Href: c.AsPage(c.CodeHref(v.Scheme, v.Code))}}
	}
	for _, s := range h.Schemes() {
		e := s.Event(id)
		if e == nil {
			continue
		}
		for _, x := range e.Edges {
			out = append(out, EventChange{link(x.From), link(x.To), x.Part,
				strings.Join(history.ChangeOf(x).MadeOf, ", "), x.People.String(), x.Area.String()})
		}
	}
	return out, nil
}

// itemHistory is what the page of a feature tells of its past: the last events, the last first.
type ItemHistory struct {
	Since  string // the day from which it is what it is
	Events []historyEvent
	More   int    // earlier events
	All    string // page of all
}

type historyEvent struct {
	// Day is the page of what happened on the date, Page that of the event; "" where events are no collection
	Date, Day, Kind, Page string
	Before, After         []page.Crumb
}

// historyMost is how many events the page of a feature shows.
const historyMost = 8

// itemHistory tells how a feature came to be; nil when nothing is known.
func (c *Call) ItemHistory(id string) (*ItemHistory, error) {
	s, err := c.Scheme()
	if err != nil || s == nil {
		return nil, err
	}
	v, at, err := c.Meant(s, id, 0)
	if pe, ok := errors.AsType[*problem.Error](err); ok && pe.Kind == problem.NotFound {
		return nil, nil // an id that is no code
	}
	if err != nil {
		return nil, err
	}
	h := &ItemHistory{Since: v.From.String(),
		All: c.HtmlHref("/collections/" + c.Collection.ID + "/items/" + PathEscape(id) + "/lineage")}
	_, collected := c.Catalog.Collection(history.EventsID)
	edges := s.Lineage(v, at, Beginning)
	slices.Reverse(edges)
	last := ""
	for _, e := range edges {
		if e.Event.ID != last && len(h.Events) == historyMost {
			h.More++
		}
		if last != e.Event.ID && h.More == 0 {
			x := historyEvent{Date: e.Event.Date.String(), Kind: c.KindText(e.Event.Kind)}
			if collected {
				x.Page = c.HtmlHref("/collections/" + history.EventsID + "/items/" + PathEscape(e.Event.ID))
				x.Day = c.HtmlHref("/collections/"+history.EventsID+"/items") + "&datetime=" + x.Date
			}
			h.Events = append(h.Events, x)
		}
		if last = e.Event.ID; h.More > 0 {
			continue
		}
		x := &h.Events[len(h.Events)-1]
		x.Before, x.After = c.addEnd(x.Before, s, e.From), c.addEnd(x.After, s, e.To)
	}
	return h, nil
}

// addEnd adds one end of an edge, once.
func (c *Call) addEnd(list []page.Crumb, s *history.Scheme, v *history.Version) []page.Crumb {
	if v == nil {
		return list
	}
	x := page.Crumb{Title: v.Code + " " + v.Name, Href: c.AsPage(c.VersionHref(s.ID, v))}
	if !slices.Contains(list, x) {
		list = append(list, x)
	}
	return list
}
