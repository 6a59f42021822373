package postgis

import (
	"encoding/binary"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis/catalog"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
)

func quote(name string) string { return sqlq.PostgreSQL{}.Quote(name) }

// selectExpr returns the expression for decode. It has one PostgreSQL type for each of our types.
func selectExpr(alias string, f *sqlq.Field) string {
	if f.ID != nil {
		return f.ID.Text(alias)
	}
	if f.Path != nil {
		whole := *f
		whole.Type, whole.Path = cql2.TypeJSON, nil
		return selectExpr(alias, &whole)
	}
	x := alias + "." + quote(f.Column)
	switch f.Type {
	case cql2.TypeText:
		if f.Normal == "" || f.Normal == sqlq.PostgresCollate {
			return x
		}
		return orNull(x, f) + "::text"
	case cql2.TypeJSON:
		if f.Normal == catalog.ArrayColumn {
			return "array_to_json(" + x + ")::text"
		}
		return orNull(x, f) + "::text"
	case cql2.TypeInteger:
		return "(" + x + " + 0::bigint)"
	case cql2.TypeNumber:
		if f.Normal == sqlq.PostgresNumeric {
			return sqlq.Column(sqlq.PostgreSQL{}, alias, f) + "::text"
		}
	}
	return sqlq.Column(sqlq.PostgreSQL{}, alias, f)
}

// orNull returns the column in a form that the server refuses if the type of the column has changed.
func orNull(x string, f *sqlq.Field) string {
	if f.Declared == "" {
		return x
	}
	return "coalesce(" + x + ", NULL::" + f.Declared + ")"
}

// valueExpr returns the expression for decodeValue: the served value, if that differs from the compared one.
func valueExpr(alias string, f *sqlq.Field) string {
	x := alias + "." + quote(f.Column)
	switch {
	case f.Normal == sqlq.PostgresNumeric:
		return "coalesce(" + x + ", NULL::numeric)::text"
	case f.Normal == sqlq.PostgresNumber:
		return x
	case f.Normal == sqlq.PostgresSingle:
		return "coalesce(" + x + ", NULL::real)::text::double precision"
	case f.Normal == sqlq.PostgresDay:
		return x
	case f.Normal == sqlq.PostgresStamp:
		return x + "::timestamptz"
	}
	return selectExpr(alias, f)
}

// First and last day, and microseconds, with a year of four digits (RFC 3339), counted from epoch.
const (
	firstDay, lastDay     = -730119, 2921939
	firstMicro, lastMicro = firstDay * 86400e6, (lastDay+1)*86400e6 - 1
)

// decodeValue decodes a column of valueExpr that is not null; false for values that cannot be served: NaN, infinity,
// and times outside the years 1 to 9999.
func decodeValue(raw []byte, f *sqlq.Field) (any, bool) {
	switch f.Type {
	case cql2.TypeNumber:
		if f.Normal == sqlq.PostgresNumeric {
			return decimal(string(raw))
		}
		v := math.Float64frombits(binary.BigEndian.Uint64(raw))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, false
		}
		return v, true
	case cql2.TypeDate:
		if d := int32(binary.BigEndian.Uint32(raw)); d < firstDay || d > lastDay {
			return nil, false
		}
	case cql2.TypeTimestamp:
		if m := int64(binary.BigEndian.Uint64(raw)); m < firstMicro || m > lastMicro {
			return nil, false
		}
	}
	return decode(raw, f.Type), true
}

// decimal parses a number printed by PostgreSQL: as a float64 if that is exact, else as its digits.
func decimal(s string) (any, bool) {
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, false
	}
	if strings.IndexByte(s, '.') >= 0 {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "-0" || s == "" {
		s = "0"
	}
	if strconv.FormatFloat(v, 'f', -1, 64) == s {
		return v, true
	}
	return store.JSON(s), true
}

// epoch is the origin of dates and timestamps in PostgreSQL's binary format.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// decodeCompared decodes a column of selectExpr.
func decodeCompared(raw []byte, f *sqlq.Field) any {
	switch {
	case raw != nil && f.Path != nil:
		return cql2.Member(string(raw), f.Path, f.Type)
	case raw != nil && f.Normal == sqlq.PostgresNumeric:
		return cql2.Decimal(raw)
	}
	return decode(raw, f.Type)
}

// decode decodes a value in binary format: nil, string, int64, float64 or bool. Dates become 2006-01-02, timestamps RFC
// 3339 in UTC.
func decode(raw []byte, t cql2.Type) any {
	if raw == nil {
		return nil
	}
	switch t {
	case cql2.TypeInteger:
		return int64(binary.BigEndian.Uint64(raw))
	case cql2.TypeNumber:
		return math.Float64frombits(binary.BigEndian.Uint64(raw))
	case cql2.TypeBool:
		return raw[0] != 0
	case cql2.TypeDate:
		return epoch.AddDate(0, 0, int(int32(binary.BigEndian.Uint32(raw)))).Format(time.DateOnly)
	case cql2.TypeTimestamp:
		return moment(raw).Format(time.RFC3339Nano)
	}
	return string(raw)
}

func moment(raw []byte) time.Time {
	micros := int64(binary.BigEndian.Uint64(raw))
	return time.Unix(epoch.Unix()+micros/1e6, micros%1e6*1e3).UTC()
}

// keyLayout is the layout of timestamps in sort keys. It sorts chronologically.
const keyLayout = "2006-01-02T15:04:05.000000Z"

// decode decodes a sort key: like decode, but timestamps have keyLayout, and numeric values are cql2.Decimal.
func (k key) decode(raw []byte) any {
	switch {
	case raw == nil:
		return nil
	case k.typ == cql2.TypeTimestamp:
		return moment(raw).Format(keyLayout)
	case k.numeric:
		return cql2.Decimal(raw)
	}
	return decode(raw, k.typ)
}

// Layout of whole milliseconds in cursors, as in files, and the corresponding ending of keyLayout.
const (
	fileLayout = "2006-01-02T15:04:05.000Z"
	wholeMilli = "000Z"
)

// fileKey converts a result of key.decode to the form in cursors.
func fileKey(v any, t cql2.Type) any {
	if s, ok := v.(string); ok && t == cql2.TypeTimestamp && len(s) == len(keyLayout) &&
		strings.HasSuffix(s, wholeMilli) {
		return s[:len(fileLayout)-1] + "Z"
	}
	return v
}

// ownKey converts a key in a cursor to the form of key.decode, except that decimals remain strings.
func ownKey(v any, t cql2.Type) any {
	if s, ok := v.(string); ok && t == cql2.TypeTimestamp && len(s) == len(fileLayout) {
		return s[:len(s)-1] + wholeMilli
	}
	return v
}

// argument converts the value of a key, decoded or from a cursor, to an argument; false if it does not have the type.
func (k key) argument(v any) (any, bool) {
	switch text, _ := v.(string); {
	case k.numeric:
		return numericArgument(v)
	case k.uuid && v != nil:
		return sqlq.UUID(text), sqlq.IsUUID(text)
	}
	return keyArgument(v, k.typ)
}

// numericArgument is key.argument for decimals.
func numericArgument(v any) (any, bool) {
	switch x := v.(type) {
	case nil, cql2.Decimal:
		return v, true
	case string:
		return cql2.Decimal(x), digits.MatchString(x)
	}
	return nil, false
}

// digits matches a decimal number as PostgreSQL prints it.
var digits = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

func keyArgument(v any, t cql2.Type) (any, bool) {
	switch x := v.(type) {
	case nil:
		return nil, true
	case int64:
		if t == cql2.TypeNumber {
			return float64(x), true
		}
		return x, t == cql2.TypeInteger
	case float64:
		return x, t == cql2.TypeNumber
	case bool:
		return x, t == cql2.TypeBool
	case string:
		switch t {
		case cql2.TypeText:
			return x, conn.Storable(x)
		case cql2.TypeDate:
			d, err := time.Parse(time.DateOnly, x)
			return sqlq.PostgreSQL{}.Day(d), err == nil
		case cql2.TypeTimestamp:
			m, err := time.Parse(keyLayout, x)
			if err != nil {
				return nil, false
			}
			return sqlq.PostgreSQL{}.Stamp(m, "")
		}
	}
	return nil, false
}

// parseInteger parses a numeric feature id in its canonical form.
func parseInteger(s string) (any, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}
