package output

import (
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"grense/internal/store"
)

// NoXML is a loss of the formats that are XML.
const NoXML = "characters that XML does not allow are U+FFFD"

const XMLHead = `<?xml version="1.0" encoding="UTF-8"?>` + "\n"

// AppendXML appends character data for elements and attributes. Characters that XML 1.0 forbids (2.2) become U+FFFD.
func AppendXML(b []byte, s string) []byte {
	for _, r := range s {
		switch {
		case r == '<':
			b = append(b, "&lt;"...)
		case r == '>':
			b = append(b, "&gt;"...)
		case r == '&':
			b = append(b, "&amp;"...)
		case r == '"':
			b = append(b, "&quot;"...)
		case r == '\n', r == '\r', r == '\t':
			b = append(strconv.AppendInt(append(b, "&#"...), int64(r), 10), ';')
		case r < ' ', r == 0xFFFE, r == 0xFFFF:
			b = append(b, "\uFFFD"...)
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return b
}

// AppendXMLValue appends a value in the notation of XML Schema.
func AppendXMLValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case string:
		return AppendXML(b, v)
	case store.JSON:
		return AppendXML(b, string(v))
	case int64:
		return strconv.AppendInt(b, v, 10)
	case float64:
		return strconv.AppendFloat(b, v, 'g', -1, 64) // NaN and Inf as in xs:double, except the sign of +Inf
	case bool:
		return strconv.AppendBool(b, v)
	}
	return b
}

// XMLName converts a text to an NCName (Namespaces in XML 1.0, 3). Other characters become _xHHHH_, as SQL/XML maps
// names (ISO 9075-14, 9.1); so does an underscore that would read as the beginning of such an escape.
// Different texts have different names.
func XMLName(s string) string {
	var b strings.Builder
	for i, r := range s {
		// ª, º and µ are letters, but not in XML
		start := r == '_' && !escaped.MatchString(s[i:]) || unicode.IsLetter(r) && (r < 0x80 || r >= 0xC0)
		if !start && (i == 0 || !(r == '-' || r == '.' || r >= '0' && r <= '9')) || r == utf8.RuneError || r > 0xEFFFF {
			b.WriteString("_x" + strings.ToUpper(strconv.FormatInt(0x1000000+int64(r), 16)[width(r):]) + "_")
			continue
		}
		b.WriteRune(r)
	}
	if b.Len() == 0 {
		return "_"
	}
	return b.String()
}

// escaped matches the escape of a character by XMLName.
var escaped = regexp.MustCompile(`^_x([0-9A-F]{4}|[0-9A-F]{6})_`)

// width returns where the digits of a character begin in a number of seven digits: it has four or six of them.
func width(r rune) int {
	if r > 0xFFFF {
		return 1
	}
	return 3
}

// AppendNumber appends a number without an exponent, in the fewest digits that parse to it.
func AppendNumber(b []byte, v float64) []byte { return strconv.AppendFloat(b, v, 'f', -1, 64) }
