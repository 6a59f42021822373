package server_test

import (
	"net/url"
	"regexp"
	"strings"
	"testing"

	"grense/internal/config"
)

var optionOf = regexp.MustCompile(`<option value="([^"]+)"( selected)?>([^<]*)</option>`)

// TestChoicesOfProcessesAreWords: people choose between words in the language of the page, and what is sent is the value.
func TestChoicesOfProcessesAreWords(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "open" })
	texts := map[string]map[string]string{}
	for _, lang := range []string{"nb", "nn", "en"} {
		texts[lang] = map[string]string{}
		for _, p := range a.get("/processes").wants(200).json()["processes"].([]any) {
			id := p.(map[string]any)["id"].(string)
			for _, m := range optionOf.FindAllStringSubmatch(string(a.get("/processes/"+id+"?f=html&lang="+lang).wants(200).Body), -1) {
				texts[lang][m[1]] = m[3]
				if lang == "nb" && m[3] == m[1] {
					t.Errorf("%s: the choice %q is no word", id, m[1])
				}
			}
		}
	}
	for value, want := range map[string][3]string{"kommuner": {"Kommuner", "Kommunar", "Municipalities"}, "true": {"ja", "ja", "yes"}, "intersects": {"berørt", "rørt", "touched"}, "gpkg": {"GeoPackage", "GeoPackage", "GeoPackage"}} {
		if got := [3]string{texts["nb"][value], texts["nn"][value], texts["en"][value]}; got != want {
			t.Errorf("%s is shown as %q, want %q", value, got, want)
		}
	}

	form := url.Values{"collection_id": {"kommuner"}, "area_type": {"kommune"}, "area_name": {"Atlantis"}, "predicate": {"within"}, "run": {"now"}}
	page := string(a.send("/processes/export-by-area-gpkg/execution?lang=nb", form.Encode(), "Content-Type", "application/x-www-form-urlencoded", "Accept", "text/html").wants(400).Body)
	var chosen []string
	for _, m := range optionOf.FindAllStringSubmatch(page, -1) {
		if m[2] != "" {
			chosen = append(chosen, m[1])
		}
	}
	if told := "Området finnes ikke; skriv navnet slik datasettet har det, eller nummeret."; strings.Count(page, told) != 2 || strings.Contains(page, `<span lang="en"`) {
		t.Error("what is wrong is not told in the language of the page, above the form and beside the field")
	}
	if strings.Join(chosen, " ") != "kommuner kommune within" {
		t.Errorf("after a fault %q are chosen", chosen)
	}
}
