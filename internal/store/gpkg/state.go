package gpkg

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"

	"grense/internal/store"
)

// State keeps API keys in an SQLite file that only its owner can read. Several processes may use one file.
type State struct {
	path string
	mu   sync.Mutex
	c    *conn
}

var _ store.State = (*State)(nil)

// OpenState opens the file at path, or makes it with mode 0600.
func OpenState(ctx context.Context, path string) (store.State, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("gpkg: state: %w", err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600) // SQLite would make it readable for all
	if err != nil {
		return nil, fmt.Errorf("gpkg: state: %w", err)
	}
	if err := f.Close(); err != nil {
		return nil, fmt.Errorf("gpkg: state: %w", err)
	}
	c, err := openConn(path, readWrite)
	if err != nil {
		return nil, fmt.Errorf("gpkg: state %s: %w", path, err)
	}
	s := &State{path: path, c: c}
	err = s.do(ctx, func() error {
		if err := c.checkState(); err != nil {
			return err
		}
		return c.exec(`CREATE TABLE IF NOT EXISTS grense_key (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL, hash BLOB NOT NULL, created TEXT NOT NULL,
			expires TEXT, revoked TEXT, last_used TEXT) WITHOUT ROWID`)
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("gpkg: state %s: %w", path, err), c.close())
	}
	return s, nil
}

// stateVersion is the user_version of a state file. It is raised with each change of its tables, together with a step of checkState that
// makes the change. Files of version 0 are of programs that did not write it; their tables are those of version 1.
const stateVersion = 1

// checkState refuses a state file of a newer program, and brings an older one up to date.
func (c *conn) checkState() error {
	v, err := c.one("PRAGMA user_version")
	switch {
	case err != nil || v == stateVersion:
		return err
	case v > stateVersion:
		return fmt.Errorf("it was written by a newer version of Grense (state version %d, this program knows %d); start that version, or name another --data-dir", v, stateVersion)
	}
	return c.exec("PRAGMA user_version=" + strconv.Itoa(stateVersion))
}

// do runs fn in a transaction that waits for other processes.
func (s *State) do(ctx context.Context, fn func() error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return fmt.Errorf("gpkg: the state is closed: %w", store.ErrUnavailable)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.c.interrupt(ctx)
	err := s.c.transaction(fn)
	s.c.interrupt(context.Background())
	switch sqlite.ErrCode(err).ToPrimary() {
	case sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultIOErr: // the first if the file was deleted, too
		err = fmt.Errorf("gpkg: state: %w: %w", store.ErrNotWritable, err)
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// Keys lists all keys by the time when they were made.
func (s *State) Keys(ctx context.Context) (keys []store.Key, err error) {
	err = s.do(ctx, func() error {
		return s.c.query("SELECT id, name, hash, created, expires, revoked, last_used FROM grense_key ORDER BY created, id", nil, func(r row) error {
			k := store.Key{ID: r.Text(0), Name: r.Text(1)}
			copy(k.Hash[:], r.Bytes(2, nil))
			for i, t := range [...]*time.Time{&k.Created, &k.Expires, &k.Revoked, &k.LastUsed} {
				if r.Null(i + 3) {
					continue
				}
				var err error
				if *t, err = time.Parse(time.RFC3339Nano, r.Text(i+3)); err != nil {
					return fmt.Errorf("gpkg: state: key %s: %w", k.ID, err)
				}
			}
			keys = append(keys, k)
			return nil
		})
	})
	return keys, err
}

// PutKey adds a key.
func (s *State) PutKey(ctx context.Context, k store.Key) error {
	return s.do(ctx, func() error {
		n, err := s.c.one("SELECT count(*) FROM grense_key WHERE id = ?", k.ID)
		if err == nil && n > 0 {
			err = fmt.Errorf("gpkg: state: key %s exists already", k.ID)
		}
		if err != nil {
			return err
		}
		return s.insert(k)
	})
}

// PutFirstKey adds a key when there is none.
func (s *State) PutFirstKey(ctx context.Context, k store.Key) (made bool, err error) {
	err = s.do(ctx, func() error {
		n, err := s.c.one("SELECT count(*) FROM grense_key")
		if err != nil || n > 0 {
			return err
		}
		made = true
		return s.insert(k)
	})
	return made && err == nil, err
}

func (s *State) insert(k store.Key) error {
	return s.c.exec("INSERT INTO grense_key VALUES (?, ?, ?, ?, ?, ?, ?)", k.ID, k.Name, k.Hash[:], stamp(k.Created), stamp(k.Expires),
		stamp(k.Revoked), stamp(k.LastUsed))
}

// RevokeKey marks a key as revoked, when the disk is full, too; the first time counts.
func (s *State) RevokeKey(ctx context.Context, id string, at time.Time) error {
	return s.must(ctx, func() error {
		if err := s.c.exec("UPDATE grense_key SET revoked = coalesce(revoked, ?) WHERE id = ?", stamp(at), id); err != nil {
			return err
		}
		if s.c.changes() == 0 {
			return fmt.Errorf("gpkg: state: key %s: %w", id, store.ErrNotFound)
		}
		return nil
	})
}

// TouchKeys records the day of last use; it never goes back.
func (s *State) TouchKeys(ctx context.Context, day time.Time, ids []string) error {
	at := stamp(day.UTC().Truncate(24 * time.Hour))
	return s.do(ctx, func() error {
		for _, id := range ids {
			if err := s.c.exec("UPDATE grense_key SET last_used = ? WHERE id = ? AND (last_used IS NULL OR last_used < ?)", at, id, at); err != nil {
				return err
			}
		}
		return nil
	})
}

// Secret returns the secret of the file, which the first call makes.
func (s *State) Secret(ctx context.Context) (secret []byte, err error) {
	err = s.do(ctx, func() error {
		if err := s.c.exec("CREATE TABLE IF NOT EXISTS grense_secret (id INTEGER PRIMARY KEY CHECK (id = 1), value BLOB NOT NULL)"); err != nil {
			return err
		}
		if err := s.c.exec("INSERT OR IGNORE INTO grense_secret VALUES (1, ?)", store.NewSecret()); err != nil {
			return err
		}
		return s.c.query("SELECT value FROM grense_secret", nil, func(r row) error {
			secret = r.Bytes(0, nil)
			return nil
		})
	})
	return secret, err
}

// Close waits for what is under way.
func (s *State) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.c == nil {
		return nil
	}
	err := s.c.close()
	s.c = nil
	return err
}

// stamp is the stored form of a moment; nil for the zero time.
func stamp(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000000Z")
}
