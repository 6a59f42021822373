package register

import (
	"fmt"
	"slices"
	"strings"

	"grense/internal/cql2/fold"
	"grense/internal/store"
)

// recorder writes the rows of all tables.
type recorder struct {
	*generator
	*Output
	ranks  []rank
	groups map[samling]*samlegruppe // combined decisions that have not been written yet
	block  int                      // block of the last place

	bookYears, chartYears []int // index 0 is for id 1
	bookPublic            []bool
}

// entry is the place that is being written, with values that several of its rows share.
type entry struct {
	*place
	rank     rank
	src      source // for random values of the place row only
	geometry store.Geometry
	numbers  string // numbers of its municipalities, as a JSON array
	kommune  *kommune
	units    []unit
	written  int // number of spellings written so far
}

// unit is a cadastral unit with the remark of the reference to it.
type unit struct {
	kommune            string
	gnr, bnr, fnr, snr int64
	tillegg            any // nil or text
	norm               any
}

// record writes place k and all rows that belong to it.
func (r *recorder) record(k int) {
	p := r.place(k)
	if p.block != r.block {
		r.flush()
		r.block = p.block
	}
	numbers := make([]string, len(p.kommuner))
	for i, at := range p.kommuner {
		numbers[i] = r.country.kommuner[at].Nr
		r.Put("sted_kommune", numbers[i], int64(r.ranks[k].sted), p.id, p.types)
	}
	e := &entry{
		place: p, rank: r.ranks[k], src: p.chain.part(drawRecords), geometry: r.geometry(p), numbers: JSONList(numbers),
		kommune: &r.country.kommuner[p.kommuner[0]],
	}
	r.sted(e)
	r.units(e)
	r.cases(e)
	for i := range p.names {
		r.stedsnavn(e, i)
	}
	r.earlier(e)
}

func (r *recorder) sted(e *entry) {
	p := e.place
	notes := p.chain.part(drawNotes)
	tillegg := r.remarks(&notes, p, 60, stedTilleggTypes, stedTillegg)
	merknader := r.remarks(&notes, p, 40, stedMerknadTypes, stedMerknad)
	group := r.typeGroups[p.types]
	first := FirstName(p.names, p.priority).Best().langnavn()
	r.Put("sted", p.id, e.geometry, p.stedsnummer, p.display, first, p.types, group[0], group[1], p.status, p.land,
		e.kommune.Nr, e.numbers, p.fylkesnr, p.priority, p.authority, "viktighet"+string(rune(p.letter)),
		fmt.Sprintf("viktighet%02d", p.number), p.general, localID(p.stedsnummer), p.registered, p.updated,
		OrNull(p.sluttdato), int64(len(tillegg)), int64(len(merknader)), fold.Norm(p.display), int64(e.rank.sted))
	r.putTillegg("sted_tilleggsopplysning", p.id, tillegg)
	r.putMerknader("sted_merknad", p.id, merknader)
}

func (r *recorder) putTillegg(table string, owner int64, list []remark) {
	for _, t := range list {
		r.Put(table, r.Next(table), owner, t.types, t.text, fold.Norm(t.text), t.lenke, t.registered, t.updated)
	}
}

func (r *recorder) putMerknader(table string, owner int64, list []remark) {
	for _, m := range list {
		r.Put(table, r.Next(table), owner, m.types, m.text, fold.Norm(m.text), m.common)
	}
}

// units writes the cadastral units of a place, chosen at random; for a road, the road reference instead.
func (r *recorder) units(e *entry) {
	if e.types == "adressenavn" {
		r.Put("vegreferanse", r.Next("vegreferanse"), e.id, e.kommune.Nr, int64(e.src.between(1000, 9999)))
		return
	}
	e.drawUnits()
	for _, u := range e.units {
		r.Put(
			"matrikkel_sted",
			r.unit("matrikkel_sted", u, e.id, e.stedsnummer, FirstName(e.names, e.priority).Best().langnavn(),
				e.display, e.types, e.general, int64(e.rank.sted))...)
	}
}

// drawUnits chooses the cadastral units of a place at random: farms and cabins often have some, other places seldom,
// counties and municipalities never. A town has the first unit of its municipality.
func (e *entry) drawUnits() {
	permille := 40
	switch e.types {
	case "fylke", "kommune":
		return
	case "by", "tettsted":
		e.addUnit(unit{gnr: 1, bnr: 1})
	default:
		permille = max(permille, map[kind]int{kindGard: 600, kindHytte: 400}[e.kind])
	}
	if !e.src.chance(permille) {
		return
	}
	for n := e.src.between(1, 3); n > 0; n-- {
		u := unit{gnr: int64(e.src.between(1, 150)), bnr: int64(e.src.between(1, 60))}
		if e.src.chance(100) {
			u.fnr = int64(e.src.between(1, 20))
		}
		if e.src.chance(50) {
			u.snr = int64(e.src.between(1, 12))
		}
		e.addUnit(u)
	}
}

// addUnit adds a unit unless the place has it already. One unit in seven gets a remark.
func (e *entry) addUnit(u unit) {
	if slices.ContainsFunc(e.units,
		func(o unit) bool { return o.gnr == u.gnr && o.bnr == u.bnr && o.fnr == u.fnr && o.snr == u.snr }) {
		return
	}
	u.kommune = e.kommune.Nr
	if e.src.chance(150) {
		text := pick(&e.src, enhetTillegg)
		u.tillegg, u.norm = text, fold.Norm(text)
	}
	e.units = append(e.units, u)
}

// unit returns the values of a row of a cadastral table.
func (r *recorder) unit(table string, u unit, rest ...any) []any {
	return append([]any{r.Next(table), u.kommune, u.gnr, u.bnr, u.fnr, u.snr, u.tillegg, u.norm}, rest...)
}

// stedsnavn writes name i, counted from 0, with its spellings.
func (r *recorder) stedsnavn(e *entry, i int) {
	n := &e.names[i]
	id := nameID(e.id, i+1)
	tillegg := r.remarks(&e.src, e.place, 40, stedsnavnTilleggTypes, stedsnavnTillegg)
	merknader := r.remarks(&e.src, e.place, 20, stedsnavnMerknadTypes, stedsnavnMerknad)
	leading := n.Leading()
	var texts []string
	for _, s := range leading {
		texts = append(texts, s.langnavn())
	}
	shown := strings.Join(texts, ", ")
	best := n.Best()
	var primary any
	if n.primary != 0 {
		primary = n.primary
	}
	rang := int64(e.rank.stedsnavn) + int64(i)
	r.Put(
		"stedsnavn",
		id,
		e.geometry,
		e.id,
		e.stedsnummer,
		int64(i+1),
		best.langnavn(),
		n.Status,
		n.state,
		n.Language,
		OrNull(n.origin),
		n.exonym,
		n.primary != 0,
		primary,
		shown,
		int64(len(n.Spellings)),
		int64(len(leading)),
		leading[0].Status,
		leading[0].date,
		spellingID(id, slices.IndexFunc(n.Spellings, func(s Spelling) bool { return s == *best })+1),
		e.display,
		e.types,
		e.authority,
		e.land,
		e.kommune.Nr,
		e.numbers,
		e.fylkesnr,
		e.general,
		n.registered,
		n.updated,
		int64(len(tillegg)),
		int64(len(merknader)),
		fold.Norm(best.langnavn()),
		rang,
	)
	r.putTillegg("stedsnavn_tilleggsopplysning", id, tillegg)
	r.putMerknader("stedsnavn_merknad", id, merknader)
	for _, u := range e.units {
		r.Put("matrikkel_stedsnavn", r.unit("matrikkel_stedsnavn", u, e.id, id, e.stedsnummer, int64(i+1),
			shown, e.display,
			leading[0].Status, leading[0].date, n.state, n.Status, n.Language, e.types, e.general, rang)...)
	}
	if inCombined(n.state) {
		r.part(e, n, id, i+1)
	}
	for k := range n.Spellings {
		r.skrivemaate(e, n, id, i+1, k+1)
	}
}

// skrivemaate writes one spelling. Numbers are counted from 1.
func (r *recorder) skrivemaate(e *entry, n *Name, stedsnavn int64, nameNumber, number int) {
	s := &n.Spellings[number-1]
	id := spellingID(stedsnavn, number)
	langnavn := s.langnavn()
	norm := fold.Norm(langnavn)
	merknader := r.remarks(&e.src, e.place, 20, skrivemaateMerknadTypes, skrivemaateMerknad)
	var from any
	if number > 1 {
		from = spellingID(stedsnavn, 1)
	}
	rang := int64(e.rank.skrivemaate) + int64(e.written)
	e.written++
	r.Put("skrivemaate", id, e.id, stedsnavn, e.stedsnummer, int64(nameNumber), int64(number), langnavn, s.kortnavn(),
		s.rekkefoelge(), s.kasus, s.Status, s.date, s.Preferred, from, n.Language, n.Status, n.state, e.display,
		e.types, e.authority, e.land, e.numbers, e.general, s.registered, s.updated, int64(len(merknader)),
		fold.CaseI(langnavn), norm, Reverse(norm), rang)
	r.putMerknader("skrivemaate_merknad", id, merknader)
	for _, u := range e.units {
		r.Put(
			"matrikkel_skrivemaate",
			r.unit("matrikkel_skrivemaate", u, e.id, stedsnavn, id, e.stedsnummer, int64(nameNumber),
				int64(number), langnavn,
				e.display, s.Status, s.date, n.state, n.Status, e.types, e.general, rang)...)
	}
	r.kasus(id, s)
	r.document(e, n, s, stedsnavn, id)
}

// kasus writes the parts of a spelling that consists of several, and the inflected forms of Northern Sami names if they
// are known.
func (r *recorder) kasus(id int64, s *Spelling) {
	forms, inflected := inflections[s.ending]
	if s.modifier != "" || inflected {
		r.Put("kasus", id, s.kasus, OrNull(s.modifier), s.Core, nil)
	}
	if !inflected {
		return
	}
	for i, kasus := range [...]string{"genitiv-akkusativ", "illativ", "lokativ"} {
		r.Put("kasus", id, kasus, OrNull(s.modifier), s.stem+forms[i], nil)
	}
}

// earlier writes the former statuses.
func (r *recorder) earlier(e *entry) {
	if e.status == "relikt" {
		r.Put("sted_historikk", e.id, "stedstatus", firstDay, "aktiv")
	}
	for i := range e.names {
		n := &e.names[i]
		id := nameID(e.id, i+1)
		if n.Status == "historisk" {
			r.Put("stedsnavn_historikk", id, "navnestatus", firstDay, "hovednavn")
		}
		if n.state != "ubehandlet" {
			r.Put("stedsnavn_historikk", id, "navnesakstatus", firstDay, "ubehandlet")
		}
		if hasCase(n.state) && n.state != "navnesakReist" {
			r.Put("stedsnavn_historikk", id, "navnesakstatus", e.raised.Format(dayLayout), "navnesakReist")
		}
		for k := range n.Spellings {
			if s := &n.Spellings[k]; s.earlier != "" {
				r.Put("skrivemaate_historikk", spellingID(id, k+1), "skrivemaatestatus", firstDay, s.earlier)
			}
		}
	}
}
