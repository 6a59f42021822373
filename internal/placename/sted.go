package placename

import (
	"slices"

	api "grense/api/placename"
	"grense/internal/cql2"
	"grense/internal/store"
)

// byRang is the order of places, names and spellings: importance, display name, numbers. The register holds it.
var byRang = []store.Sort{{Property: "rang"}}

// skrivemaater puts a condition on some spelling of what is searched.
func skrivemaater(x cql2.Expr) cql2.Expr { return related("skrivemaater", x) }

// own puts a condition on what is searched.
func own(x cql2.Expr) cql2.Expr { return x }

func (s *Service) steder(r *api.FindSteder) *criteria {
	c, q := s.criteria(r, "stedSoek"), &r.StedSoek
	c.add(
		moments("registrert", q.RegistrertEtter, q.RegistrertFoer),
		moments("oppdatert", q.OppdatertEtter, q.OppdatertFoer),
		number("stedsnummer", q.Stedsnummer),
	)
	c.name("stedsnavn", q.Stedsnavn, q.AvansertSoek, skrivemaater)
	c.add(
		c.typesIn(q.NavneobjekttyperIds, q.KommunerIds),
		c.codes("stedstatuserIds", "stedstatus", q.StedstatuserIds),
		land(q.LandId),
		c.codes("spraakprioriteringerIds", "spraakprioritering", q.SpraakprioriteringerIds),
		c.codes("vedtaksmyndigheterIds", "vedtaksmyndighet", q.VedtaksmyndigheterIds),
		c.tilleggsopplysninger(q.TilleggsopplysningstyperIds, q.Tilleggsopplysningtekst),
		c.merknader(q.MerknadstyperIds, q.Merknadstekst),
		boolean("av_allmenn_interesse", q.AvAllmennInteresse),
	)
	return c
}

func (s *Service) stedsnavn(r *api.FindStedsnavn) *criteria {
	c, q := s.criteria(r, "stedsnavnSoek"), &r.StedsnavnSoek
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
		land(q.LandId),
		c.spraak(q.SpraakIds),
		c.codes("navnesakstatuserIds", "navnesakstatus", q.NavnesakstatuserIds),
		c.codes("navnestatuserIds", "navnestatus", q.NavnestatuserIds),
		boolean("har_primaerfunksjon", q.HarPrimaerfunksjon),
		c.tilleggsopplysninger(q.TilleggsopplysningstyperIds, q.Tilleggsopplysningtekst),
		c.merknader(q.MerknadstyperIds, q.Merknadstekst),
		boolean("av_allmenn_interesse", q.AvAllmennInteresse),
	)
	return c
}

func (c *criteria) tilleggsopplysninger(types []string, text *string) conditions {
	return some("tilleggsopplysninger",
		c.codes("tilleggsopplysningstyperIds", "tilleggsopplysningstype", types), c.contains("tilleggsopplysningtekst", "tekst", text))
}

func (c *criteria) merknader(types []string, text *string) conditions {
	return some("merknader", c.codes("merknadstyperIds", "merknadstype", types), c.contains("merknadstekst", "tekst", text))
}

// land is a country by its code or its long name.
func land(id *string) conditions {
	if id == nil {
		return nil
	}
	return equal("land", cql2.Text(short(countries, *id)))
}

// spraak is a language by its code or its long name.
func (c *criteria) spraak(ids []string) conditions {
	return c.oneOf("spraakIds", "spraak", ids, func(s string) string { return short(languages, s) })
}

// short returns the code that a long name stands for; what is no long name comes back as it is.
func short(names map[string]string, id string) string {
	if s, ok := names[id]; ok {
		return s
	}
	return id
}

// Long names of countries and languages, the public code values, with the ISO 3166-1 and ISO 639-3 codes that records hold.
var (
	countries = map[string]string{
		"Norge": "NO", "Danmark": "DK", "Sverige": "SE", "Finland": "FI", "Island": "IS", "Grønland": "GL", "Russland": "RU",
		"Storbritannia": "GB", "Tyskland": "DE", "Svalbard_og_Jan_Mayen": "SJ", "Færøyene": "FO", "internasjonaltFarvann": "XZ",
		"uspesifisert": "ZZ",
	}
	languages = map[string]string{
		"norsk": "nor", "nordsamisk": "sme", "lulesamisk": "smj", "sørsamisk": "sma", "skoltesamisk": "sms", "kvensk": "fkv",
		"dansk": "dan", "tysk": "deu", "engelsk": "eng", "færøysk": "fao", "finsk": "fin", "fransk": "fra", "irsk": "gle",
		"islandsk": "isl", "grønlandsk": "kal", "nederlandsk": "nld", "russisk": "rus", "svensk": "swe",
	}
)

// shown returns the property of the name by which a place is shown: its display name when that is asked for, else its best spelling.
func shown(f api.Flags) string {
	if f.BeregnVisningsnavn {
		return "visningsnavn"
	}
	return "stedsnavn"
}

// withDisplay adds the display name of the place when it is asked for.
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
			{"antall_beste_skrivemaater", func(n int64) { // one status for each spelling in Stedsnavn; they are the same
				h.StedsnavnSkrivemaatestatusIds = slices.Repeat([]string{h.SkrivemaatestatusId}, int(n))
			}},
			{"skrivemaatestatusdato", &h.Skrivemaatestatusdato},
			{"kommuner", &h.KommunerIds},
			{"antall_tilleggsopplysninger", &h.AntallTilleggsopplysninger},
			{"antall_merknader", &h.AntallInterneMerknader},
		}, f, &h.VisningsnavnForSted)
	},
}
