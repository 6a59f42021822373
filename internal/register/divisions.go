package register

import (
	"strings"

	"grense/internal/demo"
)

// kommune is a municipality as the generator needs it.
type kommune struct {
	*demo.Kommune
	fylke     int            // index in country.fylker
	names     []officialName // in the order of the official name
	sami      string         // Sami language of second names; "" if there are none
	kven      bool           // some places have Kven names
	priority  string         // code of språkprioritering
	omraade   string         // code of omraade for its name cases
	neighbour int            // index of the municipality with the nearest representative point
}

// officialName is one part of an official name in several languages.
type officialName struct {
	text   string
	spraak string // ISO 639-3
}

// country holds the counties and municipalities in which places are generated.
type country struct {
	kommuner []kommune
	fylker   []fylke
	upto     []uint64 // cumulative weights of the municipalities
}

// fylke is a county.
type fylke struct {
	*demo.Fylke
	names    []officialName
	priority string
	seat     int // index of the largest municipality
}

// Codes of språkprioritering, by the first language of the official name; in Norwegian areas by region.
const (
	firstNorthern   = "nordsamisk-lulesamisk-sørsamisk-norsk-kvensk"
	firstLule       = "lulesamisk-nordsamisk-sørsamisk-norsk-kvensk"
	firstSouthern   = "sørsamisk-lulesamisk-nordsamisk-norsk-kvensk"
	norwegianNorth  = "norsk-nordsamisk-lulesamisk-sørsamisk-kvensk"
	norwegianLule   = "norsk-lulesamisk-nordsamisk-sørsamisk-kvensk"
	norwegianSouth  = "norsk-sørsamisk-lulesamisk-nordsamisk-kvensk"
	countyNordland  = "18"
	countyTroms     = "55"
	countyFinnmark  = "56"
	countyTrondelag = "50"
)

// nameLanguages holds the languages of the parts of the official names that are not only Norwegian, in their order.
var nameLanguages = map[string][]string{
	"Aarborte - Hattfjelldal":            {"sma", "nor"},
	"Fauske - Fuossko":                   {"nor", "smj"},
	"Evenes - Evenášši":                  {"nor", "sme"},
	"Sortland - Suortá":                  {"nor", "sme"},
	"Hábmer - Hamarøy":                   {"smj", "nor"},
	"Trondheim - Tråante":                {"nor", "sma"},
	"Namsos - Nåavmesjenjaelmie":         {"nor", "sma"},
	"Rosse - Røros":                      {"sma", "nor"},
	"Snåase - Snåsa":                     {"sma", "nor"},
	"Raarvihke - Røyrvik":                {"sma", "nor"},
	"Harstad - Hárstták":                 {"nor", "sme"},
	"Dielddanuorri - Tjeldsund":          {"sme", "nor"},
	"Loabák - Lavangen":                  {"sme", "nor"},
	"Storfjord - Omasvuotna - Omasvuono": {"nor", "sme", "fkv"},
	"Gáivuotna - Kåfjord - Kaivuono":     {"sme", "nor", "fkv"},
	"Nordreisa - Ráisa - Raisi":          {"nor", "sme", "fkv"},
	"Hammerfest - Hámmerfeasta":          {"nor", "sme"},
	"Kárášjohka - Karasjok":              {"sme", "nor"},
	"Guovdageaidnu - Kautokeino":         {"sme", "nor"},
	"Porsanger - Porsáŋgu - Porsanki":    {"nor", "sme", "fkv"},
	"Deatnu - Tana":                      {"sme", "nor"},
	"Unjárga - Nesseby":                  {"sme", "nor"},
	"Nordland - Nordlánnda":              {"nor", "smj"},
	"Trøndelag - Trööndelage":            {"nor", "sma"},
	"Troms - Romsa - Tromssa":            {"nor", "sme", "fkv"},
	"Finnmark - Finnmárku - Finmarkku":   {"nor", "sme", "fkv"},
}

// OfficialName is one part of an official name in several languages.
type OfficialName struct {
	Text     string
	Language string // ISO 639-3
}

// OfficialNames splits the official name of a county or municipality, for example "Unjárga - Nesseby". A part whose
// language is not known is taken to be Norwegian.
func OfficialNames(name string) (out []OfficialName) {
	for _, n := range splitOfficial(name) {
		out = append(out, OfficialName{n.text, n.spraak})
	}
	return out
}

// splitOfficial splits an official name. A part whose language is not known is taken to be Norwegian.
func splitOfficial(navn string) []officialName {
	languages := nameLanguages[navn]
	var out []officialName
	for i, part := range strings.Split(navn, " - ") {
		n := officialName{part, "nor"}
		if i < len(languages) {
			n.spraak = languages[i]
		}
		out = append(out, n)
	}
	return out
}

// priorityOf returns the codes of språkprioritering and omraade of a county or municipality.
func priorityOf(names []officialName, fylkeNr string) (priority, omraade string) {
	switch names[0].spraak {
	case "sme":
		return firstNorthern, "samiskOmråde"
	case "smj":
		return firstLule, "samiskOmråde"
	case "sma":
		return firstSouthern, "samiskOmråde"
	}
	if len(names) == 3 {
		return norwegianNorth, "kvenskOmråde"
	}
	switch fylkeNr {
	case countyTroms, countyFinnmark:
		return norwegianNorth, "nordNorge"
	case countyNordland:
		return norwegianLule, "nordNorge"
	case countyTrondelag:
		return norwegianSouth, "midtNorge"
	case "11", "46":
		return norwegianSouth, "vestlandet"
	case "15":
		return norwegianSouth, "midtNorge"
	}
	return norwegianSouth, "østlandetOgAgder"
}

func newCountry(set *demo.Set) *country {
	c := &country{}
	at := map[string]int{}
	for i := range set.Fylker {
		f := fylke{Fylke: &set.Fylker[i], names: splitOfficial(set.Fylker[i].Navn), seat: -1}
		f.priority, _ = priorityOf(f.names, f.Nr)
		c.fylker = append(c.fylker, f)
		at[f.Nr] = i
	}
	total := uint64(0)
	for i := range set.Kommuner {
		k := kommune{
			Kommune: &set.Kommuner[i],
			fylke:   at[set.Kommuner[i].FylkeNr],
			names:   splitOfficial(set.Kommuner[i].Navn),
		}
		k.priority, k.omraade = priorityOf(k.names, k.FylkeNr)
		k.kven = k.FylkeNr == countyTroms || k.FylkeNr == countyFinnmark
		if k.kven {
			k.sami = "sme"
		}
		for _, n := range k.names {
			if n.spraak != "nor" && n.spraak != "fkv" {
				k.sami = n.spraak
			}
		}
		c.kommuner = append(c.kommuner, k)
		total += areaWeight(uint64(k.AreaKm2))
		c.upto = append(c.upto, total)
		if f := &c.fylker[k.fylke]; f.seat < 0 || k.AreaKm2 > c.kommuner[f.seat].AreaKm2 {
			f.seat = i
		}
	}
	for i := range c.kommuner {
		c.kommuner[i].neighbour = c.nearest(i)
	}
	return c
}

// nearest returns the index of the municipality whose representative point is nearest to that of number i. It
// calculates in whole metres, without rounding.
func (c *country) nearest(i int) int {
	best, least := i, int64(-1)
	for j := range c.kommuner {
		if j == i {
			continue
		}
		dx := int64(c.kommuner[i].Point[0]) - int64(c.kommuner[j].Point[0])
		dy := int64(c.kommuner[i].Point[1]) - int64(c.kommuner[j].Point[1])
		if d := dx*dx + dy*dy; least < 0 || d < least {
			best, least = j, d
		}
	}
	return best
}

// areaWeight returns 10·area^0.6, rounded down, using integers only: the largest w with w^5 <= 10^5 area^3. area is in
// km² and below 30,000.
func areaWeight(area uint64) uint64 {
	target := 100_000 * area * area * area
	w := uint64(1)
	for (w+1)*(w+1)*(w+1)*(w+1)*(w+1) <= target {
		w++
	}
	return w
}
