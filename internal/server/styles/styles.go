// Package styles holds the styles of maps: ours, and those of the configuration.
package styles

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
	"grense/internal/geo/crs"
	"grense/internal/problem"
	"grense/internal/server/page"
	"grense/internal/store"
	"grense/internal/style"
	"grense/internal/tile"
)

// Style is a style of maps: one of ours, or one of the configuration.
type Style struct {
	ID    string
	Theme style.Theme  // of ours
	File  *style.Style // of the configuration; nil: ours

	set config.MapStyle
}

// List holds styles in their order.
type List []*Style

// Read returns our styles and those of the configuration, whose files it reads. All faults are reported together.
func Read(set map[string]config.MapStyle) (List, error) {
	list := List{{ID: "divisions", Theme: style.Light}, {ID: "divisions-dark", Theme: style.Dark},
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
		list = append(list, &Style{ID: id, File: file, set: x})
	}
	return list, errors.Join(faults...)
}

// For returns the styles that draw a collection, or all without one.
func (l List) For(cat *store.Catalog, coll *store.Collection) List {
	if coll == nil {
		return l
	}
	return slices.DeleteFunc(slices.Clone(l), func(m *Style) bool { return !m.Draws(cat, coll) })
}

// Find finds a style by its id among those of For.
func (l List) Find(cat *store.Catalog, coll *store.Collection, id string) (*Style, error) {
	fits := l.For(cat, coll)
	if i := slices.IndexFunc(fits, func(m *Style) bool { return m.ID == id }); i >= 0 {
		return fits[i], nil
	}
	return nil, problem.NotFoundf("there is no style %q here; there are %s", problem.Clip(id),
		strings.Join(fits.IDs(), ", "))
}

// IDs returns the ids of the styles.
func (l List) IDs() (ids []string) {
	for _, m := range l {
		ids = append(ids, m.ID)
	}
	return ids
}

// Title returns the title of the style in a language.
func (m *Style) Title(lang string) string {
	if m.File == nil {
		return page.Text(lang, fmt.Sprintf("styles.%s", m.Theme))
	}
	return cmp.Or(m.set.Title.In(lang), m.File.Name, m.ID)
}

// About returns the description of the style in a language; "" if there is none.
func (m *Style) About(lang string) string {
	if m.File == nil {
		return page.Text(lang, "styles.about")
	}
	return m.set.Description.In(lang)
}

// Draws reports whether the style draws features of a collection.
func (m *Style) Draws(cat *store.Catalog, coll *store.Collection) bool {
	return m.File == nil || slices.ContainsFunc(m.File.Layers,
		func(l style.Layer) bool { return Collection(cat, l.SourceLayer) == coll })
}

// Collection returns the public collection of a source layer, which may be that of its labels; nil if there is none.
func Collection(cat *store.Catalog, layer string) *store.Collection {
	for _, coll := range cat.Collections {
		if coll.Public && layer != "" && (coll.ID == layer || tile.LabelLayer(cat, coll) == layer) {
			return coll
		}
	}
	return nil
}

// MercatorEnd is the latitude where Web Mercator ends, in degrees.
const MercatorEnd = 85.0511287

// MercatorDegrees returns a latitude in degrees of Web Mercator, which are as long as those of longitude.
func MercatorDegrees(lat float64) float64 {
	return math.Asinh(math.Tan(lat*math.Pi/180)) * 180 / math.Pi
}

// mercatorSide converts the side of a square of a CRS at a latitude to degrees of Web Mercator.
func mercatorSide(side float64, of crs.ID, lat float64) float64 {
	const degree = 20037508.3427892 / 180 // in metres at the equator
	stretch := 1 / math.Cos(lat*math.Pi/180)
	switch {
	case of == crs.WebMercator:
		return side / degree
	case of.Geographic():
		return side * math.Sqrt(stretch)
	}
	return side * stretch / degree
}

// Data describes collections with geometries to the style of divisions. setOf returns the tile matrix set whose levels
// in tiles state the size of areas; nil if there is none.
func Data(cat *store.Catalog, colls []*store.Collection, tiles *tile.Maker,
	setOf func(*store.Collection) *tile.Set) []style.Data {
	list := make([]style.Data, 0, len(colls))
	for _, coll := range colls {
		x := style.Data{ID: coll.ID, Dimension: -1, Count: coll.Count, Labels: tile.LabelLayer(cat, coll)}
		if d, ok := style.Dimensions[coll.Geometry.Type]; ok {
			x.Dimension = d
		}
		if p, ok := coll.Find(coll.TitleProperty); ok && !p.Hidden {
			x.Name = p.Name
		}
		if e := coll.Extent; e != nil {
			low, high := max(e.Min[1], -MercatorEnd), min(e.Max[1], MercatorEnd)
			x.Extent = max(0, e.Max[0]-e.Min[0]) * max(0, MercatorDegrees(high)-MercatorDegrees(low))
			if set := setOf(coll); set != nil {
				x.Side = mercatorSide(tiles.Side(set, coll.ID), set.CRS, (low+high)/2)
			}
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
