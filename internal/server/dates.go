package server

import (
	"html/template"
	"strconv"
	"strings"
	"time"
)

// monthNames are the months in Norwegian, both forms of it; in English they are those of package time.
var monthNames = [...]string{"januar", "februar", "mars", "april", "mai", "juni", "juli", "august", "september", "oktober", "november", "desember"}

// dateText writes a day or a moment (RFC 3339) for people in the language of the page, a moment by the time zone of the service: 11. desember 2013 kl.
// 03.15. Its blanks break before the hour only. False for what is neither.
func (c *call) dateText(s string) (string, bool) {
	t, err := time.Parse(time.DateOnly, s)
	moment := err != nil
	if moment {
		if t, err = time.Parse(time.RFC3339Nano, s); err != nil {
			return s, false
		}
		t = t.In(c.zone())
	}
	month, year := monthNames[t.Month()-1], strconv.Itoa(t.Year())
	if c.lang == "en" {
		text := strconv.Itoa(t.Day()) + "\u00a0" + t.Month().String() + "\u00a0" + year
		if moment {
			text += " " + t.Format("15:04")
		}
		return text, true
	}
	text := strconv.Itoa(t.Day()) + ".\u00a0" + month + "\u00a0" + year
	if moment {
		text += " kl.\u00a0" + t.Format("15.04")
	}
	return text, true
}

// periodText writes a day, a moment or an interval of them, as datetime takes them, for people; an open end is left out.
func (c *call) periodText(s string) string {
	from, to, isInterval := strings.Cut(s, "/")
	from, _ = c.dateText(from)
	if !isInterval {
		return from
	}
	to, _ = c.dateText(to)
	return strings.TrimSpace(strings.TrimSuffix(from, "..") + " – " + strings.TrimSuffix(to, ".."))
}

// timeElement is a day or a moment as an element that programs read, too; what is neither stays.
func (c *call) timeElement(s string) template.HTML {
	text, ok := c.dateText(s)
	if !ok {
		return template.HTML(template.HTMLEscapeString(s))
	}
	return template.HTML(`<time datetime="` + template.HTMLEscapeString(s) + `">` + text + "</time>")
}

// Time writes a day or a moment for people in the language of the page.
func (v *page) Time(s string) template.HTML { return v.c.timeElement(s) }

// Bound writes an end of a period: the day, where it is the first or the last moment of one, by the time zone of the service or by UTC.
func (v *page) Bound(s string) template.HTML {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		for _, t := range []time.Time{t.In(v.c.zone()), t.UTC()} {
			if hour := t.Format("150405"); hour == "000000" || hour == "235959" {
				return v.c.timeElement(t.Format(time.DateOnly))
			}
		}
	}
	return v.c.timeElement(s)
}

// Day writes a day for people, as text.
func (v *page) Day(s string) string {
	text, _ := v.c.dateText(s)
	return text
}
