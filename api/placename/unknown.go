package placename

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// stray records the fault for element c, which is not one of known, the elements allowed in its place.
func (d *decoder) stray(c *Element, known []element) {
	if len(d.faults) == maxFaults || d.attachment(c) {
		return
	}
	right, twin := element{}, element{} // one with nearly the same name; one with the same name
	for _, k := range known {
		switch {
		case k.name == c.Name:
			twin = k
		case right.schema == nil && nearly(c.Name, k.name), strings.EqualFold(c.Name, k.name):
			right = k
		}
	}
	name := shortened(c.Name)
	switch {
	case twin.schema != nil:
		d.faultRight(name, "", WrongNamespace, d.base+twin.schema.Path)
	case right.schema != nil && c.Space != d.base+right.schema.Path:
		d.faultRight(name, "", Misspelt, right.name+" ("+d.base+right.schema.Path+")")
	case right.schema != nil:
		d.faultRight(name, "", Misspelt, right.name)
	case d.unknown == RefuseUnknown:
		d.faultRight(name, "", UnknownElement, names(known))
	}
}

// attachment refuses element c if it refers to a part of a multipart message (XML-binary Optimized Packaging, 2.1), and
// reports whether it does.
func (d *decoder) attachment(c *Element) bool {
	if c.Space != "http://www.w3.org/2004/08/xop/include" {
		return false
	}
	d.fault(shortened(c.Name), "", Attachment)
	return true
}

// text refuses character data in c, which may contain only the elements known. It returns false if there is any.
func (d *decoder) text(c *Element, known []element) bool {
	text := strings.Trim(c.Text, space)
	if text == "" {
		return true
	}
	d.faultRight("", text, HasText, names(known))
	return false
}

// faultRight records a fault with a correction, unless the same fault has been recorded.
func (d *decoder) faultRight(child, value string, reason Reason, right string) {
	if len(d.faults) == maxFaults {
		return
	}
	d.fault(child, value, reason)
	last := &d.faults[len(d.faults)-1]
	last.Right = right
	if slices.Contains(d.faults[:len(d.faults)-1], *last) {
		d.faults = d.faults[:len(d.faults)-1]
	}
}

// names returns the first forty names of known.
func names(known []element) string {
	list := make([]string, 0, len(known))
	for _, k := range known[:min(len(known), 40)] {
		list = append(list, k.name)
	}
	return strings.Join(list, ", ")
}

// shortened returns the first 64 characters of a name sent by the client.
func shortened(name string) string {
	if utf8.RuneCountInString(name) > 64 {
		return string([]rune(name)[:64]) + "…"
	}
	return name
}

// nearly reports whether two names, ignoring case, differ by one letter: replaced, missing, added, or swapped with its
// neighbour.
func nearly(sent, name string) bool {
	a, b := []rune(sent), []rune(name)
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 || len(a) < 3 {
		return false
	}
	i := 0
	for i < len(a) && same(a[i], b[i]) {
		i++
	}
	if len(a) < len(b) {
		return sameAll(a[i:], b[i+1:])
	}
	a, b = a[i:], b[i:]
	return len(a) == 0 || sameAll(a[1:], b[1:]) ||
		len(a) > 1 && same(a[0], b[1]) && same(a[1], b[0]) && sameAll(a[2:], b[2:])
}

func same(a, b rune) bool { return unicode.ToLower(a) == unicode.ToLower(b) }

func sameAll(a, b []rune) bool {
	for i := range a {
		if !same(a[i], b[i]) {
			return false
		}
	}
	return true
}
