package feature

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"grense/internal/crs"
	"grense/internal/store"
)

// CSV writes features of one collection as comma-separated values (RFC 4180): UTF-8 without byte order mark, lines end in CRLF, a
// header line first. The columns are id, the properties, and for points lon and lat in degrees. Null is an empty field. Values are
// left as they are, also those that a spreadsheet may take for formulas. Make one with NewCSV; it is safe for concurrent use.
type CSV struct {
	coll   *store.Collection
	header []byte
	skip   int // index of the property "id", which the first column says already; -1: none
	values int
	points bool
	geom   Geometry
}

// NewCSV returns an encoder for all properties that are not hidden.
func NewCSV(c *store.Collection) (*CSV, error) {
	names, err := propertyNames(c, nil)
	if err != nil {
		return nil, err
	}
	e := &CSV{coll: c, header: []byte("id"), skip: -1, values: len(names), points: c.Geometry != nil && c.Geometry.Type == "Point"}
	used := map[string]bool{}
	for i, n := range names {
		if n == "id" {
			e.skip = i
			continue
		}
		used[n] = true
		e.header = appendField(append(e.header, ','), n)
	}
	if e.points {
		for _, n := range [...]string{"lon", "lat"} {
			for used[n] {
				n += "_"
			}
			e.header = append(append(e.header, ','), n...)
		}
		if e.geom, err = NewGeometry(c.Geometry.CRS, crs.CRS84); err != nil {
			return nil, err
		}
	}
	e.header = append(e.header, "\r\n"...)
	return e, nil
}

// Want is what features must be fetched with.
func (e *CSV) Want() store.Want { return store.Want{NoGeometry: !e.points} }

// AppendHeader writes the header line.
func (e *CSV) AppendHeader(dst []byte) []byte { return append(dst, e.header...) }

// Append writes the line of a feature.
func (e *CSV) Append(dst []byte, f *store.Feature) ([]byte, error) {
	start := len(dst)
	fail := func(err error) ([]byte, error) {
		return dst[:start], fmt.Errorf("feature: %s %q: %w", e.coll.ID, f.ID, err)
	}
	if err := checkValues(f, e.values); err != nil {
		return fail(err)
	}
	dst = appendField(dst, f.ID)
	for i, v := range f.Values {
		if i == e.skip {
			continue
		}
		dst = append(dst, ',')
		switch v := v.(type) {
		case nil:
		case string:
			dst = appendField(dst, v)
		case store.JSON:
			dst = appendField(dst, string(v))
		case int64:
			dst = strconv.AppendInt(dst, v, 10)
		case float64:
			if v-v == 0 { // a number
				dst = appendFloat(dst, v)
			}
		case bool:
			dst = strconv.AppendBool(dst, v)
		default:
			return fail(fmt.Errorf("a value of type %T", v))
		}
	}
	if e.points {
		dst = append(dst, ',')
		if p, ok := e.geom.location(f.Geometry.WKB); ok {
			dst = append(appendFixed(dst, p[0], e.geom.decimals), ',')
			dst = appendFixed(dst, p[1], e.geom.decimals)
		} else {
			dst = append(dst, ',')
		}
	}
	return append(dst, "\r\n"...), nil
}

// appendField writes a text, in quotes where it needs them. Bytes that are no UTF-8 become U+FFFD.
func appendField(dst []byte, s string) []byte {
	quote := strings.ContainsAny(s, ",\"\r\n")
	if quote {
		dst = append(dst, '"')
	}
	for _, r := range s {
		if r == '"' {
			dst = append(dst, '"')
		}
		dst = utf8.AppendRune(dst, r)
	}
	if quote {
		dst = append(dst, '"')
	}
	return dst
}
