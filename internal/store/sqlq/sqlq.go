// Package sqlq compiles CQ356 to SQL conditions. No other package writes conditions.
//
// A filter that SQL cannot express exactly is split. Where holds for every match and perhaps for more. Sure holds only
// for matches. Residue is what cql2.Eval must evaluate for a row that matches Where but not Sure. Under NOT, upper
// bounds become lower bounds and vice versa. Three-valued logic is preserved.
//
// SQL text never contains a value: identifiers come from a Source, which the store builds from its schema, and
// everything else is an argument. Equal queries give equal text.
package sqlq

import (
	"strings"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store"
)

// Dialect is the syntax of a database. A method whose last result is a bool returns false if the database cannot
// express the condition. The compiler then leaves it to cql2.Eval, or does without the index.
type Dialect interface {
	Quote(ident string) string
	Placeholder(n int, v any) string // placeholder of argument v; n counts from 1
	Bool(v bool) string              // a constant
	// Normal converts a column whose stored form cannot be compared directly.
	Normal(column string, f *Field) string
	// Numbers returns which numbers a field of cql2.TypeNumber can have in its normal form.
	Numbers(f *Field) NumberKind
	// Day and Stamp return the argument to compare with a date or a timestamp that is stored in a layout;
	// ok is false if the layout cannot hold the moment. The layout "" is that of Normal.
	Day(t time.Time) any
	Stamp(t time.Time, layout string) (any, bool)
	// Like returns a condition on text x that equals CQL2 LIKE with that pattern.
	Like(x Fragment, pattern string) (Fragment, bool)
	// Touch selects rows of alias whose envelope touches one of the boxes, in the storage CRS;
	// with missing also rows without a geometry. It returns false without an index,
	// since the condition would bound nothing.
	Touch(alias string, g *Geometry, boxes []orb.Bound, missing bool) (Fragment, bool)
	// Inside selects rows of alias whose envelope lies in the box, borders included. It returns false as Touch does.
	Inside(alias string, g *Geometry, box orb.Bound) (Fragment, bool)
	// Missing selects rows of alias that have no geometry.
	Missing(alias string, g *Geometry) Fragment

	// Call returns the SQL name of the function that folds text: "norm", "exact", "casei" or "accenti".
	Call(fold string) (string, bool)
	// LikeFolded is Like on a folded text.
	LikeFolded(fold string, x Fragment, pattern string) (Fragment, bool)
	// FoldASCII is for a database that can fold only ASCII: ascii is true for ASCII texts,
	// and lower is the text in lower case.
	FoldASCII(x Fragment) (ascii, lower Fragment, ok bool)
	// Finite replaces a result of arithmetic that is NaN or infinite by null.
	// It returns false if arithmetic fails instead.
	Finite(x Fragment) (Fragment, bool)

	// Begins adds the range of an ordered index to whole, if the database cannot derive it.
	// whole is the result of Like for x and a pattern that begins with prefix.
	Begins(x Fragment, prefix string, whole Fragment) Fragment
	// Range compares the stored column, for an index, if the normal form hides the column: with an argument, with
	// several for "IN", with a pattern for "LIKE". The result holds whenever the comparison of the normal form does;
	// unless exact is true, it may hold for more rows, and may be false where that is null. ok is false if no index
	// would serve it.
	Range(column string, f *Field, op string, args ...any) (served Fragment, exact, ok bool)
	// ByCodePoint adds a collation that compares by code point, whatever collation the column has.
	ByCodePoint(x Fragment) Fragment
	// Absent tests whether the normal form of a date or timestamp is null, without being null itself. It returns false
	// as Range does.
	Absent(column string, f *Field) (Fragment, bool)

	// Search selects rows of alias that match s, and is never null.
	Search(alias string, src *Source, s cql2.Search) (Fragment, bool)
	// SearchBound is for a database that finds words approximately: with upper it holds for every
	// match, else only for matches.
	SearchBound(alias string, src *Source, s cql2.Search, upper bool) (Fragment, bool)
	// Gram selects rows of alias whose folded text may contain the literal of at least three characters, by an index of
	// trigrams in a table of its own.
	Gram(alias, table, literal string) (Fragment, bool)
	// Texts selects rows whose folded text, in the column of that name, matches a pattern with that longest
	// literal, by the table of texts.
	Texts(alias string, s SearchColumns, pattern, literal string) (Fragment, bool)
}

// Source describes a table to the compiler.
type Source struct {
	Table     string // quoted, with its schema where needed
	Fields    map[string]*Field
	Geometry  *Geometry            // nil: none
	Words     *Words               // nil: no index of words
	Relations map[string]*Relation // by name
	Versions  *store.Versions      // nil: queries have no AsOf
	Leads     map[string]string    // index, not quoted, by the column that it begins with; see AccessPaths
	Indexed   map[string]bool      // columns, not quoted, with which an index of all rows begins; see Cost
}

// Field is a column.
type Field struct {
	Column string // not quoted
	Type   cql2.Type
	Normal string // a conversion for Dialect.Normal; "" if the column can be compared directly
	Layout string // layout of stored timestamps if all have the same; else ""
	Nulls  bool   // there are null values
	// Collated means that the database may compare the texts of the column in another order than by code point.
	Collated bool
	Search   SearchColumns
	Stored   Stored   // how PostgreSQL compares the texts of the column as they are stored
	Indexes  Indexes  // of a column of texts in PostgreSQL
	Declared string   // type of the column in the source, if the store needs it
	ID       *ID      // set if the field is a feature id of several columns
	Path     []string // path of a value inside a JSON column; cql2.Member reads it
}

// ID is a feature id as text, built from columns without null.
type ID struct {
	// Text returns the id of a row of alias as it is printed; it compares by code point.
	Text func(alias string) string
	// Is returns the condition that a row of alias has an id; an index over the columns serves it.
	// ok is false if no row can have the id.
	Is      func(alias, id string) (Fragment, bool)
	Indexed bool // such an index exists
}

// IsColumn reports whether the values of the field are those of its column.
func (f *Field) IsColumn() bool { return f.ID == nil && f.Path == nil }

// Member returns the field of a value inside the JSON that f holds.
func (f *Field) Member(p *store.Property) *Field {
	m := *f
	m.Type, m.Path, m.Nulls = p.Type, p.Path, true
	return &m
}

// SearchColumns are the columns for searching, not quoted; see store.Search.
type SearchColumns struct{ Exact, Norm, Rev, Gram, Texts string }

// Geometry is a geometry column.
type Geometry struct {
	Name   string // property name
	Column string // not quoted
	CRS    crs.ID // of the stored coordinates
	Pad    float64
	// Pad is how far, in units of the storage CRS, an edge that is straight in another CRS may leave the envelope of
	// its ends; infinite if unknown.
	HasNull bool // some rows have no geometry
	Indexed bool // an index over envelopes exists

	// SQLite only: tables for envelopes and for rows without geometry.
	Index  string // table of envelopes with its schema; "" if there is none
	NoGeom string // table of rows without geometry with its schema; "" if there is none
	RowID  string // unquoted column of the source that both tables refer to

	// PostgreSQL only.
	HasEmpty  bool // there may be geometries without positions, which count as null
	HasBroken bool // there may be invalid geometries (package wkb), which count as null
	Geography bool // the column is of type geography
	// Before and After wrap the column to transform the geometry to CRS if the column has another system; else "".
	Before, After string
}

// Words is an index over the words of texts, as cql2.Words returns them.
type Words struct {
	Props []string // properties, in the order of the columns c0, c1 ...
	Index string   // full-text table of these columns, with its schema
	Table string   // table of these columns, with its schema; id is the row id
	RowID string   // quoted column of the source that rows of both refer to
}

// Relation is a table whose rows belong to those of the source.
type Relation struct {
	Source
	Owner string // column of the relation, not quoted
	Key   string // column of the source that Owner refers to, not quoted
	// store.Relation.Order if it certainly holds: both a column of the relation and a property of the source
	Order string
}

// placeholder replaces an argument until the fragment is appended to a Builder.
const placeholder = '\x00'

// Fragment is a piece of SQL with its arguments, in the order of their placeholders.
type Fragment struct {
	sql  string
	args []any
}

// SQL returns a fragment from text with a question mark for each argument.
func SQL(text string, args ...any) Fragment {
	return Fragment{strings.ReplaceAll(text, "?", string(placeholder)), args}
}

// IsEmpty reports whether a fragment has no text.
func (f Fragment) IsEmpty() bool { return f.sql == "" }

// Args returns the arguments, which the caller must not change.
func (f Fragment) Args() []any { return f.args }

// Ident returns a fragment from text that is copied unchanged.
func Ident(text string) Fragment { return Fragment{sql: text} }

// Join concatenates fragments with sep between them.
func Join(sep string, fs ...Fragment) Fragment {
	var b strings.Builder
	size, n := len(sep)*len(fs), 0
	for _, f := range fs {
		size, n = size+len(f.sql), n+len(f.args)
	}
	b.Grow(size)
	var args []any
	if n > 0 {
		args = make([]any, 0, n)
	}
	for i, f := range fs {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(f.sql)
		args = append(args, f.args...)
	}
	return Fragment{b.String(), args}
}

// Cat concatenates fragments.
func Cat(fs ...Fragment) Fragment { return Join("", fs...) }

func paren(f Fragment) Fragment { return Fragment{"(" + f.sql + ")", f.args} }
func not(f Fragment) Fragment   { return Fragment{"NOT (" + f.sql + ")", f.args} }

// Builder builds a statement. Call New; the zero value is not usable.
type Builder struct {
	d    Dialect
	sb   strings.Builder
	args []any
}

// New returns an empty Builder.
func New(d Dialect) *Builder { return &Builder{d: d} }

// Text appends SQL that holds no value.
func (b *Builder) Text(s ...string) *Builder {
	for _, x := range s {
		b.sb.WriteString(x)
	}
	return b
}

// Arg appends a placeholder for v.
func (b *Builder) Arg(v any) *Builder {
	b.args = append(b.args, v)
	b.sb.WriteString(b.d.Placeholder(len(b.args), v))
	return b
}

// Add appends a fragment.
func (b *Builder) Add(f Fragment) *Builder {
	n := 0
	for {
		i := strings.IndexByte(f.sql, placeholder)
		if i < 0 {
			b.sb.WriteString(f.sql)
			return b
		}
		b.sb.WriteString(f.sql[:i])
		b.Arg(f.args[n])
		n++
		f.sql = f.sql[i+1:]
	}
}

// Grow reserves n bytes of text, so that a long statement is not copied.
func (b *Builder) Grow(n int) *Builder {
	b.sb.Grow(n)
	return b
}

// SQL returns the statement and its arguments: nil, string, int64, float64, cql2.Decimal, bool, []byte,
// or results of Day and Stamp of the dialect.
func (b *Builder) SQL() (string, []any) { return b.sb.String(), b.args }

// Filter is a compiled condition.
type Filter struct {
	Where   Fragment  // holds for every match
	Sure    Fragment  // holds only for matches; used if Residue is not nil
	Residue cql2.Expr // to evaluate for rows outside Sure; nil if Where is exact
}

// Compile compiles a checked predicate over s, whose rows have an alias. A nil predicate is true for all.
func Compile(d Dialect, s *Source, alias string, e cql2.Expr) Filter {
	if e == nil {
		e = cql2.And{}
	}
	c := &compiler{d: d, src: s, alias: alias, depth: new(int)}
	parts := conjuncts(e, nil)
	where := make([]Fragment, len(parts))
	var open cql2.And
	for i, x := range parts {
		var ok bool
		c.neg = false
		if where[i], ok = c.exact(x); !ok {
			where[i] = c.inexact(x, true, true)
			open = append(open, x)
		}
	}
	f := Filter{Where: c.join(where, true)}
	switch len(open) {
	case 0:
		return f
	case 1:
		f.Residue = open[0]
	default:
		f.Residue = open
	}
	f.Sure = c.bound(f.Residue, true, false)
	return f
}

// conjuncts flattens nested ANDs.
func conjuncts(e cql2.Expr, dst []cql2.Expr) []cql2.Expr {
	a, ok := e.(cql2.And)
	if !ok {
		return append(dst, e)
	}
	for _, x := range a {
		dst = conjuncts(x, dst)
	}
	return dst
}
