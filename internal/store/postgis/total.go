package postgis

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
)

var (
	_ store.Marked      = (*Store)(nil)
	_ store.MarkedAside = (*Store)(nil)
)

// total is how many rows a table had in a state of the database.
type total struct {
	state string // of layer.state
	n     int
	spans *spans    // of a layer with versions, in place of n; nil: not read
	rest  time.Time // until then they are not read again
}

// states reports whether the number of matches is that of all rows or of all versions of a moment, and the same for as long as the state of the database is.
func (qu *question) states() bool { return qu.q.Filter == nil && qu.l.plain }

// state returns an expression that has another value when a transaction has ended that may have changed the table: the transactions that a
// statement sees (txid_snapshot), when the server was started, and its run, since a crash, or a switch to a server that follows it, may lose the last of them, whose numbers are given again. It is empty where that does not tell: on a replica,
// whose snapshots do not list what is under way, where policies decide which rows are seen, and where rows may be in other tables or, with
// Citus, in other servers.
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
		parents = append(parents, "to_regclass("+table+")"...) // when it is asked: a prepared statement outlives the table of a name
	}
	return string(b) + string(parents) + ")) OR to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN '' ELSE txid_current_snapshot()::text || '/' || pg_postmaster_start_time()::text || '/' || " + runOf + " END)"
}

// The run of a server is named by when the counts of its background writer began: they begin anew when it recovers from a crash, after which none of its connections goes on. So a connection is asked once, when it
// is made: within it that is a setting. Who has none, behind a pooler, asks each time, which costs the database some 20 µs.
const (
	runName = "grense.run"
	setRun  = "set_config('" + runName + "', coalesce(pg_stat_get_bgwriter_stat_reset_time()::text, ''), FALSE)"
	runOf   = "coalesce(nullif(current_setting('" + runName + "', TRUE), ''), pg_stat_get_bgwriter_stat_reset_time()::text, '')"
)

// marking is the statement that names the state of some collections of a revision.
type marking struct {
	collections []string
	layer       *layer // one of them
	sql         string // "": their state cannot be told
}

// markings are the statements for what was asked of a revision of late. They are immutable.
type markings struct {
	of   *revision
	list []*marking
}

// mostMarkings bounds them.
const mostMarkings = 16

// marking returns the statement for collections, which is kept for the next who asks for the same: nearly all ask for all that is served, or for one collection.
func (s *Store) marking(collections []string) (*marking, error) {
	now, known := s.current.Load(), s.marks.Load()
	if known == nil || known.of != now {
		known = &markings{of: now}
	}
	for _, m := range known.list {
		if slices.Equal(m.collections, collections) {
			return m, nil
		}
	}
	m := &marking{collections: slices.Clone(collections)}
	layers := make([]*layer, len(collections))
	for i, id := range collections {
		l, err := now.layer(id)
		if err != nil {
			return nil, err
		}
		if layers[i] = l; !l.plain {
			layers = nil
			break
		}
	}
	if len(layers) > 0 {
		m.layer, m.sql = layers[0], "SELECT "+stateOf(layers)
	}
	last := known.list[:min(len(known.list), mostMarkings-1)]
	s.marks.Store(&markings{now, append([]*marking{m}, last...)})
	return m, nil
}

// Mark names the state of the rows of tables or materialised views in one round trip; what views show cannot be told.
func (s *Store) Mark(ctx context.Context, collections ...string) (mark string, err error) {
	if err := s.enter(); err != nil {
		return "", err
	}
	defer s.leave()
	m, err := s.marking(collections)
	if err != nil || m.sql == "" {
		return "", err
	}
	if mark, ok := s.marker.ask(ctx, m.sql); ok {
		return mark, nil
	}
	err = s.ask(ctx, m.layer, func(c *pgxpool.Conn) error {
		rows, end, err := query(ctx, c, m.sql, nil)
		if err != nil {
			return err
		}
		defer end()
		for rows.Next() {
			mark = string(rows.RawValues()[0])
		}
		return rows.Err()
	})
	return mark, err
}

// RevisionOf names the present state as the Revision of a snapshot does.
func (s *Store) RevisionOf(ctx context.Context, collections ...string) (string, error) {
	version := s.current.Load().catalog.Version
	mark, err := s.Mark(ctx, collections...)
	if mark == "" {
		return "", err
	}
	return version + " " + mark, err
}

// MarkAside is Mark where that takes no connection from questions; false: it would.
func (s *Store) MarkAside(ctx context.Context, collections ...string) (mark string, ok bool) {
	if s.marker == nil || s.enter() != nil {
		return "", false
	}
	defer s.leave()
	m, err := s.marking(collections)
	if err != nil {
		return "", false
	}
	if m.sql == "" {
		return "", true
	}
	return s.marker.ask(ctx, m.sql)
}

// escapeQuotes makes a text the inside of a constant.
func escapeQuotes(s string) string { return strings.ReplaceAll(s, "'", "''") }
