package postgis

import (
	"math"

	"grense/internal/store/sqlq"
)

// extras are additional columns with the same value in all rows.
type extras struct {
	exists    bool // whether there is a match at the cursor or on its other side
	count     bool // number of all matches; null if the state is pageQuery.seen.state
	state     bool // state of the database
	unordered bool // rows may come in any order; limit bounds their number
}

// stretch is a range of rows in the order: up to limit rows (0: all) after the keys in after (nil: from the beginning),
// without the first skip.
type stretch struct {
	after       []any
	back        bool // in reverse order
	limit, skip int
	valued      bool // use pageQuery.valued
}

// pageAndOne returns the range of the page and one more row.
func (qu *pageQuery) pageAndOne() stretch {
	return stretch{qu.values, qu.back(), min(max(qu.q.Limit, 0), math.MaxInt32) + 1, max(qu.q.Offset, 0),
		qu.valued != nil}
}

// statement is SQL with its arguments.
type statement struct {
	sql  string
	args []any
}

// statement selects the sort keys, the revision, the columns of candidates, and extras.
func (qu *pageQuery) statement(s stretch, x extras) statement {
	back, values, limit, skip := s.back, s.after, s.limit, s.skip
	rows := valued{order: qu.order}
	if s.valued {
		rows = *qu.valued
	}
	b := sqlq.New(sqlq.PostgreSQL{}).Grow(1 << 10).Text("SELECT ")
	for _, k := range qu.keys {
		b.Text(k.sel, ", ")
	}
	qu.rows.columns(b, qu.filter)
	if x.exists {
		b.Text(", EXISTS (")
		if back { // include rows with null
			qu.otherSide(b, valued{order: qu.order}, back)
		} else {
			qu.otherSide(b, rows, back)
		}
		b.Text(")")
	}
	if x.count && x.state {
		b.Text(", CASE WHEN ", qu.l.versionExpr(), " = ").Arg(qu.seen.state).Text(" THEN NULL ELSE (SELECT count(*)")
		qu.from(b)
		b.Text(") END")
	} else if x.count {
		b.Text(", (SELECT count(*)")
		qu.from(b)
		b.Text(")")
	}
	if x.state {
		b.Text(", ", qu.l.versionExpr())
	}
	qu.from(b)
	rows.where(b)
	if values != nil {
		b.Text(" AND (").Add(sqlq.After(sqlq.PostgreSQL{}, rows.order, values, back)).Text(")")
	}
	if !x.unordered {
		b.Text(" ORDER BY ").Add(sqlq.Ordered(rows.order, back))
	}
	if limit > 0 {
		b.Text(" LIMIT ").Arg(int64(limit)).Text(" OFFSET ").Arg(int64(skip))
	}
	sql, args := b.SQL()
	return statement{sql, args}
}

// where adds the condition to a statement.
func (v valued) where(b *sqlq.Builder) {
	if !v.only.IsEmpty() {
		b.Text(" AND ").Add(v.only)
	}
}

func (qu *pageQuery) from(b *sqlq.Builder) {
	b.Text(" FROM ", qu.l.source.Table, " AS ", alias, " WHERE (").Add(qu.filter.Where).Text(")")
}

// otherSide adds a subquery for matches at the cursor or on its other side.
func (qu *pageQuery) otherSide(b *sqlq.Builder, rows valued, back bool) {
	b.Text("SELECT 1")
	qu.from(b)
	rows.where(b)
	// only the keys of the id must be equal or, if the order ends with a unique key, that one
	same := len(rows.order) - len(qu.l.parts)
	if len(rows.order) < len(qu.keys) {
		same = len(rows.order) - 1
	}
	b.Text(" AND ((").Add(sqlq.After(sqlq.PostgreSQL{}, rows.order, qu.values, !back)).Text(") OR (")
	for i, k := range rows.order[same:] {
		if i > 0 {
			b.Text(" AND ")
		}
		b.Add(k.Expr).Text(" = ").Arg(qu.values[same+i])
	}
	b.Text("))")
}
