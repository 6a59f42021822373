package postgis

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
)

var _ store.Marked = (*Store)(nil)

// total is how many rows a table had in a state of the database.
type total struct {
	state string // of layer.state
	n     int
}

// states reports whether the number of matches is that of all rows, and the same for as long as the state of the database is.
func (qu *question) states() bool { return qu.q.Filter == nil && qu.q.AsOf.IsZero() && qu.l.plain }

// state returns an expression that has another value when a transaction has ended that may have changed the table: the transactions that a
// statement sees (txid_snapshot), and the run of the server, which may lose the last of them. It is empty where that does not tell: on a replica,
// whose snapshots do not list what is under way, where policies decide which rows are seen, and where rows may be in other tables or, with
// Citus, in other servers.
func (l *layer) state() string { return stateOf([]*layer{l}) }

// stateOf is layer.state of several.
func stateOf(layers []*layer) string {
	b := []byte("(SELECT CASE WHEN pg_is_in_recovery()")
	for _, l := range layers {
		table := "'" + escapeQuotes(l.source.Table) + "'"
		b = append(b, " OR row_security_active("+table+") OR EXISTS (SELECT FROM pg_inherits WHERE inhparent = "+table+"::regclass)"...)
	}
	return string(b) + " OR to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN '' ELSE txid_current_snapshot()::text || '/' || pg_postmaster_start_time()::text END)"
}

// Mark names the state of the rows of tables or materialised views in one round trip; what views show cannot be told.
func (s *Store) Mark(ctx context.Context, collections ...string) (mark string, err error) {
	if err := s.enter(); err != nil {
		return "", err
	}
	defer s.leave()
	now := s.current.Load()
	layers := make([]*layer, len(collections))
	for i, id := range collections {
		if layers[i], err = now.layer(id); err != nil || !layers[i].plain {
			return "", err
		}
	}
	if len(layers) == 0 {
		return "", nil
	}
	err = s.ask(ctx, layers[0], func(c *pgxpool.Conn) error {
		return c.QueryRow(ctx, "SELECT "+stateOf(layers), pgx.QueryExecModeSimpleProtocol).Scan(&mark)
	})
	return mark, err
}

// escapeQuotes makes a text the inside of a constant.
func escapeQuotes(s string) string { return strings.ReplaceAll(s, "'", "''") }
