package feature_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"grense/internal/feature"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

const address = "https://example.com/collections/places/items/0301"

func TestJSONLDOfAPoint(t *testing.T) {
	t.Parallel()
	e := encoder(t, places("Point"), feature.Options{CRS: crs.ETRS89, Vocabulary: "https://example.com/v#"})
	got, err := e.AppendJSONLD(nil, oslo(), address)
	want := `{"@context":{"@vocab":"https://schema.org/","gsp":"http://www.opengis.net/ont/geosparql#",` +
		`"nr":"https://example.com/v#nr",` +
		`"navn":"https://example.com/v#navn","areal":"https://example.com/v#areal",` +
		`"innbyggere":"https://example.com/v#innbyggere",` +
		`"by":"https://example.com/v#by","år \"x\"":"https://example.com/v#%C3%A5r%20%22x%22",` +
		`"koder":"https://example.com/v#koder"},` +
		`"@type":["Place","gsp:Feature"],"@id":"` + address + `","identifier":"0301","name":"Oslo \"by\", fylke",` +
		`"geo":{"@type":"GeoCoordinates","latitude":59.91,"longitude":10.75},` +
		`"nr":"0301","navn":"Oslo \"by\", fylke","areal":454.12,"innbyggere":9007199254740993,"by":true,` +
		`"koder":{"@type":"@json","@value":[1,{"a":"b"}]},` +
		`"gsp:hasGeometry":{"@type":"gsp:Geometry","gsp:asWKT":{"@type":"gsp:wktLiteral",` +
		`"@value":"POINT(10.75 59.91)"},` +
		`"gsp:asGeoJSON":{"@type":"gsp:geoJSONLiteral","@value":"{\"type\":\"Point\",\"coordinates\":[10.75,59.91]}"}}}`
	if err != nil || string(got) != want || !json.Valid(got) {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
	got, err = e.AppendJSONLDItem(nil, oslo(), address)
	want = `{"@type":"Place","@id":"` + address + `","identifier":"0301","name":"Oslo \"by\", fylke",` +
		`"geo":{"@type":"GeoCoordinates","latitude":59.91,"longitude":10.75}}`
	if err != nil || string(got) != want {
		t.Errorf("in a list: %s, %v\nwant %s", got, err, want)
	}
}

// TestJSONLDLiteralsAreWhatTheySay reads the geometry literals of a polygon back.
func TestJSONLDLiteralsAreWhatTheySay(t *testing.T) {
	t.Parallel()
	e := encoder(t, places("Polygon"), feature.Options{})
	f := withPolygon(10)
	got, err := e.AppendJSONLD(nil, f, address)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Context  map[string]string `json:"@context"`
		Geo      any               `json:"geo"`
		Geometry struct {
			WKT struct {
				Value string `json:"@value"`
			} `json:"gsp:asWKT"`
			JSON struct {
				Value string `json:"@value"`
			} `json:"gsp:asGeoJSON"`
		} `json:"gsp:hasGeometry"`
	}
	if err := json.Unmarshal(got, &doc); err != nil {
		t.Fatalf("%s: %v", got, err)
	}
	g := geometry(t, crs.CRS84, crs.CRS84)
	wkt, err := g.AppendWKT(nil, f.Geometry.WKB)
	if err != nil || doc.Geometry.WKT.Value != string(wkt) {
		t.Errorf("WKT %s, want %s", doc.Geometry.WKT.Value, wkt)
	}
	js, err := g.AppendGeoJSON(nil, f.Geometry.WKB)
	if err != nil || doc.Geometry.JSON.Value != string(js) {
		t.Errorf("GeoJSON %s, want %s", doc.Geometry.JSON.Value, js)
	}
	if doc.Geo != nil {
		t.Errorf("a polygon has no coordinates of its own: %v", doc.Geo)
	}
	for k, v := range feature.Context() {
		if doc.Context[k] != v {
			t.Errorf("context %s is %q, in lists %q", k, doc.Context[k], v)
		}
	}
}

func TestJSONLDNamesThatClash(t *testing.T) {
	t.Parallel()
	c := &store.Collection{
		ID:            "c",
		TitleProperty: "name",
		Properties:    []store.Property{{Name: "name"}, {Name: "geo"}, {Name: "@id"}, {Name: "identifier"}},
	}
	f := &store.Feature{ID: "1", Values: []any{"A", "B", "C", nil}}
	got, err := encoder(t, c, feature.Options{}).AppendJSONLD(nil, f, "u")
	want := `{"@context":{"@vocab":"https://schema.org/","gsp":"http://www.opengis.net/ont/geosparql#"},` +
		`"@type":["Place","gsp:Feature"],` +
		`"@id":"u","identifier":"1","name":"A","geo_":"B","@id_":"C"}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

// TestPropertiesChangeNothingThatJSONLDSaysItself: whatever they are called, members and types of a document mean
// what they mean without them, no processor refuses it, and each property has the identifier that the schema gives
// it.
func TestPropertiesChangeNothingThatJSONLDSaysItself(t *testing.T) {
	t.Parallel()
	point := func(names ...string) (any, map[string]string) {
		c := places("Point")
		f := oslo()
		c.TitleProperty, c.Properties, f.Values = "the title", []store.Property{{Name: "the title"}}, []any{"Oslo"}
		for _, n := range names {
			c.Properties, f.Values = append(c.Properties, store.Property{Name: n}), append(f.Values, "of "+n)
		}
		got, err := encoder(t, c, feature.Options{Vocabulary: "https://example.com/v#"}).AppendJSONLD(nil, f, address)
		if err != nil {
			t.Fatal(err)
		}
		return expanded(t, got)
	}
	plain, terms := point()
	delete(plain.(map[string]any), "https://example.com/v#the%20title")
	names := []string{"addr:street", "addr_street", "addr/street", "name:nb", "pop/km2", ":", "a:", ":a", "/", "_", "",
		"@id", "@id_", "@", "@none", "@vokabular",
		"gsp:hasGeometry", "gsp:Feature", "gsp:asWKT", "gsp_hasGeometry", "https://schema.org/name", "null", "type",
		"name_", "a#b", "æ@", "numberOfItems", "itemListElement", "ItemList"}
	for term := range terms {
		if term != "the title" && !slices.Contains(names, term) {
			names = append(names, term)
		}
	}
	got, _ := point(names...)
	root := got.(map[string]any)
	for _, n := range append(names, "the title") {
		iri := "https://example.com/v#" + url.PathEscape(n)
		if v := root[iri]; v != "of "+n && n != "the title" {
			t.Errorf("%q is %v", n, v)
		}
		delete(root, iri)
	}
	if !reflect.DeepEqual(got, plain) {
		t.Errorf("with properties the document says\n%v, without\n%v", got, plain)
	}
}

// expanded is a document with its terms and types as IRIs, as JSON-LD 1.1 API, 4.2.2 and 5.2.2, make them of a
// context that maps terms to IRIs, and the terms that stand in it.
func expanded(t *testing.T, doc []byte) (any, map[string]string) {
	t.Helper()
	noDuplicates(t, doc)
	var in map[string]any
	if err := json.Unmarshal(doc, &in); err != nil {
		t.Fatalf("%s: %v", doc, err)
	}
	context := in["@context"].(map[string]any)
	delete(in, "@context")
	iri := func(term string) string {
		if v, ok := context[term].(string); ok || strings.HasPrefix(term, "@") {
			return cmp.Or(v, term)
		}
		if prefix, rest, ok := strings.Cut(term, ":"); ok {
			v, _ := context[prefix].(string)
			return v + rest
		}
		return context["@vocab"].(string) + term
	}
	keyword := regexp.MustCompile("^@[a-zA-Z]+$")
	for term := range context {
		inside := len(term) > 2 && strings.Contains(term[1:len(term)-1], ":") || strings.Contains(term, "/")
		if term == "" || inside || keyword.MatchString(term) && term != "@vocab" {
			t.Errorf("a processor refuses or passes over the term %q", term)
		}
	}
	terms := map[string]string{}
	see := func(term string) string {
		name, _, _ := strings.Cut(term, ":")
		if !strings.HasPrefix(name, "@") {
			terms[name] = iri(term)
		}
		return iri(term)
	}
	var walk func(v any, of string) any
	walk = func(v any, of string) any {
		switch v := v.(type) {
		case map[string]any:
			out := map[string]any{}
			for k, x := range v {
				out[see(k)] = walk(x, k)
			}
			return out
		case []any:
			out := make([]any, len(v))
			for i, x := range v {
				out[i] = walk(x, of)
			}
			return out
		case string:
			if of == "@type" {
				return see(v)
			}
		}
		return v
	}
	return walk(in, ""), terms
}

// noDuplicates describes members that stand twice in an object.
func noDuplicates(t *testing.T, doc []byte) {
	t.Helper()
	if err := jsontext.NewDecoder(bytes.NewReader(doc)).SkipValue(); err != nil { // which refuses them
		t.Errorf("%s: %v", doc, err)
	}
}
