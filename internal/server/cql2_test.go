package server_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/cql2/cql2test"
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

// TestPredicatesOfTheStandard sends every predicate of OGC 21-065r2, Annex A, as text and as JSON.
func TestPredicatesOfTheStandard(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
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
		if got := a.get(items + queryEscape(string(cql2test.FormatJSON(e))) + "&filter-lang=cql2-json").wants(
			200).page().NumberMatched; got != want {
			t.Errorf("%s: %s as JSON matches %d, want %d", collection, filter, got, want)
		}
	}
	if n != 274 {
		t.Errorf("%d predicates, want 274", n)
	}
}

// TestLogicalCombinationsOfPredicates combines four predicates as OGC 21-065r2, Annex A, does. It computes the
// expected result from what each predicate and its negation select.
func TestLogicalCombinationsOfPredicates(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	a := serve(t, shared(t, "cql2/ne110m4cql2.gpkg"), nil)
	rows := map[string][]string{}
	for _, row := range predicates(t) {
		rows[row[2]] = append(rows[row[2]], row[3])
	}
	r := rand.New(rand.NewPCG(5, 5))
	for collection, filters := range rows {
		items := "/collections/" + collection + "/items?skipGeometry=true&limit=1000&filter="
		all := a.get(items + "true").wants(200).page().ids()
		truths := func(filter string) map[string]int { // 1 true, -1 false, 0 null
			m := map[string]int{}
			for _, id := range a.get(items + queryEscape(filter)).wants(200).page().ids() {
				m[id] = 1
			}
			for _, id := range a.get(items + queryEscape("NOT ("+filter+")")).wants(200).page().ids() {
				m[id]--
			}
			return m
		}
		for range 12 {
			var p [4]string
			var v [4]map[string]int
			for i := range p {
				p[i] = filters[r.IntN(len(filters))]
				v[i] = truths(p[i])
			}
			var want []string
			for _, id := range all {
				p1, p2, p3, p4 := v[0][id], v[1][id], v[2][id], v[3][id]
				if max(min(-p2, p1), min(p3, p4), -max(p1, p4)) == 1 {
					want = append(want, id)
				}
			}
			filter := fmt.Sprintf("(NOT (%s) AND (%s)) OR ((%s) AND (%s)) OR NOT ((%s) OR (%s))", p[1], p[0], p[2],
				p[3], p[0], p[3])
			if got := a.get(items + queryEscape(filter)).wants(200).page().ids(); !slices.Equal(got, want) {
				t.Errorf("%s: %s\n got %q\nwant %q", collection, filter, got, want)
			}
		}
	}
}

// TestTimesAtTheEnds: years 0000 and 9999 are valid in timestamps, and ends may be open.
func TestTimesAtTheEnds(t *testing.T) {
	t.Parallel()
	a := arrays(t) // a: 2020- , b: 2020-2021, c and e: none, d: 2022-2023
	for query, want := range map[string]string{
		"datetime=0000-01-01/9999-12-31":                                          "a b c d e",
		"datetime=0000-01-01T00:00:00Z/..":                                        "a b c d e",
		"datetime=../2019-12-31":                                                  "c e",
		"datetime=9999-12-31":                                                     "a c e",
		"datetime=0000-01-01":                                                     "c e",
		"datetime=2022-01-01T12:00:00%2B02:00":                                    "a c d e",
		"filter=" + queryEscape("gyldig_fra > DATE('0000-01-01')"):                "a b d",
		"filter=" + queryEscape("gyldig_til < TIMESTAMP('9999-12-31T23:59:59Z')"): "b d",
		"filter=" + queryEscape("T_AFTER(gyldig_fra,DATE('0000-12-31'))"):         "a b d",
		"filter=" + queryEscape("T_BEFORE(gyldig_til,DATE('9999-01-01'))"):        "b d",
		"filter=" + queryEscape("T_DURING(INTERVAL(gyldig_fra,gyldig_til),INTERVAL('0000-01-01','9999-12-31'))"): "b d",
		"filter=" + queryEscape("T_INTERSECTS(INTERVAL(gyldig_fra,'..'),INTERVAL('..','2020-06-01'))"):           "a b",
		"filter=" + queryEscape("T_EQUALS(INTERVAL(gyldig_fra,gyldig_til),INTERVAL('2022-01-01','2023-12-31'))"): "d",
		"filter=" + queryEscape("gyldig_fra BETWEEN '0000-01-01' AND '2020-01-01'"):                              "a b",
		"filter=" + queryEscape("gyldig_fra IN ('2022-01-01','9999-12-31')"):                                     "d",
	} {
		if got := strings.Join(a.get("/collections/steder/items?"+query).wants(200).page().ids(), " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestFiltersOfClients(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for filter, want := range map[string]int{
		"navn='Oslo'": 1, "(navn LIKE 'B%') AND (nr <> '0301')": -1, "navn ILIKE 'oslo'": 1,
		"fylke_nr IN ('03','11')": 24, "areal_km2 > 5000": -1, "NOT (fylke_nr = '03')": 356,
		"S_INTERSECTS(geometry,POINT(10.74 59.98))": 1, "navn = 'Oslo' OR nr = '1103'": 2, "true": 357, "false": 0,
		"navn IS NULL": 0, "CASEI(navn) LIKE CASEI('%OSLO%')": 1, "areal_km2 BETWEEN 453 AND 453 AND nr='0301'": 1,
	} {
		for _, lang := range []string{"", "&filter-lang=cql2-text", "&filter-lang=cql-text"} {
			p := a.get("/v1/collections/kommuner/items?limit=1000" + lang + "&filter=" + queryEscape(filter)).wants(
				200).page()
			if want >= 0 && p.NumberMatched != want || want < 0 && (p.NumberMatched == 0 || p.NumberMatched == 357) ||
				len(p.Features) != p.NumberMatched {
				t.Errorf("%s%s matches %d, want %d", filter, lang, p.NumberMatched, want)
			}
		}
	}
	// bbox, name=value and filter apply together, and next repeats them.
	p := a.get("/collections/kommuner/items?limit=2&bbox=5,58,7,60&fylke_nr=11&filter=" +
		queryEscape("areal_km2 > 100 AND navn <> 'Sandnes'")).wants(200).page()
	next, ok := find(p.Links, "next", "")
	if !ok || !strings.Contains(next.Href, "filter=areal_km2%20%3E%20100") {
		t.Fatalf("next is %q", next.Href)
	}
	if q := a.get(next.Href).wants(200).page(); q.NumberMatched != p.NumberMatched ||
		q.Features[0].ID == p.Features[0].ID {
		t.Errorf("the next page matches %d, the first %d", q.NumberMatched, p.NumberMatched)
	}
	// A filter in the axis order of its CRS.
	for _, uri := range []string{"http://www.opengis.net/def/crs/EPSG/0/4326", "[EPSG:4258]"} {
		if got := a.get("/collections/kommuner/items?filter-crs=" + queryEscape(uri) + "&filter=" +
			queryEscape("S_INTERSECTS(geometry,POINT(59.98 10.74))")).wants(200).page().ids(); len(got) != 1 ||
			got[0] != "0301" {
			t.Errorf("filter-crs=%s: %v", uri, got)
		}
	}
}

// TestMomentsAsGDALWritesThem: for fields of dates and times GDAL sends its own forms.
func TestMomentsAsGDALWritesThem(t *testing.T) {
	t.Parallel()
	a := serve(t, shared(t, "cql2/ne110m4cql2.gpkg"), nil)
	for _, f := range []string{`"date" = '2022-04-16'`, `"date" = '2022-04-16T'`, `"date" = '2022/04/16'`,
		`start = '2022-04-16T10:13:19Z'`, `start = '2022-04-16T10:13:19'`, `start = '2022/04/16 10:13:19'`,
		`start = '2022/04/16 12:13:19+02'`} {
		want := 1
		if strings.HasSuffix(f, "+02'") {
			a.get("/collections/ne_110m_populated_places_simple/items?filter-lang=cql-text&filter=" +
				queryEscape(f)).wants(400)
			continue
		}
		if n := a.get("/collections/ne_110m_populated_places_simple/items?filter-lang=cql-text&filter=" +
			queryEscape(f)).wants(200).page().NumberMatched; n != want {
			t.Errorf("%s matches %d, want %d", f, n, want)
		}
	}
}

func TestFaultsOfFiltersHavePlaceAndCure(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for filter, want := range map[string]string{
		"kommunenavn='Oslo'": "no property", "navm='Oslo'": "did you mean", "navn=": "column", "navn='Oslo": "column",
		"S_INTERSECTS(geometry,POINT(90 180))": "", "areal_km2='big'": "", "((((": "column",
		"rang=1": "", "norm(navn)='oslo'": "", strings.Repeat("NOT ", 100) + "true": "", "navn LIKE 5": "",
	} {
		r := a.get("/collections/kommuner/items?filter=" + queryEscape(filter)).wants(400)
		if doc := r.json(); !strings.Contains(doc["detail"].(string), want) {
			t.Errorf("%s: %s", filter, r.Body)
		}
	}
	vertices := strings.TrimSuffix(strings.Repeat("10 60,", 10_001), ",")
	for filter, status := range map[string]int{
		"navn='" + strings.Repeat("x", cql2.MaxBytes) + "'":                413,
		"S_INTERSECTS(geometry,LINESTRING(" + vertices + "))":              400,
		"navn IN ('x'" + strings.Repeat(",'x'", 600) + ")":                 400,
		strings.Repeat("(", 65) + "true" + strings.Repeat(")", 65):         400,
		"S_INTERSECTS(geometry,LINESTRING(" + vertices[:6*10_000-1] + "))": 200,
		"navn IN ('x'" + strings.Repeat(",'x'", 400) + ")":                 200,
		"navn='" + strings.Repeat("x", cql2.MaxBytes-7) + "'":              200,
	} {
		a.get("/collections/kommuner/items?filter=" + queryEscape(filter)).wants(status)
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
	if f := a.get(items + "?nr=0301&properties=navn,geometry").wants(200).page().Features[0]; len(f.Properties) != 1 ||
		f.Geometry == nil {
		t.Errorf("with geometry: %+v", f)
	}
	if f := a.get(items + "?nr=0301&skipGeometry=true").wants(200).page().Features[0]; len(f.Properties) != 4 ||
		f.Geometry != nil {
		t.Errorf("skipGeometry: %+v", f)
	}
	if f := a.get(items + "?nr=0301").wants(200).page().Features[0]; len(f.Properties) != 4 || f.Geometry == nil {
		t.Errorf("afterwards: %+v", f)
	}
	p := a.get(items + "?resulttype=hits").wants(200).page()
	if _, next := find(p.Links, "next", ""); p.NumberMatched != 357 || p.NumberReturned != 0 || len(p.Features) != 0 ||
		next {
		t.Errorf("hits: %+v", p)
	}
	if rows := strings.Split(string(a.get(items+"?f=csv&properties=navn&limit=2").wants(200).Body),
		"\r\n"); rows[0] != "id,navn" || rows[1] != "0301,Oslo" {
		t.Errorf("CSV: %q", rows)
	}
	for _, bad := range []string{"properties=nope", "properties=", "properties=navn,navn", "skipGeometry=1",
		"resulttype=all"} {
		a.get(items + "?" + bad).wants(400)
	}
	for _, path := range []string{"/functions", "/v1/functions", "/collections/kommuner/sortables"} {
		a.get(path).wants(200)
		a.get(path + "?f=html").wants(200)
	}
}
