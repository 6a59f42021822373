package placename

import "time"

// Namespaces of SOAP envelopes.
const (
	Envelope11 = "http://schemas.xmlsoap.org/soap/envelope/"
	Envelope12 = "http://www.w3.org/2003/05/soap-envelope"
)

// ExampleRequest returns a complete example request of an operation, a SOAP 1.2 envelope if soap12 is set, otherwise
// SOAP 1.1, with namespaces under base. It returns nil if there is no such operation.
func ExampleRequest(operation string, soap12 bool, base string) []byte {
	envelope := Envelope11
	if soap12 {
		envelope = Envelope12
	}
	for _, r := range examples() {
		if r.Operation() == operation {
			return enveloped(r, envelope, base)
		}
	}
	return nil
}

// Message returns the example as a SOAP 1.1 envelope.
func (e Example) Message(base string) []byte { return enveloped(e.Request, Envelope11, base) }

func enveloped(r Request, envelope, base string) []byte {
	b := append(
		[]byte(nil),
		`<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<S:Envelope xmlns:S="`+envelope+`"><S:Body>`...)
	b = AppendRequest(b, r, base)
	return append(b, "</S:Body></S:Envelope>\n"...)
}

// Example is a user's task and the request that solves it.
type Example struct {
	Name    string // identifies the example on pages and in tests: "bridges"
	Request Request
}

// Examples returns the examples of the documentation, including those in the documentation of the schemas.
func Examples() []Example {
	may := time.Date(2024, 5, 1, 0, 0, 0, 0, oslo())
	year := time.Date(2010, 1, 1, 0, 0, 0, 0, oslo())
	text := func(s string) *string { return &s }
	yes, no := true, false
	expression := func(s string) StedSoek { return StedSoek{Stedsnavn: &s, AvansertSoek: &yes} }
	spelling := func(s string) SkrivemaateSoek { return SkrivemaateSoek{Stedsnavn: &s, AvansertSoek: &yes} }
	who, both, oslo := exampleContext(), Flags{BeregnVisningsnavn: true, InkluderGeometri: true}, []string{"0301"}
	return []Example{
		{
			"bridges",
			&FindSteder{
				who,
				StedSoek{KommunerIds: []string{"4649"}, NavneobjekttyperIds: []string{"bru"}, OppdatertEtter: &may},
				both,
			},
		},
		{"decision", &FindVedtak{who, VedtakSoek{Skrivemaate: text("Oslo")}}},
		{"hyphen", &FindSteder{who, StedSoek{Stedsnavn: text("nord  fron")}, both}},
		{"stop", &FindSteder{who, StedSoek{Stedsnavn: text("Nes.")}, both}},
		{"languages", &FindSteder{who, StedSoek{Stedsnavn: text("Guovdageaidnu/Kautokeino")}, both}},
		{"letter", &FindSteder{who, StedSoek{Stedsnavn: text("Å")}, both}},
		{"prefix", &FindSteder{who, StedSoek{Stedsnavn: text("Ås*")}, both}},
		{"exact", &FindSteder{who, expression("=Ås*"), both}},
		{"suffix", &FindStedsnavn{who, StedsnavnSoek{Stedsnavn: text("*vik"), KommunerIds: []string{"4601"}}, both}},
		{"not", &FindSkrivemaater{who, spelling("nes -sand"), both}},
		{"or", &FindSkrivemaater{who, spelling("vik|våg"), both}},
		{"phrase", &FindSkrivemaater{who, spelling(`"nord fron"`), both}},
		{"similar", &FindSteder{who, expression("~Kristiansand"), both}},
		{"character", &FindSteder{who, StedSoek{Stedsnavn: text("B??"), KommunerIds: oslo}, both}},
		{"sami", &FindStedsnavn{who, StedsnavnSoek{SpraakIds: []string{"sme"}, KommunerIds: []string{"5610"}}, both}},
		{"cases", &FindNavnesaker{who, NavnesakSoek{KommunerIds: oslo, Avsluttet: &no}}},
		{
			"farm",
			&FindStederForMatrikkelenhetreferanse{
				who,
				StedMatrikkelenhetreferanseSoek{Kommunenummer: "0301", Gaardsnummer: "1-50"},
				both,
			},
		},
		{"combined", &FindSamlevedtak{who, SamlevedtakSoek{RegistrertEtter: &year}}},
		{"book", &FindBoeker{who, "Norske gardsnavn: i ny ordning"}},
		{"map", &FindKartprodukter{StedsnavnContext: who, Kartblad: text("1")}},
		{
			"documented",
			&FindSkrivemaater{who, SkrivemaateSoek{BokSoek: &BokSoek{Tittel: text("bygdebok")}, KommunerIds: oslo},
				both},
		},
	}
}

// exampleContext returns the context that identifies the client in an example.
func exampleContext() StedsnavnContext {
	return StedsnavnContext{SystemVersion: "1", ClientIdentification: "example", Locale: "nb_NO",
		SnapshotVersion: time.Date(9999, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))}
}

// examples returns one request per operation.
func examples() []Request {
	text := func(s string) *string { return &s }
	number := func(n int32) *int32 { return &n }
	who := exampleContext()
	both := Flags{BeregnVisningsnavn: true, InkluderGeometri: true}
	oslo := []string{"0301"}
	unit := StedMatrikkelenhetreferanseSoek{Kommunenummer: "0301", Gaardsnummer: "1"}
	return []Request{
		&FindNavnesaker{who, NavnesakSoek{KommunerIds: oslo}},
		&FindSteder{who, StedSoek{Stedsnavn: text("Oslo*"), KommunerIds: oslo}, both},
		&FindStederForMatrikkelenhetreferanse{who, unit, both},
		&FindStedsnavn{who, StedsnavnSoek{Stedsnavn: text("Oslo*")}, both},
		&FindStedsnavnForMatrikkelenhetreferanse{who, StedsnavnMatrikkelenhetreferanseSoek(unit), both},
		&FindSkrivemaater{who, SkrivemaateSoek{Stedsnavn: text("Oslo*")}, both},
		&FindSkrivemaaterForMatrikkelenhetreferanse{who, SkrivemaateMatrikkelenhetreferanseSoek(unit), both},
		&FindVedtak{who, VedtakSoek{KommunerIds: oslo}},
		&FindSamlevedtak{who, SamlevedtakSoek{Stedsnavn: text("Oslo*")}},
		&FindBoeker{who, "norske"},
		&FindKartprodukter{StedsnavnContext: who, Utgivelsesaar: number(1990)},
	}
}
