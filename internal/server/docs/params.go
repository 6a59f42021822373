package docs

import (
	"grense/internal/problem"
	"grense/internal/server"
)

// apiParams are the parameters of the API definition.
type apiParams struct{ swagger bool }

func newAPIParams(*server.Call) any { return &apiParams{} }

var paramUI = &server.Param{Name: "ui", Description: "Page of the API definition: plain, the default, reads " +
	"without JavaScript; swagger tries requests out",
	Schema: map[string]any{"type": "string", "enum": []string{"swagger", "plain"}},
	Parse: server.Into(func(_ *server.Call, p *apiParams, v []string) error {
		if v[0] != "swagger" && v[0] != "plain" {
			return problem.Invalidf("ui", v[0], "use swagger or plain")
		}
		p.swagger = v[0] == "swagger"
		return nil
	})}
