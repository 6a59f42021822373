package server

import (
	"math"

	"grense/internal/store"
	"grense/internal/style"
	"grense/internal/tile"
)

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
