package feature_test

import (
	"encoding/json"
	"testing"

	"grense/internal/crs"
	"grense/internal/feature"
	"grense/internal/store"
)

const address = "https://example.com/collections/places/items/0301"

func TestJSONLDOfAPoint(t *testing.T) {
	t.Parallel()
	e := encoder(t, places("Point"), feature.Options{CRS: crs.ETRS89, Vocabulary: "https://example.com/v#"})
	got, err := e.AppendJSONLD(nil, oslo(), address)
	want := `{"@context":{"@vocab":"https://schema.org/","gsp":"http://www.opengis.net/ont/geosparql#","nr":"https://example.com/v#nr",` +
		`"navn":"https://example.com/v#navn","areal":"https://example.com/v#areal","innbyggere":"https://example.com/v#innbyggere",` +
		`"by":"https://example.com/v#by","år \"x\"":"https://example.com/v#%C3%A5r%20%22x%22","koder":"https://example.com/v#koder"},` +
		`"@type":["Place","gsp:Feature"],"@id":"` + address + `","identifier":"0301","name":"Oslo \"by\", fylke",` +
		`"geo":{"@type":"GeoCoordinates","latitude":59.91,"longitude":10.75},` +
		`"nr":"0301","navn":"Oslo \"by\", fylke","areal":454.12,"innbyggere":9007199254740993,"by":true,"koder":{"@type":"@json","@value":[1,{"a":"b"}]},` +
		`"gsp:hasGeometry":{"@type":"gsp:Geometry","gsp:asWKT":{"@type":"gsp:wktLiteral","@value":"POINT(10.75 59.91)"},` +
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
	c := &store.Collection{ID: "c", TitleProperty: "name", Properties: []store.Property{{Name: "name"}, {Name: "geo"}, {Name: "@id"}, {Name: "identifier"}}}
	f := &store.Feature{ID: "1", Values: []any{"A", "B", "C", nil}}
	got, err := encoder(t, c, feature.Options{}).AppendJSONLD(nil, f, "u")
	want := `{"@context":{"@vocab":"https://schema.org/","gsp":"http://www.opengis.net/ont/geosparql#"},"@type":["Place","gsp:Feature"],` +
		`"@id":"u","identifier":"1","name":"A","geo_":"B","@id_":"C"}`
	if err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}
