package process

import (
	"context"
	"encoding/json"
	"net/url"

	"grense/api/ogcapi"
	"grense/internal/store"
)

// locatePoint is the process that returns the divisions at a point, as GET /lookup does.
type locatePoint struct{}

func (locatePoint) ID() string { return "locate-point" }

func (locatePoint) Describe(_ *store.Catalog, lang string) ogcapi.Process {
	type m = map[string]any
	in := func(nb, nn, en string) string { return localized(lang, nb, nn, en) }
	number, text := m{"type": "number"}, m{"type": "string", "minLength": 1}
	return ogcapi.Process{
		ProcessSummary: ogcapi.ProcessSummary{
			Version: "1.0.0",
			ID:      "locate-point",
			Title: in("Finn inndelingene i et punkt", "Finn inndelingane i eit punkt",
				"Find the divisions at a point"),
			Keywords: []string{"point", "lookup"},
			Description: in(
				"Alle inndelinger som et punkt ligger i eller på grensen av, den største først; "+
					"utenfor alle den nærmeste, med avstand i meter.",
				"Alle inndelingar som eit punkt ligg i eller på grensa av, den største først; "+
					"utanfor alle den næraste, med avstand i meter.",
				"All divisions that a point lies in or on the border of, the largest first; "+
					"outside of all the nearest, with its distance in metres.",
			),
			JobControlOptions:  []string{Sync, Async, Dismiss},
			OutputTransmission: []string{"value", "reference"},
		},
		Inputs: ogcapi.ProcessInputs{
			{
				ID:        "lon",
				Title:     in("Lengdegrad, eller øst", "Lengdegrad, eller aust", "Longitude, or easting"),
				Schema:    number,
				MinOccurs: 1,
				MaxOccurs: 1,
			},
			{
				ID:        "lat",
				Title:     in("Breddegrad, eller nord", "Breiddegrad, eller nord", "Latitude, or northing"),
				Schema:    number,
				MinOccurs: 1,
				MaxOccurs: 1,
			},
			{
				ID: "crs",
				Title: in("Koordinatsystem for punktet", "Koordinatsystem for punktet",
					"Coordinate reference system of the point"),
				Schema:    m{"type": "string", "format": "uri"},
				MaxOccurs: 1,
			},
			{
				ID: "collections",
				Title: in("Datasett, med komma mellom; alle uten", "Datasett, med komma mellom; alle utan",
					"Collections, separated by commas; all without"),
				Schema:    text,
				MaxOccurs: 1,
			},
			{
				ID: "datetime",
				Title: in("Dag, tidspunkt eller tidsrom", "Dag, tidspunkt eller tidsrom",
					"Day, moment or interval"),
				Schema:    text,
				MaxOccurs: 1,
			}},
		Outputs: ogcapi.ProcessOutputs{
			{
				ID:     "divisions",
				Title:  in("Inndelingene", "Inndelingane", "The divisions"),
				Schema: m{"type": "object", "contentMediaType": "application/geo+json"},
			},
		},
		Example: m{"inputs": m{"lon": 10.75, "lat": 59.91}},
	}
}

// Execute looks up the point.
func (locatePoint) Execute(ctx context.Context, env *Env, in Inputs) (Outputs, error) {
	q := url.Values{}
	for name, v := range in {
		switch x := v.(type) {
		case json.Number:
			q.Set(name, x.String())
		case string:
			q.Set(name, x)
		}
	}
	doc, err := env.Lookup(ctx, q)
	if err != nil {
		return nil, err
	}
	return Outputs{"divisions": {Value: doc, Media: "application/geo+json"}}, nil
}
