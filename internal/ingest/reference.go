package ingest

import (
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
		return crs.FromEPSG(n)
	}
	return 0, "", "the reference system " + strconv.Quote(shorten(name)) + " is not known; state it with --crs EPSG:n"
}

func shorten(s string) string {
	if len(s) > 80 {
		return strings.ToValidUTF8(s[:80], "") + "…"
	}
	return s
}

// referenceOfText identifies the system of a .prj.
func referenceOfText(s string) (id crs.ID, note, wrong string) {
	if id, note, wrong = crs.FromText(s); wrong != "" {
		return 0, "", "the .prj: " + wrong + "; or state the right one with --crs EPSG:n"
	}
	if id == crs.CRS84 && note == "" { // the text is that of the datum, whose code is better known
		id = crs.WGS84
	}
	return id, note, ""
}
