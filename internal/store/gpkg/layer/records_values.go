package layer

import (
	"encoding/binary"
	"encoding/hex"
	"math"
	"strconv"
	"strings"
	"time"

	"grense/internal/store"
)

// recordCursor decodes values in sequence.
type recordCursor struct {
	data []byte
	text []byte // last decoded text
}

// next decodes a value of the property p. known are the property's values by number. If wanted is false, it skips the
// value. ok is false if the data are damaged.
func (c *recordCursor) next(b *Batch, p int, known []any, wanted bool) (v any, ok bool) {
	code, n := binary.Uvarint(c.data)
	if n <= 0 {
		return nil, false
	}
	c.data = c.data[n:]
	switch code {
	case codeNull:
	case codeFalse, codeTrue:
		v = code == codeTrue
	case codeInt:
		x, n := binary.Varint(c.data)
		if n <= 0 {
			return nil, false
		}
		if c.data = c.data[n:]; wanted {
			v = x
		}
	case codeFloat:
		if len(c.data) < 8 {
			return nil, false
		}
		v = math.Float64frombits(binary.LittleEndian.Uint64(c.data))
		c.data = c.data[8:]
	case codeMoment:
		x, n := binary.Varint(c.data)
		if n <= 0 {
			return nil, false
		}
		if c.data = c.data[n:]; wanted {
			v = string(appendMoment(b.text[:0], x))
		}
	case codeUUID:
		if len(c.data) < 16 {
			return nil, false
		}
		if wanted {
			v = string(appendUUID(b.text[:0], c.data[:16]))
		}
		c.data = c.data[16:]
	case codeText, codeJSON, codeRepeat:
		if code != codeRepeat {
			size, n := binary.Uvarint(c.data)
			if n <= 0 || size > uint64(len(c.data)-n) {
				return nil, false
			}
			c.text, c.data = c.data[n:n+int(size)], c.data[n+int(size):]
		}
		if wanted {
			v = b.remembered(c.text, p, code == codeJSON)
		}
	default:
		if code-codeFirst >= uint64(len(known)) {
			return nil, false
		}
		v = known[code-codeFirst]
	}
	return v, true
}

// appendPlain encodes a value without a number. inText reports whether it used codeText or codeJSON.
func appendPlain(dst []byte, v any) (_ []byte, inText bool) {
	var room [knownBytes]byte
	switch v := v.(type) {
	case bool:
		if v {
			return append(dst, codeTrue), false
		}
		return append(dst, codeFalse), false
	case int64:
		return binary.AppendVarint(append(dst, codeInt), v), false
	case float64:
		return binary.LittleEndian.AppendUint64(append(dst, codeFloat), math.Float64bits(v)), false
	case string:
		if t, err := parseStamp(v); err == nil && string(appendMoment(room[:0], t.Unix())) == v {
			return binary.AppendVarint(append(dst, codeMoment), t.Unix()), false
		}
		if len(v) == uuidLength {
			if id, err := hex.DecodeString(strings.ReplaceAll(v, "-", "")); err == nil && len(id) == 16 &&
				string(appendUUID(room[:0], id)) == v {
				return append(append(dst, codeUUID), id...), false
			}
		}
		return append(binary.AppendUvarint(append(dst, codeText), uint64(len(v))), v...), true
	case store.JSON:
		return append(binary.AppendUvarint(append(dst, codeJSON), uint64(len(v))), v...), true
	}
	return append(dst, codeNull), false
}

const (
	momentLayout = "2006-01-02T15:04:05Z"
	uuidLength   = 36
)

// parseStamp parses what appendMoment writes.
func parseStamp(s string) (time.Time, error) {
	if len(s) != len(momentLayout) || s[len(s)-1] != 'Z' {
		return time.Time{}, strconv.ErrSyntax
	}
	return time.Parse(time.RFC3339, s)
}

func appendMoment(dst []byte, seconds int64) []byte {
	return time.Unix(seconds, 0).UTC().AppendFormat(dst, momentLayout)
}

func appendUUID(dst, id []byte) []byte {
	for i, part := range [...][]byte{id[:4], id[4:6], id[6:8], id[8:10], id[10:]} {
		if i > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, part)
	}
	return dst
}
