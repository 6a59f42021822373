package server

import (
	"net/url"
	"slices"
	"strings"

	"grense/internal/apikey"
	"grense/internal/problem"
	"grense/internal/server/media"
	"grense/internal/server/queryable"
	"grense/internal/store"
)

// parseQuery parses the query by the parameters of the route. Its error reports all unknown, repeated and invalid
// parameters at once (OGC 17-069r4, 7.8 and 7.9).
func (c *Call) parseQuery(rt *Route) error {
	values, err := url.ParseQuery(c.Request.URL.RawQuery)
	var faults []problem.Fault
	var whole error // an error without faults
	add := func(err error) {
		if err == nil {
			return
		}
		if p := problem.Of(err); len(p.Faults) > 0 {
			faults = append(faults, p.Faults...)
		} else if whole == nil {
			whole = err
		}
	}
	if err != nil {
		add(problem.Invalidf("?", c.s.withoutKey(c.Request.URL.RawQuery), "write the query as name=value pairs joined "+
			"by &, with %% escapes for other characters"))
	}
	c.Values = values
	if rt.ReadsFilter(c.Request) {
		faults = append(faults, takeFilter(values, c.body)...)
	}
	switch l, ok := media.LanguageOf(values.Get("lang")); { // equal requests must have equal cache keys
	case !ok: // other texts mean the default
		delete(values, "lang")
	case len(values["lang"]) == 1: // nb-NO, NB and nb-x are nb
		values.Set("lang", l)
	}
	names := queryNames{rt: rt, coll: c.Collection, values: values, holdsKey: c.s.isKeyParameter}
	for name, v := range values {
		add(names.check(name, v))
	}
	if rt.Lenient && len(rt.Formats) == 1 {
		delete(values, "f")
	}
	if c.Conditions = nil; names.fields {
		c.Conditions = queryable.Conditions(c.Collection, values, names.endings)
	}
	c.Order = rt.order(values, c.Conditions)
	for _, p := range rt.ParamsOf(c.Collection) {
		if v, ok := values[p.Name]; ok && p.Parse != nil {
			add(p.Parse(c, c.Params, v))
		}
	}
	if p, ok := c.Params.(Completer); ok {
		add(p.Complete(c))
	}
	if len(faults) > 0 {
		problem.SortFaults(faults)
		return &problem.Error{Kind: problem.Invalid, Faults: faults}
	}
	return whole
}

// queryNames checks the names in a query.
type queryNames struct {
	rt      *Route
	coll    *store.Collection
	values  url.Values
	fields  bool // a parameter filters by a property
	endings bool // and has an ending

	holdsKey func(name string) bool // reports whether clients may send a key in a parameter, on some route
}

// check returns the faults of a parameter other than a wrong value. It deletes empty fields of forms.
func (q *queryNames) check(name string, v []string) error {
	rt := q.rt
	p := rt.ParamNamed(q.coll, name)
	form := rt.Fields && strings.EqualFold(q.values.Get("f"), media.HTML.F)
	field := rt.Fields && queryable.Field(q.coll, name) != nil
	if p == nil && rt.Fields && !field {
		x, _ := queryable.Forgiving(q.coll, name)
		field = x != nil
		q.endings = q.endings || field
	}
	q.fields, field = q.fields || field, field && p == nil
	switch {
	case strings.EqualFold(name, rt.KeyParam):
	case holdsKey(name) || slices.ContainsFunc(v, holdsKey):
		return problem.Invalidf(name, v[0], "never write a key into an address; send it in the header X-API-Key, and "+
			"revoke this one")
	case form && len(v) == 1 && v[0] == "" && (p != nil || field):
		delete(q.values, name)
	case field:
		if len(v) > 1 {
			return problem.Invalidf(name, v[1], "give the property once")
		}
	case rt.Lenient:
	case p == nil:
		if q.holdsKey(name) {
			v = []string{hiddenKey}
		}
		return problem.Invalidf(name, v[0], "there is no such parameter here; %s", rt.ParameterNames(q.coll))
	case len(v) > 1 && !p.Repeat:
		return problem.Invalidf(name, v[1], "give the parameter once")
	}
	return nil
}

// order returns the names of the parameters that links repeat, in their order.
func (rt *Route) order(values url.Values, conditions []queryable.Condition) []string {
	if len(values) == 0 {
		return nil
	}
	names := make([]string, 0, len(values))
	add := func(name string) {
		if len(values[name]) > 0 {
			names = append(names, name)
		}
	}
	add("f")
	add("lang")
	for i := 0; i < len(rt.Params) && len(names) < len(values); i++ {
		add(rt.Params[i].Name)
	}
	for i := range conditions {
		if x := &conditions[i]; x.Ending == "" || x.Value != "" {
			add(x.Name())
		}
	}
	return names
}

// ParamsOf returns the parameters of the route for a collection.
func (rt *Route) ParamsOf(coll *store.Collection) []*Param {
	if !slices.ContainsFunc(rt.Params, func(p *Param) bool { return p.Only != nil }) {
		return rt.Params
	}
	return slices.DeleteFunc(slices.Clone(rt.Params), func(p *Param) bool {
		return p.Only != nil && !p.Only(coll)
	})
}

// ParamNamed returns the parameter of the route for a collection with a name; nil if there is none.
func (rt *Route) ParamNamed(coll *store.Collection, name string) *Param {
	for _, p := range [...]*Param{ParamF, ParamLang} {
		if p.Name == name {
			return p
		}
	}
	for _, p := range rt.ParamsOf(coll) {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// holdsKey reports whether a text contains an API key.
func holdsKey(s string) bool { return apikey.Redact(s) != s }

// ParameterNames returns the cure for an unknown parameter: the parameters of the route for a collection.
func (rt *Route) ParameterNames(coll *store.Collection) problem.Saying {
	names := []string{"f", "lang"}
	for _, p := range rt.ParamsOf(coll) {
		if !p.Untold {
			names = append(names, p.Name)
		}
	}
	if rt.Fields {
		for p := range coll.Queryables() {
			if queryable.Field(coll, p.Name) != nil {
				names = append(names, p.Name)
			}
		}
		return problem.Sayf("use %s; with .like at its end the name of a text asks for words in it, with .from and "+
			".to that of a number, a day or a moment bounds it", strings.Join(names, ", "))
	}
	return problem.Sayf("use %s", strings.Join(names, ", "))
}
