package catalog

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store/postgis/conn"
)

// readKeys sets the keys of tables and views.
func readKeys(ctx context.Context, c *pgxpool.Conn, list []*Table) error {
	byOID := map[uint32][][]int16{}
	err := conn.Each(ctx, c, uniqueSQL, func(rows pgx.Rows) error {
		var oid uint32
		var columns []int16
		err := rows.Scan(&oid, &columns)
		byOID[oid] = append(byOID[oid], columns)
		return err
	})
	if err != nil {
		return err
	}
	views := map[uint32][]origin{}
	err = conn.Each(ctx, c, viewsSQL, func(rows pgx.Rows) error {
		var oid uint32
		var query string
		err := rows.Scan(&oid, &query)
		views[oid] = origins(query)
		return err
	})
	if err != nil {
		return err
	}
	for _, t := range list {
		t.Nullable = t.Kind == 'm'
		for _, numbers := range keysOf(t.OID, byOID, views, 0) {
			if names, ok := t.names(numbers); ok {
				t.Keys = append(t.Keys, names)
			}
		}
	}
	return nil
}

// mostViews is the largest number of views between a view and its table.
const mostViews = 100

// keysOf returns the keys of a table, or of a view that shows the rows of one, as column numbers.
func keysOf(oid uint32, tables map[uint32][][]int16, views map[uint32][]origin, depth int) [][]int16 {
	from, ok := views[oid]
	if !ok || depth > mostViews {
		return tables[oid]
	}
	base := uint32(0)
	at := map[int16]int16{} // column of the view by column of its base
	for i, o := range from {
		if o.table == 0 {
			continue
		}
		if base = o.table; at[o.column] == 0 {
			at[o.column] = int16(i + 1)
		}
	}
	var keys [][]int16
	for _, k := range keysOf(base, tables, views, depth+1) {
		mine := make([]int16, len(k))
		for i, n := range k {
			mine[i] = at[n]
		}
		if !slices.Contains(mine, 0) {
			keys = append(keys, mine)
		}
	}
	return keys
}

// names returns the columns with some numbers; false if the role may not read one of them.
func (t *Table) names(numbers []int16) ([]string, bool) {
	var out []string
	for _, n := range numbers {
		i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.number == n })
		if i < 0 {
			return nil, false
		}
		out = append(out, t.Columns[i].Name)
	}
	return out, true
}

// origin is the column that a column of a view shows; zero if it shows none.
type origin struct {
	table  uint32
	column int16
}

// origins parses the internal form of a view's query (pg_rewrite.ev_action) to find where its columns come from. It
// returns nil if the text has an unexpected form.
func origins(query string) []origin {
	var out []origin
	var entry []byte // text of a TARGETENTRY node, without nested nodes
	depth := 0
	for i := 0; i < len(query); i++ {
		b := query[i]
		switch b {
		case '\\':
			i++
			continue
		case '{':
			if depth++; depth == 2 {
				entry = entry[:0]
			}
		case '}':
			if depth--; depth == 1 {
				if o, ok := readOrigin(string(entry)); ok {
					out = append(out, o)
				}
			}
		default:
			if depth == 2 {
				entry = append(entry, b)
			}
		}
	}
	return out
}

// readOrigin parses a TARGETENTRY; false if the text is not one, or not a column of the view.
func readOrigin(text string) (o origin, ok bool) {
	if !strings.HasPrefix(text, "TARGETENTRY ") || strings.Contains(text, ":resjunk true") {
		return o, false
	}
	number := func(name string) uint64 {
		_, rest, _ := strings.Cut(text, ":"+name+" ")
		n, _, _ := strings.Cut(rest, " ")
		v, _ := strconv.ParseUint(n, 10, 32) // 0 on error, which is no column
		return v
	}
	return origin{uint32(number("resorigtbl")), int16(number("resorigcol"))}, true
}
