package crs

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/paulmach/orb"
)

// system is what is known of one CRS. A geographic system has no projection.
type system struct {
	id         ID
	name       string
	northFirst bool
	datum      *datum
	domain     orb.Bound
	area       orb.Bound
	method     string // of OGC 01-009; "" when geographic
	params     []param
	proj       projection
}

// param is a parameter of a projection by its name in OGC 01-009, in degrees or metres.
type param struct {
	name  string
	value float64
}

// datum is a geodetic datum with its geographic system of two dimensions.
type datum struct {
	code      int // of the geographic system, EPSG
	name      string
	wkt       string // name of the datum in well-known text
	authority int    // code of the datum, EPSG
	el        ellipsoid
	aliases   []string // other names in well-known text, in upper case without the D_ of ESRI
}

var (
	onWGS84    = &datum{4326, "WGS 84", "WGS_1984", 6326, wgs84, []string{"WGS84", "WORLD_GEODETIC_SYSTEM_1984", "WORLD_GEODETIC_SYSTEM_1984_ENSEMBLE"}}
	onETRS89   = &datum{4258, "ETRS89", "European_Terrestrial_Reference_System_1989", 6258, grs80, []string{"ETRS_1989", "EUROPEAN_TERRESTRIAL_REFERENCE_SYSTEM_1989_ENSEMBLE"}}
	onSWEREF99 = &datum{4619, "SWEREF99", "SWEREF99", 6619, grs80, nil}
	onRGF93    = &datum{4171, "RGF93", "Reseau_Geodesique_Francais_1993", 6171, grs80, []string{"RGF_1993", "RGF_1993_V1", "RESEAU_GEODESIQUE_FRANCAIS_1993_V1"}}
	onPoland   = &datum{9702, "ETRF2000-PL", "ETRF2000_Poland", 1305, grs80, []string{"ETRF2000-PL", "ETRF2000_PL"}}

	datums = [...]*datum{onWGS84, onETRS89, onSWEREF99, onRGF93, onPoland}
)

// The limits of what transforms read, x before y. Those of transverse Mercator are the ones of the registered tile matrix sets of
// UTM; those of the azimuthal systems are the square that fits into the disc of the whole earth.
var (
	degrees  = orb.Bound{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}
	mercator = orb.Bound{Min: orb.Point{-20037508.343, -242528681}, Max: orb.Point{20037508.343, 242528681}}
)

// square is a box around a point, in metres.
func square(x, y, half float64) orb.Bound {
	return orb.Bound{Min: orb.Point{x - half, y - half}, Max: orb.Point{x + half, y + half}}
}

func geographicSystem(id ID, name string, northFirst bool, d *datum) system {
	return system{id: id, name: name, northFirst: northFirst, datum: d, domain: degrees, area: degrees}
}

// transverse is a system of transverse Mercator with the latitude of origin 0.
func transverse(id ID, name string, d *datum, lon0, scale, fe, fn float64) system {
	wide, high := 10001966*scale/0.9996, 20003932*scale/0.9996
	return system{
		id: id, name: name, datum: d, method: "Transverse_Mercator",
		params: []param{{"latitude_of_origin", 0}, {"central_meridian", lon0}, {"scale_factor", scale}, {"false_easting", fe}, {"false_northing", fn}},
		domain: orb.Bound{Min: orb.Point{fe - wide, fn - high}, Max: orb.Point{fe + wide, fn + high}},
		area:   orb.Bound{Min: orb.Point{math.Max(lon0-40, -180), -84}, Max: orb.Point{math.Min(lon0+40, 180), 84}},
		proj:   newTransverseMercator(d.el, lon0, scale, fe, fn),
	}
}

// zone is a UTM zone; the false northing is that of the southern hemisphere where south is told.
func zone(id ID, name string, d *datum, n int, south bool) system {
	fn := 0.0
	if south {
		fn = 1e7
	}
	return transverse(id, name, d, float64(6*n-183), 0.9996, 500000, fn)
}

// lambert is a system of the Lambert conformal conic projection with two standard parallels.
func lambert(id ID, name string, d *datum, lon0, lat0, lat1, lat2, fe, fn float64) system {
	return system{
		id: id, name: name, datum: d, method: "Lambert_Conformal_Conic_2SP",
		params: []param{{"latitude_of_origin", lat0}, {"central_meridian", lon0}, {"standard_parallel_1", lat1}, {"standard_parallel_2", lat2},
			{"false_easting", fe}, {"false_northing", fn}},
		domain: square(fe, fn, 1e7),
		area:   orb.Bound{Min: orb.Point{lon0 - 90, -30}, Max: orb.Point{lon0 + 90, 88}},
		proj:   newConic(d.el, lon0, lat0, lat1, lat2, fe, fn),
	}
}

func azimuthalSystem(id ID, name string, d *datum, lon0, lat0, fe, fn float64, area orb.Bound) system {
	return system{
		id: id, name: name, datum: d, method: "Lambert_Azimuthal_Equal_Area",
		params: []param{{"latitude_of_center", lat0}, {"longitude_of_center", lon0}, {"false_easting", fe}, {"false_northing", fn}},
		domain: square(fe, fn, 9e6), area: area, proj: newAzimuthal(d.el, lon0, lat0, fe, fn),
	}
}

// northing says that the authority puts northing first.
func (s system) northing() system {
	s.northFirst = true
	return s
}

// offered is how many of systems any collection is offered in; the others serve what is stored in them.
const offered = 12

// systems is the table of all that is known; it never changes.
var systems = table()

func table() []system {
	bounds := func(w, s, e, n float64) orb.Bound { return orb.Bound{Min: orb.Point{w, s}, Max: orb.Point{e, n}} }
	list := []system{
		geographicSystem(CRS84, "WGS 84 (CRS84)", false, onWGS84),
		geographicSystem(WGS84, "WGS 84", true, onWGS84),
		geographicSystem(ETRS89, "ETRS89", true, onETRS89),
		{id: WebMercator, name: "WGS 84 / Pseudo-Mercator", datum: onWGS84, domain: mercator, area: bounds(-180, -85.06, 180, 85.06), method: "Mercator_1SP",
			params: []param{{"central_meridian", 0}, {"scale_factor", 1}, {"false_easting", 0}, {"false_northing", 0}}, proj: sphericalMercator{}},
		zone(UTM32, "ETRS89 / UTM zone 32N", onETRS89, 32, false),
		zone(UTM33, "ETRS89 / UTM zone 33N", onETRS89, 33, false),
		zone(UTM35, "ETRS89 / UTM zone 35N", onETRS89, 35, false),
		zone(WGS84UTM32, "WGS 84 / UTM zone 32N", onWGS84, 32, false),
		zone(WGS84UTM33, "WGS 84 / UTM zone 33N", onWGS84, 33, false),
		zone(WGS84UTM35, "WGS 84 / UTM zone 35N", onWGS84, 35, false),
		azimuthalSystem(LAEAEurope, "ETRS89-extended / LAEA Europe", onETRS89, 10, 52, 4321000, 3210000, bounds(-80, 0, 100, 90)).northing(),
		azimuthalSystem(LAEANorthPole, "WGS 84 / North Pole LAEA Europe", onWGS84, 10, 90, 0, 0, bounds(-180, 0, 180, 90)),

		transverse(3006, "SWEREF99 TM", onSWEREF99, 15, 0.9996, 500000, 0).northing(),
		transverse(3067, "ETRS89 / TM35FIN(E,N)", onETRS89, 27, 0.9996, 500000, 0),
		transverse(2180, "ETRF2000-PL / CS92", onPoland, 19, 0.9993, 500000, -5300000).northing(),
		lambert(2154, "RGF93 / Lambert-93", onRGF93, 3, 46.5, 49, 44, 700000, 6600000),
		lambert(3034, "ETRS89-extended / LCC Europe", onETRS89, 10, 52, 35, 65, 4000000, 2800000).northing(),
		lambert(3812, "ETRS89 / Belgian Lambert 2008", onETRS89, 4+21.0/60+33.177/3600, 50.797815, 49+5.0/6, 51+1.0/6, 649328, 665262),
	}
	seen := map[ID]bool{}
	for _, s := range list {
		seen[s.id] = true
	}
	add := func(s system) {
		if !seen[s.id] {
			list = append(list, s)
		}
	}
	for n := 28; n <= 38; n++ {
		add(zone(ID(25800+n), fmt.Sprintf("ETRS89 / UTM zone %dN", n), onETRS89, n, false))
		if n < 38 {
			add(zone(ID(3012+n), fmt.Sprintf("ETRS89 / UTM zone %dN (N-E)", n), onETRS89, n, false).northing())
		}
	}
	for n := 1; n <= 60; n++ {
		add(zone(ID(32600+n), fmt.Sprintf("WGS 84 / UTM zone %dN", n), onWGS84, n, false))
		add(zone(ID(32700+n), fmt.Sprintf("WGS 84 / UTM zone %dS", n), onWGS84, n, true))
	}
	return list
}

// byID finds systems; it never changes.
var byID = index(systems)

func index(list []system) map[ID]*system {
	m := make(map[ID]*system, len(list))
	for i := range list {
		m[list[i].id] = &list[i]
	}
	return m
}

// find returns the entry of id; nil when it is not known.
func (id ID) find() *system { return byID[id] }

// Served lists the systems that any collection is offered in where its features lie in their Area, CRS84 first. The caller owns the slice.
func Served() []ID { return ids(systems[:offered]) }

func ids(list []system) []ID {
	out := make([]ID, len(list))
	for i := range list {
		out[i] = list[i].id
	}
	return out
}

// Text returns the definition as well-known text (OGC 01-009), as a GeoPackage has it; "undefined" for an ID that is not known.
func (id ID) Text() string {
	s := id.find()
	if s == nil {
		return "undefined"
	}
	base := s.datum.text()
	if s.proj == nil {
		return base
	}
	var b strings.Builder
	fmt.Fprintf(&b, `PROJCS["%s",%s,PROJECTION["%s"]`, s.name, base, s.method)
	for _, p := range s.params {
		fmt.Fprintf(&b, `,PARAMETER["%s",%s]`, p.name, strconv.FormatFloat(p.value, 'f', -1, 64))
	}
	b.WriteString(`,UNIT["metre",1,AUTHORITY["EPSG","9001"]]`)
	if id == WebMercator { // the sphere, which this form cannot say
		b.WriteString(`,EXTENSION["PROJ4","+proj=merc +a=6378137 +b=6378137 +lat_ts=0 +lon_0=0 +x_0=0 +y_0=0 +k=1 +units=m +nadgrids=@null +wktext +no_defs"]`)
	}
	fmt.Fprintf(&b, `,AUTHORITY["EPSG","%d"]]`, int(id))
	return b.String()
}

func (d *datum) text() string {
	spheroid := `"GRS 1980",6378137,298.257222101,AUTHORITY["EPSG","7019"]`
	if d.el == wgs84 {
		spheroid = `"WGS 84",6378137,298.257223563,AUTHORITY["EPSG","7030"]`
	}
	return fmt.Sprintf(`GEOGCS["%s",DATUM["%s",SPHEROID[%s],AUTHORITY["EPSG","%d"]],PRIMEM["Greenwich",0,AUTHORITY["EPSG","8901"]],`+
		`UNIT["degree",0.0174532925199433,AUTHORITY["EPSG","9122"]],AXIS["Latitude",NORTH],AXIS["Longitude",EAST],AUTHORITY["EPSG","%d"]]`,
		d.name, d.wkt, spheroid, d.authority, d.code)
}
