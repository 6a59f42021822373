package server_test

import (
	"bytes"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

// TestIDsOfSearchesAreResolvedWhereRecordsAreCollections sends each search and then requests the record of the first
// hit.
func TestIDsOfSearchesAreResolvedWhereRecordsAreCollections(t *testing.T) {
	t.Parallel()
	a := serveRegister(t, func(c *config.Config) { c.SOAP.Collections = "public" })
	for op, kind := range map[string][2]string{"findNavnesaker": {"navnesak", "navnesakId"},
		"findVedtak": {"vedtak", "vedtakId"}, "findSamlevedtak": {"samlevedtak", "samlevedtakId"},
		"findSkrivemaater": {"skrivemaate", "skrivemaateId"}, "findBoeker": {"bok", "id"},
		"findKartprodukter": {"kartprodukt", "id"}} {
		collection, field := kind[0], kind[1]
		body := regexp.MustCompile(
			`<t:kommunerIds>.*</t:kommunerIds>|<t:stedsnavn>.*</t:stedsnavn>|`+
				`<q:utgivelsesaar>.*</q:utgivelsesaar>`).ReplaceAllString(example(op), "")
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
		if op != "findBoeker" { // which wants a word
			a.holdsAll(collection, regexp.MustCompile(`<t:`+field+`><d:value>(\d+)</d:value>`).FindAllSubmatch(
				answer, -1))
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

// holdsAll walks the pages of a collection: together they contain every record that a search without criteria finds,
// each once.
func (a *api) holdsAll(collection string, hits [][][]byte) {
	a.t.Helper()
	var want, got []string
	for _, m := range hits {
		want = append(want, string(m[1]))
	}
	for next := "/collections/" + collection + "/items?limit=" + strconv.Itoa(len(hits)/3+1); next != ""; {
		page := a.get(next).wants(200).json()
		if page["numberMatched"] != float64(len(hits)) {
			a.t.Errorf("%s: numberMatched %v, the search finds %d", collection, page["numberMatched"], len(hits))
		}
		for _, f := range page["features"].([]any) {
			got = append(got, fmt.Sprint(f.(map[string]any)["id"]))
		}
		next = ""
		for _, l := range page["links"].([]any) {
			if link := l.(map[string]any); link["rel"] == "next" {
				next = strings.TrimPrefix(link["href"].(string), a.URL)
			}
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		a.t.Errorf("%s: the pages hold %d records, the search finds %d", collection, len(got), len(want))
	}
}
