package index

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/gpkg/layer"
	"grense/internal/store/sqlq"
)

// operand is a column, possibly folded, in a comparison.
type operand struct {
	field *sqlq.Field
	folds string // names of functions, the innermost first, each followed by a space
}

func operandOf(l *layer.Layer, e cql2.Expr) (o operand, ok bool) {
	switch e := e.(type) {
	case cql2.Prop:
		o.field = l.SQL.Fields[e.Name]
		return o, o.field != nil && o.field.Type != cql2.TypeJSON && o.field.Path == nil
	case cql2.Func:
		if len(e.Args) != 1 || e.Name != "casei" && e.Name != "accenti" {
			return o, false
		}
		if o, ok = operandOf(l, e.Args[0]); !ok || o.field.Type != cql2.TypeText || strings.Contains(o.folds, e.Name) {
			return o, false
		}
		o.folds += e.Name + " "
		return o, true
	}
	return o, false
}

// compares reports whether e is a literal that can be compared with the stored values.
func (o operand) compares(e cql2.Expr) bool {
	moment := func(t time.Time) bool {
		year := t.UTC().Year() // other years do not sort as texts
		return year >= 0 && year <= 9999 && (o.field.Type == cql2.TypeDate || o.field.Type == cql2.TypeTimestamp)
	}
	switch x := e.(type) {
	case cql2.Int, cql2.Number, cql2.Decimal:
		return cql2.ExactNumberOf(e) != nil && (o.field.Type == cql2.TypeInteger || o.field.Type == cql2.TypeNumber)
	case cql2.Bool:
		return o.field.Type == cql2.TypeBool
	case cql2.Date:
		return moment(x.T)
	case cql2.Timestamp:
		return moment(x.T)
	}
	_, isText := sqlq.LiteralText(e)
	return isText && o.field.Type == cql2.TypeText
}

// For returns a description of the table that can serve a predicate; false if there cannot be one, or if an index
// of the source serves it.
func For(l *layer.Layer, e cql2.Expr) (t Table, ok bool) {
	t.l = l
	switch e := e.(type) {
	case cql2.Compare:
		left, right := e.L, e.R
		if t.operand, ok = operandOf(l, left); !ok {
			t.operand, ok = operandOf(l, right)
			right = left
		}
		ok = ok && e.Op != cql2.Ne && t.compares(right)
	case cql2.Between:
		t.operand, ok = operandOf(l, e.X)
		ok = ok && t.compares(e.Lo) && t.compares(e.Hi)
	case cql2.In:
		t.operand, ok = operandOf(l, e.X)
		ok = ok && len(e.List) > 0 && !slices.ContainsFunc(e.List, func(e cql2.Expr) bool { return !t.compares(e) })
	case cql2.Like:
		if t.operand, ok = operandOf(l, e.X); ok {
			p, whole := likePattern(e)
			t.grams = p.Prefix == "" && !isShort(p)
			ok = whole && t.field.Type == cql2.TypeText && (p.Prefix != "" || t.grams || l.Large)
		}
	}
	return t, ok && t.field.IsColumn() && l.Cost(store.Query{Filter: e}) == store.CostScan
}

// isShort reports whether an index of texts does not serve a pattern, so that all values have to be tested.
func isShort(p sqlq.Pattern) bool { return p.Prefix == "" && utf8.RuneCountInString(p.Longest) < 3 }

// IsShortLike reports whether a predicate is a LIKE for which all values of a table have to be tested.
func IsShortLike(e cql2.Expr) bool {
	like, ok := e.(cql2.Like)
	if !ok {
		return false
	}
	p, _ := likePattern(like)
	return isShort(p)
}

func likePattern(e cql2.Like) (sqlq.Pattern, bool) {
	text, ok := sqlq.PatternText(e.Pattern)
	if !ok {
		return sqlq.Pattern{}, false
	}
	return sqlq.SplitPattern(text)
}

// Where returns the condition for rows x of a table that match a predicate, and the column with the row ids; false if
// SQL cannot express it.
func (t Table) Where(table string, e cql2.Expr) (where sqlq.Fragment, id string, ok bool) {
	if t.grams {
		p, _ := likePattern(e.(cql2.Like))
		all := sqlq.Trigrams(p.Longest)
		return sqlq.SQL("x."+strings.TrimPrefix(table, "idx.")+" MATCH ?", all), "x.rowid", all != ""
	}
	column := *t.field
	column.Column, column.Normal, column.Collated = "v", "", false
	if column.Type == cql2.TypeTimestamp && column.Layout == "" {
		column.Layout = sqlq.StampLayout // the table has the normal form
	}
	v := cql2.Prop{Name: "v", Type: column.Type}
	is := func(e cql2.Expr) bool { _, ok := operandOf(t.l, e); return ok }
	notNull := "+x.v < " + nullLast // the plus sign keeps SQLite from using this as a search bound
	switch x := e.(type) {
	case cql2.Compare:
		up := x.Op == cql2.Gt || x.Op == cql2.Ge
		if is(x.L) {
			x.L = v
		} else {
			up = x.Op == cql2.Lt || x.Op == cql2.Le
			x.R = v
		}
		if up { // the only upper bound
			notNull = "x.v < " + nullLast
		}
		e = x
	case cql2.Between:
		x.X = v
		e = x
	case cql2.In:
		x.X = v
		e = x
	case cql2.Like:
		x.X = v
		e = x
	}
	f := sqlq.Compile(sqlq.SQLite{}, &sqlq.Source{Table: table, Fields: map[string]*sqlq.Field{"v": &column}}, "x", e)
	return sqlq.Cat(sqlq.Ident(notNull+" AND ("), f.Where, sqlq.Ident(")")), "x.id", f.Residue == nil
}

// Values that represent null in a table. They come after all others in its order.
const (
	nullLast      = "x''"    // a blob is greater than texts and numbers
	nullLastFalls = "-9e999" // minus infinity, for descending order; numbers are never infinite
)

// Table describes a table in an index file.
type Table struct {
	l *layer.Layer
	operand
	falls bool // descending order, for sorting
	grams bool // full-text table with trigrams
}

func (x Table) name() string {
	return fmt.Sprintf("%s\x00%s\x00%s\x00%v\x00%v", x.l.ID, x.field.Column, x.folds, x.falls, x.grams)
}

// ForOrder returns a description of the table for an order by a property; false if there cannot be one.
func ForOrder(l *layer.Layer, by store.Sort) (t Table, ok bool) {
	t.l, t.field, t.falls = l, l.SQL.Fields[by.Property], by.Desc
	return t, t.field.IsColumn()
}

// Exact reports whether all rows that the table selects match; otherwise they only include all matches.
func (t Table) Exact() bool { return !t.grams }

// statements returns statements that create a table, insert a value with its id, and read both from the source.
func (t Table) statements(table string) (create, insert, query string) {
	direction, null := "", nullLast
	if t.falls {
		direction, null = " DESC", nullLastFalls
	}
	value := sqlq.Column(sqlq.SQLite{}, layer.Alias, t.field)
	for fold := range strings.FieldsSeq(t.folds) {
		value = "grense_" + fold + "(" + value + ")"
	}
	from := ", " + layer.Alias + "." + t.l.Rowid + " FROM " + t.l.SQL.Table + " AS " + layer.Alias
	if t.grams {
		return "CREATE VIRTUAL TABLE " + table +
				" USING fts5(v, content='', columnsize=0, detail=none, tokenize='trigram case_sensitive 1')",
			"INSERT INTO " + table + " (v, rowid) VALUES (?, ?)",
			"SELECT " + value + from + " WHERE " + value + " IS NOT NULL ORDER BY 2"
	}
	return "CREATE TABLE " + table + " (v, id, PRIMARY KEY (v" + direction + ", id)) WITHOUT ROWID",
		"INSERT INTO " + table + " (v, id) VALUES (?, ?)",
		"SELECT coalesce(" + value + ", " + null + ")" + from + " ORDER BY 1" + direction + ", 2"
}
