// Package placenames serves the place-name register: the SOAP endpoint with its WSDL, a page with a search form, and
// the code lists.
package placenames

import (
	"net/http"

	"grense/internal/server"
	"grense/internal/server/media"
	"grense/internal/server/names"
	"grense/internal/soap"
)

// surface holds what the handlers of all routes share.
type surface struct {
	*server.Kit
	names *names.Names
	soap  *soap.Service
}

// call is a request to a route of the surface.
type call struct {
	*server.Call
	names.Namer
	s *surface
}

func (s *surface) call(c *server.Call) *call { return &call{c, s.names.Namer(c), s} }

func (s *surface) get(h func(*call) (*server.Answer, error)) func(*server.Call) (*server.Answer, error) {
	return func(c *server.Call) (*server.Answer, error) { return h(s.call(c)) }
}

func (s *surface) stream(h func(*call, http.ResponseWriter) error) func(*server.Call, http.ResponseWriter) error {
	return func(c *server.Call, w http.ResponseWriter) error { return h(s.call(c), w) }
}

// Routes returns the routes of the place-name service and of the code lists.
func Routes(k *server.Kit, n *names.Names) []server.Route {
	s := &surface{Kit: k, names: n}
	s.soap = s.newSOAP()
	return []server.Route{
		{Path: "/codelists", Op: "getCodeLists", After: "getOutput", Tag: "Code lists", Summary: "All code lists",
			Description: "The code lists of the place-name register.",
			Formats:     []media.Format{media.JSON, media.CSV, media.HTML},
			Schema:      server.SchemaNamed("codeLists"), Get: s.get(s.codeLists), Register: true},
		{Path: "/codelists/{codeListId}", Op: "getCodeList", After: "getCodeLists", Tag: "Code lists",
			Summary:     "One code list",
			Description: "The codes of a list with their names in the languages that are known.",
			Formats:     []media.Format{media.JSON, media.CSV, media.HTML},
			Schema:      server.SchemaNamed("codeList"), Get: s.get(s.codeList), Register: true},
		{Path: server.SoapPath, Op: "getSoapPage", Summary: "Page of the place-name service",
			Params: []*server.Param{paramOperation, paramPart}, New: newSOAPParams,
			Formats: []media.Format{media.HTML, media.JSON}, Hidden: true, Scope: server.ScopeSOAP,
			Stream: s.stream(s.soapPage), Post: s.stream(s.soapTry)},
		{Path: server.SoapPath + "/{file}", Op: "soap", Data: true, Scope: server.ScopeSOAP,
			Formats: []media.Format{media.JSON}, Hidden: true, Serve: s.soapFile},
	}
}
