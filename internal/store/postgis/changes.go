package postgis

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store"
)

var _ store.Changes = (*State)(nil)

// recordTime bounds the writing and reading of what is recorded of one collection.
const recordTime = 5 * time.Minute

// PrepareChanges makes the tables of changes in the schema grense. They are read from the server that takes changes.
func (s *State) PrepareChanges(ctx context.Context) error {
	return s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			var there bool
			if err := tx.QueryRow(ctx, `SELECT count(*) = 3 AND coalesce(bool_and(has_table_privilege(c.oid, 'SELECT') AND has_table_privilege(c.oid, 'INSERT') AND has_table_privilege(c.oid, 'DELETE')), FALSE)
				FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'grense' AND c.relname IN ('change', 'tracked', 'tracked_feature')`).Scan(&there); err != nil || there {
				return err
			}
			for _, sql := range [...]string{
				"SELECT pg_advisory_xact_lock(hashtext('grense'))",
				`CREATE TABLE IF NOT EXISTS grense.change (seq BIGINT PRIMARY KEY, at BIGINT NOT NULL, op TEXT NOT NULL, collection TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, count BIGINT NOT NULL)`,
				`CREATE TABLE IF NOT EXISTS grense.tracked (collection TEXT COLLATE "C" PRIMARY KEY, schema TEXT NOT NULL, state TEXT NOT NULL, pass BIGINT NOT NULL)`,
				`CREATE TABLE IF NOT EXISTS grense.tracked_feature (collection TEXT COLLATE "C" NOT NULL, id TEXT COLLATE "C" NOT NULL, title TEXT NOT NULL, digest BYTEA NOT NULL, PRIMARY KEY (collection, id))`,
			} {
				if _, err := tx.Exec(ctx, sql); err != nil {
					return err
				}
			}
			return nil
		})
	})
}

// Tracked tells what is recorded.
func (s *State) Tracked(ctx context.Context) (all map[string]store.Tracked, err error) {
	err = s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		all = map[string]store.Tracked{}
		return each(ctx, c, "SELECT collection, schema, state, pass FROM grense.tracked", func(rows pgx.Rows) error {
			var id string
			var t store.Tracked
			err := rows.Scan(&id, &t.Schema, &t.State, &t.Pass)
			all[id] = t
			return err
		})
	})
	return all, err
}

// long is do for what takes longer than a question about keys.
func (s *State) long(ctx context.Context, fn func(context.Context, *pgxpool.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, recordTime)
	defer cancel()
	return explain(ctx, s.writes.Config().ConnConfig, use(ctx, s.writes, func(c *pgxpool.Conn) error { return fn(ctx, c) }))
}

// Digests reads what is recorded of a collection.
func (s *State) Digests(ctx context.Context, collection string, fn func(string, [16]byte) error) error {
	return s.long(ctx, func(ctx context.Context, c *pgxpool.Conn) error {
		return each(ctx, c, "SELECT id, digest FROM grense.tracked_feature WHERE collection = $1", func(rows pgx.Rows) error {
			var id string
			var d []byte
			if err := rows.Scan(&id, &d); err != nil {
				return err
			}
			if len(d) != 16 {
				return own(fmt.Errorf("postgis: state: the digest of %s in %s is broken", id, collection))
			}
			return own(fn(id, [16]byte(d)))
		}, collection)
	})
}

// Record adds changes to the log. Who writes it waits for others who do, so that numbers become visible in their order.
func (s *State) Record(ctx context.Context, x store.Recording) error {
	return s.long(ctx, func(ctx context.Context, c *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			var pass int64
			if _, err := tx.Exec(ctx, "LOCK TABLE grense.tracked IN SHARE ROW EXCLUSIVE MODE"); err != nil {
				return err
			}
			if err := tx.QueryRow(ctx, "SELECT coalesce(max(pass), 0) FROM grense.tracked WHERE collection = $1", x.Collection).Scan(&pass); err != nil {
				return err
			}
			if pass != x.Was.Pass {
				return own(fmt.Errorf("postgis: state: %s was recorded meanwhile: %w", x.Collection, store.ErrChanged))
			}
			return writeRecording(ctx, tx, x, pass+1)
		})
	})
}

func writeRecording(ctx context.Context, tx pgx.Tx, x store.Recording, pass int64) error {
	n := len(x.Changes)
	ops, ids, titles, counts := make([]string, n), make([]string, n), make([]string, n), make([]int64, n)
	for i, c := range x.Changes {
		ops[i], ids[i], titles[i], counts[i] = c.Op, c.ID, c.Title, c.Count
	}
	features, names, digests := make([]string, len(x.Digests)), make([]string, len(x.Digests)), make([][]byte, len(x.Digests))
	for i := range x.Digests {
		d := &x.Digests[i]
		features[i], names[i], digests[i] = d.ID, d.Title, d.Digest[:]
	}
	dropped := n > 0 && x.Changes[n-1].Op == store.ChangeDrop
	for _, step := range [...]struct {
		do   bool
		sql  string
		args []any
	}{
		{n > 0, `INSERT INTO grense.change (seq, at, op, collection, id, title, count)
			SELECT last.seq + c.n, greatest(last.at, $2), c.op, $1, c.id, CASE c.op WHEN 'remove' THEN coalesce(f.title, '') ELSE c.title END, c.count
			FROM unnest($3::text[], $4::text[], $5::text[], $6::bigint[]) WITH ORDINALITY AS c (op, id, title, count, n)
			CROSS JOIN (SELECT coalesce(max(seq), 0) AS seq, coalesce(max(at), 0) AS at FROM grense.change) last
			LEFT JOIN grense.tracked_feature f ON f.collection = $1 AND f.id = c.id`, []any{x.Collection, store.Nanos(x.At), ops, ids, titles, counts}},
		{n > 0, `DELETE FROM grense.tracked_feature f USING unnest($2::text[], $3::text[]) AS c (op, id) WHERE f.collection = $1 AND c.op = 'remove' AND f.id = c.id`, []any{x.Collection, ops, ids}},
		{x.Afresh, "DELETE FROM grense.tracked_feature WHERE collection = $1", []any{x.Collection}},
		{len(features) > 0, `INSERT INTO grense.tracked_feature (collection, id, title, digest) SELECT $1, d.id, d.title, d.digest FROM unnest($2::text[], $3::text[], $4::bytea[]) AS d (id, title, digest)
			ON CONFLICT (collection, id) DO UPDATE SET title = excluded.title, digest = excluded.digest`, []any{x.Collection, features, names, digests}},
		{dropped, "DELETE FROM grense.tracked WHERE collection = $1", []any{x.Collection}},
		{!dropped, `INSERT INTO grense.tracked (collection, schema, state, pass) VALUES ($1, $2, $3, $4)
			ON CONFLICT (collection) DO UPDATE SET schema = excluded.schema, state = excluded.state, pass = excluded.pass`, []any{x.Collection, x.Now.Schema, x.Now.State, pass}},
	} {
		if !step.do {
			continue
		}
		if _, err := tx.Exec(ctx, step.sql, step.args...); err != nil {
			return err
		}
	}
	return nil
}

const changeColumns = "SELECT seq, at, op, collection, id, title, count FROM grense.change "

// ChangesAfter reads the log onwards.
func (s *State) ChangesAfter(ctx context.Context, after int64, limit int) ([]store.Change, error) {
	return s.changeList(ctx, changeColumns+"WHERE seq > $1 ORDER BY seq LIMIT $2", after, int64(limit))
}

// LastChanges reads the log from its end.
func (s *State) LastChanges(ctx context.Context, limit int) ([]store.Change, error) {
	return s.changeList(ctx, changeColumns+"ORDER BY seq DESC LIMIT $1", int64(limit))
}

func (s *State) changeList(ctx context.Context, sql string, args ...any) (list []store.Change, err error) {
	err = s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		list = nil
		return each(ctx, c, sql, func(rows pgx.Rows) error {
			var x store.Change
			var at int64
			err := rows.Scan(&x.Seq, &at, &x.Op, &x.Collection, &x.ID, &x.Title, &x.Count)
			x.At = store.FromNanos(at)
			list = append(list, x)
			return err
		}, args...)
	})
	return list, err
}
