package compat_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"grense/internal/config"
	"grense/internal/server"
	"grense/internal/sharedtest"
)

type geometry struct {
	Type        string
	Coordinates json.RawMessage
	CRS         struct {
		Type       string
		Properties struct{ Name string }
	}
}

type kommune struct {
	Avgrensningsboks, PunktIOmrade *geometry
	Fylkesnavn, Fylkesnummer       string
	Kommunenavn, KommunenavnNorsk  string
	Kommunenummer                  string
	SamiskForvaltningsomrade       bool
	GyldigeNavn                    []struct {
		Navn, Sprak *string
		Prioritet   int
	}
}

// TestMunicipalityHasTheMembersThatClientsRead reads them as their classes do, without a look whether they are null.
func TestMunicipalityHasTheMembersThatClientsRead(t *testing.T) {
	t.Parallel()
	inBothStores(t, func(t *testing.T, c *client) {
		k := read[kommune](c, "/kommuneinfo/v1/kommuner/5610")
		if k.Kommunenavn != "Kárášjohka - Karasjok" || k.KommunenavnNorsk != "Karasjok" || k.Fylkesnummer != "56" ||
			k.Kommunenummer != "5610" {
			t.Errorf("%+v", k)
		}
		var names []string
		for i, n := range k.GyldigeNavn {
			if n.Navn == nil {
				names = append(names, fmt.Sprint(n.Prioritet == i+1))
				continue
			}
			names = append(names, *n.Navn+"/"+*n.Sprak)
		}
		if got := strings.Join(names, " "); got != "Kárášjohka/Northern Sami Karasjok/Norwegian true" {
			t.Errorf("names %s", got)
		}
		var ring [][][2]float64
		if err := json.Unmarshal(k.Avgrensningsboks.Coordinates, &ring); err != nil {
			t.Fatal(err)
		}
		low, high := ring[0][0], ring[0][2]
		if r := ring[0]; k.Avgrensningsboks.Type != "Polygon" || r[1] != [2]float64{low[0], high[1]} || r[4] != low ||
			low[0] >= high[0] || low[1] >= high[1] {
			t.Errorf("the box does not go upwards from the lower left corner: %v", ring)
		}
		var point [2]float64
		if err := json.Unmarshal(k.PunktIOmrade.Coordinates, &point); err != nil {
			t.Fatal(err)
		}
		if point[0] < low[0] || point[0] > high[0] || point[0] > 30 || point[1] < 60 ||
			k.PunktIOmrade.Type != "Point" || k.PunktIOmrade.CRS.Properties.Name != "EPSG:4258" ||
			k.PunktIOmrade.CRS.Type != "name" {
			t.Errorf("the point is not longitude before latitude in the box: %v %+v", point, k.PunktIOmrade.CRS)
		}
		at := read[kommune](c, fmt.Sprintf("/kommuneinfo/v1/punkt?nord=%f&ost=%f&koordsys=4258", point[1], point[0]))
		if at.Kommunenummer != "5610" {
			t.Errorf("the point lies in %s", at.Kommunenummer)
		}
	})
}

// TestImportersOfMapsGetWhatTheyAskFor makes the calls of scripts that import into OpenStreetMap.
func TestImportersOfMapsGetWhatTheyAskFor(t *testing.T) {
	t.Parallel()
	inBothStores(t, func(t *testing.T, c *client) {
		const filter = "filtrer=fylkesnummer,fylkesnavn,kommuner.kommunenummer,kommuner.kommunenavnNorsk"
		body := string(c.get("/kommuneinfo/v1/fylkerkommuner?"+filter, http.StatusOK))
		if !strings.HasPrefix(body, `[{"fylkesnavn":"Oslo","fylkesnummer":"03",`+
			`"kommuner":[{"kommunenavnNorsk":"Oslo","kommunenummer":"0301"}]},`) {
			t.Errorf("got %.200s", body)
		}
		all := read[[]struct{ Kommuner []kommune }](c, "/kommuneinfo/v1/fylkerkommuner")
		n := 0
		for _, f := range all {
			n += len(f.Kommuner)
		}
		if len(all) != 15 || n != 357 {
			t.Errorf("%d counties with %d municipalities", len(all), n)
		}
		found := read[struct {
			AntallTreff int
			Kommuner    []kommune
		}](c, "/kommuneinfo/v1/sok?knavn=b%C3%A6r*")
		if found.AntallTreff != 1 || found.Kommuner[0].Kommunenavn != "Bærum" ||
			found.Kommuner[0].Avgrensningsboks == nil {
			t.Errorf("got %+v", found)
		}
		c.refused("/kommuneinfo/v1/sok?knavn=finnesikke", http.StatusNotFound, "Ingen treff, sjekk parameterene.")
		c.refused("/kommuneinfo/v1/sok?knavn=*b*", http.StatusBadRequest, "Søkestreng er for kort.")
		c.refused("/kommuneinfo/v1/sok?knavn=a%3Bb", http.StatusBadRequest, "Ugyldige tegn i søkestreng.")
		if got := string(c.get("/kommuneinfo/v1/fylkerKommuner?"+filter, http.StatusOK)); got != body {
			t.Error("the older spelling of the address gives another answer")
		}
	})
}

func TestPointIsFoundInEachSystemAndWithADoubledSlash(t *testing.T) {
	t.Parallel()
	inBothStores(t, func(t *testing.T, c *client) {
		const want = `{"fylkesnavn":"Oslo","fylkesnummer":"03","kommunenavn":"Oslo","kommunenummer":"0301"}`
		for _, query := range []string{"/punkt?nord=59.91&ost=10.75&koordsys=4258",
			"/punkt?nord=59.91&ost=10.75&koordsys=4326", "//punkt?nord=59.91&ost=10.75",
			"/punkt?nord=6649000&ost=262000&koordsys=25833", "/punkt?nord=59.91&ost=10.75&koordsys=EPSG:4258",
			"/punkt?nord=59.91&ost=10.75&ukjent=1", "/punkt?nord=59.91&ost=10.75&f=xml"} {
			if got := string(c.get("/kommuneinfo/v1"+query, http.StatusOK)); got != want {
				t.Errorf("%s: %s", query, got)
			}
		}
		const filtered = "/kommuneinfo/v1/punkt?nord=59.91&ost=10.75&filtrer=kommunenummer"
		if got := string(c.get(filtered, http.StatusOK)); got != `{"kommunenummer":"0301"}` {
			t.Errorf("filtered: %s", got)
		}
		c.refused("/kommuneinfo/v1/punkt?nord=0&ost=0", http.StatusNotFound, "Ingen treff")
		c.refused("/kommuneinfo/v1/punkt?nord=x&ost=0", http.StatusBadRequest, "Feil i parameterene.")
		c.refused("/kommuneinfo/v1/punkt?ost=10", http.StatusBadRequest, `"name":"nord"`)
		c.refused("/kommuneinfo/v1/punkt?nord=59&ost=10&koordsys=x", http.StatusBadRequest,
			"Feil i koordinatsystem-parameterene.")
		c.refused("/kommuneinfo/v1/punkt?nord=59&ost=10&koordsys=99999", http.StatusBadRequest,
			"Koordinatsystemet/SRID er ikke støttet.")
	})
}

func TestAreaIsABareGeometry(t *testing.T) {
	t.Parallel()
	inBothStores(t, func(t *testing.T, c *client) {
		for _, path := range []string{"/kommuner/0301", "/fylker/03"} {
			for system, x := range map[string]float64{"4326": 10.7, "4258": 10.7, "25833": 262000, "3035": 4.36e6} {
				doc := read[struct{ Omrade geometry }](c, "/kommuneinfo/v1"+path+"/omrade?utkoordsys="+system)
				var parts [][][][2]float64
				if err := json.Unmarshal(doc.Omrade.Coordinates, &parts); err != nil {
					t.Fatalf("%s in %s: %v", path, system, err)
				}
				first := parts[0][0][0]
				if doc.Omrade.Type != "MultiPolygon" || doc.Omrade.CRS.Properties.Name != "EPSG:"+system ||
					math.Abs(first[0]-x) > 0.05*x {
					t.Errorf("%s in %s: %s %+v begins at %v", path, system, doc.Omrade.Type, doc.Omrade.CRS, first)
				}
			}
		}
		c.refused("/kommuneinfo/v1/kommuner/9999/omrade", http.StatusNotFound, "Ingen treff")
		c.refused("/kommuneinfo/v1/kommuner/oslo", http.StatusBadRequest, "Feil i parameterene.")
	})
}

func TestListsAreBareArraysThatCanBeSorted(t *testing.T) {
	t.Parallel()
	c := serve(t, openDemo(t), nil)
	type named struct{ Fylkesnavn, Kommunenavn, Kommunenummer string }
	if got := read[[]named](c, "/kommuneinfo/v1/fylker"); len(got) != 15 || got[0].Fylkesnavn != "Oslo" {
		t.Errorf("%d counties, %+v first", len(got), got[0])
	}
	sorted := read[[]named](c, "/kommuneinfo/v1/kommuner?sorter=kommunenavn")
	if sorted[0].Kommunenavn != "Alstahaug" ||
		!slices.ContainsFunc(sorted[340:], func(k named) bool { return k.Kommunenavn == "Ås" }) {
		t.Errorf("%+v first, %+v last", sorted[0], sorted[356])
	}
	one := read[struct{ Kommuner []map[string]string }](c, "/kommuneinfo/v1/fylker/03")
	if len(one.Kommuner) != 1 || len(one.Kommuner[0]) != 2 || one.Kommuner[0]["kommunenummer"] != "0301" {
		t.Errorf("%+v", one)
	}
	c.refused("/kommuneinfo/v1/kommuner?sorter=areal", http.StatusBadRequest, "Ugyldige sorterings-parametere: areal.")
}

func TestDatetimeGivesTheDivisionsOfADay(t *testing.T) {
	t.Parallel()
	inBothStores(t, func(t *testing.T, c *client) {
		all := read[[]struct{ Kommunenummer string }](c, "/kommuneinfo/v1/kommuner?datetime=2019-06-01")
		if len(all) != 422 {
			t.Errorf("%d municipalities in 2019, want 422", len(all))
		}
		k := read[kommune](c, "/kommuneinfo/v1/kommuner/0219?datetime=2019-06-01")
		if k.Kommunenavn != "Bærum" || k.Fylkesnavn != "Akershus" || k.Avgrensningsboks != nil {
			t.Errorf("%+v", k)
		}
		if k := read[kommune](c, "/kommuneinfo/v1/kommuner/0301?datetime=2019-06-01"); k.Kommunenavn != "Oslo" {
			t.Errorf("%+v", k)
		}
		at := read[kommune](c, "/kommuneinfo/v1/punkt?nord=59.89&ost=10.52&datetime=2019-06-01")
		if at.Kommunenummer != "0219" || at.Fylkesnummer != "02" {
			t.Errorf("the point of Bærum lay in %+v", at)
		}
		c.refused("/kommuneinfo/v1/kommuner/0219/omrade?datetime=2019-06-01", http.StatusNotFound, "no borders")
		c.refused("/kommuneinfo/v1/fylker?datetime=i+dag", http.StatusBadRequest, "give one day, such as 2019-06-01")
	})
}

// TestKeysAreNeededUnlessTheServicesAreOpen: with compat.open nobody needs one there, and everywhere else still.
func TestKeysAreNeededUnlessTheServicesAreOpen(t *testing.T) {
	t.Parallel()
	for _, open := range []bool{false, true} {
		c := serve(t, openDemo(t), withKeys(t, func(cfg *config.Config, _ *server.Options) { cfg.Compat.Open = open }))
		want := http.StatusUnauthorized
		if open {
			want = http.StatusOK
		}
		c.get("/kommuneinfo/v1/fylker", want)
		c.get("/stedsnavn/v1/navn?sok=oslo*", want)
		c.get("/collections/fylker/items", http.StatusUnauthorized)
		for _, page := range []string{"/kommuneinfo/v1", "/kommuneinfo/v1/", "/kommuneinfo/v1/openapi.json",
			"/stedsnavn/v1", "/stedsnavn/v1/openapi.json"} {
			c.get(page, http.StatusOK)
		}
	}
}

func TestOpenServicesKeepTheRateOfAnAddress(t *testing.T) {
	t.Parallel()
	c := serve(t, openDemo(t), withKeys(t, func(cfg *config.Config, _ *server.Options) {
		cfg.Compat.Open, cfg.Limits.Rate = true, 1
	}))
	for range 100 {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.url+"/kommuneinfo/v1/sok?knavn=oslo", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode == http.StatusTooManyRequests {
			return
		}
	}
	t.Error("100 requests in a row were answered")
}

// TestStrictnessStaysElsewhere: what clients of the services may do, others may not.
func TestStrictnessStaysElsewhere(t *testing.T) {
	t.Parallel()
	c := serve(t, openDemo(t), nil)
	c.get("/collections/kommuner/items?ukjent=1", http.StatusBadRequest)
	c.get("//collections", http.StatusNotFound)
	c.get("/v1/kommuneinfo/v1/fylker", http.StatusNotFound)
	c.get("/kommuneinfo/v1///fylker", http.StatusNotFound)
	off := serve(t, openDemo(t), func(cfg *config.Config, _ *server.Options) { cfg.Compat = config.Compat{} })
	off.get("/kommuneinfo/v1/fylker", http.StatusNotFound)
	off.get("/stedsnavn/v1/navn?sok=oslo", http.StatusNotFound)
}

// TestKartverketsFilesNeedNoConfiguration serves files as they come: municipalities in several rows with the names of
// their counties, and counties without municipalities.
func TestKartverketsFilesNeedNoConfiguration(t *testing.T) {
	t.Parallel()
	path := sharedtest.Path(t, "data", "norway", "hmalmedal-n1000", "n1000-kommune-25833.gpkg")
	c := serve(t, openFile(t, path), nil)
	if all := read[[]kommune](c, "/kommuneinfo/v1/kommuner"); len(all) != 357 {
		t.Errorf("%d municipalities", len(all))
	}
	if all := read[[]kommune](c, "/kommuneinfo/v1/fylker"); len(all) != 15 || all[0].Fylkesnavn != "Oslo" {
		t.Errorf("%d counties", len(all))
	}
	k := read[kommune](c, "/kommuneinfo/v1/kommuner/1508")
	if k.Fylkesnavn != "Møre og Romsdal" || k.Avgrensningsboks == nil || k.PunktIOmrade == nil {
		t.Errorf("%+v", k)
	}
	var parts []json.RawMessage
	area := read[struct{ Omrade geometry }](c, "/kommuneinfo/v1/kommuner/1508/omrade").Omrade
	if err := json.Unmarshal(area.Coordinates, &parts); err != nil || len(parts) != 2 {
		t.Errorf("1508 has %d parts (%v), want those of both rows", len(parts), err)
	}
	box := read[struct{ Avgrensningsboks *geometry }](c, "/kommuneinfo/v1/fylker/15").Avgrensningsboks
	if box == nil {
		t.Error("a county has no box of its municipalities")
	}
	at := read[kommune](c, "/kommuneinfo/v1/punkt?nord=59.91&ost=10.75&koordsys=4258")
	if at.Kommunenavn != "Oslo" || at.Fylkesnavn != "Oslo" {
		t.Errorf("%+v", at)
	}

	path = sharedtest.Path(t, "data", "norway", "kartverket-basisdata-fylker-2023-25833.gpkg")
	c = serve(t, openFile(t, path), nil)
	if all := read[[]kommune](c, "/kommuneinfo/v1/fylker"); len(all) != 15 ||
		all[14].Fylkesnavn != "Finnmark - Finnmárku - Finmarkku" {
		t.Errorf("%+v", all)
	}
	c.get("/kommuneinfo/v1/fylker/56/omrade?utkoordsys=25833", http.StatusOK)
	c.refused("/kommuneinfo/v1/punkt?nord=59.91&ost=10.75", http.StatusNotFound, "Ingen treff")
}

// TestSettingsNameCollectionAndColumns serves the columns of the demo in other roles than by their names.
func TestSettingsNameCollectionAndColumns(t *testing.T) {
	t.Parallel()
	c := serve(t, openDemo(t), func(cfg *config.Config, _ *server.Options) {
		cfg.Compat.Kommuner = config.Municipalities{Collection: "fylker", Number: "nr", Name: "navn"}
		cfg.Compat.Fylker = config.Counties{Collection: "fylker", Number: "navn", Name: "nr"}
	})
	all := read[[]kommune](c, "/kommuneinfo/v1/kommuner")
	if len(all) != 15 || all[0].Kommunenummer != "03" || all[0].Kommunenavn != "Oslo" {
		t.Errorf("%+v", all)
	}
	all = read[[]kommune](c, "/kommuneinfo/v1/fylker")
	if all[0].Fylkesnummer != "Agder" || all[0].Fylkesnavn != "42" {
		t.Errorf("%+v", all)
	}
	c = serve(t, openDemo(t), func(cfg *config.Config, _ *server.Options) {
		cfg.Compat.Kommuner.Name = "finnes_ikke"
	})
	c.refused("/kommuneinfo/v1/kommuner", http.StatusNotFound, "compat.kommuner.name")
}
