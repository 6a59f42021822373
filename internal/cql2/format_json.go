package cql2

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"
)

// FormatJSON prints e as CQL2 JSON. ParseJSON reads it back into an equal tree, geometries in ParseJSONIn's CRS. BBox, Interval,
// Related and the functions norm and exact, which the language does not have, are printed as functions that no parser accepts.
func FormatJSON(e Expr) []byte { return appendJSON(nil, e) }

// jsonNames are the operators whose name in JSON is not that of the tree (OGC 21-065r2, Annex C).
var jsonNames = map[string]string{
	string(TFinishedBy): "t_finishedBy", string(TMetBy): "t_metBy", string(TOverlappedBy): "t_overlappedBy", string(TStartedBy): "t_startedBy",
	string(AContainedBy): "a_containedBy",
}

func appendOp(b []byte, name string, args ...Expr) []byte {
	if n := jsonNames[name]; n != "" {
		name = n
	}
	b = appendQuoted(append(b, `{"op":`...), name)
	return append(appendArray(append(b, `,"args":`...), args), '}')
}

func appendArray(b []byte, list []Expr) []byte {
	b = append(b, '[')
	for i, e := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendJSON(b, e)
	}
	return append(b, ']')
}

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

// appendMember appends an object of one string.
func appendMember(b []byte, key, value string) []byte {
	b = append(appendQuoted(append(b, '{'), key), ':')
	return append(appendQuoted(b, value), '}')
}

func appendJSON(b []byte, e Expr) []byte {
	switch e := e.(type) {
	case And:
		return appendJunction(b, "and", e, true)
	case Or:
		return appendJunction(b, "or", e, false)
	case Not:
		return appendOp(b, "not", e.X)
	case Compare:
		return appendOp(b, string(e.Op), e.L, e.R)
	case Like:
		return appendOp(b, "like", e.X, e.Pattern)
	case Between:
		return appendOp(b, "between", e.X, e.Lo, e.Hi)
	case In:
		return appendOp(b, "in", e.X, List(e.List))
	case IsNull:
		return appendOp(b, "isNull", e.X)
	case Spatial:
		return appendOp(b, string(e.Op), e.L, e.R)
	case Temporal:
		return appendOp(b, string(e.Op), e.L, e.R)
	case Array:
		return appendOp(b, string(e.Op), e.L, e.R)
	case BBox:
		return appendBBox(b, e)
	case Interval:
		args := []Expr{Prop{Name: e.Start}, Prop{Name: e.End}, timeOrOpen(e.From), timeOrOpen(e.To)}
		for _, name := range e.Also {
			args = append(args, Prop{Name: name})
		}
		return appendOp(b, "interval", args...)
	case Search:
		return appendOp(b, "search", e.operands()...)
	case Related:
		return appendOp(b, "related", Text(e.Relation), e.X)
	case Prop:
		return appendMember(b, "property", e.Name)
	case Text:
		return appendQuoted(b, string(e))
	case Number:
		return append(b, formatNumber(float64(e))...)
	case Int:
		return strconv.AppendInt(b, int64(e), 10)
	case Bool:
		return strconv.AppendBool(b, bool(e))
	case Date:
		return appendMember(b, "date", e.T.Format(dateLayout))
	case Timestamp:
		return appendMember(b, "timestamp", e.T.UTC().Format(timestampLayout))
	case Span:
		b = appendEnd(append(b, `{"interval":[`...), e.Start)
		return append(appendEnd(append(b, ','), e.End), "]}"...)
	case Geom:
		return appendGeometry(b, e)
	case List:
		return appendArray(b, e)
	case Func:
		return appendOp(b, e.Name, e.Args...)
	case Arith:
		return appendOp(b, string(e.Op), e.L, e.R)
	}
	panic(fmt.Sprintf("cql2: JSON of %T", e))
}

// appendJunction appends AND or OR. One without two members has no form of its own.
func appendJunction(b []byte, op string, list []Expr, empty bool) []byte {
	switch len(list) {
	case 0:
		return strconv.AppendBool(b, empty)
	case 1:
		return appendJSON(b, list[0])
	}
	return appendOp(b, op, list...)
}

func timeOrOpen(t *time.Time) Expr {
	if t == nil {
		return Text("..")
	}
	return Timestamp{*t}
}

// appendEnd appends an end of an interval.
func appendEnd(b []byte, e Expr) []byte {
	switch e := e.(type) {
	case nil:
		return append(b, `".."`...)
	case Date:
		return appendQuoted(b, e.T.Format(dateLayout))
	case Timestamp:
		return appendQuoted(b, e.T.UTC().Format(timestampLayout))
	}
	return appendJSON(b, e)
}

func appendBBox(b []byte, e BBox) []byte {
	args := []Expr{Prop{Name: e.Prop}, Text(e.CRS.String()), Number(e.Box.Min[0]), Number(e.Box.Min[1]), Number(e.Box.Max[0]), Number(e.Box.Max[1])}
	if e.Z != nil {
		args = append(args, Number(e.Z[0]), Number(e.Z[1]))
	}
	return appendOp(b, "bbox", args...)
}

// appendGeometry appends a GeoJSON geometry in the axis order of the CRS.
func appendGeometry(b []byte, e Geom) []byte {
	vertex := func(b []byte, v orb.Point) []byte {
		q := point(v[0], v[1], e.CRS)
		b = append(append(b, '['), coordinate(q[0])...)
		b = append(append(b, ','), coordinate(q[1])...)
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
			return shape(b, boxGeometry(x))
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

// formatNumber prints a double so that it is read back as Number, not Int.
func formatNumber(v float64) string {
	s := strconv.FormatFloat(v, 'G', -1, 64)
	if math.Trunc(v) == v && !strings.ContainsAny(s, ".E") {
		s += ".0"
	}
	return s
}
