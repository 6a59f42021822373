package placename_test

import (
	"encoding/json"
	"strings"
	"time"

	api "grense/api/placename"
)

// The hits that the oracle makes of rows. Geometry has a test of its own.

func list(s string) (out []string) {
	if err := json.Unmarshal([]byte(s), &out); err != nil {
		panic(err)
	}
	return out
}

func date(r row, column string) time.Time {
	d, ok := r.day(column)
	if !ok {
		panic("no date in " + column)
	}
	return d
}

func ref(r row, column string) string { return row{"id": r[column]}.id() }

func i32(r row, column string) int32 { return int32(r.number(column)) }

// count counts the rows of a table that belong to an owner.
func (o *oracle) count(table, owner string, id any) int32 {
	return int32(len(o.where(table, owner, id)))
}

// display returns the display name of a place, when it is requested.
func (o *oracle) display(r row, f api.Flags) string {
	if !f.BeregnVisningsnavn {
		return ""
	}
	return o.one("sted", r["sted_id"]).text("visningsnavn")
}

func (o *oracle) kommuner(sted any) (out []string) { return list(o.one("sted", sted).text("kommuner")) }

func (o *oracle) stedTreff(r row, f api.Flags) api.StedTreff {
	name := r.text("stedsnavn")
	if f.BeregnVisningsnavn {
		name = r.text("visningsnavn")
	}
	return api.StedTreff{
		StedId: r.id(), Ident: api.StedIdent{Stedsnummer: r.number("stedsnummer")}, Stedsnavn: name,
		NavneobjekttypeId: r.text(
			"navneobjekttype",
		), StedstatusId: r.text("stedstatus"), KommunerIds: list(r.text("kommuner")), LandId: r.text("land"),
		SpraakprioriteringId: r.text("spraakprioritering"),
		Sortering: api.Sortering{
			Sortering1KodeId: r.text("sortering1"),
			Sortering2KodeId: r.text("sortering2"),
		},
		AntallTilleggsopplysninger: o.count("sted_tilleggsopplysning", "sted_id",
			r["id"]), AntallInterneMerknader: o.count("sted_merknad", "sted_id", r["id"]),
	}
}

// statusOrder ranks the statuses of spellings, best first.
var statusOrder = strings.Fields(
	"vedtatt vedtattNavneledd godkjent privat internasjonal foreslått uvurdert historisk avslått " +
		"avslåttNavneledd feilført",
)

// best returns the spellings of the best status of a name.
func (o *oracle) best(stedsnavn any) (out []row) {
	all := o.where("skrivemaate", "stedsnavn_id", stedsnavn)
	for _, status := range statusOrder {
		for _, s := range all {
			if s.text("skrivemaatestatus") == status {
				out = append(out, s)
			}
		}
		if out != nil {
			return out
		}
	}
	panic("a name without spelling")
}

func joined(spellings []row) string {
	var texts []string
	for _, s := range spellings {
		texts = append(texts, s.text("langnavn"))
	}
	return strings.Join(texts, ", ")
}

func (o *oracle) stedsnavnTreff(r row, f api.Flags) api.StedsnavnTreff {
	best, sted := o.best(r["id"]), o.one("sted", r["sted_id"])
	var statuses []string
	for _, s := range best {
		statuses = append(statuses, s.text("skrivemaatestatus"))
	}
	return api.StedsnavnTreff{
		StedId: ref(r, "sted_id"), StedsnavnId: r.id(), VisningsnavnForSted: o.display(r, f),
		Ident: api.StedsnavnIdent{Stedsnummer: sted.number("stedsnummer"), Stedsnavnnummer: i32(r, "stedsnavnnummer")},
		Stedsnavn: joined(
			best,
		), StedsnavnSkrivemaatestatusIds: statuses, AntallSkrivemaater: o.count("skrivemaate", "stedsnavn_id", r["id"]),
		SpraakId: r.text("spraak"), HarPrimaerfunksjon: r["primaerfunksjon_id"] != nil,
		NavnestatusId:     r.text("navnestatus"),
		NavneobjekttypeId: sted.text("navneobjekttype"), NavnesakstatusId: r.text("navnesakstatus"),
		SkrivemaatestatusId:        best[0].text("skrivemaatestatus"),
		Skrivemaatestatusdato:      date(best[0], "skrivemaatestatusdato"),
		KommunerIds:                o.kommuner(r["sted_id"]),
		AntallTilleggsopplysninger: o.count("stedsnavn_tilleggsopplysning", "stedsnavn_id", r["id"]),
		AntallInterneMerknader:     o.count("stedsnavn_merknad", "stedsnavn_id", r["id"]),
	}
}

func (o *oracle) skrivemaateIdent(r row) api.SkrivemaateIdent {
	return api.SkrivemaateIdent{
		Stedsnummer: o.one("sted", r["sted_id"]).
			number("stedsnummer"),
		Stedsnavnnummer:   i32(o.one("stedsnavn", r["stedsnavn_id"]), "stedsnavnnummer"),
		Skrivemaatenummer: i32(r, "skrivemaatenummer"),
	}
}

func (o *oracle) skrivemaateTreff(r row, f api.Flags) api.SkrivemaateTreff {
	sted, navn := o.one("sted", r["sted_id"]), o.one("stedsnavn", r["stedsnavn_id"])
	return api.SkrivemaateTreff{
		StedId: ref(r,
			"sted_id"), StedsnavnId: ref(r, "stedsnavn_id"), SkrivemaateId: r.id(),
		VisningsnavnForSted: o.display(r, f),
		Ident:               o.skrivemaateIdent(r), Skrivemaate: r.text("langnavn"),
		SkrivemaatestatusId: r.text("skrivemaatestatus"),
		Skrivemaatestatusdato: date(r,
			"skrivemaatestatusdato"), Prioritert: r.flag("prioritert"), SpraakId: navn.text("spraak"),
		KasustypeId: r.text("kasustype"),
		NavneobjekttypeId: sted.text(
			"navneobjekttype",
		), NavnesakstatusId: navn.text("navnesakstatus"), VedtaksmyndighetId: sted.text("vedtaksmyndighet"),
		KommunerIds: o.kommuner(r["sted_id"]), Registreringsdato: r.time("registrert"),
		Oppdateringsdato:       r.time("oppdatert"),
		AntallInterneMerknader: o.count("skrivemaate_merknad", "skrivemaate_id", r["id"]),
	}
}

func unit(r row) *api.Matrikkelnummer {
	return &api.Matrikkelnummer{
		Kommunenummer: r.text("kommunenummer"), Gaardsnummer: i32(r, "gaardsnummer"),
		Bruksnummer: i32(r, "bruksnummer"),
		Festenummer: i32(r, "festenummer"), Seksjonsnummer: i32(r, "seksjonsnummer"),
	}
}

func (o *oracle) matrikkelStedTreff(r row, f api.Flags) api.StedMatrikkelenhetreferanseTreff {
	sted := o.one("sted", r["sted_id"])
	general := sted.flag("av_allmenn_interesse")
	return api.StedMatrikkelenhetreferanseTreff{
		StedId: sted.id(), Ident: api.StedIdent{Stedsnummer: sted.number("stedsnummer")},
		Stedsnavn: o.stedTreff(sted, f).Stedsnavn,
		NavneobjekttypeId: sted.text(
			"navneobjekttype",
		), KommuneId: r.text("kommunenummer"), Tilleggsopplysning: r.text("tilleggsopplysning"),
		Matrikkelnummer: unit(r), AvAllmennInteresse: &general,
	}
}

func (o *oracle) matrikkelStedsnavnTreff(r row, f api.Flags) api.StedsnavnMatrikkelenhetreferanseTreff {
	h := o.stedsnavnTreff(o.one("stedsnavn", r["stedsnavn_id"]), f)
	general := o.one("sted", r["sted_id"]).flag("av_allmenn_interesse")
	return api.StedsnavnMatrikkelenhetreferanseTreff{
		StedId: h.StedId, StedsnavnId: h.StedsnavnId, VisningsnavnForSted: h.VisningsnavnForSted, Ident: h.Ident,
		Stedsnavn:           h.Stedsnavn,
		SkrivemaatestatusId: h.SkrivemaatestatusId, Skrivemaatestatusdato: h.Skrivemaatestatusdato,
		NavnesakstatusId: h.NavnesakstatusId,
		NavnestatusId:    h.NavnestatusId, SpraakId: h.SpraakId, NavneobjekttypeId: h.NavneobjekttypeId,
		KommuneId:          r.text("kommunenummer"),
		Tilleggsopplysning: r.text("tilleggsopplysning"), Matrikkelnummer: unit(r), AvAllmennInteresse: &general,
	}
}

func (o *oracle) matrikkelSkrivemaateTreff(r row, f api.Flags) api.SkrivemaateMatrikkelenhetreferanseTreff {
	h := o.skrivemaateTreff(o.one("skrivemaate", r["skrivemaate_id"]), f)
	general := o.one("sted", r["sted_id"]).flag("av_allmenn_interesse")
	return api.SkrivemaateMatrikkelenhetreferanseTreff{
		StedId: h.StedId, StedsnavnId: h.StedsnavnId, SkrivemaateId: h.SkrivemaateId,
		VisningsnavnForSted: h.VisningsnavnForSted, Ident: h.Ident,
		Skrivemaate: h.Skrivemaate, SkrivemaatestatusId: h.SkrivemaatestatusId,
		Skrivemaatestatusdato: h.Skrivemaatestatusdato,
		NavnesakstatusId:      h.NavnesakstatusId,
		NavnestatusId:         o.one("stedsnavn", r["stedsnavn_id"]).text("navnestatus"),
		NavneobjekttypeId:     h.NavneobjekttypeId,
		KommuneId: r.text(
			"kommunenummer",
		), Tilleggsopplysning: r.text("tilleggsopplysning"), Matrikkelnummer: unit(r), AvAllmennInteresse: &general,
	}
}

func (o *oracle) navnesakTreff(r row, _ api.Flags) api.NavnesakTreff {
	return api.NavnesakTreff{
		NavnesakId: r.id(), Aar: i32(r, "aar"), Saksnummer: i32(r, "saksnummer"), Klagesak: r["klage_id"] != nil,
		Avsluttet:   r["sluttdato"] != nil,
		Beskrivelse: r.text("beskrivelse"), VedtaksmyndighetId: r.text("vedtaksmyndighet"),
		OmraadeId: r.text("omraade"),
		Arkivreferanse: r.text(
			"arkivreferanse",
		), Stedsnavn: list(r.text("stedsnavn")), Registreringsdato: r.time("registrert"),
		Oppdateringsdato: r.time("oppdatert"),
	}
}

func (o *oracle) vedtakTreff(r row, _ api.Flags) api.VedtakTreff {
	return api.VedtakTreff{
		VedtakId: r.id(), Aar: i32(r, "aar"), Saksnummer: i32(r, "saksnummer"),
		Arkivloepenummer: i32(r, "arkivloepenummer"), Vedtaksdato: date(r, "vedtaksdato"),
		Skrivemaater: r.text("skrivemaater"), VedtaksmyndighetId: r.text("vedtaksmyndighet"),
		OmraadeId: r.text("omraade"),
		VedtattAv: api.UtoevendeMyndighet{
			KommuneId: r.text("utoever_kommunenummer"),
			FylkeId:   r.text("utoever_fylkesnummer"),
		},
		Registreringsdato: r.time("registrert"), Oppdateringsdato: r.time("oppdatert"),
	}
}

func (o *oracle) samlevedtakTreff(r row, _ api.Flags) api.SamlevedtakTreff {
	when := date(r, "vedtaksdato")
	return api.SamlevedtakTreff{
		SamlevedtakId: r.id(), Aar: i32(r, "aar"), Saksnummer: i32(r, "saksnummer"), Beskrivelse: r.text("beskrivelse"),
		Arkivreferanse: r.text("arkivreferanse"),
		Stedsnavn: list(
			r.text("stedsnavn"),
		), Registreringsdato: r.time("registrert"), Oppdateringsdato: r.time("oppdatert"), Vedtaksdato: &when,
	}
}

func (o *oracle) bokTreff(r row, _ api.Flags) api.BokTreff {
	return api.BokTreff{
		Id:            r.id(),
		Tittel:        r.text("tittel"),
		Isbn:          r.text("isbn"),
		Utgave:        r.text("utgave"),
		Forfatter:     r.text("forfatter"),
		Utgiver:       r.text("utgiver"),
		Utgivelsesaar: i32(r, "utgivelsesaar"),
	}
}

func (o *oracle) kartproduktTreff(r row, _ api.Flags) api.KartproduktTreff {
	return api.KartproduktTreff{
		Id:            r.id(),
		Kartblad:      r.text("kartblad"),
		ProduktkodeId: r.text("karttype"),
		Utgivelsesaar: i32(r, "utgivelsesaar"),
	}
}
