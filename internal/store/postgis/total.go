package postgis

import "strings"

// total is how many rows a table had in a state of the database.
type total struct {
	state string // of layer.state
	n     int
}

// states reports whether the number of matches is that of all rows, and the same for as long
// as the state of the database is.
func (qu *question) states() bool { return qu.q.Filter == nil && qu.q.AsOf.IsZero() && qu.l.plain }

// state returns an expression whose value changes when a transaction has ended that may have changed the table.
// It combines the transactions that a statement sees (txid_snapshot), the start time of the server, and its run:
// a crash, or a failover to a replica, may lose the last transactions, whose numbers are then reused.
// It is empty if that proves nothing: on a replica, whose snapshots do not list transactions in flight;
// if policies decide which rows are visible; and if rows may be in other tables or, with Citus, on other servers.
func (l *layer) state() string { return stateOf([]*layer{l}) }

// stateOf is layer.state of several.
func stateOf(layers []*layer) string {
	b := []byte("(SELECT CASE WHEN pg_is_in_recovery()")
	parents := []byte(" OR EXISTS (SELECT FROM pg_inherits WHERE inhparent IN (")
	for i, l := range layers {
		if i > 0 {
			parents = append(parents, ", "...)
		}
		table := "'" + escapeQuotes(l.source.Table) + "'"
		b = append(b, " OR row_security_active("+table+")"...)
		// when it is asked: a prepared statement outlives the table of a name
		parents = append(parents, "to_regclass("+table+")"...)
	}
	return string(b) + string(parents) + ")) OR to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN '' ELSE " +
		"txid_current_snapshot()::text || '/' || pg_postmaster_start_time()::text || '/' || " + runOf + " END)"
}

// The run of a server is identified by the time when the counts of its background writer began:
// they restart after a crash, which ends all connections. So a connection reads it once, when it is opened,
// and stores it as a setting. Behind a pooler, which has no such settings, it is read each time, at some 20 µs.
const (
	runName = "grense.run"
	setRun  = "set_config('" + runName + "', coalesce(pg_stat_get_bgwriter_stat_reset_time()::text, ''), FALSE)"
	runOf   = "coalesce(nullif(current_setting('" + runName +
		"', TRUE), ''), pg_stat_get_bgwriter_stat_reset_time()::text, '')"
)

// escapeQuotes makes a text the inside of a constant.
func escapeQuotes(s string) string { return strings.ReplaceAll(s, "'", "''") }
