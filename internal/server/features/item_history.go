package features

import (
	"errors"
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

// versionsElsewhere returns the address of earlier versions if features have none themselves but their ids are codes
// of a history. It returns "" if the request has no time, or if there is no such history. code selects one feature;
// "" for all.
func (c *call) versionsElsewhere(code string) string {
	at := server.First(c.Values["datetime"])
	if at == "" || c.Collection == nil || server.IsVersioned(c.Collection) || !c.s.ShowsTime(c.Catalog, c.Collection) {
		return ""
	}
	scheme := server.SchemeID(c.Collection)
	switch {
	case history.Has(c.Catalog):
		href := c.Base() + "/collections/" + history.VersionsID + "/items?scheme=" + wire.QueryEscape(scheme)
		if code != "" {
			href += "&code=" + wire.QueryEscape(code)
		}
		return href + "&datetime=" + wire.QueryEscape(at)
	case code != "":
		return c.CodeHref(scheme, code)
	}
	return c.Base() + "/codes/" + wire.PathEscape(scheme)
}

// versionsLink returns the link to versionsElsewhere; nil if there is none.
func (c *call) versionsLink(code string) []ogcapi.Link {
	href := c.versionsElsewhere(code)
	if href == "" {
		return nil
	}
	return []ogcapi.Link{{Rel: "version-history", Type: media.JSON.Media,
		Title: "The divisions as they were, without borders", Href: href}}
}

// eventChange is a change of an event on a page.
type eventChange struct {
	Before, After []page.Crumb
	Part          bool
	MadeOf        string
	People        string
	Area          string
}

// eventChanges returns the changes of an event for its page; nil for other features.
func (c *call) eventChanges(id string) (out []eventChange, err error) {
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
			out = append(out, eventChange{link(x.From), link(x.To), x.Part,
				strings.Join(history.ChangeOf(x).MadeOf, ", "), x.People.String(), x.Area.String()})
		}
	}
	return out, nil
}

// itemHistory is the history of a feature on its page: the last events, the latest first.
type itemHistory struct {
	Since  string // day from which it is unchanged
	Events []historyEvent
	More   int    // earlier events
	All    string // page of all
}

type historyEvent struct {
	// Day is the page of all events of the date, Page that of the event; "" if events are no collection
	Date, Day, Kind, Page string
	Before, After         []page.Crumb
}

// historyMost is the number of events on the page of a feature.
const historyMost = 8

// itemHistory returns the history of a feature; nil if nothing is known.
func (c *call) itemHistory(id string) (*itemHistory, error) {
	s, err := c.Scheme()
	if err != nil || s == nil {
		return nil, err
	}
	v, at, err := c.Meant(s, id, 0)
	if pe, ok := errors.AsType[*problem.Error](err); ok && pe.Kind == problem.NotFound {
		return nil, nil // the id is no code
	}
	if err != nil {
		return nil, err
	}
	h := &itemHistory{Since: v.From.String(),
		All: c.HtmlHref("/collections/" + c.Collection.ID + "/items/" + wire.PathEscape(id) + "/lineage")}
	_, collected := c.Catalog.Collection(history.EventsID)
	edges := s.Lineage(v, at, codes.Beginning)
	slices.Reverse(edges)
	last := ""
	for _, e := range edges {
		if e.Event.ID != last && len(h.Events) == historyMost {
			h.More++
		}
		if last != e.Event.ID && h.More == 0 {
			x := historyEvent{Date: e.Event.Date.String(), Kind: server.KindText(c.Lang, e.Event.Kind)}
			if collected {
				x.Page = c.HtmlHref("/collections/" + history.EventsID + "/items/" + wire.PathEscape(e.Event.ID))
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

// addEnd adds one end of an edge to a list, once.
func (c *call) addEnd(list []page.Crumb, s *history.Scheme, v *history.Version) []page.Crumb {
	if v == nil {
		return list
	}
	x := page.Crumb{Title: v.Code + " " + v.Name, Href: c.AsPage(c.VersionHref(s.ID, v))}
	if !slices.Contains(list, x) {
		list = append(list, x)
	}
	return list
}
