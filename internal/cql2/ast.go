// Package cql2 is the filter language of the service: an abstract syntax tree for OGC CQL2 (OGC 21-065r2).
//
// Every way of filtering ends here. The OGC handlers turn bbox, datetime, name=value, q and filter into one Expr;
// the SOAP service turns its search objects into one Expr; the stores compile that Expr and know no other filter.
// Coordinates in the tree are x, y (east or longitude first), in the CRS that the node names.
//
// A filter is parsed (ParseText, ParseJSON), checked against a schema (Check) and then compiled by a
// store, or evaluated (Matcher).
//
// Choices where the standard is silent, and limits:
//   - Literals are plane; heights in them are dropped.
//   - A date compared with timestamps is its first moment; in temporal functions it is the whole day. All in UTC.
//   - '/' returns a double, 'div' drops the fraction, division by zero is null.
//   - In a string two backslashes are one. Before a character other than ' a b t n v f r a backslash stays, as LIKE
//     needs it.
//   - ILIKE is read as LIKE of CASEI. Text is not normalised, except by norm and exact.
//   - In an array within an array, a single value in brackets is an array of one; a sum in brackets is a number.
package cql2

import (
	"fmt"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
	"grense/internal/geo/relate"
)

// Expr is a node of the tree: a predicate, or an operand that yields a value. The set is closed;
// AllExprs holds one of each.
// Values are immutable once built. A predicate yields true, false or null (three-valued logic); a match is true.
type Expr interface{ expr() }

// CompareOp is a comparison operator (OGC 21-065r2, 6.3).
type CompareOp string

const (
	Eq CompareOp = "="
	Ne CompareOp = "<>"
	Lt CompareOp = "<"
	Le CompareOp = "<="
	Gt CompareOp = ">"
	Ge CompareOp = ">="
)

// Turned returns the operator for swapped operands: a < b is b > a.
func (op CompareOp) Turned() CompareOp {
	switch op {
	case Lt:
		return Gt
	case Le:
		return Ge
	case Gt:
		return Lt
	case Ge:
		return Le
	}
	return op
}

// Holds reports whether the operator is true for operands in this order: below 0 for less,
// 0 for equal, above 0 for greater.
func (op CompareOp) Holds(order int) bool {
	switch op {
	case Eq:
		return order == 0
	case Ne:
		return order != 0
	case Lt:
		return order < 0
	case Le:
		return order <= 0
	case Gt:
		return order > 0
	case Ge:
		return order >= 0
	}
	panic(fmt.Sprintf("cql2: compare with %q", op))
}

// SpatialOp is a spatial comparison function, in lower case (7.6, 7.7, 7.8).
type SpatialOp = relate.Op

const (
	SIntersects = relate.Intersects
	SDisjoint   = relate.Disjoint
	SEquals     = relate.Equals
	STouches    = relate.Touches
	SCrosses    = relate.Crosses
	SOverlaps   = relate.Overlaps
	SWithin     = relate.Within
	SContains   = relate.Contains
)

// TemporalOp is a temporal comparison function, in lower case and without underscore between words,
// as in JSON ("t_finishedBy" in the standard reads "t_finishedby" here) (7.9).
type TemporalOp string

const (
	TAfter        TemporalOp = "t_after"
	TBefore       TemporalOp = "t_before"
	TContains     TemporalOp = "t_contains"
	TDisjoint     TemporalOp = "t_disjoint"
	TDuring       TemporalOp = "t_during"
	TEquals       TemporalOp = "t_equals"
	TFinishedBy   TemporalOp = "t_finishedby"
	TFinishes     TemporalOp = "t_finishes"
	TIntersects   TemporalOp = "t_intersects"
	TMeets        TemporalOp = "t_meets"
	TMetBy        TemporalOp = "t_metby"
	TOverlappedBy TemporalOp = "t_overlappedby"
	TOverlaps     TemporalOp = "t_overlaps"
	TStartedBy    TemporalOp = "t_startedby"
	TStarts       TemporalOp = "t_starts"
)

// ArrayOp is an array comparison function, in lower case (7.10).
type ArrayOp string

const (
	AContainedBy ArrayOp = "a_containedby"
	AContains    ArrayOp = "a_contains"
	AEquals      ArrayOp = "a_equals"
	AOverlaps    ArrayOp = "a_overlaps"
)

// ArithOp is an arithmetic operator (7.13).
type ArithOp string

const (
	Add    ArithOp = "+"
	Sub    ArithOp = "-"
	Mul    ArithOp = "*"
	Div    ArithOp = "/"
	IntDiv ArithOp = "div"
	Mod    ArithOp = "%"
	Pow    ArithOp = "^"
)

// Predicates.
type (
	And     []Expr           // true when empty
	Or      []Expr           // false when empty
	Not     struct{ X Expr } //
	Compare struct {         //
		Op   CompareOp
		L, R Expr
	}
	// Like matches X with a pattern: % any run, _ one character, \ escapes.
	Like    struct{ X, Pattern Expr }
	Between struct{ X, Lo, Hi Expr } // both ends included
	In      struct {
		X    Expr
		List []Expr
	}
	IsNull  struct{ X Expr }
	Spatial struct {
		Op   SpatialOp
		L, R Expr // Prop, Geom or Func
	}
	Temporal struct {
		Op   TemporalOp
		L, R Expr // Prop, Date, Timestamp, Span or Func
	}
	Array struct {
		Op   ArrayOp
		L, R Expr // Prop, List or Func
	}
	// BBox is the parameter bbox, tested in its own CRS with straight edges; touching counts.
	// It also matches features without geometry, which Spatial does not (OGC 17-069r4, 7.15.3).
	// Box.Min[0] > Box.Max[0] crosses the antimeridian (geographic CRS).
	BBox struct {
		Prop string // the geometry property
		CRS  crs.ID
		Box  orb.Bound   // x before y, unit of CRS, corners as parsed
		Z    *[2]float64 // lowest and highest height; nil when the box has four numbers

		placed *placed // a result cached by Placed; no part of the meaning
	}
	// Interval is the parameter datetime (OGC 17-069r4, 7.15.4). It compares an instant (Start and End name one
	// property), a period, or several properties: then the time of a feature reaches from the first to the
	// last of those that are set.
	// Dates are whole days in the time zone of the bounds. Both ends are included; a nil bound is open.
	// Features without time match too, which Temporal does not allow.
	Interval struct {
		// properties with the first and the last moment of a feature, open where null;
		// equal for an instant; both "" for none
		Start, End string
		Also       []string // more properties with days or moments
		From, To   *time.Time
	}
	// Search is the parameter q. A feature matches if one of its texts holds one of the terms, folded by fold.Norm.
	// The words of a term must start consecutive words of the text, in that order. The result is never null.
	// CQL2 text and JSON cannot express it.
	Search struct {
		Props []string // text properties
		Terms []string // as Words gives them, at least one, none empty
	}
	// Related is true if a row of a relation of the collection matches X, whose properties are the columns of the
	// relation. Only our own code builds it; CQL2 text and JSON cannot express it.
	Related struct {
		Relation string
		X        Expr
	}
)

// Operands. Bool, Prop and Func are predicates too.
type (
	// Prop names a property of the collection's schema.
	Prop struct {
		Name string
		// byte offset in the source text, from 1; 0 when our own code made the node, which may name hidden properties
		Pos    int
		Quoted bool // written in double quotes; in an array it may turn out to be a string (see Check)
		Type   Type // set by Check
	}
	Text   string
	Number float64
	Int    int64
	// Decimal is a number that neither Int nor Number holds: of more digits than a double,
	// or an integer beyond 64 bits.
	// It is written without exponent, and without zeros at the beginning and the end.
	Decimal   string
	Bool      bool
	Date      struct{ T time.Time } // midnight UTC of a day
	Timestamp struct{ T time.Time }
	// Span is INTERVAL(start, end). An end is Date, Timestamp, Prop, Func, or nil when open ('..').
	Span struct{ Start, End Expr }
	// Geom is a geometry literal; x before y in CRS.
	Geom struct {
		G   orb.Geometry
		CRS crs.ID
	}
	List []Expr // an array literal
	// Func calls a function by its name in lower case. "casei" and "accenti" are functions of the standard (7.4, 7.5);
	// "norm" and "exact" (see fold.Norm, fold.CaseI) are ours, for search columns, and cannot be written in CQL2
	// text or JSON.
	Func struct {
		Name string
		Args []Expr
	}
	Arith struct {
		Op   ArithOp
		L, R Expr
	}
)

func (And) expr()       {}
func (Or) expr()        {}
func (Not) expr()       {}
func (Compare) expr()   {}
func (Like) expr()      {}
func (Between) expr()   {}
func (In) expr()        {}
func (IsNull) expr()    {}
func (Spatial) expr()   {}
func (Temporal) expr()  {}
func (Array) expr()     {}
func (BBox) expr()      {}
func (Interval) expr()  {}
func (Search) expr()    {}
func (Related) expr()   {}
func (Prop) expr()      {}
func (Text) expr()      {}
func (Number) expr()    {}
func (Int) expr()       {}
func (Decimal) expr()   {}
func (Bool) expr()      {}
func (Date) expr()      {}
func (Timestamp) expr() {}
func (Span) expr()      {}
func (Geom) expr()      {}
func (List) expr()      {}
func (Func) expr()      {}
func (Arith) expr()     {}
