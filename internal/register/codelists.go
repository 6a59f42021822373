package register

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"

	"grense/internal/demo"
	"grense/internal/store"
)

// codeListText holds the code lists. The values of the public lists come from the SSR 5.0 product specification
// (Kartverket). The lists omraade, stedMerknadstype, stedsnavnMerknadstype, skrivemaateMerknadstype and
// forvaltningsomraade are not published; they have default values chosen for this program.
//
//go:embed codelists.csv
var codeListText string

// CodeList is a list of the values that a coded property may have.
type CodeList struct {
	ID    string // name of the list, for example "navneobjekttype"
	Title store.Text
	Codes []Code // in published order
}

// Code is one value of a list.
type Code struct {
	Value  string     // as published, for example "fjell"
	Short  string     // short form: ISO 639-3 of a language, country code, letters or four digits; "" if there is none
	Parent string     // value in the parent list (group of a name type, county of a municipality); "" if none
	Order  int        // position in the published list
	Name   store.Text // nb always; nn and en if they differ or are known; se for Northern Sami
	ID     string     // form used in records and protocols: Short in the lists spraak and land, otherwise Value
}

// listTitles holds the titles of the lists, in the order of CodeLists.
var listTitles = []struct {
	id     string
	nb, nn string // an empty nn is the same as nb
	en     string
}{
	{"navneobjekthovedgruppe", "Navneobjekthovedgruppe", "Namneobjekthovudgruppe", "Main group of named features"},
	{"navneobjektgruppe", "Navneobjektgruppe", "Namneobjektgruppe", "Group of named features"},
	{"navneobjekttype", "Navneobjekttype", "Namneobjekttype", "Type of named feature"},
	{"stedstatus", "Stedstatus", "Stadstatus", "Status of a place"},
	{"navnestatus", "Navnestatus", "Namnestatus", "Status of a name"},
	{"navnesakstatus", "Navnesakstatus", "Namnesakstatus", "Status of the name case"},
	{"skrivemaatestatus", "Skrivemåtestatus", "Skrivemåtestatus", "Status of a spelling"},
	{"spraak", "Språk", "Språk", "Language"},
	{"spraakprioritering", "Språkprioritering", "Språkprioritering", "Order of languages"},
	{"land", "Land", "Land", "Country"},
	{"vedtaksmyndighet", "Vedtaksmyndighet", "Vedtaksmyndigheit", "Deciding authority"},
	{"kasustype", "Kasustype", "Kasustype", "Grammatical case"},
	{"rekkefoelge", "Rekkefølge", "Rekkjefølgje", "Order of the parts of a name"},
	{
		"sortering1",
		"Sortering 1 (N er viktigst)",
		"Sortering 1 (N er viktigast)",
		"Importance, letter (N is the most important)",
	},
	{
		"sortering2",
		"Sortering 2 (99 er viktigst)",
		"Sortering 2 (99 er viktigast)",
		"Importance, number (99 is the most important)",
	},
	{"tilleggsopplysningstype", "Type tilleggsopplysning", "Type tilleggsopplysning", "Type of additional information"},
	{"karttype", "Karttype", "Karttype", "Type of map product"},
	{"dokumenttype", "Dokumenttype", "Dokumenttype", "Type of document"},
	{"omraade", "Område for navnesaker", "Område for namnesaker", "Area of name cases"},
	{"stedMerknadstype", "Type merknad til sted", "Type merknad til stad", "Type of remark on a place"},
	{"stedsnavnMerknadstype", "Type merknad til stedsnavn", "Type merknad til stadnamn", "Type of remark on a name"},
	{
		"skrivemaateMerknadstype",
		"Type merknad til skrivemåte",
		"Type merknad til skrivemåte",
		"Type of remark on a spelling",
	},
	{"forvaltningsomraade", "Forvaltningsområde", "Forvaltningsområde", "Administrative area"},
	{"fylke", "Fylke", "Fylke", "County"},
	{"kommune", "Kommune", "Kommune", "Municipality"},
}

// CodeLists returns all code lists: those of the place-name register, and the counties and municipalities in force
// since 1 January 2024. The caller owns the result.
func CodeLists() ([]CodeList, error) {
	set, err := demo.Facts()
	if err != nil {
		return nil, fmt.Errorf("register: %w", err)
	}
	return codeLists(set)
}

func codeLists(set *demo.Set) ([]CodeList, error) {
	lists := make([]CodeList, len(listTitles))
	at := map[string]*CodeList{}
	for i, t := range listTitles {
		lists[i] = CodeList{ID: t.id, Title: store.Text{"nb": t.nb, "nn": t.nn, "en": t.en}}
		at[t.id] = &lists[i]
	}
	rows, err := csv.NewReader(strings.NewReader(codeListText)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("register: code lists: %w", err)
	}
	for _, r := range rows[1:] {
		list := at[r[0]]
		order, err := strconv.Atoi(r[4])
		if list == nil || err != nil {
			return nil, fmt.Errorf("register: code lists: bad row %q", r)
		}
		code := Code{Value: r[1], Short: r[2], Parent: r[3], Order: order, Name: store.Text{}, ID: r[1]}
		if list.ID == "spraak" || list.ID == "land" {
			code.ID = code.Short
		}
		for k, lang := range [...]string{"nb", "nn", "en", "se"} {
			if r[5+k] != "" {
				code.Name[lang] = r[5+k]
			}
		}
		list.Codes = append(list.Codes, code)
	}
	for i, f := range set.Fylker {
		at["fylke"].Codes = append(at["fylke"].Codes,
			Code{Value: f.Nr, ID: f.Nr, Order: i + 1, Name: store.Text{"nb": f.Navn}})
	}
	for i := range set.Kommuner {
		k := &set.Kommuner[i]
		at["kommune"].Codes = append(at["kommune"].Codes,
			Code{Value: k.Nr, ID: k.Nr, Parent: k.FylkeNr, Order: i + 1, Name: store.Text{"nb": k.Navn}})
	}
	return lists, nil
}
