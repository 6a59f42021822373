package soap_test

import (
	"bytes"
	"context"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"grense/api/placename"
	"grense/internal/soap"
)

const (
	base = placename.DefaultBase
	path = "/soap/stedsnavn/v1/SoekServiceWS"
	ct11 = "text/xml; charset=utf-8"
	ct12 = "application/soap+xml; charset=utf-8"
)

// search makes a function a Searcher.
type search func(context.Context, placename.Request) (placename.Answer, error)

func (f search) Search(ctx context.Context, r placename.Request) (placename.Answer, error) {
	return f(ctx, r)
}

// sample answers every operation with one hit; blank and bad values as a real search would.
func sample(_ context.Context, r placename.Request) (placename.Answer, error) {
	switch r := r.(type) {
	case *placename.FindBoeker:
		if strings.TrimSpace(r.Soeketekst) == "" {
			return placename.Answer{}, refusal(r, "soeketekst", r.Soeketekst, placename.Blank, 0)
		}
	case *placename.FindStederForMatrikkelenhetreferanse:
		if len(r.Soek.Kommunenummer) != 4 {
			return placename.Answer{}, refusal(r, "soek/kommunenummer", r.Soek.Kommunenummer, placename.BadKommune, 0)
		}
	case *placename.FindSteder:
		if s := r.StedSoek.Stedsnavn; s != nil && strings.HasPrefix(*s, "Zz") {
			return placename.Answer{}, nil
		}
		hit := stedTreff
		if !r.InkluderGeometri {
			hit.Geometri = ""
		}
		return allAtOnce(placename.StedTreffList{hit}), nil
	}
	return allAtOnce(hits[r.Operation()]), nil
}

var (
	day       = time.Date(2020, 2, 29, 0, 0, 0, 0, time.UTC)
	unit      = &placename.Matrikkelnummer{Kommunenummer: "0301", Gaardsnummer: 1}
	stedTreff = placename.StedTreff{
		StedId:               "1",
		Stedsnavn:            "Oslo",
		NavneobjekttypeId:    "by",
		StedstatusId:         "aktiv",
		KommunerIds:          []string{"0301"},
		LandId:               "NO",
		SpraakprioriteringId: "norsk",
		Sortering: placename.Sortering{
			Sortering1KodeId: "viktighetN",
			Sortering2KodeId: "viktighet99",
		},
		Geometri: "POINT(10.75 59.91)",
	}
	hits = map[string]placename.Hits{
		"findNavnesaker": placename.NavnesakTreffList{
			{
				NavnesakId:         "1",
				Aar:                2020,
				Saksnummer:         1,
				VedtaksmyndighetId: "kommune",
				OmraadeId:          "a",
				Stedsnavn:          []string{"Oslo", "Åslo"},
				Registreringsdato:  day,
				Oppdateringsdato:   day,
			},
		},
		"findStedsnavn": placename.StedsnavnTreffList{
			{
				StedId:                "1",
				StedsnavnId:           "2",
				VisningsnavnForSted:   "Oslo",
				Ident:                 placename.StedsnavnIdent{Stedsnummer: 1, Stedsnavnnummer: 1},
				AntallSkrivemaater:    1,
				SpraakId:              "nor",
				NavnestatusId:         "hovednavn",
				NavneobjekttypeId:     "by",
				NavnesakstatusId:      "a",
				SkrivemaatestatusId:   "vedtatt",
				Skrivemaatestatusdato: day,
			},
		},
		"findSkrivemaater": placename.SkrivemaateTreffList{
			{
				StedId:                "1",
				StedsnavnId:           "2",
				SkrivemaateId:         "3",
				Skrivemaate:           "Oslo",
				SkrivemaatestatusId:   "vedtatt",
				Skrivemaatestatusdato: day,
				SpraakId:              "nor",
				KasustypeId:           "a",
				NavneobjekttypeId:     "by",
				NavnesakstatusId:      "a",
				VedtaksmyndighetId:    "a",
				Registreringsdato:     day,
				Oppdateringsdato:      day,
			},
		},
		"findStederForMatrikkelenhetreferanse": placename.StedMatrikkelenhetreferanseTreffList{
			{StedId: "1", NavneobjekttypeId: "by", KommuneId: "0301", Matrikkelnummer: unit},
		},
		"findStedsnavnForMatrikkelenhetreferanse": placename.StedsnavnMatrikkelenhetreferanseTreffList{
			{StedId: "1", StedsnavnId: "2", Stedsnavn: "Oslo", SkrivemaatestatusId: "vedtatt",
				Skrivemaatestatusdato: day, NavnesakstatusId: "a", NavnestatusId: "a", SpraakId: "nor",
				NavneobjekttypeId: "by", KommuneId: "0301", Matrikkelnummer: unit},
		},
		"findSkrivemaaterForMatrikkelenhetreferanse": placename.SkrivemaateMatrikkelenhetreferanseTreffList{
			{StedId: "1", StedsnavnId: "2", SkrivemaateId: "3", Skrivemaate: "Oslo",
				SkrivemaatestatusId: "vedtatt", Skrivemaatestatusdato: day, NavnesakstatusId: "a", NavnestatusId: "a",
				NavneobjekttypeId: "by", KommuneId: "0301", Matrikkelnummer: unit},
		},
		"findVedtak": placename.VedtakTreffList{
			{
				VedtakId:           "1",
				Aar:                2020,
				Vedtaksdato:        day,
				VedtaksmyndighetId: "a",
				OmraadeId:          "a",
				VedtattAv:          placename.UtoevendeMyndighet{KommuneId: "0301"},
				Registreringsdato:  day,
				Oppdateringsdato:   day,
			},
			{
				VedtakId:           "2",
				Aar:                2020,
				Vedtaksdato:        day,
				VedtaksmyndighetId: "a",
				OmraadeId:          "a",
				VedtattAv:          placename.UtoevendeMyndighet{FylkeId: "03"},
				Registreringsdato:  day,
				Oppdateringsdato:   day,
			}},
		"findSamlevedtak": placename.SamlevedtakTreffList{
			{SamlevedtakId: "1", Aar: 2020, Registreringsdato: day, Oppdateringsdato: day, Vedtaksdato: &day},
		},
		"findBoeker":        placename.BokTreffList{{Id: "1", Tittel: "Norske <navn> & \"sted\"", Utgivelsesaar: 1990}},
		"findKartprodukter": placename.KartproduktTreffList{{Id: "1", ProduktkodeId: "n50", Utgivelsesaar: 1990}},
	}
)

// service makes a service over f; nil is sample.
func service(f search) *soap.Service {
	if f == nil {
		f = sample
	}
	return soap.New(soap.Config{
		Searcher:  f,
		Address:   func(*http.Request) string { return "https://example.org" + path },
		RequestID: func(*http.Request) string { return "id-1" },
		Logger:    slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
}

// post sends a body and returns the answer.
func post(h http.Handler, contentType, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// envelope wraps the content of a body in an envelope with the prefixes that the tests use.
func envelope(ns, content string) string {
	return `<S:Envelope xmlns:S="` + ns + `" xmlns:q="` + base + `/service/soek" xmlns:t="` + base +
		`/service/servicetyper" xmlns:d="` + base +
		`/domain" xmlns:ko="` + base + `/domain/kommune" ` +
		`xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><S:Body>` + content + `</S:Body></S:Envelope>`
}

func envelope11(content string) string { return envelope(placename.Envelope11, content) }

const context11 = `<q:stedsnavnContext><d:locale>en</d:locale></q:stedsnavnContext>`

// steder is a request of findSteder with the content of its search object.
func steder(search string) string {
	return envelope11(
		`<q:findSteder>` + context11 + `<q:stedSoek>` + search +
			`</q:stedSoek><q:beregnVisningsnavn>true</q:beregnVisningsnavn>` +
			`<q:inkluderGeometri>false</q:inkluderGeometri></q:findSteder>`,
	)
}

// answer is a fault as far as tests look at it, or a result.
type answer struct {
	status   int
	fault    bool
	code     string // local name
	reason   string
	lang     string
	category string // "": no detail
	class    string
	message  string
	trace    string
}

func (a answer) String() string {
	return fmt.Sprintf("%d %s %s", a.status, a.code, a.category)
}

// read reads an answer, the slow way. It fails the test when it is not well-formed.
func read(t testing.TB, w *httptest.ResponseRecorder) answer {
	t.Helper()
	a := answer{status: w.Code}
	d := xml.NewDecoder(bytes.NewReader(w.Body.Bytes()))
	var names []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("the answer is not well-formed: %v\n%s", err, w.Body)
		}
		switch x := token.(type) {
		case xml.StartElement:
			names = append(names, x.Name.Local)
			a.fault = a.fault || len(names) == 3 && x.Name.Local == "Fault"
			for _, attr := range x.Attr {
				if attr.Name.Local == "lang" {
					a.lang = attr.Value
				}
			}
		case xml.EndElement:
			names = names[:len(names)-1]
		case xml.CharData:
			_, name, _ := strings.Cut(string(x), ":")
			switch strings.Join(names, "/") {
			case "Envelope/Body/Fault/faultcode", "Envelope/Body/Fault/Code/Value":
				a.code = name
			case "Envelope/Body/Fault/faultstring", "Envelope/Body/Fault/Reason/Text":
				a.reason += string(x)
			}
			if _, in, ok := strings.Cut(strings.ToLower(strings.Join(names, "/")), "detail/serviceexception/"); ok {
				switch in {
				case "category":
					a.category = string(x)
				case "stacktracetext":
					a.trace = string(x)
				case "exceptiondetail/classname":
					a.class = string(x)
				case "exceptiondetail/message":
					a.message += string(x)
				}
			}
		}
	}
	if a.fault == (a.code == "") {
		t.Fatalf("neither a result nor a fault:\n%s", w.Body)
	}
	return a
}

// validate checks answers against the schemas with libxml2, or skips the test.
func validate(t *testing.T, documents map[string][]byte) {
	t.Helper()
	if _, err := exec.LookPath("xmllint"); err != nil {
		t.Skip("SKIPPED: xmllint is not installed, no answer was validated (apt install libxml2-utils)")
	}
	dir := t.TempDir()
	all := `<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">`
	add := func(ns, file string, b []byte) {
		if ns != "" {
			all += `<xs:import namespace="` + ns + `" schemaLocation="` + file + `"/>`
		}
		if err := os.WriteFile(filepath.Join(dir, file), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for ns, file := range map[string]string{placename.Envelope11: "soap11.xsd", placename.Envelope12: "soap12.xsd",
		"": "xml.xsd"} {
		b, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		add(ns, file, b)
	}
	s := service(nil)
	target := regexp.MustCompile(`targetNamespace="([^"]+)"`)
	for _, file := range s.Files() {
		w := httptest.NewRecorder()
		s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/soap/stedsnavn/v1/"+file, nil))
		add(target.FindStringSubmatch(w.Body.String())[1], file, w.Body.Bytes())
	}
	add("", "all.xsd", []byte(all+`</xs:schema>`))
	args := []string{"--noout", "--nonet", "--schema", filepath.Join(dir, "all.xsd")}
	for name, b := range documents {
		file := filepath.Join(dir, strings.NewReplacer("/", "_", " ", "_").Replace(name)+".xml")
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
		args = append(args, file)
	}
	out, err := exec.Command("xmllint", args...).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, regexp.MustCompile(`(?m)^.* validates\n`).ReplaceAll(out, nil))
	}
}

// textLogger logs to b.
func textLogger(b io.Writer) *slog.Logger { return slog.New(slog.NewTextHandler(b, nil)) }

// clientService is a service whose description names the server that it runs on.
func clientService(url string) *soap.Service {
	return soap.New(
		soap.Config{
			Searcher: search(sample),
			Address:  func(*http.Request) string { return url + path },
			Logger:   textLogger(io.Discard),
		},
	)
}

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with a file under testdata, or writes the file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != got {
		t.Errorf("%s differs from its golden file (%v); run with -update and review the difference", name, err)
	}
}

// refusal is one of one fault; path is relative to the wrapper of the operation.
func refusal(r placename.Request, path, value string, reason placename.Reason, n int64) *placename.Refusal {
	return &placename.Refusal{
		Faults: []placename.Fault{{Path: r.Operation() + "/" + path, Value: value, Reason: reason, N: n}},
	}
}

// allAtOnce is an answer with all hits in one batch.
func allAtOnce(h placename.Hits) placename.Answer {
	if h.Len() == 0 {
		return placename.Answer{}
	}
	given := false
	return placename.Answer{Count: h.Len(), Next: func(context.Context) (placename.Hits, error) {
		if given {
			return nil, nil
		}
		given = true
		return h, nil
	}}
}
