package postgis

import (
	"context"
	"encoding/binary"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/cql2"
	"grense/internal/store/sqlq"
)

// Counting the versions that are valid at a moment row by row takes a hundred times as long as a page.
// When the same version of the database is met twice, its starts and ends are read once, and the counts follow from
// them. Versions that overlap are still counted row by row.

// spans are the versions of a layer, by moments in days or microseconds since 2000.
type spans = sqlq.Moments[int64]

// Bounds of what is read of a layer, and how many times as long as that took nothing is read again.
const (
	spansRows    = 1_000_000
	spansMoments = 20_000
	spansRest    = 20
)

// moment returns a requested moment in the unit of the layer's versions; ok is false if their columns
// cannot be compared with it.
func (l *layer) moment(t time.Time) (int64, bool) {
	if isDays(l) {
		const day = 24 * 60 * 60
		s := t.Unix()
		return (s-(s%day+day)%day)/day - 10957, true
	}
	return t.UnixMicro() - 946684800e6, t.Nanosecond()%1000 == 0
}

func isDays(l *layer) bool { return l.source.Fields[l.Versions.Start].Type == cql2.TypeDate }

// spansName is the name of spans among the totals.
func spansName(l *layer) string { return l.ID + "\x00spans" }

// dated returns how many versions are valid at the moment of a question, and in which state of the database;
// nobody's state when that is not known.
func (c *counts) dated(qu *question) total {
	t, ok := c.totals.Get(countKey{c.revision, spansName(qu.l)})
	moment, told := qu.l.moment(qu.q.AsOf)
	if !ok || !told || t.spans == nil {
		return total{state: "none"} // which no state is called
	}
	return total{state: t.state, n: t.spans.Valid(moment)}
}

// meet notes a state in which versions were counted. It reads starts and ends where the state has been met before.
func (c *counts) meet(ctx context.Context, conn *pgxpool.Conn, qu *question, state string) {
	l, key := qu.l, countKey{c.revision, spansName(qu.l)}
	t, _ := c.totals.Get(key)
	if state == "" || t.spans != nil && t.state == state || l.Count > spansRows {
		return
	}
	if t.state != state {
		c.totals.Put(key, total{state: state, rest: t.rest}, int64(len(state)))
		return
	}
	if time.Now().Before(t.rest) || conn.Conn().PgConn().TxStatus() != 'I' || !l.spanning.CompareAndSwap(false, true) {
		return
	}
	defer l.spanning.Store(false)
	start := time.Now()
	x, state := qu.readSpans(ctx, conn)
	t = total{state: state, spans: x, rest: start.Add((1 + spansRest) * time.Since(start))}
	size := len(state)
	if x == nil {
		t.rest = start.Add(time.Hour)
	} else {
		size += 16 * (cap(x.Starts) + cap(x.Ends))
	}
	c.totals.Put(key, t, int64(size))
}

// readSpans reads those of all rows, and in which state they are; nil where they overlap,
// are too many or cannot be read.
func (qu *question) readSpans(ctx context.Context, c *pgxpool.Conn) (x *spans, state string) {
	l := qu.l
	st, ok := l.spansStatement(qu.q.AsOf)
	if !ok {
		return nil, ""
	}
	x = &spans{Inclusive: l.Versions.Inclusive}
	total, overlap := [2]int{}, false
	err := one(ctx, c, st, func(r pgx.Rows) error {
		if oid := r.FieldDescriptions()[1].DataTypeOID; oid != pgtype.DateOID && oid != pgtype.TimestamptzOID ||
			(oid == pgtype.DateOID) != isDays(l) {
			return l.changed("versions have other times")
		}
		raw := r.RawValues()
		kind, n := int(raw[0][3]), int(binary.BigEndian.Uint64(raw[2]))
		if kind == 0 {
			state, overlap = string(raw[3]), n > 0
			return nil
		}
		var at int64
		if len(raw[1]) == 4 {
			at = int64(int32(binary.BigEndian.Uint32(raw[1])))
		} else {
			at = int64(binary.BigEndian.Uint64(raw[1]))
		}
		total[kind-1] += n
		to := &x.Starts
		if kind == 2 {
			to = &x.Ends
		}
		*to = append(*to, sqlq.Instant[int64]{At: at, Until: total[kind-1]})
		return nil
	})
	if err != nil || overlap || len(x.Starts)+len(x.Ends) > spansMoments {
		return nil, state
	}
	x.Starts, x.Ends = slices.Clip(x.Starts), slices.Clip(x.Ends)
	return x, state
}

// spansStatement selects the state with the number of versions that overlap the next one of their feature,
// then starts and ends with the number of each, in order.
func (l *layer) spansStatement(at time.Time) (statement, bool) {
	start, end, ok := sqlq.Interval(sqlq.PostgreSQL{}, l.source, alias, at)
	if !ok {
		return statement{}, false
	}
	ends, meets := " > ", " < "
	if l.Versions.Inclusive {
		ends, meets = " >= ", " <= "
	}
	b := sqlq.New(sqlq.PostgreSQL{}).Text("WITH v AS MATERIALIZED (SELECT ", start, " AS s, ", end, " AS e, lead(",
		start, ") OVER (PARTITION BY ", sqlq.Column(sqlq.PostgreSQL{}, alias, l.source.Fields[l.Versions.ID]),
		" ORDER BY ", start, ") AS n FROM ", l.source.Table, " AS ", alias, " WHERE ", start, " IS NOT NULL AND (", end,
		ends, start, " OR ", end, " IS NULL)) ",
		"SELECT 0 AS k, NULL AS at, count(*) FILTER (WHERE n IS NOT NULL AND (e IS NULL OR n", meets, "e)) AS n, ",
		l.state(), " AS state FROM v ",
		"UNION ALL SELECT 1, s, count(*), NULL FROM v GROUP BY s UNION ALL SELECT 2, e, count(*), NULL FROM v WHERE "+
			"e IS NOT NULL GROUP BY e ORDER BY k, at LIMIT ").Arg(int64(spansMoments + 2))
	sql, args := b.SQL()
	return statement{sql, args}, true
}
