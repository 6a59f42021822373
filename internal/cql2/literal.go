package cql2

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/problem"
)

const (
	dateLayout      = "2006-01-02"
	timestampLayout = "2006-01-02T15:04:05.999999999Z"
	day             = 24 * time.Hour
)

// parseDate reads a full-date of RFC 3339, years 0000 to 9999.
func parseDate(s string) (time.Time, bool) {
	if len(s) != len(dateLayout) {
		return time.Time{}, false
	}
	t, err := time.Parse(dateLayout, s)
	return t, err == nil
}

// parseTimestamp reads a date-time of RFC 3339 in any zone, with T and Z in either case.
// A leap second is the last nanosecond of the second before.
func parseTimestamp(s string) (time.Time, bool) {
	s = strings.ToUpper(s) // may be shorter: of ı it is I
	if len(s) < len("2006-01-02T15:04:05Z") || s[13] != ':' || strings.ContainsRune(s, ',') {
		return time.Time{}, false
	}
	if offset := s[len(s)-len("24:00"):]; offset[2] == ':' && (offset[:2] == "24" || offset[3:] == "60") {
		return time.Time{}, false // package time accepts these
	}
	leap := s[17:19] == "60"
	if leap {
		s = s[:17] + "59" + s[19:]
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, false
	}
	t = t.UTC()
	if leap {
		if t.Minute() != 59 || t.Hour() != 23 {
			return time.Time{}, false
		}
		t = t.Truncate(time.Second).Add(time.Second - 1)
	}
	if t.Year() < 0 || t.Year() > 9999 {
		return time.Time{}, false
	}
	return t, true
}

// Layouts of date-times without zone: RFC 3339, and without seconds as HTML forms send them.
var unzoned = [...]string{"2006-01-02T15:04:05.999999999", "2006-01-02T15:04"}

// parseTimestampIn is parseTimestamp that also accepts a date-time without zone, as one in the given time zone;
// nil means UTC.
func parseTimestampIn(s string, in *time.Location) (time.Time, bool) {
	if t, ok := parseTimestamp(s); ok {
		return t, true
	}
	if in == nil {
		in = time.UTC
	}
	if strings.ContainsRune(s, ',') {
		return time.Time{}, false
	}
	s = strings.ToUpper(s)
	for _, layout := range unzoned {
		if t, err := time.ParseInLocation(layout, s, in); err == nil {
			t = t.UTC()
			return t, t.Year() >= 0 && t.Year() <= 9999
		}
	}
	return time.Time{}, false
}

// ParseStored parses a date or timestamp as a store returns it: also with a blank for T, and as UTC without zone.
func ParseStored(s string) (time.Time, bool) {
	if len(s) <= len(dateLayout) {
		return parseDate(s)
	}
	if s[10] == ' ' {
		s = s[:10] + "T" + s[11:]
	}
	if t, ok := parseTimestamp(s); ok {
		return t, true
	}
	return parseTimestamp(s + "Z")
}

// point returns a vertex from two numbers in the axis order of a CRS. Negative zero becomes zero.
func point(a, b float64, in crs.ID) orb.Point {
	if a == 0 {
		a = 0
	}
	if b == 0 {
		b = 0
	}
	if in.NorthFirst() {
		return orb.Point{b, a}
	}
	return orb.Point{a, b}
}

// boxNumbers reads the numbers of a box, four or six in the axis order of the CRS.
// wrong is the message of an error, or empty.
func boxNumbers(v []float64, in crs.ID) (box orb.Bound, z *[2]float64, wrong problem.Saying) {
	switch len(v) {
	case 4:
		box = orb.Bound{Min: point(v[0], v[1], in), Max: point(v[2], v[3], in)}
	case 6:
		box = orb.Bound{Min: point(v[0], v[1], in), Max: point(v[3], v[4], in)}
		if z = (&[2]float64{v[2], v[5]}); z[0] > z[1] {
			return box, z, problem.Sayf("the lowest height %s is above the highest, %s", coordinate(z[0]),
				coordinate(z[1]))
		}
	default:
		return box, nil, problem.Sayf("a box has 4 numbers, or 6 with heights, not %d", len(v))
	}
	if box.Min[1] > box.Max[1] {
		return box, z,
			problem.Sayf("the southern edge %s is north of the northern edge %s; the order of this CRS is %s",
				coordinate(box.Min[1]), coordinate(box.Max[1]), problem.Sayf(axes(in)))
	}
	if box.Min[0] > box.Max[0] && !in.Geographic() {
		return box, z,
			problem.Sayf("the western edge %s is east of the eastern edge %s; only a geographic CRS has boxes across "+
				"the antimeridian", coordinate(box.Min[0]), coordinate(box.Max[0]))
	}
	return box, z, wrong
}

// axes names the axis order of a CRS.
func axes(in crs.ID) string {
	switch {
	case in.Geographic() && in.NorthFirst():
		return "latitude, longitude"
	case in.Geographic():
		return "longitude, latitude"
	case in.NorthFirst():
		return "northing, easting"
	}
	return "easting, northing"
}

// outside returns the message for a vertex outside the domain of a CRS, or an empty one.
// Coordinates that are not finite are outside.
func outside(p orb.Point, in crs.ID) (wrong problem.Saying) {
	d := in.Domain()
	if p[0] >= d.Min[0] && p[0] <= d.Max[0] && p[1] >= d.Min[1] && p[1] <= d.Max[1] {
		return wrong
	}
	if !in.Valid() {
		return problem.Sayf("the CRS %v is not served", in)
	}
	x, y := "easting", "northing"
	if in.Geographic() {
		x, y = "longitude", "latitude"
	}
	q := point(p[0], p[1], in) // swapping is its own inverse
	return problem.Sayf("the coordinate %s %s is outside %v: %s %s to %s, %s %s to %s, in the order %s",
		coordinate(q[0]), coordinate(q[1]), in,
		problem.Sayf(x), coordinate(d.Min[0]), coordinate(d.Max[0]), problem.Sayf(y), coordinate(d.Min[1]),
		coordinate(d.Max[1]), problem.Sayf(axes(in)))
}

// coordinate prints a coordinate with all its digits, without exponent if that is short.
func coordinate(v float64) string {
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e15) {
		return strconv.FormatFloat(v, 'G', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
