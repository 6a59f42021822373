package placenames

import (
	"grense/internal/problem"
	"grense/internal/server"
)

// soapParams are the parameters of the page of the place-name service.
type soapParams struct {
	operation string // "": findSteder
	programs  bool   // show the documentation for programmers instead of the form
}

func newSOAPParams(*server.Call) any { return &soapParams{} }

var paramOperation = &server.Param{Name: "operation", Description: "Operation of the place-name service",
	Schema: server.SchemaString, Parse: server.Into(func(_ *server.Call, p *soapParams,
		v []string) error {
		p.operation = v[0]
		return nil
	})}

var paramPart = &server.Param{Name: "part",
	Description: "Part of the page: search, the default, is the form; programs has addresses, rules and examples",
	Schema:      map[string]any{"type": "string", "enum": []string{"search", "programs"}},
	Parse: server.Into(func(_ *server.Call, p *soapParams, v []string) error {
		if v[0] != "search" && v[0] != "programs" {
			return problem.Invalidf("part", v[0], "use search or programs")
		}
		p.programs = v[0] == "programs"
		return nil
	})}
