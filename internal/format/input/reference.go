package input

import (
	"strconv"
	"strings"

	"grense/internal/geo/crs"
)

// Reference resolves the name of a reference system. note describes a deviation;
// wrong is the reason if it is not served.
func Reference(name string) (id crs.ID, note, wrong string) {
	if id, ok := crs.Parse(name); ok {
		return id, "", ""
	}
	upper := strings.ToUpper(strings.Trim(name, "[] "))
	if strings.HasSuffix(upper, "CRS84") || strings.HasSuffix(upper, "CRS84H") {
		return crs.CRS84, "", ""
	}
	if code, ok := epsg(upper); ok {
		return crs.FromEPSG(code)
	}
	return 0, "", "the reference system " + strconv.Quote(Shorten(name)) + " is not known; state it with --crs EPSG:n"
}

// epsg returns the code in a name in upper case.
func epsg(upper string) (code int, ok bool) {
	digits := upper[strings.LastIndexAny(upper, ":/#")+1:]
	code, err := strconv.Atoi(digits)
	return code, err == nil && (strings.Contains(upper, "EPSG") || digits == upper)
}

// NorthFirst reports whether positions of GML that state this system have latitude or northing first.
// That follows EPSG, even if the system is read as one with another order, such as CRS84.
// It is false for the names with which old GML means x before y: EPSG:n and .../gml/srs/epsg.xml#n.
// as is the system that the user states, or 0. It decides the order for an unknown code:
// latitude first if it is in degrees.
func NorthFirst(name string, as crs.ID) bool {
	upper := strings.ToUpper(strings.TrimSpace(name))
	if strings.HasPrefix(upper, "EPSG:") || strings.Contains(upper, "/GML/SRS/") {
		return false
	}
	code, ok := epsg(strings.Trim(upper, "[]"))
	if !ok {
		return false
	}
	if north, known := crs.NorthFirst(code); known {
		return north
	}
	return as.Geographic() || as.NorthFirst()
}

func Shorten(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// ReferenceOfText identifies the system of a .prj.
func ReferenceOfText(s string) (id crs.ID, note, wrong string) {
	if id, note, wrong = crs.FromText(s); wrong != "" {
		return 0, "", "the .prj: " + wrong + "; or state the right one with --crs EPSG:n"
	}
	if id == crs.CRS84 && note == "" { // the text is that of the datum, whose code is better known
		id = crs.WGS84
	}
	return id, note, ""
}

// WKTPrefix is the beginning of the name of a reference system that is well-known text.
const WKTPrefix = "wkt:"
