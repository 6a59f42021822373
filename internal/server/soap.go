package server

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/klauspost/compress/gzhttp"
	"github.com/klauspost/compress/gzip"

	"grense/api/ogcapi"
	contract "grense/api/placename"
	"grense/internal/geo/crs"
	"grense/internal/placename"
	"grense/internal/problem"
	"grense/internal/server/page"
	"grense/internal/soap"
	"grense/internal/store"
)

// soapPath is where the place-name service lies below a mount.
const soapPath = "/soap/stedsnavn/v1"

// newSOAP makes the SOAP service over the same store.
func (s *Kit) newSOAP() *soap.Service {
	l, nilTypes := s.cfg.Limits, contract.PlainNil
	unknownCodes := placename.RefuseCodes
	if s.cfg.SOAP.UnknownCodes == "no_match" {
		unknownCodes = placename.NoMatch
	}
	if s.cfg.SOAP.NilTypes == "typed" {
		nilTypes = contract.TypedNil
	}
	return soap.New(soap.Config{
		Searcher:      gatedSearcher{placename.New(s.store, placename.Options{MaxHits: s.cfg.SOAP.MaxHits, UnknownCodes: unknownCodes, CRS: crs.ID(s.cfg.SOAP.CRS)})},
		Address:       func(r *http.Request) string { return callOf(r).base() + soapPath + "/" + soap.Endpoint },
		NamespaceBase: s.cfg.SOAP.NamespaceBase,
		RequestID:     func(r *http.Request) string { return callOf(r).id },
		Limits:        soap.Limits{Body: int64(l.SOAPBody), Depth: l.SOAPDepth, Attributes: l.SOAPAttributes},
		Logger:        s.log,
		Unknown:       unknownElements(s.cfg.SOAP.UnknownElements),
		NilTypes:      nilTypes,
		FaultsBySOAP:  s.cfg.SOAP.HTTPStatus == http.StatusInternalServerError,
		CRS:           "EPSG:" + strconv.Itoa(s.cfg.SOAP.CRS),
		Hold: func(change, held int) (int, error) {
			s.flight.Held.Add(int64(change)) // the last call gives all back
			return s.flight.Piece(wholeSOAP), s.flight.Admit(held)
		},
		Called: func(r *http.Request, operation string) { callOf(r).called = operation },
		Failed: func(r *http.Request, text func(contract.Lang) string, cause error) {
			if f, ok := r.Context().Value(failureKey{}).(*soapFailure); ok {
				*f = soapFailure{text, cause}
			}
		},
		Keep:  s.keepSOAP,
		Whole: sendSOAP,
	})
}

// keepSOAP answers a search with what is kept for it, or by made. What the form asks for is made each time.
func (s *Kit) keepSOAP(w http.ResponseWriter, r *http.Request, question []byte, made func() error) error {
	c := callOf(r)
	if !c.posted(w) {
		return made()
	}
	var failed error // of the search, which has a kind already
	search := func() error {
		failed = made()
		return failed
	}
	err := c.searched(soapPath, string(question), w.Header().Get("Content-Type"), search)
	switch {
	case err != nil && c.begun():
		panic(http.ErrAbortHandler) // a part of it is out
	case err == nil || failed != nil:
		return err
	}
	return classify(err)
}

// sendSOAP sends an answer of SOAP that is whole.
func sendSOAP(w http.ResponseWriter, r *http.Request, b []byte) error {
	c := callOf(r)
	if !c.posted(w) {
		_, err := w.Write(b)
		return err
	}
	return c.writeOnce(c.Writer(), b)
}

// posted reports whether w takes the answer to the call itself, and not one that a page shows.
func (c *Call) posted(w http.ResponseWriter) bool {
	_, shown := w.(*recorder)
	return !shown && c.Writer() != nil
}

// wholeSOAP is the size, in bytes, up to which an answer of SOAP is made whole.
const wholeSOAP = 8 << 20

// rowBytes estimates the memory that the id and revision of a hit take.
const rowBytes = 64

func unknownElements(setting string) contract.Unknown {
	if setting == "ignore" {
		return contract.IgnoreUnknown
	}
	return contract.RefuseUnknown
}

// gatedSearcher makes searches wait for their turn and bounds their time, as all questions to the store.
type gatedSearcher struct{ next contract.Searcher }

func (g gatedSearcher) Search(ctx context.Context, r contract.Request) (a contract.Answer, err error) {
	c, ok := callIn(ctx)
	if !ok {
		return g.next.Search(ctx, r)
	}
	a, err = g.next.Search(c.asking(ctx), r)
	if next := a.Next; next != nil {
		if a.Count >= largeAnswer {
			c.hold(a.Count * rowBytes)
		}
		a.Next = func(ctx context.Context) (contract.Hits, error) {
			if a.Count >= largeAnswer {
				if err := c.large(); err != nil {
					return nil, err
				}
			}
			return next(c.asking(ctx))
		}
	}
	return a, err
}

// soapFile serves the endpoint, the WSDL and its schemas at a mount. Requests need a key, descriptions do not.
func (s *Kit) soapFile(rt *Route, mount string) http.Handler {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callOf(r)
		if r.Method == http.MethodPost && chi.URLParam(r, "file") == soap.Endpoint {
			if err := s.authorize(c); err != nil {
				if problem.Of(err).Kind == problem.Unauthorized {
					w.Header().Add("WWW-Authenticate", `Basic realm="data", charset="UTF-8"`)
				} else {
					w.Header().Set("Retry-After", retryOf(err))
				}
				s.soap.WriteFault(w, r, problem.Of(err))
				return
			}
			c.dataHeaders(w)
			s.soap.Call(w, r)
			return
		}
		if err := c.soapDocument(w); err != nil {
			s.end(c, w, err)
		}
	})
	wrap, err := gzhttp.NewWrapper(gzhttp.CompressionLevel(gzip.BestSpeed))
	if err != nil {
		panic("server: " + err.Error())
	}
	zipped := wrap(h) // leaves alone what is compressed already
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := callOf(r)
		c.enter(r, rt, mount)
		if !c.hasRegister() {
			c.fail(w, errNoRegister)
			return
		}
		if allow := s.soap.Allowed(r); r.Method == http.MethodOptions && allow != "" {
			w.Header().Set("Allow", allow)
			w.Header().Set("Access-Control-Allow-Methods", allow)
			w.WriteHeader(http.StatusNoContent)
			return
		}
		zipped.ServeHTTP(w, r)
	})
}

// soapDocument writes the WSDL or a schema, which need no key.
func (c *Call) soapDocument(w http.ResponseWriter) error {
	h := w.Header()
	b, err := c.s.soap.Document(h, c.r)
	if err != nil {
		return err
	}
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	c.writeBody(w, http.StatusOK, newBody(b))
	return nil
}

var errNoRegister = problem.NotFoundf("the data served here hold no place-name register; serve the demo, or a file made by grense register; grense check tells why a register is refused")

// hasRegister reports whether the catalog holds the record kinds of a place-name register.
func (c *Call) hasRegister() bool { return holdsRegister(c.cat) }

func holdsRegister(cat *store.Catalog) bool {
	coll, ok := cat.Collection("skrivemaate")
	return ok && len(coll.Relations) > 0
}

// soapView is what the page of the place-name service shows.
type soapView struct {
	Endpoint, WSDL, Single string // absolute addresses
	Schemas                []string
	Rules                  []soapRule // of the part for programs, as the examples
	Examples               []soapExample
	Hits                   *hitTable // of the answer; nil when there are none
	CodeLists              string    // address of the page
	Programs               string    // address of the part for programs
	Action                 string    // where the form goes
	Operations             []string
	Selected               string // operation of the example
	Request                string // envelope in the form
	Fields                 []soapField
	page.Faulty
	Written  bool   // the request was written as XML
	Broken   bool   // and is none
	Response string // what came back; "" before the form was sent
	Status   int    // of the response; 0 before the form was sent
	Keyed    bool   // searches need a key
	NeedsKey bool   // and the browser holds none
}

// soapRule is a rule of the searches, in the language of the page.
type soapRule struct{ Title, Text string }

// soapExample is a question that a search answers.
type soapExample struct{ Title, Operation, Message string }

// soapRules are the messages soap.rule.NAME and soap.rule.NAME-text, in the order of the page.
var soapRules = []string{"names", "advanced", "texts", "fields", "times", "order", "limit", "geometry", "faults", "transport"}

// soapDoc tells programs where the place-name service is.
type soapDoc struct {
	Title      string        `json:"title"`
	Endpoint   string        `json:"endpoint"`
	WSDL       string        `json:"wsdl"`
	Schemas    []string      `json:"schemas"`
	Operations []string      `json:"operations"`
	Links      []ogcapi.Link `json:"links"`
}

// soapPage explains the place-name service and shows an example request of the operation asked.
func (s *Kit) soapPage(c *Call, w http.ResponseWriter) error {
	if !c.hasRegister() {
		return errNoRegister
	}
	op := c.params.(*soapParams).operation
	if op == "" {
		op = "findSteder"
	}
	if _, ok := contract.TheContract().Operation(op); !ok {
		return problem.Invalidf("operation", op, "use one of %s", strings.Join(operationNames(), ", "))
	}
	v := c.soapViewOf(op)
	if c.rep.F == "json" {
		return c.writeDoc(w, soapDoc{Title: c.text("soap.title"), Endpoint: v.Endpoint, WSDL: v.WSDL, Schemas: v.Schemas, Operations: v.Operations, Links: c.selfLinks(soapPath)})
	}
	v.Request = string(contract.ExampleRequest(op, false, s.cfg.SOAP.NamespaceBase))
	var err error
	if c.params.(*soapParams).programs {
		v.tellPrograms(c)
		return c.writeSOAPPage(w, &page.Page{Name: "soap-programs", Title: c.text("soap.programs"), Description: c.text("soap.programs-lead"), Crumbs: append(c.crumbs(""), page.Crumb{Title: c.text("soap.title"), Href: c.htmlHref(soapPath)}), Data: &v})
	}
	if v.Fields, err = c.soapForm(op, nil); err != nil {
		return err
	}
	return c.writeSOAPForm(w, v)
}

// soapTry sends the envelope of the form to the service and shows request and answer.
func (s *Kit) soapTry(c *Call, w http.ResponseWriter) error {
	if !c.hasRegister() {
		return errNoRegister
	}
	if err := s.authorize(c); err != nil {
		return err
	}
	if err := c.readForm(2 * int64(s.cfg.Limits.SOAPBody)); err != nil { // escapes make a form longer than what it holds
		return err
	}
	if c.values == nil { // of which links take the language
		c.values = url.Values{"lang": {c.lang}}
	}
	c.cat = s.store.Catalog() // which may be another than when the form began to come
	return c.anew(func() error { return s.searchByForm(c, w) })
}

// searchByForm is soapTry once the form is read.
func (s *Kit) searchByForm(c *Call, w http.ResponseWriter) error {
	op := c.r.PostForm.Get("operation")
	if _, ok := contract.TheContract().Operation(op); !ok {
		op = "findSteder"
	}
	v := c.soapViewOf(op)
	var err error
	if v.Fields, err = c.soapForm(op, c.r.PostForm); err != nil {
		return err
	}
	if c.r.PostForm.Has("request") {
		v.Request, v.Written = c.r.PostForm.Get("request"), true
		if said := c.brokenXML(v.Request); said != "" {
			v.Broken = true
			v.Faults = c.ofMessage(said)
			return c.writeSOAPForm(w, v)
		}
	} else {
		r, ok, err := c.writeRequest(op, v.Fields)
		if err != nil {
			return err
		}
		if !ok {
			for _, f := range v.Fields {
				if f.Fault != nil {
					v.Faults = append(v.Faults, *f.Fault)
				}
			}
			v.Request = string(contract.ExampleRequest(op, false, s.cfg.SOAP.NamespaceBase))
			return c.writeSOAPForm(w, v)
		}
		v.Request = s.envelope(r)
	}
	var failed soapFailure
	req, err := http.NewRequestWithContext(context.WithValue(c.r.Context(), failureKey{}, &failed), http.MethodPost, v.Endpoint, strings.NewReader(v.Request))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "text/xml; charset=utf-8")
	res := &recorder{header: http.Header{}, limit: trySize}
	s.soap.Call(res, req)
	v.Status, v.Response = res.status, res.text()
	v.Hits = c.hitsOf(v.Response)
	v.tellFailure(c, failed)
	return c.writeSOAPForm(w, v)
}

func (c *Call) soapViewOf(op string) soapView {
	at := c.base() + soapPath + "/"
	v := soapView{Endpoint: at + soap.Endpoint, WSDL: at + soap.Endpoint + "?wsdl", Single: at + soap.Endpoint + "?singleWsdl", CodeLists: c.htmlHref("/codelists"), Programs: c.htmlHref(soapPath + "?part=programs"), Action: c.base() + soapPath, Operations: operationNames(), Selected: op,
		Keyed: c.s.cfg.Auth != "open", NeedsKey: c.s.cfg.Auth != "open" && cookieKey(c.r) == ""}
	for _, f := range c.s.soap.Files() {
		v.Schemas = append(v.Schemas, at+f)
	}
	return v
}

// tellPrograms adds the rules and the examples, in the language of the page.
func (v *soapView) tellPrograms(c *Call) {
	filled := map[string]any{"limit": c.s.cfg.SOAP.MaxHits, "geometry": "EPSG:" + strconv.Itoa(c.s.cfg.SOAP.CRS)}
	for _, name := range soapRules {
		text := c.text(fmt.Sprintf("soap.rule.%s-text", name))
		if with, ok := filled[name]; ok {
			text = strings.Replace(text, "%s", fmt.Sprint(with), 1)
		}
		v.Rules = append(v.Rules, soapRule{c.text(fmt.Sprintf("soap.rule.%s", name)), text})
	}
	for _, e := range contract.Examples() {
		v.Examples = append(v.Examples, soapExample{c.text(fmt.Sprintf("soap.example.%s", e.Name)), e.Request.Operation(), string(e.Message(c.s.cfg.SOAP.NamespaceBase))})
	}
}

func operationNames() []string {
	var out []string
	for _, op := range contract.TheContract().Operations {
		out = append(out, op.Name)
	}
	return out
}

// writeSOAPForm writes the page with the form.
func (c *Call) writeSOAPForm(w http.ResponseWriter, v soapView) error {
	return c.writeSOAPPage(w, &page.Page{Name: "soap", Title: c.text("soap.title"), Description: c.text("soap.description"), Crumbs: c.crumbs(""), Data: &v, Refused: v.Refused(), Instance: "urn:grense:request:" + c.id})
}

func (c *Call) writeSOAPPage(w http.ResponseWriter, pg *page.Page) error {
	h := w.Header()
	plain, err := c.renderPage(pg)
	if err != nil {
		return err
	}
	c.dataHeaders(w)
	h.Set("Content-Type", asHTML.contentType())
	h.Set("Content-Language", page.LanguageTag(c.lang))
	return c.writeOnce(w, plain)
}

// trySize bounds the answer that the page shows, in bytes.
const trySize = 256 << 10

// recorder keeps the start of an answer.
type recorder struct {
	header http.Header
	status int
	buf    bytes.Buffer
	limit  int
	more   int // bytes that were dropped
}

func (r *recorder) Header() http.Header { return r.header }

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
}

func (r *recorder) Write(b []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	keep := min(len(b), max(r.limit-r.buf.Len(), 0))
	r.buf.Write(b[:keep])
	r.more += len(b) - keep
	return len(b), nil
}

func (r *recorder) text() string {
	s := strings.ToValidUTF8(r.buf.String(), "")
	if r.more > 0 {
		s += "\n… " + strconv.Itoa(r.more) + " bytes more"
	}
	return s
}
