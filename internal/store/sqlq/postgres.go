package sqlq

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/wkb"
)

// Normal forms of a field (Field.Normal) in the PostgreSQL dialect. Columns of tables that Grense created need none.
const (
	PostgresCollate = "collate" // text of another collation than "C"
	PostgresText    = "text"    // another type that is compared as text
	PostgresNumber  = "number"  // a double that may be NaN or infinite
	PostgresNumeric = "numeric" // a decimal number that may be NaN, infinite, or too large for a double
	PostgresSingle  = "single"  // a float of 32 bits, compared as the decimal number that it prints as
	PostgresDay     = "day"     // a date that may be infinite or outside the years 1 to 9999
	PostgresStamp   = "stamp"   // a timestamp, with a zone or in UTC, that may be infinite or outside these years

	// Parts of a range: its first and its last day or moment, null if unbounded, and whether it is empty.
	// Moments are a microsecond apart.
	PostgresFirstDay    = "first day"
	PostgresLastDay     = "last day"
	PostgresFirstMoment = "first moment"
	PostgresLastMoment  = "last moment"
	PostgresEmpty       = "empty"
)

// PostgreSQL is the dialect of a PostGIS database. The session must use the time zone UTC and the encoding UTF8. Since
// a read-only role cannot create functions, only ASCII texts and search columns are folded; cql2.Eval does the rest.
// Texts compare in the collation of their column if that is by code point, else with COLLATE "C"; Stored shows what an
// index serves. Arithmetic fails on overflow. LIKE has no additional range, since the planner would then underestimate
// the rows, and a trigram index serves LIKE itself. Arguments may also be Date and Moment.
type PostgreSQL struct{}

var _ Dialect = PostgreSQL{}

// Date is a date argument, in PostgreSQL's format.
type Date string

// Moment is a timestamp argument, in PostgreSQL's format.
type Moment string

func (PostgreSQL) Quote(ident string) string { return `"` + strings.ReplaceAll(ident, `"`, `""`) + `"` }

// Placeholder includes the type, so that the server does not infer one from the expression. A text is compared in the
// collation of the column, since an index on the column serves no other.
func (PostgreSQL) Placeholder(n int, v any) string {
	p := "$" + strconv.Itoa(n)
	switch v.(type) {
	case nil:
		return p + "::text"
	case string:
		return p + "::text"
	case UUID:
		return p + "::uuid"
	case int64:
		return p + "::bigint"
	case float64:
		return p + "::double precision"
	case cql2.Decimal:
		return p + "::numeric"
	case bool:
		return p + "::boolean"
	case []byte:
		return p + "::bytea"
	case Date:
		return p + "::date"
	case Moment:
		return p + "::timestamptz"
	}
	panic(fmt.Sprintf("sqlq: an argument of type %T", v))
}

func (PostgreSQL) Bool(v bool) string {
	if v {
		return "TRUE"
	}
	return "FALSE"
}

func (PostgreSQL) Normal(column string, f *Field) string {
	switch f.Normal {
	case PostgresCollate:
		return "(" + column + ` COLLATE "C")`
	case PostgresText:
		return "(" + column + `::text COLLATE "C")`
	case PostgresNumber:
		return "CASE WHEN abs(" + column + ") <= " + PostgresMost + " THEN " + column + " END"
	case PostgresNumeric:
		return "CASE WHEN abs(" + column + ") <= " + PostgresMost + "::numeric THEN " + column + "::numeric END"
	case PostgresSingle:
		return "CASE WHEN abs(" + column + ") <= 3.4028235e38::real THEN " + column + "::text::double precision END"
	case PostgresDay:
		return "CASE WHEN " + column + " " + postgresDays + " THEN " + column + " END"
	case PostgresStamp:
		return "CASE WHEN " + column + " " + postgresStamps + " THEN " + column + "::timestamptz END"
	case PostgresFirstDay: // ranges of dates are canonical: [ and )
		return "CASE WHEN lower(" + column + ") " + postgresDays + " THEN lower(" + column + ") END"
	case PostgresLastDay:
		return "CASE WHEN upper(" + column + ") BETWEEN '0001-01-02' AND '10000-01-01' THEN upper(" +
			column + ") - 1 END"
	case PostgresFirstMoment:
		return "CASE WHEN lower(" + column + ") " + postgresStamps + " THEN CASE WHEN lower_inc(" + column +
			") THEN lower(" + column + ") ELSE lower(" + column +
			") + INTERVAL '1 microsecond' END::timestamptz END"
	case PostgresLastMoment:
		return "CASE WHEN upper(" + column + ") BETWEEN '0001-01-01 00:00:00.000001' AND '9999-12-31 " +
			"23:59:59.999999' THEN CASE WHEN upper_inc(" + column + ") THEN upper(" + column +
			") ELSE upper(" + column + ") - INTERVAL '1 microsecond' END::timestamptz END"
	case PostgresEmpty:
		return "coalesce(isempty(" + column + "), FALSE)"
	}
	return column
}

// Present selects the rows with a value by their stored column, whose order is that of the values. It returns false if
// it is not, or if every row has a value.
func (PostgreSQL) Present(column string, f *Field) (Fragment, bool) {
	switch f.Normal {
	case PostgresNumber, PostgresNumeric:
		return Ident(column + " BETWEEN -" + PostgresMost + " AND " + PostgresMost), true
	case PostgresDay:
		return Ident(column + " " + postgresDays), true
	case PostgresStamp:
		return Ident(column + " " + postgresStamps), true
	case "", PostgresCollate, PostgresText:
		return Ident(column + " IS NOT NULL"), f.Nulls
	}
	return Fragment{}, false
}

// PostgresMost is the greatest number that can be served.
const PostgresMost = "1.7976931348623157e308"

func (PostgreSQL) Numbers(f *Field) NumberKind {
	if f.Normal == PostgresNumeric {
		return Numeric
	}
	return Double
}

// Ranges of dates and timestamps that can be served.
const (
	postgresDays   = "BETWEEN '0001-01-01' AND '9999-12-31'"
	postgresStamps = "BETWEEN '0001-01-01' AND '9999-12-31 23:59:59.999999'"
)

// ByCodePoint adds a collation that compares by code point.
func (PostgreSQL) ByCodePoint(x Fragment) Fragment {
	return Fragment{"(" + x.sql + ` COLLATE "C")`, x.args}
}

// Range compares 32-bit floats with the neighbours of the argument, since they count as the decimals that they print
// as.
func (d PostgreSQL) Range(column string, f *Field, op string, args ...any) (served Fragment, exact, ok bool) {
	equality := op == "=" || op == "IN"
	switch f.Normal {
	case "", PostgresCollate, PostgresText:
		return d.rangeOfText(column, f, op, args)
	case PostgresDay, PostgresStamp, PostgresNumber, PostgresNumeric:
		return compared(column, op, "?", args), equality && !slices.ContainsFunc(args, isBeyond), op != "<>"
	case PostgresSingle:
		v, isNumber := args[0].(float64)
		if op == "<>" || op == "IN" || !isNumber || math.Abs(v) >= math.MaxFloat32 {
			return served, false, false
		}
		near := []any{float64(float32(v))}
		above, below := compared(column, ">=", "(?::real)", near), compared(column, "<=", "(?::real)", near)
		switch op {
		case ">", ">=":
			return above, false, true
		case "<", "<=":
			return below, false, true
		}
		return Join(" AND ", above, below), false, true
	}
	return served, false, false
}

// isBeyond reports whether an argument may equal stored values that are served as null.
func isBeyond(arg any) bool {
	switch v := arg.(type) {
	case Date:
		return len(v) != len(time.DateOnly)
	case cql2.Decimal:
		_, err := strconv.ParseFloat(string(v), 64)
		return err != nil
	}
	return false
}

// compared compares a column with arguments, each converted by form: all of them for IN, else the first.
func compared(column, op, form string, args []any) Fragment {
	if op == "IN" {
		forms := strings.Repeat(", "+form, len(args))
		return Cat(Ident(column), SQL(" IN ("+forms[len(", "):]+")", args...))
	}
	return Cat(Ident(column), SQL(" "+op+" "+form, args...))
}

func (PostgreSQL) Absent(column string, f *Field) (Fragment, bool) {
	switch f.Normal {
	case PostgresDay:
		return Ident(column + " IS NULL OR " + column + " < '0001-01-01' OR " + column + " > '9999-12-31'"), true
	case PostgresStamp:
		return Ident(column + " IS NULL OR " + column + " < '0001-01-01' OR " + column +
			" > '9999-12-31 23:59:59.999999'"), true
	}
	return Fragment{}, false
}

func (PostgreSQL) Day(t time.Time) any {
	t = t.UTC()
	if y := t.Year(); y < 1 {
		return Date(fmt.Sprintf("%04d-%02d-%02d BC", 1-y, t.Month(), t.Day()))
	}
	return Date(t.Format(time.DateOnly))
}

// Stamp returns moments with microseconds, the precision of a column.
func (PostgreSQL) Stamp(t time.Time, _ string) (any, bool) {
	t = t.UTC()
	if t.Year() < 1 || t.Year() > 9999 || t.Nanosecond()%1000 != 0 {
		return nil, false
	}
	return Moment(t.Format("2006-01-02 15:04:05.999999Z")), true
}

// Like compares by character; % and _ are those of CQL2.
func (PostgreSQL) Like(x Fragment, pattern string) (Fragment, bool) {
	p, ok := SplitPattern(pattern)
	if !ok {
		return Fragment{}, false
	}
	var b strings.Builder
	for _, t := range p.Tokens {
		if t.Wild != 0 {
			b.WriteByte(t.Wild)
		}
		for _, r := range t.Text {
			if strings.ContainsRune(`%_\`, r) {
				b.WriteByte('\\')
			}
			b.WriteRune(r)
		}
	}
	if literal, plain := p.literal(); plain {
		return Cat(x, SQL(" = ?", literal)), true
	}
	if p.short() {
		x = Cat(Ident("("), x, Ident(" || '')"))
	}
	return Cat(x, SQL(" LIKE ?", b.String())), true
}

// short reports whether a pattern begins with a wildcard and has no three letters in a row.
// An index of trigrams returns all rows for it, which the planner considers cheap.
// For an expression without index it reads the narrowest index that holds the column.
func (p Pattern) short() bool {
	for i, t := range p.Tokens {
		if i == 0 && t.Wild == 0 || utf8.RuneCountInString(t.Text) >= 3 {
			return false
		}
	}
	return true
}

// Touch compares with the envelopes of rows, which have single precision and are never smaller than the geometry.
func (d PostgreSQL) Touch(alias string, g *Geometry, boxes []orb.Bound, missing bool) (Fragment, bool) {
	var parts []Fragment
	for _, b := range boxes {
		f, ok := envelope(b.Min[0], b.Min[1], b.Max[0], b.Max[1])
		if !ok {
			return Fragment{}, false
		}
		parts = append(parts, Cat(Ident(d.geometry(alias, g)+" && "), f))
	}
	if missing {
		parts = append(parts, d.Missing(alias, g))
	}
	if len(parts) == 0 {
		return Ident(d.Bool(false)), true
	}
	return Join(" OR ", parts...), true
}

// Inside compares with the box rounded inwards to single precision, so that an envelope inside it is
// certainly inside the box.
func (d PostgreSQL) Inside(alias string, g *Geometry, b orb.Bound) (Fragment, bool) {
	x0, y0, x1, y1 := up(b.Min[0]), up(b.Min[1]), -up(-b.Max[0]), -up(-b.Max[1])
	f, ok := envelope(x0, y0, x1, y1)
	if !ok || x0 > x1 || y0 > y1 {
		return Fragment{}, false
	}
	return Cat(Ident(d.geometry(alias, g)+" @ "), f, Ident(" OR "), d.Missing(alias, g)), true
}

// up returns the smallest number of single precision that is not below v.
func up(v float64) float64 {
	f := float32(v)
	if float64(f) < v {
		f = math.Nextafter32(f, float32(math.Inf(1)))
	}
	return float64(f)
}

// far is greater than any coordinate of a supported reference system, but fits into single precision.
const far = 1e30

func envelope(x0, y0, x1, y1 float64) (Fragment, bool) {
	v := [...]float64{x0, y0, x1, y1}
	for i := range v {
		if math.IsNaN(v[i]) {
			return Fragment{}, false
		}
		v[i] = min(max(v[i], -far), far)
	}
	return SQL("ST_MakeEnvelope(?, ?, ?, ?)", v[0], v[1], v[2], v[3]), true
}

// Missing finds null; if the layer has them, also geometries without positions (Geometry.HasEmpty) and invalid
// ones (Geometry.HasBroken).
func (d PostgreSQL) Missing(alias string, g *Geometry) Fragment {
	column := d.geometry(alias, g)
	switch {
	case g.HasBroken: // the length of a line through all positions and one more reveals NaN and infinity
		far := strconv.FormatFloat(wkb.MaxOrdinate, 'f', -1, 64)
		return Ident("(" + column + " IS NULL OR ST_IsEmpty(" + column + ") OR NOT (abs(ST_XMin(" + column + ")) <= " +
			far + " AND abs(ST_XMax(" + column + ")) <= " + far +
			" AND abs(ST_YMin(" + column + ")) <= " + far + " AND abs(ST_YMax(" + column + ")) <= " + far +
			" AND ST_Length(ST_MakeLine(ARRAY[ST_Points(" + column + "), ST_SetSRID(ST_MakePoint(0, 0), ST_SRID(" +
			column + "))])) < 'Infinity'))")
	case g.HasEmpty: // a point of NaN counts as none, but ST_IsEmpty is false for it
		return Ident("(" + column + " IS NULL OR ST_IsEmpty(" + column + ") OR ST_XMin(" + column +
			") = 'NaN' AND NOT EXISTS (SELECT FROM ST_DumpPoints(" + column + ") p WHERE ST_X(p.geom) < 'NaN'))")
	}
	return Ident(column + " IS NULL")
}

func (d PostgreSQL) geometry(alias string, g *Geometry) string {
	column := alias + "." + d.Quote(g.Column)
	if g.Geography {
		column += "::geometry"
	}
	return g.Before + column + g.After
}

// The ASCII characters that are not part of words, as in cql2.Words, and those that are, for a character class
// of a regular expression.
const (
	blanks = `\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u007f`
	words  = `a-zA-Z0-9`
)

// SearchBound matches the folded columns with a regular expression, which an index of trigrams serves.
// Characters outside ASCII are undecided: for an upper bound each may be part of a word and separate words;
// for a lower bound neither.
func (d PostgreSQL) SearchBound(alias string, src *Source, s cql2.Search, upper bool) (Fragment, bool) {
	between, within := "["+blanks+"]", "["+words+"]"
	if upper {
		between, within = "[^"+words+"]", "[^"+blanks+"]"
	}
	var parts []Fragment
	for _, p := range s.Props {
		f := src.Fields[p]
		if f == nil || f.Search.Norm == "" {
			return Fragment{}, false
		}
		column := alias + "." + d.Quote(f.Search.Norm)
		for _, t := range s.Terms {
			test := Cat(Ident(column),
				SQL(" ~ ?", "(^|"+between+")"+strings.ReplaceAll(t, " ", within+"*"+between+"+")))
			if f.Nulls {
				test = Cat(Ident(column+" IS NOT NULL AND "), test)
			}
			parts = append(parts, test)
		}
	}
	if parts == nil {
		return Fragment{}, false
	}
	return Join(" OR ", parts...), true
}

// FoldASCII recognises ASCII texts by a pattern.
func (PostgreSQL) FoldASCII(x Fragment) (ascii, lower Fragment, ok bool) {
	return Cat(x, Ident(` !~ '[^\u0001-\u007f]'`)), Cat(Ident("lower("), x, Ident(` COLLATE "C")`)), true
}

// Begins returns whole: the server derives the range itself.
func (PostgreSQL) Begins(_ Fragment, _ string, whole Fragment) Fragment { return whole }

// What a read-only role cannot do in PostgreSQL.
func (PostgreSQL) Call(string) (string, bool)                                        { return "", false }
func (PostgreSQL) LikeFolded(string, Fragment, string) (f Fragment, ok bool)         { return f, false }
func (PostgreSQL) Finite(Fragment) (f Fragment, ok bool)                             { return f, false }
func (PostgreSQL) Search(string, *Source, cql2.Search) (f Fragment, ok bool)         { return f, false }
func (PostgreSQL) Gram(_, _, _ string) (f Fragment, ok bool)                         { return f, false }
func (PostgreSQL) Texts(string, SearchColumns, string, string) (f Fragment, ok bool) { return f, false }
