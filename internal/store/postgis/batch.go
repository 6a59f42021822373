package postgis

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// batch is a list of statements that go to the server in one round trip and run in one transaction.
type batch struct {
	pgx   pgx.Batch
	each  []func(pgx.Rows) error
	times map[int]func(time.Duration)
}

// newBatch begins with the time that ctx leaves, so that the server gives up even when it is not told to.
func newBatch(ctx context.Context) *batch {
	b := &batch{times: map[int]func(time.Duration){}}
	if at, ok := ctx.Deadline(); ok {
		limit := max(time.Until(at), 0) + time.Second
		b.queue("SELECT set_config('statement_timeout', $1, TRUE)", []any{fmt.Sprint(limit.Milliseconds())}, func(pgx.Rows) error { return nil })
	}
	return b
}

func (b *batch) queue(sql string, args []any, each func(pgx.Rows) error) {
	b.pgx.Queue(sql, bind(args)...)
	b.each = append(b.each, each)
}

// timed tells how long the last statement took.
func (b *batch) timed(fn func(time.Duration)) { b.times[len(b.each)-1] = fn }

// send runs the statements and calls for each row the function of its statement.
func (b *batch) send(ctx context.Context, c *pgxpool.Conn) (err error) {
	br := c.SendBatch(ctx, &b.pgx)
	defer func() {
		if e := br.Close(); err == nil {
			err = e
		}
	}()
	for i, each := range b.each {
		start := time.Now()
		rows, err := br.Query()
		if err != nil {
			return err
		}
		for rows.Next() {
			if err := each(rows); err != nil {
				rows.Close()
				return err
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		if fn := b.times[i]; fn != nil {
			fn(time.Since(start))
		}
	}
	return nil
}

// counts keeps counts that took long, for twenty times as long as they took.
type counts struct {
	mu   sync.Mutex
	kept map[string]kept
}

type kept struct {
	n     int
	until time.Time
}

const (
	slowCount = 50 * time.Millisecond // a faster one is not kept: rows are live
	keepCount = 20
	keepMost  = 30 * time.Second
	maxCounts = 1024
)

func (c *counts) name(sql string, args []any) string {
	var b strings.Builder
	b.WriteString(sql)
	for _, a := range args {
		fmt.Fprintf(&b, "\x00%T:%v", a, a)
	}
	return b.String()
}

func (c *counts) get(sql string, args []any) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.kept) == 0 {
		return -1, false
	}
	k, ok := c.kept[c.name(sql, args)]
	return k.n, ok && time.Now().Before(k.until)
}

func (c *counts) put(sql string, args []any, n int, took time.Duration) {
	name := c.name(sql, args)
	if took < slowCount || len(name) > 4<<10 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept == nil || len(c.kept) >= maxCounts {
		c.kept = map[string]kept{}
	}
	c.kept[name] = kept{n, time.Now().Add(min(keepCount*took, keepMost))}
}
