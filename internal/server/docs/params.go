package docs

import (
	"strings"

	"grense/internal/cql2"
	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/queryable"
	"grense/internal/server/schema"
	"grense/internal/store"
	"grense/openapi"
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

// DefinedForgiving describes the parameters of a property with endings.
func (c *call) definedForgiving(p *store.Property) (out []openapi.Parameter) {
	if queryable.Elements(p) {
		return nil
	}
	t, format := schema.TypeOf(p.Type)
	for _, ending := range queryable.Endings(p) {
		if queryable.Field(c.Collection, p.Name+ending) != nil {
			continue
		}
		schema := map[string]any{"type": t}
		if format == "date" {
			schema["format"] = format
		}
		about := map[string]string{
			queryable.EndingLike: "Only features whose " + p.Name +
				" has these words, or words that begin so, in that order; case, accents and letters such as ø and " +
				"o count as equal",
			queryable.EndingFrom: "Only features whose " + p.Name + " is this or more",
			queryable.EndingTo:   "Only features whose " + p.Name + " is this or less",
		}[ending]
		if p.Type == cql2.TypeDate || p.Type == cql2.TypeTimestamp {
			about = strings.NewReplacer("this or more", "then or later", "this or less",
				"then or earlier").Replace(about)
		}
		out = append(out, openapi.Parameter{Name: p.Name + ending, In: "query", Description: about, Schema: schema})
	}
	return out
}

var paramCode = &server.Param{Name: "code", Description: "One-time code", Schema: server.SchemaString,
	Parse: server.Into(func(_ *server.Call, p *keyParams, v []string) error { p.code = v[0]; return nil })}

var paramNextPage = &server.Param{Name: "next", Description: "Page to open afterwards", Schema: server.SchemaString,
	Parse: server.Into(func(_ *server.Call, p *keyParams, v []string) error { p.next = v[0]; return nil })}
