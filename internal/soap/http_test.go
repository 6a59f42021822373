package soap_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"grense/api/placename"
	"grense/internal/problem"
)

func TestDescriptionIsServed(t *testing.T) {
	t.Parallel()
	c := placename.TheContract()
	address := "https://example.org" + path
	xsd, _ := c.XSD("sted.xsd", placename.Description{Base: base})
	for name, c := range map[string]struct {
		target string
		want   []byte
	}{
		"wsdl":         {path + "?wsdl", c.WSDL(placename.Description{Base: base, Address: address})},
		"WSDL":         {path + "?WSDL", c.WSDL(placename.Description{Base: base, Address: address})},
		"with a value": {path + "?wsdl=1.1", c.WSDL(placename.Description{Base: base, Address: address})},
		"in one file": {path + "?singleWsdl",
			c.WSDL(placename.Description{Base: base, Address: address, Single: true})},
		"both in one": {path + "?singlewsdl=1.2",
			c.WSDL(placename.Description{Base: base, Address: address, Single: true, SOAP12: true})},
		"both versions": {path + "?wsdl=1.2",
			c.WSDL(placename.Description{Base: base, Address: address, SOAP12: true})},
		"a schema": {"/v1/soap/stedsnavn/v1/sted.xsd", xsd},
	} {
		r := httptest.NewRequest(http.MethodGet, c.target, nil)
		r.Host = "evil.example"
		w := httptest.NewRecorder()
		service(nil).ServeHTTP(w, r)
		if w.Code != http.StatusOK || w.Body.String() != string(c.want) || w.Header().Get("Content-Type") != ct11 {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		r.Header.Set("If-None-Match", w.Header().Get("ETag"))
		w = httptest.NewRecorder()
		if service(nil).ServeHTTP(w, r); w.Code != http.StatusNotModified {
			t.Errorf("%s: %d to its own ETag", name, w.Code)
		}
	}
}

func TestMethods(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]string{ // status and Allow
		"HEAD " + path + "?wsdl":                     "200",
		"PUT " + path + "?wsdl":                      "405 GET, HEAD, POST, OPTIONS",
		"GET " + path:                                "405 POST, OPTIONS",
		"HEAD " + path:                               "405 POST, OPTIONS",
		"OPTIONS " + path:                            "204 POST, OPTIONS",
		"OPTIONS " + path + "?WSDL":                  "204 GET, HEAD, POST, OPTIONS",
		"OPTIONS " + path + "?singleWsdl":            "204 GET, HEAD, POST, OPTIONS",
		"OPTIONS /soap/stedsnavn/v1/sted.xsd":        "204 GET, HEAD, OPTIONS",
		"OPTIONS /soap/stedsnavn/v1/x.xsd":           "404",
		"DELETE " + path:                             "405 POST, OPTIONS",
		"TRACE " + path:                              "405 POST, OPTIONS",
		"PUT /soap/stedsnavn/v1/sted.xsd":            "405 GET, HEAD, OPTIONS",
		"POST /soap/stedsnavn/v1/sted.xsd":           "405 GET, HEAD, OPTIONS",
		"GET /soap/stedsnavn/v1/x.xsd":               "404",
		"GET /soap/stedsnavn/v1/soekservicews?wsdl":  "404",
		"GET " + path + "?wsdl=../../etc/passwd":     "404",
		"GET /soap/stedsnavn/v1/..%2fsoap.go":        "404",
		"GET /soap/stedsnavn/v1/testdata%2fxml.xsd":  "404",
		"GET /soap/stedsnavn/v1/%2e%2e%2fetc/passwd": "404",
	} {
		method, target, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		service(nil).ServeHTTP(w, httptest.NewRequest(method, target, nil))
		if got := strings.TrimSpace(http.StatusText(w.Code)); got == "" {
			t.Errorf("%s: %d", request, w.Code)
		}
		status, allow, _ := strings.Cut(want, " ")
		if a := w.Header().Get("Allow"); http.StatusText(w.Code) == "" ||
			status != strings.Fields(w.Result().Status)[0] ||
			a != allow {
			t.Errorf("%s: %d, Allow %q; want %s", request, w.Code, a, want)
		}
		if w.Code/100 != 2 && !read(t, w).fault {
			t.Errorf("%s: no fault", request)
		}
	}
}

func TestDescribeGivesErrorsOfTheirKind(t *testing.T) {
	t.Parallel()
	for request, want := range map[string]problem.Kind{"GET " + path: problem.Method, "GET /x.xsd": problem.NotFound} {
		method, target, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		err := service(nil).Describe(w, httptest.NewRequest(method, target, nil))
		if err == nil || problem.Of(err).Kind != want || w.Body.Len() > 0 {
			t.Errorf("%s: %v, %d bytes", request, err, w.Body.Len())
		}
	}
}

func TestPostToTheAddressOfTheDescriptionIsACall(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, path+"?wsdl", strings.NewReader(envelope11(good)))
	r.Header.Set("Content-Type", ct11)
	r.Header.Set("SOAPAction", `"urn:anything"`)
	w := httptest.NewRecorder()
	service(nil).ServeHTTP(w, r)
	if a := read(t, w); a.fault {
		t.Errorf("%+v", a)
	}
}
