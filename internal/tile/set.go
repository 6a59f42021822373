// Package tile defines the tile matrix sets (OGC 17-083r4) that Grense serves, and builds their vector tiles.
//
// Registered sets have the identifiers, levels and URIs of the OGC register. Our own sets have URIs below the root of
// the server. Every set is a quad tree of tiles with 256 by 256 square cells, counted from the top left corner.
// Coordinates are x before y in the set's CRS; in documents they have the axis order of the CRS's authority.
package tile

import (
	"math"
	"strconv"

	"github.com/paulmach/orb"

	"grense/api/ogcapi"
	"grense/internal/geo/crs"
)

// Cells is the width and height of every tile in cells of its tile matrix.
const Cells = 256

const (
	registered = "http://www.opengis.net/def/tilematrixset/OGC/1.0/"
	scaleSets  = "http://www.opengis.net/def/wkss/OGC/1.0/"
)

// Set is a tile matrix set. It is immutable.
type Set struct {
	ID    string
	Title string
	CRS   crs.ID

	ours     bool     // not in the register of OGC
	axes     []string // names in the order of the authority
	scaleSet string   // registered name of the well-known scale set, or ""
	origin   orb.Point
	first    int // number of the first level
	last     int
	width    int     // number of tiles on the first level, from west to east
	height   int     // number of tiles on the first level, from north to south
	cell     float64 // cell size of the first level, in units of the CRS
	scale    float64 // scale denominator of the first level
}

// sets lists all sets. It never changes.
var sets = [...]Set{
	{ID: "EPSG3575Quad", Title: "North Pole LAEA Europe, quad tree", CRS: crs.LAEANorthPole, ours: true, axes: xy,
		origin: orb.Point{
			-4889334.802954878,
			4889334.802954878,
		}, last: 12, width: 1, height: 1, cell: 2 * 4889334.802954878 / Cells, scale: 136421171.957446},
	{
		ID:       "WebMercatorQuad",
		Title:    "Google Maps Compatible for the World",
		CRS:      crs.WebMercator,
		axes:     xy,
		scaleSet: "GoogleMapsCompatible",
		origin: orb.Point{
			-20037508.3427892,
			20037508.3427892,
		},
		last:   24,
		width:  1,
		height: 1,
		cell:   156543.033928041,
		scale:  559082264.028717,
	},
	{
		ID:       "WorldCRS84Quad",
		Title:    "CRS84 for the World",
		CRS:      crs.CRS84,
		axes:     []string{"Lon", "Lat"},
		scaleSet: "GoogleCRS84Quad",
		origin:   orb.Point{-180, 90},
		last:     23,
		width:    2,
		height:   1,
		cell:     0.703125,
		scale:    279541132.014358,
	},
	{
		ID:     "EuropeanETRS89_LAEAQuad",
		Title:  "Lambert Azimuthal Equal Area ETRS89 for Europe",
		CRS:    crs.LAEAEurope,
		axes:   []string{"Y", "X"},
		origin: orb.Point{2000000, 5500000},
		last:   15,
		width:  1,
		height: 1,
		cell:   17578.125,
		scale:  62779017.8571428,
	},
	utmWGS84("UTM32WGS84Quad", "32", crs.WGS84UTM32),
	utmWGS84("UTM33WGS84Quad", "33", crs.WGS84UTM33),
	utmWGS84("UTM35WGS84Quad", "35", crs.WGS84UTM35),
	utmETRS89("utm33n", "33", crs.UTM33, -2500000),
	utmETRS89("utm32n", "32", crs.UTM32, -2000000),
	utmETRS89("utm35n", "35", crs.UTM35, -3500000),
}

var (
	xy           = []string{"X", "Y"}
	eastingFirst = []string{"E", "N"}
)

// utmWGS84 returns a registered set of a UTM zone. Its first level is 1.
func utmWGS84(id, zone string, c crs.ID) Set {
	return Set{ID: id, Title: "Universal Transverse Mercator Zone " + zone + " WGS84 Quad", CRS: c, axes: eastingFirst,
		origin: orb.Point{
			-9501965.72931276,
			20003931.4586255,
		}, first: 1, last: 24, width: 1, height: 2, cell: 78140.3572602559, scale: 279072704.500914}
}

// utmETRS89 returns the grid of the Norwegian base maps in a UTM zone.
func utmETRS89(id, zone string, c crs.ID, west float64) Set {
	return Set{ID: id, Title: "ETRS89 / UTM zone " + zone + "N, quad tree", CRS: c, ours: true, axes: eastingFirst,
		origin: orb.Point{west, 9045984}, last: 17, width: 1, height: 1, cell: 21664, scale: 21664 / 0.00028}
}

// All returns all sets. The caller owns the slice, but must not change the sets.
func All() []*Set {
	all := make([]*Set, len(sets))
	for i := range sets {
		all[i] = &sets[i]
	}
	return all
}

// Find returns the set with an id, which is case-sensitive; false if there is none.
func Find(id string) (*Set, bool) {
	for i := range sets {
		if sets[i].ID == id {
			return &sets[i], true
		}
	}
	return nil, false
}

// Sets returns the definitions of all sets. rootBase is the absolute URL of the server's root without a final slash.
func Sets(rootBase string) []ogcapi.TileMatrixSet {
	docs := make([]ogcapi.TileMatrixSet, len(sets))
	for i := range sets {
		docs[i] = sets[i].Document(rootBase)
	}
	return docs
}

// URI returns the registered URI or, for our own sets, a URL below rootBase (see Sets).
func (s *Set) URI(rootBase string) string {
	if s.ours {
		return rootBase + "/TileMatrixSets/" + s.ID
	}
	return registered + s.ID
}

// Document returns the definition of the set without links. For rootBase see Sets.
func (s *Set) Document(rootBase string) ogcapi.TileMatrixSet {
	d := ogcapi.TileMatrixSet{
		Title: s.Title, CRS: s.CRS.URI(), ID: s.ID, URI: s.URI(rootBase), OrderedAxes: s.axes,
		TileMatrices: make([]ogcapi.TileMatrix, 0, s.last-s.first+1),
	}
	if s.scaleSet != "" {
		d.WellKnownScaleSet = scaleSets + s.scaleSet
	}
	if s.ours { // as in the register, registered sets have none
		b := s.Bound(Tile{Z: s.first})
		d.BoundingBox = &ogcapi.BoundingBox{
			LowerLeft:   s.ordered(b.Min),
			UpperRight:  s.ordered(b.Max),
			CRS:         d.CRS,
			OrderedAxes: s.axes,
		}
	}
	for z := s.first; z <= s.last; z++ {
		w, h := s.size(z)
		d.TileMatrices = append(d.TileMatrices, ogcapi.TileMatrix{
			ID: strconv.Itoa(z), ScaleDenominator: short(s.scale / s.pow(z)), CellSize: short(s.cell / s.pow(z)),
			CornerOfOrigin: "topLeft", PointOfOrigin: s.ordered(s.origin),
			TileWidth: Cells, TileHeight: Cells, MatrixWidth: w, MatrixHeight: h,
		})
	}
	return d
}

// Levels returns the numbers of the first and the last level.
func (s *Set) Levels() (first, last int) { return s.first, s.last }

// pow returns by which factor the cells of level z are smaller than those of the first level.
func (s *Set) pow(z int) float64 { return math.Ldexp(1, z-s.first) }

// Size returns the number of columns and rows of level z, which must exist.
func (s *Set) Size(z int) (width, height int) { return s.size(z) }

// size returns the number of columns and rows of level z.
func (s *Set) size(z int) (width, height int) {
	return s.width << (z - s.first), s.height << (z - s.first)
}

// ordered returns a point, x before y, in the axis order of the authority.
func (s *Set) ordered(p orb.Point) [2]float64 {
	if s.CRS.NorthFirst() {
		return [2]float64{p[1], p[0]}
	}
	return p
}

// short rounds to 15 significant digits, as in the register.
func short(v float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 15, 64), 64)
	if err != nil {
		return v
	}
	return r
}
