package postgis

import "grense/internal/store/postgis/conn"

// total is the number of rows in a table for a state of the database.
type total struct {
	state string // value of layer.state
	n     int
}

// states reports whether the query matches all rows of a table, so that the count is valid as long as the state of the
// database is the same.
func (qu *pageQuery) states() bool { return qu.q.Filter == nil && qu.q.AsOf.IsZero() && qu.l.plain }

// state returns an SQL expression whose value changes after every transaction that may have changed the table. It
// combines the transactions that a statement sees (txid_snapshot), the start time of the server, and its run: a crash,
// or a failover to a replica, may lose the last transactions and reuse their numbers. It is "" if that proves nothing:
// on a replica, whose snapshots do not list transactions in flight; with row security; and if rows may be in other
// tables or, with Citus, on other servers.
func (l *layer) state() string { return stateOf([]*layer{l}) }

// stateOf is layer.state for several layers.
func stateOf(layers []*layer) string {
	b := []byte("(SELECT CASE WHEN pg_is_in_recovery()")
	parents := []byte(" OR EXISTS (SELECT FROM pg_inherits WHERE inhparent IN (")
	for i, l := range layers {
		if i > 0 {
			parents = append(parents, ", "...)
		}
		table := conn.Literal(l.source.Table)
		b = append(b, " OR row_security_active("+table+")"...)
		// looked up by each execution, since a prepared statement may outlive the table
		parents = append(parents, "to_regclass("+table+")"...)
	}
	return string(b) + string(parents) + ")) OR to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN '' ELSE " +
		"txid_current_snapshot()::text || '/' || pg_postmaster_start_time()::text || '/' || " + conn.RunOf + " END)"
}
