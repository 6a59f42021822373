package server_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"grense/internal/cql2"
	"grense/internal/cql2/cql2test"
	"grense/internal/store"
	"grense/internal/store/gpkg"
	"grense/internal/store/storetest"
)

// arrays serves a table with arrays as JSON text.
func arrays(t *testing.T) *api {
	t.Helper()
	path := filepath.Join(t.TempDir(), "arrays.gpkg")
	storetest.Write(t, func(w store.Writer) {
		column := func(name string, typ cql2.Type) store.Property {
			return store.Property{Name: name, Column: name, Type: typ}
		}
		c := &store.Collection{ID: "steder", Table: "steder", Public: true,
			Key: store.FeatureKey{Column: "id", Type: cql2.TypeText},
			Properties: []store.Property{column("navn", cql2.TypeText), column("merker", cql2.TypeJSON),
				column("tall", cql2.TypeJSON), column("blandet", cql2.TypeJSON),
				column("tom", cql2.TypeJSON), column("objekt", cql2.TypeJSON), column("gyldig_fra", cql2.TypeDate),
				column("gyldig_til", cql2.TypeDate)},
			IntervalStart: "gyldig_fra", IntervalEnd: "gyldig_til"}
		if err := w.Define(t.Context(), c, false); err != nil {
			t.Fatal(err)
		}
		insert, err := w.Insert(t.Context(), "steder", []string{
			"id", "navn", "merker", "tall", "blandet", "tom", "objekt", "gyldig_fra", "gyldig_til"})
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range [][]any{
			{"a", "Bø i Telemark", `["by","havn"]`, `[1,2]`, `["x",1]`, nil, `{"a":1}`, "2020-01-01", nil},
			{"b", "Ny-Bø", `["havn"]`, `[2.5]`, `[true]`, nil, `{"a":2}`, "2020-01-01", "2021-12-31"},
			{"c", "Bø", `["by","havn","fjord"]`, `[]`, nil, `[]`, nil, nil, nil},
			{"d", nil, nil, nil, `[["x"],null]`, nil, nil, "2022-01-01", "2023-12-31"},
			{"e", "BØLER", `["'); DROP TABLE steder; --"]`, `[1,2,2]`, nil, nil, nil, nil, nil},
		} {
			if err := insert(row...); err != nil {
				t.Fatal(err)
			}
		}
	})(gpkg.Create(context.Background(), path))
	return serve(t, path, nil)
}

func TestArraysAreQueryablesAndFilter(t *testing.T) {
	t.Parallel()
	a := arrays(t)
	for _, kind := range []string{"schema", "queryables"} {
		props := a.get("/collections/steder/" + kind).wants(200).json()["properties"].(map[string]any)
		for name, want := range map[string]string{"merker": "string", "tall": "number", "blandet": "",
			"tom": "string"} {
			p, _ := props[name].(map[string]any)
			items, _ := p["items"].(map[string]any)
			array := p["type"] == "array"
			if kind == "schema" { // some rows have none
				array = fmt.Sprint(p["type"]) == "[array null]"
			}
			if typ, _ := items["type"].(string); !array || items == nil || typ != want {
				t.Errorf("%s: %s is %v, want an array of %q", kind, name, p, want)
			}
		}
		if _, ok := props["objekt"]; ok != (kind == "schema") {
			t.Errorf("%s: an object is there: %v", kind, ok)
		}
	}
	if _, ok := a.get("/collections/steder/sortables").wants(200).json()["properties"].(map[string]any)["merker"]; ok {
		t.Error("an array can be sorted by")
	}
	for filter, want := range map[string]string{
		"A_CONTAINS(merker,('by','havn'))":                "a c",
		"a_contains(merker,('havn'))":                     "a b c",
		"A_CONTAINEDBY(merker,('by','havn'))":             "a b",
		"A_EQUALS(merker,('havn','by'))":                  "a",
		"A_OVERLAPS(merker,('fjord','by'))":               "a c",
		"NOT A_OVERLAPS(merker,('fjord','by'))":           "b e",
		"A_EQUALS(tall,(1,2))":                            "a e",
		"A_CONTAINS(tall,(2.5))":                          "b",
		"A_CONTAINS(tall,(1+1))":                          "a e",
		"A_EQUALS(tall,())":                               "c",
		"A_CONTAINS(blandet,('x',1))":                     "a",
		"A_CONTAINS(merker,merker)":                       "a b c e",
		"merker IS NULL":                                  "d",
		`A_CONTAINS(merker,("by")) AND navn = 'Bø'`:       "c",
		"A_EQUALS(merker,('''); DROP TABLE steder; --'))": "e",
	} {
		if got := a.get("/collections/steder/items?filter=" + queryEscape(filter)).wants(
			200).page().ids(); strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %s", filter, got, want)
		}
		e, err := cql2.ParseText(filter)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(filter, `"by"`) {
			continue // a string once it is checked
		}
		if got := a.get("/collections/steder/items?filter-lang=cql2-json&filter=" +
			queryEscape(string(cql2test.FormatJSON(e)))).wants(200).page().ids(); strings.Join(got, " ") != want {
			t.Errorf("%s as JSON: %q, want %s", filter, got, want)
		}
	}
	for _, bad := range []string{"merker = 'by'", "A_CONTAINS(navn,('x'))", "A_CONTAINS(nope,('x'))",
		"A_CONTAINS(merker,'x')", "merker LIKE 'x'"} {
		a.get("/collections/steder/items?filter=" + queryEscape(bad)).wants(400)
	}
}

// TestRolesOfTimes: each role is given to one property at most (OGC 23-058r2, advanced property roles).
func TestRolesOfTimes(t *testing.T) {
	t.Parallel()
	props := arrays(t).get("/collections/steder/schema").wants(200).json()["properties"].(map[string]any)
	for name, p := range props {
		want := map[string]any{"id": "id", "gyldig_fra": "primary-interval-start",
			"gyldig_til": "primary-interval-end"}[name]
		if got := p.(map[string]any)["x-ogc-role"]; got != want {
			t.Errorf("%s: role %v, want %v", name, got, want)
		}
	}
}

func TestTextSearch(t *testing.T) {
	t.Parallel()
	a := arrays(t)
	const items = "/collections/steder/items?"
	for query, want := range map[string]string{
		"q=bø":                   "c a e b", // whole, then by its start, then a later word
		"q=BO":                   "c a e b",
		"q=b%C3%B8ler,ny":        "e b",
		"q=b%C3%B8%20%20i%09tel": "a",
		"q=i%20b%C3%B8":          "",
		"q=telemark%20b%C3%B8":   "",
		"q=bo&sortby=-navn":      "b a c e",
		"q=bo&limit=1":           "c",
		"q=bo&filter=" + queryEscape("A_CONTAINS(merker,('havn'))"): "c a b",
		"q=bo&navn=" + queryEscape("Bø"):                            "c",
		"q=bo&datetime=2021-06-01":                                  "c a e b",
		"q=bo&datetime=2022-06-01":                                  "c a e",
		"q=havn":                                                    "",
		"q=" + queryEscape("x'); DROP TABLE steder; --"):            "",
		"q=" + queryEscape(`bø" OR *`):                              "",
	} {
		p := a.get(items + strings.ReplaceAll(query, "ø", "%C3%B8")).wants(200).page()
		if got := strings.Join(p.ids(), " "); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	// Page by page in the order of the rank, there and back.
	var ids []string
	next, prev := a.URL+items+"q=bo&limit=1", ""
	for next != "" {
		p := a.get(next).wants(200).page()
		if p.NumberMatched != 4 {
			t.Errorf("%s: matched %d", next, p.NumberMatched)
		}
		ids = append(ids, p.ids()...)
		l, _ := find(p.Links, "next", "")
		back, _ := find(p.Links, "prev", "")
		next, prev = l.Href, back.Href
	}
	for prev != "" {
		p := a.get(prev).wants(200).page()
		ids = append(ids, p.ids()...)
		back, _ := find(p.Links, "prev", "")
		prev = back.Href
	}
	if !slices.Equal(ids, strings.Fields("c a e b e a c")) {
		t.Errorf("ids %q", ids)
	}
	for _, bad := range []string{"q=", "q=%20,%20", "q=" + strings.Repeat("x", 201), "q=a&q=b", "q=%FF"} {
		a.get(items + bad).wants(400)
	}
	cursor, _ := find(a.get(items+"q=bo&limit=1").wants(200).page().Links, "next", "")
	a.get(cursor.Href + "&sortby=navn").wants(400)
	for _, own := range []string{"search(navn,'x')", "norm(navn)='x'", "exact(navn)='x'", "related('x',true)"} {
		a.get(items + "filter=" + queryEscape(own)).wants(400)
		a.get(items + "filter-lang=cql2-json&filter=" + queryEscape(
			`{"op":"`+own[:strings.Index(own, "(")]+`","args":[{"property":"navn"},"x"]}`)).wants(400)
	}
}

// TestInjectionChangesNothing puts SQL into every place that takes text.
func TestInjectionChangesNothing(t *testing.T) {
	t.Parallel()
	a := arrays(t)
	before := a.get("/collections/steder/items").wants(200).page()
	for _, evil := range []string{`'; DROP TABLE steder; --`, `" OR 1=1 --`, `x') OR ('1'='1`, "\x00'", `%' OR '%`,
		"$1 ? :a @b", `]]--`, `main"."steder`, "`steder`"} {
		e, lit := queryEscape(evil), queryEscape("'"+strings.ReplaceAll(evil, "'", "''")+"'")
		for _, q := range []string{"navn=" + e, "q=" + e, "q=bo," + e, "filter=navn%20%3D%20" + lit,
			"filter=navn%20LIKE%20" + lit, "filter=navn%20IN%20(" + lit + ")",
			"filter=CASEI(navn)%20LIKE%20CASEI(" + lit + ")",
			"filter=A_CONTAINS(merker,(" + lit + "))", "filter=" + e, "filter=%22" + e + "%22%20IS%20NULL",
			"sortby=" + e, "properties=" + e, "bbox=" + e, "datetime=" + e, "crs=" + e, "filter-crs=" + e,
			"filter-lang=" + e, "limit=" + e, "offset=" + e, "cursor=" + e, e + "=1",
			"filter-lang=cql2-json&filter=" + queryEscape(`{"op":"=","args":[{"property":"navn"},`+quoted(evil)+`]}`),
			"filter-lang=cql2-json&filter=" + queryEscape(`{"op":`+quoted(evil)+`,"args":[{"property":"navn"},1]}`),
			"filter-lang=cql2-json&filter=" + queryEscape(`{"op":"isNull","args":[{"property":`+quoted(evil)+`}]}`)} {
			r := a.get("/collections/steder/items?" + q)
			if r.StatusCode != 200 && r.StatusCode != 400 || r.StatusCode == 200 && len(r.page().Features) > 0 &&
				strings.HasPrefix(q, "navn=") {
				t.Errorf("%s: status %d: %.200s", q, r.StatusCode, r.Body)
			}
			if body := string(r.Body); strings.Contains(body, "SQL") || strings.Contains(body, "gpkg:") {
				t.Errorf("%s tells of the database: %.300s", q, body)
			}
		}
		for _, path := range []string{"/collections/" + queryEscape(evil),
			"/collections/steder/items/" + queryEscape(evil)} {
			if r := a.get(path); r.StatusCode != 404 {
				t.Errorf("%s: status %d", path, r.StatusCode)
			}
		}
	}
	if after := a.get("/collections/steder/items").wants(200).page(); after.NumberMatched != 5 ||
		!slices.Equal(after.ids(), before.ids()) {
		t.Errorf("afterwards %d features", after.NumberMatched)
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string always has JSON
	return string(b)
}
