package register

import (
	"strings"
	"time"
)

// texts of additional information and remarks. NAVN stands for a name of the place, KOMMUNE for its municipality, and
// PERSON for a person.
var (
	stedTillegg = map[string][]string{
		"historisk": {"Omtalt i skjøte fra 1789 som NAVN.", "Stedet ble ryddet på 1600-tallet.",
			"Nedlagt husmannsplass i KOMMUNE.", "Brukt som slåtteland til 1950."},
		"lokalitet": {"Ligger ved den gamle ferdselsvegen.", "Sør for kirken.", "På vestsida av elva.",
			"Ligger ved setervegen i KOMMUNE."},
		"matrikkelnummerFraSSR":    {"Gnr 12 bnr 3", "Gnr 7 bnr 1", "Gnr 104 bnr 22"},
		"adresseinformasjonFraSSR": {"Adresseparsell KOMMUNE", "Adresse tildelt 2005."},
		"merknadFraSSR": {
			"Plassert etter eldre kart.",
			"Posisjonen er usikker.",
			"Flere steder med navnet NAVN i KOMMUNE.",
		},
		"adressekode": {"Adressekode 1010", "Adressekode 2250"},
	}
	stedsnavnTillegg = map[string][]string{
		"språkfaglig": {"Første ledd er trolig et mannsnavn.", "Uttalen er med tostavingstonelag.",
			"Av norrønt opphav, jamfør NAVN i nabobygda.", "Samisk parallellnavn er i bruk."},
		"historisk": {"Skrevet på samme måte i matrikkelen fra 1838.", "NAVN er kjent fra et brev fra 1420.",
			"Navnet er flyttet hit fra en eldre gard."},
		"navnesak": {"Høring avsluttet.", "Språkrådet har gitt tilråding om NAVN.", "Eieren ønsker skrivemåten NAVN."},
	}
	stedMerknad = map[string][]string{
		"posisjon":        {"Punktet bør flyttes nærmere bebyggelsen.", "Posisjonen er kontrollert i felt."},
		"navneobjekttype": {"Bør vurderes som bruk.", "Navneobjekttypen er rettet."},
		"tilhørighet":     {"Ligger på grensa til nabokommunen.", "Hører til KOMMUNE."},
		"annet":           {"Opplysning fra PERSON.", "Se arkivet."},
	}
	stedsnavnMerknad = map[string][]string{
		"språk":     {"Språket må avklares.", "Kan være samisk opphav."},
		"uttale":    {"Uttales med trykk på første stavelse.", "Lydopptak med PERSON."},
		"navnebruk": {"Navnet er lite brukt i dag.", "NAVN er i bruk blant eldre."},
		"annet":     {"Opplysning fra PERSON.", "Se arkivet."},
	}
	skrivemaateMerknad = map[string][]string{
		"normering": {"Skrivemåten følger rettskrivingen.", "Normert etter uttalen."},
		"kilde":     {"Kilden er utrygg.", "Finnes også på eldre kart."},
		"bøyning":   {"Bestemt form er mest brukt.", "Dativform i eldre kilder."},
		"annet":     {"Opplysning fra PERSON.", "Se arkivet."},
	}
	enhetTillegg = []string{"Del av utmarka.", "Teig nord for elva.", "Felles beiteområde.", "Tidligere husmannsplass.",
		"Sjøtomt.", "Sameie."}
	dokumentTexts = []string{"Brev fra grunneier om NAVN", "Oversikt over navn i KOMMUNE", "Liste fra grunneierlaget",
		"Melding om nytt vegskilt", "Utskrift fra arkivet"}
	samlingTexts = [kinds]string{"-vatn og -tjønn", "-elv og -bekk", "-fjell, -berg og -haug", "-dal",
		"-øy, -holm og -skjer", "-vik, -sund og -nes", "-gard, -land og -set", "-myr", "-hytte og -seter",
		"-veg og -gate"}
	karttypePages = []string{"nordre blad", "søndre blad", "hele bladet"}
)

// fill replaces NAVN, KOMMUNE and PERSON in a text.
func (g *generator) fill(src *source, p *place, s string) string {
	if !strings.ContainsAny(s, "NKP") {
		return s
	}
	return strings.NewReplacer("NAVN", p.names[0].Best().langnavn(), "KOMMUNE",
		norwegian(g.country.kommuner[p.kommuner[0]].names),
		"PERSON", src.person()).
		Replace(s)
}

// remark is an additional information or an internal remark: a type and a text.
type remark struct {
	types, text         string
	lenke               any // nil or a link
	common              bool
	registered, updated time.Time
}

// remarks returns no remarks for most records, otherwise one or two. permille is the probability of the first. types
// are in the order of the code list.
func (g *generator) remarks(src *source, p *place, permille int, types []string, texts map[string][]string) []remark {
	var out []remark
	for range 2 {
		if !src.chance(permille) {
			break
		}
		permille = 250
		r := remark{types: pick(src, types), common: src.chance(300)}
		r.text = g.fill(src, p, pick(src, texts[r.types]))
		r.registered, r.updated = src.times(p.registered)
		if src.chance(100) {
			r.lenke = "https://example.com/arkiv/" + localID(p.stedsnummer)
		}
		out = append(out, r)
	}
	return out
}

// Types in a fixed order, because the order of a map is random.
var (
	stedTilleggTypes = []string{"historisk", "lokalitet", "matrikkelnummerFraSSR", "adresseinformasjonFraSSR",
		"merknadFraSSR", "adressekode"}
	stedsnavnTilleggTypes   = []string{"språkfaglig", "historisk", "navnesak"}
	stedMerknadTypes        = []string{"posisjon", "navneobjekttype", "tilhørighet", "annet"}
	stedsnavnMerknadTypes   = []string{"språk", "uttale", "navnebruk", "annet"}
	skrivemaateMerknadTypes = []string{"normering", "kilde", "bøyning", "annet"}
)
