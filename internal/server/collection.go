package server

import (
	"math"
	"slices"
	"time"

	"github.com/paulmach/orb"

	"grense/api/ogcapi"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// PreviousNext returns the addresses of the links prev and next; "" if there is none.
func PreviousNext(links []ogcapi.Link) (prev, next string) {
	for _, l := range links {
		switch l.Rel {
		case "prev":
			prev = l.Href
		case "next":
			next = l.Href
		}
	}
	return prev, next
}

// Summary describes a collection in a language, without its links.
func Summary(coll *store.Collection, lang string) ogcapi.Collection {
	return ogcapi.Collection{ID: coll.ID, Title: coll.TitleIn(lang), Description: coll.Description.In(lang),
		Extent: extentOf(coll), ItemCount: coll.Count}
}

// pad widens an extent, in degrees, since clients round boxes and should still get all features.
const pad = 1e-6

func extentOf(coll *store.Collection) *ogcapi.Extent {
	var e ogcapi.Extent
	if b := coll.Extent; b != nil {
		e.Spatial = &ogcapi.SpatialExtent{CRS: crs.CRS84.URI(), BBox: [][4]float64{{
			Down(b.Min[0], -180), Down(b.Min[1], -90), -Down(-b.Max[0], -180), -Down(-b.Max[1], -90)}}}
		if id := coll.Geometry.CRS; id != crs.CRS84 && !id.Own() {
			if box, err := crs.EnvelopeOf(*b, crs.CRS84, id); err == nil {
				e.Spatial.StorageCRSBBox = [][4]float64{id.Corners(box)}
			}
		}
	}
	if _, ok := coll.During(); ok {
		e.Temporal = &ogcapi.TemporalExtent{TRS: "http://www.opengis.net/def/uom/ISO-8601/0/Gregorian",
			Interval: [][2]*string{{moment(coll.Temporal[0]), moment(coll.Temporal[1])}}}
	}
	if e.Spatial == nil && e.Temporal == nil {
		return nil
	}
	return &e
}

func moment(t *time.Time) *string {
	if t == nil {
		return nil
	}
	s := t.UTC().Format(time.RFC3339)
	return &s
}

// OfferedCRS returns the reference systems of a collection: CRS84, then those that are valid for all its features, and
// the storage CRS (OGC 18-058r1, 6.2.2).
func OfferedCRS(coll *store.Collection) []crs.ID {
	if coll.Geometry == nil {
		return []crs.ID{crs.CRS84}
	}
	var out []crs.ID
	for _, id := range crs.Served() {
		if id == coll.Geometry.CRS || coll.Extent == nil || Covers(id, *coll.Extent) {
			out = append(out, id)
		}
	}
	if id := coll.Geometry.CRS; !slices.Contains(out, id) && !id.Own() { // a system without a URI cannot be requested
		out = append(out, coll.Geometry.CRS)
	}
	return out
}

func CrsURIs(coll *store.Collection) []string {
	var out []string
	for _, id := range OfferedCRS(coll) {
		out = append(out, id.URI())
	}
	return out
}

// Covers reports whether a reference system is valid over an area in CRS84.
func Covers(id crs.ID, b orb.Bound) bool {
	a := id.Area()
	return a.Contains(b.Min) && a.Contains(b.Max)
}

// Down rounds v - pad down to six decimals, but not below low.
func Down(v, low float64) float64 { return max(math.Floor((v-pad)*1e6)/1e6, low) }
