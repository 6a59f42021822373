package gpkg

import (
	"strings"
	"time"
)

// momentLayouts are the forms in which days and moments are found in GeoPackages. OGC 12-128r18, table 1, has the first and the
// fifth; the others are written by programs.
var momentLayouts = [...]string{
	"2006-01-02T15:04:05.999999999Z07:00",
	"2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999",
	"2006-01-02",
	"2006-01-02T15:04Z07:00",
	"2006-01-02T15:04",
	"2006-01-02 15:04",
	"2006/01/02",
	"2006/01/02 15:04:05.999999999",
}

// parseMoment reads a day or a moment, in UTC when it has no zone. Programs write zones as +01, +0100 or +01:00.
func parseMoment(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if len(s) < len("2006-01-02") || len(s) > 40 {
		return time.Time{}, false
	}
	for _, l := range momentLayouts {
		if t, err := time.Parse(l, s); err == nil {
			return t, true
		}
	}
	for _, zone := range [...]string{"-07", "-0700"} {
		for _, sep := range [...]string{"T", " "} {
			if t, err := time.Parse("2006-01-02"+sep+"15:04:05.999999999"+zone, s); err == nil {
				return t, true
			}
		}
	}
	return time.Time{}, false
}

// Stored forms of timestamps that sort as the moments do when a whole column has one of them.
var stampLayouts = [...]string{"2006-01-02T15:04:05Z", "2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05"}

// stampLayout returns the one of stampLayouts in which s, which is the moment t, is written; "" when none.
func stampLayout(s string, t time.Time) string {
	for _, l := range stampLayouts {
		if len(l) == len(s) && t.Format(l) == s {
			return l
		}
	}
	return ""
}
