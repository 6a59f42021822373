package soap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// version is a version of SOAP.
type version uint8

const (
	soap11 version = iota
	soap12
)

const (
	contentType11 = "text/xml; charset=utf-8"
	contentType12 = "application/soap+xml; charset=utf-8"
)

// charsets lists the encodings of requests. nil stands for UTF-8, US-ASCII (a subset of it), and UTF-16, which needs
// a byte order mark (XML 1.0, 4.3.3).
var charsets = map[string]encoding.Encoding{
	"utf-8":        nil,
	"utf-16":       nil,
	"us-ascii":     nil,
	"iso-8859-1":   charmap.ISO8859_1,
	"iso-8859-15":  charmap.ISO8859_15,
	"windows-1252": charmap.Windows1252,
}

// charsetNames maps other names that clients write to those of charsets.
var charsetNames = map[string]string{
	"utf8":       "utf-8",
	"utf16":      "utf-16",
	"ascii":      "us-ascii",
	"latin1":     "iso-8859-1",
	"latin-1":    "iso-8859-1",
	"iso8859-1":  "iso-8859-1",
	"latin9":     "iso-8859-15",
	"latin-9":    "iso-8859-15",
	"iso8859-15": "iso-8859-15",
	"cp1252":     "windows-1252",
}

// charsetOf returns the name in charsets for a charset, which may be in single or double quotation marks.
func charsetOf(written string) string {
	name := strings.ToLower(strings.Trim(written, " \t\"'"))
	if known, ok := charsetNames[name]; ok {
		return known
	}
	return name
}

// mediaType is the type of a body by its headers.
type mediaType struct {
	version version
	charset string // lower case; "" if the header has none
	related *related
}

// versionOf returns the SOAP version of a fault about an unreadable request.
func versionOf(r *http.Request) version {
	if t, _, err := mime.ParseMediaType(quotedAction(r.Header.Get("Content-Type"))); err == nil &&
		t == "application/soap+xml" {
		return soap12
	}
	return soap11
}

// unquotedAction is the parameter action of SOAP 1.2 without quotation marks, which its slashes and colons need (RFC
// 3902), or without a value.
var unquotedAction = regexp.MustCompile(`(?i)(;\s*action\s*=\s*)([^\s";][^\s;]*|)(\s*(?:;|$))`)

// quotedAction adds the quotation marks around action that some clients leave out.
func quotedAction(contentType string) string {
	return unquotedAction.ReplaceAllString(contentType, `$1"$2"$3`)
}

// readMediaType checks the headers of a body.
func readMediaType(r *http.Request) (mediaType, *failure) {
	t, params, err := mime.ParseMediaType(quotedAction(r.Header.Get("Content-Type")))
	m := mediaType{charset: charsetOf(params["charset"])}
	if err == nil && t == "multipart/related" {
		var f *failure
		if m.related, m.version, f = readRelated(params); f != nil {
			return m, f
		}
		t = "text/xml"
	}
	switch {
	case err != nil || t != "text/xml" && t != "application/soap+xml":
		return m, transport(http.StatusUnsupportedMediaType, textMediaType)
	case r.Header.Get("Content-Encoding") != "" && !strings.EqualFold(r.Header.Get("Content-Encoding"), "identity"):
		return m, transport(http.StatusUnsupportedMediaType, textEncoded)
	case t == "application/soap+xml":
		m.version = soap12
	}
	if _, ok := charsets[m.charset]; !ok && m.charset != "" {
		return m, transport(http.StatusUnsupportedMediaType, textCharset)
	}
	return m, nil
}

// readBody reads the body as UTF-8. If Content-Length exceeds the limit, it fails without reading.
func (s *Service) readBody(w http.ResponseWriter, r *http.Request, m mediaType) ([]byte, *failure) {
	if r.ContentLength > s.config.Limits.Body {
		return nil, s.tooLarge(w)
	}
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, s.config.Limits.Body))
	if tooLong := (*http.MaxBytesError)(nil); errors.As(err, &tooLong) {
		return nil, s.tooLarge(w)
	} else if err != nil {
		return nil, bare(textBroken).because(err)
	}
	charset := m.charset
	if m.related != nil {
		var f *failure
		if b, charset, f = m.related.envelope(b); f != nil {
			return nil, f
		}
	}
	return toUTF8(b, charset)
}

func (s *Service) tooLarge(w http.ResponseWriter) *failure {
	w.Header().Set("Connection", "close") // the rest of the body remains unread
	f := limit(textBody, s.config.Limits.Body)
	f.status = http.StatusRequestEntityTooLarge
	f.detail = true
	return f
}

// toUTF8 converts b to UTF-8. A byte order mark overrides the header, and the header overrides the XML declaration (RFC
// 7303, 3); the default is UTF-8. An unsupported encoding in the declaration is refused even if it is overridden.
func toUTF8(b []byte, charset string) ([]byte, *failure) {
	var order binary.ByteOrder
	if rest, ok := bytes.CutPrefix(b, []byte("\xEF\xBB\xBF")); ok {
		b, charset = rest, "utf-8"
	} else if order = byteOrder(b); order != nil {
		if b, ok = fromUTF16(b[2:], order); !ok {
			return nil, bare(textBytes)
		}
		charset = "utf-8"
	} else if charset == "utf-16" {
		return nil, transport(http.StatusUnsupportedMediaType, textCharset)
	}
	said := declared(b)
	if _, ok := charsets[said]; !ok || said == "utf-16" && order == nil {
		return nil, bare(textCharset)
	}
	if charset == "" {
		charset = said
	}
	enc := charsets[charset]
	switch {
	case enc != nil:
		b, err := enc.NewDecoder().Bytes(b)
		if err != nil {
			return nil, bare(textBytes).because(err)
		}
		return b, nil
	case !utf8.Valid(b), charset == "us-ascii" && bytes.ContainsFunc(b, func(r rune) bool {
		return r >= utf8.RuneSelf
	}):
		return nil, bare(textBytes)
	}
	return b, nil
}

// byteOrder returns the byte order by the byte order mark of a UTF-16 text; nil if there is none.
func byteOrder(b []byte) binary.ByteOrder {
	switch {
	case bytes.HasPrefix(b, []byte("\xFF\xFE")):
		return binary.LittleEndian
	case bytes.HasPrefix(b, []byte("\xFE\xFF")):
		return binary.BigEndian
	}
	return nil
}

// fromUTF16 converts b, without its mark, to UTF-8, which may be half as long again. It returns false if b is not valid
// UTF-16.
func fromUTF16(b []byte, order binary.ByteOrder) ([]byte, bool) {
	out := make([]byte, 0, len(b))
	for ; len(b) > 1; b = b[2:] {
		r := rune(order.Uint16(b))
		if utf16.IsSurrogate(r) {
			if len(b) < 4 {
				return nil, false
			}
			if r = utf16.DecodeRune(r, rune(order.Uint16(b[2:]))); r == utf8.RuneError {
				return nil, false
			}
			b = b[2:]
		}
		out = utf8.AppendRune(out, r)
	}
	return out, len(b) == 0
}

// declared returns the encoding in the XML declaration in lower case; "utf-8" if there is none, "" if it is unreadable.
func declared(b []byte) string {
	rest, ok := bytes.CutPrefix(b, []byte("<?xml"))
	if !ok {
		return "utf-8"
	}
	head, _, ok := bytes.Cut(rest, []byte("?>"))
	if !ok || len(head) > 200 {
		return "utf-8" // the parser reports a missing declaration
	}
	_, after, ok := bytes.Cut(head, []byte("encoding"))
	if !ok {
		return "utf-8"
	}
	after = bytes.TrimLeft(after, " \t\r\n=")
	if len(after) == 0 || after[0] != '"' && after[0] != '\'' {
		return ""
	}
	name, _, ok := bytes.Cut(after[1:], after[:1])
	if !ok {
		return ""
	}
	return charsetOf(string(name))
}
