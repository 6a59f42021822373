package ingest

import (
	"math"
	"strconv"
	"strings"

	"grense/internal/crs"
)

// reference resolves the name of a reference system. note tells what is not quite so; wrong, why it is not served.
func reference(name string) (id crs.ID, note, wrong string) {
	if id, ok := crs.Parse(name); ok {
		return id, "", ""
	}
	upper := strings.ToUpper(strings.Trim(name, "[] "))
	if strings.HasSuffix(upper, "CRS84") || strings.HasSuffix(upper, "CRS84H") {
		return crs.CRS84, "", ""
	}
	digits := upper[strings.LastIndexAny(upper, ":/#")+1:]
	if n, err := strconv.Atoi(digits); err == nil && (strings.Contains(upper, "EPSG") || digits == upper) {
		return epsg(n)
	}
	return 0, "", "the reference system " + strconv.Quote(shorten(name)) + " is not known; state it with --crs EPSG:n"
}

// epsg resolves a code of EPSG.
func epsg(n int) (id crs.ID, note, wrong string) {
	if id := crs.ID(n); id != crs.CRS84 && id.Valid() {
		return id, "", ""
	}
	if id, note, ok := crs.Near(n); ok {
		return id, note, ""
	}
	return 0, "", "the reference system EPSG:" + strconv.Itoa(n) + " is not served; transform the file, for example with ogr2ogr -t_srs EPSG:4258"
}

func shorten(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// wkt is an object of the well-known text of reference systems: KEYWORD[value, ...].
type wkt struct {
	word  string
	texts []string // strings and numbers, in order
	inner []wkt
}

// parseWKT reads well-known text (OGC 01-009 and 18-010r11, and what ESRI writes); false when it is none.
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
		default: // a number or a keyword before a comma or the end
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

// parameter returns a parameter of a projection; 0 when it is not there.
func (w wkt) parameter(name string) float64 {
	for _, x := range w.inner {
		if x.word == "PARAMETER" && len(x.texts) == 2 && strings.EqualFold(x.texts[0], name) {
			f, err := strconv.ParseFloat(x.texts[1], 64)
			if err == nil {
				return f
			}
		}
	}
	return 0
}

// referenceOfText identifies the system of a .prj: by its code where it states one, else by what it says of datum and projection.
func referenceOfText(s string) (id crs.ID, note, wrong string) {
	w, ok := parseWKT(s)
	if !ok {
		return 0, "", "the .prj is not the text of a reference system; state it with --crs EPSG:n"
	}
	if a, ok := w.find("AUTHORITY", "ID"); ok && len(a.texts) >= 2 && strings.EqualFold(a.texts[0], "EPSG") {
		if n, err := strconv.Atoi(a.texts[1]); err == nil {
			return epsg(n)
		}
	}
	base := w
	projected := w.word == "PROJCS"
	if projected {
		base, _ = w.find("GEOGCS")
	}
	datum := datumOf(base)
	switch {
	case w.word != "PROJCS" && w.word != "GEOGCS" || datum == 0:
	case !projected:
		return epsg(datum)
	default:
		if id := w.projected(datum); id != 0 {
			return id, "", ""
		}
	}
	return 0, "", "the reference system " + strconv.Quote(shorten(w.name())) + " is not served, or its text has no EPSG code; state it with --crs EPSG:n, " +
		"or transform the file, for example with ogr2ogr -t_srs EPSG:4258"
}

// datumOf returns the EPSG code of a geographic system by the name of its datum; 0 when it is not known.
func datumOf(base wkt) int {
	d, _ := base.find("DATUM")
	if pm, ok := base.find("PRIMEM"); ok && len(pm.texts) == 2 {
		if x, err := strconv.ParseFloat(pm.texts[1], 64); err != nil || x != 0 {
			return 0
		}
	}
	switch strings.TrimPrefix(strings.ToUpper(strings.ReplaceAll(d.name(), " ", "_")), "D_") {
	case "WGS_1984", "WGS84":
		return int(crs.WGS84)
	case "ETRS_1989", "EUROPEAN_TERRESTRIAL_REFERENCE_SYSTEM_1989":
		return int(crs.ETRS89)
	case "NORTH_AMERICAN_1983", "NORTH_AMERICAN_DATUM_1983":
		return 4269
	case "SWEREF99":
		return 4619
	case "RGF_1993", "RESEAU_GEODESIQUE_FRANCAIS_1993":
		return 4171
	case "GDA_1994", "GEOCENTRIC_DATUM_OF_AUSTRALIA_1994":
		return 4283
	}
	return 0
}

// projected identifies a projected system in metres by its method and parameters; 0 when it is none that is served.
func (w wkt) projected(datum int) crs.ID {
	if u, ok := w.find("UNIT"); !ok || len(u.texts) < 2 || !strings.HasPrefix(u.texts[1], "1.0") && u.texts[1] != "1" {
		return 0
	}
	method, _ := w.find("PROJECTION")
	is := func(name string, v float64) bool { return math.Abs(w.parameter(name)-v) < 1e-9 }
	etrs := datum == int(crs.ETRS89)
	switch strings.ToLower(method.name()) {
	case "transverse_mercator":
		if !is("scale_factor", 0.9996) || !is("false_easting", 500000) || !is("false_northing", 0) || !is("latitude_of_origin", 0) {
			return 0
		}
		zone := (w.parameter("central_meridian") + 183) / 6
		id := crs.ID(32600 + zone)
		if etrs {
			id = crs.ID(25800 + zone)
		}
		if zone != math.Trunc(zone) || !id.Valid() || !etrs && datum != int(crs.WGS84) {
			return 0
		}
		return id
	case "mercator_auxiliary_sphere":
		if datum == int(crs.WGS84) && is("false_easting", 0) && is("central_meridian", 0) && is("standard_parallel_1", 0) && is("auxiliary_sphere_type", 0) {
			return crs.WebMercator
		}
	case "lambert_azimuthal_equal_area":
		lat, lon := w.parameter("latitude_of_origin")+w.parameter("latitude_of_center"), w.parameter("central_meridian")+w.parameter("longitude_of_center")
		switch {
		case etrs && lat == 52 && lon == 10 && is("false_easting", 4321000) && is("false_northing", 3210000):
			return crs.LAEAEurope
		case datum == int(crs.WGS84) && lat == 90 && lon == 10 && is("false_easting", 0) && is("false_northing", 0):
			return crs.LAEANorthPole
		}
	}
	return 0
}
