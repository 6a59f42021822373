package sqlq

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
)

// Normal forms of a field (Field.Normal) in the SQLite dialect.
const (
	NormalCast = "cast" // text in a column that may hold numbers, or whose declared type would convert text to numbers
	NormalText = "text" // text that may be invalid UTF-8
	NormalDate = "date" // a date in some form
	NormalTime = "time" // a timestamp in some form; Field.Layout is a form that can be compared directly
)

// SQLite is the dialect of a GeoPackage. The connection must provide the functions grense_text, grense_date and
// grense_time, which return the normal form of a value or null, and those of Call.
type SQLite struct{}

var _ Dialect = SQLite{}

// StampLayout is the normal form of a timestamp, in UTC; it sorts chronologically.
const StampLayout = "2006-01-02T15:04:05.000000000Z"

// maxGlob is a pattern length in bytes that SQLite accepts (SQLITE_MAX_LIKE_PATTERN_LENGTH is 50000).
const maxGlob = 16 << 10

func (SQLite) Quote(ident string) string   { return `"` + strings.ReplaceAll(ident, `"`, `""`) + `"` }
func (SQLite) Placeholder(int, any) string { return "?" }

func (SQLite) Bool(v bool) string {
	if v {
		return "1"
	}
	return "0"
}

func (SQLite) Call(fold string) (string, bool) { return "grense_" + fold, true }

func (SQLite) Normal(column string, f *Field) string {
	switch {
	case f.Normal == NormalCast:
		column = "CAST(" + column + " AS TEXT)"
	case f.Normal != "":
		column = "grense_" + f.Normal + "(" + column + ")"
	case f.Type == cql2.TypeTimestamp && f.Layout == "":
		column = "grense_time(" + column + ")"
	}
	if f.Collated {
		column += " COLLATE BINARY"
	}
	return column
}

// Numbers returns Mixed: a column of doubles may also have integers.
func (SQLite) Numbers(*Field) NumberKind { return Mixed }

// Finite needs no test for NaN, which SQLite stores as null; 9e999 is its infinity.
func (SQLite) Finite(x Fragment) (Fragment, bool) {
	return Cat(Ident("NULLIF(NULLIF("), x, Ident(", 9e999), -9e999)")), true
}

func (SQLite) Day(t time.Time) any { return t.UTC().Format(time.DateOnly) }

func (SQLite) Stamp(t time.Time, layout string) (any, bool) {
	t = t.UTC()
	if t.Year() < 0 || t.Year() > 9999 {
		return nil, false
	}
	if layout == "" {
		return t.Format(StampLayout), true
	}
	s := t.Format(layout)
	back, err := time.Parse(layout, s)
	return s, err == nil && back.Equal(t)
}

// Like uses GLOB, which is case-sensitive and compares characters.
func (SQLite) Like(x Fragment, pattern string) (Fragment, bool) {
	p, ok := SplitPattern(pattern)
	if !ok {
		return Fragment{}, false
	}
	var b strings.Builder
	for _, t := range p.Tokens {
		switch t.Wild {
		case '%':
			b.WriteByte('*')
		case '_':
			b.WriteByte('?')
		}
		for _, r := range t.Text {
			if strings.ContainsRune("*?[", r) {
				b.WriteString("[" + string(r) + "]")
			} else {
				b.WriteRune(r)
			}
		}
	}
	return Cat(x, SQL(" GLOB ?", b.String())), b.Len() <= maxGlob
}

// Begins adds a range to the pattern, which SQLite cannot derive from an argument.
func (SQLite) Begins(x Fragment, prefix string, whole Fragment) Fragment {
	return Join(" AND ", prefixed(x, prefix), paren(whole))
}

// Folded is an argument: a LIKE pattern for a text that is folded by the function Fold.
type Folded struct{ Fold, Pattern string }

// LikeFolded folds and compares in one function call, without an intermediate text.
func (SQLite) LikeFolded(fold string, x Fragment, pattern string) (Fragment, bool) {
	return Cat(Ident("grense_like("), x, SQL(", ?)", Folded{fold, pattern})), true
}

func (d SQLite) Touch(alias string, g *Geometry, boxes []orb.Bound, missing bool) (Fragment, bool) {
	if g.Index == "" {
		return Fragment{}, false
	}
	var parts []Fragment
	for _, b := range boxes {
		for _, v := range [...]float64{b.Min[0], b.Min[1], b.Max[0], b.Max[1]} {
			if math.IsNaN(v) {
				return Fragment{}, false
			}
		}
		parts = append(parts, Cat(Ident("SELECT id FROM "+g.Index),
			SQL(" WHERE maxx >= ? AND minx <= ? AND maxy >= ? AND miny <= ?", b.Min[0], b.Max[0], b.Min[1], b.Max[1])))
	}
	return d.oneOf(alias, g, parts, missing), true
}

func (d SQLite) Inside(alias string, g *Geometry, b orb.Bound) (Fragment, bool) {
	if g.Index == "" {
		return Fragment{}, false
	}
	part := Cat(Ident("SELECT id FROM "+g.Index),
		SQL(" WHERE minx >= ? AND maxx <= ? AND miny >= ? AND maxy <= ?", b.Min[0], b.Max[0], b.Min[1], b.Max[1]))
	return d.oneOf(alias, g, []Fragment{part}, true), true
}

func (d SQLite) Missing(alias string, g *Geometry) Fragment {
	return d.oneOf(alias, g, nil, true)
}

// oneOf selects the rows whose row id the parts return; with missing also the rows without geometry.
func (d SQLite) oneOf(alias string, g *Geometry, parts []Fragment, missing bool) Fragment {
	if missing && g.HasNull {
		if g.NoGeom == "" {
			return Ident("grense_nogeom(" + alias + "." + d.Quote(g.Column) + ")")
		}
		parts = append(parts, Ident("SELECT id FROM "+g.NoGeom))
	}
	if len(parts) == 0 {
		return Ident(d.Bool(false))
	}
	return Cat(Ident(alias+"."+g.RowID+" IN ("), Join(" UNION ALL ", parts...), Ident(")"))
}

// Gram searches an FTS5 table with the tokenizer trigram.
func (d SQLite) Gram(alias, table, literal string) (Fragment, bool) {
	if strings.ContainsRune(literal, 0) {
		return Fragment{}, false
	}
	phrase := `"` + strings.ReplaceAll(literal, `"`, `""`) + `"`
	name := d.Quote(table)
	return Cat(Ident(alias+".rowid IN (SELECT rowid FROM "+name+" WHERE "+name), SQL(" MATCH ?)", phrase)), true
}

// Texts searches an FTS5 table with the tokenizer trigram and without positions:
// a text with all trigrams of the literal may contain it.
func (d SQLite) Texts(alias string, s SearchColumns, pattern, literal string) (Fragment, bool) {
	norm := "x." + d.Quote(s.Norm)
	like, ok := d.Like(Ident(norm), pattern)
	if !ok {
		return Fragment{}, false
	}
	if grams := Trigrams(literal); grams != "" && s.Gram != "" {
		name := d.Quote(s.Gram)
		like = Cat(Ident("x.rowid IN (SELECT rowid FROM "+name+" WHERE "+name), SQL(" MATCH ?) AND ", grams), like)
	}
	return Cat(Ident(alias+"."+d.Quote(s.Norm)+" IN (SELECT "+norm+" FROM "+d.Quote(s.Texts)+" AS x WHERE "), like,
		Ident(")")), true
}

// Trigrams returns an FTS5 query for all trigrams of a text; "" if the text is too short.
func Trigrams(text string) string {
	if strings.ContainsRune(text, 0) {
		return ""
	}
	rs := []rune(text)
	var terms []string
	for i := range max(0, len(rs)-2) {
		term := `"` + strings.ReplaceAll(string(rs[i:i+3]), `"`, `""`) + `"`
		if !slices.Contains(terms, term) {
			terms = append(terms, term)
		}
	}
	return strings.Join(terms, " AND ")
}

// Not needed in SQLite: its functions fold all texts and find words exactly, and indexes contain the normal forms.
func (SQLite) FoldASCII(Fragment) (ascii, lower Fragment, ok bool) { return ascii, lower, false }
func (SQLite) Range(string, *Field, string, ...any) (f Fragment, exact, ok bool) {
	return f, false, false
}
func (SQLite) ByCodePoint(x Fragment) Fragment                                      { return x }
func (SQLite) Absent(string, *Field) (f Fragment, ok bool)                          { return f, false }
func (SQLite) SearchBound(string, *Source, cql2.Search, bool) (f Fragment, ok bool) { return f, false }
