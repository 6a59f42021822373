package wire

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// Marshal encodes a JSON document without escaping <, > and &, and without a final line break.
func Marshal(v any) ([]byte, error) {
	if b, ok := v.([]byte); ok {
		return b, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// QueryEscape escapes a text for a query. Commas, colons and slashes stay (RFC 3986, 3.4).
func QueryEscape(s string) string {
	n := 0
	for i := range len(s) {
		if !inQuery[s[i]] {
			n++
		}
	}
	if n == 0 {
		return s
	}
	const digits = "0123456789ABCDEF"
	b := make([]byte, 0, len(s)+2*n)
	for i := range len(s) {
		if x := s[i]; inQuery[x] {
			b = append(b, x)
		} else {
			b = append(b, '%', digits[x>>4], digits[x&15])
		}
	}
	return string(b)
}

// inQuery holds the bytes that QueryEscape leaves.
var inQuery = func() (is [256]bool) {
	for _, x := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~,:/") {
		is[x] = true
	}
	return is
}()

// AppendText appends a text, encoded as by Marshal.
func AppendText(b []byte, s string) []byte {
	for i := range len(s) {
		if !bareInText[s[i]] {
			return appendUnusual(b, s)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

// bareInText holds the ASCII bytes that Marshal does not escape.
var bareInText = func() (is [256]bool) {
	for x := byte(' '); x <= '~'; x++ {
		is[x] = x != '"' && x != '\\'
	}
	return is
}()

// appendUnusual is AppendText for any text.
func appendUnusual(b []byte, s string) []byte {
	for i := range len(s) {
		// the first byte of U+2028 and U+2029, which Marshal escapes
		if x := s[i]; x < ' ' || x == '"' || x == '\\' || x == 0xe2 {
			return appendMarshalled(b, s)
		}
	}
	if !utf8.ValidString(s) {
		return appendMarshalled(b, s)
	}
	return append(append(append(b, '"'), s...), '"')
}

func appendMarshalled(b []byte, s string) []byte {
	all, _ := Marshal(s) // encoding a text does not fail
	return append(b, all...)
}

// PathEscape escapes an id as one segment of a path.
func PathEscape(id string) string {
	switch id {
	case ".", "..": // dot segments are removed when URLs are resolved (RFC 3986, 5.2.4)
		return strings.Repeat("%2E", len(id))
	}
	return url.PathEscape(id)
}

// AppendStamp appends the time of a response and the end of the document.
func AppendStamp(dst []byte, t time.Time) []byte {
	return append(t.UTC().AppendFormat(dst, "2006-01-02T15:04:05.000000Z"), `"}`...)
}
