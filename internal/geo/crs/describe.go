package crs

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// esriNames are names of systems in ESRI's WKT that do not follow from the names of datum and system.
var esriNames = map[ID]string{
	WebMercator: "WGS_1984_Web_Mercator_Auxiliary_Sphere", LAEAEurope: "ETRS_1989_LAEA", 3067: "EUREF_FIN_TM35FIN",
	2180: "ETRS_1989_Poland_CS92", 3034: "ETRS_1989_LCC",
	3812: "Belge_Lambert_2008",
}

// esri returns the name of a projected system in ESRI's WKT, where words begin with a capital.
func (s *system) esri() string {
	if name := esriNames[s.id]; name != "" {
		return name
	}
	name := s.name
	if base, rest, ok := strings.Cut(name, " / "); ok && !s.id.Own() {
		if strings.HasPrefix(base, s.datum.name) || strings.HasPrefix(s.datum.name, base) {
			base = s.datum.esriName()
		}
		name = base + " " + rest
	}
	words := strings.Split(underscored(name), "_")
	for i, w := range words {
		if w != "" && w[0] >= 'a' && w[0] <= 'z' {
			words[i] = strings.ToUpper(w[:1]) + w[1:]
		}
	}
	return strings.Join(words, "_")
}

// esriName returns the name of the datum in ESRI's WKT, without D_.
func (d *datum) esriName() string {
	if d.esri != "" {
		return d.esri
	}
	return underscored(d.long)
}

// ESRI returns the system in the form of a Shapefile's .prj: WKT 1 in ESRI's dialect, x before y.
func (id ID) ESRI() (string, error) {
	id = horizontal(id)
	s := id.find()
	if s == nil {
		return "", fmt.Errorf("crs: %v has no description for files", id)
	}
	num := func(v float64) string {
		s := strconv.FormatFloat(v, 'f', -1, 64)
		if !strings.Contains(s, ".") {
			s += ".0"
		}
		return s
	}
	d := s.datum
	geo := fmt.Sprintf(
		`GEOGCS["GCS_%s",DATUM["D_%[1]s",SPHEROID["%s",%s,%s]],PRIMEM["Greenwich",0.0],UNIT["Degree",`+
			`0.0174532925199433]]`,
		d.esriName(),
		underscored(strings.ReplaceAll(d.ellipsoid, "WGS 84", "WGS_1984")),
		num(d.el.a),
		num(d.el.invf),
	)
	if s.proj == nil {
		return geo, nil
	}
	name, params := s.conversion.esri()
	var b strings.Builder
	for _, p := range append([]param{{"False_Easting", s.fe}, {"False_Northing", s.fn}, {"Central_Meridian", s.lon0}},
		params...) {
		b.WriteString(`,PARAMETER["` + p.name + `",` + num(p.value) + `]`)
	}
	return fmt.Sprintf(`PROJCS["%s",%s,PROJECTION["%s"]%s,UNIT["Meter",1.0]]`, s.esri(), geo, name, b.String()), nil
}

// horizontal returns the horizontal part of a compound system; id itself for others.
func horizontal(id ID) ID {
	if base := compound[int(id)]; base != 0 {
		return base
	}
	return id
}

// esri returns the name of the method in ESRI's WKT, and the parameters that not all methods have.
func (c conversion) esri() (name string, params []param) {
	origin, scale := param{"Latitude_Of_Origin", c.lat0}, param{"Scale_Factor", c.scale}
	switch c.method {
	case methodTM:
		return "Transverse_Mercator", []param{scale, origin}
	case methodLAEA:
		return "Lambert_Azimuthal_Equal_Area", []param{origin}
	case methodLCC:
		return "Lambert_Conformal_Conic", []param{
			{"Standard_Parallel_1", c.parallels[0]},
			{"Standard_Parallel_2", c.parallels[1]},
			origin,
		}
	case methodLCC1:
		return "Lambert_Conformal_Conic", []param{{"Standard_Parallel_1", c.lat0}, scale, origin}
	case methodOblique:
		return "Double_Stereographic", []param{scale, origin}
	case methodStereo:
		return "Stereographic", []param{scale, origin}
	case methodPolar:
		if c.scale != 0 {
			return "Polar_Stereographic_Variant_A", []param{scale, origin}
		}
		if c.lat0 < 0 {
			return "Stereographic_South_Pole", []param{{"Standard_Parallel_1", c.parallels[0]}}
		}
		return "Stereographic_North_Pole", []param{{"Standard_Parallel_1", c.parallels[0]}}
	}
	return "Mercator_Auxiliary_Sphere", []param{{"Standard_Parallel_1", 0}, {"Auxiliary_Sphere_Type", 0}}
}

// PROJJSON returns the system as PROJJSON (schema 0.7), with axes in the order of the authority. Readers of GeoParquet
// put x first regardless (GeoParquet 1.1.0, Coordinate axis order).
func (id ID) PROJJSON() ([]byte, error) {
	id = horizontal(id)
	s := id.find()
	if s == nil {
		return nil, fmt.Errorf("crs: %v has no description for files", id)
	}
	d := s.datum
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
		return object{"type": "GeographicCRS", "name": name,
			"datum": object{"type": "GeodeticReferenceFrame", "name": d.long,
				"ellipsoid": object{"name": d.ellipsoid, "semi_major_axis": d.el.a, "inverse_flattening": d.el.invf}},
			"coordinate_system": object{"subtype": "ellipsoidal", "axis": axes}, "id": ref}
	}
	const schema = "https://proj.org/schemas/v0.7/projjson.schema.json"
	if s.proj == nil {
		out := geographic(d.name, true, authority("EPSG", int(id)))
		if id == CRS84 {
			out = geographic("WGS 84 (CRS84)", false, authority("OGC", "CRS84"))
		}
		out["$schema"] = schema
		return json.Marshal(out)
	}
	var params []object
	name, code, list := s.conversion.epsg()
	for _, p := range list {
		params = append(params, object{"name": p.name, "value": p.value, "unit": p.unit,
			"id": authority("EPSG", p.code)})
	}
	east, north := axis("Easting", "E", "east", "metre"), axis("Northing", "N", "north", "metre")
	axes := []object{east, north}
	switch {
	case s.lat0 == 90: // at a pole every direction is south, or north
		east["direction"], north["direction"] = "south", "south"
		east["meridian"], north["meridian"] = object{"longitude": wrap(s.lon0 + 90)},
			object{"longitude": wrap(s.lon0 + 180)}
	case s.lat0 == -90:
		east["direction"], north["direction"] = "north", "north"
		east["meridian"], north["meridian"] = object{"longitude": wrap(s.lon0 + 90)}, object{"longitude": wrap(s.lon0)}
	}
	switch {
	case id.NorthFirst():
		axes = []object{north, east}
	}
	geo := geographic(d.name, true, authority("EPSG", d.code))
	delete(geo, "type")
	how := object{"name": name}
	if code != 0 {
		how["id"] = authority("EPSG", code)
	}
	out := object{
		"$schema":           schema,
		"type":              "ProjectedCRS",
		"name":              id.Name(),
		"base_crs":          geo,
		"conversion":        object{"name": id.Name(), "method": how, "parameters": params},
		"coordinate_system": object{"subtype": "Cartesian", "axis": axes},
	}
	if !id.Own() {
		out["id"] = authority("EPSG", int(id))
	}
	return json.Marshal(out)
}

// epsgParam is a parameter with its name, unit and code in the EPSG dataset.
type epsgParam struct {
	name, unit string
	code       int
	value      float64
}

// epsg returns the name, the code and the parameters of the method in the EPSG dataset; the code is 0 if it has no such
// method.
func (c conversion) epsg() (name string, code int, params []epsgParam) {
	natural := []epsgParam{
		{"Latitude of natural origin", "degree", 8801, c.lat0},
		{"Longitude of natural origin", "degree", 8802, c.lon0},
	}
	scale := epsgParam{"Scale factor at natural origin", "unity", 8805, c.scale}
	offset := []epsgParam{{"False easting", "metre", 8806, c.fe}, {"False northing", "metre", 8807, c.fn}}
	switch c.method {
	case methodTM:
		return "Transverse Mercator", 9807, append(append(natural, scale), offset...)
	case methodLCC1:
		return "Lambert Conic Conformal (1SP)", 9801, append(append(natural, scale), offset...)
	case methodLCC:
		return "Lambert Conic Conformal (2SP)", 9802, []epsgParam{
			{"Latitude of false origin", "degree", 8821, c.lat0},
			{"Longitude of false origin", "degree", 8822, c.lon0},
			{
				"Latitude of 1st standard parallel",
				"degree",
				8823,
				c.parallels[0],
			},
			{"Latitude of 2nd standard parallel", "degree", 8824, c.parallels[1]},
			{"Easting at false origin", "metre", 8826, c.fe},
			{"Northing at false origin", "metre", 8827, c.fn},
		}
	case methodLAEA:
		return "Lambert Azimuthal Equal Area", 9820, append(natural, offset...)
	case methodOblique:
		return "Oblique Stereographic", 9809, append(append(natural, scale), offset...)
	case methodStereo:
		return "Stereographic", 0, append(append(natural, scale), offset...)
	case methodPolar:
		if c.scale != 0 {
			return "Polar Stereographic (variant A)", 9810, append(append(natural, scale), offset...)
		}
		return "Polar Stereographic (variant B)", 9829, append(
			[]epsgParam{
				{"Latitude of standard parallel", "degree", 8832, c.parallels[0]},
				{"Longitude of origin", "degree", 8833, c.lon0},
			},
			offset...)
	}
	return "Popular Visualisation Pseudo Mercator", 1024, append(natural, offset...)
}
