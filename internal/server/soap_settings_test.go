package server_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"grense/api/placename"
	"grense/internal/config"
)

func example(op string) string {
	return string(placename.ExampleRequest(op, false, placename.DefaultBase))
}

// TestOptionsAndRefusalsOfSOAPNameTheSameMethods: RFC 9110, 9.3.7 and 15.5.6.
func TestOptionsAndRefusalsOfSOAPNameTheSameMethods(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, nil)
	for path, want := range map[string]string{endpoint: "POST, OPTIONS", endpoint + "?wsdl": "GET, HEAD, POST, OPTIONS",
		endpoint + "?singleWsdl":         "GET, HEAD, POST, OPTIONS",
		"/v1/soap/stedsnavn/v1/sted.xsd": "GET, HEAD, OPTIONS"} {
		for _, method := range []string{"OPTIONS", "PATCH"} {
			req, _ := http.NewRequestWithContext(t.Context(), method, a.URL+path, nil)
			res, err := http.DefaultTransport.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if got := res.Header.Get("Allow"); got != want || (res.StatusCode == 405) != (method == "PATCH") {
				t.Errorf("%s %s: %d, Allow %q; want %q", method, path, res.StatusCode, got, want)
			}
		}
	}
}

func TestOneFileDescribesAll(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, nil)
	b := a.get(endpoint + "?singleWsdl").wants(200).Body
	if bytes.Contains(b, []byte("schemaLocation")) || !bytes.Contains(b, []byte(`location="`+a.URL+endpoint+`"`)) ||
		bytes.Count(b, []byte("<xs:complexType ")) != bytes.Count(b, []byte("</xs:complexType>")) {
		t.Errorf("%.500s", b)
	}
}

// TestFaultsByTheStatusesOfSOAPAlone follows WS-I Basic Profile 1.1, R1126: some clients read a fault only at status
// 500.
func TestFaultsByTheStatusesOfSOAPAlone(t *testing.T) {
	t.Parallel()
	for setting, want := range map[int][3]int{0: {401, 413, 415}, 500: {500, 500, 415}} {
		a := serveRegister(t, func(c *config.Config) { c.Auth, c.SOAP.HTTPStatus = "required", setting })
		for i, r := range []answer{a.post(endpoint, "text/xml", example("findSteder")),
			a.post(endpoint, "text/xml", strings.Repeat("x", 2<<20), "X-API-Key", a.key),
			a.post(endpoint, "text/plain", "x", "X-API-Key", a.key)} {
			if r.StatusCode != want[i] || !bytes.Contains(r.Body, []byte("Fault>")) {
				t.Errorf("http_status %d, request %d: %d %s", setting, i, r.StatusCode, r.Body)
			}
		}
		a.post(endpoint, "text/xml", example("findSteder"), "X-API-Key", a.key).wants(200)
	}
}

// TestUnknownElementsAreIgnoredWhereConfigured and refused else.
func TestUnknownElementsAreIgnoredWhereConfigured(t *testing.T) {
	t.Parallel()
	body := strings.Replace(example("findBoeker"), "<q:soeketekst>", "<q:nytt/><q:soeketekst>", 1)
	for setting, want := range map[string]int{"refuse": 500, "ignore": 200} {
		a := serveRegister(t, func(c *config.Config) { c.SOAP.UnknownElements = setting })
		a.post(endpoint, "text/xml", body).wants(want)
	}
}

// TestTypedNilsAreConfigured: decisions without a maker name a concrete type.
func TestTypedNilsAreConfigured(t *testing.T) {
	t.Parallel()
	const typed = `<t:vedtattAv xsi:type="ob:UtoevendeMyndighetKommune" xsi:nil="true"/>`
	for setting, want := range map[string]bool{"plain": false, "typed": true} {
		a := serveRegister(t, func(c *config.Config) { c.SOAP.NilTypes = setting; keepsNone(c) })
		b := a.post(endpoint, "text/xml", enveloped(&placename.FindVedtak{})).wants(200).Body
		if nobody := bytes.Contains(b, []byte(`<t:vedtattAv xsi:nil="true"/>`)); bytes.Contains(
			b, []byte(typed)) != want || nobody == want {
			t.Errorf("%s: typed %v, plain %v", setting, !want, nobody)
		}
	}
}

var point = regexp.MustCompile(`POINT\((-?[0-9.]+) (-?[0-9.]+)\)`)

// TestGeometryIsWrittenInTheConfiguredSystem: the schema states the system as well. The positions are stored in
// EPSG:25833, in whole centimetres.
func TestGeometryIsWrittenInTheConfiguredSystem(t *testing.T) {
	t.Parallel()
	body := strings.Replace(example("findSteder"), "Oslo*", "Os*", 1)
	body = regexp.MustCompile(`<t:kommunerIds>.*</t:kommunerIds>`).ReplaceAllString(body, "")
	for setting, want := range map[int]string{4258: `^[0-9]{1,2}\.[0-9]{1,7} [5-7][0-9]\.[0-9]{1,7}$`,
		25833: `^-?[0-9]{1,6}(\.[0-9]{1,2})? [67][0-9]{6}(\.[0-9]{1,2})?$`,
		25832: `^[0-9]{6,7}(\.[0-9]{1,2})? [67][0-9]{6}`,
		25835: `^-?[0-9]{1,6}(\.[0-9]{1,2})? [67][0-9]{6}(\.[0-9]{1,2})?$`} {
		a := serveRegister(t, func(c *config.Config) { c.SOAP.CRS = setting })
		found := point.FindAllSubmatch(a.post(endpoint, "text/xml", body).wants(200).Body, -1)
		if len(found) == 0 {
			t.Errorf("%d: no point", setting)
		}
		for _, m := range found {
			if p := string(m[1]) + " " + string(m[2]); !regexp.MustCompile(want).MatchString(p) {
				t.Errorf("%d: %s", setting, p)
			}
		}
		if xsd := a.get("/soap/stedsnavn/v1/servicetyper.xsd").wants(200).Body; !bytes.Contains(
			xsd, []byte("WKT in EPSG:"+strconv.Itoa(setting))) {
			t.Errorf("the schema does not name EPSG:%d", setting)
		}
	}
}

func TestMetricsNameTheOperationOfSOAP(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, nil)
	a.post(endpoint, "text/xml", example("findBoeker")).wants(200)
	a.post(endpoint, "text/xml", strings.Replace(example("findVedtak"), "kommunerIds", "KommunerIds", 2)).wants(500)
	a.post(endpoint, "text/xml", strings.ReplaceAll(example("findVedtak"), "findVedtak", "findAlt")).wants(500)
	w := httptest.NewRecorder()
	a.srv.MetricsHandler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{`operation="soap.findBoeker",status="200"} 1`,
		`operation="soap.findVedtak",status="500"} 1`, `operation="soap",status="500"} 1`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s", want)
		}
	}
	for _, want := range []string{`"operation":"findBoeker"`, `"operation":"findVedtak"`} {
		if !strings.Contains(a.logs.String(), want) {
			t.Errorf("the log does not say %s", want)
		}
	}
}
