package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// Bounds on one JSON text.
const (
	maxNesting = 64        // arrays and objects in each other
	maxToken   = 256 << 20 // bytes of one string, number or nested value
)

// syntaxError is a text that is not JSON (RFC 8259).
type syntaxError struct {
	at     place
	reason string
	limit  bool // it is too large
}

// tell is the reason with what the text is not, where it is not.
func (e *syntaxError) tell(not string) string {
	if e.limit {
		return e.reason
	}
	return not + e.reason
}

func (e *syntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.at.line, e.at.column, e.reason)
}

// jsonScanner reads JSON token by token from a stream, and knows the line. Nothing is kept but the token under way.
type jsonScanner struct {
	in        io.Reader
	buf       []byte
	pos, end  int
	base      int64 // offset in the stream of buf[0]
	line      int
	lineStart int64 // offset of the first byte of the line
	readErr   error
	tok       []byte // text of the last string or number, valid until the next
	depth     int
	memory    memory
	spent     int64 // of it, since begin
}

// begin starts a feature.
func (s *jsonScanner) begin() { s.spent = 0 }

// spend takes memory for the feature under way, in bytes.
func (s *jsonScanner) spend(n int) error {
	if s.spent += int64(n); s.spent > s.memory.bytes() {
		return &syntaxError{s.here(), s.memory.refusal(), true}
	}
	return nil
}

// longest is the most bytes of one token.
func (s *jsonScanner) longest() int { return int(min(maxToken, s.memory.bytes()/8)) }

func newJSONScanner(in io.Reader, m memory) *jsonScanner {
	s := &jsonScanner{in: in, memory: m, buf: make([]byte, 64<<10), line: 1}
	if s.fill() && bytes.HasPrefix(s.buf[:s.end], []byte("\xef\xbb\xbf")) {
		s.pos = 3 // a byte order mark, which RFC 8259, 8.1, lets readers ignore
		s.lineStart = 3
	}
	return s
}

// fill reads more, when all is consumed; false at the end.
func (s *jsonScanner) fill() bool {
	if s.readErr != nil {
		return false
	}
	s.base += int64(s.end)
	s.pos, s.end = 0, 0
	for s.end < 3 && s.readErr == nil { // three bytes tell whether there is a byte order mark
		var n int
		n, s.readErr = s.in.Read(s.buf[s.end:])
		s.end += n
	}
	return s.end > 0
}

func (s *jsonScanner) here() place {
	return place{s.line, int(s.base+int64(s.pos)-s.lineStart) + 1}
}

func (s *jsonScanner) fail(format string, a ...any) error {
	return &syntaxError{at: s.here(), reason: fmt.Sprintf(format, a...)}
}

// peek returns the next byte that is no white space, and leaves it unread; 0 at the end.
func (s *jsonScanner) peek() (byte, error) {
	for {
		for s.pos < s.end {
			switch c := s.buf[s.pos]; c {
			case '\n':
				s.line++
				s.lineStart = s.base + int64(s.pos) + 1
				s.pos++
			case ' ', '\t', '\r':
				s.pos++
			case 0:
				return 0, s.fail("a zero byte, which is not JSON")
			default:
				return c, nil
			}
		}
		if !s.fill() {
			return 0, s.ended()
		}
	}
}

// ended returns the error that ended the stream; nil at its proper end.
func (s *jsonScanner) ended() error {
	if errors.Is(s.readErr, io.EOF) {
		return nil
	}
	return s.readErr
}

// raw returns the next byte whatever it is; false at the end.
func (s *jsonScanner) raw() (byte, bool) {
	if s.pos == s.end && !s.fill() {
		return 0, false
	}
	return s.buf[s.pos], true
}

// want consumes c.
func (s *jsonScanner) want(c byte) error {
	got, err := s.peek()
	if err != nil {
		return err
	}
	if got != c {
		return s.unexpected(got, fmt.Sprintf("%q", c))
	}
	s.pos++
	return nil
}

func (s *jsonScanner) unexpected(got byte, want string) error {
	if got == 0 {
		return s.fail("the text ends where %s is expected", want)
	}
	return s.fail("%q where %s is expected", got, want)
}

// list consumes an array or object, from its opening to its closing bracket, and calls item for each element, which consumes it.
func (s *jsonScanner) list(open, shut byte, item func() error) error {
	if err := s.want(open); err != nil {
		return err
	}
	if s.depth++; s.depth > maxNesting {
		return s.fail("more than %d arrays and objects in each other", maxNesting)
	}
	defer func() { s.depth-- }()
	for first := true; ; first = false {
		c, err := s.peek()
		switch {
		case err != nil:
			return err
		case c == shut && first:
			s.pos++
			return nil
		}
		if err := item(); err != nil {
			return err
		}
		if c, err = s.peek(); err != nil {
			return err
		}
		switch c {
		case ',':
			s.pos++
			if c, err = s.peek(); err != nil {
				return err
			} else if c == shut {
				return s.fail("a comma before %q", c)
			}
		case shut:
			s.pos++
			return nil
		default:
			return s.unexpected(c, fmt.Sprintf("a comma or %q", shut))
		}
	}
}

// object consumes an object; member gets each name and consumes the value. The name is valid until the next token.
func (s *jsonScanner) object(member func(name []byte, at place) error) error {
	return s.list('{', '}', func() error {
		c, err := s.peek()
		if err != nil {
			return err
		}
		if c != '"' {
			return s.unexpected(c, "a name in quotation marks")
		}
		at := s.here()
		if err := s.string(); err != nil {
			return err
		}
		if err := s.want(':'); err != nil {
			return err
		}
		return member(s.tok, at)
	})
}

func (s *jsonScanner) array(item func() error) error { return s.list('[', ']', item) }

// string consumes a string and leaves it, decoded, in tok.
func (s *jsonScanner) string() error {
	if err := s.want('"'); err != nil {
		return err
	}
	s.tok = s.tok[:0]
	for {
		i := s.pos
		for i < s.end && s.buf[i] != '"' && s.buf[i] != '\\' && s.buf[i] >= ' ' {
			i++
		}
		s.tok = append(s.tok, s.buf[s.pos:i]...)
		s.pos = i
		c, ok := s.raw()
		switch {
		case !ok:
			if err := s.ended(); err != nil {
				return err
			}
			return s.fail("the text ends inside a string")
		case len(s.tok) > s.longest():
			return s.fail("a string of more than %d MB", s.longest()>>20)
		case c == '"':
			s.pos++
			if !utf8.Valid(s.tok) {
				return s.fail("the string before here is not UTF-8; convert the file, for example with iconv -t UTF-8")
			}
			return nil
		case c == '\\':
			s.pos++
			if err := s.escape(); err != nil {
				return err
			}
		case c < ' ':
			return s.fail("the control character %q in a string must be escaped", c)
		}
	}
}

// escape decodes what follows a backslash (RFC 8259, 7).
func (s *jsonScanner) escape() error {
	c, ok := s.raw()
	if !ok {
		return s.fail("the text ends inside a string")
	}
	s.pos++
	switch c {
	case '"', '\\', '/':
		s.tok = append(s.tok, c)
	case 'b':
		s.tok = append(s.tok, '\b')
	case 'f':
		s.tok = append(s.tok, '\f')
	case 'n':
		s.tok = append(s.tok, '\n')
	case 'r':
		s.tok = append(s.tok, '\r')
	case 't':
		s.tok = append(s.tok, '\t')
	case 'u':
		r, err := s.hex4()
		if err != nil {
			return err
		}
		if utf16.IsSurrogate(r) {
			for _, want := range [...]byte{'\\', 'u'} {
				if c, ok := s.raw(); !ok || c != want {
					return s.fail("half of a surrogate pair")
				}
				s.pos++
			}
			low, err := s.hex4()
			if err != nil {
				return err
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return s.fail("half of a surrogate pair")
			}
		}
		s.tok = utf8.AppendRune(s.tok, r)
	default:
		return s.fail("\\%c is not an escape of JSON", c)
	}
	return nil
}

func (s *jsonScanner) hex4() (rune, error) {
	var r rune
	for range 4 {
		c, ok := s.raw()
		if !ok {
			return 0, s.fail("the text ends inside a string")
		}
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, s.fail("%q is not a hexadecimal digit", c)
		}
		s.pos++
	}
	return r, nil
}

// number consumes a number and leaves its text in tok; whole tells that it has neither fraction nor exponent.
func (s *jsonScanner) number() (whole bool, err error) {
	if _, err := s.peek(); err != nil {
		return false, err
	}
	s.tok = s.tok[:0]
	for {
		i := s.pos
		for i < s.end && isNumberByte(s.buf[i]) {
			i++
		}
		s.tok = append(s.tok, s.buf[s.pos:i]...)
		s.pos = i
		if i < s.end || !s.fill() {
			break
		}
		if len(s.tok) > 4096 {
			return false, s.fail("a number of more than 4096 digits")
		}
	}
	if err := s.ended(); err != nil && s.pos == s.end {
		return false, err
	}
	whole, ok := numberSyntax(s.tok)
	if !ok {
		if len(s.tok) == 0 {
			c, _ := s.raw()
			return false, s.unexpected(c, "a value")
		}
		return false, s.fail("%.40q is not a number", s.tok)
	}
	return whole, nil
}

func isNumberByte(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '.' || c == '+' || c == 'e' || c == 'E'
}

// numberSyntax checks the grammar of RFC 8259, 6.
func numberSyntax(b []byte) (whole, ok bool) {
	digits := func() bool {
		n := 0
		for n < len(b) && b[n] >= '0' && b[n] <= '9' {
			n++
		}
		b = b[n:]
		return n > 0
	}
	if len(b) > 0 && b[0] == '-' {
		b = b[1:]
	}
	if len(b) > 1 && b[0] == '0' && b[1] >= '0' && b[1] <= '9' || !digits() {
		return false, false
	}
	whole = true
	if len(b) > 0 && b[0] == '.' {
		b, whole = b[1:], false
		if !digits() {
			return false, false
		}
	}
	if len(b) > 0 && b[0]|0x20 == 'e' {
		b, whole = b[1:], false
		if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if !digits() {
			return false, false
		}
	}
	return whole, len(b) == 0
}

// word consumes one of words.
func (s *jsonScanner) word(words ...string) (string, error) {
	at := s.here()
	var got []byte
	for {
		c, ok := s.raw()
		if !ok || len(got) > 8 || !(c|0x20 >= 'a' && c|0x20 <= 'z') {
			break
		}
		got = append(got, c)
		s.pos++
	}
	for _, w := range words {
		if string(got) == w {
			return w, nil
		}
	}
	if len(got) == 0 {
		c, _ := s.raw()
		return "", s.unexpected(c, "a value")
	}
	return "", &syntaxError{at: at, reason: fmt.Sprintf("%.20q is not JSON", got)}
}

// skip consumes any value. With into not nil, its text is appended there, without white space.
func (s *jsonScanner) skip(into *[]byte) error {
	c, err := s.peek()
	if err != nil {
		return err
	}
	put := func(b ...byte) error { return s.put(into, b...) }
	n := 0
	switch {
	case c == '{':
		if err := put('{'); err != nil {
			return err
		}
		err := s.object(func(name []byte, _ place) error {
			if n++; n > 1 {
				put(',')
			}
			if into != nil {
				*into = appendJSONString(*into, name)
			}
			if err := put(':'); err != nil {
				return err
			}
			return s.skip(into)
		})
		if err != nil {
			return err
		}
		return put('}')
	case c == '[':
		put('[')
		err := s.array(func() error {
			if n++; n > 1 {
				put(',')
			}
			return s.skip(into)
		})
		if err != nil {
			return err
		}
		return put(']')
	case c == '"':
		if err := s.string(); err != nil {
			return err
		}
		if into != nil {
			*into = appendJSONString(*into, s.tok)
		}
		return put()
	case c == '-' || c >= '0' && c <= '9':
		if _, err := s.number(); err != nil {
			return err
		}
		return put(s.tok...)
	}
	w, err := s.word("true", "false", "null")
	if err != nil {
		return err
	}
	return put([]byte(w)...)
}

// put appends to the text of a value; into may be nil.
func (s *jsonScanner) put(into *[]byte, b ...byte) error {
	if into == nil {
		return nil
	}
	if *into = append(*into, b...); len(*into) > s.longest() {
		return s.fail("a value of more than %d MB", s.longest()>>20)
	}
	return nil
}

// appendJSONString writes a string that is UTF-8 as JSON.
func appendJSONString(dst, s []byte) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// describe names the kind of a value by its first byte.
func describe(c byte) string {
	switch {
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == '"':
		return "a string"
	case c == 't' || c == 'f':
		return "a truth value"
	case c == 'n':
		return "null"
	}
	return "a number"
}
