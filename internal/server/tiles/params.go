package tiles

import (
	"slices"
	"strings"

	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/server/selection"
	"grense/internal/style"
	"grense/openapi"
)

// tileFilters are the parameters that select the content of a tile.
var tileFilters = []*server.Param{selection.ParamDatetime, selection.ParamDatetimeAlias, selection.ParamFilter,
	selection.ParamFilterLang, selection.ParamFilterCRS, selection.ParamProperties}

var paramCollections = &server.Param{Name: "collections", Shared: "tile-collections", Define: defineCollections,
	Description: "Collections, a layer of the tiles for each, in this order: ids or addresses, with commas between " +
		"them. Without it all are in",
	Schema: map[string]any{"type": "array", "minItems": 1,
		"items": map[string]any{"type": "string", "minLength": 1}},
	Parse: server.Into(func(c *server.Call, p layered, v []string) error { return p.layersOf().choose(c, v[0]) })}

func defineCollections(c *server.Call, d *openapi.Parameter) {
	ids := []string{}
	for _, coll := range server.Tiled(c.Catalog, nil) {
		ids = append(ids, coll.ID)
	}
	d.Description += ": " + strings.Join(ids, ", ")
}

var paramTheme = &server.Param{Name: "theme", Shared: "style-theme",
	Description: "Colours of the style: light, dark, or print, which is black on white. Defaults to light",
	Schema:      map[string]any{"type": "string", "enum": style.Themes, "default": style.Light},
	Parse: server.Into(func(_ *server.Call, p *tileParams, v []string) error {
		if p.theme = style.Theme(v[0]); !slices.Contains(style.Themes, p.theme) {
			return problem.Invalidf("theme", v[0], "use one of light, dark, print")
		}
		return nil
	})}
