package cql2_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"
	_ "time/tzdata"

	"grense/internal/cql2"
)

func zone(t *testing.T, name string) *time.Location {
	t.Helper()
	in, err := time.LoadLocation(name)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// TestTimestampsOutsideRFC3339AreRefused, in each place that reads one: 5.6 has two digits for each part, a fraction
// with at least one, and an offset of up to 23:59.
func TestTimestampsOutsideRFC3339AreRefused(t *testing.T) {
	t.Parallel()
	schema := columns{"s": cql2.TypeTimestamp}
	for _, text := range []string{
		"2024-01-01T00:00:00+24:00", "2024-01-01T00:00:00-24:00", "2024-01-01T00:00:00+00:60",
		"2024-01-01T00:00:00+99:99",
		"2024-01-01T00:00:00+1:00", "2024-01-01T00:00:00+01:0", "2024-01-01T00:00:00+01",
		"2024-01-01T00:00:00+01:00:00",
		"2024-01-01T00:00:00.Z", "2024-01-01T00:00:00.+01:00", "2024-01-01T00:00:00.1.2Z", "2024-01-01T00:00:00,1Z",
		"2024-01-01T00:0:00.00Z", "2024-01-01T00:00:0.00Z", "2024-1-01T00:00:00.0Z", "2024-01-1T00:00:00.0Z",
		"2024-00-01T00:00:00Z", "2024-01-00T00:00:00Z", "2024-01-32T00:00:00Z", "2024-04-31T00:00:00Z",
		"2100-02-29T00:00:00Z", "2024-01-01T00:60:00Z", "2024-01-01T-1:00:00Z", "+024-01-01T00:00:00Z",
		"2024-01-01T00:00:00 Z", "2024-01-01T00:00:00ZZ", "2024-01-01TT00:00:00Z", "2024-01-01T00:00:00UTC",
		"٢٠٢٤-01-01T00:00:00Z", "2024‐01‐01T00:00:00Z", "2024-01-01T00:00:00−01:00",
	} {
		if e, err := cql2.ParseText("s = TIMESTAMP('" + text + "')"); err == nil {
			t.Errorf("%s is read as %s", text, cql2.FormatText(e))
		}
		if from, to, err := cql2.ParseInterval(text, time.UTC); err == nil {
			t.Errorf("datetime=%s is %v to %v", text, from, to)
		}
		if at, ok := cql2.ParseInstant(text, time.UTC); ok {
			t.Errorf("the moment %s is %v", text, at)
		}
		if at, ok := cql2.ParseStored(text); ok {
			t.Errorf("a stored %s is %v", text, at)
		}
		e, err := cql2.Check(cql2.Compare{Op: cql2.Eq, L: prop("s"), R: cql2.Text(text)}, schema)
		if err == nil {
			t.Errorf("'%s' becomes %s", text, cql2.FormatText(e))
		}
	}
}

// TestFractionsOfSecondsAreCutToNanoseconds.
func TestFractionsOfSecondsAreCutToNanoseconds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2024-01-01T00:00:00.0Z":               "2024-01-01T00:00:00Z",
		"2024-01-01T00:00:00.123456789Z":       "2024-01-01T00:00:00.123456789Z",
		"2024-01-01T00:00:00.1234567899Z":      "2024-01-01T00:00:00.123456789Z",
		"2024-01-01T00:00:00.9999999999999Z":   "2024-01-01T00:00:00.999999999Z",
		"2024-01-01T00:00:00.10+23:59":         "2023-12-31T00:01:00.1Z",
		"2024-02-29T23:59:59.999999999-23:59":  "2024-03-01T23:58:59.999999999Z",
		"2015-06-30T23:59:60.999999999999999Z": "2015-06-30T23:59:59.999999999Z",
		"2017-01-01T05:29:60+05:30":            "2016-12-31T23:59:59.999999999Z",
	} {
		from, to, err := cql2.ParseInterval(text, time.UTC)
		if err != nil || stamp(from) != want || stamp(to) != want {
			t.Errorf("%s: %s to %s, %v, want %s", text, stamp(from), stamp(to), err, want)
		}
	}
}

// TestDaysOfATimeZoneAreFromMidnightToMidnight: of 23, 24 and 25 hours. Where a day has no midnight, it begins with the
// hour that follows the gap. The expectations are the rules of the zones, written in UTC.
func TestDaysOfATimeZoneAreFromMidnightToMidnight(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ zone, day, from, next string }{
		{"UTC", "2024-03-31", "2024-03-31T00:00:00Z", "2024-04-01T00:00:00Z"},
		{"Europe/Oslo", "2024-02-29", "2024-02-28T23:00:00Z", "2024-02-29T23:00:00Z"},
		{"Europe/Oslo", "2024-03-31", "2024-03-30T23:00:00Z", "2024-03-31T22:00:00Z"},         // 23 hours
		{"Europe/Oslo", "2024-10-27", "2024-10-26T22:00:00Z", "2024-10-27T23:00:00Z"},         // 25 hours
		{"Arctic/Longyearbyen", "2023-12-31", "2023-12-30T23:00:00Z", "2023-12-31T23:00:00Z"}, //
		{"Atlantic/Azores", "2024-03-31", "2024-03-31T01:00:00Z", "2024-04-01T00:00:00Z"},     // no midnight
		{"Atlantic/Azores", "2024-03-30", "2024-03-30T01:00:00Z", "2024-03-31T01:00:00Z"},     // before it
		{"Atlantic/Azores", "2024-10-27", "2024-10-27T00:00:00Z", "2024-10-28T01:00:00Z"},     // two midnights
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"},   // no midnight
		{"America/Sao_Paulo", "2018-02-17", "2018-02-17T02:00:00Z", "2018-02-18T03:00:00Z"},   // 25 hours
		{"Australia/Lord_Howe", "2024-10-06", "2024-10-05T13:30:00Z", "2024-10-06T13:00:00Z"}, // 23.5 hours
		{"Asia/Kathmandu", "2024-01-01", "2023-12-31T18:15:00Z", "2024-01-01T18:15:00Z"},      //
		{"Pacific/Kiritimati", "2024-01-01", "2023-12-31T10:00:00Z", "2024-01-01T10:00:00Z"},  //
	} {
		in := zone(t, x.zone)
		next, err := time.Parse(time.RFC3339, x.next)
		if err != nil {
			t.Fatal(err)
		}
		last := next.Add(-time.Nanosecond).Format(time.RFC3339Nano)
		for _, param := range []string{x.day, x.day + "/" + x.day} {
			from, to, err := cql2.ParseInterval(param, in)
			if err != nil || stamp(inUTC(from)) != x.from || stamp(inUTC(to)) != last {
				t.Errorf("%s in %s: %s to %s, %v, want %s to %s", param, x.zone, stamp(inUTC(from)), stamp(inUTC(to)),
					err,
					x.from, last)
			}
		}
		if at, ok := cql2.ParseInstant(x.day, in); !ok || at.UTC().Format(time.RFC3339Nano) != x.from ||
			at.Location() != in {
			t.Errorf("%s in %s begins at %v, want %s", x.day, x.zone, at, x.from)
		}
		// a feature of that day is found from its first to its last nanosecond, and one nanosecond beside it is not
		first, _ := time.Parse(time.RFC3339, x.from)
		row := record{values: map[string]any{"d": x.day}}
		for at, want := range map[time.Time]cql2.Truth{first: cql2.True, first.Add(-1): cql2.False,
			next.Add(-1): cql2.True, next: cql2.False} {
			at = at.In(in)
			e := cql2.Interval{Start: "d", End: "d", From: &at, To: &at}
			if got, err := cql2.Eval(e, row); got != want || err != nil {
				t.Errorf("%s in %s at %v: %d, want %d; %v", x.day, x.zone, at.UTC(), got, want, err)
			}
		}
	}
}

func inUTC(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	u := t.UTC()
	return &u
}

// TestDaysOfAZoneFollowEachOther: each begins where the one before has ended, and neither is empty.
func TestDaysOfAZoneFollowEachOther(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Europe/Oslo", "Atlantic/Azores", "America/Sao_Paulo", "Asia/Beirut",
		"America/Havana",
		"Africa/Cairo", "Australia/Lord_Howe", "America/Asuncion", "Pacific/Apia"} {
		in := zone(t, name)
		var last time.Time
		for d := time.Date(2010, 1, 1, 0, 0, 0, 0, time.UTC); d.Year() < 2025; d = d.AddDate(0, 0, 1) {
			day := d.Format(time.DateOnly)
			from, to, err := cql2.ParseInterval(day, in)
			if err != nil {
				if name == "Pacific/Apia" && day == "2011-12-30" {
					last = time.Time{}
					continue // Samoa had no such day
				}
				t.Fatalf("%s in %s: %v", day, name, err)
			}
			if !last.IsZero() && !from.Equal(last.Add(1)) {
				t.Errorf("%s in %s begins at %v, the day before ends at %v", day, name, from.UTC(), last.UTC())
			}
			if h := to.Sub(*from); h < 22*time.Hour || h > 26*time.Hour {
				t.Errorf("%s in %s is %v long", day, name, h)
			}
			last = *to
		}
	}
}

// TestLocalTimesWithoutAZoneAreOfTheService: also in the hour that there is twice, and in the one that there is not.
func TestLocalTimesWithoutAZoneAreOfTheService(t *testing.T) {
	t.Parallel()
	in := zone(t, "Europe/Oslo")
	for text, want := range map[string][]string{
		"2024-07-01T12:00:00":   {"2024-07-01T10:00:00Z"},
		"2024-01-01T00:30":      {"2023-12-31T23:30:00Z"},
		"2024-10-27T02:30:00":   {"2024-10-27T00:30:00Z", "2024-10-27T01:30:00Z"}, // either of the two
		"2024-03-31T02:30:00":   {"2024-03-31T00:30:00Z", "2024-03-31T01:30:00Z"}, // beside the gap
		"2024-07-01T12:00:00Z":  {"2024-07-01T12:00:00Z"},
		"2024-07-01T12:00:00.5": {"2024-07-01T10:00:00.5Z"},
	} {
		e, err := cql2.Reading{Zone: in}.Text("s = TIMESTAMP('" + text + "')")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := e.(cql2.Compare).R.(cql2.Timestamp).T.UTC().Format(time.RFC3339Nano)
		from, _, err := cql2.ParseInterval(text, in)
		if err != nil || stamp(inUTC(from)) != got || got != want[0] && got != want[len(want)-1] {
			t.Errorf("%s: %s, as a parameter %s, want %v; %v", text, got, stamp(inUTC(from)), want, err)
		}
	}
}

// TestIntervalsCompareAsTheirEnds holds the parameter datetime against two inequalities (OGC 17-069r4, 7.15.4): a time
// from a to b meets one from c to d if a is not after d and c is not after b, where an open end is infinite.
func TestIntervalsCompareAsTheirEnds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(7, 1))
	base := time.Date(2024, 2, 27, 0, 0, 0, 0, time.UTC)
	moment := func() (text string, first, last time.Time) {
		at := base.Add(time.Duration(r.IntN(10)) * 12 * time.Hour)
		if r.IntN(2) == 0 {
			at = at.Truncate(24 * time.Hour)
			return at.Format(time.DateOnly), at, at.Add(24*time.Hour - 1)
		}
		return at.Format(time.RFC3339), at, at
	}
	far := [2]time.Time{time.Date(-1, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}
	hits := 0
	for range 5000 {
		var values [2]any
		ends := far
		if r.IntN(5) > 0 {
			text, first, _ := moment()
			values[0], ends[0] = text, first
		}
		if r.IntN(5) > 0 {
			text, _, last := moment()
			if values[0] == nil || !last.Before(ends[0]) {
				values[1], ends[1] = text, last
			}
		}
		start, from, _ := moment()
		end, _, to := moment()
		switch r.IntN(4) {
		case 0:
			start, from = "..", far[0]
		case 1:
			end, to = "", far[1]
		}
		if to.Before(from) {
			continue
		}
		param := start + "/" + end
		low, high, err := cql2.ParseInterval(param, time.UTC)
		if err != nil {
			t.Fatalf("%s: %v", param, err)
		}
		want := !ends[0].After(to) && !from.After(ends[1])
		e := cql2.Interval{Start: "a", End: "b", From: low, To: high}
		got, err := cql2.Eval(e, record{values: map[string]any{"a": values[0], "b": values[1]}})
		if err != nil || (got == cql2.True) != want {
			t.Fatalf("%v to %v in %s is %d, want %t; %v", values[0], values[1], param, got, want, err)
		}
		if want {
			hits++
		}
	}
	if hits < 500 {
		t.Errorf("%d hits: no test", hits)
	}
}

// TestPartsOfDatesAreThoseOfUTC: the functions day, month and year, on any day of a leap year and at its ends.
func TestPartsOfDatesAreThoseOfUTC(t *testing.T) {
	t.Parallel()
	schema := columns{"d": cql2.TypeDate, "s": cql2.TypeTimestamp, "n": cql2.TypeDate}
	for day := time.Date(2023, 12, 31, 0, 0, 0, 0, time.UTC); day.Year() < 2025 || day.Day() < 2; day = day.AddDate(0,
		0, 1) {
		y, m, d := day.Date()
		r := record{values: map[string]any{"d": day.Format(time.DateOnly), "n": nil,
			"s": day.Add(23*time.Hour + 30*time.Minute).In(time.FixedZone("", 7200)).Format(time.RFC3339)}}
		for _, name := range []string{"d", "s"} {
			filter := fmt.Sprintf("year(%[1]s) = %[2]d AND month(%[1]s) = %[3]d AND DAY(%[1]s) = %[4]d AND year(n) "+
				"IS NULL", name, y,
				m, d)
			if got, err := cql2.Eval(must(t, filter, schema), r); got != cql2.True || err != nil {
				t.Fatalf("%s of %v is %d; %v", filter, r.values, got, err)
			}
		}
	}
}
