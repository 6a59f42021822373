package gpkg

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"grense/internal/cache"
	"grense/internal/cql2"
	"grense/internal/store/sqlq"
)

// Files of others seldom have an index of the columns that are asked about. The values of such a column, in order, are kept in memory: equality, IN, ranges and
// beginnings of texts are answered from them, by the values and the order of cql2.Eval. They are made in the background when they are first asked for, and again where others took
// their place and they are asked for often; until then SQLite reads the rows.

// columnLimits say when values are kept and asked.
type columnLimits struct {
	from    int  // how many features a collection has at least; a statement is fast enough for fewer
	listed  int  // how many rows a statement is told at most to look among
	wide    int  // how many rows are put in the order of the ids at most, in collections of less than eight times as many; a page of more is found sooner along the ids
	records int  // how many features a layer of a register has at least to have its records packed
	spelled int  // how many rows a table of spellings has at least to be written into a file
	wait    bool // for tests: a question waits until the values that it needs are in memory
}

var usualColumns = columnLimits{from: 100, listed: 1024, wide: 4096, records: typeAheadFrom, spelled: 100_000}

// columnsAgain, a power of two, is how often values that are not at hand are asked for before they are made once more; then it is twice as often, and so on, so that tables which do not fit together are not made in turn for ever.
const columnsAgain = 16

// columnCache holds *valueTable by the name of their column, and *rowIDs, of all revisions.
type columnCache = cache.Cache[tableKey, any]

// rowIDs is the ids of all rows of a layer, ascending. Where a row is among them is its place. It is immutable.
type rowIDs struct {
	numbers []int64
	texts   []string // where ids are texts
}

func (x *rowIDs) len() int { return len(x.numbers) + len(x.texts) }

func (x *rowIDs) size() int {
	n := 8*cap(x.numbers) + 16*cap(x.texts)
	for _, s := range x.texts {
		n += len(s)
	}
	return n
}

func (x *rowIDs) text(place uint32) string {
	if x.texts != nil {
		return x.texts[place]
	}
	return strconv.FormatInt(x.numbers[place], 10)
}

// place returns where an id of the layer's type is, or would be.
func (x *rowIDs) place(id any) (int, bool) {
	if s, ok := id.(string); ok {
		return slices.BinarySearch(x.texts, s)
	}
	n, _ := id.(int64)
	return slices.BinarySearch(x.numbers, n)
}

// list is the ids of rows as a JSON array.
func (x *rowIDs) list(rows []uint32) string {
	b := []byte{'['}
	for i, r := range rows {
		if i > 0 {
			b = append(b, ',')
		}
		if x.texts != nil {
			b = append(append(append(b, '"'), strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(x.texts[r])...), '"')
		} else {
			b = strconv.AppendInt(b, x.numbers[r], 10)
		}
	}
	return string(append(b, ']'))
}

// listable reports whether list can name an id.
func listable(id string) bool {
	return utf8.ValidString(id) && !strings.ContainsFunc(id, func(r rune) bool { return r < ' ' })
}

// valueTable is the different values of a column in the order of cql2.Eval, and the rows of each; null is none of them. It is immutable.
type valueTable struct {
	text   []byte   // of texts and moments, one after the other
	ends   []uint32 // of each in text
	ints   []int64  // of integers and booleans
	floats []float64
	from   []uint32 // in rows, of each value; and one more
	rows   []uint32 // places, ascending for each value
}

func (t *valueTable) size() int {
	return cap(t.text) + 4*cap(t.ends) + 8*cap(t.ints) + 8*cap(t.floats) + 4*cap(t.from) + 4*cap(t.rows)
}

func (t *valueTable) len() int { return len(t.from) - 1 }

func (t *valueTable) textAt(i int) []byte {
	if i == 0 {
		return t.text[:t.ends[0]]
	}
	return t.text[t.ends[i-1]:t.ends[i]]
}

// compare holds the i-th value against a literal that literalOf gave.
func (t *valueTable) compare(i int, literal any) int {
	switch x := literal.(type) {
	case string:
		return cmp.Compare(string(t.textAt(i)), x)
	case int64:
		return cmp.Compare(t.ints[i], x)
	}
	x, c := literal.(*cql2.ExactNumber), 0
	if t.floats != nil {
		c, _ = x.Compare(t.floats[i])
	} else {
		c, _ = x.Compare(t.ints[i])
	}
	return -c
}

// span is some of the values, one after the other.
type span struct{ from, to int }

// above returns the first value that is greater than a literal or, with equal, is the literal.
func (t *valueTable) above(literal any, equal bool) int {
	return sort.Search(t.len(), func(i int) bool {
		c := t.compare(i, literal)
		return c > 0 || equal && c == 0
	})
}

func (t *valueTable) beginning(prefix string) span {
	from := t.above(prefix, true)
	n := sort.Search(t.len()-from, func(i int) bool { return !bytes.HasPrefix(t.textAt(from+i), []byte(prefix)) })
	return span{from, from + n}
}

func (t *valueTable) compared(op cql2.CompareOp, literal any) span {
	switch op {
	case cql2.Eq:
		return span{t.above(literal, true), t.above(literal, false)}
	case cql2.Lt:
		return span{0, t.above(literal, true)}
	case cql2.Le:
		return span{0, t.above(literal, false)}
	case cql2.Gt:
		return span{t.above(literal, false), t.len()}
	}
	return span{t.above(literal, true), t.len()}
}

// operand is a column as it is compared: folded, or not.
type operand struct {
	field *sqlq.Field
	folds string // names of functions, the innermost first, each with a space behind
}

func (l *layer) operandOf(e cql2.Expr) (o operand, ok bool) {
	switch e := e.(type) {
	case cql2.Prop:
		o.field = l.source.Fields[e.Name]
		return o, o.field != nil && o.field.Type != cql2.TypeJSON && o.field.Path == nil
	case cql2.Func:
		if len(e.Args) != 1 || e.Name != "casei" && e.Name != "accenti" {
			return o, false
		}
		if o, ok = l.operandOf(e.Args[0]); !ok || o.field.Type != cql2.TypeText || strings.Contains(o.folds, e.Name) {
			return o, false
		}
		o.folds += e.Name + " "
		return o, true
	}
	return o, false
}

// value returns what readValue gave in the form that is compared; nil when it has none.
func (o operand) value(v any) any {
	switch x := v.(type) {
	case string:
		switch o.field.Type {
		case cql2.TypeText:
			for name := range strings.FieldsSeq(o.folds) {
				x, _ = cql2.Fold(name, x)
			}
			return x
		case cql2.TypeDate, cql2.TypeTimestamp:
			if t, ok := cql2.ParseStored(x); ok {
				return momentOf(t)
			}
		}
		return nil
	case bool:
		return int64(boolInt(x))
	case float64:
		if math.IsNaN(x) {
			return nil
		}
	}
	return v
}

// momentOf gives a text that sorts as the moments do; nil beyond the years that it can hold.
func momentOf(t time.Time) any {
	if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
		return nil
	}
	return t.Format(sqlq.StampLayout)
}

// literal returns a literal in the form of the values; false when it is none, or of a type that compares with none of them.
func (o operand) literal(e cql2.Expr) (v any, ok bool) {
	switch x := e.(type) {
	case cql2.Int, cql2.Number, cql2.Decimal:
		n := cql2.ExactNumberOf(e)
		return n, n != nil && (o.field.Type == cql2.TypeInteger || o.field.Type == cql2.TypeNumber)
	case cql2.Bool:
		return int64(boolInt(bool(x))), o.field.Type == cql2.TypeBool
	case cql2.Date:
		v = momentOf(x.T)
	case cql2.Timestamp:
		v = momentOf(x.T)
	default:
		s, isText := sqlq.LiteralText(e)
		return s, isText && o.field.Type == cql2.TypeText
	}
	return v, v != nil && (o.field.Type == cql2.TypeDate || o.field.Type == cql2.TypeTimestamp)
}
