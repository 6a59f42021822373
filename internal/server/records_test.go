package server_test

import (
	"bytes"
	"net/url"
	"regexp"
	"testing"

	"grense/internal/config"
)

var recordKinds = []string{"navnesak", "vedtak", "samlevedtak", "skrivemaate", "bok", "kartprodukt"}

func TestRecordsAreHiddenUnlessConfigured(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, nil)
	for _, kind := range recordKinds {
		a.get("/collections/" + kind).wants(404)
		a.get("/collections/" + kind + "/items").wants(404)
	}
}

// TestIDsOfSearchesAreResolvedWhereRecordsAreCollections asks each search and then for the record that the first hit names.
func TestIDsOfSearchesAreResolvedWhereRecordsAreCollections(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, func(c *config.Config) { c.SOAP.Collections = "public" })
	for op, kind := range map[string][2]string{"findNavnesaker": {"navnesak", "navnesakId"}, "findVedtak": {"vedtak", "vedtakId"}, "findSamlevedtak": {"samlevedtak", "samlevedtakId"},
		"findSkrivemaater": {"skrivemaate", "skrivemaateId"}, "findBoeker": {"bok", "id"}, "findKartprodukter": {"kartprodukt", "id"}} {
		collection, field := kind[0], kind[1]
		body := regexp.MustCompile(`<t:kommunerIds>.*</t:kommunerIds>|<t:stedsnavn>.*</t:stedsnavn>|<q:utgivelsesaar>.*</q:utgivelsesaar>`).ReplaceAllString(example(op), "")
		answer := a.post(endpoint, "text/xml", body).wants(200).Body
		id := regexp.MustCompile(`<t:` + field + `><d:value>(\d+)</d:value>`).FindSubmatch(answer)
		if id == nil {
			t.Errorf("%s finds nothing: %.300s", op, answer)
			continue
		}
		for _, f := range []string{"json", "html"} {
			a.get("/collections/" + collection + "/items/" + string(id[1]) + "?f=" + f).wants(200)
			a.get("/collections/" + collection + "?f=" + f).wants(200)
			a.get("/v1/collections/" + collection + "/queryables?f=" + f).wants(200)
			a.get("/collections/" + collection + "/items?limit=2&f=" + f).wants(200)
		}
		properties := a.get("/collections/" + collection + "/schema").wants(200).json()["properties"].(map[string]any)
		for _, hidden := range []string{"rang", "soeketekst", "antall_merknader"} {
			if properties[hidden] != nil {
				t.Errorf("%s shows %s", collection, hidden)
			}
		}
		form := url.Values{"operation": {op}, "request": {body}}.Encode()
		page := a.post("/soap/stedsnavn/v1", "application/x-www-form-urlencoded", form).wants(200).Body
		if !bytes.Contains(page, []byte(`/collections/`+collection+`/items/`+string(id[1])+`?f=html`)) {
			t.Errorf("%s: the table does not link to the record", op)
		}
	}
	if doc := a.get("/openapi").wants(200).Body; !bytes.Contains(doc, []byte("samlevedtak")) {
		t.Error("the API definition does not tell the records")
	}
}
