package server

import (
	"slices"
	"time"

	"grense/internal/cql2"
	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/server/queryable"
	"grense/internal/store"
)

// filtering builds the filter of a call from its parameters.
type filtering struct{ *Call }

// finishQuery completes the query from all parsed parameters.
func (c filtering) finishQuery(p *ItemsParams) error {
	if p.Norwegian {
		p.Query.SortBy = slices.Clone(p.Query.SortBy) // the slice may belong to the catalog
		for i := range p.Query.SortBy {
			p.Query.SortBy[i].Norwegian = true
		}
	}
	return c.buildFilter(p)
}

// buildFilter joins bbox, datetime, name=value, q and filter with AND.
func (c filtering) buildFilter(asked *ItemsParams) error {
	and, faults := c.plainFilters(asked)
	if asked.Terms != nil {
		s := cql2.Search{Props: c.Collection.SearchNames(), Terms: asked.Terms}
		and = append(and, s)
		if _, sorted := c.Values["sortby"]; !sorted {
			asked.Query.Rank, asked.Query.SortBy = &s, nil
		}
	}
	if asked.hasFilter {
		e, err := c.parseFilter(asked)
		if err != nil && problem.Of(err).Kind != problem.Invalid {
			return err
		}
		if err != nil {
			bad := problem.Of(err).Faults
			for i := range bad {
				if c.Route.readsFilter(c.Request) {
					bad[i].In = "body"
				}
			}
			faults = append(faults, bad...)
		} else {
			and = append(and, e)
		}
	}
	if faults != nil {
		return &problem.Error{Kind: problem.Invalid, Faults: faults}
	}
	if len(and) == 0 {
		return nil
	}
	var all cql2.Expr = and
	if len(and) == 1 {
		if all = and[0]; asked.hasFilter { // it has been checked
			asked.Query.Filter = all
			return nil
		}
	}
	e, err := cql2.Check(all, c.Collection)
	asked.Query.Filter = e
	return err
}

// plainFilters returns the conditions of bbox, datetime and name=value, and their faults.
func (c filtering) plainFilters(asked *ItemsParams) (and cql2.And, faults []problem.Fault) {
	if asked.HasBBox {
		b, err := cql2.ParseBBox(asked.Bbox, asked.BboxCRS)
		if err != nil {
			faults = append(faults, problem.Of(err).Faults...)
		} else if g := c.Collection.Geometry; g != nil {
			b.Prop = g.Name
			and = append(and, b.Placed(g.CRS))
		}
	}
	if selected := c.selectVersions(asked); asked.hasTime && !selected {
		if e, ok := c.Collection.IsDuring(asked.from, asked.to); ok {
			and = append(and, e)
		}
	}
	add := func(e cql2.Expr, err error) {
		if err != nil {
			faults = append(faults, problem.Of(err).Faults...)
			return
		}
		and = append(and, e)
	}
	for i := range c.Conditions {
		add(c.condition(&c.Conditions[i]))
	}
	return and, faults
}

// condition returns the condition of a parameter. For events, kind=split also finds events of another kind that
// include a split.
func (c filtering) condition(x *queryable.Condition) (cql2.Expr, error) {
	e, err := x.Expr(c.Zone())
	if err != nil || c.Collection.ID != history.EventsID || x.Name() != "kind" {
		return e, err
	}
	for i := range c.Collection.Properties {
		if q := &c.Collection.Properties[i]; q.Name == "kinds" && queryable.Elements(q) {
			return queryable.Equals(q, x.Value, c.Zone())
		}
	}
	return e, nil
}

// parseFilter parses filter, after filter-lang and filter-crs.
func (c filtering) parseFilter(p *ItemsParams) (cql2.Expr, error) {
	as := cql2.Reading{CRS: p.filterCRS, Zone: c.Zone()}
	var e cql2.Expr
	var err error
	if p.filterJSON {
		e, err = as.JSON([]byte(p.filter))
	} else {
		e, err = as.Text(p.filter)
	}
	if err != nil {
		return nil, err
	}
	if e, err = cql2.Check(e, SchemaOf(c.Collection, c.Zone())); err != nil {
		return nil, cql2.Locate(err, p.filter)
	}
	return e, nil
}

// public is the schema for filters of clients: it lacks hidden properties.
type public struct {
	*store.Collection
	zone *time.Location
}

// SchemaOf returns the schema of a collection for filters of clients, with times in a zone.
func SchemaOf(coll *store.Collection, zone *time.Location) cql2.Schema { return public{coll, zone} }

// Zone returns the time zone of the service.
func (p public) Zone() *time.Location { return p.zone }

// Zone returns the time zone of the service: the configured one, Europe/Oslo for data with a place-name register, or
// UTC.
func (c *Call) Zone() *time.Location { return c.s.ZoneOf(c.Catalog) }

func (s *Kit) ZoneOf(cat *store.Catalog) *time.Location {
	switch {
	case s.zone != nil:
		return s.zone
	case HasRegister(cat):
		return s.Oslo
	}
	return time.UTC
}

func (p public) Property(name string) (cql2.Type, bool) {
	if x, ok := p.Find(name); ok && x.Hidden {
		return 0, false
	}
	return p.Collection.Property(name)
}
