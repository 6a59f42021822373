package cql2_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/problem"
)

func TestDatetimeIsParsed(t *testing.T) {
	t.Parallel()
	for s, want := range map[string][2]string{
		"2018-02-12T23:20:50Z":      {"2018-02-12T23:20:50Z", "2018-02-12T23:20:50Z"},
		"2018-02-12t23:20:50.25z":   {"2018-02-12T23:20:50.25Z", "2018-02-12T23:20:50.25Z"},
		"2018-02-12T23:20:50+01:30": {"2018-02-12T21:50:50Z", "2018-02-12T21:50:50Z"},
		"2018-02-12T23:20:50 01:30": {"2018-02-12T21:50:50Z", "2018-02-12T21:50:50Z"},
		"2016-12-31T23:59:60Z": {"2016-12-31T23:59:59.999999999Z",
			"2016-12-31T23:59:59.999999999Z"},
		"2018-02-12T23:20:50":                       {"2018-02-12T23:20:50Z", "2018-02-12T23:20:50Z"},
		"2018-02-12t23:20:50.5/..":                  {"2018-02-12T23:20:50.5Z", ""},
		"2018-02-12T23:20":                          {"2018-02-12T23:20:00Z", "2018-02-12T23:20:00Z"},
		"2018-02-12":                                {"2018-02-12T00:00:00Z", "2018-02-12T23:59:59.999999999Z"},
		"2018-02-12/2018-02-12":                     {"2018-02-12T00:00:00Z", "2018-02-12T23:59:59.999999999Z"},
		"2018-02-12T00:00:00Z/2018-03-18T12:31:12Z": {"2018-02-12T00:00:00Z", "2018-03-18T12:31:12Z"},
		"2018-02-12/..":                             {"2018-02-12T00:00:00Z", ""},
		"2018-02-12/":                               {"2018-02-12T00:00:00Z", ""},
		"../2018-02-12":                             {"", "2018-02-12T23:59:59.999999999Z"},
		"/2018-02-12T10:00:00Z":                     {"", "2018-02-12T10:00:00Z"},
		"0000-01-01/9999-12-31":                     {"0000-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"},
	} {
		from, to, err := cql2.ParseInterval(s, time.UTC)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		if got := [2]string{stamp(from), stamp(to)}; got != want {
			t.Errorf("%s: %v, want %v", s, got, want)
		}
	}
	for s, word := range map[string]string{
		"": "no date or timestamp", "..": "no date or timestamp", "/": "needs a start or an end",
		"../..": "needs a start or an end", "/..": "needs a start or an end",
		"2018": "no date or timestamp", "2018-02-30": "no date or timestamp",
		"2018-02-12T23:20Z": "no date or timestamp", "2018-02-12T23:20:50,5": "no date or timestamp",
		"2018-02-12T25:20:50":  "no date or timestamp",
		"2018-02-12T24:00:00Z": "no date or timestamp", "2018-02-12T10:00:60Z": "no date or timestamp",
		"2018-02-12/P2D": "durations", "P2D/2018-02-12": "durations",
		"2018-02-13/2018-02-12": "ends before", "2018-02-12/2018-02-13/..": "no date or timestamp",
		"2018-02-12T10:00:00Z/2018-02-12T09:59:59Z": "ends before",
		"2018-02-12T10:00:00,5Z":                    "no date or timestamp", " 2018-02-12": "no date or timestamp",
	} {
		_, _, err := cql2.ParseInterval(s, time.UTC)
		wantFault(t, err, problem.Invalid, word)
	}
}

func stamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.Format(time.RFC3339Nano)
}

func TestBBoxIsParsedInTheAxisOrderOfItsCRS(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		s    string
		in   crs.ID
		want string
	}{
		{"10,59,11,60", crs.CRS84, "[10 59] [11 60] <nil>"},
		{" 10, 59 ,1.1e1,60.", crs.CRS84, "[10 59] [11 60] <nil>"},
		{"59,10,60,11", crs.WGS84, "[10 59] [11 60] <nil>"},
		{"59,10,-5,60,11,100", crs.ETRS89, "[10 59] [11 60] &[-5 100]"},
		{"6000000,500000,7000000,600000", crs.LAEAEurope, "[500000 6e+06] [600000 7e+06] <nil>"},
		{"500000,6000000,600000,7000000", crs.UTM33, "[500000 6e+06] [600000 7e+06] <nil>"},
		{"177,65,-177,70", crs.CRS84, "[177 65] [-177 70] <nil>"},
		{"65,177,70,-177", crs.ETRS89, "[177 65] [-177 70] <nil>"},
		{"-180,-90,180,90", crs.CRS84, "[-180 -90] [180 90] <nil>"},
		{"-200.2,-84.3,221.6,88.6", crs.CRS84, "[-180 -84.3] [180 88.6] <nil>"},
		{"10,59,11,91", crs.CRS84, "[10 59] [11 90] <nil>"},
		{"59,-181,60,11", crs.WGS84, "[-180 59] [11 60] <nil>"},
		{"170,-100,-170,100", crs.CRS84, "[170 -90] [-170 90] <nil>"},
		{"5,5,5,5", crs.CRS84, "[5 5] [5 5] <nil>"},
	} {
		b, err := cql2.ParseBBox(c.s, c.in)
		if got := fmt.Sprint(b.Box.Min, b.Box.Max, b.Z); err != nil || got != c.want || b.CRS != c.in {
			t.Errorf("%s in %v: %s, want %s; %v", c.s, c.in, got, c.want, err)
		}
	}
	for _, c := range []struct {
		s    string
		in   crs.ID
		word string
	}{
		{"", crs.CRS84, "4 numbers"},
		{"1,2,3", crs.CRS84, "longitude, latitude; for instance 10,59,11,60"},
		{"1,2,3,4,5", crs.WGS84, "latitude, longitude; for instance 59,10,60,11"},
		{"1,2,3,x", crs.CRS84, "'x' is no number"},
		{"1,2,3,0x4", crs.CRS84, "no number"},
		{"1,2,3,1_0", crs.CRS84, "no number"},
		{"1,2,3,NaN", crs.CRS84, "no number"},
		{"1,2,Inf,4", crs.CRS84, "no number"},
		{"1,2,1e999,4", crs.CRS84, "no number"},
		{"1,5,2,4", crs.CRS84, "southern edge 5"},
		{"1,2,9,3,4,8", crs.CRS84, "lowest height 9"},
		{"600000,6000000,500000,7000000", crs.UTM33, "only a geographic CRS"},
		{"10,91,11,92", crs.CRS84, "coordinate 10 91 is outside OGC:CRS84"},
		{"59,-190,60,-181", crs.WGS84, "coordinate 59 -190 is outside EPSG:4326"},
		{"190,59,200,60", crs.CRS84, "coordinate 190 59 is outside OGC:CRS84"},
		{"1,2,3,4", crs.ID(9), "not served"},
	} {
		_, err := cql2.ParseBBox(c.s, c.in)
		if err == nil {
			t.Errorf("%s in %v: no error", c.s, c.in)
			continue
		}
		wantFault(t, err, problem.Invalid, c.word)
	}
}

func FuzzParseInterval(f *testing.F) {
	for _, s := range []string{"2018-02-12", "../2018-02-12T23:59:60z", "2018-02-12T10:00:00+01:00/..",
		"P1D/..", "\xff/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		from, to, err := cql2.ParseInterval(s, time.UTC)
		switch {
		case err != nil:
			wantFault(t, err, problem.Invalid)
		case from == nil && to == nil:
			t.Errorf("%q: both ends open", s)
		case from != nil && to != nil && from.After(*to):
			t.Errorf("%q: %v after %v", s, from, to)
		}
	})
}

func FuzzParseBBox(f *testing.F) {
	for _, s := range []string{"10,59,11,60", "177,65,-177,70", "1,2,3,4,5,6", "1e308,NaN,-0,x"} {
		f.Add(s, int(crs.CRS84))
		f.Add(s, int(crs.UTM33))
	}
	f.Fuzz(func(t *testing.T, s string, id int) {
		b, err := cql2.ParseBBox(s, crs.ID(id))
		if err != nil {
			wantFault(t, err, problem.Invalid)
			return
		}
		d := crs.ID(id).Domain()
		if !d.Contains(b.Box.Min) || !d.Contains(b.Box.Max) || b.Box.Min[1] > b.Box.Max[1] ||
			math.IsNaN(b.Box.Min[0]+b.Box.Max[0]) {
			t.Errorf("%q in %d: %v", s, id, b.Box)
		}
	})
}
