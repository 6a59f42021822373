package placename

import (
	"strconv"
	"strings"

	api "grense/api/placename"
	"grense/internal/cql2"
	"grense/internal/store"
)

// byEnhet is the order of references to cadastral units: as byRang, then by unit.
var byEnhet = []store.Sort{
	{Property: "rang"},
	{Property: "gaardsnummer"},
	{Property: "bruksnummer"},
	{Property: "festenummer"},
	{Property: "seksjonsnummer"},
}

// matrikkel returns the criteria that the three cadastral searches have in common.
func (s *Service) matrikkel(l *codeLists, r api.Request, q api.StedMatrikkelenhetreferanseSoek) *criteria {
	c := s.criteria(l, r, "soek")
	kommune := strings.TrimSpace(q.Kommunenummer)
	if len(kommune) != 4 || !isDigits(kommune) {
		c.fault("kommunenummer", q.Kommunenummer, api.BadKommune, 0)
	}
	c.add(equal("kommunenummer", cql2.Text(kommune)), c.numbers("gaardsnummer", &q.Gaardsnummer),
		c.numbers("bruksnummer", q.Bruksnummer))
	c.add(
		number("festenummer", q.Festenummer),
		number("seksjonsnummer", q.Seksjonsnummer),
		c.contains("tilleggsopplysningtekst", "tilleggsopplysning", q.Tilleggsopplysningtekst),
	)
	c.name("stedsnavn", q.Stedsnavn, nil, skrivemaater)
	c.add(c.codes("navneobjekttypeIds", "navneobjekttype", q.NavneobjekttypeIds))
	return c
}

// numbers returns the condition that a property equals one of the numbers in a text such as "1-5,7".
func (c *criteria) numbers(name string, v *string) conditions {
	if v == nil || !c.fits(name, *v, c.s.options.MaxText) {
		return nil
	}
	if strings.TrimSpace(*v) == "" {
		c.fault(name, *v, api.Blank, 0)
		return nil
	}
	parts := strings.Split(*v, ",")
	if !c.short(name, len(parts)) {
		return nil
	}
	var single []cql2.Expr
	var either cql2.Or
	for _, part := range parts {
		from, to, ok := readRange(part)
		switch {
		case !ok:
			c.fault(name, *v, api.BadNumberList, 0)
			return nil
		case from == to:
			single = append(single, cql2.Int(from))
		default:
			either = append(either, cql2.Between{X: prop(name), Lo: cql2.Int(from), Hi: cql2.Int(to)})
		}
	}
	if single != nil {
		either = append(either, cql2.In{X: prop(name), List: single})
	}
	return conditions{either}
}

// readRange parses "7" or "1-5". Spaces and leading zeros are allowed.
func readRange(s string) (from, to int64, ok bool) {
	low, high, isRange := strings.Cut(s, "-")
	if from, ok = readNumber(low); !ok || !isRange {
		return from, from, ok
	}
	to, ok = readNumber(high)
	return from, to, ok && from <= to
}

func readNumber(s string) (int64, bool) {
	if s = strings.TrimSpace(s); !isDigits(s) {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}

// enhet binds the cadastral unit, and the other fields that the three kinds of references have in common.
func enhet(m *api.Matrikkelnummer, kommune, tillegg, types *string, general *bool) []field {
	return []field{
		{"kommunenummer", &m.Kommunenummer},
		{"kommunenummer", kommune},
		{"gaardsnummer", &m.Gaardsnummer},
		{"bruksnummer", &m.Bruksnummer},
		{"festenummer", &m.Festenummer},
		{"seksjonsnummer", &m.Seksjonsnummer},
		{"tilleggsopplysning", tillegg},
		{"navneobjekttype", types},
		{"av_allmenn_interesse", general},
	}
}

var matrikkelStedTreff = kind[api.StedMatrikkelenhetreferanseTreff]{
	collection: "matrikkel_sted", order: byEnhet, apart: true,
	place: func(h *api.StedMatrikkelenhetreferanseTreff) (string, *string) { return h.StedId, &h.Geometri },
	list: func(l []api.StedMatrikkelenhetreferanseTreff) api.Hits {
		return api.StedMatrikkelenhetreferanseTreffList(l)
	},
	fields: func(h *api.StedMatrikkelenhetreferanseTreff, f api.Flags) []field {
		h.Matrikkelnummer, h.AvAllmennInteresse = new(api.Matrikkelnummer), new(bool)
		return append(
			enhet(h.Matrikkelnummer, &h.KommuneId, &h.Tilleggsopplysning, &h.NavneobjekttypeId, h.AvAllmennInteresse),
			field{"sted_id", &h.StedId},
			field{"stedsnummer", &h.Ident.Stedsnummer},
			field{shown(f), &h.Stedsnavn},
		)
	},
}

var matrikkelStedsnavnTreff = kind[api.StedsnavnMatrikkelenhetreferanseTreff]{
	collection: "matrikkel_stedsnavn", order: byEnhet, apart: true,
	place: func(h *api.StedsnavnMatrikkelenhetreferanseTreff) (string, *string) { return h.StedId, &h.Geometri },
	list: func(l []api.StedsnavnMatrikkelenhetreferanseTreff) api.Hits {
		return api.StedsnavnMatrikkelenhetreferanseTreffList(l)
	},
	fields: func(h *api.StedsnavnMatrikkelenhetreferanseTreff, f api.Flags) []field {
		h.Matrikkelnummer, h.AvAllmennInteresse = new(api.Matrikkelnummer), new(bool)
		return withDisplay(
			append(enhet(h.Matrikkelnummer, &h.KommuneId, &h.Tilleggsopplysning, &h.NavneobjekttypeId,
				h.AvAllmennInteresse),
				field{"sted_id", &h.StedId},
				field{"stedsnavn_id", &h.StedsnavnId},
				field{"stedsnummer", &h.Ident.Stedsnummer},
				field{"stedsnavnnummer", &h.Ident.Stedsnavnnummer},
				field{"stedsnavn", &h.Stedsnavn},
				field{"skrivemaatestatus", &h.SkrivemaatestatusId},
				field{"skrivemaatestatusdato", &h.Skrivemaatestatusdato},
				field{"navnesakstatus", &h.NavnesakstatusId},
				field{"navnestatus", &h.NavnestatusId},
				field{"spraak", &h.SpraakId}),
			f,
			&h.VisningsnavnForSted,
		)
	},
}

var matrikkelSkrivemaateTreff = kind[api.SkrivemaateMatrikkelenhetreferanseTreff]{
	collection: "matrikkel_skrivemaate", order: byEnhet, apart: true,
	place: func(h *api.SkrivemaateMatrikkelenhetreferanseTreff) (string, *string) { return h.StedId, &h.Geometri },
	list: func(l []api.SkrivemaateMatrikkelenhetreferanseTreff) api.Hits {
		return api.SkrivemaateMatrikkelenhetreferanseTreffList(l)
	},
	fields: func(h *api.SkrivemaateMatrikkelenhetreferanseTreff, f api.Flags) []field {
		h.Matrikkelnummer, h.AvAllmennInteresse = new(api.Matrikkelnummer), new(bool)
		return withDisplay(
			append(enhet(h.Matrikkelnummer, &h.KommuneId, &h.Tilleggsopplysning, &h.NavneobjekttypeId,
				h.AvAllmennInteresse),
				field{"sted_id", &h.StedId},
				field{"stedsnavn_id", &h.StedsnavnId},
				field{"skrivemaate_id", &h.SkrivemaateId},
				field{"stedsnummer", &h.Ident.Stedsnummer},
				field{"stedsnavnnummer", &h.Ident.Stedsnavnnummer},
				field{"skrivemaatenummer", &h.Ident.Skrivemaatenummer},
				field{"langnavn", &h.Skrivemaate},
				field{"skrivemaatestatus", &h.SkrivemaatestatusId},
				field{"skrivemaatestatusdato", &h.Skrivemaatestatusdato},
				field{"navnesakstatus", &h.NavnesakstatusId},
				field{"navnestatus", &h.NavnestatusId}),
			f,
			&h.VisningsnavnForSted,
		)
	},
}
