// Package soap serves the place-name searches by SOAP 1.1 (W3C Note of 8 May 2000) and SOAP 1.2 (second edition),
// document/literal wrapped, over HTTP: envelopes, dispatch, faults, and the WSDL with its schemas.
//
// It neither checks keys nor runs searches: the server wraps it, and a placename.Searcher answers. It refuses document
// types, processing instructions, unbound prefixes, duplicate attributes, encodings that are not listed in body.go, and
// references to attachments. It ignores SOAPAction; the operation is the name of the body's child.
package soap

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"grense/api/placename"
	"grense/internal/problem"
)

// Endpoint is the last path segment of the URL that requests are posted to.
const Endpoint = "SoekServiceWS"

// Config configures a Service.
type Config struct {
	// Searcher runs the searches. Required.
	Searcher placename.Searcher
	// Address returns the absolute URL of the endpoint, for the WSDL. It must not be built from the request's Host.
	// Required.
	Address func(*http.Request) string
	// NamespaceBase is the base of the namespaces in the WSDL. Defaults to placename.DefaultBase. Requests may use
	// either one; responses use that of the request.
	NamespaceBase string
	// RequestID returns the id for faults and the log. nil: no ids.
	RequestID func(*http.Request) string
	Limits    Limits
	// Unknown selects whether unknown elements are refused, which is the default.
	Unknown placename.Unknown
	// NilTypes selects how absent decisions are written.
	NilTypes placename.NilTypes
	// FaultsBySOAP gives faults the HTTP status that SOAP prescribes. Otherwise a missing key is 401, a body that is
	// too large 413, and so on.
	FaultsBySOAP bool
	// CRS is the name of the reference system of geometries for the descriptions. Defaults to EPSG:4258.
	CRS string
	// Hold is called with the change of a response's size in memory and the new size, and returns how many bytes may be
	// collected before they are sent. An error refuses a response of which nothing was sent. nil: up to 8 MB.
	Hold func(change, held int) (most int, err error)
	// Called is called with the operation of a call once it is known. May be nil.
	Called func(r *http.Request, operation string)
	// Failed is called with the text of a fault by language, and its cause, which may be nil. May be nil.
	Failed func(r *http.Request, text func(placename.Lang) string, cause error)
	// Keep responds to a search with made, or with the cached response to an equal search. question contains everything
	// that a response depends on besides the data. nil: made is always called.
	Keep func(w http.ResponseWriter, r *http.Request, question []byte, made func() error) error
	// Whole sends a complete response, whose Content-Type is set. nil: it is written with its Content-Length.
	Whole func(w http.ResponseWriter, r *http.Request, answer []byte) error
	// Logger logs causes of internal faults, and a line for each call. Defaults to slog.Default().
	Logger *slog.Logger
}

// Limits are limits of a request. Zero fields have defaults.
type Limits struct {
	Body       int64 // bytes; defaults to 1 MiB
	Depth      int   // nested elements; defaults to 32
	Nodes      int   // elements and comments; defaults to 20,000
	Attributes int   // of one element, namespace declarations included; defaults to 64
	Text       int   // bytes of the text of one element or attribute; defaults to 64 KiB
}

func (l Limits) withDefaults() Limits {
	if l.Body == 0 {
		l.Body = 1 << 20
	}
	for _, f := range []struct {
		field *int
		value int
	}{{&l.Depth, 32}, {&l.Nodes, 20_000}, {&l.Attributes, 64}, {&l.Text, 64 << 10}} {
		if *f.field == 0 {
			*f.field = f.value
		}
	}
	return l
}

// Service is the SOAP service. It is safe for concurrent use.
type Service struct {
	config  Config
	bases   []string          // namespace bases that requests may use
	files   map[string][]byte // schema files by name
	buffers sync.Pool         // of *[]byte
}

// New returns a Service. It panics if Searcher or Address is missing.
func New(c Config) *Service {
	if c.Searcher == nil || c.Address == nil {
		panic("soap.New: Searcher and Address are required")
	}
	if c.NamespaceBase == "" {
		c.NamespaceBase = placename.DefaultBase
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.RequestID == nil {
		c.RequestID = func(*http.Request) string { return "" }
	}
	c.Limits = c.Limits.withDefaults()
	s := &Service{config: c, bases: []string{c.NamespaceBase}, files: map[string][]byte{}}
	if c.NamespaceBase != placename.DefaultBase {
		s.bases = append(s.bases, placename.DefaultBase)
	}
	contract := placename.TheContract()
	for _, name := range contract.Files() {
		s.files[name], _ = contract.XSD(name, placename.Description{Base: c.NamespaceBase, CRS: c.CRS})
	}
	s.buffers.New = func() any { return new([]byte) }
	return s
}

// Files returns the names of the schema files that Describe serves next to Endpoint.
func (s *Service) Files() []string { return placename.TheContract().Files() }

// ServeHTTP handles all paths of the service by their last segment: Describe for GET and HEAD, Call for POST, Allowed
// for OPTIONS. Errors become faults.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost && lastSegment(r) == Endpoint {
		s.Call(w, r)
		return
	}
	if allow := s.Allowed(r); r.Method == http.MethodOptions && allow != "" {
		w.Header().Set("Allow", allow)
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if err := s.Describe(w, r); err != nil {
		s.WriteFault(w, r, problem.Of(err))
	}
}

// Describe responds to GET and HEAD with the result of Document, or returns its error.
func (s *Service) Describe(w http.ResponseWriter, r *http.Request) error {
	b, err := s.Document(w.Header(), r)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:12])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(b))
	return nil
}

// Document returns the response to GET and HEAD: Endpoint?wsdl, Endpoint?wsdl=1.2 (with a port for SOAP 1.2), either as
// singleWsdl (including the schemas), or a schema file. It sets Content-Type in h. For other methods, and for the
// endpoint without wsdl, it returns an error of kind Method and sets Allow in h; for unknown files one of kind
// NotFound. The bytes must not be changed.
func (s *Service) Document(h http.Header, r *http.Request) ([]byte, error) {
	read := r.Method == http.MethodGet || r.Method == http.MethodHead
	name := lastSegment(r)
	if file, asked := schemaFile(r.URL); name == Endpoint && asked {
		name = file
	}
	if name == Endpoint {
		version, single, asked := wsdlVersion(r.URL)
		if !read || !asked {
			h.Set("Allow", s.Allowed(r))
			return nil, problem.New(problem.Method, nil,
				"%s takes POST with a SOAP envelope, and GET with the parameter wsdl", Endpoint)
		}
		if version != "" && version != "1" && version != "1.1" && version != "1.2" {
			return nil, problem.NotFoundf("there is no such description; ask for ?wsdl or ?wsdl=1.2")
		}
		h.Set("Content-Type", contentType11)
		return placename.TheContract().
				WSDL(placename.Description{Base: s.config.NamespaceBase, Address: s.config.Address(r),
					SOAP12: version == "1.2", Single: single, CRS: s.config.CRS}),
			nil
	}
	b, ok := s.files[name]
	if !ok {
		return nil, problem.NotFoundf("there is no such file; %s?wsdl names those that there are", Endpoint)
	}
	if !read {
		h.Set("Allow", s.Allowed(r))
		return nil, problem.New(problem.Method, nil, "a schema file takes GET")
	}
	h.Set("Content-Type", contentType11)
	return b, nil
}

// Allowed returns the value of the header Allow for the resource of r; "" if the resource does not exist.
func (s *Service) Allowed(r *http.Request) string {
	name := lastSegment(r)
	_, _, wsdl := wsdlVersion(r.URL)
	if _, xsd := schemaFile(r.URL); name == Endpoint && (wsdl || xsd) {
		return "GET, HEAD, POST, OPTIONS"
	}
	if name == Endpoint {
		return "POST, OPTIONS"
	}
	if s.files[name] != nil {
		return "GET, HEAD, OPTIONS"
	}
	return ""
}

// wsdlVersion returns the value of the parameter wsdl or singleWsdl, ignoring the case of its name.
func wsdlVersion(u *url.URL) (version string, single, asked bool) {
	for name, values := range u.Query() {
		switch {
		case strings.EqualFold(name, "singleWsdl"):
			return values[0], true, true
		case strings.EqualFold(name, "wsdl"):
			version, asked = values[0], true
		}
	}
	return version, false, asked
}

// schemaFile returns the file for the parameter xsd, which is its name or, as in other servers, 1 for the service's
// schema.
func schemaFile(u *url.URL) (file string, asked bool) {
	for name, values := range u.Query() {
		if strings.EqualFold(name, "xsd") {
			if values[0] == "1" {
				return serviceSchema, true
			}
			return values[0], true
		}
	}
	return "", false
}

// serviceSchema is the schema file that declares the messages.
const serviceSchema = "SoekServiceWS_schema1.xsd"

func lastSegment(r *http.Request) string {
	return r.URL.Path[strings.LastIndexByte(r.URL.Path, '/')+1:]
}
