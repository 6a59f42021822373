package cql2

import (
	"fmt"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/geo/crs"
)

// AllExprs holds one value of each node, for tests that must not forget one.
var AllExprs = []Expr{
	And{Bool(true), Prop{Name: "flag"}},
	Or{Bool(true), Prop{Name: "flag"}},
	Not{Prop{Name: "flag"}},
	Compare{Eq, Prop{Name: "name"}, Text("Oslo")},
	Like{Prop{Name: "name"}, Text("Os%")},
	Between{Prop{Name: "count"}, Int(1), Number(2.5)},
	In{Prop{Name: "count"}, []Expr{Int(1), Int(2)}},
	IsNull{Prop{Name: "name"}},
	Spatial{SIntersects, Prop{Name: "geometry"}, Geom{orb.Point{10, 60}, crs.CRS84}},
	Temporal{TAfter, Prop{Name: "day"}, Date{time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)}},
	Array{AContains, Prop{Name: "list"}, List{Text("a")}},
	BBox{Prop: "geometry", CRS: crs.CRS84, Box: orb.Bound{Min: orb.Point{10, 59}, Max: orb.Point{11, 60}}},
	Interval{Start: "day", End: "day", From: &allExprsTime},
	Search{Props: []string{"name"}, Terms: []string{"os"}},
	Related{"names", Compare{Eq, Prop{Name: "text"}, Text("Oslo")}},
	Prop{Name: "flag"},
	Text("it's"),
	Number(0.5),
	Int(-1),
	Decimal("12345678901234567891.5"),
	Bool(false),
	Date{time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)},
	Timestamp{time.Date(2024, 2, 29, 12, 30, 0, 500, time.UTC)},
	Span{Date{time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)}, nil},
	Geom{orb.LineString{{10, 60}, {11, 61}}, crs.CRS84},
	List{Int(1), Text("a")},
	Func{"casei", []Expr{Prop{Name: "name"}}},
	Arith{Add, Prop{Name: "count"}, Int(1)},
}

var allExprsTime = time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)

// Children returns the nodes below e, in source order. The caller must not change the slice.
func Children(e Expr) []Expr {
	switch e := e.(type) {
	case And:
		return e
	case Or:
		return e
	case Not:
		return []Expr{e.X}
	case Compare:
		return []Expr{e.L, e.R}
	case Like:
		return []Expr{e.X, e.Pattern}
	case Between:
		return []Expr{e.X, e.Lo, e.Hi}
	case In:
		return append([]Expr{e.X}, e.List...)
	case IsNull:
		return []Expr{e.X}
	case Spatial:
		return []Expr{e.L, e.R}
	case Temporal:
		return []Expr{e.L, e.R}
	case Array:
		return []Expr{e.L, e.R}
	case Related:
		return []Expr{e.X}
	case Span:
		return ends(e)
	case List:
		return e
	case Func:
		return e.Args
	case Arith:
		return []Expr{e.L, e.R}
	case BBox, Interval, Search, Prop, Text, Number, Int, Decimal, Bool, Date, Timestamp, Geom:
		return nil
	}
	panic(fmt.Sprintf("cql2: children of %T", e))
}

// ends returns the ends of a span that are not open.
func ends(s Span) []Expr {
	var out []Expr
	for _, e := range []Expr{s.Start, s.End} {
		if e != nil {
			out = append(out, e)
		}
	}
	return out
}

// Walk calls fn for e and the nodes below it, top down. If fn returns false it skips the nodes below.
func Walk(e Expr, fn func(Expr) bool) {
	if !fn(e) {
		return
	}
	for _, c := range Children(e) {
		Walk(c, fn)
	}
}

// isOperand reports whether e is a value that cannot be a predicate.
func isOperand(e Expr) bool {
	switch e.(type) {
	case Text, Number, Int, Decimal, Date, Timestamp, Span, Geom, List, Arith:
		return true
	}
	return false
}

// isCondition reports whether e is a predicate and cannot be an operand.
func isCondition(e Expr) bool {
	switch e.(type) {
	case And, Or, Not, Compare, Like, Between, In, IsNull, Spatial, Temporal, Array, BBox, Interval, Search, Related:
		return true
	}
	return false
}
