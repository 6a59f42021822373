package server_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"grense/internal/cql2"
)

// corrected are the counts that Annex A of the standard has wrong.
var corrected = map[string]int{
	"ACCENTI(name) LIKE accenti('Ch%')":                 3,
	"ACCENTI(CASEI(name)) LIKE accenti(casei('Chiș%'))": 1,
	"ACCENTI(CASEI(name)) LIKE accenti(casei('cHis%'))": 1,
}

// predicates reads the test data of CQL2, Annex A.
func predicates(t *testing.T) [][]string {
	t.Helper()
	b, err := os.ReadFile(shared(t, "cql2/cql2-ats-predicates.tsv"))
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	for line := range strings.Lines(string(b)) {
		rows = append(rows, strings.Split(strings.TrimSpace(line), "\t"))
	}
	return rows[1:]
}

// TestPredicatesOfTheStandard asks every predicate of OGC 21-065r2, Annex A, as text and as JSON.
func TestPredicatesOfTheStandard(t *testing.T) {
	t.Parallel()
	a := serve(t, shared(t, "cql2/ne110m4cql2.gpkg"), nil)
	n := 0
	for _, row := range predicates(t) {
		collection, filter := row[2], row[3]
		want, err := strconv.Atoi(row[4])
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := corrected[filter]; ok {
			want = c
		}
		n++
		items := "/collections/" + collection + "/items?limit=1&filter="
		if got := a.get(items + queryEscape(filter)).wants(200).page().NumberMatched; got != want {
			t.Errorf("%s: %s matches %d, want %d", collection, filter, got, want)
		}
		e, err := cql2.ParseText(filter)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.get(items + queryEscape(string(cql2.FormatJSON(e))) + "&filter-lang=cql2-json").wants(200).page().NumberMatched; got != want {
			t.Errorf("%s: %s as JSON matches %d, want %d", collection, filter, got, want)
		}
	}
	if n != 274 {
		t.Errorf("%d predicates, want 274", n)
	}
}

func TestFiltersOfClients(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for filter, want := range map[string]int{
		"navn='Oslo'": 1, "(navn LIKE 'B%') AND (nr <> '0301')": -1, "navn ILIKE 'oslo'": 1, "fylke_nr IN ('03','11')": 24, "areal_km2 > 5000": -1, "NOT (fylke_nr = '03')": 356,
		"S_INTERSECTS(geometry,POINT(10.74 59.98))": 1, "navn = 'Oslo' OR nr = '1103'": 2, "true": 357, "false": 0, "navn IS NULL": 0, "CASEI(navn) LIKE CASEI('%OSLO%')": 1, "areal_km2 BETWEEN 453 AND 453 AND nr='0301'": 1,
	} {
		for _, lang := range []string{"", "&filter-lang=cql2-text", "&filter-lang=cql-text"} {
			p := a.get("/v1/collections/kommuner/items?limit=1000" + lang + "&filter=" + queryEscape(filter)).wants(200).page()
			if want >= 0 && p.NumberMatched != want || want < 0 && (p.NumberMatched == 0 || p.NumberMatched == 357) || len(p.Features) != p.NumberMatched {
				t.Errorf("%s%s matches %d, want %d", filter, lang, p.NumberMatched, want)
			}
		}
	}
	// bbox, name=value and filter hold together, and next keeps them.
	p := a.get("/collections/kommuner/items?limit=2&bbox=5,58,7,60&fylke_nr=11&filter=" + queryEscape("areal_km2 > 100 AND navn <> 'Sandnes'")).wants(200).page()
	next, ok := find(p.Links, "next", "")
	if !ok || !strings.Contains(next.Href, "filter=areal_km2%20%3E%20100") {
		t.Fatalf("next is %q", next.Href)
	}
	if q := a.get(next.Href).wants(200).page(); q.NumberMatched != p.NumberMatched || q.Features[0].ID == p.Features[0].ID {
		t.Errorf("the next page matches %d, the first %d", q.NumberMatched, p.NumberMatched)
	}
	// A filter in the axis order of its CRS.
	for _, uri := range []string{"http://www.opengis.net/def/crs/EPSG/0/4326", "[EPSG:4258]"} {
		if got := a.get("/collections/kommuner/items?filter-crs=" + queryEscape(uri) + "&filter=" + queryEscape("S_INTERSECTS(geometry,POINT(59.98 10.74))")).wants(200).page().ids(); len(got) != 1 || got[0] != "0301" {
			t.Errorf("filter-crs=%s: %v", uri, got)
		}
	}
}

func TestBrokenFiltersTellPlaceAndCure(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for filter, want := range map[string]string{
		"kommunenavn='Oslo'": "no property", "navm='Oslo'": "did you mean", "navn=": "column", "navn='Oslo": "column", "S_INTERSECTS(geometry,POINT(90 180))": "", "areal_km2='big'": "", "((((": "column",
		"rang=1": "", "norm(navn)='oslo'": "", strings.Repeat("NOT ", 100) + "true": "", "navn LIKE 5": "",
	} {
		r := a.get("/collections/kommuner/items?filter=" + queryEscape(filter)).wants(400)
		if doc := r.json(); !strings.Contains(doc["detail"].(string), want) {
			t.Errorf("%s: %s", filter, r.Body)
		}
	}
	a.get("/collections/kommuner/items?filter=true&filter-lang=ecql").wants(400)
	a.get("/collections/kommuner/items?filter=true&filter-crs=EPSG:1").wants(400)
	a.get("/collections/kommuner/items?filter-lang=cql2-json&filter=" + queryEscape(`{"op":"="}`)).wants(400)
}

func TestPropertiesAndHits(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	const items = "/collections/kommuner/items"
	f := a.get(items + "?nr=0301&properties=navn,areal_km2").wants(200).page().Features[0]
	if len(f.Properties) != 2 || f.Properties["navn"] != "Oslo" || f.Geometry != nil || f.ID != "0301" {
		t.Errorf("properties: %+v", f)
	}
	if f := a.get(items + "?nr=0301&properties=navn,geometry").wants(200).page().Features[0]; len(f.Properties) != 1 || f.Geometry == nil {
		t.Errorf("with geometry: %+v", f)
	}
	if f := a.get(items + "?nr=0301&skipGeometry=true").wants(200).page().Features[0]; len(f.Properties) != 4 || f.Geometry != nil {
		t.Errorf("skipGeometry: %+v", f)
	}
	if f := a.get(items + "?nr=0301").wants(200).page().Features[0]; len(f.Properties) != 4 || f.Geometry == nil {
		t.Errorf("afterwards: %+v", f)
	}
	p := a.get(items + "?resulttype=hits").wants(200).page()
	if _, next := find(p.Links, "next", ""); p.NumberMatched != 357 || p.NumberReturned != 0 || len(p.Features) != 0 || next {
		t.Errorf("hits: %+v", p)
	}
	if rows := strings.Split(string(a.get(items+"?f=csv&properties=navn&limit=2").wants(200).Body), "\r\n"); rows[0] != "id,navn" || rows[1] != "0301,Oslo" {
		t.Errorf("CSV: %q", rows)
	}
	for _, bad := range []string{"properties=nope", "properties=", "properties=navn,navn", "skipGeometry=1", "resulttype=all"} {
		a.get(items + "?" + bad).wants(400)
	}
	for _, path := range []string{"/functions", "/v1/functions", "/collections/kommuner/sortables"} {
		a.get(path).wants(200)
		a.get(path + "?f=html").wants(200)
	}
}
