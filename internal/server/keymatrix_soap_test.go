package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"grense/api/placename"
	"grense/internal/config"
)

// TestNoSearchWithoutAKey sends every SOAP operation, in both versions, whole and mutated, by every method and media
// type, without a valid key in every way. No response contains a name, and no search succeeds. A key in the body of a
// message opens nothing.
func TestNoSearchWithoutAKey(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, func(c *config.Config) { c.Auth = "required" })
	const endpoint = "/soap/stedsnavn/v1/SoekServiceWS"
	var secrets []string
	some := "*berg*"
	found := a.post(endpoint, "text/xml; charset=utf-8",
		`<S:Envelope xmlns:S="http://schemas.xmlsoap.org/soap/envelope/"><S:Body>`+string(placename.AppendRequest(nil,
			&placename.FindSteder{StedSoek: placename.StedSoek{Stedsnavn: &some}},
			placename.DefaultBase))+`</S:Body></S:Envelope>`, "X-API-Key", a.key)
	public := a.openNames()
	for _, m := range regexp.MustCompile(`>([A-ZÆØÅ][a-zæøå]{4,}berg[a-zæøå]*)<`).FindAllStringSubmatch(
		string(found.Body), -1) {
		secrets = append(secrets, m[1])
	}
	secrets = slices.DeleteFunc(secrets, func(name string) bool { return strings.Contains(public, name) })
	if len(secrets) == 0 {
		t.Fatalf("%d, %.3000s", found.StatusCode, found.Body)
	}
	h, asked, client := a.srv.Handler(), 0, 0
	for _, op := range placename.TheContract().Operations {
		for name, body := range mutated(op.Name, a.key) {
			for _, path := range []string{endpoint, "/v1" + endpoint, endpoint + "?wsdl", "/soap/stedsnavn/v1"} {
				for _, how := range [][2]string{{"POST", "text/xml; charset=utf-8"}, {"POST", "application/soap+xml"},
					{"POST", "application/json"}, {"POST", "application/x-www-form-urlencoded"}, {"PUT", "text/xml"},
					{"GET", "text/xml"}} {
					for carrier, carry := range wrongCarriers(a.key) {
						// all together meet all
						if client++; client%4 != 0 && name == "whole" || client%23 != 0 && name != "whole" {
							continue
						}
						r := httptest.NewRequest(how[0], "http://example.org"+path, strings.NewReader(body))
						r.RemoteAddr = fmt.Sprintf("192.0.%d.%d:99", client>>8&255, client&255)
						r.Header.Set("Content-Type", how[1])
						r.Header.Set("SOAPAction", op.Name)
						carry(r)
						w := httptest.NewRecorder()
						h.ServeHTTP(w, r)
						asked++
						what := fmt.Sprintf("%s %s of %s, %s, as %s with %s: %d", how[0], path, op.Name, name, how[1],
							carrier, w.Code)
						if how[0] == "POST" && w.Code < 300 {
							t.Error(what)
						}
						if s := leak(w.Body.String(), secrets); s != "" {
							t.Errorf("%s: the answer holds %q", what, s)
						}
					}
				}
			}
		}
	}
	t.Logf("%d requests", asked)
	if asked < 2500 {
		t.Errorf("only %d requests", asked)
	}
	if w := a.get(endpoint + "?wsdl").StatusCode; w != http.StatusOK {
		t.Errorf("the description: %d", w)
	}
}

// openNames are all code lists, which need no key: municipalities are called like places.
func (a *api) openNames() string {
	a.t.Helper()
	var lists struct{ CodeLists []struct{ ID string } }
	decode(a.t, a.get("/codelists?f=json").wants(http.StatusOK).Body, &lists)
	var all strings.Builder
	for _, l := range lists.CodeLists {
		all.Write(a.get("/codelists/" + l.ID + "?f=json").wants(http.StatusOK).Body)
	}
	return all.String()
}

// mutated are requests of an operation: whole, broken, and with a key where none is read.
func mutated(op, key string) map[string]string {
	whole := string(placename.ExampleRequest(op, false, placename.DefaultBase))
	open := strings.Index(whole, "Body>") + len("Body>")
	before := whole[:strings.LastIndex(whole[:open], "<")]
	header := func(text string) string {
		prefix, _, _ := strings.Cut(strings.TrimPrefix(whole[len(before):], "<"), ":")
		return before + "<" + prefix + ":Header>" + text + "</" + prefix + ":Header>" + whole[len(before):]
	}
	return map[string]string{
		"whole":          whole,
		"of SOAP 1.2":    string(placename.ExampleRequest(op, true, placename.DefaultBase)),
		"half":           whole[:len(whole)/2],
		"empty":          "",
		"twice":          whole + whole,
		"with BOM":       "\ufeff" + whole,
		"with a DOCTYPE": "<!DOCTYPE x [<!ENTITY e SYSTEM \"file:///etc/passwd\">]>" + whole,
		"with a key in its header": header(
			`<wsse:Security ` +
				`xmlns:wsse="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd">` +
				`<wsse:UsernameToken>` +
				"<wsse:Username>x</wsse:Username><wsse:Password>" + key +
				"</wsse:Password></wsse:UsernameToken></wsse:Security>"),
		"with a key as header": header("<X-API-Key>" + key + "</X-API-Key>"),
		"another namespace":    strings.ReplaceAll(whole, placename.DefaultBase, "http://example.org/"),
		"a form":               "operation=" + op + "&X-API-Key=" + key + "&request=" + whole,
		"a form with the key":  "key=" + key + "&operation=" + op + "&request=" + whole,
		"the wrong version": strings.Replace(whole, "http://schemas.xmlsoap.org/soap/envelope/",
			"http://www.w3.org/2003/05/soap-envelope", 1),
		"an operation in vain":   strings.ReplaceAll(whole, op, op+"Alle"),
		"no envelope":            whole[open:],
		"with a long name in it": strings.Replace(whole, op, op+strings.Repeat("x", 5000), 1),
	}
}
