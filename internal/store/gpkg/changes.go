package gpkg

import (
	"context"
	"fmt"

	"grense/internal/store"
)

var _ store.Changes = (*State)(nil)

// PrepareChanges makes the tables of changes.
func (s *State) PrepareChanges(ctx context.Context) error {
	return s.do(ctx, func() error {
		for _, sql := range [...]string{
			`CREATE TABLE IF NOT EXISTS grense_change (seq INTEGER PRIMARY KEY NOT NULL, at INTEGER NOT NULL, op TEXT NOT NULL, collection TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL,
				count INTEGER NOT NULL)`,
			`CREATE TABLE IF NOT EXISTS grense_tracked (collection TEXT PRIMARY KEY NOT NULL, schema TEXT NOT NULL, state TEXT NOT NULL, pass INTEGER NOT NULL) WITHOUT ROWID`,
			`CREATE TABLE IF NOT EXISTS grense_tracked_feature (collection TEXT NOT NULL, id TEXT NOT NULL, title TEXT NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (collection, id)) WITHOUT ROWID`,
		} {
			if err := s.c.exec(sql); err != nil {
				return err
			}
		}
		return nil
	})
}

// Tracked tells what is recorded.
func (s *State) Tracked(ctx context.Context) (map[string]store.Tracked, error) {
	all := map[string]store.Tracked{}
	err := s.do(ctx, func() error {
		return s.c.query("SELECT collection, schema, state, pass FROM grense_tracked", nil, func(r row) error {
			all[r.Text(0)] = store.Tracked{Schema: r.Text(1), State: r.Text(2), Pass: r.Int(3)}
			return nil
		})
	})
	return all, err
}

// Digests reads what is recorded of a collection.
func (s *State) Digests(ctx context.Context, collection string, fn func(string, [16]byte) error) error {
	return s.do(ctx, func() error {
		var buf []byte
		return s.c.query("SELECT id, digest FROM grense_tracked_feature WHERE collection = ?", []any{collection}, func(r row) error {
			buf = r.Bytes(1, buf[:0])
			if len(buf) != 16 {
				return fmt.Errorf("gpkg: state: the digest of %s in %s is broken", r.Text(0), collection)
			}
			return fn(r.Text(0), [16]byte(buf))
		})
	})
}

// Record adds changes to the log. There is one writer at a time.
func (s *State) Record(ctx context.Context, x store.Recording) error {
	return s.do(ctx, func() error {
		pass, err := s.c.one("SELECT pass FROM grense_tracked WHERE collection = ?", x.Collection)
		if err != nil {
			return err
		}
		if pass != x.Was.Pass {
			return fmt.Errorf("gpkg: state: %s was recorded meanwhile: %w", x.Collection, store.ErrChanged)
		}
		if err := s.append(x); err != nil {
			return err
		}
		if x.Afresh {
			if err := s.c.exec("DELETE FROM grense_tracked_feature WHERE collection = ?", x.Collection); err != nil {
				return err
			}
		}
		for _, d := range x.Digests {
			if err := s.c.exec("INSERT OR REPLACE INTO grense_tracked_feature VALUES (?, ?, ?, ?)", x.Collection, d.ID, d.Title, d.Digest[:]); err != nil {
				return err
			}
		}
		if n := len(x.Changes); n > 0 && x.Changes[n-1].Op == store.ChangeDrop {
			return s.c.exec("DELETE FROM grense_tracked WHERE collection = ?", x.Collection)
		}
		return s.c.exec("INSERT OR REPLACE INTO grense_tracked VALUES (?, ?, ?, ?)", x.Collection, x.Now.Schema, x.Now.State, pass+1)
	})
}

// append numbers and writes the changes of a recording.
func (s *State) append(x store.Recording) error {
	var seq, last int64
	err := s.c.query("SELECT seq, at FROM grense_change ORDER BY seq DESC LIMIT 1", nil, func(r row) error { seq, last = r.Int(0), r.Int(1); return nil })
	if err != nil {
		return err
	}
	at := max(last, store.Nanos(x.At))
	for _, c := range x.Changes {
		seq++
		err := s.c.exec(`INSERT INTO grense_change VALUES (?, ?, ?, ?, ?, CASE ?3 WHEN 'remove' THEN coalesce((SELECT title FROM grense_tracked_feature WHERE collection = ?4 AND id = ?5), '') ELSE ?6 END, ?7)`,
			seq, at, c.Op, x.Collection, c.ID, c.Title, c.Count)
		if err == nil && c.Op == store.ChangeRemove {
			err = s.c.exec("DELETE FROM grense_tracked_feature WHERE collection = ? AND id = ?", x.Collection, c.ID)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

const changeColumns = "SELECT seq, at, op, collection, id, title, count FROM grense_change "

// ChangesAfter reads the log onwards.
func (s *State) ChangesAfter(ctx context.Context, after int64, limit int) ([]store.Change, error) {
	return s.changeList(ctx, changeColumns+"WHERE seq > ? ORDER BY seq LIMIT ?", after, int64(limit))
}

// LastChanges reads the log from its end.
func (s *State) LastChanges(ctx context.Context, limit int) ([]store.Change, error) {
	return s.changeList(ctx, changeColumns+"ORDER BY seq DESC LIMIT ?", int64(limit))
}

func (s *State) changeList(ctx context.Context, sql string, args ...any) (list []store.Change, err error) {
	err = s.do(ctx, func() error {
		return s.c.query(sql, args, func(r row) error {
			list = append(list, store.Change{Seq: r.Int(0), At: store.FromNanos(r.Int(1)), Op: r.Text(2), Collection: r.Text(3), ID: r.Text(4), Title: r.Text(5), Count: r.Int(6)})
			return nil
		})
	})
	return list, err
}
