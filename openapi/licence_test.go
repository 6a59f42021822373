package openapi_test

import (
	"encoding/json"
	"testing"

	"grense/openapi"
)

func TestLicenceIsAnSPDXIdentifierWhereItIsOne(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, url, want string }{
		{"CC BY 4.0", "https://creativecommons.org/licenses/by/4.0/", "CC-BY-4.0"},
		{"Creative Commons BY 4.0", "http://www.creativecommons.org/licenses/by/4.0/deed.no", "CC-BY-4.0"},
		{"cc by-sa 4.0", "", "CC-BY-SA-4.0"},
		{"CC0 1.0", "", "CC0-1.0"},
		{"NLOD 2.0", "https://data.norge.no/nlod/no/2.0", "NLOD-2.0"},
		{"Norge digitalt", "https://example.org/vilkår", "Norge digitalt"},
		{"Our own", "https://creativecommons.org.example.org/licenses/by/4.0/", "Our own"},
	} {
		b, err := openapi.Build(
			openapi.Input{BaseURL: "http://localhost", Licence: openapi.Licence{Name: tt.name, URL: tt.url}},
		)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Info struct{ License struct{ Name string } }
		}
		if err := json.Unmarshal(b, &doc); err != nil || doc.Info.License.Name != tt.want {
			t.Errorf("%s, %s: %q, want %q", tt.name, tt.url, doc.Info.License.Name, tt.want)
		}
	}
}
