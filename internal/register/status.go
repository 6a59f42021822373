package register

import (
	"time"
)

// states are the values of navnesakstatus, in permille of places. The shares are a guess, because the real ones are not
// published.
var states = []weighted{
	{
		"ubehandlet",
		610,
	}, {"navnesakReist", 50}, {"vedtakIverksettingUtsatt", 10}, {"iverksattVedtak", 120}, {"forenkletVedtak", 60},
	{"klageIverksattVedtakIkkeTrukketTilbake", 12}, {"klageVedtakTrukketTilbake", 8}, {"klagenemda", 10},
	{
		"samlevedtak",
		55,
	}, {"samlevedtakTrukketTilbake", 7}, {"navnBestemtAvNavnemyndighet", 20}, {"skalIkkeBehandlesEtterLoven", 38},
}

// hasCase reports whether a place in that state has a name case. The last three such states also have a complaint.
func hasCase(state string) bool {
	switch state {
	case "navnesakReist", "vedtakIverksettingUtsatt", "iverksattVedtak":
		return true
	}
	return hasComplaint(state)
}

func hasComplaint(state string) bool {
	switch state {
	case "klageIverksattVedtakIkkeTrukketTilbake", "klageVedtakTrukketTilbake", "klagenemda":
		return true
	}
	return false
}

func inCombined(state string) bool {
	return state == "samlevedtak" || state == "samlevedtakTrukketTilbake"
}

// treat sets the navnesakstatus of a place at random, the times of its case, and its combined decision if it has one.
func (g *generator) treat(p *place) {
	src := p.chain.part(drawCase)
	p.state = choose(&src, states)
	p.schedule(&src)
	if inCombined(p.state) {
		p.samling = g.samling(p)
	}
}

// samling returns the combined decision for places of the block, county and kind of p.
func (g *generator) samling(p *place) samling {
	return samlingOf(p.block, g.country.kommuner[p.kommuner[0]].fylke, p.kind)
}

// schedule sets, at random, when the case was opened and decided.
func (p *place) schedule(src *source) {
	if !hasCase(p.state) {
		return
	}
	p.raised = day(src.moment(firstMoment.AddDate(1, 0, 0), lastMoment.AddDate(-3, 0, 0)))
	if p.state != "navnesakReist" {
		p.decided = p.raised.AddDate(0, 0, src.between(60, 700))
	}
	if hasComplaint(p.state) {
		p.complaint = p.decided.AddDate(0, 0, src.between(7, 21))
	}
	if p.state == "klagenemda" {
		p.appealed = p.complaint.AddDate(0, 0, src.between(60, 250))
	}
}

func day(t time.Time) time.Time { return t.Truncate(24 * time.Hour) }

// firstStatus holds the statuses of a preferred spelling by navnesakstatus, in permille. For any other navnesakstatus,
// the spelling gets one of those of the first.
var firstStatus = map[string][]weighted{
	"":                                       {{"godkjent", 800}, {"uvurdert", 180}, {"historisk", 20}},
	"navnesakReist":                          {{"godkjent", 700}, {"uvurdert", 200}, {"foreslått", 100}},
	"vedtakIverksettingUtsatt":               {{"vedtatt", 1000}},
	"iverksattVedtak":                        {{"vedtatt", 1000}},
	"forenkletVedtak":                        {{"vedtatt", 1000}},
	"klagenemda":                             {{"vedtatt", 1000}},
	"klageVedtakTrukketTilbake":              {{"godkjent", 1000}},
	"samlevedtak":                            {{"vedtattNavneledd", 1000}},
	"samlevedtakTrukketTilbake":              {{"godkjent", 1000}},
	"navnBestemtAvNavnemyndighet":            {{"vedtatt", 1000}},
	"skalIkkeBehandlesEtterLoven":            {{"privat", 900}, {"internasjonal", 100}},
	"klageIverksattVedtakIkkeTrukketTilbake": {{"vedtatt", 1000}},
}

// laterStatus are the statuses of the other spellings, in permille.
var laterStatus = []weighted{
	{"historisk", 330},
	{"avslått", 230},
	{"avslåttNavneledd", 60},
	{"feilført", 80},
	{"uvurdert", 150},
	{"godkjent", 150},
}

// drawStatuses sets the statuses of spellings, and all times of names and spellings, at random.
func (g *generator) drawStatuses(p *place) {
	times, statuses := p.chain.part(drawNameTimes), p.chain.part(drawStatus)
	for i := range p.names {
		n := &p.names[i]
		if n.Status == "historisk" || n.Status == "feilført" || n.Status == "avslåttNavnevalg" {
			n.state = "ubehandlet"
		}
		n.registered, n.updated = times.times(p.registered)
		for k := range n.Spellings {
			s := &n.Spellings[k]
			g.status(p, n, s, k, &statuses)
			s.registered, s.updated = times.times(n.registered)
		}
	}
}

func (g *generator) status(p *place, n *Name, s *Spelling, k int, src *source) {
	shares, ok := firstStatus[n.state]
	if !ok {
		shares = firstStatus[""]
	}
	switch {
	case k == 1 && n.state == "navnesakReist":
		s.Status = "foreslått"
	case k > 0 && n.state == "samlevedtak":
		s.Status = "avslåttNavneledd"
	case k > 0:
		s.Status = choose(src, laterStatus)
	case n.Status == "historisk":
		s.Status = "historisk"
	default:
		s.Status = choose(src, shares)
	}
	switch old := src.chance(700); {
	case !p.appealed.IsZero() && s.Status == "vedtatt":
		s.date, s.earlier = p.appealed.Format(dayLayout), "godkjent"
	case !p.decided.IsZero() && (s.Status == "vedtatt" || s.Status == "avslått"):
		s.date, s.earlier = p.decided.Format(dayLayout), "godkjent"
	case inCombined(n.state) && s.Status != "feilført":
		s.date, s.earlier = g.samlevedtakTime(p.samling).Format(dayLayout), "godkjent"
	case old:
		s.date = firstDay
	default:
		s.date = src.moment(firstMoment, lastMoment).Format(dayLayout)
	}
	if s.Status == s.earlier {
		s.earlier = ""
	}
}
