package server

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"

	"grense/internal/config"
	"grense/internal/problem"
	"grense/internal/store"
	"grense/internal/style"
	"grense/internal/tile"
)

// MapStyle is a style of maps: one of ours, or one of the configuration.
type MapStyle struct {
	ID    string
	Theme style.Theme  // of ours
	File  *style.Style // of the configuration; nil: ours

	set config.MapStyle
}

// ReadStyles returns our styles and those of the configuration, whose files it reads. All faults are reported together.
func ReadStyles(set map[string]config.MapStyle) ([]*MapStyle, error) {
	list := []*MapStyle{{ID: "divisions", Theme: style.Light}, {ID: "divisions-dark", Theme: style.Dark},
		{ID: "divisions-print", Theme: style.Print}}
	var faults []error
	for _, id := range slices.Sorted(maps.Keys(set)) {
		x := set[id]
		text, err := os.ReadFile(x.File)
		if err != nil {
			faults = append(faults, fmt.Errorf("server: styles.%s: %w", id, err))
			continue
		}
		file, err := style.Read(text)
		if err != nil {
			faults = append(faults, fmt.Errorf("server: styles.%s: %s: %w", id, x.File, err))
			continue
		}
		list = append(list, &MapStyle{ID: id, File: file, set: x})
	}
	return list, errors.Join(faults...)
}

// StyleTitle returns the title of a style.
func (c *Call) StyleTitle(m *MapStyle) string {
	if m.File == nil {
		return c.Text(fmt.Sprintf("styles.%s", m.Theme))
	}
	return cmp.Or(m.set.Title.In(c.Lang), m.File.Name, m.ID)
}

// StyleAbout returns the description of a style; "" if there is none.
func (c *Call) StyleAbout(m *MapStyle) string {
	if m.File == nil {
		return c.Text("styles.about")
	}
	return m.set.Description.In(c.Lang)
}

// StyledCollection returns the public collection of a source layer, which may be that of its labels; nil if there is
// none.
func (c *Call) StyledCollection(layer string) *store.Collection {
	for _, coll := range c.Catalog.Collections {
		if coll.Public && layer != "" && (coll.ID == layer || tile.LabelLayer(c.Catalog, coll) == layer) {
			return coll
		}
	}
	return nil
}

// Draws reports whether a style draws features of a collection.
func (c *Call) Draws(m *MapStyle, coll *store.Collection) bool {
	return m.File == nil || slices.ContainsFunc(m.File.Layers,
		func(l style.Layer) bool { return c.StyledCollection(l.SourceLayer) == coll })
}

// Styles returns the styles of the route: those that draw its collection, or all.
func (c *Call) Styles() (list []*MapStyle) {
	for _, m := range c.s.styles {
		if c.Collection == nil || c.Draws(m, c.Collection) {
			list = append(list, m)
		}
	}
	return list
}

// StyleIDs returns the ids of Styles.
func (c *Call) StyleIDs() (ids []string) {
	for _, m := range c.Styles() {
		ids = append(ids, m.ID)
	}
	return ids
}

// Style finds a style of the route by its id.
func (c *Call) Style(id string) (*MapStyle, error) {
	for _, m := range c.Styles() {
		if m.ID == id {
			return m, nil
		}
	}
	return nil, problem.NotFoundf("there is no style %q here; there are %s", problem.Clip(id),
		strings.Join(c.StyleIDs(), ", "))
}

// MercatorEnd is the latitude where Web Mercator ends, in degrees.
const MercatorEnd = 85.0511287

// MercatorDegrees returns a latitude in degrees of Web Mercator, which are as long as those of longitude.
func MercatorDegrees(lat float64) float64 {
	return math.Asinh(math.Tan(lat*math.Pi/180)) * 180 / math.Pi
}

// StyleData describes collections with geometries to the style of divisions.
func (c *Call) StyleData(colls []*store.Collection) []style.Data {
	list := make([]style.Data, 0, len(colls))
	for _, coll := range colls {
		x := style.Data{ID: coll.ID, Dimension: -1, Count: coll.Count, Labels: tile.LabelLayer(c.Catalog, coll)}
		if d, ok := Dimensions[coll.Geometry.Type]; ok {
			x.Dimension = d
		}
		if p, ok := coll.Find(coll.TitleProperty); ok && !p.Hidden {
			x.Name = p.Name
		}
		if e := coll.Extent; e != nil {
			low, high := max(e.Min[1], -MercatorEnd), min(e.Max[1], MercatorEnd)
			x.Extent = max(0, e.Max[0]-e.Min[0]) * max(0, MercatorDegrees(high)-MercatorDegrees(low))
		}
		for i := range coll.Properties {
			if ref := coll.Properties[i].Ref; ref != "" {
				x.Within = append(x.Within, ref)
			}
		}
		list = append(list, x)
	}
	return list
}
