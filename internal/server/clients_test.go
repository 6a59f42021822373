package server_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"grense/internal/config"
)

// The headers that real clients send (recorded).
var (
	gdal    = []string{"Accept", "application/geo+json, application/json", "Accept-Encoding", "gzip", "User-Agent", ""}
	gdalAPI = []string{"Accept", "application/vnd.oai.openapi+json;version=3.0, " +
		"application/openapi+json;version=3.0, application/json", "Accept-Encoding", "gzip"}
	qgis = []string{"User-Agent", "Mozilla/5.0 QGIS/32216", "Accept-Language", "en,*", "Accept-Encoding",
		"gzip, deflate", "Cache-Control", "no-cache"}
	owslib = []string{"Accept", "*/*", "User-Agent", "python-requests/2.28.1"}
	ogcJS  = []string{"Accept", "application/json,application/schema+json"}
)

// TestRequestsOfClients replays requests of known clients and checks what these clients read.
func TestRequestsOfClients(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	items := "/collections/kommuner/items"
	for _, tt := range []struct {
		client string
		path   string
		header []string
		media  string
		want   []string
	}{
		{"GDAL", "/collections", []string{"Accept", "application/json", "User-Agent", ""}, "application/json",
			[]string{`"id":"kommuner"`, `"itemType":"feature"`, `"bbox":[[`}},
		{"GDAL", items + "?limit=10", gdal, "application/geo+json",
			[]string{`"numberMatched":357`, `"rel":"next","type":"application/geo+json"`}},
		{"GDAL", "/openapi", gdalAPI, "application/vnd.oai.openapi+json;version=3.0",
			[]string{`"/collections/kommuner/items"`, `"cql-text"`}},
		{"GDAL", items + "?limit=10&nr=0301", gdal, "application/geo+json", []string{`"numberMatched":1`}},
		{"GDAL", items + "?limit=10&bbox=5.40000000000000036,58,6,59", gdal, "application/geo+json",
			[]string{`"numberMatched":`}},
		{"GDAL", items + "?limit=10&filter=(navn%20LIKE%20'B%25')%20AND%20(nr%20%3C%3E%20'0301')&filter-lang=cql-text",
			gdal, "application/geo+json", []string{`"numberMatched":`}},
		{"GDAL", items + "?limit=1000&crs=http://www.opengis.net/def/crs/EPSG/0/25833", gdal, "application/geo+json",
			[]string{`"numberReturned":357`}},
		{"QGIS", "/", qgis, "application/json", []string{`"rel":"service-desc"`, `"rel":"data"`}},
		{"QGIS", "/openapi", qgis, "application/vnd.oai.openapi+json;version=3.0",
			[]string{`"limit":{`, `"maximum":10000`}},
		{"QGIS", "/collections/kommuner", qgis, "application/json",
			[]string{`"storageCrs":"http://www.opengis.net/def/crs/EPSG/0/25833"`}},
		{"QGIS", "/collections/kommuner/queryables", []string{"Accept", "application/schema+json"},
			"application/schema+json", []string{`"format":"geometry-multipolygon"`, `"type":"integer"`}},
		{"QGIS", items + "?limit=1", qgis, "application/geo+json", []string{`"numberMatched":357`}},
		{"QGIS", items + "?limit=1000", qgis, "application/geo+json", []string{`"numberReturned":357`}},
		{"QGIS", items + "?datetime=0000-01-01T00:00:00Z/2020-01-01T00:00:00Z&limit=1", qgis, "application/geo+json",
			[]string{`"numberMatched":357`}},
		{"QGIS", items + "?datetime=2020-01-01T00:00:00Z/9999-12-31T00:00:00Z&limit=1", qgis, "application/geo+json",
			[]string{`"numberMatched":357`}},
		{"QGIS", items + "?limit=10&filter=(navn='Oslo')%20AND%20(fylke_nr='03')&filter-lang=cql2-text", qgis,
			"application/geo+json", []string{`"numberMatched":1`}},
		{"OWSLib", "/", owslib, "application/json", []string{`"type":"application/vnd.oai.openapi+json;version=3.0"`}},
		{"OWSLib", "/openapi", owslib, "application/vnd.oai.openapi+json;version=3.0", []string{`"openapi":"3.0`}},
		{"OWSLib", items + "?datetime_=2020-01-01T00%3A00%3A00Z%2F..&limit=1", owslib, "application/geo+json",
			[]string{`"numberMatched":357`}},
		{"OWSLib", items + "?sortby=navn&sortby=desc&limit=1", owslib, "application/geo+json",
			[]string{`Øystre Slidre`}},
		{"OWSLib", items + "?bbox=2%2C57%2C33%2C82&limit=1", owslib, "application/geo+json",
			[]string{`"numberMatched":357`}},
		{"ogc-client", "/?f=json", ogcJS, "application/json", []string{`"rel":"conformance"`}},
		{"ogc-client", "/conformance?f=json", ogcJS, "application/json", []string{`ogcapi-features-1/1.0/conf/core`}},
		{"ogc-client", "/collections/kommuner/queryables?f=json", ogcJS, "application/schema+json", []string{`"navn"`}},
		{"ogc-client", "/collections/kommuner/schema?f=json", ogcJS, "application/schema+json", []string{`"navn"`}},
		{"ogc-client", items + "?f=json&limit=10&offset=350", ogcJS, "application/geo+json",
			[]string{`"numberReturned":7`}},
		{"front end", items + "?f=json&limit=1", nil, "application/geo+json", []string{`"numberMatched":357`}},
		{"front end", items + "/0301?f=json", nil, "application/geo+json", []string{`"prev":"0301"`, `"next":"1101"`}},
		{"front end", "/TileMatrixSets/WebMercatorQuad?f=json", nil, "application/json",
			[]string{`"crs":"http://www.opengis.net/def/crs/EPSG/0/3857"`, `"cellSize":`}},
	} {
		for _, mount := range []string{"", "/v1"} {
			r := a.get(mount+tt.path, tt.header...).wants(200)
			body := r.Body
			if r.Header.Get("Content-Encoding") == "gzip" {
				body = gunzip(t, body)
			}
			if got := r.Header.Get("Content-Type"); got != tt.media {
				t.Errorf("%s %s: Content-Type %q, want %q", tt.client, tt.path, got, tt.media)
			}
			for _, w := range tt.want {
				if !strings.Contains(string(body), w) {
					t.Errorf("%s %s: the answer lacks %s", tt.client, tt.path, w)
				}
			}
			if strings.Contains(tt.path, "/items") && r.Header.Get("Content-Crs") == "" {
				t.Errorf("%s %s: no Content-Crs", tt.client, tt.path)
			}
		}
	}
}

// TestRequiredFieldsOfClients checks the fields without which some client breaks.
func TestRequiredFieldsOfClients(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]string{"demo": "", "ne110m": "cql2/ne110m4cql2.gpkg",
		"null":   "awkward/gpkg-ets/null_geometry.gpkg",
		"sample": "awkward/gpkg-ets/gdal_sample_v1.2_spatial_index_extension.gpkg"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if source != "" {
				source = shared(t, source)
			}
			a := serve(t, source, func(c *config.Config) { c.Auth = "required" })
			for _, l := range a.get("/").links() {
				if !strings.HasPrefix(l.Href, "http") || l.Type == "" {
					t.Errorf("landing link %+v", l)
				}
			}
			for _, id := range a.collectionIDs() {
				a.requireFields(t, id)
			}
		})
	}
}

func (a *api) requireFields(t *testing.T, id string) {
	doc := a.get("/collections/" + id).wants(200).json()
	for _, c := range id {
		if !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789_-", c) {
			t.Errorf("id %q", id)
		}
	}
	for _, m := range []string{"title", "description", "itemType", "crs", "links", "keywords", "itemCount"} {
		if _, ok := doc[m]; !ok {
			t.Errorf("%s: no %s", id, m)
		}
	}
	for _, want := range [][2]string{{"items", "application/geo+json"}, {"items", "text/html"},
		{"http://www.opengis.net/def/rel/ogc/1.0/queryables", "application/schema+json"},
		{"http://www.opengis.net/def/rel/ogc/1.0/schema", "application/schema+json"}, {"self", "application/json"}} {
		if _, ok := find(a.get("/collections/"+id).links(), want[0], want[1]); !ok {
			t.Errorf("%s: no link %v", id, want)
		}
	}
	for name, p := range a.get("/collections/" + id + "/queryables").wants(200).json()["properties"].(map[string]any) {
		q := p.(map[string]any)
		_, one := q["type"].(string)
		format, _ := q["format"].(string)
		if _, ref := q["$ref"]; ref || !one && (!strings.HasPrefix(format, "geometry-") ||
			q["x-ogc-role"] != "primary-geometry") {
			t.Errorf("%s: queryable %s is %v", id, name, q)
		}
	}
	r := a.get("/collections/"+id+"/items?limit=50", "X-API-Key", a.key).wants(200)
	var page struct {
		NumberMatched, NumberReturned *int
		TimeStamp                     string
		CRS                           any
		Features                      []struct {
			ID         any
			Properties map[string]any
		}
	}
	if err := json.Unmarshal(r.Body, &page); err != nil {
		t.Fatal(err)
	}
	if _, err := time.Parse(time.RFC3339, page.TimeStamp); err != nil || page.NumberMatched == nil ||
		page.NumberReturned == nil || page.CRS != nil {
		t.Errorf("%s: %.200s", id, r.Body)
	}
	for _, f := range page.Features {
		if _, ok := f.ID.(string); !ok {
			t.Errorf("%s: id %v is no string", id, f.ID)
		}
		if len(f.Properties) != len(page.Features[0].Properties) {
			t.Errorf("%s: feature %v has other properties than the first", id, f.ID)
		}
	}
	for _, h := range []string{"Content-Crs", "Link", "OGC-NumberMatched", "ETag", "Vary", "Cache-Control"} {
		if r.Header.Get(h) == "" {
			t.Errorf("%s: no header %s", id, h)
		}
	}
}
