package postgis

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/store"
	"grense/internal/store/postgis/conn"
	"grense/internal/store/sqlq"
)

// recheck answers a query for which SQL returns more rows than match: it tests each row.
func (qu *pageQuery) recheck(ctx context.Context, c *pgxpool.Conn, p *store.Page) error {
	m := cql2.NewMatcher(qu.filter.Residue)
	skip, wanted := max(qu.q.Offset, 0), qu.q.Count == store.CountExact
	if qu.q.Limit > 0 && qu.place == nil && wanted && !qu.cheap { // read once for both the rows and the count
		var rows []found
		n := 0
		err := qu.scan(ctx, c, stretch{}, func(r pgx.Rows) error {
			ok, err := qu.holds(ctx, m, r)
			if ok {
				if n++; n > skip && len(rows) <= qu.q.Limit {
					x, wrong := qu.found(r)
					if rows = append(rows, x); err == nil {
						err = wrong
					}
				}
			}
			return err
		})
		if err == nil && qu.twice(rows) {
			err = qu.l.changed("an id occurs twice")
		}
		qu.fill(p, rows, false)
		p.Matched = n
		return err
	}
	if qu.q.Limit > 0 {
		if err := qu.recheckPage(ctx, c, m, p); err != nil {
			return err
		}
	}
	if !wanted {
		return nil
	}
	if qu.complete(p) {
		qu.matched(p, -1)
		return nil
	}
	n, x := 0, &counting{qu: qu}
	if qu.cheap {
		if _, known, _ := qu.counts.get(x); known {
			return nil // the count was recently over budget
		}
	}
	over, err := qu.budgeted(ctx, c, x, func(short context.Context) error {
		return qu.scan(short, c, stretch{}, func(r pgx.Rows) error {
			ok, err := qu.holds(short, m, r)
			if ok {
				n++
			}
			return err
		})
	})
	if over {
		n = -1
	}
	qu.matched(p, n)
	return err
}

// recheckPage reads a page in portions, to read few candidates too many.
func (qu *pageQuery) recheckPage(ctx context.Context, c *pgxpool.Conn, m *cql2.Matcher, p *store.Page) error {
	rows, err := qu.take(ctx, c, m, qu.pageAndOne())
	if err != nil || len(rows) == 0 {
		qu.fill(p, rows, false)
		return err
	}
	exists := false
	if qu.place != nil {
		edge := rows[0]
		other, err := qu.take(ctx, c, m, stretch{after: qu.arguments(edge), back: !qu.back(), limit: 1})
		if err != nil {
			return err
		}
		exists = len(other) > 0
	}
	qu.fill(p, rows, exists)
	return nil
}

// take returns the matches in a range of rows.
func (qu *pageQuery) take(ctx context.Context, c *pgxpool.Conn, m *cql2.Matcher, s stretch) ([]found, error) {
	var rows []found
	limit, skip := s.limit, s.skip
	for portion := (stretch{after: s.after, back: s.back, limit: min(2*limit, 1000) + 50}); ; portion.limit *= 4 {
		read := 0
		var last found
		err := qu.scan(ctx, c, portion, func(r pgx.Rows) error {
			if read++; len(rows) == limit {
				return nil
			}
			ok, err := qu.holds(ctx, m, r)
			var wrong error
			if last, wrong = qu.found(r); err == nil {
				err = wrong
			}
			switch {
			case err != nil || !ok:
				return err
			case skip > 0:
				skip--
			default:
				rows = append(rows, last)
			}
			return nil
		})
		if err != nil || len(rows) == limit || read < portion.limit {
			return rows, err
		}
		portion.after = qu.arguments(last)
	}
}

// scan reads the candidates in a range of rows.
func (qu *pageQuery) scan(ctx context.Context, c *pgxpool.Conn, s stretch, fn func(pgx.Rows) error) error {
	return qu.one(ctx, c, qu.statement(s, extras{}), fn)
}

// holds reports whether a candidate matches.
func (qu *pageQuery) holds(ctx context.Context, m *cql2.Matcher, r pgx.Rows) (bool, error) {
	x := qu.rows.record(ctx, r.RawValues()[len(qu.keys):])
	if x.sure {
		return true, nil
	}
	t, err := m.Eval(x)
	return t == cql2.True, conn.Own(err)
}

// isSortedHere reports whether the database does not support the order.
func (qu *pageQuery) isSortedHere() bool {
	return qu.q.Rank != nil || slices.ContainsFunc(qu.keys, func(k key) bool { return k.norwegian })
}

// sorted answers a query in the order of rank or of the Norwegian alphabet: it reads all matches and sorts them.
func (qu *pageQuery) sorted(ctx context.Context, c *pgxpool.Conn, p *store.Page) error {
	var m *cql2.Matcher
	if qu.filter.Residue != nil {
		m = cql2.NewMatcher(qu.filter.Residue)
	}
	var rows []found
	err := qu.scan(ctx, c, stretch{}, func(r pgx.Rows) error {
		if m != nil {
			if ok, err := qu.holds(ctx, m, r); err != nil || !ok {
				return err
			}
		}
		x, err := qu.found(r)
		if err == nil {
			err = qu.rank(&x, r)
		}
		rows = append(rows, x)
		return err
	})
	if err != nil {
		return err
	}
	slices.SortFunc(rows, qu.compare)
	if !qu.l.sure && qu.twice(rows) {
		return qu.l.changed("an id occurs twice")
	}
	if qu.q.Count == store.CountExact {
		p.Matched = len(rows)
	}
	if qu.q.Limit == 0 {
		return nil
	}
	rows, exists, err := qu.part(rows)
	if err != nil {
		return conn.Own(err)
	}
	qu.fill(p, rows, exists)
	return nil
}

// rank stores the rank of a row if the query sorts by rank.
func (qu *pageQuery) rank(x *found, r pgx.Rows) error {
	if qu.q.Rank == nil {
		return nil
	}
	rank, ok, err := qu.q.Rank.Rank(qu.rows.record(context.Background(), r.RawValues()[len(qu.keys):]))
	if x.rank = rank; !ok {
		x.rank = cql2.RankWord + 1
	}
	return conn.Own(err)
}

// part returns the rows after the cursor in reading direction, one more than the limit if there are more. exists
// reports rows on the other side.
func (qu *pageQuery) part(rows []found) (part []found, exists bool, err error) {
	start := 0
	if qu.place != nil {
		at, ok := qu.placed()
		if !ok {
			return nil, false, store.ErrCursor
		}
		i := slices.IndexFunc(rows, func(x found) bool { return qu.compare(x, at) >= 0 })
		if i < 0 {
			i = len(rows)
		}
		if qu.place.Back {
			exists = i < len(rows)
			rows = rows[:i]
			slices.Reverse(rows)
		} else {
			if i < len(rows) && qu.compare(rows[i], at) == 0 {
				i++
			}
			start, exists = i, i > 0
		}
	}
	start = min(start+max(qu.q.Offset, 0), len(rows))
	return rows[start:min(start+qu.q.Limit+1, len(rows))], exists, nil
}

// placed returns the cursor as a row.
func (qu *pageQuery) placed() (x found, ok bool) {
	keys := qu.place.Keys
	if qu.q.Rank != nil {
		rank, ok := keys[0].(int64)
		if !ok {
			return x, false
		}
		x.rank, keys = int(rank), keys[1:]
	}
	x.keys = slices.Clone(keys)
	for i, v := range x.keys {
		if n, is := v.(int64); is && qu.keys[i].typ == cql2.TypeNumber {
			x.keys[i] = float64(n)
		}
	}
	for _, v := range qu.values[len(qu.values)-len(qu.l.parts):] {
		if id, is := v.(sqlq.UUID); is {
			v = string(id)
		}
		x.keys = append(x.keys, v)
	}
	return x, true
}

// compare compares two rows by rank and sort keys.
func (qu *pageQuery) compare(a, b found) int {
	if a.rank != b.rank {
		return a.rank - b.rank
	}
	for i, k := range qu.keys {
		x, y := a.keys[i], b.keys[i]
		if x == nil || y == nil {
			switch {
			case y != nil:
				return 1 // null comes last
			case x != nil:
				return -1
			}
			continue
		}
		c := compareKeys(x, y)
		if k.Desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

// compareKeys compares two values of a key, as returned by key.decode.
func compareKeys(x, y any) int {
	switch x := x.(type) {
	case int64:
		return cmp.Compare(x, y.(int64))
	case float64:
		return cmp.Compare(x, y.(float64))
	case string:
		return strings.Compare(x, y.(string))
	case cql2.Decimal:
		c, _ := cql2.ExactNumberOf(x).Compare(cql2.ExactNumberOf(y.(cql2.Decimal)))
		return c
	case bool:
		switch {
		case x == y.(bool):
			return 0
		case x:
			return 1
		}
	}
	return -1
}
