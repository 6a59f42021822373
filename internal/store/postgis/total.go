package postgis

import (
	"strings"
	"time"
)

// total is how many rows a table had in a state of the database.
type total struct {
	state string // of layer.state
	n     int
	spans *spans    // of a layer with versions, in place of n; nil: not read
	rest  time.Time // until then they are not read again
}

// states reports whether the number of matches is that of all rows or of all versions of a moment, and the same for as
// long as the state of the database is.
func (qu *question) states() bool { return qu.q.Filter == nil && qu.l.plain }

// state returns an expression that has another value when a transaction has ended that may have changed the table:
// the transactions that a statement sees (txid_snapshot), when the server was started, and its run, since a crash,
// or a switch to a server that follows it, may lose the last of them, whose numbers are given again.
// It is empty where that does not tell: on a replica, whose snapshots do not list what is under way, where policies
// decide which rows are seen, and where rows may be in other tables or, with Citus, in other servers.
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

// The run of a server is named by when the counts of its background writer began: they begin anew when it recovers from
// a crash, after which none of its connections goes on. So a connection is asked once, when it is made:
// within it that is a setting. Who has none, behind a pooler, asks each time, which costs the database some 20 µs.
const (
	runName = "grense.run"
	setRun  = "set_config('" + runName + "', coalesce(pg_stat_get_bgwriter_stat_reset_time()::text, ''), FALSE)"
	runOf   = "coalesce(nullif(current_setting('" + runName +
		"', TRUE), ''), pg_stat_get_bgwriter_stat_reset_time()::text, '')"
)

// escapeQuotes makes a text the inside of a constant.
func escapeQuotes(s string) string { return strings.ReplaceAll(s, "'", "''") }
