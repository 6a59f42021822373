package server_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"grense/api/placename"
	"grense/internal/apikey"
	"grense/internal/config"
	"grense/internal/server"
)

// TestNoDataWithoutAKey requests every route of the table, in every representation, by every method, without a valid
// key in every way. No response contains data, and no data route succeeds. The test includes new routes by itself; a
// new path variable needs a sample value here.
func TestNoDataWithoutAKey(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: the run without the race detector has it")
	}
	a := serve(t, "", func(c *config.Config) { c.Auth = "required" })
	if !a.hasItems() {
		t.Fatal("the demo has no municipalities")
	}
	secrets := a.secrets()
	h := a.srv.Handler()
	asked, client := 0, 0
	for _, rt := range a.srv.KeyedRoutes() {
		for _, path := range pathsOf(t, rt) {
			for _, f := range append(rt.Formats, "") {
				for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE",
					"QUERY"} {
					for name, carry := range wrongCarriers(a.key) {
						client++
						r := httptest.NewRequest(method, "http://example.org"+path, bodyOf(method, path))
						// a client that sends many wrong keys is slowed down
						r.RemoteAddr = fmt.Sprintf("192.0.%d.%d:99", client>>8&255, client&255)
						r.Header.Set("Content-Type", "text/xml; charset=utf-8")
						if strings.HasSuffix(path, "/items") {
							r.Header.Set("Content-Type", "application/json")
						}
						if f != "" {
							q := r.URL.Query()
							q.Set("f", f)
							r.URL.RawQuery = q.Encode()
						}
						carry(r)
						w := httptest.NewRecorder()
						h.ServeHTTP(w, r)
						asked++
						what := fmt.Sprintf("%s %s with %s: %d", method, r.URL, name, w.Code)
						if w.Code >= 500 && !strings.Contains(path, "soap") {
							t.Error(what)
						}
						if rt.Data && w.Code < 300 && method != "OPTIONS" && !isDescription(path) {
							t.Error(what)
						}
						if i := leak(w.Body.String(), secrets); i != "" && !strings.HasPrefix(rt.Path, "/codelists") {
							t.Errorf("%s: the answer holds %q", what, i)
						}
					}
				}
			}
		}
	}
	t.Logf("%d requests", asked)
	if asked < 10_000 {
		t.Errorf("only %d requests", asked)
	}
}

func (a *api) hasItems() bool {
	return a.get("/collections/kommuner/items?limit=1", "X-API-Key", a.key).StatusCode == http.StatusOK
}

// secrets are names of features that occur only in data.
func (a *api) secrets() []string {
	a.t.Helper()
	var out []string
	for _, m := range regexp.MustCompile(
		`"representasjonspunkt":"([^"]{8,})"|"lokalid":"([^"]{8,})"`).FindAllStringSubmatch(
		string(a.get("/collections/kommuner/items?limit=5", "X-API-Key", a.key).Body), -1) {
		out = append(out, m[1]+m[2])
	}
	for _, m := range regexp.MustCompile(`"langnavn":"([^"]{6,})"|"navn":"([^"]{6,})"`).FindAllStringSubmatch(
		string(a.get("/collections/kommuner/items?limit=20", "X-API-Key", a.key).Body), -1) {
		out = append(out, m[1]+m[2])
	}
	if len(out) < 5 {
		a.t.Fatalf("secrets: %q", out)
	}
	return out
}

func leak(body string, secrets []string) string {
	for _, s := range secrets {
		if strings.Contains(body, s) {
			return s
		}
	}
	return ""
}

// isDescription reports whether a path is a description of the SOAP service, which is open to all.
func isDescription(path string) bool {
	return strings.HasSuffix(path, ".xsd") || strings.Contains(path, "wsdl")
}

var pathVariable = regexp.MustCompile(`\{(\w+)\}|\*`)

// pathsOf returns the paths of a route at all mounts, with queries for data routes.
func pathsOf(t *testing.T, rt server.KeyedRoute) (out []string) {
	t.Helper()
	values := map[string][]string{
		"collectionId": {"kommuner", "fylker"}, "featureId": {"0301"}, "tileMatrixSetId": {"WebMercatorQuad"},
		"tileMatrix": {"3"}, "tileRow": {"2"}, "tileCol": {"4"}, "processId": {"lookup", "echo"},
		"jobId": {"0123456789abcdef"}, "outputId": {"result"},
		"codeListId": {"kommune"}, "fontstack": {"Go%20Regular"}, "range": {"0-255"}, "styleId": {"divisions-dark"},
		"schemeId": {"kommune"}, "code": {"0712"}, "file": {"SoekServiceWS", "sted.xsd"}, "*": {"grense.css"},
	}
	paths := []string{rt.Path}
	for _, m := range pathVariable.FindAllStringSubmatch(rt.Path, -1) {
		name := m[1]
		if name == "" {
			name = "*"
		}
		if values[name] == nil {
			t.Fatalf("route %s has the variable %s: tell a value of it here", rt.Path, name)
		}
		var next []string
		for _, p := range paths {
			for _, v := range values[name] {
				next = append(next, strings.Replace(p, m[0], v, 1))
			}
		}
		paths = next
	}
	for _, p := range paths {
		if p == "" {
			p = "/"
		}
		out = append(out, p)
		if rt.Data {
			out = append(out, p+"?limit=1&ui=swagger")
			if more := queryOf[rt.Op]; more != "" {
				out = append(out, p+"?"+more)
			}
		}
		if !rt.Root {
			out = append(out, "/v1"+p)
		}
	}
	return out
}

// queryOf returns the query that some operations need to return data.
var queryOf = map[string]string{
	"lookup":      "lon=10.75&lat=59.91",
	"getDownload": "f=csv&revision=0123456789abcdef",
	"getFeatures": "resulttype=hits",
}

func bodyOf(method, path string) *strings.Reader {
	if method != "POST" {
		return strings.NewReader("")
	}
	if strings.Contains(path, "soap") {
		return strings.NewReader(string(placename.ExampleRequest("findSteder", false, placename.DefaultBase)))
	}
	if strings.HasSuffix(path, "/items") {
		return strings.NewReader(`{"op":"not","args":[false]}`)
	}
	return strings.NewReader(`{"inputs":{}}`)
}

// wrongCarriers bring no key, or one that is not valid, or a valid one where none is read.
func wrongCarriers(key string) map[string]func(*http.Request) {
	wrong := "grense_AAAAAAAA_" + strings.Repeat("A", 32) + "AAAAAA"
	basic := func(k string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte("x:"+k)) }
	query := func(name string) func(*http.Request) {
		return func(r *http.Request) {
			q := r.URL.Query()
			q.Set(name, key)
			r.URL.RawQuery = q.Encode()
		}
	}
	return map[string]func(*http.Request){
		"nothing":        func(*http.Request) {},
		"unknown header": func(r *http.Request) { r.Header.Set("X-API-Key", wrong) },
		"empty header":   func(r *http.Request) { r.Header.Set("X-API-Key", "") },
		"unknown bearer": func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+wrong) },
		"unknown basic":  func(r *http.Request) { r.Header.Set("Authorization", basic(wrong)) },
		"broken basic":   func(r *http.Request) { r.Header.Set("Authorization", "Basic "+key) },
		"unknown cookie": func(r *http.Request) { r.AddCookie(&http.Cookie{Name: apikey.Cookie, Value: wrong}) },
		"two that differ": func(r *http.Request) {
			r.Header.Set("X-API-Key", key)
			r.Header.Set(
				"Authorization", "Bearer "+wrong)
		},
		"cookie that differs": func(r *http.Request) {
			r.Header.Set("X-API-Key", key)
			r.AddCookie(&http.Cookie{Name: apikey.Cookie, Value: wrong})
		},
		"a cut key":           func(r *http.Request) { r.Header.Set("X-API-Key", key[:len(key)-1]) },
		"another scheme":      func(r *http.Request) { r.Header.Set("Authorization", "ApiKey "+key) },
		"another header":      func(r *http.Request) { r.Header.Set("X-Api-Token", key) },
		"the query api_key":   query("api_key"),
		"the query key":       query("key"),
		"the query X-API-Key": query("X-API-Key"),
	}
}
