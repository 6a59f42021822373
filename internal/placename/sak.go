package placename

import (
	api "grense/api/placename"
	"grense/internal/cql2"
	"grense/internal/store"
)

var (
	bySak    = []store.Sort{{Property: "aar", Desc: true}, {Property: "saksnummer", Desc: true}}
	byVedtak = append(bySak[:len(bySak):len(bySak)], store.Sort{Property: "arkivloepenummer"})
)

// spellingOf returns a function that converts a condition on a spelling to one on the names or spellings in the
// relation list.
func spellingOf(list, spelling string) func(cql2.Expr) cql2.Expr {
	return func(x cql2.Expr) cql2.Expr { return related(list, related(spelling, x)) }
}

func (s *Service) navnesaker(l *codeLists, r *api.FindNavnesaker) *criteria {
	c, q := s.criteria(l, r, "navnesakSoek"), &r.NavnesakSoek
	c.add(
		moments("registrert", q.RegistrertEtter, q.RegistrertFoer),
		moments("oppdatert", q.OppdatertEtter, q.OppdatertFoer),
		number("aar", q.Aar),
		number("saksnummer", q.Saksnummer),
		boolean("klagesak", q.Klagesak),
		boolean("avsluttet", q.Avsluttet),
		c.contains("beskrivelse", "beskrivelse", q.Beskrivelse),
		c.code("vedtaksmyndighetId", "vedtaksmyndighet", q.VedtaksmyndighetId),
		c.code("omraadeId", "omraade", q.OmraadeId),
		c.contains("arkivreferanse", "arkivreferanse", q.Arkivreferanse),
		c.kommuner(q.KommunerIds, nil),
	)
	c.names("stedsnavn", q.Stedsnavn, spellingOf("stedsnavn", "skrivemaater"))
	return c
}

func (s *Service) vedtak(l *codeLists, r *api.FindVedtak) *criteria {
	c, q := s.criteria(l, r, "vedtakSoek"), &r.VedtakSoek
	c.add(
		number("aar", q.Aar),
		number("saksnummer", q.Saksnummer),
		number("arkivloepenummer", q.Arkivloepenummer),
		days("vedtaksdato", q.VedtattEtter, q.VedtattFoer),
		c.code("vedtaksmyndighetId", "vedtaksmyndighet", q.VedtaksmyndighetId),
		c.code("omraadeId", "omraade", q.OmraadeId),
		c.kommuner(q.KommunerIds, nil),
	)
	c.names("skrivemaate", q.Skrivemaate, spellingOf("skrivemaater", "skrivemaate"))
	return c
}

func (s *Service) samlevedtak(l *codeLists, r *api.FindSamlevedtak) *criteria {
	c, q := s.criteria(l, r, "samlevedtakSoek"), &r.SamlevedtakSoek
	c.add(
		moments("registrert", q.RegistrertEtter, q.RegistrertFoer),
		moments("oppdatert", q.OppdatertEtter, q.OppdatertFoer),
		number("aar", q.Aar),
		number("saksnummer", q.Saksnummer),
		c.contains("beskrivelse", "beskrivelse", q.Beskrivelse),
		c.contains("arkivreferanse", "arkivreferanse", q.Arkivreferanse),
		some("deler", number("stedsnummer", q.Stedsnummer), number("stedsnavnnummer", q.Stedsnavnnummer)),
	)
	c.names("stedsnavn", q.Stedsnavn, spellingOf("deler", "skrivemaater"))
	return c
}

var navnesakTreff = kind[api.NavnesakTreff]{
	collection: "navnesak", order: bySak,
	id:   func(h *api.NavnesakTreff) *string { return &h.NavnesakId },
	list: func(l []api.NavnesakTreff) api.Hits { return api.NavnesakTreffList(l) },
	fields: func(h *api.NavnesakTreff, _ api.Flags) []field {
		return []field{
			{"aar", &h.Aar},
			{"saksnummer", &h.Saksnummer},
			{"klagesak", &h.Klagesak},
			{"avsluttet", &h.Avsluttet},
			{"beskrivelse", &h.Beskrivelse},
			{"vedtaksmyndighet", &h.VedtaksmyndighetId},
			{"omraade", &h.OmraadeId},
			{"arkivreferanse", &h.Arkivreferanse},
			{"stedsnavn", &h.Stedsnavn},
			{"registrert", &h.Registreringsdato},
			{"oppdatert", &h.Oppdateringsdato},
		}
	},
}

var vedtakTreff = kind[api.VedtakTreff]{
	collection: "vedtak", order: byVedtak,
	id:   func(h *api.VedtakTreff) *string { return &h.VedtakId },
	list: func(l []api.VedtakTreff) api.Hits { return api.VedtakTreffList(l) },
	fields: func(h *api.VedtakTreff, _ api.Flags) []field {
		return []field{
			{"aar", &h.Aar},
			{"saksnummer", &h.Saksnummer},
			{"arkivloepenummer", &h.Arkivloepenummer},
			{"vedtaksdato", &h.Vedtaksdato},
			{"skrivemaater", &h.Skrivemaater},
			{"vedtaksmyndighet", &h.VedtaksmyndighetId},
			{"omraade", &h.OmraadeId},
			{"utoever_kommunenummer", &h.VedtattAv.KommuneId},
			{"utoever_fylkesnummer", &h.VedtattAv.FylkeId},
			{"registrert", &h.Registreringsdato},
			{"oppdatert", &h.Oppdateringsdato},
		}
	},
}

var samlevedtakTreff = kind[api.SamlevedtakTreff]{
	collection: "samlevedtak", order: bySak,
	id:   func(h *api.SamlevedtakTreff) *string { return &h.SamlevedtakId },
	list: func(l []api.SamlevedtakTreff) api.Hits { return api.SamlevedtakTreffList(l) },
	fields: func(h *api.SamlevedtakTreff, _ api.Flags) []field {
		return []field{
			{"aar", &h.Aar},
			{"saksnummer", &h.Saksnummer},
			{"beskrivelse", &h.Beskrivelse},
			{"arkivreferanse", &h.Arkivreferanse},
			{"stedsnavn", &h.Stedsnavn},
			{"registrert", &h.Registreringsdato},
			{"oppdatert", &h.Oppdateringsdato},
			{"vedtaksdato", &h.Vedtaksdato},
		}
	},
}
