package maps

import "grense/internal/style"

// rules returns the layers of the style of the map.
func (c *call) rules() ([]*style.Rules, error) {
	s := &style.Style{Version: 8, Layers: style.Divisions(c.StyleData(c.p.Collections()),
		style.Drawing{Theme: c.p.theme, Fonts: true})}
	return s.Rules()
}
