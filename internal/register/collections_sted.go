package register

import (
	"slices"

	"grense/internal/cql2"
	"grense/internal/store"
)

// Properties that sted and stedsnavn share.

func stedsnummer() field {
	return integer("stedsnummer").titled("Stedsnummer", "Stadnummer", "Place number")
}

// placeID is the id of the place that a name belongs to.
func placeID() field {
	f := integer("sted_id").titled("Sted", "Stad", "Place")
	f.Ref = "sted"
	return f
}

func navneobjekttype() field {
	return text("navneobjekttype").titled("Navneobjekttype", "Namneobjekttype", "Type of named feature").
		code("navneobjekttype")
}

func kommunenummer() field {
	return text("kommunenummer").titled("Kommunenummer", "Kommunenummer", "Municipality number").code("kommune")
}

func alleKommuner() field {
	return jsonText("kommuner").titled("Alle kommuner", "Alle kommunar", "All municipalities").code("kommune")
}

func fylkesnummer() field {
	return text("fylkesnummer").titled("Fylkesnummer", "Fylkesnummer", "County number").code("fylke")
}

func registrert() field {
	return timestamp("registrert").titled("Registrert", "Registrert", "Registered")
}

func oppdatert() field { return timestamp("oppdatert").titled("Oppdatert", "Oppdatert", "Updated") }

func sted() *store.Collection {
	c := &store.Collection{
		ID: "sted", Table: "sted", Public: true,
		Title: store.Text{"nb": "Steder", "nn": "Stader", "en": "Places"},
		Description: store.Text{
			"nb": "Steder med navn, ett objekt for hvert sted, med visningsnavn, type, kommuner og posisjon.",
			"nn": "Stader med namn, eitt objekt for kvar stad, med visingsnamn, type, kommunar og posisjon.",
			"en": "Named places, one feature for each place, with display name, type, municipalities and position.",
		},
		Keywords: []string{"stedsnavn", "place names", "SSR"},
		Key:      store.FeatureKey{Column: "id", Type: cql2.TypeInteger},
		Geometry: geometry(), TitleProperty: "visningsnavn", Instant: "oppdatert",
		Properties: properties(
			stedsnummer(),
			text("visningsnavn").titled("Visningsnavn", "Visingsnamn", "Display name").norm(),
			text("stedsnavn").titled("Stedsnavn", "Stadnamn", "Place name"),
			navneobjekttype(),
			text("navneobjektgruppe").titled("Navneobjektgruppe", "Namneobjektgruppe", "Group of named features").
				code("navneobjektgruppe"),
			text(
				"navneobjekthovedgruppe",
			).titled("Navneobjekthovedgruppe", "Namneobjekthovudgruppe", "Main group of named features").
				code("navneobjekthovedgruppe"),
			text("stedstatus").titled("Stedstatus", "Stadstatus", "Status of the place").code("stedstatus"),
			kommunenummer(),
			alleKommuner(),
			fylkesnummer(),
			text("land").titled("Land", "Land", "Country").code("land"),
			text("spraakprioritering").titled("Språkprioritering", "Språkprioritering", "Order of languages").
				code("spraakprioritering"),
			text("vedtaksmyndighet").titled("Vedtaksmyndighet", "Vedtaksmyndigheit", "Deciding authority").
				code("vedtaksmyndighet"),
			text("sortering1").titled("Sortering 1", "Sortering 1", "Importance, letter").code("sortering1"),
			text("sortering2").titled("Sortering 2", "Sortering 2", "Importance, number").code("sortering2"),
			text("lokal_id").titled("Lokal id", "Lokal id", "Local id"),
			registrert(),
			oppdatert(),
			date("sluttdato").titled("Sluttdato", "Sluttdato", "End date"),
		),
		Relations: []store.Relation{
			kommuner("rang"), skrivemaater("skrivemaater", "sted_id", ""),
			relation("stedsnavn", "stedsnavn", "sted_id", "",
				properties(integer("stedsnavnnummer"), text("spraak"), text("navnestatus"), text("navnesakstatus"))),
			tilleggsopplysninger("sted_tilleggsopplysning",
				"sted_id"), merknader("sted_merknad", "sted_id"), matrikkelreferanser(""),
			relation("vegreferanser", "vegreferanse", "sted_id", "",
				properties(text("kommunenummer"), integer("adressekode"))),
			historikk("sted"),
		},
	}
	c.Properties = append(c.Properties, hidden(
		boolean("av_allmenn_interesse"),
		integer("antall_tilleggsopplysninger"),
		integer("antall_merknader"),
		integer("rang"),
	)...)
	return c
}

func stedsnavn() *store.Collection {
	c := &store.Collection{
		ID: "stedsnavn", Table: "stedsnavn", Public: true,
		Title: store.Text{"nb": "Stedsnavn", "nn": "Stadnamn", "en": "Place names"},
		Description: store.Text{
			"nb": "Navnene på stedene, ett objekt for hvert navn, med språk, status og stedets posisjon.",
			"nn": "Namna på stadene, eitt objekt for kvart namn, med språk, status og posisjonen til staden.",
			"en": "The names of the places, one feature for each name, with language, status and the position of " +
				"the place.",
		},
		Keywords: []string{"stedsnavn", "place names", "SSR"},
		Key:      store.FeatureKey{Column: "id", Type: cql2.TypeInteger},
		Geometry: geometry(), TitleProperty: "stedsnavn", Instant: "oppdatert",
		Properties: properties(
			stedsnummer(),
			placeID(),
			integer("stedsnavnnummer").titled("Stedsnavnnummer", "Stadnamnnummer", "Number of the name"),
			text("stedsnavn").titled("Stedsnavn", "Stadnamn", "Place name").norm(),
			text("navnestatus").titled("Navnestatus", "Namnestatus", "Status of the name").code("navnestatus"),
			text("navnesakstatus").titled("Navnesakstatus", "Namnesakstatus", "Status of the name case").
				code("navnesakstatus"),
			text("spraak").titled("Språk", "Språk", "Language").code("spraak"),
			text("opphavsspraak").titled("Opphavsspråk", "Opphavsspråk", "Language of origin").code("spraak"),
			boolean("eksonym").titled("Eksonym", "Eksonym", "Exonym"),
			boolean("har_primaerfunksjon").titled("Har primærfunksjon", "Har primærfunksjon", "Has a primary function"),
			text("skrivemaatestatus").titled("Skrivemåtestatus", "Skrivemåtestatus", "Status of the spelling").
				code("skrivemaatestatus"),
			date("skrivemaatestatusdato").titled("Skrivemåtestatus fra", "Skrivemåtestatus frå",
				"Status of the spelling since"),
			integer("antall_skrivemaater").titled("Antall skrivemåter", "Talet på skrivemåtar", "Number of spellings"),
			text("visningsnavn").titled("Stedets visningsnavn", "Visingsnamnet til staden",
				"Display name of the place"),
			navneobjekttype(),
			kommunenummer(),
			alleKommuner(),
			fylkesnummer(),
			registrert(),
			oppdatert(),
		),
		Relations: []store.Relation{
			kommuner("sted_id"), skrivemaater("skrivemaater", "stedsnavn_id", ""),
			tilleggsopplysninger("stedsnavn_tilleggsopplysning", "stedsnavn_id"),
			merknader("stedsnavn_merknad", "stedsnavn_id"),
			matrikkelreferanser("sted_id"), historikk("stedsnavn"),
		},
	}
	c.Properties = append(c.Properties, hidden(
		text("skrivemaater"),
		integer("antall_beste_skrivemaater"),
		integer("beste_skrivemaate_id"),
		integer("primaerfunksjon_id"),
		text("vedtaksmyndighet"),
		text("land"),
		boolean("av_allmenn_interesse"),
		integer("antall_tilleggsopplysninger"),
		integer("antall_merknader"),
		integer("rang"),
	)...)
	return c
}

func skrivemaate() *store.Collection {
	c := internal(
		"skrivemaate",
		integer("sted_id"),
		integer("stedsnavn_id"),
		integer("stedsnummer"),
		integer("stedsnavnnummer"),
		integer("skrivemaatenummer"),
		langnavn(),
		text("kortnavn"),
		text("rekkefoelge"),
		text("kasustype"),
		text("skrivemaatestatus"),
		date("skrivemaatestatusdato"),
		boolean("prioritert"),
		integer("normert_fra_id"),
		text("spraak"),
		text("navnestatus"),
		text("navnesakstatus"),
		text("visningsnavn"),
		text("navneobjekttype"),
		text("vedtaksmyndighet"),
		text("land"),
		jsonText("kommuner"),
		boolean("av_allmenn_interesse"),
		timestamp("registrert"),
		timestamp("oppdatert"),
		integer("antall_merknader"),
		integer("rang"),
	)
	c.Relations = []store.Relation{
		kommuner(
			"sted_id",
		), merknader("skrivemaate_merknad", "skrivemaate_id"), dokumentasjon(), matrikkelreferanser("sted_id"),
		historikk("skrivemaate"),
		relation("kasus", "kasus", "skrivemaate_id", "",
			properties(text("kasustype"), text("variasjonstillegg"), text("kjernenavn"), text("funksjonstillegg"))),
	}
	return c
}

// dokumentasjon returns the relation from spellings to their documentation. The relations within it have at most one
// row each.
func dokumentasjon() store.Relation {
	sak := []store.Property{store.Property(integer("aar")), store.Property(integer("saksnummer")),
		store.Property(text("arkivreferanse").norm()), store.Property(text("beskrivelse").norm())}
	return relation(
		"dokumentasjon",
		"dokumentasjon",
		"skrivemaate_id",
		"",
		properties(text("art"), boolean("offentlig"), date("dato"), text("dokumenttype"), text("person").norm(),
			text("tekst").norm(), text("side")),
		relation("bok", "bok", "id", "bok_id",
			properties(text("tittel").norm(), text("utgave").norm(), text("utgiver").norm(), integer("utgivelsesaar"))),
		relation("kartprodukt", "kartprodukt", "id", "kartprodukt_id",
			properties(text("karttype"), text("kartblad").norm(), integer("utgivelsesaar"))),
		relation("vedtak", "vedtak", "id", "vedtak_id",
			properties(integer("aar"), integer("saksnummer"), integer("arkivloepenummer"), date("vedtaksdato")),
			relation("navnesak", "navnesak", "id", "navnesak_id", sak)),
		relation(
			"del_av_samlevedtak",
			"del_av_samlevedtak",
			"id",
			"del_av_samlevedtak_id",
			properties(integer("arkivloepenummer")),
			relation("samlevedtak", "samlevedtak", "id", "samlevedtak_id",
				append(slices.Clone(sak), store.Property(date("vedtaksdato")))),
		),
		relation("klage", "klage", "id", "klage_id", append(slices.Clone(sak), store.Property(date("klagedato")))),
	)
}
