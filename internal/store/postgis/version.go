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
		q.layer, q.sql = layers[0], "SELECT "+stateOf(layers)
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
