package page

import "strings"

// IndentXML puts each element of an XML document on a line, and an element with text only on a single line. It changes
// only white space between tags. It returns texts with comments or CDATA, and texts that are not XML, unchanged.
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
