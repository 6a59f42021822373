// Package moment parses dates and timestamps in the forms in which GeoPackages contain them.
package moment

import (
	"bytes"
	"strings"
	"time"
)

// layouts are the forms in which GeoPackages contain dates and timestamps. OGC 12-128r18, table 1, defines the
// first and the fifth; other programs write the rest.
var layouts = [...]string{
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

// Parse parses a date or timestamp; without a zone it is UTC. Zones may be +01, +0100 or +01:00.
func Parse(s string) (time.Time, bool) {
	s = strings.TrimSpace(s)
	if len(s) < len("2006-01-02") || len(s) > 40 {
		return time.Time{}, false
	}
	for _, l := range layouts {
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

// stampLayouts are stored forms of timestamps that sort as texts in the order of time, if a column uses only one of
// them.
var stampLayouts = [...]string{"2006-01-02T15:04:05Z", "2006-01-02T15:04:05.000Z", "2006-01-02T15:04:05"}

// Layout returns the one of stampLayouts in which s is written, the text of t; "" if it is none of them.
func Layout(s string, t time.Time) string {
	for _, l := range stampLayouts {
		if len(l) == len(s) && t.Format(l) == s {
			return l
		}
	}
	return ""
}

// Plain parses a date, or a timestamp in one of the first two stampLayouts, as our writer stores them; ok is false
// for anything else. It is a fast path for Parse (BenchmarkMoment).
func Plain(b []byte) (t time.Time, layout string, ok bool) {
	if len(b) < len(time.DateOnly) || b[4] != '-' || b[7] != '-' {
		return t, "", false
	}
	year, month, day := digits(b[:4]), digits(b[5:7]), digits(b[8:10])
	hour, minute, second, milli := 0, 0, 0, 0
	switch len(b) {
	case len(time.DateOnly):
	case len(stampLayouts[1]):
		layout = stampLayouts[1]
		milli = digits(b[20:23])
	case len(stampLayouts[0]):
		layout = stampLayouts[0]
	default:
		return t, "", false
	}
	if layout != "" {
		if b[10] != 'T' || b[13] != ':' || b[16] != ':' || b[len(b)-1] != 'Z' ||
			layout == stampLayouts[1] && b[19] != '.' {
			return t, "", false
		}
		hour, minute, second = digits(b[11:13]), digits(b[14:16]), digits(b[17:19])
	}
	if min(year, month-1, day-1, hour, minute, second, milli) < 0 || month > 12 || hour > 23 ||
		minute > 59 || second > 59 {
		return t, "", false
	}
	t = time.Date(year, time.Month(month), day, hour, minute, second, milli*int(time.Millisecond), time.UTC)
	return t, layout, t.Day() == day
}

// PlainStamp returns the result of Timestamp for a text that Plain can parse, else "". The result shares the
// memory of b.
func PlainStamp(b []byte) string {
	_, layout, ok := Plain(b)
	if !ok || layout == "" {
		return ""
	}
	if layout == stampLayouts[1] {
		b = append(bytes.TrimRight(bytes.TrimRight(b[:len(b)-1], "0"), "."), 'Z')
	}
	return string(b)
}

// digits returns the decimal number in b; -1 if b is not one.
func digits(b []byte) (n int) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return -1
		}
		n = 10*n + int(c-'0')
	}
	return n
}

// Timestamp returns a stored timestamp in RFC 3339, UTC; nil if it is invalid.
func Timestamp(s string) any {
	t, ok := Parse(s)
	if !ok {
		return nil
	}
	return t.UTC().Format(time.RFC3339Nano)
}
