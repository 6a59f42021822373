package postgis

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"grense/internal/store/postgis/catalog"
)

// listenAgain is the pause after a failed or lost connection.
const listenAgain = 30 * time.Second

// listen wakes the poller when an import has committed, until ctx ends. It uses its own connection. Replicas refuse
// LISTEN, and poolers may lose notifications. Polling every few seconds is enough then, so that nothing is logged.
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

// hear listens until the connection breaks or ctx ends.
func (s *Store) hear(ctx context.Context, wake chan<- struct{}) {
	cfg := s.pool.Config().ConnConfig
	cfg.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		// there is no statement to cancel, so Close does not wait for the server
		return &pgconn.DeadlineContextWatcherHandler{Conn: c.Conn()}
	}
	c, err := pgx.ConnectConfig(ctx, cfg)
	if err != nil {
		return
	}
	defer func() {
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second) // if the server hangs
		defer cancel()
		c.Close(short)
	}()
	if _, err := c.Exec(ctx, "LISTEN "+catalog.Channel); err != nil {
		return
	}
	for {
		if _, err := c.WaitForNotification(ctx); err != nil {
			return
		}
		select {
		case wake <- struct{}{}:
		default: // already woken
		}
	}
}
