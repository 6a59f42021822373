package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// Limits of one JSON text.
const (
	MaxNesting = 64        // depth of arrays and objects
	maxToken   = 256 << 20 // bytes of a string, number or nested value
)

// SyntaxError reports text that is not JSON (RFC 8259).
type SyntaxError struct {
	At     Place
	Reason string
	limit  bool // it is too large
}

// Message returns the text of the error; not names the expected format if the text is none.
func (e *SyntaxError) Message(not string) string {
	if e.limit {
		return e.Reason
	}
	return not + e.Reason
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.At.Line, e.At.Column, e.Reason)
}

// JSONScanner reads JSON token by token from a stream and counts lines. It stores only the current token.
type JSONScanner struct {
	in        io.Reader
	buf       []byte
	Pos, end  int
	base      int64 // offset in the stream of buf[0]
	line      int
	lineStart int64 // offset of the first byte of the line
	readErr   error
	Token     []byte // text of the last string or number, valid until the next
	depth     int
	memory    Memory
	spent     int64 // memory in use since Begin
}

// Begin starts a feature.
func (s *JSONScanner) Begin() { s.spent = 0 }

// Spend adds n bytes to the memory of the current feature.
func (s *JSONScanner) Spend(n int) error {
	if s.spent += int64(n); s.spent > s.memory.Bytes() {
		return &SyntaxError{s.Here(), s.memory.Refusal(), true}
	}
	return nil
}

// longest returns the largest number of bytes of a token.
func (s *JSONScanner) longest() int { return int(min(maxToken, s.memory.Bytes()/8)) }

func NewJSONScanner(in io.Reader, m Memory) *JSONScanner {
	s := &JSONScanner{in: in, memory: m, buf: make([]byte, 64<<10), line: 1}
	if s.fill() && bytes.HasPrefix(s.buf[:s.end], []byte("\xef\xbb\xbf")) {
		s.Pos = 3 // skip a byte order mark, as RFC 8259, 8.1 permits
		s.lineStart = 3
	}
	return s
}

// fill reads more once all is consumed; false at the end.
func (s *JSONScanner) fill() bool {
	if s.readErr != nil {
		return false
	}
	s.base += int64(s.end)
	s.Pos, s.end = 0, 0
	for s.end < 3 && s.readErr == nil { // three bytes show whether there is a byte order mark
		var n int
		n, s.readErr = s.in.Read(s.buf[s.end:])
		s.end += n
	}
	return s.end > 0
}

func (s *JSONScanner) Here() Place {
	return Place{s.line, int(s.base+int64(s.Pos)-s.lineStart) + 1}
}

func (s *JSONScanner) Fail(format string, a ...any) error {
	return &SyntaxError{At: s.Here(), Reason: fmt.Sprintf(format, a...)}
}

// Peek returns the next byte that is not white space without consuming it; 0 at the end.
func (s *JSONScanner) Peek() (byte, error) {
	for {
		for s.Pos < s.end {
			switch c := s.buf[s.Pos]; c {
			case '\n':
				s.line++
				s.lineStart = s.base + int64(s.Pos) + 1
				s.Pos++
			case ' ', '\t', '\r':
				s.Pos++
			case 0:
				return 0, s.Fail("a zero byte, which is not JSON")
			default:
				return c, nil
			}
		}
		if !s.fill() {
			return 0, s.ended()
		}
	}
}

// ended returns the error that ended the stream; nil at a proper end.
func (s *JSONScanner) ended() error {
	if errors.Is(s.readErr, io.EOF) {
		return nil
	}
	return s.readErr
}

// Raw returns the next byte, whatever it is; false at the end.
func (s *JSONScanner) Raw() (byte, bool) {
	if s.Pos == s.end && !s.fill() {
		return 0, false
	}
	return s.buf[s.Pos], true
}

// want consumes c.
func (s *JSONScanner) want(c byte) error {
	got, err := s.Peek()
	if err != nil {
		return err
	}
	if got != c {
		return s.unexpected(got, fmt.Sprintf("%q", c))
	}
	s.Pos++
	return nil
}

func (s *JSONScanner) unexpected(got byte, want string) error {
	if got == 0 {
		return s.Fail("the text ends where %s is expected", want)
	}
	return s.Fail("%q where %s is expected", got, want)
}

// list consumes an array or object including its brackets. It calls item for each element; item consumes it.
func (s *JSONScanner) list(open, shut byte, item func() error) error {
	if err := s.want(open); err != nil {
		return err
	}
	if s.depth++; s.depth > MaxNesting {
		return s.Fail("more than %d arrays and objects in each other", MaxNesting)
	}
	defer func() { s.depth-- }()
	for first := true; ; first = false {
		c, err := s.Peek()
		switch {
		case err != nil:
			return err
		case c == shut && first:
			s.Pos++
			return nil
		}
		if err := item(); err != nil {
			return err
		}
		if c, err = s.Peek(); err != nil {
			return err
		}
		switch c {
		case ',':
			s.Pos++
			if c, err = s.Peek(); err != nil {
				return err
			} else if c == shut {
				return s.Fail("a comma before %q", c)
			}
		case shut:
			s.Pos++
			return nil
		default:
			return s.unexpected(c, fmt.Sprintf("a comma or %q", shut))
		}
	}
}

// Object consumes an object. member receives each name and consumes the value. The name is valid until the next token.
func (s *JSONScanner) Object(member func(name []byte, at Place) error) error {
	return s.list('{', '}', func() error {
		c, err := s.Peek()
		if err != nil {
			return err
		}
		if c != '"' {
			return s.unexpected(c, "a name in quotation marks")
		}
		at := s.Here()
		if err := s.Text(); err != nil {
			return err
		}
		if err := s.want(':'); err != nil {
			return err
		}
		return member(s.Token, at)
	})
}

func (s *JSONScanner) Array(item func() error) error { return s.list('[', ']', item) }

// Text consumes a string and leaves it, decoded, in Token.
func (s *JSONScanner) Text() error {
	if err := s.want('"'); err != nil {
		return err
	}
	s.Token = s.Token[:0]
	for {
		i := s.Pos
		for i < s.end && s.buf[i] != '"' && s.buf[i] != '\\' && s.buf[i] >= ' ' {
			i++
		}
		s.Token = append(s.Token, s.buf[s.Pos:i]...)
		s.Pos = i
		c, ok := s.Raw()
		switch {
		case !ok:
			if err := s.ended(); err != nil {
				return err
			}
			return s.Fail("the text ends inside a string")
		case len(s.Token) > s.longest():
			return s.Fail("a string of more than %d MB", s.longest()>>20)
		case c == '"':
			s.Pos++
			if !utf8.Valid(s.Token) {
				return s.Fail("the string before here is not UTF-8; convert the file, for example with iconv -t UTF-8")
			}
			return nil
		case c == '\\':
			s.Pos++
			if err := s.escape(); err != nil {
				return err
			}
		case c < ' ':
			return s.Fail("the control character %q in a string must be escaped", c)
		}
	}
}

// escape decodes the characters after a backslash (RFC 8259, 7).
func (s *JSONScanner) escape() error {
	c, ok := s.Raw()
	if !ok {
		return s.Fail("the text ends inside a string")
	}
	s.Pos++
	switch c {
	case '"', '\\', '/':
		s.Token = append(s.Token, c)
	case 'b':
		s.Token = append(s.Token, '\b')
	case 'f':
		s.Token = append(s.Token, '\f')
	case 'n':
		s.Token = append(s.Token, '\n')
	case 'r':
		s.Token = append(s.Token, '\r')
	case 't':
		s.Token = append(s.Token, '\t')
	case 'u':
		r, err := s.hex4()
		if err != nil {
			return err
		}
		if utf16.IsSurrogate(r) {
			for _, want := range [...]byte{'\\', 'u'} {
				if c, ok := s.Raw(); !ok || c != want {
					return s.Fail("half of a surrogate pair")
				}
				s.Pos++
			}
			low, err := s.hex4()
			if err != nil {
				return err
			}
			if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
				return s.Fail("half of a surrogate pair")
			}
		}
		s.Token = utf8.AppendRune(s.Token, r)
	default:
		return s.Fail("\\%c is not an escape of JSON", c)
	}
	return nil
}

func (s *JSONScanner) hex4() (rune, error) {
	var r rune
	for range 4 {
		c, ok := s.Raw()
		if !ok {
			return 0, s.Fail("the text ends inside a string")
		}
		switch {
		case c >= '0' && c <= '9':
			r = r<<4 | rune(c-'0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, s.Fail("%q is not a hexadecimal digit", c)
		}
		s.Pos++
	}
	return r, nil
}

// Number consumes a number and leaves its text in Token. whole reports that it has neither fraction nor exponent.
func (s *JSONScanner) Number() (whole bool, err error) {
	if _, err := s.Peek(); err != nil {
		return false, err
	}
	s.Token = s.Token[:0]
	for {
		i := s.Pos
		for i < s.end && isNumberByte(s.buf[i]) {
			i++
		}
		s.Token = append(s.Token, s.buf[s.Pos:i]...)
		s.Pos = i
		if i < s.end || !s.fill() {
			break
		}
		if len(s.Token) > 4096 {
			return false, s.Fail("a number of more than 4096 digits")
		}
	}
	if err := s.ended(); err != nil && s.Pos == s.end {
		return false, err
	}
	whole, ok := NumberSyntax(s.Token)
	if !ok {
		if len(s.Token) == 0 {
			c, _ := s.Raw()
			return false, s.unexpected(c, "a value")
		}
		return false, s.Fail("%.40q is not a number", s.Token)
	}
	return whole, nil
}

func isNumberByte(c byte) bool {
	return c >= '0' && c <= '9' || c == '-' || c == '.' || c == '+' || c == 'e' || c == 'E'
}

// NumberSyntax checks the grammar of RFC 8259, 6.
func NumberSyntax(b []byte) (whole, ok bool) {
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

// Word consumes one of the words and returns it.
func (s *JSONScanner) Word(words ...string) (string, error) {
	at := s.Here()
	var got []byte
	for {
		c, ok := s.Raw()
		if !ok || len(got) > 8 || !(c|0x20 >= 'a' && c|0x20 <= 'z') {
			break
		}
		got = append(got, c)
		s.Pos++
	}
	for _, w := range words {
		if string(got) == w {
			return w, nil
		}
	}
	if len(got) == 0 {
		c, _ := s.Raw()
		return "", s.unexpected(c, "a value")
	}
	return "", &SyntaxError{At: at, Reason: fmt.Sprintf("%.20q is not JSON", got)}
}

// Skip consumes any value. Unless into is nil, it appends the text there without white space.
func (s *JSONScanner) Skip(into *[]byte) error {
	c, err := s.Peek()
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
		err := s.Object(func(name []byte, _ Place) error {
			if n++; n > 1 {
				put(',')
			}
			if into != nil {
				*into = AppendJSON(*into, name)
			}
			if err := put(':'); err != nil {
				return err
			}
			return s.Skip(into)
		})
		if err != nil {
			return err
		}
		return put('}')
	case c == '[':
		put('[')
		err := s.Array(func() error {
			if n++; n > 1 {
				put(',')
			}
			return s.Skip(into)
		})
		if err != nil {
			return err
		}
		return put(']')
	case c == '"':
		if err := s.Text(); err != nil {
			return err
		}
		if into != nil {
			*into = AppendJSON(*into, s.Token)
		}
		return put()
	case c == '-' || c >= '0' && c <= '9':
		if _, err := s.Number(); err != nil {
			return err
		}
		return put(s.Token...)
	}
	w, err := s.Word("true", "false", "null")
	if err != nil {
		return err
	}
	return put([]byte(w)...)
}

// put appends to the text of a value, unless into is nil.
func (s *JSONScanner) put(into *[]byte, b ...byte) error {
	if into == nil {
		return nil
	}
	if *into = append(*into, b...); len(*into) > s.longest() {
		return s.Fail("a value of more than %d MB", s.longest()>>20)
	}
	return nil
}

// AppendJSON appends a UTF-8 string as JSON.
func AppendJSON(dst, s []byte) []byte {
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

// Describe returns a name for the kind of a value from its first byte.
func Describe(c byte) string {
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
