package server

import (
	"slices"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/history"
	"grense/internal/problem"
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
				if c.filterInBody() {
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
	for p := range c.Collection.Queryables() {
		if v, ok := c.Values[p.Name]; ok && c.Field(p.Name) != nil {
			add(c.equals(p, v[0]))
		}
		if !c.forgives || c.Field(p.Name) == nil {
			continue
		}
		for _, ending := range Endings(p) {
			if v, ok := c.Values[p.Name+ending]; ok && c.Field(p.Name+ending) == nil {
				add(forgivingFilter(p, ending, v[0], c.Zone()))
			}
		}
	}
	return and, faults
}

// equals returns the condition of a property's parameter. For events, kind=split also finds events of another kind that
// include a split.
func (c filtering) equals(p *store.Property, v string) (cql2.Expr, error) {
	e, err := Equals(p, v, c.Zone())
	if err != nil || c.Collection.ID != history.EventsID || p.Name != "kind" {
		return e, err
	}
	for i := range c.Collection.Properties {
		if q := &c.Collection.Properties[i]; q.Name == "kinds" && Elements(q) {
			return Equals(q, v, c.Zone())
		}
	}
	return e, nil
}

// Equals returns the condition property = value for a query parameter (OGC 17-069r4, 7.15.5).
func Equals(p *store.Property, v string, zone *time.Location) (cql2.Expr, error) {
	prop := cql2.Prop{Name: p.Name}
	// the schema of the parameter lists them (OGC 17-069r4, 7.8)
	if p.Type == cql2.TypeText && len(p.Enum) > 0 && !slices.Contains(p.Enum, v) {
		return nil, problem.Invalidf(p.Name, v, "use one of %s", strings.Join(p.Enum, ", "))
	}
	if Elements(p) {
		x, err := element(p, v)
		return cql2.Array{Op: cql2.AContains, L: prop, R: cql2.List{x}}, err
	}
	cmp := func(x cql2.Expr) (cql2.Expr, error) { return cql2.Compare{Op: cql2.Eq, L: prop, R: x}, nil }
	switch p.Type {
	case cql2.TypeInteger:
		n, ok := cql2.ParseNumber(v)
		if !ok || strings.ContainsAny(v, ".eE") {
			return nil, problem.Invalidf(p.Name, v, "use a whole number")
		}
		return cmp(n)
	case cql2.TypeNumber:
		x, ok := cql2.ParseNumber(v)
		if !ok {
			return nil, problem.Invalidf(p.Name, v, "use a number")
		}
		return cmp(x)
	case cql2.TypeBool:
		switch v {
		case "true", "1":
			return cmp(cql2.Bool(true))
		case "false", "0":
			return cmp(cql2.Bool(false))
		}
		return nil, problem.Invalidf(p.Name, v, "use true or false")
	case cql2.TypeDate, cql2.TypeTimestamp:
		from, to, err := cql2.ParseInterval(v, zone)
		if err != nil || from == nil || to == nil || strings.Contains(v, "/") {
			return nil, problem.Invalidf(p.Name, v, "use a day as 2024-01-31 or a moment as 2024-01-31T12:00:00Z")
		}
		if p.Type == cql2.TypeDate {
			return cmp(cql2.Date{T: time.Date(from.Year(), from.Month(), from.Day(), 0, 0, 0, 0, time.UTC)})
		}
		if from.Equal(*to) {
			return cmp(cql2.Timestamp{T: from.UTC()})
		}
		return cql2.Between{X: prop, Lo: cql2.Timestamp{T: from.UTC()}, Hi: cql2.Timestamp{T: to.UTC()}}, nil
	}
	return cmp(cql2.Text(v))
}

// element parses a query parameter as an element that an array must contain.
func element(p *store.Property, v string) (cql2.Expr, error) {
	switch p.Items {
	case "number", "integer":
		x, ok := cql2.ParseNumber(v)
		if !ok {
			return nil, problem.Invalidf(p.Name, v, "use a number; features are taken whose list contains it")
		}
		return x, nil
	case "boolean":
		if v != "true" && v != "false" {
			return nil, problem.Invalidf(p.Name, v, "use true or false; features are taken whose list contains it")
		}
		return cql2.Bool(v == "true"), nil
	}
	return cql2.Text(v), nil
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
	if e, err = cql2.Check(e, c.SchemaOf(c.Collection)); err != nil {
		return nil, cql2.Locate(err, p.filter)
	}
	return e, nil
}

// public is the schema for filters of clients: it lacks hidden properties.
type public struct {
	*store.Collection
	zone *time.Location
}

// SchemaOf returns the schema of a collection for filters of clients.
func (c *Call) SchemaOf(coll *store.Collection) cql2.Schema { return public{coll, c.Zone()} }

// Zone returns the time zone of the service.
func (p public) Zone() *time.Location { return p.zone }

// Zone returns the time zone of the service: the configured one, Europe/Oslo for data with a place-name register, or
// UTC.
func (c *Call) Zone() *time.Location { return c.s.ZoneOf(c.Catalog) }

func (s *Kit) ZoneOf(cat *store.Catalog) *time.Location {
	switch {
	case s.zone != nil:
		return s.zone
	case holdsRegister(cat):
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
