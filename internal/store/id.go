package store

import (
	"regexp"
	"strconv"
	"strings"
)

// A feature id of several columns is its parts joined by ";". Inside a part, ~ is escaped as ~0 and ; as ~1, as in JSON
// Pointers (RFC 6901, 3).
var (
	escapePart   = strings.NewReplacer("~", "~0", ";", "~1")
	unescapePart = strings.NewReplacer("~1", ";", "~0", "~")
	strayEscape  = regexp.MustCompile(`~([^01]|$)`)
)

// JoinID returns the feature id of several parts, each int64 or string.
func JoinID(parts []any) string {
	var b strings.Builder
	for i, p := range parts {
		if i > 0 {
			b.WriteByte(';')
		}
		switch x := p.(type) {
		case int64:
			b.WriteString(strconv.FormatInt(x, 10))
		case string:
			b.WriteString(escapePart.Replace(x))
		}
	}
	return b.String()
}

// SplitID returns the parts of a feature id, the reverse of JoinID: int64 where integers is true, else string. ok is
// false if id is not an id that JoinID returns for such parts.
func SplitID(id string, integers []bool) ([]any, bool) {
	texts := strings.Split(id, ";")
	if len(texts) != len(integers) || strayEscape.MatchString(id) {
		return nil, false
	}
	parts := make([]any, len(texts))
	for i, t := range texts {
		if !integers[i] {
			parts[i] = unescapePart.Replace(t)
			continue
		}
		n, err := strconv.ParseInt(t, 10, 64)
		if err != nil || strconv.FormatInt(n, 10) != t {
			return nil, false
		}
		parts[i] = n
	}
	return parts, true
}
