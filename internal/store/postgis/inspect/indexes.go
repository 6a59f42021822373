package inspect

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/store/postgis/catalog"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
)

// manyRows is the least number of rows of a table for advice about indexes. mostForCount is the time limit for counting
// unservable values.
const (
	manyRows     = 10_000
	mostForCount = time.Minute
)

// columnsServed reports, for readable tables, which values are served as null and which indexes are missing.
func (i *inspector) columnsServed(ctx context.Context, pool *pgxpool.Pool) error {
	var tables []*catalog.Table
	rows := map[uint32]int64{}
	err := conn.Use(ctx, pool, func(c *pgxpool.Conn) (err error) {
		if tables, err = catalog.ReadTables(ctx, c); err != nil {
			return err
		}
		return conn.Each(ctx, c, "SELECT oid, reltuples::bigint FROM pg_class WHERE relkind IN ('r', 'p', 'm')",
			func(r pgx.Rows) error {
				var oid uint32
				var n int64
				err := r.Scan(&oid, &n)
				rows[oid] = n
				return err
			})
	})
	if err != nil {
		return err
	}
	for _, t := range tables {
		i.beyond(ctx, pool, t)
		if n := rows[t.OID]; n >= manyRows && t.Schema != catalog.OwnSchema {
			if err := i.indexes(ctx, pool, t, n); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

// beyondOf returns a condition for the values of a column that are served as null; "" if there are none.
func beyondOf(c catalog.Column) (condition, what string) {
	x := quote(c.Name)
	switch c.Base {
	case "float4", "float8", "numeric":
		return "NOT (abs(" + x + ") <= 1.7976931348623157e308)", "no numbers (NaN), or infinite"
	case "date":
		return "NOT (" + x + " BETWEEN '0001-01-01' AND '9999-12-31')", "infinite, or of years beyond 1 to 9999"
	case "timestamp", "timestamptz":
		return "NOT (" + x + " BETWEEN '0001-01-01' AND '9999-12-31 23:59:59.999999')",
			"infinite, or of years beyond 1 to 9999"
	}
	return "", ""
}

// beyond reports how many values of a table are served as null.
func (i *inspector) beyond(ctx context.Context, pool *pgxpool.Pool, t *catalog.Table) {
	var columns []catalog.Column
	var counts []string
	for _, c := range t.Columns {
		if condition, _ := beyondOf(c); condition != "" {
			columns, counts = append(columns, c), append(counts, "count(*) FILTER (WHERE "+condition+")")
		}
	}
	if columns == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, mostForCount)
	defer cancel()
	found := make([]int64, len(columns))
	to := make([]any, len(columns))
	for j := range found {
		to[j] = &found[j]
	}
	err := conn.Use(ctx, pool, func(c *pgxpool.Conn) error {
		return c.QueryRow(ctx, "SELECT "+strings.Join(counts, ", ")+" FROM "+t.Quoted()).Scan(to...)
	})
	if err != nil {
		return
	}
	for j, n := range found {
		if n > 0 {
			_, what := beyondOf(columns[j])
			i.advise(false, "%s: values of %q that are given as null, since they are %s: %d", t.Layer(),
				columns[j].Name, what, n)
		}
	}
}

// columnUse is a use of a column that an index may serve, such as a comparison.
type columnUse struct {
	name  string // for the advice
	e     cql2.Expr
	order bool // ORDER BY the column, instead of e
}

// usesOf returns the uses of a column that the index of cureOf serves. For texts, those that any ordered index serves
// come first.
func usesOf(c catalog.Column, t cql2.Type) []columnUse {
	x := cql2.Prop{Name: c.Name, Type: t}
	var low, high cql2.Expr
	switch t {
	case cql2.TypeInteger:
		low, high = cql2.Int(1), cql2.Int(9)
	case cql2.TypeNumber:
		low, high = cql2.Number(1.5), cql2.Number(9.5)
	case cql2.TypeDate:
		low, high = cql2.Date{T: time.Unix(1e9, 0)}, cql2.Date{T: time.Unix(2e9, 0)}
	case cql2.TypeTimestamp:
		low, high = cql2.Timestamp{T: time.Unix(1e9, 0)}, cql2.Timestamp{T: time.Unix(2e9, 0)}
	case cql2.TypeText:
		low, high = cql2.Text(someUUID), cql2.Text("b"+someUUID[1:])
	}
	if low == nil || t == cql2.TypeText && c.StoredAs(t) == sqlq.StoredOther {
		return nil
	}
	list := []columnUse{
		{name: "equality", e: cql2.Compare{Op: cql2.Eq, L: x, R: low}},
		{name: "ranges", e: cql2.And{cql2.Compare{Op: cql2.Ge, L: x, R: low}, cql2.Compare{Op: cql2.Lt, L: x,
			R: high}}},
	}
	if t == cql2.TypeText {
		list = append(list, columnUse{name: "LIKE 'abc%'", e: cql2.Like{X: x, Pattern: cql2.Text("abc%")}})
	}
	if c.Base != "float4" && c.StoredAs(t) != sqlq.StoredEnum {
		list = append(list, columnUse{name: "the order", order: true})
	}
	return list
}

// someUUID is a literal that is valid for every type of text.
const someUUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"

// cureOf returns the definition of an index that serves all uses of a column.
func cureOf(c catalog.Column, t cql2.Type) string {
	name := quote(c.Name)
	switch {
	case t != cql2.TypeText || c.IsByCodePoint() || slices.Contains([]sqlq.Stored{sqlq.StoredUUID, sqlq.StoredEnum},
		c.StoredAs(t)):
		return "(" + name + ")"
	case c.Base == "text" || c.Base == "varchar":
		return "(" + name + ` COLLATE "C")`
	}
	return "((" + name + `::text) COLLATE "C")`
}

// indexes reports which uses of the columns of a table with n rows no index serves, and which index would.
func (i *inspector) indexes(ctx context.Context, pool *pgxpool.Pool, t *catalog.Table, n int64) error {
	name := t.Quoted()
	var bare, cures, parts, folded []string
	for _, c := range t.Columns {
		typ, ok := c.Type()
		uses := usesOf(c, typ)
		if !ok || uses == nil {
			continue
		}
		by, without := map[string][]string{}, []string(nil) // uses by the index that serves them, and uses without one
		for _, u := range uses {
			index, err := serves(ctx, pool, t, c, u)
			if err != nil {
				return err
			}
			if index == "" {
				without = append(without, u.name)
			} else {
				by[index] = append(by[index], u.name)
			}
		}
		cure := "CREATE INDEX ON " + name + " " + cureOf(c, typ)
		switch {
		case len(by) == 0:
			bare, cures = append(bare, c.Name), append(cures, cure)
		default:
			text := fmt.Sprintf("%s, column %q:", t.Layer(), c.Name)
			for _, index := range slices.Sorted(maps.Keys(by)) {
				text += fmt.Sprintf(" the index %s serves %s;", index, strings.Join(by[index], ", "))
			}
			if without != nil {
				text += fmt.Sprintf(" none serves %s; for those, let its owner run: %s", strings.Join(without,
					", "), cure)
			}
			i.advise(false, "%s", strings.TrimSuffix(text, ";"))
		}
		if typ != cql2.TypeText || c.Base != "text" && c.Base != "varchar" {
			continue
		}
		x := cql2.Prop{Name: c.Name, Type: typ}
		for _, more := range []struct {
			use   columnUse
			index string
			to    *[]string
		}{
			{columnUse{e: cql2.Like{X: x, Pattern: cql2.Text("%abcd%")}}, "USING gin (" + strings.Trim(cureOf(c, typ),
				"()") + " gin_trgm_ops)", &parts},
			{columnUse{e: cql2.Compare{Op: cql2.Eq, L: cql2.Func{Name: "casei", Args: []cql2.Expr{x}},
				R: cql2.Text("abc")}}, "(lower(" + quote(c.Name) + ` COLLATE "C"))`, &folded},
		} {
			index, err := serves(ctx, pool, t, c, more.use)
			if err != nil {
				return err
			}
			if index == "" {
				*more.to = append(*more.to, "CREATE INDEX ON "+name+" "+more.index)
			}
		}
	}
	if bare != nil {
		i.advise(false,
			"%s has about %d rows, and no index serves filters and orders by %s, so that each reads them "+
				"all; for those that clients use, let its owner run: %s",
			t.Layer(), n, strings.Join(bare, ", "), strings.Join(cures, "; "))
	}
	if parts != nil {
		i.advise(false, "%s: words (q) read all of about %d rows; a copy that is made with grense import --into "+
			"postgres://... has indexes for them. "+
			"For parts of texts (LIKE '%%vik%%'), let its owner run: CREATE EXTENSION IF NOT EXISTS pg_trgm; %s",
			t.Layer(), n, strings.Join(parts, "; "))
	}
	if folded != nil {
		i.advise(false,
			"%s: no index serves CASEI, so that it reads all of about %d rows; "+
				"for the columns that clients use, let its owner run: %s", t.Layer(), n, strings.Join(folded, "; "))
	}
	return nil
}

// alias is the alias of the table in statements.
const alias = "t"

// serves returns the index that the server would use for a column, even if reading the table is cheaper; "" if there is
// none.
func serves(ctx context.Context, pool *pgxpool.Pool, t *catalog.Table, c catalog.Column, u columnUse) (index string,
	err error) {
	typ, _ := c.Type()
	f := c.Field(typ)
	src := &sqlq.Source{Table: t.Quoted(), Fields: map[string]*sqlq.Field{c.Name: f}}
	b := sqlq.New(sqlq.PostgreSQL{}).Text("EXPLAIN (FORMAT JSON, COSTS OFF) SELECT 1 FROM ", src.Table, " AS ",
		alias, " WHERE ")
	if u.order {
		column := alias + "." + quote(c.Name)
		only, ok := sqlq.PostgreSQL{}.Present(column, f)
		if !ok {
			only = sqlq.Ident("TRUE")
		}
		b.Add(only).Text(" ORDER BY ", catalog.OrderExpr(column, f), " LIMIT 1")
	} else {
		b.Add(sqlq.Compile(sqlq.PostgreSQL{}, src, alias, u.e).Where)
	}
	sql, args := b.SQL()
	var text []byte
	err = conn.Use(ctx, pool, func(c *pgxpool.Conn) error {
		if _, err := c.Exec(ctx, fmt.Sprintf(onlyIndexes, conn.InTransactions(c)),
			pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		return c.QueryRow(ctx, sql, conn.Bind(args)...).Scan(&text)
	})
	if err != nil {
		return "", err
	}
	var plans []struct{ Plan planNode }
	if err := json.Unmarshal(text, &plans); err != nil || len(plans) == 0 {
		return "", conn.Own(fmt.Errorf("postgis: a plan cannot be read: %s", text))
	}
	index, whole := plans[0].Plan.index(u.order)
	if whole {
		return "", nil
	}
	return index, nil
}

// onlyIndexes makes the planner avoid sequential scans and sorts if it can. The argument is true for the transaction
// only.
const onlyIndexes = "SELECT set_config('enable_seqscan', 'off', %[1]t), set_config('enable_sort', 'off', %[1]t)"

// planNode is a step in the output of EXPLAIN.
type planNode struct {
	Type      string     `json:"Node Type"`
	Index     string     `json:"Index Name"`
	Condition string     `json:"Index Cond"`
	Plans     []planNode `json:"Plans"`
}

// index returns the index that the step and those below it use, for an order or for a condition. whole means that they
// read or sort a whole table.
func (n *planNode) index(order bool) (name string, whole bool) {
	switch {
	case n.Type == "Seq Scan" || n.Type == "Sort" || n.Index != "" && !order && n.Condition == "":
		return "", true
	case n.Index != "":
		name = n.Index
	}
	for i := range n.Plans {
		below, all := n.Plans[i].index(order)
		name, whole = cmp.Or(name, below), whole || all
	}
	return name, whole
}

func quote(name string) string { return sqlq.PostgreSQL{}.Quote(name) }
