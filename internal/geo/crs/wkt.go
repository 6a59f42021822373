package crs

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// FromText identifies a system by its well-known text, from a .prj or a GeoPackage: by its code, else by datum, method
// and parameters. It assumes x before y. note describes what is inexact. If the system cannot be served, wrong is the
// reason, with the cure.
func FromText(text string) (id ID, note, wrong string) {
	w, ok := parseWKT(text)
	if !ok {
		return 0, "", "this is not the text of a reference system"
	}
	return w.identify()
}

func (w wkt) identify() (id ID, note, wrong string) {
	if a, ok := w.find("AUTHORITY", "ID"); ok && len(a.texts) >= 2 && strings.EqualFold(a.texts[0], "EPSG") {
		if n, err := strconv.Atoi(a.texts[1]); err == nil {
			if id, note, wrong = FromEPSG(n); wrong == "" {
				return id, note, ""
			}
			if own, near := w.projected(); own != 0 { // the code is not in our version of the dataset
				return own, near, ""
			}
			return 0, "", wrong
		}
	}
	if a, ok := w.find("AUTHORITY", "ID"); ok && len(a.texts) >= 2 && strings.EqualFold(a.texts[0], "ESRI") {
		if id, ok := Parse("ESRI:" + a.texts[1]); ok {
			return id, "", ""
		}
	}
	if a, ok := w.find("AUTHORITY", "ID"); ok && len(a.texts) >= 2 && strings.EqualFold(a.texts[0], "OGC") &&
		a.texts[1] == "CRS84" {
		return CRS84, "", ""
	}
	switch w.word {
	case "COMPD_CS", "COMPOUNDCRS":
		for _, part := range w.inner {
			if part.word == "PROJCS" || part.word == "GEOGCS" || part.word == "PROJCRS" || part.word == "GEOGCRS" {
				id, note, wrong = part.identify()
				if wrong == "" && note == "" {
					note = strconv.Quote(shorten(w.name())) + " is taken as " + id.String() +
						"; heights are passed on as they are"
				}
				return id, note, wrong
			}
		}
	case "GEOGCS", "GEOGCRS":
		if d := w.datum(); d != nil && w.unit(radian) {
			if d.code == int(WGS84) {
				return CRS84, "", "" // no code states that longitude comes first
			}
			return FromEPSG(d.code)
		}
	case "PROJCS", "PROJCRS":
		if id, note := w.projected(); id != 0 {
			return id, note, ""
		}
		if d := w.base().datum(); d != nil {
			return 0, "", "the reference system " + strconv.Quote(shorten(w.name())) +
				" is not served; transform the data, for example with ogr2ogr -t_srs EPSG:" + strconv.Itoa(d.code)
		}
	}
	return 0, "", "the reference system " + strconv.Quote(shorten(w.name())) +
		" is not served, or its text has no EPSG code; state the code if the data have one, " +
		"or transform the data, for example with ogr2ogr -t_srs EPSG:4326"
}

func shorten(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// datumNames are names of datums in well-known text that are not in datums.txt, by the code of the geographic system.
var datumNames = map[string]int{
	"WGS84": 4326, "WORLD_GEODETIC_SYSTEM_1984": 4326, "RESEAU_GEODESIQUE_FRANCAIS_1993": 4171, "ETRF2000_PL": 9702,
}

// base returns the geographic system of a projected one.
func (w wkt) base() wkt {
	base, _ := w.find("GEOGCS", "BASEGEOGCRS", "BASEGEODCRS")
	return base
}

// datum returns the datum of a geographic system by name; nil if it is unknown or needs a shift to WGS 84 or ETRS89.
func (w wkt) datum() *datum {
	d, _ := w.find("DATUM", "ENSEMBLE")
	if pm, ok := w.find("PRIMEM"); ok && len(pm.texts) == 2 {
		if x, err := strconv.ParseFloat(pm.texts[1], 64); err != nil || x != 0 {
			return nil
		}
	}
	name := strings.ToUpper(underscored(d.name()))
	name = strings.TrimSuffix(strings.TrimPrefix(name, "D_"), "_ENSEMBLE")
	r := registered()
	if code := datumNames[name]; code != 0 {
		return r.datums[code]
	}
	var found *datum
	for _, known := range r.datums {
		if name == strings.ToUpper(known.wkt()) || name == strings.ToUpper(known.esri) {
			if found == nil || known.code < found.code {
				found = known
			}
		}
	}
	return found
}

// unit reports whether the unit is a number of radians or metres, or is not stated.
func (w wkt) unit(perUnit float64) bool {
	u, ok := w.find("UNIT", "ANGLEUNIT", "LENGTHUNIT")
	if !ok {
		return true
	}
	if len(u.texts) < 2 {
		return false
	}
	f, err := strconv.ParseFloat(u.texts[1], 64)
	return err == nil && math.Abs(f-perUnit) < 1e-9*perUnit
}

// projected identifies a projected system by datum, method and parameters, if possible as one with a code. id is 0 if
// it cannot be transformed.
func (w wkt) projected() (id ID, note string) {
	d := w.base().datum()
	c, ok := w.conversion()
	if d == nil || !ok {
		return 0, ""
	}
	if c.method == methodMercator {
		if d.code != int(WGS84) {
			return 0, ""
		}
		return WebMercator, ""
	}
	id = w.best(registered().withConversion(d, c))
	if id == 0 {
		id = own(w.name(), d, c)
	}
	return id, id.nearNote()
}

// best chooses between systems that differ only in name or axes: by name, then those of Served, then those with x
// before y.
func (w wkt) best(ids []ID) (best ID) {
	rank := func(id ID) int {
		s, name := id.find(), strings.ToUpper(underscored(w.name()))
		switch {
		case name == strings.ToUpper(underscored(s.name)) || name == strings.ToUpper(s.esri()) ||
			id == 3067 && strings.Contains(name, "TM35FIN"):
			return 3
		case slices.Contains(Served(), id):
			return 2
		case !s.northFirst:
			return 1
		}
		return 0
	}
	for _, id := range ids {
		if best == 0 || rank(id) > rank(best) {
			best = id
		}
	}
	return best
}

// methods maps names of methods in the dialects of well-known text, in lower case without punctuation.
var methods = map[string]method{
	"transverse_mercator": methodTM, "gauss_kruger": methodTM,
	"lambert_conformal_conic_1sp": methodLCC1, "lambert_conic_conformal_1sp": methodLCC1,
	"lambert_conformal_conic": methodLCC, "lambert_conformal_conic_2sp": methodLCC,
	"lambert_conic_conformal_2sp":  methodLCC,
	"lambert_azimuthal_equal_area": methodLAEA,
	"oblique_stereographic":        methodOblique, "double_stereographic": methodOblique, "stereographic": methodStereo,
	"polar_stereographic": methodPolar, "polar_stereographic_variant_a": methodPolar,
	"polar_stereographic_variant_b": methodPolar,
	"stereographic_north_pole":      methodPolar, "stereographic_south_pole": methodPolar,
	"mercator_1sp": methodMercator, "mercator_auxiliary_sphere": methodMercator,
	"popular_visualisation_pseudo_mercator": methodMercator,
}

// conversion returns the projection of a projected system; ok is false if it is not supported, or its units are not
// degrees and metres.
func (w wkt) conversion() (c conversion, ok bool) {
	from, how := w, "PROJECTION"
	_, stated := w.find("UNIT")
	if w.word == "PROJCRS" {
		from, _ = w.find("CONVERSION")
		how, stated = "METHOD", w.deep("LENGTHUNIT")
	}
	if !stated || !w.unit(1) || !w.degreesAndMetres() {
		return c, false
	}
	m, _ := from.find(how)
	name := strings.ToLower(underscored(m.name()))
	if c.method, ok = methods[name]; !ok {
		return c, false
	}
	c.lat0, c.lon0 = from.first(0, "latitude_of_origin", "latitude_of_center", "latitude_of_natural_origin",
		"latitude_of_false_origin"),
		from.first(0, "central_meridian", "longitude_of_center", "longitude_of_origin", "longitude_of_natural_origin",
			"longitude_of_false_origin")
	c.fe, c.fn = from.first(
		0,
		"false_easting",
		"easting_at_false_origin",
	), from.first(0, "false_northing", "northing_at_false_origin")
	c.scale = from.first(1, "scale_factor", "scale_factor_at_natural_origin")
	parallel := from.first(math.NaN(), "standard_parallel_1", "latitude_of_1st_standard_parallel",
		"latitude_of_standard_parallel")
	second := from.first(math.NaN(), "standard_parallel_2", "latitude_of_2nd_standard_parallel")
	switch c.method {
	case methodMercator:
		return c, w.spherical(name) && c.lon0 == 0 && c.fe == 0 && c.fn == 0 && !(parallel != 0 && parallel == parallel)
	case methodLCC:
		if second != second { // NaN: ESRI's form with one parallel
			c.method = methodLCC1
			return c, parallel == c.lat0 && c.legal()
		}
		ok = c.scale == 1
		c.parallels, c.scale = [2]float64{parallel, second}, 0
		return c, ok && c.legal()
	case methodLAEA:
		c.scale = 0
	case methodStereo:
		if math.Abs(c.lat0) == 90 {
			c.method = methodPolar
		}
	case methodPolar:
		if parallel != parallel && math.Abs(c.lat0) != 90 {
			parallel = c.lat0
		}
		if parallel == parallel && math.Abs(parallel) != 90 {
			ok = c.scale == 1
			c.parallels[0], c.scale = parallel, 0
		}
		if parallel == parallel {
			c.lat0 = math.Copysign(90, parallel)
		}
	}
	return c, ok && c.legal()
}

// spherical reports whether a Mercator projection is that of EPSG:3857, on a sphere.
func (w wkt) spherical(name string) bool {
	if name != "mercator_1sp" {
		return w.first(0, "auxiliary_sphere_type") == 0
	}
	x, _ := w.find("EXTENSION")
	return len(x.texts) == 2 && strings.Contains(x.texts[1], "+a=6378137 +b=6378137")
}

// degreesAndMetres reports whether all units in the text are degrees and metres.
func (w wkt) degreesAndMetres() bool {
	for _, x := range w.inner {
		switch x.word {
		case "ANGLEUNIT", "LENGTHUNIT":
			per := map[string]float64{"ANGLEUNIT": radian, "LENGTHUNIT": 1}[x.word]
			if f, err := strconv.ParseFloat(x.second(), 64); err != nil || math.Abs(f-per) > 1e-9*per {
				return false
			}
		case "GEOGCS":
			if !x.unit(radian) {
				return false
			}
		}
		if !x.degreesAndMetres() {
			return false
		}
	}
	return true
}

// deep reports whether an object with a keyword occurs at any depth outside the ellipsoid.
func (w wkt) deep(word string) bool {
	for _, x := range w.inner {
		if x.word == word || x.word != "ELLIPSOID" && x.deep(word) {
			return true
		}
	}
	return false
}

// wkt is an object of the well-known text of reference systems: KEYWORD[value, ...].
type wkt struct {
	word  string
	texts []string // strings and numbers, in order
	inner []wkt
}

// parseWKT parses well-known text (OGC 01-009 and 18-010r11, and ESRI's dialect); ok is false if it is invalid.
func parseWKT(s string) (wkt, bool) {
	p := wktParser{s: s}
	w, ok := p.object(0)
	return w, ok
}

type wktParser struct{ s string }

func (p *wktParser) object(depth int) (w wkt, ok bool) {
	p.s = strings.TrimSpace(p.s)
	i := strings.IndexAny(p.s, "[(")
	if i < 0 || depth > 16 {
		return w, false
	}
	w.word = strings.ToUpper(strings.TrimSpace(p.s[:i]))
	p.s = p.s[i+1:]
	for {
		p.s = strings.TrimSpace(p.s)
		switch i := strings.IndexAny(p.s, `",[]()`); {
		case i < 0:
			return w, false
		case p.s[i] == '"':
			end := strings.IndexByte(p.s[i+1:], '"')
			if end < 0 {
				return w, false
			}
			w.texts = append(w.texts, p.s[i+1:i+1+end])
			p.s = p.s[i+end+2:]
		case p.s[i] == '[' || p.s[i] == '(':
			x, ok := p.object(depth + 1)
			if !ok {
				return w, false
			}
			w.inner = append(w.inner, x)
		default: // a number, or a keyword without brackets
			if word := strings.TrimSpace(p.s[:i]); word != "" {
				w.texts = append(w.texts, word)
			}
			end := p.s[i] != ','
			if p.s = p.s[i+1:]; end {
				return w, true
			}
		}
	}
}

func (w wkt) find(words ...string) (wkt, bool) {
	for _, x := range w.inner {
		for _, word := range words {
			if x.word == word {
				return x, true
			}
		}
	}
	return wkt{}, false
}

func (w wkt) name() string {
	if len(w.texts) == 0 {
		return ""
	}
	return w.texts[0]
}

// second returns the second text; "" if there is none.
func (w wkt) second() string {
	if len(w.texts) < 2 {
		return ""
	}
	return w.texts[1]
}

// first returns the first existing parameter of a projection with one of several names, else missing.
func (w wkt) first(missing float64, names ...string) float64 {
	for _, name := range names {
		for _, x := range w.inner {
			if x.word == "PARAMETER" && len(x.texts) == 2 && strings.EqualFold(underscored(x.texts[0]), name) {
				if f, err := strconv.ParseFloat(x.texts[1], 64); err == nil {
					return f
				}
			}
		}
	}
	return missing
}
