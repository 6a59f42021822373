package postgis

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"grense/internal/cql2"
	"grense/internal/geo/crs"
	"grense/internal/store/sqlq"
)

// candidates describes what is read of each row besides the sort keys: the revision and, for a residue or a rank,
// whether the row certainly matches, and the properties, geometry and relations that are tested.
type candidates struct {
	l         *layer
	tested    bool // columns for sureness and values are present
	where     bool // the revision is followed by a column with layer.placeExpr
	names     []string
	index     map[string]int // position in names
	geometry  bool
	relations []string
}

func newCandidates(l *layer, f sqlq.Filter, rank *cql2.Search) (*candidates, error) {
	c := &candidates{l: l, index: map[string]int{}}
	use := func(e cql2.Expr) {
		if e == nil {
			return
		}
		c.tested = true
		cql2.Walk(e, func(x cql2.Expr) bool { return c.use(x) })
	}
	use(f.Residue)
	if rank != nil {
		use(*rank)
	}
	for _, n := range c.names {
		if l.source.Fields[n] == nil {
			return nil, fmt.Errorf("postgis: collection %q has no property %q", l.ID, n)
		}
	}
	return c, nil
}

// use records what a node needs, and reports whether nodes below refer to the same row.
func (c *candidates) use(e cql2.Expr) bool {
	var names []string
	switch e := e.(type) {
	case cql2.Prop:
		names = []string{e.Name}
	case cql2.BBox:
		names = []string{e.Prop}
	case cql2.Interval:
		names = e.Props()
	case cql2.Search:
		names = e.Props
	case cql2.Related:
		if !slices.Contains(c.relations, e.Relation) {
			c.relations = append(c.relations, e.Relation)
		}
		return false
	}
	for _, n := range names {
		if g := c.l.Geometry; g != nil && g.Name == n {
			c.geometry = true
		} else if _, ok := c.index[n]; !ok {
			c.index[n] = len(c.names)
			c.names = append(c.names, n)
		}
	}
	return true
}

// columns adds the columns to a statement.
func (c *candidates) columns(b *sqlq.Builder, f sqlq.Filter) {
	b.Text(c.l.revisionSQL)
	if c.where {
		b.Text(", ", c.l.placeExpr(false))
	}
	if !c.tested {
		return
	}
	sure := func() {
		if f.Residue == nil {
			b.Text("TRUE")
		} else {
			b.Text("(").Add(f.Sure).Text(") IS TRUE")
		}
	}
	b.Text(", ")
	sure()
	for _, n := range c.names {
		b.Text(", ", selectExpr(alias, c.l.source.Fields[n]))
	}
	if c.geometry {
		b.Text(", CASE WHEN ")
		sure()
		b.Text(" THEN NULL ELSE ", c.l.wkb(alias), " END")
	}
	for _, n := range c.relations {
		b.Text(", ", aggregate(c.l.source.Relations[n], alias, 1), "::text")
	}
}

// aggregate returns an expression for the rows of a relation as a JSON array of arrays: the columns by name, then its
// own relations.
func aggregate(r *sqlq.Relation, owner string, depth int) string {
	a := fmt.Sprintf("a%d", depth)
	var cols []string
	for _, n := range slices.Sorted(maps.Keys(r.Fields)) {
		cols = append(cols, selectExpr(a, r.Fields[n]))
	}
	for _, n := range slices.Sorted(maps.Keys(r.Relations)) {
		cols = append(cols, aggregate(r.Relations[n], a, depth+1))
	}
	return "(SELECT json_agg(json_build_array(" + strings.Join(cols, ", ") + ")) FROM " + r.Table + " AS " + a +
		" WHERE " + a + "." + quote(r.Owner) +
		" = " + owner + "." + quote(r.Key) + ")"
}

// record is a candidate as a cql2.Record.
type record struct {
	ctx  context.Context // of the query
	c    *candidates
	sure bool
	raw  [][]byte // columns: names, geometry and relations
}

// record returns the record in the columns of a row from the revision on. It is valid until the next row is read.
func (c *candidates) record(ctx context.Context, raw [][]byte) *record {
	if c.where {
		raw = raw[1:]
	}
	return &record{ctx: ctx, c: c, sure: raw[1][0] != 0, raw: raw[2:]}
}

// Context returns the context of the query.
func (r *record) Context() context.Context { return r.ctx }

// Value returns a property in its served form.
func (r *record) Value(name string) (any, error) {
	i, ok := r.c.index[name]
	if !ok {
		return nil, fmt.Errorf("postgis: property %q was not read", name)
	}
	return decodeCompared(r.raw[i], r.c.l.source.Fields[name]), nil
}

// Geometry returns the stored geometry; nil if there is none.
func (r *record) Geometry(name string) ([]byte, crs.ID, error) {
	g := r.c.l.Geometry
	if g == nil || g.Name != name || !r.c.geometry {
		return nil, 0, fmt.Errorf("postgis: geometry %q was not read", name)
	}
	wkb := r.raw[len(r.c.names)]
	return r.c.l.served(wkb), g.CRS, r.c.l.inSystem(wkb)
}

// Rows returns the rows of a relation.
func (r *record) Rows(relation string) ([]cql2.Record, error) {
	i := slices.Index(r.c.relations, relation)
	if i < 0 {
		return nil, fmt.Errorf("postgis: relation %q was not read", relation)
	}
	i += len(r.c.names)
	if r.c.geometry {
		i++
	}
	return readRows(r.raw[i], r.c.l.source.Relations[relation])
}

// row is a row of a relation.
type row struct {
	values map[string]any
	rows   map[string][]cql2.Record
}

func readRows(text []byte, r *sqlq.Relation) ([]cql2.Record, error) {
	if len(text) == 0 || bytes.Equal(text, []byte("null")) {
		return nil, nil
	}
	var list [][]json.RawMessage
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("postgis: rows of a relation: %w", err)
	}
	var out []cql2.Record
	names, nested := slices.Sorted(maps.Keys(r.Fields)), slices.Sorted(maps.Keys(r.Relations))
	for _, cells := range list {
		x := &row{values: map[string]any{}, rows: map[string][]cql2.Record{}}
		for i, n := range names {
			v, err := fromJSON(cells[i], r.Fields[n].Type)
			if err != nil {
				return nil, fmt.Errorf("postgis: column %q of a relation: %w", n, err)
			}
			x.values[n] = v
		}
		for i, n := range nested {
			rows, err := readRows(cells[len(names)+i], r.Relations[n])
			if err != nil {
				return nil, err
			}
			x.rows[n] = rows
		}
		out = append(out, x)
	}
	return out, nil
}

func fromJSON(b json.RawMessage, t cql2.Type) (any, error) {
	if bytes.Equal(b, []byte("null")) {
		return nil, nil
	}
	switch t {
	case cql2.TypeInteger:
		return scanJSON[int64](b)
	case cql2.TypeNumber:
		return scanJSON[float64](b)
	case cql2.TypeBool:
		return scanJSON[bool](b)
	}
	return scanJSON[string](b)
}

func scanJSON[T any](b json.RawMessage) (any, error) {
	var v T
	err := json.Unmarshal(b, &v)
	return v, err
}

func (r *row) Value(name string) (any, error) { return r.values[name], nil }

func (r *row) Geometry(name string) ([]byte, crs.ID, error) {
	return nil, 0, fmt.Errorf("postgis: no geometry %q in a relation", name)
}

func (r *row) Rows(relation string) ([]cql2.Record, error) { return r.rows[relation], nil }
