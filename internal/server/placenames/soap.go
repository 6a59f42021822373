package placenames

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
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
	"grense/internal/server"
	"grense/internal/server/limit"
	"grense/internal/server/media"
	"grense/internal/server/page"
	"grense/internal/server/problems"
	"grense/internal/server/wire"
	"grense/internal/soap"
)

// newSOAP returns the SOAP service over the store.
func (s *surface) newSOAP() *soap.Service {
	l, nilTypes := s.Config.Limits, contract.PlainNil
	unknownCodes := placename.RefuseCodes
	if s.Config.SOAP.UnknownCodes == "no_match" {
		unknownCodes = placename.NoMatch
	}
	if s.Config.SOAP.NilTypes == "typed" {
		nilTypes = contract.TypedNil
	}
	return soap.New(soap.Config{
		Searcher: gatedSearcher{placename.New(s.Store,
			placename.Options{MaxHits: s.Config.SOAP.MaxHits, UnknownCodes: unknownCodes,
				CRS: crs.ID(s.Config.SOAP.CRS)})},
		Address: func(r *http.Request) string {
			return server.CallOf(r).Base() + server.SoapPath + "/" +
				soap.Endpoint
		},
		NamespaceBase: s.Config.SOAP.NamespaceBase,
		RequestID:     func(r *http.Request) string { return server.CallOf(r).ID },
		Limits:        soap.Limits{Body: int64(l.SOAPBody), Depth: l.SOAPDepth, Attributes: l.SOAPAttributes},
		Logger:        s.Log,
		Unknown:       unknownElements(s.Config.SOAP.UnknownElements),
		NilTypes:      nilTypes,
		FaultsBySOAP:  s.Config.SOAP.HTTPStatus == http.StatusInternalServerError,
		CRS:           "EPSG:" + strconv.Itoa(s.Config.SOAP.CRS),
		Hold: func(change, held int) (int, error) {
			s.Flight.Held.Add(int64(change)) // the last call subtracts the rest
			return s.Flight.Piece(wholeSOAP), s.Flight.Admit(held)
		},
		Called: func(r *http.Request, operation string) { server.CallOf(r).Operation = operation },
		Failed: func(r *http.Request, text func(contract.Lang) string, cause error) {
			if f, ok := r.Context().Value(failureKey{}).(*soapFailure); ok {
				*f = soapFailure{text, cause}
			}
		},
		Keep:  s.cachedSOAP,
		Whole: sendSOAP,
	})
}

// cachedSOAP writes the cached response of a search, or calls build. Searches from the form are not cached.
func (s *surface) cachedSOAP(w http.ResponseWriter, r *http.Request, message []byte, build func() error) error {
	c := server.CallOf(r)
	if !posted(c, w) {
		return build()
	}
	var failed error // of the search, which is classified already
	search := func() error {
		failed = build()
		return failed
	}
	err := c.Searched(server.SoapPath, string(message), w.Header().Get("Content-Type"), search)
	switch {
	case err != nil && c.Begun():
		panic(http.ErrAbortHandler) // part of the response is sent
	case err == nil || failed != nil:
		return err
	}
	return problems.Classify(err)
}

// sendSOAP sends a complete SOAP response.
func sendSOAP(w http.ResponseWriter, r *http.Request, b []byte) error {
	c := server.CallOf(r)
	if !posted(c, w) {
		_, err := w.Write(b)
		return err
	}
	return c.WriteOnce(c.Response, b)
}

// posted reports whether w sends the response to the client. The form records it instead, to show it on a page.
func posted(c *server.Call, w http.ResponseWriter) bool {
	_, shown := w.(*recorder)
	return !shown && c.Response != nil
}

// wholeSOAP is the size, in bytes, up to which a SOAP response is built before it is sent.
const wholeSOAP = 8 << 20

// rowBytes estimates the memory for the id and revision of a hit, in bytes.
const rowBytes = 64

func unknownElements(setting string) contract.Unknown {
	if setting == "ignore" {
		return contract.IgnoreUnknown
	}
	return contract.RefuseUnknown
}

// gatedSearcher makes searches wait for slots as other queries do, and limits the memory of large responses.
type gatedSearcher struct{ next contract.Searcher }

func (g gatedSearcher) Search(ctx context.Context, r contract.Request) (a contract.Answer, err error) {
	c, ok := server.CallIn(ctx)
	if !ok {
		return g.next.Search(ctx, r)
	}
	a, err = g.next.Search(c.Asking(ctx), r)
	if next := a.Next; next != nil {
		if a.Count >= limit.LargeAnswer {
			c.Hold(a.Count * rowBytes)
		}
		a.Next = func(ctx context.Context) (contract.Hits, error) {
			if a.Count >= limit.LargeAnswer {
				if err := c.Large(c.Request.Context()); err != nil {
					return nil, err
				}
			}
			return next(c.Asking(ctx))
		}
	}
	return a, err
}

// soapFile serves the endpoint, the WSDL and its schemas at a mount. Only the endpoint needs a key.
func (s *surface) soapFile(rt *server.Route, mount string) http.Handler {
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := server.CallOf(r)
		if r.Method == http.MethodPost && chi.URLParam(r, "file") == soap.Endpoint {
			if err := s.Authorize(c); err != nil {
				if problem.Of(err).Kind == problem.Unauthorized {
					w.Header().Add("WWW-Authenticate", `Basic realm="data", charset="UTF-8"`)
				} else {
					w.Header().Set("Retry-After", problems.RetryOf(err))
				}
				s.soap.WriteFault(w, r, problem.Of(err))
				return
			}
			c.DataHeaders(w)
			s.soap.Call(w, r)
			return
		}
		if err := s.call(c).soapDocument(w); err != nil {
			s.End(c, w, err)
		}
	})
	wrap, err := gzhttp.NewWrapper(gzhttp.CompressionLevel(gzip.BestSpeed))
	if err != nil {
		panic("placenames: " + err.Error())
	}
	zipped := wrap(h) // it does not compress twice
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c := server.CallOf(r)
		c.Enter(r, rt, mount)
		if !server.HasRegister(c.Catalog) {
			c.Fail(w, errNoRegister)
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

// soapDocument writes the WSDL or a schema.
func (c *call) soapDocument(w http.ResponseWriter) error {
	h := w.Header()
	b, err := c.s.soap.Document(h, c.Request)
	if err != nil {
		return err
	}
	h.Set("Cache-Control", "no-cache")
	h.Set("Vary", "Accept-Encoding")
	c.WriteBody(w, http.StatusOK, wire.NewBody(b))
	return nil
}

var errNoRegister = problem.NotFoundf("the data served here hold no place-name register; serve the demo, or a file " +
	"made by grense register; grense check says why a register is refused")

// soapView is the data of the page.
type soapView struct {
	Endpoint, WSDL, Single string // absolute addresses
	Schemas                []string
	Rules                  []soapRule // only in the part for programs, like Examples
	Examples               []soapExample
	Hits                   *hitTable // of the response; nil if there are none
	CodeLists              string    // address of the page of code lists
	Programs               string    // address of the part for programs
	Action                 string    // address that the form posts to
	Operations             []string
	Selected               string // selected operation
	Request                string // SOAP message in the form
	Fields                 []soapField
	page.Faulty
	Written  bool   // the user wrote the request as XML
	Broken   bool   // the written request is not well-formed
	Response string // the response; "" before the form was posted
	Status   int    // of the response; 0 before the form was posted
	Keyed    bool   // searches need a key
	NeedsKey bool   // searches need a key and the browser has none
}

// soapRule is a rule for searches, in the language of the page.
type soapRule struct{ Title, Text string }

// soapExample is an example request.
type soapExample struct{ Title, Operation, Message string }

// soapRules are the message keys soap.rule.NAME and soap.rule.NAME-text, in the order of the page.
var soapRules = []string{"names", "advanced", "texts", "fields", "times", "order", "limit", "geometry", "faults",
	"transport"}

// soapDoc is the JSON representation of the page.
type soapDoc struct {
	Title      string        `json:"title"`
	Endpoint   string        `json:"endpoint"`
	WSDL       string        `json:"wsdl"`
	Schemas    []string      `json:"schemas"`
	Operations []string      `json:"operations"`
	Links      []ogcapi.Link `json:"links"`
}

// soapPage writes the page of the place-name service with the form of an operation.
func (s *surface) soapPage(c *call, w http.ResponseWriter) error {
	if !server.HasRegister(c.Catalog) {
		return errNoRegister
	}
	op := c.Params.(*soapParams).operation
	if op == "" {
		op = "findSteder"
	}
	if _, ok := contract.TheContract().Operation(op); !ok {
		return problem.Invalidf("operation", op, "use one of %s", strings.Join(operationNames(), ", "))
	}
	v := c.soapViewOf(op)
	if c.Format.F == "json" {
		return c.WriteDoc(w, soapDoc{Title: c.Text("soap.title"), Endpoint: v.Endpoint, WSDL: v.WSDL,
			Schemas: v.Schemas, Operations: v.Operations, Links: c.SelfLinks(server.SoapPath)})
	}
	v.Request = string(contract.ExampleRequest(op, false, s.Config.SOAP.NamespaceBase))
	var err error
	if c.Params.(*soapParams).programs {
		v.addPrograms(c)
		return c.writeSOAPPage(w, &page.Page{Name: "soap-programs", Title: c.Text("soap.programs"),
			Description: c.Text("soap.programs-lead"),
			Crumbs: append(c.Crumbs(""),
				page.Crumb{Title: c.Text("soap.title"), Href: c.HtmlHref(server.SoapPath)}), Data: &v})
	}
	if v.Fields, err = c.soapForm(op, nil); err != nil {
		return err
	}
	return c.writeSOAPForm(w, v)
}

// soapTry sends the posted form to the SOAP service and shows request and response.
func (s *surface) soapTry(c *call, w http.ResponseWriter) error {
	if !server.HasRegister(c.Catalog) {
		return errNoRegister
	}
	if err := s.Authorize(c.Call); err != nil {
		return err
	}
	// percent-encoding makes the form longer than the message
	if err := server.ReadForm(c.Request, c.Root, 2*int64(s.Config.Limits.SOAPBody)); err != nil {
		return err
	}
	c.Speak(c.Lang)               // links on the page repeat it
	c.Catalog = s.Store.Catalog() // a reload may have happened while the form was read
	return c.Retry(func() error { return s.searchByForm(c, w) })
}

// searchByForm searches by the parsed form and writes the page.
func (s *surface) searchByForm(c *call, w http.ResponseWriter) error {
	op := c.Request.PostForm.Get("operation")
	if _, ok := contract.TheContract().Operation(op); !ok {
		op = "findSteder"
	}
	v := c.soapViewOf(op)
	var err error
	if v.Fields, err = c.soapForm(op, c.Request.PostForm); err != nil {
		return err
	}
	if c.Request.PostForm.Has("request") {
		v.Request, v.Written = c.Request.PostForm.Get("request"), true
		if said := c.brokenXML(v.Request); said != "" {
			v.Broken = true
			v.Faults = c.messageFault(said)
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
			v.Request = string(contract.ExampleRequest(op, false, s.Config.SOAP.NamespaceBase))
			return c.writeSOAPForm(w, v)
		}
		v.Request = s.envelope(r)
	}
	var failed soapFailure
	req, err := http.NewRequestWithContext(context.WithValue(c.Request.Context(), failureKey{}, &failed),
		http.MethodPost, v.Endpoint, strings.NewReader(v.Request))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "text/xml; charset=utf-8")
	res := &recorder{header: http.Header{}, limit: trySize}
	s.soap.Call(res, req)
	v.Status, v.Response = res.status, res.text()
	v.Hits = c.hitsOf(v.Response)
	v.showFailure(c, failed)
	return c.writeSOAPForm(w, v)
}

func (c *call) soapViewOf(op string) soapView {
	at := c.Base() + server.SoapPath + "/"
	v := soapView{Endpoint: at + soap.Endpoint, WSDL: at + soap.Endpoint + "?wsdl", Single: at + soap.Endpoint +
		"?singleWsdl", CodeLists: c.HtmlHref("/codelists"), Programs: c.HtmlHref(server.SoapPath + "?part=programs"),
		Action: c.Base() + server.SoapPath, Operations: operationNames(), Selected: op,
		Keyed: c.s.Config.Auth != "open", NeedsKey: c.s.Config.Auth != "open" && server.CookieKey(c.Request) == ""}
	for _, f := range c.s.soap.Files() {
		v.Schemas = append(v.Schemas, at+f)
	}
	return v
}

// addPrograms adds the rules and the examples, in the language of the page.
func (v *soapView) addPrograms(c *call) {
	filled := map[string]any{"limit": c.s.Config.SOAP.MaxHits, "geometry": "EPSG:" + strconv.Itoa(c.s.Config.SOAP.CRS)}
	for _, name := range soapRules {
		text := c.Text(fmt.Sprintf("soap.rule.%s-text", name))
		if with, ok := filled[name]; ok {
			text = strings.Replace(text, "%s", fmt.Sprint(with), 1)
		}
		v.Rules = append(v.Rules, soapRule{c.Text(fmt.Sprintf("soap.rule.%s", name)), text})
	}
	for _, e := range contract.Examples() {
		v.Examples = append(v.Examples, soapExample{c.Text(fmt.Sprintf("soap.example.%s", e.Name)),
			e.Request.Operation(), string(e.Message(c.s.Config.SOAP.NamespaceBase))})
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
func (c *call) writeSOAPForm(w http.ResponseWriter, v soapView) error {
	return c.writeSOAPPage(w, &page.Page{Name: "soap", Title: c.Text("soap.title"),
		Description: c.Text("soap.description"), Crumbs: c.Crumbs(""), Data: &v, Refused: v.Refused(),
		Instance: "urn:grense:request:" + c.ID})
}

func (c *call) writeSOAPPage(w http.ResponseWriter, pg *page.Page) error {
	h := w.Header()
	plain, err := c.RenderPage(pg)
	if err != nil {
		return err
	}
	c.DataHeaders(w)
	h.Set("Content-Type", media.HTML.ContentType())
	h.Set("Content-Language", page.LanguageTag(c.Lang))
	return c.WriteOnce(w, plain)
}

// trySize is the size, in bytes, to which the page truncates a response.
const trySize = 256 << 10

// recorder is a ResponseWriter that stores the first bytes of a response.
type recorder struct {
	header http.Header
	status int
	buf    bytes.Buffer
	limit  int
	more   int // bytes not stored
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
