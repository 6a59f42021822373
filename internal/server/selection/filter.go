package selection

import (
	"slices"

	"grense/internal/cql2"
	"grense/internal/history"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/queryable"
	"grense/internal/store"
)

// filtering builds the filter of a call from its parameters.
type filtering struct{ *server.Call }

// Complete completes the query from all parsed parameters.
func (p *Params) Complete(c *server.Call) error {
	if p.Norwegian {
		p.Query.SortBy = slices.Clone(p.Query.SortBy) // the slice may belong to the catalog
		for i := range p.Query.SortBy {
			p.Query.SortBy[i].Norwegian = true
		}
	}
	return filtering{c}.buildFilter(p)
}

// buildFilter joins bbox, datetime, name=value, q and filter with AND.
func (c filtering) buildFilter(asked *Params) error {
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
				if c.Route.ReadsFilter(c.Request) {
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
func (c filtering) plainFilters(asked *Params) (and cql2.And, faults []problem.Fault) {
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
func (c filtering) parseFilter(p *Params) (cql2.Expr, error) {
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
	if e, err = cql2.Check(e, queryable.Schema(c.Collection, c.Zone())); err != nil {
		return nil, cql2.Locate(err, p.filter)
	}
	return e, nil
}

// selectVersions sets the version to query: the current one without datetime, or the one at a time or the beginning of
// a date. For an interval it returns false, since all versions in it are features; so too for collections without
// versions, where datetime is a condition.
func (c filtering) selectVersions(p *Params) (selected bool) {
	if server.IsPlain(c.Collection) {
		return false
	}
	switch {
	case !p.hasTime:
		p.Query.AsOf = c.Now()
	case p.interval:
		p.VersionIDs = p.versions != profileVersions
		p.told = profileVersions
		if p.VersionIDs {
			p.told = profileUnique
		}
		return false
	default:
		p.Query.AsOf = store.Asked(p.from.In(c.Zone()))
		c.Began = p.Query.AsOf // other parts of a page are of that time, too
	}
	p.VersionIDs, p.told = p.versions == profileUnique, p.versions
	return true
}
