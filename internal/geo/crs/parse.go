package crs

import (
	"slices"
	"strconv"
	"strings"
)

const uriPrefix = "http://www.opengis.net/def/crs/"

// Parse parses the name of a supported CRS: its URI with http or https (http://www.opengis.net/def/crs/EPSG/0/25833), a
// safe CURIE ([EPSG:25833], also without brackets) or a URN (urn:ogc:def:crs:EPSG::25833). EPSG:900913, EPSG:3785,
// ESRI:102100 and ESRI:102113 are EPSG:3857. ok is false for any other text.
func Parse(s string) (ID, bool) {
	authority, version, code, ok := split(s)
	if !ok || !isVersion(version) {
		return 0, false
	}
	switch authority {
	case "OGC":
		return CRS84, code == "CRS84"
	case "EPSG":
		n, err := strconv.Atoi(code)
		switch id := ID(n); {
		case err != nil || id == CRS84 || id.Own() || code != strconv.Itoa(n):
		case slices.Contains(googleCodes[:2], n):
			return WebMercator, true
		default:
			return id, id.Valid()
		}
	case "ESRI":
		if n, err := strconv.Atoi(code); err == nil && slices.Contains(googleCodes[2:], n) {
			return WebMercator, true
		}
	}
	return 0, false
}

// split splits a name into its parts; version is "" for a CURIE.
func split(s string) (authority, version, code string, ok bool) {
	sep := ":"
	switch {
	case strings.HasPrefix(s, uriPrefix):
		s, sep = s[len(uriPrefix):], "/"
	case strings.HasPrefix(s, "https"+uriPrefix[len("http"):]):
		s, sep = s[len(uriPrefix)+1:], "/"
	case strings.HasPrefix(strings.ToLower(s), "urn:ogc:def:crs:"):
		s = s[len("urn:ogc:def:crs:"):]
	default:
		if strings.HasPrefix(s, "[") && strings.HasSuffix(s, "]") {
			s = s[1 : len(s)-1]
		}
		authority, code, ok = strings.Cut(s, ":")
		return authority, "", code, ok
	}
	part := strings.Split(s, sep)
	if len(part) != 3 || sep == "/" && part[1] == "" {
		return "", "", "", false
	}
	return part[0], part[1], part[2], true
}

// isVersion accepts version numbers of the authorities' registers: "", "0", "1.3", "9.8.12".
func isVersion(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '.' && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}
