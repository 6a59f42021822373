package register

import (
	"slices"
	"strings"
)

// frontPlace is a place with an official name. These places come before the generated ones.
type frontPlace struct {
	types   string
	kommune int // index; for a county, that of its largest municipality
	fylke   int // index; -1 unless the place is a county
}

// frontPlaces returns the counties, the municipalities, and for each municipality a town or village with its name.
func frontPlaces(c *country) []frontPlace {
	var out []frontPlace
	for i := range c.fylker {
		out = append(out, frontPlace{"fylke", c.fylker[i].seat, i})
	}
	for i := range c.kommuner {
		out = append(out, frontPlace{"kommune", i, -1})
	}
	for i := range c.kommuner {
		types := "tettsted"
		if slices.Contains(towns, norwegian(c.kommuner[i].names)) {
			types = "by"
		}
		out = append(out, frontPlace{types, i, -1})
	}
	return out
}

// norwegian returns the Norwegian part of an official name, or the first part if there is none.
func norwegian(names []officialName) string {
	for _, n := range names {
		if n.spraak == "nor" {
			return n.text
		}
	}
	return names[0].text
}

// towns are the municipalities that have the name of a town.
var towns = strings.Split(
	"Oslo,Bergen,Trondheim,Stavanger,Drammen,Fredrikstad,Kristiansand,Sandnes,Tromsø,Sarpsborg,Skien,Ålesund,"+
		"Sandefjord,"+
		"Haugesund,Tønsberg,Moss,Bodø,Arendal,Hamar,Larvik,Halden,Lillehammer,Harstad,Molde,Kongsberg,Gjøvik,Horten,"+
		"Alta,Narvik,Kristiansund,"+
		"Steinkjer,Namsos,Levanger,Hammerfest,Vadsø,Vardø,Grimstad,Risør,Tvedestrand,Lillesand,Flekkefjord,Farsund,"+
		"Porsgrunn,Notodden,"+
		"Kongsvinger,Elverum,Florø,Holmestrand,Ringerike,Stjørdal,Verdal,Sortland,Brønnøy,Rana,Fauske,Røros",
	",",
)

// formerName is a former name of a town, or its name in another language, with other spellings.
type formerName struct {
	text, spraak, status string
	other                []string
}

var formerNames = map[string][]formerName{
	"Oslo":       {{"Kristiania", "nor", "historisk", []string{"Christiania"}}},
	"Trondheim":  {{"Nidaros", "nor", "historisk", nil}, {"Drontheim", "deu", "undernavn", nil}},
	"Bergen":     {{"Bjørgvin", "nor", "historisk", nil}},
	"Halden":     {{"Fredrikshald", "nor", "historisk", []string{"Frederikshald"}}},
	"Hammerfest": {{"Hammerfesti", "fin", "undernavn", nil}},
}

// frontChain is the first chain number of official places. It is larger than those of all generated places.
const frontChain = 1 << 40

// official returns official place k. Its spellings are the official names.
func (g *generator) official(k int) *place {
	f := g.front[k]
	p := &place{
		chain:       newChain(g.seed, frontChain+uint64(k)),
		stedsnummer: int64(permute(g.seed, MaxPlaces-1-uint64(k))),
		types:       f.types,
	}
	kommune := &g.country.kommuner[f.kommune]
	p.kind, p.kommuner, p.fylkesnr, p.priority = kindGard, []int{f.kommune}, kommune.FylkeNr, kommune.priority
	src := p.chain.part(drawSted)
	g.describe(p, &src)
	p.land, p.status, p.sluttdato, p.shape, p.general = "NO", "aktiv", "", shapePoint, true

	names := kommune.names
	times := p.chain.part(drawCase)
	switch f.types {
	case "fylke":
		names, p.priority = g.country.fylker[f.fylke].names, g.country.fylker[f.fylke].priority
		p.letter, p.number, p.authority, p.state = 'N', 99, "Kongen_i_statsråd", "navnBestemtAvNavnemyndighet"
	case "kommune":
		p.letter, p.number, p.authority, p.state = 'N', 80, "kommune", "iverksattVedtak"
		p.schedule(&times)
	default:
		p.letter, p.number, p.authority, p.state = 'M', 50, "kommune", "samlevedtak"
		if f.types == "by" {
			p.number = 90
		}
		p.samling = townDecision(kommune.fylke)
	}
	for _, n := range names {
		p.names = append(p.names,
			Name{Language: n.spraak, Status: "hovednavn", state: p.state,
				Spellings: []Spelling{fixed(n.text, n.spraak)}})
	}
	if f.types == "by" {
		for _, former := range formerNames[norwegian(names)] {
			p.names = append(p.names, former.name(p.state))
		}
	}
	g.drawStatuses(p)
	return p
}

// fixed returns the spelling of an official name.
func fixed(text, spraak string) Spelling {
	s := Spelling{Core: text, kasus: "nevneform", Preferred: true}
	if spraak != "nor" {
		s.kasus = "nominativ"
	}
	return s
}

func (f formerName) name(state string) Name {
	n := Name{
		Language:  f.spraak,
		Status:    f.status,
		state:     state,
		origin:    f.spraak,
		Spellings: []Spelling{fixed(f.text, f.spraak)},
	}
	if f.spraak != "nor" {
		n.exonym, n.state = true, "skalIkkeBehandlesEtterLoven"
	}
	for _, s := range f.other {
		n.Spellings = append(n.Spellings, Spelling{Core: s, kasus: "nevneform"})
	}
	return n
}
