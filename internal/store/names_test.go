package store_test

import (
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/store"
)

func TestCollectionID(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Fylker": "fylker", "Kommuner-M": "kommuner-m",
		"Ærlig Øy, Å": "aerlig_oy_a", "a__b": "a__b", "n1000.kommune": "n1000_kommune", "": "_", "—": "_",
		"日本": "_u65e5_u672c", "São Paulo": "sao_paulo", "Žalec": "zalec", "Z\u030calec": "zalec",
		"grenser日": "grenser_u65e5", "Москва": "_u043c_u043e_u0441_u043a_u0432_u0430"} {
		if got := store.CollectionID(name); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

func TestLikelyTitle(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ collection, properties, want string }{
		{"kommuner", "nr navn areal", "navn"},
		{"kommune", "kommunenummer kommunenavn fylkesnummer fylkesnavn", "kommunenavn"},
		{"n1000_fylke", "kommunenavn fylkenavn", "fylkenavn"},
		{"steder", "name_en NAME", "NAME"},
		{"states", "STATE_NAME STATE_FIPS", "STATE_NAME"},
		{"steder", "adm0name adm1name", ""},
		{"steder", "title name", "name"},
		{"grenser", "dato metode", ""},
		{"fylke", "opphav administrativenhetnavn fylkesnavn", "fylkesnavn"},
		{"n1000_stedsnavn", "stedsnummer fulltekst streng", "fulltekst"},
		{"kommune", "fulltekst kommunenavn", "kommunenavn"},
		{"steder", "#navn", ""},
		{"steder", "-navn", ""},
		{"steder", "", ""},
	} {
		c := store.Collection{ID: x.collection, Table: x.collection}
		for name := range strings.FieldsSeq(x.properties) {
			p := store.Property{Name: strings.TrimLeft(name, "#-"), Type: cql2.TypeText,
				Hidden: strings.HasPrefix(name, "-")}
			if strings.HasPrefix(name, "#") {
				p.Type = cql2.TypeInteger
			}
			c.Properties = append(c.Properties, p)
		}
		if got := c.LikelyTitle(); got != x.want {
			t.Errorf("%s with %s: %q, want %q", x.collection, x.properties, got, x.want)
		}
	}
}
