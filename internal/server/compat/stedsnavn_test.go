package compat_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	contract "grense/api/placename"
	"grense/internal/placename"
)

type hits struct {
	Metadata struct {
		Side, TotaltAntallTreff, TreffPerSide, ViserFra, ViserTil int
		SokeStreng                                                string
	}
	Navn []struct {
		Skrivemaate          string `json:"skrivemåte"`
		Skrivemaatestatus    string `json:"skrivemåtestatus"`
		Navnestatus          string
		Spraak               string `json:"språk"`
		Navneobjekttype      string
		Stedsnummer          int64
		Stedstatus           string
		MeterFraPunkt        int
		Representasjonspunkt struct {
			Nord, Oest float64
			Koordsys   int
		}
		Fylker    []struct{ Fylkesnavn, Fylkesnummer string }
		Kommuner  []struct{ Kommunenavn, Kommunenummer string }
		Stedsnavn []map[string]any
	}
}

// search asks and returns the hits.
func search(c *client, path string, query ...string) hits {
	c.t.Helper()
	v := url.Values{}
	for i := 0; i < len(query); i += 2 {
		v.Add(query[i], query[i+1])
	}
	return read[hits](c, "/stedsnavn/v1"+path+"?"+v.Encode())
}

// spellings returns those that a search by SOAP finds, with numbers of places.
func spellings(t *testing.T, c *client, name string) (out []string) {
	t.Helper()
	s := placename.New(openDemo(t), placename.Options{})
	a, err := s.Search(t.Context(),
		&contract.FindSkrivemaater{SkrivemaateSoek: contract.SkrivemaateSoek{Stedsnavn: &name}})
	if err != nil {
		t.Fatal(err)
	}
	for a.Next != nil {
		h, err := a.Next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if h == nil {
			break
		}
		for _, x := range h.(contract.SkrivemaateTreffList) {
			out = append(out, fmt.Sprint(x.Ident.Stedsnummer, " ", x.Skrivemaate))
		}
	}
	return out
}

// TestSearchesEqualThoseOfSOAP pages through a search and compares hits and order.
func TestSearchesEqualThoseOfSOAP(t *testing.T) {
	t.Parallel()
	inBothStores(t, func(t *testing.T, c *client) {
		for _, name := range []string{"Oslo", "os*", "*vik", "be*en"} {
			want, got := spellings(t, c, name), []string{}
			for side := 1; ; side++ {
				h := search(c, "/navn", "sok", name, "treffPerSide", "7", "side", fmt.Sprint(side))
				if h.Metadata.TotaltAntallTreff != len(want) {
					t.Fatalf("%s: %d hits, want %d", name, h.Metadata.TotaltAntallTreff, len(want))
				}
				if len(h.Navn) == 0 {
					break
				}
				if m := h.Metadata; m.ViserFra != len(got)+1 || m.ViserTil != len(got)+len(h.Navn) || m.Side != side {
					t.Errorf("%s: %+v", name, m)
				}
				for _, x := range h.Navn {
					got = append(got, fmt.Sprint(x.Stedsnummer, " ", x.Skrivemaate))
				}
			}
			if !slices.Equal(got, want) || len(want) == 0 {
				t.Errorf("%s:\ngot  %.300v\nwant %.300v", name, got, want)
			}
		}
	})
}

// TestHitHasTheMembersThatClientsRead compares the keys of a hit, and their order, with those of public clients.
func TestHitHasTheMembersThatClientsRead(t *testing.T) {
	t.Parallel()
	inBothStores(t, func(t *testing.T, c *client) {
		const path = "/stedsnavn/v1/navn?sok=oslo&treffPerSide=1&utkoordsys=4258"
		var doc struct {
			Metadata json.RawMessage
			Navn     []json.RawMessage
		}
		if err := json.Unmarshal(c.get(path, http.StatusOK), &doc); err != nil || len(doc.Navn) == 0 {
			t.Fatal(err, len(doc.Navn))
		}
		if got := keys(t, doc.Metadata); got != "treffPerSide side totaltAntallTreff viserFra viserTil sokeStreng" {
			t.Errorf("metadata: %s", got)
		}
		if got := keys(t, doc.Navn[0]); got != "skrivemåte skrivemåtestatus navnestatus språk navneobjekttype "+
			"stedsnummer stedstatus representasjonspunkt fylker kommuner" {
			t.Errorf("hit: %s", got)
		}
		h := search(c, "/navn", "sok", "oslo", "navneobjekttype", "by")
		if x := h.Navn[0]; x.Skrivemaate != "Oslo" || x.Navneobjekttype != "By" || x.Navnestatus != "hovednavn" ||
			x.Spraak != "Norsk" || x.Stedstatus != "aktiv" || x.Kommuner[0].Kommunenavn != "Oslo" ||
			x.Fylker[0].Fylkesnummer != "03" || x.Representasjonspunkt.Koordsys != 4258 ||
			x.Representasjonspunkt.Nord < 59 || x.Representasjonspunkt.Nord > 61 {
			t.Errorf("%+v", x)
		}
	})
}

// keys returns the names of the members of an object in their order.
func keys(t *testing.T, object json.RawMessage) string {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(string(object)))
	var out []string
	depth, name := 0, true
	for {
		token, err := d.Token()
		if err != nil {
			return strings.Join(out, " ")
		}
		switch x := token.(type) {
		case json.Delim:
			if depth == 1 {
				name = x == '}' || x == ']' || name
			}
			if x == '{' || x == '[' {
				depth++
			} else if depth--; depth == 1 {
				name = true
			}
		default:
			if depth == 1 {
				if name {
					out = append(out, fmt.Sprint(x))
				}
				name = !name
			}
		}
	}
}

// TestScriptsFindTheNameFirst: they read stedsnavn[[n]][1,1], the first column of the first row.
func TestScriptsFindTheNameFirst(t *testing.T) {
	t.Parallel()
	inBothStores(t, func(t *testing.T, c *client) {
		var doc struct {
			Navn []struct{ Stedsnavn []json.RawMessage }
		}
		const path = "/stedsnavn/v1/sted?sok=oslo*&fnr=03&knr=0301"
		if err := json.Unmarshal(c.get(path, http.StatusOK), &doc); err != nil {
			t.Fatal(err)
		}
		if len(doc.Navn) == 0 {
			t.Fatal("no hits prove anything")
		}
		for _, x := range doc.Navn {
			const want = "skrivemåte skrivemåtestatus navnestatus språk stedsnavnnummer"
			if got := keys(t, x.Stedsnavn[0]); got != want {
				t.Errorf("got %s", got)
			}
		}
	})
}

func TestPlacesAtAPointAreWithinItsRadius(t *testing.T) {
	t.Parallel()
	inBothStores(t, func(t *testing.T, c *client) {
		at := search(c, "/sted", "sok", "oslo", "navneobjekttype", "by", "utkoordsys", "25833").Navn[0]
		p := at.Representasjonspunkt
		var raw map[string]any
		b := c.get("/stedsnavn/v1/sted?sok=oslo&navneobjekttype=by&utkoordsys=25833&filtrer=navn.representasjonspunkt",
			http.StatusOK)
		if err := json.Unmarshal(b, &raw); err != nil {
			t.Fatal(err)
		}
		if len(raw) != 1 {
			t.Errorf("filtered: %.200s", b)
		}
		east := raw["navn"].([]any)[0].(map[string]any)["representasjonspunkt"].(map[string]any)["øst"].(float64)
		h := search(c, "/punkt", "nord", fmt.Sprint(p.Nord), "ost", fmt.Sprint(east), "koordsys", "25833",
			"radius", "5000", "treffPerSide", "500", "navnestatus", "hovednavn")
		if len(h.Navn) == 0 || h.Navn[0].MeterFraPunkt != 0 || h.Navn[0].Stedsnummer != at.Stedsnummer {
			t.Fatalf("%+v", h.Metadata)
		}
		for i, x := range h.Navn {
			if x.MeterFraPunkt > 5000 || i > 0 && x.MeterFraPunkt < h.Navn[i-1].MeterFraPunkt || len(x.Stedsnavn) == 0 {
				t.Errorf("%d: %+v", i, x)
			}
		}
		c.refused("/stedsnavn/v1/punkt?nord=59.9&ost=10.7&koordsys=4258&radius=5001", http.StatusBadRequest,
			"from 1 to 5000")
		if h := search(c, "/punkt", "nord", "0", "ost", "0"); h.Navn == nil || len(h.Navn) > 0 {
			t.Errorf("%+v", h)
		}
	})
}

func TestWildcardsAloneAreRefused(t *testing.T) {
	t.Parallel()
	c := serve(t, openDemo(t), nil)
	c.refused("/stedsnavn/v1/navn?sok=*", http.StatusBadRequest, "Søkeparameteren kan ikke kun være et wildcard.")
	c.refused("/stedsnavn/v1/navn", http.StatusBadRequest, "sok=oslo*")
	c.refused("/stedsnavn/v1/navn?sok=oslo&treffPerSide=501", http.StatusBadRequest, "from 1 to 500")
	c.refused("/stedsnavn/v1/navn?sok=oslo&side=0", http.StatusBadRequest, "from 1 to 500")
	c.refused("/stedsnavn/v1/sted?sok=oslo&navneobjekttype=Byyy", http.StatusBadRequest, `"name":"navneobjekttype"`)
	c.refused("/stedsnavn/v1/sted?sok=oslo&knr=301", http.StatusBadRequest, "give 4 digits")
}

func TestCriteriaNarrowASearch(t *testing.T) {
	t.Parallel()
	c := serve(t, openDemo(t), nil)
	all := search(c, "/sted", "sok", "*e*", "fnr", "03", "fnr", "46", "treffPerSide", "500")
	if all.Metadata.TotaltAntallTreff == 0 {
		t.Fatal("no hits prove anything")
	}
	for _, x := range all.Navn {
		if !slices.ContainsFunc(x.Fylker, func(f struct{ Fylkesnavn, Fylkesnummer string }) bool {
			return f.Fylkesnummer == "03" || f.Fylkesnummer == "46"
		}) {
			t.Errorf("%+v", x)
		}
	}
	total := func(query ...string) int { return search(c, "/sted", query...).Metadata.TotaltAntallTreff }
	if a, b := total("sok", "*e*", "fnr", "46"), total("sok", "*e*", "fylkesnavn", "vestland"); a != b || a == 0 {
		t.Errorf("%d by number, %d by name", a, b)
	}
	if a, b := total("sok", "*a*", "knr", "5610"), total("sok", "*a*", "kommunenavn", "karasjok"); a != b || a == 0 {
		t.Errorf("%d by number, %d by name", a, b)
	}
	if n := total("sok", "oslo", "fnr", "99"); n != 0 {
		t.Errorf("%d hits in a county that does not exist", n)
	}
	if a, b := total("sok", "oslo"), total("sok", "oslo", "fylkesnummer", "15"); a != b {
		t.Error("an unknown parameter changes the answer")
	}
	if a, b := total("sok", "osloo"), total("sok", "osloo", "fuzzy", "true"); a != 0 || b == 0 {
		t.Errorf("%d hits, %d of similar names", a, b)
	}
	if a, b := total("sok", "osl*"), total("sok", "osl*", "fuzzy", "true"); a == 0 || b < a {
		t.Errorf("%d hits, %d with similar names", a, b)
	}
}
