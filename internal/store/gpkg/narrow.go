package gpkg

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"grense/internal/cql2"
)

// narrowFrom is how large, in bytes, geometries are on average where a narrow copy pays.
const narrowFrom = 256

// copyNarrow makes the table narrow_N: a copy of a layer without its geometry and other binary columns, under the same names and row
// ids, with the indexes of the layer. A question that no index serves reads it instead of the layer, whose rows lie far apart and
// hide the columns behind the geometry.
func (d *draft) copyNarrow(ctx context.Context, c *conn, side *sideWriter, sv *survey) error {
	if sv.Count == 0 || sv.Index == "" || d.table.rowid == "" || sv.Bytes/int64(sv.Count) < int64(d.narrowFrom) {
		return nil
	}
	names, defs := []string{d.table.rowid}, []string{}
	for _, col := range d.table.columns {
		cs := sv.Columns[col.name]
		switch {
		case d.table.isRowid(col):
			defs = append(defs, quote(col.name)+" INTEGER PRIMARY KEY")
		case cs == nil || strings.Contains(strings.ToUpper(col.declared), "BLOB"):
			continue
		default:
			defs = append(defs, quote(col.name)+" "+affinityName(col.declared))
			names = append(names, quote(col.name))
		}
	}
	if len(defs) == 0 {
		return nil
	}
	name := side.prefix + narrowTable(d.n)
	if err := side.c.exec("CREATE TABLE " + name + " (" + strings.Join(defs, ", ") + ")"); err != nil {
		return err
	}
	insert := "INSERT INTO " + name + " (" + strings.Join(names, ", ") + ") VALUES (?" + strings.Repeat(", ?", len(names)-1) + ")"
	values := make([]any, len(names))
	rows := 0
	err := c.query("SELECT "+strings.Join(names, ", ")+" FROM "+d.table.quoted(), nil, func(r row) error {
		if rows++; rows%4096 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		for i := range values {
			values[i] = r.Any(i)
		}
		return side.c.exec(insert, values...)
	})
	if err != nil {
		return err
	}
	sv.Narrow = true
	return d.copyIndexes(c, side, sv, names)
}

// copyIndexes makes the indexes of a layer on its copy: whole ones over columns that the copy has.
func (d *draft) copyIndexes(c *conn, side *sideWriter, sv *survey, columns []string) error {
	name := side.prefix + narrowTable(d.n)
	var lists [][]string
	if sv.Parts != nil {
		var key []string
		for _, p := range sv.Parts {
			key = append(key, quote(p.Column))
		}
		lists = append(lists, key)
	} else if col, ok := d.table.column(sv.Key); ok && !d.table.isRowid(col) {
		lists = append(lists, []string{quote(col.name)})
	}
	var indexes []string
	err := c.query("SELECT name FROM pragma_index_list(?, 'main') WHERE partial = 0", []any{d.table.name}, func(r row) error {
		indexes = append(indexes, r.Text(0))
		return nil
	})
	if err != nil {
		return err
	}
	for _, x := range indexes {
		var cols []string
		err := c.query("SELECT name FROM pragma_index_info(?, 'main') ORDER BY seqno", []any{x}, func(r row) error {
			cols = append(cols, quote(r.Text(0))) // of an expression "", which no column is called
			return nil
		})
		if err != nil {
			return err
		}
		known := !slices.ContainsFunc(cols, func(s string) bool { return !slices.Contains(columns, s) })
		if known && !slices.ContainsFunc(lists, func(l []string) bool { return slices.Equal(l, cols) }) {
			lists = append(lists, cols)
		}
	}
	for i, cols := range lists {
		if err := side.c.exec("CREATE INDEX " + name + "_" + strconv.Itoa(i) + " ON " + name + " (" + strings.Join(cols, ", ") + ")"); err != nil {
			return err
		}
	}
	return nil
}

func narrowTable(n int) string { return "narrow_" + strconv.Itoa(n) }

// affinityName returns a type with the affinity of a declared one (SQLite, Datatypes, 3.1).
func affinityName(declared string) string {
	d := strings.ToUpper(declared)
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(d, w) })
	}
	switch {
	case has("INT"):
		return "INTEGER"
	case has("CHAR", "CLOB", "TEXT"):
		return "TEXT"
	case d == "":
		return ""
	case has("REAL", "FLOA", "DOUB"):
		return "REAL"
	}
	return "NUMERIC"
}

// table returns what a question reads the rows of a layer from: the narrow copy, as long as nobody has changed the file since. Where the
// R-tree leaves few rows, there is no gain.
func (l *layer) table(c *conn, filter cql2.Expr) (string, error) {
	if l.narrow == "" || l.isLocal(filter) {
		return l.source.Table, nil
	}
	same, err := c.unchanged()
	if err != nil || !same {
		return l.source.Table, err
	}
	return l.narrow, nil
}

// isLocal reports whether what a filter selects lies in a hundredth of the layer.
func (l *layer) isLocal(filter cql2.Expr) bool {
	bounds, ok := cql2.Extent(filter, l.Geometry.Name, l.Geometry.CRS)
	if filter == nil || !ok {
		return false
	}
	area := func(b orb.Bound) float64 { return (b.Max[0] - b.Min[0]) * (b.Max[1] - b.Min[1]) }
	sum := 0.0
	for _, b := range bounds {
		sum += area(b)
	}
	return sum*100 <= area(l.native)
}
