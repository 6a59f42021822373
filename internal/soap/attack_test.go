package soap_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"grense/api/placename"
	"grense/internal/soap"
)

const good = `<q:findBoeker>` + context11 + `<q:soeketekst>norske</q:soeketekst></q:findBoeker>`

// withHead puts a header before the body of an envelope.
func withHead(head string) string {
	return strings.Replace(envelope11(good), "<S:Body>", "<S:Header>"+head+"</S:Header><S:Body>", 1)
}

func nested(n int) string { return strings.Repeat("<a>", n) + strings.Repeat("</a>", n) }

func attributes(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ` a%d=""`, i)
	}
	return b.String()
}

func TestAttacksAreRefused(t *testing.T) {
	t.Parallel()
	env := envelope11(good)
	const bare, limit = "500 Client ", "500 Client LIMIT_EXCEEDED"
	const detailed = "500 Client VALIDATION" // the body's child was reached
	doctype := func(dtd string) string { return "<!DOCTYPE S:Envelope [" + dtd + "]>" }
	documents := map[string][]byte{}
	for name, c := range map[string]struct{ body, want string }{
		"empty":       {``, bare},
		"white space": {"  \n", bare},
		"text":        {`hello`, bare},
		"json":        {`{"a": 1}`, bare},
		"external entity": {doctype(`<!ENTITY x SYSTEM "file:///etc/passwd">`) +
			strings.Replace(env, "norske", "&x;", 1), bare},
		"parameter entity": {doctype(`<!ENTITY % x SYSTEM "http://localhost/x.dtd"> %x;`) + env, bare},
		"billion laughs": {doctype(`<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;">`) +
			strings.Replace(env, "norske", "&b;", 1), bare},
		"doctype alone":          {`<!DOCTYPE x>` + env, bare},
		"doctype inside":         {strings.Replace(env, "norske", "<!DOCTYPE x>", 1), detailed},
		"undefined entity":       {strings.Replace(env, "norske", "&nbsp;", 1), detailed},
		"levels in the search":   {steder(nested(100_000)), limit},
		"levels in the header":   {withHead(nested(100)), bare},
		"levels before the body": {nested(100_000), bare},
		"attributes": {strings.Replace(env, "<q:soeketekst", "<q:soeketekst"+attributes(10_000), 1),
			limit},
		"attributes of the root": {strings.Replace(env, "<S:Envelope", "<S:Envelope"+attributes(10_000), 1), bare},
		"elements":               {steder(strings.Repeat("<a/>", 20_001)), limit},
		"comments":               {steder(strings.Repeat("<!---->", 20_001)), limit},
		"text of 64 KiB and more": {steder("<t:stedsnavn>" + strings.Repeat("x", 64<<10+1) + "</t:stedsnavn>"),
			limit},
		"text in parts": {steder("<t:stedsnavn>" + strings.Repeat(strings.Repeat("x", 1000)+"<!---->",
			66) + "</t:stedsnavn>"), limit},
		"attribute of 800 KB": {strings.Replace(env, "<q:soeketekst",
			`<q:soeketekst a="`+strings.Repeat("x", 800_000)+`"`, 1), limit},
		"processing instruction":    {`<?xml-stylesheet href="x"?>` + env, bare},
		"instruction inside":        {strings.Replace(env, "norske", "<?php x?>", 1), detailed},
		"instruction after":         {env + `<?x?>`, detailed},
		"second declaration":        {`<?xml version="1.0"?><?xml version="1.0"?>` + env, bare},
		"declaration after a space": {` <?xml version="1.0"?>` + env, bare},
		"xml 1.1":                   {`<?xml version="1.1"?>` + env, bare},
		"two children":              {envelope11(good + good), detailed},
		"no child":                  {envelope11(``), bare},
		"text in the body":          {envelope11(`x` + good), bare},
		"second root":               {env + env, detailed},
		"text after the root":       {env + "x", detailed},
		"no envelope":               {good, bare},
		"second body":               {strings.Replace(env, "</S:Body>", "</S:Body><S:Body/>", 1), detailed},
		"header after the body":     {strings.Replace(env, "</S:Body>", "</S:Body><S:Header/>", 1), detailed},
		"something before the body": {strings.Replace(env, "<S:Body>", "<x/><S:Body>", 1), bare},
		"no body":                   {`<S:Envelope xmlns:S="` + placename.Envelope11 + `"/>`, bare},
		"wrong namespace":           {strings.Replace(env, placename.Envelope11, "urn:x", 1), "500 VersionMismatch "},
		"no namespace":              {`<Envelope><Body/></Envelope>`, "500 VersionMismatch "},
		"1.2 with the type of 1.1":  {envelope(placename.Envelope12, good), "500 VersionMismatch "},
		"unknown header":            {withHead(`<h:x xmlns:h="urn:h" S:mustUnderstand="1"/>`), "500 MustUnderstand "},
		"ws-security": {
			withHead(
				`<w:Security ` +
					`xmlns:w="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd" ` +
					`S:mustUnderstand="1"/>`), "500 MustUnderstand "},
		"addressing, another address": {
			withHead(`<w:ReplyTo xmlns:w="http://www.w3.org/2005/08/addressing" S:mustUnderstand="1">` +
				`<w:Address>http://evil.example/</w:Address></w:ReplyTo>`), "500 MustUnderstand "},
		"addressing of 2004": {
			withHead(`<w:To xmlns:w="http://schemas.xmlsoap.org/ws/2004/08/addressing" S:mustUnderstand="1">x</w:To>`),
			"500 MustUnderstand "},
		"invalid UTF-8":             {strings.Replace(env, "norske", "\xff\xfe", 1), bare},
		"overlong UTF-8":            {strings.Replace(env, "norske", "\xc0\xbc", 1), bare},
		"control character":         {strings.Replace(env, "norske", "\x01", 1), detailed},
		"character reference to it": {strings.Replace(env, "norske", "&#1;", 1), detailed},
		"NUL":                       {strings.Replace(env, "norske", "&#0;", 1), detailed},
		"surrogate by reference":    {strings.Replace(env, "norske", "a&#xD800;b", 1), detailed},
		"surrogate, decimal":        {strings.Replace(env, "norske", "&amp;&#057343;", 1), detailed},
		"surrogates in a pair":      {strings.Replace(env, "norske", "&#xd83d;&#xde00;", 1), detailed},
		"surrogate in an attribute": {strings.Replace(env, "<q:soeketekst", `<q:soeketekst a="&#xDFFF;"`, 1),
			detailed},
		"real NUL":              {"\x00" + env, bare},
		"UTF-16 declared":       {`<?xml version="1.0" encoding="UTF-16"?>` + env, bare},
		"UTF-16":                {"\xff\xfe<\x00S\x00", bare},
		"UTF-16 without a mark": {"\x00<\x00S", bare},
		"UTF-7 declared":        {`<?xml version="1.0" encoding="UTF-7"?>` + env, bare},
		"empty encoding":        {`<?xml version="1.0" encoding=""?>` + env, bare},
		"unquoted encoding":     {`<?xml version="1.0" encoding=utf-8?>` + env, bare},
		"duplicate attribute": {strings.Replace(env, "<q:soeketekst", `<q:soeketekst a="1" a="2"`, 1),
			detailed},
		"duplicate by namespace": {strings.Replace(env, "<q:soeketekst",
			`<q:soeketekst xmlns:y="urn:y" xmlns:z="urn:y" y:a="1" z:a="2"`, 1), detailed},
		"duplicate declaration": {strings.Replace(env, "<q:soeketekst", `<q:soeketekst xmlns:y="urn:y" xmlns:y="urn:y"`,
			1), detailed},
		"unbound prefix":      {strings.ReplaceAll(env, "q:soeketekst", "nope:soeketekst"), detailed},
		"unbound attribute":   {strings.Replace(env, "<q:soeketekst", `<q:soeketekst nope:a="1"`, 1), detailed},
		"prefix out of scope": {steder(`<x xmlns:in="urn:x"/><in:x/>`), detailed},
		// no operation without a namespace
		"namespace as prefix": {strings.ReplaceAll(strings.Replace(env, ` xmlns:q="`+base+`/service/soek"`, "", 1),
			"q:", ""), detailed},
		"prefix undone": {strings.Replace(env, "<q:soeketekst", `<q:soeketekst xmlns:y=""`, 1), detailed},
		"xml bound elsewhere": {strings.Replace(env, "<q:soeketekst", `<q:soeketekst xmlns:xml="urn:y"`, 1),
			detailed},
		"xmlns bound": {strings.Replace(env, "<q:soeketekst", `<q:soeketekst xmlns:xmlns="urn:y"`, 1),
			detailed},
		"no local name":             {strings.ReplaceAll(env, "q:soeketekst", "q:"), detailed},
		"two colons":                {strings.ReplaceAll(env, "q:soeketekst", "q:a:b"), detailed},
		"wrong end tag":             {strings.Replace(env, "</q:soeketekst>", "</t:soeketekst>", 1), detailed},
		"cut":                       {env[:len(env)-20], detailed},
		"cut in the head":           {env[:60], bare},
		"unknown operation":         {envelope11(`<q:dropTable/>`), detailed},
		"operation in no namespace": {envelope11(`<findBoeker/>`), detailed},
		"operation in another":      {envelope11(`<t:findBoeker/>`), detailed},
		"huge number": {steder(`<t:stedsnummer>` + strings.Repeat("9", 10_000) + `</t:stedsnummer>`),
			detailed},
		"year 0": {steder(`<t:oppdatertEtter><d:timestamp>0000-01-01T00:00:00Z</d:timestamp></t:oppdatertEtter>`),
			detailed},
		"year 10000": {steder(`<t:oppdatertEtter><d:timestamp>10000-01-01T00:00:00Z</d:timestamp></t:oppdatertEtter>`),
			detailed},
	} {
		s := service(func(context.Context, placename.Request) (placename.Answer, error) {
			t.Errorf("%s: reached the search", name)
			return placename.Answer{}, nil
		})
		start := time.Now()
		w := post(s, ct11, c.body)
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s: took %s", name, d)
		}
		if a := read(t, w); a.String() != c.want || a.reason == "" || a.category != "" && a.message != a.reason {
			t.Errorf("%s: %s, want %s\n%s", name, a, c.want, w.Body)
		}
		documents[name] = w.Body.Bytes()
	}
	validate(t, documents)
}

func TestInertTricksAreData(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"schema location": strings.Replace(envelope11(good), "<q:findBoeker",
			`<q:findBoeker xsi:schemaLocation="urn:x http://evil.example/x.xsd"`, 1),
		"false type": steder(`<t:stedsnavn xsi:type="nope:Evil">x</t:stedsnavn>`),
		"what looks like a surrogate": steder(
			`<t:stedsnavn><![CDATA[&#xD800;]]>&amp;#xD800;&#x1F600;&#xD7FF;&#xE000;</t:stedsnavn><!--&#xD800;-->`),
		"sql":  steder(`<t:stedsnavn>x'; DROP TABLE sted; --</t:stedsnavn>`),
		"ldap": steder(`<t:stedsnavn>*)(uid=*))(|(uid=*</t:stedsnavn>`),
		"encoding style": strings.Replace(envelope11(good), "<S:Envelope",
			`<S:Envelope S:encodingStyle="urn:x"`, 1),
		"optional header": withHead(
			`<h:x xmlns:h="urn:h" S:mustUnderstand="0"/><h:y xmlns:h="urn:h"><h:z>text</h:z></h:y>`),
		"header for others": withHead(`<h:x xmlns:h="urn:h" S:mustUnderstand="1" S:actor="urn:another"/>`),
		"empty header":      withHead(``),
		"midnight as 24": steder(
			`<t:oppdatertEtter><d:timestamp>2024-01-31T24:00:00Z</d:timestamp></t:oppdatertEtter>`),
		"many prefixes": withHead(strings.Repeat(`<a xmlns:p1="1" xmlns:p2="2" xmlns:p3="3"/>`, 5000)),
		"xinclude": withHead(
			`<x:include xmlns:x="http://www.w3.org/2001/XInclude" href="file:///etc/passwd" parse="text"/>`),
	} {
		if a := read(t, post(service(nil), ct11, body)); a.fault {
			t.Errorf("%s: %+v", name, a)
		}
	}
}

// Declarations of the same prefixes at every level must not make the lookup slower at each.
func TestDeepDeclarationsAreCheap(t *testing.T) {
	t.Parallel()
	var declarations strings.Builder
	for i := range 60 {
		fmt.Fprintf(&declarations, ` xmlns:p%d="u%d"`, i, i)
	}
	level := "<a" + declarations.String() + ">"
	inner := strings.Repeat(`<p0:b p1:c="" p2:c="" p59:c=""/>`, 19_000)
	body := withHead(strings.Repeat(level, 25) + inner + strings.Repeat("</a>", 25))
	start := time.Now()
	if a := read(t, post(service(nil), ct11, body)); a.fault {
		t.Errorf("%+v", a)
	}
	if d := time.Since(start); d > 10*time.Second {
		t.Errorf("%d bytes took %s", len(body), d)
	}
}

func TestVersionMismatchNamesTheEnvelopes(t *testing.T) {
	t.Parallel()
	for _, contentType := range []string{ct11, ct12} {
		w := post(service(nil), contentType, envelope("urn:x", good))
		for _, want := range []string{`<u:Upgrade xmlns:u="` + placename.Envelope12, `xmlns:e="` + placename.Envelope12,
			`xmlns:e="` + placename.Envelope11} {
			if !strings.Contains(w.Body.String(), want) {
				t.Errorf("%s: no %s in %s", contentType, want, w.Body)
			}
		}
		if w.Code != http.StatusInternalServerError {
			t.Errorf("%s: %d", contentType, w.Code)
		}
	}
}

func TestNotUnderstoodBlocksAreNamed(t *testing.T) {
	t.Parallel()
	head := `<h:x xmlns:h="urn:h?a&amp;b" S:mustUnderstand="true"/><y xmlns="urn:y" S:mustUnderstand=" 1 " S:role="` +
		placename.Envelope12 + `/role/next"/>`
	body := strings.Replace(withHead(head), placename.Envelope11, placename.Envelope12, 1)
	w := post(service(nil), ct12, body)
	for _, want := range []string{`qname="n:x" xmlns:n="urn:h?a&amp;b"`, `qname="n:y" xmlns:n="urn:y"`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in %s", want, w.Body)
		}
	}
	if a := read(t, w); a.String() != "500 MustUnderstand " {
		t.Errorf("%s", a)
	}
	validate(t,
		map[string][]byte{"12": w.Body.Bytes(), "mismatch12": post(service(nil), ct12, envelope11(good)).Body.Bytes()})
}

func TestAddressingIsUnderstoodWhenDemanded(t *testing.T) {
	t.Parallel()
	const wsa = `xmlns:w="http://www.w3.org/2005/08/addressing"`
	demanded := withHead(
		`<w:To ` + wsa + ` S:mustUnderstand="1">https://example.org/</w:To><w:MessageID ` + wsa +
			`>urn:uuid:1&amp;2</w:MessageID>` +
			`<w:ReplyTo ` + wsa + ` S:mustUnderstand="1">` +
			`<w:Address>http://www.w3.org/2005/08/addressing/anonymous</w:Address></w:ReplyTo>`,
	)
	w := post(service(nil), ct11, demanded)
	for _, want := range []string{`/service/soek/SoekService/findBoekerResponse</wsa:Action>`,
		`>urn:uuid:1&amp;2</wsa:RelatesTo>`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in %s", want, w.Body)
		}
	}
	refused := post(service(nil), ct11, strings.Replace(demanded, "norske", " ", 1))
	if !strings.Contains(refused.Body.String(), `/findBoeker/Fault/ServiceException</wsa:Action>`) {
		t.Errorf("%s", refused.Body)
	}
	if plain := post(service(nil), ct11, strings.ReplaceAll(demanded, ` S:mustUnderstand="1"`, "")); strings.Contains(
		plain.Body.String(),
		"wsa:",
	) {
		t.Errorf("not demanded: %s", plain.Body)
	}
	validate(t, map[string][]byte{"result": w.Body.Bytes(), "fault": refused.Body.Bytes()})
}

func TestTransportRefusals(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		headers map[string]string
		want    string
	}{
		"no type": {nil, "415 Client "},
		"json":    {map[string]string{"Content-Type": "application/json"}, "415 Client "},
		"attachments": {map[string]string{
			"Content-Type": `multipart/related; type="application/xop+xml"; boundary=x`}, "415 Client "},
		"broken type":     {map[string]string{"Content-Type": "text/xml; charset"}, "415 Client "},
		"compressed":      {map[string]string{"Content-Type": ct11, "Content-Encoding": "gzip"}, "415 Client "},
		"utf-16, no mark": {map[string]string{"Content-Type": "text/xml; charset=utf-16"}, "415 Client "},
		"utf-7":           {map[string]string{"Content-Type": "text/xml; charset=utf-7"}, "415 Client "},
		"identity is fine": {map[string]string{"Content-Type": "TEXT/XML; Charset=\"UTF-8\"",
			"Content-Encoding": "identity"}, "200  "},
		"action of 1.2": {map[string]string{"Content-Type": ct12 + `; action="urn:x"`}, "500 VersionMismatch "},
	} {
		r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(envelope11(good)))
		for k, v := range c.headers {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		service(nil).ServeHTTP(w, r)
		if a := read(t, w); a.String() != c.want && !(c.want == "200  " && a.status == 200) {
			t.Errorf("%s: %s, want %s", name, a, c.want)
		}
	}
}

// counted counts what is read of a body.
type counted struct {
	io.Reader
	n int
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += n
	return n, err
}

func TestLongBodiesAreRefusedUnread(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		length   int64
		mostRead int
	}{"said": {2 << 20, 0}, "chunked": {-1, 1<<20 + 1<<16}} {
		body := &counted{Reader: io.LimitReader(zeros{}, 2<<20)}
		r := httptest.NewRequest(http.MethodPost, path, body)
		r.ContentLength = c.length
		r.Header.Set("Content-Type", ct11)
		w := httptest.NewRecorder()
		service(nil).ServeHTTP(w, r)
		if a := read(t, w); a.String() != "413 Client LIMIT_EXCEEDED" || body.n > c.mostRead {
			t.Errorf("%s: %s, %d bytes read", name, a, body.n)
		}
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestBodyThatBreaksOffIsABareFault(t *testing.T) {
	t.Parallel()
	r := httptest.NewRequest(http.MethodPost, path, io.MultiReader(strings.NewReader(envelope11(good)), broken{}))
	r.Header.Set("Content-Type", ct11)
	w := httptest.NewRecorder()
	service(nil).ServeHTTP(w, r)
	if a := read(t, w); a.String() != "500 Client " {
		t.Errorf("%s", a)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestLogHoldsNoLinesOfOthers(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	s := soap.New(
		soap.Config{Searcher: search(sample), Address: func(*http.Request) string {
			return ""
		}, Logger: textLogger(&b)},
	)
	evil := "x&#10;level=ERROR msg=forged&#8238;" + strings.Repeat("y", 1000)
	post(
		s,
		ct11,
		strings.Replace(envelope11(good), "<d:locale>",
			"<d:clientIdentification>"+evil+"</d:clientIdentification><d:locale>", 1),
	)
	if lines := strings.Count(b.String(), "\n"); lines != 1 || strings.Contains(b.String(), strings.Repeat("y", 201)) ||
		strings.Contains(b.String(), "\u202e") {
		t.Errorf("%d lines: %s", lines, b.String())
	}
}

func TestNewRefusesToWorkWithoutASearcher(t *testing.T) {
	t.Parallel()
	defer func() {
		if p := fmt.Sprint(recover()); !strings.Contains(p, "soap.New") {
			t.Errorf("%s", p)
		}
	}()
	soap.New(soap.Config{})
}
