package gpkg

import (
	"context"
	"errors"
	"strings"
	"sync"

	"grense/internal/store/sqlq"
)

// spans are the rows of a layer with a start that comes before their end, by moments as texts that compare as bytes do.
type spans = sqlq.Moments[string]

// spansKept are those of the layers of a revision, by layer and the expressions of start and end; nil for what is too large.
type spansKept struct {
	mu sync.Mutex
	of map[[3]string]*spans
}

// Bounds of what is kept of a layer: its rows, since all are read once, and its moments, of about 60 bytes.
const (
	spansRows    = 2_000_000
	spansMoments = 50_000
)

// countSpans returns the number of versions at the moment asked, where the question has no other condition; false where it has, or that has to be counted.
func (qu *question) countSpans(ctx context.Context, c *conn) (n int, ok bool, err error) {
	if qu.q.Filter != nil || qu.q.AsOf.IsZero() || qu.now != qu.rev.rev || qu.l.Count > spansRows || qu.l.Versions == nil || qu.l.Versions.Overlap {
		return 0, false, nil
	}
	start, end, at, ok := sqlq.Spans(sqlq.SQLite{}, qu.l.source, alias, qu.q.AsOf)
	if !ok {
		return 0, false, nil
	}
	kept, key := &qu.rev.spans, [3]string{qu.l.ID, start, end}
	kept.mu.Lock()
	x, known := kept.of[key]
	kept.mu.Unlock()
	if !known {
		if x, err = qu.readSpans(ctx, c, start, end); err != nil {
			return 0, false, err
		}
		kept.mu.Lock()
		if kept.of == nil {
			kept.of = map[[3]string]*spans{}
		}
		kept.of[key] = x
		kept.mu.Unlock()
	}
	if x == nil {
		return 0, false, nil
	}
	return x.Valid(at), true, nil
}

var errManySpans = errors.New("gpkg: too many moments")

// readSpans reads those of all rows; nil when they are too many.
func (qu *question) readSpans(ctx context.Context, c *conn, start, end string) (*spans, error) {
	op := " > "
	if qu.l.Versions.Inclusive {
		op = " >= "
	}
	x := &spans{Inclusive: qu.l.Versions.Inclusive}
	for _, part := range []struct {
		of   string
		to   *[]sqlq.Instant[string]
		open string
	}{{start, &x.Starts, " OR " + end + " IS NULL"}, {end, &x.Ends, ""}} {
		n := 0
		err := c.query("SELECT "+part.of+", count(*) FROM "+qu.table+" AS "+alias+" WHERE "+start+" IS NOT NULL AND ("+end+op+start+part.open+") GROUP BY 1 ORDER BY 1 COLLATE BINARY", nil, func(r row) error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if len(*part.to) == spansMoments {
				return errManySpans
			}
			n += int(r.Int(1))
			*part.to = append(*part.to, sqlq.Instant[string]{At: strings.Clone(r.Text(0)), Until: n})
			return nil
		})
		if errors.Is(err, errManySpans) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
	}
	return x, nil
}
