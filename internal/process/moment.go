package process

import (
	"slices"
	"time"

	"grense/api/ogcapi"
	"grense/internal/cql2"
	"grense/internal/problem"
	"grense/internal/store"
)

// datetimeInput describes the input datetime. It returns nothing if no public collection has versions.
func datetimeInput(cat *store.Catalog, lang string) ogcapi.ProcessInputs {
	if !slices.ContainsFunc(cat.Collections, func(c *store.Collection) bool { return c.Public && c.Versions != nil }) {
		return nil
	}
	return ogcapi.ProcessInputs{{ID: "datetime", Schema: map[string]any{"type": "string", "minLength": 1}, MaxOccurs: 1,
		Title: localized(lang, "Dag eller tidspunkt som versjonene gjaldt; nå uten",
			"Dag eller tidspunkt som versjonane galdt; no utan",
			"Day or moment at which versions were valid; now without")}}
}

// moment returns the time for which versions are selected: that of the input datetime (of a day, its beginning),
// otherwise the current time. It fails if datetime is given and none of the collections has versions.
func (env *Env) moment(in Inputs, of ...*store.Collection) (time.Time, error) {
	text := in.Text("datetime")
	if text == "" {
		return env.Now, nil
	}
	at, ok := cql2.ParseInstant(text, env.Now.Location())
	switch {
	case !ok:
		return time.Time{}, Fault(text, problem.Sayf("use a day as 2024-01-31 or a moment as 2024-01-31T12:00:00Z"),
			"datetime")
	case !slices.ContainsFunc(of, func(c *store.Collection) bool { return c.Versions != nil }):
		return time.Time{}, Fault(text, problem.Sayf("leave it out: features of these collections have no versions"),
			"datetime")
	}
	return store.Asked(at), nil
}
