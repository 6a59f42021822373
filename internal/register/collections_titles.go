package register

import (
	"slices"

	"grense/internal/store"
)

// named adds to a collection for searches what is needed to publish it: a title, code lists and references of its
// properties, recognised by their names. It hides the properties in forSearches.
func named(c *store.Collection, title, description [3]string, titleProperty string) *store.Collection {
	c.Title, c.Description, c.TitleProperty = threefold(title), threefold(description), titleProperty
	c.Keywords = []string{"stedsnavn", "place names", "SSR"}
	for i := range c.Properties {
		p := &c.Properties[i]
		if t, ok := propertyTitles[p.Name]; ok {
			p.Title = threefold(t)
		}
		if list, ok := propertyLists[p.Name]; ok {
			p.CodeList = "/codelists/" + list
		}
		p.Ref = propertyRefs[p.Name]
		p.Hidden = slices.Contains(forSearches, p.Name)
	}
	if _, ok := c.Find("oppdatert"); ok {
		c.Instant = "oppdatert"
	}
	return c
}

func threefold(t [3]string) store.Text { return store.Text{"nb": t[0], "nn": t[1], "en": t[2]} }

// forSearches are properties used by searches only: ranks, counts and folded texts.
var forSearches = []string{"rang", "antall_merknader", "soeketekst", "klage_id", "vedtaksomraade_id"}

var propertyLists = map[string]string{
	"vedtaksmyndighet": "vedtaksmyndighet", "omraade": "omraade", "karttype": "karttype",
	"skrivemaatestatus": "skrivemaatestatus", "navnestatus": "navnestatus",
	"navnesakstatus": "navnesakstatus", "spraak": "spraak", "land": "land", "navneobjekttype": "navneobjekttype",
	"kasustype": "kasustype", "rekkefoelge": "rekkefoelge",
	"kommuner": "kommune", "utoever_kommunenummer": "kommune", "utoever_fylkesnummer": "fylke",
}

var propertyRefs = map[string]string{
	"sted_id":        "sted",
	"stedsnavn_id":   "stedsnavn",
	"navnesak_id":    "navnesak",
	"normert_fra_id": "skrivemaate",
}

var propertyTitles = map[string][3]string{
	"aar":                   {"År", "År", "Year"},
	"saksnummer":            {"Saksnummer", "Saksnummer", "Case number"},
	"arkivloepenummer":      {"Løpenummer", "Løpenummer", "Running number"},
	"klagesak":              {"Klagesak", "Klagesak", "Raised by a complaint"},
	"avsluttet":             {"Avsluttet", "Avslutta", "Closed"},
	"reist":                 {"Reist", "Reist", "Raised"},
	"sluttdato":             {"Sluttdato", "Sluttdato", "End date"},
	"beskrivelse":           {"Beskrivelse", "Skildring", "Description"},
	"arkivreferanse":        {"Arkivreferanse", "Arkivreferanse", "Archive reference"},
	"vedtaksmyndighet":      {"Vedtaksmyndighet", "Vedtaksmyndigheit", "Deciding authority"},
	"omraade":               {"Område", "Område", "Region"},
	"stedsnavn":             {"Stedsnavn", "Stadnamn", "Place names"},
	"registrert":            {"Registrert", "Registrert", "Registered"},
	"oppdatert":             {"Oppdatert", "Oppdatert", "Updated"},
	"navnesak_id":           {"Navnesak", "Namnesak", "Case"},
	"vedtaksdato":           {"Vedtaksdato", "Vedtaksdato", "Date of the decision"},
	"gyldig":                {"Gyldig", "Gyldig", "In force"},
	"skrivemaater":          {"Skrivemåter", "Skrivemåtar", "Spellings"},
	"utoever_kommunenummer": {"Vedtatt av kommune", "Vedteke av kommune", "Decided by municipality"},
	"utoever_fylkesnummer":  {"Vedtatt av fylke", "Vedteke av fylke", "Decided by county"},
	"utgaatt":               {"Utgått", "Utgått", "Expired"},
	"tittel":                {"Tittel", "Tittel", "Title"},
	"isbn":                  {"ISBN", "ISBN", "ISBN"},
	"utgave":                {"Utgave", "Utgåve", "Edition"},
	"forfatter":             {"Forfatter", "Forfattar", "Author"},
	"utgiver":               {"Utgiver", "Utgjevar", "Publisher"},
	"utgivelsesaar":         {"Utgivelsesår", "Utgjevingsår", "Year of publication"},
	"offentlig_bruk":        {"I offentlig bruk", "I offentleg bruk", "In public use"},
	"karttype":              {"Kartprodukt", "Kartprodukt", "Map product"},
	"kartblad":              {"Kartblad", "Kartblad", "Sheet"},
	"skann":                 {"Skannet kart", "Skanna kart", "Scanned map"},
	"sted_id":               {"Sted", "Stad", "Place"},
	"stedsnavn_id":          {"Stedsnavn", "Stadnamn", "Place name"},
	"stedsnummer":           {"Stedsnummer", "Stadnummer", "Place number"},
	"stedsnavnnummer":       {"Stedsnavnnummer", "Stadnamnnummer", "Number of the name"},
	"skrivemaatenummer":     {"Skrivemåtenummer", "Skrivemåtenummer", "Number of the spelling"},
	"langnavn":              {"Skrivemåte", "Skrivemåte", "Spelling"},
	"kortnavn":              {"Kortform", "Kortform", "Short form"},
	"rekkefoelge":           {"Rekkefølge av ledd", "Rekkjefølgje av ledd", "Order of parts"},
	"kasustype":             {"Kasus", "Kasus", "Grammatical case"},
	"skrivemaatestatus":     {"Skrivemåtestatus", "Skrivemåtestatus", "Status of the spelling"},
	"skrivemaatestatusdato": {"Skrivemåtestatus fra", "Skrivemåtestatus frå", "Status of the spelling since"},
	"prioritert":            {"Prioritert", "Prioritert", "Preferred"},
	"normert_fra_id":        {"Normert fra", "Normert frå", "Standardised from"},
	"spraak":                {"Språk", "Språk", "Language"},
	"navnestatus":           {"Navnestatus", "Namnestatus", "Status of the name"},
	"navnesakstatus":        {"Navnesakstatus", "Namnesakstatus", "Status of the name case"},
	"visningsnavn":          {"Stedets visningsnavn", "Visingsnamnet til staden", "Display name of the place"},
	"navneobjekttype":       {"Navneobjekttype", "Namneobjekttype", "Type of named feature"},
	"land":                  {"Land", "Land", "Country"},
	"kommuner":              {"Kommuner", "Kommunar", "Municipalities"},
	"av_allmenn_interesse":  {"Av allmenn interesse", "Av allmenn interesse", "Of general interest"},
}
