package server_test

import (
	"fmt"
	"html"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"grense/internal/config"
)

var optionOf = regexp.MustCompile(`<option value="([^"]+)"( selected)?>([^<]*)</option>`)

// TestChoicesOfProcessesAreWords: people choose between words in the language of the page, and the form sends the
// value.
func TestChoicesOfProcessesAreWords(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "open" })
	texts := map[string]map[string]string{}
	for _, lang := range []string{"nb", "nn", "en"} {
		texts[lang] = map[string]string{}
		for _, p := range a.get("/processes").wants(200).json()["processes"].([]any) {
			id := p.(map[string]any)["id"].(string)
			for _, m := range optionOf.FindAllStringSubmatch(
				string(a.get("/processes/"+id+"?f=html&lang="+lang).wants(200).Body), -1) {
				texts[lang][m[1]] = m[3]
				if lang == "nb" && m[3] == m[1] {
					t.Errorf("%s: the choice %q is no word", id, m[1])
				}
			}
		}
	}
	for value, want := range map[string][3]string{"kommuner": {"Kommuner", "Kommunar", "Municipalities"},
		"true": {"ja", "ja", "yes"}, "intersects": {"berørt", "rørt", "touched"},
		"gpkg": {"GeoPackage", "GeoPackage", "GeoPackage"}} {
		if got := [3]string{texts["nb"][value], texts["nn"][value], texts["en"][value]}; got != want {
			t.Errorf("%s is shown as %q, want %q", value, got, want)
		}
	}

	form := url.Values{"collection_id": {"kommuner"}, "area_type": {"kommune"}, "area_name": {"Atlantis"},
		"predicate": {"within"}, "run": {"now"}}
	page := string(a.send("/processes/export-by-area-gpkg/execution?lang=nb", form.Encode(), "Content-Type",
		"application/x-www-form-urlencoded", "Accept", "text/html").wants(400).Body)
	var chosen []string
	for _, m := range optionOf.FindAllStringSubmatch(page, -1) {
		if m[2] != "" {
			chosen = append(chosen, m[1])
		}
	}
	if fault := "Området finnes ikke; skriv navnet slik datasettet har det, eller nummeret."; strings.Count(
		page, fault) != 2 || strings.Contains(page, `<span lang="en"`) {
		t.Error("what is wrong is not told in the language of the page, above the form and beside the field")
	}
	if strings.Join(chosen, " ") != "kommuner kommune within" {
		t.Errorf("after a fault %q are chosen", chosen)
	}
}

// TestFaultsOfTablesAreInTheLanguageOfThePage, with its row, and what was typed stays.
func TestFaultsOfTablesAreInTheLanguageOfThePage(t *testing.T) {
	t.Parallel()
	path, err := wholeDemo()
	if err != nil {
		t.Fatal(err)
	}
	a := serve(t, path, func(c *config.Config) { c.Auth = "open" })
	series := func(table string) url.Values {
		return url.Values{"table": {table}, "to": {"2024-01-01"}, "scheme": {"kommune"}, "code": {"code"},
			"date": {"date"}, "value": {"value"}}
	}
	weights := func(table string) url.Values {
		v := series("code,date,value\n1504,2019,1\n")
		v.Set("weights", "supplied")
		v.Set("weightsTable", table)
		return v
	}
	many := "code,date,value,k\n"
	for _, nr := range strings.Fields(
		string(a.get("/collections/kommuner/items?f=csv&limit=1000&properties=nr").wants(200).Body))[1:] {
		many += nr[strings.LastIndex(nr, ",")+1:] + ",2024,1,0\n"
	}
	for i := range 2900 {
		many += fmt.Sprintf("0301,2024,1,%d\n", i+1)
	}
	crowd := series(many)
	crowd.Set("by", "k")
	for _, x := range []struct {
		id    string
		typed url.Values
		said  [3]string
	}{
		{"harmonise-series", crowd, [3]string{"357 inndelinger i 2901 rekker er for mye på én gang; del tabellen i " +
			"flere.", "357 inndelingar i 2901 rekkjer er for mykje på éin gong; del tabellen i fleire.",
			"357 divisions in 2901 series are too many at once; harmonise it in parts."}},
		{"enrich-table", url.Values{"table": {"a,b\n1,2\n"}}, [3]string{"Tabellen har ingen kolonner med punkter " +
			"(lon og lat) eller numre (code); skriv hva de heter: tabellen har a, b.",
			"Tabellen har ingen kolonnar med punkt (lon og lat) eller nummer (code); skriv kva dei heiter: tabellen " +
				"har a, b.", "No columns with points (lon and lat) or codes (code) were found; name them: the table " +
				"has a, b."}},
		{"enrich-table", url.Values{"table": {"lon,lat\n1,2\n"}, "x": {"øst"}, "y": {"lat"}},
			[3]string{"Tabellen har ingen kolonne som heter «øst»; den har lon, lat.",
				"Tabellen har ingen kolonne som heiter «øst»; han har lon, lat.",
				"The table has no column “øst”; it has lon, lat."}},
		{"join-table", url.Values{"collection_id": {"kommuner"}, "table": {"code,people\n0301,1,2\n"},
			"format": {"csv"}}, [3]string{"Rad 1 har 3 celler, overskriftene har 2.",
			"Rad 1 har 3 celler, overskriftene har 2.", "Row 1 has 3 cells, the header 2."}},
		{"harmonise-series", weights("code,weight\n1504,-1\n"), [3]string{"Rad 1: vekten «-1» er ikke noe tall fra 0 " +
			"og opp.", "Rad 1: vekta «-1» er ikkje noko tal frå 0 og opp.",
			"Row 1: the weight “-1” is no number from 0."}},
		{"harmonise-series", weights("code,weight\n\"1504,1\n"),
			[3]string{"Rad 1: et anførselstegn står feil.", "Rad 1: eit hermeteikn står feil.",
				"Row 1: a quotation mark is out of place."}},
		{"harmonise-series", series("code,date,value\n1504,2019,1x5\n"),
			[3]string{"Rad 1: «1x5» er ikke noe tall; skriv sifre, med punktum foran desimaler.",
				"Rad 1: «1x5» er ikkje noko tal; skriv siffer, med punktum framfor desimalar.",
				"Row 1: “1x5” is no number; write digits, with a point before decimals."}},
		{"harmonise-series", series("code,date,value\n1504,2019\n"), [3]string{"Rad 1: den har flere eller færre " +
			"celler enn overskriftene.", "Rad 1: ho har fleire eller færre celler enn overskriftene.",
			"Row 1: it has more or fewer cells than the heading."}},
		{"harmonise-series", series("code,value\n1504,1\n"), [3]string{"Overskriftene: ingen kolonne heter «date»; " +
			"tabellen har code, value.", "Overskriftene: ingen kolonne heiter «date»; tabellen har code, value.",
			"Heading: there is no column “date”; there are code, value."}},
	} {
		for i, lang := range []string{"nb", "nn", "en"} {
			x.typed.Set("run", "now")
			page := string(a.send("/processes/"+x.id+"/execution?lang="+lang, x.typed.Encode(), "Content-Type",
				"application/x-www-form-urlencoded", "Accept", "text/html").wants(400).Body)
			if n := strings.Count(page, x.said[i]); n != 2 || strings.Contains(page, `<span lang="en"`) {
				t.Errorf("%s in %s: %q is told %d times: %s", x.id, lang, x.said[i], n,
					regexp.MustCompile(`(?s)<span class="fault".*?</span>`).FindString(page))
			}
			if !strings.Contains(page, html.EscapeString(strings.TrimSpace(x.typed.Get("table")))) {
				t.Errorf("%s in %s: the table is lost", x.id, lang)
			}
		}
	}
	page := string(a.upload(t, nil, "a.csv", "a,b\n1,2\n", "Accept", "text/html", "Accept-Language", "nn").wants(
		400).Body)
	if !strings.Contains(page, "Tabellen har ingen kolonnar med punkt") {
		t.Error("what is wrong with a file is not told in the language of the page")
	}
}
