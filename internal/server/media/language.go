package media

import (
	"net/url"
	"strconv"
	"strings"
)

// Language returns nb, nn or en: lang overrides Accept-Language, and the default is nb (RFC 4647, 3.4).
func Language(lang string, accept []string) string {
	if l, ok := LanguageOf(lang); ok {
		return l
	}
	best, bestQ := "nb", 0
	n := 0
	for _, v := range accept {
		for e := range strings.SplitSeq(v, ",") {
			if n++; n > maxAccept {
				return best
			}
			tag, rest, _ := strings.Cut(e, ";")
			q := 1000
			if s, ok := strings.CutPrefix(strings.TrimSpace(rest), "q="); ok {
				x, err := strconv.ParseFloat(s, 64)
				if err != nil || !(x >= 0 && x <= 1) {
					continue
				}
				q = int(x * 1000)
			}
			if l, ok := LanguageOf(strings.TrimSpace(tag)); ok && q > bestQ {
				best, bestQ = l, q
			}
		}
	}
	return best
}

// LanguageOf returns the language of a tag (RFC 5646): nb, nn or en; ok is false for others.
func LanguageOf(tag string) (string, bool) {
	primary, _, _ := strings.Cut(strings.ToLower(strings.ReplaceAll(tag, "_", "-")), "-")
	switch primary {
	case "nb", "no":
		return "nb", true
	case "nn", "en":
		return primary, true
	}
	return "", false
}

// Requested returns the parameter lang of an address. It does not parse queries that cannot contain it.
func Requested(u *url.URL) string {
	for part := range strings.SplitSeq(u.RawQuery, "&") {
		if name, _, _ := strings.Cut(part, "="); name == "lang" || strings.Contains(name, "%") {
			return u.Query().Get("lang")
		}
	}
	return ""
}
