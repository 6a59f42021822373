package postgis

import (
	"encoding/binary"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// selectExpr returns the expression that decode reads: of one type of the server for each type of ours.
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
		if f.Normal == arrayColumn {
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

// orNull is the column, in a form that the server refuses when the column is of another type than it was.
func orNull(x string, f *sqlq.Field) string {
	if f.Declared == "" {
		return x
	}
	return "coalesce(" + x + ", NULL::" + f.Declared + ")"
}

// valueExpr returns the expression that decodeValue reads: where the values that are compared are not those
// that are served, the latter.
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

// The first and the last day, and the microseconds, that have a date of four figures (RFC 3339), counted from epoch.
const (
	firstDay, lastDay     = -730119, 2921939
	firstMicro, lastMicro = firstDay * 86400e6, (lastDay+1)*86400e6 - 1
)

// decodeValue reads what valueExpr gives, which is not null; false when it is none that can be served:
// a number that is none or infinite, a moment that is infinite or whose year is not one of 1 to 9999.
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

// decimal is a number as PostgreSQL prints it: a float64 where that is the same number, else its digits.
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

// epoch is the first moment of PostgreSQL's own dates and timestamps in binary form.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// decodeCompared reads what selectExpr gives.
func decodeCompared(raw []byte, f *sqlq.Field) any {
	switch {
	case raw != nil && f.Path != nil:
		return cql2.Member(string(raw), f.Path, f.Type)
	case raw != nil && f.Normal == sqlq.PostgresNumeric:
		return cql2.Decimal(raw)
	}
	return decode(raw, f.Type)
}

// decode reads a value in binary form: nil, string, int64, float64 or bool. Days come as 2006-01-02,
// moments as RFC 3339 in UTC.
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

// keyLayout is the form of moments in cursors; it sorts as the moments do.
const keyLayout = "2006-01-02T15:04:05.000000Z"

// decode reads the value of a key: as decode does, but moments have keyLayout, and numeric is cql2.Decimal.
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

// The form of moments of whole milliseconds in cursors, which is that of files, and the ending
// that keyLayout has for them.
const (
	fileLayout = "2006-01-02T15:04:05.000Z"
	wholeMilli = "000Z"
)

// fileKey is a key, as key.decode gives it, in the form of cursors.
func fileKey(v any, t cql2.Type) any {
	if s, ok := v.(string); ok && t == cql2.TypeTimestamp && len(s) == len(keyLayout) &&
		strings.HasSuffix(s, wholeMilli) {
		return s[:len(fileLayout)-1] + "Z"
	}
	return v
}

// ownKey is a key of a cursor in the form of key.decode, but for decimal numbers, which are texts.
func ownKey(v any, t cql2.Type) any {
	if s, ok := v.(string); ok && t == cql2.TypeTimestamp && len(s) == len(fileLayout) {
		return s[:len(s)-1] + wholeMilli
	}
	return v
}

// argument turns the value of a key, read or in a cursor, into an argument; false when it is none of the type.
func (k key) argument(v any) (any, bool) {
	switch text, _ := v.(string); {
	case k.numeric:
		return numericArgument(v)
	case k.uuid && v != nil:
		return sqlq.UUID(text), sqlq.IsUUID(text)
	}
	return keyArgument(v, k.typ)
}

// numericArgument is key.argument of decimal numbers.
func numericArgument(v any) (any, bool) {
	switch x := v.(type) {
	case nil, cql2.Decimal:
		return v, true
	case string:
		return cql2.Decimal(x), digits.MatchString(x)
	}
	return nil, false
}

// digits is a decimal number as PostgreSQL prints it.
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
			return x, storable(x)
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

// bind gives arguments the types that pgx sends.
func bind(args []any) []any {
	for i, a := range args {
		switch a := a.(type) {
		case sqlq.Date:
			args[i] = string(a)
		case sqlq.Moment:
			args[i] = string(a)
		case sqlq.UUID:
			args[i] = string(a)
		case cql2.Decimal:
			args[i] = string(a)
		}
	}
	return args
}

// storable reports whether the database takes a text: UTF-8 without the character 0.
func storable(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// parseInteger reads a feature id that is a number, as it is printed.
func parseInteger(s string) (any, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && strconv.FormatInt(n, 10) == s
}
