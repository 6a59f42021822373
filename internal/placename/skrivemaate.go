package placename

import (
	"fmt"

	api "grense/api/placename"
	"grense/internal/cql2"
)

// maxDocuments is the largest number of entries in a search for documents. Each adds a condition; real requests have
// fewer.
const maxDocuments = 100

func (s *Service) skrivemaater(l *codeLists, r *api.FindSkrivemaater) *criteria {
	c, q := s.criteria(l, r, "skrivemaateSoek"), &r.SkrivemaateSoek
	c.add(
		moments("registrert", q.RegistrertEtter, q.RegistrertFoer),
		moments("oppdatert", q.OppdatertEtter, q.OppdatertFoer),
		number("stedsnummer", q.Stedsnummer),
		number("stedsnavnnummer", q.Stedsnavnnummer),
		number("skrivemaatenummer", q.Skrivemaatenummer),
	)
	c.name("stedsnavn", q.Stedsnavn, q.AvansertSoek, own)
	c.add(
		c.codes("skrivemaatestatuserIds", "skrivemaatestatus", q.SkrivemaatestatuserIds),
		boolean("prioritert", q.Prioritert),
		days("skrivemaatestatusdato", q.SkrivemaatestatusdatoEtter, q.SkrivemaatestatusdatoFoer),
		c.typesIn(q.NavneobjekttyperIds, q.KommunerIds),
		c.codes("vedtaksmyndigheterIds", "vedtaksmyndighet", q.VedtaksmyndigheterIds),
		c.code("landId", "land", q.LandId),
		c.codes("spraakIds", "spraak", q.SpraakIds),
		c.codes("navnesakstatuserIds", "navnesakstatus", q.NavnesakstatuserIds),
		some("dokumentasjon", days("dato", q.DokumentasjonsdatoEtter, q.DokumentasjonsdatoFoer)),
	)
	c.documentation(q)
	c.add(
		c.merknader("skrivemaateMerknadstype", q.MerknadstyperIds, q.Merknadstekst),
		boolean("av_allmenn_interesse", q.AvAllmennInteresse),
	)
	return c
}

// documentation adds the conditions of the nested search objects. Each must match a single row of documentation.
func (c *criteria) documentation(q *api.SkrivemaateSoek) {
	if b := q.BokSoek; b != nil {
		c.add(some("dokumentasjon", some(
			"bok",
			c.contains("bokSoek/tittel", "tittel", b.Tittel),
			c.contains("bokSoek/utgave", "utgave", b.Utgave),
			c.contains("bokSoek/utgiver", "utgiver", b.Utgiver),
		)))
	}
	c.kartforekomst("offentligKartforekomstSoek", q.OffentligKartforekomstSoek, true)
	c.kartforekomst("annenKartforekomstSoek", q.AnnenKartforekomstSoek, false)
	if o := q.OpplysningSoek; o != nil {
		c.person("opplysning", c.contains("opplysningSoek/informant", "person", o.Informant))
	}
	if l := q.LokaleInnsamlingerSoek; l != nil {
		c.person("lokalInnsamling", c.contains("lokaleInnsamlingerSoek/innsamler", "person", l.Innsamler))
	}
	if v := q.VedtakSoek; v != nil {
		c.add(some("dokumentasjon", some("vedtak",
			number("arkivloepenummer", v.Arkivloepenummer),
			some("navnesak", c.sak("vedtakSoek/", v.Aar, v.Saksnummer, v.Arkivreferanse, v.Beskrivelse)))))
	}
	if v := q.SamlevedtakSoek; v != nil {
		c.add(some("dokumentasjon", some("del_av_samlevedtak",
			number("arkivloepenummer", v.Arkivloepenummer),
			some("samlevedtak", c.sak("samlevedtakSoek/", v.Aar, v.Saksnummer, v.Arkivreferanse, v.Beskrivelse)))))
	}
	if k := q.KlageSoek; k != nil {
		c.add(some("dokumentasjon",
			some("klage", c.sak("klageSoek/", k.Aar, k.Saksnummer, k.Arkivreferanse, k.Beskrivelse))))
	}
	if d := q.DokumentSoek; d != nil {
		c.documents(d.Entry)
	}
}

// kartforekomst adds the condition for the occurrence of a name on a map in public use (if public is set) or on a map
// used as a source.
func (c *criteria) kartforekomst(object string, k *api.KartforekomstSoek, public bool) {
	if k == nil {
		return
	}
	product := some("kartprodukt", c.code(object+"/produktId", "karttype", k.ProduktId),
		c.contains(object+"/kartblad", "kartblad", k.Kartblad))
	if product != nil {
		c.add(some("dokumentasjon", boolean("offentlig", &public), product))
	}
}

// person adds the condition that a person gave documentation of the kind art.
func (c *criteria) person(art string, name conditions) {
	if name != nil {
		c.add(some("dokumentasjon", equal("art", cql2.Text(art)), name))
	}
}

// sak returns the conditions that searches for cases, decisions and complaints have in common.
func (c *criteria) sak(object string, aar, saksnummer *int32, arkivreferanse, beskrivelse *string) (all conditions) {
	all = append(all, number("aar", aar)...)
	all = append(all, number("saksnummer", saksnummer)...)
	all = append(all, c.contains(object+"arkivreferanse", "arkivreferanse", arkivreferanse)...)
	return append(all, c.contains(object+"beskrivelse", "beskrivelse", beskrivelse)...)
}

// documents adds a condition for each entry. An entry without a description selects by type only.
func (c *criteria) documents(list []api.DokumentSoekEntry) {
	if most := min(c.s.options.MaxItems, maxDocuments); len(list) > most {
		c.fault("dokumentSoek", "", api.LongList, int64(most))
		return
	}
	for i, e := range list {
		text := c.contains(fmt.Sprintf("dokumentSoek/entry[%d]/value", i+1), "tekst", &e.Value)
		c.add(
			some("dokumentasjon", equal("art", cql2.Text("dokument")),
				c.code(fmt.Sprintf("dokumentSoek/entry[%d]/key", i+1), "dokumenttype", &e.Key), text),
		)
	}
}

var skrivemaateTreff = kind[api.SkrivemaateTreff]{
	collection: "skrivemaate", order: byRang,
	id:    func(h *api.SkrivemaateTreff) *string { return &h.SkrivemaateId },
	place: func(h *api.SkrivemaateTreff) (string, *string) { return h.StedId, &h.Geometri },
	list:  func(l []api.SkrivemaateTreff) api.Hits { return api.SkrivemaateTreffList(l) },
	fields: func(h *api.SkrivemaateTreff, f api.Flags) []field {
		return withDisplay([]field{
			{"sted_id", &h.StedId},
			{"stedsnavn_id", &h.StedsnavnId},
			{"stedsnummer", &h.Ident.Stedsnummer},
			{"stedsnavnnummer", &h.Ident.Stedsnavnnummer},
			{"skrivemaatenummer", &h.Ident.Skrivemaatenummer},
			{"langnavn", &h.Skrivemaate},
			{"skrivemaatestatus", &h.SkrivemaatestatusId},
			{"skrivemaatestatusdato", &h.Skrivemaatestatusdato},
			{"prioritert", &h.Prioritert},
			{"spraak", &h.SpraakId},
			{"kasustype", &h.KasustypeId},
			{"navneobjekttype", &h.NavneobjekttypeId},
			{"navnesakstatus", &h.NavnesakstatusId},
			{"vedtaksmyndighet", &h.VedtaksmyndighetId},
			{"kommuner", &h.KommunerIds},
			{"registrert", &h.Registreringsdato},
			{"oppdatert", &h.Oppdateringsdato},
			{"antall_merknader", &h.AntallInterneMerknader},
		}, f, &h.VisningsnavnForSted)
	},
}
