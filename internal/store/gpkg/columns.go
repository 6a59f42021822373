package gpkg

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"grense/internal/cache"
	"grense/internal/cql2"
	"grense/internal/store/sqlq"
)

// columnLimits say when indexes are built and used.
type columnLimits struct {
	from    int  // how many features a collection has at least; a statement is fast enough for fewer
	wide    int  // how many rows are sorted at most, in collections of less than eight times as many; see question.most
	records int  // how many features a layer of a register has at least to have its records packed
	wait    bool // for tests: a query waits until the indexes that it needs are built
}

var usualColumns = columnLimits{from: 100, wide: 4096, records: typeAheadFrom}

// columnsAgain, a power of two, is the number of requests for missing values after which they are built again.
// Then the number doubles, and so on, so that tables that do not fit together are not built in turn forever.
const columnsAgain = 16

// columnCache holds tables of all revisions, by what they hold: ids, envelopes, records.
type columnCache = cache.Cache[tableKey, any]

// rowIDs is the ids of all rows of a layer, ascending. Where a row is among them is its place. It is immutable.
type rowIDs struct {
	first   int64 // with run, and without numbers: each number is one more than that before
	run     int   // how many these are
	numbers []int64
	texts   []string // where ids are texts
}

func (x *rowIDs) len() int { return x.run + len(x.numbers) + len(x.texts) }

// number returns the id at a place, where ids are numbers.
func (x *rowIDs) number(place int64) int64 {
	if x.run > 0 {
		return x.first + place
	}
	return x.numbers[place]
}

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
	return strconv.FormatInt(x.number(int64(place)), 10)
}

// place returns where an id of the layer's type is, or would be.
func (x *rowIDs) place(id any) (int, bool) {
	if s, ok := id.(string); ok {
		return slices.BinarySearch(x.texts, s)
	}
	n, _ := id.(int64)
	switch {
	case x.run == 0:
		return slices.BinarySearch(x.numbers, n)
	case n < x.first:
		return 0, false
	case n > x.first+int64(x.run-1):
		return x.run, false
	}
	return int(n - x.first), true
}

// span is some of a list, one after the other.
type span struct{ from, to int }

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

// momentOf gives a text that sorts as the moments do; nil beyond the years that it can hold.
func momentOf(t time.Time) any {
	if t = t.UTC(); t.Year() < 0 || t.Year() > 9999 {
		return nil
	}
	return t.Format(sqlq.StampLayout)
}

// literal returns a literal in the form of the values; false when it is none, or of a type that
// compares with none of them.
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
