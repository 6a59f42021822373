package page

import (
	"html/template"
	"strconv"
	"time"
)

// monthNames are the months in Norwegian (Bokmål and Nynorsk). Package time has the English ones.
var monthNames = [...]string{"januar", "februar", "mars", "april", "mai", "juni", "juli", "august", "september",
	"oktober", "november", "desember"}

// DateText formats a date or an RFC 3339 time in a language: 11. desember 2013 kl. 03.15. Times are shown in zone.
// Spaces do not break, except before the hour. ok is false, and the text unchanged, if s is neither.
func DateText(s, lang string, zone *time.Location) (string, bool) {
	t, err := time.Parse(time.DateOnly, s)
	moment := err != nil
	if moment {
		if t, err = time.Parse(time.RFC3339Nano, s); err != nil {
			return s, false
		}
		t = t.In(zone)
	}
	month, year := monthNames[t.Month()-1], strconv.Itoa(t.Year())
	if lang == "en" {
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

// TimeElement returns a date or an RFC 3339 time as an HTML time element. It returns other texts escaped.
func TimeElement(s, lang string, zone *time.Location) template.HTML {
	text, ok := DateText(s, lang, zone)
	if !ok {
		return template.HTML(template.HTMLEscapeString(s))
	}
	return template.HTML(`<time datetime="` + template.HTMLEscapeString(s) + `">` + text + "</time>")
}

// Time formats a date or an RFC 3339 time in the language of the page.
func (v *Page) Time(s string) template.HTML { return TimeElement(s, v.Lang, v.Zone) }

// Bound formats an end of a period. It leaves out a time that is the first or last second of a day in the service's
// time zone or UTC.
func (v *Page) Bound(s string) template.HTML {
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		for _, t := range []time.Time{t.In(v.Zone), t.UTC()} {
			if hour := t.Format("150405"); hour == "000000" || hour == "235959" {
				return TimeElement(t.Format(time.DateOnly), v.Lang, v.Zone)
			}
		}
	}
	return TimeElement(s, v.Lang, v.Zone)
}

// Day formats a date in the language of the page, as text.
func (v *Page) Day(s string) string {
	text, _ := DateText(s, v.Lang, v.Zone)
	return text
}

// IsDay reports whether a text is a day, such as 2024-01-31.
func IsDay(s string) bool {
	_, err := time.Parse(time.DateOnly, s)
	return err == nil
}
