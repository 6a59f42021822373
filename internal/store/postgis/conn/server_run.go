package conn

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// RunOf is an SQL expression for the run of the server. A run is identified by the time when the statistics of its
// background writer were reset, which happens after a crash. A crash ends all connections, so a connection reads the
// time once, when it is opened, and stores it as a setting. Behind a pooler, which keeps no such settings, each
// statement reads it, at some 20 µs.
const (
	runName = "grense.run"
	setRun  = "set_config('" + runName + "', coalesce(pg_stat_get_bgwriter_stat_reset_time()::text, ''), FALSE)"
	RunOf   = "coalesce(nullif(current_setting('" + runName +
		"', TRUE), ''), pg_stat_get_bgwriter_stat_reset_time()::text, '')"
)

// ServerRun is a number for the run of the server; 0 if it is unknown. It is set by the latest connection.
type ServerRun struct{ atomic.Uint64 }

// Watch sets the run from each new connection of a pool.
func (s *ServerRun) Watch(cfg *pgxpool.Config) {
	after := cfg.AfterConnect
	cfg.AfterConnect = func(ctx context.Context, c *pgx.Conn) error {
		if after != nil {
			if err := after(ctx, c); err != nil {
				return err
			}
		}
		if run, ok := c.PgConn().CustomData()[runName].(string); ok {
			sum := sha256.Sum256([]byte(run))
			s.Store(binary.BigEndian.Uint64(sum[:]))
		}
		return nil
	}
}
