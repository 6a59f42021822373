package official

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"

	"grense/internal/ingest"
)

// Limits of the reader of XML. Real places have some hundred elements at a depth of ten.
const (
	maxXMLDepth      = 64
	maxXMLToken      = 16 << 20 // bytes of one tag, or of one text between tags
	maxXMLAttributes = 64       // of one element
	maxXMLNames      = 10_000   // different names of elements in a file
	maxXMLSpace      = 2000     // bytes of the URI of a namespace
)

// An xmlScanner reads XML 1.0 with namespaces, one tag or text after the other. It knows no document types: neither they nor entities
// of their own are read. It is two to five times as fast as encoding/xml (BenchmarkScanner), whose answers it gives (a test compares them): a national file has 3.6 GB.
type xmlScanner struct {
	in     io.Reader
	buf    []byte
	at, to int // what is not read yet is buf[at:to]
	ended  bool
	line   int // of buf[at], from 1

	names  map[string]string // interned names of elements
	stack  []string          // names of open elements, as written
	spaces []xmlSpace        // innermost last
	empty  bool              // the tag read last closes itself
	begun  bool              // a comment, an instruction or a tag was read
	rooted bool
	scrap  []byte

	// The token read last. Bytes are valid until the next one.
	kind  xmlKind
	space string // namespace of the element
	local string
	attrs []xmlAttr
	text  []byte
	from  int // line of its first byte
}

type xmlKind uint8

const (
	xmlStart xmlKind = iota
	xmlEnd
	xmlText
	xmlDone
)

type xmlSpace struct {
	prefix, uri string
	depth       int
}

type xmlAttr struct {
	name  []byte // as written
	value []byte
}

// xmlError is a fault of the XML itself.
type xmlError struct {
	line   int
	reason string
}

func (e *xmlError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.reason) }

func newXMLScanner(in io.Reader) *xmlScanner {
	return &xmlScanner{in: in, buf: make([]byte, 256<<10), line: 1, names: map[string]string{}, spaces: []xmlSpace{{"xml", "http://www.w3.org/XML/1998/namespace", 0}}}
}

func (s *xmlScanner) fail(format string, a ...any) error {
	return &xmlError{s.line, fmt.Sprintf(format, a...)}
}

// more reads on; false at the end.
func (s *xmlScanner) more() (bool, error) {
	if s.ended {
		return false, nil
	}
	if s.at > 0 {
		copy(s.buf, s.buf[s.at:s.to])
		s.at, s.to = 0, s.to-s.at
	}
	if s.to == len(s.buf) {
		if s.to >= maxXMLToken {
			return false, s.fail("a tag or a text of more than %d MB", maxXMLToken>>20)
		}
		s.buf = append(s.buf, make([]byte, len(s.buf))...)
	}
	for range 100 {
		n, err := s.in.Read(s.buf[s.to:])
		s.to += n
		switch {
		case errors.Is(err, io.EOF):
			s.ended = true
			return n > 0, nil
		case err != nil:
			return false, err
		case n > 0:
			return true, nil
		}
	}
	return false, io.ErrNoProgress
}

// find returns the index of mark after skip bytes of what is not read yet; -1 when the file ends before.
func (s *xmlScanner) find(mark string, skip int) (int, error) {
	for {
		if i := bytes.Index(s.buf[min(s.at+skip, s.to):s.to], []byte(mark)); i >= 0 {
			return skip + i, nil
		}
		skip = max(skip, s.to-s.at-len(mark)+1)
		if ok, err := s.more(); err != nil || !ok {
			return -1, err
		}
	}
}

// take gives the next n bytes and counts their lines.
func (s *xmlScanner) take(n int) []byte {
	b := s.buf[s.at : s.at+n]
	s.at += n
	s.line += bytes.Count(b, []byte("\n"))
	return b
}

// next reads one token.
func (s *xmlScanner) next() error {
	if s.empty {
		s.empty = false
		return s.close()
	}
	for {
		if s.at == s.to {
			if ok, err := s.more(); err != nil || !ok {
				return s.finish(err)
			}
		}
		if s.buf[s.at] != '<' {
			if done, err := s.readText(); err != nil || done {
				return err
			}
			continue
		}
		for s.to-s.at < 9 { // <![CDATA[
			if ok, err := s.more(); err != nil {
				return err
			} else if !ok {
				break
			}
		}
		rest := s.buf[s.at:s.to]
		switch {
		case bytes.HasPrefix(rest, []byte("<!--")):
			if err := s.comment(); err != nil {
				return err
			}
		case bytes.HasPrefix(rest, []byte("<![CDATA[")):
			return s.cdata()
		case bytes.HasPrefix(rest, []byte("<!")):
			return s.fail("a document type (DOCTYPE) or another declaration; none is read, for safety: remove it")
		case bytes.HasPrefix(rest, []byte("<?")):
			if err := s.instruction(); err != nil {
				return err
			}
		default:
			return s.tag()
		}
	}
}

// finish ends the file.
func (s *xmlScanner) finish(err error) error {
	switch {
	case err != nil:
		return err
	case len(s.stack) > 0:
		return s.fail("the file ends within <%s>; it is cut off", s.stack[len(s.stack)-1])
	case !s.rooted:
		return s.fail("the file holds no XML")
	}
	s.kind = xmlDone
	return nil
}

// readText reads up to the next tag; true when there is text to tell.
func (s *xmlScanner) readText() (bool, error) {
	n, err := s.find("<", 0)
	if err != nil {
		return false, err
	}
	if n < 0 {
		n = s.to - s.at
	}
	s.from = s.line
	first := s.line == 1 && !s.rooted
	if s.text, err = s.unescape(s.buf[s.at:s.at+n], false); err != nil {
		return false, err
	}
	s.take(n)
	if len(s.stack) > 0 {
		s.kind = xmlText
		return true, nil
	}
	if first {
		s.text = bytes.TrimPrefix(s.text, []byte("\ufeff"))
	}
	if len(bytes.Trim(s.text, " \t\r\n")) > 0 {
		return false, s.fail("text outside of the outermost element")
	}
	return false, nil
}

func (s *xmlScanner) comment() error {
	n, err := s.find("--", 4)
	if err != nil {
		return err
	}
	for n >= 0 && s.at+n+2 >= s.to {
		ok, err := s.more()
		if err != nil {
			return err
		}
		if !ok {
			n = -1
		}
	}
	if n < 0 || s.buf[s.at+n+2] != '>' {
		return s.fail("a comment that is not closed, or holds two hyphens")
	}
	if err := s.characters(s.buf[s.at : s.at+n]); err != nil {
		return err
	}
	s.begun = true
	s.take(n + 3)
	return nil
}

func (s *xmlScanner) cdata() error {
	n, err := s.find("]]>", 9)
	if err != nil {
		return err
	}
	if n < 0 || len(s.stack) == 0 {
		return s.fail("a CDATA section that is not closed, or outside of the outermost element")
	}
	s.from = s.line
	if err := s.characters(s.buf[s.at : s.at+n]); err != nil {
		return err
	}
	s.kind, s.text = xmlText, s.take(n + 3)[9:n]
	return nil
}

// instruction skips a processing instruction. The one that declares the encoding switches to it.
func (s *xmlScanner) instruction() error {
	n, err := s.find("?>", 2)
	if err != nil {
		return err
	}
	if n < 0 {
		return s.fail("a processing instruction that is not closed")
	}
	first := s.line == 1 && !s.begun
	s.begun = true
	if err := s.characters(s.buf[s.at : s.at+n]); err != nil {
		return err
	}
	b := s.take(n + 2)
	target, _, _ := strings.Cut(strings.TrimSuffix(string(b[2:]), "?>"), " ")
	target = strings.TrimRight(target, "\t\r\n")
	if target == "" || !isXMLName([]byte(target)) {
		return s.fail("a processing instruction without a name")
	}
	if target != "xml" {
		return nil
	}
	if !first {
		return s.fail("an XML declaration that is not at the beginning")
	}
	return s.declared(string(b))
}

// declared reads what follows the XML declaration in the encoding that it names.
func (s *xmlScanner) declared(text string) error {
	ok := strings.Contains(text, "encoding")
	if v := pseudo(text, "version"); v != "1.0" {
		return s.fail("XML of version %q; 1.0 is read", v)
	}
	if !ok {
		return nil
	}
	name := strings.ToLower(pseudo(text, "encoding"))
	var table *charmap.Charmap
	switch name {
	case "utf-8", "us-ascii":
		return nil
	case "iso-8859-1":
		table = charmap.ISO8859_1
	case "iso-8859-15":
		table = charmap.ISO8859_15
	case "windows-1252":
		table = charmap.Windows1252
	default:
		return s.fail("text in the encoding %q is not read; save the file as UTF-8", name)
	}
	s.in = table.NewDecoder().Reader(io.MultiReader(bytes.NewReader(bytes.Clone(s.buf[s.at:s.to])), s.in))
	s.at, s.to = 0, 0
	s.ended = false
	return nil
}

// pseudo returns the value of a pseudo-attribute of the XML declaration; "" when it is not there.
func pseudo(text, name string) string {
	_, rest, ok := strings.Cut(text, name)
	rest = strings.TrimLeft(rest, " \t\r\n")
	if !ok || len(rest) < 2 || rest[0] != '=' {
		return ""
	}
	rest = strings.TrimLeft(rest[1:], " \t\r\n")
	if rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return ""
	}
	value, _, ok := strings.Cut(rest[1:], rest[:1])
	if !ok {
		return ""
	}
	return value
}

// tag reads a start or end tag.
func (s *xmlScanner) tag() error {
	s.from = s.line
	n, quote := 0, byte(0)
	for { // a > within an attribute's value does not end the tag
		end, err := s.find(">", n+1)
		if err != nil {
			return err
		}
		if end < 0 {
			return s.fail("the file ends within a tag; it is cut off")
		}
		quote = openQuote(s.buf[s.at+n+1:s.at+end], quote)
		if n = end; quote == 0 {
			break
		}
	}
	if err := s.characters(s.buf[s.at : s.at+n]); err != nil {
		return err
	}
	s.begun = true
	b := s.take(n + 1)[1:n]
	if len(b) > 0 && b[0] == '/' {
		name := bytes.TrimRight(b[1:], " \t\r\n")
		if len(s.stack) == 0 || s.stack[len(s.stack)-1] != string(name) {
			want := "nothing is open"
			if len(s.stack) > 0 {
				want = "<" + s.stack[len(s.stack)-1] + "> is open"
			}
			return s.fail("the end tag </%s>, but %s", short(name), want)
		}
		return s.close()
	}
	if s.empty = len(b) > 0 && b[len(b)-1] == '/'; s.empty {
		b = b[:len(b)-1]
	}
	return s.open(b)
}

// openQuote returns the quotation mark that is open after b, when quote was open before; 0 for none.
func openQuote(b []byte, quote byte) byte {
	for _, c := range b {
		switch {
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case c == quote:
			quote = 0
		}
	}
	return quote
}

// open reads the inside of a start tag.
func (s *xmlScanner) open(b []byte) error {
	n := bytes.IndexAny(b, " \t\r\n")
	if n < 0 {
		n = len(b)
	}
	name, ok := s.names[string(b[:n])]
	if !ok {
		if !isXMLName(b[:n]) {
			return s.fail("<%s is not a tag; a < in text is written &lt;", short(b[:n]))
		}
		if len(s.names) >= maxXMLNames {
			return s.fail("more than %d different elements", maxXMLNames)
		}
		name = string(b[:n])
		s.names[name] = name
	}
	switch {
	case len(s.stack) == 0 && s.rooted:
		return s.fail("a second outermost element <%s>", name)
	case len(s.stack) == maxXMLDepth:
		return s.fail("more than %d elements in each other", maxXMLDepth)
	}
	s.rooted = true
	s.stack = append(s.stack, name)
	if err := s.attributes(b[n:]); err != nil {
		return err
	}
	s.kind = xmlStart
	return s.resolve(name)
}

// attributes reads the attributes of a start tag and enters the namespaces that they declare.
func (s *xmlScanner) attributes(b []byte) error {
	s.attrs, s.scrap = s.attrs[:0], s.scrap[:0]
	for {
		spaced := len(b) > 0
		b = bytes.TrimLeft(b, " \t\r\n")
		if len(b) == 0 {
			break
		}
		eq := bytes.IndexByte(b, '=')
		if eq < 0 || !spaced {
			return s.fail("%q is not an attribute", short(b))
		}
		name := bytes.TrimRight(b[:eq], " \t\r\n")
		b = bytes.TrimLeft(b[eq+1:], " \t\r\n")
		if !isXMLName(name) || len(b) == 0 || b[0] != '"' && b[0] != '\'' {
			return s.fail("the attribute %q has no value in quotation marks", short(name))
		}
		end := bytes.IndexByte(b[1:], b[0])
		if end < 0 {
			return s.fail("the attribute %q has no value in quotation marks", short(name))
		}
		raw := b[1 : 1+end]
		if b = b[end+2:]; len(b) > 0 && !isXMLSpace(b[0]) {
			return s.fail("no space after the attribute %q", short(name))
		}
		if bytes.IndexByte(raw, '<') >= 0 {
			return s.fail("a < in the attribute %q", short(name))
		}
		value, err := s.unescape(raw, true)
		if err != nil {
			return err
		}
		for _, a := range s.attrs {
			if bytes.Equal(a.name, name) {
				return s.fail("the attribute %q occurs twice", short(name))
			}
		}
		if len(s.attrs) == maxXMLAttributes {
			return s.fail("more than %d attributes", maxXMLAttributes)
		}
		s.attrs = append(s.attrs, xmlAttr{name, value})
	}
	return s.declare()
}

// declare enters the namespaces that the attributes declare, and sees that every prefix of an attribute has one.
func (s *xmlScanner) declare() error {
	for _, a := range s.attrs {
		prefix, isSpace := bytes.CutPrefix(a.name, []byte("xmlns"))
		if !isSpace || len(prefix) > 0 && prefix[0] != ':' {
			continue
		}
		if len(prefix) > 0 {
			prefix = prefix[1:]
		}
		if len(prefix) > 0 && len(a.value) == 0 {
			return s.fail("the prefix %q is bound to nothing", short(prefix))
		}
		if len(a.value) > maxXMLSpace {
			return s.fail("a namespace of more than %d bytes", maxXMLSpace)
		}
		s.spaces = append(s.spaces, xmlSpace{string(prefix), string(a.value), len(s.stack)})
	}
	for _, a := range s.attrs {
		if prefix, _, ok := bytes.Cut(a.name, []byte(":")); ok && string(prefix) != "xmlns" {
			if _, bound := s.bound(string(prefix)); !bound {
				return s.fail("the prefix %q is not bound to a namespace", short(prefix))
			}
		}
	}
	return nil
}

// bound returns the namespace of a prefix.
func (s *xmlScanner) bound(prefix string) (string, bool) {
	for i := len(s.spaces) - 1; i >= 0; i-- {
		if s.spaces[i].prefix == prefix {
			return s.spaces[i].uri, true
		}
	}
	return "", prefix == ""
}

// resolve splits the name of an element.
func (s *xmlScanner) resolve(name string) error {
	prefix, local, ok := strings.Cut(name, ":")
	if !ok {
		prefix, local = "", name
	}
	if local == "" || ok && (prefix == "" || strings.Contains(local, ":")) {
		return s.fail("<%s> is not a name with a prefix", name)
	}
	uri, bound := s.bound(prefix)
	if !bound {
		return s.fail("the prefix %q is not bound to a namespace", prefix)
	}
	s.space, s.local = uri, local
	return nil
}

// close ends the innermost element.
func (s *xmlScanner) close() error {
	name := s.stack[len(s.stack)-1]
	s.kind = xmlEnd
	err := s.resolve(name)
	for n := len(s.spaces); n > 0 && s.spaces[n-1].depth == len(s.stack); n-- {
		s.spaces = s.spaces[:n-1]
	}
	s.stack = s.stack[:len(s.stack)-1]
	return err
}

// characters refuses what XML 1.0 (2.2) forbids. b begins at buf[at], so that a fault has its line.
func (s *xmlScanner) characters(b []byte) error {
	ascii := true
	for i, c := range b {
		if c < 0x20 && c != '\t' && c != '\n' && c != '\r' {
			s.line += bytes.Count(b[:i], []byte("\n"))
			return s.fail("the control character U+%04X", c)
		}
		ascii = ascii && c < utf8.RuneSelf
	}
	if ascii {
		return nil
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			s.line += bytes.Count(b[:i], []byte("\n"))
			return s.fail("the text is not UTF-8; save the file as UTF-8")
		}
		if r == 0xFFFE || r == 0xFFFF {
			return s.fail("the character U+%04X", r)
		}
		i += n
	}
	return nil
}

// unescape checks text and resolves its references; the result is b itself where there are none. Values of attributes are kept until
// the next token.
func (s *xmlScanner) unescape(b []byte, attribute bool) ([]byte, error) {
	if !attribute {
		if err := s.characters(b); err != nil {
			return nil, err
		}
		if bytes.Contains(b, []byte("]]>")) {
			return nil, s.fail("]]> in text")
		}
		s.scrap = s.scrap[:0]
	}
	if bytes.IndexByte(b, '&') < 0 {
		return b, nil
	}
	start, whole := len(s.scrap), b
	bad := func(format string, a ...any) error {
		if !attribute {
			s.line += bytes.Count(whole[:len(whole)-len(b)], []byte("\n"))
		}
		return s.fail(format, a...)
	}
	for {
		i := bytes.IndexByte(b, '&')
		if i < 0 {
			s.scrap = append(s.scrap, b...)
			return s.scrap[start:len(s.scrap):len(s.scrap)], nil
		}
		s.scrap = append(s.scrap, b[:i]...)
		b = b[i:]
		end := bytes.IndexByte(b[:min(len(b), 13)], ';')
		if end < 0 {
			return nil, bad("a & that begins no reference; it is written &amp;")
		}
		r, ok := reference(string(b[1:end]))
		if !ok {
			return nil, bad("the entity &%s; is not known", short(b[1:end]))
		}
		s.scrap = utf8.AppendRune(s.scrap, r)
		b = b[end+1:]
	}
}

// reference resolves a character reference or one of the five entities of XML.
func reference(name string) (rune, bool) {
	switch name {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	digits, ok := strings.CutPrefix(name, "#")
	base := 10
	if hex, is := strings.CutPrefix(digits, "x"); is {
		digits, base = hex, 16
	}
	if !ok || digits == "" {
		return 0, false
	}
	n := 0
	for _, c := range []byte(digits) {
		if c >= 'A' && c <= 'F' {
			c |= 0x20
		}
		d := strings.IndexByte("0123456789abcdef", c)
		if d < 0 || d >= base {
			return 0, false
		}
		if n = n*base + d; n > utf8.MaxRune {
			return 0, false
		}
	}
	legal := n == '\t' || n == '\n' || n == '\r' || n >= 0x20 && n < 0xD800 || n >= 0xE000 && n <= 0xFFFD || n >= 0x10000
	return rune(n), legal
}

func isXMLSpace(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// isXMLName takes letters, digits and . - _ : with a letter, _ or : first; of other characters than ASCII it takes all.
func isXMLName(b []byte) bool {
	for i, c := range b {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == ':' || c >= utf8.RuneSelf
		if !letter && (i == 0 || c != '.' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return len(b) > 0 && len(b) <= 1000
}

// short is text for a message, on one line of a terminal.
func short(b []byte) string {
	s := strings.ToValidUTF8(string(b), "?")
	if len(b) > 60 {
		s = strings.ToValidUTF8(string(b[:60]), "") + "…"
	}
	return ingest.Printable(s)
}
