package ingest

import (
	"math"
	"strconv"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/geo/wkb"
)

// column is what is known of a property after the values seen so far.
type column struct {
	name  string // as the file has it
	kinds [blob + 1]int

	big        bool // an integer of more than 53 bits, of which a double holds not all
	huge       bool // an integer of more than 64 bits, or a number beyond doubles
	fine       bool // a number with digits that a double would lose
	notDay     bool // a text is not a day
	notMoment  bool // a text is not a moment
	notInteger bool // an untyped value is not a plain integer
	notNumber  bool // ... nor a plain number
	notTruth   bool // ... nor a truth value
	nans       int  // numbers that are NaN or infinite, which are null
	nanTexts   int  // untyped values that are NaN or infinite, if the others are numbers

	gone  bool      // it is left out
	extra bool      // of a member beside the properties
	out   string    // name as it is served
	store string    // column in the store
	typ   cql2.Type // decided after the survey
}

func (c *column) see(v value) {
	if v.kind == number && notFinite(v.text) {
		c.nans++
		v.kind = null
	}
	c.kinds[v.kind]++
	switch v.kind {
	case integer:
		c.seeInteger(v.text)
	case number:
		c.seeNumber(v.text)
	case plain:
		c.notDay, c.notMoment = true, true
	case text:
		c.seeTime(v.text)
	case untyped:
		c.seeTime(v.text)
		if notFinite(v.text) {
			c.nanTexts++
			c.notTruth = true
			return
		}
		whole, ok := plainNumber(v.text)
		if c.notInteger = c.notInteger || !whole; whole {
			c.seeInteger(v.text)
		}
		if c.notNumber = c.notNumber || !ok; ok && !whole {
			c.seeNumber(v.text)
		}
		c.notTruth = c.notTruth || !strings.EqualFold(v.text, "true") && !strings.EqualFold(v.text, "false")
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
	if !ok { // not zero, and nearer to it than doubles are
		c.fine = true
		return
	}
	digits := cql2.ExactNumberOf(e).String()
	if strings.Contains(digits, ".") {
		c.fine = c.fine || !cql2.IsDouble(digits)
		return
	}
	c.fine = c.fine || strconv.FormatFloat(f+0, 'f', -1, 64) != digits // a large double prints with other digits than it has
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

// notFinite reports whether the text of a number is NaN or infinite.
func notFinite(s string) bool {
	s = strings.TrimLeft(s, "+-")
	return strings.EqualFold(s, "nan") || strings.EqualFold(s, "inf") || strings.EqualFold(s, "infinity")
}

// plainNumber tells whether a text is a number that comes out of it as it went in: without leading zeros, sign plus or exponent.
func plainNumber(s string) (whole, ok bool) {
	if strings.ContainsAny(s, "eE") || s == "-0" {
		return false, false
	}
	return numberSyntax([]byte(s))
}

// day reads a day of ISO 8601, extended.
func day(s string) (time.Time, bool) {
	if len(s) != len(time.DateOnly) || s[4] != '-' {
		return time.Time{}, false
	}
	t, err := time.Parse(time.DateOnly, s)
	return t, err == nil
}

// moments are the forms of moments; those without a zone are taken as UTC.
var moments = [...]string{"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999Z07:00",
	"2006-01-02 15:04:05.999999999", "2006-01-02T15:04Z07:00", "2006-01-02T15:04", "2006-01-02 15:04"}

// moment reads a moment of ISO 8601, extended, also with a space for the T.
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

// decide chooses the narrowest type that holds all values. why says why they became text; "" where that needs no word.
func (c *column) decide() (why string) {
	seen := 0
	for k := boolean; k <= many; k++ {
		if c.kinds[k] > 0 {
			seen++
		}
	}
	only := func(list ...kind) bool {
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
	case seen == 0, c.nanTexts > 0 && c.nanTexts == c.kinds[untyped]:
	case only(integer) && !c.huge, only(untyped) && !c.notInteger && !c.huge:
		c.typ = cql2.TypeInteger
	case only(integer, number) && c.kinds[number] > 0 && !c.huge && !c.fine && !c.big, only(untyped) && !c.notNumber && !c.big && !c.huge && !c.fine:
		c.typ = cql2.TypeNumber
	case only(boolean), only(untyped) && !c.notTruth:
		c.typ = cql2.TypeBool
	case c.kinds[object]+c.kinds[many] > 0:
		c.typ = cql2.TypeJSON
	case only(text, untyped) && !c.notDay:
		c.typ = cql2.TypeDate
	case only(text, untyped) && !c.notMoment:
		c.typ = cql2.TypeTimestamp
	case only(integer, number), only(untyped) && !c.notNumber:
		return "numbers of more digits than are kept in a number"
	case only(text, plain, untyped):
	default:
		return "values of different kinds"
	}
	if c.typ == cql2.TypeInteger || c.typ == cql2.TypeNumber {
		c.nans += c.nanTexts
		c.kinds[null] += c.nanTexts
		c.kinds[untyped] -= c.nanTexts
	}
	return ""
}

// convert returns a value in the form in which the store takes it.
func (c *column) convert(v value) any {
	if v.kind <= null || v.kind == number && notFinite(v.text) {
		return nil
	}
	switch c.typ {
	case cql2.TypeInteger:
		if n, err := strconv.ParseInt(v.text, 10, 64); err == nil {
			return n
		}
		if notFinite(v.text) { // untyped
			return nil
		}
	case cql2.TypeNumber:
		if f, err := strconv.ParseFloat(v.text, 64); err == nil && wkb.Finite(f) {
			return f
		}
		return nil
	case cql2.TypeBool:
		return strings.EqualFold(v.text, "true")
	case cql2.TypeDate:
		if t, ok := day(v.text); ok {
			return t
		}
	case cql2.TypeTimestamp:
		if t, ok := moment(v.text); ok {
			return t
		}
	case cql2.TypeJSON:
		if c.kinds[many] > 0 && v.kind < many {
			return "[" + string(v.appendJSON(nil)) + "]"
		}
		if v.kind == text || v.kind == plain || v.kind == untyped {
			return string(appendJSONString(nil, []byte(v.text)))
		}
	}
	return v.text
}
