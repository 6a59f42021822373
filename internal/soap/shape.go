package soap

import (
	"strings"
	"sync/atomic"

	"grense/api/placename"
)

// A program writes all its messages alike but for the texts in them. So the last messages without a header are kept as shapes: what stands around the texts of elements without children. A message of a shape
// is read without parsing it; parse would give the same.

const (
	shapesKept    = 8
	shapeElements = 256 // of the body, at most
	shapeTexts    = 64  // at most
)

// shape is a message that was parsed without a failure. It is immutable.
type shape struct {
	version  version
	pieces   []string // around the texts: one more than they
	texts    []int    // whose they are: numbers of elements, in the order of their start tags
	child    *placename.Element
	elements int
}

// shapes are those that were kept last. The zero value is empty.
type shapes struct {
	kept [shapesKept]atomic.Pointer[shape]
	next atomic.Uint32
}

// leaf is an element without children and where its text stands in the message, as it is.
type leaf struct {
	element    *placename.Element
	start, end int
}

// read reads a message of a shape; nil for any other.
func (s *shapes) read(body string, v version, limits Limits) *envelope {
	for i := range s.kept {
		if x := s.kept[i].Load(); x != nil && x.version == v {
			if child := x.read(body, limits); child != nil {
				return &envelope{version: v, child: child, part: partBody}
			}
		}
	}
	return nil
}

// keep keeps the shape of a message that was parsed, in place of the oldest one.
func (s *shapes) keep(body string, e *envelope, leaves []leaf) {
	if len(e.headers) > 0 || e.child == nil || len(leaves) > shapeTexts {
		return
	}
	x := &shape{version: e.version, child: e.child}
	at := 0
	for _, l := range leaves {
		x.pieces = append(x.pieces, body[at:l.start])
		at = l.end
	}
	x.pieces = append(x.pieces, body[at:])
	x.number(e.child, leaves)
	if x.elements > shapeElements || len(x.texts) != len(leaves) {
		return
	}
	s.kept[(s.next.Add(1)-1)%shapesKept].Store(x)
}

// number counts the elements, and notes which of them have the texts.
func (x *shape) number(e *placename.Element, leaves []leaf) {
	if n := len(x.texts); n < len(leaves) && leaves[n].element == e {
		x.texts = append(x.texts, x.elements)
	}
	x.elements++
	for _, c := range e.Children {
		x.number(c, leaves)
	}
}

// read returns the child of the body; nil where the message has another shape.
func (x *shape) read(body string, limits Limits) *placename.Element {
	var room [shapeTexts]string
	rest, ok := strings.CutPrefix(body, x.pieces[0])
	for i, piece := range x.pieces[1:] {
		n := strings.IndexByte(rest, '<')
		if !ok || n < 0 || n > limits.Text || !plainText(rest[:n]) {
			return nil
		}
		room[i] = rest[:n]
		rest, ok = strings.CutPrefix(rest[n:], piece)
	}
	if !ok || rest != "" {
		return nil
	}
	c := shapeCopy{texts: room[:len(x.texts)], of: x.texts, elements: make([]placename.Element, x.elements), children: make([]*placename.Element, 0, x.elements)}
	return c.copy(x.child)
}

// plainText reports whether a text is what it says: without references, and without what XML forbids or reads otherwise.
func plainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '&' || c == '<' || c == '>' || c == 0xEF { // which U+FFFE and U+FFFF begin with
			return false
		}
	}
	return true
}

// shapeCopy copies elements with other texts.
type shapeCopy struct {
	texts    []string
	of       []int
	elements []placename.Element
	children []*placename.Element
	done     int
}

func (c *shapeCopy) copy(e *placename.Element) *placename.Element {
	to := &c.elements[c.done]
	*to = *e
	if len(c.of) > 0 && c.of[0] == c.done {
		to.Text, c.texts, c.of = c.texts[0], c.texts[1:], c.of[1:]
	}
	c.done++
	if n := len(e.Children); n > 0 {
		at := len(c.children)
		c.children = c.children[:at+n]
		to.Children = c.children[at : at+n : at+n]
		for i, x := range e.Children {
			to.Children[i] = c.copy(x)
		}
	}
	return to
}
