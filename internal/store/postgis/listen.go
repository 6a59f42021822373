package postgis

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// channel is where a Writer announces its commits.
const channel = "grense_catalog"

// listenAgain is the pause after a connection for listening was refused or lost.
const listenAgain = 30 * time.Second

// listen wakes the poller when a Writer has committed, until ctx ends. It needs a connection of its own.
// Replicas refuse to listen, and poolers may swallow notifications.
// Then the poll every few seconds suffices, so nothing is logged.
func (s *Store) listen(ctx context.Context, wake chan<- struct{}) {
	for {
		s.hear(ctx, wake)
		t := time.NewTimer(listenAgain)
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
	}
}

// hear listens for as long as the connection holds.
func (s *Store) hear(ctx context.Context, wake chan<- struct{}) {
	cfg := s.pool.Config().ConnConfig
	cfg.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		// there is no statement to cancel, so Close need not wait for the server
		return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()}
	}
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return
	}
	defer func() {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // against a server that is silent
		defer cancel()
		c.Close(short)
	}()
	if _, err := c.Exec(ctx, "LISTEN "+channel); err != nil {
		return
	}
	for {
		if _, err := c.WaitForNotification(ctx); err != nil {
			return
		}
		select {
		case wake <- struct{}{}:
		default: // it is awake
		}
	}
}
