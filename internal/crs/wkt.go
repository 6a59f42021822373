package crs

import (
	"math"
	"slices"
	"strconv"
	"strings"
)

// FromText identifies a system by its well-known text, as a .prj or a GeoPackage has it: by its code, or where it states none by its datum, method
// and parameters. Axes are taken as x before y. note tells what is not quite so; wrong, why it is not served, with the cure.
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
			return FromEPSG(n)
		}
	}
	if a, ok := w.find("AUTHORITY", "ID"); ok && len(a.texts) >= 2 && strings.EqualFold(a.texts[0], "OGC") && a.texts[1] == "CRS84" {
		return CRS84, "", ""
	}
	switch w.word {
	case "COMPD_CS", "COMPOUNDCRS":
		for _, part := range w.inner {
			if part.word == "PROJCS" || part.word == "GEOGCS" || part.word == "PROJCRS" || part.word == "GEOGCRS" {
				id, note, wrong = part.identify()
				if wrong == "" && note == "" {
					note = strconv.Quote(shorten(w.name())) + " is taken as " + id.String() + "; heights are passed on as they are"
				}
				return id, note, wrong
			}
		}
	case "GEOGCS", "GEOGCRS":
		if d, code := w.datum(); d != nil && w.unit(radian) {
			if d == onWGS84 {
				return CRS84, "", "" // that longitude stands first is what no code says
			}
			return FromEPSG(d.code)
		} else if code != 0 && w.unit(radian) {
			return FromEPSG(code)
		}
	case "PROJCS":
		base, _ := w.find("GEOGCS")
		if d, _ := base.datum(); d != nil {
			if id := w.projected(d); id != 0 {
				return id, "", ""
			}
			return 0, "", "the reference system " + strconv.Quote(shorten(w.name())) + " is not served; transform the data, for example with ogr2ogr -t_srs EPSG:" + strconv.Itoa(d.code)
		}
	}
	return 0, "", "the reference system " + strconv.Quote(shorten(w.name())) + " is not served, or its text has no EPSG code; state the code if the data have one, " +
		"or transform the data, for example with ogr2ogr -t_srs EPSG:4326"
}

func shorten(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// nearDatums are geographic systems by the name of their datum, as nearWGS84 has them.
var nearDatums = map[string]int{
	"NORTH_AMERICAN_1983": 4269, "NORTH_AMERICAN_DATUM_1983": 4269, "GDA_1994": 4283, "GEOCENTRIC_DATUM_OF_AUSTRALIA_1994": 4283,
}

// datum finds the datum of a geographic system by its name; of one that is near, the code alone.
func (w wkt) datum() (*datum, int) {
	d, _ := w.find("DATUM", "ENSEMBLE")
	if pm, ok := w.find("PRIMEM"); ok && len(pm.texts) == 2 {
		if x, err := strconv.ParseFloat(pm.texts[1], 64); err != nil || x != 0 {
			return nil, 0
		}
	}
	name := strings.TrimPrefix(strings.ToUpper(strings.ReplaceAll(d.name(), " ", "_")), "D_")
	for _, known := range datums {
		if name == strings.ToUpper(known.wkt) || slices.Contains(known.aliases, name) {
			return known, known.code
		}
	}
	return nil, nearDatums[name]
}

// unit tells whether the unit is so many radians, or metres, or is not stated.
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

// projected identifies a projected system by its method and parameters; 0 when it is none that is known.
func (w wkt) projected(d *datum) ID {
	if _, stated := w.find("UNIT"); !stated || !w.unit(1) {
		return 0
	}
	method, _ := w.find("PROJECTION")
	name := strings.ToLower(method.name())
	if name == "mercator_auxiliary_sphere" {
		if d == onWGS84 && w.parameter("false_easting") == 0 && w.parameter("central_meridian") == 0 && w.parameter("standard_parallel_1") == 0 && w.parameter("auxiliary_sphere_type") == 0 {
			return WebMercator
		}
		return 0
	}
	found := ID(0)
	for i := range systems {
		s := &systems[i]
		if s.datum != d || s.proj == nil || s.id == WebMercator || name != strings.ToLower(s.method) && name+"_2sp" != strings.ToLower(s.method) || !w.has(s.params) {
			continue
		}
		if found == 0 || s.id == 3067 && strings.Contains(strings.ToUpper(w.name()), "TM35FIN") {
			found = s.id
		}
	}
	return found
}

// has tells whether all parameters are those of a projection, whatever the names that ESRI gives them and whichever parallel stands first.
func (w wkt) has(params []param) bool {
	value := func(name string) float64 {
		switch name {
		case "latitude_of_center":
			return w.parameter(name) + w.parameter("latitude_of_origin")
		case "longitude_of_center":
			return w.parameter(name) + w.parameter("central_meridian")
		}
		return w.parameter(name)
	}
	same := func(swap bool) bool {
		for _, p := range params {
			name := p.name
			switch {
			case swap && name == "standard_parallel_1":
				name = "standard_parallel_2"
			case swap && name == "standard_parallel_2":
				name = "standard_parallel_1"
			}
			if math.Abs(value(name)-p.value) > 1e-9 {
				return false
			}
		}
		return true
	}
	return same(false) || same(true)
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
