package cql2

import (
	"context"
	"slices"
	"time"

	"grense/internal/geo/crs"
)

// Truth is the value of a predicate in three-valued logic; False < Null < True, so that AND is the
// least and OR the greatest.
type Truth int8

const (
	False Truth = iota - 1
	Null
	True
)

func truth(b bool) Truth {
	if b {
		return True
	}
	return False
}

// Record is one feature, or one row of a relation, as the evaluator sees it.
type Record interface {
	// Value returns nil, string, int64, float64, Decimal or bool. Dates, timestamps and JSON come as the strings that
	// are stored.
	Value(name string) (any, error)
	// Geometry returns a geometry that passes wkb.Check, or nil if there is none. For other bytes the result of the
	// evaluation is undefined, but it neither fails nor panics.
	Geometry(name string) (wkb []byte, in crs.ID, err error)
	// Rows returns the rows of a relation that belong to the record.
	Rows(relation string) ([]Record, error)
}

// Bounded is a Record with a context. Its end stops the evaluation, even within a comparison of geometries;
// the error is that of the context.
type Bounded interface{ Context() context.Context }

func contextOf(r Record) context.Context {
	if b, ok := r.(Bounded); ok {
		return b.Context()
	}
	return context.Background()
}

// Matcher evaluates one predicate on many records. It prepares literals once. It is not safe for concurrent use.
//
// Null stands for an undefined result: an operand of the wrong type, division by zero, a result that is not finite,
// or a geometry that the predicate does not support. Dates compared with timestamps are midnight UTC.
type Matcher struct{ test predicate }

// predicate and value are compiled nodes. A value is nil, string, int64, float64, *ExactNumber, bool, time.Time, period
// or []any.
type (
	predicate func(Record) (Truth, error)
	value     func(Record) (any, error)
)

// NewMatcher prepares a checked predicate.
func NewMatcher(e Expr) *Matcher { return &Matcher{compile(e)} }

// Eval evaluates the predicate over a record.
func (m *Matcher) Eval(r Record) (Truth, error) { return m.test(r) }

// compile prepares a predicate.
func compile(e Expr) predicate {
	switch e := e.(type) {
	case And:
		return junction(e, False)
	case Or:
		return junction(e, True)
	case Not:
		x := compile(e.X)
		return func(r Record) (Truth, error) {
			t, err := x(r)
			return -t, err
		}
	case Compare:
		return compare(e.Op, comparand(e.L), comparand(e.R))
	case Like:
		return like(operandValue(e.X), newPattern(e.Pattern))
	case Between:
		x := comparand(e.X)
		return both(compare(Ge, x, comparand(e.Lo)), compare(Le, x, comparand(e.Hi)))
	case In:
		return in(e)
	case IsNull:
		return isNull(e.X)
	case Spatial:
		return newSpatialTest(e).eval
	case Temporal:
		return temporal(e)
	case Array:
		return array(e)
	case BBox:
		return touchesBox(e)
	case Interval:
		return func(r Record) (Truth, error) { return during(e, r) }
	case Search:
		return func(r Record) (Truth, error) {
			_, hit, err := e.Rank(r)
			return truth(hit), err
		}
	case Related:
		return related(e)
	}
	return boolean(operandValue(e))
}

// junction evaluates AND, which False decides, or OR, which True decides.
func junction(list []Expr, decisive Truth) predicate {
	parts := make([]predicate, len(list))
	for i, e := range list {
		parts[i] = compile(e)
	}
	return func(r Record) (Truth, error) {
		sum := -decisive
		for _, p := range parts {
			t, err := p(r)
			if err != nil || t == decisive {
				return t, err
			}
			if t == Null {
				sum = Null
			}
		}
		return sum, nil
	}
}

func both(a, b predicate) predicate {
	return func(r Record) (Truth, error) {
		x, err := a(r)
		if err != nil {
			return Null, err
		}
		y, err := b(r)
		return min(x, y), err
	}
}

func compare(op CompareOp, l, r value) predicate {
	return func(rec Record) (Truth, error) {
		a, err := l(rec)
		if err != nil {
			return Null, err
		}
		b, err := r(rec)
		if err != nil {
			return Null, err
		}
		c, ok := order(a, b)
		if !ok {
			return Null, nil
		}
		return truth(op.Holds(c)), nil
	}
}

// in is x = a OR x = b ...
func in(e In) predicate {
	x := comparand(e.X)
	list := make([]predicate, len(e.List))
	for i, item := range e.List {
		list[i] = compare(Eq, x, comparand(item))
	}
	return func(r Record) (Truth, error) {
		sum := False
		for _, p := range list {
			t, err := p(r)
			if err != nil || t == True {
				return t, err
			}
			sum = max(sum, t)
		}
		return sum, nil
	}
}

func isNull(e Expr) predicate {
	if isCondition(e) {
		x := compile(e)
		return func(r Record) (Truth, error) {
			t, err := x(r)
			return truth(t == Null), err
		}
	}
	if p, ok := e.(Prop); ok && p.Type == TypeGeometry {
		return func(r Record) (Truth, error) {
			wkb, _, err := r.Geometry(p.Name)
			return truth(wkb == nil), err
		}
	}
	x := operandValue(e)
	return func(r Record) (Truth, error) {
		v, err := x(r)
		return truth(v == nil), err
	}
}

func boolean(x value) predicate {
	return func(r Record) (Truth, error) {
		v, err := x(r)
		if b, ok := toBool(v); ok && err == nil {
			return truth(b), nil
		}
		return Null, err
	}
}

// related is true if some row matches. Rows with the value Null do not match.
func related(e Related) predicate {
	x := compile(e.X)
	return func(r Record) (Truth, error) {
		rows, err := r.Rows(e.Relation)
		if err != nil {
			return Null, err
		}
		for _, row := range rows {
			if t, err := x(row); err != nil || t == True {
				return t, err
			}
		}
		return False, nil
	}
}

// Props returns the properties that the node uses, without duplicates.
func (e Interval) Props() []string {
	var names []string
	for _, n := range append([]string{e.Start, e.End}, e.Also...) {
		if n != "" && !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	return names
}

// during evaluates the parameter datetime. A feature without time matches, a date is a whole day,
// and a missing start or end is open.
func during(e Interval, r Record) (Truth, error) {
	before, after, known := e.From != nil, e.To != nil, e.Start != "" || e.End != ""
	for _, n := range e.Props() {
		p, err := moment(r, n, e.Location())
		if err != nil {
			return Null, err
		}
		also := slices.Contains(e.Also, n)
		if p == nil {
			before, after = before && n != e.End, after && n != e.Start
			continue
		}
		known = known || also
		before = before && (!also && n != e.End || p.to.Before(*e.From))
		after = after && (!also && n != e.Start || p.from.After(*e.To))
	}
	return truth(!known || !before && !after), nil
}

// Location returns the time zone in which dates are days: that of the bounds.
// It is UTC if a bound would leave the calendar there.
func (e Interval) Location() *time.Location {
	for _, t := range [...]*time.Time{e.From, e.To} {
		if t != nil && t.Location() != time.UTC {
			return t.Location()
		}
	}
	return time.UTC
}

// moment reads a date as a whole day of a time zone and a timestamp as an instant.
// It returns nil if the property is null.
func moment(r Record, name string, in *time.Location) (*period, error) {
	v, err := r.Value(name)
	if err != nil {
		return nil, err
	}
	s, _ := v.(string)
	t, ok := ParseStored(s)
	if !ok {
		return nil, nil
	}
	if len(s) == len(dateLayout) {
		return &period{from: dayIn(t, in), to: dayIn(t.AddDate(0, 0, 1), in).Add(-time.Nanosecond)}, nil
	}
	return &period{from: t, to: t}, nil
}

// dayIn returns the first moment, in the time zone in, of the calendar day that t has in its own zone: midnight, or the
// end of the gap if clocks are set forward at midnight.
func dayIn(t time.Time, in *time.Location) time.Time {
	y, m, d := t.Date()
	midnight := time.Date(y, m, d, 0, 0, 0, 0, in)
	_, offset := midnight.Zone()
	gap := time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() - midnight.Unix() - int64(offset)
	return midnight.Add(time.Duration(gap) * time.Second)
}
