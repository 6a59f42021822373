package server_test

import (
	"encoding/json"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"grense/openapi"
)

const crs84 = "http://www.opengis.net/def/crs/OGC/1.3/CRS84"

// suiteCodes are the EPSG codes that the official suite knows. The suite crashes on any other, so its assertions skip
// them. A collection has such a code only if its data are stored in it.
var suiteCodes = []string{"25832", "25833", "25835", "3575", "3035", "4258", "4326", "3857", "3395", "32633", "32632",
	"32635", "5972", "5973", "5975"}

// TestOfficialFeaturesSuite checks the assertions of the executable test suite of OGC API Features Parts 1 and 2, at
// both mounts.
func TestOfficialFeaturesSuite(t *testing.T) {
	t.Parallel()
	for name, source := range map[string]func(*testing.T) string{"demo": func(*testing.T) string { return "" },
		"ne110m":            func(t *testing.T) string { return shared(t, "cql2/ne110m4cql2.gpkg") },
		"systems of others": lattices} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			source := source(t)
			a := serve(t, source, nil)
			for _, mount := range []string{"", "/v1"} {
				t.Run("mount"+mount, func(t *testing.T) {
					s := suite{api: &api{Server: a.Server, t: t}, iut: a.URL + mount}
					s.landing()
					s.definition()
					s.conformance()
					s.collections()
				})
			}
		})
	}
}

// suite is one run against one implementation under test.
type suite struct {
	*api
	iut string
	doc *openapi3.T
}

func (s *suite) landing() {
	r := s.get(s.iut+"/", "Accept", "application/json").wants(200)
	if r.Proto != "HTTP/1.1" {
		s.t.Errorf("protocol %s", r.Proto)
	}
	for _, rel := range []string{"service-desc", "conformance", "data", "self", "alternate"} {
		if l, ok := find(r.links(), rel, ""); !ok || l.Type == "" {
			s.t.Errorf("landing page has no typed link %s", rel)
		}
	}
}

func (s *suite) definition() {
	const media = "application/vnd.oai.openapi+json;version=3.0"
	l, ok := find(s.get(s.iut+"/", "Accept", "application/json").links(), "service-desc", media)
	if !ok {
		s.t.Fatalf("no service-desc of type %s", media)
	}
	r := s.get(l.Href, "Accept", media).wants(200)
	doc, err := openapi.Load(s.t.Context(), r.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	s.doc = doc
	if len(doc.Servers) != 1 {
		s.t.Fatalf("%d servers, want one", len(doc.Servers))
	}
	if re := regexp.MustCompile(doc.Servers[0].URL); re.FindString(s.iut) != s.iut {
		s.t.Errorf("server %q is not %q", doc.Servers[0].URL, s.iut)
	}
	for _, p := range []string{"/", "/conformance", "/collections"} {
		item := doc.Paths.Find(p)
		if item == nil || item.Get == nil || item.Get.Responses.Value("200") == nil {
			s.t.Errorf("no GET %s with 200 in the definition", p)
		}
	}
}

func (s *suite) conformance() {
	var c struct{ ConformsTo []string }
	if err := json.Unmarshal(s.get(s.iut+"/conformance", "Accept", "application/json").wants(200).Body,
		&c); err != nil {
		s.t.Fatal(err)
	}
	for _, uri := range []string{"http://www.opengis.net/spec/ogcapi-features-1/1.0/conf/core",
		"http://www.opengis.net/spec/ogcapi-features-2/1.0/conf/crs"} {
		if !slices.Contains(c.ConformsTo, uri) {
			s.t.Errorf("%s is not declared", uri)
		}
	}
}

type collectionDoc struct {
	ID, Title, Description, ItemType, StorageCrs string
	Links                                        []link
	CRS                                          []string `json:"crs"`
	Extent                                       struct {
		Spatial struct {
			BBox [][]float64
			CRS  string
		}
	}
}

func (s *suite) collections() {
	r := s.get(s.iut+"/collections", "Accept", "application/json").wants(200)
	for _, want := range [][2]string{{"self", "application/json"}, {"alternate", "text/html"}} {
		if _, ok := find(r.links(), want[0], want[1]); !ok {
			s.t.Errorf("/collections has no link %v", want)
		}
	}
	var list struct{ Collections []collectionDoc }
	var raw struct{ Collections []any }
	if json.Unmarshal(r.Body, &list) != nil || json.Unmarshal(r.Body, &raw) != nil || len(list.Collections) == 0 {
		s.t.Fatalf("no collections: %.200s", r.Body)
	}
	for i, c := range list.Collections {
		var one any
		if err := json.Unmarshal(s.get(s.iut+"/collections/"+c.ID, "Accept", "application/json").wants(200).Body,
			&one); err != nil {
			s.t.Fatal(err)
		}
		if !reflect.DeepEqual(one, raw.Collections[i]) {
			s.t.Errorf("collection %s differs from its entry in the list", c.ID)
		}
		s.collection(c)
	}
}

func (s *suite) collection(c collectionDoc) {
	t := s.t
	if c.ItemType != "feature" || c.CRS[0] != crs84 || !slices.Contains(c.CRS, c.StorageCrs) {
		t.Errorf("%s: itemType %q, crs %v, storageCrs %q", c.ID, c.ItemType, c.CRS, c.StorageCrs)
	}
	for _, uri := range c.CRS[1:] {
		if !known(uri) && uri != c.StorageCrs {
			t.Errorf("%s offers %s, which the suite does not know", c.ID, uri)
		}
	}
	items, ok := find(c.Links, "items", "application/geo+json")
	if !ok || len(c.Extent.Spatial.BBox) != 1 || len(c.Extent.Spatial.BBox[0]) != 4 {
		t.Fatalf("%s: items link %v, extent %v", c.ID, items, c.Extent)
	}
	itemsURL, _, _ := strings.Cut(items.Href, "?")
	path := "/collections/" + c.ID + "/items"
	limit := s.parameters(path)

	first := s.features(itemsURL, "limit=10")
	for _, n := range []int{1, min(100, limit/2)} {
		if p := s.features(itemsURL, "limit="+strconv.Itoa(n)); len(p.Features) > n {
			t.Errorf("%s: limit=%d gives %d features", c.ID, n, len(p.Features))
		}
	}
	b := c.Extent.Spatial.BBox[0]
	boxes := [][]float64{b, {-1.5, 50, 1.5, 53}, {-80, -5, -70, 5}, {177, 65, -177, 70}, {-180, 85, 180, 90},
		{-180, -90, 180, -85}}
	for _, box := range boxes {
		s.features(itemsURL, "limit=10&bbox="+floats(box))
	}
	for _, bad := range []string{"limit=ten", "unknownQueryParameter1xxxx=1", "bbox=1,2,3", "datetime=soon",
		"crs=http://www.opengis.net/def/crs/0/unsupported",
		"bbox=1,2,3,4&bbox-crs=http://www.opengis.net/def/crs/0/unsupported"} {
		s.get(itemsURL+"?"+bad, "Accept", "application/geo+json").wants(400)
	}
	s.features(itemsURL, "limit=10&datetime=2019-02-14T00:00:00Z")
	s.walk(itemsURL, limit)
	for _, f := range first.Features[:min(3, len(first.Features))] {
		r := s.get(itemsURL+"/"+f.ID, "Accept", "application/geo+json").wants(200)
		for _, rel := range []string{"self", "alternate", "collection"} {
			if l, ok := find(r.links(), rel, ""); !ok || l.Type == "" {
				t.Errorf("%s: no typed link %s", r.Request.URL, rel)
			}
		}
	}
	for _, uri := range c.CRS {
		if known(uri) {
			s.crs(itemsURL, uri, first, b)
		}
		s.boxCRS(itemsURL, uri, b)
	}
}

// known reports whether the suite knows a system.
func known(uri string) bool {
	return uri == crs84 || slices.Contains(suiteCodes, uri[strings.LastIndexByte(uri, '/')+1:])
}

// parameters checks the definitions of limit, bbox and datetime and returns the maximum of limit.
func (s *suite) parameters(path string) int {
	item := s.doc.Paths.Find(path)
	if item == nil || item.Get == nil {
		s.t.Fatalf("no path %s in the definition", path)
	}
	get := func(name string) *openapi3.Parameter {
		p := item.Get.Parameters.GetByInAndName("query", name)
		if p == nil || p.Required || p.Style != "form" || p.Explode == nil || *p.Explode {
			s.t.Fatalf("%s: parameter %s is %+v", path, name, p)
		}
		return p
	}
	l := get("limit").Schema.Value
	if !l.Type.Is("integer") || l.Min == nil || l.Max == nil || l.Default == nil {
		s.t.Fatalf("%s: limit is %+v", path, l)
	}
	b := get("bbox").Schema.Value
	if !b.Type.Is("array") || b.MinItems != 4 || b.MaxItems == nil || *b.MaxItems != 6 ||
		!b.Items.Value.Type.Is("number") {
		s.t.Errorf("%s: bbox is %+v", path, b)
	}
	get("datetime")
	return int(*l.Max)
}

// features fetches a page and checks the members that every page must have.
func (s *suite) features(itemsURL, query string) collectionPage {
	r := s.get(itemsURL+"?"+query, "Accept", "application/geo+json").wants(200)
	p := r.page()
	if _, err := time.Parse(time.RFC3339, p.TimeStamp); err != nil || p.Type != "FeatureCollection" ||
		p.Features == nil || p.NumberReturned != len(p.Features) || p.NumberMatched < p.NumberReturned {
		s.t.Errorf("%s: type %s, %d features, numberReturned %d, numberMatched %d, timeStamp %q", r.Request.URL, p.Type,
			len(p.Features), p.NumberReturned, p.NumberMatched, p.TimeStamp)
	}
	for _, rel := range []string{"self", "alternate"} {
		if l, ok := find(p.Links, rel, ""); !ok || l.Type == "" {
			s.t.Errorf("%s: no typed link %s", r.Request.URL, rel)
		}
	}
	if got := r.Header.Get("Content-Type"); got != "application/geo+json" {
		s.t.Errorf("%s: Content-Type %q", r.Request.URL, got)
	}
	return p
}

// walk follows next from pages of the greatest size, as the suite does, four times at most.
func (s *suite) walk(itemsURL string, limit int) {
	p := s.features(itemsURL, "limit="+strconv.Itoa(limit))
	sum := len(p.Features)
	for range 4 {
		next, ok := find(p.Links, "next", "")
		if !ok {
			break
		}
		p = s.get(next.Href).wants(200).page()
		sum += len(p.Features)
	}
	if sum != p.NumberMatched {
		s.t.Errorf("%s: pages hold %d features, numberMatched is %d", itemsURL, sum, p.NumberMatched)
	}
}

// crs checks one coordinate reference system: header, same features, transformed coordinates, a box in it.
func (s *suite) crs(itemsURL, uri string, first collectionPage, extent []float64) {
	r := s.get(itemsURL + "?limit=10&crs=" + url.QueryEscape(uri)).wants(200)
	if got, want := r.Header.Get("Content-Crs"), "<"+uri+">"; got != want {
		s.t.Errorf("%s: Content-Crs %s, want %s", r.Request.URL, got, want)
	}
	p := r.page()
	if !slices.Equal(p.ids(), first.ids()) {
		s.t.Errorf("%s: ids differ from those without crs", r.Request.URL)
	}
	if one := s.get(itemsURL + "/" + first.Features[0].ID + "?crs=" + url.QueryEscape(uri)).wants(200); one.Header.Get(
		"Content-Crs") != "<"+uri+">" {
		s.t.Errorf("%s: Content-Crs %s", one.Request.URL, one.Header.Get("Content-Crs"))
	}
	geographic := strings.HasSuffix(uri, "CRS84") || strings.HasSuffix(uri, "/4326") || strings.HasSuffix(uri, "/4258")
	if !geographic && first.Features[0].Geometry != nil && reflect.DeepEqual(
		p.Features[0].Geometry.Coordinates, first.Features[0].Geometry.Coordinates) {
		s.t.Errorf("%s: coordinates are those of CRS84", r.Request.URL)
	}
	if geographic {
		box := slices.Clone(extent)
		if !strings.HasSuffix(uri, "CRS84") {
			box = []float64{extent[1], extent[0], extent[3], extent[2]}
		}
		in := s.get(itemsURL + "?limit=10&bbox=" + floats(box) + "&bbox-crs=" + url.QueryEscape(uri)).wants(200).page()
		if !slices.Equal(in.ids(), first.ids()) {
			s.t.Errorf("%s: bbox of the extent in %s gives %v, want %v", itemsURL, uri, in.ids(), first.ids())
		}
	}
}

func floats(b []float64) string {
	s := make([]string, len(b))
	for i, v := range b {
		s[i] = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strings.Join(s, ",")
}
