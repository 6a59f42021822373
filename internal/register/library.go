package register

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// book is a book that documents spellings. All books are invented.
type book struct {
	id           int64
	tittel, isbn string
	utgave       string
	forfatter    string
	utgiver      string
	aar          int
	offentlig    bool
	rang         int64
}

// national holds the titles of books about the whole country.
var national = []string{
	"Norske gardsnavn i ny ordning", "Norske elvenavn og deres opphav", "Norske innsjønavn", "Norske øynavn",
	"Norske fjellnavn fra sør til nord",
	"Norske seternavn", "Norske fjordnavn", "Stedsnavn i norske grenseland", "Samiske og norske stedsnavn side om side",
	"Kvenske stedsnavn",
	"Håndbok i norsk stedsnavnskikk", "Navn på norske skjær og båer", "Gatenavn i norske byer", "Norske bygdenavn",
	"Namneskikk på norske garder",
	"Davvisámegiela báikenamat", "Sjøkartets navn", "Navn i utmark", "Skogens stedsnavn", "Vegnavn på landsbygda",
}

// Names of people and publishers, all invented.
var (
	givenNames = []string{"Anders", "Berit", "Carl", "Dagny", "Einar", "Frida", "Gudrun", "Halvor", "Ingrid",
		"Johannes", "Kari", "Lars", "Marit", "Nils",
		"Olga", "Peder", "Ragnhild", "Sigurd", "Torbjørg", "Ulrik", "Vigdis", "Yngvar", "Åse", "Øystein", "Máret",
		"Niillas", "Piera", "Inga"}
	familyNames = []string{"Bakkelund", "Dalsvik", "Engeset", "Fjellvang", "Granmo", "Haugstad", "Kvernberg",
		"Lindheim", "Myrvold", "Nesheim", "Odland",
		"Rønning", "Sandvik", "Solbakken", "Strandheim", "Tveiten", "Ulvund", "Vassbotn", "Åsgard", "Østrem", "Gaup",
		"Sara", "Utsi"}
	publishers = []string{"Navneforlaget", "Fjell og Fjord forlag", "Bygdebokutvalget", "Språk og sted", "Kyst forlag",
		"Norske kart og bøker", "Ubmi"}
)

// person returns a random name of a person.
func (s *source) person() string { return pick(s, givenNames) + " " + pick(s, familyNames) }

// books returns all books: the national ones, and for each municipality one about its history and one about its names.
func (g *generator) books() []book {
	var out []book
	add := func(title string) {
		id := int64(len(out)) + 1
		src := source{mix(g.seed ^ uint64(id)<<32)}
		b := book{
			id:        id,
			tittel:    title,
			forfatter: src.person(),
			utgiver:   pick(&src, publishers),
			aar:       src.between(1898, 2024),
		}
		b.utgave = fmt.Sprintf("%d. utgave", 1+src.under(3))
		if b.aar >= 1970 {
			b.isbn = isbn(int(id))
		}
		b.offentlig = src.chance(500)
		out = append(out, b)
	}
	for _, t := range national {
		add(t)
	}
	for i := range g.country.kommuner {
		navn := norwegian(g.country.kommuner[i].names)
		add("Bygdebok for " + navn)
		add("Stedsnavn i " + navn)
	}
	c := NorwegianOrder()
	order := make([]*book, len(out))
	for i := range out {
		order[i] = &out[i]
	}
	slices.SortFunc(order, func(a, b *book) int {
		return cmp.Or(c.CompareString(a.tittel, b.tittel), cmp.Compare(a.aar, b.aar), cmp.Compare(a.id, b.id))
	})
	for i, b := range order {
		b.rang = int64(i) + 1
	}
	return out
}

// bookOf returns the id of a random book for a place: one about its municipality or a national one.
func (g *generator) bookOf(s *source, p *place) int64 {
	if s.chance(500) {
		return int64(1 + s.under(len(national)))
	}
	return localHistory(p) + int64(s.under(2))
}

// localHistory returns the id of the book about the history of a place's municipality. The next id is the book about
// its names.
func localHistory(p *place) int64 { return int64(1 + len(national) + 2*p.kommuner[0]) }

// isbn returns an ISBN with a valid check digit (ISO 2108, Annex C), in a range chosen for this generator.
func isbn(n int) string {
	digits := fmt.Sprintf("978829999%03d", n%1000)
	sum := 0
	for i, d := range digits {
		sum += int(d-'0') * (1 + 2*(i%2))
	}
	return fmt.Sprintf("978-82-9999-%s-%d", digits[9:], (10-sum%10)%10)
}

// isbnDigits returns an ISBN without hyphens.
func isbnDigits(s string) string { return strings.ReplaceAll(s, "-", "") }

// chart is a map product.
type chart struct {
	id       int64
	karttype string
	blad     string
	aar      int
	utgiver  string
	skann    string // "" if it was not scanned
}

// sheetsPerType is the number of map products of each type.
const sheetsPerType = 60

// chartYears holds the years of publication, by the beginning of the map type; other types are from 1960 to 2020.
var chartYears = []struct {
	prefix string
	lo, hi int
}{{"amtskart", 1826, 1917}, {"gradteigs", 1870, 1930}, {"rektangel", 1870, 1940}, {"historiske", 1750, 1900},
	{"bosetting", 1980, 1984}, {"økonomisk", 1964, 2002}}

// charts returns all map products, sheetsPerType of each type in the order of the code list.
func (g *generator) charts() []chart {
	var out []chart
	for _, types := range g.list("karttype") {
		lo, hi := 1960, 2020
		for _, y := range chartYears {
			if strings.HasPrefix(types.ID, y.prefix) {
				lo, hi = y.lo, y.hi
			}
		}
		for n := range sheetsPerType {
			id := int64(len(out)) + 1
			src := source{mix(g.seed ^ uint64(id)<<40)}
			c := chart{
				id:       id,
				karttype: types.ID,
				aar:      src.between(lo, hi),
				utgiver:  "Kartverket",
				blad:     sheet(&src, types.ID, n, g),
			}
			if n == 0 && hi == 2020 {
				c.aar = 1990
			}
			if src.chance(300) {
				c.skann = fmt.Sprintf("skann/%05d.tif", id)
			}
			out = append(out, c)
		}
	}
	return out
}

// sheet returns the name of a map sheet in the style of its series.
func sheet(s *source, types string, n int, g *generator) string {
	roman := [...]string{"I", "II", "III", "IV"}
	switch {
	case types == "norge1til50000":
		return fmt.Sprintf("%d%d %s", 12+n/3, 11+s.under(25), roman[n%4])
	case strings.HasPrefix(types, "økonomisk"):
		return fmt.Sprintf("%c%c %03d-5-%d", 'A'+n%26, 'A'+s.under(26), 10+n, 1+s.under(4))
	case strings.HasSuffix(types, "serien"), strings.HasSuffix(types, "Sjø"):
		return fmt.Sprint(1 + n)
	}
	return norwegian(g.country.kommuner[s.under(len(g.country.kommuner))].names)
}
