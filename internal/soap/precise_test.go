package soap_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"grense/api/placename"
	"grense/internal/problem"
)

// TestRefusalsTellTheTrueReason for messages that other servers or clients let pass.
func TestRefusalsTellTheTrueReason(t *testing.T) {
	t.Parallel()
	oslo := steder(`<t:stedsnavn>Oslo</t:stedsnavn>`)
	part := func(media, id, content string) string {
		return "--b\r\nContent-Type: " + media + "\r\nContent-ID: <" + id + ">\r\n\r\n" + content + "\r\n"
	}
	const mtom = `multipart/related; boundary=b; type="application/xop+xml"; start="<root>"; start-info="text/xml"`
	for name, c := range map[string]struct{ contentType, body, want string }{
		"blank line before the declaration": {"text/xml", "\n" + `<?xml version="1.0"?>` + oslo, "XML-deklarasjonen"},
		"XML 1.1":                           {"text/xml", `<?xml version="1.1"?>` + oslo, "XML 1.0"},
		"instruction": {"text/xml", `<?xml version="1.0"?><?x y?>` + oslo,
			"prosesseringsinstruksjoner"},
		"no part with an envelope":      {mtom, part("image/png", "other", "x") + "--b--\r\n", "vedlegg"},
		"an envelope that is a picture": {mtom, part("image/png", "root", "x") + "--b--\r\n", "vedlegg"},
		"a value in another part": {mtom,
			part("application/xop+xml", "root",
				steder(`<t:stedsnavn><x:Include xmlns:x="http://www.w3.org/2004/08/xop/include" href="cid:a"/>`+
					`</t:stedsnavn>`)) + "--b--\r\n",
			"stedsnavn/Include: attachments"},
		"an envelope alone": {mtom, part(`application/xop+xml; charset=UTF-8; type="text/xml"`, "root", oslo) +
			"--b--\r\n", ""},
		"an envelope that is second": {mtom, part("image/png", "other", "x") + part(`text/xml`, "root", oslo) +
			"--b--\r\n", ""},
	} {
		a := read(t, post(service(nil), c.contentType, c.body))
		if a.fault != (c.want != "") || !strings.Contains(a.reason, c.want) {
			t.Errorf("%s: %v %s", name, a, a.reason)
		}
	}
}

// TestMissingKeysAreToldInTheLanguageOfTheCaller by the locale of the message, else by Accept-Language.
func TestMissingKeysAreToldInTheLanguageOfTheCaller(t *testing.T) {
	t.Parallel()
	message := func(locale string) string {
		return envelope11(
			`<q:findSteder><q:stedsnavnContext><d:locale>` + locale + `</d:locale></q:stedsnavnContext></q:findSteder>`,
		)
	}
	for _, c := range []struct{ accept, body, want string }{
		{"", "", "nb"}, {"en-GB,en;q=0.8", "", "en"}, {"de, nn;q=0.5", "", "nn"}, {"", message("nn_NO"), "nn"},
		{"en", message("nn_NO"), "nn"}, {"en", message("x"), "en"},
	} {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(c.body))
		r.Header.Set("Content-Type", "text/xml")
		r.Header.Set("Accept-Language", c.accept)
		w := httptest.NewRecorder()
		service(nil).WriteFault(w, r, problem.Of(problem.New(problem.Unauthorized, nil, "")))
		if a := read(t, w); a.lang != c.want || a.status != http.StatusUnauthorized {
			t.Errorf("%q, %.200s: %d in %s, want %s", c.accept, c.body, a.status, a.lang, c.want)
		}
	}
}

// TestSchemasAreFoundByParameter as other servers serve them.
func TestSchemasAreFoundByParameter(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{"xsd=1": "/service/soek", "XSD=sted.xsd": "/domain/sted",
		"xsd=nope.xsd": "", "wsdl=1": "SoekServicePort"} {
		w := httptest.NewRecorder()
		service(nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path+"?"+query, nil))
		if (w.Code == http.StatusOK) != (want != "") || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %.300s", query, w.Code, w.Body)
		}
	}
}

// TestValuesAreQuotedAsText, not as a string of a programming language.
func TestValuesAreQuotedAsText(t *testing.T) {
	t.Parallel()
	f := placename.Fault{Path: "p", Value: `a\b"cå` + "\t", Reason: placename.NotInt}
	if got := f.Text(placename.English); !strings.HasPrefix(got, `p = "a\b"cåU+0009": `) {
		t.Error(got)
	}
}
