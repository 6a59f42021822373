package soap

import (
	"bytes"
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"

	"grense/api/placename"
)

const (
	xmlNS   = "http://www.w3.org/XML/1998/namespace"
	xmlnsNS = "http://www.w3.org/2000/xmlns/"
)

// node is an open element.
type node struct {
	raw     xml.Name // prefix and local name, as the end tag must repeat them
	element *placename.Element
	text    []byte
	marks   int // length of scope.order before the element's declarations
}

// parser reads one document into a message. It keeps only the part of the tree that the rules of envelopes need.
type parser struct {
	limits Limits
	raw    []byte
	xml    *xml.Decoder
	scope  scope
	stack  []node
	nodes  int
	rooted bool // the root element was read
	env    envelope
}

// parse reads a message. On failure, the envelope contains what was read.
func parse(b []byte, v version, limits Limits) (*envelope, *failure) {
	p := &parser{limits: limits, raw: b, xml: xml.NewDecoder(bytes.NewReader(b)), env: envelope{version: v}}
	// b has been converted to UTF-8, whatever it declares
	p.xml.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	p.scope.uris = map[string][]string{}
	if f := p.run(); f != nil {
		// SOAP 1.1, 4.4: no detail for faults about the header
		f.detail = p.env.child != nil && f.code != codeUnderstand
		return &p.env, f
	}
	return &p.env, nil
}

func (p *parser) run() *failure {
	for first := true; ; first = false {
		start := p.xml.InputOffset()
		token, err := p.xml.RawToken()
		if err == io.EOF {
			break
		}
		if err != nil && strings.Contains(err.Error(), "unsupported version") {
			return bare(textVersion10).because(err)
		}
		if err != nil {
			return bare(textSyntax).because(err)
		}
		var f *failure
		switch token.(type) {
		case xml.StartElement, xml.CharData:
			if surrogate(p.raw[start:p.xml.InputOffset()]) {
				return bare(textSyntax)
			}
		}
		switch t := token.(type) {
		case xml.StartElement:
			f = p.start(t)
		case xml.EndElement:
			f = p.end(t)
		case xml.CharData:
			f = p.chars(t)
		case xml.Comment:
			f = p.count()
		case xml.ProcInst:
			switch {
			case t.Target == "xml" && !p.rooted && p.nodes == 0 && start > 0:
				f = bare(textDeclaration)
			case !first || start != 0 || t.Target != "xml":
				f = bare(textInstruction)
			}
		case xml.Directive:
			f = bare(textDoctype)
		}
		if f != nil {
			return f
		}
	}
	if len(p.stack) > 0 || !p.rooted {
		return bare(textSyntax)
	}
	return p.env.finish()
}

// surrogate reports whether raw text contains a reference to half of a surrogate pair, which is not a character (XML
// 1.0, 2.2 and 4.1). encoding/xml would replace it by U+FFFD.
func surrogate(raw []byte) bool {
	if bytes.HasPrefix(raw, []byte("<![CDATA[")) {
		return false
	}
	for {
		_, after, ok := bytes.Cut(raw, []byte("&#"))
		if !ok {
			return false
		}
		digits, rest, _ := bytes.Cut(after, []byte(";"))
		number, base := string(digits), 10
		if hex, ok := strings.CutPrefix(number, "x"); ok {
			number, base = hex, 16
		}
		if n, err := strconv.ParseUint(number, base, 32); err == nil && utf16.IsSurrogate(rune(n)) {
			return true
		}
		raw = rest
	}
}

// count counts a node towards the limit.
func (p *parser) count() *failure {
	if p.nodes++; p.nodes > p.limits.Nodes {
		return limit(textNodes, int64(p.limits.Nodes))
	}
	return nil
}

func (p *parser) start(t xml.StartElement) *failure {
	if f := p.count(); f != nil {
		return f
	}
	switch {
	case len(p.stack) == 0 && p.rooted:
		return bare(textSecondRoot)
	case len(p.stack) == p.limits.Depth:
		return limit(textDepth, int64(p.limits.Depth))
	case len(t.Attr) > p.limits.Attributes:
		return limit(textAttributes, int64(p.limits.Attributes))
	}
	p.rooted = true
	n := node{raw: t.Name, marks: len(p.scope.order)}
	attrs, f := p.attributes(t.Attr)
	if f != nil {
		return f
	}
	space, ok := p.scope.resolve(t.Name, true)
	if !ok {
		return bare(textPrefix)
	}
	n.element = &placename.Element{Space: space, Name: t.Name.Local, Attributes: attributesOf(attrs)}
	if len(p.stack) > 0 {
		parent := p.stack[len(p.stack)-1].element
		parent.Children = append(parent.Children, n.element)
	}
	p.stack = append(p.stack, n)
	return p.env.enter(n.element, attrs, len(p.stack))
}

// attributes declares the namespaces in attrs and returns the others, resolved.
func (p *parser) attributes(attrs []xml.Attr) ([]xml.Attr, *failure) {
	for _, a := range attrs {
		if len(a.Value) > p.limits.Text {
			return nil, limit(textLength, int64(p.limits.Text))
		}
		if prefix, ok := declares(a.Name); ok && !p.scope.declare(prefix, a.Value) {
			return nil, bare(textNamespace)
		}
	}
	for i := range attrs { // neither raw nor resolved names may repeat (Namespaces in XML, 6.3)
		space, ok := p.scope.resolve(attrs[i].Name, false)
		if !ok {
			return nil, bare(textPrefix)
		}
		attrs[i].Name.Space = space
		for _, before := range attrs[:i] {
			if before.Name == attrs[i].Name {
				return nil, bare(textDuplicate)
			}
		}
	}
	return attrs, nil
}

// attributesOf returns the attributes of an element, without declarations of namespaces.
func attributesOf(attrs []xml.Attr) (list []placename.Attribute) {
	for _, a := range attrs {
		if a.Name.Space != xmlnsNS {
			list = append(list, placename.Attribute{Space: a.Name.Space, Name: a.Name.Local, Value: a.Value})
		}
	}
	return list
}

// declares reports whether an attribute declares a namespace, and for which prefix; "" is the default.
func declares(name xml.Name) (prefix string, ok bool) {
	if name.Space == "" && name.Local == "xmlns" {
		return "", true
	}
	return name.Local, name.Space == "xmlns"
}

func (p *parser) end(t xml.EndElement) *failure {
	if len(p.stack) == 0 || p.stack[len(p.stack)-1].raw != t.Name {
		return bare(textSyntax)
	}
	n := p.stack[len(p.stack)-1]
	n.element.Text = string(n.text)
	p.stack = p.stack[:len(p.stack)-1]
	p.scope.leave(n.marks)
	return nil
}

func (p *parser) chars(t xml.CharData) *failure {
	if len(p.stack) <= 2 { // outside the root, or directly in the envelope, header or body
		if strings.Trim(string(t), " \t\r\n") != "" {
			return bare(textStray)
		}
		return nil
	}
	n := &p.stack[len(p.stack)-1]
	if len(n.text)+len(t) > p.limits.Text {
		return limit(textLength, int64(p.limits.Text))
	}
	n.text = append(n.text, t...)
	return nil
}

// isTrue reports whether a boolean attribute is present and true.
func isTrue(attrs []xml.Attr, space, local string) bool {
	v := strings.Trim(value(attrs, space, local), " \t\r\n")
	return v == "true" || v == "1"
}

// value returns the value of an attribute; "" if it is absent.
func value(attrs []xml.Attr, space, local string) string {
	for _, a := range attrs {
		if a.Name.Space == space && a.Name.Local == local {
			return a.Value
		}
	}
	return ""
}

// scope holds the namespaces in effect. The time for a lookup does not depend on their number.
type scope struct {
	uris  map[string][]string // by prefix, the innermost last
	order []string            // prefixes in the order of declaration
}

// declare binds prefix until leave; false if Namespaces in XML 1.0 forbids it (clauses 3 and 5).
func (s *scope) declare(prefix, uri string) bool {
	switch {
	case prefix == "xmlns",
		uri == xmlnsNS,
		(prefix == "xml") != (uri == xmlNS),
		prefix != "" && uri == "",
		strings.Contains(prefix, ":"):
		return false
	}
	s.uris[prefix] = append(s.uris[prefix], uri)
	s.order = append(s.order, prefix)
	return true
}

// leave undoes all declarations after the first n.
func (s *scope) leave(n int) {
	for _, prefix := range s.order[n:] {
		s.uris[prefix] = s.uris[prefix][:len(s.uris[prefix])-1]
	}
	s.order = s.order[:n]
}

// resolve returns the namespace of a raw name; false if its prefix is not bound, or it is not a name.
func (s *scope) resolve(name xml.Name, element bool) (string, bool) {
	if strings.Contains(name.Local, ":") {
		return "", false
	}
	switch {
	case name.Space == "xml":
		return xmlNS, true
	case !element && (name.Space == "xmlns" || name.Space == "" && name.Local == "xmlns"):
		return xmlnsNS, true
	case name.Space == "" && !element:
		return "", true
	}
	bound := s.uris[name.Space]
	if len(bound) == 0 {
		return "", name.Space == ""
	}
	return bound[len(bound)-1], true
}
