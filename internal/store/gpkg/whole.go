package gpkg

import (
	"cmp"
	"context"
	"slices"
	"strconv"

	"grense/internal/store"
	"grense/internal/store/sqlq"
)

// whole answers a question that wants all matches or none: it reads no more of them than are wanted and one, by the way that reads the
// least, and puts them in order afterwards. It reports false when the question is not of that kind.
func (qu *question) whole(ctx context.Context, c *conn, q store.Query, p *store.Page) (bool, error) {
	if !q.Whole || q.Limit <= 0 || q.Cursor != "" || q.Offset > 0 || q.Rank != nil || q.Count == store.CountExact || qu.l.source.Leads == nil {
		return false, nil
	}
	sql, args, err := qu.wholeStatement(c, q)
	if err != nil || sql == "" {
		return false, err
	}
	last := len(qu.keys) - 1
	var values []any // of all rows, one after the other; the id is the last of each
	n := len(qu.keys)
	numbers, texts := map[int64]struct{}{}, map[string]struct{}{} // ids that came
	more := false
	err = c.query(sql, args, func(r row) error {
		if qu.l.text {
			id := r.Text(last)
			if _, ok := texts[id]; ok {
				return nil
			}
			texts[id] = struct{}{}
		} else {
			id := r.Int(last)
			if _, ok := numbers[id]; ok {
				return nil
			}
			numbers[id] = struct{}{}
		}
		if more = len(values) == q.Limit*n; more {
			return errEnough
		}
		for i := range n {
			values = append(values, r.Any(i))
		}
		return nil
	})
	if err != nil && err != errEnough {
		return false, err
	}
	rows := make([][]any, 0, len(values)/n)
	for v := range slices.Chunk(values, n) {
		rows = append(rows, v)
	}
	if !more {
		slices.SortFunc(rows, func(a, b []any) int { return compareKeys(qu.keys, a, b) })
	} else {
		p.Next = qu.cursor(found{id: qu.idOf(rows[0][last]), keys: rows[0][:last]}, false)
	}
	p.Rows = make([]store.Row, len(rows))
	for i, v := range rows {
		p.Rows[i] = store.Row{ID: qu.idOf(v[last]), Rev: qu.rev.rev}
	}
	return true, ctx.Err()
}

// wholeStatement selects the sort keys and the id of all matches, in any order and perhaps more than once; "" when SQL cannot say the filter.
func (qu *question) wholeStatement(c *conn, q store.Query) (string, []any, error) {
	drives := sqlq.Drives(qu.l.source, alias, q.Filter)
	if drives == nil {
		return "", nil, nil
	}
	d, err := cheapest(c, drives)
	if err != nil {
		return "", nil, err
	}
	b := sqlq.New(sqlq.Steady{}).Text("SELECT ")
	for i, k := range qu.keys {
		if i > 0 {
			b.Text(", ")
		}
		b.Add(k.Expr)
	}
	sql, args := b.Add(d.Join).SQL()
	return sql, args, nil
}

// cheapest returns the way that reads the fewest rows. It counts in each until one ends.
func cheapest(c *conn, drives []sqlq.Drive) (sqlq.Drive, error) {
	for _, d := range drives {
		if d.Few {
			return d, nil
		}
	}
	probed := drives[:len(drives)-1]
	if len(probed) < 2 {
		return drives[0], nil
	}
	for most := int64(500); most < 1<<20; most *= 8 {
		for _, d := range probed {
			sql, args := sqlq.New(sqlq.Steady{}).Text("SELECT count(*) FROM (SELECT 1").Add(d.Probe).Text(" LIMIT ").Arg(most).Text(")").SQL()
			n, err := c.one(sql, args...)
			if err != nil || n < most {
				return d, err
			}
		}
	}
	return drives[0], nil
}

// compareKeys orders rows as ORDER BY does, by keys as the driver gives them.
func compareKeys(keys []sqlq.Key, a, b []any) int {
	for i, k := range keys {
		n := 0
		switch {
		case a[i] == nil || b[i] == nil: // null is last in both directions
			n = cmp.Compare(boolInt(a[i] == nil), boolInt(b[i] == nil))
			if n != 0 {
				return n
			}
			continue
		default:
			n = compareValues(a[i], b[i])
		}
		if k.Desc {
			n = -n
		}
		if n != 0 {
			return n
		}
	}
	return 0
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareValues compares two values of one column: numbers, or texts by code point.
func compareValues(a, b any) int {
	switch a := a.(type) {
	case int64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, b)
		}
	case string:
		if b, ok := b.(string); ok {
			return cmp.Compare(a, b)
		}
	}
	return cmp.Compare(number(a), number(b))
}

func number(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// idOf prints an id as idText does.
func (qu *question) idOf(v any) string {
	if n, ok := v.(int64); ok {
		return strconv.FormatInt(n, 10)
	}
	s, _ := v.(string)
	return s
}
