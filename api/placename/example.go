package placename

import "time"

// Namespaces of envelopes.
const (
	Envelope11 = "http://schemas.xmlsoap.org/soap/envelope/"
	Envelope12 = "http://www.w3.org/2003/05/soap-envelope"
)

// ExampleRequest returns a whole request of an operation, with namespaces under base: a SOAP 1.1 envelope, or one of 1.2.
// Nil when there is no such operation.
func ExampleRequest(operation string, soap12 bool, base string) []byte {
	envelope := Envelope11
	if soap12 {
		envelope = Envelope12
	}
	for _, r := range examples() {
		if r.Operation() != operation {
			continue
		}
		b := append([]byte(nil), `<?xml version="1.0" encoding="UTF-8"?>`+"\n"+`<S:Envelope xmlns:S="`+envelope+`"><S:Body>`...)
		b = AppendRequest(b, r, base)
		return append(b, "</S:Body></S:Envelope>\n"...)
	}
	return nil
}

// examples returns a request of each operation.
func examples() []Request {
	text := func(s string) *string { return &s }
	number := func(n int32) *int32 { return &n }
	who := StedsnavnContext{SystemVersion: "1", ClientIdentification: "example", Locale: "nb_NO",
		SnapshotVersion: time.Date(9999, 1, 1, 0, 0, 0, 0, time.FixedZone("", 3600))}
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
