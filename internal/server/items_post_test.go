package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers/gorillamux"

	"grense/internal/config"
	"grense/internal/cql2"
	"grense/openapi"
)

const (
	asFilter = "application/cql2+json"
	osloJSON = `{"op":"=","args":[{"property":"navn"},"Oslo"]}`
)

// TestPostedFilterAsksWhatGetAsks: CQL2 JSON in the body, as OWSLib sends it, has the same response as GET with the
// same filter.
func TestPostedFilterAsksWhatGetAsks(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil).settled("/collections/kommuner/items?f=html")
	for _, tt := range []struct{ query, filter string }{
		{"", osloJSON},
		{"?", osloJSON},
		{"?limit=7&sortby=-navn", `{"op":">","args":[{"property":"areal_km2"},100]}`},
		{"?bbox=5,58,8,61&limit=50", `{"op":"like","args":[{"property":"navn"},"%a%"]}`},
		{"?filter-crs=http://www.opengis.net/def/crs/EPSG/0/25833&crs=http://www.opengis.net/def/crs/EPSG/0/25833",
			`{"op":"s_intersects","args":[{"property":"geometry"},{"type":"Point","coordinates":[262000,6649000]}]}`},
		{"?filter-lang=cql2-json&fylke_nr=03", `{"op":"not","args":[{"op":"isNull","args":[{"property":"navn"}]}]}`},
		{"?resulttype=hits", osloJSON}, {"?f=csv&skipGeometry=true", osloJSON}, {"?f=jsonld", osloJSON},
		{"?f=html", osloJSON},
		{"?q=os", ` {"op" : "<>", "args" : [ {"property":"navn"}, "Ås — \u00e5" ] } `},
	} {
		for _, path := range []string{"/collections/kommuner/items", "/v1/collections/kommuner/items"} {
			q := tt.query
			if !strings.Contains(q, "?") {
				q = "?"
			}
			if !strings.Contains(q, "filter-lang") {
				q += "&filter-lang=cql2-json"
			}
			want := a.get(path + q + "&filter=" + queryEscape(tt.filter)).wants(200)
			for _, media := range []string{"application/json", "application/json; charset=utf-8", asFilter} {
				got := a.post(path+tt.query, media, tt.filter).wants(200)
				if untimed(got.Body) != untimed(want.Body) ||
					got.Header.Get("Content-Type") != want.Header.Get("Content-Type") ||
					got.Header.Get("OGC-NumberMatched") != want.Header.Get("OGC-NumberMatched") {
					t.Errorf("POST %s%s %s:\n got %.600s\nwant %.600s", path, tt.query, tt.filter, got.Body, want.Body)
				}
			}
		}
	}
}

// untimed is a response without its timeStamp.
func untimed(b []byte) string {
	s, _, _ := strings.Cut(string(b), `,"timeStamp"`)
	return s
}

// TestPostedFilterIsPagedByGet: the links of the response repeat the filter.
func TestPostedFilterIsPagedByGet(t *testing.T) {
	t.Parallel()
	a := serve(t, "", nil)
	r := a.post("/collections/kommuner/items?limit=100", asFilter,
		`{"op":">","args":[{"property":"areal_km2"},0]}`).wants(200)
	ids, n := r.page().ids(), 1
	for {
		l, ok := find(r.links(), "next", "application/geo+json")
		if !ok {
			break
		}
		r = a.get(strings.TrimPrefix(l.Href, a.URL)).wants(200)
		ids, n = append(ids, r.page().ids()...), n+1
	}
	slices.Sort(ids)
	if len(slices.Compact(ids)) != 357 || n != 4 {
		t.Errorf("%d features on %d pages", len(ids), n)
	}
}

// TestPostedFilterIsChecked: faults are refused with a cure, and the key is checked first.
func TestPostedFilterIsChecked(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	const items = "/collections/kommuner/items"
	deep := strings.Repeat(`{"op":"not","args":[`, 200) + "true" + strings.Repeat("]}", 200)
	long := `{"op":"=","args":[{"property":"navn"},"` + strings.Repeat("x", cql2.MaxBytes) + `"]}`
	for _, tt := range []struct {
		path, media, body string
		status            int
		says              string
	}{
		{items, "text/xml", osloJSON, 415, "application/cql2+json"}, {items, "", osloJSON, 415, "application/json"},
		{items, "application/x-www-form-urlencoded", osloJSON, 415, "CQL2 JSON"},
		{items, "application/json; charset=iso-8859-1", osloJSON, 415, "CQL2 JSON"},
		{items, "application/geo+json", osloJSON, 415, "CQL2 JSON"},
		{items, "text/plain", "navn = 'Oslo'", 415, "CQL2 JSON"},
		{items, asFilter, "", 400, `"in":"body"`}, {items, asFilter, "{", 400, `"in":"body"`},
		{items, asFilter, "navn = 'Oslo'", 400, `"in":"body"`}, {items, asFilter, "null", 400, `"in":"body"`},
		{items, asFilter, `{"op":"=","args":[{"property":"nvan"},"Oslo"]}`, 400, "navn"},
		{items, asFilter, deep, 400, "deep"}, {items, asFilter, long, 413, "65536"},
		{items, asFilter, `{"op":"=","op":"<>","args":[{"property":"navn"},"Oslo"]}`, 400, `"in":"body"`},
		{items, asFilter, `{"op":"=","args":[{"property":"navn"},"` + "\xff" + `"]}`, 400, `"in":"body"`},
		{items + "?filter=navn='Oslo'", asFilter, osloJSON, 400, "leave filter out"},
		{items + "?filter-lang=cql2-text", asFilter, osloJSON, 400, "leave filter-lang out"},
		{items + "?unknown=1&limit=0", asFilter, "{", 400, "unknown"},
		{items + "?f=xml", asFilter, osloJSON, 400, `"f"`},
		{"/collections/unknown/items", asFilter, osloJSON, 404, "unknown"},
		{items + "/0301", asFilter, osloJSON, 405, "GET, HEAD, OPTIONS"},
		{"/collections/kommuner/download", asFilter, osloJSON, 405, "GET, HEAD, OPTIONS"},
		{"/collections/kommuner", asFilter, osloJSON, 405, "GET, HEAD, OPTIONS"},
	} {
		if r := a.post(tt.path, tt.media, tt.body, "X-API-Key", a.key); r.StatusCode != tt.status ||
			!strings.Contains(string(r.Body), tt.says) || r.Header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("POST %s %.60s as %q: %d %s, want %d with %q", tt.path, tt.body, tt.media, r.StatusCode, r.Body,
				tt.status, tt.says)
		}
		if r := a.post(tt.path, tt.media, tt.body); tt.status != 404 && tt.status != 405 && r.StatusCode != 401 {
			t.Errorf("POST %s without a key: %d", tt.path, r.StatusCode)
		}
	}
	if r := a.post(items, asFilter, osloJSON, "X-API-Key", a.key, "Content-Encoding", "gzip"); r.StatusCode != 415 {
		t.Errorf("a compressed body: %d", r.StatusCode)
	}
	if r := a.post(items, asFilter, osloJSON, "X-API-Key", a.key, "If-None-Match", "*").wants(200); !slices.Equal(
		r.page().ids(), []string{"0301"}) {
		t.Errorf("%s", r.Body)
	}
}

// TestPostedFilterIsOpenToOtherOrigins: preflight, methods and the methods that there are not.
func TestPostedFilterIsOpenToOtherOrigins(t *testing.T) {
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	const items, methods = "/collections/kommuner/items", "GET, HEAD, POST, OPTIONS"
	r := a.do("OPTIONS", items, "Origin", "https://example.org", "Access-Control-Request-Method", "POST",
		"Access-Control-Request-Headers", "content-type,x-api-key")
	h := r.Header
	if r.StatusCode != 204 || h.Get("Allow") != methods || h.Get("Access-Control-Allow-Methods") != methods ||
		h.Get("Access-Control-Allow-Headers") != "content-type,x-api-key" ||
		h.Get("Access-Control-Allow-Origin") != "*" {
		t.Errorf("preflight: %d %v", r.StatusCode, h)
	}
	for _, m := range []string{"PUT", "DELETE", "PATCH", "TRACE", "QUERY", "BREW"} {
		if r := a.do(m, items, "X-API-Key", a.key); r.StatusCode != 405 || r.Header.Get("Allow") != methods {
			t.Errorf("%s: %d, Allow %q", m, r.StatusCode, r.Header.Get("Allow"))
		}
	}
	if r := a.do("HEAD", items, "X-API-Key", a.key); r.StatusCode != 200 || len(r.Body) != 0 {
		t.Errorf("HEAD: %d", r.StatusCode)
	}
}

// TestPostedFilterIsAsDefined validates requests and responses by the API definition.
func TestPostedFilterIsAsDefined(t *testing.T) {
	registerDecoders()
	t.Parallel()
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	doc, err := openapi.Load(t.Context(), a.get("/openapi").wants(200).Body)
	if err != nil {
		t.Fatal(err)
	}
	rt, err := gorillamux.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	options := &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc,
		IncludeResponseStatus: true}
	for _, tt := range []struct {
		query, media, key string
		status            int
	}{{"", asFilter, a.key, 200}, {"?limit=2&bbox=0,50,20,70", "application/json", a.key, 200},
		{"?f=html", asFilter, a.key, 200}, {"?unknown=1", asFilter, a.key, 400}, {"", asFilter, "", 401},
		{"", "text/xml", a.key, 415}} {
		path := "/collections/kommuner/items" + tt.query
		req, err := http.NewRequestWithContext(t.Context(), "POST", a.URL+path, strings.NewReader(osloJSON))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", tt.media)
		route, params, err := rt.FindRoute(req)
		if err != nil {
			t.Fatal(err)
		}
		in := &openapi3filter.RequestValidationInput{Request: req, Route: route, PathParams: params, Options: options}
		err = openapi3filter.ValidateRequest(t.Context(), in)
		res := a.post(path, tt.media, osloJSON, "X-API-Key", tt.key)
		if res.StatusCode != tt.status || err != nil && res.StatusCode == 200 || err == nil && res.StatusCode == 415 {
			t.Errorf("POST %s: %d, and the definition says %v", path, res.StatusCode, err)
		}
		out := &openapi3filter.ResponseValidationInput{RequestValidationInput: in, Status: res.StatusCode,
			Header: res.Header, Options: options}
		out.SetBodyBytes(res.Body)
		if err := openapi3filter.ValidateResponse(t.Context(), out); err != nil {
			t.Errorf("POST %s: %d %.500v", path, res.StatusCode, err)
		}
	}
}
