package ingest

import (
	"math"
	"strconv"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/format/input"
	"grense/internal/geo/wkb"
)

// column describes a property by the values that were read so far.
type column struct {
	name  string // as the file has it
	kinds [input.Blob + 1]int

	big        bool // an integer of more than 53 bits that a double cannot hold exactly
	huge       bool // an integer of more than 64 bits, or a number beyond doubles
	fine       bool // a number with digits that a double would lose
	notDay     bool // some text is not a date
	notMoment  bool // some text is not a timestamp
	notInteger bool // some untyped value is not a plain integer
	notNumber  bool // ... nor a plain number
	notTruth   bool // ... nor a boolean
	nans       int  // numbers that are NaN or infinite, which are null
	nanTexts   int  // untyped values that are NaN or infinite if the others are numbers

	gone  bool      // the property is left out
	extra bool      // from a member outside the properties
	out   string    // name in the API
	store string    // column in the store
	typ   cql2.Type // decided after the survey
}

func (c *column) see(v input.Value) {
	if v.Kind == input.Number && input.NotFinite(v.Text) {
		c.nans++
		v.Kind = input.Null
	}
	c.kinds[v.Kind]++
	switch v.Kind {
	case input.Integer:
		c.seeInteger(v.Text)
	case input.Number:
		c.seeNumber(v.Text)
	case input.Plain:
		c.notDay, c.notMoment = true, true
	case input.Text:
		c.seeTime(v.Text)
	case input.Untyped:
		c.seeTime(v.Text)
		if input.NotFinite(v.Text) {
			c.nanTexts++
			c.notTruth = true
			return
		}
		whole, ok := plainNumber(v.Text)
		if c.notInteger = c.notInteger || !whole; whole {
			c.seeInteger(v.Text)
		}
		if c.notNumber = c.notNumber || !ok; ok && !whole {
			c.seeNumber(v.Text)
		}
		c.notTruth = c.notTruth || !strings.EqualFold(v.Text, "true") && !strings.EqualFold(v.Text, "false")
	}
}

func (c *column) seeInteger(s string) {
	n, err := strconv.ParseInt(s, 10, 64)
	c.huge = c.huge || err != nil
	c.big = c.big || err != nil || n > 1<<53 || n < -1<<53
}

func (c *column) seeNumber(s string) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f-f != 0 {
		c.huge = c.huge || err != nil || math.IsInf(f, 0)
		return
	}
	e, ok := cql2.ParseNumber(s)
	if !ok { // not zero, but smaller than any double
		c.fine = true
		return
	}
	digits := cql2.ExactNumberOf(e).String()
	if strings.Contains(digits, ".") {
		c.fine = c.fine || !cql2.IsDouble(digits)
		return
	}
	// a large double does not print with its own digits
	c.fine = c.fine || strconv.FormatFloat(f+0, 'f', -1, 64) != digits
}

func (c *column) seeTime(s string) {
	if !c.notDay {
		_, ok := day(s)
		c.notDay = !ok
	}
	if !c.notMoment {
		_, ok := moment(s)
		c.notMoment = !ok
	}
}

// plainNumber reports whether a text is a number that prints as it is written:
// without leading zeros, plus sign or exponent.
func plainNumber(s string) (whole, ok bool) {
	if strings.ContainsAny(s, "eE") || s == "-0" {
		return false, false
	}
	return input.NumberSyntax([]byte(s))
}

// day parses a date of ISO 8601, extended format.
func day(s string) (time.Time, bool) {
	if len(s) != len(time.DateOnly) || s[4] != '-' {
		return time.Time{}, false
	}
	t, err := time.Parse(time.DateOnly, s)
	return t, err == nil
}

// moments are the layouts of timestamps. Those without a zone are UTC.
var moments = [...]string{"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999",
	"2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04"}

// moment parses a timestamp of ISO 8601, extended format, also with a space for the T.
func moment(s string) (time.Time, bool) {
	if len(s) < 16 || len(s) > 40 || s[4] != '-' || s[7] != '-' || s[10] != 'T' && s[10] != ' ' {
		return time.Time{}, false
	}
	for _, layout := range moments {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// decide chooses the narrowest type for all values. why is the reason if they become text and a note is needed.
func (c *column) decide() (why string) {
	seen := 0
	for k := input.Boolean; k <= input.Many; k++ {
		if c.kinds[k] > 0 {
			seen++
		}
	}
	only := func(list ...input.Kind) bool {
		n := 0
		for _, k := range list {
			if c.kinds[k] > 0 {
				n++
			}
		}
		return n == seen && n > 0
	}
	c.typ = cql2.TypeText
	switch {
	case seen == 0, c.nanTexts > 0 && c.nanTexts == c.kinds[input.Untyped]:
	case only(input.Integer) && !c.huge, only(input.Untyped) && !c.notInteger && !c.huge:
		c.typ = cql2.TypeInteger
	case only(input.Integer, input.Number) && c.kinds[input.Number] > 0 && !c.huge && !c.fine && !c.big,
		only(input.Untyped) && !c.notNumber && !c.big && !c.huge && !c.fine:
		c.typ = cql2.TypeNumber
	case only(input.Boolean), only(input.Untyped) && !c.notTruth:
		c.typ = cql2.TypeBool
	case c.kinds[input.Object]+c.kinds[input.Many] > 0:
		c.typ = cql2.TypeJSON
	case only(input.Text, input.Untyped) && !c.notDay:
		c.typ = cql2.TypeDate
	case only(input.Text, input.Untyped) && !c.notMoment:
		c.typ = cql2.TypeTimestamp
	case only(input.Integer, input.Number), only(input.Untyped) && !c.notNumber:
		return "numbers of more digits than a number can hold"
	case only(input.Text, input.Plain, input.Untyped):
	default:
		return "values of different kinds"
	}
	if c.typ == cql2.TypeInteger || c.typ == cql2.TypeNumber {
		c.nans += c.nanTexts
		c.kinds[input.Null] += c.nanTexts
		c.kinds[input.Untyped] -= c.nanTexts
	}
	return ""
}

// convert returns a value in the form that the store accepts.
func (c *column) convert(v input.Value) any {
	if v.Kind <= input.Null || v.Kind == input.Number && input.NotFinite(v.Text) {
		return nil
	}
	switch c.typ {
	case cql2.TypeInteger:
		if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil {
			return n
		}
		if input.NotFinite(v.Text) { // untyped
			return nil
		}
	case cql2.TypeNumber:
		if f, err := strconv.ParseFloat(v.Text, 64); err == nil && wkb.Finite(f) {
			return f
		}
		return nil
	case cql2.TypeBool:
		return strings.EqualFold(v.Text, "true")
	case cql2.TypeDate:
		if t, ok := day(v.Text); ok {
			return t
		}
	case cql2.TypeTimestamp:
		if t, ok := moment(v.Text); ok {
			return t
		}
	case cql2.TypeJSON:
		if c.kinds[input.Many] > 0 && v.Kind < input.Many {
			return "[" + string(v.AppendJSON(nil)) + "]"
		}
		if v.Kind == input.Text || v.Kind == input.Plain || v.Kind == input.Untyped {
			return string(input.AppendJSON(nil, []byte(v.Text)))
		}
	}
	return v.Text
}
