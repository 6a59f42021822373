package page

import "strings"

// IndentXML writes an XML document for people: each element on a line of its own, one with text only on one line. It
// adds and drops white space between tags and nothing else, and leaves alone what has comments or CDATA sections, and
// what is no XML.
func IndentXML(s string) string {
	if strings.Contains(s, "<!") || !strings.HasPrefix(strings.TrimSpace(s), "<") {
		return s
	}
	var b strings.Builder
	depth := 0
	opened := false // the last tag was a start tag
	for s != "" {
		text, rest, ok := strings.Cut(s, "<")
		if !ok {
			b.WriteString(strings.TrimRight(s, " \t\r\n"))
			break
		}
		tag, after, ok := strings.Cut(rest, ">")
		if !ok {
			b.WriteString(s)
			break
		}
		s = after
		blank := strings.TrimSpace(text) == ""
		if !blank {
			b.WriteString(text)
		}
		closing := strings.HasPrefix(tag, "/")
		if closing {
			depth = max(depth-1, 0)
		}
		if blank && b.Len() > 0 && !(closing && opened) {
			b.WriteString("\n" + strings.Repeat("  ", depth))
		}
		b.WriteString("<" + tag + ">")
		opened = !closing && !strings.HasSuffix(tag, "/") && !strings.HasPrefix(tag, "?")
		if opened {
			depth++
		}
	}
	return b.String()
}
