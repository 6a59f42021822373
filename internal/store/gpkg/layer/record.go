package layer

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store/gpkg/gpb"
	"grense/internal/store/gpkg/moment"
	"grense/internal/store/gpkg/sqlite"
	"grense/internal/store/sqlq"
)

// record is a cql2.Record. It reads values on demand, on the connection of the query.
type record struct {
	ctx    context.Context // of the query
	c      *sqlite.Conn
	source *sqlq.Source
	where  string         // condition that selects the row
	id     []any          // parameters of where
	values map[string]any // values read so far; all values for a row of a relation
	keys   map[string]any // for a row of a relation: values that its own relations refer to
}

// NewRecord returns the row whose IDExpr equals id.
func NewRecord(ctx context.Context, c *sqlite.Conn, l *Layer, id any) cql2.Record {
	values := []any{id}
	if text, ok := id.(string); ok && l.Parts != nil {
		values, _ = l.IDValues(text)
	}
	return &record{ctx: ctx, c: c, source: l.SQL, where: l.isID(Alias), id: values, values: map[string]any{}}
}

// Context returns the context of the query.
func (r *record) Context() context.Context { return r.ctx }

// Value returns a property in its served form.
func (r *record) Value(name string) (any, error) {
	if v, ok := r.values[name]; ok {
		return v, nil
	}
	f := r.source.Fields[name]
	if f == nil {
		return nil, fmt.Errorf("gpkg: no property %q", name)
	}
	var v any
	err := r.column(Select(Alias, f), func(x sqlite.Row) { v = readField(x, 0, f) })
	r.values[name] = v
	return v, err
}

func (r *record) column(expr string, fn func(sqlite.Row)) error {
	if r.where == "" {
		return fmt.Errorf("gpkg: %s is not of this row", expr)
	}
	return r.c.Query("SELECT "+expr+" FROM "+r.source.Table+" AS "+Alias+" WHERE "+r.where, r.id,
		func(x sqlite.Row) error {
			fn(x)
			return nil
		})
}

// Geometry returns the stored geometry; nil if there is none or it is invalid.
func (r *record) Geometry(name string) (wkb []byte, in crs.ID, err error) {
	g := r.source.Geometry
	if g == nil || g.Name != name {
		return nil, 0, fmt.Errorf("gpkg: no geometry %q", name)
	}
	if v, ok := r.values[name]; ok {
		return v.([]byte), g.CRS, nil
	}
	err = r.column(Alias+"."+sqlite.Quote(g.Column), func(x sqlite.Row) {
		if x.Kind(0) == sqlite.KindBlob {
			wkb, _, _ = gpb.Read(x.Bytes(0, nil))
		}
	})
	r.values[name] = wkb
	return wkb, g.CRS, err
}

// Pad returns the pad of the layer.
func (r *record) Pad() float64 {
	if g := r.source.Geometry; g != nil {
		return g.Pad
	}
	return math.Inf(1)
}

// Rows returns all rows of a relation that belong to the record.
func (r *record) Rows(relation string) ([]cql2.Record, error) {
	rel := r.source.Relations[relation]
	if rel == nil {
		return nil, fmt.Errorf("gpkg: no relation %q", relation)
	}
	owner, ok := r.keys[rel.Key]
	if !ok {
		if err := r.column(Alias+"."+sqlite.Quote(rel.Key), func(x sqlite.Row) { owner = x.Any(0) }); err != nil {
			return nil, err
		}
	}
	names, keys := slices.Sorted(maps.Keys(rel.Fields)), relationKeys(rel)
	cols := make([]string, 0, len(names)+len(keys)+1)
	for _, n := range names {
		cols = append(cols, Select(Alias, rel.Fields[n]))
	}
	for _, k := range keys {
		cols = append(cols, Alias+"."+sqlite.Quote(k))
	}
	cols = append(cols, "1")
	var rows []cql2.Record
	err := r.c.Query("SELECT "+strings.Join(cols, ", ")+" FROM "+rel.Table+" AS "+Alias+" WHERE "+Alias+"."+
		sqlite.Quote(rel.Owner)+" = ?",
		[]any{owner}, func(x sqlite.Row) error {
			sub := &record{ctx: r.ctx, c: r.c, source: &rel.Source, values: map[string]any{}, keys: map[string]any{}}
			for i, n := range names {
				sub.values[n] = Value(x, i, rel.Fields[n].Type)
			}
			for i, k := range keys {
				sub.keys[k] = x.Any(len(names) + i)
			}
			rows = append(rows, sub)
			return nil
		})
	return rows, err
}

// relationKeys returns the columns of a relation that its own relations refer to.
func relationKeys(r *sqlq.Relation) []string {
	set := map[string]bool{}
	for _, sub := range r.Relations {
		set[sub.Key] = true
	}
	return slices.Sorted(maps.Keys(set))
}

// Select returns the expression for Value: timestamps as stored, other values in their normal form.
func Select(alias string, f *sqlq.Field) string {
	if f.Type == cql2.TypeTimestamp {
		return alias + "." + sqlite.Quote(f.Column)
	}
	return sqlq.Column(sqlq.SQLite{}, alias, f)
}

// readField returns a field, or a member of its JSON. Integers in a column of numbers are int64, as in SQL.
func readField(r sqlite.Row, i int, f *sqlq.Field) any {
	switch {
	case f.Path == nil && f.Type == cql2.TypeNumber && r.Kind(i) == sqlite.KindInt:
		return r.Int(i)
	case f.Path == nil:
		return Value(r, i, f.Type)
	case r.Kind(i) != sqlite.KindText:
		return nil
	}
	return cql2.Member(r.Text(i), f.Path, f.Type)
}

// Value returns a column as nil, string, int64, float64 or bool; nil for a value that does not fit the type. In a
// column of numbers, integers beyond 2^53 are int64.
func Value(r sqlite.Row, i int, t cql2.Type) any {
	k := r.Kind(i)
	if k == sqlite.KindNull || k == sqlite.KindBlob {
		return nil
	}
	switch t {
	case cql2.TypeInteger:
		if k == sqlite.KindInt {
			return r.Int(i)
		}
		return nil
	case cql2.TypeNumber:
		switch {
		case k == sqlite.KindText:
			return nil
		case k == sqlite.KindInt && (r.Int(i) > exactInteger || r.Int(i) < -exactInteger):
			return r.Int(i)
		}
		return r.Float(i)
	case cql2.TypeBool:
		return r.Bool(i)
	case cql2.TypeTimestamp:
		return moment.Timestamp(r.Text(i))
	}
	return r.Text(i)
}

// exactInteger is the least integer that float64 may not represent exactly.
const exactInteger = 1 << 53
