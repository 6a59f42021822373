package register

import "grense/internal/store"

// The three cadastral collections have one row per pair of a place, name or spelling and a cadastral unit of its place.

func matrikkelSted() *store.Collection {
	c := internal("matrikkel_sted", append(enhet(),
		integer("sted_id"), integer("stedsnummer"), text("stedsnavn"), text("visningsnavn"), text("navneobjekttype"),
		boolean("av_allmenn_interesse"), integer("rang"))...)
	c.Relations = []store.Relation{skrivemaater("skrivemaater", "sted_id", "sted_id")}
	return c
}

func matrikkelStedsnavn() *store.Collection {
	c := internal("matrikkel_stedsnavn", append(
		enhet(),
		integer("sted_id"),
		integer("stedsnavn_id"),
		integer("stedsnummer"),
		integer("stedsnavnnummer"),
		text("stedsnavn"),
		text("visningsnavn"),
		text("skrivemaatestatus"),
		date("skrivemaatestatusdato"),
		text("navnesakstatus"),
		text("navnestatus"),
		text("spraak"),
		text("navneobjekttype"),
		boolean("av_allmenn_interesse"),
		integer("rang"),
	)...)
	c.Relations = []store.Relation{skrivemaater("skrivemaater", "stedsnavn_id", "stedsnavn_id")}
	return c
}

func matrikkelSkrivemaate() *store.Collection {
	c := internal("matrikkel_skrivemaate", append(
		enhet(),
		integer("sted_id"),
		integer("stedsnavn_id"),
		integer("skrivemaate_id"),
		integer("stedsnummer"),
		integer("stedsnavnnummer"),
		integer("skrivemaatenummer"),
		text("langnavn"),
		text("visningsnavn"),
		text("skrivemaatestatus"),
		date("skrivemaatestatusdato"),
		text("navnesakstatus"),
		text("navnestatus"),
		text("navneobjekttype"),
		boolean("av_allmenn_interesse"),
		integer("rang"),
	)...)
	c.Relations = []store.Relation{skrivemaater("skrivemaater", "id", "skrivemaate_id")}
	return c
}

// navnesakKommuner returns the relation from cases, or from rows with the id of a case in column key, to the
// municipalities of the places of the case.
func navnesakKommuner(key string) store.Relation {
	return relation("kommuner", "navnesak_kommune", "navnesak_id", key, properties(text("kommunenummer")))
}

func navnesak() *store.Collection {
	c := internal(
		"navnesak",
		integer("aar"),
		integer("saksnummer"),
		boolean("klagesak"),
		integer("klage_id"),
		boolean("avsluttet"),
		date("reist"),
		date("sluttdato"),
		text("beskrivelse").norm(),
		text("arkivreferanse").norm(),
		text("vedtaksmyndighet"),
		text("omraade"),
		jsonText("stedsnavn"),
		timestamp("registrert"),
		timestamp("oppdatert"),
	)
	c.Relations = []store.Relation{
		navnesakKommuner(""),
		relation("stedsnavn", "navnesak_stedsnavn", "navnesak_id", "", properties(integer("stedsnavn_id")),
			skrivemaater("skrivemaater", "stedsnavn_id", "stedsnavn_id")),
	}
	return c
}

func vedtak() *store.Collection {
	c := internal(
		"vedtak",
		integer("navnesak_id"),
		integer("aar"),
		integer("saksnummer"),
		integer("arkivloepenummer"),
		date("vedtaksdato"),
		boolean("gyldig"),
		text("skrivemaater"),
		text("vedtaksmyndighet"),
		text("omraade"),
		text("utoever_kommunenummer"),
		text("utoever_fylkesnummer"),
		timestamp("registrert"),
		timestamp("oppdatert"),
	)
	c.Relations = []store.Relation{
		navnesakKommuner("navnesak_id"),
		relation("skrivemaater", "vedtak_skrivemaate", "vedtak_id", "", properties(integer("skrivemaate_id")),
			skrivemaater("skrivemaate", "id", "skrivemaate_id")),
	}
	return c
}

func samlevedtak() *store.Collection {
	c := internal(
		"samlevedtak",
		integer("aar"),
		integer("saksnummer"),
		date("vedtaksdato"),
		text("beskrivelse").norm(),
		text("arkivreferanse").norm(),
		boolean("utgaatt"),
		integer("vedtaksomraade_id"),
		jsonText("stedsnavn"),
		timestamp("registrert"),
		timestamp("oppdatert"),
	)
	c.Relations = []store.Relation{
		relation("deler", "del_av_samlevedtak", "samlevedtak_id", "",
			properties(integer("arkivloepenummer"), integer("stedsnavn_id"), integer("stedsnummer"),
				integer("stedsnavnnummer")),
			skrivemaater("skrivemaater", "stedsnavn_id", "stedsnavn_id")),
		relation("unntak", "samlevedtak_unntak", "samlevedtak_id", "", properties(integer("skrivemaate_id"))),
		relation("vedtaksomraade", "vedtaksomraade", "id", "vedtaksomraade_id",
			properties(text("navn"), text("fylkesnummer"))),
	}
	return c
}

func bok() *store.Collection {
	return internal(
		"bok",
		text("tittel").norm(),
		text("isbn"),
		text("utgave").norm(),
		text("forfatter"),
		text("utgiver").norm(),
		integer("utgivelsesaar"),
		boolean("offentlig_bruk"),
		text("soeketekst").norm(),
		integer("rang"),
	)
}

func kartprodukt() *store.Collection {
	return internal("kartprodukt",
		text("karttype"), text("kartblad").norm(), integer("utgivelsesaar"), text("utgiver"), text("skann"))
}

// kode returns the collection with the codes of all lists.
func kode() *store.Collection {
	return internal("kode",
		text("liste"), text("verdi"), text("kort"), text("forelder"), integer("rekkefoelge"),
		text("navn_nb"), text("navn_nn"), text("navn_en"), text("navn_se"))
}
