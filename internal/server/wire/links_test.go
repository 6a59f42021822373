package wire

import (
	"testing"

	"grense/api/ogcapi"
)

// TestLinksAreWrittenAsEncodingJSONWritesThem compares the encoder of links with that of documents.
func TestLinksAreWrittenAsEncodingJSONWritesThem(t *testing.T) {
	t.Parallel()
	for _, links := range [][]ogcapi.Link{
		nil,
		{},
		{{Rel: "self", Type: "application/json", Title: "This document as JSON",
			Href: "http://localhost/a?f=json&b=1"}, {}},
		{{Rel: "æøå", Title: "Røros – Δ 日本 😀", Href: "\u2029"}, {Title: "\ufffd", Type: "\xe2\x80"}},
		{{Rel: "item", Title: "Gjøvik «<b>» & \u2028 \u007f \xff", Href: "http://localhost/\"\\\n\t\x00",
			Hreflang: "nb-NO", Length: 12, Templated: true}},
	} {
		want, err := Marshal(links)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendLinks([]byte("x"), links); string(got) != "x"+string(want) {
			t.Errorf("%s\nwant x%s", got, want)
		}
	}
}
