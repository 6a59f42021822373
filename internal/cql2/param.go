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

// ParseInterval parses the parameter datetime (OGC 17-069r4, 7.15.4): an instant, or an interval a/b whose open end is
// '..' or empty. Both bounds are included; a nil bound is open. An error is a *problem.Error.
// It also accepts dates: as a start the first moment of the day, as an end the last nanosecond, as an instant the whole
// day. Days and date-times without zone are in zone, and so are the bounds.
func ParseInterval(s string, zone *time.Location) (from, to *time.Time, err error) {
	start, end, isInterval := strings.Cut(s, "/")
	if !isInterval {
		end = start
	}
	bad := func(cure problem.Saying) (*time.Time, *time.Time, error) {
		return nil, nil, problem.InvalidWith("datetime", clip(s), cure)
	}
	openStart, openEnd := isInterval && isOpen(start), isInterval && isOpen(end)
	if openStart && openEnd {
		return bad(problem.Sayf("an interval needs a start or an end; without datetime all times are selected, " +
			"and all versions of features by 0001-01-01/.."))
	}
	if strings.HasPrefix(start, "P") || strings.HasPrefix(end, "P") {
		return bad(problem.Sayf("durations are not read; write start/end with two dates or timestamps"))
	}
	noTime := func(text string) problem.Saying {
		return problem.Sayf("'%s' is no date or timestamp; write for instance 2024-02-29, 2024-02-29T12:30:00Z, "+
			"2024-01-01/2024-12-31 or 2024-01-01/..", clip(text))
	}
	if !openStart {
		first, _, ok := parseMoment(start, zone)
		if !ok {
			return bad(noTime(start))
		}
		from = &first
	}
	if !openEnd {
		_, last, ok := parseMoment(end, zone)
		if !ok {
			return bad(noTime(end))
		}
		to = &last
	}
	if from != nil && to != nil && from.After(*to) {
		return bad(problem.Sayf("the interval ends before it starts"))
	}
	return from, to, nil
}

// ParseInstant parses a moment, or a day, of which it returns the beginning. The result is in zone.
// ok is false if s is neither.
func ParseInstant(s string, zone *time.Location) (time.Time, bool) {
	from, _, err := ParseInterval(s, zone)
	if err != nil || strings.Contains(s, "/") {
		return time.Time{}, false
	}
	return from.In(zone), true
}

func isOpen(s string) bool { return s == "" || s == ".." }

// parseMoment returns the first and last moment of a date or timestamp. A blank before the offset stands for '+',
// which a query string loses when it is not encoded.
func parseMoment(s string, zone *time.Location) (first, last time.Time, ok bool) {
	if d, ok := parseDate(s); ok {
		return dayIn(d, zone), dayIn(d.AddDate(0, 0, 1), zone).Add(-time.Nanosecond), true
	}
	if n := len(s) - len(" 00:00"); n > 0 && s[n] == ' ' {
		s = s[:n] + "+" + s[n+1:]
	}
	t, ok := parseTimestampIn(s, zone)
	if at := t.In(zone); at.Year() >= 0 && at.Year() <= 9999 { // otherwise the ends of the calendar would leave it
		t = at
	}
	return t, t, ok
}

// ParseBBox parses the parameter bbox (OGC 17-069r4, 7.15.3): four numbers, or six with heights, in the axis order of
// the CRS in. It leaves Prop empty. A box that reaches outside the domain of the CRS is clipped to it;
// a box wholly outside is an error. An error is a *problem.Error.
func ParseBBox(s string, in crs.ID) (BBox, error) {
	bad := func(cure problem.Saying) (BBox, error) { return BBox{}, problem.InvalidWith("bbox", clip(s), cure) }
	if !in.Valid() {
		return bad(problem.Sayf("the CRS %v is not served", in))
	}
	parts := strings.Split(s, ",")
	if len(parts) != 4 && len(parts) != 6 {
		return bad(problem.Sayf("a box has 4 numbers, or 6 with heights, in the order %s; for instance %s",
			problem.Sayf(axes(in)), exampleBox(in)))
	}
	v := make([]float64, len(parts))
	for i, p := range parts {
		f, err := strconv.ParseFloat(strings.TrimSpace(p), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || strings.ContainsAny(p, "xXpP_") {
			return bad(problem.Sayf("'%s' is no number; write for instance %s", clip(p), exampleBox(in)))
		}
		v[i] = f
	}
	box, z, wrong := boxNumbers(v, in)
	if wrong.Form == "" {
		box, wrong = clamped(box, in)
	}
	if wrong.Form != "" {
		return bad(wrong)
	}
	return BBox{CRS: in, Box: box, Z: z}, nil
}

// clamped returns the part of a box in the domain of its CRS, or the message if there is none.
// Maps send boxes that reach beyond the world.
func clamped(box orb.Bound, in crs.ID) (part orb.Bound, wrong problem.Saying) {
	d := in.Domain()
	for i := range 2 {
		lo, hi := &box.Min[i], &box.Max[i]
		if *lo <= *hi && (*hi < d.Min[i] || *lo > d.Max[i]) || *lo > *hi && *lo > d.Max[i] && *hi < d.Min[i] {
			if wrong = outside(box.Min, in); wrong.Form == "" {
				wrong = outside(box.Max, in)
			}
			return box, wrong
		}
		*lo, *hi = min(max(*lo, d.Min[i]), d.Max[i]), min(max(*hi, d.Min[i]), d.Max[i])
	}
	return box, wrong
}

// exampleBox returns a box in the south of Norway, or in the middle of the CRS's domain.
func exampleBox(in crs.ID) string {
	b := orb.Bound{Min: orb.Point{10, 59}, Max: orb.Point{11, 60}}
	if !in.Geographic() {
		if e, err := crs.EnvelopeOf(b, crs.CRS84, in); err == nil {
			b = e
		}
	}
	lo, hi := point(math.Floor(b.Min[0]), math.Floor(b.Min[1]), in), point(math.Ceil(b.Max[0]), math.Ceil(b.Max[1]), in)
	return strings.Join([]string{coordinate(lo[0]), coordinate(lo[1]), coordinate(hi[0]), coordinate(hi[1])}, ",")
}
