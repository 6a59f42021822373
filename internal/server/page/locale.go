package page

import "strconv"

// Locale is the language of texts for people.
type Locale struct{ Lang string } // nb, nn or en

// Text returns a message in the language.
func (l Locale) Text(name string, args ...any) string { return Text(l.Lang, name, args...) }

// Size formats a number of bytes in decimal units.
func (l Locale) Size(n int64) string {
	v, unit := float64(n), "B"
	for _, u := range [...]string{"kB", "MB", "GB"} {
		if v < 1000 {
			break
		}
		v, unit = v/1000, u
	}
	digits := 0
	if v < 10 && unit != "B" {
		digits = 1
	}
	return InDigits(strconv.FormatFloat(v, 'f', digits, 64), l.Lang) + "\u00a0" + unit
}
