// Package drawing draws the maps of pages: pictures of features, and frames for maps of tiles.
package drawing

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/paulmach/orb"

	"grense/internal/draw"
	"grense/internal/geo/crs"
	"grense/internal/server"
	"grense/internal/store"
)

const (
	mostFeatures = 1000     // features on the map of a page
	mostNear     = 40       // features around the one of a page
	outlineBytes = 32 << 20 // of cached outlines
)

// MostPixels bounds the width and the height of a picture.
const MostPixels = 4096

// Maps caches what the maps of all pages share. It is safe for concurrent use.
type Maps struct {
	*server.Kit
	outlines *outlineCache
	scales   atomic.Pointer[scales]
}

// New returns the maps of the collections that a kit serves.
func New(k *server.Kit) *Maps { return &Maps{Kit: k, outlines: newOutlineCache(k.Caches)} }

// Drawing draws the maps of the page of one request.
type Drawing struct {
	*server.Call
	maps *Maps
}

// Drawing returns a drawing for a call.
func (m *Maps) Drawing(c *server.Call) Drawing { return Drawing{c, m} }

// norwegian is the area whose maps are drawn in UTM zone 33, as maps of Norway usually are.
var norwegian = orb.Bound{Min: orb.Point{-10, 56}, Max: orb.Point{36, 82}}

// CRS returns the plane of the maps of a collection: metres in Norway, otherwise degrees.
func CRS(coll *store.Collection) crs.ID {
	if b := coll.Extent; b != nil && norwegian.Contains(b.Min) && norwegian.Contains(b.Max) {
		return crs.UTM33
	}
	return crs.CRS84
}

// CommonCRS returns the reference systems that all of some collections are offered in; at least CRS84.
func CommonCRS(colls []*store.Collection) (ids []crs.ID) {
	for i, coll := range colls {
		of := server.OfferedCRS(coll)
		if i == 0 {
			ids = of
			continue
		}
		ids = slices.DeleteFunc(ids, func(id crs.ID) bool { return !slices.Contains(of, id) })
	}
	if ids == nil {
		ids = []crs.ID{crs.CRS84}
	}
	return ids
}

// norwegianTowns are small areas whose names help readers to find their way on a map of Norway.
var norwegianTowns = []string{"Oslo", "Bergen", "Trondheim - Tråante", "Trondheim", "Stavanger", "Kristiansand",
	"Tromsø", "Bodø", "Ålesund"}

// A Scale is the plane of a map and the width of a unit of the picture in that plane.
type Scale struct {
	Plane crs.ID
	Unit  float64
}

// ScaleOf returns the scale of the map of an area.
func ScaleOf(plane crs.ID, area orb.Bound) Scale {
	return Scale{plane, draw.Unit(area, plane.Geographic())}
}

// ScaleOfAll returns the scale of the map of a whole collection.
func (c Drawing) ScaleOfAll(coll *store.Collection, plane crs.ID) Scale {
	all := c.maps.scales.Load()
	if all == nil || all.cat != c.Catalog {
		all = &scales{cat: c.Catalog}
		c.maps.scales.Store(all)
	}
	key := scaledIn{coll.ID, plane}
	if at, ok := all.of.Load(key); ok {
		return at.(Scale)
	}
	at := Scale{Plane: plane}
	if coll.Extent != nil {
		if area, err := crs.EnvelopeOf(*coll.Extent, crs.CRS84, plane); err == nil {
			at = ScaleOf(plane, area).of(coll.Count)
		}
	}
	all.of.Store(key, at)
	return at
}

// scales caches the scales of the collections of a catalog, whose envelopes take long to compute.
type scales struct {
	cat *store.Catalog
	of  sync.Map // scaledIn to Scale
}

type scaledIn struct {
	collection string
	plane      crs.ID
}

// of returns the scale for a map of n features. With many features it is coarser, so that the picture stays small
// without moved borders.
func (at Scale) of(n int) Scale {
	if n > mostGround {
		at.Unit *= 2.5
	}
	return at
}
