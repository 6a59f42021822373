package crs

import (
	"fmt"
	"slices"
)

// nearWGS84 lists geographic systems, by EPSG code, that are not in datums.txt but differ from WGS 84 by less than
// about two metres, which is the accuracy of most of their data.
var nearWGS84 = map[int]string{4019: "GRS 1980", 4937: "ETRS89 (3D)", 9000: "ITRF2014", 9067: "ETRF2000"}

// nearName returns the name of a geographic system that is treated as CRS84; "" for others.
func nearName(epsg int) string {
	if d := registered().datums[epsg]; d != nil && !ID(epsg).Valid() {
		return d.name
	}
	return nearWGS84[epsg]
}

// googleCodes are codes of other authorities, or obsolete ones, for EPSG:3857.
var googleCodes = []int{900913, 3785, 102100, 102113}

// compound maps compound systems to their horizontal part, by EPSG code.
var compound = map[int]ID{
	5554: 25831, 5555: UTM32, 5556: UTM33, 5698: 2154, 5699: 2154, 5845: 3006, 5942: ETRS89, 5971: 25831, 5972: UTM32,
	5973: UTM33, 5974: 25834,
	5975: UTM35, 5976: 25836, 6144: ETRS89, 6171: 25831, 6172: UTM32, 6173: UTM33, 6174: 25834, 6175: UTM35,
	6176: 25836, 7409: ETRS89, 7416: UTM32,
	7417: UTM33, 7423: ETRS89, 8370: 3812, 9422: ETRS89, 9518: WGS84, 9705: WGS84, 9707: WGS84,
}

// shifted are European systems on datums that need a shift to ETRS89, by EPSG code.
var shifted = map[int]string{
	2056: "CH1903+ / LV95", 4150: "CH1903+", 4149: "CH1903", 4277: "OSGB36", 4289: "Amersfoort", 4313: "BD72",
	7405: "OSGB36 / British National Grid with heights",
	7415: "Amersfoort / RD New with heights", 21781: "CH1903 / LV03", 27700: "OSGB36 / British National Grid",
	28992: "Amersfoort / RD New", 31370: "BD72 / Belgian Lambert 72",
}

// Near returns a supported system as which coordinates in an unsupported EPSG system can be treated, with a note about
// the consequences; ok is false if there is none.
func Near(epsg int) (id ID, note string, ok bool) {
	if epsg == 4979 {
		return CRS84, "EPSG:4979 (WGS 84 with heights) is taken as CRS84; heights are passed on as they are", true
	}
	if name := nearName(epsg); name != "" {
		return CRS84, fmt.Sprintf("EPSG:%d (%s) is taken as CRS84; positions may be off by up to two metres", epsg,
			name), true
	}
	if slices.Contains(googleCodes, epsg) {
		return WebMercator, fmt.Sprintf("the code %d is taken as %v", epsg, WebMercator), true
	}
	if id := compound[epsg]; id != 0 {
		return id, fmt.Sprintf("EPSG:%d is taken as %v; heights are passed on as they are", epsg, id), true
	}
	return 0, "", false
}

// NorthFirst reports whether EPSG defines latitude or northing as the first axis of a system; known is false if the
// system is neither supported nor treated as a supported one (see Near).
func NorthFirst(epsg int) (north, known bool) {
	if epsg == 4979 || nearName(epsg) != "" { // all geographic systems have latitude first
		return true, true
	}
	id := ID(epsg)
	if slices.Contains(googleCodes, epsg) {
		id = WebMercator
	} else if base := compound[epsg]; base != 0 {
		id = base
	}
	return id.NorthFirst(), id != CRS84 && !id.Own() && id.Valid()
}

// nearNote returns a note about a system whose datum agrees with WGS 84 or ETRS89 only within some metres; "" for
// others.
func (id ID) nearNote() string {
	if s := id.find(); s != nil && s.datum.off > 0.5 {
		return fmt.Sprintf("%v is on %s, which is taken as WGS 84; positions may be off by up to two metres", id,
			s.datum.name)
	}
	return ""
}

// FromEPSG returns the system as which coordinates in an EPSG system are served. note describes what is inexact. If
// they cannot be served, wrong is the reason, with the cure for a file.
func FromEPSG(code int) (id ID, note, wrong string) {
	if id := ID(code); id != CRS84 && !id.Own() && id.Valid() {
		return id, id.nearNote(), ""
	}
	if id, note, ok := Near(code); ok {
		return id, note, ""
	}
	why, to := Unserved(code)
	how := "ogr2ogr"
	if to == ETRS89 {
		how = "PROJ_NETWORK=ON ogr2ogr"
	}
	return 0, "", fmt.Sprintf("%s; transform the data, for example with %s -t_srs %v", why, how, to)
}

// Unserved returns why coordinates in an EPSG system cannot be served, and the geographic system into which to
// transform them.
func Unserved(code int) (why string, to ID) {
	if name := shifted[code]; name != "" {
		return fmt.Sprintf(
			"the reference system EPSG:%d is not served (%s: a datum of its own, from which a shift by grid leads "+
				"to ETRS89)",
			code,
			name,
		), ETRS89
	}
	return fmt.Sprintf("the reference system EPSG:%d is not served", code), WGS84
}
