package postgis

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"grense/internal/store/postgis/conn"
)

// Surveys of tables are stored in a file (Options.Dir), so that large tables need not be read at startup. They may be
// out of date: once the store is open, all tables are read again in the background, and the catalog is replaced.

// extentsVersion must change if the meaning of the file changes.
const extentsVersion = 3

// extents is the content of the file.
type extents struct {
	Version  int
	Database string // identifier of the server's data and the database
	Surveys  map[string]*survey
	Items    map[string]string
}

// database returns an identifier of the database, which differs for another database at the same address.
func database(ctx context.Context, c *pgxpool.Conn) (string, error) {
	var oid uint32
	if err := c.QueryRow(ctx, "SELECT oid FROM pg_database WHERE datname = current_database()").Scan(&oid); err != nil {
		return "", err
	}
	var allowed bool
	var system int64
	err := c.QueryRow(ctx, "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')").Scan(&allowed)
	if err == nil && allowed {
		err = c.QueryRow(ctx, "SELECT system_identifier FROM pg_control_system()").Scan(&system)
	}
	return fmt.Sprint(system, " ", oid), err
}

// extentsName returns the key of a draft in the file: the table, its definition and settings, and its relfilenode.
func (d *draft) extentsName() string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Append(nil, d.table.FileNode, d.definition())))
}

// extentsPath returns the path of the file; "" if nothing is stored.
func (s *Store) extentsPath() string {
	if s.options.Dir == "" {
		return ""
	}
	c := s.pool.Config().ConnConfig
	sum := sha256.Sum256([]byte(conn.Target(c) + "\x00" + c.User))
	return filepath.Join(s.options.Dir, "extents", fmt.Sprintf("%x.json", sum[:8]))
}

// stored loads the file as a revision with its surveys; nil if there is none for this database.
func (s *Store) stored(ctx context.Context) *revision {
	path := s.extentsPath()
	if path == "" {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			s.options.Logger.Warn("the extents of the last run cannot be read; tables are read instead", "err", err)
		}
		return nil
	}
	var e extents
	if json.Unmarshal(b, &e) != nil || e.Version != extentsVersion {
		return nil
	}
	var now string
	err = s.retry(ctx, func(c *pgxpool.Conn) (err error) {
		now, err = database(ctx, c)
		return err
	})
	if err != nil || now != e.Database {
		return nil
	}
	return &revision{stored: true, measured: e.Surveys, items: e.Items}
}

// keep stores the surveys of a revision. On failure only the next start is slower.
func (s *Store) keep(ctx context.Context, r *revision) {
	path := s.extentsPath()
	if path == "" {
		return
	}
	e := extents{Version: extentsVersion, Surveys: r.surveys, Items: r.items}
	err := s.retry(ctx, func(c *pgxpool.Conn) (err error) {
		e.Database, err = database(ctx, c)
		return err
	})
	if err == nil {
		err = replaceFile(path, e)
	}
	if err != nil && ctx.Err() == nil {
		s.options.Logger.Warn("the extents of tables cannot be kept for the next start", "err", err)
	}
}

func replaceFile(path string, content any) error {
	b, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "making-")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// verify reads all tables again after a start from stored surveys, and retries until it succeeds or ctx ends.
func (s *Store) verify(ctx context.Context) {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		err := s.readAgain(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		s.options.Logger.Warn("the tables cannot be read again after the start; trying again", "pause_seconds",
			pause.Seconds(), "err", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// readAgain is Reload, but does not block reloads after changed definitions while it reads.
func (s *Store) readAgain(ctx context.Context) error {
	start := time.Now()
	r, err := s.load(ctx, nil)
	if err != nil {
		return err
	}
	if r.fingerprint != s.current.Load().fingerprint {
		err = s.swap(ctx, r)
	} else {
		err = s.exchange(r)
	}
	if err == nil {
		s.options.Logger.Info("the tables were read again after the start", "took_ms",
			time.Since(start).Milliseconds())
		s.keep(ctx, s.current.Load())
	}
	return err
}
