package crs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// definition is what files say of a reference system: its geographic system and, where it is projected, the conversion from that.
type definition struct {
	base   base
	esri   string // name in ESRI's WKT
	method string // of PROJJSON; "" when the system is geographic
	lat0   float64
	lon0   float64
	k      float64    // scale; 0: the method has none
	std    [2]float64 // standard parallels; both 0: the method has none
	fe, fn float64    // metres
}

// base is a geographic reference system.
type base struct {
	code        ID
	name, datum string
	esri        string // GCS_ and D_ have it at their end
	ellipsoid   string
	a, inverse  float64 // semi-major axis in metres, inverse flattening
}

var (
	baseETRS89  = base{ETRS89, "ETRS89", "European Terrestrial Reference System 1989", "ETRS_1989", "GRS 1980", 6378137, 298.257222101}
	baseWGS84   = base{WGS84, "WGS 84", "World Geodetic System 1984", "WGS_1984", "WGS 84", 6378137, 298.257223563}
	baseSWEREF  = base{4619, "SWEREF99", "SWEREF99", "SWEREF99", "GRS 1980", 6378137, 298.257222101}
	baseRGF93   = base{4171, "RGF93 v1", "Reseau Geodesique Francais 1993 v1", "RGF_1993", "GRS 1980", 6378137, 298.257222101}
	baseETRF2PL = base{9702, "ETRF2000-PL", "ETRF2000 Poland", "ETRF2000_Poland", "GRS 1980", 6378137, 298.257222101}
)

const (
	methodTM       = "Transverse Mercator"
	methodLAEA     = "Lambert Azimuthal Equal Area"
	methodLCC      = "Lambert Conic Conformal (2SP)"
	methodMercator = "Popular Visualisation Pseudo Mercator"
)

// define returns the definition of a system; false when files cannot describe it. Of compound systems it is the horizontal part.
func (id ID) define() (definition, bool) {
	utm := func(b base, zone int) definition {
		return definition{base: b, esri: fmt.Sprintf("%s_UTM_Zone_%dN", b.esri, zone), method: methodTM, lon0: float64(6*zone - 183), k: 0.9996, fe: 500000}
	}
	switch {
	case id == CRS84 || id == WGS84:
		return definition{base: baseWGS84}, true
	case id == ETRS89:
		return definition{base: baseETRS89}, true
	case id > 25827 && id < 25839:
		return utm(baseETRS89, int(id)-25800), true
	case id > 32600 && id <= 32660:
		return utm(baseWGS84, int(id)-32600), true
	case id > 32700 && id <= 32760:
		d := utm(baseWGS84, int(id)-32700)
		d.esri, d.fn = strings.TrimSuffix(d.esri, "N")+"S", 10000000
		return d, true
	}
	d, ok := map[ID]definition{
		WebMercator:   {base: baseWGS84, esri: "WGS_1984_Web_Mercator_Auxiliary_Sphere", method: methodMercator},
		LAEAEurope:    {base: baseETRS89, esri: "ETRS_1989_LAEA", method: methodLAEA, lat0: 52, lon0: 10, fe: 4321000, fn: 3210000},
		LAEANorthPole: {base: baseWGS84, esri: "WGS_1984_North_Pole_LAEA_Europe", method: methodLAEA, lat0: 90, lon0: 10},
		3006:          {base: baseSWEREF, esri: "SWEREF99_TM", method: methodTM, lon0: 15, k: 0.9996, fe: 500000},
		3067:          {base: baseETRS89, esri: "EUREF_FIN_TM35FIN", method: methodTM, lon0: 27, k: 0.9996, fe: 500000},
		2180:          {base: baseETRF2PL, esri: "ETRS_1989_Poland_CS92", method: methodTM, lon0: 19, k: 0.9993, fe: 500000, fn: -5300000},
		2154:          {base: baseRGF93, esri: "RGF_1993_Lambert_93", method: methodLCC, lat0: 46.5, lon0: 3, std: [2]float64{49, 44}, fe: 700000, fn: 6600000},
		3034:          {base: baseETRS89, esri: "ETRS_1989_LCC", method: methodLCC, lat0: 52, lon0: 10, std: [2]float64{35, 65}, fe: 4000000, fn: 2800000},
		3812:          {base: baseETRS89, esri: "Belge_Lambert_2008", method: methodLCC, lat0: 50.797815, lon0: 4.35921583333333, std: [2]float64{49.8333333333333, 51.1666666666667}, fe: 649328, fn: 665262},
		5972:          utm(baseETRS89, 32),
		5973:          utm(baseETRS89, 33),
		5975:          utm(baseETRS89, 35),
	}[id]
	return d, ok
}

// ESRI returns the system as the .prj of a shapefile says it: WKT 1 in ESRI's dialect, x before y.
func (id ID) ESRI() (string, error) {
	d, ok := id.define()
	if !ok {
		return "", fmt.Errorf("crs: %v has no description for files", id)
	}
	num := func(v float64) string {
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	b := d.base
	geo := fmt.Sprintf(`GEOGCS["GCS_%s",DATUM["D_%[1]s",SPHEROID["%s",%s,%s]],PRIMEM["Greenwich",0.0],UNIT["Degree",0.0174532925199433]]`,
		b.esri, strings.ReplaceAll(strings.ReplaceAll(b.ellipsoid, "WGS 84", "WGS_1984"), " ", "_"), num(b.a), num(b.inverse))
	if d.method == "" {
		return geo, nil
	}
	param := func(name string, v float64) string { return `,PARAMETER["` + name + `",` + num(v) + `]` }
	offsets := param("False_Easting", d.fe) + param("False_Northing", d.fn) + param("Central_Meridian", d.lon0)
	name, params := "", ""
	switch d.method {
	case methodTM:
		name, params = "Transverse_Mercator", param("Scale_Factor", d.k)+param("Latitude_Of_Origin", d.lat0)
	case methodLAEA:
		name, params = "Lambert_Azimuthal_Equal_Area", param("Latitude_Of_Origin", d.lat0)
	case methodLCC:
		name, params = "Lambert_Conformal_Conic", param("Standard_Parallel_1", d.std[0])+param("Standard_Parallel_2", d.std[1])+param("Latitude_Of_Origin", d.lat0)
	case methodMercator:
		name, params = "Mercator_Auxiliary_Sphere", param("Standard_Parallel_1", 0)+param("Auxiliary_Sphere_Type", 0)
	}
	return fmt.Sprintf(`PROJCS["%s",%s,PROJECTION["%s"]%s%s,UNIT["Meter",1.0]]`, d.esri, geo, name, offsets, params), nil
}

// PROJJSON returns the system as PROJ's JSON (schema 0.7), with the axes in the order of the authority: readers that put x first do so
// whatever it says (GeoParquet 1.1.0, Coordinate axis order).
func (id ID) PROJJSON() ([]byte, error) {
	d, ok := id.define()
	if !ok {
		return nil, fmt.Errorf("crs: %v has no description for files", id)
	}
	type object = map[string]any
	authority := func(org string, code any) object { return object{"authority": org, "code": code} }
	axis := func(name, short, direction, unit string) object {
		return object{"name": name, "abbreviation": short, "direction": direction, "unit": unit}
	}
	lat, lon := axis("Geodetic latitude", "Lat", "north", "degree"), axis("Geodetic longitude", "Lon", "east", "degree")
	geographic := func(name string, north bool, ref object) object {
		axes := []object{lat, lon}
		if !north {
			axes = []object{lon, lat}
		}
		return object{"type": "GeographicCRS", "name": name, "datum": object{"type": "GeodeticReferenceFrame", "name": d.base.datum,
			"ellipsoid": object{"name": d.base.ellipsoid, "semi_major_axis": d.base.a, "inverse_flattening": d.base.inverse}},
			"coordinate_system": object{"subtype": "ellipsoidal", "axis": axes}, "id": ref}
	}
	const schema = "https://proj.org/schemas/v0.7/projjson.schema.json"
	if d.method == "" {
		out := geographic(d.base.name, true, authority("EPSG", int(id)))
		if id == CRS84 {
			out = geographic("WGS 84 (CRS84)", false, authority("OGC", "CRS84"))
		}
		out["$schema"] = schema
		return json.Marshal(out)
	}
	param := func(name string, v float64, unit string, code int) object {
		return object{"name": name, "value": v, "unit": unit, "id": authority("EPSG", code)}
	}
	var params []object
	code := 0
	if d.method == methodLCC {
		code = 9802
		params = []object{param("Latitude of false origin", d.lat0, "degree", 8821), param("Longitude of false origin", d.lon0, "degree", 8822),
			param("Latitude of 1st standard parallel", d.std[0], "degree", 8823), param("Latitude of 2nd standard parallel", d.std[1], "degree", 8824),
			param("Easting at false origin", d.fe, "metre", 8826), param("Northing at false origin", d.fn, "metre", 8827)}
	} else {
		code = map[string]int{methodTM: 9807, methodLAEA: 9820, methodMercator: 1024}[d.method]
		params = []object{param("Latitude of natural origin", d.lat0, "degree", 8801), param("Longitude of natural origin", d.lon0, "degree", 8802)}
		if d.k != 0 {
			params = append(params, param("Scale factor at natural origin", d.k, "unity", 8805))
		}
		params = append(params, param("False easting", d.fe, "metre", 8806), param("False northing", d.fn, "metre", 8807))
	}
	east, north := axis("Easting", "E", "east", "metre"), axis("Northing", "N", "north", "metre")
	axes := []object{east, north}
	switch {
	case id == LAEANorthPole: // at the pole every direction is south
		east["direction"], north["direction"] = "south", "south"
		east["meridian"], north["meridian"] = object{"longitude": 100}, object{"longitude": -170}
	case id.NorthFirst():
		axes = []object{north, east}
	}
	geo := geographic(d.base.name, true, authority("EPSG", int(d.base.code)))
	delete(geo, "type")
	return json.Marshal(object{"$schema": schema, "type": "ProjectedCRS", "name": id.Name(), "base_crs": geo,
		"conversion":        object{"name": id.Name(), "method": object{"name": d.method, "id": authority("EPSG", code)}, "parameters": params},
		"coordinate_system": object{"subtype": "Cartesian", "axis": axes}, "id": authority("EPSG", int(id))})
}
