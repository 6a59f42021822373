// Package cql2test formats expressions as CQL2 JSON, for tests of parsers and evaluators.
package cql2test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
)

// FormatJSON prints e as CQL2 JSON. ParseJSON reads it back into an equal tree, geometries in ParseJSONIn's CRS.
// BBox, Interval, Related and the functions norm and exact, which the language does not have, are printed as
// functions that no parser accepts.
func FormatJSON(e cql2.Expr) []byte { return appendJSON(nil, e) }

// jsonNames are the operators whose name in JSON is not that of the tree (OGC 21-065r2, Annex C).
var jsonNames = map[string]string{
	string(cql2.TFinishedBy): "t_finishedBy", string(cql2.TMetBy): "t_metBy",
	string(cql2.TOverlappedBy): "t_overlappedBy", string(cql2.TStartedBy): "t_startedBy",
	string(cql2.AContainedBy): "a_containedBy",
}

func appendOp(b []byte, name string, args ...cql2.Expr) []byte {
	if n := jsonNames[name]; n != "" {
		name = n
	}
	b = appendQuoted(append(b, `{"op":`...), name)
	return append(appendArray(append(b, `,"args":`...), args), '}')
}

func appendArray(b []byte, list []cql2.Expr) []byte { return appendItems(b, list, appendJSON) }

// appendQuoted appends a JSON string; '<' and '>' stay readable.
func appendQuoted(b []byte, s string) []byte {
	buf := bytes.NewBuffer(b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("cql2: " + err.Error()) // a string never fails
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// appendMember appends an object with one member, a string.
func appendMember(b []byte, key, value string) []byte {
	b = append(appendQuoted(append(b, '{'), key), ':')
	return append(appendQuoted(b, value), '}')
}

func appendJSON(b []byte, e cql2.Expr) []byte {
	switch e := e.(type) {
	case cql2.And:
		return appendJunction(b, "and", e, true)
	case cql2.Or:
		return appendJunction(b, "or", e, false)
	case cql2.Not:
		return appendOp(b, "not", e.X)
	case cql2.Compare:
		return appendOp(b, string(e.Op), e.L, e.R)
	case cql2.Like:
		return appendOp(b, "like", e.X, e.Pattern)
	case cql2.Between:
		return appendOp(b, "between", e.X, e.Lo, e.Hi)
	case cql2.In:
		return appendOp(b, "in", e.X, cql2.List(e.List))
	case cql2.IsNull:
		return appendOp(b, "isNull", e.X)
	case cql2.Spatial:
		return appendOp(b, string(e.Op), e.L, e.R)
	case cql2.Temporal:
		return appendOp(b, string(e.Op), e.L, e.R)
	case cql2.Array:
		return appendOp(b, string(e.Op), e.L, e.R)
	case cql2.BBox:
		return appendBBox(b, e)
	case cql2.Interval:
		args := []cql2.Expr{cql2.Prop{Name: e.Start}, cql2.Prop{Name: e.End}, timeOrOpen(e.From), timeOrOpen(e.To)}
		for _, name := range e.Also {
			args = append(args, cql2.Prop{Name: name})
		}
		return appendOp(b, "interval", args...)
	case cql2.Search:
		return appendOp(b, "search", operands(e)...)
	case cql2.Related:
		return appendOp(b, "related", cql2.Text(e.Relation), e.X)
	case cql2.Prop:
		return appendMember(b, "property", e.Name)
	case cql2.Text:
		return appendQuoted(b, string(e))
	case cql2.Number:
		return append(b, number(float64(e))...)
	case cql2.Int:
		return strconv.AppendInt(b, int64(e), 10)
	case cql2.Decimal:
		return append(b, e...)
	case cql2.Bool:
		return strconv.AppendBool(b, bool(e))
	case cql2.Date:
		return appendMember(b, "date", e.T.Format(time.DateOnly))
	case cql2.Timestamp:
		return appendMember(b, "timestamp", e.T.UTC().Format("2006-01-02T15:04:05.999999999Z"))
	case cql2.Span:
		b = appendEnd(append(b, `{"interval":[`...), e.Start)
		return append(appendEnd(append(b, ','), e.End), "]}"...)
	case cql2.Geom:
		return appendGeometry(b, e)
	case cql2.List:
		return appendArray(b, e)
	case cql2.Func:
		return appendOp(b, e.Name, e.Args...)
	case cql2.Arith:
		return appendOp(b, string(e.Op), e.L, e.R)
	}
	panic(fmt.Sprintf("cql2: JSON of %T", e))
}

// appendJunction appends AND or OR. A list with fewer than two members is written as its only member, or as empty.
func appendJunction(b []byte, op string, list []cql2.Expr, empty bool) []byte {
	switch len(list) {
	case 0:
		return strconv.AppendBool(b, empty)
	case 1:
		return appendJSON(b, list[0])
	}
	return appendOp(b, op, list...)
}

func timeOrOpen(t *time.Time) cql2.Expr {
	if t == nil {
		return cql2.Text("..")
	}
	return cql2.Timestamp{T: *t}
}

// appendEnd appends the start or the end of an interval.
func appendEnd(b []byte, e cql2.Expr) []byte {
	switch e := e.(type) {
	case nil:
		return append(b, `".."`...)
	case cql2.Date:
		return appendQuoted(b, e.T.Format(time.DateOnly))
	case cql2.Timestamp:
		return appendQuoted(b, e.T.UTC().Format("2006-01-02T15:04:05.999999999Z"))
	}
	return appendJSON(b, e)
}

func appendBBox(b []byte, e cql2.BBox) []byte {
	args := []cql2.Expr{cql2.Prop{Name: e.Prop}, cql2.Text(e.CRS.String()), cql2.Number(e.Box.Min[0]),
		cql2.Number(e.Box.Min[1]), cql2.Number(e.Box.Max[0]), cql2.Number(e.Box.Max[1])}
	if e.Z != nil {
		args = append(args, cql2.Number(e.Z[0]), cql2.Number(e.Z[1]))
	}
	return appendOp(b, "bbox", args...)
}

// appendGeometry appends a GeoJSON geometry in the axis order of the CRS.
func appendGeometry(b []byte, e cql2.Geom) []byte {
	vertex := func(b []byte, v orb.Point) []byte {
		x, y := v[0], v[1]
		if e.CRS.NorthFirst() {
			x, y = y, x
		}
		b = strconv.AppendFloat(append(b, '['), x+0, 'G', -1, 64)
		b = strconv.AppendFloat(append(b, ','), y+0, 'G', -1, 64)
		return append(b, ']')
	}
	line := func(b []byte, l orb.LineString) []byte { return appendItems(b, l, vertex) }
	polygon := func(b []byte, g orb.Polygon) []byte {
		return appendItems(b, g, func(b []byte, r orb.Ring) []byte { return line(b, orb.LineString(r)) })
	}
	var shape func([]byte, orb.Geometry) []byte
	shape = func(b []byte, g orb.Geometry) []byte {
		switch x := g.(type) {
		case orb.Ring:
			return shape(b, orb.Polygon{x})
		case orb.Bound:
			return shape(b, box(x))
		case orb.Collection:
			b = appendItems(append(b, `{"type":"GeometryCollection","geometries":`...), x, shape)
			return append(b, '}')
		}
		b = append(appendQuoted(append(b, `{"type":`...), g.GeoJSONType()), `,"coordinates":`...)
		switch x := g.(type) {
		case orb.Point:
			b = vertex(b, x)
		case orb.LineString:
			b = line(b, x)
		case orb.Polygon:
			b = polygon(b, x)
		case orb.MultiPoint:
			b = appendItems(b, x, vertex)
		case orb.MultiLineString:
			b = appendItems(b, x, line)
		case orb.MultiPolygon:
			b = appendItems(b, x, polygon)
		default:
			panic(fmt.Sprintf("cql2: JSON of %T", g))
		}
		return append(b, '}')
	}
	return shape(b, e.G)
}

func appendItems[T any](b []byte, list []T, item func([]byte, T) []byte) []byte {
	b = append(b, '[')
	for i, x := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = item(b, x)
	}
	return append(b, ']')
}

// box returns the geometry of a box. If the box crosses the antimeridian, the geometry has two parts.
func box(b orb.Bound) orb.Geometry {
	switch {
	case b.Min[0] > b.Max[0]:
		west, east := orb.Bound{Min: b.Min, Max: orb.Point{180, b.Max[1]}},
			orb.Bound{Min: orb.Point{-180, b.Min[1]}, Max: b.Max}
		return orb.MultiPolygon{west.ToPolygon(), east.ToPolygon()}
	case b.Min == b.Max:
		return b.Min
	case b.Min[0] == b.Max[0] || b.Min[1] == b.Max[1]:
		return orb.LineString{b.Min, b.Max}
	}
	return b.ToPolygon()
}

func operands(s cql2.Search) []cql2.Expr {
	var list []cql2.Expr
	for _, name := range s.Props {
		list = append(list, cql2.Prop{Name: name})
	}
	for _, t := range s.Terms {
		list = append(list, cql2.Text(t))
	}
	return list
}

// number prints a double so that it is read back as Number, not Int.
func number(v float64) string {
	s := strconv.FormatFloat(v, 'G', -1, 64)
	if !strings.ContainsAny(s, ".E") {
		s += ".0"
	}
	return s
}
