package feature

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"grense/internal/geo/crs"
	"grense/internal/store"
)

// CSV writes features of one collection as comma-separated values (RFC 4180): UTF-8 without byte order mark, CRLF line
// ends, and a header. The columns are id, the properties, and lon and lat in degrees if features may be points; other
// geometries leave them empty. Null is an empty field. Values are unchanged, even if a spreadsheet takes them for
// formulas. Use NewCSV; it is safe for concurrent use.
//
// The dialect for spreadsheets has a byte order mark, semicolons and decimal commas. A text that looks like a formula
// gets a leading apostrophe.
type CSV struct {
	coll   *store.Collection
	header []byte
	skip   int // index of the property "id", which repeats the first column; -1: none
	values int
	points bool
	geom   Geometry
	want   store.Want
	excel  bool
	end    byte // delimiter
}

// CSVOptions configure CSV. The zero value writes all properties that are not hidden, according to RFC 4180.
type CSVOptions struct {
	Properties   []string // as in Options
	SkipGeometry bool     // omit lon and lat
	Precision    *int     // as in Options
	Excel        bool     // the dialect for spreadsheets
}

// NewCSV returns an encoder for the features of a collection.
func NewCSV(c *store.Collection, o CSVOptions) (*CSV, error) {
	names, err := propertyNames(c, o.Properties)
	if err != nil {
		return nil, err
	}
	e := &CSV{
		coll:   c,
		skip:   -1,
		values: len(names),
		points: !o.SkipGeometry && c.Geometry.MayBePoint(),
		excel:  o.Excel,
		end:    ',',
	}
	e.want = store.Want{Properties: o.Properties, NoGeometry: !e.points}
	if o.Excel {
		e.end = ';'
		e.header = append(e.header, "\uFEFF"...)
	}
	e.header = append(e.header, "id"...)
	used := map[string]bool{}
	for i, n := range names {
		if n == "id" {
			e.skip = i
			continue
		}
		used[n] = true
		e.header = e.appendField(append(e.header, e.end), n)
	}
	if e.points {
		for _, n := range [...]string{"lon", "lat"} {
			for used[n] {
				n += "_"
			}
			e.header = append(append(e.header, e.end), n...)
		}
		if e.geom, err = NewGeometry(c.Geometry.CRS, crs.CRS84); err != nil {
			return nil, err
		}
		e.geom.setPrecision(o.Precision)
	}
	e.header = append(e.header, "\r\n"...)
	return e, nil
}

// Want returns how features must be fetched.
func (e *CSV) Want() store.Want { return e.want }

// AppendHeader writes the header line.
func (e *CSV) AppendHeader(dst []byte) []byte { return append(dst, e.header...) }

// Append writes the record of a feature.
func (e *CSV) Append(dst []byte, f *store.Feature) ([]byte, error) {
	start := len(dst)
	fail := func(err error) ([]byte, error) {
		return dst[:start], fmt.Errorf("feature: %s %q: %w", e.coll.ID, f.Public(), err)
	}
	if err := checkValues(f, e.values); err != nil {
		return fail(err)
	}
	dst = e.appendField(dst, f.Public())
	for i, v := range f.Values {
		if i == e.skip {
			continue
		}
		dst = append(dst, e.end)
		switch v := v.(type) {
		case nil:
		case string:
			dst = e.appendField(dst, v)
		case store.JSON:
			dst = e.appendField(dst, string(v))
		case int64:
			dst = strconv.AppendInt(dst, v, 10)
		case float64:
			if v-v == 0 { // neither NaN nor infinite
				dst = e.comma(appendFloat(dst, v), len(dst))
			}
		case bool:
			dst = strconv.AppendBool(dst, v)
		default:
			return fail(fmt.Errorf("a value of type %T", v))
		}
	}
	if e.points {
		dst = append(dst, e.end)
		if p, ok := e.geom.location(f.Geometry.WKB); ok {
			dst = append(e.comma(appendFixed(dst, p[0], e.geom.decimals), len(dst)), e.end)
			dst = e.comma(appendFixed(dst, p[1], e.geom.decimals), len(dst))
		} else {
			dst = append(dst, e.end)
		}
	}
	return append(dst, "\r\n"...), nil
}

// comma replaces the decimal point of the number at an offset by the separator of the dialect.
func (e *CSV) comma(dst []byte, at int) []byte {
	if e.excel {
		if i := bytes.IndexByte(dst[at:], '.'); i >= 0 {
			dst[at+i] = ','
		}
	}
	return dst
}

// Bytes of a text with a special meaning in a field.
const (
	csvEnds  uint8 = 1 << iota // would end the field or the line
	csvSemi                    // would end the field in the dialect with semicolons
	csvQuote                   // must be doubled
)

var csvBytes = [256]uint8{',': csvEnds, '\r': csvEnds, '\n': csvEnds, ';': csvSemi, '"': csvEnds | csvQuote}

// appendField writes a text, quoted if necessary. Invalid UTF-8 becomes U+FFFD.
func (e *CSV) appendField(dst []byte, s string) []byte {
	var marks uint8
	for i := range len(s) {
		marks |= csvBytes[s[i]]
	}
	quote := marks&csvEnds != 0 || e.excel && marks&csvSemi != 0
	if quote {
		dst = append(dst, '"')
	}
	if e.excel && s != "" && strings.IndexByte("=+-@\t\r", s[0]) >= 0 {
		dst = append(dst, '\'')
	}
	if marks&csvQuote == 0 && utf8.ValidString(s) {
		dst = append(dst, s...)
	} else {
		dst = appendDoubled(dst, s)
	}
	if quote {
		dst = append(dst, '"')
	}
	return dst
}

func appendDoubled(dst []byte, s string) []byte {
	for _, r := range s {
		if r == '"' {
			dst = append(dst, '"')
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}
