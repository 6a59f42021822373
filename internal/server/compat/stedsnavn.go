package compat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	contract "grense/api/placename"
	"grense/internal/cql2"
	"grense/internal/cql2/fold"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/store"
)

const (
	// maxHits bounds the hits of a search. The original service allows 250,000.
	maxHits = 50_000
	// maxRadius is the largest radius, in metres.
	maxRadius = 5000
)

// stedsnavn returns the service of place names.
func stedsnavn() *service {
	search := []parameter{paramWords, paramFuzzy, paramCounties, paramMunicipalities, paramMunicipalityName,
		paramCountyName, paramTypes}
	paged := []parameter{paramSystem, paramSize, paramPage, paramFilter}
	return &service{name: "stedsnavn", path: stedsnavnPath, title: "Stedsnavn",
		try: []string{"/navn?sok=oslo*", "/sted?sok=oslo*&fnr=03",
			"/punkt?nord=59.91&ost=10.75&koordsys=4258&radius=1000"},
		endpoints: []endpoint{
			{path: "/navn", summary: "Søk etter skrivemåter av stedsnavn", schema: "Navnetreff",
				parameters: slices.Concat(search, []parameter{paramLanguage}, paged), get: (*call).searchNames},
			{path: "/sted", summary: "Søk etter steder med navnene deres", schema: "Stedstreff",
				parameters: slices.Concat(search, []parameter{paramPlaceNumber}, paged), get: (*call).searchPlaces},
			{path: "/punkt", summary: "Steder ved et punkt, det nærmeste først", schema: "Punkttreff",
				parameters: append([]parameter{paramNorth, paramEast, paramPointSystem, paramRadius}, paged...),
				get:        (*call).placesAt},
			{path: "/navneobjekttyper", summary: "Alle navneobjekttyper", list: true, schema: "Navneobjekttype",
				get: (*call).types},
			{path: "/sprak", summary: "Alle språk", list: true, schema: "Sprak", get: (*call).languages},
		}}
}

var (
	paramWords = parameter{name: "sok", schema: str, description: "Stedsnavn, med * for hvilke tegn som helst"}
	paramFuzzy = parameter{name: "fuzzy", schema: map[string]any{"type": "boolean", "default": false},
		description: "Finn også navn som ligner"}
	paramCounties         = parameter{name: "fnr", schema: strs, description: "Fylkesnummer, kan gjentas"}
	paramMunicipalities   = parameter{name: "knr", schema: strs, description: "Kommunenummer, kan gjentas"}
	paramMunicipalityName = parameter{name: "kommunenavn", schema: str, description: "Navn på kommunen"}
	paramCountyName       = parameter{name: "fylkesnavn", schema: str, description: "Navn på fylket"}
	paramTypes            = parameter{name: "navneobjekttype", schema: strs,
		description: "Kode for typen sted, kan gjentas; /navneobjekttyper har alle"}
	paramLanguage    = parameter{name: "sprak", schema: str, description: "Kode for språket; /sprak har alle"}
	paramPlaceNumber = parameter{name: "stedsnummer", schema: integer, description: "Nummeret til stedet"}
	paramRadius      = parameter{name: "radius", schema: between(1, maxRadius, 500), description: "Radius i meter"}
	paramSize        = parameter{name: "treffPerSide", schema: between(1, 500, 10), description: "Treff på en side"}
	paramPage        = parameter{name: "side", schema: between(1, 500, 1), description: "Siden, fra 1"}
)

// hitPage selects a page of hits and the system of their coordinates.
type hitPage struct {
	size, number int
	system       crs.ID
}

func (c *call) hitPage() (p hitPage, err error) {
	if !server.HasRegister(c.Catalog) {
		return p, problem.NotFoundf("the data served here hold no place-name register; serve the demo, or a file " +
			"made by grense register")
	}
	if p.size, err = c.number("treffPerSide", 10, 1, 500); err != nil {
		return p, err
	}
	if p.number, err = c.number("side", 1, 1, 500); err != nil {
		return p, err
	}
	p.system, err = c.system("utkoordsys")
	return p, err
}

// from returns the number of hits before the page.
func (p hitPage) from() int { return (p.number - 1) * p.size }

// answer returns the document of a page of hits.
func (c *call) answer(p hitPage, total int, hits []object) object {
	first, last := 0, 0
	if len(hits) > 0 {
		first, last = p.from()+1, p.from()+len(hits)
	}
	return object{{"metadata", object{{"treffPerSide", p.size}, {"side", p.number}, {"totaltAntallTreff", total},
		{"viserFra", first}, {"viserTil", last}, {"sokeStreng", c.Request.URL.RawQuery}}}, {"navn", hits}}
}

// criteria are the conditions that both searches share.
type criteria struct {
	name            *string
	advanced        *bool
	kommuner, types []string
	none            bool // no municipality matches: the result is empty
}

// criteria parses the conditions of a search.
func (c *call) criteria() (q criteria, err error) {
	words, wide := strings.TrimSpace(c.Values.Get("sok")), false
	if strings.Contains(words, "*") && strings.Trim(words, "* ") == "" {
		return q, refuse(onlyWildcard, "sok", words, "give at least two letters besides *")
	}
	if words != "" {
		q.name = &words
		if fuzzy, _ := strconv.ParseBool(c.Values.Get("fuzzy")); fuzzy {
			expression, yes := similar(words), true
			q.name, q.advanced = &expression, &yes
		}
	}
	if q.kommuner, wide, err = c.municipalities(); err != nil {
		return q, err
	}
	q.types = nonEmpty(c.Values["navneobjekttype"])
	q.none = !wide && len(q.kommuner) == 0
	if words == "" && wide && len(q.types) == 0 && c.Values.Get("stedsnummer") == "" {
		return q, refuse(wrongParameters, "sok", words, "give a name, such as sok=oslo*")
	}
	return q, nil
}

// similar returns the search expression for names that match words, with their wildcards, or resemble them.
func similar(words string) string {
	plain := strings.Join(strings.Fields(strings.NewReplacer("*", " ", "?", " ", `"`, " ").Replace(words)), " ")
	out := `~"` + plain + `"`
	if wild := strings.NewReplacer(`"`, "", "|", "").Replace(words); strings.ContainsAny(wild, "*?") &&
		!strings.ContainsAny(wild, " \t") && !strings.ContainsAny(wild[:1], "-=~") {
		out = wild + " | " + out
	}
	return out
}

func nonEmpty(list []string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == "" })
}

// municipalities returns the codes that match all of knr, fnr, kommunenavn and fylkesnavn. wide: none of them is given.
func (c *call) municipalities() (out []string, wide bool, err error) {
	knr, fnr := nonEmpty(c.Values["knr"]), nonEmpty(c.Values["fnr"])
	kommune, fylke := c.Values.Get("kommunenavn"), c.Values.Get("fylkesnavn")
	if len(knr) == 0 && len(fnr) == 0 && kommune == "" && fylke == "" {
		return nil, true, nil
	}
	for _, x := range []struct {
		name   string
		list   []string
		length int
	}{{"knr", knr, 4}, {"fnr", fnr, 2}} {
		for _, v := range x.list {
			if len(v) != x.length || strings.Trim(v, "0123456789") != "" {
				return nil, false, refuse(wrongParameters, x.name, v, fmt.Sprintf("give %d digits", x.length))
			}
		}
	}
	kommuner, err := c.CodeNames("kommune")
	if err != nil {
		return nil, false, err
	}
	fylker, err := c.CodeNames("fylke")
	if err != nil {
		return nil, false, err
	}
	fits := func(name string, of store.Text) bool {
		for _, all := range of {
			for _, one := range append(strings.Split(all, " - "), all) {
				if fold.Norm(one) == fold.Norm(name) {
					return true
				}
			}
		}
		return false
	}
	all := kommuner.Codes
	if len(knr) > 0 {
		all = knr
	}
	for _, code := range all {
		county := code[:min(2, len(code))]
		if len(fnr) > 0 && !slices.Contains(fnr, county) || kommune != "" && !fits(kommune, kommuner.Of[code]) ||
			fylke != "" && !fits(fylke, fylker.Of[county]) {
			continue
		}
		out = append(out, code)
	}
	return out, false, nil
}

// search searches the register and returns the number of hits and the ids of those on the page.
func (c *call) search(p hitPage, r contract.Request,
	id func(contract.Hits) []string) (total int, ids []string, err error) {
	err = c.Ask(func(ctx context.Context) error {
		ids = nil
		a, err := c.s.places.Search(ctx, r)
		if err != nil {
			return err
		}
		if total = a.Count; total == 0 {
			return nil
		}
		a.Only(p.from(), p.size)
		for {
			hits, err := a.Next(ctx)
			if err != nil || hits == nil {
				return err
			}
			ids = append(ids, id(hits)...)
		}
	})
	if refusal, ok := errors.AsType[*contract.Refusal](err); ok {
		return 0, nil, c.refused(refusal)
	}
	return total, ids, err
}

// parameterOf maps the last part of a fault's path to the parameter that caused it.
var parameterOf = map[string]string{"stedsnavn": "sok", "navneobjekttyperIds": "navneobjekttype", "kommunerIds": "knr",
	"spraakIds": "sprak"}

// refused converts the refusal of a search to an error of kind problem.Invalid.
func (c *call) refused(r *contract.Refusal) error {
	e := &problem.Error{Kind: problem.Invalid, Detail: wrongParameters}
	for _, f := range r.Faults {
		name := cmp.Or(parameterOf[f.Path[strings.LastIndexByte(f.Path, '/')+1:]], "sok")
		cure := f.Cure(contract.English)
		if f.Reason == contract.TooManyHits {
			e.Detail, cure = manyHits, "narrow it with knr, fnr or navneobjekttype"
		}
		e.Faults = append(e.Faults, problem.Fault{In: "query", Param: name, Value: c.Values.Get(name), Cure: cure})
	}
	return e
}

func (c *call) searchNames() (any, error) {
	p, err := c.hitPage()
	if err != nil {
		return nil, err
	}
	q, err := c.criteria()
	if err != nil || q.none {
		return c.answer(p, 0, []object{}), err
	}
	total, ids, err := c.search(p, &contract.FindSkrivemaater{SkrivemaateSoek: contract.SkrivemaateSoek{
		Stedsnavn: q.name, AvansertSoek: q.advanced, KommunerIds: q.kommuner, NavneobjekttyperIds: q.types,
		SpraakIds: nonEmpty(c.Values["sprak"])}},
		func(h contract.Hits) (ids []string) {
			for _, x := range h.(contract.SkrivemaateTreffList) {
				ids = append(ids, x.SkrivemaateId)
			}
			return ids
		})
	if err != nil {
		return nil, err
	}
	r, err := c.register(p.system)
	if err != nil {
		return nil, err
	}
	var names []spelling
	if err := r.spellings(store.Current(ids...), func(s spelling) { names = append(names, s) }); err != nil {
		return nil, err
	}
	var of []string
	for _, s := range names {
		of = append(of, s.place)
	}
	places, err := r.places(of)
	if err != nil {
		return nil, err
	}
	hits := []object{}
	for _, s := range names {
		at := places[s.place]
		if at == nil {
			continue
		}
		hits = append(hits, append(s.status(), object{{"navneobjekttype", at.kind}, {"stedsnummer", at.number},
			{"stedstatus", at.status}, {"representasjonspunkt", at.point}, {"fylker", at.fylker},
			{"kommuner", at.kommuner}}...))
	}
	return c.answer(p, total, hits), nil
}

func (c *call) searchPlaces() (any, error) {
	p, err := c.hitPage()
	if err != nil {
		return nil, err
	}
	q, err := c.criteria()
	if err != nil || q.none {
		return c.answer(p, 0, []object{}), err
	}
	search := contract.StedSoek{Stedsnavn: q.name, AvansertSoek: q.advanced, KommunerIds: q.kommuner,
		NavneobjekttyperIds: q.types}
	if v := c.Values.Get("stedsnummer"); v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil {
			return nil, refuse(wrongParameters, "stedsnummer", v, "give a whole number")
		}
		search.Stedsnummer = &n
	}
	total, ids, err := c.search(p, &contract.FindSteder{StedSoek: search}, func(h contract.Hits) (ids []string) {
		for _, x := range h.(contract.StedTreffList) {
			ids = append(ids, x.StedId)
		}
		return ids
	})
	if err != nil {
		return nil, err
	}
	places, err := c.placesWithNames(p.system, ids)
	if err != nil {
		return nil, err
	}
	hits := []object{}
	for _, id := range ids {
		if at := places[id]; at != nil {
			hits = append(hits, object{{"stedsnummer", at.number}, {"navneobjekttype", at.kind},
				{"stedstatus", at.status}, {"oppdateringsdato", at.updated}, {"representasjonspunkt", at.point},
				{"stedsnavn", at.names}, {"fylker", at.fylker}, {"kommuner", at.kommuner}})
		}
	}
	return c.answer(p, total, hits), nil
}

// placesAt returns the places around a point, the nearest first.
func (c *call) placesAt() (any, error) {
	p, err := c.hitPage()
	if err != nil {
		return nil, err
	}
	at, err := c.point()
	if err != nil {
		return nil, err
	}
	radius, err := c.number("radius", 500, 1, maxRadius)
	if err != nil {
		return nil, err
	}
	near, err := c.around(at, float64(radius))
	if err != nil {
		return nil, err
	}
	shown := near[min(p.from(), len(near)):]
	shown = shown[:min(p.size, len(shown))]
	var ids []string
	for _, x := range shown {
		ids = append(ids, x.id)
	}
	places, err := c.placesWithNames(p.system, ids)
	if err != nil {
		return nil, err
	}
	hits := []object{}
	for _, x := range shown {
		if at := places[x.id]; at != nil {
			hits = append(hits, object{{"meterFraPunkt", int(math.Round(x.metres))}, {"stedsnummer", at.number},
				{"navneobjekttype", at.kind}, {"stedstatus", at.status}, {"representasjonspunkt", at.point},
				{"stedsnavn", at.names}})
		}
	}
	return c.answer(p, len(near), hits), nil
}

// distant is a place and its distance from a point.
type distant struct {
	id     string
	metres float64
}

// around returns the places within a radius in metres, ordered by distance.
func (c *call) around(at position, radius float64) (near []distant, err error) {
	toDegrees, err := crs.Between(at.system, crs.CRS84)
	if err != nil {
		return nil, err
	}
	var here orb.Point
	here[0], here[1] = toDegrees(at.x, at.y)
	coll, _ := c.Catalog.Collection("sted")
	fromStored, err := crs.Between(coll.Geometry.CRS, crs.CRS84)
	if err != nil {
		return nil, err
	}
	const metres, margin = 111_000, 1.05 // the smallest length of a degree of latitude, and a margin for the box
	high := radius / metres * margin
	wide := high / max(0.01, math.Cos((math.Abs(here[1])+high)*math.Pi/180))
	box := orb.Bound{Min: orb.Point{here[0] - wide, here[1] - high}, Max: orb.Point{here[0] + wide, here[1] + high}}
	filter, err := cql2.Check(cql2.Spatial{Op: cql2.SIntersects, L: cql2.Prop{Name: coll.Geometry.Name},
		R: cql2.Geom{G: box.ToPolygon(), CRS: crs.CRS84}}, coll)
	if err != nil {
		return nil, err
	}
	err = c.Ask(func(ctx context.Context) error {
		near = nil
		q := store.Query{Collection: coll.ID, Filter: filter, Limit: 1000, Count: store.CountNone}
		for {
			page, err := c.s.Store.Page(ctx, q)
			if err != nil {
				return err
			}
			want := store.Want{Properties: []string{}}
			err = c.s.Store.Fetch(ctx, coll.ID, page.Rows, want, func(f *store.Feature) error {
				least := math.Inf(1)
				err := wkb.Walk(f.Geometry.WKB, func(r wkb.Run) bool {
					for i := range r.Len() {
						var p orb.Point
						x, y := r.XY(i)
						p[0], p[1] = fromStored(x, y)
						least = min(least, crs.Distance(here, p))
					}
					return true
				})
				if err == nil && least <= radius {
					near = append(near, distant{f.ID, least})
				}
				return nil
			})
			switch {
			case err != nil:
				return err
			case len(near) > maxHits:
				return refuse(manyHits, "radius", c.Values.Get("radius"), "give a smaller radius")
			case page.Next == "":
				return nil
			}
			q.Cursor = page.Next
		}
	})
	slices.SortStableFunc(near, func(a, b distant) int { return cmp.Compare(a.metres, b.metres) })
	return near, err
}

func (c *call) types() (any, error) {
	return c.codes("navneobjekttype", "navneobjekttype", "navneobjekttypekode")
}

func (c *call) languages() (any, error) { return c.codes("spraak", "språk", "språkkode") }

// codes returns the document of a code list, with the given member names.
func (c *call) codes(list, name, code string) (any, error) {
	names, err := c.CodeNames(list)
	if err != nil {
		return nil, err
	}
	out := []object{}
	for _, x := range names.Codes {
		out = append(out, object{{name, nameOf(names.Of, x)}, {code, x}})
	}
	return out, nil
}
