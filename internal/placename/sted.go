package placename

import (
	"slices"

	api "grense/api/placename"
	"grense/internal/cql2"
	"grense/internal/store"
)

// byRang is the order of places, names and spellings: importance, display name, numbers. The register has it as one
// number.
var byRang = []store.Sort{{Property: "rang"}}

// skrivemaater converts a condition on a spelling to the condition that some spelling of the record fulfils it.
func skrivemaater(x cql2.Expr) cql2.Expr { return related("skrivemaater", x) }

// own returns a condition unchanged, for records that are spellings themselves.
func own(x cql2.Expr) cql2.Expr { return x }

func (s *Service) steder(l *codeLists, r *api.FindSteder) *criteria {
	c, q := s.criteria(l, r, "stedSoek"), &r.StedSoek
	c.add(
		moments("registrert", q.RegistrertEtter, q.RegistrertFoer),
		moments("oppdatert", q.OppdatertEtter, q.OppdatertFoer),
		number("stedsnummer", q.Stedsnummer),
	)
	c.name("stedsnavn", q.Stedsnavn, q.AvansertSoek, skrivemaater)
	c.add(
		c.typesIn(q.NavneobjekttyperIds, q.KommunerIds),
		c.codes("stedstatuserIds", "stedstatus", q.StedstatuserIds),
		c.code("landId", "land", q.LandId),
		c.codes("spraakprioriteringerIds", "spraakprioritering", q.SpraakprioriteringerIds),
		c.codes("vedtaksmyndigheterIds", "vedtaksmyndighet", q.VedtaksmyndigheterIds),
		c.tilleggsopplysninger(q.TilleggsopplysningstyperIds, q.Tilleggsopplysningtekst),
		c.merknader("stedMerknadstype", q.MerknadstyperIds, q.Merknadstekst),
		boolean("av_allmenn_interesse", q.AvAllmennInteresse),
	)
	return c
}

func (s *Service) stedsnavn(l *codeLists, r *api.FindStedsnavn) *criteria {
	c, q := s.criteria(l, r, "stedsnavnSoek"), &r.StedsnavnSoek
	c.add(
		moments("registrert", q.RegistrertEtter, q.RegistrertFoer),
		moments("oppdatert", q.OppdatertEtter, q.OppdatertFoer),
		number("stedsnummer", q.Stedsnummer),
		number("stedsnavnnummer", q.Stedsnavnnummer),
	)
	c.name("stedsnavn", q.Stedsnavn, q.AvansertSoek, skrivemaater)
	c.add(
		c.typesIn(q.NavneobjekttyperIds, q.KommunerIds),
		c.codes("vedtaksmyndigheterIds", "vedtaksmyndighet", q.VedtaksmyndigheterIds),
		c.code("landId", "land", q.LandId),
		c.codes("spraakIds", "spraak", q.SpraakIds),
		c.codes("navnesakstatuserIds", "navnesakstatus", q.NavnesakstatuserIds),
		c.codes("navnestatuserIds", "navnestatus", q.NavnestatuserIds),
		boolean("har_primaerfunksjon", q.HarPrimaerfunksjon),
		c.tilleggsopplysninger(q.TilleggsopplysningstyperIds, q.Tilleggsopplysningtekst),
		c.merknader("stedsnavnMerknadstype", q.MerknadstyperIds, q.Merknadstekst),
		boolean("av_allmenn_interesse", q.AvAllmennInteresse),
	)
	return c
}

func (c *criteria) tilleggsopplysninger(types []string, text *string) conditions {
	return some(
		"tilleggsopplysninger",
		c.codes("tilleggsopplysningstyperIds", "tilleggsopplysningstype", types),
		c.contains("tilleggsopplysningtekst", "tekst", text),
	)
}

// merknader returns the condition that the record has a remark with one of the types, which are codes of list, and the
// text.
func (c *criteria) merknader(list string, types []string, text *string) conditions {
	return some("merknader", c.codesOf(list, "merknadstyperIds", "merknadstype", types),
		c.contains("merknadstekst", "tekst", text))
}

// shown returns the property with the name of a place that hits show: its display name if that is requested, otherwise
// its best spelling.
func shown(f api.Flags) string {
	if f.BeregnVisningsnavn {
		return "visningsnavn"
	}
	return "stedsnavn"
}

// withDisplay adds the display name of the place to the fields if it is requested.
func withDisplay(fields []field, f api.Flags, to *string) []field {
	if f.BeregnVisningsnavn {
		fields = append(fields, field{"visningsnavn", to})
	}
	return fields
}

var stedTreff = kind[api.StedTreff]{
	collection: "sted", order: byRang,
	id:    func(h *api.StedTreff) *string { return &h.StedId },
	place: func(h *api.StedTreff) (string, *string) { return h.StedId, &h.Geometri },
	list:  func(l []api.StedTreff) api.Hits { return api.StedTreffList(l) },
	fields: func(h *api.StedTreff, f api.Flags) []field {
		return []field{
			{"stedsnummer", &h.Ident.Stedsnummer},
			{shown(f), &h.Stedsnavn},
			{"navneobjekttype", &h.NavneobjekttypeId},
			{"stedstatus", &h.StedstatusId},
			{"kommuner", &h.KommunerIds},
			{"land", &h.LandId},
			{"spraakprioritering", &h.SpraakprioriteringId},
			{"sortering1", &h.Sortering.Sortering1KodeId},
			{"sortering2", &h.Sortering.Sortering2KodeId},
			{"antall_tilleggsopplysninger", &h.AntallTilleggsopplysninger},
			{"antall_merknader", &h.AntallInterneMerknader},
		}
	},
}

var stedsnavnTreff = kind[api.StedsnavnTreff]{
	collection: "stedsnavn", order: byRang,
	id:    func(h *api.StedsnavnTreff) *string { return &h.StedsnavnId },
	place: func(h *api.StedsnavnTreff) (string, *string) { return h.StedId, &h.Geometri },
	list:  func(l []api.StedsnavnTreff) api.Hits { return api.StedsnavnTreffList(l) },
	fields: func(h *api.StedsnavnTreff, f api.Flags) []field {
		return withDisplay([]field{
			{"sted_id", &h.StedId},
			{"stedsnummer", &h.Ident.Stedsnummer},
			{"stedsnavnnummer", &h.Ident.Stedsnavnnummer},
			{"skrivemaater", &h.Stedsnavn},
			{"antall_skrivemaater", &h.AntallSkrivemaater},
			{"spraak", &h.SpraakId},
			{"har_primaerfunksjon", &h.HarPrimaerfunksjon},
			{"navnestatus", &h.NavnestatusId},
			{"navneobjekttype", &h.NavneobjekttypeId},
			{"navnesakstatus", &h.NavnesakstatusId},
			{"skrivemaatestatus", &h.SkrivemaatestatusId},
			{"antall_beste_skrivemaater", func(n int64) {
				// one status per spelling in Stedsnavn; all have the same status
				h.StedsnavnSkrivemaatestatusIds = slices.Repeat([]string{h.SkrivemaatestatusId}, int(n))
			}},
			{"skrivemaatestatusdato", &h.Skrivemaatestatusdato},
			{"kommuner", &h.KommunerIds},
			{"antall_tilleggsopplysninger", &h.AntallTilleggsopplysninger},
			{"antall_merknader", &h.AntallInterneMerknader},
		}, f, &h.VisningsnavnForSted)
	},
}
