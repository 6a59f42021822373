package cql2

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"unicode/utf8"

	"grense/internal/problem"
)

// jsonValue is a JSON value with its position. kind selects the one field after pos that is in use.
type jsonValue struct {
	kind   byte // 'o'bject, 'a'rray, 's'tring, 'n'umber, 'b'oolean, or '0' for null
	pos    int  // byte offset from 0
	text   string
	truth  bool
	keys   []string // of an object; values holds what belongs to them
	values []*jsonValue
}

// member returns a member of an object; nil when there is none.
func (v *jsonValue) member(key string) *jsonValue {
	for i, k := range v.keys {
		if k == key {
			return v.values[i]
		}
	}
	return nil
}

// maxJSONDepth is more than a tree of MaxDepth needs: two levels for each node, and the arrays of a multi-polygon.
const maxJSONDepth = 2*MaxDepth + 8

// jsonReader reads JSON (RFC 8259) into values with positions. It refuses duplicate keys.
type jsonReader struct {
	src   []byte
	dec   *json.Decoder
	depth int
}

// readJSON reads one value.
func readJSON(src []byte) (*jsonValue, error) {
	if len(src) > MaxBytes {
		return nil, tooLong(len(src))
	}
	if !utf8.Valid(src) {
		return nil, syntaxError(string(src), 1, "", problem.Sayf("the filter is not valid UTF-8"))
	}
	r := &jsonReader{src: src, dec: json.NewDecoder(bytes.NewReader(src))}
	r.dec.UseNumber()
	v, err := r.value()
	if err != nil {
		return nil, err
	}
	if at := r.start(); at < len(src) {
		return nil, r.fail(at, "unexpected text after the end of the filter")
	}
	return v, nil
}

func (r *jsonReader) fail(pos int, cure string, a ...any) error {
	end := pos
	for end < len(r.src) && end < pos+20 && !bytes.ContainsRune([]byte(" \t\r\n,:{}[]"), rune(r.src[end])) {
		end++
	}
	if end == pos && end < len(r.src) {
		end++
	}
	return syntaxError(string(r.src), pos+1, string(bytes.ToValidUTF8(r.src[pos:end], nil)), problem.Sayf(cure, a...))
}

// start returns where the next token starts.
func (r *jsonReader) start() int {
	at := int(r.dec.InputOffset())
	for at < len(r.src) && bytes.IndexByte([]byte(" \t\r\n,:"), r.src[at]) >= 0 {
		at++
	}
	return at
}

func (r *jsonReader) token() (json.Token, int, error) {
	at := r.start()
	t, err := r.dec.Token()
	switch {
	case err == nil:
		return t, at, nil
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, at, r.fail(len(r.src), "the JSON ends too early")
	}
	return nil, at, r.fail(min(at, len(r.src)), "broken JSON here")
}

func (r *jsonReader) value() (*jsonValue, error) {
	t, at, err := r.token()
	if err != nil {
		return nil, err
	}
	v := &jsonValue{pos: at}
	switch t := t.(type) {
	case string:
		v.kind, v.text = 's', t
	case json.Number:
		v.kind, v.text = 'n', string(t)
	case bool:
		v.kind, v.truth = 'b', t
	case nil:
		v.kind = '0'
	case json.Delim:
		if r.depth++; r.depth > maxJSONDepth {
			return nil, r.fail(at, "the filter is nested more than %d deep", MaxDepth)
		}
		if t == '{' {
			v.kind, err = 'o', r.object(v)
		} else {
			v.kind, err = 'a', r.array(v)
		}
		r.depth--
	}
	return v, err
}

func (r *jsonReader) object(v *jsonValue) error {
	for r.dec.More() {
		t, at, err := r.token()
		if err != nil {
			return err
		}
		key, ok := t.(string)
		if !ok {
			return r.fail(at, "broken JSON: a member's name is a string")
		}
		if v.member(key) != nil {
			return r.fail(at, "the member %q is written twice", clip(key))
		}
		x, err := r.value()
		if err != nil {
			return err
		}
		v.keys, v.values = append(v.keys, key), append(v.values, x)
	}
	_, _, err := r.token()
	return err
}

func (r *jsonReader) array(v *jsonValue) error {
	for r.dec.More() {
		x, err := r.value()
		if err != nil {
			return err
		}
		v.values = append(v.values, x)
	}
	_, _, err := r.token()
	return err
}
