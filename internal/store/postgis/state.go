package postgis

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/migrate"
	"grense/internal/store"
)

// ErrReadOnly reports a role that may not keep keys in the database.
var ErrReadOnly = errors.New("postgis: the role may not write keys into the schema grense")

// ErrNoPrimary reports that keys cannot be kept in the database now: their table is not there, the role may make it, and no server of the address
// takes changes. It is store.ErrUnavailable as well where one that does not answer may.
var ErrNoPrimary = errors.New("postgis: no server of the address takes changes, and the table of keys is not there")

// State keeps API keys in the schema grense, for all processes that use the database. Where the address names several servers, keys are
// read from any of them, and written to the one that takes changes.
type State struct{ reads, writes *pgxpool.Pool }

var _ store.State = (*State)(nil)

// OpenState opens the keys in the database that url names, and makes their table where the role may. ErrReadOnly when it may not write,
// ErrNoPrimary when it may and no server takes it, store.ErrUnavailable when the database cannot be reached, ErrRefused when it does not let
// the user in.
func OpenState(ctx context.Context, url string) (store.State, error) {
	s := &State{}
	var err error
	if s.reads, err = newPool(ctx, url, toRead); err != nil {
		return nil, err
	}
	s.writes = s.reads
	if isSeveral(s.reads.Config().ConnConfig) {
		if s.writes, err = newPool(ctx, url, toKeep); err != nil {
			s.reads.Close()
			return nil, err
		}
	}
	there := false
	err = s.do(ctx, s.reads, func(c *pgxpool.Conn) (err error) {
		there, err = stateThere(ctx, c)
		return err
	})
	if err == nil && !there {
		err = s.prepare(ctx)
	}
	if err != nil {
		err = refused(s.reads.Config().ConnConfig, err)
		s.Close()
		return nil, err
	}
	return s, nil
}

// prepare makes the table of keys on the server that takes changes. Where none can be reached, one that follows tells whether the role might.
func (s *State) prepare(ctx context.Context) error {
	err := s.do(ctx, s.writes, func(c *pgxpool.Conn) error { return prepareState(ctx, c) })
	if s.writes == s.reads || !errors.Is(err, store.ErrUnavailable) || isFull(err) {
		return err
	}
	var may bool
	if s.do(ctx, s.reads, func(c *pgxpool.Conn) (err error) { may, _, err = mayPrepare(ctx, c); return err }) != nil {
		return err
	}
	if !may {
		return ErrReadOnly
	}
	return fmt.Errorf("%w: %w", ErrNoPrimary, err)
}

// stateThere reports whether the table of keys exists; ErrReadOnly when it does and the role may not write it.
func stateThere(ctx context.Context, c *pgxpool.Conn) (bool, error) {
	var may bool
	err := c.QueryRow(ctx, `SELECT has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(x.oid, 'SELECT') AND has_table_privilege(x.oid, 'INSERT')
		AND has_table_privilege(x.oid, 'UPDATE') FROM pg_class x JOIN pg_namespace n ON n.oid = x.relnamespace WHERE n.nspname = 'grense' AND x.relname = 'api_key'`).Scan(&may)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, nil
	case err == nil && !may:
		return true, own(ErrReadOnly)
	}
	return true, err
}

// mayPrepare reports whether the role may make the table of keys, and whether the server follows another, so that it takes no changes.
func mayPrepare(ctx context.Context, c *pgxpool.Conn) (may, follows bool, err error) {
	err = c.QueryRow(ctx, `SELECT CASE WHEN n.oid IS NULL THEN has_database_privilege(current_database(), 'CREATE') ELSE has_schema_privilege(n.oid, 'CREATE') END,
		pg_is_in_recovery() FROM (SELECT 1) one LEFT JOIN pg_namespace n ON n.nspname = 'grense'`).Scan(&may, &follows)
	return may, follows, err
}

// prepareState makes the table of keys.
func prepareState(ctx context.Context, c *pgxpool.Conn) error {
	if there, err := stateThere(ctx, c); err != nil || there {
		return err
	}
	may, follows, err := mayPrepare(ctx, c)
	switch {
	case err != nil:
		return err
	case !may:
		return own(ErrReadOnly)
	case follows:
		return own(ErrNoPrimary)
	}
	list, err := migrate.PostGIS()
	if err != nil {
		return own(err)
	}
	tx, err := c.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) // nothing to do after Commit
	if _, err := prepare(ctx, tx, list); err != nil {
		if pe, ok := errors.AsType[*pgconn.PgError](err); ok && (pe.Code == "42501" || pe.Code == "25006") {
			return own(ErrReadOnly)
		}
		return err
	}
	return tx.Commit(ctx)
}

// stateTime bounds a question about keys, also of a caller who would wait for ever.
const stateTime = 5 * time.Second

func (s *State) do(ctx context.Context, pool *pgxpool.Pool, fn func(*pgxpool.Conn) error) error {
	ctx, cancel := context.WithTimeout(ctx, stateTime)
	defer cancel()
	err := use(ctx, pool, fn)
	pe, ok := errors.AsType[*pgconn.PgError](err)
	if (errors.Is(err, errBroken) || ok && pe.Code == "25006") && ctx.Err() == nil { // the server is gone, or takes no changes any more
		pool.Reset()
		err = use(ctx, pool, fn)
	}
	return explain(ctx, pool.Config().ConnConfig, err)
}

// Keys lists all keys by the time when they were made.
func (s *State) Keys(ctx context.Context) (keys []store.Key, err error) {
	err = s.do(ctx, s.reads, func(c *pgxpool.Conn) error {
		keys = nil
		return each(ctx, c, "SELECT id, name, hash, created, expires, revoked, last_used FROM grense.api_key ORDER BY created, id", func(rows pgx.Rows) error {
			k := store.Key{}
			var hash []byte
			var expires, revoked, used *time.Time
			if err := rows.Scan(&k.ID, &k.Name, &hash, &k.Created, &expires, &revoked, &used); err != nil {
				return err
			}
			copy(k.Hash[:], hash)
			k.Created = k.Created.UTC()
			for i, t := range [...]*time.Time{expires, revoked, used} {
				if t != nil {
					*[...]*time.Time{&k.Expires, &k.Revoked, &k.LastUsed}[i] = t.UTC()
				}
			}
			keys = append(keys, k)
			return nil
		})
	})
	return keys, err
}

// nullable returns an argument that is null for the zero time.
func nullable(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// PutKey adds a key.
func (s *State) PutKey(ctx context.Context, k store.Key) error {
	return s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		tag, err := c.Exec(ctx, `INSERT INTO grense.api_key (id, name, hash, created, expires, revoked, last_used) VALUES ($1, $2, $3, $4, $5, $6, $7)
			ON CONFLICT DO NOTHING`, k.ID, k.Name, k.Hash[:], k.Created, nullable(k.Expires), nullable(k.Revoked), nullable(k.LastUsed))
		if err == nil && tag.RowsAffected() == 0 {
			err = own(fmt.Errorf("postgis: state: key %s exists already", k.ID))
		}
		return err
	})
}

// PutFirstKey adds a key when there is none. Others who add one meanwhile wait.
func (s *State) PutFirstKey(ctx context.Context, k store.Key) (made bool, err error) {
	err = s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, "LOCK TABLE grense.api_key IN SHARE ROW EXCLUSIVE MODE"); err != nil {
				return err
			}
			tag, err := tx.Exec(ctx, `INSERT INTO grense.api_key (id, name, hash, created, expires, revoked, last_used) SELECT $1, $2, $3, $4, $5, $6, $7
				WHERE NOT EXISTS (SELECT FROM grense.api_key)`, k.ID, k.Name, k.Hash[:], k.Created, nullable(k.Expires), nullable(k.Revoked), nullable(k.LastUsed))
			made = err == nil && tag.RowsAffected() > 0
			return err
		})
	})
	return made && err == nil, err
}

// RevokeKey marks a key as revoked; the first time counts.
func (s *State) RevokeKey(ctx context.Context, id string, at time.Time) error {
	return s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		tag, err := c.Exec(ctx, "UPDATE grense.api_key SET revoked = coalesce(revoked, $2) WHERE id = $1", id, at)
		if err == nil && tag.RowsAffected() == 0 {
			err = own(fmt.Errorf("postgis: state: key %s: %w", id, store.ErrNotFound))
		}
		return err
	})
}

// TouchKeys records the day of last use; it never goes back.
func (s *State) TouchKeys(ctx context.Context, day time.Time, ids []string) error {
	return s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		_, err := c.Exec(ctx, "UPDATE grense.api_key SET last_used = $1 WHERE id = ANY ($2) AND (last_used IS NULL OR last_used < $1)",
			day.UTC().Truncate(24*time.Hour), ids)
		return err
	})
}

// Close waits for what is under way.
func (s *State) Close() error {
	s.reads.Close()
	if s.writes != s.reads {
		s.writes.Close()
	}
	return nil
}

// Secret returns the secret of the database, which the first call of a role that may write makes.
func (s *State) Secret(ctx context.Context) (secret []byte, err error) {
	read := func(c *pgxpool.Conn) error {
		var there bool
		if err := c.QueryRow(ctx, "SELECT to_regclass('grense.secret') IS NOT NULL").Scan(&there); err != nil || !there {
			return err
		}
		err := c.QueryRow(ctx, "SELECT value FROM grense.secret").Scan(&secret)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	}
	if err = s.do(ctx, s.reads, read); err != nil || secret != nil {
		return secret, err
	}
	err = s.do(ctx, s.writes, func(c *pgxpool.Conn) error {
		return pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			for _, sql := range [...]string{
				"SELECT pg_advisory_xact_lock(hashtext('grense'))",
				"CREATE TABLE IF NOT EXISTS grense.secret (id INTEGER PRIMARY KEY CHECK (id = 1), value BYTEA NOT NULL)",
			} {
				if _, err := tx.Exec(ctx, sql); err != nil {
					return err
				}
			}
			if _, err := tx.Exec(ctx, "INSERT INTO grense.secret VALUES (1, $1) ON CONFLICT DO NOTHING", store.NewSecret()); err != nil {
				return err
			}
			return tx.QueryRow(ctx, "SELECT value FROM grense.secret").Scan(&secret)
		})
	})
	return secret, err
}

// PasswordKey returns 32 bytes that follow from the user, database and password of an address, and are the same for all processes that
// connect with them; nil if there is no password.
func PasswordKey(url string) []byte {
	cfg, err := pgx.ParseConfig(url)
	if err != nil || cfg.Password == "" {
		return nil
	}
	m := hmac.New(sha256.New, []byte(cfg.Password))
	fmt.Fprintf(m, "grense cursors\x00%s\x00%s", cfg.User, cfg.Database)
	return m.Sum(nil)
}
