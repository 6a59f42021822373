package register

import (
	"slices"
	"time"
)

// givenPlace is a place for which documented examples search. A register has it whatever the seed.
type givenPlace struct {
	name, types, kommune string
	state                string    // navnesakstatus of its name
	updated              time.Time // zero for a random time
	book                 bool      // the book about the local history of its municipality documents the name
}

// givenPlaces have lower numbers than the generated places.
var givenPlaces = []givenPlace{
	{
		name:    "Stadbrua",
		types:   "bru",
		kommune: "4649",
		state:   "ubehandlet",
		updated: time.Date(2024, 6, 1, 12, 0, 0, 0, time.UTC),
	},
	{name: "Å", types: "grend", kommune: "1874", state: "iverksattVedtak"},
	{name: "Breivik", types: "vik", kommune: "4601", state: "ubehandlet"},
	{name: "Bru", types: "gard", kommune: "0301", state: "navnesakReist", book: true},
}

// given completes p, which has a number and sources, to the given place x. Its name is Norwegian and has one spelling.
func (g *generator) given(p *place, x *givenPlace, src source) *place {
	p.types, p.book = x.types, x.book
	g.locate(p, slices.IndexFunc(g.country.kommuner, func(k kommune) bool { return k.Nr == x.kommune }))
	p.kommuner = p.kommuner[:1]
	g.describe(p, &src)
	p.land, p.status, p.sluttdato, p.state = "NO", "aktiv", "", x.state
	if !x.updated.IsZero() {
		p.registered, p.updated = x.updated.AddDate(-8, 0, 0), x.updated
	}
	raised := p.chain.part(drawCase)
	p.schedule(&raised)
	p.names = []Name{
		{
			Language:  "nor",
			Status:    "hovednavn",
			state:     p.state,
			Spellings: []Spelling{{Core: x.name, kasus: "nevneform", Preferred: true}},
		},
	}
	g.drawStatuses(p)
	return p
}
