package postgis

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
	"grense/internal/store/postgis/conn"
)

// versionQuery is the statement for the version of some collections in a revision.
type versionQuery struct {
	collections []string
	layer       *layer // one of them
	sql         string // "": their version is unknown
}

// versionQueries caches the versionQuery of recent sets of collections. It is immutable.
type versionQueries struct {
	of   *revision
	list []*versionQuery
}

// mostVersionQueries is the largest number of cached statements.
const mostVersionQueries = 16

// versionQuery returns the statement for collections; without arguments, for all. Nearly all callers request all or
// one.
func (s *Store) versionQuery(r *revision, collections []string) (*versionQuery, error) {
	known := s.versions.Load()
	if known == nil || known.of != r {
		known = &versionQueries{of: r}
	}
	for _, q := range known.list {
		if slices.Equal(q.collections, collections) {
			return q, nil
		}
	}
	q := &versionQuery{collections: slices.Clone(collections)}
	var layers []*layer
	for _, id := range collections {
		l, err := r.layer(id)
		if err != nil {
			return nil, err
		}
		layers = append(layers, l)
	}
	if len(collections) == 0 {
		for _, c := range r.catalog.Collections {
			layers = append(layers, r.layers[c.ID])
		}
	}
	if len(layers) > 0 && !slices.ContainsFunc(layers, func(l *layer) bool { return !l.plain }) {
		q.layer, q.sql = layers[0], "SELECT "+versionOf(layers)
	}
	last := known.list[:min(len(known.list), mostVersionQueries-1)]
	s.versions.Store(&versionQueries{r, append([]*versionQuery{q}, last...)})
	return q, nil
}

// Version returns the version of tables or materialised views, in one round trip; that of views is unknown.
func (s *Store) Version(ctx context.Context, collections ...string) (store.Version, error) {
	if err := s.enter(); err != nil {
		return "", err
	}
	defer s.leave()
	r := s.current.Load()
	q, err := s.versionQuery(r, collections)
	if err != nil || q.sql == "" {
		return "", err
	}
	state := ""
	err = s.ask(ctx, q.layer, func(c *pgxpool.Conn) error {
		rows, end, err := conn.Query(ctx, c, q.sql, nil, false)
		if err != nil {
			return err
		}
		defer end()
		for rows.Next() {
			state = string(rows.RawValues()[0])
		}
		return rows.Err()
	})
	if err != nil || state == "" {
		return "", err
	}
	return store.Version(r.catalog.Version + " " + state), nil
}

// versionExpr returns an SQL expression whose value changes after every transaction that may have changed the table. It
// combines the transactions that a statement sees (txid_snapshot), the start time of the server, and its run: a crash,
// or a failover to a replica, may lose the last transactions and reuse their numbers. It is "" if that proves nothing:
// on a replica, whose snapshots do not list transactions in flight; with row security; and if rows may be in other
// tables or, with Citus, on other servers.
func (l *layer) versionExpr() string { return versionOf([]*layer{l}) }

// versionOf is layer.versionExpr for several layers.
func versionOf(layers []*layer) string {
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
