package register

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"grense/internal/cql2/fold"
)

// appeals is the authority that decides on complaints.
const appeals = "Klagenemnda_for_stedsnavnsaker"

// sak is a name case under construction.
type sak struct {
	id        int64
	raised    time.Time
	decided   time.Time // zero if there is no decision
	closed    time.Time // zero if the case is open
	klage     any       // id of the complaint that led to the case, or nil
	authority string
	text      string
	valid     bool // whether its decisions are in force
}

// cases writes the case of a place with its decisions, the complaint, and the case that the complaint led to.
func (r *recorder) cases(e *entry) {
	if !hasCase(e.state) {
		return
	}
	navn, sted := e.names[0].Best().langnavn(), norwegian(e.kommune.names)
	first := sak{id: caseID(e.id), raised: e.raised, decided: e.decided, authority: e.authority,
		valid: e.complaint.IsZero() || e.state == "klageIverksattVedtakIkkeTrukketTilbake",
		text:  "Navnesak om skrivemåten av " + navn + " i " + sted}
	if !e.decided.IsZero() && e.state != "vedtakIverksettingUtsatt" {
		first.closed = e.decided.AddDate(0, 0, 30)
	}
	r.sak(e, first)
	if e.complaint.IsZero() {
		return
	}
	text, archive := "Klage på vedtaket om "+navn+" fra "+e.src.person(),
		archiveNumber(e.complaint, complaintCaseID(e.id))
	r.Put("klage", first.id, decisionID(first.id, 1), int64(e.complaint.Year()), complaintCaseID(e.id),
		e.complaint.Format(dayLayout), archive, fold.Norm(archive), text, fold.Norm(text))
	if e.state != "klageIverksattVedtakIkkeTrukketTilbake" {
		r.sak(e, sak{id: complaintCaseID(e.id), raised: e.complaint, decided: e.appealed, closed: e.appealed,
			klage:     first.id,
			authority: appeals, valid: true,
			text: "Klagesak om skrivemåten av " + navn + " i " + sted})
	}
}

// archiveNumber returns the archive reference of a case.
func archiveNumber(t time.Time, id int64) string { return fmt.Sprintf("%d/%06d", t.Year(), id) }

// sak writes a case with its names, its municipalities, and one decision per name.
func (r *recorder) sak(e *entry, s sak) {
	var texts []string
	var numbers []int
	for i := range e.names {
		if e.names[i].state == e.state {
			texts = append(texts, e.names[i].Best().langnavn())
			numbers = append(numbers, i+1)
			r.Put("navnesak_stedsnavn", s.id, nameID(e.id, i+1))
		}
	}
	for _, k := range e.kommuner {
		r.Put("navnesak_kommune", r.country.kommuner[k].Nr, s.id)
	}
	aar, archive := int64(s.raised.Year()), archiveNumber(s.raised, s.id)
	registered, updated := s.raised.Add(9*time.Hour), s.raised.Add(9*time.Hour)
	for _, t := range [...]time.Time{s.decided, s.closed} {
		if !t.IsZero() {
			updated = t.Add(12 * time.Hour)
		}
	}
	var closed any
	if !s.closed.IsZero() {
		closed = s.closed.Format(dayLayout)
	}
	r.Put("navnesak", s.id, aar, s.id, s.klage != nil, s.klage, closed != nil, s.raised.Format(dayLayout), closed,
		s.text, fold.Norm(s.text), archive, fold.Norm(archive), s.authority, e.kommune.omraade, JSONList(texts),
		registered, updated)
	if s.decided.IsZero() {
		return
	}
	for n, number := range numbers {
		r.vedtak(e, s, n+1, number)
	}
}

// vedtak writes decision n of a case; number is the number of the name that it is about.
func (r *recorder) vedtak(e *entry, s sak, n, number int) {
	id := decisionID(s.id, n)
	var utoeverKommune, utoeverFylke any
	switch s.authority {
	case "fylkeskommune":
		utoeverFylke = e.fylkesnr
	case "Statens_kartverk", "departement", appeals: // a hit can only name a municipality or a county
	default: // decisions of other authorities are attributed to the municipality of the place
		utoeverKommune = e.kommune.Nr
	}
	var texts []string
	list := e.names[number-1].Spellings
	for k := range list {
		if k == 0 || list[k].Status == "vedtatt" {
			texts = append(texts, list[k].langnavn())
			r.Put("vedtak_skrivemaate", id, spellingID(nameID(e.id, number), k+1))
		}
	}
	made := s.decided.Add(10 * time.Hour)
	r.Put("vedtak", id, s.id, int64(s.raised.Year()), s.id, int64(n), s.decided.Format(dayLayout), s.valid,
		strings.Join(texts, ", "), s.authority, e.kommune.omraade, utoeverKommune, utoeverFylke, made,
		made.Add(time.Duration(e.src.under(1000))*time.Hour))
	if g := r.groups[r.samling(e.place)]; g != nil && g.basis == nil {
		g.basis = id
	}
}

// samlegruppe is a combined decision that is being collected.
type samlegruppe struct {
	fylke int
	kind  kind
	names []string
	basis any // id of the decision on which it is based, or nil
}

// part adds a name to its combined decision.
func (r *recorder) part(e *entry, n *Name, stedsnavn int64, number int) {
	g := r.groups[e.samling]
	if g == nil {
		g = &samlegruppe{fylke: e.kommune.fylke, kind: e.kind}
		r.groups[e.samling] = g
	}
	g.names = append(g.names, n.Best().langnavn())
	r.Put("del_av_samlevedtak", stedsnavn, int64(e.samling), int64(len(g.names)), stedsnavn, e.stedsnummer,
		int64(number))
	for k := range n.Spellings {
		if n.Spellings[k].Status == "avslåttNavneledd" {
			r.Put("samlevedtak_unntak", int64(e.samling), spellingID(stedsnavn, k+1))
		}
	}
}

// flush writes the combined decisions of the block that has ended.
func (r *recorder) flush() {
	for _, id := range slices.Sorted(maps.Keys(r.groups)) {
		g := r.groups[id]
		when := r.samlevedtakTime(id)
		fylke := r.country.fylker[g.fylke]
		text := "Samlevedtak om navneledd på " + samlingTexts[g.kind] + " i " + norwegian(fylke.names)
		if id <= fylkeCount {
			text = "Samlevedtak om navn på byer og tettsteder i " + norwegian(fylke.names)
		}
		archive := archiveNumber(when, int64(id))
		made := when.Add(11 * time.Hour)
		r.Put("samlevedtak", int64(id), int64(when.Year()), int64(id), when.Format(dayLayout), text, fold.Norm(text),
			archive, fold.Norm(archive), id%31 == 0, g.basis, int64(g.fylke)+1, JSONList(g.names), made,
			made.AddDate(0, int(id%24), 0))
	}
	clear(r.groups)
}

// document writes the documentation of a spelling: the decisions on it, and for one spelling in three a book, map,
// document or informant.
func (r *recorder) document(e *entry, n *Name, s *Spelling, stedsnavn, id int64) {
	d := document{skrivemaate: id, offentlig: true}
	number := int(stedsnavn - e.id*10)
	if n.state == e.state && hasCase(e.state) && s.earlier != "" && (s.Status == "vedtatt" || s.Status == "avslått") {
		d.art, d.dato, d.vedtak = "vedtak", e.decided.Format(dayLayout),
			decisionID(caseID(e.id), r.decisionNumber(e, number))
		r.Put("dokumentasjon", d.values(r)...)
		d.vedtak = nil
		if !e.complaint.IsZero() {
			d.art, d.dato, d.klage = "klage", e.complaint.Format(dayLayout), caseID(e.id)
			r.Put("dokumentasjon", d.values(r)...)
		}
	}
	if inCombined(n.state) {
		d := document{
			skrivemaate: id,
			offentlig:   true,
			art:         "delAvSamlevedtak",
			dato:        r.samlevedtakTime(e.samling).Format(dayLayout),
			del:         stedsnavn,
		}
		r.Put("dokumentasjon", d.values(r)...)
	}
	switch {
	case e.book:
		bok := localHistory(e.place)
		d := document{
			skrivemaate: id,
			art:         "bok",
			offentlig:   r.bookPublic[bok-1],
			dato:        yearDay(r.bookYears[bok-1]),
			bok:         bok,
			side:        "12",
		}
		r.Put("dokumentasjon", d.values(r)...)
	case e.src.chance(350):
		d := r.other(e, id)
		r.Put("dokumentasjon", d.values(r)...)
	}
}

// decisionNumber returns the number of the decision on a name in the case of its place.
func (r *recorder) decisionNumber(e *entry, number int) int {
	n := 0
	for i := range number {
		if e.names[i].state == e.state {
			n++
		}
	}
	return n
}

// document is a row of documentation. Columns that do not apply are nil.
type document struct {
	skrivemaate                   int64
	art                           string
	offentlig                     bool
	dato                          any
	bok, kart, vedtak, del, klage any
	types                         any
	person, text                  string
	side                          any
}

func (d *document) values(r *recorder) []any {
	var personNorm, textNorm any
	if d.person != "" {
		personNorm = fold.Norm(d.person)
	}
	if d.text != "" {
		textNorm = fold.Norm(d.text)
	}
	return []any{
		r.Next("dokumentasjon"),
		d.skrivemaate,
		d.art,
		d.offentlig,
		d.dato,
		d.bok,
		d.kart,
		d.vedtak,
		d.del,
		d.klage,
		d.types,
		OrNull(d.person),
		personNorm,
		OrNull(d.text),
		textNorm,
		d.side,
	}
}

// arts are the kinds of documentation other than decisions, in permille.
var arts = []weighted{
	{"bok", 280},
	{"kartforekomst", 380},
	{"opplysning", 130},
	{"lokalInnsamling", 90},
	{"dokument", 120},
}

// other returns random documentation other than a decision.
func (r *recorder) other(e *entry, id int64) document {
	src := &e.src
	d := document{
		skrivemaate: id,
		art:         choose(src, arts),
		offentlig:   src.chance(600),
		dato:        src.moment(firstMoment, lastMoment).Format(dayLayout),
	}
	switch d.art {
	case "bok":
		bok := r.bookOf(src, e.place)
		d.bok, d.dato, d.offentlig = bok, yearDay(r.bookYears[bok-1]), r.bookPublic[bok-1]
		d.side = fmt.Sprint(src.between(1, 480))
	case "kartforekomst":
		kart := src.between(1, len(r.chartYears))
		d.kart, d.dato, d.side = int64(kart), yearDay(r.chartYears[kart-1]), pick(src, karttypePages)
	case "opplysning", "lokalInnsamling":
		d.person, d.text, d.offentlig = src.person(), r.fill(src, e.place, pick(src, dokumentTexts)), false
	case "dokument":
		d.types = pick(src, r.list("dokumenttype")).ID
		d.text = r.fill(src, e.place, pick(src, dokumentTexts))
	}
	return d
}
