package lineage

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/server"
)

// historyParams are the parameters of codes and lineage.
type historyParams struct {
	at        history.Date // 0: not given
	until     history.Date // 0: not given
	direction string       // predecessors, successors or both

	limit, offset int // of a list of codes
}

func newHistoryParams(*server.Call) any {
	return &historyParams{direction: "both", limit: server.DefaultLimit}
}

// changesParams are the parameters of the change feed.
type changesParams struct {
	after int64
	limit int
}

func newChangesParams(*server.Call) any { return &changesParams{limit: changesDefault} }

func newLatestParams(*server.Call) any { return &changesParams{limit: latestDefault} }

// directions are the values of the parameter direction.
var directions = []string{"predecessors", "successors", "both"}

var paramCodesLimit = &server.Param{
	Name: "limit", Own: true, Description: "Codes on a page, at most",
	Schema: map[string]any{"type": "integer", "minimum": 1, "maximum": server.MaxLimit, "default": server.DefaultLimit},
	Parse: server.Into(func(_ *server.Call, p *historyParams, v []string) (err error) {
		p.limit, err = server.Positive("limit", v[0], 1)
		p.limit = min(p.limit, server.MaxLimit)
		return err
	}),
}

var paramCodesOffset = &server.Param{
	Name: "offset", Own: true, Description: "Codes to skip. To walk through all, follow the links next instead",
	Schema: map[string]any{"type": "integer", "minimum": 0, "default": 0},
	Parse: server.Into(func(_ *server.Call, p *historyParams, v []string) (err error) {
		p.offset, err = server.Positive("offset", v[0], 0)
		return err
	}),
}

var paramAt = &server.Param{Name: "datetime", Own: true,
	Description: "A day, or a moment of it, by RFC 3339: what the code stood for then", Schema: server.SchemaFilled,
	Parse: server.Into(func(c *server.Call, p *historyParams, v []string) (err error) {
		p.at, err = dayOf("datetime", v[0], c.Zone())
		return err
	})}

var paramUntil = &server.Param{Name: "until", Own: true,
	Description: "How far to follow: a day, which may be before the feature or after it. Default: to the beginning " +
		"and to the end of what is known", Schema: server.SchemaFilled,
	Parse: server.Into(func(c *server.Call, p *historyParams, v []string) (err error) {
		p.until, err = dayOf("until", v[0], c.Zone())
		return err
	})}

var paramDirection = &server.Param{Name: "direction", Own: true,
	Description: "What to follow: what the feature was made of, what became of it, or both",
	Schema:      map[string]any{"type": "string", "enum": directions, "default": "both"},
	Parse: server.Into(func(_ *server.Call, p *historyParams, v []string) error {
		if !slices.Contains(directions, v[0]) {
			return problem.Invalidf("direction", v[0], "use %s", strings.Join(directions, ", "))
		}
		p.direction = v[0]
		return nil
	})}

var paramAfter = &server.Param{Name: "after", Own: true,
	Description: "Only changes with larger numbers: the last number that you have. Default: all, from the first",
	Schema:      map[string]any{"type": "integer", "minimum": 0, "default": 0},
	Parse: server.Into(func(_ *server.Call, p *changesParams, v []string) error {
		n, err := strconv.ParseUint(v[0], 10, 63)
		if err != nil {
			return problem.Invalidf("after", v[0], "use a whole number from 0")
		}
		p.after = int64(n)
		return nil
	})}

var paramChangesLimit = changesLimit(changesDefault)

var paramLatestLimit = changesLimit(latestDefault)

// dayOf parses a date, or returns the date of a time in a zone.
func dayOf(name, v string, zone *time.Location) (history.Date, error) {
	from, to, err := cql2.ParseInterval(v, zone)
	if err != nil || from == nil || to == nil || history.DateOf(from.In(zone)) != history.DateOf(to.In(zone)) {
		return 0, problem.Invalidf(name, v, "give one day or moment, such as 2020-01-01 or 2020-01-01T12:00:00Z")
	}
	return history.DateOf(from.In(zone)), nil
}

func changesLimit(usual int) *server.Param {
	return &server.Param{Name: "limit", Own: true, Description: "Changes in the answer, at most",
		Schema: map[string]any{"type": "integer", "minimum": 1, "maximum": maxChanges, "default": usual},
		Parse: server.Into(func(_ *server.Call, p *changesParams, v []string) (err error) {
			p.limit, err = server.Positive("limit", v[0], 1)
			p.limit = min(p.limit, maxChanges)
			return err
		})}
}
