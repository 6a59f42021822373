package placename

import (
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // for Europe/Oslo on systems without a time zone database
	"unicode/utf8"
)

// oslo is the time zone of timestamps without an offset.
var oslo = sync.OnceValue(func() *time.Location {
	l, err := time.LoadLocation("Europe/Oslo")
	if err != nil {
		panic("placename: " + err.Error())
	}
	return l
})

const space = " \t\r\n" // white space in XML

// ParseTimestamp parses an xs:dateTime with a year from 1 to 9999, ignoring surrounding white space. Without an offset,
// it is a time in Europe/Oslo.
func ParseTimestamp(s string) (time.Time, bool) {
	s = strings.Trim(s, space)
	day, rest, ok := cutDay(s)
	if !ok || len(rest) < 9 || rest[0] != 'T' {
		return time.Time{}, false
	}
	clock, rest := rest[1:9], rest[9:]
	h, ok1 := digits(clock[0:2])
	m, ok2 := digits(clock[3:5])
	sec, ok3 := digits(clock[6:8])
	if !ok1 || !ok2 || !ok3 || clock[2] != ':' || clock[5] != ':' || h > 24 || m > 59 || sec > 59 {
		return time.Time{}, false
	}
	nanos := 0
	if rest != "" && rest[0] == '.' {
		n := 1
		for n < len(rest) && rest[n] >= '0' && rest[n] <= '9' {
			n++
		}
		frac := (rest[1:n] + "000000000")[:9]
		if n == 1 {
			return time.Time{}, false
		}
		nanos, _ = digits(frac)
		rest = rest[n:]
	}
	// XML Schema Part 2, 3.2.7.1: 24:00:00 is the first instant of the next day
	if h == 24 && (m != 0 || sec != 0 || nanos != 0) {
		return time.Time{}, false
	}
	zone, ok := parseZone(rest)
	if !ok {
		return time.Time{}, false
	}
	if zone == nil {
		zone = oslo()
	}
	return time.Date(day.Year(), day.Month(), day.Day(), h, m, sec, nanos, zone), true
}

// ParseDate parses an xs:date with a year from 1 to 9999, ignoring surrounding white space and the offset. It returns
// midnight UTC of the day.
func ParseDate(s string) (time.Time, bool) {
	day, rest, ok := cutDay(strings.Trim(s, space))
	if !ok {
		return time.Time{}, false
	}
	_, ok = parseZone(rest)
	return day, ok
}

// cutDay parses YYYY-MM-DD at the beginning of s.
func cutDay(s string) (day time.Time, rest string, ok bool) {
	if len(s) < 10 || s[4] != '-' || s[7] != '-' {
		return day, s, false
	}
	y, ok1 := digits(s[0:4])
	m, ok2 := digits(s[5:7])
	d, ok3 := digits(s[8:10])
	if !ok1 || !ok2 || !ok3 || y < 1 || m < 1 || m > 12 || d < 1 {
		return day, s, false
	}
	day = time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC)
	return day, s[10:], day.Day() == d
}

// parseZone parses Z, or an offset +hh:mm or -hh:mm of at most 14:00; nil for "".
func parseZone(s string) (*time.Location, bool) {
	switch {
	case s == "":
		return nil, true
	case s == "Z":
		return time.UTC, true
	case len(s) != 6 || s[3] != ':' || s[0] != '+' && s[0] != '-':
		return nil, false
	}
	h, ok1 := digits(s[1:3])
	m, ok2 := digits(s[4:6])
	seconds := h*3600 + m*60
	if !ok1 || !ok2 || m > 59 || seconds > 14*3600 {
		return nil, false
	}
	if s[0] == '-' {
		seconds = -seconds
	}
	return time.FixedZone("", seconds), true
}

// digits parses a string of digits.
func digits(s string) (int, bool) {
	n := 0
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = n*10 + int(s[i]-'0')
	}
	return n, true
}

// AppendText appends s escaped for XML, for element content or a quoted attribute value. Characters that XML 1.0 does
// not allow (2.2), and bytes that are not UTF-8, become U+FFFD.
func AppendText(b []byte, s string) []byte {
	n := 0
	for n < len(s) && classes[s[n]] == plain {
		n++
	}
	if n == len(s) {
		return append(b, s...)
	}
	return appendEscaped(b, s, n)
}

// appendEscaped appends s. The first n bytes need no escaping.
func appendEscaped(b []byte, s string, n int) []byte {
	last := 0
	for i := n; i < len(s); {
		size, as := 1, ""
		switch class := classes[s[i]]; class {
		case plain:
			i++
			continue
		case wide:
			var r rune
			if r, size = utf8.DecodeRuneInString(s[i:]); r != 0xFFFE && r != 0xFFFF &&
				(r != utf8.RuneError || size > 1) {
				i += size
				continue
			}
			fallthrough
		default:
			as = escapes[class]
		}
		b = append(b, s[last:i]...)
		b = append(b, as...)
		i += size
		last = i
	}
	return append(b, s[last:]...)
}

// Classes of bytes: those copied unchanged, those that start a multi-byte character, and those that must be escaped.
const (
	plain = iota
	wide
	control
	less
	greater
	ampersand
	quotation
	tab
	newline
	carriage
)

var escapes = [...]string{
	wide:      "\uFFFD",
	control:   "\uFFFD",
	less:      "&lt;",
	greater:   "&gt;",
	ampersand: "&amp;",
	quotation: "&#34;",
	tab:       "&#9;",
	newline:   "&#10;",
	carriage:  "&#13;",
}

// classes holds the class of each byte.
var classes = func() (c [256]uint8) {
	for i := range c {
		switch {
		case i < ' ':
			c[i] = control
		case i >= utf8.RuneSelf:
			c[i] = wide
		}
	}
	for b, class := range map[byte]uint8{'<': less, '>': greater, '&': ampersand, '"': quotation, '\t': tab,
		'\n': newline, '\r': carriage} {
		c[b] = class
	}
	return c
}()
