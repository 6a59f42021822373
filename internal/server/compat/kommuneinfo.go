package compat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/feature"
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/store"
)

// kommuneinfo returns the service of municipalities and counties.
func kommuneinfo() *service {
	sorted, system := paramSort("sorter"), paramSystem
	return &service{name: "kommuneinfo", path: kommuneinfoPath, title: "Kommuneinfo", try: []string{
		"/kommuner/0301", "/fylkerkommuner?filtrer=fylkesnavn,kommuner.kommunenavn", "/sok?knavn=b%C3%A6r*"},
		endpoints: []endpoint{
			{path: "/fylker", summary: "Fylker i Norge", list: true, schema: "Fylke",
				parameters: []parameter{sorted, paramFilter, paramDay}, get: (*call).listFylker},
			{path: "/fylker/{fylkesnummer}", summary: "Et fylke og kommunene i det", schema: "FylkeMedKommuner",
				parameters: []parameter{paramFylke, system, paramFilter, paramDay}, get: (*call).oneFylke},
			{path: "/fylker/{fylkesnummer}/omrade", summary: "Området til et fylke", schema: "FylkeOmrade",
				parameters: []parameter{paramFylke, system, paramFilter, paramDay}, get: (*call).areaOfFylke},
			{path: "/fylkerkommuner", alias: "/fylkerKommuner", summary: "Alle fylker og kommuner", list: true,
				schema: "FylkeMedHeleKommuner",
				parameters: []parameter{paramSort("sorterfylker"), paramSort("sorterkommuner"), system, paramFilter,
					paramDay},
				get: (*call).everything},
			{path: "/kommuner", summary: "Kommuner i Norge", list: true, schema: "Kommune",
				parameters: []parameter{sorted, paramFilter, paramDay}, get: (*call).listKommuner},
			{path: "/kommuner/{kommunenummer}", summary: "En kommune", schema: "HelKommune",
				parameters: []parameter{paramKommune, system, paramFilter, paramDay}, get: (*call).oneKommune},
			{path: "/kommuner/{kommunenummer}/omrade", summary: "Området til en kommune", schema: "KommuneOmrade",
				parameters: []parameter{paramKommune, system, paramFilter, paramDay}, get: (*call).areaOfKommune},
			{path: "/punkt", summary: "Kommunen og fylket som et punkt ligger i", schema: "KommuneOgFylke",
				parameters: []parameter{paramNorth, paramEast, paramPointSystem, paramFilter, paramDay},
				get:        (*call).kommuneAt},
			{path: "/sok", summary: "Søk etter kommuner", schema: "Kommunetreff",
				parameters: []parameter{paramName, system, sorted, paramFilter, paramDay}, get: (*call).searchKommuner},
		}}
}

// crsMember returns the member crs of geometries, as in GeoJSON before RFC 7946.
func crsMember(system crs.ID) object {
	return object{{"properties", object{{"name", system.String()}}}, {"type", "name"}}
}

func geometry(kind string, coordinates json.RawMessage, system crs.ID) any {
	if coordinates == nil {
		return nil
	}
	return object{{"coordinates", coordinates}, {"crs", crsMember(system)}, {"type", kind}}
}

// JSON documents of a division.

func (d *division) fylke() object { return object{{"fylkesnavn", d.name}, {"fylkesnummer", d.number}} }

func (d *division) kommune() object {
	return object{{"kommunenavn", d.name}, {"kommunenavnNorsk", d.norwegian}, {"kommunenummer", d.number}}
}

// ofCounty returns name and number of the county of a municipality; nil if unknown.
func (d *division) ofCounty() (name, number any) {
	if d.county == nil {
		return nil, nil
	}
	return d.county.name, d.county.number
}

// whole returns a municipality with all members except its area. Box and point are null if the data have no borders for
// the day.
func (d *division) whole(system crs.ID) object {
	var names []object
	for i := range max(3, len(d.names)) { // clients expect at least three
		n := object{{"navn", nil}, {"prioritet", i + 1}, {"sprak", nil}}
		if i < len(d.names) {
			n[0].value, n[2].value = d.names[i].text, d.names[i].language
		}
		names = append(names, n)
	}
	county, number := d.ofCounty()
	return object{{"avgrensningsboks", geometry("Polygon", d.box, system)}, {"fylkesnavn", county},
		{"fylkesnummer", number}, {"gyldigeNavn", names}, {"kommunenavn", d.name}, {"kommunenavnNorsk", d.norwegian},
		{"kommunenummer", d.number}, {"punktIOmrade", geometry("Point", d.point, system)},
		{"samiskForvaltningsomrade", d.sami}}
}

// requested parses utkoordsys and datetime and returns the divisions. boxes adds their boxes and points.
func (c *call) requested(boxes bool) (t *table, system crs.ID, day time.Time, err error) {
	if day, err = c.day(); err != nil {
		return nil, 0, day, err
	}
	if system, err = c.system("utkoordsys"); err != nil {
		return nil, 0, day, err
	}
	with := crs.ID(0)
	if boxes {
		with = system
	}
	t, err = c.table(with, day)
	return t, system, day, err
}

// sorted sorts documents by the member that a parameter names, in Norwegian alphabetical order.
func (c *call) sorted(parameter string, list []object) ([]object, error) {
	by := c.Values.Get(parameter)
	if by == "" || len(list) == 0 {
		return list, nil
	}
	i := slices.IndexFunc(list[0], func(m member) bool { return m.name == by })
	if i >= 0 {
		_, ok := list[0][i].value.(string)
		if !ok {
			i = -1
		}
	}
	if i < 0 {
		return nil, refuse(fmt.Sprintf(wrongSort, by), parameter, by, "name one member of the answer that is a text")
	}
	key := func(o object) string { s, _ := o[i].value.(string); return cql2.NorwegianKey(s) }
	slices.SortStableFunc(list, func(a, b object) int { return strings.Compare(key(a), key(b)) })
	return list, nil
}

func (c *call) listFylker() (any, error) {
	t, _, _, err := c.requested(false)
	if err != nil {
		return nil, err
	}
	out := []object{}
	for _, d := range t.fylker {
		out = append(out, d.fylke())
	}
	return c.sorted("sorter", out)
}

func (c *call) listKommuner() (any, error) {
	t, _, _, err := c.requested(false)
	if err != nil {
		return nil, err
	}
	out := []object{}
	for _, d := range t.kommuner {
		out = append(out, d.kommune())
	}
	return c.sorted("sorter", out)
}

// one returns the division with the number in a path variable.
func (c *call) one(list []*division, variable string) (*division, error) {
	number := c.PathParam(variable)
	if strings.Trim(number, "0123456789") != "" {
		return nil, &problem.Error{Kind: problem.Invalid, Detail: wrongParameters, Faults: []problem.Fault{
			{In: "path", Param: variable, Value: number, Cure: "give a number, such as 0301 or 03"}}}
	}
	if d := find(list, number); d != nil {
		return d, nil
	}
	return nil, problem.NotFoundf(nothingFound)
}

func (c *call) oneFylke() (any, error) {
	t, system, _, err := c.requested(true)
	if err != nil {
		return nil, err
	}
	d, err := c.one(t.fylker, "fylkesnummer")
	if err != nil {
		return nil, err
	}
	in := []object{}
	for _, k := range t.kommuner {
		if k.county == d {
			in = append(in, object{{"kommunenavn", k.name}, {"kommunenummer", k.number}})
		}
	}
	return object{{"avgrensningsboks", geometry("Polygon", d.box, system)}, {"fylkesnavn", d.name},
		{"fylkesnummer", d.number}, {"kommuner", in}}, nil
}

func (c *call) everything() (any, error) {
	t, system, _, err := c.requested(c.boxes("avgrensningsboks", "kommuner.avgrensningsboks", "kommuner.punktIOmrade"))
	if err != nil {
		return nil, err
	}
	of := map[*division][]object{}
	for _, k := range t.kommuner {
		of[k.county] = append(of[k.county], k.whole(system))
	}
	out := []object{}
	for _, d := range t.fylker {
		in, err := c.sorted("sorterkommuner", of[d])
		if err != nil {
			return nil, err
		}
		out = append(out, object{{"avgrensningsboks", geometry("Polygon", d.box, system)}, {"fylkesnavn", d.name},
			{"fylkesnummer", d.number}, {"kommuner", append([]object{}, in...)}})
	}
	return c.sorted("sorterfylker", out)
}

// boxes reports whether filtrer selects any of these members.
func (c *call) boxes(names ...string) bool {
	keep := parseSelection(c.Values.Get("filtrer"))
	return keep == nil || slices.ContainsFunc(names, func(path string) bool {
		at, ok := keep, true
		for name := range strings.SplitSeq(path, ".") {
			if at, ok = at[name]; !ok || at == nil {
				return ok
			}
		}
		return true
	})
}

func (c *call) oneKommune() (any, error) {
	t, system, _, err := c.requested(c.boxes("avgrensningsboks", "punktIOmrade"))
	if err != nil {
		return nil, err
	}
	d, err := c.one(t.kommuner, "kommunenummer")
	if err != nil {
		return nil, err
	}
	return d.whole(system), nil
}

func (c *call) areaOfFylke() (any, error) {
	t, system, day, err := c.requested(false)
	if err != nil {
		return nil, err
	}
	d, err := c.one(t.fylker, "fylkesnummer")
	if err != nil {
		return nil, err
	}
	r, err := c.roles()
	if err != nil {
		return nil, err
	}
	area, err := c.area(r.fylker.coll, d, system, day)
	return append(d.fylke(), member{"omrade", area}), err
}

func (c *call) areaOfKommune() (any, error) {
	t, system, day, err := c.requested(false)
	if err != nil {
		return nil, err
	}
	d, err := c.one(t.kommuner, "kommunenummer")
	if err != nil {
		return nil, err
	}
	r, err := c.roles()
	if err != nil {
		return nil, err
	}
	area, err := c.area(r.kommuner.coll, d, system, day)
	return object{{"kommunenavn", d.name}, {"kommunenummer", d.number}, {"omrade", area}}, err
}

// area returns the area of a division as a MultiPolygon.
func (c *call) area(coll *store.Collection, d *division, system crs.ID, day time.Time) (any, error) {
	if coll == nil || len(d.rows) == 0 {
		if day.IsZero() {
			return nil, problem.NotFoundf("the data served here have no area of %s %s", d.number, d.name)
		}
		return nil, problem.NotFoundf("the data served here have no borders of %s as of %s; leave datetime out",
			d.name, day.Format(time.DateOnly))
	}
	w, err := feature.NewGeometry(coll.Geometry.CRS, system)
	if err != nil {
		return nil, refuse(unknownSystem, "utkoordsys", system.String(), "use 4258, 4326, 3857, 25832, 25833 or 25835")
	}
	w = w.XFirst()
	var parts []byte
	err = c.Ask(func(ctx context.Context) error {
		parts = parts[:0]
		return c.s.Store.Fetch(ctx, coll.ID, d.rows, store.Want{Properties: []string{}}, func(f *store.Feature) error {
			b, err := w.AppendGeoJSON(nil, f.Geometry.WKB)
			if err != nil {
				return refuse(unknownSystem, "utkoordsys", system.String(),
					"the area has positions outside of that system; use 4258 or 25833")
			}
			var g struct {
				Type        string
				Coordinates json.RawMessage
			}
			if err := json.Unmarshal(b, &g); err != nil {
				return err
			}
			switch g.Type {
			case "Polygon":
				parts = append(append(parts, ','), g.Coordinates...)
			case "MultiPolygon":
				parts = append(append(parts, ','), g.Coordinates[1:len(g.Coordinates)-1]...)
			}
			return nil
		})
	})
	if err != nil || len(parts) == 0 {
		return nil, cmp.Or(err, problem.NotFoundf("the data served here have no area of %s %s", d.number, d.name))
	}
	parts[0] = '['
	return geometry("MultiPolygon", append(parts, ']'), system), nil
}

func (c *call) kommuneAt() (any, error) {
	p, err := c.point()
	if err != nil {
		return nil, err
	}
	day, err := c.day()
	if err != nil {
		return nil, err
	}
	d, err := c.at(p, day)
	if err != nil {
		return nil, err
	}
	if d == nil {
		return nil, problem.NotFoundf(nothingFound)
	}
	county, number := d.ofCounty()
	return object{{"fylkesnavn", county}, {"fylkesnummer", number}, {"kommunenavn", d.name},
		{"kommunenummer", d.number}}, nil
}

// searchKommuner returns the municipalities with a name that matches knavn.
func (c *call) searchKommuner() (any, error) {
	name := c.Values.Get("knavn")
	plain := strings.ToLower(strings.ReplaceAll(name, "*", ""))
	switch {
	case len([]rune(plain)) < 2:
		return nil, refuse(tooShort, "knavn", name, "give at least two letters besides *")
	case strings.ContainsAny(plain, `"';/\=`):
		return nil, refuse(wrongSigns, "knavn", name, `leave out " ' ; / \ and =`)
	}
	t, system, _, err := c.requested(true)
	if err != nil {
		return nil, err
	}
	fits := func(s string) bool {
		s = strings.ToLower(s)
		switch before, after := strings.HasPrefix(name, "*"), strings.HasSuffix(name, "*"); {
		case before && after:
			return strings.Contains(s, plain)
		case before:
			return strings.HasSuffix(s, plain)
		case after:
			return strings.HasPrefix(s, plain)
		}
		return s == plain
	}
	found := []object{}
	for _, d := range t.kommuner {
		if fits(d.name) || slices.ContainsFunc(d.names, func(n officialName) bool { return fits(n.text) }) {
			found = append(found, d.whole(system))
		}
	}
	if len(found) == 0 {
		return nil, problem.NotFoundf(nothingFound)
	}
	if found, err = c.sorted("sorter", found); err != nil {
		return nil, err
	}
	return object{{"antallTreff", len(found)}, {"kommuner", found}}, nil
}
