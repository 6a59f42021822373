package maps

import (
	"slices"

	"grense/internal/problem"
	"grense/internal/server"
	"grense/internal/style"
)

// paramTheme chooses the colours of the style.
var paramTheme = &server.Param{Name: "theme", Shared: "map-theme",
	Description: "Colours of the map: light, dark, or print, which is black on white. Defaults to light",
	Schema:      map[string]any{"type": "string", "enum": style.Themes, "default": style.Light},
	Parse: server.Into(func(_ *server.Call, p lookOf, v []string) error {
		l := p.lookOf()
		if l.theme = style.Theme(v[0]); !slices.Contains(style.Themes, l.theme) {
			return problem.Invalidf("theme", v[0], "use one of light, dark, print")
		}
		return nil
	})}

// rules returns the layers of the style of the map.
func (c *call) rules() ([]*style.Rules, error) {
	s := &style.Style{Version: 8, Layers: style.Divisions(c.StyleData(c.p.Collections()),
		style.Drawing{Theme: c.p.theme, Fonts: true})}
	return s.Rules()
}
