package soap_test

import (
	"context"
	"encoding/binary"
	"io"
	"net/http"
	"strings"
	"testing"
	"unicode/utf16"

	"grense/api/placename"
	"grense/internal/soap"
)

// heard posts a request and returns the name searched for; "-" when there was none, "fault" when it was refused.
func heard(t *testing.T, contentType, body string) string {
	t.Helper()
	name := "-"
	s := service(func(_ context.Context, r placename.Request) (placename.Answer, error) {
		if p := r.(*placename.FindSteder).StedSoek.Stedsnavn; p != nil {
			name = *p
		}
		return placename.Answer{}, nil
	})
	if a := read(t, post(s, contentType, body)); a.fault {
		return "fault " + a.category
	}
	return name
}

// utf16Text is a text in UTF-16.
func utf16Text(order binary.AppendByteOrder, s string) string {
	var b []byte
	for _, u := range utf16.Encode([]rune(s)) {
		b = order.AppendUint16(b, u)
	}
	return string(b)
}

func TestWhatIsAcceptedOnInput(t *testing.T) {
	t.Parallel()
	const plain = "text/xml"
	search := func(s string) string { return steder(s) }
	oslo := search(`<t:stedsnavn>Oslo</t:stedsnavn>`)
	contextLast := strings.Replace(strings.Replace(oslo, context11, "", 1), "</q:findSteder>",
		context11+"</q:findSteder>", 1)
	siblings := strings.ReplaceAll(oslo, "q:", "")
	siblings = strings.Replace(siblings, "<findSteder>", `<findSteder xmlns="`+base+`/service/soek">`, 1)
	for name, c := range map[string]struct{ contentType, body, want string }{
		"plain": {plain, oslo, "Oslo"},
		"1.2": {ct12, strings.Replace(oslo, placename.Envelope11, placename.Envelope12, 1),
			"Oslo"},
		"context last":      {plain, contextLast, "Oslo"},
		"default namespace": {plain, siblings, "Oslo"},
		"other prefixes": {plain, strings.NewReplacer("t:", "æøå:", "xmlns:t=", "xmlns:æøå=",
			"xmlns:æøå:", "xmlns:t:").Replace(oslo), "Oslo"},
		"fields in another order": {plain,
			search(`<t:avansertSoek>0</t:avansertSoek><t:stedsnavn>Oslo</t:stedsnavn><t:stedsnummer>1</t:stedsnummer>`),
			"Oslo"},
		"unknown element": {plain,
			search(`<t:nytt><t:stedsnavn>Bø</t:stedsnavn></t:nytt><t:stedsnavn>Oslo</t:stedsnavn>`),
			"fault VALIDATION"},
		"unknown attribute": {plain, search(`<t:stedsnavn nytt="1" t:mer="2">Oslo</t:stedsnavn>`),
			"fault VALIDATION"},
		"unknown element in wrapper": {plain, strings.Replace(oslo, "<q:stedSoek>", "<q:nytt/><q:stedSoek>", 1),
			"fault VALIDATION"},
		"wrong namespace in the search": {plain, search(`<q:stedsnavn>Oslo</q:stedsnavn>`), "fault VALIDATION"},
		"wrong case":                    {plain, search(`<t:STEDSNAVN>Oslo</t:STEDSNAVN>`), "fault VALIDATION"},
		"twice": {plain,
			search(`<t:stedsnavn>Oslo</t:stedsnavn><t:stedsnavn>Oslo</t:stedsnavn>`), "fault VALIDATION"},
		"search object twice": {plain, strings.Replace(oslo, "<q:stedSoek>", "<q:stedSoek/><q:stedSoek>", 1),
			"fault VALIDATION"},
		"nil":      {plain, search(`<t:stedsnavn xsi:nil="true"/>`), "-"},
		"nil as 1": {plain, search(`<t:stedsnavn xsi:nil=" 1 "></t:stedsnavn>`), "-"},
		"nil with content": {plain, search(`<t:stedsnavn xsi:nil="true">Oslo</t:stedsnavn>`),
			"fault VALIDATION"},
		"not nil": {plain, search(`<t:stedsnavn xsi:nil="false">Oslo</t:stedsnavn>`), "Oslo"},
		"action without quotation marks": {
			"application/soap+xml; charset=utf-8; action=http://example.org/find/Request",
			strings.Replace(oslo, placename.Envelope11, placename.Envelope12, 1), "Oslo"},
		"action without a value": {"application/soap+xml; action=; charset=utf-8",
			strings.Replace(oslo, placename.Envelope11, placename.Envelope12, 1), "Oslo"},
		"utf8":           {"text/xml; charset=utf8", oslo, "Oslo"},
		"quoted charset": {"text/xml; charset='UTF-8'", oslo, "Oslo"},
		"latin1": {"text/xml; charset=latin1",
			search("<t:stedsnavn>B\xF8</t:stedsnavn>"), "Bø"},
		"cp1252 declared": {plain, `<?xml version="1.0" encoding="cp1252"?>` +
			search("<t:stedsnavn>\x8Cre</t:stedsnavn>"), "Œre"},
		"types everywhere": {plain, strings.NewReplacer("<t:stedsnavn>",
			`<t:stedsnavn xmlns:x="http://www.w3.org/2001/XMLSchema" xsi:type="x:string">`,
			"<q:stedSoek>", `<q:stedSoek xsi:type="t:StedSoek">`).Replace(oslo), "Oslo"},
		"cdata":              {plain, search(`<t:stedsnavn><![CDATA[<O&]]>slo</t:stedsnavn>`), "<O&slo"},
		"comment inside":     {plain, search(`<t:stedsnavn>Os<!-- -->lo</t:stedsnavn>`), "Oslo"},
		"comments outside":   {plain, "<!-- a -->" + oslo + "<!-- b -->", "Oslo"},
		"white space around": {plain, "\n " + oslo + "\n", "Oslo"},
		"declaration": {plain, `<?xml version="1.0" encoding="utf-8" standalone="yes"?>` + "\n" +
			oslo, "Oslo"},
		"references": {plain, search(`<t:stedsnavn>&#79;&#x73;lo &amp; &lt;</t:stedsnavn>`),
			"Oslo & <"},
		"byte order mark": {"text/xml; charset=iso-8859-1",
			"\ufeff" + search(`<t:stedsnavn>Bø</t:stedsnavn>`), "Bø"},
		"latin 1 by header": {"text/xml; charset=ISO-8859-1",
			search("<t:stedsnavn>B\xf8 \xa4</t:stedsnavn>"), "Bø ¤"},
		"latin 1 by declaration": {plain, `<?xml version="1.0" encoding="ISO-8859-1"?>` +
			search("<t:stedsnavn>B\xf8</t:stedsnavn>"), "Bø"},
		"latin 9": {plain, `<?xml version='1.0' encoding='iso-8859-15'?>` +
			search("<t:stedsnavn>\xa4\xb4\xb8</t:stedsnavn>"), "€Žž"},
		"windows-1252": {plain, `<?xml version="1.0" encoding = "Windows-1252"?>` +
			search("<t:stedsnavn>\x96\x8a\xe5</t:stedsnavn>"), "–Šå"},
		"header before declaration": {"text/xml; charset=utf-8",
			`<?xml version="1.0" encoding="ISO-8859-1"?>` + search("<t:stedsnavn>Bø</t:stedsnavn>"), "Bø"},
		"utf-16, little end first": {plain, utf16Text(binary.LittleEndian,
			"\ufeff"+`<?xml version="1.0" encoding="UTF-16"?>`+search(`<t:stedsnavn>Bøš𝄞</t:stedsnavn>`)), "Bøš𝄞"},
		"utf-16, big end first": {"text/xml; charset=UTF-16",
			utf16Text(binary.BigEndian, "\ufeff"+search(`<t:stedsnavn>Bø</t:stedsnavn>`)), "Bø"},
		"utf-16 by mark, not by header": {"text/xml; charset=utf-8",
			utf16Text(binary.BigEndian, "\ufeff"+oslo), "Oslo"},
		"utf-16 without a mark":  {plain, utf16Text(binary.BigEndian, oslo), "fault "},
		"utf-16 that breaks off": {plain, utf16Text(binary.BigEndian, "\ufeff"+oslo) + "\x00", "fault "},
		"utf-16 with half a character": {plain,
			strings.Replace(utf16Text(binary.BigEndian, "\ufeff"+search(`<t:stedsnavn>B𝄞</t:stedsnavn>`)), "\xd8\x34",
				"", 1), "fault "},
		"utf-8 that says it is utf-16": {plain, `<?xml version="1.0" encoding="UTF-16"?>` + oslo, "fault "},
		"ascii":                        {"text/xml; charset=us-ascii", oslo, "Oslo"},
		"ascii that is none": {"text/xml; charset=us-ascii",
			search(`<t:stedsnavn>Bø</t:stedsnavn>`), "fault "},
		"base that is none of ours":      {plain, strings.ReplaceAll(oslo, base, "urn:other"), "fault VALIDATION"},
		"bad boolean":                    {plain, strings.Replace(oslo, "true<", "yes<", 1), "fault VALIDATION"},
		"boolean as number, with spaces": {plain, strings.Replace(oslo, "true<", " 1\n<", 1), "Oslo"},
		"out of range": {plain, search(`<t:stedsnummer>9223372036854775808</t:stedsnummer>`),
			"fault VALIDATION"},
		"missing context": {plain, strings.Replace(oslo, context11, "", 1), "fault VALIDATION"},
		"missing search object": {plain, strings.NewReplacer("stedSoek>", "stedSoekx>").Replace(oslo),
			"fault VALIDATION"},
	} {
		if got := heard(t, c.contentType, c.body); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestOldClientsMaySendMoreWhereThatIsConfigured: what is ignored then resembles nothing that the contract has.
func TestOldClientsMaySendMoreWhereThatIsConfigured(t *testing.T) {
	t.Parallel()
	s := soap.New(
		soap.Config{
			Searcher: search(sample),
			Address:  func(*http.Request) string { return path },
			Logger:   textLogger(io.Discard),
			Unknown:  placename.IgnoreUnknown,
		},
	)
	for body, fault := range map[string]bool{
		steder(`<t:nytt><t:stedsnavn>Bø</t:stedsnavn></t:nytt><t:stedsnavn>Oslo</t:stedsnavn>`): false,
		steder(`<t:Stedsnavn>Oslo</t:Stedsnavn>`):                                               true,
	} {
		if a := read(t, post(s, ct11, body)); a.fault != fault {
			t.Errorf("%s: %v", body, a)
		}
	}
}
