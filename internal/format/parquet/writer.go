package parquet

import (
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"

	"grense/internal/cql2"
	"grense/internal/feature"
	"grense/internal/format/output"
	"grense/internal/geo/crs"
	"grense/internal/geo/wkb"
)

// Losses lists what a reader may not get back.
var Losses = []string{"the order of features", "moments finer than a microsecond are cut"}

func New(w io.Writer, o output.Options) (output.Writer, error) {
	t, err := output.NewTable(o, 1)
	if err != nil {
		return nil, err
	}
	return &writer{Table: t, w: w}, nil
}

// rowGroup is the number of features in a row group. They are close together, so that a reader of a
// box skips the other groups.
const rowGroup = 8192

// pageSize is the approximate size in bytes of an uncompressed page. It fits into one block of Zstandard (RFC 8878,
// 3.1.1.2); for more its encoders hold megabytes.
const pageSize = 96 << 10

// writer writes GeoParquet 1.1.0: WKB, outer rings counter-clockwise, x before y in every reference system (named by
// PROJJSON), a column bbox, and row groups along a Hilbert curve.
type writer struct {
	*output.Table
	w io.Writer
}

func (p *writer) Close(abort bool) error {
	defer p.Scratch.Close()
	if abort {
		return nil
	}
	p.ByPlace()
	spatial := !p.Options.SkipGeometry
	schema, meta, err := p.schema(spatial)
	if err != nil {
		return err
	}
	opts := []parquet.WriterOption{schema, parquet.Compression(&zstd.Codec{}), parquet.CreatedBy("grense", "", ""),
		parquet.DataPageStatistics(true),
		parquet.PageBufferSize(pageSize)}
	if spatial {
		opts = append(opts, parquet.KeyValueMetadata("geo", string(meta)))
	}
	for _, name := range p.unbounded(spatial) {
		opts = append(opts, parquet.SkipPageBounds(name), parquet.SkipPageStatistics(name))
	}
	out := parquet.NewGenericWriter[any](p.w, opts...)
	var row parquet.Row
	err = p.Read(func(i int, values []any, geom []byte) error {
		row = p.row(row[:0], values)
		if spatial {
			row = p.place(row, i, geom)
		}
		if _, err := out.WriteRows([]parquet.Row{row}); err != nil {
			return err
		}
		if (i+1)%rowGroup == 0 {
			return out.Flush()
		}
		return nil
	})
	if err != nil {
		return err
	}
	return out.Close()
}

// longestBound is the longest text in bytes of a column whose pages state minimum and maximum.
// Readers refuse page headers beyond 16 MB, and a geometry can be that long.
const longestBound = 4 << 10

// unbounded returns the columns whose pages state no bounds: geometries and long texts.
func (p *writer) unbounded(spatial bool) (names []string) {
	all := p.names(spatial)
	for i := range p.Cols {
		if p.Facts[i].Longest > longestBound {
			names = append(names, all[i])
		}
	}
	if spatial {
		names = append(names, all[len(p.Cols)])
	}
	return names
}

// names returns the names of the columns, and those of the geometry and its box if there is one.
func (p *writer) names(spatial bool) []string {
	cols := p.Cols
	if spatial {
		cols = append(slices.Clone(cols), output.Column{Name: "geometry"}, output.Column{Name: "bbox"})
	}
	return output.Distinct(cols, 0, func(s string) string { return s })
}

// row appends the values of the columns.
func (p *writer) row(row parquet.Row, values []any) parquet.Row {
	for i, v := range values {
		level := 1
		x := parquet.ValueOf(nil)
		switch kind := p.KindOf(i); v := v.(type) {
		case nil:
			level = 0
		case string:
			x = parquet.ByteArrayValue([]byte(v))
			if at, ok := feature.Moment(v); ok && kind == cql2.TypeDate {
				x = parquet.Int32Value(int32(at.Unix() / 86400)) // midnight: no remainder
			} else if ok && kind == cql2.TypeTimestamp {
				x = parquet.Int64Value(at.UnixMicro())
			}
		case int64:
			switch kind {
			case cql2.TypeNumber:
				x = parquet.DoubleValue(float64(v))
			case cql2.TypeInteger:
				x = parquet.Int64Value(v)
			default:
				x = parquet.ByteArrayValue([]byte(output.ValueText(v)))
			}
		case float64:
			x = parquet.DoubleValue(v)
			if kind != cql2.TypeNumber {
				x = parquet.ByteArrayValue([]byte(output.ValueText(v)))
			}
		case bool:
			x = parquet.BooleanValue(v)
			if kind != cql2.TypeBool {
				x = parquet.ByteArrayValue([]byte(output.ValueText(v)))
			}
		}
		if p.Cols[i].At < 0 {
			level = 0 // required
		}
		row = append(row, x.Level(0, level, len(row)))
	}
	return row
}

// place appends the geometry and its box.
func (p *writer) place(row parquet.Row, i int, geom []byte) parquet.Row {
	if len(geom) == 0 {
		for range 5 {
			row = append(row, parquet.Value{}.Level(0, 0, len(row)))
		}
		return row
	}
	row = append(row, parquet.ByteArrayValue(geom).Level(0, 1, len(row)))
	b := p.Rows[i].Box
	for _, v := range [...]float64{b.Min[0], b.Min[1], b.Max[0], b.Max[1]} {
		row = append(row, parquet.DoubleValue(v).Level(0, 1, len(row)))
	}
	return row
}

// schema returns the schema, and the metadata "geo" of a file with geometry.
func (p *writer) schema(spatial bool) (*parquet.Schema, []byte, error) {
	names := p.names(spatial)
	var fields []parquet.Field
	for i, c := range p.Cols {
		node := nodeOf(p.KindOf(i))
		if c.At >= 0 {
			node = parquet.Optional(node)
		}
		fields = append(fields, namedNode{node, names[i]})
	}
	if !spatial {
		return parquet.NewSchema(p.Options.Collection.ID, newOrdered(fields)), nil, nil
	}
	geom, box := names[len(names)-2], names[len(names)-1]
	fields = append(fields, namedNode{parquet.Optional(parquet.Leaf(parquet.ByteArrayType)), geom})
	var sides []parquet.Field
	covering := map[string][]string{}
	for _, n := range [...]string{"xmin", "ymin", "xmax", "ymax"} {
		sides = append(sides, namedNode{parquet.Leaf(parquet.DoubleType), n})
		covering[n] = []string{box, n}
	}
	fields = append(fields, namedNode{parquet.Optional(newOrdered(sides)), box})
	about := map[string]any{"encoding": "WKB", "geometry_types": p.types(), "orientation": "counterclockwise",
		"covering": map[string]any{"bbox": covering}}
	if p.Options.CRS != crs.CRS84 {
		system, err := p.Options.CRS.PROJJSON()
		if err != nil {
			return nil, nil, err
		}
		about["crs"] = json.RawMessage(system)
	}
	if !p.Bound.IsEmpty() {
		about["bbox"] = []float64{p.Bound.Min[0], p.Bound.Min[1], p.Bound.Max[0], p.Bound.Max[1]}
	}
	meta, err := json.Marshal(map[string]any{"version": "1.1.0", "primary_column": geom,
		"columns": map[string]any{geom: about}})
	return parquet.NewSchema(p.Options.Collection.ID, newOrdered(fields)), meta, err
}

// types lists the types of the geometries by their GeoParquet names. Files with heights list each type in both forms,
// since a table does not distinguish them.
func (p *writer) types() []string {
	out := []string{}
	for k := wkb.Point; k <= wkb.Collection; k++ {
		if p.Kinds[k] {
			out = append(out, k.String())
			if p.HasZ {
				out = append(out, k.String()+" Z")
			}
		}
	}
	return out
}

func nodeOf(t cql2.Type) parquet.Node {
	switch t {
	case cql2.TypeInteger:
		return parquet.Int(64)
	case cql2.TypeNumber:
		return parquet.Leaf(parquet.DoubleType)
	case cql2.TypeBool:
		return parquet.Leaf(parquet.BooleanType)
	case cql2.TypeDate:
		return parquet.Date()
	case cql2.TypeTimestamp:
		return parquet.Timestamp(parquet.Microsecond)
	}
	return parquet.String()
}

// ordered is a group whose fields keep their order; parquet.Group sorts them by name.
type ordered struct {
	parquet.Group
	fields []parquet.Field
}

func newOrdered(fields []parquet.Field) ordered {
	g := ordered{Group: parquet.Group{}, fields: fields}
	for _, f := range fields {
		g.Group[f.Name()] = f
	}
	return g
}

func (o ordered) Fields() []parquet.Field { return o.fields }

// namedNode is a field. Rows are written as values, so no field is ever read from a Go value.
type namedNode struct {
	parquet.Node
	name string
}

func (n namedNode) Name() string { return n.name }

func (n namedNode) Value(reflect.Value) reflect.Value {
	panic(fmt.Sprintf("format: %s is written as rows", n.name))
}
