package postgis

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// How many rows a table has at least that indexes are advised for, and how long its values are counted.
const (
	manyRows     = 10_000
	mostForCount = time.Minute
)

// columnsServed reports on tables that are read in whole: which values are served as null, and which indexes are
// missing. Tables that cannot be read are reported elsewhere.
func (i *inspector) columnsServed(ctx context.Context, pool *pgxpool.Pool) error {
	var tables []*table
	indexed := map[string]bool{}
	rows := map[uint32]int64{}
	err := use(ctx, pool, func(c *pgxpool.Conn) (err error) {
		if tables, err = readTables(ctx, c); err != nil {
			return err
		}
		if err := each(ctx, c, servingSQL, func(r pgx.Rows) error {
			var oid uint32
			var name string
			var parts bool
			err := r.Scan(&oid, &name, &parts)
			indexed[fmt.Sprint(oid, " ", name, parts)] = true
			return err
		}); err != nil {
			return err
		}
		return each(ctx, c, "SELECT oid, reltuples::bigint FROM pg_class WHERE relkind IN ('r', 'p', 'm')",
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
		if n := rows[t.oid]; n >= manyRows && t.schema != ownSchema {
			i.indexes(t, n, indexed)
		}
	}
	return ctx.Err()
}

// beyondOf is the condition for values of a column that are given as null; "" where there are none.
func beyondOf(c column) (condition, what string) {
	x := quote(c.name)
	switch c.base {
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

// beyond counts the values of a table that cannot be given.
func (i *inspector) beyond(ctx context.Context, pool *pgxpool.Pool, t *table) {
	var columns []column
	var counts []string
	for _, c := range t.columns {
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
	err := use(ctx, pool, func(c *pgxpool.Conn) error {
		return c.QueryRow(ctx, "SELECT "+strings.Join(counts, ", ")+" FROM "+t.quoted()).Scan(to...)
	})
	if err != nil {
		return
	}
	for j, n := range found {
		if n > 0 {
			_, what := beyondOf(columns[j])
			i.advise(false, "%s: values of %q that are given as null, since they are %s: %d", t.layer(),
				columns[j].name, what, n)
		}
	}
}

// servingSQL lists the columns by which an index of all rows sorts as we do, texts by code point, and those with one
// that may serve parts of texts.
const servingSQL = `SELECT i.indrelid, a.attname::text, m.amname <> 'btree' FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am m ON m.oid = x.relam
  JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] LEFT JOIN pg_collation co ON co.oid = i.indcollation[0] CROSS JOIN pg_database d
WHERE d.datname = current_database() AND i.indisvalid AND i.indpred IS NULL AND m.amname IN ('btree', 'gin', 'gist') AND (co.oid IS NULL OR co.collname IN ('C', 'POSIX')
  OR co.collname = 'default' AND a.attcollation = co.oid AND d.datcollate IN ('C', 'POSIX', 'C.UTF-8', 'C.utf8') AND d.datlocprovider = 'c')`

// indexes advises indexes for a table of n rows. indexed lists the columns with an index,
// and whether that serves parts of texts.
func (i *inspector) indexes(t *table, n int64, indexed map[string]bool) {
	has := func(c column, parts bool) bool { return indexed[fmt.Sprint(t.oid, " ", c.name, parts)] }
	name := t.quoted()
	var columns, statements, parts []string
	for _, c := range t.columns {
		expr := ""
		switch c.base {
		case "int2", "int4", "int8":
			expr = quote(c.name)
		case "text", "varchar":
			if expr = quote(c.name) + ` COLLATE "C"`; c.binaryCollation {
				expr = quote(c.name)
			}
			if !has(c, true) {
				parts = append(parts, "CREATE INDEX ON "+name+" USING gin ("+expr+" gin_trgm_ops)")
			}
		}
		if expr != "" && !has(c, false) {
			columns, statements = append(columns, c.name), append(statements, "CREATE INDEX ON "+name+" ("+expr+")")
		}
	}
	if columns != nil {
		i.advise(false, "%s has about %d rows, and no index serves filters and orders by %s, so that each reads them "+
			"all; for those that clients use, let its owner run: %s",
			t.layer(), n, strings.Join(columns, ", "), strings.Join(statements, "; "))
	}
	if parts != nil {
		i.advise(false, "%s: words (q) read all of about %d rows; a copy that is made with grense import --into "+
			"postgres://... has indexes for them. "+
			"For parts of texts (LIKE '%%vik%%'), let its owner run: CREATE EXTENSION IF NOT EXISTS pg_trgm; %s",
			t.layer(), n, strings.Join(parts, "; "))
	}
}
