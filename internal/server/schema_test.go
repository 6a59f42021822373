package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestSchemaQueryablesAndSortables(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	for _, tt := range []struct {
		kind       string
		properties string // in order
	}{
		{"schema", "geometry nr navn fylke_nr areal_km2"},
		{"queryables", "geometry nr navn fylke_nr areal_km2"},
		{"sortables", "nr navn fylke_nr areal_km2"},
	} {
		r := a.get("/v1/collections/kommuner/" + tt.kind + "?lang=en").wants(200)
		doc := r.json()
		if doc["$schema"] != "https://json-schema.org/draft/2020-12/schema" ||
			doc["$id"] != a.URL+"/v1/collections/kommuner/"+tt.kind || doc["type"] != "object" ||
			doc["additionalProperties"] != false {
			t.Errorf("%s: %s", tt.kind, r.Body)
		}
		props := doc["properties"].(map[string]any)
		names := strings.Fields(tt.properties)
		if len(props) != len(names) {
			t.Errorf("%s has %d properties, want %v", tt.kind, len(props), names)
		}
		last := -1
		for _, n := range names {
			at := strings.Index(string(r.Body), `"`+n+`":{`)
			if at <= last {
				t.Errorf("%s: %s is out of order", tt.kind, n)
			}
			last = at
			p := props[n].(map[string]any)
			if n != "geometry" {
				if _, ok := p["type"].(string); !ok || p["title"] == "" {
					t.Errorf("%s: %s is %v", tt.kind, n, p)
				}
				continue
			}
			_, typed := p["type"]
			_, ref := p["$ref"]
			if p["format"] != "geometry-multipolygon" || p["x-ogc-role"] != "primary-geometry" || typed || ref {
				t.Errorf("%s: geometry is %v", tt.kind, p)
			}
		}
		nr := props["nr"].(map[string]any)
		if nr["x-ogc-role"] != "id" || nr["type"] != "string" {
			t.Errorf("%s: nr is %v", tt.kind, nr)
		}
		if f := props["fylke_nr"].(map[string]any); f["x-ogc-role"] != "reference" ||
			f["x-ogc-collectionId"] != "fylker" {
			t.Errorf("%s: fylke_nr is %v", tt.kind, f)
		}
		if areal := props["areal_km2"].(map[string]any); areal["type"] != "integer" || areal["x-ogc-unit"] != "km2" {
			t.Errorf("%s: areal_km2 is %v", tt.kind, areal)
		}
	}
}

// TestEachQueryableIsAParameterAndFilters: each advertised queryable works.
func TestEachQueryableIsAParameterAndFilters(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	a := serve(t, shared(t, "cql2/ne110m4cql2.gpkg"), nil)
	for _, coll := range a.collectionIDs() {
		items := "/collections/" + coll + "/items"
		features := a.get(items + "?limit=10000").wants(200).page().Features
		props := a.get("/collections/" + coll + "/queryables").wants(200).json()["properties"].(map[string]any)
		for name, p := range props {
			if p.(map[string]any)["type"] == nil {
				continue
			}
			for _, f := range features[:min(40, len(features))] {
				if v, ok := f.Properties[name].(string); ok {
					q := a.get(items + "?limit=10000&" + queryEscape(name) + "=" + queryEscape(v))
					if !slices.Contains(q.wants(200).page().ids(), f.ID) {
						t.Errorf("%s: %s=%q does not find %s", coll, name, v, f.ID)
					}
				}
			}
		}
	}
}

// TestFunctionsWork calls each advertised function.
func TestFunctionsWork(t *testing.T) {
	t.Parallel()
	a := serve(t, shared(t, "cql2/ne110m4cql2.gpkg"), nil)
	calls := map[string]string{"abs": "abs(-pop_other) = pop_other AND pop_other > 0", "ceil": "ceil(0.5) = 1",
		"floor": "floor(1.5) = 1", "left": "left(name,3) = 'Ber'", "length": "length(name) = 4",
		"day": `day("date") = 16`, "month": `month("date") = 4`, "year": `year("date") = 2022`}
	described := map[string]bool{}
	for _, f := range append(a.get("/functions?lang=nn").wants(200).json()["functions"].([]any),
		a.get("/functions?lang=en").wants(200).json()["functions"].([]any)...) {
		if d := f.(map[string]any)["description"].(string); described[d] || strings.HasPrefix(d, "functions.") {
			t.Errorf("a function is told as %q, as another is or in another language", d)
		} else {
			described[d] = true
		}
	}
	for _, f := range a.get("/functions").wants(200).json()["functions"].([]any) {
		name := f.(map[string]any)["name"].(string)
		call, ok := calls[name]
		if !ok {
			t.Errorf("no test calls %s", name)
			continue
		}
		if n := a.get("/collections/ne_110m_populated_places_simple/items?limit=1&filter=" + queryEscape(call)).wants(
			200).page().NumberMatched; n == 0 {
			t.Errorf("%s matches nothing", call)
		}
	}
}

// TestSchemasHaveAnIdAndReferToCollections checks the reference classes of OGC 23-058r2: each schema has one property
// of role id, with the ids of the features. The values of a property of role reference are ids of the collection that
// it names.
func TestSchemasHaveAnIdAndReferToCollections(t *testing.T) {
	t.Parallel()
	references := 0
	for _, source := range []string{"", "cql2/ne110m4cql2.gpkg", "norway/hmalmedal-n1000/n1000-kommune-25833.gpkg"} {
		if source != "" {
			source = shared(t, source)
		}
		a := serve(t, source, nil)
		if classes := string(a.get("/conformance").wants(200).Body); !strings.Contains(
			classes, `ogcapi-common-3/1.0/conf/references"`) ||
			!strings.Contains(classes, `"http://www.opengis.net/spec/ogcapi-features-5/1.0/conf/schemas"`) {
			t.Errorf("%s", classes)
		}
		for _, coll := range a.collectionIDs() {
			r := a.get("/collections/" + coll)
			// as older clients find it, too
			l, ok := find(r.links(), "http://www.opengis.net/def/rel/ogc/1.0/schema", "application/schema+json")
			if !ok {
				t.Fatalf("%s has no link to its schema", coll)
			}
			var id []string
			schema := a.get(strings.TrimPrefix(l.Href, a.URL)).wants(200).json()["properties"].(map[string]any)
			page := a.get("/collections/" + coll + "/items?limit=20").wants(200)
			var items struct {
				Features []struct {
					ID         string
					Properties map[string]any
				}
			}
			decode(t, page.Body, &items)
			for name, p := range schema {
				switch p := p.(map[string]any); p["x-ogc-role"] {
				case "id":
					id = append(id, name)
				case "reference":
					for _, f := range items.Features {
						references++
						a.get("/collections/" + p["x-ogc-collectionId"].(string) + "/items/" +
							escape(fmt.Sprint(f.Properties[name]))).wants(200)
					}
				}
			}
			if len(id) != 1 {
				t.Fatalf("%s: properties of the role id: %q", coll, id)
			}
			for _, f := range items.Features {
				if v, ok := f.Properties[id[0]]; ok && fmt.Sprint(v) != f.ID || !ok && id[0] != "id" {
					t.Errorf("%s: %s of feature %s is %v", coll, id[0], f.ID, v)
				}
			}
		}
	}
	if references == 0 {
		t.Error("there was no reference")
	}
}

// TestGeometryOfAnyGeoPackageIsCalledGeometry: whatever its column is called, by which filters may go on to call it.
func TestGeometryOfAnyGeoPackageIsCalledGeometry(t *testing.T) {
	t.Parallel()
	st := openGeoPackage(t, shared(t, "cql2/ne110m4cql2.gpkg")) // its columns are called geom
	a := serveStore(t, st, nil)
	const coll = "/collections/ne_110m_admin_0_countries"
	for _, kind := range []string{"queryables", "schema"} {
		props := a.get(coll + "/" + kind).wants(200).json()["properties"].(map[string]any)
		if g, ok := props["geometry"].(map[string]any); !ok || g["x-ogc-role"] != "primary-geometry" ||
			props["geom"] != nil {
			t.Errorf("%s: geometry is %v", kind, props["geometry"])
		}
	}
	want := a.get(coll + "/items?filter=" + queryEscape("S_INTERSECTS(geometry,POINT(10.75 59.9))")).wants(
		200).page().ids()
	for _, query := range []string{"filter=" + queryEscape("S_INTERSECTS(geom,POINT(10.75 59.9)) AND geom IS NOT NULL"),
		"bbox=10.75,59.9,10.75,59.9", "properties=geom&bbox=10.75,59.9,10.75,59.9",
		"filter-lang=cql2-json&filter=" +
			queryEscape(`{"op":"s_intersects","args":[{"property":"geom"},{"type":"Point",`+
				`"coordinates":[10.75,59.9]}]}`)} {
		if got := a.get(coll + "/items?" + query).wants(200).page().ids(); len(got) != 1 || !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}
